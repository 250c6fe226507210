#include "backend/vulkan/drivers/known_faults.h"

namespace VXLA_NAMESPACE::vulkan {

void NoteKnownFaults(DeviceFacts& facts) {
  // Measured on lavapipe of Mesa 22.3; later ones do well with plain addresses.
  facts.quirks.vectors_of_addresses = facts.is_software() && facts.driver_version.find("Mesa 22.") != std::string::npos;
  if (facts.driver.find("SwiftShader") == std::string::npos) return;
  facts.quirks.walks_every_path = facts.quirks.slow_long_blocks = true;
  // It refuses what it states as its limit to the byte: its own bookkeeping is in it.
  facts.max_allocation_bytes -= uint64_t{1} << 20;
}

}  // namespace VXLA_NAMESPACE::vulkan
