// Regions of tensor.generate and tensor.pad, one in another too, for all their elements at once: an index is an iota
// along an axis of its own, an operation on values that differ along axes is the same operation on arrays of them.
#include <algorithm>
#include <numeric>

#include "core/mlir/importer/import_operations.h"
#include "core/mlir/rewrite/structured_control.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

int PlaceOf(int axis, const std::vector<int>& axes) {
  return static_cast<int>(std::ranges::find(axes, axis) - axes.begin());
}

std::vector<int> Union(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

// Whether an element takes the branches around; null: all do. `axes`: along which it differs.
Instruction* TakesBranches(Frame& frame, Axes& axes) {
  if (!InLaneBranch(frame)) return nullptr;
  for (const Lanes::Branch& branch : frame.importer.lanes().branches) {
    if (branch.frame == &frame) axes = Union(axes, AxesOf(frame, branch.predicate));
  }
  Instruction* all = nullptr;
  for (const Lanes::Branch& branch : frame.importer.lanes().branches) {
    if (branch.frame != &frame) continue;
    Instruction* one = frame.values.at(branch.predicate);
    if (!branch.when) one = frame.Add(Opcode::kNot, one->shape(), {one});
    one = Spread(frame, one, AxesOf(frame, branch.predicate), axes, {});
    all = all == nullptr ? one : frame.And(all, one);
  }
  return all;
}

}  // namespace

const Axes& AxesOf(Frame& frame, ValueId value) {
  static const Axes kNone;
  const auto found = frame.importer.lanes().axes.find(value);
  return found == frame.importer.lanes().axes.end() ? kNone : found->second;
}

Axes AxesOf(Frame& frame, const Operation& operation) {
  Axes axes;
  for (const ValueId operand : operation.operands) axes = Union(axes, AxesOf(frame, operand));
  return axes;
}

Shape OwnShape(Frame& frame, ValueId value, const Instruction* instruction) {
  const Shape& shape = instruction->shape();
  const size_t axes = AxesOf(frame, value).size();
  if (axes == 0) return shape;
  const auto dimensions = shape.dimensions().subspan(axes);
  return Shape(shape.element_type(), {dimensions.begin(), dimensions.end()});
}

Instruction* Spread(Frame& frame, Instruction* value, const Axes& has, const Axes& axes, std::span<const int64_t> own) {
  const auto given = static_cast<int>(has.size());
  const bool scalar = value->shape().rank() == given;
  if (has == axes && (own.empty() || !scalar)) return value;
  IntList sizes, places;
  for (const int axis : axes) sizes.push_back(frame.importer.lanes().sizes[axis]);
  for (const int axis : has) places.push_back(PlaceOf(axis, axes));
  for (int i = given; i < value->shape().rank(); ++i) {
    places.push_back(sizes.size());
    sizes.push_back(value->shape().dimension(i));
  }
  if (scalar) sizes.insert(sizes.end(), own.begin(), own.end());
  return frame.Broadcast(value, std::move(sizes), std::move(places));
}

void Align(Frame& frame, const Operation& operation, Instructions& values) {
  const Axes axes = AxesOf(frame, operation);
  if (axes.empty()) return;
  Shape own;
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape shape = OwnShape(frame, operation.operands[i], values[i]);
    if (i == 0 || shape.rank() > own.rank()) own = shape;
  }
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = Spread(frame, values[i], AxesOf(frame, operation.operands[i]), axes, own.dimensions());
}

Status BindLanes(Frame& frame, const Operation& operation, Instruction* value) {
  Axes axes = AxesOf(frame, operation);
  if (axes.empty()) return BindValues(frame, operation, {value});
  VXLA_RETURN_IF_ERROR(operation.ExpectResults(1));
  return BindLanes(frame, operation.results[0], operation, value, std::move(axes));
}

Status BindLanes(Frame& frame, ValueId result, const Operation& operation, Instruction* value, Axes axes) {
  frame.importer.lanes().axes[result] = std::move(axes);
  const Shape own = OwnShape(frame, result, value);
  if (!Fits(frame.importer.program().values[result].type, own)) {
    return operation.Error("a result is stated as {}, the operands give {}",
                           PrintType(frame.importer.program().values[result].type), PrintType(own));
  }
  frame.importer.SetActual(result, own);
  frame.values[result] = value;
  return OkStatus();
}

bool HasLanes(Frame& frame, const Operation& operation) {
  if (frame.importer.lanes().axes.empty()) return false;
  const auto differs = [&](ValueId value) { return frame.importer.lanes().axes.contains(value); };
  return std::ranges::any_of(operation.operands, differs) ||
         std::ranges::any_of(operation.regions,
                             [&](const Region& region) { return std::ranges::any_of(FreeValues(region), differs); });
}

Result<Instruction*> RunLanes(Frame& frame, const Operation& operation, const Shape& shape, Axes* outer) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, 0));
  const size_t before = frame.importer.lanes().sizes.size();
  for (int i = 0; i < shape.rank(); ++i) {
    const ValueId argument = block->arguments[i];
    const Shape places(ElementType::kS64, {shape.dimension(i)});
    frame.importer.lanes().axes[argument] = {static_cast<int>(frame.importer.lanes().sizes.size())};
    frame.importer.lanes().sizes.push_back(shape.dimension(i));
    frame.importer.SetActual(argument, Shape(ElementType::kS64));
    frame.values[argument] = frame.Add(Opcode::kIota, places, {}, IotaAttributes{0});
  }
  // What differs along all axes has so many elements.
  Status fits = CheckShape(Shape(ElementType::kS64, frame.importer.lanes().sizes));
  if (!fits.ok()) fits = operation.NotSupported("the elements of regions within one another: {}", fits.message());
  const Result<Instructions> results = fits.ok() ? RunBlock(frame, *block) : fits;
  if (!results.ok()) {
    frame.importer.lanes().sizes.resize(before);
    return results.status();
  }
  const ValueId yielded = block->operations.back().operands[0];
  const Shape own = OwnShape(frame, yielded, (*results)[0]);
  if (own.element_type() != shape.element_type() || !own.IsScalar())
    return operation.Error("{} is yielded for elements of {}", PrintType(own), PrintType(shape));
  // Along all axes of this region, if along one of them; those of the regions around it stay in front.
  const Axes& has = AxesOf(frame, yielded);
  Axes axes;
  std::ranges::copy_if(has, std::back_inserter(axes), [&](int axis) { return axis < static_cast<int>(before); });
  if (outer != nullptr) *outer = axes;
  Instruction* value = (*results)[0];
  if (outer != nullptr || axes.size() != has.size()) {
    for (size_t axis = before; axis < frame.importer.lanes().sizes.size(); ++axis)
      axes.push_back(static_cast<int>(axis));
    value = Spread(frame, value, has, axes, {});
  }
  frame.importer.lanes().sizes.resize(before);
  return value;
}

Status ImportGenerate(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const Shape shape, SizedBy(frame, operation, 0));
  Axes axes;
  VXLA_ASSIGN_OR_RETURN(Instruction* const value, RunLanes(frame, operation, shape, &axes));
  if (axes.empty()) return BindValues(frame, operation, {value});
  return BindLanes(frame, operation.results[0], operation, value, std::move(axes));
}

Status ImportTensorCast(Frame& frame, const Operation& operation, Instructions& operands) {
  return BindLanes(frame, operation, operands[0]);
}

bool InLaneBranch(const Frame& frame) {
  return !frame.importer.lanes().branches.empty() && frame.importer.lanes().branches.back().frame == &frame;
}

// A gather of one element for each place along the axes; those of the tensor itself go along with it. What does not
// take the branch that it is in gets the first element, whatever its index: that is no fault of the program.
Status ImportLaneExtract(Frame& frame, const Operation& operation, const Instructions& operands, bool guarded) {
  if (operands.size() == 1) return BindLanes(frame, operation, operands[0]);
  Axes axes = AxesOf(frame, operation);
  const Axes& of_tensor = AxesOf(frame, operation.operands[0]);
  Instruction* takes = guarded ? TakesBranches(frame, axes) : nullptr;
  Instructions indices;
  IntList sizes;
  for (const int axis : axes) sizes.push_back(frame.importer.lanes().sizes[axis]);
  sizes.push_back(1);
  if (takes != nullptr) takes = frame.Reshaped(takes, sizes);
  for (size_t i = 1; i < operands.size(); ++i) {
    Instruction* const index =
        frame.Reshaped(Spread(frame, operands[i], AxesOf(frame, operation.operands[i]), axes, {}), sizes);
    indices.push_back(takes == nullptr ? index : frame.Select(takes, index, Filled(frame, index->shape(), 0)));
  }
  const auto vector = static_cast<int64_t>(axes.size());
  Instruction* table = indices[0];
  if (indices.size() > 1)
    VXLA_SET_OR_RETURN(table,
                       AddInferred(frame, operation, Opcode::kConcatenate, indices, DimensionsAttributes{{vector}}));
  GatherAttributes gather;
  for (const int axis : of_tensor) {
    gather.operand_batching_dims.push_back(gather.operand_batching_dims.size());
    gather.start_indices_batching_dims.push_back(PlaceOf(axis, axes));
  }
  gather.start_index_map.resize(indices.size());
  std::iota(gather.start_index_map.begin(), gather.start_index_map.end(), static_cast<int64_t>(of_tensor.size()));
  gather.collapsed_slice_dims = gather.start_index_map;
  gather.index_vector_dim = vector;
  gather.slice_sizes = IntList(of_tensor.size() + indices.size(), 1);
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kGather, {operands[0], table}, std::move(gather)));
  MarkChecked(result, operation);
  if (axes.empty()) return BindValues(frame, operation, {result});
  VXLA_RETURN_IF_ERROR(operation.ExpectResults(1));
  return BindLanes(frame, operation.results[0], operation, result, std::move(axes));
}

// Both branches for all elements, and each element's own of them.
Status ImportLaneBranches(Frame& frame, const Operation& operation, Instructions& operands) {
  Operation choices[2];  // of (predicate, value of the first branch, value of the second) for each result
  Instructions results[2];
  for (size_t i = 0; i < 2; ++i) {
    VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, i));
    frame.importer.lanes().branches.push_back({&frame, operation.operands[0], i == 0});
    Result<Instructions> given = RunBlock(frame, *block);
    frame.importer.lanes().branches.pop_back();
    VXLA_ASSIGN_OR_RETURN(results[i], std::move(given));
    if (results[i].size() != operation.results.size())
      return operation.Error("branch {} gives {} values", i, results[i].size());
    choices[i].operands = block->operations.back().operands;
  }
  for (size_t k = 0; k < operation.results.size(); ++k) {
    Operation choice;
    choice.name = operation.name;
    choice.location = operation.location;
    choice.operands = {operation.operands[0], choices[0].operands[k], choices[1].operands[k]};
    choice.results = {operation.results[k]};
    Instructions values{operands[0], results[0][k], results[1][k]};
    Align(frame, choice, values);
    VXLA_ASSIGN_OR_RETURN(Instruction* const value, AddInferred(frame, choice, Opcode::kSelect, values));
    VXLA_RETURN_IF_ERROR(BindLanes(frame, choice, value));
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::mlir
