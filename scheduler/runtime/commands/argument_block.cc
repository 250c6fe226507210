#include "scheduler/runtime/commands/argument_block.h"

#include <cstring>

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kAddressBytes = 8, kWordBytes = 4;

void WriteAddress(std::span<std::byte> blocks, int64_t position, uint64_t address) {
  std::memcpy(blocks.data() + position, &address, sizeof(address));
}

}  // namespace

ArgumentLayout LayOutArguments(const Plan& plan, int64_t alignment) {
  ArgumentLayout layout;
  layout.parameter_patches.resize(plan.parameters.size());
  layout.result_patches.resize(plan.results.size());
  for (const Step& step : plan.steps) {
    const int64_t begin = (layout.total_bytes + alignment - 1) / alignment * alignment;
    const int64_t size = kAddressBytes * static_cast<int64_t>(step.bindings.size()) +
                         kWordBytes * static_cast<int64_t>(step.params.size());
    layout.offset_of_step.push_back(begin);
    layout.size_of_step.push_back(size);
    layout.total_bytes = begin + size;
    if (plan.bindings != BindingMode::kAddresses) continue;
    for (size_t k = 0; k < step.bindings.size(); ++k) {
      const PhysicalRange range = RangeOf(plan, step.bindings[k].slice);
      if (!IsBoundary(range.space) || range.begin == range.end) continue;
      auto& patches = range.space == MemorySpace::kParameter ? layout.parameter_patches : layout.result_patches;
      patches.at(range.index).push_back({begin + kAddressBytes * static_cast<int64_t>(k), range.begin});
    }
  }
  return layout;
}

void WriteArguments(const Plan& plan, const ArgumentLayout& layout, const AddressOf& address_of,
                    std::span<std::byte> blocks) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    int64_t position = layout.offset_of_step[i];
    for (const Binding& binding : step.bindings) {
      const PhysicalRange range = RangeOf(plan, binding.slice);
      uint64_t address = 0;
      if (plan.bindings == BindingMode::kAddresses && range.begin == range.end) {
        // An empty array has no place; its kernel gets an address that is valid all the same.
        address = address_of(MemorySpace::kScratch, kNoPlace);
      } else if (plan.bindings == BindingMode::kAddresses && !IsBoundary(range.space)) {
        address = address_of(range.space, range.index) + static_cast<uint64_t>(range.begin);
      }
      WriteAddress(blocks, position, address);
      position += kAddressBytes;
    }
    if (!step.params.empty()) {
      std::memcpy(blocks.data() + position, step.params.data(), step.params.size() * sizeof(uint32_t));
    }
  }
}

void PatchArguments(std::span<const ArgumentLayout::Patch> patches, uint64_t base_address,
                    std::span<std::byte> blocks) {
  for (const ArgumentLayout::Patch& patch : patches) {
    WriteAddress(blocks, patch.position, base_address + static_cast<uint64_t>(patch.offset_bytes));
  }
}

}  // namespace VXLA_NAMESPACE
