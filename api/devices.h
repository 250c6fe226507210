// Devices by their words: which one, how its kernels reach memory, what it does without, what watches over it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "api/device_options.h"
#include "api/open_device.h"
#include "backend/device.h"
#include "backend/device_facts.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

// kInvalidArgument: a word that is none of those above. kNotFound: it names no device of this machine. kDeviceFailure:
// there is no device at all, or it does not open.
Result<std::shared_ptr<Device>> OpenDevice(const DeviceOptions& options,
                                           const std::optional<DeviceTuning>& tuning = {});
// Whether a target is any device: "generic", "generic+f16+..." (docs/guides/bundle.md).
bool IsGeneric(std::string_view target);
// A device to compile for: "generic" with addresses or descriptors, which asks for what any Vulkan 1.1 device has
// (docs/guides/bundle.md), or one of this machine's. Nothing need be able to run on it.
Result<std::shared_ptr<Device>> OpenTarget(const DeviceOptions& options);
// What the device cannot run is evaluated by the CPU reference with `host_steps`: its custom calls, feeds and seed.
ClientOptions ClientOptionsFor(const EvaluateOptions& host_steps);
std::unique_ptr<Client> MakeClient(std::shared_ptr<Device> device, const EvaluateOptions& host_steps = {},
                                   std::function<void(const CallProgress&)> progress = {});

}  // namespace VXLA_NAMESPACE
