#include "scheduler/replicas/transport.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE {

const int64_t* LocalTransport::Missing(const PlaceExchange& exchange, const Meeting& meeting) const {
  for (const int64_t& place : exchange.places) {
    if (meeting.posted[static_cast<size_t>(place)] == nullptr) return &place;
  }
  return nullptr;
}

Result<std::vector<PostedBytes>> LocalTransport::Exchange(const PlaceExchange& exchange, int64_t place,
                                                          std::vector<std::byte> posted) {
  std::unique_lock lock(mutex_);
  const std::pair key(exchange.number, times_[{exchange.number, place}]++);
  Meeting& meeting = meetings_[key];
  meeting.posted.resize(names_.size());
  meeting.posted[static_cast<size_t>(place)] = std::make_shared<const std::vector<std::byte>>(std::move(posted));
  changed_.notify_all();
  const auto done = [&] {
    const int64_t* const missing = Missing(exchange, meeting);
    return missing == nullptr || left_[static_cast<size_t>(*missing)];
  };
  bool in_time = true;
  if (timeout_.count() > 0) {
    in_time = changed_.wait_for(lock, timeout_, done);
  } else {
    changed_.wait(lock, done);
  }
  if (const int64_t* const missing = Missing(exchange, meeting)) {
    return DeviceFailure("deadlock: {}: place {} ({}) waits for place {} ({}), which {}", exchange.what, place,
                         names_[static_cast<size_t>(place)], *missing, names_[static_cast<size_t>(*missing)],
                         in_time ? "has ended" : fmt::format("has not come in {} ms", timeout_.count()));
  }
  std::vector<PostedBytes> all = meeting.posted;
  if (++meeting.taken == exchange.places.size()) meetings_.erase(key);
  return all;
}

void LocalTransport::Leave(int64_t place) {
  const std::lock_guard lock(mutex_);
  left_[static_cast<size_t>(place)] = true;
  changed_.notify_all();
}

}  // namespace VXLA_NAMESPACE
