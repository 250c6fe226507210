#include "scheduler/runtime/programs/choose.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/passes/devices/device_separation.h"
#include "scheduler/runtime/programs/merged.h"

namespace VXLA_NAMESPACE {
namespace {

class SingleDevice : public Program {
 public:
  SingleDevice(DeviceAssignment assignment, std::shared_ptr<Executable> executable)
      : Program(std::move(assignment)), executable_(std::move(executable)) {}

  const Executable& executable() const override { return *executable_; }
  Result<Launch> Execute(ArgumentLists arguments, RunStatistics* statistics) override {
    Launch launch;
    VXLA_ASSIGN_OR_RETURN(launch.by_device.emplace_back(), executable_->Execute(arguments[0], statistics));
    return launch;
  }

 private:
  const std::shared_ptr<Executable> executable_;
};

class ChosenInRuns : public Program {
 public:
  ChosenInRuns(DeviceAssignment assignment, std::shared_ptr<DevicesTogether> together,
               std::unique_ptr<Program> from_first_run, MakeApart make_apart, std::unique_ptr<Job> job)
      : Program(std::move(assignment)),
        together_(std::move(together)),
        make_apart_(std::move(make_apart)),
        job_(std::move(job)),
        apart_(std::move(from_first_run)) {}

  const Executable& executable() const override {
    const std::shared_ptr<Program> apart = Apart();
    return apart != nullptr ? apart->executable() : together_->executable();
  }

  Result<Launch> Execute(ArgumentLists arguments, RunStatistics* statistics) override {
    if (job_ != nullptr) {
      VXLA_ASSIGN_OR_RETURN(const bool from_first_run, job_->RunsApart());
      if (from_first_run && Apart() == nullptr) VXLA_RETURN_IF_ERROR(RunApart(OkStatus()));
    }
    if (const std::shared_ptr<Program> apart = Apart()) return apart->Execute(arguments, statistics);
    Attempt attempt = together_->Try(arguments, statistics);
    Attempt::How how = attempt.how;
    if (job_ != nullptr) VXLA_SET_OR_RETURN(how, job_->Agree(attempt));
    const bool runs_again = how == Attempt::How::kParted || how == Attempt::How::kWrong;
    if (runs_again && make_apart_) {
      if (how == Attempt::How::kParted) {
        VXLA_RETURN_IF_ERROR(RunApart(attempt.status));
        return Apart()->Execute(arguments, statistics);
      }
      VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Program> once, MakeOrLeave(attempt.status));
      const Result<Launch> again = once->Execute(arguments, nullptr);
      VXLA_RETURN_IF_ERROR(again.ok() ? again->Done().Await() : again.status());
      if (job_ != nullptr && attempt.how != Attempt::How::kDone) job_->Leave();
    }
    if (attempt.how == Attempt::How::kDone) return std::move(attempt.launch);
    return std::move(attempt.status);
  }

 private:
  std::shared_ptr<Program> Apart() const {
    const std::lock_guard lock(mutex_);
    return apart_;
  }

  Result<std::unique_ptr<Program>> MakeOrLeave(const Status& why) {
    Result<std::unique_ptr<Program>> made = make_apart_(why);
    if (!made.ok() && job_ != nullptr) job_->Leave();
    return made;
  }

  // From here on.
  Status RunApart(const Status& why) {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Program> apart, MakeOrLeave(why));
    const std::lock_guard lock(mutex_);
    apart_ = std::move(apart);
    return OkStatus();
  }

  const std::shared_ptr<DevicesTogether> together_;
  const MakeApart make_apart_;
  const std::unique_ptr<Job> job_;  // null: one process
  mutable std::mutex mutex_;
  std::shared_ptr<Program> apart_;  // once the devices run apart; it stays
};

}  // namespace

bool RunsApart(const Module& module, const Result<MergedProgram>& merged) {
  return merged.ok() ? RunsApart(module, *merged) : merged.status().code() == StatusCode::kUnsupported;
}

bool RunsApart(const Module& module, const MergedProgram& merged) {
  const bool may_part = std::ranges::any_of(
      merged.partings, [](const Status& parting) { return parting.code() == StatusCode::kUnsupported; });
  return may_part && TalksToHost(module);
}

Result<std::unique_ptr<Program>> ChooseOnOneDevice(Client& client, const Module& module, const DeviceGrid& grid,
                                                   const std::vector<bool>& shared, const CompileOptions& options,
                                                   const MakeApart& apart) {
  DeviceAssignment assignment = DeviceAssignment::OnOne(grid);
  if (grid.count() == 1) {
    VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, client.Compile(module, options));
    return std::unique_ptr<Program>(std::make_unique<SingleDevice>(std::move(assignment), std::move(executable)));
  }
  Result<MergedProgram> merged = MergeDevices(module, grid, shared);
  if (apart && RunsApart(module, merged)) return apart(merged.status());
  VXLA_RETURN_IF_ERROR(merged.status());
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, client.Compile(*merged->module, options));
  auto together =
      std::make_unique<MergedDevices>(*std::move(merged), module.entry()->root()->shape(), std::move(executable));
  return ChooseInRuns(std::move(assignment), std::move(together), TalksToHost(module) ? MakeApart() : apart);
}

std::unique_ptr<Program> ChooseInRuns(DeviceAssignment assignment, std::shared_ptr<DevicesTogether> together,
                                      MakeApart apart) {
  return ChooseInJob(std::move(assignment), std::move(together), nullptr, std::move(apart), nullptr);
}

std::unique_ptr<Program> ChooseInJob(DeviceAssignment assignment, std::shared_ptr<DevicesTogether> together,
                                     std::unique_ptr<Program> from_first_run, MakeApart apart,
                                     std::unique_ptr<Job> job) {
  return std::make_unique<ChosenInRuns>(std::move(assignment), std::move(together), std::move(from_first_run),
                                        std::move(apart), std::move(job));
}

}  // namespace VXLA_NAMESPACE
