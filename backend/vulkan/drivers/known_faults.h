// What is known of drivers by their names and versions and no probe finds out (device/quirks.h has the probes): facts
// that others read, so that what is done about a fault costs no other device anything.
#pragma once

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. Fills in the quirks that a driver is known for and takes back limits that it does not keep.
void NoteKnownFaults(DeviceFacts& facts);

// Whether accesses go through addresses summed from 32-bit parts (shaders/include/access.glsl says why). Tuning asks
// too: each access site then costs a quarter of what it costs otherwise, but only scalar elements (no f32x4) and one
// access per line of text, in loops that are not unrolled.
inline bool SplitsAddresses(const DeviceFacts& facts, BindingMode bindings) {
  return bindings == BindingMode::kAddresses && facts.quirks.vectors_of_addresses && facts.int64;
}

}  // namespace VXLA_NAMESPACE::vulkan
