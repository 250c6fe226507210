// Shared exchange: places of one process that give one another their data by memory that all of them see, copied by the
// devices.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "core/passes/device_merger.h"
#include "scheduler/device_step.h"
#include "scheduler/replicas/sharing.h"
#include "scheduler/replicas/transport.h"

namespace VXLA_NAMESPACE {

// Each place copies what it posts into a box of its own and tells the others (Transport) when it is there; they copy
// from it what they receive, and go on without waiting for that. There are two boxes of each place, in turn: who comes
// to a meeting has finished with the boxes of the meeting before.
class SharedExchange {
 public:
  // devices: by place, null where the exchange has none. Any other way than these two: kUnsupported.
  static Result<std::unique_ptr<SharedExchange>> Create(const PlaceExchange& exchange, SharingWay way,
                                                        std::span<Device* const> devices);
  ~SharedExchange();
  SharedExchange(const SharedExchange&) = delete;

  // A run begins; nothing of an earlier one is in flight.
  void Rewind();
  // `exchange` as the place sees it. Called by each place's own thread.
  Status Run(const PlaceExchange& exchange, int64_t place, DeviceStep& step, Transport& transport);

 private:
  static constexpr size_t kBoxes = 2;
  struct HostPages;
  struct Side {
    Device* device = nullptr;
    // This place's view of the boxes of each place; null: it does not take part.
    std::vector<std::array<std::shared_ptr<Buffer>, kBoxes>> boxes;
    size_t round = 0;
    TimePoint received;  // what was copied out of the boxes last
    std::deque<std::pair<TimePoint, std::unique_ptr<CommandBuffer>>> submitted;
  };
  SharedExchange() = default;
  Status MakeBox(int64_t place, size_t box, int64_t size_bytes, std::span<Device* const> devices);
  Result<TimePoint> Submit(Side& side, std::unique_ptr<CommandBuffer> commands, const Moment& after);
  Status Post(Side& side, Buffer& box, const std::vector<int64_t>& offsets, const DeviceStep& step);
  Side& SideOf(int64_t place) { return sides_[static_cast<size_t>(place)]; }

  SharingWay way_ = SharingWay::kStaging;
  std::vector<std::unique_ptr<HostPages>> pages_;  // they go after the buffers over them
  std::deque<Side> sides_;                         // by place
};

}  // namespace VXLA_NAMESPACE
