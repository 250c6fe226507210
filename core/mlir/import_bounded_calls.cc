// JAX's custom calls that stand for operations of any size, where their results have bounds: stablehlo.dynamic_top_k,
// dynamic_rng_bit_generator and dynamic_reduce_window. Their numbers are data, and nothing is asked for first.
#include <algorithm>

#include "core/live_instruction.h"
#include "core/mlir/import_state.h"
#include "core/reducer_facts.h"

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

}  // namespace

// (operand, k) -> the largest k along the last dimension, and their places
Status Importer::ImportBoundedTopK(Frame& frame, const Operation& operation,
                                   const std::vector<Instruction*>& operands) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(2));
  const Shape& stated = program_.ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape(), number = operands[1]->shape();
  if (!from.IsArray() || from.rank() != stated.rank() || from.rank() == 0)
    return reader.Error("{} cannot become {}", PrintType(from), PrintType(stated));
  if (!number.IsArray() || number.rank() > 1 || number.ElementCount() != 1)
    return reader.Error("operand 1 is {}, one number needed", PrintType(number));
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
                                           {LargestFirst(*module_, from.element_type())}));
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

// The dimension whose neighbours share one call of ThreeFry, true there alone: the first even one, else the largest.
std::vector<Instruction*> Importer::SplitOf(Frame& frame, const std::vector<Instruction*>& sizes) {
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

// What is drawn for the sizes that live is what a program of these sizes draws: the numbers of a row are drawn at the
// bounds, and each element takes its own.
Status Importer::ImportBoundedRngBits(Frame& frame, const Operation& operation,
                                      const std::vector<Instruction*>& operands, RngBitGeneratorAttributes attributes) {
  const OperationReader reader(operation);
  const Shape& stated = program_.ShapeOf(operation.results[1]);
  const Shape state = operands[0]->shape();
  VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, 1, stated));
  if (!state.IsArray() || state.element_type() != ElementType::kU64 || state.IsDynamic() || state.ElementCount() < 2)
    return reader.Error("the state is {}, u64[2] or u64[3] needed", PrintType(state));
  const bool three_fry = attributes.algorithm == RngAlgorithm::kThreeFry;
  const bool wide = StorageBytes(stated.element_type()) == 8;
  const bool pairs = three_fry && !wide;
  const auto number = [&](int64_t value) { return Number(frame, kPlace, value); };
  const auto computed = [&](Opcode opcode, Instruction* a, Instruction* b) { return Computed(frame, opcode, a, b); };
  std::vector<Instruction*> sizes;
  for (int d = 0; d < stated.rank(); ++d) {
    sizes.push_back(stated.is_dynamic_dimension(d) ? Converted(frame, ElementAt(frame, operands[1], d), kPlace)
                                                   : number(stated.dimension(d)));
  }
  const std::vector<Instruction*> split = pairs ? SplitOf(frame, sizes) : std::vector<Instruction*>();
  // Row by row, with one place for two neighbours of the dimension that is split.
  Shape places = WithoutFlags(stated);
  places.set_element_type(kPlace);
  const auto everywhere = [&](Instruction* scalar) { return Everywhere(frame, scalar, places); };
  Instruction *calls = number(1), *place = everywhere(number(0)), *second = everywhere(number(0));
  int64_t most = stated.ElementCount();
  for (int d = 0; d < stated.rank(); ++d) {
    Instruction* index = Add(frame, Opcode::kIota, places, {}, IotaAttributes{d});
    Instruction* size = sizes[static_cast<size_t>(d)];
    if (pairs) {
      Instruction* const here = split[static_cast<size_t>(d)];
      Instruction *const two = everywhere(number(2)), *const whole = index;
      Shape truths = places;
      truths.set_element_type(ElementType::kPred);
      Instruction* const all = Everywhere(frame, here, truths);
      const auto chosen = [&](Instruction* condition, Instruction* a, Instruction* b) {
        return Add(frame, Opcode::kSelect, a->shape(), {condition, a, b});
      };
      second = chosen(all, computed(Opcode::kRemainder, whole, two), second);
      index = chosen(all, computed(Opcode::kDivide, whole, two), whole);
      Instruction* const half = computed(Opcode::kDivide, computed(Opcode::kAdd, size, number(1)), number(2));
      size = chosen(here, half, size);
      const int64_t bound = stated.dimension(d);
      if (bound > 0 && stated.rank() > 1) most = std::max(most, stated.ElementCount() / bound * (bound + bound % 2));
    }
    place = computed(Opcode::kAdd, computed(Opcode::kMultiply, place, everywhere(size)), index);
    calls = computed(Opcode::kMultiply, calls, size);
  }
  if (pairs) place = computed(Opcode::kAdd, computed(Opcode::kMultiply, place, everywhere(number(2))), second);
  if (!three_fry) {  // four words for each call
    Instruction* const words = computed(Opcode::kMultiply, calls, number(wide ? 2 : 1));
    calls = computed(Opcode::kDivide, computed(Opcode::kAdd, words, number(3)), number(4));
  }
  const Shape drawn(stated.element_type(), {most});
  VXLA_RETURN_IF_ERROR(CheckShape(drawn));
  VXLA_ASSIGN_OR_RETURN(Instruction* const draw, AddInferred(frame, operation, Opcode::kRngBitGenerator, {operands[0]},
                                                             attributes, {}, Shape::Tuple({state, drawn})));
  Instruction* bits = Element(frame, draw, 1);
  if (stated.rank() > 1 && most > 0) {
    VXLA_ASSIGN_OR_RETURN(bits, TakeAlong(frame, operation, bits, 0, Reshaped(frame, place, {stated.ElementCount()})));
    bits = Reshaped(frame, bits, SizesOf(stated));
  }
  VXLA_ASSIGN_OR_RETURN(bits, WithSizes(frame, operation, bits, BoundedSizes(frame, stated, operands[1])));
  // The state after so many calls: word 1 counts, word 2 takes the carry of Philox's.
  const Shape row(ElementType::kU64, {state.ElementCount()}), lone(ElementType::kU64, {1});
  Instruction* const words = Reshaped(frame, operands[0], {state.ElementCount()});
  std::vector<Instruction*> next;
  for (int64_t i = 0; i < state.ElementCount(); ++i) next.push_back(ElementAt(frame, words, i));
  Instruction* const before = next[1];
  next[1] = computed(Opcode::kAdd, before, Converted(frame, calls, ElementType::kU64));
  if (!three_fry && next.size() > 2) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const carry,
                          Compared(frame, operation, next[1], before, ComparisonDirection::kLt));
    next[2] = computed(Opcode::kAdd, next[2], Converted(frame, carry, ElementType::kU64));
  }
  for (Instruction*& word : next) word = Reshaped(frame, word, {1});
  Instruction* const list = Add(frame, Opcode::kConcatenate, row, next, DimensionsAttributes{{0}});
  return BindValues(frame, operation, {Reshaped(frame, list, SizesOf(state)), bits});
}

Importer::WindowNumbers Importer::WindowNumbersAt(Frame& frame, const std::vector<Instruction*>& lists, int64_t d) {
  const auto at = [&](size_t list, int64_t i) { return Converted(frame, ElementAt(frame, lists[list], i), kPlace); };
  return {at(0, d), at(1, d), at(2, d), at(3, d), at(4, 2 * d), at(4, 2 * d + 1)};
}

// Which elements of a dimension are in which windows, [windows, elements], and how many windows there are.
Result<Instruction*> Importer::WindowMembers(Frame& frame, const Operation& operation, const WindowNumbers& w,
                                             int64_t windows, Instruction* value, int64_t dimension,
                                             Instruction** count) {
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

// (arrays, initial values, sizes, strides, base dilations, window dilations, padding): each window is a reduction of
// all elements, of which those within it count.
Status Importer::ImportBoundedReduceWindow(Frame& frame, const Operation& operation, std::vector<Instruction*> operands,
                                           Computation* reducer) {
  const OperationReader reader(operation);
  const size_t arrays = operation.results.size();
  const Shape& stated = program_.ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape();
  if (!from.IsArray() || from.rank() != stated.rank())
    return reader.Error("{} cannot become {}", PrintType(from), PrintType(stated));
  for (size_t k = 1; k < arrays; ++k) {
    if (!operands[k]->shape().IsArray() || !SameDimensions(operands[k]->shape(), from))
      return reader.Error("operand {} is {}, operand 0 {}", k, PrintType(operands[k]->shape()), PrintType(from));
  }
  if (reducer->parameters().size() != 2 * arrays)
    return reader.Error("'@{}' takes {} arguments, {} needed", reducer->name(), reducer->parameters().size(),
                        2 * arrays);
  const int64_t rank = from.rank();
  std::vector<Instruction*> lists;
  for (size_t i = 0; i < 5; ++i) {
    Instruction* const list = operands[2 * arrays + i];
    const int64_t wanted = i < 4 ? rank : 2 * rank;
    if (!list->shape().IsArray() || list->shape().ElementCount() != wanted)
      return reader.Error("operand {} is {}, {} numbers needed for {} dimensions", 2 * arrays + i,
                          PrintType(list->shape()), wanted, rank);
    lists.push_back(Reshaped(frame, list, {wanted}));
  }
  // [windows..., elements...]; a dimension whose windows are its elements is there once.
  IntList dims = SizesOf(stated), places, elements;
  for (int64_t d = 0; d < rank; ++d) {
    const auto is = [&](size_t list, int64_t i, int64_t value) {
      const Literal* const known = Known(ElementAt(frame, lists[list], i));
      return known != nullptr && known->GetInt(0) == value;
    };
    const int axis = static_cast<int>(d);
    const bool same = stated.dimension(axis) == from.dimension(axis) && is(0, d, 1) && is(1, d, 1) && is(2, d, 1) &&
                      is(4, 2 * d, 0) && is(4, 2 * d + 1, 0);
    places.push_back(same ? d : static_cast<int64_t>(dims.size()));
    if (same) continue;
    elements.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(from.dimension(axis));
  }
  VXLA_RETURN_IF_ERROR(CheckShape(Shape(ElementType::kPred, dims)));
  const Shape truths(ElementType::kPred, dims);
  Instruction* members = Everywhere(frame, Number(frame, ElementType::kPred, 1), truths);
  std::vector<Instruction*> sizes(static_cast<size_t>(rank), nullptr);
  for (int64_t d = 0; d < rank; ++d) {
    const int axis = static_cast<int>(d);
    if (places[static_cast<size_t>(d)] == d) {
      if (stated.is_dynamic_dimension(axis)) sizes[static_cast<size_t>(d)] = Extent(frame, operands[0], d);
      continue;
    }
    Instruction* count = nullptr;
    VXLA_ASSIGN_OR_RETURN(Instruction* const table, WindowMembers(frame, operation, WindowNumbersAt(frame, lists, d),
                                                                  stated.dimension(axis), operands[0], d, &count));
    members = Computed(
        frame, Opcode::kAnd, members,
        Add(frame, Opcode::kBroadcast, truths, {table}, DimensionsAttributes{{d, places[static_cast<size_t>(d)]}}));
    if (stated.is_dynamic_dimension(axis)) sizes[static_cast<size_t>(d)] = count;
  }
  std::vector<Instruction*> given;
  for (size_t k = 0; k < 2 * arrays; ++k) {
    if (k == arrays) given.push_back(members);
    Instruction* value = operands[k];
    if (k < arrays) {
      VXLA_ASSIGN_OR_RETURN(value,
                            AddInferred(frame, operation, Opcode::kBroadcast, {value}, DimensionsAttributes{places}, {},
                                        Shape(value->shape().element_type(), dims)));
    }
    given.push_back(value);
  }
  const ReducerFacts facts = FactsOfReducer(*reducer);
  const bool selects = arrays == 1 && facts.identity.has_value();
  if (selects) {
    Instruction* const constant = Add(frame, Opcode::kConstant, facts.identity->shape(), {},
                                      ConstantAttributes{std::make_shared<const Literal>(*facts.identity)});
    Instruction* const neutral =
        Everywhere(frame, Converted(frame, constant, from.element_type()), Shape(from.element_type(), dims));
    VXLA_ASSIGN_OR_RETURN(given[0], AddInferred(frame, operation, Opcode::kSelect, {members, given[0], neutral}));
    given.erase(given.begin() + 1);
  } else {
    given.push_back(Number(frame, ElementType::kPred, 1));
    reducer = OfThoseThatCount(*module_, *reducer, static_cast<int64_t>(arrays));
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const reduced, AddInferred(frame, operation, Opcode::kReduce, std::move(given),
                                                                DimensionsAttributes{elements}, {reducer}));
  std::vector<Instruction*> results;
  for (size_t k = 0; k < arrays; ++k) {
    Instruction* const value = selects ? reduced : Element(frame, reduced, static_cast<int64_t>(k));
    VXLA_ASSIGN_OR_RETURN(Instruction* const sized, WithSizes(frame, operation, value, sizes));
    results.push_back(sized);
  }
  return BindValues(frame, operation, results);
}

}  // namespace VXLA_NAMESPACE::mlir
