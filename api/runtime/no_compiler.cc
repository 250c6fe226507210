// libvxla_runtime's side of api/c/c_compiler.h.
#include "api/c/c_compiler.h"
#include "backend/vulkan/device/probes/embedded_probes.h"
#include "backend/vulkan/device/vulkan_device.h"
#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {
namespace {

Status NoCompiler(const char* call) {
  return Unsupported("{}: libvxla_runtime loads bundles (vxlaLoadBundle); libvxla compiles programs", call);
}

}  // namespace

vulkan::DeviceHooks HooksOfLibrary() { return vulkan::WithProbes(vulkan::ModulesOf(vulkan::EmbeddedProbes())); }

std::shared_ptr<Client> ClientOf(std::shared_ptr<Device> device, const CustomCallRegistry*) {
  const auto evaluate = [](const Instruction& instruction, std::span<const Literal* const>) -> Result<Literal> {
    return Unsupported("{} runs on the CPU, and libvxla_runtime has no CPU reference", instruction.name());
  };
  return std::make_shared<Client>(std::move(device), evaluate);
}

Status RegisterKernel(VxlaDevice, const VxlaKernelInfo&) { return NoCompiler("vxlaRegisterKernel"); }
Status RegisterFunction(VxlaDevice, const VxlaFunctionInfo&) { return NoCompiler("vxlaRegisterFunction"); }

Result<CExecutable> CompileText(VxlaDevice, const VxlaCompileInfo&) { return NoCompiler("vxlaCompile"); }

Result<std::string> SerializeExecutable(const Executable&, Device&) { return NoCompiler("vxlaSerializeExecutable"); }

Result<std::shared_ptr<Executable>> CompileConversion(VxlaDevice, const ImageArray& image, bool to_array) {
  return Unsupported(
      "vxlaCreateRecording: libvxla_runtime takes conversions of texels from bundles, and this one has none of {} {} "
      "{} "
      "(vxla compile --{}-image N={})",
      image.format.name, to_array ? "to" : "from", image.shape.ToString(), to_array ? "argument" : "result",
      image.format.name);
}

Status DiffText(VxlaDevice, const VxlaCompileInfo&, std::span<const VxlaConstBytes>, VxlaMessage*) {
  return NoCompiler("vxlaDiff");
}

}  // namespace VXLA_NAMESPACE
