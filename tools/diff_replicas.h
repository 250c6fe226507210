// vxla diff of a program on several devices, all of the CPU reference: with saved results, or with a second run of its
// own.
#pragma once

#include "tools/diff_run.h"
#include "tools/replicas.h"

namespace vxla {

// The shapes of the results as RunReplicated stacks them, by leaf.
Shape StackedResults(const Shape& result, const DeviceGrid& grid);

Result<DiffOutcome> RunReplicatedDiff(const Module& module, const DeviceGrid& grid,
                                      const ReplicatedArguments& arguments, const EvaluateOptions& evaluate,
                                      std::optional<std::vector<Literal>> expected, const DiffOptions& options);

}  // namespace vxla
