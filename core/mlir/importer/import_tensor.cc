// The tensor dialect in terms of HLO. Sizes are known here (import_dynamic.cc); places may be values.
#include <algorithm>
#include <numeric>
#include <utility>

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
  std::vector<Instruction*> offsets;
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
  if (known->element_count() != 1)
    return OperationReader(operation).Error("{} where one number is needed", PrintType(known->shape()));
  return known->GetInt(0);
}

// static_X of the attribute, with operands in the places of dynamic ones.
Result<std::vector<Instruction*>> MixedList(Frame& frame, const Operation& operation, std::string_view name,
                                            size_t& next) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const IntList list, reader.Ints(name));
  std::vector<Instruction*> values;
  for (const int64_t number : list) {
    if (number != kUnboundedSize) {
      values.push_back(IndexConstant(frame, {number}, true));
      continue;
    }
    if (next >= operation.operands.size()) return reader.Error("fewer operands than {} asks for", name);
    VXLA_ASSIGN_OR_RETURN(Instruction* const value, Lookup(frame, operation, operation.operands[next++]));
    values.push_back(value);
  }
  return values;
}

Result<IntList> KnownList(Frame& frame, const Operation& operation, std::span<Instruction* const> values) {
  IntList list;
  for (Instruction* value : values) {
    VXLA_ASSIGN_OR_RETURN(const int64_t known, KnownIndex(frame, operation, value));
    list.push_back(known);
  }
  return list;
}

Status ImportTensorBitcast(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> operands, Operands(frame, operation, 1, 1));
  Shape shape = operands[0]->shape();
  const ElementType from = shape.element_type(),
                    to = frame.importer.program().ShapeOf(operation.results[0]).element_type();
  if (BitWidth(from) != BitWidth(to)) {
    return reader.Error("{} has elements of {} bits, {} of {}", PrintType(shape), BitWidth(from),
                        PrintType(frame.importer.program().values[operation.results[0]].type), BitWidth(to));
  }
  shape.set_element_type(to);
  return BindValues(frame, operation, {Bits(frame, operands[0], to)});
}

Status ImportExpansion(Frame& frame, const Operation& operation, Instruction* operand,
                       const std::vector<IntList>& groups, size_t rank) {
  const OperationReader reader(operation);
  const Shape& from = operand->shape();
  IntList sizes;
  if (operation.Find("static_output_shape") != nullptr) {
    size_t next = 1;
    VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> values,
                          MixedList(frame, operation, "static_output_shape", next));
    VXLA_ASSIGN_OR_RETURN(sizes, KnownList(frame, operation, values));
  } else {
    sizes = SizesOf(frame.importer.program().ShapeOf(operation.results[0]));
  }
  if (sizes.size() != rank && !(groups.empty() && from.rank() == 0))
    return reader.Error("{} sizes for {} dimensions", sizes.size(), rank);
  if (groups.size() != static_cast<size_t>(from.rank()))
    return reader.Error("{} groups for {}", groups.size(), PrintType(from));
  if (groups.empty() && std::ranges::any_of(sizes, [](int64_t size) { return size != 1; }))
    return reader.Error("one element does not go into the shape [{}]", JoinInts(sizes));
  for (size_t g = 0; g < groups.size(); ++g) {
    const int64_t whole = from.dimension(static_cast<int>(g));
    int64_t product = 1, *open = nullptr;
    for (const int64_t dimension : groups[g]) {
      int64_t& size = sizes[static_cast<size_t>(dimension)];
      if (size == kUnboundedSize && open == nullptr) {
        open = &size;
      } else if (size == kUnboundedSize) {
        return reader.Error("two sizes of a group are unknown: output_shape is needed");
      } else if (size < 0 || (size > 0 && product > kMaxArrayBytes / size)) {
        return reader.Error("size {} of dimension {}: dimension {} of {} has {}", size, dimension, g, PrintType(from),
                            whole);
      } else {
        product *= size;
      }
    }
    if (open != nullptr && product > 0 && whole % product == 0) {
      *open = whole / product;
      product = whole;
    }
    if (product != whole || (open != nullptr && *open == kUnboundedSize))
      return reader.Error("dimension {} of {} is no product of {}", g, PrintType(from), product);
  }
  return BindValues(frame, operation, {Reshaped(frame, operand, sizes)});
}

// collapse_shape and expand_shape: groups of the longer shape's dimensions are those of the shorter one.
Status ImportReassociation(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  VXLA_ASSIGN_OR_RETURN(Instruction* const operand, Lookup(frame, operation, operation.operands[0]));
  VXLA_ASSIGN_OR_RETURN(const Attribute* const attribute, reader.Required("reassociation"));
  const bool expands = operation.name == "tensor.expand_shape";
  const IntList from = SizesOf(operand->shape());
  std::vector<IntList> groups;
  int64_t next = 0;
  for (const Attribute& element : attribute->elements) {
    VXLA_ASSIGN_OR_RETURN(IntList group, reader.IntsOf("reassociation", element));
    for (const int64_t dimension : group) {
      if (dimension != next++) return reader.Error("reassociation is not 0, 1, 2 ... in groups");
    }
    if (group.empty()) return reader.Error("reassociation has an empty group");
    groups.push_back(std::move(group));
  }
  if (expands) return ImportExpansion(frame, operation, operand, groups, static_cast<size_t>(next));
  // Without groups all dimensions are of size 1, and go.
  if (!groups.empty() && next != static_cast<int64_t>(from.size()))
    return reader.Error("reassociation has {} dimensions, {} has {}", next, PrintType(operand->shape()), from.size());
  IntList sizes;
  for (const IntList& group : groups) {
    int64_t size = 1;
    for (const int64_t dimension : group) size *= from[static_cast<size_t>(dimension)];
    sizes.push_back(size);
  }
  if (groups.empty() && operand->shape().ElementCount() != 1)
    return reader.Error("{} has {} elements, one needed", PrintType(operand->shape()), operand->shape().ElementCount());
  return BindValues(frame, operation, {Reshaped(frame, operand, sizes)});
}

Status ImportTensorReshape(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> operands, Operands(frame, operation, 2, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, ConstantInts(frame, operation, 1));
  const Result<int64_t> count = CheckedElementCount(sizes);
  if (!count.ok() || *count != operands[0]->shape().ElementCount()) {
    return reader.Error("{} elements do not go into the shape [{}]", operands[0]->shape().ElementCount(),
                        JoinInts(sizes));
  }
  return BindValues(frame, operation, {Reshaped(frame, operands[0], sizes)});
}

Status ImportConcat(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(1));
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, reader.Int("dim"));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kConcatenate,
                                                               std::move(operands), DimensionsAttributes{{dimension}}));
  return BindValues(frame, operation, {result});
}

Status ImportRank(Frame& frame, const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> operands, Operands(frame, operation, 1));
  return BindValues(frame, operation,
                    {IndexConstant(frame, {OwnShape(frame, operation.operands[0], operands[0]).rank()}, true)});
}

// The contents are unspecified: zeros.
Status ImportEmpty(Frame& frame, const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const Shape shape, SizedBy(frame, operation, 0));
  Instruction* const zero = Add(frame, Opcode::kConstant, Shape(shape.element_type()), {},
                                ConstantAttributes{std::make_shared<const Literal>(Shape(shape.element_type()))});
  return BindValues(frame, operation,
                    {shape.rank() == 0 ? zero : Add(frame, Opcode::kBroadcast, shape, {zero}, DimensionsAttributes{})});
}

Status ImportSplat(Frame& frame, const Operation& operation) {
  VXLA_RETURN_IF_ERROR(OperationReader(operation).ExpectOperandsAtLeast(1));
  VXLA_ASSIGN_OR_RETURN(Instruction* const value, Lookup(frame, operation, operation.operands[0]));
  VXLA_ASSIGN_OR_RETURN(const Shape shape, SizedBy(frame, operation, 1));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kBroadcast, {value}, DimensionsAttributes{}, {}, shape));
  return BindValues(frame, operation, {result});
}

Status ImportFromElements(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> elements, Operands(frame, operation));
  const Shape shape = frame.importer.program().ShapeOf(operation.results[0]);
  const bool whole = shape.IsArray() && !HasUnknownSize(shape);
  if (!whole || shape.ElementCount() != static_cast<int64_t>(elements.size())) {
    return reader.Error("{} elements for {}", elements.size(),
                        PrintType(frame.importer.program().values[operation.results[0]].type));
  }
  if (elements.empty()) {
    return BindValues(
        frame, operation,
        {Add(frame, Opcode::kConstant, shape, {}, ConstantAttributes{std::make_shared<const Literal>(shape)})});
  }
  for (Instruction*& element : elements) {
    if (!element->shape().IsScalar()) return reader.Error("{} is no element", PrintType(element->shape()));
    element = Reshaped(frame, element, {1});
  }
  Instruction* all = elements[0];
  if (elements.size() > 1) {
    VXLA_ASSIGN_OR_RETURN(
        all, AddInferred(frame, operation, Opcode::kConcatenate, std::move(elements), DimensionsAttributes{{0}}));
  }
  return BindValues(frame, operation, {Reshaped(frame, all, SizesOf(shape))});
}

// Ones where elements of `source` come to lie, padded as attributes say.
Result<Instruction*> PaddedMask(Frame& frame, const Operation& operation, const Shape& source,
                                const PadAttributes& attributes) {
  Instruction* const ones = Filled(frame, Shape(ElementType::kPred, SizesOf(source)), 1);
  Instruction* const zero = Filled(frame, Shape(ElementType::kPred), 0);
  return AddInferred(frame, operation, Opcode::kPad, {ones, zero}, attributes);
}

Status ImportTensorPad(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  VXLA_ASSIGN_OR_RETURN(Instruction* const source, Lookup(frame, operation, operation.operands[0]));
  size_t next = 1;
  IntList pads[2];
  for (size_t i = 0; i < 2; ++i) {
    const char* const name = i == 0 ? "static_low" : "static_high";
    VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> values, MixedList(frame, operation, name, next));
    VXLA_ASSIGN_OR_RETURN(pads[i], KnownList(frame, operation, values));
    if (pads[i].size() != static_cast<size_t>(source->shape().rank()))
      return reader.Error("{} has {} entries for {}", name, pads[i].size(), PrintType(source->shape()));
    for (const int64_t pad : pads[i]) {
      if (pad < 0 || pad > kMaxWindowNumber)
        return reader.Error("{} holds {}, which is not in 0 to {}", name, pad, kMaxWindowNumber);
    }
  }
  PadAttributes attributes;
  IntList sizes = SizesOf(source->shape());
  for (size_t i = 0; i < sizes.size(); ++i) {
    attributes.padding.push_back({pads[0][i], pads[1][i], 0});
    sizes[i] += pads[0][i] + pads[1][i];
  }
  const Shape shape = Resized(source->shape(), sizes);
  if (const Status status = CheckShape(shape); !status.ok()) return reader.Error("{}", status.message());
  VXLA_ASSIGN_OR_RETURN(Instruction* const value, RunLanes(frame, operation, shape));
  if (value->shape().IsScalar()) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                          AddInferred(frame, operation, Opcode::kPad, {source, value}, attributes));
    return BindValues(frame, operation, {result});
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const mask, PaddedMask(frame, operation, source->shape(), attributes));
  Instruction* const zero = Add(frame, Opcode::kConstant, Shape(shape.element_type()), {},
                                ConstantAttributes{std::make_shared<const Literal>(Shape(shape.element_type()))});
  VXLA_ASSIGN_OR_RETURN(Instruction* const inside,
                        AddInferred(frame, operation, Opcode::kPad, {source, zero}, attributes));
  return BindValues(frame, operation, {Add(frame, Opcode::kSelect, shape, {mask, inside, value})});
}

// Known indices lie within the tensor.
Status CheckIndices(Frame& frame, const Operation& operation, const Shape& shape,
                    std::span<Instruction* const> indices) {
  const OperationReader reader(operation);
  if (indices.size() != static_cast<size_t>(shape.rank()))
    return reader.Error("{} indices for {}", indices.size(), PrintType(shape));
  for (size_t i = 0; i < indices.size(); ++i) {
    const Literal* const known = frame.importer.Known(indices[i]);
    if (known == nullptr || known->element_count() != 1) continue;
    const int64_t index = known->GetInt(0), size = shape.dimension(static_cast<int>(i));
    if (index < 0 || index >= size)
      return reader.Error("index {} is out of bounds: dimension {} of {} has {}", index, i, PrintType(shape), size);
  }
  return OkStatus();
}

Status ImportExtract(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> operands, Operands(frame, operation));
  const std::vector<Instruction*> indices(operands.begin() + 1, operands.end());
  // In a branch that some elements do not take an index out of bounds is no fault yet.
  const Shape own = OwnShape(frame, operation.operands[0], operands[0]);
  Status fits = CheckIndices(frame, operation, own, indices);
  const auto is_number = [&](const Instruction* index) {
    const Literal* const known = frame.importer.Known(index);
    return known != nullptr && known->element_count() == 1;
  };
  const bool guarded = InLaneBranch(frame) && own.rank() > 0 && indices.size() == static_cast<size_t>(own.rank()) &&
                       !(fits.ok() && std::ranges::all_of(indices, is_number));
  if (!guarded) VXLA_RETURN_IF_ERROR(std::move(fits));
  if (guarded || !AxesOf(frame, operation).empty()) return ImportLaneExtract(frame, operation, operands, guarded);
  VXLA_ASSIGN_OR_RETURN(Instruction* const part, AddInferred(frame, operation, Opcode::kDynamicSlice, operands,
                                                             DynamicSliceAttributes{IntList(indices.size(), 1)}));
  MarkChecked(part, operation);
  return BindValues(frame, operation, {Reshaped(frame, part, {})});
}

Status ImportInsert(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(2));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_RETURN_IF_ERROR(CheckIndices(frame, operation, operands[1]->shape(), std::span(operands).subspan(2)));
  const IntList ones(operands.size() - 2, 1);
  if (!operands[0]->shape().IsScalar()) return reader.Error("{} is no element", PrintType(operands[0]->shape()));
  Instruction* const update = Reshaped(frame, operands[0], ones);
  operands[0] = operands[1];
  operands[1] = update;
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kDynamicUpdateSlice, std::move(operands)));
  MarkChecked(result, operation);
  return BindValues(frame, operation, {result});
}

// Offsets as values; sizes and strides, which are known.
Result<SliceLists> SliceListsOf(Frame& frame, const Operation& operation, size_t next, const Shape& shape) {
  const OperationReader reader(operation);
  SliceLists lists;
  VXLA_ASSIGN_OR_RETURN(lists.offsets, MixedList(frame, operation, "static_offsets", next));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> sizes, MixedList(frame, operation, "static_sizes", next));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> strides, MixedList(frame, operation, "static_strides", next));
  VXLA_ASSIGN_OR_RETURN(lists.sizes, KnownList(frame, operation, sizes));
  VXLA_ASSIGN_OR_RETURN(lists.strides, KnownList(frame, operation, strides));
  const auto rank = static_cast<size_t>(shape.rank());
  if (lists.offsets.size() != rank || lists.sizes.size() != rank || lists.strides.size() != rank) {
    return reader.Error("{} offsets, {} sizes and {} strides for {}", lists.offsets.size(), lists.sizes.size(),
                        lists.strides.size(), PrintType(shape));
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = lists.sizes[i], stride = lists.strides[i], room = shape.dimension(static_cast<int>(i));
    if (size < 0 || stride < 1)
      return reader.Error("size {} and stride {} of dimension {}: sizes are 0 or more, strides 1 or more", size, stride,
                          i);
    const int64_t steps = size == 0 ? 0 : size - 1;
    const int64_t extent = size == 0 ? 0 : steps > room / stride ? room + 1 : steps * stride + 1;
    const Literal* const offset = frame.importer.Known(lists.offsets[i]);
    const int64_t at = offset != nullptr ? offset->GetInt(0) : 0;
    lists.all_known = lists.all_known && offset != nullptr;
    if (at < 0 || extent > room || at > room - extent) {
      return reader.Error("offset {}, size {}, stride {} are out of bounds: dimension {} of {} has {}",
                          offset != nullptr ? std::to_string(at) : "?", size, stride, i, PrintType(shape), room);
    }
    lists.starts.push_back(at);
    lists.extents.push_back(extent);
    lists.strided = lists.strided || (stride != 1 && size > 1);
  }
  return lists;
}

Status ImportExtractSlice(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  VXLA_ASSIGN_OR_RETURN(Instruction * part, Lookup(frame, operation, operation.operands[0]));
  VXLA_ASSIGN_OR_RETURN(SliceLists lists, SliceListsOf(frame, operation, 1, part->shape()));
  if (!lists.all_known) {
    std::vector<Instruction*> operands = lists.offsets;
    operands.insert(operands.begin(), part);
    VXLA_ASSIGN_OR_RETURN(part, AddInferred(frame, operation, Opcode::kDynamicSlice, std::move(operands),
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
  VXLA_ASSIGN_OR_RETURN(const IntList stated, reader.Ints("static_sizes"));
  auto kept = KeptDimensions(stated, type.shape.dimensions());
  if (!kept.has_value()) kept = KeptDimensions(lists.sizes, type.shape.dimensions());
  if (!kept.has_value() || type.unranked)
    return reader.Error("the slice is {}, of which {} is no reduction", PrintType(part->shape()), PrintType(type));
  IntList sizes;
  for (const size_t i : *kept) sizes.push_back(lists.sizes[i]);
  return BindValues(frame, operation, {Reshaped(frame, part, sizes)});
}

// With strides: what lies between the elements stays, so that a window of the target is merged with them first.
Status ImportInsertSlice(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(2));
  VXLA_ASSIGN_OR_RETURN(Instruction * source, Lookup(frame, operation, operation.operands[0]));
  VXLA_ASSIGN_OR_RETURN(Instruction* const target, Lookup(frame, operation, operation.operands[1]));
  VXLA_ASSIGN_OR_RETURN(const SliceLists lists, SliceListsOf(frame, operation, 2, target->shape()));
  if (!KeptDimensions(lists.sizes, source->shape().dimensions()).has_value())
    return reader.Error("{} is no slice of sizes [{}]", PrintType(source->shape()), JoinInts(lists.sizes));
  source = Reshaped(frame, source, lists.sizes);
  if (source->shape().ElementCount() == 0) return BindValues(frame, operation, {target});
  if (lists.strided) {
    std::vector<Instruction*> operands = lists.offsets;
    operands.insert(operands.begin(), target);
    VXLA_ASSIGN_OR_RETURN(Instruction* const window,
                          AddInferred(frame, operation, Opcode::kDynamicSlice, std::move(operands),
                                      DynamicSliceAttributes{lists.extents}));
    PadAttributes spread;
    for (const int64_t stride : lists.strides) spread.padding.push_back({0, 0, stride - 1});
    VXLA_ASSIGN_OR_RETURN(Instruction* const mask, PaddedMask(frame, operation, source->shape(), spread));
    const Shape element(source->shape().element_type());
    Instruction* const zero =
        Add(frame, Opcode::kConstant, element, {}, ConstantAttributes{std::make_shared<const Literal>(element)});
    VXLA_ASSIGN_OR_RETURN(Instruction* const wide,
                          AddInferred(frame, operation, Opcode::kPad, {source, zero}, std::move(spread)));
    source = Add(frame, Opcode::kSelect, window->shape(), {mask, wide, window});
  }
  std::vector<Instruction*> operands = lists.offsets;
  operands.insert(operands.begin(), {target, source});
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kDynamicUpdateSlice, std::move(operands)));
  MarkChecked(result, operation);
  MarkParallel(frame, result, operation, lists.strides);
  return BindValues(frame, operation, {result});
}

// The dimensions that indices go through: in order, and as many as an index has numbers.
Result<IntList> IndexedDimensions(const Operation& operation, std::string_view name, const Shape& shape,
                                  const Shape& indices) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, reader.Ints(name));
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] < 0 || dimensions[i] >= shape.rank())
      return reader.Error("{} holds {}, which is no dimension of {}", name, dimensions[i], PrintType(shape));
    if (i > 0 && dimensions[i] <= dimensions[i - 1]) return reader.Error("{} is not in increasing order", name);
  }
  if (dimensions.empty()) return reader.Error("{} is empty", name);
  const bool fits =
      indices.rank() > 0 && indices.dimension(indices.rank() - 1) == static_cast<int64_t>(dimensions.size());
  if (!fits) {
    return reader.Error("the last dimension of the indices {} is not {}, the number of {}", PrintType(indices),
                        dimensions.size(), name);
  }
  return dimensions;
}

Status ImportTensorGather(Frame& frame, const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation, 2, 1));
  const Shape &shape = operands[0]->shape(), &indices = operands[1]->shape();
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, IndexedDimensions(operation, "gather_dims", shape, indices));
  GatherAttributes gather;
  gather.collapsed_slice_dims = dimensions;
  gather.start_index_map = dimensions;
  gather.index_vector_dim = indices.rank() - 1;
  IntList sizes(indices.dimensions().begin(), indices.dimensions().end() - 1);
  for (int i = 0; i < shape.rank(); ++i) {
    const bool indexed = std::ranges::find(dimensions, i) != dimensions.end();
    gather.slice_sizes.push_back(indexed ? 1 : shape.dimension(i));
    if (!indexed) gather.offset_dims.push_back(indices.rank() - 1 + static_cast<int64_t>(gather.offset_dims.size()));
    sizes.push_back(indexed ? 1 : shape.dimension(i));
  }
  VXLA_ASSIGN_OR_RETURN(Instruction * result, AddInferred(frame, operation, Opcode::kGather, operands, gather));
  MarkChecked(result, operation);
  // The indexed dimensions stay as 1, or go.
  if (frame.importer.program().ShapeOf(operation.results[0]).rank() == static_cast<int>(sizes.size()))
    result = Reshaped(frame, result, sizes);
  return BindValues(frame, operation, {result});
}

Status ImportTensorScatter(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> operands, Operands(frame, operation, 3));
  const Shape &target = operands[1]->shape(), &indices = operands[2]->shape();
  if (operation.Find("unique") == nullptr) return reader.Error("the attribute unique is missing");
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, IndexedDimensions(operation, "scatter_dims", target, indices));
  ScatterAttributes scatter;
  scatter.inserted_window_dims = dimensions;
  scatter.scatter_dims_to_operand_dims = dimensions;
  scatter.index_vector_dim = indices.rank() - 1;
  scatter.unique_indices = true;
  IntList sizes(indices.dimensions().begin(), indices.dimensions().end() - 1), kept = sizes;
  for (int i = 0; i < target.rank(); ++i) {
    const bool indexed = std::ranges::find(dimensions, i) != dimensions.end();
    kept.push_back(indexed ? 1 : target.dimension(i));
    if (indexed) continue;
    scatter.update_window_dims.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(target.dimension(i));
  }
  const IntList given = SizesOf(operands[0]->shape());
  if (given != sizes && given != kept) {
    return reader.Error("the source is {}, {} or {} needed", PrintType(operands[0]->shape()),
                        PrintType(Resized(target, kept)), PrintType(Resized(target, sizes)));
  }
  Instruction* const source = Reshaped(frame, operands[0], sizes);
  Computation* const assign = Assignment(frame.importer.module(), target.element_type());
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kScatter, {operands[1], operands[2], source},
                                    std::move(scatter), {assign}));
  MarkChecked(result, operation);
  return BindValues(frame, operation, {result});
}

}  // namespace

Handler* TensorHandlerOf(std::string_view name) {
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
  if (const auto found = kHandlers.find(name); found != kHandlers.end()) return found->second;
  if (name.starts_with("arith.")) return ImportArith;
  if (name.starts_with("shape.")) return ImportShapeDialect;
  return nullptr;
}

Instruction* IndexConstant(Frame& frame, const IntList& values, bool scalar) {
  const Shape shape(ElementType::kS64, scalar ? IntList() : IntList{static_cast<int64_t>(values.size())});
  Literal literal(shape);
  for (size_t i = 0; i < values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), values[i]);
  return Add(frame, Opcode::kConstant, shape, {},
             ConstantAttributes{std::make_shared<const Literal>(std::move(literal))});
}

Instruction* Reshaped(Frame& frame, Instruction* value, const IntList& sizes) {
  if (SizesOf(value->shape()) == sizes) return value;
  return Add(frame, Opcode::kReshape, Resized(value->shape(), sizes), {value});
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
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectResults(1));
  const Type& type = frame.importer.program().values[operation.results[0]].type;
  if (type.kind != Type::Kind::kShape || type.unranked || !type.shape.IsArray())
    return reader.Error("the result {} is no ranked tensor", PrintType(type));
  IntList sizes = SizesOf(type.shape);
  for (int64_t& size : sizes) {
    if (size != kUnboundedSize) continue;
    if (next >= operation.operands.size()) return reader.Error("fewer sizes than {} leaves open", PrintType(type));
    VXLA_ASSIGN_OR_RETURN(Instruction* const value, Lookup(frame, operation, operation.operands[next++]));
    VXLA_ASSIGN_OR_RETURN(size, KnownIndex(frame, operation, value));
    if (size < 0) return reader.Error("the size {} of a dimension is negative", size);
  }
  if (next != operation.operands.size()) return reader.Error("more sizes than {} leaves open", PrintType(type));
  const Shape shape = Resized(type.shape, std::move(sizes));
  if (const Status status = CheckShape(shape); !status.ok()) return reader.Error("{}", status.message());
  return shape;
}

Status ImportDim(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_ASSIGN_OR_RETURN(const std::vector<Instruction*> operands, Operands(frame, operation, 2));
  VXLA_ASSIGN_OR_RETURN(const int64_t index, KnownIndex(frame, operation, operands[1]));
  const Shape shape = OwnShape(frame, operation.operands[0], operands[0]);
  if (index < 0 || index >= shape.rank())
    return reader.Error("index {} is no dimension of {}, which has {}", index, PrintType(shape), shape.rank());
  return BindValues(frame, operation, {IndexConstant(frame, {shape.dimension(static_cast<int>(index))}, true)});
}

Instruction* Everywhere(Frame& frame, Instruction* value, const Shape& shape) {
  if (SameDimensions(value->shape(), shape)) return value;
  return Add(frame, Opcode::kBroadcast, shape, {value}, DimensionsAttributes{});
}

}  // namespace VXLA_NAMESPACE::mlir
