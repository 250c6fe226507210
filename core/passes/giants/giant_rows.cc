#include "core/passes/giants/giant_rows.h"

#include <algorithm>

#include "core/ceil_divide.h"
#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/maps/running_window.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/scans/scans.h"
#include "core/programs/giant_programs.h"

namespace VXLA_NAMESPACE {
namespace {

using Values = std::vector<Instruction*>;

// Rounds times pairs of blocks is what is sorted: a row of 64 blocks takes 2,000 sorts.
constexpr int64_t kMostBlocks = 64;

// Two blocks: a sort's scratch is one allocation of 4 to 10 bytes an element, and drivers give 4 GiB at a time.
constexpr int64_t kMostSorted = int64_t{3} << 27;

Values SortedRow(Expansion& e, const Instruction& whole, int64_t most) {
  const int64_t dimension = whole.attributes<SortAttributes>().dimensions.at(0);
  const Shape& shape = whole.operand(0)->shape();
  const int64_t n = shape.dimension(dimension), half = std::min(most, kMostSorted) / 2;
  if (shape.ElementCount() != n || n <= most || half < 1) return {};
  const int64_t at_least = CeilDivide(n, half), size = CeilDivide(n, at_least), count = CeilDivide(n, size);
  if (count > kMostBlocks) return {};
  const auto length = [&](int64_t block) { return std::min(size, n - block * size); };
  std::vector<Values> blocks;
  for (int64_t b = 0; b < count; ++b) {
    Values& block = blocks.emplace_back();
    for (Instruction* operand : whole.operands())
      block.push_back(e.Slice(operand, dimension, b * size, b * size + length(b)));
  }
  for (int64_t round = 0; round < count; ++round) {
    for (int64_t b = round % 2; b + 1 < count; b += 2) {
      Values &low = blocks[b], &high = blocks[static_cast<size_t>(b) + 1];
      Values both;
      std::vector<Shape> shapes;
      for (size_t k = 0; k < low.size(); ++k) {
        both.push_back(e.Concatenated({low[k], high[k]}, dimension));
        shapes.push_back(both.back()->shape());
      }
      Shape result = whole.shape().IsTuple() ? Shape::Tuple(shapes) : shapes[0];
      const Values sorted =
          e.Elements(e.Add(Opcode::kSort, std::move(result), both, whole.attributes(), {whole.called(0)}));
      for (size_t k = 0; k < low.size(); ++k) {
        low[k] = e.Slice(sorted[k], dimension, 0, length(b));
        high[k] = e.Slice(sorted[k], dimension, length(b), length(b) + length(b + 1));
      }
    }
  }
  Values results;
  for (size_t k = 0; k < blocks[0].size(); ++k) {
    results.push_back(e.Concatenated(Transformed(blocks, [&](const Values& block) { return block[k]; }), dimension));
  }
  return results;
}

// What the only window of each dimension holds, initial values where it reaches beyond the array.
Instruction* WindowOf(Expansion& e, Instruction* array, Instruction* initial, const Window& window) {
  PadAttributes pad;
  SliceAttributes slice;
  IntList padded, sizes;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    const int64_t size = array->shape().dimension(d);
    const int64_t dilated = size == 0 ? 0 : (size - 1) * w.lhs_dilate + 1;
    const int64_t reach = (w.size - 1) * w.rhs_dilate + 1;
    pad.padding.push_back({.low = w.pad_low, .high = reach - dilated - w.pad_low, .interior = w.lhs_dilate - 1});
    slice.slice.push_back({0, reach, w.rhs_dilate});
    padded.push_back(reach);
    sizes.push_back(w.size);
  }
  const ElementType type = array->shape().element_type();
  Instruction* const all = e.Add(Opcode::kPad, Shape(type, padded), {array, initial}, std::move(pad));
  return e.Add(Opcode::kSlice, Shape(type, sizes), {all}, std::move(slice));
}

Values OnlyWindow(Expansion& e, const Instruction& whole) {
  const Window& window = whole.attributes<WindowAttributes>().window;
  const auto leaves = FlattenTuple(whole.shape());
  const bool reversed = std::ranges::any_of(window, &WindowDimension::reversal);
  if (leaves[0]->ElementCount() != 1 || reversed) return {};
  const int arrays = whole.operand_count() / 2;
  Values operands, results;
  for (int k = 0; k < arrays; ++k) operands.push_back(WindowOf(e, whole.operand(k), whole.operand(arrays + k), window));
  std::vector<Shape> scalars;
  for (int k = 0; k < arrays; ++k) {
    operands.push_back(whole.operand(arrays + k));
    scalars.emplace_back(leaves[k]->element_type());
  }
  Shape shape = whole.shape().IsTuple() ? Shape::Tuple(scalars) : scalars[0];
  Instruction* const reduced = e.Add(Opcode::kReduce, std::move(shape), std::move(operands),
                                     DimensionsAttributes{UpTo(std::ssize(window))}, {whole.called(0)});
  for (Instruction* value : e.Elements(reduced)) results.push_back(e.Reshaped(value, SizesOf(*leaves[0])));
  return results;
}

Values RunningInF32(Expansion& e, Module& module, const Instruction& whole) {
  const std::optional<Opcode> operation = SingleOperation(*whole.called(0));
  const ElementType type = whole.operand(0)->shape().element_type();
  const std::optional<Literal> identity = FactsOfReducer(*whole.called(0)).identity;
  if (!RunningWindowOf(whole) || !operation || !IsNarrowFloat(type) || !identity) return {};
  const Shape shape(ElementType::kF32, SizesOf(whole.shape()));
  Instruction* const wide =
      e.Add(Opcode::kReduceWindow, shape, {e.Converted(whole.operand(0), ElementType::kF32), e.Constant(*identity)},
            whole.attributes(), {AddCombiner(module, *operation, ElementType::kF32)});
  return {e.Converted(wide, type)};
}

}  // namespace

Values SmallerThan(Expansion& e, Module& module, const Instruction& whole, int64_t most) {
  if (whole.opcode() == Opcode::kSort) return SortedRow(e, whole, most);
  if (whole.opcode() == Opcode::kReduceWindow) {
    Values window = OnlyWindow(e, whole);
    return window.empty() ? RunningInF32(e, module, whole) : window;
  }
  const std::shared_ptr<const Module> program = SmallerProgramOf(whole, most);
  if (program == nullptr) return {};
  Computation* const called = AddProgram(module, *program);
  return e.Elements(e.Add(Opcode::kCall, called->root()->shape(), {whole.operands().begin(), whole.operands().end()},
                          CallAttributes{}, {called}));
}

}  // namespace VXLA_NAMESPACE
