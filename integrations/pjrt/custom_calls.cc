// The extensions by which clients register functions of the user's for custom calls: typed handlers with all of their
// stages or functions of XLA's older signatures, and the types of what handlers keep.
#include "integrations/pjrt/plugin.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"
#include "xla/pjrt/c/pjrt_c_api_gpu_extension.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Result<std::string> TargetOf(const char* name, size_t size) {
  if (name == nullptr || size == 0) return InvalidArgument("a custom call is registered without a name");
  return std::string(name, size);
}

Status RegisterStages(const PJRT_Gpu_Register_Custom_Call_Args& args) {
  VXLA_ASSIGN_OR_RETURN(const std::string target, TargetOf(args.function_name, args.function_name_size));
  if (args.handler_execute == nullptr) return InvalidArgument("custom call {}: no handler of execute", target);
  if (args.api_version == 1) {
    RegisterCustomCall(target, FfiHandlers{args.handler_instantiate, args.handler_prepare, args.handler_initialize,
                                           args.handler_execute});
    return OkStatus();
  }
  if (args.api_version != 0)
    return Unsupported("custom call {}: api_version {} is neither 0 nor 1", target, args.api_version);
  if (args.handler_instantiate != nullptr || args.handler_prepare != nullptr || args.handler_initialize != nullptr)
    return InvalidArgument("custom call {}: stages, with api_version 0", target);
  RegisterCustomCall(target, args.handler_execute);
  return OkStatus();
}

Status RegisterHandler(const PJRT_FFI_Register_Handler_Args& args) {
  VXLA_ASSIGN_OR_RETURN(const std::string target, TargetOf(args.target_name, args.target_name_size));
  if (args.handler == nullptr) return InvalidArgument("custom call {}: no handler", target);
  RegisterCustomCall(target, FfiHandlers{nullptr, nullptr, nullptr, args.handler});
  return OkStatus();
}

// Arguments without a list of extensions.
template <typename Args, Status (*function)(const Args&)>
PJRT_Error* PlainSlot(Args* args) noexcept {
  return MakeError(Guarded([&]() -> Status {
    if (args == nullptr || args->struct_size < sizeof(size_t))
      return InvalidArgument("a call of PJRT's C API without its arguments");
    return function(Known(args));
  }));
}

Status FFI_Type_Register(PJRT_FFI_Type_Register_Args& args) {
  if (args.type_name == nullptr || args.type_name_size == 0)
    return InvalidArgument("a type of handlers is registered without a name");
  const std::string name(args.type_name, args.type_name_size);
  const int64_t number =
      CustomCallRegistry::RegisterFfiType(name, args.type_info == nullptr ? nullptr : args.type_info->deleter);
  if (args.type_id != 0 && args.type_id != number)
    return InvalidArgument("type {}: its number is {}, not {}", name, number, args.type_id);
  args.type_id = number;
  return OkStatus();
}

Status FFI_UserData_Add(PJRT_FFI_UserData_Add_Args&) { return Unsupported("user data of a run, for handlers"); }

}  // namespace

PJRT_Extension_Base* CustomCallExtensions(PJRT_Extension_Base* next) {
  static PJRT_Gpu_Custom_Call stages = {{sizeof(PJRT_Gpu_Custom_Call), PJRT_Extension_Type_Gpu_Custom_Call, next},
                                        &PlainSlot<PJRT_Gpu_Register_Custom_Call_Args, RegisterStages>};
  static PJRT_FFI_Extension handlers = {
      {sizeof(PJRT_FFI_Extension), PJRT_Extension_Type_FFI, &stages.base},
      &Slot<PJRT_FFI_Type_Register_Args, FFI_Type_Register>,
      &Slot<PJRT_FFI_UserData_Add_Args, FFI_UserData_Add>,
      &PlainSlot<PJRT_FFI_Register_Handler_Args, RegisterHandler>,
  };
  return &handlers.base;
}

}  // namespace VXLA_NAMESPACE::pjrt
