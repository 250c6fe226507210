// Timelines: each queue of a device counts its submissions; a moment is how far each of them has to be.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace VXLA_NAMESPACE {

// Of one device: a device with more leaves the others unused.
inline constexpr int kMostQueues = 5;

// Where a queue's timeline stands once a submission has finished.
struct TimePoint {
  int queue = 0;
  uint64_t value = 0;  // 0: the beginning
  friend bool operator==(const TimePoint&, const TimePoint&) = default;
};

// Passed once each queue is as far. The default has always passed.
class Moment {
 public:
  Moment() = default;
  Moment(TimePoint point) { values_[static_cast<size_t>(point.queue)] = point.value; }

  uint64_t at(int queue) const { return values_[static_cast<size_t>(queue)]; }
  bool is_beginning() const { return values_ == decltype(values_){}; }
  // Afterwards it passes when both have.
  void Join(const Moment& other) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = std::max(values_[i], other.values_[i]);
  }
  // Orders moments in time as far as one queue goes: for choosing, not for waiting.
  uint64_t sum() const {
    uint64_t sum = 0;
    for (const uint64_t value : values_) sum += value;
    return sum;
  }
  friend bool operator==(const Moment&, const Moment&) = default;

 private:
  std::array<uint64_t, kMostQueues> values_{};
};

inline Moment Later(Moment a, const Moment& b) {
  a.Join(b);
  return a;
}

}  // namespace VXLA_NAMESPACE
