#include "api/weights.h"

#include <memory>
#include <utility>

#include "core/passes/base/call_inliner.h"

namespace VXLA_NAMESPACE {

Result<std::vector<Weight>> HoistWeights(Module& module, int64_t least_bytes) {
  VXLA_RETURN_IF_ERROR(InlineCalls(module).status());
  Computation& entry = *module.entry();
  std::vector<Instruction*> constants;
  for (const auto& instruction : entry.instructions()) {
    if (instruction->opcode() != Opcode::kConstant || instruction->shape().SizeBytes() < least_bytes) continue;
    if (instruction->attributes<ConstantAttributes>().literal != nullptr) constants.push_back(instruction.get());
  }
  std::vector<Weight> weights;
  for (Instruction* const constant : constants) {
    const auto number = static_cast<int64_t>(entry.parameters().size());
    Instruction* const parameter = entry.InsertBefore(
        constant, std::make_unique<Instruction>(Opcode::kParameter, constant->shape(), std::vector<Instruction*>{},
                                                ParameterAttributes{number}));
    weights.push_back({constant->name(), constant->literal()});
    entry.ReplaceAllUses(constant, parameter);
    entry.Remove(constant);
  }
  if (!weights.empty()) module.mutable_attributes().entry_computation_layout.reset();  // it is of the others alone
  return weights;
}

}  // namespace VXLA_NAMESPACE
