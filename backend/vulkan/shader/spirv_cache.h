// SpirvCache: from a kernel's text to its SPIR-V, compiled at most once per process and kept on disk.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/vulkan/shader/disk_cache.h"
#include "backend/vulkan/shader/module_compiler.h"

namespace VXLA_NAMESPACE::vulkan {

// Thread-safe: threads that want the same text wait for one compilation.
class SpirvCache {
 public:
  SpirvCache(std::shared_ptr<DiskCache> disk, const DeviceFacts& facts, BindingMode mode, ModuleCompiler compiler);

  struct Found {
    std::shared_ptr<const std::vector<uint32_t>> words;
    bool compiled = false;  // by this call, as neither memory nor disk had it
  };
  // A freshly compiled module is checked against the key (reflection.h) before it is kept.
  // kUnsupported: it must be compiled and there is no compiler.
  Result<Found> Get(const KernelKey& key, const std::string& text);
  // The same, optimised for drivers to make pipelines of (ModuleCompiler::optimize).
  Result<std::vector<uint32_t>> GetOptimized(const KernelKey& key, const std::string& text);
  // What decides a module, and names it in the cache.
  std::string Identity(const KernelKey& key, const std::string& text) const;

 private:
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const std::vector<uint32_t>> words;
  };

  std::shared_ptr<DiskCache> disk_;
  ModuleTarget target_;
  ModuleCompiler compiler_;
  std::string prefix_;  // compiler, options and device, as part of each key
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;  // by Identity
};

}  // namespace VXLA_NAMESPACE::vulkan
