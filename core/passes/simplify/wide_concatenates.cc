#include <algorithm>

#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {

bool SplitWideConcatenates(Module& module, int most) {
  const int of_one = std::max(2, most - 1);
  return ExpandEach(ControlComputations(module), [&](Computation& computation, Instruction* i) -> Instruction* {
    if (i->opcode() != Opcode::kConcatenate || i->operand_count() <= of_one) return nullptr;
    Expansion expansion(computation, i);
    const int64_t dimension = i->attributes<DimensionsAttributes>().dimensions.at(0);
    std::vector<Instruction*> values(i->operands().begin(), i->operands().end());
    while (values.size() > 1) {
      std::vector<Instruction*> joined;
      for (size_t first = 0; first < values.size(); first += static_cast<size_t>(of_one)) {
        const size_t end = std::min(values.size(), first + static_cast<size_t>(of_one));
        const std::vector<Instruction*> group(values.begin() + static_cast<ptrdiff_t>(first),
                                              values.begin() + static_cast<ptrdiff_t>(end));
        joined.push_back(group.size() == 1 ? group[0] : expansion.Concatenated(group, dimension));
      }
      values = std::move(joined);
    }
    values[0]->mutable_shape().set_layout(i->shape().layout());
    return values[0];
  });
}

}  // namespace VXLA_NAMESPACE
