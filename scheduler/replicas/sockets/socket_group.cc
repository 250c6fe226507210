#include "scheduler/replicas/sockets/socket_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "core/host/ranges.h"
#include "scheduler/replicas/sockets/sockets.h"

#ifndef _WIN32
#include <poll.h>
#include <unistd.h>
#endif

namespace VXLA_NAMESPACE {

#ifdef _WIN32
struct Connections::Peer {};
struct Connections::Header {};
TellAll TellThrough(const std::string&, JobRank, std::chrono::milliseconds) {
  return [](const std::string&) -> Result<std::vector<std::string>> {
    return Unsupported("processes of a job: not on this system");
  };
}
Result<std::shared_ptr<Connections>> Connections::Open(JobRank, const TellAll&, std::chrono::milliseconds, uint64_t) {
  return Unsupported("processes of a job: not on this system");
}
Connections::~Connections() = default;
std::unique_ptr<ProcessGroup> Connections::Group(std::vector<int64_t>, const Hash128&) { return nullptr; }
std::unique_ptr<ProcessGroup> Connections::All() { return nullptr; }
#else

// Whoever does not say who he is within this is somebody else.
constexpr std::chrono::milliseconds kHello{5000};
// Of the bytes that may wait, as many may come while something behind them is waited for.
constexpr uint64_t kTimesAwaited = 8;
constexpr uint64_t kMagic = 0x31626f6a616c7876;  // "vxlajob1"

namespace sockets {
namespace {

// ---- The first process tells all.

struct Place {
  std::string host, port;
};
Result<Place> PlaceOf(const std::string& text) {
  const size_t colon = text.rfind(':');
  Place place{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
  if (place.host.starts_with('[') && place.host.ends_with(']'))
    place.host = place.host.substr(1, place.host.size() - 2);
  if (place.host.empty() || place.port.empty())
    return InvalidArgument("coordinator '{}': HOST:PORT is wanted, the address at which rank 0 listens", text);
  return place;
}

Result<Socket> ListenAsFirst(const std::string& coordinator) {
  VXLA_ASSIGN_OR_RETURN(const Place place, PlaceOf(coordinator));
  Addresses addresses;
  std::string why = Resolve(place.host, place.port, AI_PASSIVE, addresses);
  Socket listener = ListenAt(addresses, why);
  if (listener.is_open()) return listener;
  return InvalidArgument("coordinator '{}': rank 0 cannot listen there: {}", coordinator, why);
}

struct Told {
  std::vector<std::string> texts;  // by rank
  std::vector<Socket> sockets;
  std::vector<int64_t> Missing() const {
    std::vector<int64_t> missing;
    for (size_t rank = 1; rank < sockets.size(); ++rank) {
      if (!sockets[rank].is_open()) missing.push_back(rank);
    }
    return missing;
  }
};

// A process says who it is. Nothing: it is none of a job.
Status Hear(Socket socket, JobRank self, const Deadline& deadline, Told& told) {
  uint64_t magic = 0, rank = 0, ranks = 0;
  if (!ReceiveNumber(socket, magic, deadline) || magic != kMagic) return OkStatus();
  if (!ReceiveNumber(socket, rank, deadline) || !ReceiveNumber(socket, ranks, deadline)) return OkStatus();
  std::optional<std::string> text = ReceiveText(socket, deadline);
  if (!text) return OkStatus();
  Status status;
  if (static_cast<int64_t>(ranks) != self.ranks) {
    status = InvalidArgument("rank {} is one of {} ranks, and rank 0 one of {}", rank, ranks, self.ranks);
  } else if (rank == 0 || rank >= ranks) {
    status =
        InvalidArgument("a process says that it is rank {} of {}; rank 0 is here, the others follow it", rank, ranks);
  } else if (told.sockets[rank].is_open()) {
    status = InvalidArgument("two processes say that they are rank {} of {}", rank, ranks);
  } else {
    told.sockets[rank] = std::move(socket);
    told.texts[rank] = *std::move(text);
    return OkStatus();
  }
  std::string bytes;
  PutNumber(bytes, static_cast<uint64_t>(status.code()));
  PutText(bytes, status.message());
  SendAll(socket, bytes, deadline);
  return status;
}

Result<std::vector<std::string>> TellAsFirst(const std::string& coordinator, JobRank self, milliseconds timeout,
                                             const std::string& own) {
  VXLA_ASSIGN_OR_RETURN(const Socket listener, ListenAsFirst(coordinator));
  const Deadline deadline = After(timeout);
  Told told{std::vector<std::string>(static_cast<size_t>(self.ranks)), {}};
  told.sockets.resize(told.texts.size());
  told.texts[0] = own;
  Status status;
  while (status.ok() && !told.Missing().empty()) {
    Socket socket = Accept(listener, deadline);
    if (socket.is_open()) {
      status = Hear(std::move(socket), self, Sooner(deadline, After(kHello)), told);
    } else {
      const std::vector<int64_t> missing = told.Missing();
      status = DeviceFailure("the start of the job: rank 0 waits at {} for rank{} {}, which {} not come in {} ms",
                             coordinator, missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                             missing.size() == 1 ? "has" : "have", timeout.count());
    }
  }
  std::string bytes;
  PutNumber(bytes, static_cast<uint64_t>(status.code()));
  if (!status.ok()) PutText(bytes, status.message());
  for (const std::string& text : told.texts) PutText(bytes, text);
  for (const Socket& socket : told.sockets) {
    if (socket.is_open()) SendAll(socket, bytes, After(kHello));
  }
  VXLA_RETURN_IF_ERROR(status);
  return told.texts;
}

Result<std::vector<std::string>> HearFromFirst(const std::string& coordinator, JobRank self, milliseconds timeout,
                                               const std::string& own) {
  VXLA_ASSIGN_OR_RETURN(const Place place, PlaceOf(coordinator));
  const Deadline deadline = After(timeout);
  Addresses addresses;
  std::string why = Resolve(place.host, place.port, 0, addresses);
  if (!why.empty()) return InvalidArgument("coordinator '{}': {}", coordinator, why);
  Socket socket = ConnectTo(addresses, deadline, why);
  while (!socket.is_open() && !IsOver(deadline)) {
    std::this_thread::sleep_for(milliseconds(20));
    socket = ConnectTo(addresses, deadline, why);
  }
  if (!socket.is_open()) {
    return DeviceFailure("the start of the job: rank {} waits for rank 0, which has not come to {} in {} ms: {}",
                         self.rank, coordinator, timeout.count(), why);
  }
  std::string hello;
  for (const uint64_t number : {kMagic, static_cast<uint64_t>(self.rank), static_cast<uint64_t>(self.ranks)})
    PutNumber(hello, number);
  PutText(hello, own);
  // The first one says who is late, so it is given more time.
  const Deadline answer = timeout.count() == 0 ? Deadline() : After(timeout + kHello);
  const auto lost = [&] {
    return DeviceFailure("the start of the job: rank {} waits at {} for rank 0, which {}", self.rank, coordinator,
                         IsOver(answer) ? "does not answer" : "has ended");
  };
  uint64_t code = 0;
  if (!SendAll(socket, hello, answer) || !ReceiveNumber(socket, code, answer)) return lost();
  if (code != 0) {
    const std::optional<std::string> message = ReceiveText(socket, answer);
    if (!message) return lost();
    return Status(static_cast<StatusCode>(code), *message);
  }
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < self.ranks; ++rank) {
    std::optional<std::string> text = ReceiveText(socket, answer);
    if (!text) return lost();
    texts.push_back(*std::move(text));
  }
  return texts;
}

// ---- Where a process is reached: its machine's name, a number that only the job knows, its port and its addresses.

struct Reached {
  std::string host, port;
  uint64_t token = 0;
  std::vector<std::string> addresses;
};
std::string TextOf(const Reached& reached) {
  return fmt::format("{} {} {} {}", reached.host.empty() ? "-" : reached.host, reached.token, reached.port,
                     fmt::join(reached.addresses, " "));
}
Reached ReachedOf(std::string_view text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  words.resize(std::max<size_t>(words.size(), 3));
  return {words[0], words[2], std::strtoull(words[1].c_str(), nullptr, 10), {words.begin() + 3, words.end()}};
}

// To another process, which answers with the magic number.
Socket Reach(const Reached& other, int64_t rank, const Deadline& deadline, std::string& why) {
  for (const std::string& address : other.addresses) {
    if (IsLoopback(address) && other.host != HostName()) continue;
    Addresses addresses;
    why = Resolve(address, other.port, AI_NUMERICHOST | AI_NUMERICSERV, addresses);
    const Deadline soon = Sooner(deadline, After(kHello));
    Socket socket = ConnectTo(addresses, soon, why);
    if (!socket.is_open()) continue;
    std::string hello;
    for (const uint64_t number : {kMagic, other.token, static_cast<uint64_t>(rank)}) PutNumber(hello, number);
    uint64_t answer = 0;
    why = "it does not answer";
    if (SendAll(socket, hello, soon) && ReceiveNumber(socket, answer, soon) && answer == kMagic) return socket;
  }
  return {};
}

}  // namespace
}  // namespace sockets

struct Connections::Header {
  Hash128 group;
  uint64_t size = 0;
  int64_t tag = 0;
};

TellAll TellThrough(const std::string& coordinator, JobRank self, std::chrono::milliseconds timeout) {
  return [coordinator, self, timeout](const std::string& own) {
    return self.rank == 0 ? sockets::TellAsFirst(coordinator, self, timeout, own)
                          : sockets::HearFromFirst(coordinator, self, timeout, own);
  };
}

struct Connections::Peer {
  int64_t rank = 0;
  sockets::Socket socket;
  std::mutex sending;
  std::atomic<bool> ended = false;
  uint64_t waiting = 0;  // bytes that nobody has asked for (mutex_)
  int64_t awaited = 0;   // how many messages to or from it are moved now (mutex_)
  // Of the thread that receives.
  std::array<std::byte, sizeof(Header)> head{};
  Header header;
  std::vector<std::byte> body;
  size_t got = 0;  // of both
};

// ---- A group of them.

class Connections::Members : public ProcessGroup {
 public:
  Members(std::shared_ptr<Connections> connections, std::vector<int64_t> members, const Hash128& name)
      : connections_(std::move(connections)), members_(std::move(members)), name_(name) {
    rank_ = std::ranges::find(members_, connections_->self_.rank) - members_.begin();
  }
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return std::ssize(members_); }

  std::string Move(std::span<Message> messages, const std::function<bool()>& goes_on) override {
    std::call_once(begun_, [this] { group_ = connections_->NextOf(name_, members_); });
    const Awaits awaits(*this, messages);
    for (Message& m : messages) {
      if (m.sends) m.done = connections_->Send(ProcessOf(m.peer), group_, m, goes_on);
    }
    while (!Take(messages)) {
      if (goes_on()) continue;
      if (Take(messages)) break;  // it may have come while others were asked
      const std::lock_guard lock(connections_->mutex_);
      return connections_->error_;
    }
    return {};
  }

  bool HasArrived(int64_t peer, int tag) override {
    const std::lock_guard lock(connections_->mutex_);
    const auto found = connections_->arrived_.find({group_, ProcessOf(peer), tag});
    return found != connections_->arrived_.end() && !found->second.empty();
  }

  std::vector<int64_t> Ended() const override {
    std::vector<int64_t> ended;
    for (int64_t peer = 0; peer < size(); ++peer) {
      if (peer != rank_ && connections_->HasEnded(ProcessOf(peer))) ended.push_back(peer);
    }
    return ended;
  }

  void Finish() override { connections_->Finish(); }

 private:
  // Whoever waits for a process wants to hear from it, whatever else of it waits.
  class Awaits {
   public:
    Awaits(const Members& members, std::span<const Message> messages) : members_(members), messages_(messages) {
      Add(1);
    }
    ~Awaits() { Add(-1); }
    Awaits(const Awaits&) = delete;

   private:
    void Add(int64_t count) const {
      const std::lock_guard lock(members_.connections_->mutex_);
      for (const Message& m : messages_) {
        members_.PeerOf(m.peer).awaited += count;
        if (!m.sends) members_.connections_->asked_[{members_.group_, members_.ProcessOf(m.peer), m.tag}] += count;
      }
      std::erase_if(members_.connections_->asked_, [](const auto& asked) { return asked.second == 0; });
    }
    const Members& members_;
    const std::span<const Message> messages_;
  };

  int64_t ProcessOf(int64_t peer) const { return members_.at(peer); }
  Peer& PeerOf(int64_t peer) const { return *connections_->peers_.at(ProcessOf(peer)); }

  bool Take(std::span<Message> messages) {
    std::unique_lock lock(connections_->mutex_);
    return connections_->changed_.wait_for(lock, std::chrono::milliseconds(1), [&] {
      for (Message& m : messages) {
        if (m.done || m.sends) continue;
        const auto found = connections_->arrived_.find({group_, ProcessOf(m.peer), m.tag});
        if (found == connections_->arrived_.end()) continue;
        const std::vector<std::byte>& bytes = found->second.front();
        std::ranges::copy_n(bytes.begin(), static_cast<ptrdiff_t>(std::min(bytes.size(), m.size)), m.bytes);
        PeerOf(m.peer).waiting -= bytes.size();
        found->second.pop_front();
        if (found->second.empty()) connections_->arrived_.erase(found);
        m.done = true;
      }
      return std::ranges::all_of(messages, &Message::done);
    });
  }

  const std::shared_ptr<Connections> connections_;
  const std::vector<int64_t> members_;
  const Hash128 name_;
  int64_t rank_ = 0;
  std::once_flag begun_;
  Hash128 group_;
};

// ---- The connections.

Connections::Connections(JobRank self, uint64_t most_waiting) : self_(self), most_waiting_(most_waiting) {}

Result<std::shared_ptr<Connections>> Connections::Open(JobRank self, const TellAll& tell,
                                                       std::chrono::milliseconds timeout, uint64_t most_waiting) {
  if (self.ranks < 1 || self.rank < 0 || self.rank >= self.ranks)
    return InvalidArgument("rank {} of {} ranks: they count from 0", self.rank, self.ranks);
  std::shared_ptr<Connections> made(new Connections(self, most_waiting));
  const sockets::Socket listener = sockets::ListenAnywhere();
  if (!listener.is_open()) return DeviceFailure("no port to listen at: {}", sockets::ErrorText(errno));
  std::random_device random;
  const sockets::Reached own{sockets::HostName(), sockets::PortOf(listener), (uint64_t{random()} << 32) | random(),
                             sockets::OwnAddresses()};
  VXLA_ASSIGN_OR_RETURN(const std::vector<std::string> texts, tell(sockets::TextOf(own)));
  VXLA_RETURN_IF_ERROR(made->Connect(texts, listener.fd(), own.token, timeout));
  made->thread_ = std::thread([connections = made.get()] { connections->Receive(); });
  return made;
}

Status Connections::Connect(const std::vector<std::string>& texts, int listener, uint64_t token,
                            std::chrono::milliseconds timeout) {
  const sockets::Deadline deadline = sockets::After(timeout);
  peers_.resize(texts.size());
  const auto add = [&](int64_t rank, sockets::Socket socket) {
    auto peer = std::make_unique<Peer>();
    peer->rank = rank;
    peer->socket = std::move(socket);
    peers_[rank] = std::move(peer);
  };
  // Each process connects to those before it.
  for (int64_t rank = 0; rank < self_.rank; ++rank) {
    const sockets::Reached other = sockets::ReachedOf(texts[rank]);
    std::string why = "it names no address";
    sockets::Socket socket = sockets::Reach(other, self_.rank, deadline, why);
    if (!socket.is_open()) {
      return DeviceFailure("the start of the job: rank {} does not reach rank {} at {}, port {}: {}", self_.rank, rank,
                           fmt::join(other.addresses, ", "), other.port, why);
    }
    add(rank, std::move(socket));
  }
  const sockets::Socket door(dup(listener));
  for (int64_t left = self_.ranks - self_.rank - 1; left > 0;) {
    sockets::Socket socket = sockets::Accept(door, deadline);
    if (!socket.is_open()) {
      int64_t missing = self_.rank + 1;
      while (peers_[missing] != nullptr) ++missing;
      return DeviceFailure("the start of the job: rank {} waits for rank {}, which has not come in {} ms", self_.rank,
                           missing, timeout.count());
    }
    const sockets::Deadline soon = sockets::Sooner(deadline, sockets::After(kHello));
    uint64_t magic = 0, said = 0, rank = 0;
    if (!sockets::ReceiveNumber(socket, magic, soon) || magic != kMagic ||
        !sockets::ReceiveNumber(socket, said, soon) || said != token || !sockets::ReceiveNumber(socket, rank, soon) ||
        rank <= static_cast<uint64_t>(self_.rank) || rank >= peers_.size() || peers_[rank] != nullptr)
      continue;
    std::string answer;
    sockets::PutNumber(answer, kMagic);
    if (!sockets::SendAll(socket, answer, soon)) continue;
    add(static_cast<int64_t>(rank), std::move(socket));
    --left;
  }
  return OkStatus();
}

Connections::~Connections() {
  {
    const std::lock_guard lock(mutex_);
    finishes_ = true;
  }
  for (const auto& peer : peers_) {
    if (peer != nullptr) shutdown(peer->socket.fd(), SHUT_RDWR);
  }
  if (thread_.joinable()) thread_.join();
}

void Connections::Receive() {
  for (;;) {
    std::vector<pollfd> open;
    std::vector<Peer*> of;
    bool all = true;
    for (const auto& peer : peers_) {
      if (peer == nullptr || peer->ended) continue;
      if (!MayReceive(*peer)) {
        all = false;
        continue;
      }
      open.push_back({peer->socket.fd(), POLLIN, 0});
      of.push_back(peer.get());
    }
    if (open.empty() && all) return;
    if (poll(open.data(), open.size(), all ? -1 : 1) < 0) continue;
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].revents == 0 || ReceiveSome(*of[i])) continue;
      {
        const std::lock_guard lock(mutex_);
        of[i]->ended = true;
      }
      changed_.notify_all();
    }
  }
}

bool Connections::MayReceive(const Peer& peer) const {
  const std::lock_guard lock(mutex_);
  return peer.waiting < most_waiting_ || peer.awaited > 0 || finishes_;
}

bool Connections::Keep(Peer& peer) {
  const std::lock_guard lock(mutex_);
  const Box box{peer.header.group, peer.rank, static_cast<int>(peer.header.tag)};
  // Who asks for something that is there is about to take it.
  const bool is_stuck = std::ranges::none_of(asked_, [&](const auto& asked) {
    return std::get<1>(asked.first) == peer.rank && (asked.first == box || arrived_.contains(asked.first));
  });
  if (peer.waiting >= kTimesAwaited * most_waiting_ && is_stuck) {
    if (finishes_) return true;
    error_ = fmt::format("rank {} has sent {} bytes that rank {} has not asked for, of {} that may wait", peer.rank,
                         peer.waiting, self_.rank, kTimesAwaited * most_waiting_);
    return false;
  }
  peer.waiting += peer.body.size();
  arrived_[box].push_back(std::move(peer.body));
  return true;
}

bool Connections::ReceiveSome(Peer& peer) {
  const bool in_head = peer.got < sizeof(Header);
  std::byte* const to = in_head ? peer.head.data() + peer.got : peer.body.data() + (peer.got - sizeof(Header));
  const size_t wanted = sizeof(Header) + (in_head ? 0 : peer.body.size()) - peer.got;
  const ssize_t got = recv(peer.socket.fd(), to, wanted, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
  if (got < 0) return true;
  peer.got += static_cast<size_t>(got);
  if (in_head) {
    if (peer.got < sizeof(Header)) return true;
    std::memcpy(&peer.header, peer.head.data(), sizeof(Header));
    try {
      peer.body.resize(peer.header.size);
    } catch (const std::exception&) {
      return false;  // no memory for it
    }
  }
  if (peer.got < sizeof(Header) + peer.body.size()) return true;
  peer.got = 0;
  if (!Keep(peer)) return false;
  peer.body = {};
  changed_.notify_all();
  return true;
}

bool Connections::Send(int64_t rank, const Hash128& group, const ProcessGroup::Message& message,
                       const std::function<bool()>& goes_on) {
  Peer& peer = *peers_.at(rank);
  const Header header{group, message.size, message.tag};
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(&header, 1)), {message.bytes, message.size}};
  const std::lock_guard lock(peer.sending);
  bool begun = false;
  for (std::span<const std::byte> left : parts) {
    while (!left.empty()) {
      if (peer.ended) return false;
      const ssize_t sent = send(peer.socket.fd(), left.data(), left.size(), sockets::kQuietly);
      if (sent >= 0) {
        left = left.subspan(sent);
        begun = true;
        continue;
      }
      if (errno == EINTR) continue;
      pollfd one{peer.socket.fd(), POLLOUT, 0};
      if (errno == EAGAIN && (poll(&one, 1, 1) > 0 || goes_on())) continue;
      // Half a message is the last that this one hears.
      if (begun) shutdown(peer.socket.fd(), SHUT_WR);
      return false;
    }
  }
  return true;
}

bool Connections::HasEnded(int64_t rank) const {
  const auto& peer = peers_.at(rank);
  return peer != nullptr && peer->ended;
}

Hash128 Connections::NextOf(const Hash128& name, const std::vector<int64_t>& members) {
  const std::lock_guard lock(mutex_);
  return HashText(fmt::format("{} {} {}", name.Hex(), ++names_[name], fmt::join(members, ",")));
}

void Connections::Finish() {
  for (const auto& peer : peers_) {
    if (peer != nullptr) shutdown(peer->socket.fd(), SHUT_WR);
  }
  // What is on its way arrives only as long as somebody is there who takes what comes.
  std::unique_lock lock(mutex_);
  finishes_ = true;
  changed_.wait_for(lock, kHello, [&] {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer == nullptr || peer->ended; });
  });
}

std::unique_ptr<ProcessGroup> Connections::Group(std::vector<int64_t> members, const Hash128& name) {
  return std::make_unique<Members>(shared_from_this(), std::move(members), name);
}

std::unique_ptr<ProcessGroup> Connections::All() {
  return Group(Counted<int64_t>(static_cast<size_t>(self_.ranks)), {});
}

#endif

}  // namespace VXLA_NAMESPACE
