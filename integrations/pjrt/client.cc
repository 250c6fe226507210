#include <fmt/format.h>

#ifndef _WIN32
#include <pthread.h>
#endif

#include "backend/device.h"
#include "integrations/pjrt/plugin.h"

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

std::unique_ptr<PJRT_Device> MakeDevice(PJRT_Client& client, int id, OpenedDevice opened) {
  auto device = std::make_unique<PJRT_Device>();
  const DeviceFacts& facts = opened.client->device().facts();
  device->client = &client;
  device->runtime = std::move(opened.client);
  device->opened_with = std::move(opened.options);
  PJRT_DeviceDescription& d = device->description;
  d.id = id;
  d.kind = facts.name;
  d.driver = facts.driver;
  d.driver_version = facts.driver_version;
  d.text = fmt::format("VulkanDevice(id={})", id);
  d.debug_string = fmt::format("vulkan:{} {}, {} {}", id, facts.name, facts.driver, facts.driver_version);
  d.attributes = {Named("driver", d.driver), Named("driver_version", d.driver_version),
                  Named("memory_bytes", static_cast<int64_t>(facts.memory_bytes))};
  for (int kind = 0; kind < kMemoryKinds; ++kind) {
    auto memory = std::make_unique<MemoryHandle>();
    memory->vtable = &kMemoryFunctions;
    memory->id = id * kMemoryKinds + kind;
    memory->kind = static_cast<BufferMemory>(kind);
    memory->device = device.get();
    memory->text = fmt::format("{}:{}", kMemoryKindNames[kind], id);
    memory->debug_string = fmt::format("{} memory of {}", kMemoryKindNames[kind], d.debug_string);
    device->memories.push_back(memory.get());
    client.memory_list.push_back(memory.get());
    client.memories.push_back(std::move(memory));
  }
  return device;
}

// JAX's compilation cache takes programs of equal text, devices and version for the same: what else changes code is
// told here.
std::string VersionOf(const PJRT_Client& client, const DeviceOptions& options) {
  std::string version = fmt::format("vxla {}; bindings={} emulate={} same_bits={}", VXLA_VERSION, options.bindings,
                                    options.emulate, options.same_bits);
  for (const auto& device : client.devices) {
    const DeviceFacts& facts = device->runtime->device().facts();
    version += fmt::format("; {} {} {}", facts.name, facts.driver, facts.driver_version);
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

Status ReadOption(const PJRT_NamedValue& given, DeviceOptions& options, std::string& devices) {
  const std::string_view name(given.name, given.name_size);
  std::string text;
  if (given.type == PJRT_NamedValue_kString) text.assign(given.string_value, given.value_size);
  if (given.type == PJRT_NamedValue_kInt64) text = std::to_string(given.int64_value);
  if (name == "devices") {
    devices = text;
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
  } else if (name == "num_nodes" || name == "node_id" || name == "partition_index") {
    if (name == "num_nodes" && text != "1")
      return Unsupported("{} processes: devices of several processes do not work together yet", text);
  } else {
    return InvalidArgument(
        "option '{}' is none of devices, bindings, emulate, validate, cache, cache_folder, same_bits", name);
  }
  return OkStatus();
}

std::atomic<bool> is_forked = false;

Status Client_Create(PJRT_Client_Create_Args& args) {
  NoticeForks();
  DeviceOptions options;
  const char* const words = std::getenv("VXLA_DEVICES");
  std::string devices = words == nullptr ? "" : words;
  for (size_t i = 0; i < args.num_options; ++i) {
    VXLA_RETURN_IF_ERROR(ReadOption(Known(&args.create_options[i]), options, devices));
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<OpenedDevice> opened, OpenDevices(devices, options));
  auto client = std::make_unique<PJRT_Client>();
  for (OpenedDevice& each : opened) {
    client->devices.push_back(MakeDevice(*client, static_cast<int>(client->devices.size()), std::move(each)));
    client->device_list.push_back(client->devices.back().get());
    client->topology.descriptions.push_back(&client->devices.back()->description);
  }
  client->topology.version = VersionOf(*client, options);
  args.client = client.release();
  return OkStatus();
}

Status Client_Destroy(PJRT_Client_Destroy_Args& args) {
  delete args.client;
  return OkStatus();
}

Status Client_PlatformName(PJRT_Client_PlatformName_Args& args) {
  args.platform_name = kPlatform.data();
  args.platform_name_size = kPlatform.size();
  return OkStatus();
}

Status Client_ProcessIndex(PJRT_Client_ProcessIndex_Args& args) {
  args.process_index = 0;
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
  args.addressable_devices = args.client->device_list.data();
  args.num_addressable_devices = args.client->device_list.size();
  return OkStatus();
}

Result<PJRT_Device*> DeviceOf(const PJRT_Client& client, int id) {
  if (id < 0 || id >= static_cast<int>(client.device_list.size()))
    return InvalidArgument("device {}: there are {}, from 0", id, client.device_list.size());
  return client.device_list[static_cast<size_t>(id)];
}

Status Client_LookupDevice(PJRT_Client_LookupDevice_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.device, DeviceOf(*args.client, args.id));
  return OkStatus();
}

Status Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& args) {
  VXLA_ASSIGN_OR_RETURN(args.addressable_device, DeviceOf(*args.client, args.local_hardware_id));
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
