#include "api/weights.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/simplify/simplifiers.h"

namespace VXLA_NAMESPACE {
namespace {

class WeightHoister {
 public:
  WeightHoister(Module& module, int64_t least_bytes) : module_(module), least_bytes_(least_bytes) {}

  std::vector<Weight> Run() {
    Computation& entry = *module_.entry();
    const auto own = static_cast<int64_t>(entry.parameters().size());
    Visit(entry, own, numbers_);
    if (weights_.empty()) return {};
    module_.mutable_attributes().entry_computation_layout.reset();  // it is of the others alone
    module_.RemoveUnusedComputations();
    module_.SortComputations();
    return std::move(weights_);
  }

 private:
  // Which weights a computation reads, by number, in the order of its parameters for them.
  using Numbers = std::vector<int64_t>;

  // The parameters for weights come behind `first`.
  void Visit(Computation& computation, int64_t first, Numbers& read) {
    std::unordered_map<int64_t, Instruction*> parameters;
    const auto parameter = [&](int64_t number) {
      Instruction*& made = parameters[number];
      if (made != nullptr) return made;
      const auto place = std::ranges::find(read, number) - read.begin();
      if (place == std::ssize(read)) read.push_back(number);
      return made = computation.InsertBefore(
                 computation.instructions().front().get(),
                 std::make_unique<Instruction>(Opcode::kParameter, weights_[number].value.shape(),
                                               std::vector<Instruction*>{}, ParameterAttributes{first + place}));
    };
    const auto parameters_for = [&](const Numbers& numbers) {
      return Transformed(numbers, [&](const int64_t number) { return parameter(number); });
    };
    for (Instruction* const i : InstructionList(computation)) {
      if (i->opcode() == Opcode::kConstant) {
        const int64_t number = NumberOf(*i);
        if (number < 0) continue;
        computation.ReplaceAllUses(i, parameter(number));
        computation.Remove(i);
      } else if (i->opcode() == Opcode::kWhile) {
        Numbers inside;
        for (Computation* called : i->called()) Visit(*called, 1, inside);
        if (!inside.empty()) CarryThroughLoop(computation, i, parameters_for(inside));
      } else if (i->opcode() == Opcode::kConditional) {
        for (int branch = 0; branch < static_cast<int>(i->called().size()); ++branch) {
          Numbers inside;
          Visit(*i->called(branch), 1, inside);
          if (!inside.empty()) CarryIntoBranch(i, branch, parameters_for(inside));
        }
      }
    }
  }

  // -1: it stays what it is.
  int64_t NumberOf(const Instruction& constant) {
    const std::shared_ptr<const Literal>& literal = constant.attributes<ConstantAttributes>().literal;
    if (literal == nullptr || constant.shape().SizeBytes() < least_bytes_) return -1;
    // Copies of a loop's body have one literal.
    const auto [found, added] = numbers_of_.try_emplace(literal.get(), std::ssize(weights_));
    if (added) weights_.push_back({constant.name(), *literal});
    return found->second;
  }

  Module& module_;
  const int64_t least_bytes_;
  std::vector<Weight> weights_;
  std::unordered_map<const Literal*, int64_t> numbers_of_;
  Numbers numbers_;  // of the entry: all of them
};

}  // namespace

Result<std::vector<Weight>> HoistWeights(Module& module, int64_t least_bytes) {
  VXLA_RETURN_IF_ERROR(InlineCalls(module).status());
  VXLA_RETURN_IF_ERROR(SeparateControlComputations(module).status());
  return WeightHoister(module, least_bytes).Run();
}

}  // namespace VXLA_NAMESPACE
