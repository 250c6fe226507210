#include "backend/vulkan/device/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>

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
    return MakeLowering(facts_, mode, kernels);
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
  Result<std::unique_ptr<CommandBuffer>> CreateCommandBuffer(int, int) override { return NotThere(); }
  Result<TimePoint> Submit(CommandBuffer&, const Moment&) override { return NotThere(); }
  Status Wait(const Moment&) override { return OkStatus(); }
  bool IsDone(const Moment&) override { return true; }
  Result<bool> WaitUntil(const Moment&, std::chrono::steady_clock::time_point) override { return true; }
  Status Upload(std::span<const std::byte>, Buffer&, int64_t) override { return NotThere(); }
  Status Download(Buffer&, int64_t, std::span<std::byte>, const Moment&) override { return NotThere(); }
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
  facts.api_version = 1u << 22 | 1u << 12;  // Vulkan 1.1
  facts.compile_only = true;
  facts.buffer_addresses = mode == BindingMode::kAddresses;
  facts.max_storage_buffers = 16;
  facts.division_f32 = facts.division_f64 = DeviceFacts::Division::kCorrected;
  facts.work_budget_seconds = 0.2;
  facts.quirks.loop_iteration_limit = 65535;
  facts.quirks.copy_reach_bytes = (int64_t{1} << 31) - 1;
  return facts;
}

namespace {

constexpr uint32_t kLeastLanes = 2, kMostLanes = 128;
constexpr std::string_view kSubgroups = "subgroups", kMatrices = "matrices", kDivision = "division";
struct Flag {
  std::string_view name;
  bool DeviceFacts::*fact;
};
constexpr Flag kFlags[] = {{"i64", &DeviceFacts::int64},         {"f64", &DeviceFacts::float64},
                           {"f16", &DeviceFacts::native_f16},    {"storage16", &DeviceFacts::storage16},
                           {"storage8", &DeviceFacts::storage8}, {"fma", &DeviceFacts::fused_multiply_add}};

// "16x8x16" as so many numbers, or none.
std::vector<uint32_t> Numbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (const char* at = text.data();;) {
    const char* const end = text.data() + text.size();
    uint32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != 'x') return {};
    at = next + 1;
  }
}

// Whether it is a feature; it is enabled then.
bool Enable(std::string_view word, DeviceFacts& facts) {
  if (const auto flag = std::ranges::find(kFlags, word, &Flag::name); flag != std::end(kFlags)) {
    facts.*(flag->fact) = true;
    return true;
  }
  if (word == kDivision) {
    facts.division_f32 = facts.division_f64 = DeviceFacts::Division::kNative;
    return true;
  }
  if (word.starts_with(kSubgroups)) {
    const std::vector<uint32_t> size = Numbers(word.substr(kSubgroups.size()));
    if (size.size() != 1 || !std::has_single_bit(size[0]) || size[0] < kLeastLanes || size[0] > kMostLanes)
      return false;
    facts.subgroup_shuffle = true;
    facts.subgroup_size = size[0];
    return true;
  }
  if (!word.starts_with(kMatrices)) return false;
  const std::vector<uint32_t> shape = Numbers(word.substr(kMatrices.size()));
  if (shape.size() != 3 || !facts.matrices.empty()) return false;
  facts.matrices = {{ElementType::kF16, ElementType::kF32, shape[0], shape[1], shape[2]}};
  return true;
}

// What matrix units go with, on every device that has them.
Status EnableMatrices(std::string_view target, DeviceFacts& facts) {
  if (facts.matrices.empty()) return OkStatus();
  if (!facts.subgroup_shuffle)
    return InvalidArgument("target {}: the matrices are those of a subgroup, so it needs subgroupsN", target);
  const MatrixShape& m = facts.matrices.front();
  facts.matrix_lanes = facts.subgroup_size;
  constexpr uint32_t kMost = 64, kPart = 8;  // 16 bytes of terms
  const bool whole = m.rows != 0 && m.columns != 0 && m.k != 0 && m.rows <= kMost && m.columns <= kMost &&
                     m.k <= kMost && m.rows * m.columns % facts.matrix_lanes == 0 && m.columns % 4 == 0 &&
                     m.k % kPart == 0;
  if (!whole) {
    return InvalidArgument(
        "target {}: matrices of {} x {} x {}: subgroups of {} take {} at most, columns in fours and k in eights",
        target, m.rows, m.columns, m.k, facts.matrix_lanes, kMost);
  }
  facts.float16 = facts.spirv_1_6 = true;
  facts.api_version = 1u << 22 | 3u << 12;
  return OkStatus();
}

}  // namespace

Result<DeviceFacts> GenericFactsOf(BindingMode mode, std::string_view target) {
  DeviceFacts facts = GenericFacts(mode);
  std::string_view words = target;
  words.remove_prefix(std::min(words.size(), facts.name.size() + 1));  // "generic+"
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('+'));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (Enable(word, facts)) continue;
    std::vector<std::string_view> names;
    for (const Flag& flag : kFlags) names.push_back(flag.name);
    return InvalidArgument("target {}: '{}' is none of {}, division, subgroupsN (N: 2, 4 ... 128), matricesMxNxK",
                           target, word, fmt::join(names, ", "));
  }
  VXLA_RETURN_IF_ERROR(EnableMatrices(target, facts));
  if (facts.native_f16) {
    facts.float16 = facts.rounding_rte_16 = facts.denorm_preserve_16 = facts.signed_zero_inf_nan_preserve_16 = true;
  }
  for (const Flag& flag : kFlags) facts.name += facts.*(flag.fact) ? fmt::format("+{}", flag.name) : "";
  if (facts.division_f32 == DeviceFacts::Division::kNative) facts.name += fmt::format("+{}", kDivision);
  if (facts.subgroup_shuffle) facts.name += fmt::format("+{}{}", kSubgroups, facts.subgroup_size);
  for (const MatrixShape& m : facts.matrices)
    facts.name += fmt::format("+{}{}x{}x{}", kMatrices, m.rows, m.columns, m.k);
  return facts;
}

std::unique_ptr<Device> MakeTarget(const DeviceFacts& facts, BindingMode mode, const OpenOptions& options) {
  return std::make_unique<Target>(facts, mode, options);
}

}  // namespace VXLA_NAMESPACE::vulkan
