#include "backend/vulkan/device/memory/memory_allocator.h"

#include <algorithm>

#include "core/limits.h"

namespace VXLA_NAMESPACE::vulkan {

VulkanBuffer::VulkanBuffer(std::shared_ptr<MemoryAllocator> owner, MemoryBlock* block, int64_t offset_bytes,
                           int64_t size_bytes, int64_t reserved_bytes, const MemoryChoice& memory)
    : owner_(std::move(owner)),
      block_(block),
      handle_(block->buffer),
      address_(block->address == 0 ? 0 : block->address + static_cast<uint64_t>(offset_bytes)),
      mapped_(block->mapped == nullptr ? nullptr : block->mapped + offset_bytes),
      offset_bytes_(offset_bytes),
      size_bytes_(size_bytes),
      reserved_bytes_(reserved_bytes),
      memory_(memory) {}

VulkanBuffer::~VulkanBuffer() {
  if (owner_ != nullptr) owner_->Free(block_, offset_bytes_, reserved_bytes_);
}

void VulkanBuffer::Retarget(VkBuffer handle, int64_t offset_bytes, int64_t size_bytes, uint64_t address) {
  VXLA_CHECK(owner_ == nullptr, "an allocator's buffer stays where it is");
  handle_ = handle;
  address_ = address;
  offset_bytes_ = offset_bytes;
  size_bytes_ = reserved_bytes_ = size_bytes;
}

MemoryAllocator::~MemoryAllocator() {
  for (Pool& pool : pools_) {
    for (MemoryBlock& block : pool.blocks) DestroyBlock(block);
  }
}

Result<std::shared_ptr<VulkanBuffer>> MemoryAllocator::Allocate(int64_t size_bytes, MemoryKind kind) {
  VXLA_RETURN_IF_ERROR(context_->Alive());
  const DeviceFacts& facts = context_->facts();
  VXLA_RETURN_IF_ERROR(CheckRuns(facts));
  if (size_bytes < 0) return Internal("allocation of {} bytes", size_bytes);
  if (static_cast<uint64_t>(size_bytes) > facts.max_allocation_bytes) {
    return ResourceExhausted("a buffer of {} bytes exceeds the limit of {}: {} bytes for one allocation", size_bytes,
                             facts.name, facts.max_allocation_bytes);
  }
  const auto& memory = context_->plan().memory;
  const MemoryChoice& choice = memory[static_cast<int>(kind)];
  const MemoryChoice& upload = memory[static_cast<int>(MemoryKind::kUpload)];
  std::lock_guard lock(mutex_);
  auto buffer = AllocateFrom(choice, size_bytes);
  const bool full = !buffer.ok() && buffer.status().code() == StatusCode::kResourceExhausted;
  if (full && kind == MemoryKind::kArguments && choice != upload) return AllocateFrom(upload, size_bytes);
  return buffer;
}

Result<std::shared_ptr<VulkanBuffer>> MemoryAllocator::AllocateFrom(const MemoryChoice& choice, int64_t size_bytes) {
  // An empty buffer gets a unit too, so that its address is one and a descriptor can point at it.
  const int64_t reserved = RoundUp(std::max<int64_t>(size_bytes, 1), kUnitBytes);
  Pool& pool = PoolOf(choice);
  MemoryBlock* block = options_.dedicated ? nullptr : FindBlock(pool, reserved);
  if (block == nullptr) {
    VXLA_ASSIGN_OR_RETURN(block, AddBlock(pool, choice, reserved));
  }
  const int64_t offset = block->free.Take(reserved);
  statistics_.used_bytes += reserved;
  statistics_.cumulative_allocated_bytes += reserved;
  statistics_.peak_used_bytes = std::max(statistics_.peak_used_bytes, statistics_.used_bytes);
  return std::make_shared<VulkanBuffer>(shared_from_this(), block, offset, size_bytes, reserved, choice);
}

MemoryStatistics MemoryAllocator::statistics() const {
  std::lock_guard lock(mutex_);
  MemoryStatistics statistics = statistics_;
  statistics.allocated_bytes = heaps_.total_bytes();
  return statistics;
}

MemoryAllocator::Pool& MemoryAllocator::PoolOf(const MemoryChoice& wanted) {
  const auto& memory = context_->plan().memory;
  size_t first = 0;
  // Visibility counts too: a device that pretends to be discrete has one type in two guises.
  while (memory[first].type != wanted.type || memory[first].host_visible != wanted.host_visible) ++first;
  return pools_[first];
}

MemoryBlock* MemoryAllocator::FindBlock(Pool& pool, int64_t reserved_bytes) {
  MemoryBlock* best = nullptr;
  int64_t best_size = 0;
  for (MemoryBlock& block : pool.blocks) {
    const std::optional<int64_t> fit = block.free.BestFit(reserved_bytes);
    if (fit.has_value() && (best == nullptr || *fit < best_size)) best = &block, best_size = *fit;
  }
  return best;
}

Result<MemoryBlock*> MemoryAllocator::AddBlock(Pool& pool, const MemoryChoice& choice, int64_t reserved_bytes) {
  const std::string& device = context_->facts().name;
  const auto most = static_cast<int64_t>(context_->facts().max_allocation_bytes);
  if (pool.next_block_bytes == 0) pool.next_block_bytes = heaps_.FirstBlockBytes(choice.heap);
  // A request of half a block and more gets a block of its own size.
  const bool own = options_.dedicated || reserved_bytes > pool.next_block_bytes / 2;
  int64_t size = own ? reserved_bytes : std::min(pool.next_block_bytes, most);
  // Beyond the budget the driver begins to move memory about: what is empty goes first, and no block is larger than
  // what is asked for.
  NoteBudgets();
  if (!heaps_.FitsBudget(choice.heap, size)) {
    ReleaseEmptyBlocks(choice.heap, 0);
    NoteBudgets();
    if (!heaps_.FitsBudget(choice.heap, size)) size = reserved_bytes;
  }
  // Software drivers would let the system run out of memory instead of refusing.
  if (!heaps_.Fits(choice.heap, size)) ReleaseEmptyBlocks(choice.heap, 0);
  if (!heaps_.Fits(choice.heap, size)) size = reserved_bytes;
  if (!heaps_.Fits(choice.heap, size)) return heaps_.NoRoom(device, choice.heap, reserved_bytes);
  Status status = MakeBlock(pool, choice, size);
  if (status.code() == StatusCode::kResourceExhausted) {
    ReleaseEmptyBlocks(choice.heap, 0);
    status = MakeBlock(pool, choice, reserved_bytes);
    if (status.code() == StatusCode::kResourceExhausted) {
      NoteBudgets();
      return heaps_.Refused(device, choice.heap, reserved_bytes, status.message());
    }
  }
  VXLA_RETURN_IF_ERROR(status);
  if (!own) pool.next_block_bytes = std::min(pool.next_block_bytes * 2, heaps_.LargestBlockBytes(choice.heap));
  return &pool.blocks.back();
}

void MemoryAllocator::NoteBudgets() {
  if (!context_->plan().memory_budget) return;
  auto properties = MakeVk<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  auto budget =
      MakeVk<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  properties.pNext = &budget;
  context_->instance().vk().GetPhysicalDeviceMemoryProperties2(context_->physical(), &properties);
  for (uint32_t heap = 0; heap < context_->plan().heaps.size(); ++heap)
    heaps_.NoteBudget(heap, {budget.heapBudget[heap], budget.heapUsage[heap]});
}

Status MemoryAllocator::MakeBlock(Pool& pool, const MemoryChoice& choice, int64_t size_bytes) {
  MemoryBlock& block = pool.blocks.emplace_back(choice.heap, size_bytes);
  const Status status = FillBlock(block, choice);
  if (!status.ok()) {
    DestroyBlock(block);
    pool.blocks.pop_back();
    return status;
  }
  heaps_.Add(choice.heap, size_bytes);
  ++statistics_.allocation_count;
  return OkStatus();
}

Status MemoryAllocator::FillBlock(MemoryBlock& block, const MemoryChoice& choice) {
  const bool addresses = context_->facts().buffer_addresses;
  VkMemoryRequirements needs = {};
  VXLA_RETURN_IF_ERROR(context_->MakeBuffer(static_cast<uint64_t>(block.size_bytes),
                                            BufferUsage(context_->facts()) | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
                                            nullptr, &block.buffer, &needs));
  if ((needs.memoryTypeBits & (1u << choice.type)) == 0) {
    return DeviceFailure("device {}: buffers cannot live in memory type {}", context_->facts().name, choice.type);
  }
  const float priority = PriorityOf(context_->plan().memory, choice);
  VXLA_RETURN_IF_ERROR(AllocateMemory({needs, choice.type, choice.host_visible, addresses}, priority, block.memory));
  VXLA_RETURN_IF_ERROR(context_->Check(
      context_->vk().BindBufferMemory(context_->handle(), block.buffer, block.memory.memory, block.memory.offset_bytes),
      "vkBindBufferMemory"));
  block.mapped = static_cast<std::byte*>(block.memory.mapped);
  block.address = context_->AddressOf(block.buffer);
  context_->Name(VK_OBJECT_TYPE_BUFFER, block.buffer, "vxla memory");
  return OkStatus();
}

const HostMemoryCalls* MemoryAllocator::host_memory() const {
  const auto& host = context_->host();
  return host && host->memory.allocate ? &host->memory : nullptr;
}

Status MemoryAllocator::AllocateMemory(const HostMemoryRequest& request, float priority, HostMemory& memory) {
  if (const HostMemoryCalls* host = host_memory()) {
    VXLA_RETURN_IF_ERROR(context_->Check(host->allocate(request, memory), "the host's allocator of memory"));
    if (memory.memory == VK_NULL_HANDLE || memory.offset_bytes % request.requirements.alignment != 0 ||
        (request.map && memory.mapped == nullptr)) {
      return InvalidArgument(
          "the host's allocator of memory: its part (offset {}) is not there, not a multiple of {} or not mapped",
          memory.offset_bytes, request.requirements.alignment);
    }
    return OkStatus();
  }
  const DeviceTable& vk = context_->vk();
  auto flags = MakeVk<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = request.addresses ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0;
  auto ranked = MakeVk<VkMemoryPriorityAllocateInfoEXT>(VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT);
  ranked.priority = priority;
  if (context_->plan().memory_priority) flags.pNext = &ranked;
  auto info = MakeVk<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  info.pNext = request.addresses ? static_cast<const void*>(&flags) : flags.pNext;
  info.allocationSize = request.requirements.size;
  info.memoryTypeIndex = request.type;
  VXLA_RETURN_IF_ERROR(context_->Make(vk.AllocateMemory, info, &memory.memory, "vkAllocateMemory"));
  if (!request.map) return OkStatus();
  return context_->Check(vk.MapMemory(context_->handle(), memory.memory, 0, VK_WHOLE_SIZE, 0, &memory.mapped),
                         "vkMapMemory");
}

void MemoryAllocator::FreeMemory(const HostMemory& memory) {
  if (const HostMemoryCalls* host = host_memory()) {
    if (memory.memory != VK_NULL_HANDLE) host->free(memory);
  } else {
    context_->Destroy(context_->vk().FreeMemory, memory.memory);
  }
}

void MemoryAllocator::DestroyBlock(MemoryBlock& block) {
  context_->Destroy(context_->vk().DestroyBuffer, block.buffer);
  FreeMemory(block.memory);
}

void MemoryAllocator::ReleaseEmptyBlocks(uint32_t heap, int64_t keep_bytes) {
  for (Pool& pool : pools_) {
    for (auto it = pool.blocks.begin(); it != pool.blocks.end();) {
      if (it->heap != heap || !it->free.AllFree()) {
        ++it;
        continue;
      }
      if (it->size_bytes <= keep_bytes) {
        keep_bytes -= it->size_bytes;
        ++it;
        continue;
      }
      heaps_.Remove(heap, it->size_bytes);
      DestroyBlock(*it);
      it = pool.blocks.erase(it);
    }
  }
}

void MemoryAllocator::Free(MemoryBlock* block, int64_t offset_bytes, int64_t reserved_bytes) {
  std::lock_guard lock(mutex_);
  block->free.Give(offset_bytes, reserved_bytes);
  statistics_.used_bytes -= reserved_bytes;
  if (block->free.AllFree()) ReleaseEmptyBlocks(block->heap, options_.dedicated ? 0 : heaps_.SpareBytes(block->heap));
}

}  // namespace VXLA_NAMESPACE::vulkan
