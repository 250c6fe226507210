#include "backend/vulkan/device/open.h"

#include "backend/vulkan/device/probes/matrix_probe.h"
#include "backend/vulkan/device/probes/probe_text.h"
#include "backend/vulkan/device/vulkan_device.h"
#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/shader/shader_source.h"

namespace VXLA_NAMESPACE::vulkan {

DeviceHooks WithCompiler(DeviceHooks hooks) {
  hooks.compiler = ShadercCompiler();
  hooks.probes = CompiledProbes();
  hooks.probe = ProbeWhole;
  return hooks;
}

DeviceHooks AllHooks() { return WithCompiler({AssembleShader, MakeLowering}); }

Result<std::unique_ptr<Device>> OpenDevice(int index, const OpenOptions& options) {
  return OpenDevice(index, options, AllHooks());
}

Result<std::unique_ptr<Device>> OpenDeviceWith(int index, const OpenOptions& options, DeviceHooks hooks) {
  return OpenDevice(index, options, WithCompiler(std::move(hooks)));
}

}  // namespace VXLA_NAMESPACE::vulkan
