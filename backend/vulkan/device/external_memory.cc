#include "backend/vulkan/device/external_memory.h"

#include <bit>
#include <utility>

#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Alone in its allocation, which goes with it.
class ExternalBuffer final : public VulkanBuffer {
 public:
  explicit ExternalBuffer(std::shared_ptr<DeviceContext> context) : context_(std::move(context)) {}
  ~ExternalBuffer() override {
    context_->Destroy(context_->vk().DestroyBuffer, buffer_);
    context_->Destroy(context_->vk().FreeMemory, allocation_);
  }
  // Makes the buffer of the whole allocation: of `size_bytes`, and with the memory types that it can live in.
  Status MakeBuffer(uint64_t size_bytes, VkMemoryRequirements& needs);
  // Of `size_bytes`: what the handle stands for, or what the chain says.
  Status Allocate(uint64_t size_bytes, const void* chain, bool import = false);
  // The part that the buffer stands for.
  void Place(uint64_t offset_bytes, uint64_t size_bytes);

  ExternalMemory memory;
  bool dedicated = false, exported = false;

  DeviceContext& context() const { return *context_; }
  VkDeviceMemory allocation() const { return allocation_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory allocation_ = VK_NULL_HANDLE;
};

Status ExternalBuffer::MakeBuffer(uint64_t size_bytes, VkMemoryRequirements& needs) {
  auto external = MakeVk<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
  external.handleTypes = memory.handle.type;
  VXLA_RETURN_IF_ERROR(context_->MakeBuffer(size_bytes, BufferUsage(context_->facts()), &external, &buffer_, &needs));
  context_->Name(VK_OBJECT_TYPE_BUFFER, buffer_, "vxla shared memory");
  return OkStatus();
}

Status ExternalBuffer::Allocate(uint64_t size_bytes, const void* chain, bool import) {
  auto flags = MakeVk<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.pNext = chain;
  flags.flags = context_->facts().buffer_addresses ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0;
  auto alone = MakeVk<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
  alone.pNext = &flags;
  alone.buffer = buffer_;
  auto info = MakeVk<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  if (dedicated) {
    info.pNext = &alone;
  } else {
    info.pNext = &flags;
  }
  info.allocationSize = size_bytes;
  info.memoryTypeIndex = memory.memory_type;
  const DeviceTable& vk = context_->vk();
  VXLA_RETURN_IF_ERROR(import ? AllocateImported(*context_, memory.handle, info, &allocation_)
                              : context_->Make(vk.AllocateMemory, info, &allocation_, "vkAllocateMemory"));
  return context_->Check(vk.BindBufferMemory(context_->handle(), buffer_, allocation_, 0), "vkBindBufferMemory");
}

void ExternalBuffer::Place(uint64_t offset_bytes, uint64_t size_bytes) {
  const uint64_t address = context_->facts().buffer_addresses ? context_->AddressOf(buffer_) + offset_bytes : 0;
  Retarget(buffer_, static_cast<int64_t>(offset_bytes), static_cast<int64_t>(size_bytes), address);
}

// An empty buffer for such memory, and whether an allocation must have it for itself.
Result<std::shared_ptr<ExternalBuffer>> MakeExternal(Device& device, const ExternalMemory& memory,
                                                     VkExternalMemoryFeatureFlagBits feature) {
  auto& vulkan = static_cast<VulkanDevice&>(device);
  DeviceContext& context = vulkan.context();
  VXLA_RETURN_IF_ERROR(context.Alive());
  VXLA_RETURN_IF_ERROR(CheckHandleType(context, memory.handle.type));
  auto info = MakeVk<VkPhysicalDeviceExternalBufferInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO);
  info.usage = BufferUsage(context.facts());
  info.handleType = memory.handle.type;
  auto can = MakeVk<VkExternalBufferProperties>(VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES);
  context.instance().vk().GetPhysicalDeviceExternalBufferProperties(context.physical(), &info, &can);
  const VkExternalMemoryFeatureFlags features = can.externalMemoryProperties.externalMemoryFeatures;
  if ((features & feature) == 0) {
    return Unsupported("device {}: it {} no buffers of handle type {:#x}", context.facts().name,
                       feature == VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT ? "exports" : "imports",
                       static_cast<uint32_t>(memory.handle.type));
  }
  auto buffer = std::make_shared<ExternalBuffer>(vulkan.shared_context());
  buffer->memory = memory;
  buffer->dedicated = (features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
  return buffer;
}

// The memory types that may hold what a handle stands for.
Result<uint32_t> TypesOf(const ExternalBuffer& buffer, uint32_t buffer_types) {
  const ExternalMemory& memory = buffer.memory;
  if (IsOpaque(memory.handle.type)) return memory.memory_type < 32 ? buffer_types & (1u << memory.memory_type) : 0;
  VXLA_ASSIGN_OR_RETURN(const uint32_t types, MemoryTypesOf(buffer.context(), memory.handle));
  return buffer_types & types;
}

uint64_t HeapSize(const DeviceContext& context, uint32_t memory_type) {
  VkPhysicalDeviceMemoryProperties memory = {};
  context.instance().vk().GetPhysicalDeviceMemoryProperties(context.physical(), &memory);
  return memory.memoryHeaps[memory.memoryTypes[memory_type].heapIndex].size;
}

}  // namespace

Result<std::shared_ptr<Buffer>> AllocateExportable(Device& device, VkExternalMemoryHandleTypeFlagBits type,
                                                   uint64_t size_bytes) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<ExternalBuffer> buffer,
                        MakeExternal(device, {{type}}, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT));
  VkMemoryRequirements needs = {};
  VXLA_RETURN_IF_ERROR(buffer->MakeBuffer(size_bytes, needs));
  VkPhysicalDeviceMemoryProperties types = {};
  buffer->context().instance().vk().GetPhysicalDeviceMemoryProperties(buffer->context().physical(), &types);
  const std::optional<uint32_t> memory_type = TypeToExport(
      types, needs.memoryTypeBits, buffer->context().plan().memory[static_cast<int>(MemoryKind::kDevice)].type);
  if (!memory_type) return Unsupported("device {}: its device memory is not exported", device.facts().name);
  buffer->memory.memory_type = *memory_type;
  buffer->memory.size_bytes = needs.size;
  auto exports = MakeVk<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
  exports.handleTypes = buffer->memory.handle.type;
  VXLA_RETURN_IF_ERROR(buffer->Allocate(needs.size, &exports));
  buffer->Place(0, size_bytes);
  buffer->exported = true;
  return std::shared_ptr<Buffer>(buffer);
}

Result<std::shared_ptr<Buffer>> ImportMemory(Device& device, const ExternalMemory& memory, uint64_t size_bytes) {
  if (memory.offset_bytes > memory.size_bytes || size_bytes > memory.size_bytes - memory.offset_bytes) {
    return InvalidArgument("memory: {} bytes from {} on lie outside its {}", size_bytes, memory.offset_bytes,
                           memory.size_bytes);
  }
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<ExternalBuffer> buffer,
                        MakeExternal(device, memory, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT));
  VkMemoryRequirements needs = {};
  VXLA_RETURN_IF_ERROR(buffer->MakeBuffer(memory.offset_bytes + size_bytes, needs));
  if (needs.size > memory.size_bytes) {
    return InvalidArgument("memory: a buffer over {} bytes needs {}, it has {}", memory.offset_bytes + size_bytes,
                           needs.size, memory.size_bytes);
  }
  VXLA_ASSIGN_OR_RETURN(const uint32_t types, TypesOf(*buffer, needs.memoryTypeBits));
  if (types == 0) return InvalidArgument("memory: no buffer can live in its memory type {}", memory.memory_type);
  buffer->memory.memory_type = static_cast<uint32_t>(std::countr_zero(types));
  if (const uint64_t heap = HeapSize(buffer->context(), buffer->memory.memory_type); memory.size_bytes > heap)
    return InvalidArgument("memory: {} bytes are more than its heap has, {}", memory.size_bytes, heap);
  VXLA_RETURN_IF_ERROR(buffer->Allocate(memory.size_bytes, nullptr, /*import=*/true));
  buffer->Place(memory.offset_bytes, size_bytes);
  return std::shared_ptr<Buffer>(buffer);
}

Result<std::shared_ptr<Buffer>> ImportHostPointer(Device& device, std::byte* memory, uint64_t size_bytes) {
  auto& vulkan = static_cast<VulkanDevice&>(device);
  DeviceContext& context = vulkan.context();
  VXLA_RETURN_IF_ERROR(context.Alive());
  const uint64_t alignment = context.facts().host_pointer_alignment;
  if (alignment == 0)
    return Unsupported("device {}: no {}", context.facts().name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0 || size_bytes % alignment != 0 || size_bytes == 0) {
    return InvalidArgument("device {}: {} bytes at {} are no multiples of {}", context.facts().name, size_bytes,
                           static_cast<void*>(memory), alignment);
  }
  auto buffer = std::make_shared<ExternalBuffer>(vulkan.shared_context());
  buffer->memory.handle.type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkMemoryRequirements needs = {};
  VXLA_RETURN_IF_ERROR(buffer->MakeBuffer(size_bytes, needs));
  auto properties = MakeVk<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
  VXLA_RETURN_IF_ERROR(context.Check(
      context.vk().GetMemoryHostPointerPropertiesEXT(context.handle(), buffer->memory.handle.type, memory, &properties),
      "vkGetMemoryHostPointerPropertiesEXT"));
  const uint32_t types = needs.memoryTypeBits & properties.memoryTypeBits;
  if (types == 0 || needs.size > size_bytes)
    return Unsupported("device {}: no buffer lies in the host's memory", context.facts().name);
  buffer->memory.memory_type = static_cast<uint32_t>(std::countr_zero(types));
  auto pages = MakeVk<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
  pages.handleType = buffer->memory.handle.type;
  pages.pHostPointer = memory;
  VXLA_RETURN_IF_ERROR(buffer->Allocate(size_bytes, &pages));
  buffer->Place(0, size_bytes);
  return std::shared_ptr<Buffer>(buffer);
}

Result<ExternalMemory> ExportMemory(const Buffer& buffer) {
  const auto* external = dynamic_cast<const ExternalBuffer*>(&buffer);
  if (external == nullptr || !external->exported)
    return InvalidArgument("the value's memory was not made to be exported");
  DeviceContext& context = external->context();
  ExternalMemory memory = external->memory;
  VXLA_ASSIGN_OR_RETURN(memory.handle, HandleOf(context, external->allocation(), memory.handle.type));
  return memory;
}

}  // namespace VXLA_NAMESPACE::vulkan
