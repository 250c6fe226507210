#include "scheduler/replicas/placement.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE {

IntList PlaceDevices(int64_t devices, int64_t places) {
  IntList place_of;
  for (int64_t device = 0; device < devices; ++device) {
    place_of.push_back(places >= devices ? device : device * places / devices);
  }
  return place_of;
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
  for (size_t place = 0; place < names.size(); ++place) {
    std::string devices;
    int64_t seated = 0;
    for (int64_t device = 0; device < grid.count(); ++device) {
      if (place_of[device] != static_cast<int64_t>(place)) continue;
      devices += (devices.empty() ? "" : ", ") + grid.Names({device});
      if (!queues.empty() && queues[place] > 1) devices += fmt::format(" on queue {}", seated++ % queues[place]);
    }
    if (!devices.empty()) text += fmt::format("place {}, {}: {}\n", place, names[place], devices);
  }
  return text;
}

}  // namespace VXLA_NAMESPACE
