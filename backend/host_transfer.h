// What a program exchanges with its host: infeed and outfeed, and the sends and recvs that are host transfers.
#pragma once

#include <cstdint>
#include <functional>

#include "core/data/literal.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// Functions of the caller (scheduler/replicas/feed_queues.h has some). `device` is replica * partitions + partition.
// Each device calls from a thread of its own, in the order in which its program executes; a missing function makes the
// instruction an error. They may block.
struct HostTransfers {
  // The next item of the device's infeed, which must have this shape (an array or a tuple of arrays).
  std::function<Result<Literal>(int64_t device, const Shape& shape)> infeed;
  std::function<Status(int64_t device, Literal value)> outfeed;
  // send and recv with is_host_transfer=true.
  std::function<Status(int64_t device, int64_t channel_id, Literal value)> send_to_host;
  std::function<Result<Literal>(int64_t device, int64_t channel_id, const Shape& shape)> recv_from_host;
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
