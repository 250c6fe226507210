#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/passes/sharding/factor_atoms.h"
#include "core/passes/sharding/propagation.h"

namespace VXLA_NAMESPACE {
namespace {

using Joined = ShardingRelation::Array;

class PartChoice {
 public:
  explicit PartChoice(ShardingGraph& graph) : graph_(graph) {
    first_.reserve(graph.nodes.size());
    for (const ShardingNode& node : graph.nodes) {
      first_.push_back(parents_.size());
      for (size_t d = 0; d < node.tiling.dimensions.size(); ++d) {
        parents_.push_back(parents_.size());
        places_.emplace_back(first_.size() - 1, d);
      }
    }
  }

  void Run() {
    if (std::ranges::none_of(graph_.relations, [&](const ShardingRelation& each) { return HasRequests(each); })) return;
    Pin();
    for (const ShardingRelation& relation : graph_.relations) Unite(relation);
    for (const ShardingRelation& relation : graph_.relations) Ask(relation);
    for (const ShardingRelation& relation : graph_.relations) Count(relation);
    Cut();
  }

 private:
  struct Class {
    std::set<int64_t> ends;
    int64_t gain = 0, cost = 0;  // elements that need not move, and that have to
  };

  ShardingNode& Node(int node) { return graph_.nodes[node]; }
  const Atoms& AtomsAt(size_t key) const {
    const auto [node, d] = places_[key];
    return graph_.nodes[node].tiling.dimensions[d];
  }
  size_t Key(int node, size_t d) const { return first_[node] + d; }
  // That a device has.
  int64_t Elements(size_t key) const {
    const ShardingNode& node = graph_.nodes[places_[key].first];
    return graph_.mesh.TileShape(node.shape, node.tiling).ElementCount();
  }
  size_t ClassOf(size_t key) {
    while (parents_[key] != key) key = parents_[key] = parents_[parents_[key]];
    return key;
  }
  bool MayBeCut(size_t key) const {
    const Atoms& atoms = AtomsAt(key);
    return !pinned_[places_[key].first] && !atoms.empty() && graph_.mesh.PartsAt(atoms) == atoms.size();
  }

  // Has a dimension of several factors, as reshapes have.
  static bool IsSplit(const ShardingRelation& relation, const Joined& member) {
    return member.array->runs.empty() && !relation.rule.is_elementwise &&
           std::ranges::any_of(member.array->dimensions, [](const std::vector<int>& each) { return each.size() > 1; });
  }
  bool HasRequests(const ShardingRelation& relation) {
    return std::ranges::any_of(relation.arrays(), [&](const Joined& member) {
      const Tiling& tiling = Node(member.node).tiling;
      if (IsSplit(relation, member)) {
        const std::vector<Atoms> guessed =
            FactorAtoms(graph_.mesh, relation.rule, *member.array, tiling, FactorReading::kGuessed);
        return guessed != FactorAtoms(graph_.mesh, relation.rule, *member.array, tiling);
      }
      return std::ranges::any_of(member.array->runs,
                                 [&](const auto& run) { return !tiling.dimensions[run.dimension].empty(); });
    });
  }

  // What is given or left, and arrays of its shape that it is combined with.
  void Pin() {
    pinned_.resize(graph_.nodes.size());
    for (size_t i = 0; i < pinned_.size(); ++i) pinned_[i] = graph_.nodes[i].must_divide;
    for (bool changed = true; changed;) {
      changed = false;
      const auto spread = [&](const ShardingRelation& relation) {
        if (!relation.rule.is_elementwise) return;
        const std::vector<Joined> members = relation.arrays();
        const auto from = std::ranges::find_if(members, [&](const Joined& each) { return pinned_[each.node]; });
        if (from == members.end()) return;
        for (const Joined& member : members) {
          if (pinned_[member.node] ||
              !std::ranges::equal(Node(member.node).shape.dimensions(), Node(from->node).shape.dimensions()))
            continue;
          changed = pinned_[member.node] = true;
        }
      };
      for (const ShardingRelation& relation : graph_.relations) spread(relation);
      for (auto i = graph_.relations.rbegin(); i != graph_.relations.rend(); ++i) spread(*i);
    }
  }

  static bool Moves(const FactorRule::Factor& factor) {
    return factor.is_shifted || factor.is_reversed || factor.is_indexed || factor.is_whole;
  }

  // Dimensions that are the same factor alone.
  std::map<int, std::vector<size_t>> Alone(const ShardingRelation& relation) {
    std::map<int, std::vector<size_t>> alone;
    for (const Joined& member : relation.arrays()) {
      for (size_t d = 0; d < member.array->size(); ++d) {
        if ((*member.array)[d].size() == 1) alone[(*member.array)[d][0]].push_back(Key(member.node, d));
      }
    }
    return alone;
  }

  void Unite(const ShardingRelation& relation) {
    for (const auto& [factor, keys] : Alone(relation)) {
      if (Moves(relation.rule.factors[factor])) continue;
      for (const size_t a : keys) {
        for (const size_t b : keys) {
          if (a < b && MayBeCut(a) && MayBeCut(b) && AtomsAt(a) == AtomsAt(b)) parents_[ClassOf(a)] = ClassOf(b);
        }
      }
    }
  }

  void Want(size_t key, const IntList& parts, int64_t gain) {
    Class& wanted = classes_[ClassOf(key)];
    for (const int64_t end : EndsOf(parts)) wanted.ends.insert(end);
    wanted.gain += gain;
  }

  // Without parts, each operation that takes or gives a run has to exchange about a tile.
  void Ask(const ShardingRelation& relation) {
    const std::vector<Joined> members = relation.arrays();
    for (const Joined& member : members) {
      for (const FactorRule::ArrayFactors::Run& run : member.array->runs) {
        const IntList& parts = relation.rule.factors[run.factor].parts;
        const size_t key = Key(member.node, run.dimension);
        const bool is_all = parts.size() > 1 && std::accumulate(parts.begin(), parts.end(), int64_t{0}) == run.size;
        if (!is_all || !MayBeCut(key)) continue;
        const bool is_run_cut = std::ranges::any_of(members, [&](const Joined& other) {
          const auto at = std::ranges::find(other.array->runs, run.factor, &FactorRule::ArrayFactors::Run::factor);
          if (at == other.array->runs.end()) return false;
          const size_t of_run = Key(other.node, at->dimension);
          return of_run != key && AtomsAt(of_run) == AtomsAt(key);
        });
        if (!is_run_cut) continue;
        if (graph_.mesh.Fits(InParts(key, parts), run.size)) {
          Want(key, parts, Elements(key));
        } else {
          classes_[ClassOf(key)].cost += Elements(key);
        }
      }
      if (IsSplit(relation, member)) AskOfSplit(relation, member, members);
    }
  }

  Atoms InParts(size_t key, const IntList& parts) const {
    Atoms atoms = AtomsAt(key);
    atoms.insert(atoms.begin(), graph_.mesh.InParts(parts));
    return atoms;
  }

  void AskOfSplit(const ShardingRelation& relation, const Joined& member, const std::vector<Joined>& members) {
    const Tiling& tiling = Node(member.node).tiling;
    const std::vector<Atoms> exact = FactorAtoms(graph_.mesh, relation.rule, *member.array, tiling),
                             guessed = FactorAtoms(graph_.mesh, relation.rule, *member.array, tiling,
                                                   FactorReading::kGuessed);
    for (size_t d = 0; d < member.array->size(); ++d) {
      const std::vector<int>& factors = (*member.array)[d];
      const size_t key = Key(member.node, d);
      if (factors.size() < 2 || !MayBeCut(key)) continue;
      const auto at = std::ranges::find_if(factors, [&](int f) { return !guessed[f].empty(); });
      if (at == factors.end() || !exact[*at].empty()) continue;
      if (guessed[*at] != AtomsAt(key)) continue;
      const bool is_cut = std::ranges::any_of(members, [&](const Joined& other) {
        const std::vector<std::vector<int>>& all = other.array->dimensions;
        const auto in = std::ranges::find_if(all, [&](const auto& each) { return !each.empty() && each[0] == *at; });
        return in != all.end() && AtomsAt(Key(other.node, static_cast<size_t>(in - all.begin()))) == AtomsAt(key);
      });
      if (!is_cut) continue;
      const Atoms in_parts = ArrayTiling(graph_.mesh, relation.rule, *member.array, guessed).dimensions[d];
      if (!in_parts.empty() && graph_.mesh.IsParts(in_parts[0]))
        Want(key, graph_.mesh.PartsOf(in_parts[0]), Elements(key));
    }
  }

  // What lies beside a class, cut along the same atoms, and cannot be cut as the class is.
  void Count(const ShardingRelation& relation) {
    std::map<int, std::vector<size_t>> together;
    for (const Joined& member : relation.arrays()) {
      for (size_t d = 0; d < member.array->size(); ++d) {
        const std::vector<int>& factors = (*member.array)[d];
        if (!factors.empty() && member.array->runs.empty()) together[factors[0]].push_back(Key(member.node, d));
      }
    }
    for (const auto& [factor, keys] : together) {
      for (const size_t key : keys) {
        const auto own = classes_.find(ClassOf(key));
        if (own == classes_.end() || !MayBeCut(key)) continue;
        for (const size_t other : keys) {
          if (ClassOf(other) == own->first || AtomsAt(other).empty() || !beside_.insert(other).second) continue;
          own->second.cost += std::min(Elements(other), Elements(key));
        }
      }
    }
  }

  void Cut() {
    std::map<size_t, Atoms> chosen;
    for (auto& [key, wanted] : classes_) {
      if (wanted.gain <= wanted.cost || wanted.ends.size() < 2) continue;
      Atoms atoms = InParts(key, PartsBetween({wanted.ends.begin(), wanted.ends.end()}));
      const auto [node, d] = places_[key];
      if (graph_.mesh.Fits(atoms, graph_.nodes[node].shape.dimension(d))) chosen[key] = std::move(atoms);
    }
    for (size_t key = 0; key < parents_.size(); ++key) {
      const auto atoms = chosen.find(ClassOf(key));
      if (atoms == chosen.end() || !MayBeCut(key)) continue;
      const auto [node, d] = places_[key];
      graph_.nodes[node].tiling.dimensions[d] = atoms->second;
    }
  }

  ShardingGraph& graph_;
  std::vector<size_t> first_, parents_;  // by node, of its dimensions; by dimension
  std::vector<std::pair<size_t, size_t>> places_;
  std::vector<bool> pinned_;
  std::map<size_t, Class> classes_;
  std::set<size_t> beside_;  // dimensions beside classes: what changes for one of these serves the others
};

}  // namespace

void ChooseParts(ShardingGraph& graph) { PartChoice(graph).Run(); }

}  // namespace VXLA_NAMESPACE
