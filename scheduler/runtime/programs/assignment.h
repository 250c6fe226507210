// DeviceAssignment: which device of the machine each device of a program is.
#pragma once

#include "core/devices/replica_groups.h"

namespace VXLA_NAMESPACE {

struct DeviceAssignment {
  DeviceGrid grid;
  IntList device_of;  // by device of the grid, replica-major: number of a client's device

  // All of a grid on one device.
  static DeviceAssignment OnOne(const DeviceGrid& grid) { return {grid, IntList(static_cast<size_t>(grid.count()))}; }
};

}  // namespace VXLA_NAMESPACE
