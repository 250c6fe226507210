#include "api/verify/seeded_arguments.h"

namespace VXLA_NAMESPACE {

Result<std::vector<Literal>> SeededArguments(const Module& module, uint64_t seed, ArgumentFill fill) {
  std::vector<Literal> arguments;
  uint32_t array = 0;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::vector<Literal> leaves;
    for (const Shape* leaf : FlattenTuple(parameter->shape())) {
      const uint32_t number = array++;
      if (!leaf->IsArray()) {
        leaves.emplace_back(*leaf);
        continue;
      }
      if (leaf->IsDynamic())
        return InvalidArgument("arg_{}: {} has dynamic dimensions, so it must be given", number, leaf->ToString());
      VXLA_RETURN_IF_ERROR(CheckedElementCount(leaf->dimensions()).status());
      leaves.push_back(RandomLiteral(*leaf, seed, number, fill));
    }
    arguments.push_back(UnflattenLiteral(parameter->shape(), leaves));
  }
  return arguments;
}

}  // namespace VXLA_NAMESPACE
