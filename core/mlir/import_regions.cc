// Operations with regions.
#include <algorithm>
#include <unordered_set>

#include "core/mlir/import_state.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// A constant up to this size, or one value spread over an array, is written again where a region uses it: loops then
// see their limits, and such values are no state. Larger ones are state like everything else.
constexpr int64_t kMaxSunkElements = 64;

bool IsSpreadConstant(const Instruction& value) {
  return value.opcode() == Opcode::kBroadcast && value.operand(0)->opcode() == Opcode::kConstant &&
         value.operand(0)->shape().IsScalar();
}

void CollectFree(const Region& region, std::unordered_set<ValueId>& inside, std::unordered_set<ValueId>& seen,
                 std::vector<ValueId>& free) {
  for (const Block& block : region.blocks) {
    inside.insert(block.arguments.begin(), block.arguments.end());
    for (const Operation& operation : block.operations) {
      for (const ValueId operand : operation.operands) {
        if (!inside.contains(operand) && seen.insert(operand).second) free.push_back(operand);
      }
      for (const Region& inner : operation.regions) CollectFree(inner, inside, seen, free);
      inside.insert(operation.results.begin(), operation.results.end());
    }
  }
}

}  // namespace

// In the order of their first use.
std::vector<ValueId> Importer::FreeValues(const Region& region) const {
  std::unordered_set<ValueId> inside, seen;
  std::vector<ValueId> free;
  CollectFree(region, inside, seen, free);
  return free;
}

bool Importer::Sinks(const Instruction* value) const {
  return IsSpreadConstant(*value) ||
         (value->opcode() == Opcode::kConstant && value->shape().ElementCount() <= kMaxSunkElements);
}

Instruction* Importer::Sink(Frame& frame, const Instruction* value) {
  if (!IsSpreadConstant(*value)) return Add(frame, Opcode::kConstant, value->shape(), {}, value->attributes());
  return Add(frame, Opcode::kBroadcast, value->shape(), {Sink(frame, value->operand(0))}, value->attributes());
}

// One parameter for each argument of the block.
Result<Computation*> Importer::ImportScalarRegion(Frame& outer, const Operation& operation, size_t region) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, region));
  Frame frame;
  frame.computation = std::make_unique<Computation>("region");
  for (size_t i = 0; i < block->arguments.size(); ++i) {
    const Type& type = program_.values[block->arguments[i]].type;
    VXLA_RETURN_IF_ERROR(CheckType(operation, type));
    SetActual(block->arguments[i], type.shape);
    frame.values[block->arguments[i]] =
        Add(frame, Opcode::kParameter, type.shape, {}, ParameterAttributes{static_cast<int64_t>(i)});
  }
  for (const ValueId value : FreeValues(operation.regions[region])) {
    VXLA_ASSIGN_OR_RETURN(const Instruction* const from, Lookup(outer, operation, value));
    const bool constant = from->opcode() == Opcode::kConstant || Sinks(from);
    if (constant) frame.values[value] = Sink(frame, from);  // using another is an error with its own place
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> results, RunBlock(frame, *block));
  location_ = operation.location;
  frame.computation->set_root(TupleOrOne(frame, std::move(results)));
  return module_->AddComputation(std::move(frame.computation));
}

Result<Importer::State> Importer::StateOf(Frame& frame, const Operation& operation, std::span<const Region> regions,
                                          std::vector<Shape> own) const {
  State state;
  state.shapes = std::move(own);
  std::unordered_set<ValueId> seen;
  for (const Region& region : regions) {
    for (const ValueId value : FreeValues(region)) {
      if (!seen.insert(value).second) continue;
      VXLA_ASSIGN_OR_RETURN(const Instruction* const from, Lookup(frame, operation, value));
      if (Sinks(from)) {
        state.sunk.push_back(value);
      } else {
        state.captures.push_back(value);
        state.shapes.push_back(from->shape());
      }
    }
  }
  return state;
}

Result<Computation*> Importer::ImportStateRegion(Frame& outer, const Operation& operation, size_t region,
                                                 const State& state, bool returns_state) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, region));
  const size_t own = state.shapes.size() - state.captures.size();
  if (block->arguments.size() != own) {
    return OperationReader(operation).Error("region {} has {} arguments, {} needed", region, block->arguments.size(),
                                            own);
  }
  Frame frame;
  frame.computation = std::make_unique<Computation>("region");
  const bool one = state.shapes.size() == 1;
  Instruction* const parameter =
      Add(frame, Opcode::kParameter, one ? state.shapes[0] : Shape::Tuple(state.shapes), {}, ParameterAttributes{0});
  std::vector<Instruction*> captured;
  for (size_t i = 0; i < state.shapes.size(); ++i) {
    Instruction* const value = one ? parameter : Element(frame, parameter, static_cast<int64_t>(i));
    frame.values[i < own ? block->arguments[i] : state.captures[i - own]] = value;
    if (i >= own) {
      captured.push_back(value);
      if (refines()) captured_from_[value] = outer.values.at(state.captures[i - own]);
      continue;
    }
    SetActual(block->arguments[i], value->shape());
    const auto invariant = invariant_.find(block->arguments[i]);
    if (invariant != invariant_.end()) frame.values[block->arguments[i]] = Sink(frame, invariant->second);
  }
  for (const ValueId value : state.sunk) {
    frame.values[value] = Sink(frame, outer.values.at(value));
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> results, RunBlock(frame, *block));
  location_ = operation.location;
  if (returns_state) results.insert(results.end(), captured.begin(), captured.end());
  frame.computation->set_root(TupleOrOne(frame, std::move(results)));
  return module_->AddComputation(std::move(frame.computation));
}

Status Importer::ImportWhile(Frame& frame, const Operation& operation) {
  VXLA_RETURN_IF_ERROR(OperationReader(operation).ExpectRegions(2));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> init, Operands(frame, operation));
  std::vector<Shape> shapes;
  for (const Instruction* value : init) shapes.push_back(value->shape());
  VXLA_ASSIGN_OR_RETURN(const State state, StateOf(frame, operation, operation.regions, std::move(shapes)));
  KeepInvariants(operation, init);
  VXLA_ASSIGN_OR_RETURN(Computation* const condition, ImportStateRegion(frame, operation, 0, state, false));
  VXLA_ASSIGN_OR_RETURN(Computation* const body, ImportStateRegion(frame, operation, 1, state, true));
  const size_t own = init.size();
  for (const ValueId value : state.captures) init.push_back(frame.values.at(value));
  Instruction* const start = TupleOrOne(frame, std::move(init));
  VXLA_ASSIGN_OR_RETURN(Instruction* const loop,
                        AddInferred(frame, operation, Opcode::kWhile, {start}, NoAttributes{}, {condition, body}));
  std::vector<Instruction*> results;
  for (size_t i = 0; i < own; ++i)
    results.push_back(state.shapes.size() == 1 ? loop : Element(frame, loop, static_cast<int64_t>(i)));
  return BindValues(frame, operation, results);
}

// if, case: each branch takes what it uses of what is around it.
Status Importer::ImportBranches(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectOperands(1));
  if (operation.name.ends_with(".if")) VXLA_RETURN_IF_ERROR(reader.ExpectRegions(2));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(const bool decided, ImportKnownBranch(frame, operation, operands[0]));
  if (decided) return OkStatus();
  if (lanes_.has_value() && operation.name.ends_with(".if") && !operands[0]->shape().IsScalar())
    return ImportLaneBranches(frame, operation, operands[0]);
  std::vector<Computation*> branches;
  for (size_t i = 0; i < operation.regions.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const State state, StateOf(frame, operation, {&operation.regions[i], 1}, {}));
    VXLA_ASSIGN_OR_RETURN(Computation* const branch, ImportStateRegion(frame, operation, i, state, false));
    branches.push_back(branch);
    std::vector<Instruction*> captured;
    for (const ValueId value : state.captures) captured.push_back(frame.values.at(value));
    operands.push_back(TupleOrOne(frame, std::move(captured)));
  }
  VXLA_ASSIGN_OR_RETURN(
      Instruction* const result,
      AddInferred(frame, operation, Opcode::kConditional, std::move(operands), NoAttributes{}, std::move(branches)));
  return BindResults(frame, operation, result);
}

Status Importer::ImportReduce(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(1));
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, reader.Ints("dimensions"));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(Computation* const reducer, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kReduce, std::move(operands),
                                                               DimensionsAttributes{dimensions}, {reducer}));
  return BindResults(frame, operation, result);
}

Status Importer::ImportReduceWindow(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(2));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  WindowAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.window, ReduceWindowOf(reader, operands[0]->shape().rank()));
  VXLA_ASSIGN_OR_RETURN(Computation* const reducer, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kReduceWindow,
                                                               std::move(operands), std::move(attributes), {reducer}));
  return BindResults(frame, operation, result);
}

Status Importer::ImportScatter(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(1));
  VXLA_ASSIGN_OR_RETURN(ScatterAttributes attributes, ScatterOf(reader));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(Computation* const update, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kScatter, std::move(operands),
                                                               std::move(attributes), {update}));
  return BindResults(frame, operation, result);
}

Status Importer::ImportSelectAndScatter(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(2));
  VXLA_RETURN_IF_ERROR(reader.ExpectOperands(3));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  WindowAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.window, ReduceWindowOf(reader, operands[0]->shape().rank()));
  VXLA_ASSIGN_OR_RETURN(Computation* const select, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Computation* const scatter, ImportScalarRegion(frame, operation, 1));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, Opcode::kSelectAndScatter, std::move(operands),
                                    std::move(attributes), {select, scatter}));
  return BindResults(frame, operation, result);
}

Status Importer::ImportSort(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(1));
  VXLA_RETURN_IF_ERROR(reader.ExpectOperandsAtLeast(1));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(int64_t dimension, reader.Int("dimension", -1));
  if (dimension < 0) dimension += operands[0]->shape().rank();
  SortAttributes attributes;
  attributes.dimensions = {dimension};
  VXLA_ASSIGN_OR_RETURN(attributes.is_stable, reader.Bool("is_stable", false));
  VXLA_ASSIGN_OR_RETURN(Computation* const comparator, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kSort, std::move(operands),
                                                               std::move(attributes), {comparator}));
  return BindResults(frame, operation, result);
}

Status Importer::ImportMap(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(1));
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, reader.Ints("dimensions"));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(Computation* const function, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result, AddInferred(frame, operation, Opcode::kMap, std::move(operands),
                                                               DimensionsAttributes{dimensions}, {function}));
  return BindResults(frame, operation, result);
}

// all_reduce, reduce_scatter
Status Importer::ImportReducingCollective(Frame& frame, const Operation& operation) {
  const OperationReader reader(operation);
  VXLA_RETURN_IF_ERROR(reader.ExpectRegions(1));
  const bool scatters = operation.name.ends_with("reduce_scatter");
  const Opcode opcode = scatters ? Opcode::kReduceScatter : Opcode::kAllReduce;
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(opcode, operation, typed()));
  VXLA_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, Operands(frame, operation));
  VXLA_ASSIGN_OR_RETURN(Computation* const reducer, ImportScalarRegion(frame, operation, 0));
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, opcode, std::move(operands), std::move(attributes), {reducer},
                                    ResultShape(operation)));
  return BindResults(frame, operation, result);
}

}  // namespace VXLA_NAMESPACE::mlir
