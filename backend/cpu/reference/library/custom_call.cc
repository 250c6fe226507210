#include "backend/cpu/reference/library/custom_call.h"

#include <fmt/format.h>

#include <deque>
#include <exception>

#include "backend/cpu/reference/eval.h"
#include "backend/cpu/reference/library/ffi_call.h"
#include "backend/cpu/reference/library/ffi_question.h"
#include "backend/cpu/reference/library/library_calls.h"
#include "core/host/guarded.h"
#include "core/mlir/reader/config_dictionary.h"

// What functions of XLA's older signatures report by; exported from the command and the library for their sake.
extern "C" {
__attribute__((visibility("default"))) void XlaCustomCallStatusSetSuccess(vxla::CustomCallStatus* status);
__attribute__((visibility("default"))) void XlaCustomCallStatusSetFailure(vxla::CustomCallStatus* status,
                                                                          const char* message, size_t message_size);
}

void XlaCustomCallStatusSetSuccess(vxla::CustomCallStatus* status) { *status = {}; }

// The message may end before its size.
void XlaCustomCallStatusSetFailure(vxla::CustomCallStatus* status, const char* message, size_t message_size) {
  std::string_view text(message == nullptr ? "" : message, message == nullptr ? 0 : message_size);
  status->SetFailure(std::string(text.substr(0, text.find('\0'))));
}

namespace VXLA_NAMESPACE {
namespace {

// An array as the call sees it: its pointer, or for tuples the pointer to the pointers of the elements, which live in
// `tables`.
template <typename Pointer, typename Node>
Pointer PointerTo(Node& literal, std::deque<std::vector<Pointer>>& tables) {
  if (!literal.shape().IsTuple()) {
    if constexpr (std::is_const_v<Node>) {
      return literal.bytes().data();
    } else {
      return literal.mutable_bytes().data();
    }
  }
  std::vector<Pointer>& table = tables.emplace_back();
  if constexpr (std::is_const_v<Node>) {
    for (const Literal& element : literal.tuple_elements()) table.push_back(PointerTo<Pointer>(element, tables));
  } else {
    for (Literal& element : literal.mutable_tuple_elements()) table.push_back(PointerTo<Pointer>(element, tables));
  }
  return static_cast<Pointer>(table.data());
}

enum class CallForm : uint8_t { kOriginal, kStatus, kUnified, kFfi };

// What the instruction's api_version says; none is the original one.
Result<CallForm> FormOf(const Instruction& instruction) {
  const std::string& version = instruction.attributes<CustomCallAttributes>().api_version.text;
  if (version.empty() || version == "API_VERSION_ORIGINAL" || version == "API_VERSION_UNSPECIFIED")
    return CallForm::kOriginal;
  if (version == "API_VERSION_STATUS_RETURNING") return CallForm::kStatus;
  if (version == "API_VERSION_STATUS_RETURNING_UNIFIED") return CallForm::kUnified;
  if (version == "API_VERSION_TYPED_FFI") return CallForm::kFfi;
  return Unsupported(
      "custom-call {}: api_version={} is none of API_VERSION_ORIGINAL, API_VERSION_STATUS_RETURNING, "
      "API_VERSION_STATUS_RETURNING_UNIFIED, API_VERSION_TYPED_FFI",
      instruction.name(), version);
}

void CallSymbol(CallForm form, void* symbol, void* out, const void** in, std::string_view opaque,
                CustomCallStatus& status) {
  switch (form) {
    case CallForm::kOriginal:
      return reinterpret_cast<void (*)(void*, const void**)>(symbol)(out, in);
    case CallForm::kStatus:
      return reinterpret_cast<void (*)(void*, const void**, CustomCallStatus*)>(symbol)(out, in, &status);
    default:
      return reinterpret_cast<void (*)(void*, const void**, const char*, size_t, CustomCallStatus*)>(symbol)(
          out, in, opaque.data(), opaque.size(), &status);
  }
}

Status IsNotStated(const Instruction& instruction, const std::string& target) {
  return InvalidArgument(
      "custom-call {}: {} is a handler of the typed FFI, and the instruction does not say "
      "api_version=API_VERSION_TYPED_FFI",
      instruction.name(), target);
}

// A symbol that the instruction calls by an older signature.
Status CallAsFunction(CallForm form, const Instruction& instruction, void* symbol, Literal& result, void* out,
                      const void** in, std::string_view opaque, CustomCallStatus& status) {
  const auto& attributes = instruction.attributes<CustomCallAttributes>();
  // The question would stand where the function finds its operand.
  if (!attributes.output_to_operand_aliasing.empty() || !MayBeHandler(symbol)) {
    CallSymbol(form, symbol, out, in, opaque, status);
    return OkStatus();
  }
  HandlerQuestion question(result, out);
  CallSymbol(form, symbol, question.out(), in, opaque, status);
  return question.TakeAnswer() ? IsNotStated(instruction, attributes.custom_call_target) : OkStatus();
}

// What `call` returns, or a message about what it throws. Memory that the host lacks goes its own way.
template <typename Call>
Status Caught(const Instruction& instruction, const std::string& target, Call&& call) {
  try {
    return call();
  } catch (const HostMemoryExhausted&) {
    throw;
  } catch (const std::exception& error) {
    return InvalidArgument("custom-call {}: {} threw an exception: {}", instruction.name(), target, error.what());
  } catch (...) {
    return InvalidArgument("custom-call {}: {} threw an exception of an unknown type", instruction.name(), target);
  }
}

bool HoldsDynamic(const Instruction& instruction) {
  bool any = instruction.shape().IsDynamic();
  for (const Instruction* operand : instruction.operands()) any |= operand->shape().IsDynamic();
  return any;
}

// What JAX calls where it lowers for a GPU, or called before XLA had typed calls.
std::string WayOut(std::string_view target) {
  const bool library = target.starts_with("lapack_") || target.starts_with("blas_") ||
                       target.starts_with("cusolver_") || target.starts_with("cublas");
  if (!library) return "";
  return " (lowered for another platform the program holds what is known here: "
         "jax.jit(f).trace(*args).lower(lowering_platforms=(\"cpu\",)).as_text(dialect=\"hlo\") of a JAX from 2025 on)";
}

}  // namespace

Status UnknownTarget(const Instruction& instruction, const CustomCallRegistry* registry) {
  const std::vector<std::string> targets = registry == nullptr ? std::vector<std::string>() : registry->targets();
  const std::string& wanted = instruction.attributes<CustomCallAttributes>().custom_call_target;
  if (registry != nullptr && registry->kernels().contains(wanted)) {
    return Unsupported(
               "custom-call {}: \"{}\" is a kernel, which runs on devices only; the CPU reference needs a "
               "function beside it (--custom-call {}=LIB.so:symbol, CustomCallRegistry::Register)",
               instruction.name(), wanted, wanted)
        .At(instruction.location());
  }
  return Unsupported("custom-call {}: no function is registered for \"{}\"; {}; known without one: {}{}",
                     instruction.name(), wanted,
                     targets.empty() ? "none are registered (--custom-call and --kernel, or CustomCallRegistry, "
                                       "EvaluateOptions::custom_calls)"
                                     : fmt::format("registered: {}", fmt::join(targets, ", ")),
                     LibraryCallNames(), WayOut(wanted))
      .At(instruction.location());
}

void CustomCallRegistry::RegisterFfi(std::string target, const FfiHandlers& handlers) {
  functions_[std::move(target)] = {nullptr, nullptr, nullptr, handlers, MakeFfiInstances()};
}

void CustomCallRegistry::RegisterSymbol(std::string target, void* symbol) {
  functions_[std::move(target)] = {nullptr, nullptr, symbol, {nullptr, nullptr, nullptr, symbol}, MakeFfiInstances()};
}

void CustomCallRegistry::RegisterEvaluator(std::string target, Evaluator evaluator) {
  functions_[std::move(target)] = {std::move(evaluator), nullptr, nullptr, {}, nullptr};
}

Status CallFunction(const Instruction& instruction, const CustomCallRegistry::Target& function,
                    std::span<const Literal> inputs, Literal& result) {
  const std::string& target = instruction.attributes<CustomCallAttributes>().custom_call_target;
  CustomCallStatus status;
  if (!function.call && !function.evaluator) {
    VXLA_ASSIGN_OR_RETURN(const CallForm form, FormOf(instruction));
    if (form != CallForm::kFfi && function.symbol == nullptr) return IsNotStated(instruction, target);
    if (form == CallForm::kFfi && HoldsDynamic(instruction))
      return Unsupported("custom-call {}: the typed FFI has no arrays of dynamic sizes", instruction.name());
    if (form == CallForm::kFfi)
      return Caught(instruction, target, [&] { return CallFfi(instruction, function, inputs, result); });
  }
  std::deque<std::vector<const void*>> input_tables;
  std::deque<std::vector<void*>> output_tables;
  std::vector<const void*> in;
  for (const Literal& input : inputs) in.push_back(PointerTo<const void*>(input, input_tables));
  void* const out = PointerTo<void*>(result, output_tables);
  const std::string opaque = ConfigText(instruction.common().backend_config.text);
  VXLA_RETURN_IF_ERROR(Caught(instruction, target, [&]() -> Status {
    if (function.evaluator) {
      function.evaluator(instruction, inputs, result, status);
    } else if (function.call) {
      function.call(out, in.data(), opaque, status);
    } else {
      VXLA_ASSIGN_OR_RETURN(const CallForm form, FormOf(instruction));
      return CallAsFunction(form, instruction, function.symbol, result, out, in.data(), opaque, status);
    }
    return OkStatus();
  }));
  if (!status.failed()) return OkStatus();
  return InvalidArgument("custom-call {}: {} failed: {}", instruction.name(), target, status.message());
}

Status CheckCustomCalls(const Module& module, const CustomCallRegistry* registry, bool kernels_will_do) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kCustomCall || instruction->call_kind() == CallKind::kSizeCheck) continue;
      const std::string& target = instruction->attributes<CustomCallAttributes>().custom_call_target;
      if (registry != nullptr && registry->Find(target) != nullptr) continue;
      if (kernels_will_do && registry != nullptr && registry->kernels().contains(target)) continue;
      if (!IsLibraryCall(target)) return UnknownTarget(*instruction, registry);
      VXLA_RETURN_IF_ERROR(CheckLibraryCall(*instruction));
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
