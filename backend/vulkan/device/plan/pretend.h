// Pretences: what a device is taken for that it is not, all of them in one place. Features that it is to do without and
// a software driver in a GPU's place (--emulate), memory of another kind, any device as one that all of them can stand
// for (--same-bits). Pure, but for what the environment asks.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backend/device_facts.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

struct MemoryChoice;
struct PhysicalSupport;

// To test on software drivers, whose memory is all of one kind, what other devices have.
enum class PretendedMemory : uint8_t {
  kNone,
  kInvisible,  // device memory that the host does not see: a discrete GPU
  kUncached,   // device memory that it sees and that is slow to read: one with a resizable BAR
};

// VXLA_POISON=1, VXLA_NO_PROBES=1 in the environment: memory is filled with kPoisonWord when it is handed out; devices
// are taken for sane and not probed.
bool EnvironmentPoisons();
bool EnvironmentForbidsProbes();

// "i64,f64,f16,narrow,subgroups,division,gpu,matrices,queues,grid,vulkan1.1,synchronization2" or some of them, or
// families of GPUs in the place of "gpu". Another name: kInvalidArgument.
Result<Emulation> ParseEmulation(std::string_view names);
// "gcn", "rdna2", "rdna3", "nvidia", "intel", "apple", "adreno", "mali", "mobile" (the least of phones' and boards').
std::optional<GpuFamily> GpuFamilyOf(std::string_view name);

// What it says of itself if it lacks what it is to do without, and a software driver what the family's GPUs lack.
void Hide(Emulation emulate, PhysicalSupport& support);
// The queues of a device whose first one, of this family, stands for `most`.
std::vector<QueueFacts> OneQueueForMany(uint32_t family, int most);
void Pretend(PretendedMemory memory, MemoryChoice& tensors);
// The facts of a device that is planned without what Hide hides.
void Pretend(const Emulation& emulate, DeviceFacts& facts);

// Of a GPU: its kind, and what things cost its kernels.
void PretendGpu(DeviceFacts& facts);

// Vendor, kind, units, limits and types of the family, limits no larger than the device's own, which kernels still run
// on: so are its subgroups. The matrix units that `facts` has stood in for become the family's.
void PretendFamily(GpuFamily family, DeviceFacts& facts);

// Of a GPU with the least limits that Vulkan lets a device have, and same_bits: what decides the order of sums is alike
// on every device then (--same-bits).
void PretendLeastDevice(DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
