// Programs whose devices meet by ways that only a run shows: each device runs by itself.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/reference/evaluator.h"
#include "core/devices/replica_groups.h"
#include "core/module.h"
#include "core/passes/devices/device_merger.h"
#include "core/passes/devices/device_separation.h"
#include "scheduler/replicas/group_transport.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {

// One program, compiled once for each place, that every device runs on a thread of its own. Where a device meets others
// its run goes through the host, and they exchange there as those of the CPU reference do: whatever loops and branches
// they come by, with the same reports. The devices reduce what they get, in the order of one program of all of them,
// unless the reference is among the places.
class SeparateExecutable : public Program {
 public:
  // places: the devices of the places; null: the reference. place_of: by device of the grid. `evaluate`: custom calls,
  // feeds, seed, and how long a device waits for others.
  static Result<std::unique_ptr<SeparateExecutable>> Compile(const Module& module, const DeviceGrid& grid,
                                                             const std::vector<std::shared_ptr<Device>>& places,
                                                             const IntList& place_of, const EvaluateOptions& evaluate,
                                                             const CompileOptions& options);
  // Place N is process N of a job, whose devices meet at the first process (scheduler/replicas/remote_devices.h): this
  // one compiles and runs its own place, on `device`. The group outlives the executable.
  static Result<std::unique_ptr<SeparateExecutable>> CompileInJob(
      const Module& module, const DeviceGrid& grid, const std::shared_ptr<Device>& device, const IntList& place_of,
      ProcessGroup& group, const JobWaits& waits, const EvaluateOptions& evaluate, const CompileOptions& options);
  ~SeparateExecutable() override;

  // Returns when all devices are done; their results stay where they are. One run at a time: others wait. Of
  // CompileInJob, the processes that have devices call it: each has the results of its own devices, and an error of one
  // is an error of all.
  Result<Launch> Execute(ArgumentLists arguments, RunStatistics* statistics = nullptr) override;
  // The first place's; CHECKs that this is not the reference.
  const Executable& executable() const override;
  // Of the places.
  std::vector<std::string> names() const;

 private:
  struct State;
  static Result<std::unique_ptr<SeparateExecutable>> Build(std::unique_ptr<State> state, const Module& module,
                                                           const std::vector<std::shared_ptr<Device>>& places,
                                                           const CompileOptions& options);
  explicit SeparateExecutable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace VXLA_NAMESPACE
