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
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

// Whether a program has to take it: its devices cannot be merged, or may part in a run that cannot be made again.
bool RunsSeparately(const Module& module, const Result<MergedProgram>& merged);
bool RunsSeparately(const Module& module, const MergedProgram& merged);

// One program, compiled once for each place, that every device runs on a thread of its own. Where a device meets others
// its run goes through the host, and they exchange there as those of the CPU reference do: whatever loops and branches
// they come by, with the same reports. The devices reduce what they get, in the order of one program of all of them,
// unless the reference is among the places.
class SeparateExecutable {
 public:
  // places: the devices of the places; null: the reference. place_of: by device of the grid. `evaluate`: custom calls,
  // feeds, seed, and how long a device waits for others.
  static Result<SeparateExecutable> Compile(const Module& module, const DeviceGrid& grid,
                                            const std::vector<std::shared_ptr<Device>>& places, const IntList& place_of,
                                            const EvaluateOptions& evaluate, const CompileOptions& options);
  // Place N is process N of a job, whose devices meet at the first process (scheduler/replicas/remote_devices.h): this
  // one compiles and runs its own place, on `device`. The group outlives the executable.
  static Result<SeparateExecutable> CompileInJob(const Module& module, const DeviceGrid& grid,
                                                 const std::shared_ptr<Device>& device, const IntList& place_of,
                                                 ProcessGroup& group, const JobWaits& waits,
                                                 const EvaluateOptions& evaluate, const CompileOptions& options);
  SeparateExecutable(SeparateExecutable&&) noexcept;
  SeparateExecutable& operator=(SeparateExecutable&&) noexcept;
  ~SeparateExecutable();

  // As RunReplicated. One run at a time. statistics: of all devices together.
  Result<Literal> Run(std::span<const std::vector<const Literal*>> arguments, RunStatistics* statistics = nullptr);
  // Of CompileInJob; the processes that have devices call it. By device, the results of this process's; an error of one
  // process is an error of all.
  Result<std::vector<Literal>> RunInJob(std::span<const std::vector<const Literal*>> arguments);
  // The first place's; CHECKs that this is not the reference.
  const Executable& executable() const;
  // Of the places.
  std::vector<std::string> names() const;

 private:
  struct State;
  static Result<SeparateExecutable> Build(std::unique_ptr<State> state, const Module& module,
                                          const std::vector<std::shared_ptr<Device>>& places,
                                          const CompileOptions& options);
  explicit SeparateExecutable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace VXLA_NAMESPACE
