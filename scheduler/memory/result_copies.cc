#include "scheduler/memory/result_copies.h"

#include <map>
#include <set>
#include <vector>

#include "core/passes/base/origins.h"

namespace VXLA_NAMESPACE {
namespace {

class Copier {
 public:
  Copier(Module& module, const Lowering& lowering) : module_(module), entry_(*module.entry()), lowering_(lowering) {}

  void Run() {
    ReadDonors();
    Instruction* root = entry_.root();
    IntList path;
    Instruction* replacement = Visit(root, path);
    entry_.set_root(replacement);  // adding instructions moves the root
  }

 private:
  // `value` with copies at the leaves that need them.
  Instruction* Visit(Instruction* value, IntList& path) {
    if (!value->shape().IsTuple()) return NeedsCopy(*value, path) ? CopyOf(value) : value;
    std::vector<Instruction*> elements;
    bool changed = false;
    for (int i = 0; i < static_cast<int>(value->shape().tuple_elements().size()); ++i) {
      path.push_back(i);
      Instruction* element = value->opcode() == Opcode::kTuple ? value->operand(i) : nullptr;
      if (element == nullptr) element = Extract(value, i);
      Instruction* visited = Visit(element, path);
      changed |= visited != element;
      elements.push_back(visited);
      path.pop_back();
    }
    if (!changed) return value;
    return entry_.Add(Opcode::kTuple, value->shape(), elements);
  }

  Instruction* Extract(Instruction* value, int64_t index) {
    GetTupleElementAttributes attributes;
    attributes.index = index;
    return entry_.Add(Opcode::kGetTupleElement, value->shape().tuple_elements().at(index), {value}, attributes);
  }

  bool NeedsCopy(const Instruction& leaf, const IntList& path) {
    if (!leaf.shape().IsArray() || leaf.shape().SizeBytes() == 0) return false;
    const LeafOrigin origin = origins_.Of(leaf, 0);
    if (origin.instruction->opcode() == Opcode::kParameter) return !IsDonatedTo(origin, path);
    if (origin.instruction->opcode() == Opcode::kConstant) return true;
    return !taken_.emplace(origin.instruction, origin.leaf).second;
  }

  bool IsDonatedTo(const LeafOrigin& parameter, const IntList& path) const {
    const auto donor = donors_.find(path);
    return donor != donors_.end() &&
           donor->second == std::pair(parameter.instruction->parameter_number(), parameter.leaf);
  }

  // The parameter, and its leaf, that each part of the result is given. Verify has checked that there are such.
  void ReadDonors() {
    for (const Aliasing& alias : module_.attributes().input_output_alias) {
      const int leaf = FirstLeafAt(entry_.parameter(alias.operand)->shape(), alias.operand_index);
      donors_.emplace(alias.output_index, std::pair(alias.operand, leaf));
    }
  }

  Instruction* CopyOf(Instruction* value) {
    Computation* body = module_.AddComputation("copy_computation");
    ParameterAttributes parameter;
    Instruction* source = body->Add(Opcode::kParameter, value->shape(), {}, parameter, {}, "param_0");
    body->set_root(body->Add(Opcode::kCopy, value->shape(), {source}));
    Instruction* copy = entry_.Add(Opcode::kFusion, value->shape(), {value}, FusionAttributes{}, {body}, "copy_fusion");
    if (lowering_.CanLower(*copy).ok()) return copy;
    entry_.set_root(value);  // adding the copy made it the root, which cannot be removed
    entry_.Remove(copy);
    return value;
  }

  Module& module_;
  Computation& entry_;
  const Lowering& lowering_;
  Origins origins_;
  std::set<std::pair<const Instruction*, int>> taken_;
  std::map<IntList, std::pair<int64_t, int>> donors_;
};

}  // namespace

void CopySharedResults(Module& module, const Lowering& lowering) {
  Copier(module, lowering).Run();
  module.entry()->RemoveDead();
  module.RemoveUnusedComputations();
  module.SortComputations();
}

}  // namespace VXLA_NAMESPACE
