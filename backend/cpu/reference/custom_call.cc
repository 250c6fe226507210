#include "backend/cpu/reference/custom_call.h"

#include <fmt/format.h>

#include "backend/cpu/reference/eval.h"
#include "backend/cpu/reference/library_calls.h"

namespace VXLA_NAMESPACE {
Status UnknownTarget(const Instruction& instruction, const CustomCallRegistry* registry) {
  const std::vector<std::string> targets = registry == nullptr ? std::vector<std::string>() : registry->targets();
  std::string known;
  for (const std::string& target : targets) known += (known.empty() ? "" : ", ") + target;
  const std::string& wanted = instruction.attributes<CustomCallAttributes>().custom_call_target;
  return Unsupported("custom-call {}: no function is registered for \"{}\"; {}; known by themselves: {}",
                     instruction.name(), wanted,
                     known.empty() ? "none are registered (CustomCallRegistry, EvaluateOptions::custom_calls)"
                                   : "registered: " + known,
                     fmt::join(LibraryCallNames(), ", "))
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
