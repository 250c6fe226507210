// MergedDevices: all devices of a program on one device, as one program (core/passes/devices/device_merger.h).
#pragma once

#include <memory>

#include "core/passes/devices/device_merger.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {

// Gives each device what is its own of a merged program's result; those of other places nothing. Waits for the run only
// where data may end it in vain: then one number is read back, and it says so.
Attempt ResultsByDevice(const MergedProgram& program, const Shape& result, const Execution& execution,
                        RunStatistics* statistics);

// The arguments of a merged program.
std::vector<Argument> MergedArguments(const MergedProgram& program, ArgumentLists arguments);

// Results stay on the device. Where data may end a run in vain, Try waits for the run and reads one number back;
// nothing else comes to the host.
class MergedDevices : public DevicesTogether {
 public:
  // `result`: of one device.
  MergedDevices(MergedProgram program, const Shape& result, std::shared_ptr<Executable> executable);

  const Executable& executable() const override { return *executable_; }
  Attempt Try(ArgumentLists arguments, RunStatistics* statistics) override;

 private:
  const MergedProgram program_;
  const Shape result_;
  const std::shared_ptr<Executable> executable_;
};

}  // namespace VXLA_NAMESPACE
