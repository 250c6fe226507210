// Values in memory that is shared with other devices, APIs and processes.
#include <algorithm>
#include <span>

#include "api/c/c_vulkan.h"
#include "backend/vulkan/device/external_memory.h"

namespace VXLA_NAMESPACE {
namespace {

Result<Shape> ReadShape(const VxlaArray* array) {
  VXLA_ASSIGN_OR_RETURN(const VxlaArray read, ReadArray(array));
  VXLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(read));
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  VXLA_RETURN_IF_ERROR(CheckStatic(shape));
  return shape;
}

Result<CValue> Import(VxlaDevice device, const VxlaMemory& memory, const Shape& shape, const VxlaSemaphore* wait) {
  Device& on = *device->device;
  const BindingRules rules = RulesOf(on, shape);
  if (memory.offset % rules.alignment != 0)
    return InvalidArgument("memory: its offset {} is no multiple of {}", memory.offset, rules.alignment);
  if (wait != nullptr && !device->adopted)
    return InvalidArgument("wait: the device is vxla's own, and no VkSemaphore of the host's lives on it");
  // What can fail comes first: the descriptor belongs to the driver only if all went well.
  VXLA_ASSIGN_OR_RETURN(const Moment ready, ReadyAfter(on, wait));
  VXLA_ASSIGN_OR_RETURN(
      std::shared_ptr<Buffer> buffer,
      vulkan::ImportMemory(
          on, {{memory.handle_type, memory.descriptor, memory.handle}, memory.size, memory.offset, memory.memory_type},
          static_cast<uint64_t>(rules.size_bytes)));
  return CValue{ClientNow(device)->Lend(shape, std::move(buffer), ready), CArray(shape)};
}

Result<CValue> CreateShared(VxlaDevice device, VkExternalMemoryHandleTypeFlagBits type, const Shape& shape,
                            const void* data) {
  Device& on = *device->device;
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer,
                        vulkan::AllocateExportable(on, type, static_cast<uint64_t>(RulesOf(on, shape).size_bytes)));
  if (data != nullptr && shape.SizeBytes() != 0) {
    const std::span bytes(static_cast<const std::byte*>(data), static_cast<size_t>(shape.SizeBytes()));
    VXLA_RETURN_IF_ERROR(on.Upload(bytes, *buffer, 0));
  }
  return CValue{ClientNow(device)->Lend(shape, std::move(buffer), {}), CArray(shape)};
}

}  // namespace
}  // namespace VXLA_NAMESPACE

using namespace vxla;  // NOLINT: this file is the C side of that namespace

VxlaCode vxlaImportMemory(VxlaDevice device, const VxlaMemory* memory, const VxlaArray* array,
                          const VxlaSemaphore* wait, VxlaValue* value, VxlaMessage* message) {
  return CallFor(value, "value", message, [&]() -> Result<VxlaValue> {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaMemory read, ReadStruct(memory, "memory", offsetof(VxlaMemory, handle)));
    VXLA_ASSIGN_OR_RETURN(const Shape shape, ReadShape(array));
    VXLA_ASSIGN_OR_RETURN(CValue imported, Import(device, read, shape, wait));
    return NewHandle<VxlaValue_T>(device, std::move(imported));
  });
}

VxlaCode vxlaCreateSharedValue(VxlaDevice device, VkExternalMemoryHandleTypeFlagBits handle_type,
                               const VxlaArray* array, const void* data, VxlaValue* value, VxlaMessage* message) {
  return CallFor(value, "value", message, [&]() -> Result<VxlaValue> {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const Shape shape, ReadShape(array));
    VXLA_ASSIGN_OR_RETURN(CValue shared, CreateShared(device, handle_type, shape, data));
    return NewHandle<VxlaValue_T>(device, std::move(shared));
  });
}

VxlaCode vxlaExportMemory(VxlaValue value, VxlaMemory* memory, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const DeviceMemory* from, MemoryOf(value));
    VXLA_RETURN_IF_ERROR(CheckStructSize(memory, sizeof(VxlaMemory), offsetof(VxlaMemory, handle), "memory"));
    VXLA_ASSIGN_OR_RETURN(const vulkan::ExternalMemory exported, vulkan::ExportMemory(from->buffer()));
    VxlaMemory described = {};
    described.handle_type = exported.handle.type;
    described.descriptor = exported.handle.descriptor;
    described.handle = exported.handle.handle;
    described.memory_type = exported.memory_type;
    described.size = exported.size_bytes;
    described.offset = exported.offset_bytes;
    return WriteStruct(described, memory, "memory", offsetof(VxlaMemory, handle));
  });
}
