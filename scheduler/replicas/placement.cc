#include "scheduler/replicas/placement.h"

#include <fmt/format.h>

#include <algorithm>

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
