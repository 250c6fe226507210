#include "api/separate_replicas.h"

#include <algorithm>

#include "api/devices.h"
#include "core/passes/base/call_inliner.h"

namespace VXLA_NAMESPACE {
namespace {

class HostOfDevice : public DevicesApart::Host {
 public:
  HostOfDevice(const EvaluateOptions& evaluate, ReplicaLink& link, int64_t device)
      : evaluator_(evaluate, link, device) {}
  Result<Literal> Evaluate(const Instruction& instruction, std::span<const Literal* const> operands) override {
    return evaluator_.Evaluate(instruction, operands);
  }
  Result<Literal> Gather(const Instruction& collective, std::span<const Literal* const> operands) override {
    return evaluator_.Gather(collective, operands);
  }

 private:
  InstructionEvaluator evaluator_;
};

Result<std::unique_ptr<DevicesApart>> Build(DevicesApart::Parts parts, const Module& module,
                                            const DeviceAssignment& assignment,
                                            const std::vector<std::shared_ptr<Device>>& places,
                                            const EvaluateOptions& evaluate, const CompileOptions& options) {
  VXLA_RETURN_IF_ERROR(CheckCollectives(module, assignment.grid));
  VXLA_RETURN_IF_ERROR(CheckCustomCalls(module, evaluate.custom_calls, /*kernels_will_do=*/true));
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  const bool all_devices = parts.group != nullptr || std::ranges::find(places, nullptr) == places.end();
  parts.program = std::make_shared<const SeparateProgram>(SeparateDevices(*inlined, assignment.grid, all_devices));
  for (size_t p = 0; p < places.size(); ++p) {
    DevicesApart::Place& place = parts.places.emplace_back();
    if (places[p] == nullptr) {
      if (parts.group == nullptr) place.name = "the CPU reference";
      continue;
    }
    place.name = places[p]->facts().name;
    ClientOptions client = ClientOptionsFor(evaluate);
    client.check_program = nullptr;  // the calls of SeparateDevices are nobody's; the others have been looked at
    // All devices of a place meet in the middle of their runs.
    client.least_runs_in_flight =
        std::max(1, static_cast<int>(std::ranges::count(assignment.device_of, static_cast<int64_t>(p))));
    client.evaluator_of_run = nullptr;  // each run brings its own
    const auto folds = [evaluate](const Instruction& instruction, std::span<const Literal* const> operands) {
      return EvaluateInstruction(instruction, operands, evaluate);
    };
    place.client = std::make_unique<Client>(places[p], folds, std::move(client));
    VXLA_ASSIGN_OR_RETURN(place.executable, place.client->Compile(*parts.program->module, options));
  }
  parts.transfers = evaluate.host;
  parts.timeout = evaluate.collective_timeout;
  parts.host_of = [evaluate](ReplicaLink& link, int64_t device) {
    return std::make_shared<HostOfDevice>(evaluate, link, device);
  };
  parts.on_reference = [evaluate, source = parts.program->source.get()](std::span<const Literal* const> arguments,
                                                                        ReplicaLink& link, int64_t device) {
    return EvaluateDevice(*source, arguments, evaluate, link, device);
  };
  return std::make_unique<DevicesApart>(assignment, std::move(parts));
}

}  // namespace

Result<std::unique_ptr<DevicesApart>> CompileApart(const Module& module, const DeviceAssignment& assignment,
                                                   const std::vector<std::shared_ptr<Device>>& places,
                                                   const EvaluateOptions& evaluate, const CompileOptions& options) {
  return Build({}, module, assignment, places, evaluate, options);
}

Result<std::unique_ptr<DevicesApart>> CompileApartInJob(const Module& module, const DeviceAssignment& assignment,
                                                        const std::shared_ptr<Device>& device, ProcessGroup& group,
                                                        const JobWaits& waits, const EvaluateOptions& evaluate,
                                                        const CompileOptions& options) {
  DevicesApart::Parts parts;
  parts.group = &group;
  parts.waits = waits;
  EvaluateOptions own = evaluate;
  own.collective_timeout = waits.timeout;
  std::vector<std::shared_ptr<Device>> places(static_cast<size_t>(std::ranges::max(assignment.device_of) + 1));
  places.at(group.rank()) = device;
  return Build(std::move(parts), module, assignment, places, own, options);
}

}  // namespace VXLA_NAMESPACE
