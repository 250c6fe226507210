#include "scheduler/runtime/programs/merged.h"

#include <utility>

namespace VXLA_NAMESPACE {

MergedDevices::MergedDevices(MergedProgram program, const Shape& result, std::shared_ptr<Executable> executable)
    : program_(std::move(program)), result_(result), executable_(std::move(executable)) {}

Attempt MergedDevices::Try(ArgumentLists arguments, RunStatistics* statistics) {
  const Result<Execution> execution = executable_->Execute(MergedArguments(program_, arguments), statistics);
  return execution.ok() ? ResultsByDevice(program_, result_, *execution, statistics)
                        : Attempt::Failed(execution.status());
}

std::vector<Argument> MergedArguments(const MergedProgram& program, ArgumentLists arguments) {
  std::vector<Argument> merged;
  for (const auto& [device, parameter] : program.parameters) merged.push_back(arguments[device][parameter]);
  return merged;
}

namespace {

// Which of the partings came to be; 0 for none.
Result<int64_t> PartingOf(const MergedProgram& program, const Execution& execution, RunStatistics* statistics) {
  if (program.partings.empty()) return 0;
  if (execution.on_host != nullptr) return execution.on_host->tuple_elements().back().GetInt(0);
  VXLA_ASSIGN_OR_RETURN(const Literal number, execution.leaves.back().ToLiteral());
  if (statistics != nullptr) statistics->downloaded_bytes += number.shape().SizeBytes();
  return number.GetInt(0);
}

std::shared_ptr<const Literal> OnHost(const Literal& merged, const IntList& places, const Shape& result) {
  std::vector<Literal> leaves;
  for (const int64_t place : places) leaves.push_back(merged.tuple_element(place));
  return std::make_shared<const Literal>(UnflattenLiteral(result, leaves));
}

}  // namespace

Attempt ResultsByDevice(const MergedProgram& program, const Shape& result, const Execution& execution,
                        RunStatistics* statistics) {
  const Result<int64_t> parting = PartingOf(program, execution, statistics);
  if (!parting.ok()) return Attempt::Failed(parting.status());
  if (*parting != 0) return Attempt::Parted(program.partings[static_cast<size_t>(*parting) - 1]);
  Attempt done;
  const size_t leaves = FlattenTuple(result).size();
  for (const IntList& places : program.results) {
    Execution& own = done.launch.by_device.emplace_back();
    if (places.size() != leaves) continue;  // a device elsewhere
    own.shape = result;
    own.done = execution.done;
    if (execution.on_host != nullptr) {
      own.on_host = OnHost(*execution.on_host, places, result);
      continue;
    }
    for (const int64_t place : places) own.leaves.push_back(execution.leaves[place]);
  }
  return done;
}

}  // namespace VXLA_NAMESPACE
