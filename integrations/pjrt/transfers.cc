#include "integrations/pjrt/plugin.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

// The memory that a call names, or the device's own.
Result<PJRT_Memory*> TargetOf(PJRT_Device* device, PJRT_Memory* memory) {
  if (memory != nullptr) return memory;
  if (device != nullptr) {
    VXLA_RETURN_IF_ERROR(CheckOwn(*device));
    return device->memories[0];
  }
  return InvalidArgument("neither a device nor a memory is named");
}

Result<Client::FromHostResult> Upload(Client::HostArray array, PJRT_Memory* memory) {
  const auto& target = *static_cast<MemoryHandle*>(memory);
  return target.device->runtime->FromHost(array, target.kind);
}

Status Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args& args) {
  VXLA_ASSIGN_OR_RETURN(PJRT_Memory* const memory, TargetOf(args.device, args.memory));
  Client::HostArray array;
  VXLA_ASSIGN_OR_RETURN(array.shape, ShapeOf(args.type, args.dims, args.num_dims));
  VXLA_ASSIGN_OR_RETURN(std::vector<int64_t> order, OrderOf(args.device_layout, array.shape.rank()));
  array.data = static_cast<const std::byte*>(args.data);
  if (args.byte_strides != nullptr)
    array.byte_strides.assign(args.byte_strides, args.byte_strides + args.num_byte_strides);
  const bool stays = args.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes ||
                     args.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy;
  array.lent = stays ? Client::HostArray::Lent::kUntilTransferred : Client::HostArray::Lent::kDuringCall;
  VXLA_ASSIGN_OR_RETURN(Client::FromHostResult uploaded, Upload(std::move(array), memory));
  std::unique_ptr<PJRT_Event> done(MakeEvent(std::move(uploaded.done)));
  args.buffer = MakeBuffer(std::move(uploaded.buffer), memory, std::move(order));
  args.done_with_host_buffer = done.release();
  return OkStatus();
}

// What is in it is zeros: one of them, which every element is read from.
Status Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  static constexpr std::byte kZero[16] = {};
  VXLA_ASSIGN_OR_RETURN(PJRT_Memory* const memory, TargetOf(args.device, args.memory));
  Client::HostArray array;
  VXLA_ASSIGN_OR_RETURN(array.shape, ShapeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  VXLA_ASSIGN_OR_RETURN(std::vector<int64_t> order, OrderOf(args.shape_layout, array.shape.rank()));
  array.data = kZero;
  array.byte_strides.assign(args.shape_num_dims, 0);
  VXLA_ASSIGN_OR_RETURN(Client::FromHostResult uploaded, Upload(std::move(array), memory));
  args.buffer = MakeBuffer(std::move(uploaded.buffer), memory, std::move(order));
  return OkStatus();
}

Status Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args& args) {
  const DeviceBuffer& source = args.src->buffer;
  const auto size = static_cast<size_t>(source.shape().SizeBytes());
  if (args.dst == nullptr) {
    args.dst_size = size;
    return OkStatus();
  }
  if (args.dst_size < size)
    return InvalidArgument("{} of {} bytes does not fit into {}", source.shape().ToString(), size, args.dst_size);
  VXLA_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, StridesOf(args.host_layout, source.shape()));
  if (source.IsDeleted()) return InvalidArgument("the {} has been deleted or donated", source.shape().ToString());
  args.event = MakeEvent(source.ToHost(static_cast<std::byte*>(args.dst), strides));
  return OkStatus();
}

Status Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args& args) {
  const DeviceBuffer& source = args.buffer->buffer;
  const int64_t size = source.shape().SizeBytes();
  if (args.offset < 0 || args.transfer_size < 0 || args.offset > size - args.transfer_size)
    return InvalidArgument("bytes {} to {} of {} are asked for", args.offset, args.offset + args.transfer_size, size);
  const auto all = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(size));
  const auto promise = std::make_shared<Promise>();
  args.event = MakeEvent(promise->event());
  source.ToHost(*all).OnReady(
      [all, promise, target = args.dst, offset = args.offset, bytes = args.transfer_size](const Status& status) {
        if (status.ok()) std::memcpy(target, all->data() + offset, static_cast<size_t>(bytes));
        promise->Keep(status);
      });
  return OkStatus();
}

Result<PJRT_Buffer*> CopyTo(const PJRT_Buffer& source, PJRT_Memory* memory) {
  const auto& target = *static_cast<MemoryHandle*>(memory);
  VXLA_ASSIGN_OR_RETURN(DeviceBuffer copy, source.buffer.CopyTo(*target.device->runtime, target.kind));
  return MakeBuffer(std::move(copy), memory, source.minor_to_major);
}

Status Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.dst_buffer, CopyTo(*args.buffer, args.dst_device->memories[0]));
  return OkStatus();
}

Status Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.dst_buffer, CopyTo(*args.buffer, args.dst_memory));
  return OkStatus();
}

}  // namespace

void AddTransferSlots(PJRT_Api& api) {
  VXLA_PJRT_WORK_SLOT(api, Client_BufferFromHostBuffer);
  VXLA_PJRT_WORK_SLOT(api, Client_CreateUninitializedBuffer);
  VXLA_PJRT_WORK_SLOT(api, Buffer_ToHostBuffer);
  VXLA_PJRT_WORK_SLOT(api, Buffer_CopyRawToHost);
  VXLA_PJRT_WORK_SLOT(api, Buffer_CopyToDevice);
  VXLA_PJRT_WORK_SLOT(api, Buffer_CopyToMemory);
}

}  // namespace VXLA_NAMESPACE::pjrt
