#include "scheduler/replicas/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {

IntList PlaceDevices(int64_t devices, int64_t places) {
  IntList place_of;
  for (int64_t device = 0; device < devices; ++device) {
    place_of.push_back(places >= devices ? device : device * places / devices);
  }
  return place_of;
}

IntList QueuesOf(const IntList& place_of, std::span<const int64_t> queues) {
  IntList queue_of;
  std::vector<int64_t> seated(queues.size(), 0);
  for (const int64_t place : place_of) {
    const auto p = static_cast<size_t>(place);
    queue_of.push_back(seated[p]++ % std::max<int64_t>(1, queues[p]));
  }
  return queue_of;
}

Seating SpreadDevices(int64_t devices, std::span<const PlacementFacts> physical) {
  Seating placement;
  const IntList on = PlaceDevices(devices, std::ssize(physical));
  std::vector<int64_t> queues;
  for (int64_t p = 0; p < std::ssize(physical); ++p) {
    const int64_t count = std::ranges::count(on, p);
    if (count == 0) continue;
    const PlacementFacts& facts = physical[p];
    const int64_t each = std::max<int64_t>(1, facts.queues);
    // As many logical devices as it takes for each to have a queue of its own.
    const int64_t logical = std::clamp<int64_t>(CeilDivide(count, each), 1, std::max<int64_t>(1, facts.logical));
    const int64_t first = std::ssize(placement.places);
    for (int64_t l = 0; l < logical; ++l) {
      placement.places.push_back({p, l});
      queues.push_back(each);
    }
    for (const int64_t l : PlaceDevices(count, logical)) placement.place_of.push_back(first + l);
  }
  placement.queue_of = QueuesOf(placement.place_of, queues);
  return placement;
}

std::vector<std::string> PlaceTitles(const DeviceGrid& grid, const IntList& place_of,
                                     std::span<const std::string> names) {
  std::vector<std::string> titles;
  for (int64_t place = 0; place < std::ssize(names); ++place) {
    IntList devices;
    for (int64_t device = 0; device < grid.count(); ++device) {
      if (place_of[device] == place) devices.push_back(device);
    }
    titles.push_back(fmt::format("{}: {}", names[place], grid.Names(devices)));
  }
  return titles;
}

std::string PlacementText(const DeviceGrid& grid, const IntList& place_of, std::span<const std::string> names,
                          std::span<const int64_t> queues) {
  std::string text;
  const IntList queue_of = queues.empty() ? IntList(place_of.size(), 0) : QueuesOf(place_of, queues);
  for (size_t place = 0; place < names.size(); ++place) {
    std::string devices;
    for (int64_t device = 0; device < grid.count(); ++device) {
      const auto d = static_cast<size_t>(device);
      if (place_of[d] != static_cast<int64_t>(place)) continue;
      devices += (devices.empty() ? "" : ", ") + grid.Names({device});
      if (!queues.empty() && queues[place] > 1) devices += fmt::format(" on queue {}", queue_of[d]);
    }
    if (!devices.empty()) text += fmt::format("place {}, {}: {}\n", place, names[place], devices);
  }
  return text;
}

}  // namespace VXLA_NAMESPACE
