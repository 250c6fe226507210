// Program: what runs on the devices of an assignment, in whichever way scheduler/runtime/programs/choose.h has found.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "scheduler/runtime/client.h"
#include "scheduler/runtime/programs/assignment.h"

namespace VXLA_NAMESPACE {

// By device of the grid: one argument for each parameter, a literal or what lies on that device.
using ArgumentLists = std::span<const std::vector<Argument>>;
using LiteralLists = std::span<const std::vector<const Literal*>>;

// Whose literals outlive the call.
std::vector<std::vector<Argument>> LentArguments(LiteralLists arguments);

// What each device gives, on that device, and when. The results of devices that compute the same share memory.
struct Launch {
  std::vector<Execution> by_device;

  // When all devices are done.
  Event Done() const;
};

// Results of devices that were downloaded, each array once.
struct HostResults {
  std::deque<Literal> arrays;
  std::vector<std::vector<const Literal*>> leaves;  // by device
};

class Program {
 public:
  explicit Program(DeviceAssignment assignment) : assignment_(std::move(assignment)) {}
  virtual ~Program() = default;
  Program(const Program&) = delete;

  const DeviceAssignment& assignment() const { return assignment_; }
  // Of the first device, or of all that are one program; CHECKs that it is not the reference.
  virtual const Executable& executable() const = 0;
  // InvalidArgument names the argument that does not fit. statistics: of all devices together.
  virtual Result<Launch> Execute(ArgumentLists arguments, RunStatistics* statistics = nullptr) = 0;
  // Uploads, runs, waits and downloads.
  Result<HostResults> Run(LiteralLists arguments, RunStatistics* statistics = nullptr);

 private:
  const DeviceAssignment assignment_;
};

// How devices that run together ended.
struct Attempt {
  enum class How : uint8_t {
    kDone,
    kFailed,  // and would again
    kParted,  // the data lead them to meetings by ways of their own: they have to run apart
    kWrong,   // the data are wrong, or someone waits for whom nobody can serve: running apart says it more exactly
  };
  How how = How::kDone;
  Status status;
  Launch launch;

  static Attempt Failed(Status status) { return {How::kFailed, std::move(status), {}}; }
  // Of what ended the run of a merged program: MergedProgram::partings.
  static Attempt Parted(Status status);
};

// Devices that run as fewer programs than there are devices.
class DevicesTogether {
 public:
  virtual ~DevicesTogether() = default;
  virtual const Executable& executable() const = 0;
  virtual Attempt Try(ArgumentLists arguments, RunStatistics* statistics) = 0;
};

}  // namespace VXLA_NAMESPACE
