// VulkanKernel: a compute pipeline; KernelLayouts: the pipeline layouts, one per number of bindings.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "backend/vulkan/device/handles/device_context.h"

namespace VXLA_NAMESPACE::vulkan {

struct KernelLayout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;  // null under addresses
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
  bool pushed = false;  // descriptors go into the command buffer: there are no sets
};

// Bytes of the push constants: the argument block's address under addresses, and behind it the first workgroup's number
// for kernels that are dispatched in parts.
inline constexpr uint32_t kAddressBytes = 8, kFirstGroupBytes = 4;

// Thread-safe.
class KernelLayouts {
 public:
  explicit KernelLayouts(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  ~KernelLayouts();
  KernelLayouts(const KernelLayouts&) = delete;
  KernelLayouts& operator=(const KernelLayouts&) = delete;

  // kUnsupported if the device cannot bind so many buffers. `written_array`: KernelKey's.
  Result<KernelLayout> Get(BindingMode mode, uint32_t buffer_count, uint32_t written_array = 0);

 private:
  Result<KernelLayout> Make(BindingMode mode, uint32_t buffer_count, uint32_t written_array);

  std::shared_ptr<DeviceContext> context_;
  std::mutex mutex_;
  std::map<std::pair<int64_t, uint32_t>, KernelLayout> layouts_;  // -1: addresses; else the numbers of tensors
};

struct VulkanKernel final : public Kernel {
  VulkanKernel(std::shared_ptr<DeviceContext> context, std::shared_ptr<KernelLayouts> layouts)
      : context(std::move(context)), layouts(std::move(layouts)) {}
  ~VulkanKernel() override;
  VulkanKernel(const VulkanKernel&) = delete;
  VulkanKernel& operator=(const VulkanKernel&) = delete;

  std::shared_ptr<DeviceContext> context;
  std::shared_ptr<KernelLayouts> layouts;
  KernelLayout layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  BindingMode mode = BindingMode::kAddresses;
  uint32_t buffer_count = 0, written_array = 0;  // KernelKey's
  bool in_parts = false;
  std::string name;
};

// How a pipeline wants its subgroups.
struct SubgroupRequest {
  bool full = false;
  uint32_t size = 0;  // 0: the device's only one
};
// Pure. Nothing for a module without subgroup operations. kInternal for a workgroup that full subgroups cannot make up.
Result<SubgroupRequest> RequestSubgroups(const std::vector<uint32_t>& spirv, const KernelKey& key,
                                         const DevicePlan& plan);

struct PipelineRequest {
  BindingMode mode = BindingMode::kAddresses;
  const KernelKey* key = nullptr;
  const std::vector<uint32_t>* spirv = nullptr;
  VkPipelineCache cache = VK_NULL_HANDLE;
};

Result<std::shared_ptr<VulkanKernel>> MakeKernel(std::shared_ptr<DeviceContext> context,
                                                 std::shared_ptr<KernelLayouts> layouts,
                                                 const PipelineRequest& request);

// Pure. The key's workgroup size against the device's limits.
Status CheckWorkgroup(const KernelKey& key, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE::vulkan
