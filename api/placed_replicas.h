// Programs on several devices that are at several places: physical devices, or several logical ones of a physical
// device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/device_options.h"
#include "api/replicas.h"
#include "backend/device_facts.h"
#include "scheduler/replicas/group_transport.h"
#include "scheduler/replicas/sharing.h"
#include "scheduler/runtime/programs/program.h"

namespace VXLA_NAMESPACE {

// DeviceOptions::device of a place: a bare number is that of "vulkan:N".
std::string DeviceOfPlace(const std::string& text);

// The places of a run and their names: "all" stands for every physical device of this machine that runs programs; else
// they are what the list says.
struct PlaceList {
  std::vector<std::string> devices;               // DeviceOptions::device
  std::vector<int64_t> queues;                    // that compute
  std::vector<std::optional<DeviceFacts>> facts;  // nothing: the reference, or a device that is not known
  IntList place_of;
};
Result<PlaceList> PlacesOf(const std::vector<std::string>& list, int64_t devices, const DeviceOptions& options);

// How places exchange; what is not given is the best that ChooseSharing and ChooseReductionForm find.
struct PlaceChoices {
  std::optional<SharingWay> sharing = {};  // where they can
  std::optional<ReductionForm> form = {};  // of all-reduces
};

// A process's part in a job.
struct JobMembership {
  ProcessGroup* group = nullptr;  // it outlives what is compiled
  JobWaits waits;
  DeviceOptions options;                    // options.device: this process's place
  std::shared_ptr<Device> device = {};      // that one, opened already; null: not
  std::optional<IntList> process_of = {};   // of each device, a rank; nothing: PlaceDevices
  std::vector<std::string> names = {};      // of the ranks, for messages; empty: "rank N"
  MemberOrder order = MemberOrder::kPairs;  // as all processes say; kInARow: each of them has the reference

  Result<std::shared_ptr<Device>> Open() const;
};

// Each place compiles the work of its own devices, and runs it on a thread of its own. What devices at different places
// exchange goes through memory that both see (scheduler/replicas/sharing.h); the same operations combine it as on one
// device, so results have the same bits wherever the devices are (as far as the places' own arithmetic has).
class PlacedExecutable {
 public:
  // places: as DeviceOfPlace takes them, the rest as in `options`; "cpu" is the reference. `evaluate`: as OpenClient
  // takes it; its collective_timeout is how long a place waits for another one.
  static Result<PlacedExecutable> Compile(const Module& module, const DeviceGrid& grid,
                                          std::span<const std::vector<const Literal*>> arguments,
                                          const std::vector<std::string>& places, const DeviceOptions& options,
                                          const EvaluateOptions& evaluate, const CompileOptions& compile = {},
                                          const PlaceChoices& choices = {});
  // Place N is process N of a job; a process compiles and runs its own place alone, if there are devices for it.
  static Result<PlacedExecutable> CompileInJob(const Module& module, const DeviceGrid& grid,
                                               std::span<const std::vector<const Literal*>> arguments,
                                               const JobMembership& job, const EvaluateOptions& evaluate,
                                               const CompileOptions& compile = {}, const PlaceChoices& choices = {});
  PlacedExecutable(PlacedExecutable&&) noexcept;
  PlacedExecutable& operator=(PlacedExecutable&&) noexcept;
  ~PlacedExecutable();

  // As RunReplicated. One run at a time: others wait. If a place fails, the others that wait for it end too; the next
  // run starts afresh.
  Result<Literal> Run(std::span<const std::vector<const Literal*>> arguments);

  // Of CompileInJob; all processes call it. The result of all devices in the first process, nothing in the others.
  // After an error the group is of no more use: the process reports it and ends.
  Result<std::optional<Literal>> RunInJob(std::span<const std::vector<const Literal*>> arguments);
  // The same, with the results of this process's devices where they are; others' arguments may be missing.
  Result<Launch> ExecuteInJob(std::span<const std::vector<Argument>> arguments);

  int64_t devices() const;
  // A line for each place with its devices.
  std::string placement() const;
  // A line for each exchange with the memory that it goes through.
  std::string sharing() const;
  // The most that a place receives in each exchange, once, all together.
  int64_t bytes_received() const;
  // Names of the places that have devices.
  std::vector<std::string> names() const;

  struct State;

 private:
  explicit PlacedExecutable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace VXLA_NAMESPACE
