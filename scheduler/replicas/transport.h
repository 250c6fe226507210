// How places (core/passes/devices/device_merger.h) give one another what their devices exchange.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/passes/devices/device_merger.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

using PostedBytes = std::shared_ptr<const std::vector<std::byte>>;

class Transport {
 public:
  virtual ~Transport() = default;
  // Called by place `place` each time it comes to the exchange, whose arrays lie in the host's memory. own: what it
  // posts; received: the results that exchange.takes makes up. kDeviceFailure: a place that is waited for has left or
  // does not come in time; the message says what waits for whom.
  virtual Status ExchangeArrays(const PlaceExchange& exchange, int64_t place, const void* const* own,
                                void* const* received) = 0;
  // The place comes to no further exchange.
  virtual void Leave(int64_t place) = 0;
  // Whom a place has waited for in vain: what an exchange told it, whatever has become of that since.
  std::optional<Status> Missed(int64_t place) const;

 protected:
  // Notes it, and gives it back.
  Status Miss(int64_t place, Status status);

 private:
  mutable std::mutex missed_mutex_;
  std::map<int64_t, Status> missed_;
};

// Where each array stands among those behind one another, and behind them the size of all.
std::vector<size_t> OffsetsOf(const std::vector<Shape>& shapes);
// Into the results: a piece of an array that the place itself posts.
void TakeOwnPieces(const PlaceExchange& exchange, int64_t place, const void* const* own, void* const* received);

// Between threads of one process, for one run. names: of the places, for messages (PlaceTitles).
class LocalTransport : public Transport {
 public:
  // timeout: of each exchange; zero: forever.
  LocalTransport(std::vector<std::string> names, std::chrono::milliseconds timeout)
      : names_(std::move(names)), timeout_(timeout), left_(names_.size()) {}

  Status ExchangeArrays(const PlaceExchange& exchange, int64_t place, const void* const* own,
                        void* const* received) override;
  // Gives what each place of the exchange has posted this time, by place.
  Result<std::vector<PostedBytes>> Exchange(const PlaceExchange& exchange, int64_t place,
                                            std::vector<std::byte> posted);
  void Leave(int64_t place) override;

 private:
  struct Meeting {
    std::vector<PostedBytes> posted;  // by place
    size_t taken = 0;
  };
  // Of those that the exchange waits for, the first that has not come.
  const int64_t* Missing(const PlaceExchange& exchange, const Meeting& meeting) const;

  const std::vector<std::string> names_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int64_t, int64_t>, int64_t> times_;     // by exchange and place
  std::map<std::pair<int64_t, int64_t>, Meeting> meetings_;  // by exchange and which time it is
  std::vector<bool> left_;                                   // by place
};

}  // namespace VXLA_NAMESPACE
