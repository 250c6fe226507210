// What starts and dones, and exchanges between devices, come to in a run of one device.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Every computation of the module:
//   async-start, -update, -done    a call where the start stood
//   copy-start, copy-done          their operand
//   the collectives, in all forms  their operands, or zeros where no group or pair holds the one device
//   replica-id, partition-id       0
// Left as they are: ragged-all-to-all, collective-permute of slices, and whatever needs more than one device, which a
// run refuses (core/devices/replica_groups.h); and, of arrays with bounded dynamic dimensions, what is no copy. Returns
// whether anything changed.
bool ExpandForOneDevice(Module& module);

}  // namespace VXLA_NAMESPACE
