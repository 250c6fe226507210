#include "backend/vulkan/drivers/known_faults.h"

#include <algorithm>

#include "backend/gpu_vendors.h"

namespace VXLA_NAMESPACE::vulkan {

void NoteKnownFaults(DeviceFacts& facts) {
  // Measured on lavapipe of Mesa 22.3; later ones do well with plain addresses.
  facts.quirks.vectors_of_addresses = facts.is_software() && facts.driver_version.find("Mesa 22.") != std::string::npos;
  // It states 2 GiB, and allocates as much as a buffer of it holds. Asking is allowed; what fails is a plain error.
  constexpr uint64_t kLargestBuffer = (uint64_t{4} << 30) - (uint64_t{1} << 16);
  if (facts.quirks.vectors_of_addresses) {
    facts.max_allocation_bytes = std::min(facts.memory_bytes, kLargestBuffer);
    facts.quirks.copy_reach_bytes = (int64_t{1} << 31) - 1;  // vkCmdCopyBuffer counts in signed words
  }
  const bool lavapipe = facts.driver == "llvmpipe";
  // Measured on lavapipe of Mesa 26.2 (lp_bld_nir_soa.c): the last turn of a loop runs with all lanes off and loads all
  // the same, from beyond an array's end. Descriptors have their bounds checked.
  facts.quirks.loads_where_off = lavapipe && !facts.quirks.vectors_of_addresses;
  // NVK of Mesa 26.2: its compiler gives up where two numbers are asked at once and one is a constant (nak/ir.rs).
  facts.quirks.loses_nan = facts.driver == "NVK";
  // lavapipe of any version (lp_build_mul and its neighbours in Mesa's lp_bld_arit.c), although it promises to keep
  // infinities and NaN. Who promises nothing may.
  facts.quirks.folds_zeros = lavapipe || !facts.signed_zero_inf_nan_preserve_32;
  if (facts.driver.find("SwiftShader") == std::string::npos) return;
  facts.quirks.walks_every_path = facts.quirks.slow_long_blocks = true;
  // It refuses what it states as its limit to the byte: its own bookkeeping is in it.
  facts.max_allocation_bytes -= uint64_t{1} << 20;
}

void NoteVendorCosts(DeviceFacts& facts) {
  // Measured on an H100 with driver 580.159: vkCmdCopyBuffer reads and writes 0.68 TB/s, kernels 2.8.
  if (facts.vendor_id == kNvidia) facts.costs.slow_copies = true;
}

double MatrixRateOf(const DeviceFacts& facts) {
  constexpr uint32_t kDatacentreInvocations = 2048;
  if (facts.vendor_id == kNvidia && facts.unit_invocations >= kDatacentreInvocations) return 5;
  return facts.vendor_id == kIntel ? 8 : 2;
}

}  // namespace VXLA_NAMESPACE::vulkan
