// Memory of a device: blocks from the driver, handed out in parts. Each block carries one VkBuffer over all of it, so a
// part is a buffer, an offset and an address.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "backend/device.h"
#include "backend/vulkan/device/handles/device_context.h"
#include "backend/vulkan/device/memory/free_list.h"
#include "backend/vulkan/device/plan/heap_ledger.h"

namespace VXLA_NAMESPACE::vulkan {

struct MemoryBlock {
  HostMemory memory;  // from the driver: all of a VkDeviceMemory
  VkBuffer buffer = VK_NULL_HANDLE;
  std::byte* mapped = nullptr;
  uint64_t address = 0;
  uint32_t heap = 0;
  int64_t size_bytes = 0;
  FreeList free;
  MemoryBlock(uint32_t heap, int64_t size) : heap(heap), size_bytes(size), free(size) {}
};

class MemoryAllocator;

// A part of a block, which goes back to its allocator; or a part of a buffer that is not ours, or external memory.
class VulkanBuffer : public Buffer {
 public:
  VulkanBuffer() = default;
  VulkanBuffer(std::shared_ptr<MemoryAllocator> owner, MemoryBlock* block, int64_t offset_bytes, int64_t size_bytes,
               int64_t reserved_bytes, const MemoryChoice& memory);
  ~VulkanBuffer() override;
  VulkanBuffer(const VulkanBuffer&) = delete;
  VulkanBuffer& operator=(const VulkanBuffer&) = delete;

  int64_t size_bytes() const override { return size_bytes_; }
  uint64_t device_address() const override { return address_; }
  std::byte* mapped() override { return mapped_; }
  // Makes a host's part stand for another one.
  void Retarget(VkBuffer handle, int64_t offset_bytes, int64_t size_bytes, uint64_t address);

  VkBuffer handle() const { return handle_; }
  int64_t offset_bytes() const { return offset_bytes_; }      // within handle()
  int64_t reserved_bytes() const { return reserved_bytes_; }  // size rounded up to the allocator's unit
  const MemoryChoice& memory() const { return memory_; }

 private:
  std::shared_ptr<MemoryAllocator> owner_;
  MemoryBlock* block_ = nullptr;  // null: the host's
  VkBuffer handle_ = VK_NULL_HANDLE;
  uint64_t address_ = 0;
  std::byte* mapped_ = nullptr;
  int64_t offset_bytes_ = 0, size_bytes_ = 0, reserved_bytes_ = 0;
  MemoryChoice memory_;
};

// Thread-safe.
class MemoryAllocator : public std::enable_shared_from_this<MemoryAllocator> {
 public:
  struct Options {
    // One allocation per buffer: GPU-assisted validation sees bounds of driver buffers only, and a host's allocator
    // divides blocks itself.
    bool dedicated = false;
  };
  static constexpr int64_t kUnitBytes = 256;

  MemoryAllocator(std::shared_ptr<DeviceContext> context, Options options)
      : context_(std::move(context)), options_(options), heaps_(context_->plan().heaps) {}
  ~MemoryAllocator();

  // kResourceExhausted with the size and the limit that it meets. Arguments that do not fit into their memory go where
  // uploads do.
  Result<std::shared_ptr<VulkanBuffer>> Allocate(int64_t size_bytes, MemoryKind kind);
  MemoryStatistics statistics() const;

 private:
  friend class VulkanBuffer;
  struct Pool {
    std::list<MemoryBlock> blocks;
    int64_t next_block_bytes = 0;
  };

  Result<std::shared_ptr<VulkanBuffer>> AllocateFrom(const MemoryChoice& choice, int64_t size_bytes);
  MemoryBlock* FindBlock(Pool& pool, int64_t reserved_bytes);
  Result<MemoryBlock*> AddBlock(Pool& pool, const MemoryChoice& choice, int64_t reserved_bytes);
  // What the driver says of its heaps' budgets, if it says it.
  void NoteBudgets();
  // Appends a block to the pool; on failure the pool stays as it was.
  Status MakeBlock(Pool& pool, const MemoryChoice& choice, int64_t size_bytes);
  Status FillBlock(MemoryBlock& block, const MemoryChoice& choice);
  Status AllocateMemory(const HostMemoryRequest& request, float priority, HostMemory& memory);
  void FreeMemory(const HostMemory& memory);
  // The host's calls; null: memory comes from the driver.
  const HostMemoryCalls* host_memory() const;
  void DestroyBlock(MemoryBlock& block);
  void ReleaseEmptyBlocks(uint32_t heap, int64_t keep_bytes);
  void Free(MemoryBlock* block, int64_t offset_bytes, int64_t reserved_bytes);
  Pool& PoolOf(const MemoryChoice& wanted);

  std::shared_ptr<DeviceContext> context_;
  Options options_;
  mutable std::mutex mutex_;
  HeapLedger heaps_;
  std::array<Pool, kMemoryKinds> pools_;  // by the first MemoryKind of equal memory: kinds of one type share blocks
  MemoryStatistics statistics_;
};

}  // namespace VXLA_NAMESPACE::vulkan
