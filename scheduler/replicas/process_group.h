// The processes of a job. integrations/mpi implements it by MPI, in a module of its own, so that only who asks for it
// loads MPI; sockets/socket_group.h does over TCP, where there is no launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace VXLA_NAMESPACE {

// Any thread may call it.
class ProcessGroup {
 public:
  // What goes to another process or comes from it. Those between two processes under one tag arrive in the order in
  // which they were sent.
  struct Message {
    int64_t peer = 0;
    int tag = 0;  // below 2^15
    bool sends = false;
    std::byte* bytes = nullptr;
    size_t size = 0;
    bool done = false;
  };

  virtual ~ProcessGroup() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  // Moves the messages and sets `done`, until all are or `goes_on`, which is asked about every millisecond, says no:
  // then the bytes of the others have to stay where they are. Gives what went wrong, or nothing.
  virtual std::string Move(std::span<Message> messages, const std::function<bool()>& goes_on) = 0;
  // Whether a message waits to be received.
  virtual bool HasArrived(int64_t peer, int tag) = 0;
  // Whom it knows to have ended: nothing comes from them but what has arrived.
  virtual std::vector<int64_t> Ended() const { return {}; }
  // All processes come to the end of the job. Without it, the launcher ends the others when this one ends.
  virtual void Finish() = 0;
};

// What the module has: `error` (of so many characters) is set where it gives null.
using OpenProcessGroup = ProcessGroup*(char* error, size_t characters);
inline constexpr char kOpenProcessGroup[] = "vxla_open_process_group";

}  // namespace VXLA_NAMESPACE
