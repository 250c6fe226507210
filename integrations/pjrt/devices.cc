#include "backend/device.h"
#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

Status DeviceDescription_Id(PJRT_DeviceDescription_Id_Args& args) {
  args.id = args.device_description->id;
  return OkStatus();
}

Status DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args& args) {
  args.process_index = args.device_description->process;
  return OkStatus();
}

Status DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args& args) {
  args.attributes = args.device_description->attributes.data();
  args.num_attributes = args.device_description->attributes.size();
  return OkStatus();
}

Status DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args& args) {
  args.device_kind = args.device_description->kind.data();
  args.device_kind_size = args.device_description->kind.size();
  return OkStatus();
}

Status DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args& args) {
  args.debug_string = args.device_description->debug_string.data();
  args.debug_string_size = args.device_description->debug_string.size();
  return OkStatus();
}

Status DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args& args) {
  args.to_string = args.device_description->text.data();
  args.to_string_size = args.device_description->text.size();
  return OkStatus();
}

Status Device_GetDescription(PJRT_Device_GetDescription_Args& args) {
  args.device_description = &args.device->description;
  return OkStatus();
}

Status Device_IsAddressable(PJRT_Device_IsAddressable_Args& args) {
  args.is_addressable = args.device->runtime != nullptr;
  return OkStatus();
}

Status Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args& args) {
  args.local_hardware_id = args.device->description.local_id;
  return OkStatus();
}

Status Device_AddressableMemories(PJRT_Device_AddressableMemories_Args& args) {
  args.memories = args.device->memories.data();
  args.num_memories = args.device->memories.size();
  return OkStatus();
}

Status Device_DefaultMemory(PJRT_Device_DefaultMemory_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckOwn(*args.device));
  args.memory = args.device->memories[0];
  return OkStatus();
}

// Of the physical device: its logical ones share the memory.
Status Device_MemoryStats(PJRT_Device_MemoryStats_Args& args) {
  VXLA_RETURN_IF_ERROR(CheckOwn(*args.device));
  const Device& device = args.device->runtime->device();
  const MemoryStatistics statistics = device.memory_statistics();
  ClearFrom(args, args.bytes_in_use);
  args.bytes_in_use = statistics.used_bytes;
  args.peak_bytes_in_use = statistics.peak_used_bytes;
  args.peak_bytes_in_use_is_set = true;
  args.num_allocs = statistics.allocation_count;
  args.num_allocs_is_set = true;
  args.bytes_limit = static_cast<int64_t>(device.facts().memory_bytes);
  args.bytes_limit_is_set = true;
  args.pool_bytes = statistics.allocated_bytes;
  args.pool_bytes_is_set = true;
  return OkStatus();
}

Status Device_GetAttributes(PJRT_Device_GetAttributes_Args& args) {
  args.attributes = args.device->description.attributes.data();
  args.num_attributes = args.device->description.attributes.size();
  args.device_attributes = nullptr;
  args.attributes_deleter = [](PJRT_Device_Attributes*) {};
  return OkStatus();
}

// What is tracked is for profilers; there is nothing to keep.
Status Device_CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args& args) {
  args.event = nullptr;
  return OkStatus();
}

Status AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args&) { return OkStatus(); }

const MemoryHandle& HandleOf(const PJRT_Memory* memory) { return *static_cast<const MemoryHandle*>(memory); }

Status Memory_Id(PJRT_Memory_Id_Args& args) {
  args.id = HandleOf(args.memory).id;
  return OkStatus();
}

Status Memory_Kind(PJRT_Memory_Kind_Args& args) {
  args.kind = kMemoryKindNames[static_cast<int>(HandleOf(args.memory).kind)];
  args.kind_size = std::strlen(args.kind);
  return OkStatus();
}

Status Memory_Kind_Id(PJRT_Memory_Kind_Id_Args& args) {
  args.kind_id = static_cast<int>(HandleOf(args.memory).kind);
  return OkStatus();
}

Status Memory_DebugString(PJRT_Memory_DebugString_Args& args) {
  const std::string& text = HandleOf(args.memory).debug_string;
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return OkStatus();
}

Status Memory_ToString(PJRT_Memory_ToString_Args& args) {
  const std::string& text = HandleOf(args.memory).text;
  args.to_string = text.data();
  args.to_string_size = text.size();
  return OkStatus();
}

Status Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args& args) {
  args.devices = &HandleOf(args.memory).device;
  args.num_devices = 1;
  return OkStatus();
}

}  // namespace

void AddDeviceSlots(PJRT_Api& api) {
  VXLA_PJRT_SLOT(api, DeviceDescription_Id);
  VXLA_PJRT_SLOT(api, DeviceDescription_ProcessIndex);
  VXLA_PJRT_SLOT(api, DeviceDescription_Attributes);
  VXLA_PJRT_SLOT(api, DeviceDescription_Kind);
  VXLA_PJRT_SLOT(api, DeviceDescription_DebugString);
  VXLA_PJRT_SLOT(api, DeviceDescription_ToString);
  VXLA_PJRT_SLOT(api, Device_GetDescription);
  VXLA_PJRT_SLOT(api, Device_IsAddressable);
  VXLA_PJRT_SLOT(api, Device_LocalHardwareId);
  VXLA_PJRT_SLOT(api, Device_AddressableMemories);
  VXLA_PJRT_SLOT(api, Device_DefaultMemory);
  VXLA_PJRT_SLOT(api, Device_MemoryStats);
  VXLA_PJRT_SLOT(api, Device_GetAttributes);
  VXLA_PJRT_SLOT(api, Device_CreateAsyncTrackingEvent);
  VXLA_PJRT_SLOT(api, AsyncTrackingEvent_Destroy);
  VXLA_PJRT_SLOT(api, Memory_Id);
  VXLA_PJRT_SLOT(api, Memory_Kind);
  VXLA_PJRT_SLOT(api, Memory_Kind_Id);
  VXLA_PJRT_SLOT(api, Memory_DebugString);
  VXLA_PJRT_SLOT(api, Memory_ToString);
  VXLA_PJRT_SLOT(api, Memory_AddressableByDevices);
}

}  // namespace VXLA_NAMESPACE::pjrt
