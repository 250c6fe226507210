#include <fmt/format.h>

#include "api/c/c_compiler.h"
#include "api/c/c_handles.h"
#include "api/c/c_vulkan.h"
#include "api/open_device.h"
#include "backend/vulkan/device/open.h"
#include "core/module.h"
#include "scheduler/plan.h"
#include "scheduler/runtime/recording.h"

namespace VXLA_NAMESPACE {
namespace {

std::string_view TextOr(const char* text, std::string_view otherwise) { return text != nullptr ? text : otherwise; }

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
  VXLA_ASSIGN_OR_RETURN(CExecutable loaded, WithSignature(executable->module()));
  if ((info.flags & VXLA_COMPILE_RECORDABLE) != 0) VXLA_RETURN_IF_ERROR(CheckRecordable(*executable));
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

Status RunOnHostMemory(const CExecutable& program, std::span<const VxlaConstBytes> arguments,
                       std::span<const VxlaBytes> results) {
  for (const std::vector<CArray>* leaves : {&program.arguments, &program.results}) {
    for (const CArray& leaf : *leaves) {
      if (leaf.shape.IsDynamic())
        return Unsupported("{}: what lives of dynamic dimensions goes with values: vxlaExecute", leaf.shape.ToString());
    }
  }
  VXLA_RETURN_IF_ERROR(CheckResults(program.results, results));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Literal> literals, ReadArguments(program.parameters, arguments));
  std::vector<const Literal*> pointers;
  for (const Literal& literal : literals) pointers.push_back(&literal);
  VXLA_ASSIGN_OR_RETURN(const Literal result, program.executable->Run(pointers));
  const std::vector<const Literal*> leaves = FlattenLiteral(result);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (results[i].size_bytes != 0) std::memcpy(results[i].data, leaves[i]->bytes().data(), results[i].size_bytes);
  }
  return OkStatus();
}

Result<std::vector<Argument>> TakeArguments(VxlaExecutable executable, const VxlaExecuteInfo& info) {
  std::vector<Argument> arguments;
  uint32_t number = 0;
  for (const Shape& parameter : executable->content->parameters) {
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
  return arguments;
}

Status ExecuteOnValues(VxlaExecutable executable, const VxlaExecuteInfo& info) {
  const CExecutable& program = *executable->content;
  VXLA_RETURN_IF_ERROR(CheckCount("arguments", info.argument_count, program.arguments.size()));
  VXLA_RETURN_IF_ERROR(CheckCount("results", info.result_count, program.results.size()));
  if (info.argument_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.arguments, "arguments"));
  if (info.result_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(info.results, "results"));
  VXLA_ASSIGN_OR_RETURN(const std::vector<Argument> arguments, TakeArguments(executable, info));
  if (executable->owner->adopted) VXLA_RETURN_IF_ERROR(CheckDonationsApart(executable, arguments));
  VXLA_ASSIGN_OR_RETURN(Execution execution, program.executable->Execute(arguments));
  for (size_t i = 0; i < execution.leaves.size(); ++i) {
    info.results[i] = NewHandle<VxlaValue_T>(executable->owner, CValue{execution.leaves[i], program.results[i]});
  }
  return OkStatus();
}

Status DescribeLeaf(VxlaExecutable executable, bool result, uint32_t index, VxlaArray* array) {
  VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
  const auto& leaves = result ? executable->content->results : executable->content->arguments;
  if (index >= leaves.size())
    return InvalidArgument("{} {}: there are {}", result ? "result" : "argument", index, leaves.size());
  return WriteStruct(leaves[index].Describe(), array, "array", offsetof(VxlaArray, dynamic));
}

Status SetLiveSizes(const int64_t* sizes, Literal& literal) {
  const Shape& shape = literal.shape();
  for (int d = 0; d < shape.rank() && sizes != nullptr; ++d) {
    const int64_t least = shape.is_dynamic_dimension(d) ? 0 : shape.dimension(d);
    if (sizes[d] < least || sizes[d] > shape.dimension(d))
      return InvalidArgument("live size {} of dimension {}: {} allows {} to {}", sizes[d], d, shape.ToString(), least,
                             shape.dimension(d));
    if (shape.is_dynamic_dimension(d)) literal.set_dynamic_size(d, sizes[d]);
  }
  return OkStatus();
}

int64_t HostSteps(const Plan& plan) {
  return std::ranges::count_if(plan.segments, [](const Segment& s) { return std::holds_alternative<HostEvaluate>(s); });
}

}  // namespace

static Status AddLeaves(const Shape& shape, const std::string& what, std::vector<CArray>& leaves) {
  for (const Shape* leaf : FlattenTuple(shape)) {
    if (std::ranges::find(leaf->dimensions(), kUnboundedSize) != leaf->dimensions().end())
      return Unsupported("{}: {}: dimensions without a bound have no C interface", what, shape.ToString());
    leaves.emplace_back(*leaf);
  }
  return OkStatus();
}

Result<CExecutable> WithSignature(const Module& module) {
  CExecutable compiled;
  for (const Instruction* parameter : module.entry()->parameters()) {
    compiled.parameters.push_back(parameter->shape());
    VXLA_RETURN_IF_ERROR(
        AddLeaves(parameter->shape(), fmt::format("argument {}", compiled.parameters.size() - 1), compiled.arguments));
  }
  VXLA_RETURN_IF_ERROR(AddLeaves(module.entry()->root()->shape(), "the result", compiled.results));
  return compiled;
}

Result<std::vector<Literal>> ReadArguments(std::span<const Shape> parameters, std::span<const VxlaConstBytes> given) {
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
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(count, "count"));
    *count = 0;
    VXLA_ASSIGN_OR_RETURN(const std::vector<DeviceFacts> devices, ListDevices());
    *count = static_cast<uint32_t>(devices.size());
    return OkStatus();
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
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(device, "device"));
    *device = nullptr;
    VXLA_ASSIGN_OR_RETURN(const VxlaDeviceInfo read, ReadStruct(info, "info"));
    VXLA_RETURN_IF_ERROR(CheckFlags(read.flags, kDeviceFlags));
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(OptionsOf(read), HooksOfLibrary(), {}));
    *device = NewDevice(std::move(opened), read.flags, /*adopted=*/false);
    return OkStatus();
  });
}

VxlaCode vxlaDestroyDevice(VxlaDevice device, VxlaMessage* message) {
  if (device == nullptr) return Report(OkStatus(), message);
  if (const Status kind = Guarded([&] { return CheckHandle(device, "device"); }); !kind.ok())
    return Report(kind, message);
  if (std::ranges::any_of(device->alive, [](int count) { return count != 0; })) {
    std::string alive;
    (void)Guarded([&] { return alive = "device: " + AliveHandles(*device), OkStatus(); });
    return Report(VXLA_BUSY, alive, message);
  }
  const auto makes = [](const auto& executable) {
    const Result<bool> ready = executable->IsReady();
    return ready.ok() && !*ready;
  };
  if (std::ranges::any_of(device->retired, makes))
    return Report(VXLA_BUSY, "device: pipelines are being made in the background", message);
  if (device->adopted && (!ClientNow(device)->IsIdle() || !vulkan::IsIdle(*device->device)))
    return Report(VXLA_BUSY, "device: runs of its executables are in flight", message);
  FreeDevice(device);
  return Report(OkStatus(), message);
}

VxlaCode vxlaCheckValidation(VxlaDevice device, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    return CheckValidation(*device->device);
  });
}

VxlaCode vxlaRegisterKernel(VxlaDevice device, const VxlaKernelInfo* info, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaKernelInfo read, ReadStruct(info, "info"));
    return RegisterKernel(device, read);
  });
}

VxlaCode vxlaRegisterFunction(VxlaDevice device, const VxlaFunctionInfo* info, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaFunctionInfo read, ReadStruct(info, "info"));
    return RegisterFunction(device, read);
  });
}

VxlaCode vxlaCompile(VxlaDevice device, const VxlaCompileInfo* info, VxlaExecutable* executable, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(executable, "executable"));
    *executable = nullptr;
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaCompileInfo read, ReadStruct(info, "info"));
    VXLA_ASSIGN_OR_RETURN(CExecutable compiled, CompileText(device, read));
    *executable = NewHandle<VxlaExecutable_T>(device, std::move(compiled));
    return OkStatus();
  });
}

VxlaCode vxlaLoadBundle(VxlaDevice device, const VxlaBundleInfo* info, VxlaExecutable* executable,
                        VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(executable, "executable"));
    *executable = nullptr;
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaBundleInfo read, ReadStruct(info, "info"));
    VXLA_ASSIGN_OR_RETURN(CExecutable loaded, LoadBundle(device, read));
    *executable = NewHandle<VxlaExecutable_T>(device, std::move(loaded));
    return OkStatus();
  });
}

VxlaCode vxlaExecutableIsReady(VxlaExecutable executable, int32_t* ready, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(ready, "ready"));
    *ready = 0;
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    VXLA_ASSIGN_OR_RETURN(const bool made, executable->content->executable->IsReady());
    *ready = made ? 1 : 0;
    return OkStatus();
  });
}

VxlaCode vxlaDescribeVariant(VxlaExecutable executable, const char** variant, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(variant, "variant"));
    *variant = nullptr;
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    const std::string& name = executable->content->executable->bundle_variant();
    if (name.empty()) return InvalidArgument("executable: it was compiled from text, not loaded from a bundle");
    *variant = name.c_str();
    return OkStatus();
  });
}

void vxlaDestroyExecutable(VxlaExecutable executable) { DestroyUser(executable); }

VxlaCode vxlaDescribeExecutable(VxlaExecutable executable, VxlaExecutableDescription* description,
                                VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    const CExecutable& program = *executable->content;
    const Plan& plan = program.executable->plan();
    VxlaExecutableDescription described = {};
    described.argument_count = static_cast<uint32_t>(program.arguments.size());
    described.result_count = static_cast<uint32_t>(program.results.size());
    described.dispatch_count = static_cast<uint32_t>(plan.dispatch_count());
    described.host_step_count = static_cast<uint32_t>(HostSteps(plan));
    described.peak_bytes = static_cast<uint64_t>(plan.peak_bytes);
    described.lower_bound_bytes = static_cast<uint64_t>(plan.lower_bound_bytes);
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
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    const CExecutable& program = *executable->content;
    VXLA_RETURN_IF_ERROR(CheckCount("arguments", argument_count, program.arguments.size()));
    VXLA_RETURN_IF_ERROR(CheckCount("results", result_count, program.results.size()));
    if (argument_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(arguments, "arguments"));
    if (result_count != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(results, "results"));
    return RunOnHostMemory(program, {arguments, argument_count}, {results, result_count});
  });
}

VxlaCode vxlaDiff(VxlaDevice device, const VxlaCompileInfo* info, uint32_t argument_count,
                  const VxlaConstBytes* arguments, VxlaMessage* report, VxlaMessage* message) {
  if (report != nullptr) *report = nullptr;
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaCompileInfo read, ReadStruct(info, "info"));
    return DiffText(device, read, {arguments, argument_count}, report);
  });
}

VxlaCode vxlaCreateValue(VxlaDevice device, const VxlaArray* array, const void* data, VxlaValue* value,
                         VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(value, "value"));
    *value = nullptr;
    VXLA_RETURN_IF_ERROR(CheckHandle(device, "device"));
    VXLA_ASSIGN_OR_RETURN(const VxlaArray read, ReadArray(array));
    VXLA_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(read));
    VXLA_ASSIGN_OR_RETURN(Literal literal, Literal::Make(shape));
    if (!literal.bytes().empty()) {
      VXLA_RETURN_IF_ERROR(CheckNotNull(data, "data"));
      std::memcpy(literal.mutable_bytes().data(), data, literal.bytes().size());
    }
    VXLA_RETURN_IF_ERROR(SetLiveSizes(read.live_sizes, literal));
    VXLA_ASSIGN_OR_RETURN(std::vector<DeviceBuffer> leaves, ClientNow(device)->Upload(literal));
    *value = NewHandle<VxlaValue_T>(device, CValue{std::move(leaves.at(0)), CArray(shape)});
    return OkStatus();
  });
}

void vxlaDestroyValue(VxlaValue value) { DestroyHandle(value); }

VxlaCode vxlaDescribeValue(VxlaValue value, VxlaArray* array, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    return WriteStruct(value->content->array.Describe(), array, "array", offsetof(VxlaArray, dynamic));
  });
}

VxlaCode vxlaReadValue(VxlaValue value, void* data, uint64_t size_bytes, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    const auto size = static_cast<uint64_t>(value->content->array.shape.SizeBytes());
    VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
    if (size_bytes != size) return InvalidArgument("value: {} bytes given, it has {}", size_bytes, size);
    if (size != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(data, "data"));
    VXLA_ASSIGN_OR_RETURN(const Literal literal, value->content->value.ToLiteral());
    if (size != 0) std::memcpy(data, literal.bytes().data(), size);
    return OkStatus();
  });
}

VxlaCode vxlaReadLiveSizes(VxlaValue value, int32_t rank, int64_t* sizes, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    VXLA_RETURN_IF_ERROR(CheckOwned(value, "value"));
    const Shape& shape = value->content->array.shape;
    if (rank != shape.rank()) return InvalidArgument("rank {}: the value is a {}", rank, shape.ToString());
    if (rank != 0) VXLA_RETURN_IF_ERROR(CheckNotNull(sizes, "sizes"));
    VXLA_ASSIGN_OR_RETURN(const std::vector<int64_t> live, value->content->value.LiveSizes());
    std::ranges::copy(live, sizes);
    return OkStatus();
  });
}

VxlaCode vxlaValueIsReady(VxlaValue value, int32_t* ready, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_RETURN_IF_ERROR(CheckNotNull(ready, "ready"));
    VXLA_RETURN_IF_ERROR(CheckHandle(value, "value"));
    *ready = value->content->value.IsReady() ? 1 : 0;
    return OkStatus();
  });
}

VxlaCode vxlaExecute(VxlaExecutable executable, const VxlaExecuteInfo* info, VxlaMessage* message) {
  return Call(message, [&]() -> Status {
    VXLA_ASSIGN_OR_RETURN(const VxlaExecuteInfo read, ReadStruct(info, "info"));
    if (read.results != nullptr) std::fill_n(read.results, read.result_count, nullptr);  // whatever fails
    VXLA_RETURN_IF_ERROR(CheckHandle(executable, "executable"));
    return ExecuteOnValues(executable, read);
  });
}
