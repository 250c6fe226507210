#include "core/passes/sharding/partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/passes/base/cse.h"
#include "core/passes/sharding/exchange_cost.h"
#include "core/passes/sharding/factor_atoms.h"
#include "core/passes/sharding/partitioner_impl.h"
#include "core/passes/sharding/propagation.h"

namespace VXLA_NAMESPACE {
namespace {

// The tuple of which these are all elements in their order: what ends a transfer is given what began it.
Instruction* WholeTuple(std::span<Instruction* const> elements) {
  Instruction* tuple = nullptr;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i]->opcode() != Opcode::kGetTupleElement) return nullptr;
    Instruction* const of = elements[i]->operand(0);
    if (i == 0) tuple = of;
    const int64_t index = elements[i]->attributes<GetTupleElementAttributes>().index;
    if (of != tuple || index != static_cast<int64_t>(i)) return nullptr;
  }
  return tuple != nullptr && tuple->shape().tuple_elements().size() == elements.size() ? tuple : nullptr;
}

// The elements of an operand or state by their nesting.
Instruction* Nested(Expansion into, const Shape& shape, std::span<Instruction* const> leaves, size_t& next) {
  if (!shape.IsTuple()) return leaves[next++];
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.tuple_elements()) elements.push_back(Nested(into, element, leaves, next));
  if (Instruction* const known = WholeTuple(elements)) return known;
  return into.TupleOf(std::move(elements));
}

}  // namespace

Instruction* NestedTuple(Expansion into, const Shape& shape, std::span<Instruction* const> leaves) {
  size_t next = 0;
  return Nested(into, shape, leaves, next);
}

std::vector<Instruction*> Leaves(Expansion into, Instruction* value) {
  if (!value->shape().IsTuple()) return {value};
  std::vector<Instruction*> leaves;
  for (int64_t i = 0; i < std::ssize(value->shape().tuple_elements()); ++i)
    std::ranges::copy(Leaves(into, into.Element(value, i)), std::back_inserter(leaves));
  return leaves;
}

Sharding TilesOf(const ArraySharding& sharding) {
  if (sharding.says_nothing()) return {};
  const MeshAtoms mesh(*sharding.mesh);
  const std::optional<Tiling> tiling = TilingOf(mesh, sharding);
  return tiling ? mesh.ToSharding(*tiling) : Sharding();
}

// ---- the entry

Result<PartitionedModule> Partitioner::Run() {
  module_ = std::make_unique<Module>(source_.name());
  module_->mutable_attributes() = source_.attributes();
  module_->mutable_attributes().entry_computation_layout.reset();
  exchange_.emplace(*module_, graph_.mesh);
  const Computation& entry = *source_.entry();
  auto into = std::make_unique<Computation>(entry.name());
  Frame frame{*graph_.entry, *into, {}};
  for (const Instruction* parameter : entry.parameters()) EnterParameter(frame, *parameter);
  VXLA_RETURN_IF_ERROR(Walk(frame));
  Leave(frame, *entry.root());
  for (const auto& instruction : into->instructions()) {
    if (instruction->opcode() != Opcode::kParameter) instruction->mutable_common().sharding = {};
  }
  into->RemoveDead();
  module_->set_entry(module_->AddComputation(std::move(into)));
  module_->RemoveUnusedComputations();
  JoinSums(*module_, std::move(sums_));
  EliminateCommonSubexpressions(*module_, EqualCollectives::kMerged);
  made_.module = std::move(module_);
  return std::move(made_);
}

void Partitioner::EnterParameter(Frame& frame, const Instruction& parameter) {
  const std::vector<int>& nodes = frame.scope.of(&parameter);
  const size_t number = static_cast<size_t>(parameter.parameter_number());
  std::vector<ValuePtr>& values = frame.values[&parameter];
  if (!parameter.shape().IsArray()) {
    Instruction* const whole = frame.into.Add(parameter.CloneWith({}));
    for (Instruction* leaf : Leaves(frame.into, whole))
      values.push_back(Made(leaf, leaf->shape(), WholeTiling(leaf->shape().rank())));
    made_.parameters.emplace_back();
    return;
  }
  const std::optional<ArraySharding> said =
      number < stated_.parameters.size() ? stated_.parameters[number] : std::nullopt;
  const bool is_foreign = said && !TilingOf(graph_.mesh, *said);
  const Tiling tiling = is_foreign ? WholeTiling(parameter.shape().rank()) : Node(nodes[0]).tiling;
  const Sharding sharding = is_foreign ? TilesOf(*said) : graph_.mesh.ToSharding(tiling);
  Shape tile = parameter.shape();
  if (sharding.is_cut()) tile = sharding.TileOf(parameter.shape()).value();
  Instruction* given = frame.into.Add(parameter.CloneWith({}, std::move(tile)));
  if (is_foreign) given = exchange_->Gather(frame.into, given, sharding);
  values.push_back(Made(given, parameter.shape(), tiling));
  made_.parameters.push_back(sharding);
}

void Partitioner::Leave(Frame& frame, const Instruction& root) {
  std::vector<Instruction*> leaves;
  const std::vector<ValuePtr>& values = frame.values.at(&root);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<ArraySharding> said = i < stated_.results.size() ? stated_.results[i] : std::nullopt;
    if (said && !TilingOf(graph_.mesh, *said)) {
      made_.results.push_back(TilesOf(*said));
      leaves.push_back(exchange_->Cut(frame.into, Whole(frame, *values[i]), made_.results.back()));
      continue;
    }
    Tiling tiling = Node(graph_.results[i]).tiling;
    if (!said) tiling.addends.clear();
    leaves.push_back(Get(frame, *values[i], tiling));
    made_.results.push_back(graph_.mesh.ToSharding(tiling));
  }
  frame.into.set_root(NestedTuple(frame.into, root.shape(), leaves));
}

// ---- values

Partitioner::ValuePtr Partitioner::Made(Instruction* tile, Shape whole, Tiling tiling) const {
  auto value = std::make_shared<Value>();
  value->whole = std::move(whole);
  value->tiles.emplace_back(std::move(tiling), tile);
  return value;
}

Partitioner::ValuePtr Partitioner::InWantedParts(Frame& frame, ValuePtr value, const Tiling& wanted) {
  const Tiling& made = *value->tiling();
  const auto real = [this](const Atoms& atoms) { return graph_.mesh.WithoutParts(atoms); };
  const bool same = made.addends == wanted.addends &&
                    std::ranges::equal(made.dimensions, wanted.dimensions, std::equal_to(), real, real);
  if (!same || made == wanted) return value;
  Get(frame, *value, wanted);
  std::rotate(value->tiles.begin(), std::prev(value->tiles.end()), value->tiles.end());
  return value;
}

Instruction* Partitioner::Whole(Frame& frame, Value& value) {
  return Get(frame, value, WholeTiling(value.whole.rank()));
}

// From the tiles that are there already with the least to be done.
Instruction* Partitioner::Get(Frame& frame, Value& value, const Tiling& tiling) {
  if (!value.tiles.empty() && *value.tiling() == tiling) return FirstTile(frame, value);
  for (const auto& [known, tile] : value.tiles) {
    if (known == tiling) return tile;
  }
  Instruction* made = nullptr;
  if (value.free != nullptr && tiling.addends.empty()) made = MakeFree(frame, value, tiling);
  if (value.reversal != nullptr) made = MakeReversed(frame, value, tiling);
  if (made == nullptr) {
    if (value.tiles.empty()) Whole(frame, value);
    FirstTile(frame, value);
    const auto* from = &value.tiles.front();
    for (const auto& each : value.tiles) {
      if (each.first.is_whole()) from = &each;
    }
    made = exchange_->Reshard(frame.into, from->second, value.whole, from->first, tiling);
  }
  value.tiles.emplace_back(tiling, made);
  return made;
}

Instruction* Partitioner::FirstTile(Frame& frame, Value& value) {
  if (value.tiles.front().second == nullptr) {
    const FactorRule rule = *RuleOf(*value.reversal);
    const Tiling given = ArrayTiling(graph_.mesh, rule, rule.operands[0], value.atoms);
    Instruction* const tile = Get(frame, *value.reversed, given);
    value.tiles.front().second = EmitOnTiles(frame, *value.reversal, rule, value.atoms, {tile},
                                             graph_.mesh.TileShape(value.whole, *value.tiling()));
  }
  return value.tiles.front().second;
}

// Null: tiles have to change places.
Instruction* Partitioner::MakeReversed(Frame& frame, const Value& value, const Tiling& tiling) {
  for (const int64_t d : value.reversal->dimensions()) {
    if (!tiling.dimensions[d].empty()) return nullptr;
  }
  Instruction* const tile = Get(frame, *value.reversed, tiling);
  return EmitTile(frame, *value.reversal, {tile}, tile->shape());
}

// Null: its tiles are cut from the whole.
Instruction* Partitioner::MakeFree(Frame& frame, Value& value, const Tiling& tiling) {
  const Instruction& source = *value.free;
  std::vector<Instruction*> operands;
  if (value.scalar != nullptr) operands.push_back(Whole(frame, *value.scalar));
  const Shape tile = graph_.mesh.TileShape(value.whole, tiling);
  const bool is_iota = source.opcode() == Opcode::kIota;
  const int64_t along = is_iota ? source.attributes<IotaAttributes>().iota_dimension : 0;
  const Atoms cut = is_iota ? tiling.dimensions[along] : Atoms();
  if (graph_.mesh.PartsAt(cut) < cut.size()) return nullptr;
  if (tiling.is_whole() || source.opcode() == Opcode::kBroadcast || (is_iota && cut.empty()))
    return frame.into.Add(source.CloneWith(std::move(operands), tile));
  if (source.opcode() == Opcode::kConstant) {
    const std::optional<Literal> same = source.known_literal() ? source.literal().OnlyNumber() : std::nullopt;
    if (!same) return nullptr;
    return frame.into.SpreadAs(frame.into.Constant(*same), tile);
  }
  constexpr int64_t kMostNumbers = int64_t{1} << 31;
  if (value.whole.dimension(along) >= kMostNumbers) return nullptr;
  Shape numbers = tile;
  numbers.set_element_type(ElementType::kS32);
  const IntList starts = graph_.mesh.Starts(cut, tile.dimension(along));
  Instruction* const own = frame.into.Add(source.CloneWith({}, numbers));
  Instruction* const start = frame.into.SpreadAs(exchange_->OfDevice(frame.into, starts), numbers);
  return frame.into.Converted(frame.into.Plus(own, start), tile.element_type());
}

// Computations that are run on scalars, or by what is given its operands whole.
Computation* Partitioner::Copied(const Computation* computation) {
  Computation*& copy = copies_[computation];
  if (copy != nullptr) return copy;
  auto made = std::make_unique<Computation>(computation->name());
  made->set_execution_thread(computation->execution_thread());
  made->set_root(CloneInto(*computation, *made, {}, [this](Computation* called) { return Copied(called); }));
  return copies_[computation] = module_->AddComputation(std::move(made));
}

namespace {

// Of where the array is computed first.
Sharding AnswerIn(const ShardingGraph& graph, const ShardingScope& scope, const Instruction* array) {
  if (const auto own = scope.nodes.find(array); own != scope.nodes.end()) {
    if (!scope.manual.empty()) return {};
    return graph.mesh.ToSharding(graph.nodes[own->second.at(0)].tiling);
  }
  for (const auto& [caller, scopes] : scope.inner) {
    for (const auto& inner : scopes) {
      Sharding answer = AnswerIn(graph, *inner, array);
      if (answer.is_cut()) return answer;
    }
  }
  return {};
}

struct Laid {
  ShardingGraph graph;
  PartitionedModule made;
  int64_t bytes_sent = 0;
  int64_t elements = 0;  // of all arrays, that a device has
};

// What arrays lie as in the orders that were tried: another one that leads there needs no program.
class Tried {
 public:
  // Whether it is the first time.
  bool Add(const ShardingGraph& graph) {
    std::vector<std::vector<IntList>> tilings;
    for (const ShardingNode& node : graph.nodes) {
      std::vector<IntList>& tiling = tilings.emplace_back();
      for (const Atoms& atoms : node.tiling.dimensions) tiling.push_back(Sizes(graph.mesh, atoms));
      tiling.emplace_back(node.tiling.addends.begin(), node.tiling.addends.end());
    }
    if (std::ranges::find(tried_, tilings) != tried_.end()) return false;
    tried_.push_back(std::move(tilings));
    return true;
  }

 private:
  // Graphs number their parts on their own.
  static IntList Sizes(const MeshAtoms& mesh, const Atoms& atoms) {
    constexpr int64_t kParts = -1;
    IntList sizes;
    for (const int atom : atoms) {
      if (!mesh.IsParts(atom)) {
        sizes.push_back(atom);
        continue;
      }
      sizes.push_back(kParts);
      sizes.insert(sizes.end(), mesh.PartsOf(atom).begin(), mesh.PartsOf(atom).end());
    }
    return sizes;
  }

  std::vector<std::vector<std::vector<IntList>>> tried_;
};

Result<std::optional<Laid>> LaidAsStated(const Module& module, const StatedShardings& stated, Tried& tried) {
  Laid laid;
  VXLA_ASSIGN_OR_RETURN(laid.graph, MakeShardingGraph(module, stated));
  PropagateShardings(laid.graph);
  if (!tried.Add(laid.graph)) return std::optional<Laid>();
  ChooseParts(laid.graph);
  VXLA_ASSIGN_OR_RETURN(laid.made, Partitioner(module, stated, laid.graph).Run());
  for (const ExchangeCost& cost : ExchangesOf(*laid.made.module)) laid.bytes_sent += cost.bytes;
  for (const ShardingNode& node : laid.graph.nodes) {
    if (node.shape.IsArray() && !node.is_free)
      laid.elements += laid.graph.mesh.TileShape(node.shape, node.tiling).ElementCount();
  }
  return std::optional<Laid>(std::move(laid));
}

// As Shardy's documents have it, unless devices send a tenth less in another order, and have no more to do for it.
Result<Laid> Lay(const Module& module, const StatedShardings& stated) {
  Tried tried;
  VXLA_ASSIGN_OR_RETURN(std::optional<Laid> best, LaidAsStated(module, stated, tried));
  if (best->bytes_sent == 0) return *std::move(best);
  const double most_bytes = 0.9 * static_cast<double>(best->bytes_sent),
               most_elements = 1.05 * static_cast<double>(best->elements);
  for (const StatedShardings& other : OtherOrders(module, stated)) {
    VXLA_ASSIGN_OR_RETURN(std::optional<Laid> laid, LaidAsStated(module, other, tried));
    if (!laid) continue;
    const bool is_less = static_cast<double>(laid->bytes_sent) < most_bytes && laid->bytes_sent < best->bytes_sent;
    if (is_less && static_cast<double>(laid->elements) < most_elements) best = std::move(laid);
  }
  return *std::move(best);
}

// ---- the printer

void AppendShardings(const ShardingGraph& graph, const ShardingScope& scope, int depth, std::string& text) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  for (const auto& instruction : scope.computation->instructions()) {
    const std::vector<int>& nodes = scope.of(instruction.get());
    const bool passes = instruction->opcode() == Opcode::kTuple || instruction->opcode() == Opcode::kGetTupleElement;
    for (size_t i = 0; i < nodes.size() && !passes; ++i) {
      const ShardingNode& node = graph.nodes[nodes[i]];
      if (!node.shape.IsArray()) continue;
      const std::string element = nodes.size() == 1 ? "" : fmt::format("#{}", i);
      text += fmt::format("{}{}{} = {} {} {}: {} each\n", indent, instruction->name(), element, node.shape.ToString(),
                          OpcodeText(instruction->opcode()),
                          node.is_free ? "made where it is wanted" : graph.mesh.Text(node.tiling),
                          graph.mesh.TileShape(node.shape, node.tiling).ToString());
    }
    const auto inner = scope.inner.find(instruction.get());
    if (inner == scope.inner.end()) continue;
    for (const auto& each : inner->second) {
      text += fmt::format("{}  {}:\n", indent, each->computation->name());
      AppendShardings(graph, *each, depth + 2, text);
    }
  }
}

std::string ArraysText(const ShardingGraph& graph) {
  std::string text;
  AppendShardings(graph, *graph.entry, 0, text);
  for (size_t i = 0; i < graph.results.size(); ++i) {
    const ShardingNode& node = graph.nodes[graph.results[i]];
    text += fmt::format("result {} = {} {}\n", i, node.shape.ToString(), graph.mesh.Text(node.tiling));
  }
  return text;
}

}  // namespace

Result<PartitionedModule> Partition(const Module& module, const StatedShardings& stated) {
  VXLA_ASSIGN_OR_RETURN(Laid laid, Lay(module, stated));
  for (const StatedShardings::Question& question : stated.questions)
    laid.made.answers.push_back(AnswerIn(laid.graph, *laid.graph.entry, question.array));
  if (stated.lists_arrays) laid.made.arrays = ArraysText(laid.graph);
  return std::move(laid.made);
}

}  // namespace VXLA_NAMESPACE
