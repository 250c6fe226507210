#include <fmt/format.h>

#include "core/host/ranges.h"
#include "core/numerics/reducer_facts.h"
#include "core/ops/op_support.h"
#include "core/passes/sizes/padded_op.h"

namespace VXLA_NAMESPACE {
namespace {

// The largest value of an integer type that an s32 holds too.
int64_t LargestOf(ElementType type) { return std::min<int64_t>(LargestInteger(type), INT32_MAX); }

// No window is as wide, so one that begins here has no element in any array.
constexpr int64_t kNowhere = -(int64_t{1} << 30);

}  // namespace

// `last` is where the last window begins; a type that cannot say it does not reach it.
Instruction* PaddedOp::StartWithin(Instruction* start, Instruction* last) {
  const ElementType type = start->shape().element_type();
  Instruction* const limit = Converted(Least(last, Number(LargestOf(type))), type);
  return Add(Opcode::kClamp, start->shape(), {Zero(type), start, limit});
}

// A window as wide as the bound means the whole dimension, whatever lives of it.
PaddedOp::Result PaddedOp::DynamicSlice() {
  const IntList& windows = instruction().attributes<DynamicSliceAttributes>().dynamic_slice_sizes;
  std::vector<Instruction*> operands = Arrays();
  Sizes sizes(windows.size());
  for (size_t d = 0; d < windows.size(); ++d) {
    Instruction* const size = Operand(0).sizes[d];
    if (size == nullptr) continue;
    if (windows[d] == Bound(0, static_cast<int64_t>(d))) {
      sizes[d] = size;
      continue;
    }
    Require(ComparisonDirection::kGe, size, Number(windows[d]),
            fmt::format("dimension {} of operand 0 has the live size {{0}}, the window takes {}", d, windows[d]), size,
            size);
    if (Lives(Operand(0), static_cast<int64_t>(d))) {
      operands[d + 1] = StartWithin(operands[d + 1], Most(Difference(size, Number(windows[d])), Number(0)));
    }
  }
  return One(Static(operands), std::move(sizes));
}

PaddedOp::Result PaddedOp::DynamicUpdateSlice() {
  const IntList bounds = SizesOf(ShapeOf(0)), window = SizesOf(ShapeOf(1));
  std::vector<Instruction*> operands = Arrays();
  const bool partial = AnyLives(1);
  for (size_t d = 0; d < bounds.size(); ++d) {
    const auto dimension = static_cast<int64_t>(d);
    if (!Lives(Operand(0), dimension) && !partial) continue;
    Instruction *const size = SizeOf(Operand(0), dimension), *const taken = SizeOf(Operand(1), dimension);
    Require(ComparisonDirection::kLe, taken, size,
            fmt::format("dimension {} of operand 1 has the live size {{0}}, of operand 0 {{1}}", d), taken, size);
    operands[d + 2] = StartWithin(operands[d + 2], Most(Difference(size, taken), Number(0)));
  }
  if (!partial) return One(Static(operands), Operand(0).sizes);
  // The update where it will lie, and which elements it reaches: its own window may end beyond the array.
  const ElementType type = ShapeOf(0).element_type();
  PadAttributes pad;
  IntList padded;
  std::vector<Instruction*> shift{nullptr};
  Instruction* reached = nullptr;
  const auto both = [&](Instruction* lives) { reached = reached == nullptr ? lives : And(reached, lives); };
  for (size_t d = 0; d < bounds.size(); ++d) {
    Instruction* const from = Converted(operands[d + 2], ElementType::kS32);
    pad.padding.push_back({bounds[d], bounds[d], 0});
    padded.push_back(2 * bounds[d] + window[d]);
    shift.push_back(Difference(Number(bounds[d]), from));
    Instruction* const index = Iota(ElementType::kS32, bounds, static_cast<int64_t>(d));
    both(Compare(ComparisonDirection::kGe, index, Spread(from, bounds)));
    Instruction* const end = Sum(from, SizeOf(Operand(1), static_cast<int64_t>(d)));
    both(Compare(ComparisonDirection::kLt, index, Spread(end, bounds)));
  }
  shift[0] = Add(Opcode::kPad, Shape(type, padded), {Operand(1).array, Zero(type)}, pad);
  Instruction* const shifted = Add(Opcode::kDynamicSlice, Shape(type, bounds), shift, DynamicSliceAttributes{bounds});
  return One(Select(reached, shifted, Operand(0).array), Operand(0).sizes);
}

// Each component of the index vectors up to its last start (null: any).
Instruction* PaddedOp::IndicesWithin(Instruction* indices, int64_t vector_dimension, const Sizes& last) {
  const ElementType type = indices->shape().element_type();
  const IntList bounds = SizesOf(indices->shape());
  std::vector<Instruction*> limits;
  for (Instruction* const size : last) {
    Instruction* const limit = Least(size != nullptr ? size : Number(INT32_MAX), Number(LargestOf(type)));
    limits.push_back(Reshaped(Converted(limit, type), {1}));
  }
  Instruction* limit = nullptr;
  if (vector_dimension == static_cast<int64_t>(bounds.size())) {
    limit = Spread(Reshaped(limits[0], {}), bounds);
  } else {
    limit =
        Add(Opcode::kBroadcast, indices->shape(), {Concatenated(limits, 0)}, DimensionsAttributes{{vector_dimension}});
  }
  return Add(Opcode::kClamp, indices->shape(), {Spread(Zero(type), bounds), indices, limit});
}

PaddedOp::Result PaddedOp::Gather() {
  const auto& a = instruction().attributes<GatherAttributes>();
  const int64_t rank = ShapeOf(0).rank();
  Sizes offsets, last(a.start_index_map.size());
  bool clamps = false;
  for (int64_t d = 0; d < rank; ++d) {
    const auto i = static_cast<size_t>(d);
    Instruction* const size = Operand(0).sizes[i];
    const bool window = !Contains(a.collapsed_slice_dims, d) && !Contains(a.operand_batching_dims, d);
    const bool whole = a.slice_sizes[i] == Bound(0, d);
    if (window) offsets.push_back(whole ? size : nullptr);
    if (size == nullptr || Contains(a.operand_batching_dims, d)) continue;
    if (!whole || !window) {
      Require(
          ComparisonDirection::kGe, size, Number(a.slice_sizes[i]),
          fmt::format("dimension {} of operand 0 has the live size {{0}}, the window takes {}", d, a.slice_sizes[i]),
          size, size);
    }
    const auto at = std::ranges::find(a.start_index_map, d);
    if (whole || at == a.start_index_map.end() || !Lives(Operand(0), d)) continue;
    last[at - a.start_index_map.begin()] = Most(Difference(size, Number(a.slice_sizes[i])), Number(0));
    clamps = true;
  }
  std::vector<Instruction*> operands = Arrays();
  // Components without a live size keep the clamp that the op has.
  if (clamps && operands[1]->shape().ElementCount() > 0) {
    operands[1] = IndicesWithin(operands[1], a.index_vector_dim, last);
  }
  Sizes batch, sizes;
  for (int64_t d = 0; d < ShapeOf(1).rank(); ++d) {
    if (d != a.index_vector_dim) batch.push_back(Operand(1).sizes[d]);
  }
  size_t next_batch = 0, next_offset = 0;
  for (int64_t d = 0; d < instruction().shape().rank(); ++d) {
    sizes.push_back(Contains(a.offset_dims, d) ? offsets.at(next_offset++) : batch.at(next_batch++));
  }
  return One(Static(operands), std::move(sizes));
}

// s32, and nowhere for index vectors that do not live.
Instruction* PaddedOp::IndicesOrNone(Instruction* indices, Instruction* lives) {
  const ElementType type = indices->shape().element_type();
  const IntList bounds = SizesOf(indices->shape());
  if (BitWidth(type) > 32 || type == ElementType::kU32) {
    indices = Smaller(indices, Expansion::Number(-kNowhere, indices));
    if (IsSigned(type)) indices = Larger(indices, Expansion::Number(kNowhere, indices));
  }
  indices = Converted(indices, ElementType::kS32);
  return Select(lives, indices, Spread(Number(kNowhere), bounds));
}

Instruction* PaddedOp::ScatterOfFlagged(std::vector<Instruction*> operands, Instruction* lives) {
  const int n = Count() / 2;
  Instruction* const there = LiveMask(SizesOf(ShapeOf(0)), Sizes(static_cast<size_t>(ShapeOf(0).rank())));
  operands.insert(operands.begin() + n, there);
  operands.push_back(lives);
  std::vector<Shape> shapes =
      Transformed(Counted<int>(static_cast<size_t>(n + 1)), [&](int k) { return operands[k]->shape(); });
  return Add(Opcode::kScatter, Shape::Tuple(std::move(shapes)), std::move(operands), instruction().attributes(),
             {AddFlaggedForm(context_.module, instruction().called(0), n, false)});
}

// Index vectors that do not live point nowhere. Of update windows the parts that do not live change nothing, but where
// they fall on what does not live of the operand: a window over a whole dimension of the same size.
PaddedOp::Result PaddedOp::Scatter() {
  const auto& a = instruction().attributes<ScatterAttributes>();
  const int n = Count() / 2;
  int64_t window = 0;
  IntList window_dims;  // the operand's, in order
  for (int64_t d = 0; d < ShapeOf(0).rank(); ++d) {
    if (!Contains(a.inserted_window_dims, d) && !Contains(a.input_batching_dims, d)) window_dims.push_back(d);
    if (Bound(0, d) >= -kNowhere) return std::nullopt;
  }
  Sizes batch, window_sizes(Operand(n + 1).sizes.size());
  bool cuts = false;
  for (int64_t d = 0; d < ShapeOf(n + 1).rank(); ++d) {
    Instruction* const size = Operand(n + 1).sizes[d];
    if (!Contains(a.update_window_dims, d)) {
      batch.push_back(size);
      continue;
    }
    const int64_t of_operand = window_dims.at(static_cast<size_t>(window++));
    if (!Lives(Operand(n + 1), d)) continue;
    const bool starts = Contains(a.scatter_dims_to_operand_dims, of_operand);
    const bool outside = !starts && size == Operand(0).sizes[of_operand];
    if (!outside) window_sizes[d] = size;
    cuts = cuts || !outside;
  }
  std::vector<Instruction*> operands = Arrays();
  Sizes lives;
  bool partial = false;
  size_t next = 0;
  for (int64_t d = 0; d < ShapeOf(n).rank(); ++d) {
    Instruction* const size = d == a.index_vector_dim ? nullptr : batch.at(next++);
    lives.push_back(size);
    partial = partial || (size != nullptr && !IsNumber(size, Bound(n, d)));
  }
  if (partial && a.scatter_dims_to_operand_dims.empty()) return std::nullopt;
  if (partial) operands[n] = IndicesOrNone(operands[n], LiveMask(SizesOf(ShapeOf(n)), lives));
  Instruction* const mask = cuts ? LiveMask(SizesOf(ShapeOf(n + 1)), window_sizes) : nullptr;
  const ReducerFacts facts = FactsOfReducer(*instruction().called(0));
  const bool masks = cuts && n == 1 && facts.identity.has_value();
  if (masks) {
    Instruction* const nothing = Converted(Constant(*facts.identity), ShapeOf(n + 1).element_type());
    operands[2] = Select(mask, operands[2], Spread(nothing, SizesOf(ShapeOf(n + 1))));
  }
  Instruction* const result = cuts && !masks ? ScatterOfFlagged(operands, mask) : Static(operands);
  auto& attributes = std::get<ScatterAttributes>(result->mutable_attributes());
  if (partial) attributes.indices_are_sorted = attributes.unique_indices = false;
  if (!result->shape().IsTuple()) return One(result, Operand(0).sizes);
  return Transformed(Counted<int>(static_cast<size_t>(n)), [&](int k) {
    return PaddedArray{Element(result, k), Operand(0).sizes};
  });
}

}  // namespace VXLA_NAMESPACE
