// What the C API asks of the compiler and of the CPU reference. libvxla has both (c_compiler.cc); libvxla_runtime,
// which loads bundles, has neither (runtime/no_compiler.cc): there these calls are kUnsupported.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/c/c_handles.h"
#include "api/image_format.h"
#include "backend/vulkan/device/vulkan_device.h"

namespace VXLA_NAMESPACE {

vulkan::DeviceHooks HooksOfLibrary();
// `calls` may be null, and outlives the client and its executables.
std::shared_ptr<Client> ClientOf(std::shared_ptr<Device> device, const CustomCallRegistry* calls);
// From now on the device's client knows the kernel (the function).
Status RegisterKernel(VxlaDevice device, const VxlaKernelInfo& info);
Status RegisterFunction(VxlaDevice device, const VxlaFunctionInfo& info);
Result<CExecutable> CompileText(VxlaDevice device, const VxlaCompileInfo& info);
// The bytes of a bundle.
Result<std::string> SerializeExecutable(const Executable& executable, Device& device);
// Of an image's texels to the array's elements, or back (api/image_programs.h).
Result<std::shared_ptr<Executable>> CompileConversion(VxlaDevice device, const ImageArray& image, bool to_array);
// kMismatch with the report, which is also put into `report` unless it is null.
Status DiffText(VxlaDevice device, const VxlaCompileInfo& info, std::span<const VxlaConstBytes> arguments,
                VxlaMessage* report);

// Of c_api.cc: a program's arguments and results, and one literal for each parameter from the bytes of its leaves.
CExecutable WithSignature(const Module& module);
Result<std::vector<Literal>> ReadArguments(std::span<const Shape> parameters, std::span<const VxlaConstBytes> given);

}  // namespace VXLA_NAMESPACE
