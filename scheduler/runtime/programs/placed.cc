#include "scheduler/runtime/programs/placed.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/host/ranges.h"
#include "scheduler/replicas/placement.h"
#include "scheduler/runtime/programs/merged.h"

namespace VXLA_NAMESPACE {

std::vector<std::string> Places::names() const {
  return Transformed(places_, [&](const auto& place) { return place->name; });
}

Status Places::Share(std::optional<SharingWay> wanted) {
  std::vector<Device*> devices(places_.size(), nullptr);
  std::vector<const DeviceFacts*> facts(places_.size(), nullptr);
  for (size_t p = 0; p < places_.size(); ++p) {
    if (places_[p]->device == nullptr) continue;
    devices[p] = places_[p]->device.get();
    facts[p] = &devices[p]->facts();
  }
  for (const auto& place : places_) {
    for (const PlaceExchange& exchange : place->program.exchanges) {
      const SharingWay way = wanted.value_or(ChooseSharing(exchange, facts));
      if (ways_.contains(exchange.number)) continue;
      ways_.emplace(exchange.number, ExchangeText(exchange.what, SharingWay::kStaging, TellingWay::kHost));
      if (way == SharingWay::kStaging) continue;
      TellingWay telling = ChooseTelling(exchange, way, facts);
      auto made = SharedExchange::Create(exchange, way, telling, devices);
      if (!made.ok() && telling != TellingWay::kHost) {
        telling = TellingWay::kHost;
        made = SharedExchange::Create(exchange, way, telling, devices);
      }
      if (!made.ok() && wanted) return made.status();
      if (!made.ok()) continue;  // no memory for the boxes, or the driver has another mind than its facts
      ways_.at(exchange.number) = ExchangeText(exchange.what, way, telling);
      shared_.emplace(exchange.number, std::move(*made));
    }
  }
  return OkStatus();
}

std::string Places::sharing() const {
  std::string text;
  for (const auto& [number, way] : ways_) text += way + "\n";
  return text;
}

int64_t Places::bytes_received() const {
  std::map<int64_t, int64_t> most;  // by exchange
  for (const auto& place : places_) {
    for (const PlaceExchange& exchange : place->program.exchanges)
      most[exchange.number] = std::max(most[exchange.number], exchange.BytesReceived(place->number));
  }
  int64_t bytes = 0;
  for (const auto& [number, received] : most) bytes += received;
  return bytes;
}

Result<bool> Places::RunShared(const Place& place, const Instruction& instruction, DeviceStep& step,
                               LocalTransport& local) {
  if (instruction.call_kind() != CallKind::kExchange) return false;
  const auto exchange = std::ranges::find(
      place.program.exchanges, instruction.attributes<CustomCallAttributes>().number, &PlaceExchange::number);
  if (exchange == place.program.exchanges.end() || !shared_.contains(exchange->number)) return false;
  VXLA_RETURN_IF_ERROR(shared_.at(exchange->number)->Run(*exchange, place.number, step, local));
  return true;
}

Result<Execution> Places::Start(const Place& place, const std::vector<Argument>& arguments, LocalTransport* local) {
  if (place.executable != nullptr) {
    ExecuteOptions options;
    options.waits_for_host = true;
    if (local != nullptr) {
      options.device_step = [this, &place, local](const Instruction& instruction, DeviceStep& step) {
        return RunShared(place, instruction, step, *local);
      };
    }
    return place.executable->Execute(arguments, options);
  }
  VXLA_ASSIGN_OR_RETURN(Literal literal, place.on_reference(arguments));
  Execution execution{.shape = literal.shape(), .leaves = {}, .done = {}, .on_host = {}};
  execution.on_host = std::make_shared<const Literal>(std::move(literal));
  return execution;
}

Result<Execution> Places::RunPlace(const Place& place, ArgumentLists arguments, LocalTransport* local) {
  Result<Execution> execution = Start(place, MergedArguments(place.program, arguments), local);
  const Status status = execution.ok() ? execution->Wait() : execution.status();
  if (status.ok()) return execution;
  // What an exchange reports comes back as the failure of a custom call.
  const std::optional<Status> missed = transport_->Missed(place.number);
  return missed ? Status(missed->code(), missed->message(), status.location()) : status;
}

Status Places::Outcome(const Results& results, const std::vector<std::string>& titles) const {
  const Status* waited = nullptr;
  std::optional<size_t> failed;
  for (size_t p = 0; p < results.size(); ++p) {
    if (results[p]->ok()) continue;
    const Status& status = results[p]->status();
    if (transport_->Missed(places_[p]->number)) {
      if (waited == nullptr) waited = &status;
    } else if (!failed) {
      failed = p;
    }
  }
  if (!failed) return waited == nullptr ? OkStatus() : *waited;
  const Status& status = results[*failed]->status();
  if (waited == nullptr) return status;
  return Status(
      status.code(),
      fmt::format("{}; that was place {} ({}); {}", status.message(), *failed, titles[*failed], waited->message()),
      status.location());
}

Attempt Places::Try(ArgumentLists arguments, RunStatistics* statistics) {
  const std::lock_guard lock(running_);
  LocalTransport* local = nullptr;
  std::vector<std::string> titles;
  if (!in_job_) {
    titles = PlaceTitles(assignment_.grid, assignment_.device_of, names());
    auto made = std::make_unique<LocalTransport>(titles, timeout_);
    local = made.get();
    transport_ = std::move(made);
  }
  for (const auto& [number, exchange] : shared_) {
    if (Status status = exchange->Rewind(); !status.ok()) return Attempt::Failed(std::move(status));
  }
  Results results(places_.size());
  const auto run = [&](size_t p) {
    results[p] = RunPlace(*places_[p], arguments, local);
    if (local != nullptr) local->Leave(places_[p]->number);
  };
  std::vector<std::thread> threads;
  for (size_t p = 0; p + 1 < results.size(); ++p) threads.emplace_back(run, p);
  if (!results.empty()) run(results.size() - 1);
  for (std::thread& thread : threads) thread.join();
  if (Status status = Outcome(results, titles); !status.ok()) return Attempt::Failed(std::move(status));
  Attempt all;
  all.launch.by_device.resize(assignment_.grid.count());
  for (size_t p = 0; p < places_.size(); ++p) {
    Attempt attempt = ResultsByDevice(places_[p]->program, result_, **results[p], statistics);
    if (attempt.how != Attempt::How::kDone) return attempt;
    for (size_t d = 0; d < all.launch.by_device.size(); ++d) {
      if (assignment_.device_of[d] == places_[p]->number)
        all.launch.by_device[d] = std::move(attempt.launch.by_device[d]);
    }
  }
  return all;
}

void JobOfPlaces::SayOf(const MergedProgram& program, bool talks_to_host) {
  for (const Status& parting : program.partings) {
    if (parting.code() == StatusCode::kUnsupported) {
      anywhere_ |= kMayPart;
    } else if (Attempt::Parted(parting).how == Attempt::How::kWrong && !talks_to_host) {
      anywhere_ |= kMayFail;
    }
  }
}

Status JobOfPlaces::CheckApart(const Status& why) const {
  if ((anywhere_ & kIsReference) == 0) return OkStatus();
  return Unsupported("{}; the devices of a job run apart on Vulkan devices alone, and a rank has the reference",
                     why.ok() ? "devices meet by ways that only a run shows" : why.message())
      .At(why.location());
}

Result<uint8_t> JobOfPlaces::Together(const std::string& what, uint8_t own) const {
  VXLA_ASSIGN_OR_RETURN(const auto all, Gather(group_, what, {std::byte{own}}, GatherAt::kAll, waits_));
  uint8_t flags = 0;
  for (const std::vector<std::byte>& of_rank : all) flags |= std::to_integer<uint8_t>(of_rank.at(0));
  return flags;
}

Result<bool> JobOfPlaces::RunsApart() {
  if (!met_) {
    VXLA_ASSIGN_OR_RETURN(anywhere_, Together("the start of the run", anywhere_));
    met_ = true;
  }
  return (anywhere_ & kRunsApart) != 0;
}

Result<Attempt::How> JobOfPlaces::Agree(const Attempt& here) {
  using How = Attempt::How;
  const bool may_part = (anywhere_ & kMayPart) != 0, may_fail = (anywhere_ & (kMayFail | kIsReference)) == kMayFail;
  const bool goes_on =
      here.how == How::kDone || (here.how == How::kParted && may_part) || (here.how == How::kWrong && may_fail);
  if (!goes_on) {
    Leave();
    return How::kFailed;
  }
  if (!may_part && !may_fail) return How::kDone;
  // Who parts may be known at one place alone; the run is made again by all.
  const uint8_t found = here.how == How::kDone ? 0 : here.how == How::kWrong ? kHasFailed : kRunsApart;
  VXLA_ASSIGN_OR_RETURN(const uint8_t together, Together("the end of the run", found));
  return together == 0 ? How::kDone : together == kHasFailed ? How::kWrong : How::kParted;
}

namespace {

class NoDevices : public Program {
 public:
  using Program::Program;
  const Executable& executable() const override { VXLA_CHECK(false, "a process of a job without devices"); }
  Result<Launch> Execute(ArgumentLists arguments, RunStatistics*) override {
    return Launch{std::vector<Execution>(arguments.size())};
  }
};

}  // namespace

std::unique_ptr<Program> WithoutDevices(DeviceAssignment assignment) {
  return std::make_unique<NoDevices>(std::move(assignment));
}

}  // namespace VXLA_NAMESPACE
