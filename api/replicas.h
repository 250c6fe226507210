// Programs on several devices, all of the CPU reference: arrays stacked by device, runs, and comparisons with saved
// results or with a second run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/diff.h"
#include "core/module.h"
#include "core/replica_groups.h"

namespace VXLA_NAMESPACE {

// An array of this shape for each device, under a leading axis.
Shape StackedShape(const Shape& shape, int64_t devices);
// The shapes of the results as RunReplicated stacks them, by leaf.
Shape StackedResults(const Shape& result, const DeviceGrid& grid);

// The same leaf of every device under one more axis: what lives of it, which must be equally much. `name` is for the
// message.
Result<Literal> StackByDevice(const std::vector<const Literal*>& leaves, const std::string& name);

// arguments[d] are those of device d (replica-major). With more than one device every result has a leading axis.
Result<Literal> RunReplicated(const Module& module, const DeviceGrid& grid,
                              std::span<const std::vector<const Literal*>> arguments, const EvaluateOptions& options);

// `expected`: saved results by leaf, stacked; without them the program runs a second time. kUnsupported: to isolate or
// bisect.
Result<DiffOutcome> RunReplicatedDiff(const Module& module, const DeviceGrid& grid,
                                      std::span<const std::vector<const Literal*>> arguments,
                                      const DiffOptions& options,
                                      std::optional<std::vector<Literal>> expected = std::nullopt);

}  // namespace VXLA_NAMESPACE
