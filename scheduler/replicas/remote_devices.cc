#include "scheduler/replicas/remote_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace VXLA_NAMESPACE {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr int kOutcomeTag = 3;
constexpr int64_t kEnded = -1;  // in place of a call's number
// The first process reports what waits too long; one that waits for it gives it so long to say so.
constexpr std::chrono::seconds kForTheReport{5};

// A message is two: this, then so many bytes.
struct Header {
  int64_t what = 0;  // a call's number
  int64_t code = 0;  // a StatusCode; if not kOk, its text follows
  int64_t size = 0;
};

int TagOf(int64_t device) { return kFirstDeviceTag + static_cast<int>(device); }

Status OtherProgram() { return Internal("a message of a job is not one of this program's"); }

JobWaits ForTheReport(JobWaits waits) {
  if (waits.timeout.count() > 0) waits.timeout += kForTheReport;
  return waits;
}

Result<std::optional<Waited>> SendTo(ProcessGroup& group, int64_t peer, int tag, const JobWaits& waits, Header header,
                                     Bytes body, const std::function<std::string()>& stops = {}) {
  header.size = std::ssize(body);
  Bytes head(sizeof header);
  std::memcpy(head.data(), &header, sizeof header);
  std::array<ProcessGroup::Message, 2> messages{
      {{peer, tag, true, head.data(), head.size()}, {peer, tag, true, body.data(), body.size()}}};
  auto waited = Await(group, messages, waits, stops);
  if (!waited.ok() || *waited) {
    Abandon(std::move(head));
    Abandon(std::move(body));
  }
  return waited;
}

Result<std::optional<Waited>> ReceiveFrom(ProcessGroup& group, int64_t peer, int tag, const JobWaits& waits,
                                          Header& header, Bytes& body, const std::function<std::string()>& stops = {}) {
  const auto receive = [&](Bytes& bytes) {
    std::array<ProcessGroup::Message, 1> message{{{peer, tag, false, bytes.data(), bytes.size()}}};
    auto waited = Await(group, message, waits, stops);
    if (!waited.ok() || *waited) Abandon(std::move(bytes));
    return waited;
  };
  Bytes head(sizeof header);
  auto waited = receive(head);
  if (!waited.ok() || *waited) return waited;
  std::memcpy(&header, head.data(), sizeof header);
  body.resize(header.size);
  return receive(body);
}

Bytes TextOf(const Status& status) {
  const auto text = std::as_bytes(std::span(status.message()));
  return {text.begin(), text.end()};
}

Status StatusOf(const Header& header, const Bytes& text) {
  if (header.code == static_cast<int64_t>(StatusCode::kOk)) return OkStatus();
  return Status(static_cast<StatusCode>(header.code),
                std::string(reinterpret_cast<const char*>(text.data()), text.size()));
}

Header HeaderOf(int64_t what, const Status& status) { return {what, static_cast<int64_t>(status.code()), 0}; }

void Put(Bytes& bytes, int64_t value) {
  const auto* const words = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), words, words + sizeof value);
}

bool Take(std::span<const std::byte>& bytes, std::span<std::byte> target) {
  if (bytes.size() < target.size()) return false;
  std::ranges::copy_n(bytes.begin(), static_cast<ptrdiff_t>(target.size()), target.begin());
  bytes = bytes.subspan(target.size());
  return true;
}

bool Take(std::span<const std::byte>& bytes, int64_t& value) {
  return Take(bytes, std::as_writable_bytes(std::span(&value, 1)));
}

}  // namespace

void PackLiteral(const Literal& literal, std::vector<std::byte>& bytes) {
  for (const Literal* leaf : FlattenLiteral(literal)) {
    const Shape& shape = leaf->shape();
    for (int d = 0; shape.IsArray() && d < shape.rank(); ++d) {
      const bool dynamic = shape.is_dynamic_dimension(d);
      Put(bytes, shape.dimension(d));
      Put(bytes, dynamic ? leaf->dynamic_size(d) : -1);
    }
    bytes.insert(bytes.end(), leaf->bytes().begin(), leaf->bytes().end());
  }
}

Result<Literal> UnpackLiteral(const Shape& shape, std::span<const std::byte>& bytes) {
  std::vector<Literal> leaves;
  for (const Shape* leaf : FlattenTuple(shape)) {
    Shape given = *leaf;
    std::vector<int64_t> sizes, live;
    for (int d = 0; leaf->IsArray() && d < leaf->rank(); ++d) {
      if (!Take(bytes, sizes.emplace_back()) || !Take(bytes, live.emplace_back())) return OtherProgram();
      if (sizes.back() < 0 || sizes.back() > leaf->dimension(d)) return OtherProgram();
    }
    if (leaf->IsArray()) given = Shape(leaf->element_type(), sizes);
    for (size_t d = 0; d < live.size(); ++d) given.set_dynamic_dimension(d, live[d] >= 0);
    Literal& literal = leaves.emplace_back(given);
    for (size_t d = 0; d < live.size(); ++d) {
      if (live[d] > sizes[d]) return OtherProgram();
      if (live[d] >= 0) literal.set_dynamic_size(d, live[d]);
    }
    if (!Take(bytes, literal.mutable_bytes())) return OtherProgram();
  }
  return UnflattenLiteral(shape, leaves);
}

Result<Literal> RemoteDevice::Call(int64_t number, std::span<const Literal* const> operands, const Shape& result,
                                   const std::string& who) {
  Bytes body;
  for (const Literal* operand : operands) PackLiteral(*operand, body);
  const JobWaits waits = ForTheReport(waits_);
  VXLA_ASSIGN_OR_RETURN(auto waited, SendTo(group_, 0, TagOf(device_), waits, {number, 0, 0}, std::move(body)));
  Header header;
  if (!waited) VXLA_SET_OR_RETURN(waited, ReceiveFrom(group_, 0, TagOf(device_), waits, header, body));
  if (waited) return DeviceFailure("deadlock: {} waits for rank 0, which {}", who, waited->why);
  VXLA_RETURN_IF_ERROR(StatusOf(header, body));
  std::span<const std::byte> left(body);
  return UnpackLiteral(result, left);
}

Status RemoteDevice::End(const Status& how) {
  return SendTo(group_, 0, TagOf(device_), ForTheReport(waits_), HeaderOf(kEnded, how), TextOf(how)).status();
}

Status ServeDevice(ProcessGroup& group, int64_t rank, int64_t device, const JobWaits& waits, const JobRun& run) {
  std::optional<Clock::time_point> failed_at, finished_at;
  const auto stops = [&]() -> std::string {
    const auto now = Clock::now();
    if (!run.failure().ok()) {
      if (!failed_at) failed_at = now;
      if (now - *failed_at > kGrace) return "has been told that the run failed";
    } else if (waits.timeout.count() > 0 && run.is_finished()) {
      if (!finished_at) finished_at = now;
      if (now - *finished_at > waits.timeout) return fmt::format("has not come in {} ms", waits.timeout.count());
    }
    return "";
  };
  const JobWaits patient{{}, waits.is_ended};
  while (true) {
    Header header;
    Bytes body;
    VXLA_ASSIGN_OR_RETURN(auto waited, ReceiveFrom(group, rank, TagOf(device), patient, header, body, stops));
    if (waited) {
      const Status failed = run.failure();
      if (failed.ok()) return DeviceFailure("rank {} {}", rank, waited->why);
      // For whatever it asks next.
      VXLA_RETURN_IF_ERROR(SendTo(group, rank, TagOf(device), patient, HeaderOf(0, failed), TextOf(failed), [] {
                             return "is not here";
                           }).status());
      return failed;
    }
    if (header.what == kEnded) return StatusOf(header, body);
    const Result<Literal> result = run.call(header.what, body);
    finished_at.reset();
    body.clear();
    if (result.ok()) {
      PackLiteral(*result, body);
    } else {
      body = TextOf(result.status());
    }
    VXLA_ASSIGN_OR_RETURN(
        waited, SendTo(group, rank, TagOf(device), patient, HeaderOf(0, result.status()), std::move(body), stops));
  }
}

Status TellOutcome(ProcessGroup& group, int64_t ranks, const Status& own, const JobWaits& waits) {
  std::optional<Clock::time_point> begun;
  const auto stops = [&]() -> std::string {
    if (!begun) begun = Clock::now();
    return !own.ok() && Clock::now() - *begun > kGrace ? "is not here" : "";
  };
  for (int64_t rank = 1; rank < ranks; ++rank) {
    begun.reset();
    const auto told = SendTo(group, rank, kOutcomeTag, waits, HeaderOf(0, own), TextOf(own), stops);
    if (!own.ok()) continue;
    VXLA_RETURN_IF_ERROR(told.status());
    if (*told) return DeviceFailure("the end of the run: rank 0 waits for rank {}, which {}", rank, (*told)->why);
  }
  return own;
}

Status HearOutcome(ProcessGroup& group, const Status& own, const JobWaits& waits) {
  Header header;
  Bytes body;
  // After a failure the first process either says it soon or is gone.
  const JobWaits limit = own.ok() ? ForTheReport(waits) : JobWaits{kForTheReport, waits.is_ended};
  VXLA_ASSIGN_OR_RETURN(const auto waited, ReceiveFrom(group, 0, kOutcomeTag, limit, header, body));
  if (!waited) return StatusOf(header, body);
  if (!own.ok()) return own;
  return DeviceFailure("deadlock: the end of the run: rank {} waits for rank 0, which {}", group.rank(), waited->why);
}

}  // namespace VXLA_NAMESPACE
