// SpirvCache: from a kernel's text to its SPIR-V, compiled at most once per process and kept on disk.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "backend/vulkan/shader/disk_cache.h"
#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

// Thread-safe: threads that want the same text wait for one compilation.
class SpirvCache {
 public:
  SpirvCache(std::shared_ptr<DiskCache> disk, const DeviceFacts& facts, BindingMode mode);

  struct Found {
    std::shared_ptr<const std::vector<uint32_t>> words;
    bool compiled = false;  // by this call, as neither memory nor disk had it
  };
  // A freshly compiled module is checked against the key (reflection.h) before it is kept.
  Result<Found> Get(const KernelKey& key, const std::string& text);
  // What decides a module, and names it in the cache.
  std::string Identity(const KernelKey& key, const std::string& text) const;

 private:
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const std::vector<uint32_t>> words;
  };
  Result<std::vector<uint32_t>> Compile(const KernelKey& key, const std::string& text) const;

  std::shared_ptr<DiskCache> disk_;
  bool spirv_1_6_, flat_, short_blocks_;
  BindingMode mode_;
  std::string prefix_;  // compiler, options and device, as part of each key
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;  // by Identity
};

}  // namespace VXLA_NAMESPACE::vulkan
