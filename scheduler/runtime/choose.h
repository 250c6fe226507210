// Choose: in which way a program runs on its devices. The one place that knows when devices that run together have to
// run apart.
#pragma once

#include <functional>
#include <memory>

#include "core/passes/devices/device_merger.h"
#include "scheduler/runtime/program.h"

namespace VXLA_NAMESPACE {

// Makes the program whose devices run by themselves and meet on the host; empty: not to be.
using MakeApart = std::function<Result<std::unique_ptr<Program>>()>;

// Whether devices have to run apart from the first run on: they cannot be merged, or may part in a run that cannot be
// made again, for what it tells the host is told.
bool RunsApart(const Module& module, const Result<MergedProgram>& merged);
bool RunsApart(const Module& module, const MergedProgram& merged);

// As one program on the client's device; apart, where that does not do. shared[p]: all devices' parameter p has one
// value in every run.
Result<std::unique_ptr<Program>> ChooseOnOneDevice(Client& client, const Module& module, const DeviceGrid& grid,
                                                   const std::vector<bool>& shared, const CompileOptions& options,
                                                   const MakeApart& apart);

// Together as long as the data allow it; apart from the first run on that parts. A run whose data are wrong is made
// apart once, which says more of it.
std::unique_ptr<Program> ChooseInRuns(DeviceAssignment assignment, std::unique_ptr<DevicesTogether> together,
                                      MakeApart apart);

}  // namespace VXLA_NAMESPACE
