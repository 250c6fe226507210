#include "api/open_device.h"

#include <algorithm>

#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE {
namespace {

// `word` is in lower case.
bool IsWord(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

Status ReadValidation(std::string_view kinds, vulkan::OpenOptions& options) {
  while (!kinds.empty()) {
    const size_t end = std::min(kinds.find_first_of(",+"), kinds.size());
    const std::string_view kind = kinds.substr(0, end);
    if (kind != "core" && kind != "sync" && kind != "gpu")
      return InvalidArgument("--validate: '{}' is none of core, sync, gpu", kind);
    options.validate_core |= kind == "core";
    options.validate_sync |= kind == "sync";
    options.validate_gpu |= kind == "gpu";
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
  }
  return OkStatus();
}

}  // namespace

bool IsCpu(std::string_view device) { return IsWord(device, "cpu"); }
bool IsAllDevices(std::string_view device) { return IsWord(device, "all"); }

Result<std::vector<DeviceFacts>> ListDevices(const std::string& loader_path) {
  return vulkan::ListDevices(loader_path);
}

std::string UuidText(const DeviceFacts& facts) { return vulkan::UuidText(facts.device_uuid); }

Result<std::shared_ptr<Device>> OpenDevice(const DeviceOptions& wanted, const vulkan::DeviceHooks& hooks,
                                           const std::optional<DeviceTuning>& tuning) {
  if (IsCpu(wanted.device)) return InvalidArgument("device 'cpu' is the reference: there is nothing to open");
  vulkan::OpenOptions options;
  if (wanted.bindings != "auto") {
    const bool addresses = wanted.bindings == "addresses";
    if (!addresses && wanted.bindings != "descriptors")
      return InvalidArgument("bindings '{}': none of auto, addresses, descriptors", wanted.bindings);
    options.bindings = addresses ? BindingMode::kAddresses : BindingMode::kDescriptors;
  }
  VXLA_RETURN_IF_ERROR(ReadValidation(wanted.validate, options));
  VXLA_ASSIGN_OR_RETURN(options.emulate, vulkan::ParseEmulation(wanted.emulate));
  if (wanted.queues > 0) options.most_queues = wanted.queues;
  options.same_bits = wanted.same_bits;
  options.compile_only = wanted.compile_only;
  options.capture_executables = wanted.capture_executables;
  options.cache = wanted.cache;
  options.cache_dir = wanted.cache_folder;
  if (wanted.work_budget_ms >= 0) options.work_budget_seconds = wanted.work_budget_ms * 1e-3;
  options.loader_path = wanted.loader_path;
  options.tuning = tuning;
  VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices(wanted.loader_path));
  VXLA_ASSIGN_OR_RETURN(const int index, vulkan::ChooseDevice(devices, wanted.device));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, vulkan::OpenDevice(index, options, hooks));
  return std::shared_ptr<Device>(std::move(device));
}

Status CheckValidation(const Device& device) {
  const std::vector<std::string> messages = device.validation_messages();
  if (messages.empty()) return OkStatus();
  return DeviceFailure("the validation layers report {} message(s); the first: {}", messages.size(), messages.front());
}

}  // namespace VXLA_NAMESPACE
