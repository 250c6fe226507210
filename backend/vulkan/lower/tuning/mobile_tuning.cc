#include <algorithm>

#include "backend/gpu_vendors.h"
#include "backend/vulkan/lower/tuning/tuner.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct MobileGpu {
  GpuVendor vendor;
  GpuTraits traits;
};

// From what vendors and Mesa's drivers publish; nothing here has been measured.
// All: an invocation takes four elements, 16 bytes of f32, as one access (Arm's OpenCL Developer Guide: data aligned to
// 128 bits; Turnip and Honeykrisp load as much at once).
// Apple: subgroups of 32, workgroups of 1,024, 32 KiB of shared memory of its own in each core (Apple's Metal Feature
// Set Tables, hk_physical_device.c).
// Adreno: subgroups of 64 or 128, 32 KiB of shared memory of its own in each processor, which holds 4,096 invocations
// (threadsize_base, cs_shared_mem_size and fibers_per_sp of freedreno_devices.py): workgroups of one subgroup of 128,
// and four processors of them.
// Mali: subgroups of 4 to 16 and 64 registers (Arm's guide: more go to memory; half of them where a core is to be
// full), so 4 x 4 sums and their operands. Shared memory is main memory behind the caches (the guide; PanVK's comment
// on its 32 KiB), so short strips and no large workgroups, whose barriers stop a core: 64 invocations (Arm's GPU Best
// Practices).
// VideoCore and PowerVR: as Mali, by limits next to Vulkan's least: 16 KiB, 256 invocations (v3dv_limits.h).
constexpr GpuTraits kSmall = {.loop_group = 64, .row_lanes = 64, .busy_groups = 64, .dot_lanes = 8, .dot_k_step = 8};
constexpr GpuTraits kAdreno = {.loop_group = 128, .row_lanes = 128, .busy_groups = 128, .dot_lanes = 8};
constexpr MobileGpu kMobileGpus[] = {
    {kApple, {.busy_groups = 256}}, {kQualcomm, kAdreno}, {kArm, kSmall}, {kBroadcom, kSmall}, {kImagination, kSmall}};

const MobileGpu* Find(uint32_t vendor) {
  const auto* gpu = std::ranges::find(kMobileGpus, vendor, &MobileGpu::vendor);
  return gpu == std::end(kMobileGpus) ? nullptr : gpu;
}

}  // namespace

bool MobileTuner::Knows(uint32_t vendor) { return Find(vendor) != nullptr; }

GpuTraits MobileTuner::Table(const DeviceFacts& facts) const { return Find(facts.vendor_id)->traits; }

// Counting digits takes a counter of each for every subgroup in shared memory: small subgroups, or shared memory that
// is main memory, leave so few bits for a pass that merging reads less.
RadixShape MobileTuner::Radix(const DeviceFacts& facts, const SortShape& merging, const RadixWork& work) const {
  constexpr uint32_t kLeastSubgroup = 32;
  if (facts.vendor_id == kArm || facts.subgroup_size < kLeastSubgroup) return {};
  return GpuTuner::Radix(facts, merging, work);
}

}  // namespace VXLA_NAMESPACE::vulkan
