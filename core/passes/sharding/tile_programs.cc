// What a device does for each operation of the program of whole arrays.
#include <algorithm>

#include "core/ceil_divide.h"
#include "core/host/ranges.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/sharding/factor_atoms.h"
#include "core/passes/sharding/partitioner_impl.h"

namespace VXLA_NAMESPACE {
namespace {

// What changes no sum.
Literal NoAddend(ElementType type) {
  Literal nothing{Shape(type)};
  if (IsFloating(type)) nothing = Literal::Scalar(type, -0.0);
  if (IsComplex(type)) nothing.SetComplex(0, {-0.0, -0.0});
  return nothing;
}

// Whether joining it once more changes nothing, the sign of a zero aside.
bool IsIdentity(const Instruction& initial, const Literal& identity) {
  const Literal* const literal = initial.known_literal();
  if (literal == nullptr) return false;
  const ElementType type = identity.shape().element_type();
  if (IsComplex(type)) return literal->GetComplex(0) == identity.GetComplex(0);
  return IsFloating(type) ? literal->GetDouble(0) == identity.GetDouble(0) : literal->GetInt(0) == identity.GetInt(0);
}

}  // namespace

Status Partitioner::Walk(Frame& frame) {
  for (const auto& instruction : frame.scope.computation->instructions()) {
    if (instruction->opcode() == Opcode::kParameter) continue;
    VXLA_ASSIGN_OR_RETURN(frame.values[instruction.get()], ValuesOf(frame, *instruction));
  }
  return OkStatus();
}

Result<std::vector<Partitioner::ValuePtr>> Partitioner::ValuesOf(Frame& frame, const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kTuple: {
      std::vector<ValuePtr> values;
      for (const Instruction* operand : instruction.operands()) {
        const std::vector<ValuePtr>& more = frame.values.at(operand);
        values.insert(values.end(), more.begin(), more.end());
      }
      return values;
    }
    case Opcode::kGetTupleElement:
      return OfElement(instruction, frame.values.at(instruction.operand(0)));
    case Opcode::kAddDependency:
      return frame.values.at(instruction.operand(0));
    case Opcode::kOptimizationBarrier:
      return BarrierValues(frame, instruction);
    case Opcode::kCall:
      return stated_.manual.contains(&instruction) ? ManualValues(frame, instruction) : CallValues(frame, instruction);
    case Opcode::kWhile:
      return LoopValues(frame, instruction);
    case Opcode::kConditional:
      return BranchValues(frame, instruction);
    default:
      return PlainValues(frame, instruction);
  }
}

std::vector<Partitioner::ValuePtr> Partitioner::BarrierValues(Frame& frame, const Instruction& barrier) {
  std::vector<Instruction*> leaves;
  const std::vector<ValuePtr>& given = frame.values.at(barrier.operand(0));
  for (const ValuePtr& value : given) {
    leaves.push_back(value->tiling() == nullptr ? Whole(frame, *value) : FirstTile(frame, *value));
  }
  Instruction* const operand = NestedTuple(frame.into, barrier.shape(), leaves);
  Instruction* const made = frame.into.Add(barrier.CloneWith({operand}, operand->shape()));
  const std::vector<Instruction*> after = Leaves(frame.into, made);
  std::vector<ValuePtr> values;
  for (size_t i = 0; i < after.size(); ++i) values.push_back(Made(after[i], given[i]->whole, *given[i]->tiling()));
  return values;
}

// ---- operations on arrays

std::vector<Partitioner::ValuePtr> Partitioner::WholeValues(Frame& frame, const Instruction& instruction) {
  std::vector<Instruction*> operands;
  for (const Instruction* operand : instruction.operands()) {
    auto leaves = Transformed(frame.values.at(operand), [&](const ValuePtr& leaf) { return Whole(frame, *leaf); });
    operands.push_back(NestedTuple(frame.into, operand->shape(), leaves));
  }
  Instruction* const made = EmitTile(frame, instruction, std::move(operands), instruction.shape());
  return Transformed(Leaves(frame.into, made),
                     [&](Instruction* leaf) { return Made(leaf, leaf->shape(), WholeTiling(leaf->shape().rank())); });
}

Instruction* Partitioner::EmitTile(Frame& frame, const Instruction& instruction, std::vector<Instruction*> operands,
                                   Shape shape) {
  return frame.into.Add(
      instruction.CloneWith(std::move(operands), std::move(shape),
                            Transformed(instruction.called(), [&](Computation* c) { return Copied(c); })));
}

Instruction* Partitioner::EmitOnTiles(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                                      const std::vector<Atoms>& atoms, std::vector<Instruction*> operands,
                                      Shape shape) {
  Attributes attributes =
      TileAttributes(instruction, Transformed(operands, &Instruction::shape), *FlattenTuple(shape)[0]);
  const auto reach = [&](int64_t from, int64_t to, WindowDimension& window, Instruction* outside) {
    const int dimension = static_cast<int>(from);
    const std::vector<int>& factors = rule.operands[0][from];
    if (factors.empty() || !rule.factors[factors[0]].is_shifted) return;
    const Atoms& along = atoms[factors[0]];
    if (along.empty()) return;
    const int64_t all = instruction.operand(0)->shape().dimension(dimension);
    const std::optional<TileSource> source = SourceOf(ShiftOf(instruction, 0, dimension), shape.dimension(to));
    operands[0] = exchange_->Shifted(frame.into, operands[0], dimension, along, all, *source);
    if (outside != nullptr || !graph_.mesh.Divides(along, all))
      operands[0] = exchange_->Masked(frame.into, operands[0], dimension, along, 0, all, outside, *source);
    window.pad_low = source->pad_low;
    window.pad_high = source->pad_high;
  };
  if (auto* const convolution = std::get_if<ConvolutionAttributes>(&attributes)) {
    const IntList& spatial = convolution->dim_labels->input_spatial;
    for (size_t i = 0; i < spatial.size() && i < convolution->window.size(); ++i)
      reach(spatial[i], convolution->dim_labels->output_spatial[i], convolution->window[i], nullptr);
  } else if (instruction.opcode() == Opcode::kReduceWindow) {
    Window& window = std::get<WindowAttributes>(attributes).window;
    for (size_t d = 0; d < window.size(); ++d)
      reach(static_cast<int64_t>(d), static_cast<int64_t>(d), window[d], operands[1]);
  } else if (instruction.opcode() == Opcode::kReverse) {
    for (const int64_t d : instruction.dimensions()) {
      const Atoms& along = atoms[rule.operands[0][d][0]];
      const int64_t whole = instruction.shape().dimension(d);
      if (!along.empty()) operands[0] = exchange_->Mirrored(frame.into, operands[0], static_cast<int>(d), along, whole);
    }
  } else {
    ShiftOperands(frame, instruction, rule, atoms, operands, shape, attributes);
  }
  if (operands.size() == 1 && instruction.opcode() == Opcode::kConcatenate) return operands[0];
  Instruction* const made = EmitTile(frame, instruction, std::move(operands), std::move(shape));
  made->mutable_attributes() = std::move(attributes);
  return made;
}

void Partitioner::ShiftOperands(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                                const std::vector<Atoms>& atoms, std::vector<Instruction*>& operands, const Shape& tile,
                                Attributes& attributes) {
  constexpr int64_t kNoEnd = INT64_MAX;
  for (int d = 0; !tile.IsTuple() && d < tile.rank() && d < std::ssize(rule.results[0]); ++d) {
    const size_t at = static_cast<size_t>(d);
    const std::vector<int>& factors = rule.results[0][at];
    if (factors.empty() || !rule.factors[factors[0]].is_shifted) continue;
    const Atoms& along = atoms[factors[0]];
    if (along.empty()) continue;
    if (graph_.mesh.IsParts(along[0])) {
      const int64_t count = graph_.mesh.SizeOf(along);
      if (auto* const slice = std::get_if<SliceAttributes>(&attributes)) {
        const SliceDimension& all = instruction.attributes<SliceAttributes>().slice[at];
        slice->slice[at] = {all.start / count, all.limit / count, 1};
      } else if (auto* const pad = std::get_if<PadAttributes>(&attributes)) {
        pad->padding[at].low /= count;
        pad->padding[at].high /= count;
      }
      continue;
    }
    const auto shifted = [&](size_t i) {
      const std::optional<TileSource> source = SourceOf(ShiftOf(instruction, i, d), tile.dimension(d));
      if (rule.operands[i][at].empty())
        return exchange_->ShiftedWhole(frame.into, operands[i], d, along, source->size, source->low);
      const int64_t whole = instruction.operand(i)->shape().dimension(d);
      return exchange_->Shifted(frame.into, operands[i], d, along, whole, *source);
    };
    operands[0] = shifted(0);
    if (auto* const slice = std::get_if<SliceAttributes>(&attributes)) {
      slice->slice[at] = {0, operands[0]->shape().dimension(d), slice->slice[at].stride};
    } else if (auto* const pad = std::get_if<PadAttributes>(&attributes)) {
      const PaddingDimension all = std::exchange(pad->padding[at], {});
      const int64_t end = all.low + instruction.operand(0)->shape().dimension(d);
      operands[0] =
          exchange_->Masked(frame.into, operands[0], d, along, all.low, all.high > 0 ? end : kNoEnd, operands[1]);
    } else {
      for (size_t i = 1; i < operands.size(); ++i) {
        const int64_t first = ShiftOf(instruction, i, d).low;
        operands[0] = exchange_->Masked(frame.into, shifted(i), d, along, first, kNoEnd, operands[0]);
      }
      operands.resize(1);
    }
  }
}

std::vector<Partitioner::ValuePtr> Partitioner::PlainValues(Frame& frame, const Instruction& instruction) {
  if (stated_.to_tiles.contains(&instruction) || stated_.from_tiles.contains(&instruction))
    return BoundaryValues(frame, instruction);
  const auto said = stated_.constraints.find(&instruction);
  if (said != stated_.constraints.end()) return ConstrainedValues(frame, instruction, said->second);
  const std::vector<int>& nodes = frame.scope.of(&instruction);
  if (nodes.size() == 1 && Node(nodes[0]).is_free) {
    auto value = std::make_shared<Value>();
    value->whole = instruction.shape();
    value->free = &instruction;
    if (instruction.operand_count() > 0) value->scalar = frame.values.at(instruction.operand(0))[0];
    return {value};
  }
  const std::optional<FactorRule> rule = RuleOf(instruction);
  if (!rule) return WholeValues(frame, instruction);
  const std::vector<Atoms> atoms = ChooseAtoms(frame, instruction, *rule);
  if (!KeepsGroups(instruction, atoms)) return WholeValues(frame, instruction);
  for (size_t f = 0; f < atoms.size(); ++f) {
    if (rule->factors[f].is_reduced && !atoms[f].empty()) return JoinedValues(frame, instruction, *rule, atoms);
  }
  return TileValues(frame, instruction, *rule, atoms);
}

std::vector<Instruction*> Partitioner::TileOperands(Frame& frame, const Instruction& instruction,
                                                    const FactorRule& rule, const std::vector<Atoms>& atoms,
                                                    size_t first) {
  std::vector<Instruction*> operands(first);
  for (size_t i = first; i < rule.operands.size(); ++i) {
    Value& value = *frame.values.at(instruction.operand(i))[0];
    operands.push_back(Get(frame, value, ArrayTiling(graph_.mesh, rule, rule.operands[i], atoms)));
  }
  return operands;
}

std::vector<Partitioner::ValuePtr> Partitioner::TileValues(Frame& frame, const Instruction& instruction,
                                                           const FactorRule& rule, const std::vector<Atoms>& atoms) {
  if (instruction.opcode() == Opcode::kReverse) {
    const ValuePtr value = Made(nullptr, instruction.shape(), ArrayTiling(graph_.mesh, rule, rule.results[0], atoms));
    value->reversal = &instruction;
    value->reversed = frame.values.at(instruction.operand(0))[0];
    value->atoms = atoms;
    return {value};
  }
  std::vector<Instruction*> operands = TileOperands(frame, instruction, rule, atoms, 0);
  std::vector<Shape> tiles;
  std::vector<Tiling> tilings;
  const std::vector<const Shape*> leaves = FlattenTuple(instruction.shape());
  for (size_t i = 0; i < leaves.size(); ++i) {
    tilings.push_back(ArrayTiling(graph_.mesh, rule, rule.results[i], atoms));
    tiles.push_back(graph_.mesh.TileShape(*leaves[i], tilings.back()));
  }
  Shape shape = instruction.shape().IsTuple() ? Shape::Tuple(std::move(tiles)) : tiles[0];
  Instruction* const made = EmitOnTiles(frame, instruction, rule, atoms, std::move(operands), std::move(shape));
  const std::vector<Instruction*> results = Leaves(frame.into, made);
  std::vector<ValuePtr> values;
  const std::vector<int>& nodes = frame.scope.of(&instruction);
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(InWantedParts(frame, Made(results[i], *leaves[i], tilings[i]), Node(nodes[i]).tiling));
  return values;
}

// What fills up the last tiles of a dimension that devices join over changes nothing.
void Partitioner::FillUp(Frame& frame, const Instruction& instruction, const FactorRule& rule,
                         const std::vector<Atoms>& atoms, std::vector<Instruction*>& operands) {
  const Opcode opcode = instruction.opcode();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (opcode == Opcode::kGather || (opcode == Opcode::kScatter && i != 2)) continue;
    const Shape& whole = instruction.operand(i)->shape();
    const ElementType type = whole.element_type();
    for (int d = 0; d < whole.rank(); ++d) {
      const std::vector<int>& factors = rule.operands[i][d];
      if (factors.empty() || !rule.factors[factors[0]].is_reduced) continue;
      const Atoms& along = atoms[factors[0]];
      if (graph_.mesh.Divides(along, whole.dimension(d))) continue;
      Literal filler{Shape(type)};  // of products
      if (opcode == Opcode::kReduce) filler = *NeutralElement(*instruction.called(0), type);
      if (opcode == Opcode::kScatter) filler = NoAddend(type);
      Instruction* const scalar = frame.into.Constant(std::move(filler));
      operands[i] = exchange_->Masked(frame.into, operands[i], d, along, 0, whole.dimension(d), scalar);
    }
  }
}

// Devices have addends of the result. What it begins with is joined once, afterwards.
std::vector<Partitioner::ValuePtr> Partitioner::JoinedValues(Frame& frame, const Instruction& instruction,
                                                             const FactorRule& rule, const std::vector<Atoms>& atoms) {
  Tiling tiling;
  const Tiling wanted = JoinedTiling(rule, atoms, Node(frame.scope.of(&instruction)[0]), tiling);
  const Shape& whole = instruction.shape();
  const bool scatters = instruction.opcode() == Opcode::kScatter;
  std::vector<Instruction*> operands = TileOperands(frame, instruction, rule, atoms, scatters ? 1 : 0);
  const Tiling part{tiling.dimensions, {}};
  const Shape tile = graph_.mesh.TileShape(whole, part);
  Expansion& into = frame.into;
  Value* first = nullptr;  // is joined to what the devices have together
  if (instruction.opcode() == Opcode::kReduce) {
    const Literal identity = *NeutralElement(*instruction.called(0), whole.element_type());
    if (!IsIdentity(*instruction.operand(1), identity)) {
      first = frame.values.at(instruction.operand(1))[0].get();
      operands[1] = into.Constant(identity);
    }
  } else if (scatters) {
    first = frame.values.at(instruction.operand(0))[0].get();
    operands[0] = into.SpreadAs(into.Zero(whole.element_type()), tile);
  }
  FillUp(frame, instruction, rule, atoms, operands);
  OwnRows own{};
  for (size_t f = 0; f < atoms.size(); ++f) {
    if (!rule.factors[f].is_indexed || atoms[f].empty()) continue;
    own = RowsOfDevice(frame, instruction, operands[1], atoms[f]);
    operands[1] = own.indices;
  }
  Instruction* made = EmitOnTiles(frame, instruction, rule, atoms, std::move(operands), tile);
  if (own.is_own != nullptr) made = OnlyOwn(into, instruction, made, own.is_own);
  made = exchange_->Reshard(into, made, whole, tiling, wanted, rule.joins);
  const bool is_sum = made->opcode() == Opcode::kAllReduce || made->opcode() == Opcode::kReduceScatter;
  if (is_sum && rule.joins == Opcode::kAdd) sums_.insert(made);
  if (first != nullptr) {
    Instruction* const other = first->whole.rank() == whole.rank()
                                   ? Get(frame, *first, wanted)
                                   : exchange_->Reshard(into, into.SpreadAs(Whole(frame, *first), made->shape()), whole,
                                                        Tiling{wanted.dimensions, {}}, wanted);
    made = into.Add(rule.joins, made->shape(), {other, made});
  }
  return {InWantedParts(frame, Made(made, whole, wanted), Node(frame.scope.of(&instruction)[0]).tiling)};
}

// Indices beyond the table are those of its first and last rows, as a gather has it.
Partitioner::OwnRows Partitioner::RowsOfDevice(Frame& frame, const Instruction& gather, Instruction* indices,
                                               const Atoms& atoms) {
  Expansion& into = frame.into;
  const Shape shape = indices->shape();
  const int dimension = static_cast<int>(gather.attributes<GatherAttributes>().start_index_map[0]);
  const int64_t rows = gather.operand(0)->shape().dimension(dimension),
                size = CeilDivide(rows, graph_.mesh.SizeOf(atoms));
  // The table has fewer rows than its index type has numbers, or all of them are rows of it.
  const ElementType type = shape.element_type();
  const int64_t last = std::min(rows - 1, LargestInteger(type));
  Instruction* const at = into.Converted(
      into.Add(Opcode::kClamp, shape, {into.Number(type, 0), indices, into.Number(type, last)}), ElementType::kS32);
  Instruction* const start = into.SpreadAs(exchange_->OfDevice(into, graph_.mesh.Starts(atoms, size)), shape);
  Instruction* const from_start = into.Minus(at, start);
  Instruction* const own =
      into.Add(Opcode::kClamp, at->shape(),
               {into.Number(ElementType::kS32, 0), from_start, into.Number(ElementType::kS32, size - 1)});
  return {own, into.Compare(ComparisonDirection::kEq, own, from_start)};
}

// What changes no sum in place of the rows of other devices.
Instruction* Partitioner::OnlyOwn(Expansion into, const Instruction& gather, Instruction* rows, Instruction* is_own) {
  const auto& a = gather.attributes<GatherAttributes>();
  const Shape truth(ElementType::kPred, SizesOf(rows->shape()));
  DimensionsAttributes batch;
  IntList sizes;
  for (int64_t d = 0; d < truth.rank(); ++d) {
    if (Contains(a.offset_dims, d)) continue;
    batch.dimensions.push_back(d);
    sizes.push_back(truth.dimension(d));
  }
  Instruction* const chosen = into.Add(Opcode::kBroadcast, truth, {into.Reshaped(is_own, sizes)}, std::move(batch));
  Instruction* const nothing = into.Constant(NoAddend(rows->shape().element_type()));
  return into.Select(chosen, rows, into.SpreadAs(nothing, rows->shape()));
}

std::vector<Partitioner::ValuePtr> Partitioner::ConstrainedValues(Frame& frame, const Instruction& copy,
                                                                  const ArraySharding& said) {
  const ValuePtr& given = frame.values.at(copy.operand(0))[0];
  if (!TilingOf(graph_.mesh, said)) return {given};
  const Tiling& tiling = Node(frame.scope.of(&copy)[0]).tiling;
  return {Made(Get(frame, *given, tiling), copy.shape(), tiling)};
}

// Tiles as the text cut them are arrays of their own.
std::vector<Partitioner::ValuePtr> Partitioner::BoundaryValues(Frame& frame, const Instruction& copy) {
  Value& given = *frame.values.at(copy.operand(0))[0];
  const Tiling own = WholeTiling(copy.shape().rank());
  if (const auto to = stated_.to_tiles.find(&copy); to != stated_.to_tiles.end()) {
    const std::optional<Tiling> tiling = TilingOf(graph_.mesh, to->second);
    Instruction* const tile =
        tiling ? Get(frame, given, *tiling) : exchange_->Cut(frame.into, Whole(frame, given), TilesOf(to->second));
    return {Made(tile, copy.shape(), own)};
  }
  const ArraySharding& said = stated_.from_tiles.at(&copy);
  Instruction* const tile = Whole(frame, given);
  if (const std::optional<Tiling> tiling = TilingOf(graph_.mesh, said)) return {Made(tile, copy.shape(), *tiling)};
  return {Made(exchange_->Gather(frame.into, tile, TilesOf(said)), copy.shape(), own)};
}

// ---- computations

Result<std::vector<Partitioner::ValuePtr>> Partitioner::CallValues(Frame& frame, const Instruction& call) {
  const ShardingScope& scope = *frame.scope.inner.at(&call)[0];
  Frame inner{scope, frame.into, {}};
  for (const Instruction* parameter : scope.computation->parameters())
    inner.values[parameter] = frame.values.at(call.operand(parameter->parameter_number()));
  VXLA_RETURN_IF_ERROR(Walk(inner));
  return inner.values.at(scope.computation->root());
}

// The callee is written for one place of the manual axes: of its arrays, tiles by other axes are left to be cut.
Result<std::vector<Partitioner::ValuePtr>> Partitioner::ManualValues(Frame& frame, const Instruction& call) {
  const StatedShardings::Manual& said = stated_.manual.at(&call);
  const ShardingScope& scope = *frame.scope.inner.at(&call)[0];
  const std::vector<int>&entering = frame.scope.entering.at(&call), &leaving = frame.scope.leaving.at(&call);
  const auto of_own = [&](const Tiling& tiling) {
    Tiling part{tiling.dimensions, {}};
    for (Atoms& atoms : part.dimensions) std::erase_if(atoms, [&](int atom) { return Contains(scope.manual, atom); });
    return part;
  };
  Frame inner{scope, frame.into, {}};
  for (const Instruction* parameter : scope.computation->parameters()) {
    const size_t i = static_cast<size_t>(parameter->parameter_number());
    Value& given = *frame.values.at(call.operand(i))[0];
    const Shape& shape = parameter->shape();
    ValuePtr& own = inner.values[parameter].emplace_back();
    if (!TilingOf(graph_.mesh, said.in[i])) {
      own =
          Made(exchange_->Cut(frame.into, Whole(frame, given), TilesOf(said.in[i])), shape, WholeTiling(shape.rank()));
      continue;
    }
    const Tiling& tiling = Node(entering[i]).tiling;
    own = Made(Get(frame, given, tiling), shape, of_own(tiling));
  }
  VXLA_RETURN_IF_ERROR(Walk(inner));
  const std::vector<ValuePtr>& results = inner.values.at(scope.computation->root());
  std::vector<ValuePtr> values;
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& whole = Node(leaving[i]).shape;
    if (!TilingOf(graph_.mesh, said.out[i])) {
      Instruction* const tile = Whole(frame, *results[i]);
      values.push_back(
          Made(exchange_->Gather(frame.into, tile, TilesOf(said.out[i])), whole, WholeTiling(whole.rank())));
      continue;
    }
    const Tiling& outer = Node(leaving[i]).tiling;
    values.push_back(Made(Get(frame, *results[i], of_own(outer)), whole, outer));
  }
  return values;
}

Instruction* Partitioner::State(Frame& frame, const std::vector<ValuePtr>& values, const std::vector<int>& nodes) {
  std::vector<Instruction*> tiles;
  for (size_t i = 0; i < values.size(); ++i) tiles.push_back(Get(frame, *values[i], Node(nodes[i]).tiling));
  return frame.into.Together(std::move(tiles));
}

std::vector<Partitioner::ValuePtr> Partitioner::FromState(Expansion into, Instruction* state,
                                                          const std::vector<int>& nodes) const {
  const std::vector<Instruction*> leaves = Leaves(into, state);
  std::vector<ValuePtr> values;
  for (size_t i = 0; i < leaves.size(); ++i)
    values.push_back(Made(leaves[i], Node(nodes[i]).shape, Node(nodes[i]).tiling));
  return values;
}

// `results`: null of a condition, whose result is a scalar.
Result<Computation*> Partitioner::Body(const ShardingScope& scope, const std::vector<int>& state,
                                       const std::vector<int>* results) {
  auto into = std::make_unique<Computation>(scope.computation->name());
  Frame frame{scope, *into, {}};
  std::vector<Shape> shapes;
  for (const int node : state) shapes.push_back(graph_.mesh.TileShape(Node(node).shape, Node(node).tiling));
  const Instruction& from = *scope.computation->parameter(0);
  Instruction* const parameter = into->Add(from.CloneWith({}, shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes)));
  frame.values[&from] = FromState(*into, parameter, state);
  VXLA_RETURN_IF_ERROR(Walk(frame));
  const std::vector<ValuePtr>& root = frame.values.at(scope.computation->root());
  into->set_root(results == nullptr ? Whole(frame, *root[0]) : State(frame, root, *results));
  return module_->AddComputation(std::move(into));
}

Result<std::vector<Partitioner::ValuePtr>> Partitioner::LoopValues(Frame& frame, const Instruction& loop) {
  const std::vector<int>& state = frame.scope.of(&loop);
  const auto& inner = frame.scope.inner.at(&loop);
  VXLA_ASSIGN_OR_RETURN(Computation* const condition, Body(*inner[0], state, nullptr));
  VXLA_ASSIGN_OR_RETURN(Computation* const body, Body(*inner[1], state, &state));
  Instruction* const first = State(frame, frame.values.at(loop.operand(0)), state);
  Instruction* const made = frame.into.Add(loop.CloneWith({first}, first->shape(), {condition, body}));
  return FromState(frame.into, made, state);
}

Result<std::vector<Partitioner::ValuePtr>> Partitioner::BranchValues(Frame& frame, const Instruction& conditional) {
  const std::vector<int>& results = frame.scope.of(&conditional);
  const auto& inner = frame.scope.inner.at(&conditional);
  std::vector<Instruction*> operands{Whole(frame, *frame.values.at(conditional.operand(0))[0])};
  std::vector<Computation*> branches;
  Shape shape;
  for (size_t i = 0; i < inner.size(); ++i) {
    const Instruction* const operand = conditional.operand(static_cast<int>(i) + 1);
    const std::vector<int>& given = frame.scope.of(operand);
    VXLA_ASSIGN_OR_RETURN(Computation* const branch, Body(*inner[i], given, &results));
    branches.push_back(branch);
    operands.push_back(State(frame, frame.values.at(operand), given));
    shape = branch->root()->shape();
  }
  Instruction* const made = frame.into.Add(conditional.CloneWith(std::move(operands), std::move(shape), branches));
  return FromState(frame.into, made, results);
}

}  // namespace VXLA_NAMESPACE
