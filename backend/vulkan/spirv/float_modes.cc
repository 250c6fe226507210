#include "backend/vulkan/spirv/float_modes.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "backend/vulkan/spirv/spirv_words.h"

namespace VXLA_NAMESPACE::vulkan::spirv {

std::array<FloatMode, 3> FloatModesOf(const DeviceFacts& facts) {
  return {{{ExecutionModeSignedZeroInfNanPreserve, CapabilitySignedZeroInfNanPreserve,
            facts.signed_zero_inf_nan_preserve_32, facts.signed_zero_inf_nan_preserve_16,
            facts.signed_zero_inf_nan_preserve_64},
           {ExecutionModeRoundingModeRTE, CapabilityRoundingModeRTE, facts.rounding_rte_32, facts.rounding_rte_16,
            facts.rounding_rte_64},
           {ExecutionModeDenormPreserve, CapabilityDenormPreserve, facts.denorm_preserve_32, facts.denorm_preserve_16,
            facts.denorm_preserve_64}}};
}

std::vector<uint32_t> WithFloatModesOf(const DeviceFacts& facts, const std::vector<uint32_t>& words) {
  const auto modes = FloatModesOf(facts);
  const Instruction extension = ExtensionNamed(kFloatControls);
  // A module declares a capability once, for all widths that it has modes of.
  const auto stays = [&](const Instruction& instruction) {
    const bool is_mode = instruction.op() == OpExecutionMode;
    if (instruction == extension) return std::ranges::any_of(modes, &FloatMode::any);
    if (!is_mode && instruction.op() != OpCapability) return true;
    const uint32_t name = instruction.words[is_mode ? 2 : 1];
    const auto mode = std::ranges::find(modes, name, is_mode ? &FloatMode::mode : &FloatMode::capability);
    if (mode == modes.end()) return true;
    return is_mode ? mode->Has(instruction.words[3]) : mode->any();
  };
  Instructions instructions = Read(words);
  std::erase_if(instructions, [&](const Instruction& instruction) { return !stays(instruction); });
  return ModuleOf(words, instructions);
}

std::vector<uint32_t> WithFloatModesOf(std::string_view text, std::vector<uint32_t> words) {
  constexpr std::string_view kAsked = "spirv_execution_mode(capabilities = [";
  std::set<std::pair<uint32_t, uint32_t>> asked, there;  // mode, width
  for (size_t at = text.find(kAsked); at != text.npos; at = text.find(kAsked, at + 1)) {
    unsigned capability = 0, mode = 0, width = 0;
    const std::string line(text.substr(at + kAsked.size(), text.find('\n', at) - at - kAsked.size()));
    if (std::sscanf(line.c_str(), "%u], %u, %u", &capability, &mode, &width) == 3) asked.emplace(mode, width);
  }
  if (asked.empty()) return words;
  uint32_t entry = 0;
  size_t place = 0, behind_capabilities = kHeaderWords;
  for (size_t at = kHeaderWords; at < words.size(); at += std::max<size_t>(1, words[at] >> 16)) {
    const uint32_t op = words[at] & 0xffffu;
    if (op == OpFunction) break;
    if (op == OpCapability) behind_capabilities = at + (words[at] >> 16);
    if (op == OpEntryPoint) entry = words[at + 2];
    if (op == OpExecutionMode && words[at] >> 16 == 4) there.emplace(words[at + 2], words[at + 3]);
    if (op == OpEntryPoint || op == OpExecutionMode || op == OpExecutionModeId) place = at + (words[at] >> 16);
  }
  std::vector<uint32_t> missing;
  for (const auto& [mode, width] : asked) {
    if (!there.contains({mode, width})) missing.insert(missing.end(), {4u << 16 | OpExecutionMode, entry, mode, width});
  }
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(place), missing.begin(), missing.end());
  if (words[kVersionWord] < kVersion14) {
    const Words extension = ExtensionNamed(kFloatControls).words;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(behind_capabilities), extension.begin(), extension.end());
  }
  return words;
}

}  // namespace VXLA_NAMESPACE::vulkan::spirv
