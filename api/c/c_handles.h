// What is behind the handles of the C API, and how its functions check handles, read structs and report failures.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "core/host/guarded.h"
#include "include/vxla/vxla.h"
#include "scheduler/runtime/buffer.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/compilation.h"

namespace VXLA_NAMESPACE {

class CustomCallRegistry;
class Program;
struct RecordedSteps;

// VxlaDeviceInfo::flags and VxlaAdoptInfo::flags.
inline constexpr uint32_t kDeviceFlags = VXLA_DEVICE_NO_CACHE | VXLA_DEVICE_SAME_BITS | VXLA_DEVICE_CHECK_HANDLES;

enum class HandleKind : uint32_t {
  kDestroyed = 0x78760000,
  kMessage,
  kDevice,
  kExecutable,
  kValue,
  kRecording,
  kEvent,
};

// Handles that a device has, in HandleKind's order from kExecutable on.
inline constexpr std::array<const char*, 4> kOwnedKinds = {"executable", "value", "recording", "event"};
constexpr size_t OwnedKind(HandleKind kind) {
  return static_cast<size_t>(kind) - static_cast<size_t>(HandleKind::kExecutable);
}

// An array of a program or a value.
struct CArray {
  explicit CArray(const Shape& of);
  VxlaArray Describe() const;
  bool has_open_sizes() const;  // which the arguments of a run decide
  Shape shape;
  std::vector<int64_t> dimensions;
  std::vector<uint8_t> dynamic;  // empty: no dimension is
};

// A program that is there, or that a thread makes.
struct CProgram {
  std::shared_ptr<Executable> executable;    // of several devices, their first one's
  std::shared_ptr<Compilation> compilation;  // that gives it, instead
  // Waits.
  Result<std::shared_ptr<Executable>> Await() const;
  Event made() const { return compilation != nullptr ? compilation->done() : executable->made(); }
  // Made, and its runs have finished.
  bool IsIdle() const;
};

// Of an executable. Bound values are pinned: no run takes them over.
struct CWeights {
  struct Bound {
    DeviceBuffer value;
    std::shared_ptr<const void> hold;
  };
  std::vector<std::string> names;
  std::vector<CArray> arrays;
  std::mutex mutex;
  std::vector<Bound> bound;
};

struct CExecutable : CProgram {
  std::shared_ptr<Program> program;        // on several devices
  std::vector<VxlaDevice> devices;         // by device of the grid
  std::vector<CArray> arguments, results;  // leaves, of one device
  std::vector<Shape> parameters;
  std::shared_ptr<CWeights> weights;  // null: it has none
  int64_t loop_iterations = 0;        // VxlaCompileInfo's
  // Once it was described for being recorded; the device's mutex guards it.
  std::shared_ptr<const RecordedSteps> steps;
};

struct CValue {
  DeviceBuffer value;
  CArray array;
  bool released = false;  // to another queue family
};

struct CEvent {
  Event event;
};

// The kind comes first in each handle.
template <HandleKind kKindOf, typename Content>
struct CHandle {
  static constexpr HandleKind kKind = kKindOf;
  HandleKind kind = kKindOf;
  VxlaDevice_T* owner = nullptr;
  std::unique_ptr<Content> content;
};

}  // namespace VXLA_NAMESPACE

struct VxlaMessage_T {
  static constexpr vxla::HandleKind kKind = vxla::HandleKind::kMessage;
  vxla::HandleKind kind = kKind;
  std::string text;
};

struct VxlaDevice_T {
  static constexpr vxla::HandleKind kKind = vxla::HandleKind::kDevice;
  vxla::HandleKind kind = kKind;
  bool keeps_destroyed = false;  // VXLA_DEVICE_CHECK_HANDLES
  bool adopted = false;          // the host waits for it
  std::shared_ptr<vxla::Device> device;
  // What custom calls may name: each registration adds one more, which the programs compiled after it use. They stay,
  // for executables borrow them.
  std::vector<std::shared_ptr<const vxla::CustomCallRegistry>> registries;
  std::shared_ptr<vxla::Client> client;  // with the last of these: ClientNow
  std::mutex mutex;
  std::array<int, vxla::kOwnedKinds.size()> alive = {};  // handles, by kind
  std::vector<std::shared_ptr<void>> destroyed;
  VxlaDevice_T* kept_before = nullptr;  // of the devices whose handles stay when they are destroyed
  // They are being made, or runs of theirs are in flight, though their handles are gone.
  std::vector<vxla::CProgram> retired;
};

struct VxlaExecutable_T : vxla::CHandle<vxla::HandleKind::kExecutable, vxla::CExecutable> {};
struct VxlaValue_T : vxla::CHandle<vxla::HandleKind::kValue, vxla::CValue> {};
struct VxlaEvent_T : vxla::CHandle<vxla::HandleKind::kEvent, vxla::CEvent> {};

namespace VXLA_NAMESPACE {

inline std::string_view TextOr(const char* text, std::string_view otherwise) {
  return text != nullptr ? text : otherwise;
}

// kInvalidArgument: `what` is NULL or another kind of handle than `wanted`.
Status CheckHandleKind(const void* handle, HandleKind wanted, const char* what);
template <typename Handle>
Status CheckHandle(const Handle* handle, const char* what) {
  return CheckHandleKind(handle, Handle::kKind, what);
}
Status CheckNotNull(const void* pointer, const char* what);

// A handle of the device's with its content.
template <typename Handle, typename Content>
Handle* NewHandle(VxlaDevice owner, Content content) {
  auto handle = std::make_unique<Handle>();
  handle->owner = owner;
  handle->content = std::make_unique<Content>(std::move(content));
  const std::lock_guard lock(owner->mutex);
  ++owner->alive[OwnedKind(Handle::kKind)];
  return handle.release();
}

// Does nothing to NULL and to another kind of handle.
template <typename Handle>
void DestroyHandle(Handle* handle) noexcept {
  if (!Guarded([&] { return CheckHandle(handle, ""); }).ok()) return;
  handle->content.reset();
  VxlaDevice_T& owner = *handle->owner;
  const std::lock_guard lock(owner.mutex);
  --owner.alive[OwnedKind(Handle::kKind)];
  handle->kind = HandleKind::kDestroyed;
  if (!owner.keeps_destroyed) return delete handle;
  // Without memory for it the shell goes, too.
  (void)Guarded([&] { return owner.destroyed.emplace_back(std::shared_ptr<Handle>(handle)), OkStatus(); });
}

// A struct of the caller's, with zeros for what its header lacked; `least`: its size in the first version of the
// header.
Status CheckStructSize(const void* given, size_t known, size_t least, const char* what);
template <typename T>
Result<T> ReadStruct(const T* given, const char* what, size_t least = sizeof(T)) {
  VXLA_RETURN_IF_ERROR(CheckStructSize(given, sizeof(T), least, what));
  T read = {};
  std::memcpy(&read, given, std::min<size_t>(sizeof(T), given->struct_size));
  return read;
}
// Fills in what the caller's header knows of.
template <typename T>
Status WriteStruct(T value, T* target, const char* what, size_t least = sizeof(T)) {
  VXLA_RETURN_IF_ERROR(CheckStructSize(target, sizeof(T), least, what));
  value.struct_size = target->struct_size;
  std::memcpy(target, &value, std::min<size_t>(sizeof(T), value.struct_size));
  return OkStatus();
}

VxlaCode CodeOf(StatusCode code);
VxlaCode Report(VxlaCode code, const std::string& text, VxlaMessage* message) noexcept;
VxlaCode Report(const Status& status, VxlaMessage* message) noexcept;
// What a function of the API does, and no exception leaves it.
template <typename Function>
VxlaCode Call(VxlaMessage* message, Function&& function) noexcept {
  return Report(Guarded(std::forward<Function>(function)), message);
}

// The same of a function that begins with a handle.
template <typename Handle, typename Function>
VxlaCode CallOn(Handle* handle, const char* what, VxlaMessage* message, Function&& function) noexcept {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(handle, what));
    return function();
  });
}

// The same of a function that gives something: `given`, which messages call `what`, is zero where it fails.
template <typename T, typename Function>  // () -> Result<T>
VxlaCode CallFor(T* given, const char* what, VxlaMessage* message, Function&& function) noexcept {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(given, what));
    *given = {};
    VXLA_ASSIGN_OR_RETURN(*given, function());
    return OkStatus();
  });
}

// An event's handle in the place that the caller gave for it, if he did.
void GiveEvent(VxlaDevice owner, const Event& event, VxlaEvent* place);
// Of a handle whose executable is one device's: waits until it is made.
Result<std::shared_ptr<Executable>> ExecutableOf(VxlaExecutable handle);

// What programs are compiled, loaded and given values by; a registration makes another one.
std::shared_ptr<Client> ClientNow(VxlaDevice device);
// A device's handle; the flags of VxlaDeviceInfo.
VxlaDevice NewDevice(std::shared_ptr<Device> device, uint32_t flags, bool adopted);
// "3 of its handles are alive: 1 executable, 2 values".
std::string AliveHandles(const VxlaDevice_T& device);
// The handle goes, or with VXLA_DEVICE_CHECK_HANDLES what it stands for: it and its handles are known as destroyed ones
// as long as the process lives.
void FreeDevice(VxlaDevice device) noexcept;
// Lets go of retired executables whose runs have finished.
void Sweep(VxlaDevice_T& device);
// Destroys a handle that uses an executable, whose runs may be in flight: nothing waits for them.
template <typename Handle>
void DestroyUser(Handle* handle) noexcept {
  if (!Guarded([&] { return CheckHandle(handle, ""); }).ok()) return;
  VxlaDevice_T& owner = *handle->owner;
  (void)Guarded([&] {  // without memory for it, it goes at once, and waits
    const std::lock_guard lock(owner.mutex);
    return owner.retired.push_back(*handle->content), OkStatus();
  });
  DestroyHandle(handle);
  Sweep(owner);
}

// The struct of the header's first version ends before `dynamic`.
Result<VxlaArray> ReadArray(const VxlaArray* array);
Result<Shape> ShapeOf(const VxlaArray& array);
// kUnsupported: dynamic dimensions, where memory is not vxla's own.
Status CheckStatic(const Shape& shape);
// kInvalidArgument: another queue family has the value.
Status CheckOwned(VxlaValue value, const char* what);
// kInvalidArgument: bits that are none of `known`.
Status CheckFlags(uint32_t flags, uint32_t known);
Status CheckCount(const char* what, size_t given, size_t wanted);
// VxlaCompileInfo::loop_iterations: more than can be recorded is as good as what can.
int64_t LoopIterations(uint64_t stated);

}  // namespace VXLA_NAMESPACE
