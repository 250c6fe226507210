#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

struct Error : PJRT_Error {
  PJRT_Error_Code code = PJRT_Error_Code_INTERNAL;
  std::string message;
  bool is_static = false;
};

void DestroyError(PJRT_Error* error) {
  if (error != nullptr && !static_cast<Error*>(error)->is_static) delete static_cast<Error*>(error);
}

void MessageOf(const PJRT_Error* error, const char** message, size_t* size) {
  const std::string& text = static_cast<const Error*>(error)->message;
  *message = text.data();
  *size = text.size();
}

PJRT_Error_Code CodeOf(const PJRT_Error* error) { return static_cast<const Error*>(error)->code; }

void VisitPayloads(const PJRT_Error*, PJRT_Error_PayloadVisitor, void*) {}

constexpr PJRT_Error_FunctionTable kErrorFunctions = {
    sizeof(PJRT_Error_FunctionTable), sizeof(Error), nullptr, DestroyError, MessageOf, CodeOf, VisitPayloads};

// What there is when there is no memory for an error.
Error& OutOfMemory() {
  static Error error = [] {
    Error made;
    made.vtable = &kErrorFunctions;
    made.code = PJRT_Error_Code_RESOURCE_EXHAUSTED;
    made.message = "no memory";
    made.is_static = true;
    return made;
  }();
  return error;
}

PJRT_Error_Code CodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return PJRT_Error_Code_OK;
    case StatusCode::kMismatch:
      return PJRT_Error_Code_ABORTED;
    case StatusCode::kInvalidArgument:
      return PJRT_Error_Code_INVALID_ARGUMENT;
    case StatusCode::kUnsupported:
      return PJRT_Error_Code_UNIMPLEMENTED;
    case StatusCode::kDeviceFailure:
      return PJRT_Error_Code_UNAVAILABLE;
    case StatusCode::kResourceExhausted:
      return PJRT_Error_Code_RESOURCE_EXHAUSTED;
    case StatusCode::kInternal:
      return PJRT_Error_Code_INTERNAL;
    case StatusCode::kCancelled:
      return PJRT_Error_Code_CANCELLED;
    case StatusCode::kNotFound:
      return PJRT_Error_Code_NOT_FOUND;
    case StatusCode::kDeadlineExceeded:
      return PJRT_Error_Code_DEADLINE_EXCEEDED;
    case StatusCode::kAborted:
      return PJRT_Error_Code_ABORTED;
  }
  return PJRT_Error_Code_UNKNOWN;
}

// These three have no error to give.
void Error_Destroy(PJRT_Error_Destroy_Args* args) {
  if (args->error != nullptr) args->error->vtable->destroy(args->error);
}
void Error_Message(PJRT_Error_Message_Args* args) {
  args->error->vtable->message(args->error, &args->message, &args->message_size);
}

Status Error_GetCode(PJRT_Error_GetCode_Args& args) {
  args.code = args.error->vtable->get_code(args.error);
  return OkStatus();
}

Status Error_ForEachPayload(PJRT_Error_ForEachPayload_Args& args) {
  args.error->vtable->for_each_payload(args.error, args.visitor, args.user_arg);
  return OkStatus();
}

}  // namespace

PJRT_Error* MakeError(PJRT_Error_Code code, std::string message) noexcept {
  auto* const error = new (std::nothrow) Error;
  if (error == nullptr) return &OutOfMemory();
  error->vtable = &kErrorFunctions;
  error->code = code;
  error->message = std::move(message);
  return error;
}

PJRT_Error* MakeError(const Status& status) noexcept {
  if (status.ok()) return nullptr;
  try {
    return MakeError(CodeOf(status.code()), status.message());
  } catch (const std::bad_alloc&) {
    return &OutOfMemory();
  }
}

Status StatusOfCode(PJRT_Error_Code code, std::string_view message) {
  switch (code) {
    case PJRT_Error_Code_OK:
      return OkStatus();
    case PJRT_Error_Code_INVALID_ARGUMENT:
      return InvalidArgument("{}", message);
    case PJRT_Error_Code_UNIMPLEMENTED:
      return Unsupported("{}", message);
    case PJRT_Error_Code_RESOURCE_EXHAUSTED:
      return ResourceExhausted("{}", message);
    case PJRT_Error_Code_UNAVAILABLE:
      return DeviceFailure("{}", message);
    case PJRT_Error_Code_ABORTED:
      return Aborted("{}", message);
    case PJRT_Error_Code_CANCELLED:
      return Cancelled("{}", message);
    case PJRT_Error_Code_NOT_FOUND:
      return NotFound("{}", message);
    case PJRT_Error_Code_DEADLINE_EXCEEDED:
      return DeadlineExceeded("{}", message);
    default:
      return Internal("{} (PJRT error code {})", message, static_cast<int>(code));
  }
}

void AddErrorSlots(PJRT_Api& api) {
  OutOfMemory();
  api.PJRT_Error_Destroy = Error_Destroy;
  api.PJRT_Error_Message = Error_Message;
  VXLA_PJRT_SLOT(api, Error_GetCode);
  VXLA_PJRT_SLOT(api, Error_ForEachPayload);
}

}  // namespace VXLA_NAMESPACE::pjrt
