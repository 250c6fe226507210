// Sharding: how an array lies on the devices of a program, in equal tiles.
#pragma once

#include <vector>

#include "core/dimension_numbers.h"
#include "core/shape.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Without tiles each device has the whole array.
struct Sharding {
  IntList tiles;    // by dimension: in how many it is cut
  IntList devices;  // of the tiles in row-major order, the devices of a tile together

  bool is_cut() const { return !devices.empty(); }
  // kInvalidArgument: a dimension is not so many equal tiles.
  Result<Shape> TileOf(Shape whole) const;
  // By device, which of the dimension's tiles it has.
  IntList TileNumbers(size_t dimension) const;
  // Groups of devices whose tiles, in their order, are the dimension.
  std::vector<IntList> GroupsAlong(size_t dimension) const;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

}  // namespace VXLA_NAMESPACE
