// Channels: data on their way from one device to another.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/data/literal.h"
#include "core/devices/replica_groups.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Of collective-permutes or of sends, on a channel. Data on it keep their order.
struct ChannelPath {
  static constexpr int64_t kAnyTarget = -1, kNoChannel = -1;
  Opcode kind = Opcode::kSend;
  int64_t channel = kNoChannel, source = 0;
  int64_t target = kAnyTarget;  // of sends on a channel without stated pairs
  friend auto operator<=>(const ChannelPath&, const ChannelPath&) = default;
};

// Whoever has one sees to it that one thread at a time uses it.
class Channels {
 public:
  explicit Channels(const DeviceGrid& grid) : grid_(grid) {}

  void Put(const Instruction& at, const ChannelPath& path, Literal data) {
    parcels_[path].push_back({std::move(data), &at});
  }
  bool HasData(const ChannelPath& path) const;
  // HasData is a precondition.
  Literal Take(const ChannelPath& path);
  // Of a channel without stated pairs, the way on which the device's next data lie: its own, else another one's.
  std::optional<ChannelPath> PathTo(int64_t device, int64_t channel) const;
  // Such a channel brings this device data of that one: an error if it has connected others before, for then the order
  // would be chance.
  Status Connect(const Instruction& at, int64_t device, const ChannelPath& path);
  // Data that nobody took; OK if there are none.
  Status Untaken() const;

 private:
  struct Parcel {
    Literal data;
    const Instruction* from = nullptr;
  };
  const DeviceGrid grid_;
  std::map<ChannelPath, std::deque<Parcel>> parcels_;
  std::map<int64_t, std::pair<int64_t, int64_t>> connections_;  // channel without pairs -> source, target
};

}  // namespace VXLA_NAMESPACE
