#include "scheduler/replicas/group_transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <list>

namespace VXLA_NAMESPACE {
namespace {

using Clock = std::chrono::steady_clock;
using Message = ProcessGroup::Message;

constexpr int kLeaveTag = 1, kGatherTag = 2;

// others: why, if not by itself.
std::string HasEnded(const std::vector<int64_t>& others) {
  return others.empty() ? "has ended" : fmt::format("has ended; so has rank {}", fmt::join(others, ", "));
}

}  // namespace

Result<std::optional<Waited>> Await(ProcessGroup& group, std::span<Message> messages, const JobWaits& waits,
                                    const std::function<std::string()>& stops) {
  const auto begin = Clock::now();
  std::optional<Clock::time_point> left_at;
  std::optional<int64_t> whom;
  std::string why;
  // The first that is waited for of those that this is true of.
  const auto missing = [&](const auto& is_so) -> std::optional<int64_t> {
    const auto m = std::ranges::find_if(messages, [&](const Message& each) { return !each.done && is_so(each.peer); });
    return m == messages.end() ? std::nullopt : std::optional<int64_t>(m->peer);
  };
  const std::string error = group.Move(messages, [&] {
    const auto now = Clock::now();
    std::vector<int64_t> ended = group.Ended();
    whom.reset();
    if (waits.is_ended != nullptr && waits.is_ended->load()) {
      why = "has not come before the launcher ended the job";
    } else if (waits.timeout.count() > 0 && now - begin > waits.timeout) {
      why = fmt::format("has not come in {} ms", waits.timeout.count());
    } else if ((whom = missing([&](int64_t peer) { return std::ranges::find(ended, peer) != ended.end(); }))) {
      std::erase(ended, *whom);
      why = HasEnded(ended);
    } else if ((whom = missing([&](int64_t peer) { return group.HasArrived(peer, kLeaveTag); }))) {
      if (!left_at) left_at = now;
      if (now - *left_at > kGrace) why = HasEnded(ended);
    }
    if (why.empty() && stops) why = stops();
    return why.empty();
  });
  if (!error.empty()) return DeviceFailure("{}", error);
  const auto first = missing([](int64_t) { return true; });
  if (!first) return std::optional<Waited>();
  return std::optional<Waited>(Waited{whom.value_or(*first), why});
}

void Abandon(std::vector<std::byte> buffer) {
  static std::mutex mutex;
  static auto* const kept = new std::list<std::vector<std::byte>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(buffer));
}

Result<std::vector<std::vector<std::byte>>> Gather(ProcessGroup& group, const std::string& what,
                                                   std::vector<std::byte> own, GatherAt at, const JobWaits& waits) {
  const auto ranks = static_cast<size_t>(group.size()), here = static_cast<size_t>(group.rank());
  std::vector<std::vector<std::byte>> all(ranks), sizes(ranks, std::vector<std::byte>(sizeof(uint64_t)));
  const uint64_t own_size = own.size();
  std::memcpy(sizes[here].data(), &own_size, sizeof own_size);
  const auto receives = [&](size_t rank) { return at == GatherAt::kAll || rank == 0; };
  const auto move = [&](std::vector<std::vector<std::byte>>& by_rank) -> Status {
    std::vector<Message> messages;
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (rank == here) continue;
      const auto add = [&](bool sends, std::vector<std::byte>& bytes) {
        messages.push_back({static_cast<int64_t>(rank), kGatherTag, sends, bytes.data(), bytes.size()});
      };
      if (receives(rank)) add(true, by_rank[here]);
      if (receives(here)) add(false, by_rank[rank]);
    }
    VXLA_ASSIGN_OR_RETURN(const auto waited, Await(group, messages, waits));
    if (!waited) return OkStatus();
    return DeviceFailure("{}: rank {} waits for rank {}, which {}", what, here, waited->peer, waited->why);
  };
  // First how much comes, then that.
  Status status = move(sizes);
  if (status.ok()) {
    for (size_t rank = 0; rank < ranks && receives(here); ++rank) {
      uint64_t size = 0;
      std::memcpy(&size, sizes[rank].data(), sizeof size);
      all[rank].resize(size);
    }
    all[here] = std::move(own);
    status = move(all);
  }
  if (!status.ok()) {
    for (auto& buffer : sizes) Abandon(std::move(buffer));
    for (auto& buffer : all) Abandon(std::move(buffer));
    return status;
  }
  return all;
}

Status MeetOthers(ProcessGroup& group, const Status& own, const std::vector<JobPart>& parts, const JobWaits& waits) {
  // The hashes, then what went wrong: its code, so that every rank ends with the same one, and its message.
  std::vector<std::byte> bytes(parts.size() * sizeof(Hash128));
  for (size_t i = 0; i < parts.size(); ++i)
    std::memcpy(bytes.data() + i * sizeof(Hash128), &parts[i].hash, sizeof(Hash128));
  const std::string failure(own.ok() ? "" : static_cast<char>(own.code()) + std::string(own.message()));
  const auto text = std::as_bytes(std::span(failure));
  bytes.insert(bytes.end(), text.begin(), text.end());
  const auto all = Gather(group, "the start of the job", std::move(bytes), GatherAt::kAll, waits);
  if (!own.ok()) return own;
  if (!all.ok()) return all.status();
  const auto hash = [&](size_t rank, size_t part) {
    Hash128 value;
    std::memcpy(&value, (*all)[rank].data() + part * sizeof(Hash128), sizeof value);
    return value;
  };
  const size_t hashes = parts.size() * sizeof(Hash128);
  for (size_t rank = 0; rank < all->size(); ++rank) {
    const std::vector<std::byte>& theirs = (*all)[rank];
    if (theirs.size() > hashes) {
      const std::string_view said(reinterpret_cast<const char*>(theirs.data()) + hashes, theirs.size() - hashes);
      return Status(static_cast<StatusCode>(said[0]), fmt::format("rank {} did not start: {}", rank, said.substr(1)));
    }
  }
  for (size_t part = 0; part < parts.size(); ++part) {
    std::string differing;
    for (size_t rank = 1; rank < all->size(); ++rank) {
      if (hash(rank, part) != hash(0, part)) differing += fmt::format("{}{}", differing.empty() ? "" : ", ", rank);
    }
    if (differing.empty()) continue;
    return InvalidArgument("all ranks run one program: the {} of rank {} differs from rank 0's (this is rank {})",
                           parts[part].name, differing, group.rank());
  }
  return OkStatus();
}

Status GroupTransport::ExchangeArrays(const PlaceExchange& exchange, int64_t place, const void* const* own,
                                      void* const* received) {
  const std::lock_guard lock(mutex_);
  const int tag = kFirstExchangeTag + static_cast<int>(exchange.number % kExchangeTags);
  TakeOwnPieces(exchange, place, own, received);
  // What goes to each place and comes from it, one piece behind the other: what it takes, and nothing else.
  std::vector<std::vector<std::byte>> sent(names_.size()), theirs(names_.size());
  for (const int64_t peer : exchange.places) {
    if (peer == place) continue;
    for (const PlaceExchange::Piece& piece : exchange.takes[peer]) {
      if (piece.place != place) continue;
      const auto* const bytes = static_cast<const std::byte*>(own[piece.which]) + piece.begin_bytes;
      sent[peer].insert(sent[peer].end(), bytes, bytes + exchange.SizeOf(piece));
    }
  }
  for (const PlaceExchange::Piece& piece : exchange.takes[place]) {
    auto& from = theirs[piece.place];
    if (piece.place != place) from.resize(from.size() + static_cast<size_t>(exchange.SizeOf(piece)));
  }
  std::vector<Message> messages;
  for (size_t peer = 0; peer < names_.size(); ++peer) {
    const auto rank = static_cast<int64_t>(peer);
    if (!sent[peer].empty()) messages.push_back({rank, tag, true, sent[peer].data(), sent[peer].size()});
    if (!theirs[peer].empty()) messages.push_back({rank, tag, false, theirs[peer].data(), theirs[peer].size()});
  }
  const auto waited = Await(group_, messages, waits_);
  if (!waited.ok() || *waited) {
    const auto missing = waited.ok() ? static_cast<size_t>((*waited)->peer) : 0;
    const std::string why = waited.ok() ? (*waited)->why : "";
    for (auto& buffer : sent) Abandon(std::move(buffer));
    for (auto& buffer : theirs) Abandon(std::move(buffer));
    if (!waited.ok()) return Status(waited.status()).WithPrefix(exchange.what + ": ");
    return Miss(place, DeviceFailure("deadlock: {}: place {} ({}) waits for place {} ({}), which {}", exchange.what,
                                     place, names_[place], missing, names_[missing], why));
  }
  std::vector<size_t> at(names_.size());
  for (const PlaceExchange::Piece& piece : exchange.takes[place]) {
    const auto from = static_cast<size_t>(piece.place), size = static_cast<size_t>(exchange.SizeOf(piece));
    if (piece.place == place || size == 0) continue;
    std::memcpy(static_cast<std::byte*>(received[piece.result]) + piece.at_bytes, theirs[from].data() + at[from], size);
    at[from] += size;
  }
  return OkStatus();
}

void GroupTransport::Leave(int64_t place) {
  const std::lock_guard lock(mutex_);
  std::vector<Message> messages;
  for (int64_t peer = 0; peer < std::ssize(names_); ++peer) {
    if (peer != place) messages.push_back({peer, kLeaveTag, true, nullptr, 0});
  }
  group_.Move(messages, [] { return false; });
}

}  // namespace VXLA_NAMESPACE
