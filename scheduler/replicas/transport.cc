#include "scheduler/replicas/transport.h"

#include <fmt/format.h>

#include <cstring>

namespace VXLA_NAMESPACE {

std::vector<size_t> OffsetsOf(const std::vector<Shape>& shapes) {
  std::vector<size_t> offsets{0};
  for (const Shape& shape : shapes) offsets.push_back(offsets.back() + static_cast<size_t>(shape.SizeBytes()));
  return offsets;
}

void TakeOwnPieces(const PlaceExchange& exchange, int64_t place, const void* const* own, void* const* received) {
  for (const PlaceExchange::Piece& piece : exchange.takes[place]) {
    if (piece.place != place || exchange.SizeOf(piece) == 0) continue;
    std::memcpy(static_cast<std::byte*>(received[piece.result]) + piece.at_bytes,
                static_cast<const std::byte*>(own[piece.which]) + piece.begin_bytes,
                static_cast<size_t>(exchange.SizeOf(piece)));
  }
}

std::optional<Status> Transport::Missed(int64_t place) const {
  const std::lock_guard lock(missed_mutex_);
  const auto found = missed_.find(place);
  return found == missed_.end() ? std::nullopt : std::optional(found->second);
}

Status Transport::Miss(int64_t place, Status status) {
  const std::lock_guard lock(missed_mutex_);
  return missed_.emplace(place, std::move(status)).first->second;
}

Status LocalTransport::ExchangeArrays(const PlaceExchange& exchange, int64_t place, const void* const* own,
                                      void* const* received) {
  const std::vector<size_t> places = OffsetsOf(exchange.posted[place]);
  std::vector<std::byte> posted(places.back());
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    if (places[i + 1] > places[i]) std::memcpy(posted.data() + places[i], own[i], places[i + 1] - places[i]);
  }
  VXLA_ASSIGN_OR_RETURN(const auto all, Exchange(exchange, place, std::move(posted)));
  TakeOwnPieces(exchange, place, own, received);
  for (const PlaceExchange::Piece& piece : exchange.takes[place]) {
    const auto from = static_cast<size_t>(piece.place);
    if (piece.place == place || exchange.SizeOf(piece) == 0) continue;
    const size_t begin = OffsetsOf(exchange.posted[from])[piece.which];
    std::memcpy(static_cast<std::byte*>(received[piece.result]) + piece.at_bytes,
                all[from]->data() + begin + piece.begin_bytes, static_cast<size_t>(exchange.SizeOf(piece)));
  }
  return OkStatus();
}

const int64_t* LocalTransport::Missing(const PlaceExchange& exchange, const Meeting& meeting) const {
  for (const int64_t& place : exchange.places) {
    if (meeting.posted[place] == nullptr) return &place;
  }
  return nullptr;
}

Result<std::vector<PostedBytes>> LocalTransport::Exchange(const PlaceExchange& exchange, int64_t place,
                                                          std::vector<std::byte> posted) {
  std::unique_lock lock(mutex_);
  const std::pair key(exchange.number, times_[{exchange.number, place}]++);
  Meeting& meeting = meetings_[key];
  meeting.posted.resize(names_.size());
  meeting.posted[place] = std::make_shared<const std::vector<std::byte>>(std::move(posted));
  changed_.notify_all();
  const auto done = [&] {
    const int64_t* const missing = Missing(exchange, meeting);
    return missing == nullptr || left_[*missing];
  };
  bool in_time = true;
  if (timeout_.count() > 0) {
    in_time = changed_.wait_for(lock, timeout_, done);
  } else {
    changed_.wait(lock, done);
  }
  if (const int64_t* const missing = Missing(exchange, meeting)) {
    return Miss(place, DeviceFailure("deadlock: {}: place {} ({}) waits for place {} ({}), which {}", exchange.what,
                                     place, names_[place], *missing, names_[*missing],
                                     in_time ? "has ended" : fmt::format("has not come in {} ms", timeout_.count())));
  }
  std::vector<PostedBytes> all = meeting.posted;
  if (++meeting.taken == exchange.places.size()) meetings_.erase(key);
  return all;
}

void LocalTransport::Leave(int64_t place) {
  const std::lock_guard lock(mutex_);
  left_[place] = true;
  changed_.notify_all();
}

}  // namespace VXLA_NAMESPACE
