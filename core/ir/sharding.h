// Sharding: how an array lies on the devices of a program, in equal tiles.
#pragma once

#include <span>
#include <vector>

#include "core/data/dimension_numbers.h"
#include "core/data/literal.h"
#include "core/data/shape.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Without devices each one has the whole array.
struct Sharding {
  IntList tiles;        // by dimension: in how many it is cut
  int64_t addends = 1;  // of which a tile is the sum
  IntList devices;      // of the tiles in row-major order, of each tile copies, of each copy its addends

  bool is_cut() const { return !devices.empty(); }
  // kInvalidArgument: a dimension is not so many equal tiles.
  Result<Shape> TileOf(Shape whole) const;
  Shape WholeShapeOf(Shape tile) const;
  // By device, which of the dimension's tiles it has.
  IntList TileNumbers(size_t dimension) const;
  // Groups of devices whose tiles, in their order, are the dimension.
  std::vector<IntList> GroupsAlong(size_t dimension) const;
  // Groups of devices that have the addends of one copy of a tile.
  std::vector<IntList> GroupsOfAddends() const;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

// What a device has of a whole array; of addends the first device has all and the others have zeros.
Result<Literal> TileOf(const Literal& whole, const Sharding& sharding, size_t device);
// From what each device has.
Result<Literal> WholeOf(std::span<const Literal* const> tiles, const Sharding& sharding);

}  // namespace VXLA_NAMESPACE
