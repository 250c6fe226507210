// Values in device memory: made of host memory, read, described; and what memory the device has.
#include <algorithm>

#include "api/c/c_handles.h"

namespace VXLA_NAMESPACE {
namespace {

// Without strides: dense. `done` may be null.
Result<DeviceBuffer> UploadArray(VxlaDevice device, const VxlaUploadInfo& info, bool lent, Event* done) {
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, VXLA_UPLOAD_PINNED_HOST));
  VXLA_ASSIGN_OR_RETURN(const VxlaArray read, ReadArray(info.array));
  VXLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(read));
  VXLA_RETURN_IF_ERROR(CheckShape(shape));
  if (shape.ElementCount() != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.data, "data"));
  Client::HostArray array{static_cast<const std::byte*>(info.data), shape, {}};
  const auto rank = static_cast<size_t>(shape.rank());
  if (info.byte_strides != nullptr) array.byte_strides.assign(info.byte_strides, info.byte_strides + rank);
  if (read.live_sizes != nullptr) array.live_sizes.assign(read.live_sizes, read.live_sizes + rank);
  if (lent) array.lent = Client::HostArray::Lent::kUntilTransferred;
  const bool pinned = (info.flags & VXLA_UPLOAD_PINNED_HOST) != 0;
  VXLA_ASSIGN_OR_RETURN(Client::FromHostResult made,
                        ClientNow(device)->FromHost(array, pinned ? BufferMemory::kPinnedHost : BufferMemory::kDevice));
  if (done != nullptr) *done = std::move(made.done);
  return std::move(made.buffer);
}

// The event: the elements are there.
Result<Event> StartDownload(VxlaValue value, const VxlaDownloadInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
  VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, 0));
  const DeviceBuffer& buffer = value->content->value;
  const Shape& shape = buffer.shape();
  const auto size = static_cast<uint64_t>(shape.SizeBytes());
  if (info.byte_strides == nullptr && info.size_bytes != size)
    return InvalidArgument("value: {} bytes given, it has {}", info.size_bytes, size);
  if (size != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.data, "data"));
  auto* const data = static_cast<std::byte*>(info.data);
  if (info.byte_strides == nullptr) return buffer.ToHost({data, size});
  return buffer.ToHost(data, {info.byte_strides, static_cast<size_t>(shape.rank())});
}

// Here, so that no other thread has to be told of it; a value that is gone says so at once.
void AwaitContents(VxlaValue value) {
  const DeviceBuffer& buffer = value->content->value;
  if (!buffer.IsDeleted()) (void)buffer.Wait();
}

VxlaMemoryStatistics Describe(const Device& device) {
  const MemoryStatistics statistics = device.memory_statistics();
  VxlaMemoryStatistics described = {};
  described.limit_bytes = device.facts().memory_bytes;
  described.allocated_bytes = static_cast<uint64_t>(statistics.allocated_bytes);
  described.used_bytes = static_cast<uint64_t>(statistics.used_bytes);
  described.peak_used_bytes = static_cast<uint64_t>(statistics.peak_used_bytes);
  described.allocation_count = static_cast<uint64_t>(statistics.allocation_count);
  return described;
}

}  // namespace
}  // namespace VXLA_NAMESPACE

using namespace vxla;  // NOLINT: this file is the C side of that namespace

VxlaCode vxlaDescribeMemory(VxlaDevice device, VxlaMemoryStatistics* statistics, VxlaMessage* message) {
  return CallOn(device, "device", message,
                [&] { return WriteStruct(Describe(*device->device), statistics, "statistics"); });
}

VxlaCode vxlaCreateValue(VxlaDevice device, const VxlaArray* array, const void* data, VxlaValue* value,
                         VxlaMessage* message) {
  return CallFor(value, "value", message, [&]() -> Result<VxlaValue> {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VxlaUploadInfo info = {};
    info.array = array;
    info.data = data;
    Event done;
    VXLA_ASSIGN_OR_RETURN(DeviceBuffer made, UploadArray(device, info, /*lent=*/true, &done));
    VXLA_RETURN_IF_ERROR(done.Await());
    const Shape shape = made.shape();
    return NewHandle<VxlaValue_T>(device, CValue{std::move(made), CArray(shape)});
  });
}

VxlaCode vxlaUpload(VxlaDevice device, const VxlaUploadInfo* info, VxlaValue* value, VxlaEvent* done,
                    VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    if (done != nullptr) *done = nullptr;
    VXLA_RETURN_IF_ERROR(CheckNotNull(value, "value"));
    *value = nullptr;
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaUploadInfo read, ReadStruct(info, "info"));
    Event transferred;
    VXLA_ASSIGN_OR_RETURN(DeviceBuffer made, UploadArray(device, read, /*lent=*/done != nullptr, &transferred));
    const Shape shape = made.shape();
    *value = NewHandle<VxlaValue_T>(device, CValue{std::move(made), CArray(shape)});
    GiveEvent(device, transferred, done);
    return OkStatus();
  });
}

void vxlaDestroyValue(VxlaValue value) { DestroyHandle(value); }

VxlaCode vxlaDescribeValue(VxlaValue value, VxlaArray* array, VxlaMessage* message) {
  return CallOn(value, "value", message, [&] {
    return WriteStruct(value->content->array.Describe(), array, "array", offsetof(VxlaArray, dynamic));
  });
}

VxlaCode vxlaReadValue(VxlaValue value, void* data, uint64_t size_bytes, VxlaMessage* message) {
  VxlaDownloadInfo info = {};
  info.struct_size = sizeof(info);
  info.data = data;
  info.size_bytes = size_bytes;
  return vxlaDownload(value, &info, nullptr, message);
}

VxlaCode vxlaDownload(VxlaValue value, const VxlaDownloadInfo* info, VxlaEvent* done, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    if (done != nullptr) *done = nullptr;
    VXLA_ASSIGN_OR_RETURN(const VxlaDownloadInfo read, ReadStruct(info, "info"));
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    if (done == nullptr) AwaitContents(value);
    VXLA_ASSIGN_OR_RETURN(const Event there, StartDownload(value, read));
    if (done == nullptr) return there.Await();
    GiveEvent(value->owner, there, done);
    return OkStatus();
  });
}

VxlaCode vxlaReadLiveSizes(VxlaValue value, int32_t rank, int64_t* sizes, VxlaMessage* message) {
  return CallOn(value, "value", message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
    const Shape& shape = value->content->array.shape;
    if (rank != shape.rank()) return InvalidArgument("rank {}: the value is a {}", rank, shape.ToString());
    if (rank != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(sizes, "sizes"));
    VXLA_ASSIGN_OR_RETURN(const std::vector<int64_t> live, value->content->value.LiveSizes());
    std::ranges::copy(live, sizes);
    return OkStatus();
  });
}

VxlaCode vxlaValueIsReady(VxlaValue value, int32_t* ready, VxlaMessage* message) {
  return CallFor(ready, "ready", message, [&]() -> Result<int32_t> {
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    return value->content->value.IsReady() ? 1 : 0;
  });
}

VxlaCode vxlaGetValueEvent(VxlaValue value, VxlaEvent* event, VxlaMessage* message) {
  return CallFor(event, "event", message, [&]() -> Result<VxlaEvent> {
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    return NewHandle<VxlaEvent_T>(value->owner, CEvent{value->content->value.ready()});
  });
}
