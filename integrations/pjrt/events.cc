#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status Event_Destroy(PJRT_Event_Destroy_Args& args) {
  delete args.event;
  return OkStatus();
}

Status Event_IsReady(PJRT_Event_IsReady_Args& args) {
  args.is_ready = args.event->event.IsReady();
  return OkStatus();
}

Status Event_Error(PJRT_Event_Error_Args& args) {
  const Event event = args.event->event;
  if (!event.IsReady()) return InvalidArgument("the error of an event that has not happened is asked for");
  return event.Await();
}

Status Event_Await(PJRT_Event_Await_Args& args) {
  const Event event = args.event->event;
  if (!event.IsReady()) VXLA_RETURN_IF_ERROR(CheckNotForked());
  return event.Await();
}

Status Event_OnReady(PJRT_Event_OnReady_Args& args) {
  // The callback may destroy the handle.
  const Event event = args.event->event;
  if (!event.IsReady() && IsForked()) {
    args.callback(MakeError(CheckNotForked()), args.user_arg);
    return OkStatus();
  }
  event.OnReady(
      [callback = args.callback, user = args.user_arg](const Status& status) { callback(MakeError(status), user); });
  return OkStatus();
}

Status Event_Create(PJRT_Event_Create_Args& args) {
  auto made = std::make_unique<PJRT_Event>();
  made->promise.emplace();
  made->event = made->promise->event();
  args.event = made.release();
  return OkStatus();
}

Status Event_Set(PJRT_Event_Set_Args& args) {
  if (!args.event->promise || args.event->event.IsReady())
    return InvalidArgument("an event that was not made by PJRT_Event_Create, or is set already, is set");
  args.event->promise->Keep(StatusOfCode(args.error_code, {args.error_message, args.error_message_size}));
  return OkStatus();
}

}  // namespace

PJRT_Event* MakeEvent(Event event) { return new PJRT_Event{std::move(event), std::nullopt}; }

void AddEventSlots(PJRT_Api& api) {
  VXLA_PJRT_FREE_SLOT(api, Event_Destroy);
  VXLA_PJRT_SLOT(api, Event_IsReady);
  VXLA_PJRT_SLOT(api, Event_Error);
  VXLA_PJRT_SLOT(api, Event_Await);
  VXLA_PJRT_SLOT(api, Event_OnReady);
  VXLA_PJRT_SLOT(api, Event_Create);
  VXLA_PJRT_SLOT(api, Event_Set);
}

}  // namespace VXLA_NAMESPACE::pjrt
