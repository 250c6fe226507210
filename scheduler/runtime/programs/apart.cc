#include "scheduler/runtime/programs/apart.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ranges.h"
#include "scheduler/replicas/remote_devices.h"
#include "scheduler/runtime/executor.h"

namespace VXLA_NAMESPACE {
namespace {

// What one device did, among what all did.
void AddStatistics(const std::string& device, const RunStatistics& own, double began_ms, RunStatistics& all) {
  all.recorded += own.recorded;
  all.recorded_copies += own.recorded_copies;
  all.compiled += own.compiled;
  all.allocated_bytes += own.allocated_bytes;
  all.read_backs += own.read_backs;
  all.uploaded_bytes += own.uploaded_bytes;
  all.downloaded_bytes += own.downloaded_bytes;
  const int64_t first = std::ssize(all.steps);
  for (StepTime step : own.steps) {
    step.name = device + ": " + step.name;
    all.steps.push_back(std::move(step));
  }
  for (RunSpan span : own.spans) {
    if (span.step >= 0) span.step += first;
    if (span.step < 0) span.on_host = device + ": " + span.on_host;
    span.begin_ms += began_ms;
    span.end_ms += began_ms;
    all.spans.push_back(std::move(span));
  }
}

Result<Literal> RunCall(const SeparateProgram::Call& call, std::span<const Literal* const> operands,
                        DevicesApart::Host& host) {
  return call.gathers ? host.Gather(*call.source, operands) : host.Evaluate(*call.source, operands);
}

}  // namespace

HostEvaluator DevicesApart::EvaluatorFor(ReplicaLink& link, int64_t device, RemoteDevice* remote) const {
  std::shared_ptr<Host> run = parts_.host_of(link, device);
  return [this, run, &link, device, remote](const Instruction& instruction, std::span<const Literal* const> operands) {
    const std::optional<size_t> number = parts_.program->NumberOf(instruction);
    if (!number) return run->Evaluate(instruction, operands);
    const SeparateProgram::Call& call = parts_.program->calls[*number];
    if (remote == nullptr || Has(call.source->opcode(), Trait::kDraws, Trait::kTellsPlace))
      return RunCall(call, operands, *run);
    return remote->Call(static_cast<int64_t>(*number), operands, instruction.shape(),
                        fmt::format("{}: {}", TextWithChannel(*call.source), link.grid().Name(device)));
  };
}

Result<Execution> DevicesApart::RunOnReference(ReplicaLink& link, int64_t device,
                                               const std::vector<Argument>& arguments) const {
  std::vector<const Literal*> literals;
  for (const Argument& argument : arguments) {
    if (argument.literal == nullptr)
      return InvalidArgument("argument {}: the reference takes the host's arrays", literals.size());
    literals.push_back(argument.literal);
  }
  VXLA_ASSIGN_OR_RETURN(Literal result, parts_.on_reference(literals, link, device));
  Execution execution{.shape = result.shape(), .leaves = {}, .done = {}, .on_host = {}};
  execution.on_host = std::make_shared<const Literal>(std::move(result));
  return execution;
}

Result<Execution> DevicesApart::RunDevice(ReplicaLink& link, int64_t device, const std::vector<Argument>& arguments,
                                          RunStatistics& statistics) const {
  const Place& place = parts_.places[PlaceOf(device)];
  if (place.executable == nullptr) return RunOnReference(link, device, arguments);
  std::optional<RemoteDevice> remote;
  if (parts_.group != nullptr && parts_.group->rank() != 0) remote.emplace(*parts_.group, device, parts_.waits);
  ExecuteOptions options;
  options.statistics = &statistics;
  options.evaluator_of_run = [&] { return EvaluatorFor(link, device, remote ? &*remote : nullptr); };
  Result<Execution> execution = place.executable->Execute(arguments, options);
  Status status = execution.ok() ? execution->Wait() : execution.status();
  if (remote) {
    const Status ended = remote->End(status);
    if (status.ok()) status = ended;
  }
  VXLA_RETURN_IF_ERROR(status);
  return execution;
}

Status DevicesApart::ServeElsewhere(ReplicaLink& link, const std::atomic<int64_t>& running_here, int64_t device) const {
  if (parts_.group->rank() != 0) return OkStatus();
  const std::shared_ptr<Host> host = parts_.host_of(link, device);
  JobRun run;
  run.failure = [&] { return link.failure(); };
  run.is_finished = [&] { return running_here == 0; };
  run.call = [&](int64_t number, std::span<const std::byte> bytes) -> Result<Literal> {
    if (number < 0 || number >= std::ssize(parts_.program->calls)) return Internal("call {} of a job", number);
    const SeparateProgram::Call& call = parts_.program->calls[number];
    std::vector<Literal> operands;
    for (const Instruction* operand : call.source->operands())
      VXLA_SET_OR_RETURN(operands.emplace_back(), UnpackLiteral(operand->shape(), bytes));
    return RunCall(call, Transformed(operands, [&](const Literal& operand) { return &operand; }), *host);
  };
  return ServeDevice(*parts_.group, PlaceOf(device), device, parts_.waits, run);
}

Status DevicesApart::RunDevices(ArgumentLists arguments, std::vector<Execution>& results,
                                RunStatistics* statistics) const {
  const std::unique_ptr<ReplicaLink> link = MakeReplicaLink(grid(), parts_.timeout, parts_.transfers);
  const auto devices = static_cast<size_t>(grid().count());
  results.resize(devices);
  std::vector<RunStatistics> of_devices(devices);
  std::vector<double> began(devices);
  const Stopwatch clock;
  std::atomic<int64_t> running_here = 0;
  for (int64_t device = 0; device < grid().count(); ++device) running_here += IsHere(device) ? 1 : 0;
  VXLA_RETURN_IF_ERROR(link->Run([&](int64_t device) -> Status {
    if (!IsHere(device)) return ServeElsewhere(*link, running_here, device);
    const auto d = static_cast<size_t>(device);
    began[d] = clock.Ms();
    Result<Execution> result = RunDevice(*link, device, arguments[d], of_devices[d]);
    --running_here;
    VXLA_ASSIGN_OR_RETURN(results[d], std::move(result));
    return OkStatus();
  }));
  if (statistics == nullptr) return OkStatus();
  *statistics = {};
  for (size_t d = 0; d < devices; ++d)
    AddStatistics(grid().Name(static_cast<int64_t>(d)), of_devices[d], began[d], *statistics);
  std::ranges::stable_sort(statistics->spans, {}, &RunSpan::begin_ms);
  statistics->ms = clock.Ms();
  return OkStatus();
}

const Executable& DevicesApart::executable() const {
  VXLA_CHECK(parts_.places[0].executable != nullptr, "the first place is the reference");
  return *parts_.places[0].executable;
}

Result<Launch> DevicesApart::Execute(ArgumentLists arguments, RunStatistics* statistics) {
  const std::lock_guard lock(running_);
  Launch launch;
  Status status = RunDevices(arguments, launch.by_device, statistics);
  if (ProcessGroup* const group = parts_.group; group != nullptr) {
    status = group->rank() == 0
                 ? TellOutcome(*group, std::ranges::max(assignment().device_of) + 1, status, parts_.waits)
                 : HearOutcome(*group, status, parts_.waits);
  }
  VXLA_RETURN_IF_ERROR(status);
  return launch;
}

std::vector<std::string> DevicesApart::names() const {
  std::vector<std::string> names;
  for (const Place& place : parts_.places) {
    if (!place.name.empty()) names.push_back(place.name);
  }
  return names;
}

}  // namespace VXLA_NAMESPACE
