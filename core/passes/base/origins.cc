#include "core/passes/base/origins.h"

#include <algorithm>

#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {
namespace {

// Values that only order what happens, or that hand their operand on: no bytes move for them.
bool IsTransparent(Opcode opcode) {
  return opcode == Opcode::kOptimizationBarrier || opcode == Opcode::kAddDependency || opcode == Opcode::kDomain;
}

// The elements of an argument with live sizes behind them, whatever lives (core/passes/sizes/dynamic_padder.h).
bool IsArgumentAtBounds(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kSetDimensionSize || instruction.operand_count() != 1) return false;
  const Instruction* array = instruction.operand(0);
  while (array->opcode() == Opcode::kGetTupleElement) array = array->operand(0);
  return array->opcode() == Opcode::kParameter;
}

bool FillsItsStorage(ElementType type) { return BitWidth(type) == 8 * StorageBytes(type); }

}  // namespace

int LeafCount(const Shape& shape) { return shape.IsTuple() ? static_cast<int>(FlattenTuple(shape).size()) : 1; }

int FirstLeafAt(const Shape& shape, std::span<const int64_t> index) {
  if (index.empty()) return 0;
  int leaf = FirstLeafAt(shape.tuple_elements()[static_cast<size_t>(index[0])], index.subspan(1));
  for (int64_t before = 0; before < index[0]; ++before)
    leaf += LeafCount(shape.tuple_elements()[static_cast<size_t>(before)]);
  return leaf;
}

bool IsSameBytes(const Instruction& instruction) {
  if (IsArgumentAtBounds(instruction)) return true;
  if (KindOf(instruction.opcode()) != OpcodeKind::kAlias || UsesLiveSizes(instruction)) return false;
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  if (from.element_type() == to.element_type()) return true;
  return from.SizeBytes() == to.SizeBytes() && FillsItsStorage(from.element_type()) &&
         FillsItsStorage(to.element_type());
}

bool SameFlags(const Shape& a, const Shape& b) {
  for (int i = 0; i < a.rank(); ++i) {
    if (a.is_dynamic_dimension(i) != b.is_dynamic_dimension(i)) return false;
  }
  return std::ranges::equal(a.tuple_elements(), b.tuple_elements(), SameFlags);
}

bool HandsOn(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  if (instruction.opcode() == Opcode::kTuple) {
    for (int k = 0; k < instruction.operand_count(); ++k) {
      if (!SameFlags(instruction.operand(k)->shape(), shape.tuple_elements()[k])) return false;
    }
    return true;
  }
  if (instruction.opcode() == Opcode::kGetTupleElement) {
    const auto index = static_cast<size_t>(instruction.attributes<GetTupleElementAttributes>().index);
    return SameFlags(instruction.operand(0)->shape().tuple_elements()[index], shape);
  }
  return IsTransparent(instruction.opcode()) && SameFlags(instruction.operand(0)->shape(), shape);
}

const std::vector<int>& Origins::StartsOf(const Instruction& instruction) {
  std::vector<int>& starts = starts_[&instruction];
  if (!starts.empty()) return starts;
  starts.push_back(0);
  for (const Shape& element : instruction.shape().tuple_elements())
    starts.push_back(starts.back() + LeafCount(element));
  return starts;
}

// The operands' leaves are known.
std::span<const LeafOrigin> Origins::Leaves(const Instruction& instruction) {
  std::vector<LeafOrigin>& leaves = leaves_[&instruction];
  if (!leaves.empty()) return leaves;
  if (instruction.opcode() == Opcode::kTuple && HandsOn(instruction)) {
    for (const Instruction* operand : instruction.operands()) {
      const std::vector<LeafOrigin>& part = leaves_.at(operand);
      leaves.insert(leaves.end(), part.begin(), part.end());
    }
  } else if (instruction.opcode() == Opcode::kGetTupleElement && HandsOn(instruction)) {
    const auto index = static_cast<size_t>(instruction.attributes<GetTupleElementAttributes>().index);
    const std::vector<int>& starts = StartsOf(*instruction.operand(0));
    const std::vector<LeafOrigin>& whole = leaves_.at(instruction.operand(0));
    leaves.assign(whole.begin() + starts[index], whole.begin() + starts[index + 1]);
  } else if (IsSameBytes(instruction) || HandsOn(instruction)) {
    leaves = leaves_.at(instruction.operand(0));
  } else {
    const int count = LeafCount(instruction.shape());
    for (int leaf = 0; leaf < count; ++leaf) leaves.push_back({&instruction, leaf});
  }
  return leaves;
}

LeafOrigin Origins::Of(const Instruction& instruction, int leaf) {
  std::vector<const Instruction*> work{&instruction};
  while (!work.empty()) {
    const Instruction& at = *work.back();
    const size_t before = work.size();
    if (!leaves_.contains(&at) && (IsSameBytes(at) || HandsOn(at))) {
      for (const Instruction* operand : at.operands()) {
        if (!leaves_.contains(operand)) work.push_back(operand);
      }
    }
    if (work.size() > before) continue;
    Leaves(at);
    work.pop_back();
  }
  return leaves_.at(&instruction).at(static_cast<size_t>(leaf));
}

}  // namespace VXLA_NAMESPACE
