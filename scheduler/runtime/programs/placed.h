// Places: the devices of a program at several places, physical devices or logical ones, each of which runs its own as
// one program. Of a job's places one is in this process.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/passes/devices/device_merger.h"
#include "scheduler/replicas/group_transport.h"
#include "scheduler/replicas/shared_exchange.h"
#include "scheduler/replicas/sharing.h"
#include "scheduler/replicas/transport.h"
#include "scheduler/runtime/programs/choose.h"

namespace VXLA_NAMESPACE {

// What devices at different places exchange goes through memory that both see (scheduler/replicas/sharing.h), or
// through the host, where the calls of exchanges come to Exchange; the same operations combine it as on one device.
class Places : public DevicesTogether {
 public:
  struct Place {
    int64_t number = 0;
    std::string name;
    MergedProgram program;
    std::shared_ptr<Device> device;  // null: the reference
    std::shared_ptr<Executable> executable;
    std::function<Result<Literal>(const std::vector<Argument>&)> on_reference;  // where there is none
  };

  // `result`: of one device. timeout: how long a place waits for another one.
  Places(DeviceAssignment assignment, Shape result, std::chrono::milliseconds timeout)
      : assignment_(std::move(assignment)), result_(std::move(result)), timeout_(timeout) {}

  void Add(std::unique_ptr<Place> place) { places_.push_back(std::move(place)); }
  // None of them is to run.
  void Clear() { places_.clear(); }
  // The exchanges whose places see the same memory. Afterwards all places are here.
  Status Share(std::optional<SharingWay> wanted);
  // A place comes to an exchange through the host: Transport::ExchangeArrays.
  Status Exchange(const PlaceExchange& exchange, int64_t place, const void* const* own, void* const* received) {
    return transport_->ExchangeArrays(exchange, place, own, received);
  }
  // Before each run of a job, whose other places are elsewhere.
  void Meet(std::unique_ptr<Transport> transport) {
    transport_ = std::move(transport);
    in_job_ = true;
  }
  // Of a job: those that wait for this place end too.
  void Leave(int64_t place) { transport_->Leave(place); }

  const DeviceAssignment& assignment() const { return assignment_; }
  const std::vector<std::unique_ptr<Place>>& places() const { return places_; }
  std::vector<std::string> names() const;
  // A line for each exchange with the memory that it goes through.
  std::string sharing() const;
  // The most that a place receives in each exchange, once, all together.
  int64_t bytes_received() const;

  const Executable& executable() const override { return *places_[0]->executable; }
  // Each place runs on a thread of its own, the last one on the caller's. One run at a time: others wait.
  Attempt Try(ArgumentLists arguments, RunStatistics* statistics) override;

 private:
  using Results = std::vector<std::optional<Result<Execution>>>;  // by place

  Result<bool> RunShared(const Place& place, const Instruction& instruction, DeviceStep& step, LocalTransport& local);
  Result<Execution> Start(const Place& place, const std::vector<Argument>& arguments, LocalTransport* local);
  // Until the place is done.
  Result<Execution> RunPlace(const Place& place, ArgumentLists arguments, LocalTransport* local);
  // A place that failed by itself says more than those that waited for it, who say where it was missed.
  Status Outcome(const Results& results, const std::vector<std::string>& titles) const;

  const DeviceAssignment assignment_;
  const Shape result_;
  const std::chrono::milliseconds timeout_;
  std::vector<std::unique_ptr<Place>> places_;  // of this process
  bool in_job_ = false;
  std::mutex running_;
  std::unique_ptr<Transport> transport_;                       // of the run
  std::map<int64_t, std::string> ways_;                        // of each exchange, by number
  std::map<int64_t, std::unique_ptr<SharedExchange>> shared_;  // those that go through shared memory
};

// The processes of a job whose place `places` has, or none.
class JobOfPlaces : public Job {
 public:
  JobOfPlaces(Places& places, ProcessGroup& group, const JobWaits& waits)
      : places_(places), group_(group), waits_(waits) {}

  // Of this process, before the first run: it has the reference; its devices run apart; what its program may come to.
  void SayIsReference() { anywhere_ |= kIsReference; }
  void SayRunsApart() { anywhere_ |= kRunsApart; }
  void SayOf(const MergedProgram& program, bool talks_to_host);
  // Whether devices can run apart, for `why`, as far as this process knows.
  Status CheckApart(const Status& why) const;

  Result<bool> RunsApart() override;
  Result<Attempt::How> Agree(const Attempt& here) override;
  void Leave() override { places_.Leave(group_.rank()); }

 private:
  // What processes have to know of each other; flags.
  enum : uint8_t { kMayPart = 1, kRunsApart = 2, kIsReference = 4, kMayFail = 8, kHasFailed = 16 };

  // The flags of all processes together.
  Result<uint8_t> Together(const std::string& what, uint8_t own) const;

  Places& places_;
  ProcessGroup& group_;
  const JobWaits waits_;
  uint8_t anywhere_ = 0;  // flags of all processes, once they have met; of this one before
  bool met_ = false;
};

// In a process of a job that has no devices: gives nothing.
std::unique_ptr<Program> WithoutDevices(DeviceAssignment assignment);

}  // namespace VXLA_NAMESPACE
