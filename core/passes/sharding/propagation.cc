#include "core/passes/sharding/propagation.h"

#include <algorithm>
#include <set>

#include "core/host/ranges.h"
#include "core/passes/sharding/factor_atoms.h"

namespace VXLA_NAMESPACE {
namespace {

bool IsPrefix(const Atoms& of, const Atoms& all) {
  return of.size() <= all.size() && std::equal(of.begin(), of.end(), all.begin());
}

// One array of a relation.
struct Member {
  ShardingNode* node;
  const FactorRule::ArrayFactors* array;
  std::vector<Atoms> atoms;  // by factor
};

class Propagation {
 public:
  explicit Propagation(ShardingGraph& graph) : graph_(graph), changed_(graph.nodes.size()) {}

  void Run() {
    std::set<int64_t> priorities{0};
    for (const ShardingNode& node : graph_.nodes) {
      for (const ShardingNode::Later& later : node.later) priorities.insert(later.priority);
    }
    for (const int64_t priority : priorities) {
      for (ShardingNode& node : graph_.nodes) Reveal(node, priority);
      for (const bool all : {false, true}) {
        for (const bool aggressive : {false, true}) Spread(all, aggressive);
      }
    }
    for (ShardingNode& node : graph_.nodes) {
      if (node.is_outer) KeepWholeAxes(node);
    }
  }

 private:
  // Who gives or takes an array names axes: unless the program says so, no part of one divides it.
  void KeepWholeAxes(ShardingNode& node) const {
    for (size_t d = 0; d < node.tiling.dimensions.size(); ++d) {
      Atoms& atoms = node.tiling.dimensions[d];
      const Atoms& said = node.said.dimensions[d];
      atoms.resize(std::max(graph_.mesh.WholeAxes(atoms), IsPrefix(said, atoms) ? said.size() : 0));
    }
  }

  static void Reveal(ShardingNode& node, int64_t priority) {
    for (const ShardingNode::Later& later : node.later) {
      if (later.priority != priority) continue;
      node.tiling.dimensions[later.dimension] = later.atoms;
      node.is_open[later.dimension] = later.is_open;
    }
    std::erase_if(node.later, [priority](const ShardingNode::Later& later) { return later.priority == priority; });
  }

  // Until nothing changes, forwards and backwards.
  void Spread(bool all, bool aggressive) {
    const size_t count = graph_.relations.size();
    std::vector<int64_t> looked(count, -1);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < 2 * count; ++i) {
        const size_t at = i < count ? i : 2 * count - 1 - i;
        const ShardingRelation& relation = graph_.relations[at];
        if ((!all && !relation.rule.is_elementwise) || LastChange(relation) <= looked[at]) continue;
        looked[at] = changes_;
        changed |= Apply(relation, aggressive);
      }
    }
  }

  // Of its arrays, the number of the last one.
  int64_t LastChange(const ShardingRelation& relation) const {
    int64_t last = 0;
    for (const auto* nodes : {&relation.operands, &relation.results}) {
      for (const int node : *nodes) last = std::max(last, node < 0 ? 0 : changed_[node]);
    }
    return last;
  }

  bool Apply(const ShardingRelation& relation, bool aggressive) {
    std::vector<Member> members = MembersOf(relation);
    bool changed = false;
    for (const int factor : FactorOrder(relation, members)) {
      const Atoms wanted = aggressive ? Longest(members, factor) : Agreed(members, factor);
      if (wanted.empty()) continue;
      for (Member& member : members) {
        if (!Extend(relation.rule, member, factor, wanted)) continue;
        changed = true;
        changed_[member.node - graph_.nodes.data()] = ++changes_;
        member.atoms = AtomsOf(relation.rule, *member.array, *member.node);
      }
    }
    return changed;
  }

  std::vector<Atoms> AtomsOf(const FactorRule& rule, const FactorRule::ArrayFactors& array,
                             const ShardingNode& node) const {
    return FactorAtoms(graph_.mesh, rule, array, node.tiling, FactorReading::kGuessed);
  }

  std::vector<Member> MembersOf(const ShardingRelation& relation) {
    return Transformed(relation.arrays(), [&](const ShardingRelation::Array& each) {
      ShardingNode& node = graph_.nodes[each.node];
      return Member{&node, each.array, AtomsOf(relation.rule, *each.array, node)};
    });
  }

  // Those of the largest divided array first.
  std::vector<int> FactorOrder(const ShardingRelation& relation, const std::vector<Member>& members) const {
    std::vector<std::pair<int64_t, int>> order;
    for (int factor = 0; factor < static_cast<int>(relation.rule.factors.size()); ++factor) {
      int64_t largest = -1;
      for (const Member& member : members) {
        if (!member.atoms[factor].empty()) largest = std::max(largest, member.node->shape.ElementCount());
      }
      if (largest >= 0) order.emplace_back(-largest, factor);
    }
    std::ranges::sort(order);
    std::vector<int> factors;
    for (const auto& [size, factor] : order) factors.push_back(factor);
    return factors;
  }

  static Atoms Longest(const std::vector<Member>& members, int factor) {
    const Member* best = nullptr;
    for (const Member& member : members) {
      const size_t length = member.atoms[factor].size();
      const size_t known = best == nullptr ? 0 : best->atoms[factor].size();
      const bool larger = best != nullptr && member.node->shape.ElementCount() > best->node->shape.ElementCount();
      if (length > known || (length == known && length > 0 && larger)) best = &member;
    }
    return best == nullptr ? Atoms() : best->atoms[factor];
  }

  // What no member has otherwise: each member's atoms begin it, or it begins them; no member uses its atoms elsewhere.
  Atoms Agreed(const std::vector<Member>& members, int factor) const {
    Atoms wanted = Longest(members, factor);
    for (const Member& member : members) {
      const Atoms& own = member.atoms[factor];
      if (!IsPrefix(own, wanted)) return {};
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool taken = std::ranges::any_of(members, [&](const Member& member) {
        const bool here = Contains(member.atoms[factor], wanted[i]);
        return !here && (member.node->tiling.Uses(wanted[i]) || Contains(member.node->kept_out, wanted[i]));
      });
      if (!taken || graph_.mesh.IsParts(wanted[i])) continue;
      wanted.resize(i);
      break;
    }
    if (!wanted.empty() && graph_.mesh.IsParts(wanted.back())) wanted.pop_back();
    return wanted;
  }

  // Divides the member's factor among as many of the atoms as it can take.
  bool Extend(const FactorRule& rule, Member& member, int factor, const Atoms& wanted) {
    const size_t at = static_cast<size_t>(factor);
    if (member.atoms[at].size() >= wanted.size() || !IsPrefix(member.atoms[at], wanted)) return false;
    for (size_t d = 0; d < member.array->size(); ++d) {
      if (std::ranges::find((*member.array)[d], factor) == (*member.array)[d].end()) continue;
      if (!member.node->is_open[d]) return false;
      std::vector<Atoms> atoms = FactorAtoms(graph_.mesh, rule, *member.array, member.node->tiling);
      if (atoms[at] != member.atoms[at]) return false;
      Tiling taken = member.node->tiling;
      for (size_t i = atoms[at].size(); i < wanted.size() && MayTake(*member.node, wanted[i]); ++i) {
        atoms[at].push_back(wanted[i]);
        if (graph_.mesh.IsParts(wanted[i])) continue;
        Tiling tiling = ArrayTiling(graph_.mesh, rule, *member.array, atoms);
        if (!CanLie(rule, member, factor, d, tiling, atoms)) break;
        taken.dimensions[d] = std::move(tiling.dimensions[d]);
      }
      if (taken == member.node->tiling) return false;
      member.node->tiling = std::move(taken);
      return true;
    }
    return false;
  }

  bool MayTake(const ShardingNode& node, int atom) const { return graph_.mesh.IsParts(atom) || node.MayTake(atom); }

  // Whether the dimension has what it had, and each device something of it.
  bool CanLie(const FactorRule& rule, const Member& member, int factor, size_t dimension, const Tiling& tiling,
              const std::vector<Atoms>& atoms) const {
    const ShardingNode& node = *member.node;
    const FactorRule::Factor& of = rule.factors[factor];
    const Atoms &more = tiling.dimensions[dimension], &own = atoms[factor];
    if (!IsPrefix(node.tiling.dimensions[dimension], more)) return false;
    const bool in_parts = graph_.mesh.PartsAt(more) < more.size();
    if (in_parts && node.must_divide) return false;
    const int64_t all = of.may_pad ? node.shape.dimension(dimension) : of.size;
    // A part with too few elements for an axis is not cut along a part of the axis.
    if (all == 0 || (of.is_shifted && all < graph_.mesh.SizeOf(own))) return false;
    if (in_parts && !graph_.mesh.Fits(more, node.shape.dimension(dimension))) return false;
    const bool pads = of.may_pad && !node.must_divide && !in_parts;
    if (pads ? all < graph_.mesh.SizeOf(own) : !graph_.mesh.Divides(own, all)) return false;
    if ((*member.array)[dimension].size() == 1) return true;
    const std::vector<Atoms> read = FactorAtoms(graph_.mesh, rule, *member.array, tiling);
    return std::ranges::all_of((*member.array)[dimension], [&](int each) { return read[each] == atoms[each]; });
  }

  ShardingGraph& graph_;
  int64_t changes_ = 0;           // so far
  std::vector<int64_t> changed_;  // by node, the last one
};

}  // namespace

void PropagateShardings(ShardingGraph& graph) { Propagation(graph).Run(); }

}  // namespace VXLA_NAMESPACE
