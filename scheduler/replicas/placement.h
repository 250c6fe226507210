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

// "llvmpipe: replica 0, replica 1": a place in a report, by place that has devices. names: by place. Pure.
std::vector<std::string> PlaceTitles(const DeviceGrid& grid, const IntList& place_of,
                                     std::span<const std::string> names);

// "place 0, llvmpipe: replica 0, replica 1", a line for each place that has devices; "replica 0 on queue 0" where it
// has several queues, which its devices take in turn as far as running apart pays. queues: of each place.
std::string PlacementText(const DeviceGrid& grid, const IntList& place_of, std::span<const std::string> names,
                          std::span<const int64_t> queues = {});

}  // namespace VXLA_NAMESPACE
