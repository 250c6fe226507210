// Among which devices an operation's work is divided.
#include <algorithm>

#include "core/ceil_divide.h"
#include "core/passes/sharding/exchange_cost.h"
#include "core/passes/sharding/factor_atoms.h"
#include "core/passes/sharding/partitioner_impl.h"

namespace VXLA_NAMESPACE {
namespace {

// The atoms of factors while arrays are asked in turn: an atom divides one factor only.
class AtomChoice {
 public:
  AtomChoice(const MeshAtoms& mesh, const Instruction& instruction, const FactorRule& rule)
      : mesh_(mesh), instruction_(instruction), rule_(rule), atoms_(rule.factors.size()) {}

  void Ask(const FactorRule::ArrayFactors& array, const Tiling& tiling) {
    const std::vector<Atoms> has = FactorAtoms(mesh_, rule_, array, tiling);
    for (size_t f = 0; f < has.size(); ++f) {
      Atoms& chosen = atoms_[f];
      if (has[f].size() <= chosen.size() || !std::equal(chosen.begin(), chosen.end(), has[f].begin())) continue;
      for (size_t i = chosen.size(); i < has[f].size(); ++i) {
        if (!mesh_.IsParts(has[f][i]) && Contains(used_, has[f][i])) break;
        used_.push_back(has[f][i]);
        chosen.push_back(has[f][i]);
      }
    }
  }

  std::vector<Atoms> Take() {
    for (size_t f = 0; f < atoms_.size(); ++f) {
      const FactorRule::Factor& factor = rule_.factors[f];
      Atoms& atoms = atoms_[f];
      if (!atoms.empty() && mesh_.IsParts(atoms.back())) atoms.pop_back();
      if (factor.is_reversed || factor.is_indexed) atoms = mesh_.WithoutParts(atoms);
      if (factor.is_shifted) Shift(static_cast<int>(f));
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto* arrays : {&rule_.operands, &rule_.results}) {
        for (const FactorRule::ArrayFactors& array : *arrays) changed |= Drop(array);
      }
    }
    return std::move(atoms_);
  }

 private:
  // Where devices need more than is beside their tiles, these are larger, or each part of what the operation puts
  // together, or takes from, is divided.
  void Shift(int factor) {
    Atoms& atoms = atoms_[factor];
    const IntList& parts = rule_.factors[factor].parts;
    const auto fits = [&](const IntList& all) {
      const int64_t count = mesh_.SizeOf(atoms);
      return std::ranges::all_of(all, [count](int64_t part) { return part % count == 0; });
    };
    if (!atoms.empty() && mesh_.IsParts(atoms[0])) {
      if (!parts.empty() && RefinesParts(mesh_.PartsOf(atoms[0]), parts) && fits(mesh_.PartsOf(atoms[0]))) return;
      atoms = mesh_.WithoutParts(atoms);
    }
    const Atoms all = atoms;
    while (!atoms.empty() && !ReachesNext(factor)) atoms.pop_back();
    // Larger tiles cost what they have more, of each operand; parts a tile at most.
    const int64_t growth = instruction_.opcode() == Opcode::kConcatenate ? 1 : 2;
    if (mesh_.SizeOf(all) <= growth * mesh_.SizeOf(atoms)) return;
    atoms = all;
    if (parts.size() > 1 && fits(parts)) {
      atoms.insert(atoms.begin(), mesh_.InParts(parts));
    } else {
      while (!atoms.empty() && !ReachesNext(factor)) atoms.pop_back();
    }
  }

  // Of a shifted factor: whether devices need nothing but what is beside their tiles.
  bool ReachesNext(int factor) const {
    const int64_t count = mesh_.SizeOf(atoms_[factor]);
    for (size_t i = 0; i < rule_.operands.size(); ++i) {
      for (size_t d = 0; d < rule_.operands[i].size(); ++d) {
        if (std::ranges::find(rule_.operands[i][d], factor) == rule_.operands[i][d].end()) continue;
        const int dimension = static_cast<int>(d);
        const int64_t whole = instruction_.operand(i)->shape().dimension(dimension);
        const DimensionShift shift = ShiftOf(instruction_, i, dimension);
        const std::optional<TileSource> source = SourceOf(shift, CeilDivide(shift.results, count));
        if (!source || !TileExchange::ReachesNext(CeilDivide(whole, count), count, whole, *source)) return false;
      }
    }
    return true;
  }

  // What cannot be said of the array does not divide it: of several factors of a dimension, the last ones.
  bool Drop(const FactorRule::ArrayFactors& array) {
    const auto has_several = [](const std::vector<int>& factors) { return factors.size() > 1; };
    if (std::ranges::none_of(array.dimensions, has_several)) return false;
    const std::vector<Atoms> said = FactorAtoms(mesh_, rule_, array, ArrayTiling(mesh_, rule_, array, atoms_));
    bool changed = false;
    for (const std::vector<int>& factors : array.dimensions) {
      for (const int factor : factors) {
        const size_t f = static_cast<size_t>(factor);
        if (factors.size() < 2 || said[f] == atoms_[f]) continue;
        changed = true;
        atoms_[f].clear();
      }
    }
    return changed;
  }

  const MeshAtoms& mesh_;
  const Instruction& instruction_;
  const FactorRule& rule_;
  std::vector<Atoms> atoms_;
  Atoms used_;
};

}  // namespace

// Whoever is asked first keeps its atoms: of the orders the one for which devices send least.
std::vector<Atoms> Partitioner::ChooseAtoms(const Frame& frame, const Instruction& instruction,
                                            const FactorRule& rule) {
  const std::vector<int>& nodes = frame.scope.of(&instruction);
  std::vector<int> operands;
  for (int i = 0; i < instruction.operand_count(); ++i) {
    const Value& value = *frame.values.at(instruction.operand(i))[0];
    if (value.tiling() != nullptr && value.free == nullptr && !value.tiling()->is_whole()) operands.push_back(i);
  }
  std::ranges::stable_sort(operands, std::greater(),
                           [&](int i) { return instruction.operand(i)->shape().ElementCount(); });
  constexpr int kResults = -1;
  const auto choice = [&](std::vector<int> order) {
    AtomChoice asked(graph_.mesh, instruction, rule);
    for (const int i : order) {
      for (size_t k = 0; i == kResults && k < nodes.size(); ++k) asked.Ask(rule.results[k], Node(nodes[k]).tiling);
      if (i != kResults) asked.Ask(rule.operands[i], *frame.values.at(instruction.operand(i))[0]->tiling());
    }
    return asked.Take();
  };
  std::vector<int> order = operands;
  order.insert(order.begin(), kResults);
  std::vector<std::vector<Atoms>> choices{choice(order)};
  for (size_t first = 1; first < std::min<size_t>(order.size(), 4); ++first) {
    std::vector<int> other = order;
    std::rotate(other.begin(), other.begin() + static_cast<ptrdiff_t>(first),
                other.begin() + static_cast<ptrdiff_t>(first) + 1);
    for (const bool results_last : {false, true}) {
      if (results_last)
        std::rotate(std::ranges::find(other, kResults), std::ranges::find(other, kResults) + 1, other.end());
      std::vector<Atoms> atoms = choice(other);
      if (std::ranges::find(choices, atoms) == choices.end()) choices.push_back(std::move(atoms));
    }
  }
  size_t best = 0;
  int64_t least = choices.size() == 1 ? 0 : CostOf(frame, instruction, rule, choices[0]);
  for (size_t k = 1; k < choices.size(); ++k) {
    const int64_t cost = CostOf(frame, instruction, rule, choices[k]);
    if (cost >= least) continue;
    least = cost;
    best = k;
  }
  return choices[best];
}

int64_t Partitioner::CostOf(const Shape& whole, const Tiling& from, const Tiling& to) {
  constexpr int64_t kPerByte = 64;  // of as many bytes, fewer exchanges
  if (from == to) return 0;
  Computation scratch("cost");
  const Tiling tiles{from.dimensions, {}};
  Instruction* const tile =
      scratch.Add(Opcode::kParameter, graph_.mesh.TileShape(whole, tiles), {}, ParameterAttributes{0});
  exchange_->Reshard(scratch, tile, whole, from, to);
  int64_t cost = 0;
  for (const auto& each : scratch.instructions()) {
    if (Has(each->opcode(), Trait::kMeets)) cost += kPerByte * BytesSent(*each, graph_.mesh.devices()) + 1;
  }
  return cost;
}

// How many users want the array so, by how their results are to lie: it is brought there once for all of them.
int64_t Partitioner::SharersOf(const Frame& frame, const Instruction& array, const Tiling& wanted) {
  constexpr int64_t kMost = 16;
  int64_t sharers = 0, asked = 0;
  for (const Instruction* user : array.users()) {
    if (++asked > kMost) break;
    const std::optional<FactorRule> rule = RuleOf(*user);
    if (!rule) continue;
    const std::vector<int>& nodes = frame.scope.of(user);
    AtomChoice choice(graph_.mesh, *user, *rule);
    for (size_t k = 0; k < nodes.size(); ++k) choice.Ask(rule->results[k], Node(nodes[k]).tiling);
    const std::vector<Atoms> atoms = choice.Take();
    for (size_t i = 0; i < rule->operands.size(); ++i) {
      if (user->operand(i) != &array || ArrayTiling(graph_.mesh, *rule, rule->operands[i], atoms) != wanted) continue;
      ++sharers;
      break;
    }
  }
  return std::max<int64_t>(1, sharers);
}

int64_t Partitioner::CostOf(const Frame& frame, const Instruction& instruction, const FactorRule& rule,
                            const std::vector<Atoms>& atoms) {
  int64_t cost = 0;
  for (size_t i = 0; i < rule.operands.size(); ++i) {
    const Instruction* const operand = instruction.operand(i);
    const Value& value = *frame.values.at(operand)[0];
    const Tiling wanted = ArrayTiling(graph_.mesh, rule, rule.operands[i], atoms);
    const bool is_there = std::ranges::any_of(value.tiles, [&](const auto& tile) { return tile.first == wanted; });
    if (value.free == nullptr && value.tiling() != nullptr && !is_there)
      cost += CostOf(operand->shape(), *value.tiling(), wanted) / SharersOf(frame, *operand, wanted);
  }
  const std::vector<const Shape*> leaves = FlattenTuple(instruction.shape());
  const std::vector<int>& nodes = frame.scope.of(&instruction);
  for (size_t k = 0; k < leaves.size(); ++k) {
    const ShardingNode& node = Node(nodes[k]);
    Tiling made;
    const Tiling joined = JoinedTiling(rule, atoms, node, made);
    if (k == 0) cost += CostOf(*leaves[k], made, joined);
    const Tiling result = k == 0 ? joined : ArrayTiling(graph_.mesh, rule, rule.results[k], atoms);
    cost += CostOf(*leaves[k], result, node.tiling);
  }
  return cost;
}

// How the (only) result lies before and after devices join what they have of it.
Tiling Partitioner::JoinedTiling(const FactorRule& rule, const std::vector<Atoms>& atoms, const ShardingNode& node,
                                 Tiling& made) const {
  made = ArrayTiling(graph_.mesh, rule, rule.results[0], atoms);
  for (size_t f = 0; f < atoms.size(); ++f) {
    if (!rule.factors[f].is_reduced) continue;
    const Atoms joined = graph_.mesh.WithoutParts(atoms[f]);
    made.addends.insert(made.addends.end(), joined.begin(), joined.end());
  }
  Tiling wanted{made.dimensions, {}};
  for (size_t d = 0; d < made.dimensions.size(); ++d) {
    const Atoms &has = made.dimensions[d], &asked = node.tiling.dimensions[d];
    if (has.size() > asked.size() || !std::equal(has.begin(), has.end(), asked.begin())) continue;
    const auto rest = std::span(asked).subspan(has.size());
    if (!has.empty() && !graph_.mesh.Divides(asked, node.shape.dimension(d))) continue;
    const bool is_joined =
        std::ranges::all_of(rest, [&](int atom) { return graph_.mesh.IsParts(atom) || Contains(made.addends, atom); });
    if (is_joined) wanted.dimensions[d] = asked;
  }
  for (const int atom : node.tiling.addends) {
    if (rule.joins == Opcode::kAdd && Contains(made.addends, atom)) wanted.addends.push_back(atom);
  }
  return wanted;
}

// Of a collective: whether those who exchange have the same tile.
bool Partitioner::KeepsGroups(const Instruction& collective, const std::vector<Atoms>& atoms) const {
  Atoms used;
  for (const Atoms& each : atoms) used.insert(used.end(), each.begin(), each.end());
  if (!Has(collective.opcode(), Trait::kMeets) || used.empty()) return true;
  const IntList places = graph_.mesh.Places(used);
  const auto place = [&](int64_t device) { return device < std::ssize(places) ? places[device] : -1; };
  if (const auto* const pairs = std::get_if<CollectivePermuteAttributes>(&collective.attributes())) {
    return pairs->channel_id.has_value() && std::ranges::all_of(pairs->source_target_pairs, [&](const auto& pair) {
             return place(pair.first) == place(pair.second);
           });
  }
  const auto& over = collective.attributes<CollectiveAttributes>();
  if (!over.channel_id || over.replica_groups.groups.empty()) return false;
  if (!over.use_global_device_ids && collective.opcode() != Opcode::kAllToAll) return false;
  return std::ranges::all_of(over.replica_groups.groups, [&](const IntList& group) {
    return !group.empty() &&
           std::ranges::all_of(group, [&](int64_t device) { return place(device) == place(group[0]); });
  });
}

}  // namespace VXLA_NAMESPACE
