// DevicesApart: the devices of a program that meet by ways that only a run shows, each of which runs by itself.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/replica_link.h"
#include "core/passes/devices/device_separation.h"
#include "scheduler/replicas/group_transport.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {

class RemoteDevice;  // scheduler/replicas/remote_devices.h

// One program, compiled once for each place, that every device runs on a thread of its own. Where a device meets others
// its run goes through the host, and they exchange there as those of the CPU reference do: whatever loops and branches
// they come by, with the same reports. The devices reduce what they get, in the order of one program of all of them,
// unless the reference is among the places.
class DevicesApart : public Program {
 public:
  // What the host does for one device in one run.
  class Host {
   public:
    virtual ~Host() = default;
    virtual Result<Literal> Evaluate(const Instruction& instruction, std::span<const Literal* const> operands) = 0;
    virtual Result<Literal> Gather(const Instruction& collective, std::span<const Literal* const> operands) = 0;
  };
  struct Place {
    std::string name;  // empty: in a job, another process
    std::unique_ptr<Client> client;
    std::shared_ptr<Executable> executable;  // null: the reference, or elsewhere
  };
  struct Parts {
    std::shared_ptr<const SeparateProgram> program;
    std::vector<Place> places;
    std::function<std::shared_ptr<Host>(ReplicaLink&, int64_t device)> host_of;
    std::function<Result<Literal>(std::span<const Literal* const>, ReplicaLink&, int64_t device)> on_reference;
    HostTransfers transfers;
    std::chrono::milliseconds timeout{};  // of a device's wait for others
    ProcessGroup* group = nullptr;        // of a job, whose process N has place N; its devices meet at the first one
    JobWaits waits;
  };

  DevicesApart(DeviceAssignment assignment, Parts parts) : Program(std::move(assignment)), parts_(std::move(parts)) {}

  // The first place's; CHECKs that this is not the reference.
  const Executable& executable() const override;
  // Returns when all devices are done; their results stay where they are. One run at a time: others wait. In a job, the
  // processes that have devices call it: each has the results of its own devices, and an error of one is an error of
  // all.
  Result<Launch> Execute(ArgumentLists arguments, RunStatistics* statistics = nullptr) override;
  // Of the places that are here.
  std::vector<std::string> names() const;

 private:
  const DeviceGrid& grid() const { return assignment().grid; }
  int64_t PlaceOf(int64_t device) const { return assignment().device_of[device]; }
  bool IsHere(int64_t device) const { return parts_.group == nullptr || PlaceOf(device) == parts_.group->rank(); }

  // Of one run of a device's host instructions. remote: where the device is of another process than the first one of a
  // job.
  HostEvaluator EvaluatorFor(ReplicaLink& link, int64_t device, RemoteDevice* remote) const;
  Result<Execution> RunOnReference(ReplicaLink& link, int64_t device, const std::vector<Argument>& arguments) const;
  // Until the device is done.
  Result<Execution> RunDevice(ReplicaLink& link, int64_t device, const std::vector<Argument>& arguments,
                              RunStatistics& statistics) const;
  // At the first process of a job.
  Status ServeElsewhere(ReplicaLink& link, const std::atomic<int64_t>& running_here, int64_t device) const;
  // What the devices that are here give.
  Status RunDevices(ArgumentLists arguments, std::vector<Execution>& results, RunStatistics* statistics) const;

  const Parts parts_;
  std::mutex running_;
};

}  // namespace VXLA_NAMESPACE
