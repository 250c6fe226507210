// Groups of devices over the axes of a mesh (the replica_groups of HLO's and StableHLO's newer dumps).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/data/dimension_numbers.h"
#include "core/data/shape.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};
// Of an axis `size` positions, which stand below `before` positions and above those that are left; a size of 0: all of
// the axis.
struct MeshPart {
  std::string name;
  int64_t before = 1, size = 0;
};

// The devices of a mesh; an error for axes that occur twice, sizes below 1, or too many of them.
Result<int64_t> MeshDevices(std::span<const MeshAxis> axes);

// The devices 0, 1, ... (or `ids`, if there are any) fill the mesh row-major; a group is what one position of all other
// axes leaves, in the order of the parts. The messages name an axis as its `name` is.
Result<std::vector<IntList>> MeshGroups(std::span<const MeshAxis> axes, std::span<const int64_t> ids,
                                        std::span<const MeshPart> parts);

}  // namespace VXLA_NAMESPACE
