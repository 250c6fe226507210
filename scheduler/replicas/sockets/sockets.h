// Sockets: TCP with deadlines, for the processes of a job. Nothing of it is there on Windows.
#pragma once

#ifndef _WIN32

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace VXLA_NAMESPACE::sockets {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The end of a wait; nothing: there is none.
using Deadline = std::optional<Clock::time_point>;
Deadline After(milliseconds timeout);  // zero: never
bool IsOver(const Deadline& deadline);
Deadline Sooner(const Deadline& one, const Deadline& other);

std::string ErrorText(int error);

// Neither blocks nor outlives an exec.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd);
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Flags of send(): who writes to one that has ended lives on.
#ifdef MSG_NOSIGNAL
inline constexpr int kQuietly = MSG_NOSIGNAL;
#else
inline constexpr int kQuietly = 0;
#endif

// Whether all of it went, or came, in time.
bool SendAll(const Socket& socket, std::string_view bytes, const Deadline& deadline);
bool ReceiveAll(const Socket& socket, std::span<char> bytes, const Deadline& deadline);
// Numbers, and texts of up to 1 MiB behind their size.
void PutNumber(std::string& bytes, uint64_t number);
void PutText(std::string& bytes, std::string_view text);
bool ReceiveNumber(const Socket& socket, uint64_t& number, const Deadline& deadline);
std::optional<std::string> ReceiveText(const Socket& socket, const Deadline& deadline);

struct Addresses {
  addrinfo* first = nullptr;
  Addresses() = default;
  Addresses(const Addresses&) = delete;
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
};
// Gives why there are none, or nothing. flags: AI_PASSIVE.
std::string Resolve(const std::string& host, const std::string& port, int flags, Addresses& found);

// Sockets that are not open: `why` says the reason.
Socket ConnectTo(const Addresses& addresses, const Deadline& deadline, std::string& why);
Socket ListenAt(const Addresses& addresses, std::string& why);
Socket ListenAnywhere();  // at a port that is free
Socket Accept(const Socket& listener, const Deadline& deadline);

std::string HostName();
std::string PortOf(const Socket& listener);
// Those of this machine that others may know; loopback first, which only this machine's processes take.
std::vector<std::string> OwnAddresses();
bool IsLoopback(std::string_view address);

}  // namespace VXLA_NAMESPACE::sockets

#endif  // _WIN32
