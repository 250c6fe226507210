#include "scheduler/replicas/sockets/sockets.h"

#ifndef _WIN32

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace VXLA_NAMESPACE::sockets {

Deadline After(milliseconds timeout) { return timeout.count() == 0 ? Deadline() : Deadline(Clock::now() + timeout); }
bool IsOver(const Deadline& deadline) { return deadline && Clock::now() >= *deadline; }
Deadline Sooner(const Deadline& one, const Deadline& other) { return !one || (other && *other < *one) ? other : one; }

std::string ErrorText(int error) { return std::strerror(error); }

Socket::Socket(int fd) : fd_(fd) {
  if (fd < 0) return;
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

namespace {

void Turn(const Socket& socket, int level, int option, int value = 1) {
  setsockopt(socket.fd(), level, option, &value, sizeof value);
}

// Short messages go at once; a machine that is gone is noticed some day.
void PrepareSocket(const Socket& socket) {
  Turn(socket, IPPROTO_TCP, TCP_NODELAY);
  Turn(socket, SOL_SOCKET, SO_KEEPALIVE);
#ifdef SO_NOSIGPIPE
  Turn(socket, SOL_SOCKET, SO_NOSIGPIPE);
#endif
}

// False: not before the deadline.
bool IsReady(int fd, short events, const Deadline& deadline) {
  while (!IsOver(deadline)) {
    pollfd one{fd, events, 0};
    if (poll(&one, 1, 20) > 0) return true;
  }
  return false;
}

bool Listens(const Socket& socket, const sockaddr* address, socklen_t size) {
  return socket.is_open() && bind(socket.fd(), address, size) == 0 && listen(socket.fd(), 128) == 0;
}

}  // namespace

bool SendAll(const Socket& socket, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.fd(), bytes.data(), bytes.size(), kQuietly);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if ((errno != EAGAIN && errno != EINTR) || !IsReady(socket.fd(), POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}
bool ReceiveAll(const Socket& socket, std::span<char> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t got = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || !IsReady(socket.fd(), POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

void PutNumber(std::string& bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}
bool ReceiveNumber(const Socket& socket, uint64_t& number, const Deadline& deadline) {
  return ReceiveAll(socket, {reinterpret_cast<char*>(&number), sizeof number}, deadline);
}
std::optional<std::string> ReceiveText(const Socket& socket, const Deadline& deadline) {
  uint64_t size = 0;
  if (!ReceiveNumber(socket, size, deadline) || size > (1 << 20)) return std::nullopt;
  std::string text(size, '\0');
  if (!ReceiveAll(socket, text, deadline)) return std::nullopt;
  return text;
}
void PutText(std::string& bytes, std::string_view text) {
  PutNumber(bytes, text.size());
  bytes += text;
}

std::string Resolve(const std::string& host, const std::string& port, int flags, Addresses& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found.first);
  return error == 0 ? "" : gai_strerror(error);
}

Socket ConnectTo(const Addresses& addresses, const Deadline& deadline, std::string& why) {
  for (const addrinfo* a = addresses.first; a != nullptr; a = a->ai_next) {
    Socket socket(::socket(a->ai_family, a->ai_socktype, a->ai_protocol));
    if (!socket.is_open()) continue;
    int error = connect(socket.fd(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      error = ETIMEDOUT;
      if (IsReady(socket.fd(), POLLOUT, deadline)) getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      PrepareSocket(socket);
      return socket;
    }
    if (error != ETIMEDOUT || why.empty()) why = ErrorText(error);  // what an earlier try found says more
  }
  return {};
}

Socket ListenAt(const Addresses& addresses, std::string& why) {
  for (const addrinfo* a = addresses.first; a != nullptr; a = a->ai_next) {
    Socket socket(::socket(a->ai_family, a->ai_socktype, a->ai_protocol));
    Turn(socket, SOL_SOCKET, SO_REUSEADDR);
    if (Listens(socket, a->ai_addr, a->ai_addrlen)) return socket;
    why = ErrorText(errno);
  }
  return {};
}

Socket ListenAnywhere() {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  Socket both(::socket(AF_INET6, SOCK_STREAM, 0));
  Turn(both, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (Listens(both, reinterpret_cast<sockaddr*>(&six), sizeof six)) return both;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  Socket one(::socket(AF_INET, SOCK_STREAM, 0));
  if (Listens(one, reinterpret_cast<sockaddr*>(&four), sizeof four)) return one;
  return {};
}

Socket Accept(const Socket& listener, const Deadline& deadline) {
  while (IsReady(listener.fd(), POLLIN, deadline)) {
    Socket socket(accept(listener.fd(), nullptr, nullptr));
    if (!socket.is_open()) continue;
    PrepareSocket(socket);
    return socket;
  }
  return {};
}

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string PortOf(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  const bool is_six = address.ss_family == AF_INET6;
  return std::to_string(ntohs(is_six ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                     : reinterpret_cast<sockaddr_in*>(&address)->sin_port));
}

std::vector<std::string> OwnAddresses() {
  std::vector<std::string> loopback, others;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {"127.0.0.1"};
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> name{};
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(i->ifa_addr, size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (std::string_view(name.data()).find('%') != std::string_view::npos) continue;  // of one link
    ((i->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : others).emplace_back(name.data());
  }
  freeifaddrs(first);
  loopback.insert(loopback.end(), others.begin(), others.end());
  return loopback;
}
bool IsLoopback(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

}  // namespace VXLA_NAMESPACE::sockets

#endif  // _WIN32
