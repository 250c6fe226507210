#include "core/sharding.h"

namespace VXLA_NAMESPACE {
namespace {

// How many devices there are for each step along the dimension.
size_t DevicesBelow(const Sharding& sharding, size_t dimension) {
  size_t below = sharding.devices.size();
  for (size_t d = 0; d <= dimension; ++d) below /= static_cast<size_t>(sharding.tiles[d]);
  return below;
}

}  // namespace

Result<Shape> Sharding::TileOf(Shape whole) const {
  if (!is_cut()) return whole;
  if (!whole.IsArray() || std::ssize(tiles) != whole.rank())
    return InvalidArgument("{} is to be cut along {} dimensions", whole.ToString(), tiles.size());
  for (int d = 0; d < whole.rank(); ++d) {
    const int64_t count = tiles[static_cast<size_t>(d)];
    if (whole.dimension(d) % count != 0 || whole.is_dynamic_dimension(d))
      return InvalidArgument("dimension {} of {} is not {} equal parts", d, whole.ToString(), count);
    whole.set_dimension(d, whole.dimension(d) / count);
  }
  return whole;
}

IntList Sharding::TileNumbers(size_t dimension) const {
  const size_t below = DevicesBelow(*this, dimension);
  IntList numbers(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    numbers[static_cast<size_t>(devices[i])] = static_cast<int64_t>(i / below % static_cast<size_t>(tiles[dimension]));
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
