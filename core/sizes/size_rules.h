// SizeRules: which live sizes of an instruction's operands belong together, and what follows from them. Each rule is
// written once, for sizes that are numbers (core/sizes/live_dimensions.h) and for sizes that instructions compute
// (core/passes/sizes/padded_op.h).
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/ops/op_support.h"
#include "core/ops/paired_dimensions.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {

// A Math has Size, which it computes with (Number, Sum, Difference, Product, Quotient, Remainder, Most, IfLess), and of
// dimension d of operand k:
//   IsOpen(k, d)        whether the operand's value says how much lives
//   LiveSize(k, d)      how much does, of any dimension
//   IsPartial(k, d)     whether that may be less than the bound
//   SetLiveSize(k, d, size)
// RequireEqual(a, b, message, first, second) is an error unless a is b; {0} and {1} in the message are the sizes first
// and second.
template <typename Math>
class SizeRules {
 public:
  using Size = typename Math::Size;

  SizeRules(const Instruction& instruction, Math& math) : instruction_(instruction), math_(math) {}

  // The pairs, and the scales of a scaled dot before and after them.
  void Agree() {
    const bool scaled = instruction_.opcode() == Opcode::kScaledDot;
    const auto agree_on_scales = [&] {
      for (int side = 0; scaled && side < 2; ++side) AgreeOnBlocks(side, side + 2);
    };
    agree_on_scales();
    AgreeOnPairs();
    agree_on_scales();
  }

  // How many positions a window has along a dimension of this size.
  Size WindowPositions(Size size, const WindowDimension& w) {
    const auto number = [&](int64_t value) { return math_.Number(value); };
    const int64_t taps = w.size == 0 ? 0 : (w.size - 1) * w.rhs_dilate + 1;
    const Size spread = math_.Product(math_.Difference(size, number(1)), number(w.lhs_dilate));
    const Size dilated = math_.Most(math_.Sum(spread, number(1)), number(0));
    const Size space = math_.Sum(dilated, number(w.pad_low + w.pad_high - taps));
    const Size steps = math_.Quotient(math_.Most(space, number(0)), number(w.stride));
    return math_.IfLess(space, number(0), number(0), math_.Sum(steps, number(1)));
  }

  // Of a group of a reshape's dimensions at most one dimension of the result is dynamic, and takes what is left: which
  // one, its size in `sizes`. -1: the sizes of the group are those stated.
  int SettleReshape(const DimensionGroup& group, std::vector<Size>& sizes) {
    const Shape &from = instruction_.operand(0)->shape(), &to = instruction_.shape();
    int64_t bound = 1, others = 1, whole = 1;  // whole: of the operand, without what lives in part
    int parts = 0, open = -1, other = -1;
    Size elements = math_.Number(1);
    for (int d = group.from_begin; d < group.from_end; ++d) {
      bound *= from.dimension(d);
      elements = math_.Product(elements, math_.LiveSize(0, d));
      if (math_.IsPartial(0, d)) {
        ++parts;
      } else {
        whole *= from.dimension(d);
      }
    }
    if (parts == 0) return -1;
    for (int d = group.to_begin; d < group.to_end; ++d) {
      if (!to.is_dynamic_dimension(d)) {
        others *= to.dimension(d);
        continue;
      }
      other = open;
      open = d;
    }
    const std::string message = fmt::format("{{0}} live elements of {} do not fill {}", from.ToString(), to.ToString());
    if (other >= 0) {
      const Size all = math_.Number(bound);
      math_.RequireEqual(
          elements, all,
          fmt::format("dimensions {} and {} of {} are dynamic and come from the same dimensions of {}: use {}", other,
                      open, to.ToString(), from.ToString(), OpcodeText(Opcode::kDynamicReshape)),
          elements, all);
      return -1;
    }
    if (open < 0 || others == 0) {
      math_.RequireEqual(elements, math_.Number(bound), message, elements, elements);
      return -1;
    }
    if (parts > 1 || whole % others != 0)
      math_.RequireEqual(math_.Remainder(elements, math_.Number(others)), math_.Number(0), message, elements, elements);
    sizes[open] = math_.Quotient(elements, math_.Number(others));
    return open;
  }

 private:
  // Dimensions that an op pairs have one live size: open ones must agree, others are cut to it (a constant as wide as
  // the bound next to a dynamic array, as programs have it). Twice, because a size that one group settles may be in
  // another.
  void AgreeOnPairs() {
    const std::vector<std::vector<OperandDimension>> groups = PairedDimensions(instruction_);
    for (int round = 0; round < 2; ++round) {
      for (const std::vector<OperandDimension>& group : groups) Settle(group);
    }
  }

  // Scales stand for blocks of the array along each dimension: as many blocks live as the live elements fill.
  void AgreeOnBlocks(int array, int scales) {
    const Shape &shape = instruction_.operand(array)->shape(), &by = instruction_.operand(scales)->shape();
    for (int d = 0; d < shape.rank(); ++d) {
      if (by.dimension(d) <= 1) continue;  // one scale for all
      const int64_t block = shape.dimension(d) / by.dimension(d);
      if (!math_.IsOpen(array, d) && !math_.IsOpen(scales, d)) continue;
      if (!math_.IsOpen(array, d)) {
        math_.SetLiveSize(array, d, math_.Product(math_.LiveSize(scales, d), math_.Number(block)));
      } else if (!math_.IsOpen(scales, d)) {
        math_.SetLiveSize(scales, d, math_.Quotient(math_.LiveSize(array, d), math_.Number(block)));
      }
      const Size elements = math_.LiveSize(array, d), blocks = math_.LiveSize(scales, d);
      math_.RequireEqual(math_.Product(blocks, math_.Number(block)), elements,
                         fmt::format("dimension {} of operand {} has the live size {{0}}, dimension {} of operand {} "
                                     "has {{1}} scales for {} each",
                                     d, array, d, scales, block),
                         elements, blocks);
    }
  }

  void Settle(const std::vector<OperandDimension>& group) {
    const OperandDimension* first = nullptr;
    for (const OperandDimension& p : group) {
      if (!math_.IsOpen(p.operand, p.dimension)) continue;
      if (first == nullptr) first = &p;
      const Size wanted = math_.LiveSize(first->operand, first->dimension),
                 size = math_.LiveSize(p.operand, p.dimension);
      math_.RequireEqual(wanted, size,
                         fmt::format("dimension {} of operand {} has the live size {{0}}, dimension {} of operand {} "
                                     "has {{1}}",
                                     first->dimension, first->operand, p.dimension, p.operand),
                         wanted, size);
    }
    if (first == nullptr) return;
    const Size size = math_.LiveSize(first->operand, first->dimension);
    for (const OperandDimension& p : group) math_.SetLiveSize(p.operand, p.dimension, size);
  }

  const Instruction& instruction_;
  Math& math_;
};

}  // namespace VXLA_NAMESPACE
