// JAX's custom calls that stand for operations of any size, where their results have bounds: stablehlo.dynamic_top_k,
// dynamic_rng_bit_generator and dynamic_reduce_window. Their numbers are data, and nothing is asked for first.
#include <algorithm>

#include "core/mlir/importer/import_operations.h"
#include "core/numerics/reducer_facts.h"
#include "core/sizes/live_instruction.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Shape Truth() { return Shape(ElementType::kPred); }

// (value, value, number, number): the largest first, in the order of topk.
Computation* LargestFirst(Module& module, ElementType type) {
  Computation& made = *module.AddComputation("largest_first");
  std::vector<Instruction*> parameters;
  for (int64_t i = 0; i < 4; ++i)
    parameters.push_back(
        made.Add(Opcode::kParameter, Shape(i < 2 ? type : ElementType::kS32), {}, ParameterAttributes{i}));
  CompareAttributes compare;
  compare.direction = ComparisonDirection::kGt;
  if (IsFloating(type)) compare.type = ComparisonType::kTotalOrder;
  made.set_root(made.Add(Opcode::kCompare, Truth(), {parameters[0], parameters[1]}, compare));
  return &made;
}

// f of two elements that count, else the one that does; one value more says whether any did.
Computation* OfThoseThatCount(Module& module, const Computation& f, int64_t count) {
  Computation& made = *module.AddComputation(f.name() + "_of_those_that_count");
  std::vector<Instruction*> arguments, parameters;
  for (int64_t k = 0; k < 2 * count + 2; ++k) {
    const bool flag = k % (count + 1) == count;
    const Shape shape = flag ? Truth() : f.parameter(k > count ? k - 1 : k)->shape();
    parameters.push_back(made.Add(Opcode::kParameter, shape, {}, ParameterAttributes{k}));
    if (!flag) arguments.push_back(parameters.back());
  }
  const auto all = static_cast<size_t>(count);
  Instruction *const had = parameters[all], *const counts = parameters.back();
  Instruction* const joined = CloneInto(f, made, arguments, [](Computation* called) { return called; });
  std::vector<Instruction*> results;
  std::vector<Shape> shapes;
  for (size_t k = 0; k < all; ++k) {
    const Shape shape = parameters[k]->shape();
    Instruction* both = joined;
    if (joined->shape().IsTuple())
      both = made.Add(Opcode::kGetTupleElement, shape, {joined}, GetTupleElementAttributes{static_cast<int64_t>(k)});
    Instruction* const kept = made.Add(Opcode::kSelect, shape, {counts, both, parameters[k]});
    results.push_back(made.Add(Opcode::kSelect, shape, {had, kept, parameters[all + 1 + k]}));
    shapes.push_back(shape);
  }
  results.push_back(made.Add(Opcode::kOr, Truth(), {had, counts}));
  shapes.push_back(Truth());
  made.set_root(made.Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), results));
  return &made;
}

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
  std::vector<Instruction*> sizes;
};

// The dimension whose neighbours share one call of ThreeFry, true there alone: the first even one, else the largest.
std::vector<Instruction*> SplitOf(Frame& frame, const std::vector<Instruction*>& sizes) {
  const auto both = [&](Instruction* a, Instruction* b) { return Computed(frame, Opcode::kAnd, a, b); };
  const auto compared = [&](Instruction* a, Instruction* b, ComparisonDirection direction) {
    CompareAttributes attributes;
    attributes.direction = direction;
    return Add(frame, Opcode::kCompare, Truth(), {a, b}, attributes);
  };
  Instruction* none = Number(frame, ElementType::kPred, 1);
  std::vector<Instruction*> first;
  for (Instruction* const size : sizes) {
    Instruction* const rest = Computed(frame, Opcode::kRemainder, size, Number(frame, kPlace, 2));
    first.push_back(both(none, compared(rest, Number(frame, kPlace, 0), ComparisonDirection::kEq)));
    none = both(none, compared(rest, Number(frame, kPlace, 1), ComparisonDirection::kEq));
  }
  std::vector<Instruction*> split;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Instruction* largest = none;
    for (size_t other = 0; other < sizes.size(); ++other) {
      if (other == d) continue;
      const auto direction = other < d ? ComparisonDirection::kGt : ComparisonDirection::kGe;
      largest = both(largest, compared(sizes[d], sizes[other], direction));
    }
    split.push_back(Computed(frame, Opcode::kOr, first[d], largest));
  }
  return split;
}

// Where each element's bits are among those of a row, one place for two neighbours of the dimension that is split, and
// how many calls and elements of the row there are.
Draw DrawFor(Frame& frame, const Shape& stated, const std::vector<Instruction*>& sizes, bool pairs) {
  const auto number = [&](int64_t value) { return Number(frame, kPlace, value); };
  const auto computed = [&](Opcode opcode, Instruction* a, Instruction* b) { return Computed(frame, opcode, a, b); };
  const auto chosen = [&](Instruction* condition, Instruction* a, Instruction* b) {
    return Add(frame, Opcode::kSelect, a->shape(), {condition, a, b});
  };
  Shape places = WithoutFlags(stated), truths = places;
  places.set_element_type(kPlace);
  truths.set_element_type(ElementType::kPred);
  const auto everywhere = [&](Instruction* scalar) { return Everywhere(frame, scalar, places); };
  const std::vector<Instruction*> split = pairs ? SplitOf(frame, sizes) : std::vector<Instruction*>();
  Draw draw{everywhere(number(0)), number(1), stated.ElementCount()};
  Instruction* second = draw.places;
  for (int d = 0; d < stated.rank(); ++d) {
    Instruction* index = Add(frame, Opcode::kIota, places, {}, IotaAttributes{d});
    Instruction* size = sizes[static_cast<size_t>(d)];
    if (pairs) {
      Instruction *const here = split[static_cast<size_t>(d)], *const all = Everywhere(frame, here, truths);
      Instruction *const two = everywhere(number(2)), *const whole = index;
      second = chosen(all, computed(Opcode::kRemainder, whole, two), second);
      index = chosen(all, computed(Opcode::kDivide, whole, two), whole);
      size = chosen(here, computed(Opcode::kDivide, computed(Opcode::kAdd, size, number(1)), number(2)), size);
      const int64_t bound = stated.dimension(d);
      if (bound > 0 && stated.rank() > 1)
        draw.row = std::max(draw.row, stated.ElementCount() / bound * (bound + bound % 2));
    }
    draw.places = computed(Opcode::kAdd, computed(Opcode::kMultiply, draw.places, everywhere(size)), index);
    draw.calls = computed(Opcode::kMultiply, draw.calls, size);
  }
  if (pairs)
    draw.places = computed(Opcode::kAdd, computed(Opcode::kMultiply, draw.places, everywhere(number(2))), second);
  return draw;
}

// The state after so many calls: word 1 counts them, word 2 takes the carry where `carries`.
Result<Instruction*> StateAfter(Frame& frame, const Operation& operation, Instruction* state, Instruction* calls,
                                bool carries) {
  const int64_t count = state->shape().ElementCount();
  Instruction* const words = Reshaped(frame, state, {count});
  std::vector<Instruction*> next;
  for (int64_t i = 0; i < count; ++i) next.push_back(ElementAt(frame, words, i));
  Instruction* const before = next[1];
  next[1] = Computed(frame, Opcode::kAdd, before, Converted(frame, calls, ElementType::kU64));
  if (carries && count > 2) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const carry,
                          Compared(frame, operation, next[1], before, ComparisonDirection::kLt));
    next[2] = Computed(frame, Opcode::kAdd, next[2], Converted(frame, carry, ElementType::kU64));
  }
  for (Instruction*& word : next) word = Reshaped(frame, word, {1});
  Instruction* const list =
      Add(frame, Opcode::kConcatenate, Shape(ElementType::kU64, {count}), next, DimensionsAttributes{{0}});
  return Reshaped(frame, list, SizesOf(state->shape()));
}

WindowNumbers WindowNumbersAt(Frame& frame, const std::vector<Instruction*>& lists, int64_t d) {
  const auto at = [&](size_t list, int64_t i) { return Converted(frame, ElementAt(frame, lists[list], i), kPlace); };
  return {at(0, d), at(1, d), at(2, d), at(3, d), at(4, 2 * d), at(4, 2 * d + 1)};
}

// Which elements of a dimension are in which windows, [windows, elements], and how many windows there are.
Result<Instruction*> WindowMembers(Frame& frame, const Operation& operation, const WindowNumbers& w, int64_t windows,
                                   Instruction* value, int64_t dimension, Instruction** count) {
  const auto computed = [&](Opcode opcode, Instruction* a, Instruction* b) { return Computed(frame, opcode, a, b); };
  const auto less_one = [&](Instruction* x) { return computed(Opcode::kSubtract, x, Number(frame, kPlace, 1)); };
  Instruction *const zero = Number(frame, kPlace, 0), *const one = Number(frame, kPlace, 1);
  Instruction* const extent = Extent(frame, value, dimension);
  const auto dilated = [&](Instruction* size, Instruction* by) {
    Instruction* const wide = computed(Opcode::kAdd, computed(Opcode::kMultiply, less_one(size), by), one);
    return computed(Opcode::kMaximum, wide, zero);
  };
  Instruction* const padded =
      computed(Opcode::kAdd, computed(Opcode::kAdd, w.low, dilated(extent, w.base_dilation)), w.high);
  Instruction* const space = computed(Opcode::kSubtract, padded, dilated(w.size, w.window_dilation));
  VXLA_ASSIGN_OR_RETURN(Instruction* const fits, Compared(frame, operation, space, zero, ComparisonDirection::kGe));
  Instruction* const steps = computed(Opcode::kAdd, computed(Opcode::kDivide, space, w.stride), one);
  *count = Add(frame, Opcode::kSelect, Shape(kPlace), {fits, steps, zero});
  const Shape table(kPlace, {windows, value->shape().dimension(static_cast<int>(dimension))});
  const auto all = [&](Instruction* scalar) { return Everywhere(frame, scalar, table); };
  const auto times = [&](int64_t axis, Instruction* by) {
    return computed(Opcode::kMultiply, Add(frame, Opcode::kIota, table, {}, IotaAttributes{axis}), all(by));
  };
  Instruction* const begin = computed(Opcode::kSubtract, times(0, w.stride), all(w.low));
  Instruction* const from = computed(Opcode::kSubtract, times(1, w.base_dilation), begin);
  Instruction* const tap = computed(Opcode::kDivide, from, all(w.window_dilation));
  Instruction* const rest = computed(Opcode::kRemainder, from, all(w.window_dilation));
  VXLA_ASSIGN_OR_RETURN(Instruction* const behind,
                        Compared(frame, operation, from, all(zero), ComparisonDirection::kGe));
  VXLA_ASSIGN_OR_RETURN(Instruction* const before,
                        Compared(frame, operation, tap, all(w.size), ComparisonDirection::kLt));
  VXLA_ASSIGN_OR_RETURN(Instruction* const hits, Compared(frame, operation, rest, all(zero), ComparisonDirection::kEq));
  return computed(Opcode::kAnd, hits, computed(Opcode::kAnd, behind, before));
}

// The five lists of numbers, flat.
Result<std::vector<Instruction*>> WindowLists(Frame& frame, const Operation& operation,
                                              const std::vector<Instruction*>& operands, const Computation& reducer) {
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
  std::vector<Instruction*> lists;
  for (size_t i = 0; i < 5; ++i) {
    Instruction* const list = operands[2 * arrays + i];
    const int64_t wanted = i < 4 ? from.rank() : 2 * from.rank();
    if (!list->shape().IsArray() || list->shape().ElementCount() != wanted)
      return operation.Error("operand {} is {}, {} numbers needed for {} dimensions", 2 * arrays + i,
                             PrintType(list->shape()), wanted, from.rank());
    lists.push_back(Reshaped(frame, list, {wanted}));
  }
  return lists;
}

Result<Windows> WindowsOf(Frame& frame, const Operation& operation, Instruction* array,
                          const std::vector<Instruction*>& lists) {
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
    windows.elements.push_back(static_cast<int64_t>(windows.dims.size()));
    windows.dims.push_back(from.dimension(axis));
  }
  const Shape truths(ElementType::kPred, windows.dims);
  VXLA_RETURN_IF_ERROR(CheckShape(truths));
  windows.members = Everywhere(frame, Number(frame, ElementType::kPred, 1), truths);
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int axis = static_cast<int>(d);
    const int64_t place = windows.places[static_cast<size_t>(d)];
    Instruction* count = nullptr;
    if (place == d) {
      count = Extent(frame, array, d);
    } else {
      VXLA_ASSIGN_OR_RETURN(Instruction* const table, WindowMembers(frame, operation, WindowNumbersAt(frame, lists, d),
                                                                    stated.dimension(axis), array, d, &count));
      windows.members = Computed(frame, Opcode::kAnd, windows.members,
                                 Add(frame, Opcode::kBroadcast, truths, {table}, DimensionsAttributes{{d, place}}));
    }
    windows.sizes.push_back(stated.is_dynamic_dimension(axis) ? count : nullptr);
  }
  return windows;
}

}  // namespace

// (operand, k) -> the largest k along the last dimension, and their places
Status ImportBoundedTopK(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands) {
  VXLA_RETURN_IF_ERROR(operation.ExpectResults(2));
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape(), number = operands[1]->shape();
  if (!from.IsArray() || from.rank() != stated.rank() || from.rank() == 0)
    return operation.Error("{} cannot become {}", PrintType(from), PrintType(stated));
  if (!number.IsArray() || number.rank() > 1 || number.ElementCount() != 1)
    return operation.Error("operand 1 is {}, one number needed", PrintType(number));
  const int last = from.rank() - 1;
  const int64_t bound = stated.dimension(last);
  Instruction* const k = Converted(frame, ElementAt(frame, Reshaped(frame, operands[1], {1}), 0), kPlace);
  // Not every k up to the bound is one that the operand has.
  const bool may_lack = from.is_dynamic_dimension(last) || bound > from.dimension(last);
  Instruction* top = nullptr;
  if (may_lack) {
    Shape numbers = WithoutFlags(from);
    numbers.set_element_type(ElementType::kS32);
    SortAttributes sort;
    sort.dimensions = {last};
    sort.is_stable = true;
    Instruction* const places = Add(frame, Opcode::kIota, numbers, {}, IotaAttributes{last});
    VXLA_ASSIGN_OR_RETURN(top, AddInferred(frame, operation, Opcode::kSort, {operands[0], places}, std::move(sort),
                                           {LargestFirst(frame.importer.module(), from.element_type())}));
  } else {
    VXLA_ASSIGN_OR_RETURN(top,
                          AddInferred(frame, operation, Opcode::kTopK, {operands[0]}, TopKAttributes{bound, true}));
  }
  Instruction* const there = may_lack ? Computed(frame, Opcode::kMinimum, k, Extent(frame, operands[0], last)) : k;
  std::vector<Instruction*> results;
  for (int64_t i = 0; i < 2; ++i) {
    VXLA_ASSIGN_OR_RETURN(Instruction * value, AtBound(frame, operation, Element(frame, top, i), last, bound));
    VXLA_ASSIGN_OR_RETURN(value, WithAgreedSize(frame, operation, value, last, there, k));
    results.push_back(value);
  }
  return BindValues(frame, operation, results);
}

// What is drawn for the sizes that live is what a program of these sizes draws: a row of bits is drawn that is long
// enough for the bounds, and each element takes its own.
Status ImportBoundedRngBits(Frame& frame, const Operation& operation, const std::vector<Instruction*>& operands,
                            RngBitGeneratorAttributes attributes) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[1]);
  const Shape state = operands[0]->shape();
  VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, 1, stated));
  if (!state.IsArray() || state.element_type() != ElementType::kU64 || state.IsDynamic() || state.ElementCount() < 2)
    return operation.Error("the state is {}, u64[2] or u64[3] needed", PrintType(state));
  const bool three_fry = attributes.algorithm == RngAlgorithm::kThreeFry;
  const bool wide = StorageBytes(stated.element_type()) == 8;
  std::vector<Instruction*> sizes;
  for (int d = 0; d < stated.rank(); ++d) {
    sizes.push_back(stated.is_dynamic_dimension(d) ? Converted(frame, ElementAt(frame, operands[1], d), kPlace)
                                                   : Number(frame, kPlace, stated.dimension(d)));
  }
  Draw draw = DrawFor(frame, stated, sizes, three_fry && !wide);
  if (!three_fry) {  // four words for each call
    Instruction* const words = Computed(frame, Opcode::kMultiply, draw.calls, Number(frame, kPlace, wide ? 2 : 1));
    draw.calls = Computed(frame, Opcode::kDivide, Computed(frame, Opcode::kAdd, words, Number(frame, kPlace, 3)),
                          Number(frame, kPlace, 4));
  }
  const Shape row(stated.element_type(), {draw.row});
  VXLA_RETURN_IF_ERROR(CheckShape(row));
  VXLA_ASSIGN_OR_RETURN(Instruction* const drawn, AddInferred(frame, operation, Opcode::kRngBitGenerator, {operands[0]},
                                                              attributes, {}, Shape::Tuple({state, row})));
  Instruction* bits = Element(frame, drawn, 1);
  if (stated.rank() > 1 && draw.row > 0) {
    Instruction* const places = Reshaped(frame, draw.places, {stated.ElementCount()});
    VXLA_ASSIGN_OR_RETURN(bits, TakeAlong(frame, operation, bits, 0, places));
    bits = Reshaped(frame, bits, SizesOf(stated));
  }
  VXLA_ASSIGN_OR_RETURN(bits, WithSizes(frame, operation, bits, BoundedSizes(frame, stated, operands[1])));
  VXLA_ASSIGN_OR_RETURN(Instruction* const next, StateAfter(frame, operation, operands[0], draw.calls, !three_fry));
  return BindValues(frame, operation, {next, bits});
}

// (arrays, initial values, sizes, strides, base dilations, window dilations, padding): each window is a reduction of
// all elements, of which those within it count.
Status ImportBoundedReduceWindow(Frame& frame, const Operation& operation, std::vector<Instruction*> operands,
                                 Computation* reducer) {
  const size_t arrays = operation.results.size();
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> lists, WindowLists(frame, operation, operands, *reducer));
  VXLA_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(frame, operation, operands[0], lists));
  std::vector<Instruction*> given(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(2 * arrays));
  for (size_t k = 0; k < arrays; ++k) {
    VXLA_ASSIGN_OR_RETURN(
        given[k], AddInferred(frame, operation, Opcode::kBroadcast, {given[k]}, DimensionsAttributes{windows.places},
                              {}, Shape(given[k]->shape().element_type(), windows.dims)));
  }
  const ReducerFacts facts = FactsOfReducer(*reducer);
  const bool selects = arrays == 1 && facts.identity.has_value();
  if (selects) {
    const ElementType type = given[0]->shape().element_type();
    Instruction* const identity = Converted(frame, Constant(frame, *facts.identity), type);
    Instruction* const neutral = Everywhere(frame, identity, Shape(type, windows.dims));
    VXLA_ASSIGN_OR_RETURN(given[0],
                          AddInferred(frame, operation, Opcode::kSelect, {windows.members, given[0], neutral}));
  } else {
    given.insert(given.begin() + static_cast<std::ptrdiff_t>(arrays), windows.members);
    given.push_back(Number(frame, ElementType::kPred, 1));
    reducer = OfThoseThatCount(frame.importer.module(), *reducer, static_cast<int64_t>(arrays));
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const reduced, AddInferred(frame, operation, Opcode::kReduce, std::move(given),
                                                                DimensionsAttributes{windows.elements}, {reducer}));
  std::vector<Instruction*> results;
  for (size_t k = 0; k < arrays; ++k) {
    Instruction* const value = selects ? reduced : Element(frame, reduced, static_cast<int64_t>(k));
    VXLA_ASSIGN_OR_RETURN(results.emplace_back(), WithSizes(frame, operation, value, windows.sizes));
  }
  return BindValues(frame, operation, results);
}

}  // namespace VXLA_NAMESPACE::mlir
