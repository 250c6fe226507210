// A loader library: every Vulkan function of backend/vulkan/device/api/functions.h, passed on to the platform's loader.
// A device that is lost stays lost: calls that can say so do, and its work is waited for first, as a lost device has
// none.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/vulkan/device/api/functions.h"

namespace VXLA_NAMESPACE::vulkan {
namespace faulty_loader {

struct State {
  std::mutex mutex;
  int64_t calls = 0, failing = -1;
  int variant = 0;
  bool lost = false, for_good = false, runs_nothing = false;
  // Devices in the order in which they were created, their queues, and the device that a test loses alone, after so
  // many more of its submissions.
  std::vector<uint64_t> devices;
  std::map<uint64_t, uint64_t> device_of_queue;
  uint64_t losing = 0;
  int64_t submissions_left = 0;
  VkInstance instance = nullptr;  // of the devices that are opened next
  std::string fault;
  VkResult fault_result = VK_SUCCESS;
  std::map<std::string, std::set<uint64_t>> live;
  std::string unknown;  // destroyed and never created
  std::string leaks;
};
State& Now() {
  static auto* state = new State;
  return *state;
}

// What the specification lets a call return beside success, where this program can meet it.
std::vector<VkResult> ResultsOf(std::string_view name) {
  std::vector<VkResult> results = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY};
  static const std::map<std::string_view, std::vector<VkResult>> more = {
      {"EnumerateInstanceExtensionProperties", {VK_ERROR_LAYER_NOT_PRESENT}},
      {"CreateInstance", {VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_LAYER_NOT_PRESENT, VK_ERROR_INCOMPATIBLE_DRIVER}},
      {"EnumeratePhysicalDevices", {VK_ERROR_INITIALIZATION_FAILED}},
      {"EnumerateDeviceExtensionProperties", {VK_ERROR_LAYER_NOT_PRESENT}},
      {"CreateDevice",
       {VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_EXTENSION_NOT_PRESENT, VK_ERROR_FEATURE_NOT_PRESENT,
        VK_ERROR_TOO_MANY_OBJECTS, VK_ERROR_DEVICE_LOST}},
      {"DeviceWaitIdle", {VK_ERROR_DEVICE_LOST}},
      {"MapMemory", {VK_ERROR_MEMORY_MAP_FAILED}},
      {"AllocateMemory", {VK_ERROR_TOO_MANY_OBJECTS}},
      {"CreateDescriptorPool", {VK_ERROR_FRAGMENTATION}},
      {"AllocateDescriptorSets", {VK_ERROR_FRAGMENTED_POOL, VK_ERROR_OUT_OF_POOL_MEMORY}},
      {"GetQueryPoolResults", {VK_ERROR_DEVICE_LOST, VK_NOT_READY}},
      {"WaitSemaphores", {VK_ERROR_DEVICE_LOST, VK_TIMEOUT}},
      {"GetSemaphoreCounterValue", {VK_ERROR_DEVICE_LOST}},
      {"QueueSubmit2", {VK_ERROR_DEVICE_LOST}},
      {"QueueSubmit", {VK_ERROR_DEVICE_LOST}},
  };
  if (const auto found = more.find(name); found != more.end()) {
    results.insert(results.end(), found->second.begin(), found->second.end());
  }
  return results;
}

bool CanSayLost(std::string_view name) {
  const std::vector<VkResult> results = ResultsOf(name);
  return name != "CreateDevice" && std::find(results.begin(), results.end(), VK_ERROR_DEVICE_LOST) != results.end();
}

PFN_vkGetInstanceProcAddr Platform() {
  static const auto get = [] {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr
                              : reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  }();
  return get;
}

// "Buffer" of vkCreateBuffer and vkDestroyBuffer; empty for what makes and ends nothing. What a pool holds goes with
// it.
std::string KindOf(std::string_view name, std::string_view verb, std::string_view exception) {
  if (name == exception) return "Memory";
  if (!name.starts_with(verb)) return "";
  name.remove_prefix(verb.size());
  return name == "ComputePipelines" ? "Pipeline" : std::string(name);
}

std::string NameOf(size_t slot);
std::atomic<PFN_vkVoidFunction>& Real(size_t slot);
VkResult RealWaitIdle(VkDevice device);

void WaitForLostDevices() {
  std::vector<VkDevice> devices;
  {
    std::lock_guard lock(Now().mutex);
    for (const uint64_t handle : Now().live["Device"]) devices.push_back(reinterpret_cast<VkDevice>(handle));
  }
  for (VkDevice device : devices) RealWaitIdle(device);
}

// Whether the call is one of the device that is to be lost and has had its submissions. `handle`: its first argument.
bool IsOfLostDevice(State& state, const std::string& name, uint64_t handle) {
  if (state.losing == 0) return false;
  const auto queue = state.device_of_queue.find(handle);
  if ((queue == state.device_of_queue.end() ? handle : queue->second) != state.losing) return false;
  if (state.submissions_left > 0) {
    if (name == "QueueSubmit2" || name == "QueueSubmit") --state.submissions_left;
    return false;
  }
  if (!CanSayLost(name)) return false;
  state.fault = "vk" + name;
  state.fault_result = VK_ERROR_DEVICE_LOST;
  return true;
}

// The result that the call has to fail with; VK_SUCCESS: it is passed on.
VkResult Judge(const std::string& name, uint64_t handle) {
  State& state = Now();
  VkResult result = VK_SUCCESS;
  {
    std::lock_guard lock(state.mutex);
    const int64_t number = state.calls++;
    if (number == state.failing || (state.for_good && state.fault == "vk" + name)) {
      const std::vector<VkResult> results = ResultsOf(name);
      result = results[static_cast<size_t>(state.variant) % results.size()];
      state.fault = "vk" + name;
      state.fault_result = result;
      state.lost = result == VK_ERROR_DEVICE_LOST && name != "CreateDevice";
    } else if (IsOfLostDevice(state, name, handle) || (state.lost && CanSayLost(name))) {
      result = VK_ERROR_DEVICE_LOST;
    }
  }
  if (result == VK_ERROR_DEVICE_LOST) WaitForLostDevices();
  return result;
}

bool RunsNothing() {
  std::lock_guard lock(Now().mutex);
  return Now().runs_nothing;
}

template <typename Handle>
uint64_t Bits(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

template <size_t kSlot, typename Function>
struct Wrapped;

template <size_t kSlot, typename... Arguments>
struct Wrapped<kSlot, VkResult(VKAPI_PTR*)(Arguments...)> {
  static VKAPI_ATTR VkResult VKAPI_CALL Call(Arguments... arguments) {
    const std::string name = NameOf(kSlot);
    uint64_t handle = 0;
    if constexpr (sizeof...(Arguments) > 0) {
      const auto first = std::get<0>(std::tie(arguments...));
      if constexpr (std::is_pointer_v<decltype(first)>) handle = Bits(first);
    }
    if (const VkResult fault = Judge(name, handle); fault != VK_SUCCESS) return fault;
    const auto real = reinterpret_cast<VkResult(VKAPI_PTR*)(Arguments...)>(Real(kSlot).load());
    const VkResult result = real(arguments...);
    const std::string kind = KindOf(name, "Create", "AllocateMemory");
    if (result != VK_SUCCESS || kind.empty()) return result;
    if constexpr (sizeof...(Arguments) > 0) {
      const auto last = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
      if constexpr (std::is_pointer_v<std::remove_pointer_t<decltype(last)>>) {
        State& state = Now();
        std::lock_guard lock(state.mutex);
        state.live[kind].insert(Bits(*last));
        if (kind == "Device") {
          state.lost = false;
          state.devices.push_back(Bits(*last));
        }
      }
    }
    return result;
  }
};

template <size_t kSlot, typename... Arguments>
struct Wrapped<kSlot, void(VKAPI_PTR*)(Arguments...)> {
  static VKAPI_ATTR void VKAPI_CALL Call(Arguments... arguments) {
    if (NameOf(kSlot) == "CmdDispatch" && RunsNothing()) return;
    const std::string kind = KindOf(NameOf(kSlot), "Destroy", "FreeMemory");
    if (!kind.empty()) {
      // (device, handle, allocator) or (instance, allocator).
      constexpr size_t kHandle = sizeof...(Arguments) == 2 ? 0 : 1;
      const auto handle = std::get<std::min(kHandle, sizeof...(Arguments) - 1)>(std::tie(arguments...));
      if constexpr (std::is_pointer_v<decltype(handle)>) {
        State& state = Now();
        std::lock_guard lock(state.mutex);
        if (handle != nullptr && state.live[kind].erase(Bits(handle)) == 0) state.unknown += kind + " ";
      }
    }
    reinterpret_cast<void(VKAPI_PTR*)(Arguments...)>(Real(kSlot).load())(arguments...);
  }
};

template <size_t kSlot, typename Return, typename... Arguments>
struct Wrapped<kSlot, Return(VKAPI_PTR*)(Arguments...)> {
  static VKAPI_ATTR Return VKAPI_CALL Call(Arguments... arguments) {
    return reinterpret_cast<Return(VKAPI_PTR*)(Arguments...)>(Real(kSlot).load())(arguments...);
  }
};

enum Slot : size_t {
#define VXLA_SLOT(NAME) k##NAME,
#define VXLA_PROMOTED_SLOT(NAME, SUFFIX) k##NAME, k##NAME##SUFFIX,
  VXLA_GLOBAL_FUNCTIONS(VXLA_SLOT) VXLA_INSTANCE_FUNCTIONS(VXLA_SLOT) VXLA_DEBUG_INSTANCE_FUNCTIONS(VXLA_SLOT)
      VXLA_DEVICE_FUNCTIONS(VXLA_SLOT) VXLA_PROMOTED_DEVICE_FUNCTIONS(VXLA_PROMOTED_SLOT)
          VXLA_FEATURE_DEVICE_FUNCTIONS(VXLA_PROMOTED_SLOT) VXLA_OPTIONAL_DEVICE_FUNCTIONS(VXLA_SLOT) kSlots
};

struct Entry {
  const char* name;
  PFN_vkVoidFunction wrapped;
};
const std::array<Entry, kSlots> kEntries = {{
#define VXLA_ENTRY(NAME) {#NAME, reinterpret_cast<PFN_vkVoidFunction>(&Wrapped<k##NAME, PFN_vk##NAME>::Call)},
#define VXLA_PROMOTED_ENTRY(NAME, SUFFIX) \
  VXLA_ENTRY(NAME){#NAME #SUFFIX, reinterpret_cast<PFN_vkVoidFunction>(&Wrapped<k##NAME##SUFFIX, PFN_vk##NAME>::Call)},
    VXLA_GLOBAL_FUNCTIONS(VXLA_ENTRY) VXLA_INSTANCE_FUNCTIONS(VXLA_ENTRY) VXLA_DEBUG_INSTANCE_FUNCTIONS(VXLA_ENTRY)
        VXLA_DEVICE_FUNCTIONS(VXLA_ENTRY) VXLA_PROMOTED_DEVICE_FUNCTIONS(VXLA_PROMOTED_ENTRY)
            VXLA_FEATURE_DEVICE_FUNCTIONS(VXLA_PROMOTED_ENTRY) VXLA_OPTIONAL_DEVICE_FUNCTIONS(VXLA_ENTRY)}};

std::string NameOf(size_t slot) { return kEntries[slot].name; }

std::atomic<PFN_vkVoidFunction>& Real(size_t slot) {
  static std::array<std::atomic<PFN_vkVoidFunction>, kSlots> real;
  return real[slot];
}

VkResult RealWaitIdle(VkDevice device) {
  return reinterpret_cast<PFN_vkDeviceWaitIdle>(Real(kDeviceWaitIdle).load())(device);
}

// The wrapper of `name`, which stands for `real`.
PFN_vkVoidFunction Wrap(const char* name, PFN_vkVoidFunction real) {
  if (real == nullptr) return nullptr;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (std::string_view(name) != "vk" + NameOf(slot)) continue;
    Real(slot) = real;
    return kEntries[slot].wrapped;
  }
  return real;
}

VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue* queue) {
  reinterpret_cast<PFN_vkGetDeviceQueue>(Real(kGetDeviceQueue).load())(device, family, index, queue);
  std::lock_guard lock(Now().mutex);
  Now().device_of_queue[Bits(*queue)] = Bits(device);
}

// Devices of several drivers may be open: the platform's own functions, which look at the handle, serve them all.
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char* name) {
  const auto real = reinterpret_cast<PFN_vkGetDeviceProcAddr>(Real(kGetDeviceProcAddr).load())(device, name);
  if (real == nullptr) return nullptr;
  VkInstance instance = nullptr;
  {
    std::lock_guard lock(Now().mutex);
    instance = Now().instance;
  }
  const PFN_vkVoidFunction any = Platform()(instance, name);
  const PFN_vkVoidFunction wrapped = Wrap(name, any == nullptr ? real : any);
  const bool gives_queue = std::string_view(name) == "vkGetDeviceQueue";
  return gives_queue ? reinterpret_cast<PFN_vkVoidFunction>(&GetDeviceQueue) : wrapped;
}

}  // namespace faulty_loader
}  // namespace VXLA_NAMESPACE::vulkan

namespace loader = vxla::vulkan::faulty_loader;

extern "C" {

__attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  if (loader::Platform() == nullptr) return nullptr;
  const PFN_vkVoidFunction wrapped = loader::Wrap(name, loader::Platform()(instance, name));
  if (std::string_view(name) != "vkGetDeviceProcAddr") return wrapped;
  {
    std::lock_guard lock(loader::Now().mutex);
    loader::Now().instance = instance;
  }
  return reinterpret_cast<PFN_vkVoidFunction>(&loader::GetDeviceProcAddr);
}

__attribute__((visibility("default"))) void FaultyLoaderArmAt(int64_t call, int variant, bool for_good) {
  loader::State& state = loader::Now();
  std::lock_guard lock(state.mutex);
  state.calls = 0;
  state.failing = call;
  state.variant = variant;
  state.for_good = for_good;
  state.lost = false;
  state.losing = 0;
  state.devices.clear();
  state.fault.clear();
  state.fault_result = VK_SUCCESS;
}

__attribute__((visibility("default"))) void FaultyLoaderRunNothing(bool nothing) {
  std::lock_guard lock(loader::Now().mutex);
  loader::Now().runs_nothing = nothing;
}

__attribute__((visibility("default"))) bool FaultyLoaderLose(int64_t device, int64_t submissions) {
  loader::State& state = loader::Now();
  std::lock_guard lock(state.mutex);
  if (device < 0 || static_cast<size_t>(device) >= state.devices.size()) return false;
  state.losing = state.devices[static_cast<size_t>(device)];
  state.submissions_left = submissions;
  return true;
}

__attribute__((visibility("default"))) int64_t FaultyLoaderCallCount() {
  std::lock_guard lock(loader::Now().mutex);
  return loader::Now().calls;
}

__attribute__((visibility("default"))) const char* FaultyLoaderLastFault(int32_t* result) {
  std::lock_guard lock(loader::Now().mutex);
  *result = loader::Now().fault_result;
  return loader::Now().fault.c_str();
}

__attribute__((visibility("default"))) const char* FaultyLoaderLeakList() {
  loader::State& state = loader::Now();
  std::lock_guard lock(state.mutex);
  state.leaks = state.unknown.empty() ? "" : "destroyed and never created: " + state.unknown;
  for (const auto& [kind, handles] : state.live) {
    if (!handles.empty()) state.leaks += kind + " x " + std::to_string(handles.size()) + ", ";
  }
  return state.leaks.c_str();
}

}  // extern "C"
