// Shared exchange: places of one process that give one another their data by memory that all of them see, copied by the
// devices.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "core/passes/devices/device_merger.h"
#include "scheduler/replicas/device_step.h"
#include "scheduler/replicas/sharing.h"
#include "scheduler/replicas/transport.h"

namespace VXLA_NAMESPACE {

// Each place copies what it posts into a box of its own and tells the others when it is there; they copy from it what
// they receive, and go on without waiting for that. There are two boxes of each place, in turn.
//
// Told by the host, a place comes to the meeting (Transport) once its box is full and it has finished with the boxes of
// the meeting before. Told by signals, it comes once both are submitted: each copy out of a box waits for its owner's
// signal that it is full, and the owner fills it anew once all others have signalled that it is free. Nobody waits on
// the host for a device then, and a device waits for nothing but what is submitted.
class SharedExchange {
 public:
  // devices: by place, null where the exchange has none. Any other way than these two: kUnsupported.
  static Result<std::unique_ptr<SharedExchange>> Create(const PlaceExchange& exchange, SharingWay way,
                                                        TellingWay telling, std::span<Device* const> devices);
  ~SharedExchange();
  SharedExchange(const SharedExchange&) = delete;

  // A run begins; nothing of an earlier one is in flight afterwards.
  Status Rewind();
  // `exchange` as the place sees it. Called by each place's own thread.
  Status Run(const PlaceExchange& exchange, int64_t place, DeviceStep& step, LocalTransport& transport);

 private:
  static constexpr size_t kBoxes = 2;
  struct HostPages;
  struct Side {
    Device* device = nullptr;
    // This place's view of the boxes of each place; null: it does not take part.
    std::vector<std::array<std::shared_ptr<Buffer>, kBoxes>> boxes;
    size_t round = 0;
    bool inside = false;  // it has come to a meeting and not left it
    TimePoint received;   // what was copied out of the boxes last
    // What it posts that is the same each time, by operand.
    std::map<size_t, std::pair<const Literal*, std::shared_ptr<Buffer>>> constants;
    std::deque<std::pair<TimePoint, std::unique_ptr<CommandBuffer>>> submitted;
  };
  // By which one place tells another one that a box is full, or free again.
  struct Line {
    std::shared_ptr<Signal> given, awaited;  // one thing, as each of their devices sees it
  };
  // The two places, whether it is about the box of the first one (full) or of the second (free), and the box.
  using LineKey = std::tuple<int64_t, int64_t, bool, size_t>;
  SharedExchange() = default;
  Status MakeLines();
  Status MakeBox(int64_t place, size_t box, int64_t size_bytes, std::span<Device* const> devices);
  Status Finish();  // what is in flight
  // What `place` waits for of all others, or gives them.
  std::vector<SignalPoint> Awaited(int64_t place, bool full, size_t round) const {
    return Points(place, full, round, true);
  }
  std::vector<SignalPoint> Given(int64_t place, bool full, size_t round) const {
    return Points(place, full, round, false);
  }
  std::vector<SignalPoint> Points(int64_t place, bool full, size_t round, bool awaited) const;
  Result<TimePoint> Submit(Side& side, std::unique_ptr<CommandBuffer> commands, const Moment& after,
                           const std::vector<SignalPoint>& waits, const std::vector<SignalPoint>& signals);
  Result<Buffer*> ConstantBuffer(Side& side, size_t operand, const Literal& value);
  Result<TimePoint> Post(int64_t place, Buffer& box, const std::vector<int64_t>& offsets, const DeviceStep& step);
  Status Receive(const PlaceExchange& exchange, int64_t place, DeviceStep& step, const Moment& after);
  Side& SideOf(int64_t place) { return sides_[place]; }

  SharingWay way_ = SharingWay::kStaging;
  TellingWay telling_ = TellingWay::kHost;
  std::vector<std::unique_ptr<HostPages>> pages_;  // they go after the buffers over them
  std::deque<Side> sides_;                         // by place
  std::map<LineKey, Line> lines_;                  // none if the host tells
};

}  // namespace VXLA_NAMESPACE
