// Work limit: what the system would stop a device for, and how plans stay below it. Pure.
#pragma once

#include "backend/device_facts.h"
#include "backend/step.h"

namespace VXLA_NAMESPACE {

// What a step takes on the device, by its low rates: rather too long than too short.
double EstimateSeconds(const Step& step, const DeviceFacts& facts);
double EstimateCopySeconds(int64_t size_bytes, const DeviceFacts& facts);

// Into how many dispatches a step has to be cut so that each keeps within the budget; 1 where the device has none. A
// workgroup is the smallest part.
int PartsWithinBudget(const Step& step, const DeviceFacts& facts);

// Part `part` of `parts` of a step's workgroups: a share of the outermost axis that has several, so that what a kernel
// makes of a workgroup's number does not change.
GroupRange PartOf(const Step& step, int part, int parts);

}  // namespace VXLA_NAMESPACE
