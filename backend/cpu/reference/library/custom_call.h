// Custom calls: the host functions and the kernels that a program's custom-call instructions name. This header needs
// the standard library only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/custom_kernel.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class Instruction;
class Literal;

// How a custom call reports that it failed; untouched it succeeded.
class CustomCallStatus {
 public:
  void SetFailure(std::string message) {
    failed_ = true;
    message_ = std::move(message);
  }
  bool failed() const { return failed_; }
  const std::string& message() const { return message_; }

 private:
  bool failed_ = false;
  std::string message_;
};

struct FfiInstances;  // what handlers keep from call to call: ffi_call.cc

// The handlers of one target of XLA's typed FFI, each an XLA_FFI_Error* (XLA_FFI_CallFrame*); all but the last may be
// null.
struct FfiHandlers {
  void *instantiate = nullptr, *prepare = nullptr, *initialize = nullptr, *execute = nullptr;
};

// Functions by target name. Arrays are dense, row-major unless the instruction states operand_layout_constraints, pred
// and types below 8 bits one byte an element. `out` points to the result's elements, in[k] to operand k's; a tuple is
// an array of pointers to its elements. The functions must neither write to their operands nor have side effects, and
// are called from several threads if a program runs on several devices. The form of dynamic arrays:
// docs/guides/dynamic_dimensions.md.
class CustomCallRegistry {
 public:
  // Accepts functions and function objects with one of these signatures:
  //   void(void* out, void** in)                                             as XLA's documentation has it
  //   void(void* out, const void** in)
  //   void(void* out, const void** in, CustomCallStatus& status)             a function that can fail
  //   void(void* out, const void** in, std::string_view opaque, CustomCallStatus& status)
  //   void(void* out, const void** in, const char* opaque, size_t opaque_size, CustomCallStatus& status)
  // `opaque` is the instruction's backend_config. A second registration of a name replaces the first.
  template <typename Function>
  void Register(std::string target, Function function);

  // A handler as XLA_FFI_DEFINE_HANDLER_SYMBOL makes it, compiled against XLA's own headers: XLA_FFI_Error*
  // handler(XLA_FFI_CallFrame*). Instructions have to name it with api_version=API_VERSION_TYPED_FFI.
  template <typename Error, typename Frame>
  void RegisterFfi(std::string target, Error* (*handler)(Frame*)) {
    RegisterFfi(std::move(target), FfiHandlers{nullptr, nullptr, nullptr, reinterpret_cast<void*>(handler)});
  }
  // With its other stages.
  void RegisterFfi(std::string target, const FfiHandlers& handlers);
  // The address of a function, such as a symbol of a shared library. The api_version of the instruction that calls it
  // says what it is:
  //   none, API_VERSION_ORIGINAL             void(void* out, const void** in)
  //   API_VERSION_STATUS_RETURNING           void(void* out, const void** in, XlaCustomCallStatus* status)
  //   API_VERSION_STATUS_RETURNING_UNIFIED   void(void* out, const void** in, const char* opaque, size_t opaque_size,
  //                                               XlaCustomCallStatus* status)
  //   API_VERSION_TYPED_FFI                  a handler, as above
  // XlaCustomCallStatusSetFailure(status, message, size) and XlaCustomCallStatusSetSuccess(status) are this library's.
  void RegisterSymbol(std::string target, void* symbol);
  // The number of the type of that name, which handlers' states are of; the same for the whole process. `deleter`, which
  // may be null, frees an object of it; the first registration's holds.
  static int64_t RegisterFfiType(const std::string& name, void (*deleter)(void*));

  // A kernel, which runs where the client's device does. A function of the same name stands beside it: the reference
  // calls that, so that a comparison has two sides.
  void RegisterKernel(std::string target, CustomKernel kernel) { kernels_[std::move(target)] = std::move(kernel); }
  const CustomKernels& kernels() const { return kernels_; }

  // The whole instruction; operands and result as functions see them, dense. For the library's own use.
  using Evaluator = std::function<void(const Instruction& call, std::span<const Literal> inputs, Literal& result,
                                       CustomCallStatus& status)>;
  void RegisterEvaluator(std::string target, Evaluator evaluator);

  using Call = std::function<void(void* out, const void** in, std::string_view opaque, CustomCallStatus& status)>;
  // One of `evaluator`, `call`, `symbol` and `handlers.execute`.
  struct Target {
    Evaluator evaluator;
    Call call;
    void* symbol = nullptr;
    FfiHandlers handlers;
    std::shared_ptr<FfiInstances> instances;
  };
  // nullptr: no such function.
  const Target* Find(const std::string& target) const {
    const auto it = functions_.find(target);
    return it == functions_.end() ? nullptr : &it->second;
  }
  // Those of the functions.
  std::vector<std::string> targets() const {
    std::vector<std::string> names;
    for (const auto& [name, function] : functions_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, Target> functions_;
  CustomKernels kernels_;
};

template <typename Function>
void CustomCallRegistry::Register(std::string target, Function function) {
  Call call;
  if constexpr (std::is_invocable_v<Function, void*, const void**, std::string_view, CustomCallStatus&>) {
    call = std::move(function);
  } else if constexpr (std::is_invocable_v<Function, void*, const void**, const char*, size_t, CustomCallStatus&>) {
    call = [function](void* out, const void** in, std::string_view opaque, CustomCallStatus& status) {
      function(out, in, opaque.data(), opaque.size(), status);
    };
  } else if constexpr (std::is_invocable_v<Function, void*, const void**, CustomCallStatus&>) {
    call = [function](void* out, const void** in, std::string_view, CustomCallStatus& status) {
      function(out, in, status);
    };
  } else if constexpr (std::is_invocable_v<Function, void*, const void**>) {
    call = [function](void* out, const void** in, std::string_view, CustomCallStatus&) { function(out, in); };
  } else {
    call = [function](void* out, const void** in, std::string_view, CustomCallStatus&) {
      function(out, const_cast<void**>(in));
    };
  }
  functions_[std::move(target)] = {nullptr, std::move(call), nullptr, {}, nullptr};
}

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
