// The dynamic_* operations whose results have bounds: an array as wide as those, of which so much lives as the operand
// of sizes says when the program runs. Nothing is asked for first, so the same program serves devices and bundles.
#include <algorithm>
#include <limits>
#include <map>

#include "core/mlir/importer/import_operations.h"
#include "core/sizes/live_instruction.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Three lists, of which the first is operand `first`, have a number for each dimension.
Status ExpectNumbers(const Operation& operation, const Shape& from, const Shape& stated, const Instructions& operands,
                     size_t first) {
  if (!from.IsArray() || from.rank() != stated.rank())
    return operation.Error("{} cannot become {}", PrintType(from), PrintType(stated));
  for (size_t i = first; i < first + 3; ++i) {
    if (operands[i]->shape() == Shape(operands[i]->shape().element_type(), {from.rank()})) continue;
    return operation.Error("operand {} is {}, a number for each dimension of {} needed", i,
                           PrintType(operands[i]->shape()), PrintType(from));
  }
  return OkStatus();
}

struct Padding {
  Instruction *low, *high, *interior;
};

// As set-dimension-size takes it: what does not fit 32 bits becomes the nearest that does, which is beyond the bound.
Instruction* AsSize(Frame& frame, Instruction* size) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const ElementType type = size->shape().element_type();
  if (size->opcode() == Opcode::kConstant)
    return frame.Number(ElementType::kS32, std::clamp(size->literal().GetInt(0), -kMost, kMost));
  if (type == ElementType::kS32) return size;
  Instruction* const wide = frame.Converted(size, kPlace);
  Instruction* const clamped =
      frame.Add(Opcode::kClamp, Shape(kPlace), {frame.Number(kPlace, -kMost), wide, frame.Number(kPlace, kMost)});
  return frame.Converted(clamped, ElementType::kS32);
}

// One dimension of `value` after padding that is known when the program runs, `bound` wide; `size` is what lives of it.
Result<Instruction*> PadAlong(Frame& frame, const Operation& operation, Instruction* value, Instruction* padding,
                              int64_t dimension, int64_t bound, const Padding& amount, Instruction** size) {
  Instruction* const extent = Extent(frame, value, dimension);
  Instruction* const zero = frame.Number(kPlace, 0);
  Instruction* const one = frame.Number(kPlace, 1);
  Instruction* const gaps = frame.Larger(frame.Minus(extent, one), zero);
  Instruction* const inside = frame.Plus(extent, frame.Times(gaps, amount.interior));
  *size = frame.Plus(frame.Plus(amount.low, inside), amount.high);
  const Shape list(kPlace, {bound});
  const auto all = [&](Instruction* scalar) { return frame.SpreadAs(scalar, list); };
  Instruction* const at = frame.Minus(frame.Iota(kPlace, SizesOf(list), 0), all(amount.low));
  Instruction* const step = all(frame.Plus(amount.interior, one));
  const auto [place, holds] = InSteps(frame, at, step, all(extent));
  Shape shape = value->shape();
  const int d = static_cast<int>(dimension);
  const bool empty = shape.dimension(d) == 0;
  shape.set_dimension(d, bound);
  shape.set_dynamic_dimension(d, false);
  Instruction* const pads = frame.SpreadAs(padding, shape);
  if (empty) return pads;
  VXLA_ASSIGN_OR_RETURN(Instruction* const taken, TakeAlong(frame, operation, value, dimension, place));
  Instruction* const mask = frame.Broadcast(holds, SizesOf(shape), {dimension});
  return AddInferred(frame, operation, Opcode::kSelect, {mask, taken, pads});
}

Padding PaddingAt(Frame& frame, const Instructions& lists, int64_t dimension) {
  const auto at = [&](Instruction* list) { return frame.Converted(ElementAt(frame, list, dimension), kPlace); };
  return {at(lists[0]), at(lists[1]), at(lists[2])};
}

}  // namespace

bool IsBounded(Frame& frame, const Operation& operation, size_t result) {
  if (operation.results.size() <= result) return false;
  const Type& type = frame.importer.program().values[operation.results[result]].type;
  return type.kind == Type::Kind::kShape && !type.unranked && type.shape.IsArray() && type.shape.IsDynamic() &&
         !HasUnknownSize(type.shape);
}

// Whether operands from `first` on are lists that are constants.
bool AreKnown(Frame& frame, const Instructions& operands, size_t first) {
  return std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end(),
                     [&](const Instruction* list) { return frame.importer.Known(list) != nullptr; });
}

// Element i of a list, without the concatenation that it comes from.
Instruction* ElementAt(Frame& frame, Instruction* list, int64_t i) {
  const ElementType type = list->shape().element_type();
  if (const Literal* const known = frame.importer.Known(list)) return frame.Number(type, known->GetInt(i));
  if (list->opcode() == Opcode::kConcatenate) {
    for (Instruction* part : list->operands()) {
      const int64_t count = part->shape().dimension(0);
      if (i < count) return ElementAt(frame, part, i);
      i -= count;
    }
  }
  if (list->opcode() == Opcode::kReshape && list->operand(0)->shape().IsScalar()) return list->operand(0);
  return frame.Reshaped(frame.Slice(list, 0, i, i + 1), {});
}

Steps InSteps(Frame& frame, Instruction* at, Instruction* step, Instruction* count) {
  Instruction* const zero = frame.SpreadAs(frame.Number(kPlace, 0), at->shape());
  Instruction* const number = frame.Over(at, step);
  Instruction* const rest = frame.Binary(Opcode::kRemainder, at, step);
  Instruction* const behind = frame.Compare(ComparisonDirection::kGe, at, zero);
  Instruction* const before = frame.Compare(ComparisonDirection::kLt, number, count);
  Instruction* const hits = frame.Compare(ComparisonDirection::kEq, rest, zero);
  return {number, frame.And(hits, frame.And(behind, before))};
}

// How much of the dimension there is.
Instruction* Extent(Frame& frame, Instruction* value, int64_t dimension) {
  const int d = static_cast<int>(dimension);
  if (!value->shape().is_dynamic_dimension(d)) return frame.Number(kPlace, value->shape().dimension(d));
  return frame.Converted(frame.LiveSize(value, dimension), kPlace);
}

// `sizes` by dimension, null where the result's is static. What the value knows of itself stays.
Result<Instruction*> WithSizes(Frame& frame, const Operation& operation, Instruction* value,
                               const Instructions& sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int dimension = static_cast<int>(d);
    if (sizes[d] == nullptr || value->shape().is_dynamic_dimension(dimension)) continue;
    VXLA_ASSIGN_OR_RETURN(value,
                          AddInferred(frame, operation, Opcode::kSetDimensionSize, {value, AsSize(frame, sizes[d])},
                                      DimensionsAttributes{{static_cast<int64_t>(d)}}));
  }
  return value;
}

// The elements of a list for those dimensions that a result's type bounds.
Instructions BoundedSizes(Frame& frame, const Shape& stated, Instruction* list) {
  Instructions sizes;
  for (int d = 0; d < stated.rank(); ++d)
    sizes.push_back(stated.is_dynamic_dimension(d) ? ElementAt(frame, list, d) : nullptr);
  return sizes;
}

// All of a dimension, up to what bounds it, and so much more or less that it is `bound` wide.
Result<Instruction*> AtBound(Frame& frame, const Operation& operation, Instruction* value, int dimension,
                             int64_t bound) {
  const Shape from = value->shape();
  const int64_t size = from.dimension(dimension);
  if (from.is_dynamic_dimension(dimension)) {
    Shape whole = from;
    whole.set_dynamic_dimension(dimension, false);
    VXLA_ASSIGN_OR_RETURN(
        value, AddInferred(frame, operation, Opcode::kSetDimensionSize, {value, frame.Number(ElementType::kS32, size)},
                           DimensionsAttributes{{dimension}}, {}, whole));
  }
  if (bound == size) return value;
  PadAttributes room;
  room.padding.resize(static_cast<size_t>(from.rank()));
  room.padding[dimension].high = bound - size;
  return AddInferred(frame, operation, Opcode::kPad, {value, frame.Zero(from.element_type())}, std::move(room));
}

// Of a static dimension `size` lives, and `stated`, which is another number where sizes do not go together, has to be
// the same. Both are s64.
Result<Instruction*> WithAgreedSize(Frame& frame, const Operation& operation, Instruction* value, int dimension,
                                    Instruction* size, Instruction* stated) {
  Instructions sizes(static_cast<size_t>(value->shape().rank()), nullptr);
  sizes[dimension] = size;
  VXLA_ASSIGN_OR_RETURN(Instruction* const sized, WithSizes(frame, operation, value, sizes));
  if (size == stated) return sized;
  Shape truths = WithoutFlags(value->shape());
  truths.set_element_type(ElementType::kPred);
  Instruction* const truth = frame.SpreadAs(frame.Number(ElementType::kPred, 1), truths);
  sizes[dimension] = stated;
  VXLA_ASSIGN_OR_RETURN(Instruction* const wanted, WithSizes(frame, operation, truth, sizes));
  Instruction* const zeros = frame.SpreadAs(frame.Zero(value->shape().element_type()), WithoutFlags(value->shape()));
  return AddInferred(frame, operation, Opcode::kSelect, {wanted, sized, zeros});
}

// Sizes that break it are told as a run tells of sizes beyond their bounds: the function's arguments have -1 elements
// then. False: it has none of bounded sizes, so that nothing is known when the program runs.
Result<bool> ImportBoundedAssertion(Frame& frame, const Operation& operation) {
  VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(1));
  VXLA_ASSIGN_OR_RETURN(Instruction* const holds, Lookup(frame, operation, operation.operands[0]));
  if (holds->shape() != Shape(ElementType::kPred))
    return operation.Error("operand 0 is {}, tensor<i1> needed", PrintType(holds->shape()));
  // Values are not known before a run, and the device keeps none for its message.
  VXLA_ASSIGN_OR_RETURN(std::string message, operation.Text("error_message", kShapesDoNotFit));
  message = FillIn(message, std::vector<std::string>(operation.operands.size() - 1, "?"));
  std::map<ValueId, Instruction*> sized;
  for (const auto& [id, value] : frame.values) {
    const Instruction* from = value;
    while (from->opcode() == Opcode::kSetDimensionSize) from = from->operand(0);
    if (from->opcode() == Opcode::kParameter && value->shape().IsArray() && value->shape().IsDynamic())
      sized[id] = value;
  }
  for (const auto& [id, value] : sized) {
    int64_t dimension = 0;
    while (!value->shape().is_dynamic_dimension(dimension)) ++dimension;
    Instruction* const size = frame.LiveSize(value, dimension);
    Instruction* const checked = frame.Select(holds, size, frame.Number(ElementType::kS32, -1));
    VXLA_ASSIGN_OR_RETURN(frame.values[id], AddInferred(frame, operation, Opcode::kSetDimensionSize, {value, checked},
                                                        DimensionsAttributes{{dimension}}, {}, value->shape()));
    frame.values[id]->mutable_notes().checked = message;
  }
  return !sized.empty();
}

// An operation that makes its result at the bounds, and the operand that lists its sizes.
Status BindSized(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands, Attributes attributes,
                 size_t list) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, list, stated));
  VXLA_ASSIGN_OR_RETURN(Instruction* const sizes, Lookup(frame, operation, operation.operands[list]));
  VXLA_ASSIGN_OR_RETURN(Instruction * value, AddInferred(frame, operation, opcode, std::move(operands),
                                                         std::move(attributes), {}, WithoutFlags(stated)));
  VXLA_ASSIGN_OR_RETURN(value, WithSizes(frame, operation, value, BoundedSizes(frame, stated, sizes)));
  return BindValues(frame, operation, {value});
}

// A dimension of one element, which may be known as the program runs only, is there as often as the list says.
Status ImportBoundedBroadcast(Frame& frame, const Operation& operation, const Instructions& operands,
                              const IntList& dimensions) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape();
  VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, 1, stated));
  Instructions sizes = BoundedSizes(frame, stated, operands[1]);
  Instructions lives(sizes.size(), nullptr);  // of dimensions whose own sizes have to go with the list's
  Instruction* value = operands[0];
  IntList kept_sizes, kept;
  for (int i = 0; i < from.rank(); ++i) {
    const int64_t to = dimensions[i];
    const int at = static_cast<int>(to);
    if (to < 0 || to >= stated.rank())
      return operation.Error("broadcast dimension {} is no dimension of {}", to, PrintType(stated));
    const int64_t bound = stated.dimension(at);
    const bool dynamic = from.is_dynamic_dimension(i);
    if (from.dimension(i) == 1 && bound != 1 && !dynamic) continue;
    kept_sizes.push_back(bound);
    kept.push_back(to);
    if (!stated.is_dynamic_dimension(at) || (from.dimension(i) == bound && !dynamic)) {
      if (from.dimension(i) != bound)
        return operation.Error("dimension {} of {} is neither 1 nor {}", i, PrintType(from), bound);
      continue;
    }
    Instruction* const extent = Extent(frame, operands[0], i);
    Instruction* const wanted = sizes[to] = frame.Converted(sizes[to], kPlace);
    Instruction* const one = frame.Compare(ComparisonDirection::kEq, extent, frame.Number(kPlace, 1));
    lives[to] = frame.Select(one, wanted, extent);
    VXLA_ASSIGN_OR_RETURN(value, AtBound(frame, operation, value, i, bound));
    if (bound == 0) continue;
    const Shape list(kPlace, {bound});
    Instruction* const first = frame.SpreadAs(frame.Number(kPlace, 0), list);
    Instruction* const are_one = frame.SpreadAs(one, list);
    Instruction* const places = frame.Select(are_one, first, frame.Iota(kPlace, SizesOf(list), 0));
    VXLA_ASSIGN_OR_RETURN(value, TakeAlong(frame, operation, value, i, places));
  }
  if (kept.size() != dimensions.size()) {
    Shape shape(from.element_type(), kept_sizes);
    for (size_t i = 0, next = 0; i < dimensions.size(); ++i) {
      if (next == kept.size() || dimensions[i] != kept[next]) continue;
      shape.set_dynamic_dimension(next++, value->shape().is_dynamic_dimension(i));
    }
    VXLA_ASSIGN_OR_RETURN(value, AddInferred(frame, operation, Opcode::kReshape, {value}, NoAttributes{}, {}, shape));
  }
  VXLA_ASSIGN_OR_RETURN(value, AddInferred(frame, operation, Opcode::kBroadcast, {value}, DimensionsAttributes{kept},
                                           {}, WithoutFlags(stated)));
  for (size_t d = 0; d < lives.size(); ++d) {
    if (lives[d] == nullptr) continue;
    VXLA_ASSIGN_OR_RETURN(value, WithAgreedSize(frame, operation, value, static_cast<int>(d), lives[d], sizes[d]));
  }
  VXLA_ASSIGN_OR_RETURN(value, WithSizes(frame, operation, value, sizes));
  return BindValues(frame, operation, {value});
}

Status ImportBoundedReshape(Frame& frame, const Operation& operation, const Instructions& operands) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, 1, stated));
  Instructions sized{operands[0]};
  for (int d = 0; d < stated.rank(); ++d) sized.push_back(AsSize(frame, ElementAt(frame, operands[1], d)));
  return BindInferred(frame, operation, Opcode::kDynamicReshape, std::move(sized), NoAttributes{}, {}, stated);
}

// The elements at `places`, a list, along one dimension, of which all is there for it, also where nothing lives: places
// beyond the ends are those at the ends.
Result<Instruction*> TakeAlong(Frame& frame, const Operation& operation, Instruction* value, int64_t dimension,
                               Instruction* places) {
  VXLA_ASSIGN_OR_RETURN(
      value, AtBound(frame, operation, value, static_cast<int>(dimension), value->shape().dimension(dimension)));
  const Shape& shape = value->shape();
  GatherAttributes gather;
  for (int d = 0; d < shape.rank(); ++d) {
    gather.slice_sizes.push_back(d == dimension ? 1 : shape.dimension(d));
    if (d != dimension) gather.offset_dims.push_back(d);
  }
  gather.collapsed_slice_dims = {dimension};
  gather.start_index_map = {dimension};
  gather.index_vector_dim = 1;
  return AddInferred(frame, operation, Opcode::kGather, {value, places}, std::move(gather));
}

Status ImportBoundedPad(Frame& frame, const Operation& operation, const Instructions& operands) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape();
  VXLA_RETURN_IF_ERROR(ExpectNumbers(operation, from, stated, operands, 2));
  Instruction* value = operands[0];
  Instructions sizes(static_cast<size_t>(stated.rank()), nullptr);
  for (int d = 0; d < stated.rank(); ++d) {
    const Padding amount = PaddingAt(frame, {operands[2], operands[3], operands[4]}, d);
    Instruction* size = nullptr;
    VXLA_ASSIGN_OR_RETURN(value, PadAlong(frame, operation, value, operands[1], d, stated.dimension(d), amount, &size));
    if (stated.is_dynamic_dimension(d)) sizes[d] = size;
  }
  VXLA_ASSIGN_OR_RETURN(value, WithSizes(frame, operation, value, sizes));
  return BindValues(frame, operation, {value});
}

// (operand, starts, limits, strides)
Status ImportBoundedSlice(Frame& frame, const Operation& operation, const Instructions& operands) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape();
  VXLA_RETURN_IF_ERROR(ExpectNumbers(operation, from, stated, operands, 1));
  Instruction* value = operands[0];
  Instructions sizes(static_cast<size_t>(stated.rank()), nullptr);
  for (int d = 0; d < stated.rank(); ++d) {
    const bool open = stated.is_dynamic_dimension(d);
    if (!open && !from.is_dynamic_dimension(d) && stated.dimension(d) == from.dimension(d)) continue;  // all of it
    Instruction* numbers[3];
    for (size_t i = 0; i < 3; ++i) numbers[i] = frame.Converted(ElementAt(frame, operands[i + 1], d), kPlace);
    const auto [start, limit, stride] = numbers;
    Instruction* const span = frame.Minus(limit, start);
    Instruction* const last = frame.Minus(stride, frame.Number(kPlace, 1));
    Instruction* const size = frame.Over(frame.Plus(span, last), stride);
    const Shape list(kPlace, {stated.dimension(d)});
    const auto all = [&](Instruction* scalar) { return frame.SpreadAs(scalar, list); };
    Instruction* const steps = frame.Times(frame.Iota(kPlace, SizesOf(list), 0), all(stride));
    if (from.dimension(d) == 0)
      return operation.NotSupported("a slice of the empty dimension {} of {}", d, PrintType(from));
    VXLA_ASSIGN_OR_RETURN(value, TakeAlong(frame, operation, value, d, frame.Plus(all(start), steps)));
    if (open) sizes[d] = size;
  }
  VXLA_ASSIGN_OR_RETURN(value, WithSizes(frame, operation, value, sizes));
  return BindValues(frame, operation, {value});
}

// Starts are moved so that windows of their true sizes lie within the operand; it is padded so that windows of the
// bounds do too.
Status ImportBoundedGather(Frame& frame, const Operation& operation, const Instructions& operands,
                           GatherAttributes attributes) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  const Shape from = operands[0]->shape();
  if (!from.IsArray() || !(operands[2]->shape() == Shape(operands[2]->shape().element_type(), {from.rank()})))
    return operation.Error("operand 2 is {}, a size for each dimension of {} needed", PrintType(operands[2]->shape()),
                           PrintType(from));
  Instructions sizes(static_cast<size_t>(stated.rank()), nullptr);
  PadAttributes room;
  attributes.slice_sizes.clear();
  size_t offset = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    room.padding.push_back({0, 0, 0});
    const auto has = [&](const IntList& list) { return std::ranges::find(list, d) != list.end(); };
    if (has(attributes.collapsed_slice_dims) || has(attributes.operand_batching_dims)) {
      attributes.slice_sizes.push_back(1);
      continue;
    }
    const int64_t at = offset < attributes.offset_dims.size() ? attributes.offset_dims[offset++] : -1;
    if (at < 0 || at >= stated.rank())
      return operation.Error("offset_dims names no dimension of {} for dimension {}", PrintType(stated), d);
    const int to = static_cast<int>(at);
    attributes.slice_sizes.push_back(stated.dimension(to));
    if (!stated.is_dynamic_dimension(to)) continue;
    sizes[at] = ElementAt(frame, operands[2], d);
    room.padding.back() = {0, stated.dimension(to), 0};
  }
  Instruction *value = operands[0], *starts = operands[1];
  if (std::ranges::any_of(sizes, [](const Instruction* size) { return size != nullptr; })) {
    const Shape& table = starts->shape();
    Instructions most;
    for (const int64_t d : attributes.start_index_map) {
      Instruction* const size = frame.Converted(ElementAt(frame, operands[2], d), kPlace);
      most.push_back(frame.Reshaped(frame.Minus(Extent(frame, value, d), size), {1}));
    }
    const bool lists = attributes.index_vector_dim < table.rank();
    Instruction* limit = most[0];
    if (most.size() > 1)
      VXLA_SET_OR_RETURN(limit, AddInferred(frame, operation, Opcode::kConcatenate, most, DimensionsAttributes{{0}}));
    Shape wide = WithoutFlags(table);
    wide.set_element_type(kPlace);
    if (!lists) limit = frame.Reshaped(limit, {});
    limit = frame.Add(Opcode::kBroadcast, wide, {limit},
                      lists ? DimensionsAttributes{{attributes.index_vector_dim}} : DimensionsAttributes{});
    Instruction* const zero = frame.Add(Opcode::kBroadcast, wide, {frame.Number(kPlace, 0)}, DimensionsAttributes{});
    VXLA_ASSIGN_OR_RETURN(
        starts, AddInferred(frame, operation, Opcode::kClamp, {zero, frame.Converted(starts, kPlace), limit}));
    Instruction* const nothing = frame.Zero(from.element_type());
    VXLA_ASSIGN_OR_RETURN(value, AddInferred(frame, operation, Opcode::kPad, {value, nothing}, std::move(room)));
  }
  VXLA_ASSIGN_OR_RETURN(Instruction * result,
                        AddInferred(frame, operation, Opcode::kGather, {value, starts}, std::move(attributes)));
  VXLA_ASSIGN_OR_RETURN(result, WithSizes(frame, operation, result, sizes));
  return BindValues(frame, operation, {result});
}

// The padding, known when the program runs, goes around what the convolution gets.
Status ImportBoundedConvolution(Frame& frame, Operation convolution, Instruction* padding) {
  VXLA_ASSIGN_OR_RETURN(Instructions operands, Operands(frame, convolution));
  const Shape& stated = frame.importer.program().ShapeOf(convolution.results[0]);
  VXLA_ASSIGN_OR_RETURN(Attributes made, AttributesFor(Opcode::kConvolution, convolution, frame.importer.typed()));
  auto& attributes = std::get<ConvolutionAttributes>(made);
  const auto& dims = *attributes.dim_labels;
  const auto count = static_cast<int64_t>(attributes.window.size());
  const Shape pairs(padding->shape().element_type(), {count, 2});
  if (!(padding->shape() == pairs) || dims.output_spatial.size() != attributes.window.size())
    return convolution.Error("operand 2 is {}, {} needed", PrintType(padding->shape()), PrintType(pairs));
  Instruction* const flat = frame.Reshaped(padding, {2 * count});
  Instruction* const zero = frame.Zero(operands[0]->shape().element_type());
  for (size_t i = 0; i < attributes.window.size(); ++i) {
    WindowDimension& window = attributes.window[i];
    const int out = static_cast<int>(dims.output_spatial[i]);
    const int64_t taps = window.size == 0 ? 0 : (window.size - 1) * window.rhs_dilate + 1;
    const int64_t slack = stated.is_dynamic_dimension(out) ? window.stride - 1 : 0;
    const int64_t bound = std::max<int64_t>((stated.dimension(out) - 1) * window.stride + taps + slack, 0);
    const auto at = [&](int64_t k) { return frame.Converted(ElementAt(frame, flat, k), kPlace); };
    const Padding amount{at(2 * static_cast<int64_t>(i)), at(2 * static_cast<int64_t>(i) + 1),
                         frame.Number(kPlace, window.lhs_dilate - 1)};
    Instruction* size = nullptr;
    const int64_t in = dims.input_spatial[i];
    VXLA_ASSIGN_OR_RETURN(operands[0], PadAlong(frame, convolution, operands[0], zero, in, bound, amount, &size));
    if (stated.is_dynamic_dimension(out)) {
      Instructions sizes(static_cast<size_t>(operands[0]->shape().rank()), nullptr);
      sizes[in] = size;
      VXLA_ASSIGN_OR_RETURN(operands[0], WithSizes(frame, convolution, operands[0], sizes));
    }
    window.pad_low = window.pad_high = 0;
    window.lhs_dilate = 1;
  }
  return BindInferred(frame, convolution, Opcode::kConvolution, std::move(operands), std::move(made), {},
                      WithoutFlags(stated));
}

}  // namespace VXLA_NAMESPACE::mlir
