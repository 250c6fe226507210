// Division: whether a device's own / and sqrt round correctly. Vulkan allows 2.5 ulp and more, and most GPUs make use
// of it; where they do, kernels divide in integers (shaders/include/math: VXLA_CORRECT_F32, VXLA_CORRECT_F64), so that
// every device gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/vulkan/device/probes/probe.h"
#include "backend/vulkan/shader/disk_cache.h"

namespace VXLA_NAMESPACE::vulkan {

struct DivisionFacts {
  DeviceFacts::Division f32 = DeviceFacts::Division::kUnmeasured, f64 = DeviceFacts::Division::kUnmeasured;
};

// Pairs (a, b) that the probe divides and takes roots of: first kDivisionSingles of f32, a word each, then
// kDivisionDoubles of f64, low word first.
inline constexpr uint32_t kDivisionSingles = 32768, kDivisionDoubles = 16384;
std::vector<uint32_t> DivisionOperands();

// Pure, of what a device writes: for each pair a / b, 1 / b, a / 3 and the root of a. Native for a type if every answer
// is right; NaNs count as equal, and on a device that flushes denormals what
// has to do with them is left out. f64 stays unmeasured where the device has none.
DivisionFacts JudgeDivision(std::span<const uint32_t> answer, const DeviceFacts& facts);

// The verdict kept on disk, or a fresh one.
Result<DivisionFacts> MeasureDivision(const ProbeTools& tools, DiskCache& disk);

}  // namespace VXLA_NAMESPACE::vulkan
