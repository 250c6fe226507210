#include "integrations/pjrt/plugin.h"
#include "integrations/pjrt/profiler.h"

namespace VXLA_NAMESPACE::pjrt {
namespace {

// ExecuteContext hands data of the caller's to custom calls; there is none that takes any.
Status ExecuteContext_Create(PJRT_ExecuteContext_Create_Args& args) {
  args.context = reinterpret_cast<PJRT_ExecuteContext*>(new char);
  return OkStatus();
}

Status ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args& args) {
  delete reinterpret_cast<char*>(args.context);
  return OkStatus();
}

// What is donated is used once: f(donate(a), a) has no good answer.
Status CheckDonated(const std::vector<Argument>& arguments, const Program& program) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!program.donates(i) || arguments[i].keep || arguments[i].leaves.empty()) continue;
    const auto& memory = arguments[i].leaves[0].memory();
    for (size_t j = 0; j < arguments.size(); ++j) {
      if (j == i || memory == nullptr || arguments[j].leaves.empty() || arguments[j].leaves[0].memory() != memory)
        continue;
      return InvalidArgument("argument {} is donated, and argument {} is the same array", i, j);
    }
  }
  return OkStatus();
}

Result<std::vector<Argument>> ArgumentsOf(PJRT_Buffer* const* buffers, size_t count, const Program& program,
                                          const PJRT_ExecuteOptions& options) {
  if (count != program.parameters().size())
    return InvalidArgument("{} arguments given, the program wants {}", count, program.parameters().size());
  std::vector<Argument> arguments;
  arguments.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (program.parameters()[i].IsToken()) {
      // Whatever stands for it: runs of a device keep their order anyhow.
      static const Literal token(Shape::Token());
      arguments.emplace_back(token);
      continue;
    }
    const DeviceBuffer& buffer = buffers[i]->buffer;
    if (buffer.IsDeleted())
      return InvalidArgument("argument {}: the {} has been deleted or donated", i, buffer.shape().ToString());
    arguments.emplace_back(buffer);
  }
  for (size_t i = 0; i < options.num_non_donatable_input_indices; ++i) {
    const int64_t kept = options.non_donatable_input_indices[i];
    if (kept < 0 || kept >= static_cast<int64_t>(count))
      return InvalidArgument("argument {} is not to be donated, of {}", kept, count);
    arguments[static_cast<size_t>(kept)].keep = true;
  }
  VXLA_RETURN_IF_ERROR(CheckDonated(arguments, program));
  return arguments;
}

// The devices that a call runs on: those of the program, or the one that the call names.
Result<std::vector<PJRT_Device*>> DevicesOf(const CompiledProgram& compiled,
                                            const PJRT_LoadedExecutable_Execute_Args& args) {
  if (args.num_devices != compiled.devices.size())
    return InvalidArgument("arguments for {} devices, of a program for {}", args.num_devices, compiled.devices.size());
  if (args.execute_device == nullptr) return compiled.devices;
  if (args.num_devices != 1) return InvalidArgument("one device is named for a program for {}", args.num_devices);
  if (&args.execute_device->runtime->device() != &compiled.devices[0]->runtime->device())
    return Unsupported("a program that is compiled for one physical device runs on another one");
  return std::vector<PJRT_Device*>{args.execute_device};
}

Status CheckOptions(const PJRT_ExecuteOptions& options) {
  if (options.num_send_ops > 0 || options.num_recv_ops > 0) return Unsupported("send and receive callbacks");
  return OkStatus();
}

// Waits for the devices, so that the profile has all of the run.
Result<std::vector<Program::Execution>> ExecuteProfiled(const CompiledProgram& compiled,
                                                        const std::vector<PJRT_Device*>& devices,
                                                        std::vector<std::vector<Argument>> arguments) {
  VXLA_ASSIGN_OR_RETURN(const Program* const program, Profiled(compiled));
  const PJRT_DeviceDescription& first = devices[0]->description;
  ProfiledRun run{first.id, first.kind, compiled.name, NowNs(), 0, {}};
  VXLA_ASSIGN_OR_RETURN(auto executions, program->Execute(std::move(arguments), &run.statistics));
  for (const Program::Execution& execution : executions) {
    if (!execution.done.Await().ok()) return executions;  // who reads the results learns it
  }
  run.end_ns = NowNs();
  AddProfiledRun(run);
  return executions;
}

Status LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args& args) {
  const std::shared_ptr<const CompiledProgram> compiled = args.executable->compiled;
  if (args.executable->deleted) return InvalidArgument("{}: the program has been deleted", compiled->name);
  const PJRT_ExecuteOptions options = Known(args.options);
  VXLA_RETURN_IF_ERROR(CheckOptions(options));
  VXLA_ASSIGN_OR_RETURN(const std::vector<PJRT_Device*> devices, DevicesOf(*compiled, args));
  std::vector<std::vector<Argument>> arguments;
  for (size_t d = 0; d < devices.size(); ++d) {
    VXLA_ASSIGN_OR_RETURN(auto own, ArgumentsOf(args.argument_lists[d], args.num_args, compiled->program, options));
    arguments.push_back(std::move(own));
  }
  VXLA_ASSIGN_OR_RETURN(std::vector<Program::Execution> executions,
                        IsProfiling() && compiled->devices.size() == compiled->all_devices.size()
                            ? ExecuteProfiled(*compiled, devices, std::move(arguments))
                            : compiled->program.Execute(std::move(arguments)));
  // All handles are made before the first is given: the caller gets all of them or none.
  std::vector<std::unique_ptr<PJRT_Buffer>> outputs;
  std::vector<std::unique_ptr<PJRT_Event>> events;
  for (size_t d = 0; d < devices.size(); ++d) {
    for (size_t i = 0; i < executions[d].results.size(); ++i) {
      const auto memory = static_cast<size_t>(compiled->program.result_memories()[i]);
      outputs.emplace_back(
          MakeBuffer(std::move(executions[d].results[i]), devices[d]->memories[memory], compiled->output_orders[i]));
      outputs.back()->done = executions[d].done;
    }
    if (args.device_complete_events != nullptr) events.emplace_back(MakeEvent(std::move(executions[d].done)));
  }
  const size_t count = compiled->output_types.size();
  for (size_t i = 0; i < outputs.size(); ++i) args.output_lists[i / count][i % count] = outputs[i].release();
  for (size_t d = 0; d < events.size(); ++d) args.device_complete_events[d] = events[d].release();
  return OkStatus();
}

}  // namespace

void AddExecuteSlots(PJRT_Api& api) {
  VXLA_PJRT_SLOT(api, ExecuteContext_Create);
  VXLA_PJRT_SLOT(api, ExecuteContext_Destroy);
  VXLA_PJRT_WORK_SLOT(api, LoadedExecutable_Execute);
}

}  // namespace VXLA_NAMESPACE::pjrt
