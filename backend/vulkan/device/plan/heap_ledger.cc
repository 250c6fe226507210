#include "backend/vulkan/device/plan/heap_ledger.h"

#include <algorithm>
#include <numeric>

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

}  // namespace

int64_t HeapLedger::total_bytes() const { return std::accumulate(used_.begin(), used_.end(), int64_t{0}); }

std::string HeapLedger::NameOf(uint32_t heap) const {
  return fmt::format("memory heap {} ({})", heap, heaps_.at(heap).device_local ? "device-local" : "host");
}

Status HeapLedger::NoRoom(std::string_view device, uint32_t heap, int64_t asked_bytes) const {
  return ResourceExhausted("{} bytes do not fit into {} of {}: {} of its {} bytes are left", asked_bytes, NameOf(heap),
                           device, left_bytes(heap), size_bytes(heap));
}

Status HeapLedger::Refused(std::string_view device, uint32_t heap, int64_t asked_bytes, std::string_view why) const {
  const HeapBudget& budget = budgets_.at(heap);
  const std::string said = budget.budget_bytes == 0 ? std::string()
                                                    : fmt::format("; its budget is {} bytes now, {} of them in use",
                                                                  budget.budget_bytes, budget.usage_bytes);
  return ResourceExhausted("the driver of {} refuses {} bytes of {}: this program holds {} of its {} bytes{} ({})",
                           device, asked_bytes, NameOf(heap), used_.at(heap), size_bytes(heap), said, why);
}

bool HeapLedger::FitsBudget(uint32_t heap, int64_t bytes) const {
  const HeapBudget& budget = budgets_.at(heap);
  return budget.budget_bytes == 0 || budget.usage_bytes + static_cast<uint64_t>(bytes) <= budget.budget_bytes;
}

int64_t HeapLedger::FirstBlockBytes(uint32_t heap) const { return std::clamp(size_bytes(heap) / 16, kMiB, 64 * kMiB); }

int64_t HeapLedger::LargestBlockBytes(uint32_t heap) const {
  return std::clamp(size_bytes(heap) / 16, kMiB, 512 * kMiB);
}

int64_t HeapLedger::SpareBytes(uint32_t heap) const {
  return std::clamp(size_bytes(heap) / 8, FirstBlockBytes(heap), 4096 * kMiB);
}

}  // namespace VXLA_NAMESPACE::vulkan
