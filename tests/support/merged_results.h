// The results of a program that MergeDevices made.
#pragma once

#include <vector>

#include "core/data/literal.h"
#include "core/passes/devices/device_merger.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// What each device's result is made of, in a result of the merged program; nothing of devices elsewhere.
// kDeviceFailure: devices have parted that meet later on.
inline Result<std::vector<std::vector<const Literal*>>> LeavesByDevice(const MergedProgram& program, const Literal& result) {
  if (!program.partings.empty()) {
    const int64_t parting = result.tuple_elements().back().GetInt(0);
    if (parting != 0) return program.partings[static_cast<size_t>(parting) - 1];
  }
  std::vector<std::vector<const Literal*>> by_device;
  for (const IntList& places : program.results) {
    std::vector<const Literal*>& leaves = by_device.emplace_back();
    for (const int64_t place : places) leaves.push_back(&result.tuple_element(place));
  }
  return by_device;
}

}  // namespace VXLA_NAMESPACE
