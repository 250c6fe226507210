// JAX's custom calls that stand for operations of any size, where their results have bounds: stablehlo.dynamic_top_k,
// dynamic_rng_bit_generator and dynamic_reduce_window. Their numbers are data, and nothing is asked for first.
#include <algorithm>

#include "core/mlir/importer/import_operations.h"
#include "core/numerics/reducer_facts.h"
#include "core/sizes/live_instruction.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

struct Draw {
  Instruction *places, *calls;
  int64_t row;
};

struct WindowNumbers {
  Instruction *size, *stride, *base_dilation, *window_dilation, *low, *high;
};

// [windows..., elements...], a dimension whose windows are its elements once: the sizes of that, where dimensions of
// the operand and their elements are in it, which elements are in which windows, and how many windows there are.
struct Windows {
  IntList dims, places, elements;
  Instruction* members = nullptr;
  Instructions sizes;
};

// The dimension whose neighbours share one call of ThreeFry, true there alone: the first even one, else the largest.
Instructions SplitOf(Frame& frame, const Instructions& sizes) {
  Instruction* none = frame.Number(ElementType::kPred, 1);
  Instructions first;
  for (Instruction* const size : sizes) {
    Instruction* const rest = frame.Binary(Opcode::kRemainder, size, frame.Number(kPlace, 2));
    first.push_back(frame.And(none, frame.Compare(ComparisonDirection::kEq, rest, frame.Number(kPlace, 0))));
    none = frame.And(none, frame.Compare(ComparisonDirection::kEq, rest, frame.Number(kPlace, 1)));
  }
  Instructions split;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Instruction* largest = none;
    for (size_t other = 0; other < sizes.size(); ++other) {
      if (other == d) continue;
      const auto direction = other < d ? ComparisonDirection::kGt : ComparisonDirection::kGe;
      largest = frame.And(largest, frame.Compare(direction, sizes[d], sizes[other]));
    }
    split.push_back(frame.Or(first[d], largest));
  }
  return split;
}

// Where each element's bits are among those of a row, one place for two neighbours of the dimension that is split, and
// how many calls and elements of the row there are.
Draw DrawFor(Frame& frame, const Shape& stated, const Instructions& sizes, bool pairs) {
  const auto number = [&](int64_t value) { return frame.Number(kPlace, value); };
  Shape places = WithoutFlags(stated), truths = places;
  places.set_element_type(kPlace);
  truths.set_element_type(ElementType::kPred);
  const auto everywhere = [&](Instruction* scalar) { return frame.SpreadAs(scalar, places); };
  const Instructions split = pairs ? SplitOf(frame, sizes) : Instructions();
  Draw draw{everywhere(number(0)), number(1), stated.ElementCount()};
  Instruction* second = draw.places;
  for (int d = 0; d < stated.rank(); ++d) {
    Instruction* index = frame.Iota(kPlace, SizesOf(places), d);
    Instruction* size = sizes[d];
    if (pairs) {
      Instruction *const here = split[d], *const all = frame.SpreadAs(here, truths);
      Instruction *const two = everywhere(number(2)), *const whole = index;
      second = frame.Select(all, frame.Binary(Opcode::kRemainder, whole, two), second);
      index = frame.Select(all, frame.Over(whole, two), whole);
      size = frame.Select(here, frame.Over(frame.Plus(size, number(1)), number(2)), size);
      const int64_t bound = stated.dimension(d);
      if (bound > 0 && stated.rank() > 1)
        draw.row = std::max(draw.row, stated.ElementCount() / bound * (bound + bound % 2));
    }
    draw.places = frame.Plus(frame.Times(draw.places, everywhere(size)), index);
    draw.calls = frame.Times(draw.calls, size);
  }
  if (pairs) draw.places = frame.Plus(frame.Times(draw.places, everywhere(number(2))), second);
  return draw;
}

// The state after so many calls: word 1 counts them, word 2 takes the carry where `carries`.
Instruction* StateAfter(Frame& frame, Instruction* state, Instruction* calls, bool carries) {
  const int64_t count = state->shape().ElementCount();
  Instruction* const words = frame.Reshaped(state, {count});
  Instructions next;
  for (int64_t i = 0; i < count; ++i) next.push_back(ElementAt(frame, words, i));
  Instruction* const before = next[1];
  next[1] = frame.Plus(before, frame.Converted(calls, ElementType::kU64));
  if (carries && count > 2) {
    Instruction* const carry = frame.Compare(ComparisonDirection::kLt, next[1], before);
    next[2] = frame.Plus(next[2], frame.Converted(carry, ElementType::kU64));
  }
  for (Instruction*& word : next) word = frame.Reshaped(word, {1});
  return frame.Reshaped(frame.Concatenated(next, 0), SizesOf(state->shape()));
}

WindowNumbers WindowNumbersAt(Frame& frame, const Instructions& lists, int64_t d) {
  const auto at = [&](size_t list, int64_t i) { return frame.Converted(ElementAt(frame, lists[list], i), kPlace); };
  return {at(0, d), at(1, d), at(2, d), at(3, d), at(4, 2 * d), at(4, 2 * d + 1)};
}

// Which elements of a dimension are in which windows, [windows, elements], and how many windows there are.
Instruction* WindowMembers(Frame& frame, const WindowNumbers& w, int64_t windows, Instruction* value, int64_t dimension,
                           Instruction** count) {
  const auto less_one = [&](Instruction* x) { return frame.Minus(x, frame.Number(kPlace, 1)); };
  Instruction *const zero = frame.Number(kPlace, 0), *const one = frame.Number(kPlace, 1);
  Instruction* const extent = Extent(frame, value, dimension);
  const auto dilated = [&](Instruction* size, Instruction* by) {
    return frame.Larger(frame.Plus(frame.Times(less_one(size), by), one), zero);
  };
  Instruction* const padded = frame.Plus(frame.Plus(w.low, dilated(extent, w.base_dilation)), w.high);
  Instruction* const space = frame.Minus(padded, dilated(w.size, w.window_dilation));
  Instruction* const fits = frame.Compare(ComparisonDirection::kGe, space, zero);
  Instruction* const steps = frame.Plus(frame.Over(space, w.stride), one);
  *count = frame.Select(fits, steps, zero);
  const Shape table(kPlace, {windows, value->shape().dimension(dimension)});
  const auto all = [&](Instruction* scalar) { return frame.SpreadAs(scalar, table); };
  const auto times = [&](int64_t axis, Instruction* by) {
    return frame.Times(frame.Iota(kPlace, SizesOf(table), axis), all(by));
  };
  Instruction* const begin = frame.Minus(times(0, w.stride), all(w.low));
  Instruction* const from = frame.Minus(times(1, w.base_dilation), begin);
  return InSteps(frame, from, all(w.window_dilation), all(w.size)).hits;
}

// The five lists of numbers, flat.
Result<Instructions> WindowLists(Frame& frame, const Operation& operation, const Instructions& operands,
                                 const Computation& reducer) {
  const size_t arrays = operation.results.size();
  const Shape &stated = frame.importer.program().ShapeOf(operation.results[0]), from = operands[0]->shape();
  if (!from.IsArray() || from.rank() != stated.rank())
    return operation.Error("{} cannot become {}", PrintType(from), PrintType(stated));
  for (size_t k = 1; k < arrays; ++k) {
    if (!operands[k]->shape().IsArray() || !SameDimensions(operands[k]->shape(), from))
      return operation.Error("operand {} is {}, operand 0 {}", k, PrintType(operands[k]->shape()), PrintType(from));
  }
  if (reducer.parameters().size() != 2 * arrays)
    return operation.Error("'@{}' takes {} arguments, {} needed", reducer.name(), reducer.parameters().size(),
                           2 * arrays);
  Instructions lists;
  for (size_t i = 0; i < 5; ++i) {
    Instruction* const list = operands[2 * arrays + i];
    const int64_t wanted = i < 4 ? from.rank() : 2 * from.rank();
    if (!list->shape().IsArray() || list->shape().ElementCount() != wanted)
      return operation.Error("operand {} is {}, {} numbers needed for {} dimensions", 2 * arrays + i,
                             PrintType(list->shape()), wanted, from.rank());
    lists.push_back(frame.Reshaped(list, {wanted}));
  }
  return lists;
}

Result<Windows> WindowsOf(Frame& frame, const Operation& operation, Instruction* array, const Instructions& lists) {
  const Shape &stated = frame.importer.program().ShapeOf(operation.results[0]), from = array->shape();
  Windows windows;
  windows.dims = SizesOf(stated);
  for (int64_t d = 0; d < from.rank(); ++d) {
    const auto is = [&](size_t list, int64_t i, int64_t value) {
      const Literal* const known = frame.importer.Known(ElementAt(frame, lists[list], i));
      return known != nullptr && known->GetInt(0) == value;
    };
    const int axis = static_cast<int>(d);
    const bool same = stated.dimension(axis) == from.dimension(axis) && is(0, d, 1) && is(1, d, 1) && is(2, d, 1) &&
                      is(4, 2 * d, 0) && is(4, 2 * d + 1, 0);
    windows.places.push_back(same ? d : static_cast<int64_t>(windows.dims.size()));
    if (same) continue;
    windows.elements.push_back(windows.dims.size());
    windows.dims.push_back(from.dimension(axis));
  }
  const Shape truths(ElementType::kPred, windows.dims);
  VXLA_RETURN_IF_ERROR(CheckShape(truths));
  windows.members = frame.SpreadAs(frame.Number(ElementType::kPred, 1), truths);
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int axis = static_cast<int>(d);
    const int64_t place = windows.places[d];
    Instruction* count = nullptr;
    if (place == d) {
      count = Extent(frame, array, d);
    } else {
      Instruction* const table =
          WindowMembers(frame, WindowNumbersAt(frame, lists, d), stated.dimension(axis), array, d, &count);
      windows.members = frame.And(windows.members, frame.Broadcast(table, windows.dims, {d, place}));
    }
    windows.sizes.push_back(stated.is_dynamic_dimension(axis) ? count : nullptr);
  }
  return windows;
}

}  // namespace

// (operand, k) -> the largest k along the last dimension, and their places
Status ImportBoundedTopK(Frame& frame, const Operation& operation, const Instructions& operands) {
  VXLA_RETURN_IF_ERROR(operation.ExpectResults(2));
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape(), number = operands[1]->shape();
  if (!from.IsArray() || from.rank() != stated.rank() || from.rank() == 0)
    return operation.Error("{} cannot become {}", PrintType(from), PrintType(stated));
  if (!number.IsArray() || number.rank() > 1 || number.ElementCount() != 1)
    return operation.Error("operand 1 is {}, one number needed", PrintType(number));
  const int last = from.rank() - 1;
  const int64_t bound = stated.dimension(last);
  Instruction* const k = frame.Converted(ElementAt(frame, frame.Reshaped(operands[1], {1}), 0), kPlace);
  // Not every k up to the bound is one that the operand has.
  const bool may_lack = from.is_dynamic_dimension(last) || bound > from.dimension(last);
  Instruction* top = nullptr;
  if (may_lack) {
    Shape numbers = WithoutFlags(from);
    numbers.set_element_type(ElementType::kS32);
    SortAttributes sort;
    sort.dimensions = {last};
    sort.is_stable = true;
    Instruction* const places = frame.Add(Opcode::kIota, numbers, {}, IotaAttributes{last});
    VXLA_ASSIGN_OR_RETURN(top, AddInferred(frame, operation, Opcode::kSort, {operands[0], places}, std::move(sort),
                                           {AddTopKOrder(frame.importer.module(), from.element_type(), true)}));
  } else {
    VXLA_ASSIGN_OR_RETURN(top,
                          AddInferred(frame, operation, Opcode::kTopK, {operands[0]}, TopKAttributes{bound, true}));
  }
  Instruction* const there = may_lack ? frame.Smaller(k, Extent(frame, operands[0], last)) : k;
  Instructions results;
  for (int64_t i = 0; i < 2; ++i) {
    VXLA_ASSIGN_OR_RETURN(Instruction * value, AtBound(frame, operation, frame.Element(top, i), last, bound));
    VXLA_ASSIGN_OR_RETURN(value, WithAgreedSize(frame, operation, value, last, there, k));
    results.push_back(value);
  }
  return BindValues(frame, operation, results);
}

// What is drawn for the sizes that live is what a program of these sizes draws: a row of bits is drawn that is long
// enough for the bounds, and each element takes its own.
Status ImportBoundedRngBits(Frame& frame, const Operation& operation, const Instructions& operands,
                            RngBitGeneratorAttributes attributes) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[1]);
  const Shape state = operands[0]->shape();
  VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, 1, stated));
  if (!state.IsArray() || state.element_type() != ElementType::kU64 || state.IsDynamic() || state.ElementCount() < 2)
    return operation.Error("the state is {}, u64[2] or u64[3] needed", PrintType(state));
  const bool three_fry = attributes.algorithm == RngAlgorithm::kThreeFry;
  const bool wide = StorageBytes(stated.element_type()) == 8;
  Instructions sizes;
  for (int d = 0; d < stated.rank(); ++d) {
    sizes.push_back(stated.is_dynamic_dimension(d) ? frame.Converted(ElementAt(frame, operands[1], d), kPlace)
                                                   : frame.Number(kPlace, stated.dimension(d)));
  }
  Draw draw = DrawFor(frame, stated, sizes, three_fry && !wide);
  if (!three_fry) {  // four words for each call
    Instruction* const words = frame.Times(draw.calls, frame.Number(kPlace, wide ? 2 : 1));
    draw.calls = frame.Over(frame.Plus(words, frame.Number(kPlace, 3)), frame.Number(kPlace, 4));
  }
  const Shape row(stated.element_type(), {draw.row});
  VXLA_RETURN_IF_ERROR(CheckShape(row));
  VXLA_ASSIGN_OR_RETURN(Instruction* const drawn, AddInferred(frame, operation, Opcode::kRngBitGenerator, {operands[0]},
                                                              attributes, {}, Shape::Tuple({state, row})));
  Instruction* bits = frame.Element(drawn, 1);
  if (stated.rank() > 1 && draw.row > 0) {
    Instruction* const places = frame.Reshaped(draw.places, {stated.ElementCount()});
    VXLA_ASSIGN_OR_RETURN(bits, TakeAlong(frame, operation, bits, 0, places));
    bits = frame.Reshaped(bits, SizesOf(stated));
  }
  VXLA_ASSIGN_OR_RETURN(bits, WithSizes(frame, operation, bits, BoundedSizes(frame, stated, operands[1])));
  Instruction* const next = StateAfter(frame, operands[0], draw.calls, !three_fry);
  return BindValues(frame, operation, {next, bits});
}

// (arrays, initial values, sizes, strides, base dilations, window dilations, padding): each window is a reduction of
// all elements, of which those within it count.
Status ImportBoundedReduceWindow(Frame& frame, const Operation& operation, Instructions operands,
                                 Computation* reducer) {
  const size_t arrays = operation.results.size();
  VXLA_ASSIGN_OR_RETURN(const Instructions lists, WindowLists(frame, operation, operands, *reducer));
  VXLA_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(frame, operation, operands[0], lists));
  Instructions given(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(2 * arrays));
  for (size_t k = 0; k < arrays; ++k)
    VXLA_SET_OR_RETURN(
        given[k], AddInferred(frame, operation, Opcode::kBroadcast, {given[k]}, DimensionsAttributes{windows.places},
                              {}, Shape(given[k]->shape().element_type(), windows.dims)));
  const ReducerFacts facts = FactsOfReducer(*reducer);
  const bool selects = arrays == 1 && facts.identity.has_value();
  if (selects) {
    const ElementType type = given[0]->shape().element_type();
    Instruction* const identity = frame.Converted(frame.Constant(*facts.identity), type);
    Instruction* const neutral = frame.SpreadAs(identity, Shape(type, windows.dims));
    VXLA_ASSIGN_OR_RETURN(given[0],
                          AddInferred(frame, operation, Opcode::kSelect, {windows.members, given[0], neutral}));
  } else {
    given.insert(given.begin() + static_cast<std::ptrdiff_t>(arrays), windows.members);
    given.push_back(frame.Number(ElementType::kPred, 1));
    reducer = AddFlaggedForm(frame.importer.module(), reducer, static_cast<int64_t>(arrays), true);
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const reduced, AddInferred(frame, operation, Opcode::kReduce, std::move(given),
                                                                DimensionsAttributes{windows.elements}, {reducer}));
  Instructions results;
  for (size_t k = 0; k < arrays; ++k) {
    Instruction* const value = selects ? reduced : frame.Element(reduced, static_cast<int64_t>(k));
    VXLA_ASSIGN_OR_RETURN(results.emplace_back(), WithSizes(frame, operation, value, windows.sizes));
  }
  return BindValues(frame, operation, results);
}

}  // namespace VXLA_NAMESPACE::mlir
