#include "scheduler/runtime/programs/program.h"

#include <map>
#include <utility>

#include "core/host/ranges.h"
#include "scheduler/runtime/executor.h"

namespace VXLA_NAMESPACE {

std::vector<std::vector<Argument>> LentArguments(LiteralLists arguments) {
  std::vector<std::vector<Argument>> lent;
  for (const std::vector<const Literal*>& own : arguments) {
    std::vector<Argument>& values = lent.emplace_back();
    for (const Literal* value : own) values.emplace_back(*value);
  }
  return lent;
}

Event Launch::Done() const { return Event::AllOf(Transformed(by_device, &Execution::done)); }

Attempt Attempt::Parted(Status status) {
  const StatusCode code = status.code();
  const bool is_wrong = code == StatusCode::kInvalidArgument || code == StatusCode::kDeviceFailure;
  const How how = code == StatusCode::kUnsupported ? How::kParted : is_wrong ? How::kWrong : How::kFailed;
  return {how, std::move(status), {}};
}

namespace {

Status Download(const Execution& execution, std::map<const DeviceMemory*, const Literal*>& known, HostResults& results,
                RunStatistics* statistics) {
  std::vector<const Literal*>& leaves = results.leaves.emplace_back();
  if (execution.on_host != nullptr) {
    for (const Literal* leaf : FlattenLiteral(*execution.on_host))
      leaves.push_back(&results.arrays.emplace_back(*leaf));
  }
  for (const DeviceBuffer& leaf : execution.leaves) {
    const Literal*& literal = known[leaf.memory().get()];
    if (literal == nullptr) {
      VXLA_ASSIGN_OR_RETURN(Literal downloaded, leaf.ToLiteral());
      if (statistics != nullptr) statistics->downloaded_bytes += leaf.shape().SizeBytes();
      literal = &results.arrays.emplace_back(std::move(downloaded));
    }
    leaves.push_back(literal);
  }
  return OkStatus();
}

}  // namespace

Result<HostResults> Program::Run(LiteralLists arguments, RunStatistics* statistics) {
  const Stopwatch all;
  VXLA_ASSIGN_OR_RETURN(const Launch launch, Execute(LentArguments(arguments), statistics));
  VXLA_RETURN_IF_ERROR(launch.Done().Await());
  HostResults results;
  std::map<const DeviceMemory*, const Literal*> known;
  for (const Execution& execution : launch.by_device)
    VXLA_RETURN_IF_ERROR(Download(execution, known, results, statistics));
  if (statistics != nullptr) statistics->ms = all.Ms();
  return results;
}

}  // namespace VXLA_NAMESPACE
