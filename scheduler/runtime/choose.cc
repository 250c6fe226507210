#include "scheduler/runtime/choose.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/passes/devices/device_separation.h"
#include "scheduler/runtime/merged.h"

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
  ChosenInRuns(DeviceAssignment assignment, std::unique_ptr<DevicesTogether> together, MakeApart make_apart)
      : Program(std::move(assignment)), together_(std::move(together)), make_apart_(std::move(make_apart)) {}

  const Executable& executable() const override {
    const std::shared_ptr<Program> apart = Apart();
    return apart != nullptr ? apart->executable() : together_->executable();
  }

  Result<Launch> Execute(ArgumentLists arguments, RunStatistics* statistics) override {
    if (const std::shared_ptr<Program> apart = Apart()) return apart->Execute(arguments, statistics);
    Attempt attempt = together_->Try(arguments, statistics);
    switch (attempt.how) {
      case Attempt::How::kDone:
        return std::move(attempt.launch);
      case Attempt::How::kFailed:
        return std::move(attempt.status);
      case Attempt::How::kParted: {
        if (!make_apart_) return std::move(attempt.status);
        VXLA_ASSIGN_OR_RETURN(const std::shared_ptr<Program> apart, make_apart_());
        {
          const std::lock_guard lock(mutex_);
          apart_ = apart;
        }
        return apart->Execute(arguments, statistics);
      }
      case Attempt::How::kWrong: {
        if (!make_apart_) return std::move(attempt.status);
        VXLA_ASSIGN_OR_RETURN(const std::unique_ptr<Program> once, make_apart_());
        const Result<Launch> again = once->Execute(arguments, nullptr);
        const Status said = again.ok() ? again->Done().Await() : again.status();
        return said.ok() ? std::move(attempt.status) : said;
      }
    }
    return Internal("an attempt that ended in no way");
  }

 private:
  std::shared_ptr<Program> Apart() const {
    const std::lock_guard lock(mutex_);
    return apart_;
  }

  const std::unique_ptr<DevicesTogether> together_;
  const MakeApart make_apart_;
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
  if (apart && RunsApart(module, merged)) return apart();
  VXLA_RETURN_IF_ERROR(merged.status());
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable, client.Compile(*merged->module, options));
  auto together =
      std::make_unique<MergedDevices>(*std::move(merged), module.entry()->root()->shape(), std::move(executable));
  return ChooseInRuns(std::move(assignment), std::move(together), TalksToHost(module) ? MakeApart() : apart);
}

std::unique_ptr<Program> ChooseInRuns(DeviceAssignment assignment, std::unique_ptr<DevicesTogether> together,
                                      MakeApart apart) {
  return std::make_unique<ChosenInRuns>(std::move(assignment), std::move(together), std::move(apart));
}

}  // namespace VXLA_NAMESPACE
