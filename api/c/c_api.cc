#include <fmt/format.h>

#include "api/c/c_compiler.h"
#include "api/c/c_handles.h"
#include "api/c/c_vulkan.h"
#include "api/open_device.h"
#include "backend/vulkan/device/open.h"
#include "core/ir/module.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/commands/recording.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {
namespace {

DeviceOptions OptionsOf(const VxlaDeviceInfo& info) {
  DeviceOptions options;
  options.device = TextOr(info.device, options.device);
  options.bindings = TextOr(info.bindings, options.bindings);
  options.validate = TextOr(info.validate, "");
  options.emulate = TextOr(info.emulate, "");
  options.cache_folder = TextOr(info.cache_folder, "");
  options.cache = (info.flags & VXLA_DEVICE_NO_CACHE) == 0;
  options.same_bits = (info.flags & VXLA_DEVICE_SAME_BITS) != 0;
  return options;
}

VxlaDeviceDescription Describe(const DeviceFacts& facts) {
  VxlaDeviceDescription description = {};
  description.api_version = facts.api_version;
  description.vendor_id = facts.vendor_id;
  description.device_id = facts.device_id;
  description.memory_bytes = facts.memory_bytes;
  fmt::format_to_n(description.name, sizeof(description.name) - 1, "{}", facts.name);
  fmt::format_to_n(description.driver, sizeof(description.driver) - 1, "{} {}", facts.driver, facts.driver_version);
  std::copy(facts.device_uuid.begin(), facts.device_uuid.end(), description.uuid);
  return description;
}

Result<CExecutable> LoadBundle(VxlaDevice device, const VxlaBundleInfo& info) {
  Sweep(*device);
  VXLA_RETURN_IF_ERROR(CheckNotNull(info.data, "the bundle's data"));
  VXLA_RETURN_IF_ERROR(CheckFlags(info.flags, uint32_t{VXLA_COMPILE_RECORDABLE} | uint32_t{VXLA_LOAD_IN_BACKGROUND}));
  LoadOptions options;
  options.background = (info.flags & VXLA_LOAD_IN_BACKGROUND) != 0;
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                        ClientNow(device)->Load({static_cast<const std::byte*>(info.data), info.size_bytes}, options));
  CExecutable loaded = WithSignature(executable->module());
  loaded.loop_iterations = LoopIterations(info.loop_iterations);
  if ((info.flags & VXLA_COMPILE_RECORDABLE) != 0)
    VXLA_RETURN_IF_ERROR(CheckRecordable(*executable, loaded.loop_iterations));
  loaded.executable = std::move(executable);
  return loaded;
}

Status CheckResults(std::span<const CArray> wanted, std::span<const VxlaBytes> given) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto size = static_cast<uint64_t>(wanted[i].shape.SizeBytes());
    if (given[i].size_bytes != size) {
      return InvalidArgument("result {}: {} bytes given, {} has {}", i, given[i].size_bytes, wanted[i].shape.ToString(),
                             size);
    }
    if (size != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(given[i].data, fmt::format("result {}", i).c_str()));
  }
  return OkStatus();
}

// Behind the arguments; they stay whole.
void AddWeights(const CExecutable& program, std::vector<Argument>& arguments) {
  if (program.weights == nullptr) return;
  const std::lock_guard lock(program.weights->mutex);
  for (const CWeights::Bound& weight : program.weights->bound)
    arguments.emplace_back(std::vector<DeviceBuffer>{weight.value}).keep = true;
}

Status RunOnHostMemory(Executable& executable, const CExecutable& program, std::span<const VxlaConstBytes> arguments,
                       std::span<const VxlaBytes> results) {
  for (const std::vector<CArray>* leaves : {&program.arguments, &program.results}) {
    for (const CArray& leaf : *leaves) {
      if (leaf.shape.IsDynamic())
        return Unsupported("{}: what lives of dynamic dimensions goes with values: vxlaExecute", leaf.shape.ToString());
    }
  }
  VXLA_RETURN_IF_ERROR(CheckResults(program.results, results));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Literal> literals, ReadArguments(program.parameters, arguments));
  std::vector<Argument> values(literals.begin(), literals.end());
  AddWeights(program, values);
  ExecuteOptions options;
  options.waits_for_host = true;
  VXLA_ASSIGN_OR_RETURN(const Execution execution, executable.Execute(values, options));
  VXLA_RETURN_IF_ERROR(execution.Wait());
  std::vector<Event> there;
  for (size_t i = 0; i < execution.leaves.size(); ++i)
    there.push_back(execution.leaves[i].ToHost({static_cast<std::byte*>(results[i].data), results[i].size_bytes}));
  return Event::AllOf(there).Await();
}

Result<std::vector<Argument>> TakeArguments(const CExecutable& program, const VxlaExecuteInfo& info) {
  VXLA_RETURN_IF_ERROR(CheckCount("arguments", info.argument_count, program.arguments.size()));
  VXLA_RETURN_IF_ERROR(CheckCount("results", info.result_count, program.results.size()));
  if (info.argument_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.arguments, "arguments"));
  if (info.result_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.results, "results"));
  std::vector<Argument> arguments;
  uint32_t number = 0;
  for (const Shape& parameter : program.parameters) {
    std::vector<DeviceBuffer> leaves;
    bool keep = false;
    for (size_t leaf = FlattenTuple(parameter).size(); leaf > 0; --leaf, ++number) {
      const std::string what = fmt::format("argument {}", number);
      VXLA_RETURN_IF_ERROR(CheckHandle(info.arguments[number], what.c_str()));
      VXLA_RETURN_IF_ERROR(CheckOwned(info.arguments[number], what.c_str()));
      leaves.push_back(info.arguments[number]->content->value);
      keep |= info.keep != nullptr && info.keep[number] != 0;
    }
    arguments.emplace_back(std::move(leaves)).keep = keep;
  }
  AddWeights(program, arguments);
  return arguments;
}

// What failing calls would have made is NULL.
Result<VxlaExecuteInfo> ReadExecuteInfo(const VxlaExecuteInfo* info) {
  VXLA_ASSIGN_OR_RETURN(const VxlaExecuteInfo read, ReadStruct(info, "info", offsetof(VxlaExecuteInfo, done)));
  if (read.results != nullptr) std::fill_n(read.results, read.result_count, nullptr);
  if (read.done != nullptr) *read.done = nullptr;
  return read;
}

void GiveResults(VxlaDevice owner, const Execution& execution, const VxlaExecuteInfo& info) {
  for (size_t i = 0; i < execution.leaves.size(); ++i)
    info.results[i] = NewHandle<VxlaValue_T>(owner, CValue{execution.leaves[i], CArray(execution.leaves[i].shape())});
  GiveEvent(owner, execution.done, info.done);
}

Status ExecuteOnOne(VxlaExecutable handle, const VxlaExecuteInfo& info) {
  VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, ExecutableOf(handle));
  const CExecutable& program = *handle->content;
  VXLA_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, TakeArguments(program, info));
  if (handle->owner->adopted) VXLA_RETURN_IF_ERROR(CheckDonationsApart(*executable, arguments));
  VXLA_ASSIGN_OR_RETURN(const Execution execution, executable->Execute(arguments));
  GiveResults(handle->owner, execution, info);
  return OkStatus();
}

Status ExecuteOnSeveral(const CExecutable& program, std::span<const VxlaExecuteInfo> infos) {
  std::vector<std::vector<Argument>> arguments;
  for (size_t d = 0; d < infos.size(); ++d) {
    auto own = TakeArguments(program, infos[d]);
    if (!own.ok()) return Status(own.status()).WithPrefix(fmt::format("device {}: ", d));
    for (const Argument& argument : *own) {
      for (const DeviceBuffer& leaf : argument.leaves) {
        if (leaf.memory() == nullptr || &leaf.memory()->device() == program.devices[d]->device.get()) continue;
        return InvalidArgument("device {}: argument {} is another device's", d, &argument - own->data());
      }
    }
    arguments.push_back(*std::move(own));
  }
  VXLA_ASSIGN_OR_RETURN(const Launch launch, program.program->Execute(arguments));
  for (size_t d = 0; d < infos.size(); ++d) GiveResults(program.devices[d], launch.by_device[d], infos[d]);
  return OkStatus();
}

Status DescribeLeaf(VxlaExecutable executable, bool result, uint32_t index, VxlaArray* array) {
  VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
  const auto& leaves = result ? executable->content->results : executable->content->arguments;
  if (index >= leaves.size())
    return InvalidArgument("{} {}: there are {}", result ? "result" : "argument", index, leaves.size());
  return WriteStruct(leaves[index].Describe(), array, "array", offsetof(VxlaArray, dynamic));
}

Result<VxlaCompileInfo> ReadCompileInfo(const VxlaCompileInfo* info) {
  return ReadStruct(info, "info", offsetof(VxlaCompileInfo, replica_count));
}

// It is a handle of each of its devices.
void CountOnDevices(VxlaExecutable executable, int one) {
  std::vector<VxlaDevice> others = executable->content->devices;
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (VxlaDevice device : others) {
    if (device == executable->owner) continue;
    const std::lock_guard lock(device->mutex);
    device->alive[OwnedKind(HandleKind::kExecutable)] += one;
  }
}

Status CheckBackground(const CExecutable& program) {
  return program.compilation != nullptr ? OkStatus()
                                        : InvalidArgument("executable: it was not compiled in the background");
}

VxlaCompileProgress Describe(const Compilation& compilation) {
  VxlaCompileProgress described = {};
  const std::optional<CallProgress> progress = compilation.progress();
  described.stage = compilation.done().IsReady()                      ? VXLA_STAGE_DONE
                    : !progress                                       ? VXLA_STAGE_WAITS
                    : progress->stage == CallProgress::Stage::kPasses ? VXLA_STAGE_PASSES
                                                                      : VXLA_STAGE_KERNELS;
  if (!progress) return described;
  described.kernels_made = progress->done;
  described.kernel_count = progress->total;
  return described;
}

}  // namespace

CExecutable WithSignature(const Module& module) {
  CExecutable compiled;
  for (const Instruction* parameter : module.entry()->parameters()) {
    compiled.parameters.push_back(parameter->shape());
    for (const Shape* leaf : FlattenTuple(parameter->shape())) compiled.arguments.emplace_back(*leaf);
  }
  for (const Shape* leaf : FlattenTuple(module.entry()->root()->shape())) compiled.results.emplace_back(*leaf);
  return compiled;
}

Result<std::vector<Literal>> ReadArguments(std::span<const Shape> parameters, std::span<const VxlaConstBytes> given) {
  for (const Shape& parameter : parameters) {
    for (const Shape* leaf : FlattenTuple(parameter)) {
      if (CArray(*leaf).has_open_sizes())
        return Unsupported("{}: arrays of open sizes go with values: vxlaExecute", leaf->ToString());
    }
  }
  std::vector<Literal> literals;
  size_t number = 0;
  for (const Shape& parameter : parameters) {
    std::vector<Literal> leaves;
    for (const Shape* shape : FlattenTuple(parameter)) {
      const VxlaConstBytes& bytes = given[number];
      if (bytes.size_bytes != static_cast<uint64_t>(shape->SizeBytes())) {
        return InvalidArgument("argument {}: {} bytes given, {} has {}", number, bytes.size_bytes, shape->ToString(),
                               shape->SizeBytes());
      }
      Literal literal = Literal::Uninitialized(*shape);
      if (bytes.size_bytes != 0) {
        VXLA_RETURN_IF_ERROR(CheckNotNull(bytes.data, fmt::format("argument {}", number).c_str()));
        std::memcpy(literal.mutable_bytes().data(), bytes.data, bytes.size_bytes);
      }
      leaves.push_back(std::move(literal));
      ++number;
    }
    literals.push_back(UnflattenLiteral(parameter, leaves));
  }
  return literals;
}

}  // namespace VXLA_NAMESPACE

using namespace vxla;  // NOLINT: this file is the C side of that namespace

uint32_t vxlaVersion() { return VXLA_HEADER_VERSION; }

const char* vxlaMessageText(VxlaMessage message) {
  return Guarded([&] { return CheckHandle(message, "message"); }).ok() ? message->text.c_str() : "";
}

void vxlaFreeMessage(VxlaMessage message) {
  if (Guarded([&] { return CheckHandle(message, "message"); }).ok()) delete message;
}

VxlaCode vxlaCountDevices(uint32_t* count, VxlaMessage* message) {
  return CallFor(count, "count", message, [&]() -> Result<uint32_t> {
    VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
    return static_cast<uint32_t>(devices.size());
  });
}

VxlaCode vxlaDescribeDevice(uint32_t index, VxlaDeviceDescription* description, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
    if (index >= devices.size()) return InvalidArgument("device {}: there are {}", index, devices.size());
    return WriteStruct(Describe(devices[index]), description, "description");
  });
}

VxlaCode vxlaCreateDevice(const VxlaDeviceInfo* info, VxlaDevice* device, VxlaMessage* message) {
  return CallFor(device, "device", message, [&]() -> Result<VxlaDevice> {
    VXLA_ASSIGN_OR_RETURN(const VxlaDeviceInfo read, ReadStruct(info, "info"));
    VXLA_RETURN_IF_ERROR(CheckFlags(read.flags, kDeviceFlags));
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(OptionsOf(read), HooksOfLibrary(), {}));
    return NewDevice(std::move(opened), read.flags, /*adopted=*/false);
  });
}

VxlaCode vxlaDestroyDevice(VxlaDevice device, VxlaMessage* message) {
  if (device == nullptr) return Report(OkStatus(), message);
  if (const Status kind = Guarded([&] { return CheckHandle(device, "device"); }); !kind.ok())
    return Report(kind, message);
  std::string alive;
  bool busy = false, makes = false;
  {
    const std::lock_guard lock(device->mutex);  // a callback may be destroying its event
    busy = std::ranges::any_of(device->alive, [](int count) { return count != 0; });
    if (busy) (void)Guarded([&] { return alive = "device: " + AliveHandles(*device), OkStatus(); });
    makes = std::ranges::any_of(device->retired, [](const CProgram& program) { return !program.made().IsReady(); });
  }
  if (busy) return Report(VXLA_BUSY, alive, message);
  if (makes) return Report(VXLA_BUSY, "device: pipelines are being made in the background", message);
  if (device->adopted && (!ClientNow(device)->IsIdle() || !vulkan::IsIdle(*device->device)))
    return Report(VXLA_BUSY, "device: runs of its executables are in flight", message);
  FreeDevice(device);
  return Report(OkStatus(), message);
}

VxlaCode vxlaCheckValidation(VxlaDevice device, VxlaMessage* message) {
  return CallOn(device, "device", message, [&] { return CheckValidation(*device->device); });
}

VxlaCode vxlaRegisterKernel(VxlaDevice device, const VxlaKernelInfo* info, VxlaMessage* message) {
  return CallOn(device, "device", message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const VxlaKernelInfo read, ReadStruct(info, "info"));
    return RegisterKernel(device, read);
  });
}

VxlaCode vxlaRegisterFunction(VxlaDevice device, const VxlaFunctionInfo* info, VxlaMessage* message) {
  return CallOn(device, "device", message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const VxlaFunctionInfo read, ReadStruct(info, "info"));
    return RegisterFunction(device, read);
  });
}

VxlaCode vxlaCompile(VxlaDevice device, const VxlaCompileInfo* info, VxlaExecutable* executable, VxlaMessage* message) {
  return CallFor(executable, "executable", message, [&]() -> Result<VxlaExecutable> {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaCompileInfo read, ReadCompileInfo(info));
    VXLA_ASSIGN_OR_RETURN(CExecutable compiled, CompileText(device, read));
    VxlaExecutable made = NewHandle<VxlaExecutable_T>(device, std::move(compiled));
    CountOnDevices(made, 1);
    return made;
  });
}

VxlaCode vxlaLoadBundle(VxlaDevice device, const VxlaBundleInfo* info, VxlaExecutable* executable,
                        VxlaMessage* message) {
  return CallFor(executable, "executable", message, [&]() -> Result<VxlaExecutable> {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaBundleInfo read,
                          ReadStruct(info, "info", offsetof(VxlaBundleInfo, loop_iterations)));
    VXLA_ASSIGN_OR_RETURN(CExecutable loaded, LoadBundle(device, read));
    return NewHandle<VxlaExecutable_T>(device, std::move(loaded));
  });
}

VxlaCode vxlaExecutableIsReady(VxlaExecutable executable, int32_t* ready, VxlaMessage* message) {
  return CallFor(ready, "ready", message, [&]() -> Result<int32_t> {
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    const Event made = executable->content->made();
    if (!made.IsReady()) return 0;
    VXLA_RETURN_IF_ERROR(made.Await());
    return 1;
  });
}

VxlaCode vxlaDescribeVariant(VxlaExecutable executable, const char** variant, VxlaMessage* message) {
  return CallFor(variant, "variant", message, [&]() -> Result<const char*> {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> made, ExecutableOf(executable));
    const std::string& name = made->bundle_variant();
    if (name.empty()) return InvalidArgument("executable: it was compiled from text, not loaded from a bundle");
    return name.c_str();
  });
}

VxlaCode vxlaGetExecutableEvent(VxlaExecutable executable, VxlaEvent* event, VxlaMessage* message) {
  return CallFor(event, "event", message, [&]() -> Result<VxlaEvent> {
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    return NewHandle<VxlaEvent_T>(executable->owner, CEvent{executable->content->made()});
  });
}

VxlaCode vxlaDescribeProgress(VxlaExecutable executable, VxlaCompileProgress* progress, VxlaMessage* message) {
  return CallOn(executable, "executable", message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckBackground(*executable->content));
    return WriteStruct(Describe(*executable->content->compilation), progress, "progress");
  });
}

VxlaCode vxlaCancelCompile(VxlaExecutable executable, VxlaMessage* message) {
  return CallOn(executable, "executable", message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckBackground(*executable->content));
    executable->content->compilation->Cancel();
    return OkStatus();
  });
}

VxlaCode vxlaSerializeExecutable(VxlaExecutable executable, VxlaBytes* bytes, VxlaMessage* message) {
  return CallFor(bytes, "bytes", message, [&]() -> Result<VxlaBytes> {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> made, ExecutableOf(executable));
    if (!made->bundle_variant().empty()) return InvalidArgument("executable: it is from a bundle, which has its bytes");
    VXLA_ASSIGN_OR_RETURN(const std::string file, SerializeExecutable(*made, *executable->owner->device));
    auto data = std::make_unique<std::byte[]>(file.size());
    std::memcpy(data.get(), file.data(), file.size());
    return VxlaBytes{data.release(), file.size()};
  });
}

void vxlaFreeBytes(VxlaBytes* bytes) {
  if (bytes == nullptr) return;
  delete[] static_cast<std::byte*>(bytes->data);
  *bytes = {};
}

void vxlaDestroyExecutable(VxlaExecutable executable) {
  if (!Guarded([&] { return CheckHandle(executable, ""); }).ok()) return;
  (void)Guarded([&] { return CountOnDevices(executable, -1), OkStatus(); });
  if (const auto& compilation = executable->content->compilation) compilation->Cancel();
  DestroyUser(executable);
}

VxlaCode vxlaDescribeExecutable(VxlaExecutable executable, VxlaExecutableDescription* description,
                                VxlaMessage* message) {
  return CallOn(executable, "executable", message, [&]() -> Status {
    const CExecutable& program = *executable->content;
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> made, program.Await());
    const Plan& plan = made->plan();
    VxlaExecutableDescription described = {};
    described.argument_count = static_cast<uint32_t>(program.arguments.size());
    described.result_count = static_cast<uint32_t>(program.results.size());
    described.dispatch_count = static_cast<uint32_t>(plan.dispatch_count());
    described.host_step_count = static_cast<uint32_t>(std::ranges::distance(Only<HostEvaluate>(plan.segments)));
    described.peak_bytes = static_cast<uint64_t>(plan.peak_bytes);
    described.lower_bound_bytes = static_cast<uint64_t>(plan.lower_bound_bytes);
    if (program.weights != nullptr) described.weight_count = static_cast<uint32_t>(program.weights->names.size());
    return WriteStruct(described, description, "description", offsetof(VxlaExecutableDescription, lower_bound_bytes));
  });
}

VxlaCode vxlaDescribeArgument(VxlaExecutable executable, uint32_t index, VxlaArray* array, VxlaMessage* message) {
  return Call(message, [&] { return DescribeLeaf(executable, false, index, array); });
}

VxlaCode vxlaDescribeResult(VxlaExecutable executable, uint32_t index, VxlaArray* array, VxlaMessage* message) {
  return Call(message, [&] { return DescribeLeaf(executable, true, index, array); });
}

VxlaCode vxlaRun(VxlaExecutable executable, uint32_t argument_count, const VxlaConstBytes* arguments,
                 uint32_t result_count, const VxlaBytes* results, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> made, ExecutableOf(executable));
    const CExecutable& program = *executable->content;
    VXLA_RETURN_IF_ERROR(CheckCount("arguments", argument_count, program.arguments.size()));
    VXLA_RETURN_IF_ERROR(CheckCount("results", result_count, program.results.size()));
    if (argument_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(arguments, "arguments"));
    if (result_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(results, "results"));
    return RunOnHostMemory(*made, program, {arguments, argument_count}, {results, result_count});
  });
}

VxlaCode vxlaDiff(VxlaDevice device, const VxlaCompileInfo* info, uint32_t argument_count,
                  const VxlaConstBytes* arguments, VxlaMessage* report, VxlaMessage* message) {
  if (report != nullptr) *report = nullptr;
  return CallOn(device, "device", message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const VxlaCompileInfo read, ReadCompileInfo(info));
    return DiffText(device, read, {arguments, argument_count}, report);
  });
}

VxlaCode vxlaExecute(VxlaExecutable executable, const VxlaExecuteInfo* info, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const VxlaExecuteInfo read, ReadExecuteInfo(info));
    return ExecuteOnOne(executable, read);
  });
}

VxlaCode vxlaExecuteOnDevices(VxlaExecutable executable, uint32_t device_count, const VxlaExecuteInfo* const* infos,
                              VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(infos, "infos"));
    std::vector<VxlaExecuteInfo> read;
    for (uint32_t d = 0; d < device_count; ++d) VXLA_SET_OR_RETURN(read.emplace_back(), ReadExecuteInfo(infos[d]));
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    const CExecutable& program = *executable->content;
    VXLA_RETURN_IF_ERROR(CheckCount("devices", device_count, std::max<size_t>(program.devices.size(), 1)));
    return program.program == nullptr ? ExecuteOnOne(executable, read[0]) : ExecuteOnSeveral(program, read);
  });
}
