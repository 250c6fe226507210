#include "backend/vulkan/shader/custom_shader.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "backend/vulkan/spirv/float_modes.h"
#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// What kernels may declare beside what every device has, by number; and which fact allows it.
struct UserCapability {
  uint32_t number;
  const char* name;
  bool (*enabled)(const DeviceFacts&);
};
bool HasMatrices(const DeviceFacts& facts) { return !facts.matrices.empty() && !facts.matrices_stand_in; }
template <ElementType... terms>
bool HasMatricesOf(const DeviceFacts& facts) {
  return HasMatrices(facts) &&
         std::ranges::any_of(facts.matrices, [](const MatrixShape& matrix) { return ((matrix.term == terms) || ...); });
}
constexpr auto HasBrainMatrices = HasMatricesOf<ElementType::kBF16>;
constexpr auto HasFloat8Matrices = HasMatricesOf<ElementType::kF8E4M3FN, ElementType::kF8E5M2>;
// Of some width: which one, the execution modes say.
template <uint32_t number>
bool HasFloatMode(const DeviceFacts& facts) {
  const auto modes = spirv::FloatModesOf(facts);
  return std::ranges::find(modes, number, &spirv::FloatMode::capability)->any();
}
constexpr UserCapability kCapabilities[] = {
    {0, "Matrix", [](const DeviceFacts&) { return true; }},
    {1, "Shader", [](const DeviceFacts&) { return true; }},
    {9, "Float16", [](const DeviceFacts& facts) { return facts.float16; }},
    {10, "Float64", [](const DeviceFacts& facts) { return facts.float64; }},
    {11, "Int64", [](const DeviceFacts& facts) { return facts.int64; }},
    {12, "Int64Atomics", [](const DeviceFacts& facts) { return facts.wide_atomics; }},
    // Devices that store such integers compute with them.
    {22, "Int16", [](const DeviceFacts& facts) { return facts.storage16; }},
    {39, "Int8", [](const DeviceFacts& facts) { return facts.storage8; }},
    {4212, "Float8EXT", HasFloat8Matrices},
    {4213, "Float8CooperativeMatrixEXT", HasFloat8Matrices},
    {4433, "StorageBuffer16BitAccess", [](const DeviceFacts& facts) { return facts.storage16; }},
    {4448, "StorageBuffer8BitAccess", [](const DeviceFacts& facts) { return facts.storage8; }},
    {4464, "DenormPreserve", HasFloatMode<4464>},
    {4466, "SignedZeroInfNanPreserve", HasFloatMode<4466>},
    {4467, "RoundingModeRTE", HasFloatMode<4467>},
    {5116, "BFloat16TypeKHR", HasBrainMatrices},
    {5118, "BFloat16CooperativeMatrixKHR", HasBrainMatrices},
    {5345, "VulkanMemoryModel", HasMatrices},  // which are enabled with it only
    {5347, "PhysicalStorageBufferAddresses", [](const DeviceFacts& facts) { return facts.buffer_addresses; }},
    {6018, "DotProductInput4x8BitPacked", [](const DeviceFacts& facts) { return facts.integer_dot_product; }},
    {6019, "DotProduct", [](const DeviceFacts& facts) { return facts.integer_dot_product; }},
    {6022, "CooperativeMatrixKHR", HasMatrices},
};
constexpr uint32_t kFirstSubgroup = 61, kLastSubgroup = 67;  // GroupNonUniform ... GroupNonUniformClustered

}  // namespace

std::vector<uint32_t> ModuleWords(std::string_view bytes) {
  std::vector<uint32_t> words(bytes.size() % 4 == 0 ? bytes.size() / 4 : 0);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

std::string ModuleBytes(const std::vector<uint32_t>& words) {
  std::string bytes(4 * words.size(), '\0');
  if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Status CheckCapabilities(const std::vector<uint32_t>& words, const std::string& name, const DeviceFacts& facts) {
  for (size_t at = spirv::kHeaderWords; at + 1 < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffffu;
    if (op != spirv::OpCapability) break;  // they come first
    const uint32_t number = words[at + 1];
    if (number >= kFirstSubgroup && number <= kLastSubgroup) {
      if (facts.subgroup_shuffle) continue;
      return Unsupported("kernel {}: it uses subgroup operations, which {} does not offer in full", name, facts.name);
    }
    const UserCapability* known = nullptr;
    for (const UserCapability& capability : kCapabilities) {
      if (capability.number == number) known = &capability;
    }
    if (known != nullptr && known->enabled(facts)) continue;
    return Unsupported("kernel {}: it declares the capability {}, which is not enabled on {}", name,
                       known == nullptr ? fmt::format("{}", number) : known->name, facts.name);
  }
  return OkStatus();
}

Status CheckLayout(const std::vector<uint32_t>& words, const std::string& name, const KernelKey& key,
                   BindingMode mode) {
  constexpr uint32_t kComputeModel = 5, kBinding = 33, kDescriptorSet = 34, kMain[] = {0x6e69616d, 0};  // "main"
  const bool addresses = mode == BindingMode::kAddresses;
  bool has_main = false;
  for (size_t at = spirv::kHeaderWords; at < words.size(); at += words[at] >> 16) {
    const std::span<const uint32_t> instruction = std::span(words).subspan(at, words[at] >> 16);
    const uint32_t op = instruction[0] & 0xffffu;
    if (op == spirv::OpFunction) break;
    if (instruction.size() < 4) continue;
    if (op == spirv::OpEntryPoint && instruction[1] == kComputeModel && instruction.size() > 4)
      has_main = has_main || std::ranges::equal(instruction.subspan(3, 2), kMain);
    if (op == spirv::OpVariable && instruction[3] == spirv::StorageClassPushConstant && !addresses && !key.in_parts)
      return InvalidArgument("kernel {}: its module takes push constants, of which kernels under descriptors have none",
                             name);
    if (op != spirv::OpDecorate || (instruction[2] != kBinding && instruction[2] != kDescriptorSet)) continue;
    if (addresses)
      return InvalidArgument("kernel {}: its module binds descriptors, of which kernels under addresses have none",
                             name);
    const uint32_t most = instruction[2] == kBinding ? key.buffer_count : 0;
    if (instruction[3] > most)
      return InvalidArgument("kernel {}: its module has descriptor {} {}, {} is the last", name,
                             instruction[2] == kBinding ? "binding" : "set", instruction[3], most);
  }
  if (!has_main) return InvalidArgument("kernel {}: its module has no compute shader named main", name);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::vulkan
