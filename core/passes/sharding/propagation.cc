#include "core/passes/sharding/propagation.h"

#include <algorithm>
#include <set>

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
  explicit Propagation(ShardingGraph& graph) : graph_(graph) {}

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
  }

 private:
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
    for (bool changed = true; changed;) {
      changed = false;
      for (const ShardingRelation& relation : graph_.relations) changed |= Apply(relation, all, aggressive);
      for (auto i = graph_.relations.rbegin(); i != graph_.relations.rend(); ++i) changed |= Apply(*i, all, aggressive);
    }
  }

  bool Apply(const ShardingRelation& relation, bool all, bool aggressive) {
    if (!all && !relation.rule.is_elementwise) return false;
    std::vector<Member> members = MembersOf(relation);
    bool changed = false;
    for (const int factor : FactorOrder(relation, members)) {
      const Atoms wanted = aggressive ? Longest(members, factor) : Agreed(members, factor);
      if (wanted.empty()) continue;
      for (Member& member : members) {
        if (!Extend(relation.rule, member, factor, wanted)) continue;
        changed = true;
        member.atoms = FactorAtoms(graph_.mesh, relation.rule, *member.array, member.node->tiling);
      }
    }
    return changed;
  }

  std::vector<Member> MembersOf(const ShardingRelation& relation) {
    std::vector<Member> members;
    const auto add = [&](const std::vector<int>& nodes, const std::vector<FactorRule::ArrayFactors>& arrays) {
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i] < 0) continue;
        ShardingNode& node = graph_.nodes[static_cast<size_t>(nodes[i])];
        members.push_back({&node, &arrays[i], FactorAtoms(graph_.mesh, relation.rule, arrays[i], node.tiling)});
      }
    };
    add(relation.operands, relation.rule.operands);
    add(relation.results, relation.rule.results);
    return members;
  }

  // Those of the largest divided array first.
  std::vector<int> FactorOrder(const ShardingRelation& relation, const std::vector<Member>& members) const {
    std::vector<std::pair<int64_t, int>> order;
    for (int factor = 0; factor < static_cast<int>(relation.rule.factors.size()); ++factor) {
      int64_t largest = -1;
      for (const Member& member : members) {
        if (!member.atoms[static_cast<size_t>(factor)].empty())
          largest = std::max(largest, member.node->shape.ElementCount());
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
      const size_t length = member.atoms[static_cast<size_t>(factor)].size();
      const size_t known = best == nullptr ? 0 : best->atoms[static_cast<size_t>(factor)].size();
      const bool larger = best != nullptr && member.node->shape.ElementCount() > best->node->shape.ElementCount();
      if (length > known || (length == known && length > 0 && larger)) best = &member;
    }
    return best == nullptr ? Atoms() : best->atoms[static_cast<size_t>(factor)];
  }

  // What no member has otherwise: each member's atoms begin it, or it begins them; no member uses its atoms elsewhere.
  static Atoms Agreed(const std::vector<Member>& members, int factor) {
    Atoms wanted = Longest(members, factor);
    for (const Member& member : members) {
      const Atoms& own = member.atoms[static_cast<size_t>(factor)];
      if (!IsPrefix(own, wanted)) return {};
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool taken = std::ranges::any_of(members, [&](const Member& member) {
        const bool here = Contains(member.atoms[static_cast<size_t>(factor)], wanted[i]);
        return !here && (member.node->tiling.Uses(wanted[i]) || Contains(member.node->kept_out, wanted[i]));
      });
      if (!taken) continue;
      wanted.resize(i);
      break;
    }
    return wanted;
  }

  // Divides the member's factor among as many of the atoms as it can take.
  bool Extend(const FactorRule& rule, Member& member, int factor, const Atoms& wanted) {
    const Atoms& own = member.atoms[static_cast<size_t>(factor)];
    if (own.size() >= wanted.size() || !IsPrefix(own, wanted)) return false;
    for (size_t d = 0; d < member.array->size(); ++d) {
      const std::vector<int>& factors = (*member.array)[d];
      const auto at = std::ranges::find(factors, factor);
      if (at == factors.end()) continue;
      ShardingNode& node = *member.node;
      Atoms& atoms = node.tiling.dimensions[d];
      if (!node.is_open[d] || !EndsWith(rule, member, d, static_cast<size_t>(at - factors.begin()))) return false;
      const FactorRule::Factor& of = rule.factors[static_cast<size_t>(factor)];
      const bool pads = of.may_pad && !node.must_divide;
      const int64_t all = of.may_pad ? node.shape.dimension(static_cast<int>(d)) : of.size;
      if (of.may_pad && node.must_divide && !graph_.mesh.Divides(wanted, all)) return false;
      // A part with too few elements for an axis is not cut along a part of the axis.
      if (of.is_shifted && all < graph_.mesh.SizeOf(wanted)) return false;
      Atoms more = own;
      for (size_t i = own.size(); i < wanted.size() && node.MayTake(wanted[i]); ++i) {
        more.push_back(wanted[i]);
        if (all > 0 && (pads ? all >= graph_.mesh.SizeOf(more) : graph_.mesh.Divides(more, all))) continue;
        more.pop_back();
        break;
      }
      atoms.insert(atoms.end(), more.begin() + static_cast<ptrdiff_t>(own.size()), more.end());
      return more.size() > own.size();
    }
    return false;
  }

  // Whether atoms at the end of the dimension's are of this factor: those before it are divided to the end, and
  // nothing after it is.
  bool EndsWith(const FactorRule& rule, const Member& member, size_t dimension, size_t at) const {
    const std::vector<int>& factors = (*member.array)[dimension];
    size_t known = 0;
    for (size_t k = 0; k < factors.size(); ++k) {
      const Atoms& atoms = member.atoms[static_cast<size_t>(factors[k])];
      known += atoms.size();
      const int64_t size = rule.factors[static_cast<size_t>(factors[k])].size;
      if (k < at && graph_.mesh.SizeOf(atoms) != size) return false;
      if (k > at && !atoms.empty()) return false;
    }
    return known == member.node->tiling.dimensions[dimension].size();
  }

  ShardingGraph& graph_;
};

}  // namespace

void PropagateShardings(ShardingGraph& graph) { Propagation(graph).Run(); }

std::vector<Atoms> FactorAtoms(const MeshAtoms& mesh, const FactorRule& rule, const FactorRule::ArrayFactors& array,
                               const Tiling& tiling) {
  std::vector<Atoms> atoms(rule.factors.size());
  for (size_t d = 0; d < array.size(); ++d) {
    if (array[d].size() == 1 && rule.factors[static_cast<size_t>(array[d][0])].may_pad) {
      atoms[static_cast<size_t>(array[d][0])] = tiling.dimensions[d];
      continue;
    }
    size_t k = 0;
    int64_t left = array[d].empty() ? 0 : rule.factors[static_cast<size_t>(array[d][0])].size;
    for (const int atom : tiling.dimensions[d]) {
      while (left == 1 && k + 1 < array[d].size()) left = rule.factors[static_cast<size_t>(array[d][++k])].size;
      if (left == 0 || rule.factors[static_cast<size_t>(array[d][k])].is_whole) break;
      if (left % mesh.size(atom) != 0) break;
      left /= mesh.size(atom);
      atoms[static_cast<size_t>(array[d][k])].push_back(atom);
    }
  }
  return atoms;
}

Tiling ArrayTiling(const FactorRule::ArrayFactors& array, const std::vector<Atoms>& atoms) {
  Tiling tiling;
  for (const std::vector<int>& factors : array) {
    Atoms& dimension = tiling.dimensions.emplace_back();
    for (const int factor : factors) {
      const Atoms& more = atoms[static_cast<size_t>(factor)];
      dimension.insert(dimension.end(), more.begin(), more.end());
    }
  }
  return tiling;
}

}  // namespace VXLA_NAMESPACE
