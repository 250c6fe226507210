// HeapLedger: how much of each memory heap is allocated. All memory types of a heap draw on the same bytes, and no heap
// on another's. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

struct MemoryHeap {
  uint64_t bytes = 0;
  bool device_local = false;
};

// What the driver says of a heap now (VK_EXT_memory_budget).
struct HeapBudget {
  uint64_t budget_bytes = 0;  // of this program, more slows it down or fails; 0: not said
  uint64_t usage_bytes = 0;   // by this program, whatever in it allocates
};

class HeapLedger {
 public:
  explicit HeapLedger(std::vector<MemoryHeap> heaps)
      : heaps_(std::move(heaps)), used_(heaps_.size()), budgets_(heaps_.size()) {}

  int64_t left_bytes(uint32_t heap) const { return size_bytes(heap) - used_.at(heap); }
  int64_t total_bytes() const;  // allocated from all heaps
  bool Fits(uint32_t heap, int64_t bytes) const { return bytes <= left_bytes(heap); }
  // Whether it stays within what the driver last said of the heap. More is not refused: budgets come and go with other
  // programs, and the driver may have the means.
  bool FitsBudget(uint32_t heap, int64_t bytes) const;
  void NoteBudget(uint32_t heap, const HeapBudget& budget) { budgets_.at(heap) = budget; }
  void Add(uint32_t heap, int64_t bytes) { used_.at(heap) += bytes; }
  void Remove(uint32_t heap, int64_t bytes) { used_.at(heap) -= bytes; }

  // kResourceExhausted: the heap, what was asked of it and what is left.
  Status NoRoom(std::string_view device, uint32_t heap, int64_t asked_bytes) const;
  // The same where the ledger has room and the driver has not: other programs use the device too. With the budget and
  // what is used of it where the driver says so.
  // `why`: what the driver said.
  Status Refused(std::string_view device, uint32_t heap, int64_t asked_bytes, std::string_view why) const;

  // What a pool takes from a heap at once: 64 MiB, then twice as much each time up to 512 MiB, and never more than a
  // sixteenth of the heap, so that a small window is not gone with the first buffer.
  int64_t FirstBlockBytes(uint32_t heap) const;
  int64_t LargestBlockBytes(uint32_t heap) const;
  // Empty blocks that are kept for the next request: an eighth of the heap, within reason.
  int64_t SpareBytes(uint32_t heap) const;

 private:
  int64_t size_bytes(uint32_t heap) const { return static_cast<int64_t>(heaps_.at(heap).bytes); }
  std::string NameOf(uint32_t heap) const;

  std::vector<MemoryHeap> heaps_;
  std::vector<int64_t> used_;
  std::vector<HeapBudget> budgets_;
};

}  // namespace VXLA_NAMESPACE::vulkan
