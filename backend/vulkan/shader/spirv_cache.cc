#include "backend/vulkan/shader/spirv_cache.h"

#include <cstring>

#include "backend/vulkan/device/device_plan.h"
#include "backend/vulkan/drivers/break_blocks.h"
#include "backend/vulkan/drivers/flatten_branches.h"
#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/shader/reflection.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/spirv/no_contraction.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Any length between 400 and 4000 is as good for the one compiler that asks for short blocks.
constexpr size_t kMostInBlock = 1000;

}  // namespace

SpirvCache::SpirvCache(std::shared_ptr<DiskCache> disk, const DeviceFacts& facts, BindingMode mode)
    : disk_(std::move(disk)),
      spirv_1_6_(facts.spirv_1_6),
      flat_(facts.quirks.walks_every_path),
      short_blocks_(facts.quirks.slow_long_blocks),
      mode_(mode),
      prefix_(fmt::format("spirv|5|{}|{}{}{}|{}|{}|", CompilerIdentity(), facts.spirv_1_6 ? "1.6" : "1.5",
                          flat_ ? "|flat4" : "", short_blocks_ ? "|short" : "",
                          mode == BindingMode::kAddresses ? "addresses" : "descriptors", DeviceIdentity(facts))) {}

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
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> words, Compile(key, text));
  disk_->Store(identity, std::as_bytes(std::span<const uint32_t>(words)));
  entry->words = std::make_shared<const std::vector<uint32_t>>(std::move(words));
  return Found{entry->words, true};
}

Result<std::vector<uint32_t>> SpirvCache::Compile(const KernelKey& key, const std::string& text) const {
  const bool custom = IsCustomShader(key);
  VXLA_ASSIGN_OR_RETURN(std::vector<uint32_t> words, custom ? CompileUserGlsl(text, UserFileOf(key), {spirv_1_6_})
                                                            : CompileGlsl(text, key.algorithm, {spirv_1_6_}));
  VXLA_ASSIGN_OR_RETURN(const ModuleInterface module, ReflectModule(words, key.algorithm));
  if (custom) {
    VXLA_RETURN_IF_ERROR(CheckUserModule(module, UserFileOf(key), key.buffer_count, mode_));
  } else {
    VXLA_RETURN_IF_ERROR(CheckInterface(module, key, mode_));
  }
  // Flat first: that is quick function by function.
  if (flat_) words = FlattenBranches(words);
  if (ComputesEmulatedDoubles(text)) words = WithoutCalls(std::move(words), {spirv_1_6_});
  return WithoutContraction(short_blocks_ ? BreakLongBlocks(std::move(words), kMostInBlock) : std::move(words));
}

}  // namespace VXLA_NAMESPACE::vulkan
