// Who makes a GPU, as devices state it (VkPhysicalDeviceProperties::vendorID).
#pragma once

#include <cstdint>

namespace VXLA_NAMESPACE {

enum GpuVendor : uint32_t {
  kAmd = 0x1002,
  kImagination = 0x1010,
  kApple = 0x106B,
  kNvidia = 0x10DE,
  kArm = 0x13B5,
  kBroadcom = 0x14E4,
  kQualcomm = 0x5143,
  kIntel = 0x8086,
};

}  // namespace VXLA_NAMESPACE
