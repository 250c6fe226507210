// What a program says of how an array lies on a mesh of devices (Shardy's terms).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/data/dimension_numbers.h"
#include "core/devices/mesh.h"

namespace VXLA_NAMESPACE {

struct DeviceMesh {
  std::vector<MeshAxis> axes;
  IntList ids;  // empty: 0, 1, ...
};

struct DimensionSharding {
  std::vector<MeshPart> axes;  // major to minor
  bool is_open = false;        // more of them may come
  int64_t priority = 0;        // what is said with a smaller one spreads first
};

struct ArraySharding {
  std::shared_ptr<const DeviceMesh> mesh;
  std::vector<DimensionSharding> dimensions;
  std::vector<MeshPart> replicated;  // axes that cut no dimension
  std::vector<MeshPart> unreduced;   // axes along which the array is the sum of what devices have

  // Whether an axis cuts it or has addends of it.
  bool says_nothing() const;
};

// `"x":(1)2`
std::string PartText(const MeshPart& part);
// `[{"x"}, {"y", ?}p1], replicated={"z"}`
std::string ShardingText(const ArraySharding& sharding);

}  // namespace VXLA_NAMESPACE
