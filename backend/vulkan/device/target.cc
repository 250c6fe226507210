#include "backend/vulkan/device/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "backend/vulkan/lower/custom_call.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/shader/shader_source.h"
#include "backend/vulkan/shader/spirv_cache.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class Target final : public Device {
 public:
  Target(const DeviceFacts& facts, BindingMode mode, const OpenOptions& options)
      : facts_(facts),
        mode_(mode),
        lowering_(MakeLowering(facts_, mode)),
        modules_(std::make_shared<DiskCache>(options.cache_dir.empty() ? DefaultCacheFolder() : options.cache_dir,
                                             options.cache),
                 facts_, mode, ShadercCompiler()) {}

  const DeviceFacts& facts() const override { return facts_; }
  std::span<const BindingMode> binding_modes() const override { return {&mode_, 1}; }
  const Lowering& lowering(BindingMode) const override { return *lowering_; }
  std::unique_ptr<Lowering> LoweringWith(BindingMode mode, const CustomKernels& kernels) const override {
    return WithCustomKernels(facts_, mode, kernels, *lowering_);
  }

  Result<std::shared_ptr<Buffer>> Allocate(int64_t, MemoryKind) override { return NotThere(); }
  MemoryStatistics memory_statistics() const override { return {}; }
  // Nothing to run: an empty place for each.
  Result<std::vector<std::shared_ptr<Kernel>>> GetKernels(BindingMode, std::span<const KernelKey* const> keys,
                                                          int* compiled, const KernelProgress&) override {
    if (compiled != nullptr) *compiled = 0;
    return std::vector<std::shared_ptr<Kernel>>(keys.size());
  }
  Result<std::string> KernelSource(BindingMode mode, const KernelKey& key) const override {
    return AssembleShader(key, facts_, mode);
  }
  Result<std::vector<uint32_t>> KernelModule(BindingMode mode, const KernelKey& key) override {
    VXLA_ASSIGN_OR_RETURN(const std::string text, KernelSource(mode, key));
    return modules_.GetOptimized(key, text);
  }
  Result<std::unique_ptr<CommandBuffer>> CreateCommandBuffer(int) override { return NotThere(); }
  Result<uint64_t> Submit(CommandBuffer&, uint64_t) override { return NotThere(); }
  Status Wait(uint64_t) override { return OkStatus(); }
  bool IsDone(uint64_t) override { return true; }
  Status Upload(std::span<const std::byte>, Buffer&, int64_t) override { return NotThere(); }
  Status Download(Buffer&, int64_t, std::span<std::byte>) override { return NotThere(); }
  std::vector<std::string> validation_messages() const override { return {}; }

 private:
  Status NotThere() const { return Unsupported("{}: programs are compiled for it, nothing runs on it", facts_.name); }

  const DeviceFacts facts_;
  const BindingMode mode_;
  const std::unique_ptr<Lowering> lowering_;
  SpirvCache modules_;
};

}  // namespace

DeviceFacts GenericFacts(BindingMode mode) {
  DeviceFacts facts;
  facts.name = "generic";
  facts.api_version = 1u << 22 | 2u << 12;  // Vulkan 1.2
  facts.compile_only = true;
  facts.buffer_addresses = mode == BindingMode::kAddresses;
  facts.max_storage_buffers = 16;
  facts.division_f32 = facts.division_f64 = DeviceFacts::Division::kCorrected;
  facts.work_budget_seconds = 0.2;
  facts.quirks.loop_iteration_limit = 65535;
  facts.quirks.copy_reach_bytes = (int64_t{1} << 31) - 1;
  return facts;
}

Result<DeviceFacts> GenericFactsOf(BindingMode mode, std::string_view target) {
  constexpr std::string_view kSubgroups = "subgroups";
  constexpr std::array kNames = {"i64", "f64", "f16", "storage16", "storage8"};
  DeviceFacts facts = GenericFacts(mode);
  bool* const flags[kNames.size()] = {&facts.int64, &facts.float64, &facts.native_f16, &facts.storage16,
                                      &facts.storage8};
  std::string_view words = target;
  words.remove_prefix(std::min(words.size(), facts.name.size() + 1));  // "generic+"
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('+'));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (const auto name = std::ranges::find(kNames, word); name != kNames.end()) {
      *flags[name - kNames.begin()] = true;
      continue;
    }
    uint32_t size = 0;
    const std::string_view digits = word.substr(std::min(word.size(), kSubgroups.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    const bool number = error == std::errc() && end == digits.data() + digits.size();
    if (!word.starts_with(kSubgroups) || !number || !std::has_single_bit(size) || size < 2 || size > 128) {
      return InvalidArgument("target {}: '{}' is none of {}, subgroupsN (N: 2, 4 ... 128)", target, word,
                             fmt::join(kNames, ", "));
    }
    facts.subgroup_shuffle = true;
    facts.subgroup_size = size;
  }
  if (facts.native_f16) {
    facts.float16 = facts.rounding_rte_16 = facts.denorm_preserve_16 = facts.signed_zero_inf_nan_preserve_16 = true;
  }
  for (size_t i = 0; i < kNames.size(); ++i) facts.name += *flags[i] ? fmt::format("+{}", kNames[i]) : "";
  if (facts.subgroup_shuffle) facts.name += fmt::format("+{}{}", kSubgroups, facts.subgroup_size);
  return facts;
}

std::unique_ptr<Device> MakeTarget(const DeviceFacts& facts, BindingMode mode, const OpenOptions& options) {
  return std::make_unique<Target>(facts, mode, options);
}

}  // namespace VXLA_NAMESPACE::vulkan
