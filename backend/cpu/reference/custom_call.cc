#include "backend/cpu/reference/custom_call.h"

#include <string_view>

#include "backend/cpu/reference/eval.h"

namespace vxla {
namespace {

// What JAX writes on a CPU are calls into jaxlib's LAPACK and BLAS: lapack_spotrf_ffi, blas_strsm. The letter after the
// library's name is the element type.
bool IsLapack(std::string_view target, std::string_view routine) {
  for (const std::string_view library : {"lapack_", "blas_"}) {
    if (!target.starts_with(library) || target.size() <= library.size()) continue;
    std::string_view rest = target.substr(library.size() + 1);
    if (rest.ends_with("_ffi")) rest.remove_suffix(4);
    return routine.empty() || rest == routine;
  }
  return false;
}

std::string WayOut(const std::string& target) {
  if (!IsLapack(target, "")) return "";
  std::string text = " (JAX calls LAPACK on a CPU";
  if (IsLapack(target, "potrf") || IsLapack(target, "trsm")) {
    text +=
        "; lowered for another platform the program holds the operation instead: "
        "jax.jit(f).trace(*args).lower(lowering_platforms=(\"tpu\",)).as_text(dialect=\"hlo\")";
  } else {
    text += "; of these cholesky and triangular-solve are operations of HLO, others are not";
  }
  return text + ")";
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

}  // namespace vxla
