// The plugin's objects behind the handles of PJRT's C API, and how a slot of that API is made of a function.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/data/shape.h"
#include "core/host/guarded.h"
#include "core/status.h"
#include "integrations/pjrt/runtime.h"
#include "scheduler/replicas/sockets/socket_group.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct CompiledProgram;

namespace VXLA_NAMESPACE::pjrt {

// JAX's name of the platform.
inline constexpr std::string_view kPlatform = "vulkan";

// Null for a status that is ok; the caller's to destroy. Without memory for it there is an error that says so.
PJRT_Error* MakeError(const Status& status) noexcept;
PJRT_Error* MakeError(PJRT_Error_Code code, std::string message) noexcept;
// What an error code of the caller's stands for; the message says which one it was.
Status StatusOfCode(PJRT_Error_Code code, std::string_view message);

// A struct of the caller's that may be of an older or a newer version: what it has of the fields that are known here,
// and zeros for those that it lacks. `from` may be null.
template <typename Struct>
Struct Known(const Struct* from) {
  Struct known{};
  if (from != nullptr) std::memcpy(&known, from, std::min(from->struct_size, sizeof(Struct)));
  return known;
}

// Of a child process, forked from one that had a client: the devices' threads are not there, nor do drivers work there.
bool IsForked();
void NoticeForks();  // from now on
Status CheckNotForked();
enum class InChild : uint8_t {
  kSame,     // it only reads
  kNothing,  // what it frees stays
  kRefused,  // it works on a device
};

// A slot: the function sees all fields of its arguments, and those that the caller has come back. Whatever is thrown is
// an error.
template <typename Args, Status (*function)(Args&), InChild in_child = InChild::kSame>
PJRT_Error* Slot(Args* args) noexcept {
  return MakeError(Guarded([&]() -> Status {
    if constexpr (in_child == InChild::kNothing) {
      if (IsForked()) return OkStatus();
    }
    if constexpr (in_child == InChild::kRefused) VXLA_RETURN_IF_ERROR(CheckNotForked());
    if (args == nullptr || args->struct_size < offsetof(Args, extension_start))
      return InvalidArgument("a call of PJRT's C API without its arguments");
    Args known = Known(args);
    VXLA_RETURN_IF_ERROR(function(known));
    std::memcpy(args, &known, std::min(args->struct_size, sizeof(Args)));
    return OkStatus();
  }));
}
// Callers leave what a call fills in as it happens to be: all fields from this one on are zeros afterwards.
template <typename Args, typename Field>
void ClearFrom(Args& args, Field& first) {
  auto* const begin = reinterpret_cast<std::byte*>(&first);
  std::memset(begin, 0, static_cast<size_t>(reinterpret_cast<std::byte*>(&args + 1) - begin));
}
// api.PJRT_Buffer_Delete runs Buffer_Delete.
#define VXLA_PJRT_SLOT(api, NAME) (api).PJRT_##NAME = &Slot<PJRT_##NAME##_Args, NAME>
#define VXLA_PJRT_FREE_SLOT(api, NAME) (api).PJRT_##NAME = &Slot<PJRT_##NAME##_Args, NAME, InChild::kNothing>
#define VXLA_PJRT_WORK_SLOT(api, NAME) (api).PJRT_##NAME = &Slot<PJRT_##NAME##_Args, NAME, InChild::kRefused>

// Each file fills in its slots.
void AddErrorSlots(PJRT_Api& api);
void AddEventSlots(PJRT_Api& api);
void AddClientSlots(PJRT_Api& api);
void AddDeviceSlots(PJRT_Api& api);
void AddTopologySlots(PJRT_Api& api);
void AddBufferSlots(PJRT_Api& api);
void AddTransferSlots(PJRT_Api& api);
void AddCompileSlots(PJRT_Api& api);
void AddExecutableSlots(PJRT_Api& api);
void AddExecuteSlots(PJRT_Api& api);
// The extension by which clients ask how arrays lie.
PJRT_Extension_Base* LayoutsExtension();
PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next);
// Those by which they register functions for custom calls.
PJRT_Extension_Base* CustomCallExtensions(PJRT_Extension_Base* next);
// That by which profilers ask what ran when (integrations/pjrt/profiler.h).
PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next);

// INVALID: none of the API's.
PJRT_Buffer_Type TypeOf(ElementType type);
Result<Shape> ShapeOf(PJRT_Buffer_Type type, const int64_t* dims, size_t rank);
// Orders of dimensions, from the fastest on. kInvalidArgument: not each of the dimensions once.
std::vector<int64_t> RowMajor(int rank);
Status CheckOrder(const std::vector<int64_t>& minor_to_major, int rank);
// The order that a layout of device memory states; none: row-major. kUnsupported: strides and tiles.
Result<std::vector<int64_t>> OrderOf(const PJRT_Buffer_MemoryLayout* layout, int rank);
// In bytes by dimension. Null: none, so row-major.
Result<std::vector<int64_t>> StridesOf(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape);

// kInvalidArgument: it is another process's.
Status CheckOwn(const PJRT_Device& device);

// CompiledProgram::profiled.
Result<const Program*> Profiled(const CompiledProgram& compiled);

PJRT_Event* MakeEvent(Event event);
// `minor_to_major`: integrations/pjrt/layouts.h.
PJRT_Buffer* MakeBuffer(DeviceBuffer buffer, PJRT_Memory* memory, std::vector<int64_t> minor_to_major);

// A value with a name, which points to the caller's text.
PJRT_NamedValue Named(std::string_view name, std::string_view value);
PJRT_NamedValue Named(std::string_view name, int64_t value);
PJRT_NamedValue Named(std::string_view name, float value);

}  // namespace VXLA_NAMESPACE::pjrt

// The handles. Their types are PJRT's, so they are outside of any namespace.

struct PJRT_Event {
  vxla::Event event;
  std::optional<vxla::Promise> promise;  // of PJRT_Event_Create
};

struct PJRT_DeviceDescription {
  int id = 0;
  int process = 0, local_id = 0;  // which of its process's
  std::string kind, debug_string, text;
  std::string driver, driver_version;
  std::vector<PJRT_NamedValue> attributes;
};

struct MemoryHandle : PJRT_Memory {
  int id = 0;
  vxla::BufferMemory kind = vxla::BufferMemory::kDevice;
  PJRT_Device* device = nullptr;
  std::string text, debug_string;
  struct UserData {
    void* data = nullptr;
    void (*destroy)(void*) = nullptr;
  };
  std::mutex mutex;
  std::map<const void*, UserData> user_data;
  ~MemoryHandle() {
    for (const auto& [key, each] : user_data) {
      if (each.destroy != nullptr) each.destroy(each.data);
    }
  }
};

struct PJRT_Device {
  PJRT_Client* client = nullptr;
  PJRT_DeviceDescription description;
  std::shared_ptr<vxla::Client> runtime;  // null: another process's
  vxla::DeviceOptions opened_with;
  std::vector<PJRT_Memory*> memories;  // by BufferMemory
};

struct PJRT_TopologyDescription {
  std::string version;
  std::vector<PJRT_DeviceDescription*> descriptions;
};

struct PJRT_Client {
  std::vector<std::unique_ptr<PJRT_Device>> devices;
  std::vector<std::unique_ptr<MemoryHandle>> memories;
  std::vector<PJRT_Device*> device_list, own_devices;  // of all processes, and of this one
  std::vector<PJRT_Memory*> memory_list;
  std::shared_ptr<vxla::Connections> connections;  // null: there is one process
  int process = 0;
  std::chrono::milliseconds timeout{};  // of waits for other processes
  PJRT_TopologyDescription topology;
};

struct PJRT_Layouts_MemoryLayout {
  std::string text;
};

// Serialised messages as the API hands them out.
struct ShardingTexts {
  std::vector<std::string> texts;
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

// What PJRT_Executable and PJRT_LoadedExecutable share; it does not change.
struct CompiledProgram {
  vxla::pjrt::Program program;
  std::string name, fingerprint;
  std::string code, format;                        // as it was given
  std::string compile_options;                     // likewise
  std::string assignment;                          // a DeviceAssignmentProto
  std::vector<PJRT_Device*> all_devices;           // of the assignment
  std::vector<PJRT_Device*> devices;               // of those, this process's
  std::vector<PJRT_LogicalDeviceIds> logical_ids;  // of `devices`
  int replicas = 1, partitions = 1;
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  std::vector<const char*> output_memory_kinds, parameter_memory_kinds;
  std::vector<size_t> output_memory_kind_sizes, parameter_memory_kind_sizes;
  std::vector<std::unique_ptr<PJRT_Layouts_MemoryLayout>> layouts;
  std::vector<PJRT_Layouts_MemoryLayout*> output_layouts, parameter_layouts;
  std::vector<std::vector<int64_t>> output_orders;  // as the layouts
  ShardingTexts parameter_shardings, output_shardings;
  std::vector<PJRT_NamedValue> costs;
  // The same program with times of its steps, which the first run under a profiler makes.
  mutable std::mutex profiled_mutex;
  mutable std::optional<vxla::pjrt::Program> profiled;
};

struct PJRT_Executable {
  std::shared_ptr<const CompiledProgram> compiled;
};
struct PJRT_LoadedExecutable {
  std::shared_ptr<const CompiledProgram> compiled;
  std::atomic<bool> deleted = false;
};

struct PJRT_Buffer {
  vxla::DeviceBuffer buffer;
  PJRT_Memory* memory = nullptr;
  PJRT_Device* device = nullptr;
  std::vector<int64_t> minor_to_major;
  vxla::Event done;  // of a token: of the run that gave it
  std::mutex mutex;
  std::vector<std::shared_ptr<const void>> holds;  // external references
};
