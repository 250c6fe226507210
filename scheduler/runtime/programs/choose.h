// Choose: in which way a program runs on its devices. The one place that knows when devices that run together have to
// run apart.
#pragma once

#include <functional>
#include <memory>

#include "core/passes/devices/device_merger.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {

// Makes the program whose devices run by themselves and meet on the host, as those that run together cannot go on for
// this reason; empty: not to be.
using MakeApart = std::function<Result<std::unique_ptr<Program>>(const Status& why)>;

// The processes of a job that run a program together, each on its devices, and have to choose the same. All of them ask
// the same questions.
class Job {
 public:
  virtual ~Job() = default;
  // Asked before each run: whether the devices of one of them run apart from the first run on.
  virtual Result<bool> RunsApart() = 0;
  // How the run ended for all together, of how it did here; kFailed: it ends here, and the others know.
  virtual Result<Attempt::How> Agree(const Attempt& here) = 0;
  // Those that wait for this process end too.
  virtual void Leave() = 0;
};

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
std::unique_ptr<Program> ChooseInRuns(DeviceAssignment assignment, std::shared_ptr<DevicesTogether> together,
                                      MakeApart apart);

// The same in a process of a job. `from_first_run`: the devices here are apart already; else null, and `together` is
// not.
std::unique_ptr<Program> ChooseInJob(DeviceAssignment assignment, std::shared_ptr<DevicesTogether> together,
                                     std::unique_ptr<Program> from_first_run, MakeApart apart,
                                     std::unique_ptr<Job> job);

}  // namespace VXLA_NAMESPACE
