#include "backend/vulkan/device/probes/kept_tuning.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "backend/vulkan/device/plan/device_plan.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using Words = std::array<uint32_t, std::size(kTuningFields)>;

std::string KeyOf(const DeviceFacts& facts) {
  std::string names;
  for (const TuningField& field : kTuningFields) names += fmt::format("{}|", field.name);
  return fmt::format("tuning|{}{}|{}", names, facts.is_software() ? "software" : "gpu", DeviceIdentity(facts));
}

bool IsTaken(const DeviceFacts& facts, const DeviceTuning& tuning) {
  constexpr uint32_t kMost = 1 << 16;
  const uint32_t invocations = std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
  return std::ranges::all_of(kTuningFields,
                             [&](const TuningField& field) {
                               const uint32_t value = tuning.*field.value;
                               return value == 0 || (std::has_single_bit(value) && value <= kMost);
                             }) &&
         std::max(tuning.loop_group, tuning.row_lanes) <= invocations &&
         tuning.dot_lanes * tuning.dot_lanes <= invocations;
}

}  // namespace

DeviceTuning LoadTuning(DiskCache& disk, const DeviceFacts& facts) {
  const auto words = disk.LoadArray<Words>(KeyOf(facts));
  if (!words) return {};
  DeviceTuning tuning;
  for (size_t i = 0; i < words->size(); ++i) tuning.*kTuningFields[i].value = (*words)[i];
  return IsTaken(facts, tuning) ? tuning : DeviceTuning{};
}

bool KeepTuning(DiskCache& disk, const DeviceFacts& facts, const DeviceTuning& tuning) {
  Words words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = tuning.*kTuningFields[i].value;
  disk.Store(KeyOf(facts), std::as_bytes(std::span(words)));
  return LoadTuning(disk, facts) == tuning;
}

}  // namespace VXLA_NAMESPACE::vulkan
