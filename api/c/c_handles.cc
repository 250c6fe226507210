#include "api/c/c_handles.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "api/c/c_compiler.h"
#include "core/data/type_number.h"
#include "core/limits.h"
#include "core/sizes/live_layout.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr std::pair<HandleKind, const char*> kKindNames[] = {
    {HandleKind::kDestroyed, "was destroyed"}, {HandleKind::kMessage, "is a message"},
    {HandleKind::kDevice, "is a device"},      {HandleKind::kExecutable, "is an executable"},
    {HandleKind::kValue, "is a value"},        {HandleKind::kRecording, "is a recording"},
    {HandleKind::kEvent, "is an event"},
};

const char* KindName(HandleKind kind) {
  for (const auto& [known, name] : kKindNames) {
    if (known == kind) return name;
  }
  return "is none of vxla's";
}

}  // namespace

VxlaCode CodeOf(StatusCode code) {
  constexpr VxlaCode kCodes[] = {VXLA_OK,
                                 VXLA_MISMATCH,
                                 VXLA_INVALID_ARGUMENT,
                                 VXLA_UNSUPPORTED,
                                 VXLA_DEVICE_FAILURE,
                                 VXLA_RESOURCE_EXHAUSTED,
                                 VXLA_INTERNAL,
                                 VXLA_CANCELLED,
                                 VXLA_NOT_FOUND,
                                 VXLA_DEADLINE_EXCEEDED,
                                 VXLA_ABORTED};  // in StatusCode's order
  static_assert(std::size(kCodes) == static_cast<size_t>(StatusCode::kAborted) + 1);
  return kCodes[static_cast<size_t>(code)];
}

Result<std::shared_ptr<Executable>> CProgram::Await() const {
  if (compilation != nullptr) return compilation->Await();
  return executable;
}

bool CProgram::IsIdle() const {
  if (!made().IsReady()) return false;
  const Result<std::shared_ptr<Executable>> is_there = Await();
  return !is_there.ok() || (*is_there)->IsIdle();
}

void GiveEvent(VxlaDevice owner, const Event& event, VxlaEvent* place) {
  if (place != nullptr) *place = NewHandle<VxlaEvent_T>(owner, CEvent{event});
}

Result<std::shared_ptr<Executable>> ExecutableOf(VxlaExecutable handle) {
  VXLA_RETURN_IF_ERROR(CheckHandle(handle, "executable"));
  if (handle->content->program != nullptr) {
    return InvalidArgument("executable: it runs on {} devices, by vxlaExecuteOnDevices alone",
                           handle->content->devices.size());
  }
  return handle->content->Await();
}

CArray::CArray(const Shape& of) : shape(of), dimensions(of.dimensions().begin(), of.dimensions().end()) {
  std::ranges::replace(dimensions, kUnboundedSize, VXLA_OPEN_SIZE);
  for (int d = 0; d < of.rank(); ++d) {
    const bool bounded = of.is_dynamic_dimension(d) && of.dimension(d) != kUnboundedSize;
    if (bounded) dynamic.resize(dimensions.size());
    if (bounded) dynamic[d] = 1;
  }
}

bool CArray::has_open_sizes() const { return std::ranges::find(dimensions, VXLA_OPEN_SIZE) != dimensions.end(); }

VxlaArray CArray::Describe() const {
  VxlaArray array = {};
  array.element_type = TypeNumber(shape.element_type());
  array.rank = shape.rank();
  array.dimensions = dimensions.data();
  array.size_bytes = has_open_sizes() ? 0 : static_cast<uint64_t>(shape.SizeBytes());
  array.dynamic = dynamic.empty() ? nullptr : dynamic.data();
  array.live_sizes_offset = dynamic.empty() || has_open_sizes() ? 0 : static_cast<uint64_t>(LiveSizesOffset(shape));
  return array;
}

Status CheckHandleKind(const void* handle, HandleKind wanted, const char* what) {
  VXLA_RETURN_IF_ERROR(CheckNotNull(handle, what));
  HandleKind kind;
  std::memcpy(&kind, handle, sizeof(kind));
  return kind == wanted ? OkStatus() : InvalidArgument("{}: the handle {}", what, KindName(kind));
}

Status CheckOwned(VxlaValue value, const char* what) {
  if (!value->content->released) return OkStatus();
  return InvalidArgument("{}: it was released to another queue family, and not acquired since", what);
}

Status CheckNotNull(const void* pointer, const char* what) {
  return pointer != nullptr ? OkStatus() : InvalidArgument("{}: NULL", what);
}

Status CheckFlags(uint32_t flags, uint32_t known) {
  return (flags & ~known) == 0 ? OkStatus() : InvalidArgument("flags {:#x}: {:#x} are possible here", flags, known);
}

int64_t LoopIterations(uint64_t stated) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  return static_cast<int64_t>(std::min(stated, kMost));
}

Status CheckCount(const char* what, size_t given, size_t wanted) {
  return given == wanted ? OkStatus() : InvalidArgument("{}: {} given, the program has {}", what, given, wanted);
}

Status CheckStructSize(const void* given, size_t known, size_t least, const char* what) {
  VXLA_RETURN_IF_ERROR(CheckNotNull(given, what));
  uint32_t size;
  std::memcpy(&size, given, sizeof(size));
  if (size < least) return InvalidArgument("{}: struct_size is {}, the smallest is {}", what, size, least);
  if (size <= known) return OkStatus();
  // A header newer than the library: what it adds must not be asked for.
  constexpr size_t kMost = 4096;
  if (size > kMost) return InvalidArgument("{}: struct_size is {}, no struct has more than {}", what, size, kMost);
  const auto* bytes = static_cast<const std::byte*>(given);
  if (std::all_of(bytes + known, bytes + size, [](std::byte byte) { return byte == std::byte{0}; })) return OkStatus();
  return Unsupported("{}: this version of vxla knows the first {} of its {} bytes, and others are set", what, known,
                     size);
}

VxlaCode Report(VxlaCode code, const std::string& text, VxlaMessage* message) noexcept {
  if (message == nullptr) return code;
  *message = nullptr;
  if (code == VXLA_OK) return code;
  // Without memory there is no text.
  (void)Guarded([&] { return *message = new VxlaMessage_T{VxlaMessage_T::kKind, text}, OkStatus(); });
  return code;
}

VxlaCode Report(const Status& status, VxlaMessage* message) noexcept {
  return Report(CodeOf(status.code()), status.message(), message);
}

void Sweep(VxlaDevice_T& device) {
  const std::lock_guard lock(device.mutex);
  const auto busy = std::stable_partition(device.retired.begin(), device.retired.end(),
                                          [](const CProgram& program) { return program.IsIdle(); });
  device.retired.erase(device.retired.begin(), busy);
}

VxlaDevice NewDevice(std::shared_ptr<Device> device, uint32_t flags, bool adopted) {
  auto handle = std::make_unique<VxlaDevice_T>();
  handle->adopted = adopted;
  handle->keeps_destroyed = (flags & VXLA_DEVICE_CHECK_HANDLES) != 0;
  handle->client = ClientOf(device, nullptr);
  handle->device = std::move(device);
  return handle.release();
}

std::string AliveHandles(const VxlaDevice_T& device) {
  std::string kinds;
  int count = 0;
  for (size_t kind = 0; kind < kOwnedKinds.size(); ++kind) {
    const int alive = device.alive[kind];
    count += alive;
    if (alive == 0) continue;
    kinds += fmt::format("{}{} {}{}", kinds.empty() ? "" : ", ", alive, kOwnedKinds[kind], alive == 1 ? "" : "s");
  }
  return fmt::format("{} of its handles {} alive: {}", count, count == 1 ? "is" : "are", kinds);
}

void FreeDevice(VxlaDevice device) noexcept {
  if (!device->keeps_destroyed) return delete device;
  static std::atomic<VxlaDevice> kept = nullptr;  // a list, so that keeping one allocates nothing
  device->kind = HandleKind::kDestroyed;
  device->retired.clear();
  device->client.reset();
  device->registries.clear();
  device->device.reset();
  device->kept_before = kept.load();
  while (!kept.compare_exchange_weak(device->kept_before, device)) {
  }
}

std::shared_ptr<Client> ClientNow(VxlaDevice device) {
  const std::lock_guard lock(device->mutex);
  return device->client;
}

Result<Shape> ShapeOf(const VxlaArray& array) {
  const std::optional<ElementType> type = TypeOfNumber(array.element_type);
  if (!type.has_value() || !IsArrayElement(*type))
    return InvalidArgument("element type {}: no array holds it", array.element_type);
  // Before its dimensions are read.
  if (array.rank < 0 || array.rank > kMaxRank)
    return InvalidArgument("rank {}: from 0 to {} are possible", array.rank, kMaxRank);
  if (array.rank > 0) VXLA_RETURN_IF_ERROR(CheckNotNull(array.dimensions, "dimensions"));
  Shape shape(*type, {array.dimensions, array.dimensions + array.rank});
  for (int d = 0; d < array.rank && array.dynamic != nullptr; ++d)
    shape.set_dynamic_dimension(d, array.dynamic[d] != 0);
  return shape;
}

Result<VxlaArray> ReadArray(const VxlaArray* array) { return ReadStruct(array, "array", offsetof(VxlaArray, dynamic)); }

Status CheckStatic(const Shape& shape) {
  return shape.IsDynamic()
             ? Unsupported("array: {}: values with dynamic dimensions lie in vxla's own memory alone", shape.ToString())
             : OkStatus();
}

}  // namespace VXLA_NAMESPACE
