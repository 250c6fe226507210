// Tuning: workgroup sizes, items per invocation, tiles. Pure functions of device facts, with separate answers for software
// drivers and for GPUs by vendor.
#pragma once

#include <array>
#include <cstdint>

#include "backend/device_facts.h"

namespace vxla::vulkan {

// The shape of a fused loop: a workgroup of `workgroup_size` owns workgroup_size * items consecutive elements.
struct LoopTuning {
  uint32_t workgroup_size = 64;
  uint32_t items = 1;
};
LoopTuning TuneLoop(const DeviceFacts& facts, int64_t element_count);

// `count` workgroups as a grid within the device's limits; the kernel's group number is x + y * groups[0], and surplus groups
// have to return at once.
std::array<uint32_t, 3> GroupGrid(const DeviceFacts& facts, int64_t count);

}  // namespace vxla::vulkan
