// Devices by their words: which one, how its kernels reach memory, what it does without, what watches over it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "backend/device.h"
#include "backend/device_facts.h"
#include "scheduler/client.h"

namespace vxla {

struct DeviceOptions {
  // "vulkan": the best device; "vulkan:N": number N; a UUID (32 hexadecimal digits, dashes aside); else a part of a
  // name, in any case. "cpu" (the reference) is a device of Diff only: nothing is opened for it.
  std::string device = "vulkan";
  std::string bindings = "auto";  // how kernels reach memory: "auto" (what is faster), "addresses", "descriptors"
  std::string validate;           // validation layers: "core,sync,gpu" or some of them, with ',' or '+' between
  std::string emulate;            // what kernels do without: "i64,f64,f16,narrow,subgroups,division" or some of them
  bool cache = true;              // keep compiled kernels and probe results on disk
  std::string cache_folder;       // empty: the user's cache folder
  std::string loader_path;        // another Vulkan loader library; empty: the platform's
  // Told where long calls of the client stand, from the threads that work, several at a time.
  std::function<void(const CallProgress&)> progress;
};

bool IsCpu(std::string_view device);

// All Vulkan devices, in the order of "vulkan:N". kDeviceFailure where there is no loader or no driver.
Result<std::vector<DeviceFacts>> ListDevices(const std::string& loader_path = {});
// "6c6c766d-7069-7065-5555-494400000000", as vxla devices prints it and DeviceOptions takes it.
std::string UuidText(const DeviceFacts& facts);

// kInvalidArgument: a word that is none of those above. kDeviceFailure: there is no such device, or it does not open.
Result<std::shared_ptr<Device>> OpenDevice(const DeviceOptions& options);
// What the device cannot run is evaluated by the CPU reference with `host_steps`: its custom calls, feeds and seed.
std::unique_ptr<Client> MakeClient(std::shared_ptr<Device> device, const EvaluateOptions& host_steps = {},
                                   std::function<void(const CallProgress&)> progress = {});
// Both.
Result<std::unique_ptr<Client>> OpenClient(const DeviceOptions& options, const EvaluateOptions& host_steps = {});

// kDeviceFailure with the first message if the validation layers said anything.
Status CheckValidation(const Device& device);

}  // namespace vxla
