#include "api/c/c_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/devices.h"
#include "api/image_programs.h"
#include "api/program.h"
#include "api/replicas.h"
#include "api/separate_replicas.h"
#include "api/weights.h"
#include "core/ir/module.h"
#include "core/mlir/importer/dynamic_program.h"
#include "include/vxla/vxla.hpp"
#include "scheduler/bundle/bundle.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/commands/recording.h"

namespace VXLA_NAMESPACE {
namespace {

Result<std::unique_ptr<Module>> ParseFor(const VxlaCompileInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckNotNull(info.text, "the program's text"));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module,
                        ParseProgram({info.text, info.text_size != 0 ? info.text_size : std::strlen(info.text)}));
  if (info.bounds == nullptr) return module;
  return WithSizeBounds(*module, info.bounds);
}

}  // namespace

vulkan::DeviceHooks HooksOfLibrary() { return vulkan::AllHooks(); }

std::shared_ptr<Client> ClientOf(std::shared_ptr<Device> device, const CustomCallRegistry* calls) {
  EvaluateOptions host_steps;
  host_steps.custom_calls = calls;
  return MakeClient(std::move(device), host_steps);
}

namespace {

const CustomCallRegistry* CallsNow(VxlaDevice device) {
  const std::lock_guard lock(device->mutex);
  return device->registries.empty() ? nullptr : device->registries.back().get();
}

// Of a program on several devices, those of the grid; none: it is on one.
Result<std::vector<VxlaDevice>> DevicesOf(VxlaDevice device, const VxlaCompileInfo& info) {
  constexpr uint64_t kMost = 4096;
  const uint64_t count = std::max<uint64_t>(info.replica_count, 1) * std::max<uint64_t>(info.partition_count, 1);
  if (count > kMost) {
    return InvalidArgument("{} replicas of {} partitions: {} devices are possible", info.replica_count,
                           info.partition_count, kMost);
  }
  std::vector<VxlaDevice> devices(count, device);
  for (size_t d = 0; d < count && info.devices != nullptr; ++d) {
    VXLA_RETURN_IF_ERROR(CheckHandle(info.devices[d], fmt::format("device {}", d).c_str()));
    devices[d] = info.devices[d];
  }
  if (count == 1 && devices[0] == device) devices.clear();
  return devices;
}

// Null: there are none. Their elements are those of the text.
Result<std::shared_ptr<CWeights>> WeightsOf(VxlaDevice device, Module& module, const VxlaCompileInfo& info) {
  if (info.weight_bytes == 0) return std::shared_ptr<CWeights>();
  if (mlir::IsDynamicProgram(module)) return Unsupported("a program of open sizes has no weights");
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  VXLA_ASSIGN_OR_RETURN(const std::vector<Weight> weights,
                        HoistWeights(module, static_cast<int64_t>(std::min(info.weight_bytes, kMost))));
  auto made = std::make_shared<CWeights>();
  for (const Weight& weight : weights) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceBuffer> value, ClientNow(device)->Upload(weight.value));
    made->names.push_back(weight.name);
    made->arrays.emplace_back(weight.value.shape());
    made->bound.push_back({value.at(0), value.at(0).Hold()});
  }
  return made->names.empty() ? nullptr : made;
}

// As one program on one device, or each by itself.
Result<std::unique_ptr<Program>> ProgramOn(std::span<const VxlaDevice> devices, const Module& module,
                                           const VxlaCompileInfo& info, const CompileOptions& options) {
  const DeviceGrid grid{std::max<int64_t>(info.replica_count, 1), std::max<int64_t>(info.partition_count, 1)};
  EvaluateOptions evaluate;
  evaluate.custom_calls = CallsNow(devices[0]);
  std::vector<std::shared_ptr<Device>> places;
  IntList place_of;
  for (const VxlaDevice device : devices) {
    const auto found = std::ranges::find(places, device->device);
    place_of.push_back(found - places.begin());
    if (found == places.end()) places.push_back(device->device);
  }
  if (places.size() == 1) {
    const std::vector<bool> shared(module.entry()->parameters().size());
    return ProgramOnOneDevice(*ClientNow(devices[0]), module, grid, shared, options, evaluate);
  }
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Program> apart,
                        CompileApart(module, {grid, place_of}, places, evaluate, options));
  return apart;
}

}  // namespace

Result<CExecutable> CompileText(VxlaDevice device, const VxlaCompileInfo& info) {
  Sweep(*device);
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, uint32_t{VXLA_COMPILE_REQUIRE_GPU} | uint32_t{VXLA_COMPILE_RECORDABLE} |
                                                  uint32_t{VXLA_COMPILE_IN_BACKGROUND}));
  VXLA_ASSIGN_OR_RETURN(std::vector<VxlaDevice> devices, DevicesOf(device, info));
  VXLA_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ParseFor(info));
  CExecutable compiled = WithSignature(*module);
  VXLA_ASSIGN_OR_RETURN(compiled.weights, WeightsOf(device, *module, info));
  const bool recordable = (info.flags & VXLA_COMPILE_RECORDABLE) != 0;
  const bool in_background = (info.flags & VXLA_COMPILE_IN_BACKGROUND) != 0;
  CompileOptions options;
  options.require_gpu = (info.flags & VXLA_COMPILE_REQUIRE_GPU) != 0;
  options.sizes_on_device = recordable;
  compiled.loop_iterations = LoopIterations(info.loop_iterations);
  if (!devices.empty()) {
    const auto open = [](const CArray& array) { return array.has_open_sizes(); };
    if (std::ranges::any_of(compiled.arguments, open))
      return Unsupported("a program on {} devices has arguments of known sizes", devices.size());
    if (compiled.weights != nullptr) return Unsupported("a program on {} devices has no weights", devices.size());
    if (recordable || in_background)
      return Unsupported("a program on {} devices is neither recorded nor compiled in the background", devices.size());
    VXLA_ASSIGN_OR_RETURN(compiled.program, ProgramOn(devices, *module, info, options));
    compiled.devices = std::move(devices);
    // It stays in the program, which keeps it const: what is asked of it here changes nothing, and runs are the
    // program's.
    compiled.executable = {compiled.program, const_cast<Executable*>(&compiled.program->executable())};
    return compiled;
  }
  if (recordable && compiled.weights != nullptr)
    return Unsupported("weights of a program that is recorded are its arguments: weight_bytes is {}",
                       info.weight_bytes);
  const auto compile = [client = ClientNow(device), options, recordable, iterations = compiled.loop_iterations,
                        source = std::shared_ptr(std::move(module))](
                           const Proceed& proceed) mutable -> Result<std::shared_ptr<Executable>> {
    options.proceed = proceed;
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> made, client->Compile(*source, options));
    if (recordable) VXLA_RETURN_IF_ERROR(CheckRecordable(*made, iterations));
    return made;
  };
  if (in_background) {
    compiled.compilation = ClientNow(device)->CompileInBackground(compile);
    return compiled;
  }
  VXLA_ASSIGN_OR_RETURN(compiled.executable, Client::CompileTask(compile)({}));
  return compiled;
}

Result<std::string> SerializeExecutable(const Executable& executable, Device& device) {
  BundleBuilder bundle;
  VXLA_RETURN_IF_ERROR(bundle.Add(executable, device, /*generic=*/false));
  constexpr uint32_t kVersion = VXLA_HEADER_VERSION;
  return bundle.Finish(fmt::format("vxla {}.{}.{}", kVersion >> 22, kVersion >> 12 & 0x3ff, kVersion & 0xfff));
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
  evaluate.custom_calls = CallsNow(device);
  VXLA_ASSIGN_OR_RETURN(const Agreement agreement,
                        CompareWithCpu(*ClientNow(device), *module, literals, nullptr, evaluate));
  std::string text = agreement.ToString();
  for (const std::string& note : agreement.outcome.notes) text += "note: " + note + "\n";
  if (report != nullptr) *report = new VxlaMessage_T{VxlaMessage_T::kKind, text};
  return agreement.agrees() ? OkStatus() : Mismatch("{}", text);
}

}  // namespace VXLA_NAMESPACE
