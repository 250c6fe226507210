#include <fmt/format.h>

#include <charconv>

#ifndef _WIN32
#include <pthread.h>
#endif

#include "backend/device.h"
#include "integrations/pjrt/plugin.h"
#include "integrations/pjrt/processes.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

void* UserDataOf(PJRT_Memory* memory, const void* key) {
  auto& handle = *static_cast<MemoryHandle*>(memory);
  const std::lock_guard lock(handle.mutex);
  const auto found = handle.user_data.find(key);
  return found == handle.user_data.end() ? nullptr : found->second.data;
}

void SetUserData(PJRT_Memory* memory, const void* key, void* data, void (*destroy)(void*)) {
  auto& handle = *static_cast<MemoryHandle*>(memory);
  MemoryHandle::UserData old;
  {
    const std::lock_guard lock(handle.mutex);
    old = std::exchange(handle.user_data[key], {data, destroy});
  }
  if (old.destroy != nullptr) old.destroy(old.data);
}

constexpr PJRT_Memory_FunctionTable kMemoryFunctions = {sizeof(PJRT_Memory_FunctionTable), nullptr, sizeof(PJRT_Memory),
                                                        UserDataOf, SetUserData};

DeviceWords WordsOf(const DeviceFacts& facts) {
  return {facts.name, facts.driver, facts.driver_version, static_cast<int64_t>(facts.memory_bytes)};
}

// The next one.
PJRT_Device& AddDevice(PJRT_Client& client, int process, int local_id, const DeviceWords& words) {
  PJRT_Device& device = *client.devices.emplace_back(std::make_unique<PJRT_Device>());
  device.client = &client;
  PJRT_DeviceDescription& d = device.description;
  d.id = static_cast<int>(client.device_list.size());
  d.process = process;
  d.local_id = local_id;
  d.kind = words.kind;
  d.driver = words.driver;
  d.driver_version = words.driver_version;
  d.text = fmt::format("VulkanDevice(id={})", d.id);
  d.debug_string = fmt::format("vulkan:{} {}, {} {}", d.id, d.kind, d.driver, d.driver_version);
  if (client.connections != nullptr) d.debug_string += fmt::format(", of process {}", process);
  d.attributes = {Named("driver", d.driver), Named("driver_version", d.driver_version),
                  Named("memory_bytes", words.memory_bytes)};
  client.device_list.push_back(&device);
  client.topology.descriptions.push_back(&d);
  return device;
}

// It is this process's.
void Open(PJRT_Client& client, PJRT_Device& device, OpenedDevice opened) {
  device.runtime = std::move(opened.client);
  device.opened_with = std::move(opened.options);
  client.own_devices.push_back(&device);
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    auto memory = std::make_unique<MemoryHandle>();
    memory->vtable = &kMemoryFunctions;
    memory->id = device.description.id * kMemoryKinds + kind;
    memory->kind = static_cast<BufferMemory>(kind);
    memory->device = &device;
    memory->text = fmt::format("{}:{}", kMemoryKindNames[kind], device.description.id);
    memory->debug_string = fmt::format("{} memory of {}", kMemoryKindNames[kind], device.description.debug_string);
    device.memories.push_back(memory.get());
    client.memory_list.push_back(memory.get());
    client.memories.push_back(std::move(memory));
  }
}

// JAX's compilation cache takes programs of equal text, devices and version for the same: what else changes code is
// told here.
std::string VersionOf(const PJRT_Client& client, const DeviceOptions& options) {
  std::string version = fmt::format("vxla {}; bindings={} emulate={} same_bits={}", VXLA_VERSION, options.bindings,
                                    options.emulate, options.same_bits);
  for (const auto& device : client.devices) {
    const PJRT_DeviceDescription& d = device->description;
    version += fmt::format("; {} {} {}", d.kind, d.driver, d.driver_version);
  }
  return version;
}

Result<bool> FlagOf(std::string_view name, const PJRT_NamedValue& value, std::string_view text) {
  if (value.type == PJRT_NamedValue_kBool) return value.bool_value;
  if (value.type == PJRT_NamedValue_kInt64) return value.int64_value != 0;
  if (text == "1" || text == "true" || text == "True") return true;
  if (text == "0" || text == "false" || text == "False") return false;
  return InvalidArgument("option {}: true or false is wanted", name);
}

// What a client is created with.
struct ClientOptions {
  DeviceOptions device;
  std::string devices;
  JobRank process;
  std::chrono::milliseconds timeout = EvaluateOptions().collective_timeout;
};

Result<int64_t> NumberOf(std::string_view name, const PJRT_NamedValue& given, std::string_view text, int64_t least) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (given.type == PJRT_NamedValue_kFloat || error != std::errc() || end != text.data() + text.size() ||
      number < least)
    return InvalidArgument("option {}='{}': a whole number from {} is wanted", name, text, least);
  return number;
}

Status ReadOption(const PJRT_NamedValue& given, ClientOptions& client) {
  DeviceOptions& options = client.device;
  const std::string_view name(given.name, given.name_size);
  std::string text;
  if (given.type == PJRT_NamedValue_kString) text.assign(given.string_value, given.value_size);
  if (given.type == PJRT_NamedValue_kInt64) text = std::to_string(given.int64_value);
  if (name == "devices") {
    client.devices = text;
  } else if (name == "bindings") {
    options.bindings = text;
  } else if (name == "emulate") {
    options.emulate = text;
  } else if (name == "validate") {
    options.validate = text;
  } else if (name == "cache_folder") {
    options.cache_folder = text;
  } else if (name == "call_python") {
    // The address of a function that lives as long as the process; Python's side states it.
    if (given.type != PJRT_NamedValue_kInt64) return InvalidArgument("option call_python: an address is wanted");
    SetCallPython(reinterpret_cast<CallPython>(static_cast<uintptr_t>(given.int64_value)));
  } else if (name == "cache") {
    VXLA_ASSIGN_OR_RETURN(options.cache, FlagOf(name, given, text));
  } else if (name == "same_bits") {
    VXLA_ASSIGN_OR_RETURN(options.same_bits, FlagOf(name, given, text));
  } else if (name == "preallocate" || name == "memory_fraction") {
    // Stated by clients for every plugin with GPUs' extension for custom calls. No memory is taken beforehand.
  } else if (name == "num_nodes") {
    VXLA_ASSIGN_OR_RETURN(client.process.ranks, NumberOf(name, given, text, 1));
  } else if (name == "node_id") {
    VXLA_ASSIGN_OR_RETURN(client.process.rank, NumberOf(name, given, text, 0));
  } else if (name == "partition_index") {
    // Of slices of TPUs.
  } else if (name == "collective_timeout") {
    VXLA_ASSIGN_OR_RETURN(const int64_t seconds, NumberOf(name, given, text, 0));
    client.timeout = std::chrono::seconds(seconds);
  } else {
    return InvalidArgument(
        "option '{}' is none of devices, bindings, emulate, validate, cache, cache_folder, same_bits, "
        "collective_timeout",
        name);
  }
  return OkStatus();
}

std::atomic<bool> is_forked = false;

Status Client_Create(PJRT_Client_Create_Args& args) {
  NoticeForks();
  ClientOptions options;
  const char* const words = std::getenv("VXLA_DEVICES");
  if (words != nullptr) options.devices = words;
  for (size_t i = 0; i < args.num_options; ++i) {
    VXLA_RETURN_IF_ERROR(ReadOption(Known(&args.create_options[i]), options));
  }
  Result<std::vector<OpenedDevice>> opened = OpenDevices(options.devices, options.device);
  Result<std::vector<DeviceWords>> own = std::vector<DeviceWords>();
  if (!opened.ok()) own = opened.status();
  for (size_t i = 0; opened.ok() && i < opened->size(); ++i)
    own->push_back(WordsOf((*opened)[i].client->device().facts()));
  VXLA_ASSIGN_OR_RETURN(Processes processes, MeetProcesses(args, options.process, std::move(own), options.timeout));
  auto client = std::make_unique<PJRT_Client>();
  client->connections = std::move(processes.connections);
  client->process = static_cast<int>(options.process.rank);
  client->timeout = options.timeout;
  for (int process = 0; process < std::ssize(processes.devices); ++process) {
    int local = 0;
    for (const DeviceWords& each : processes.devices[static_cast<size_t>(process)]) {
      PJRT_Device& device = AddDevice(*client, process, local, each);
      if (process == client->process) Open(*client, device, std::move((*opened)[static_cast<size_t>(local)]));
      ++local;
    }
  }
  client->topology.version = VersionOf(*client, options.device);
  args.client = client.release();
  return OkStatus();
}

// Every event has called back by then: a host may unload what its callbacks are part of.
Status Client_Destroy(PJRT_Client_Destroy_Args& args) {
  const auto waits = [](const auto& device) { return device->runtime != nullptr && device->runtime->AwaitCallbacks(); };
  while (std::ranges::count_if(args.client->devices, waits) > 0) {
  }
  delete args.client;
  return OkStatus();
}

Status Client_PlatformName(PJRT_Client_PlatformName_Args& args) {
  args.platform_name = kPlatform.data();
  args.platform_name_size = kPlatform.size();
  return OkStatus();
}

Status Client_ProcessIndex(PJRT_Client_ProcessIndex_Args& args) {
  args.process_index = args.client->process;
  return OkStatus();
}

Status Client_PlatformVersion(PJRT_Client_PlatformVersion_Args& args) {
  args.platform_version = args.client->topology.version.data();
  args.platform_version_size = args.client->topology.version.size();
  return OkStatus();
}

Status Client_TopologyDescription(PJRT_Client_TopologyDescription_Args& args) {
  args.topology = &args.client->topology;
  return OkStatus();
}

Status Client_Devices(PJRT_Client_Devices_Args& args) {
  args.devices = args.client->device_list.data();
  args.num_devices = args.client->device_list.size();
  return OkStatus();
}

Status Client_AddressableDevices(PJRT_Client_AddressableDevices_Args& args) {
  args.addressable_devices = args.client->own_devices.data();
  args.num_addressable_devices = args.client->own_devices.size();
  return OkStatus();
}

Result<PJRT_Device*> DeviceOf(const std::vector<PJRT_Device*>& devices, int id) {
  if (id < 0 || id >= static_cast<int>(devices.size()))
    return InvalidArgument("device {}: there are {}, from 0", id, devices.size());
  return devices[static_cast<size_t>(id)];
}

Status Client_LookupDevice(PJRT_Client_LookupDevice_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.device, DeviceOf(args.client->device_list, args.id));
  return OkStatus();
}

Status Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.addressable_device, DeviceOf(args.client->own_devices, args.local_hardware_id));
  return OkStatus();
}

Status Client_AddressableMemories(PJRT_Client_AddressableMemories_Args& args) {
  args.addressable_memories = args.client->memory_list.data();
  args.num_addressable_memories = args.client->memory_list.size();
  return OkStatus();
}

Status Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args&) { return OkStatus(); }

Status Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  const size_t wanted = static_cast<size_t>(args.num_replicas) * static_cast<size_t>(args.num_partitions);
  if (wanted > args.client->device_list.size() || wanted > args.default_assignment_size) {
    return InvalidArgument("{} replicas of {} partitions: there are {} devices, and there is room for {}",
                           args.num_replicas, args.num_partitions, args.client->device_list.size(),
                           args.default_assignment_size);
  }
  for (size_t i = 0; i < wanted; ++i) args.default_assignment[i] = static_cast<int>(i);
  return OkStatus();
}

}  // namespace

bool IsForked() { return is_forked; }

void NoticeForks() {
#ifndef _WIN32
  static const int failed = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  static_cast<void>(failed);
#endif
}

Status CheckNotForked() {
  if (!IsForked()) return OkStatus();
  return DeviceFailure(
      "this process was forked from one that uses Vulkan devices, and cannot use them: start it anew "
      "(multiprocessing's \"spawn\")");
}

Status CheckOwn(const PJRT_Device& device) {
  if (device.runtime != nullptr) return OkStatus();
  return InvalidArgument("device {} is of process {}, and this is process {}", device.description.id,
                         device.description.process, device.client->process);
}

void AddClientSlots(PJRT_Api& api) {
  VXLA_PJRT_WORK_SLOT(api, Client_Create);
  VXLA_PJRT_FREE_SLOT(api, Client_Destroy);
  VXLA_PJRT_SLOT(api, Client_PlatformName);
  VXLA_PJRT_SLOT(api, Client_ProcessIndex);
  VXLA_PJRT_SLOT(api, Client_PlatformVersion);
  VXLA_PJRT_SLOT(api, Client_TopologyDescription);
  VXLA_PJRT_SLOT(api, Client_Devices);
  VXLA_PJRT_SLOT(api, Client_AddressableDevices);
  VXLA_PJRT_SLOT(api, Client_LookupDevice);
  VXLA_PJRT_SLOT(api, Client_LookupAddressableDevice);
  VXLA_PJRT_SLOT(api, Client_AddressableMemories);
  VXLA_PJRT_SLOT(api, Client_UpdateGlobalProcessInfo);
  VXLA_PJRT_SLOT(api, Client_DefaultDeviceAssignment);
}

}  // namespace VXLA_NAMESPACE::pjrt
