// Opening a device by its words, with what a library has to open it with.
#pragma once

#include "api/device_options.h"
#include "backend/device.h"

namespace VXLA_NAMESPACE {
namespace vulkan {
struct DeviceHooks;
}

// As OpenDevice of devices.h; `tuning` is taken instead of what is kept for the device.
Result<std::shared_ptr<Device>> OpenDevice(const DeviceOptions& options, const vulkan::DeviceHooks& hooks,
                                           const std::optional<DeviceTuning>& tuning);

// All Vulkan devices, in the order of "vulkan:N". kDeviceFailure where there is no loader or no driver.
Result<std::vector<DeviceFacts>> ListDevices(const std::string& loader_path = {});
// "6c6c766d-7069-7065-5555-494400000000", as vxla devices prints it and DeviceOptions takes it.
std::string UuidText(const DeviceFacts& facts);

// kDeviceFailure with the first message if the validation layers said anything.
Status CheckValidation(const Device& device);

}  // namespace VXLA_NAMESPACE
