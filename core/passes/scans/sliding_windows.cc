#include <algorithm>

#include "core/host/ranges.h"
#include "core/maps/running_window.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/scans/scans.h"

namespace VXLA_NAMESPACE {
namespace {

// Below it one kernel costs no more than the parts do.
constexpr int64_t kLeastOverlap = 32;

using Values = std::vector<Instruction*>;

// `count` results: the parts walk over all that the windows cover several times.
bool IsLong(const WindowDimension& w, int64_t count) {
  return w.size >= kLeastOverlap * w.stride && w.lhs_dilate == 1 && w.rhs_dilate == 1 && !w.reversal &&
         count * w.size >= 8 * (count * w.stride + w.size);
}

std::optional<int> LongDimension(const Window& window, const Shape& result) {
  for (size_t d = 0; d < window.size(); ++d) {
    if (IsLong(window[d], result.dimension(d))) return static_cast<int>(d);
  }
  return std::nullopt;
}

bool CanSplit(const Instruction& i, bool wide) {
  if (i.opcode() != Opcode::kReduceWindow || i.shape().IsDynamic() || !i.control_predecessors().empty()) return false;
  const Window& window = i.attributes<WindowAttributes>().window;
  const bool empty =
      std::ranges::any_of(FlattenTuple(i.shape()), [](const Shape* s) { return s->ElementCount() == 0; });
  if (i.operand(0)->shape().ElementCount() == 0 || empty || !LongDimension(window, *FlattenTuple(i.shape())[0]) ||
      RunningWindowOf(i))
    return false;
  const ReducerFacts facts = FactsOfReducer(*i.called(0));
  if (wide && facts.adds_floats && facts.types[0] == ElementType::kF32) return false;
  const auto moving = std::ranges::count_if(window, [](const WindowDimension& w) { return w.size > 1; });
  return (moving == 1 || facts.commutes) && HasArrayForm(*i.called(0), i) && MayBeGrouped(i);
}

class Splitter : private Expansion {
 public:
  Splitter(Computation& computation, Instruction* window)
      : Expansion(computation, window), module_(*computation.module()), reducer_(window->called(0)) {}

  Instruction* Split() {
    const Instruction& window = instruction();
    const int count = window.operand_count() / 2;
    Values values(window.operands().begin(), window.operands().begin() + count);
    initial_.assign(window.operands().begin() + count, window.operands().end());
    const ElementType type = values[0]->shape().element_type();
    const std::optional<Opcode> operation = SingleOperation(*reducer_);
    const std::optional<Literal> identity = FactsOfReducer(*reducer_).identity;
    const bool widened = IsNarrowFloat(type) && (operation == Opcode::kAdd || operation == Opcode::kMultiply);
    if (widened) {
      reducer_ = ReducerOf(*operation);
      values = {Converted(values[0], ElementType::kF32)};
      initial_ = {Constant(*identity)};  // f32, as sums and products of narrow floats are
    }
    Window rest = window.attributes<WindowAttributes>().window;
    while (const std::optional<int> d = LongDimension(rest, *FlattenTuple(window.shape())[0])) {
      values = Slide(values, *d, rest[*d]);
      rest[*d] = WindowDimension{};
    }
    if (std::ranges::any_of(rest, [](const WindowDimension& w) { return !(w == WindowDimension{}); })) {
      const auto sizes = FlattenTuple(window.shape())[0]->dimensions();
      values = Windowed(values, rest, IntList(sizes.begin(), sizes.end()));
    }
    if (widened) values = {Converted(values[0], type)};
    const auto leaves = FlattenTuple(window.shape());
    for (size_t i = 0; i < values.size(); ++i) values[i]->mutable_shape().set_layout(leaves[i]->layout());
    return window.shape().IsTuple() ? Add(Opcode::kTuple, window.shape(), values) : values[0];
  }

 private:
  Computation* ReducerOf(Opcode operation) {
    return AddCombiner(module_, operation, ElementType::kF32, reducer_->name() + ".f32");
  }

  Values Reshaped(const Values& values, const IntList& sizes) {
    return Transformed(values, [&](Instruction* v) { return Expansion::Reshaped(v, sizes); });
  }

  Values Padded(const Values& values, int dimension, int64_t low, int64_t high) {
    IntList sizes = SizesOf(values[0]->shape());
    sizes[dimension] += low + high;
    PadAttributes attributes;
    attributes.padding.resize(sizes.size());
    attributes.padding[dimension] = {.low = low, .high = high};
    Values results;
    for (size_t i = 0; i < values.size(); ++i) {
      results.push_back(
          Add(Opcode::kPad, Shape(values[i]->shape().element_type(), sizes), {values[i], initial_[i]}, attributes));
    }
    return results;
  }

  // `count` elements from `start` on, `stride` apart.
  Values Strided(const Values& values, int dimension, int64_t start, int64_t count, int64_t stride) {
    IntList sizes = SizesOf(values[0]->shape());
    SliceAttributes attributes;
    for (int64_t size : sizes) attributes.slice.push_back({0, size, 1});
    attributes.slice[dimension] = {start, start + (count - 1) * stride + 1, stride};
    sizes[dimension] = count;
    Values results;
    for (Instruction* v : values)
      results.push_back(Add(Opcode::kSlice, Shape(v->shape().element_type(), sizes), {v}, attributes));
    return results;
  }

  Values Windowed(const Values& values, Window window, const IntList& sizes) {
    WindowAttributes attributes;
    attributes.window = std::move(window);
    auto shapes = Transformed(values, [&](Instruction* v) { return Shape(v->shape().element_type(), sizes); });
    Values operands = values;
    operands.insert(operands.end(), initial_.begin(), initial_.end());
    const bool variadic = instruction().shape().IsTuple();
    Instruction* window_of =
        Add(Opcode::kReduceWindow, variadic ? Shape::Tuple(shapes) : shapes[0], operands, attributes, {reducer_});
    if (!variadic) return {window_of};
    Values results;
    for (size_t i = 0; i < shapes.size(); ++i) results.push_back(Element(window_of, static_cast<int64_t>(i)));
    return results;
  }

  // A window as long as the dimension, which ends (or begins) at each element.
  Values Running(const Values& values, int dimension, bool reverse) {
    const IntList sizes = SizesOf(values[0]->shape());
    const int64_t size = sizes[dimension];
    Window window(sizes.size());
    window[dimension] = {.size = size, .pad_low = reverse ? 0 : size - 1, .pad_high = reverse ? size - 1 : 0};
    return Windowed(values, window, sizes);
  }

  // Element i of a window's result: elements i * stride to the end of that block, and the next block's before element
  // i * stride + size.
  Values Slide(const Values& values, int dimension, const WindowDimension& w) {
    const size_t d = static_cast<size_t>(dimension);
    const IntList sizes = SizesOf(values[0]->shape());
    const int64_t count = (sizes[d] + w.pad_low + w.pad_high - w.size) / w.stride + 1;
    const int64_t blocks = ((count - 1) * w.stride + w.size) / w.size + 1;
    IntList split = sizes, joined = sizes;
    split[d] = blocks;
    split.insert(split.begin() + dimension + 1, w.size);
    joined[d] = blocks * w.size;
    const Values parts = Reshaped(Padded(values, dimension, w.pad_low, joined[d] - sizes[d] - w.pad_low), split);
    const Values to_end = Reshaped(Running(parts, dimension + 1, true), joined);
    const Values before = Reshaped(Padded(Running(parts, dimension + 1, false), dimension + 1, 1, -1), joined);
    return JoinedArrays(*this, *reducer_, Strided(to_end, dimension, 0, count, w.stride),
                        Strided(before, dimension, w.size, count, w.stride));
  }

  Module& module_;
  Computation* reducer_;
  Values initial_;
};

}  // namespace

bool SplitSlidingWindows(Module& module, bool wide) {
  return ExpandEach(module, [&](Computation& computation, Instruction* i) -> Instruction* {
    return CanSplit(*i, wide) ? Splitter(computation, i).Split() : nullptr;
  });
}

}  // namespace VXLA_NAMESPACE
