#include "backend/cpu/reference/custom_call.h"

#include <fmt/format.h>

#include <string_view>

#include "backend/cpu/reference/eval.h"
#include "backend/cpu/reference/library_calls.h"

namespace VXLA_NAMESPACE {
namespace {

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
  return Unsupported("custom-call {}: no function is registered for \"{}\"; {}; known without one: {}{}",
                     instruction.name(), wanted,
                     targets.empty() ? "none are registered (CustomCallRegistry, EvaluateOptions::custom_calls)"
                                     : fmt::format("registered: {}", fmt::join(targets, ", ")),
                     LibraryCallNames(), WayOut(wanted))
      .At(instruction.location());
}

Status CheckCustomCalls(const Module& module, const CustomCallRegistry* registry) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kCustomCall) continue;
      const std::string& target = instruction->attributes<CustomCallAttributes>().custom_call_target;
      if (registry != nullptr && registry->Find(target) != nullptr) continue;
      if (!IsLibraryCall(target)) return UnknownTarget(*instruction, registry);
      VXLA_RETURN_IF_ERROR(CheckLibraryCall(*instruction));
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
