// PipelineCache: from kernel keys to pipelines; in memory, built on all cores, backed by SPIR-V and driver caches on
// disk.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/device.h"
#include "backend/kernel_hash.h"
#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/shader/spirv_cache.h"

namespace VXLA_NAMESPACE::vulkan {

// The whole GLSL text of a kernel.
using ShaderSource = std::function<Result<std::string>(const KernelKey&)>;

struct KernelKeyHash {
  size_t operator()(const KernelKey& key) const { return static_cast<size_t>(HashOf(key)); }
};

// Thread-safe: a key is built once, however many threads ask for it at the same time. A failed key is tried again when
// asked again.
class PipelineCache {
 public:
  PipelineCache(std::shared_ptr<DeviceContext> context, std::shared_ptr<KernelLayouts> layouts,
                std::shared_ptr<DiskCache> disk, ShaderSource source, BindingMode mode, ModuleCompiler compiler);
  // Writes the driver's cache to disk if it grew.
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  // In the order of the keys; the error of the first key that fails, or that of `progress`. `compiled` may be null.
  Result<std::vector<std::shared_ptr<Kernel>>> Get(std::span<const KernelKey* const> keys, int* compiled,
                                                   const KernelProgress& progress);
  // The SPIR-V that a kernel's pipeline is made from.
  Result<SpirvCache::Found> Module(const KernelKey& key);
  // The same, optimised: SpirvCache::GetOptimized.
  Result<std::vector<uint32_t>> OptimizedModule(const KernelKey& key);

 private:
  using Built = Result<std::shared_ptr<VulkanKernel>>;
  struct Job {
    KernelKey key;
    std::promise<Built> promise;
    bool compiled = false;
  };

  // What ended it.
  Status Run(std::vector<Job>& jobs, const KernelProgress& progress);
  void RunOne(Job& job);
  void Give(Job& job, Built built);
  Built Build(const KernelKey& key, bool* compiled);
  void LoadDriverCache();
  void SaveDriverCache();
  std::string DriverCacheIdentity() const;

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<KernelLayouts> layouts_;
  std::shared_ptr<DiskCache> disk_;
  ShaderSource source_;
  BindingMode mode_;
  SpirvCache spirv_;
  VkPipelineCache driver_cache_ = VK_NULL_HANDLE;
  size_t loaded_bytes_ = 0;
  std::mutex mutex_;
  std::unordered_map<KernelKey, std::shared_future<Built>, KernelKeyHash> kernels_;
};

}  // namespace VXLA_NAMESPACE::vulkan
