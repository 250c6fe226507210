#include "core/ir/sharding.h"

#include <algorithm>
#include <cstring>

namespace VXLA_NAMESPACE {
namespace {

// How many devices there are for each step along the dimension.
size_t DevicesBelow(const Sharding& sharding, size_t dimension) {
  size_t below = sharding.devices.size();
  for (size_t d = 0; d <= dimension; ++d) below /= static_cast<size_t>(sharding.tiles[d]);
  return below;
}

// Calls copy(where in the tile, where in the whole, how many) in elements for the rows of a device's tile.
void ForEachRow(const Shape& whole, const Shape& tile, const IntList& starts, auto copy) {
  if (tile.ElementCount() == 0) return;
  const IntList strides = RowMajorStrides(whole.dimensions());
  const int rank = tile.rank();
  const int64_t row = rank == 0 ? 1 : tile.dimension(rank - 1);
  IntList at(static_cast<size_t>(rank), 0);
  for (int64_t done = 0; done < tile.ElementCount(); done += row) {
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d) from += (starts[d] + at[d]) * strides[d];
    copy(done, from, row);
    for (int d = rank - 2; d >= 0; --d) {
      if (++at[d] < tile.dimension(d)) break;
      at[d] = 0;
    }
  }
}

// Where the device's tile begins.
IntList StartsOf(const Sharding& sharding, const Shape& tile, size_t device) {
  IntList starts;
  for (size_t d = 0; d < sharding.tiles.size(); ++d)
    starts.push_back(sharding.TileNumbers(d)[device] * tile.dimension(d));
  return starts;
}

// Whether the device is the first of those with the addends of its tile.
bool IsFirst(const Sharding& sharding, size_t device) {
  return std::ranges::any_of(sharding.GroupsOfAddends(),
                             [device](const IntList& group) { return group[0] == static_cast<int64_t>(device); });
}

size_t ElementBytes(const Literal& literal) {
  return literal.element_count() == 0 ? 0 : literal.bytes().size() / static_cast<size_t>(literal.element_count());
}

}  // namespace

Result<Literal> TileOf(const Literal& whole, const Sharding& sharding, size_t device) {
  if (!sharding.is_cut()) return whole;
  VXLA_ASSIGN_OR_RETURN(const Shape shape, sharding.TileOf(whole.shape()));
  Literal tile(shape);
  if (!IsFirst(sharding, device)) return tile;
  const size_t size = ElementBytes(whole);
  ForEachRow(whole.shape(), shape, StartsOf(sharding, shape, device), [&](int64_t to, int64_t from, int64_t count) {
    std::memcpy(tile.mutable_bytes().data() + static_cast<size_t>(to) * size,
                whole.bytes().data() + static_cast<size_t>(from) * size, static_cast<size_t>(count) * size);
  });
  return tile;
}

Result<Literal> WholeOf(std::span<const Literal* const> tiles, const Sharding& sharding) {
  if (!sharding.is_cut()) return *tiles[0];
  if (tiles.size() != sharding.devices.size())
    return InvalidArgument("{} tiles of an array that lies on {} devices", tiles.size(), sharding.devices.size());
  if (sharding.addends > 1) return Unsupported("the sum of {} addends of an array", sharding.addends);
  const Shape shape = sharding.WholeShapeOf(tiles[0]->shape());
  VXLA_ASSIGN_OR_RETURN(Literal whole, Literal::Make(shape));
  for (size_t device = 0; device < tiles.size(); ++device) {
    const Literal& tile = *tiles[device];
    const size_t size = ElementBytes(tile);
    const IntList starts = StartsOf(sharding, tile.shape(), device);
    ForEachRow(shape, tile.shape(), starts, [&](int64_t from, int64_t to, int64_t count) {
      std::memcpy(whole.mutable_bytes().data() + static_cast<size_t>(to) * size,
                  tile.bytes().data() + static_cast<size_t>(from) * size, static_cast<size_t>(count) * size);
    });
  }
  return whole;
}

Result<Shape> Sharding::TileOf(Shape whole) const {
  if (!is_cut()) return whole;
  if (!whole.IsArray() || std::ssize(tiles) != whole.rank())
    return InvalidArgument("{} is to be cut along {} dimensions", whole.ToString(), tiles.size());
  for (int d = 0; d < whole.rank(); ++d) {
    const int64_t count = tiles[d];
    if (whole.dimension(d) % count != 0 || whole.is_dynamic_dimension(d))
      return InvalidArgument("dimension {} of {} is not {} equal parts", d, whole.ToString(), count);
    whole.set_dimension(d, whole.dimension(d) / count);
  }
  return whole;
}

Shape Sharding::WholeShapeOf(Shape tile) const {
  for (size_t d = 0; d < tiles.size(); ++d) tile.set_dimension(d, tile.dimension(d) * tiles[d]);
  return tile;
}

IntList Sharding::TileNumbers(size_t dimension) const {
  const size_t below = DevicesBelow(*this, dimension);
  IntList numbers(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    numbers[devices[i]] = static_cast<int64_t>(i / below % static_cast<size_t>(tiles[dimension]));
  }
  return numbers;
}

std::vector<IntList> Sharding::GroupsAlong(size_t dimension) const {
  const size_t below = DevicesBelow(*this, dimension), count = static_cast<size_t>(tiles[dimension]);
  std::vector<IntList> groups(devices.size() / count);
  for (size_t i = 0; i < devices.size(); ++i) groups[i / (below * count) * below + i % below].push_back(devices[i]);
  return groups;
}

std::vector<IntList> Sharding::GroupsOfAddends() const {
  std::vector<IntList> groups(devices.size() / static_cast<size_t>(addends));
  for (size_t i = 0; i < devices.size(); ++i) groups[i / static_cast<size_t>(addends)].push_back(devices[i]);
  return groups;
}

}  // namespace VXLA_NAMESPACE
