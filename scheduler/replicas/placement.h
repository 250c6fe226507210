// Where the devices of a run go.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/devices/replica_groups.h"
#include "core/passes/devices/device_merger.h"

namespace VXLA_NAMESPACE {

// Devices in their order over the places in theirs, as evenly as it goes: neighbours, which exchange most, stand
// together. Places beyond the number of devices get none. Pure.
IntList PlaceDevices(int64_t devices, int64_t places);

// What placement knows of a physical device.
struct PlacementFacts {
  int64_t queues = 1;   // that compute
  int64_t logical = 1;  // logical devices that may be made of it
};
// A logical device, which runs as one program what stands at it.
struct LogicalPlace {
  int64_t physical = 0, logical = 0;
  friend bool operator==(const LogicalPlace&, const LogicalPlace&) = default;
};
struct Seating {
  std::vector<LogicalPlace> places;
  IntList place_of;  // of each device
  IntList queue_of;  // of the place's, where the work of each device runs as far as running apart pays
};
// Devices over physical devices, then over the queues of one logical device, then over its further logical devices;
// what is left shares a queue. Neighbours stand together. Pure.
Seating SpreadDevices(int64_t devices, std::span<const PlacementFacts> physical);
// The same over places that somebody else has chosen, with so many queues each.
IntList QueuesOf(const IntList& place_of, std::span<const int64_t> queues);

// "llvmpipe: replica 0, replica 1": a place in a report, by place that has devices. names: by place. Pure.
std::vector<std::string> PlaceTitles(const DeviceGrid& grid, const IntList& place_of,
                                     std::span<const std::string> names);

// "place 0, llvmpipe: replica 0, replica 1", a line for each place that has devices; "replica 0 on queue 0" where it
// has several queues.
std::string PlacementText(const DeviceGrid& grid, const IntList& place_of, std::span<const std::string> names,
                          std::span<const int64_t> queues = {});

}  // namespace VXLA_NAMESPACE
