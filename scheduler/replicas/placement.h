// Where the devices of a run go.
#pragma once

#include <span>
#include <string>

#include "core/passes/device_merger.h"
#include "core/replica_groups.h"

namespace VXLA_NAMESPACE {

// Devices in their order over the places in theirs, as evenly as it goes: neighbours, which exchange most, stand
// together. Places beyond the number of devices get none. Pure.
IntList PlaceDevices(int64_t devices, int64_t places);

// "place 0, llvmpipe: replica 0, replica 1", a line for each place that has devices.
std::string PlacementText(const DeviceGrid& grid, const IntList& place_of, std::span<const std::string> names);

}  // namespace VXLA_NAMESPACE
