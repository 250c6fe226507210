#include "api/c/c_compiler.h"

#include "api/devices.h"
#include "api/image_programs.h"
#include "api/program.h"
#include "core/module.h"
#include "include/vxla/vxla.hpp"
#include "scheduler/plan.h"
#include "scheduler/runtime/recording.h"

namespace VXLA_NAMESPACE {
namespace {

Result<std::unique_ptr<Module>> ParseFor(const VxlaCompileInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckNotNull(info.text, "the program's text"));
  return ParseProgram({info.text, info.text_size != 0 ? info.text_size : std::strlen(info.text)});
}

}  // namespace

vulkan::DeviceHooks HooksOfLibrary() { return vulkan::AllHooks(); }

std::shared_ptr<Client> ClientOf(std::shared_ptr<Device> device, const CustomCallRegistry* calls) {
  EvaluateOptions host_steps;
  host_steps.custom_calls = calls;
  return MakeClient(std::move(device), host_steps);
}

Result<CExecutable> CompileText(VxlaDevice device, const VxlaCompileInfo& info) {
  Sweep(*device);
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, uint32_t{VXLA_COMPILE_REQUIRE_GPU} | uint32_t{VXLA_COMPILE_RECORDABLE}));
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseFor(info));
  VXLA_ASSIGN_OR_RETURN(CExecutable compiled, WithSignature(*module));
  CompileOptions options;
  options.require_gpu = (info.flags & VXLA_COMPILE_REQUIRE_GPU) != 0;
  options.sizes_on_device = (info.flags & VXLA_COMPILE_RECORDABLE) != 0;
  VXLA_ASSIGN_OR_RETURN(compiled.executable, ClientNow(device)->Compile(*module, options));
  if ((info.flags & VXLA_COMPILE_RECORDABLE) != 0) VXLA_RETURN_IF_ERROR(CheckRecordable(*compiled.executable));
  return compiled;
}

Result<std::shared_ptr<Executable>> CompileConversion(VxlaDevice device, const ImageArray& image, bool to_array) {
  VXLA_ASSIGN_OR_RETURN(const XlaComputation program, to_array ? TexelsToArray(image) : ArrayToTexels(image));
  CompileOptions options;
  options.require_gpu = true;
  return ClientNow(device)->Compile(program.module(), options);
}

Status DiffText(VxlaDevice device, const VxlaCompileInfo& info, std::span<const VxlaConstBytes> arguments,
                VxlaMessage* report) {
  VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Module> module, ParseFor(info));
  std::vector<Shape> parameters;
  size_t leaves = 0;
  for (const Instruction* parameter : module->entry()->parameters()) {
    parameters.push_back(parameter->shape());
    leaves += FlattenTuple(parameter->shape()).size();
  }
  VXLA_RETURN_IF_ERROR(CheckCount("arguments", arguments.size(), leaves));
  if (leaves != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(arguments.data(), "arguments"));
  VXLA_ASSIGN_OR_RETURN(const auto literals, ReadArguments(parameters, arguments));
  EvaluateOptions evaluate;
  std::shared_ptr<Client> client;
  {
    const std::lock_guard lock(device->mutex);
    client = device->client;
    if (!device->registries.empty()) evaluate.custom_calls = device->registries.back().get();
  }
  VXLA_ASSIGN_OR_RETURN(const Agreement agreement, CompareWithCpu(*client, *module, literals, nullptr, evaluate));
  std::string text = agreement.ToString();
  for (const std::string& note : agreement.outcome.notes) text += "note: " + note + "\n";
  if (report != nullptr) *report = new VxlaMessage_T{VxlaMessage_T::kKind, text};
  return agreement.agrees() ? OkStatus() : Mismatch("{}", text);
}

}  // namespace VXLA_NAMESPACE
