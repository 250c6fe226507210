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

std::string PlacementText(const DeviceGrid& grid, const IntList& place_of, std::span<const std::string> names) {
  std::string text;
  for (size_t place = 0; place < names.size(); ++place) {
    IntList devices;
    for (int64_t device = 0; device < grid.count(); ++device) {
      if (place_of[static_cast<size_t>(device)] == static_cast<int64_t>(place)) devices.push_back(device);
    }
    if (!devices.empty()) text += fmt::format("place {}, {}: {}\n", place, names[place], grid.Names(devices));
  }
  return text;
}

}  // namespace VXLA_NAMESPACE
