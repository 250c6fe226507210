#include "core/passes/sharding/sharding_graph.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/host/ranges.h"
#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsFree(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kIota:
      return instruction.shape().IsArray();
    case Opcode::kBroadcast:
      return instruction.operand(0)->shape().IsScalar();
    default:
      return false;
  }
}

void Merge(Atoms& into, const Atoms& from) {
  for (const int atom : from) {
    if (!Contains(into, atom)) into.push_back(atom);
  }
}

FactorRule IdentityRule(const Shape& shape) {
  FactorRule rule;
  rule.operands.emplace_back(static_cast<size_t>(shape.rank()));
  for (int d = 0; d < shape.rank(); ++d) rule.operands[0][d] = {rule.AddFactor(shape.dimension(d))};
  for (FactorRule::Factor& factor : rule.factors) factor.may_pad = true;
  rule.results = rule.operands;
  rule.is_elementwise = true;
  return rule;
}

// From an array of whole size to the tiles of a manual computation.
FactorRule TileRule(const Shape& whole, const Shape& tile) {
  FactorRule rule;
  rule.operands.emplace_back(static_cast<size_t>(whole.rank()));
  rule.results.emplace_back(static_cast<size_t>(whole.rank()));
  for (int d = 0; d < whole.rank(); ++d) {
    const size_t at = static_cast<size_t>(d);
    const int64_t size = tile.dimension(d), count = size == 0 ? 1 : whole.dimension(d) / size;
    if (count > 1) rule.operands[0][at].push_back(rule.AddFactor(count));
    const int factor = rule.AddFactor(size);
    rule.operands[0][at].push_back(factor);
    rule.results[0][at].push_back(factor);
  }
  rule.is_elementwise = true;
  return rule;
}

class GraphBuilder {
 public:
  GraphBuilder(const Module& module, const StatedShardings& stated) : module_(module), stated_(stated) {}

  Result<ShardingGraph> Build() {
    if (stated_.mesh != nullptr) graph_.mesh = MeshAtoms(*stated_.mesh);
    const Computation& entry = *module_.entry();
    std::vector<std::vector<int>> parameters;
    for (const Instruction* parameter : entry.parameters()) {
      parameters.push_back(NewNodes(parameter->shape(), {}));
      for (const int node : parameters.back()) Node(node).must_divide = Node(node).is_outer = true;
      const size_t number = static_cast<size_t>(parameter->parameter_number());
      if (number < stated_.parameters.size() && stated_.parameters[number] && parameters.back().size() == 1)
        State(parameters.back()[0], *stated_.parameters[number]);
    }
    graph_.entry = std::make_unique<ShardingScope>();
    VXLA_ASSIGN_OR_RETURN(graph_.results, Walk(*graph_.entry, entry, parameters, {}));
    for (size_t i = 0; i < graph_.results.size(); ++i) {
      const int result = NewNode(Node(graph_.results[i]).shape, {});
      Node(result).must_divide = Node(result).is_outer = true;
      if (i < stated_.results.size() && stated_.results[i]) State(result, *stated_.results[i]);
      Relate(IdentityRule(Node(result).shape), {graph_.results[i]}, {result});
      graph_.results[i] = result;
    }
    return std::move(graph_);
  }

 private:
  ShardingNode& Node(int node) { return graph_.nodes[node]; }

  int NewNode(const Shape& shape, const Atoms& kept_out) {
    ShardingNode node;
    node.shape = shape;
    node.tiling = node.said = WholeTiling(shape.rank());
    node.is_open.resize(static_cast<size_t>(shape.rank()));
    for (int d = 0; d < shape.rank(); ++d) node.is_open[d] = !shape.is_dynamic_dimension(d);
    node.kept_out = kept_out;
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  std::vector<int> NewNodes(const Shape& shape, const Atoms& kept_out) {
    return Transformed(FlattenTuple(shape), [&](const Shape* leaf) { return NewNode(*leaf, kept_out); });
  }

  // What has not an element for each device does not cut a dimension, nor what cuts the devices in another way than the
  // mesh, nor what does not divide a dimension that must be divided.
  void State(int number, const ArraySharding& sharding) {
    ShardingNode& node = Node(number);
    const Atoms manual = node.kept_out;
    const std::optional<Tiling> tiling = TilingOf(graph_.mesh, sharding);
    if (!tiling || std::ssize(tiling->dimensions) != node.shape.rank()) return;
    for (const MeshPart& part : sharding.replicated) {
      if (const std::optional<Atoms> atoms = graph_.mesh.Find(*sharding.mesh, part)) Merge(node.kept_out, *atoms);
    }
    node.tiling.addends = tiling->addends;
    for (size_t d = 0; d < tiling->dimensions.size(); ++d) {
      const DimensionSharding& said = sharding.dimensions[d];
      Atoms atoms;
      const int64_t size = node.shape.dimension(d);
      for (const int atom : tiling->dimensions[d]) {
        if (node.shape.is_dynamic_dimension(d) || Contains(manual, atom)) break;
        atoms.push_back(atom);
        if (!node.must_divide ? size >= graph_.mesh.SizeOf(atoms) : graph_.mesh.Divides(atoms, size)) continue;
        atoms.pop_back();
        break;
      }
      node.said.dimensions[d] = atoms;
      const bool is_open = said.is_open && node.is_open[d];
      node.is_open[d] = is_open && said.priority == 0;
      if (said.priority == 0) {
        node.tiling.dimensions[d] = std::move(atoms);
      } else {
        node.later.push_back({d, said.priority, std::move(atoms), is_open});
      }
    }
  }

  void Relate(FactorRule rule, std::vector<int> operands, std::vector<int> results) {
    for (std::vector<int>* list : {&operands, &results}) {
      for (int& node : *list) {
        if (node >= 0 && Node(node).is_free) node = -1;
      }
    }
    graph_.relations.push_back({std::move(rule), std::move(operands), std::move(results)});
  }

  void RelateEqual(const std::vector<int>& from, const std::vector<int>& to) {
    for (size_t i = 0; i < from.size(); ++i) Relate(IdentityRule(Node(to[i]).shape), {from[i]}, {to[i]});
  }

  // The root's nodes.
  Result<std::vector<int>> Walk(ShardingScope& scope, const Computation& computation,
                                const std::vector<std::vector<int>>& parameters, const Atoms& manual) {
    scope.computation = &computation;
    scope.manual = manual;
    for (const auto& instruction : computation.instructions()) {
      if (++count_ > kMaxInlinedInstructions) {
        return ResourceExhausted("more than {} instructions, those of calls counted for each call",
                                 kMaxInlinedInstructions);
      }
      if (instruction->opcode() == Opcode::kParameter) {
        scope.nodes[instruction.get()] = parameters[instruction->parameter_number()];
      } else {
        VXLA_ASSIGN_OR_RETURN(scope.nodes[instruction.get()], NodesOf(scope, *instruction));
      }
      if (const auto groups = stated_.groups.find(instruction.get()); groups != stated_.groups.end())
        Join(groups->second, scope.of(instruction.get()));
    }
    return scope.of(computation.root());
  }

  // What lies alike is related as the operand and the result of a copy.
  void Join(const std::vector<int64_t>& groups, const std::vector<int>& nodes) {
    for (const int64_t group : groups) {
      const auto [first, is_new] = first_of_group_.try_emplace(group, nodes);
      if (!is_new && first->second != nodes) RelateEqual(first->second, nodes);
    }
  }

  Result<std::vector<int>> NodesOf(ShardingScope& scope, const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Opcode::kTuple: {
        std::vector<int> nodes;
        for (const Instruction* operand : instruction.operands()) {
          const std::vector<int>& more = scope.of(operand);
          nodes.insert(nodes.end(), more.begin(), more.end());
        }
        return nodes;
      }
      case Opcode::kGetTupleElement:
        return OfElement(instruction, scope.of(instruction.operand(0)));
      case Opcode::kOptimizationBarrier:
      case Opcode::kAddDependency:
        return scope.of(instruction.operand(0));
      case Opcode::kCall:
        return stated_.manual.contains(&instruction) ? ManualNodes(scope, instruction) : CallNodes(scope, instruction);
      case Opcode::kWhile:
        return LoopNodes(scope, instruction);
      case Opcode::kConditional:
        return BranchNodes(scope, instruction);
      default:
        return PlainNodes(scope, instruction);
    }
  }

  // What cuts no operand cuts no result, where tiles that the text cut itself are computed with.
  Atoms KeptOut(const ShardingScope& scope, const Instruction& instruction) {
    Atoms kept_out = scope.manual;
    for (const Instruction* operand : instruction.operands()) {
      for (const int node : scope.of(operand)) {
        if (tiles_.contains(node)) Merge(kept_out, AllAtoms());
      }
    }
    return kept_out;
  }

  Atoms AllAtoms() const {
    Atoms all;
    for (int atom = 0; atom < graph_.mesh.count(); ++atom) all.push_back(atom);
    return all;
  }

  bool AreTiles(const ShardingScope& scope, const Instruction& instruction) const {
    return std::ranges::any_of(instruction.operands(), [&](const Instruction* operand) {
      return std::ranges::any_of(scope.of(operand), [&](int node) { return tiles_.contains(node); });
    });
  }

  std::vector<int> NewNodesLike(const ShardingScope& scope, const Instruction& instruction) {
    const std::vector<int> nodes = NewNodes(instruction.shape(), KeptOut(scope, instruction));
    if (AreTiles(scope, instruction)) tiles_.insert(nodes.begin(), nodes.end());
    return nodes;
  }

  Result<std::vector<int>> PlainNodes(ShardingScope& scope, const Instruction& instruction) {
    if (stated_.to_tiles.contains(&instruction)) {
      const std::vector<int> nodes = NewNodes(instruction.shape(), AllAtoms());
      tiles_.insert(nodes.begin(), nodes.end());
      return nodes;
    }
    if (const auto from = stated_.from_tiles.find(&instruction); from != stated_.from_tiles.end()) {
      const std::vector<int> nodes = NewNodes(instruction.shape(), scope.manual);
      State(nodes[0], from->second);
      return nodes;
    }
    const std::vector<int> results = NewNodesLike(scope, instruction);
    if (const auto said = stated_.constraints.find(&instruction); said != stated_.constraints.end()) {
      State(results[0], said->second);
      KeepAddends(scope, instruction, results[0]);
    }
    if (IsFree(instruction)) Node(results[0]).is_free = true;
    std::optional<FactorRule> rule = RuleOf(instruction);
    if (!rule) return results;
    std::vector<int> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(scope.of(operand)[0]);
    Relate(*std::move(rule), std::move(operands), results);
    return results;
  }

  // Addends that are wanted as they are stay so where they are made.
  void KeepAddends(const ShardingScope& scope, const Instruction& constraint, int node) {
    const Atoms addends = Node(node).tiling.addends;
    const Instruction* const made = constraint.operand(0);
    if (addends.empty() || made->users().size() != 1) return;
    const std::optional<FactorRule> rule = RuleOf(*made);
    if (rule && rule->joins == Opcode::kAdd && std::ranges::any_of(rule->factors, &FactorRule::Factor::is_reduced))
      Node(scope.of(made)[0]).tiling.addends = addends;
  }

  Result<std::vector<int>> CallNodes(ShardingScope& scope, const Instruction& call) {
    auto parameters = Transformed(call.operands(), [&](const Instruction* operand) { return scope.of(operand); });
    return Walk(Inner(scope, call), *call.called(0), parameters, scope.manual);
  }

  Result<std::vector<int>> LoopNodes(ShardingScope& scope, const Instruction& loop) {
    const std::vector<int> state = NewNodesLike(scope, loop);
    RelateEqual(scope.of(loop.operand(0)), state);
    for (int i = 0; i < 2; ++i) {
      VXLA_ASSIGN_OR_RETURN(const std::vector<int> root,
                            Walk(Inner(scope, loop), *loop.called(i), {state}, scope.manual));
      if (i == 1) RelateEqual(root, state);
    }
    return state;
  }

  Result<std::vector<int>> BranchNodes(ShardingScope& scope, const Instruction& conditional) {
    const std::vector<int> results = NewNodesLike(scope, conditional);
    for (int i = 0; i < static_cast<int>(conditional.called().size()); ++i) {
      VXLA_ASSIGN_OR_RETURN(const std::vector<int> root, Walk(Inner(scope, conditional), *conditional.called(i),
                                                              {scope.of(conditional.operand(i + 1))}, scope.manual));
      RelateEqual(root, results);
    }
    return results;
  }

  Result<std::vector<int>> ManualNodes(ShardingScope& scope, const Instruction& call) {
    const StatedShardings::Manual& said = stated_.manual.at(&call);
    const Computation& body = *call.called(0);
    Atoms manual = scope.manual;
    for (const std::string& axis : said.axes) {
      const std::optional<Atoms> atoms = said.mesh == nullptr ? std::nullopt : graph_.mesh.Find(*said.mesh, {axis});
      Merge(manual, atoms ? *atoms : AllAtoms());
    }
    std::vector<std::vector<int>> parameters;
    std::vector<int>& entering = scope.entering[&call];
    for (size_t i = 0; i < call.operands().size(); ++i) {
      const Instruction* const operand = call.operand(i);
      entering.push_back(NewNode(operand->shape(), scope.manual));
      Node(entering.back()).must_divide = true;
      State(entering.back(), said.in[i]);
      Merge(Node(entering.back()).kept_out, manual);  // these cut it as is said, no further
      RelateEqual(scope.of(operand), {entering.back()});
      const Shape& tile = body.parameter(i)->shape();
      parameters.push_back({NewNode(tile, manual)});
      Relate(TileRule(operand->shape(), tile), {entering.back()}, parameters.back());
    }
    VXLA_ASSIGN_OR_RETURN(const std::vector<int> root, Walk(Inner(scope, call), body, parameters, manual));
    std::vector<int>& leaving = scope.leaving[&call];
    const std::vector<const Shape*> leaves = FlattenTuple(call.shape());
    for (size_t i = 0; i < leaves.size(); ++i) {
      leaving.push_back(NewNode(*leaves[i], scope.manual));
      Node(leaving.back()).must_divide = true;
      State(leaving.back(), said.out[i]);
      Merge(Node(leaving.back()).kept_out, manual);
      Relate(TileRule(*leaves[i], Node(root[i]).shape), {leaving.back()}, {root[i]});
    }
    return leaving;
  }

  ShardingScope& Inner(ShardingScope& scope, const Instruction& caller) {
    return *scope.inner[&caller].emplace_back(std::make_unique<ShardingScope>());
  }

  const Module& module_;
  const StatedShardings& stated_;
  ShardingGraph graph_;
  std::unordered_set<int> tiles_;  // nodes that are tiles which the text cut itself
  int64_t count_ = 0;
  std::map<int64_t, std::vector<int>> first_of_group_;  // the nodes of its first array
};

}  // namespace

std::vector<ShardingRelation::Array> ShardingRelation::arrays() const {
  std::vector<Array> arrays;
  for (const auto& [nodes, factors] : {std::pair(&operands, &rule.operands), {&results, &rule.results}}) {
    for (size_t i = 0; i < nodes->size(); ++i) {
      if ((*nodes)[i] >= 0) arrays.push_back({(*nodes)[i], &(*factors)[i]});
    }
  }
  return arrays;
}

bool ShardingNode::MayTake(int atom) const {
  if (tiling.Uses(atom) || Contains(kept_out, atom)) return false;
  return std::ranges::none_of(later, [atom](const Later& each) { return Contains(each.atoms, atom); });
}

Result<ShardingGraph> MakeShardingGraph(const Module& module, const StatedShardings& stated) {
  return GraphBuilder(module, stated).Build();
}

}  // namespace VXLA_NAMESPACE
