// What is known of drivers by their names and versions and no probe finds out (device/quirks.h has the probes): facts
// that others read, so that what is done about a fault costs no other device anything.
#pragma once

#include "backend/device_facts.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. Fills in the quirks that a driver is known for and takes back limits that it does not keep.
void NoteKnownFaults(DeviceFacts& facts);

// Pure. What else than a GPU's usual things cost under the drivers of this vendor.
void NoteVendorCosts(DeviceFacts& facts);

// Whether accesses go through addresses summed from 32-bit parts (shaders/include/access.glsl says why). Tuning asks
// too: each access site then costs a quarter of what it costs otherwise, but only scalar elements (no f32x4) and one
// access per line of text, in loops that are not unrolled.
inline bool SplitsAddresses(const DeviceFacts& facts, BindingMode bindings) {
  return bindings == BindingMode::kAddresses && facts.quirks.vectors_of_addresses && facts.int64;
}

// Whether groups of eight 32-bit elements that are only moved are stored as the four 64-bit integers that they were
// loaded as. Where the processor has AVX-512, lavapipe's vectors of 64-bit lanes fill 64 bytes, which it writes to the
// stack for each lane that it stores (4M f32 loaded in pairs: 7.1 ms stored in pairs, 4.2 by fours of words). Elsewhere
// every access costs as much, so half of them take half the time.
inline bool StoresPairs(const DeviceFacts& facts) { return !(facts.costs.accesses_by_lane && facts.host_avx512); }

// How many times as fast as others products on a GPU's matrix units are. Measured on an H100: 4.0 ms and 0.77 for 4096
// x 4096 (16 times by NVIDIA's own numbers, which the kernels fall short of); it holds 2,048 invocations a unit as all
// of NVIDIA's for datacentres do. The others by their vendors' numbers for sums of f32: GeForce and RDNA 3 twice, Arc
// eight times.
double MatrixRateOf(const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
