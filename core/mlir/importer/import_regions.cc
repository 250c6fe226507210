// Operations with regions.
#include <algorithm>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/mlir/importer/import_operations.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// A constant up to this size, or one value spread over an array, is written again where a region uses it: loops then
// see their limits, and such values are no state. Larger ones are state like everything else.
constexpr int64_t kMaxSunkElements = 64;

// So many instructions on scalar constants alone are written again too.
constexpr int kMaxSunkExpression = 16;

// Of all loops of a program. Each trip whose end data decide runs the program up to there once more.
constexpr int kMaxTripsOfChangingSizes = 1000;

bool IsConstantExpression(const Instruction& value, int& budget) {
  if (!value.shape().IsScalar() || --budget < 0) return false;
  if (value.opcode() == Opcode::kConstant) return true;
  if (FactsOf(value.opcode()).kind != OpcodeKind::kElementwise || value.operands().empty()) return false;
  return std::ranges::all_of(value.operands(),
                             [&](const Instruction* operand) { return IsConstantExpression(*operand, budget); });
}

bool IsSpreadConstant(const Instruction& value) {
  return value.opcode() == Opcode::kBroadcast && value.operand(0)->opcode() == Opcode::kConstant &&
         value.operand(0)->shape().IsScalar();
}

bool IsPromotable(ElementType from, ElementType to) {
  if (from == to || BitWidth(from) > BitWidth(to)) return false;
  return (IsSigned(from) && IsSigned(to)) || (IsUnsigned(from) && IsUnsigned(to)) ||
         (IsFloating(from) && IsFloating(to)) || (IsComplex(from) && IsComplex(to));
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

// A region whose values come in one parameter: a tuple of `state` and then `captures`, or the only one of them.
struct State {
  std::vector<Shape> shapes;
  std::vector<ValueId> captures;
  std::vector<ValueId> sunk;
};

Instruction* Sink(Frame& frame, const Instruction* value) {
  if (!IsSpreadConstant(*value)) return frame.Add(Opcode::kConstant, value->shape(), {}, value->attributes());
  return frame.Add(Opcode::kBroadcast, value->shape(), {Sink(frame, value->operand(0))}, value->attributes());
}

Instruction* SinkExpression(Frame& frame, const Instruction* value) {
  if (value->opcode() == Opcode::kConstant) return Sink(frame, value);
  Instructions operands;
  for (const Instruction* operand : value->operands()) operands.push_back(SinkExpression(frame, operand));
  return frame.Add(value->opcode(), value->shape(), std::move(operands), value->attributes());
}

// An array of these elements.
Instruction* ArrayOf(Frame& frame, const Shape& shape, const Instructions& elements) {
  if (elements.empty()) return frame.Constant(Literal(shape));
  auto parts = Transformed(elements, [&](Instruction* element) { return frame.Reshaped(element, {1}); });
  const Shape flat(shape.element_type(), {static_cast<int64_t>(parts.size())});
  Instruction* const list =
      parts.size() == 1 ? parts[0] : frame.Add(Opcode::kConcatenate, flat, std::move(parts), DimensionsAttributes{{0}});
  return frame.Reshaped(list, {shape.dimensions().begin(), shape.dimensions().end()});
}

Result<State> StateOf(Frame& frame, const Operation& operation, std::span<const Region> regions,
                      std::vector<Shape> own) {
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

Result<Computation*> ImportStateRegion(Frame& outer, const Operation& operation, size_t region, const State& state,
                                       bool returns_state) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, region));
  const size_t own = state.shapes.size() - state.captures.size();
  if (block->arguments.size() != own)
    return operation.Error("region {} has {} arguments, {} needed", region, block->arguments.size(), own);
  Frame frame(outer.importer, "region");
  const bool one = state.shapes.size() == 1;
  Instruction* const parameter = frame.Parameter(one ? state.shapes[0] : Shape::Tuple(state.shapes), 0);
  Instructions captured;
  for (size_t i = 0; i < state.shapes.size(); ++i) {
    Instruction* const value = one ? parameter : frame.Element(parameter, static_cast<int64_t>(i));
    frame.values[i < own ? block->arguments[i] : state.captures[i - own]] = value;
    if (i >= own) {
      captured.push_back(value);
      if (outer.importer.refines()) outer.importer.NoteCaptured(value, outer.values.at(state.captures[i - own]));
      continue;
    }
    outer.importer.SetActual(block->arguments[i], value->shape());
    const auto invariant = outer.importer.invariants().find(block->arguments[i]);
    if (invariant != outer.importer.invariants().end())
      frame.values[block->arguments[i]] = Sink(frame, invariant->second);
  }
  for (const ValueId value : state.sunk) {
    frame.values[value] = Sink(frame, outer.values.at(value));
  }
  VXLA_ASSIGN_OR_RETURN(Instructions results, RunBlock(frame, *block));
  outer.importer.set_location(operation.location);
  if (returns_state) results.insert(results.end(), captured.begin(), captured.end());
  frame.computation->set_root(frame.Together(std::move(results)));
  return outer.importer.module().AddComputation(std::move(frame.computation));
}

// Whether a result, or a value of its regions, has a size that its type leaves open.
bool HasOpenSizes(Frame& frame, const Operation& operation) {
  const auto open = [&](ValueId value) {
    const Type& type = frame.importer.program().values[value].type;
    return type.unranked || (type.kind == Type::Kind::kShape && HasUnknownSize(type.shape));
  };
  if (std::ranges::any_of(operation.results, open)) return true;
  for (const Region& region : operation.regions) {
    for (const Block& block : region.blocks) {
      if (std::ranges::any_of(block.arguments, open)) return true;
      if (std::ranges::any_of(block.operations, [&](const Operation& inner) { return HasOpenSizes(frame, inner); }))
        return true;
    }
  }
  return false;
}

// A loop whose sizes change from trip to trip, written out: whether it goes on is known, or asked for, each time.
Status ImportTrips(Frame& frame, const Operation& operation, Instructions values) {
  BeginForall(frame, operation, /*written_out=*/true);
  VXLA_ASSIGN_OR_RETURN(const Block* const condition, OnlyBlock(operation, 0));
  VXLA_ASSIGN_OR_RETURN(const Block* const body, OnlyBlock(operation, 1));
  const auto run = [&](const Block& block) -> Result<Instructions> {
    if (block.arguments.size() != values.size())
      return operation.Error("a region has {} arguments, {} needed", block.arguments.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const Type& type = frame.importer.program().values[block.arguments[i]].type;
      if (!Fits(type, values[i]->shape()))
        return operation.Error("{} is given where the loop carries {}", PrintType(values[i]->shape()), PrintType(type));
      frame.values[block.arguments[i]] = values[i];
      frame.importer.invariants().erase(block.arguments[i]);
      frame.importer.SetActual(block.arguments[i], values[i]->shape());
    }
    return RunBlock(frame, block);
  };
  while (true) {
    VXLA_ASSIGN_OR_RETURN(const Instructions goes_on, run(*condition));
    if (goes_on.size() != 1 || !goes_on[0]->shape().IsScalar())
      return operation.Error("the first region gives {} values, one needed", goes_on.size());
    VXLA_ASSIGN_OR_RETURN(const Literal* const known, frame.importer.KnownOrAsk(operation, goes_on[0]));
    if (known->GetInt(0) == 0) break;
    if (++frame.importer.trips() > kMaxTripsOfChangingSizes) {
      return operation.NotSupported("more than {} trips of loops whose sizes change from trip to trip",
                                    kMaxTripsOfChangingSizes);
    }
    VXLA_ASSIGN_OR_RETURN(values, run(*body));
    if (values.size() != body->arguments.size())
      return operation.Error("the body gives {} values, {} needed", values.size(), body->arguments.size());
  }
  return BindValues(frame, operation, values);
}

Status ImportLoop(Frame& frame, const Operation& operation, Instructions init) {
  VXLA_ASSIGN_OR_RETURN(const State state,
                        StateOf(frame, operation, operation.regions, Transformed(init, &Instruction::shape)));
  frame.importer.KeepInvariants(operation, init);
  BeginForall(frame, operation, /*written_out=*/false);
  VXLA_ASSIGN_OR_RETURN(Computation* const condition, ImportStateRegion(frame, operation, 0, state, false));
  VXLA_ASSIGN_OR_RETURN(Computation* const body, ImportStateRegion(frame, operation, 1, state, true));
  const size_t own = init.size();
  for (const ValueId value : state.captures) init.push_back(frame.values.at(value));
  Instruction* const start = frame.Together(std::move(init));
  MarkForall(frame, start, operation);
  VXLA_ASSIGN_OR_RETURN(Instruction* const loop,
                        AddInferred(frame, operation, Opcode::kWhile, {start}, NoAttributes{}, {condition, body}));
  Instructions results;
  for (size_t i = 0; i < own; ++i)
    results.push_back(state.shapes.size() == 1 ? loop : frame.Element(loop, static_cast<int64_t>(i)));
  return BindValues(frame, operation, results);
}

Status ImportConditional(Frame& frame, const Operation& operation, Instructions operands) {
  std::vector<Computation*> branches;
  for (size_t i = 0; i < operation.regions.size(); ++i) {
    VXLA_ASSIGN_OR_RETURN(const State state, StateOf(frame, operation, {&operation.regions[i], 1}, {}));
    VXLA_ASSIGN_OR_RETURN(branches.emplace_back(), ImportStateRegion(frame, operation, i, state, false));
    operands.push_back(
        frame.Together(Transformed(state.captures, [&](const ValueId value) { return frame.values.at(value); })));
  }
  return BindInferred(frame, operation, Opcode::kConditional, std::move(operands), NoAttributes{}, std::move(branches));
}

}  // namespace

// In the order of their first use.
std::vector<ValueId> FreeValues(const Region& region) {
  std::unordered_set<ValueId> inside, seen;
  std::vector<ValueId> free;
  CollectFree(region, inside, seen, free);
  return free;
}

bool Sinks(const Instruction* value) {
  return IsSpreadConstant(*value) ||
         (value->opcode() == Opcode::kConstant && value->shape().ElementCount() <= kMaxSunkElements);
}

namespace {

using CapturedValues = std::vector<std::pair<ValueId, Shape>>;

// Constants go into the region; the elements of what else it may take from around it into `captures`.
Result<CapturedValues> Capture(Frame& outer, const Operation& operation, size_t region, Takes takes, Frame& frame,
                               Instructions& captures) {
  CapturedValues captured;
  for (const ValueId value : FreeValues(operation.regions[region])) {
    VXLA_ASSIGN_OR_RETURN(Instruction* const from, Lookup(outer, operation, value));
    int budget = kMaxSunkExpression;
    if (Sinks(from) || from->opcode() == Opcode::kConstant) {
      frame.values[value] = Sink(frame, from);
    } else if (IsConstantExpression(*from, budget)) {
      frame.values[value] = SinkExpression(frame, from);
    } else if (takes != Takes::kConstants && from->shape().IsArray() && !from->shape().IsDynamic() &&
               from->shape().ElementCount() <= kMaxSunkElements) {
      captured.emplace_back(value, from->shape());
      Instructions elements{from};
      if (!from->shape().IsScalar())
        VXLA_SET_OR_RETURN(elements, Scalars(outer, operation, outer.Reshaped(from, {from->shape().ElementCount()})));
      captures.insert(captures.end(), elements.begin(), elements.end());
    }  // using another is an error with its own place
  }
  return captured;
}

}  // namespace

// One parameter for each argument of the block; what `captures` may take from around the region, scalars that are no
// constants and the elements of small arrays, become parameters beside them.
Result<Computation*> ImportScalarRegion(Frame& outer, const Operation& operation, size_t region, Takes takes,
                                        Instructions& captures) {
  VXLA_ASSIGN_OR_RETURN(const Block* const block, OnlyBlock(operation, region));
  Frame frame(outer.importer, "region");
  const size_t first = captures.size();
  VXLA_ASSIGN_OR_RETURN(const CapturedValues captured, Capture(outer, operation, region, takes, frame, captures));
  int64_t number = 0;
  const auto parameter = [&](const Shape& shape) { return frame.Parameter(shape, number++); };
  Instructions taken;
  const auto take = [&](bool twice) {
    for (size_t i = first; i < captures.size(); ++i) {
      taken.push_back(parameter(captures[i]->shape()));
      if (twice) parameter(captures[i]->shape());
    }
    auto next = taken.begin();
    for (const auto& [value, shape] : captured) {
      const auto end = next + shape.ElementCount();
      frame.values[value] = shape.IsScalar() ? *next : ArrayOf(frame, shape, {next, end});
      next = end;
    }
  };
  for (size_t i = 0; i < block->arguments.size(); ++i) {
    const Type& type = outer.importer.program().values[block->arguments[i]].type;
    VXLA_RETURN_IF_ERROR(outer.importer.CheckType(operation, type));
    outer.importer.SetActual(block->arguments[i], type.shape);
    if (takes == Takes::kAccumulated && i == block->arguments.size() / 2) take(false);
    frame.values[block->arguments[i]] = parameter(type.shape);
  }
  if (takes != Takes::kAccumulated) take(takes == Takes::kPairs);
  ++outer.importer.lanes().applied;
  VXLA_ASSIGN_OR_RETURN(Instructions results, RunBlock(frame, *block));
  --outer.importer.lanes().applied;
  outer.importer.set_location(operation.location);
  if (takes == Takes::kAccumulated) {
    for (Instruction* value : taken) {
      results.push_back(value);
      parameter(value->shape());  // the other of the two that are combined: the same value
    }
  }
  frame.computation->set_root(frame.Together(std::move(results)));
  if (std::unique_ptr<Computation> scalars = WithScalars(*frame.computation)) {
    outer.importer.Retire(std::move(frame.computation));  // facts are known of its instructions
    frame.computation = std::move(scalars);
  }
  return outer.importer.module().AddComputation(std::move(frame.computation));
}

// A reducer may compute in a wider type than its operands have.
void Promote(Frame& frame, Opcode opcode, const Computation& reducer, Instructions& operands) {
  const bool collective = IsAnyOf(opcode, Opcode::kAllReduce, Opcode::kReduceScatter, Opcode::kCollectiveReduce);
  const size_t arrays = operands.size() / 2;
  for (size_t i = 0; i < operands.size(); ++i) {
    // (inputs, initial values) or, of a scatter, (inputs, indices, updates).
    const bool scatters = opcode == Opcode::kScatter && i >= arrays;
    if (scatters && i == arrays) continue;
    const size_t parameter = collective ? 0 : i < arrays ? i : i - arrays - (scatters ? 1 : 0);
    if (parameter >= reducer.parameters().size() || !operands[i]->shape().IsArray()) continue;
    const ElementType from = operands[i]->shape().element_type();
    const ElementType to = reducer.parameters()[parameter]->shape().element_type();
    if (IsPromotable(from, to)) operands[i] = frame.Converted(operands[i], to);
  }
}

// An instruction that calls the operation's regions on scalars. A scalar that a region takes from around it travels as
// one more array of the operation, which has it everywhere.
Status ImportWithRegions(Frame& frame, const Operation& operation, Opcode opcode, Instructions operands,
                         Attributes attributes, Takes takes, Shape stated) {
  Instructions captures;
  std::vector<Computation*> regions;
  for (size_t i = 0; i < operation.regions.size(); ++i)
    VXLA_SET_OR_RETURN(regions.emplace_back(), ImportScalarRegion(frame, operation, i, takes, captures));
  if (!captures.empty()) VXLA_RETURN_IF_ERROR(operation.ExpectOperandsAtLeast(1));
  if (takes == Takes::kAccumulated || opcode == Opcode::kAllReduce || opcode == Opcode::kReduceScatter)
    Promote(frame, opcode, *regions[0], operands);
  const auto spread = [&](size_t place, Shape like) {
    for (size_t i = 0; i < captures.size(); ++i) {
      like.set_element_type(captures[i]->shape().element_type());
      operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(place + i), frame.SpreadAs(captures[i], like));
    }
  };
  if (!captures.empty() && takes == Takes::kAccumulated) {
    const Shape last = operands.back()->shape();
    const size_t inputs = operands.size() / 2;
    spread(operands.size(), last);
    spread(inputs, operands[0]->shape());
  } else if (!captures.empty()) {
    spread(operands.size(), operands[0]->shape());
  }
  VXLA_ASSIGN_OR_RETURN(Instruction* const result,
                        AddInferred(frame, operation, opcode, std::move(operands), std::move(attributes),
                                    std::move(regions), std::move(stated)));
  if (captures.empty() || opcode == Opcode::kMap) return BindResults(frame, operation, result);
  Instructions results;
  for (size_t i = 0; i < operation.results.size(); ++i)
    results.push_back(frame.Element(result, static_cast<int64_t>(i)));
  return BindValues(frame, operation, results);
}

Status ImportWhile(Frame& frame, const Operation& operation, Instructions& operands) {
  if (!frame.importer.refines() || !HasOpenSizes(frame, operation))
    return ImportLoop(frame, operation, std::move(operands));
  return frame.importer.ImportOr([&] { return ImportLoop(frame, operation, operands); },
                                 [&] { return ImportTrips(frame, operation, std::move(operands)); });
}

// What is known of instructions goes with those of regions that turn out to be no loop, or no branch.
Status Importer::ImportOr(const std::function<Status()>& first, const std::function<Status()>& otherwise) {
  const auto known = known_;
  const auto unknown = unknown_;
  const auto captured = captured_from_;
  const auto open = open_;
  const int trips = trips_;
  const Status status = first();
  if (status.ok() || question_.has_value()) return status;
  known_ = known;
  unknown_ = unknown;
  captured_from_ = captured;
  open_ = open;
  trips_ = trips;
  return otherwise();
}

// if, case: each branch takes what it uses of what is around it.
Status ImportBranches(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const bool decided, ImportKnownBranch(frame, operation, operands[0]));
  if (decided) return OkStatus();
  if (HasLanes(frame, operation)) return ImportLaneBranches(frame, operation, operands);
  if (!frame.importer.refines() || !frame.importer.lanes().sizes.empty() || !HasOpenSizes(frame, operation))
    return ImportConditional(frame, operation, std::move(operands));
  // Sizes that data decide in a branch: which one it is comes first.
  return frame.importer.ImportOr([&] { return ImportConditional(frame, operation, operands); },
                                 [&]() -> Status {
                                   VXLA_RETURN_IF_ERROR(frame.importer.KnownOrAsk(operation, operands[0]).status());
                                   VXLA_ASSIGN_OR_RETURN(const bool known,
                                                         ImportKnownBranch(frame, operation, operands[0]));
                                   return known ? OkStatus() : operation.Error("its branches take arguments");
                                 });
}

// reduce, map
Status ImportAlong(Frame& frame, const Operation& operation, Instructions& operands) {
  const bool maps = operation.name.ends_with("map");
  VXLA_ASSIGN_OR_RETURN(const IntList dimensions, operation.Ints("dimensions"));
  return ImportWithRegions(frame, operation, maps ? Opcode::kMap : Opcode::kReduce, std::move(operands),
                           DimensionsAttributes{dimensions}, maps ? Takes::kOnce : Takes::kAccumulated);
}

// reduce_window, select_and_scatter
Status ImportWindowed(Frame& frame, const Operation& operation, Instructions& operands) {
  const bool reduces = operation.name.ends_with("reduce_window");
  WindowAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.window, ReduceWindowOf(operation, operands[0]->shape().rank()));
  return ImportWithRegions(frame, operation, reduces ? Opcode::kReduceWindow : Opcode::kSelectAndScatter,
                           std::move(operands), std::move(attributes),
                           reduces ? Takes::kAccumulated : Takes::kConstants);
}

Status ImportScatter(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(ScatterAttributes attributes, ScatterOf(operation));
  return ImportWithRegions(frame, operation, Opcode::kScatter, std::move(operands), std::move(attributes),
                           Takes::kAccumulated);
}

Status ImportSort(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(int64_t dimension, operation.Int("dimension", -1));
  if (dimension < 0) dimension += operands[0]->shape().rank();
  SortAttributes attributes;
  attributes.dimensions = {dimension};
  VXLA_ASSIGN_OR_RETURN(attributes.is_stable, operation.Bool("is_stable", false));
  return ImportWithRegions(frame, operation, Opcode::kSort, std::move(operands), std::move(attributes), Takes::kPairs);
}

// all_reduce, reduce_scatter
Status ImportReducingCollective(Frame& frame, const Operation& operation, Instructions& operands) {
  const bool scatters = operation.name.ends_with("reduce_scatter");
  const Opcode opcode = scatters ? Opcode::kReduceScatter : Opcode::kAllReduce;
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(opcode, operation, frame.importer.typed()));
  return ImportWithRegions(frame, operation, opcode, std::move(operands), std::move(attributes), Takes::kConstants,
                           frame.importer.ResultShape(operation));
}

}  // namespace VXLA_NAMESPACE::mlir
