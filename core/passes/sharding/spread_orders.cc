#include <algorithm>

#include "core/passes/sharding/propagation.h"

namespace VXLA_NAMESPACE {
namespace {

// Each order is partitioned once at most: so many instructions in all.
constexpr int64_t kMostInstructions = 50000;
constexpr size_t kMostOrders = 16;

struct Group {
  Shape shape;
  std::string text;
  Atoms atoms;
  bool Has(const Shape& other, const ArraySharding& sharding) const {
    return shape == other && text == ShardingText(sharding);
  }
};

Atoms AtomsOf(const MeshAtoms& mesh, const ArraySharding& sharding) {
  Atoms atoms;
  if (const std::optional<Tiling> tiling = TilingOf(mesh, sharding)) {
    for (const Atoms& dimension : tiling->dimensions) atoms.insert(atoms.end(), dimension.begin(), dimension.end());
  }
  return atoms;
}

std::vector<Group> GroupsOf(const Module& module, const StatedShardings& stated) {
  const MeshAtoms mesh(*stated.mesh);
  std::vector<Group> groups;
  for (size_t i = 0; i < stated.parameters.size(); ++i) {
    const std::optional<ArraySharding>& said = stated.parameters[i];
    if (!said) continue;
    const Shape& shape = module.entry()->parameter(i)->shape();
    Atoms atoms = AtomsOf(mesh, *said);
    if (atoms.empty() || std::ranges::any_of(groups, [&](const Group& group) { return group.Has(shape, *said); }))
      continue;
    groups.push_back({shape, ShardingText(*said), std::move(atoms)});
  }
  return groups;
}

// Before others of the same priority, or behind them.
void Place(ArraySharding& sharding, bool first) {
  constexpr int64_t kLast = int64_t{1} << 60;
  for (DimensionSharding& dimension : sharding.dimensions)
    dimension.priority = 2 * std::min(dimension.priority, kLast) + (first ? 0 : 1);
}

StatedShardings With(const Module& module, StatedShardings stated, const Group& group) {
  for (size_t i = 0; i < stated.parameters.size(); ++i) {
    std::optional<ArraySharding>& said = stated.parameters[i];
    if (said) Place(*said, group.Has(module.entry()->parameter(i)->shape(), *said));
  }
  const std::vector<const Shape*> leaves = FlattenTuple(module.entry()->root()->shape());
  for (size_t i = 0; i < stated.results.size() && i < leaves.size(); ++i) {
    std::optional<ArraySharding>& said = stated.results[i];
    if (said) Place(*said, group.Has(*leaves[i], *said));
  }
  for (auto* const arrays : {&stated.constraints, &stated.from_tiles}) {
    for (auto& [array, said] : *arrays) Place(said, true);
  }
  for (auto& [call, manual] : stated.manual) {
    for (auto* const list : {&manual.in, &manual.out}) {
      for (ArraySharding& said : *list) Place(said, true);
    }
  }
  return stated;
}

}  // namespace

std::vector<StatedShardings> OtherOrders(const Module& module, const StatedShardings& stated) {
  if (stated.mesh == nullptr) return {};
  const std::vector<Group> groups = GroupsOf(module, stated);
  std::vector<const Group*> contrary;
  for (const Group& group : groups) {
    const bool shares = std::ranges::any_of(groups, [&](const Group& other) {
      return &other != &group &&
             std::ranges::any_of(group.atoms, [&](int atom) { return Contains(other.atoms, atom); });
    });
    if (shares) contrary.push_back(&group);
  }
  int64_t instructions = 0;
  for (const auto& computation : module.computations()) instructions += std::ssize(computation->instructions());
  if (contrary.size() > kMostOrders || instructions * std::ssize(contrary) > kMostInstructions) return {};
  std::vector<StatedShardings> orders;
  for (const Group* group : contrary) orders.push_back(With(module, stated, *group));
  return orders;
}

}  // namespace VXLA_NAMESPACE
