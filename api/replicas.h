// Programs on several devices, of the CPU reference or emulated by one Vulkan device: arrays stacked by device, runs,
// and comparisons with saved results, with the reference or with a second run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/verify/diff.h"
#include "core/devices/replica_groups.h"
#include "core/ir/module.h"
#include "scheduler/runtime/client.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {

// An array of this shape for each device, under a leading axis.
Shape StackedShape(const Shape& shape, int64_t devices);
// The shapes of the results as RunReplicated stacks them, by leaf.
Shape StackedResults(const Shape& result, const DeviceGrid& grid);

// The same leaf of every device under one more axis: what lives of it, which must be equally much. `name` is for the
// message.
Result<Literal> StackByDevice(const std::vector<const Literal*>& leaves, const std::string& name);

// `leaves` by device, of results that are tuples or one array, stacked.
Result<Literal> StackResults(const std::vector<std::vector<const Literal*>>& leaves, bool tuple);

// Which parameters are one literal for all devices.
std::vector<bool> SharedParameters(std::span<const std::vector<const Literal*>> arguments);

// arguments[d] are those of device d (replica-major). With more than one device every result has a leading axis.
Result<Literal> RunReplicated(const Module& module, const DeviceGrid& grid,
                              std::span<const std::vector<const Literal*>> arguments, const EvaluateOptions& options);

// As many devices on the one of a client, in the way that scheduler/runtime/programs/choose.h finds; shared[p]:
// parameter p is one value for all of them in every run. `evaluate`: what the client was opened with.
Result<std::unique_ptr<Program>> ProgramOnOneDevice(Client& client, const Module& module, const DeviceGrid& grid,
                                                    const std::vector<bool>& shared, const CompileOptions& options,
                                                    const EvaluateOptions& evaluate);

// Such a program with arrays of the host's.
class ReplicatedExecutable {
 public:
  // Where these arguments are the same literal for all devices, those of every run are. `evaluate`: what the client was
  // opened with.
  static Result<ReplicatedExecutable> Compile(Client& client, const Module& module, const DeviceGrid& grid,
                                              std::span<const std::vector<const Literal*>> arguments,
                                              const CompileOptions& options = {}, const EvaluateOptions& evaluate = {});
  // As RunReplicated.
  Result<Literal> Run(std::span<const std::vector<const Literal*>> arguments, RunStatistics* statistics = nullptr);
  // Of all devices; where they run apart, of each.
  const Executable& executable() const { return program_->executable(); }
  Program& program() const { return *program_; }

 private:
  bool gives_tuple_ = false;
  std::unique_ptr<Program> program_;
};

// On options.device. `expected`: saved results by leaf, stacked; without them the reference runs the program, for the
// second time if it is the device. kUnsupported: to isolate or bisect.
Result<DiffOutcome> RunReplicatedDiff(const Module& module, const DeviceGrid& grid,
                                      std::span<const std::vector<const Literal*>> arguments,
                                      const DiffOptions& options,
                                      std::optional<std::vector<Literal>> expected = std::nullopt);

}  // namespace VXLA_NAMESPACE
