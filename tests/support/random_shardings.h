// Random programs of whole arrays with random shardings, and the programs of their devices against one device.
#pragma once

#include <algorithm>
#include <random>

#include "core/ir/sharding.h"
#include "core/passes/sharding/partitioner.h"

namespace VXLA_NAMESPACE::testing {

class RandomShardings {
 public:
  RandomShardings(uint64_t seed, DeviceMesh mesh)
      : random_(static_cast<uint32_t>(seed * 2654435761u + 977u)),
        mesh_(std::make_shared<const DeviceMesh>(std::move(mesh))) {}

  // Says how some arguments, results and values lie; the values get copies that say it.
  StatedShardings Of(const Module& module) {
    StatedShardings stated;
    stated.mesh = mesh_;
    Computation& entry = *module.entry();
    for (const Instruction* parameter : entry.parameters()) stated.parameters.push_back(Maybe(parameter->shape()));
    for (const Shape* leaf : FlattenTuple(entry.root()->shape())) stated.results.push_back(Maybe(*leaf));
    Instruction* const root = entry.root();
    std::vector<Instruction*> values;
    for (const auto& instruction : entry.instructions()) {
      if (instruction->shape().IsArray() && instruction.get() != entry.root() && OneIn(4))
        values.push_back(instruction.get());
    }
    for (Instruction* value : values) {
      std::optional<ArraySharding> sharding = Maybe(value->shape(), OneIn(2));
      if (!sharding) continue;
      const std::vector<Instruction*> users(value->users().begin(), value->users().end());
      Instruction* const copy =
          entry.Add(std::make_unique<Instruction>(Opcode::kCopy, value->shape(), std::vector<Instruction*>{value}));
      for (Instruction* user : users) user->ReplaceOperand(value, copy);
      stated.constraints.emplace(copy, *std::move(sharding));
    }
    entry.set_root(root);
    return stated;
  }

 private:
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  bool OneIn(int n) { return Below(n) == 0; }

  // Of axes and of halves of axes, as far as they divide the dimensions, unless tiles may be filled up.
  std::optional<ArraySharding> Maybe(const Shape& shape, bool may_pad = false) {
    if (!shape.IsArray() || OneIn(3)) return std::nullopt;
    ArraySharding sharding;
    sharding.mesh = mesh_;
    sharding.dimensions.resize(static_cast<size_t>(shape.rank()));
    for (DimensionSharding& dimension : sharding.dimensions) {
      dimension.is_open = OneIn(2);
      dimension.priority = OneIn(5) ? Below(3) : 0;
    }
    for (const MeshAxis& axis : mesh_->axes) {
      if (shape.rank() == 0 || OneIn(4)) continue;
      const size_t d = static_cast<size_t>(Below(shape.rank()));
      MeshPart part{axis.name};
      if (axis.size == 4 && OneIn(3)) part = {axis.name, OneIn(2) ? 1 : 2, 2};
      int64_t tiles = part.size == 0 ? axis.size : part.size;
      for (const MeshPart& other : sharding.dimensions[d].axes)
        tiles *= other.size == 0 ? std::ranges::find(mesh_->axes, other.name, &MeshAxis::name)->size : other.size;
      if (may_pad || shape.dimension(static_cast<int>(d)) % tiles == 0)
        sharding.dimensions[d].axes.push_back(std::move(part));
    }
    return sharding;
  }

  std::mt19937 random_;
  std::shared_ptr<const DeviceMesh> mesh_;
};

inline std::vector<DeviceMesh> MeshesToTry() {
  return {{{{"x", 2}}, {}},
          {{{"x", 4}}, {}},
          {{{"x", 2}, {"y", 2}}, {}},
          {{{"x", 2}, {"y", 4}}, {}},
          {{{"x", 2}, {"y", 2}}, {3, 1, 0, 2}}};
}

}  // namespace VXLA_NAMESPACE::testing
