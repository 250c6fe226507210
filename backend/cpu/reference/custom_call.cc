#include "backend/cpu/reference/custom_call.h"

#include <string_view>

#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

// The routine that JAX calls where it lowers for a CPU or a CUDA GPU: potrf of lapack_spotrf_ffi (after the letter of
// the element type), of cusolver_potrf_ffi. Empty for other targets.
std::string_view LapackRoutine(std::string_view target) {
  size_t skipped = 0;
  for (const std::string_view library : {"lapack_?", "blas_?", "cusolver_"}) {
    if (target.starts_with(library.substr(0, library.find('?')))) skipped = library.size();
  }
  if (skipped == 0 || skipped >= target.size()) return {};
  target.remove_prefix(skipped);
  if (target.ends_with("_ffi")) target.remove_suffix(4);
  return target;
}

std::string WayOut(std::string_view target) {
  const std::string_view routine = LapackRoutine(target);
  if (routine.empty()) return "";
  if (routine == "potrf" || routine == "trsm") {
    return " (JAX's call of a library; lowered for another platform the program holds the operation instead: "
           "jax.jit(f).trace(*args).lower(lowering_platforms=(\"tpu\",)).as_text(dialect=\"hlo\"))";
  }
  return " (JAX's call of a library; of linear algebra HLO has the operations cholesky and triangular-solve)";
}

}  // namespace

Status UnknownTarget(const Instruction& instruction, const CustomCallRegistry* registry) {
  const std::vector<std::string> targets = registry == nullptr ? std::vector<std::string>() : registry->targets();
  std::string known;
  for (const std::string& target : targets) known += (known.empty() ? "" : ", ") + target;
  const std::string& wanted = instruction.attributes<CustomCallAttributes>().custom_call_target;
  return Unsupported("custom-call {}: no function is registered for \"{}\"; {}{}", instruction.name(), wanted,
                     known.empty() ? "none are registered (CustomCallRegistry, EvaluateOptions::custom_calls)"
                                   : "registered: " + known,
                     WayOut(wanted))
      .At(instruction.location());
}

Status CheckCustomCalls(const Module& module, const CustomCallRegistry* registry) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kCustomCall) continue;
      const std::string& target = instruction->attributes<CustomCallAttributes>().custom_call_target;
      if (registry == nullptr || registry->Find(target) == nullptr) return UnknownTarget(*instruction, registry);
    }
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
