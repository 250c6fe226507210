// The tensor dialect in terms of HLO. Sizes are known here (import_dynamic.cc); places may be values. What types,
// attributes and regions say goes together (core/mlir/rewrite/tensor_constraints.h): here sizes and places are checked.
#include <algorithm>
#include <utility>

#include "core/host/ranges.h"
#include "core/limits.h"
#include "core/mlir/importer/import_operations.h"
#include "core/mlir/rewrite/structured_control.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Shape Resized(const Shape& shape, IntList sizes) { return Shape(shape.element_type(), std::move(sizes)); }

// The dimensions of `sizes` that stay where those of size 1 go until `wanted` is left, the first ones first; nothing
// where they do not go together. kUnboundedSize fits any size.
std::optional<std::vector<size_t>> KeptDimensions(std::span<const int64_t> sizes, std::span<const int64_t> wanted) {
  std::vector<size_t> kept;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool may_go = sizes[i] == 1 && sizes.size() - i > wanted.size() - kept.size();
    const bool fits =
        kept.size() < wanted.size() && (wanted[kept.size()] == sizes[i] || wanted[kept.size()] == kUnboundedSize);
    const bool exact = fits && wanted[kept.size()] == sizes[i];
    if (exact || (fits && !may_go)) {
      kept.push_back(i);
    } else if (!may_go) {
      return std::nullopt;
    }
  }
  if (kept.size() != wanted.size()) return std::nullopt;
  return kept;
}

// A reducer that takes the new value.
Computation* Assignment(Module& module, ElementType type) {
  auto computation = std::make_unique<Computation>("assign");
  const Shape scalar(type);
  computation->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{0});
  computation->set_root(computation->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{1}));
  return module.AddComputation(std::move(computation));
}

struct SliceLists {
  Instructions offsets;
  IntList starts, sizes, strides, extents;  // starts: where known, else 0; extents: from first to last element
  bool all_known = true, strided = false;
};

void MarkParallel(Frame& frame, Instruction* instruction, const Operation& operation, const IntList& strides) {
  if (operation.forall_result < 0) return;
  Foralls::Loop& forall = frame.importer.foralls().by_number[operation.forall];
  Notes& notes = instruction->mutable_notes();
  notes.checked = operation.name;
  notes.forall = forall.number;
  notes.result = operation.forall_result;
  notes.strides = strides;
  notes.begins = std::exchange(forall.begins, false);
}

Result<int64_t> KnownIndex(Frame& frame, const Operation& operation, const Instruction* value) {
  VXLA_ASSIGN_OR_RETURN(const Literal* const known, frame.importer.KnownOrAsk(operation, value));
  if (known->element_count() != 1) return operation.Error("{} where one number is needed", PrintType(known->shape()));
  return known->GetInt(0);
}

// static_X of the attribute, with operands in the places of dynamic ones.
Result<Instructions> MixedList(Frame& frame, const Operation& operation, std::string_view name, size_t& next) {
  VXLA_ASSIGN_OR_RETURN(const IntList list, operation.Ints(name));
  Instructions values;
  for (const int64_t number : list) {
    if (number != kUnboundedSize) {
      values.push_back(IndexConstant(frame, {number}, true));
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(values.emplace_back(), Lookup(frame, operation, operation.operands[next++]));
  }
  return values;
}

// The same, of numbers that are known.
Result<IntList> KnownList(Frame& frame, const Operation& operation, std::string_view name, size_t& next) {
  VXLA_ASSIGN_OR_RETURN(const Instructions values, MixedList(frame, operation, name, next));
  return Transformed(values, [&](const Instruction* value) { return KnownIndex(frame, operation, value); });
}

Status ImportTensorBitcast(Frame& frame, const Operation& operation, Instructions& operands) {
  const ElementType to = frame.importer.program().ShapeOf(operation.results[0]).element_type();
  return BindValues(frame, operation, {Bits(frame, operands[0], to)});
}

Status ImportExpansion(Frame& frame, const Operation& operation, Instruction* operand,
                       const std::vector<IntList>& groups) {
  const Shape& from = operand->shape();
  IntList sizes;
  if (operation.Find("static_output_shape") != nullptr) {
    size_t next = 1;
    VXLA_ASSIGN_OR_RETURN(sizes, KnownList(frame, operation, "static_output_shape", next));
  } else {
    sizes = SizesOf(frame.importer.program().ShapeOf(operation.results[0]));
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    const int64_t whole = from.dimension(g);
    int64_t product = 1, *open = nullptr;
    for (const int64_t dimension : groups[g]) {
      int64_t& size = sizes[dimension];
      if (size == kUnboundedSize && open == nullptr) {
        open = &size;
      } else if (size == kUnboundedSize) {
        return operation.Error("two sizes of a group are unknown: output_shape is needed");
      } else if (size < 0 || (size > 0 && product > kMaxArrayBytes / size)) {
        return operation.Error("size {} of dimension {}: dimension {} of {} has {}", size, dimension, g,
                               PrintType(from), whole);
      } else {
        product *= size;
      }
    }
    if (open != nullptr && product > 0 && whole % product == 0) {
      *open = whole / product;
      product = whole;
    }
    if (product != whole || (open != nullptr && *open == kUnboundedSize))
      return operation.Error("dimension {} of {} is no product of {}", g, PrintType(from), product);
  }
  return BindValues(frame, operation, {frame.Reshaped(operand, sizes)});
}

// collapse_shape and expand_shape: groups of the longer shape's dimensions are those of the shorter one. Without groups
// all dimensions are of size 1, and go.
Status ImportReassociation(Frame& frame, const Operation& operation, Instructions& operands) {
  Instruction* const operand = operands[0];
  VXLA_ASSIGN_OR_RETURN(
      auto groups, Transformed(operation.Find("reassociation")->elements,
                               [&](const Attribute& element) { return operation.IntsOf("reassociation", element); }));
  if (operation.name == "tensor.expand_shape") return ImportExpansion(frame, operation, operand, groups);
  IntList sizes;
  for (const IntList& group : groups) {
    int64_t& size = sizes.emplace_back(1);
    for (const int64_t dimension : group) size *= operand->shape().dimension(dimension);
  }
  return BindValues(frame, operation, {frame.Reshaped(operand, sizes)});
}

Status ImportTensorReshape(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, ConstantInts(frame, operation, 1));
  const Result<int64_t> count = CheckedElementCount(sizes);
  if (!count.ok() || *count != operands[0]->shape().ElementCount()) {
    return operation.Error("{} elements do not go into the shape [{}]", operands[0]->shape().ElementCount(),
                           JoinInts(sizes));
  }
  return BindValues(frame, operation, {frame.Reshaped(operands[0], sizes)});
}

Status ImportConcat(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, operation.Int("dim"));
  return BindInferred(frame, operation, Opcode::kConcatenate, std::move(operands), DimensionsAttributes{{dimension}});
}

Status ImportRank(Frame& frame, const Operation& operation, Instructions& operands) {
  return BindValues(frame, operation,
                    {IndexConstant(frame, {OwnShape(frame, operation.operands[0], operands[0]).rank()}, true)});
}

// The contents are unspecified: zeros.
Status ImportEmpty(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const Shape shape, SizedBy(frame, operation, 0));
  return BindValues(frame, operation, {frame.SpreadAs(frame.Zero(shape.element_type()), shape)});
}

Status ImportSplat(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const Shape shape, SizedBy(frame, operation, 1));
  return BindInferred(frame, operation, Opcode::kBroadcast, {operands[0]}, DimensionsAttributes{}, {}, shape);
}

Status ImportFromElements(Frame& frame, const Operation& operation, Instructions& operands) {
  const Shape shape = frame.importer.program().ShapeOf(operation.results[0]);
  if (operands.empty()) return BindValues(frame, operation, {frame.Constant(Literal(shape))});
  for (Instruction*& element : operands) element = frame.Reshaped(element, {1});
  Instruction* all = operands[0];
  if (operands.size() > 1)
    VXLA_SET_OR_RETURN(
        all, AddInferred(frame, operation, Opcode::kConcatenate, std::move(operands), DimensionsAttributes{{0}}));
  return BindValues(frame, operation, {frame.Reshaped(all, SizesOf(shape))});
}

// Ones where elements of `source` come to lie, padded as attributes say.
Result<Instruction*> PaddedMask(Frame& frame, const Operation& operation, const Shape& source,
                                const PadAttributes& attributes) {
  Instruction* const ones = Filled(frame, Shape(ElementType::kPred, SizesOf(source)), 1);
  Instruction* const zero = Filled(frame, Shape(ElementType::kPred), 0);
  return AddInferred(frame, operation, Opcode::kPad, {ones, zero}, attributes);
}

Status ImportTensorPad(Frame& frame, const Operation& operation, Instructions& operands) {
  Instruction* const source = operands[0];
  size_t next = 1;
  IntList pads[2];
  for (size_t i = 0; i < 2; ++i) {
    const char* const name = i == 0 ? "static_low" : "static_high";
    VXLA_ASSIGN_OR_RETURN(pads[i], KnownList(frame, operation, name, next));
    for (const int64_t pad : pads[i]) {
      if (pad < 0 || pad > kMaxWindowNumber)
        return operation.Error("{} holds {}, which is not in 0 to {}", name, pad, kMaxWindowNumber);
    }
  }
  PadAttributes attributes;
  IntList sizes = SizesOf(source->shape());
  for (size_t i = 0; i < sizes.size(); ++i) {
    attributes.padding.push_back({pads[0][i], pads[1][i], 0});
    sizes[i] += pads[0][i] + pads[1][i];
  }
  const Shape shape = Resized(source->shape(), sizes);
  if (const Status status = CheckShape(shape); !status.ok()) return operation.Error("{}", status.message());
  VXLA_ASSIGN_OR_RETURN(Instruction* const value, RunLanes(frame, operation, shape));
  if (value->shape().IsScalar()) return BindInferred(frame, operation, Opcode::kPad, {source, value}, attributes);
  VXLA_ASSIGN_OR_RETURN(Instruction* const mask, PaddedMask(frame, operation, source->shape(), attributes));
  Instruction* const zero = frame.Zero(shape.element_type());
  VXLA_ASSIGN_OR_RETURN(Instruction* const inside,
                        AddInferred(frame, operation, Opcode::kPad, {source, zero}, attributes));
  return BindValues(frame, operation, {frame.Select(mask, inside, value)});
}

// Known indices lie within the tensor.
Status CheckIndices(Frame& frame, const Operation& operation, const Shape& shape,
                    std::span<Instruction* const> indices) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const Literal* const known = frame.importer.Known(indices[i]);
    if (known == nullptr || known->element_count() != 1) continue;
    const int64_t index = known->GetInt(0), size = shape.dimension(i);
    if (index < 0 || index >= size)
      return operation.Error("index {} is out of bounds: dimension {} of {} has {}", index, i, PrintType(shape), size);
  }
  return OkStatus();
}

Status ImportExtract(Frame& frame, const Operation& operation, Instructions& operands) {
  const Instructions indices(operands.begin() + 1, operands.end());
  // In a branch that some elements do not take an index out of bounds is no fault yet.
  const Shape own = OwnShape(frame, operation.operands[0], operands[0]);
  Status fits = CheckIndices(frame, operation, own, indices);
  const auto is_number = [&](const Instruction* index) {
    const Literal* const known = frame.importer.Known(index);
    return known != nullptr && known->element_count() == 1;
  };
  const bool guarded = InLaneBranch(frame) && own.rank() > 0 && !(fits.ok() && std::ranges::all_of(indices, is_number));
  if (!guarded) VXLA_RETURN_IF_ERROR(std::move(fits));
  if (guarded || !AxesOf(frame, operation).empty()) return ImportLaneExtract(frame, operation, operands, guarded);
  VXLA_ASSIGN_OR_RETURN(Instruction* const part, AddInferred(frame, operation, Opcode::kDynamicSlice, operands,
                                                             DynamicSliceAttributes{IntList(indices.size(), 1)}));
  MarkChecked(part, operation);
  return BindValues(frame, operation, {frame.Reshaped(part, {})});
}

Status ImportInsert(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_RETURN_IF_ERROR(CheckIndices(frame, operation, operands[1]->shape(), std::span(operands).subspan(2)));
  const IntList ones(operands.size() - 2, 1);
  Instruction* const update = frame.Reshaped(operands[0], ones);
  operands[0] = operands[1];
  operands[1] = update;
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kDynamicUpdateSlice, std::move(operands)));
  MarkChecked(result, operation);
  return BindValues(frame, operation, {result});
}

// Offsets as values; sizes and strides, which are known.
Result<SliceLists> SliceListsOf(Frame& frame, const Operation& operation, size_t next, const Shape& shape) {
  SliceLists lists;
  VXLA_ASSIGN_OR_RETURN(lists.offsets, MixedList(frame, operation, "static_offsets", next));
  VXLA_ASSIGN_OR_RETURN(lists.sizes, KnownList(frame, operation, "static_sizes", next));
  VXLA_ASSIGN_OR_RETURN(lists.strides, KnownList(frame, operation, "static_strides", next));
  for (size_t i = 0; i < lists.sizes.size(); ++i) {
    const int64_t size = lists.sizes[i], stride = lists.strides[i], room = shape.dimension(i);
    if (size < 0 || stride < 1)
      return operation.Error("size {} and stride {} of dimension {}: sizes are 0 or more, strides 1 or more", size,
                             stride, i);
    const int64_t steps = size == 0 ? 0 : size - 1;
    const int64_t extent = size == 0 ? 0 : steps > room / stride ? room + 1 : steps * stride + 1;
    const Literal* const offset = frame.importer.Known(lists.offsets[i]);
    const int64_t at = offset != nullptr ? offset->GetInt(0) : 0;
    lists.all_known = lists.all_known && offset != nullptr;
    if (at < 0 || extent > room || at > room - extent) {
      return operation.Error("offset {}, size {}, stride {} are out of bounds: dimension {} of {} has {}",
                             offset != nullptr ? std::to_string(at) : "?", size, stride, i, PrintType(shape), room);
    }
    lists.starts.push_back(at);
    lists.extents.push_back(extent);
    lists.strided = lists.strided || (stride != 1 && size > 1);
  }
  return lists;
}

Instructions WithOffsets(Instructions first, const SliceLists& lists) {
  first.insert(first.end(), lists.offsets.begin(), lists.offsets.end());
  return first;
}

Status ImportExtractSlice(Frame& frame, const Operation& operation, Instructions& operands) {
  Instruction* part = operands[0];
  VXLA_ASSIGN_OR_RETURN(SliceLists lists, SliceListsOf(frame, operation, 1, part->shape()));
  if (!lists.all_known) {
    VXLA_ASSIGN_OR_RETURN(part, AddInferred(frame, operation, Opcode::kDynamicSlice, WithOffsets({part}, lists),
                                            DynamicSliceAttributes{lists.extents}));
    MarkChecked(part, operation);
    std::ranges::fill(lists.starts, 0);
  }
  if (lists.all_known || lists.strided) {
    SliceAttributes slice;
    for (size_t i = 0; i < lists.sizes.size(); ++i)
      slice.slice.push_back({lists.starts[i], lists.starts[i] + lists.extents[i], lists.strides[i]});
    VXLA_ASSIGN_OR_RETURN(part, AddInferred(frame, operation, Opcode::kSlice, {part}, std::move(slice)));
  }
  const Type& type = frame.importer.program().values[operation.results[0]].type;
  VXLA_ASSIGN_OR_RETURN(const IntList stated, operation.Ints("static_sizes"));
  auto kept = KeptDimensions(stated, type.shape.dimensions());
  if (!kept.has_value()) kept = KeptDimensions(lists.sizes, type.shape.dimensions());
  if (!kept.has_value() || type.unranked)
    return operation.Error("the slice is {}, of which {} is no reduction", PrintType(part->shape()), PrintType(type));
  IntList sizes;
  for (const size_t i : *kept) sizes.push_back(lists.sizes[i]);
  return BindValues(frame, operation, {frame.Reshaped(part, sizes)});
}

// With strides: what lies between the elements stays, so that a window of the target is merged with them first.
Status ImportInsertSlice(Frame& frame, const Operation& operation, Instructions& operands) {
  Instruction* source = operands[0];
  Instruction* const target = operands[1];
  VXLA_ASSIGN_OR_RETURN(const SliceLists lists, SliceListsOf(frame, operation, 2, target->shape()));
  if (!KeptDimensions(lists.sizes, source->shape().dimensions()).has_value())
    return operation.Error("{} is no slice of sizes [{}]", PrintType(source->shape()), JoinInts(lists.sizes));
  source = frame.Reshaped(source, lists.sizes);
  if (source->shape().ElementCount() == 0) return BindValues(frame, operation, {target});
  if (lists.strided) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const window,
                          AddInferred(frame, operation, Opcode::kDynamicSlice, WithOffsets({target}, lists),
                                      DynamicSliceAttributes{lists.extents}));
    PadAttributes spread;
    for (const int64_t stride : lists.strides) spread.padding.push_back({0, 0, stride - 1});
    VXLA_ASSIGN_OR_RETURN(Instruction* const mask, PaddedMask(frame, operation, source->shape(), spread));
    Instruction* const zero = frame.Zero(source->shape().element_type());
    VXLA_ASSIGN_OR_RETURN(Instruction* const wide,
                          AddInferred(frame, operation, Opcode::kPad, {source, zero}, std::move(spread)));
    source = frame.Select(mask, wide, window);
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kDynamicUpdateSlice,
                                                               WithOffsets({target, source}, lists)));
  MarkChecked(result, operation);
  MarkParallel(frame, result, operation, lists.strides);
  return BindValues(frame, operation, {result});
}

Status ImportTensorGather(Frame& frame, const Operation& operation, Instructions& operands) {
  const Shape &shape = operands[0]->shape(), &indices = operands[1]->shape();
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, operation.Ints("gather_dims"));
  GatherAttributes gather;
  gather.collapsed_slice_dims = dimensions;
  gather.start_index_map = dimensions;
  gather.index_vector_dim = indices.rank() - 1;
  IntList sizes(indices.dimensions().begin(), indices.dimensions().end() - 1);
  for (int i = 0; i < shape.rank(); ++i) {
    const bool indexed = Contains(dimensions, i);
    gather.slice_sizes.push_back(indexed ? 1 : shape.dimension(i));
    if (!indexed) gather.offset_dims.push_back(indices.rank() - 1 + static_cast<int64_t>(gather.offset_dims.size()));
    sizes.push_back(indexed ? 1 : shape.dimension(i));
  }
  VXLA_ASSIGN_OR_RETURN(Instruction * result, AddInferred(frame, operation, Opcode::kGather, operands, gather));
  MarkChecked(result, operation);
  // The indexed dimensions stay as 1, or go.
  if (frame.importer.program().ShapeOf(operation.results[0]).rank() == static_cast<int>(sizes.size()))
    result = frame.Reshaped(result, sizes);
  return BindValues(frame, operation, {result});
}

Status ImportTensorScatter(Frame& frame, const Operation& operation, Instructions& operands) {
  const Shape &target = operands[1]->shape(), &indices = operands[2]->shape();
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, operation.Ints("scatter_dims"));
  ScatterAttributes scatter;
  scatter.inserted_window_dims = dimensions;
  scatter.scatter_dims_to_operand_dims = dimensions;
  scatter.index_vector_dim = indices.rank() - 1;
  scatter.unique_indices = true;
  IntList sizes(indices.dimensions().begin(), indices.dimensions().end() - 1), kept = sizes;
  for (int i = 0; i < target.rank(); ++i) {
    const bool indexed = Contains(dimensions, i);
    kept.push_back(indexed ? 1 : target.dimension(i));
    if (indexed) continue;
    scatter.update_window_dims.push_back(sizes.size());
    sizes.push_back(target.dimension(i));
  }
  const IntList given = SizesOf(operands[0]->shape());
  if (given != sizes && given != kept) {
    return operation.Error("the source is {}, {} or {} needed", PrintType(operands[0]->shape()),
                           PrintType(Resized(target, kept)), PrintType(Resized(target, sizes)));
  }
  Instruction* const source = frame.Reshaped(operands[0], sizes);
  Computation* const assign = Assignment(frame.importer.module(), target.element_type());
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kScatter, {operands[1], operands[2], source},
                                    std::move(scatter), {assign}));
  MarkChecked(result, operation);
  return BindValues(frame, operation, {result});
}

}  // namespace

HandlerRow TensorHandlerOf(std::string_view name) {
  static const std::unordered_map<std::string_view, Handler*> kHandlers{
      {"tensor.bitcast", ImportTensorBitcast},
      {"tensor.cast", ImportTensorCast},
      {"tensor.collapse_shape", ImportReassociation},
      {"tensor.concat", ImportConcat},
      {"tensor.dim", ImportDim},
      {"tensor.empty", ImportEmpty},
      {"tensor.expand_shape", ImportReassociation},
      {"tensor.extract", ImportExtract},
      {"tensor.extract_slice", ImportExtractSlice},
      {"tensor.from_elements", ImportFromElements},
      {"tensor.gather", ImportTensorGather},
      {"tensor.generate", ImportGenerate},
      {"tensor.insert", ImportInsert},
      {"tensor.insert_slice", ImportInsertSlice},
      {"tensor.parallel_insert_slice", ImportInsertSlice},
      {"tensor.pad", ImportTensorPad},
      {"tensor.rank", ImportRank},
      {"tensor.reshape", ImportTensorReshape},
      {"tensor.scatter", ImportTensorScatter},
      {"tensor.splat", ImportSplat},
  };
  if (const auto found = kHandlers.find(name); found != kHandlers.end()) return {found->second};
  if (name.starts_with("arith.")) return {ImportArith, kAny, 1};
  return name.starts_with("shape.") ? HandlerRow{ImportShapeDialect, kAny, 1} : HandlerRow{};
}

Instruction* IndexConstant(Frame& frame, const IntList& values, bool scalar) {
  const Shape shape(ElementType::kS64, scalar ? IntList() : IntList{static_cast<int64_t>(values.size())});
  Literal literal(shape);
  for (size_t i = 0; i < values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), values[i]);
  return frame.Constant(std::move(literal));
}

// Undefined out of bounds: --checked looks at it.
void MarkChecked(Instruction* instruction, const Operation& operation) {
  instruction->mutable_notes().checked = operation.name;
  instruction->mutable_notes().unique = operation.Find("unique") != nullptr;
}

// A loop that stays one begins where its values come together, one that is written out with its first update.
void BeginForall(Frame& frame, const Operation& operation, bool written_out) {
  if (operation.forall >= 0)
    frame.importer.foralls().by_number[operation.forall] = {++frame.importer.foralls().count, written_out};
}

void MarkForall(Frame& frame, Instruction* start, const Operation& operation) {
  if (operation.forall < 0) return;
  start->mutable_notes().checked = "scf.forall";
  start->mutable_notes().forall = frame.importer.foralls().by_number[operation.forall].number;
}

// The result's type with the operands from `next` on in the places of its unknown sizes.
Result<Shape> SizedBy(Frame& frame, const Operation& operation, size_t next) {
  const Shape& stated = frame.importer.program().ShapeOf(operation.results[0]);
  IntList sizes = SizesOf(stated);
  for (int64_t& size : sizes) {
    if (size != kUnboundedSize) continue;
    VXLA_ASSIGN_OR_RETURN(Instruction* const value, Lookup(frame, operation, operation.operands[next++]));
    VXLA_ASSIGN_OR_RETURN(size, KnownIndex(frame, operation, value));
    if (size < 0) return operation.Error("the size {} of a dimension is negative", size);
  }
  const Shape shape = Resized(stated, std::move(sizes));
  if (const Status status = CheckShape(shape); !status.ok()) return operation.Error("{}", status.message());
  return shape;
}

Status ImportDim(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const int64_t index, KnownIndex(frame, operation, operands[1]));
  const Shape shape = OwnShape(frame, operation.operands[0], operands[0]);
  if (index < 0 || index >= shape.rank())
    return operation.Error("index {} is no dimension of {}, which has {}", index, PrintType(shape), shape.rank());
  return BindValues(frame, operation, {IndexConstant(frame, {shape.dimension(index)}, true)});
}

}  // namespace VXLA_NAMESPACE::mlir
