#include "backend/device.h"
#include "integrations/pjrt/plugin.h"
#include "scheduler/runtime/buffer_pool.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status Buffer_Destroy(PJRT_Buffer_Destroy_Args& args) {
  delete args.buffer;
  return OkStatus();
}

Status Buffer_ElementType(PJRT_Buffer_ElementType_Args& args) {
  args.type = TypeOf(args.buffer->buffer.shape().element_type());
  return OkStatus();
}

Status Buffer_Dimensions(PJRT_Buffer_Dimensions_Args& args) {
  args.dims = args.buffer->buffer.shape().dimensions().data();
  args.num_dims = args.buffer->minor_to_major.size();
  return OkStatus();
}

Status Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  args.unpadded_dims = args.buffer->buffer.shape().dimensions().data();
  args.num_dims = args.buffer->minor_to_major.size();
  return OkStatus();
}

// JAX knows no array whose size its program decides.
Status Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  return OkStatus();
}

Status Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args& args) {
  args.layout = {};
  args.layout.struct_size = sizeof(PJRT_Buffer_MemoryLayout);
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled.struct_size = sizeof(PJRT_Buffer_MemoryLayout_Tiled);
  args.layout.tiled.minor_to_major = args.buffer->minor_to_major.data();
  args.layout.tiled.minor_to_major_size = args.buffer->minor_to_major.size();
  return OkStatus();
}

Status Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  args.on_device_size_in_bytes = static_cast<size_t>(args.buffer->buffer.shape().SizeBytes());
  return OkStatus();
}

Status Buffer_Device(PJRT_Buffer_Device_Args& args) {
  args.device = args.buffer->device;
  return OkStatus();
}

Status Buffer_Memory(PJRT_Buffer_Memory_Args& args) {
  args.memory = args.buffer->memory;
  return OkStatus();
}

Status Buffer_Delete(PJRT_Buffer_Delete_Args& args) {
  args.buffer->buffer.Delete();
  return OkStatus();
}

Status Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args& args) {
  args.is_deleted = args.buffer->buffer.IsDeleted();
  return OkStatus();
}

// Where the host can read the array: in memory of its own. Null: nowhere.
std::byte* OnHost(const DeviceBuffer& buffer) {
  if (buffer.memory_kind() != BufferMemory::kPinnedHost || buffer.IsDeleted()) return nullptr;
  return buffer.memory()->buffer().mapped();
}

Status Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args& args) {
  const auto hold = args.buffer->buffer.Hold();
  args.is_on_cpu = hold != nullptr && OnHost(args.buffer->buffer) != nullptr;
  return OkStatus();
}

Status Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args& args) {
  const bool is_token = args.buffer->buffer.shape().IsToken();
  args.event = MakeEvent(is_token ? args.buffer->done : args.buffer->buffer.ready());
  return OkStatus();
}

// Memory of the device has no address that is of use to others: what stands for it tells one array's from another's.
Result<void*> NameOf(const PJRT_Buffer& buffer) {
  const auto hold = buffer.buffer.Hold();
  if (hold == nullptr) return InvalidArgument("the array has been deleted or donated");
  std::byte* const on_host = OnHost(buffer.buffer);
  return on_host != nullptr ? on_host : static_cast<void*>(buffer.buffer.memory().get());
}

Status Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args& args) {
  VXLA_ASSIGN_OR_RETURN(const void* const name, NameOf(*args.buffer));
  args.buffer_pointer = reinterpret_cast<uintptr_t>(name);
  return OkStatus();
}

Status Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.device_memory_ptr, NameOf(*args.buffer));
  return OkStatus();
}

Status Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  auto hold = args.buffer->buffer.Hold();
  if (hold == nullptr) return InvalidArgument("the array has been deleted or donated");
  const std::lock_guard lock(args.buffer->mutex);
  args.buffer->holds.push_back(std::move(hold));
  return OkStatus();
}

Status Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) {
  std::shared_ptr<const void> hold;
  const std::lock_guard lock(args.buffer->mutex);
  if (args.buffer->holds.empty()) return InvalidArgument("an external reference that nobody took is given back");
  hold = std::move(args.buffer->holds.back());
  args.buffer->holds.pop_back();
  return OkStatus();
}

}  // namespace

PJRT_Buffer* MakeBuffer(DeviceBuffer buffer, PJRT_Memory* memory, std::vector<int64_t> minor_to_major) {
  auto made = std::make_unique<PJRT_Buffer>();
  made->buffer = std::move(buffer);
  made->memory = memory;
  made->device = static_cast<MemoryHandle*>(memory)->device;
  made->minor_to_major = std::move(minor_to_major);
  return made.release();
}

void AddBufferSlots(PJRT_Api& api) {
  VXLA_PJRT_FREE_SLOT(api, Buffer_Destroy);
  VXLA_PJRT_SLOT(api, Buffer_ElementType);
  VXLA_PJRT_SLOT(api, Buffer_Dimensions);
  VXLA_PJRT_SLOT(api, Buffer_UnpaddedDimensions);
  VXLA_PJRT_SLOT(api, Buffer_DynamicDimensionIndices);
  VXLA_PJRT_SLOT(api, Buffer_GetMemoryLayout);
  VXLA_PJRT_SLOT(api, Buffer_OnDeviceSizeInBytes);
  VXLA_PJRT_SLOT(api, Buffer_Device);
  VXLA_PJRT_SLOT(api, Buffer_Memory);
  VXLA_PJRT_FREE_SLOT(api, Buffer_Delete);
  VXLA_PJRT_SLOT(api, Buffer_IsDeleted);
  VXLA_PJRT_SLOT(api, Buffer_IsOnCpu);
  VXLA_PJRT_SLOT(api, Buffer_ReadyEvent);
  VXLA_PJRT_SLOT(api, Buffer_UnsafePointer);
  VXLA_PJRT_SLOT(api, Buffer_OpaqueDeviceMemoryDataPointer);
  VXLA_PJRT_SLOT(api, Buffer_IncreaseExternalReferenceCount);
  VXLA_PJRT_FREE_SLOT(api, Buffer_DecreaseExternalReferenceCount);
}

}  // namespace VXLA_NAMESPACE::pjrt
