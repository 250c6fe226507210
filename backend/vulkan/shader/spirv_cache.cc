#include "backend/vulkan/shader/spirv_cache.h"

#include <cstring>

#include "backend/vulkan/device/plan/device_plan.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {

ModuleTarget::ModuleTarget(const DeviceFacts& facts, BindingMode bindings)
    : spirv_1_6(facts.spirv_1_6),
      flat(facts.quirks.walks_every_path),
      short_blocks(facts.quirks.slow_long_blocks),
      selects(!facts.costs.plain_arithmetic && !facts.is_any_device()),
      any_device(facts.is_any_device()),
      variant(VariantFor(facts)),
      mode(bindings) {}

std::string ModuleTarget::ToString() const {
  return fmt::format("{}{}{}{}|{}", spirv_1_6 ? "1.6" : "1.3", flat ? "|flat6" : "", short_blocks ? "|short" : "",
                     selects ? "|selects" : "", mode == BindingMode::kAddresses ? "addresses" : "descriptors");
}

SpirvCache::SpirvCache(std::shared_ptr<DiskCache> disk, const DeviceFacts& facts, BindingMode mode,
                       ModuleCompiler compiler)
    : disk_(std::move(disk)),
      target_(facts, mode),
      compiler_(std::move(compiler)),
      prefix_(fmt::format("spirv|8|{}|{}|{}|", compiler_.identity, target_.ToString(), DeviceIdentity(facts))) {}

std::string SpirvCache::Identity(const KernelKey& key, const std::string& text) const {
  // The counts are part of it because the interface check that a kept module passed depends on them.
  return fmt::format("{}{}|{}|{}|{}", prefix_, key.constants.size(), key.buffer_count, key.param_count, text);
}

Result<SpirvCache::Found> SpirvCache::Get(const KernelKey& key, const std::string& text) {
  if (key.is_module) {
    auto words = std::make_shared<const std::vector<uint32_t>>(ModuleWords(key.generated));
    if (!spirv::IsWholeModule(*words))
      return InvalidArgument("kernel {}: the SPIR-V module is cut off or broken", key.algorithm);
    return Found{std::move(words), false};
  }
  const std::string identity = Identity(key, text);
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& slot = entries_[identity];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::lock_guard lock(entry->mutex);
  if (entry->words != nullptr) return Found{entry->words, false};
  if (const auto bytes = disk_->Load(identity); bytes.has_value() && bytes->size() % 4 == 0) {
    std::vector<uint32_t> words(bytes->size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes->data(), bytes->size());
    if (spirv::IsWholeModule(words)) {
      entry->words = std::make_shared<const std::vector<uint32_t>>(std::move(words));
      return Found{entry->words, false};
    }
  }
  if (!compiler_.compile) return Unsupported("kernel {}: this library has no compiler", key.algorithm);
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> words, compiler_.compile(key, text, target_));
  disk_->Store(identity, std::as_bytes(std::span<const uint32_t>(words)));
  entry->words = std::make_shared<const std::vector<uint32_t>>(std::move(words));
  return Found{entry->words, true};
}

Result<std::vector<uint32_t>> SpirvCache::GetOptimized(const KernelKey& key, const std::string& text) {
  VXLA_ASSIGN_OR_RETURN(const Found found, Get(key, text));
  return compiler_.optimize ? compiler_.optimize(*found.words, key, target_) : *found.words;
}

}  // namespace VXLA_NAMESPACE::vulkan
