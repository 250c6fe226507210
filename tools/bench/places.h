// What all-reduces over several places cost, for `vxla bench`.
#pragma once

#include <cstdint>
#include <vector>

#include "api/device_options.h"
#include "core/passes/devices/reduction_form.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

struct PlacesTime {
  int64_t places = 0, bytes = 0;  // of each place's array
  ReductionForm form{};
  int64_t received = 0;  // bytes, by a place
  double ms = 0;         // of an all-reduce, among others in a loop
};

// f32 arrays of 1 KiB, 1 MiB and 64 MiB over 3, 4 and 8 logical devices of the one that is named, in both forms; the
// best of so many runs.
Result<std::vector<PlacesTime>> MeasurePlaces(const DeviceOptions& device, int runs);

}  // namespace VXLA_NAMESPACE
