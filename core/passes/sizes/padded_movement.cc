#include <fmt/format.h>

#include "core/ops/op_support.h"
#include "core/passes/sizes/padded_op.h"
#include "core/sizes/live_instruction.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
PaddedOp::Result PaddedOp::Broadcast() {
  Sizes sizes(static_cast<size_t>(instruction().shape().rank()));
  for (size_t i = 0; i < instruction().dimensions().size(); ++i) {
    sizes[instruction().dimensions()[i]] = Operand(0).sizes[i];
  }
  return One(Static(), std::move(sizes));
}

// A slice of one element may pick any place up to the bound and is static; the others see the live elements only.
PaddedOp::Result PaddedOp::Slice() {
  const auto& slice = instruction().attributes<SliceAttributes>().slice;
  Sizes sizes = Operand(0).sizes;
  for (size_t d = 0; d < slice.size(); ++d) {
    if (sizes[d] == nullptr) continue;
    const auto dimension = static_cast<int64_t>(d);
    if (instruction().shape().dimension(d) == 1 && !IsStated(dimension)) {
      sizes[d] = nullptr;
      continue;
    }
    Instruction* const left = Difference(Least(sizes[d], Number(slice[d].limit)), Number(slice[d].start));
    const int64_t stride = slice[d].stride;
    sizes[d] = Quotient(Sum(Most(left, Number(0)), Number(stride - 1)), Number(stride));
  }
  return One(Static(), std::move(sizes));
}

// Each operand is put where the one before ends, and covers what that one has behind its live elements.
PaddedOp::Result PaddedOp::Concatenate() {
  const auto along = static_cast<size_t>(instruction().dimensions()[0]);
  const auto dimension = static_cast<int64_t>(along);
  Sizes sizes = Operand(0).sizes;
  Instruction* total = Number(0);
  bool any = false, gaps = false;
  for (int k = 0; k < Count(); ++k) {
    total = Sum(total, SizeOf(Operand(k), dimension));
    any = any || Operand(k).sizes[along] != nullptr;
    gaps = gaps || (k + 1 < Count() && Lives(Operand(k), dimension));
  }
  sizes[along] = any ? total : nullptr;
  if (!gaps) return One(Static(), std::move(sizes));
  Instruction* joined = Zeros(AtBounds(instruction().shape()));
  Instruction* at = Number(0);
  for (int k = 0; k < Count(); ++k) {
    std::vector<Instruction*> operands(sizes.size() + 2, Number(0));
    operands[0] = joined;
    operands[1] = Operand(k).array;
    operands[along + 2] = at;
    if (Operand(k).array->shape().ElementCount() > 0)
      joined = Add(Opcode::kDynamicUpdateSlice, joined->shape(), operands);
    at = Sum(at, SizeOf(Operand(k), dimension));
  }
  return One(joined, std::move(sizes));
}

// Behind the last live element there are padding values, as far as the array goes.
PaddedOp::Result PaddedOp::Pad() {
  const auto& padding = instruction().attributes<PadAttributes>().padding;
  Sizes sizes = Operand(0).sizes;
  for (size_t d = 0; d < padding.size(); ++d) {
    if (sizes[d] == nullptr) continue;
    Instruction* const holes = Product(Most(Difference(sizes[d], Number(1)), Number(0)), Number(padding[d].interior));
    Instruction* const size = Sum(Sum(sizes[d], holes), Number(padding[d].low + padding[d].high));
    Require(ComparisonDirection::kGe, size, Number(0),
            fmt::format("dimension {} of operand 0 has the live size {{0}}, and {{1}} after padding", d), sizes[d],
            size);
    sizes[d] = Most(size, Number(0));
  }
  return One(Static({MaskedBy(0, UpTo(std::ssize(padding)), Operand(1).array), Operand(1).array}), std::move(sizes));
}

// What is reversed whole begins with the padding: it is shifted out.
PaddedOp::Result PaddedOp::Reverse() {
  Instruction* const reversed = Static();
  const IntList bounds = SizesOf(ShapeOf(0));
  PadAttributes pad;
  pad.padding.resize(bounds.size());
  std::vector<Instruction*> operands{nullptr};
  bool shifts = false;
  IntList padded = bounds;
  for (size_t d = 0; d < bounds.size(); ++d) {
    const auto dimension = static_cast<int64_t>(d);
    operands.push_back(Number(0));
    if (!Contains(instruction().dimensions(), dimension) || !Lives(Operand(0), dimension)) continue;
    operands.back() = Difference(Number(bounds[d]), Operand(0).sizes[d]);
    pad.padding[d].high = bounds[d];
    padded[d] += bounds[d];
    shifts = true;
  }
  if (!shifts) return One(reversed, Operand(0).sizes);
  const ElementType type = ShapeOf(0).element_type();
  operands[0] = Add(Opcode::kPad, Shape(type, padded), {reversed, Zero(type)}, pad);
  Instruction* const shifted =
      Add(Opcode::kDynamicSlice, Shape(type, bounds), operands, DynamicSliceAttributes{bounds});
  return One(shifted, Operand(0).sizes);
}

PaddedOp::Result PaddedOp::Transpose() {
  Sizes sizes;
  for (const int64_t d : instruction().dimensions()) sizes.push_back(Operand(0).sizes[d]);
  return One(Static(), std::move(sizes));
}

PaddedOp::Result PaddedOp::BitcastConvert() {
  const auto rank = static_cast<size_t>(instruction().shape().rank());
  Sizes sizes(rank);
  for (size_t d = 0; d < Operand(0).sizes.size(); ++d) {
    Instruction* const size = Operand(0).sizes[d];
    if (d < rank) {
      sizes[d] = size;
    } else if (size != nullptr) {
      RequireEqual(size, Number(Bound(0, static_cast<int64_t>(d))),
                   fmt::format("dimension {} of operand 0 has the live size {{0}}, {{1}} make an element", d));
    }
  }
  return One(Static(), std::move(sizes));
}

// The same bytes as laid out: between row-major arrays of one type a reshape.
PaddedOp::Result PaddedOp::Bitcast() {
  const Shape &from = instruction().operand(0)->shape(), &to = instruction().shape();
  if (SameDimensions(from, to) && from.MinorToMajor() == to.MinorToMajor()) {
    const bool same_type = from.element_type() == to.element_type();
    if (same_type) return std::vector{Operand(0)};
    if (BitWidth(from.element_type()) != BitWidth(to.element_type())) return std::nullopt;
    return One(Add(Opcode::kBitcastConvert, AtBounds(to), {Operand(0).array}), Operand(0).sizes);
  }
  if (from.element_type() != to.element_type() || !IsRowMajor(from) || !IsRowMajor(to)) return std::nullopt;
  return Reshape();
}

Instruction* PaddedOp::Reordered(const PaddedArray& from, const Shape& to, const Sizes& sizes,
                                 const std::vector<std::pair<std::pair<int, int>, std::pair<int, int>>>& groups) {
  const IntList bounds = SizesOf(to);
  const std::vector<int64_t> strides = RowMajorStrides(from.array->shape().dimensions());
  const auto scaled = [&](Instruction* index, Instruction* by) {
    return IsNumber(by, 1) ? index : Times(index, Spread(by, bounds));
  };
  Instruction* position = nullptr;
  for (const auto& [source, target] : groups) {
    Instruction *among = nullptr, *stride = Number(1);  // the number of the element among those of the group
    for (int d = target.second - 1; d >= target.first; --d) {
      Instruction* const index = scaled(Iota(ElementType::kS32, bounds, d), stride);
      among = among == nullptr ? index : Plus(among, index);
      Instruction* const size = sizes[d];
      stride = Product(stride, size != nullptr ? size : Number(to.dimension(d)));
    }
    if (among == nullptr) continue;  // of one element
    for (int d = source.second - 1; d >= source.first; --d) {
      Instruction* const size = Most(SizeOf(from, d), Number(1));
      Instruction* index = among;
      if (d > source.first) {
        index = Binary(Opcode::kRemainder, among, Spread(size, bounds));
        among = Over(among, Spread(size, bounds));
      }
      index = scaled(index, Number(strides[d]));
      position = position == nullptr ? index : Plus(position, index);
    }
  }
  if (position == nullptr) return Reshaped(from.array, bounds);
  return At(from.array, position);
}

// Dimensions that merge multiply their live sizes; of those that split, one may be dynamic and takes what is left.
PaddedOp::Result PaddedOp::Reshape() {
  const Shape &from = ShapeOf(0), &to = instruction().shape();
  if (from.ElementCount() > INT32_MAX) return std::nullopt;
  Sizes sizes(static_cast<size_t>(to.rank()));
  std::vector<std::pair<std::pair<int, int>, std::pair<int, int>>> groups;
  bool moves = false;
  for (const DimensionGroup& g : DimensionGroups(from, AtBounds(to))) {
    groups.push_back({{g.from_begin, g.from_end}, {g.to_begin, g.to_end}});
    if (rules_.SettleReshape(g, sizes) < 0) continue;
    int lives = 0;
    bool leads = true, first = true;
    for (int d = g.from_begin; d < g.from_end; ++d) {
      const bool part = Lives(Operand(0), d);
      leads = leads && (!part || first);
      lives += part;
      first = first && from.dimension(d) == 1 && !part;
    }
    first = true;
    for (int d = g.to_begin; d < g.to_end; ++d) {
      const bool open = to.is_dynamic_dimension(d);
      leads = leads && (!open || first);
      first = first && to.dimension(d) == 1 && !open;
    }
    moves = moves || !leads || lives > 1;
  }
  if (!moves) return One(Add(Opcode::kReshape, AtBounds(to), {Operand(0).array}), std::move(sizes));
  Instruction* const array = Reordered(Operand(0), AtBounds(to), sizes, groups);
  return One(array, std::move(sizes));
}

PaddedOp::Result PaddedOp::DynamicReshape() {
  const Shape& to = instruction().shape();
  if (to.ElementCount() > INT32_MAX) return std::nullopt;
  Sizes sizes, whole(static_cast<size_t>(to.rank()));
  Instruction *wanted = Number(1), *elements = Number(1);
  bool same = SameDimensions(ShapeOf(0), to);
  for (int d = 0; d < to.rank(); ++d) {
    Instruction* size = Operand(d + 1).array;
    if (size->known_literal() != nullptr) {
      size = Number(std::clamp<int64_t>(size->literal().GetInt(0), INT32_MIN, INT32_MAX));
    } else if (BitWidth(size->shape().element_type()) > 32 || size->shape().element_type() == ElementType::kU32) {
      // What does not fit 32 bits does not fit the dimension either.
      const ElementType type = size->shape().element_type();
      size = Add(Opcode::kMinimum, size->shape(), {size, Constant(Literal::ScalarInt(type, INT32_MAX))});
      if (IsSigned(type)) size = Add(Opcode::kMaximum, size->shape(), {size, Constant(Literal::ScalarInt(type, -1))});
      size = Converted(size, ElementType::kS32);
    } else {
      size = Converted(size, ElementType::kS32);
    }
    const std::string message = fmt::format("size {{0}} does not fit dimension {} of {}", d, to.ToString());
    if (to.is_dynamic_dimension(d)) {
      RequireWithin(size, to.dimension(d), message);
    } else {
      RequireEqual(size, Number(to.dimension(d)), message);
    }
    size = to.is_dynamic_dimension(d) ? Least(Most(size, Number(0)), Number(to.dimension(d))) : Number(to.dimension(d));
    wanted = Product(wanted, size);
    whole[d] = size;
    sizes.push_back(to.is_dynamic_dimension(d) ? size : nullptr);
    same = same && (size == SizeOf(Operand(0), d));
  }
  for (int64_t d = 0; d < ShapeOf(0).rank(); ++d) elements = Product(elements, SizeOf(Operand(0), d));
  RequireEqual(elements, wanted, fmt::format("{{0}} live elements cannot become the {{1}} of {}", to.ToString()));
  if (same) return One(Operand(0).array, std::move(sizes));
  if (to.ElementCount() == 0) return One(Zeros(AtBounds(to)), std::move(sizes));
  Instruction* const array = Reordered(Operand(0), AtBounds(to), whole, {{{0, ShapeOf(0).rank()}, {0, to.rank()}}});
  return One(array, std::move(sizes));
}

// The elements stay where they are, also those that become padding: a larger size brings them back.
PaddedOp::Result PaddedOp::SetDimensionSize() {
  const int64_t d = instruction().dimensions()[0], bound = Bound(0, d);
  Sizes sizes = Operand(0).sizes;
  Instruction* size = Operand(1).array;
  if (IsNumber(size)) size = Number(size->literal().GetInt(0));
  RequireWithin(size, bound, SizeRangeText(instruction(), 0, "{0}", instruction().operand(0)->shape()));
  sizes[d] = Least(Most(size, Number(0)), Number(bound));
  return One(Operand(0).array, std::move(sizes));
}

}  // namespace VXLA_NAMESPACE
