// The link of devices that are threads of this process.
#include "backend/replica_link.h"

#include <fmt/format.h>

#include <thread>

#include "core/host/guarded.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/replicas/rendezvous.h"

namespace VXLA_NAMESPACE {
namespace {

Status NoHost(const Instruction& instruction, const char* what) {
  return InvalidArgument("{} {}: the run has no {}", OpcodeText(instruction.opcode()), instruction.name(), what);
}

bool IsEmptyTuple(const Shape& shape) { return shape.IsTuple() && shape.tuple_elements().empty(); }

int64_t TransferChannel(const Instruction& instruction) {
  return instruction.attributes<SendRecvAttributes>().channel_id.value_or(0);
}

// What came, in the form that is wanted: an array below a dynamic dimension's bound says how much of it lives.
Result<Literal> CheckReceived(const Instruction& instruction, Literal value, const Shape& wanted,
                              const std::string& from) {
  if (!FitsWithin(value, wanted)) {
    return InvalidArgument("{} {}: {} {}, {} needed", OpcodeText(instruction.opcode()), instruction.name(), from,
                           LiveShape(value).ToString(), wanted.ToString());
  }
  if (!value.shape().IsDynamic() && !wanted.IsDynamic()) return value;
  return ConformTo(value, wanted);
}

class ThreadLink : public ReplicaLink {
 public:
  ThreadLink(const DeviceGrid& grid, std::chrono::milliseconds time_limit, const HostTransfers& host)
      : rendezvous_(grid, time_limit), host_(host) {}

  const DeviceGrid& grid() const override { return rendezvous_.grid(); }
  Status Run(const std::function<Status(int64_t device)>& part) override;
  Status Begin(const Instruction& at, int64_t device) override { return rendezvous_.Begin(at, device); }
  Status failure() const override { return rendezvous_.failure(); }
  Result<Payload> Meet(const Instruction& at, int64_t device, std::span<const int64_t> members, Payload given,
                       const Combine& combine) override {
    return rendezvous_.Meet(at, device, members, std::move(given), combine);
  }
  Result<std::optional<Literal>> Permute(const Instruction& at, int64_t device, Literal data) override;
  Status Send(const Instruction& send, int64_t device, Literal data) override;
  Result<Literal> Receive(const Instruction& recv_done, int64_t device) override;
  Result<Literal> Infeed(const Instruction& infeed, int64_t device) override;
  Status Outfeed(const Instruction& outfeed, int64_t device, Literal data) override;

 private:
  Rendezvous rendezvous_;
  const HostTransfers& host_;
};

Status ThreadLink::Run(const std::function<Status(int64_t device)>& part) {
  const auto run = [&](int64_t device) {
    const Status status = Guarded([&] { return part(device); });
    if (status.ok()) {
      rendezvous_.Finish(device);
    } else {
      rendezvous_.Fail(device, status);
    }
  };
  std::vector<std::thread> threads;
  const Status started = Guarded([&]() -> Status {
    for (int64_t device = 1; device < grid().count(); ++device) threads.emplace_back(run, device);
    return OkStatus();
  });
  if (started.ok()) {
    run(0);
  } else {
    rendezvous_.Fail(0, started);
  }
  for (std::thread& thread : threads) thread.join();
  return rendezvous_.Outcome();
}

Result<std::optional<Literal>> ThreadLink::Permute(const Instruction& at, int64_t device, Literal data) {
  VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(at, grid(), device));
  const int64_t channel = ChannelOf(at).value_or(ChannelPath::kNoChannel);
  const auto path = [channel](int64_t source, int64_t target) {
    return ChannelPath{Opcode::kCollectivePermute, channel, source, target};
  };
  const Shape shape = data.shape();
  if (partners.target) rendezvous_.Put(at, path(device, *partners.target), std::move(data));
  std::optional<Literal> received;
  if (!partners.source) return received;
  VXLA_ASSIGN_OR_RETURN(received, rendezvous_.Take(at, device, path(*partners.source, device)));
  if (Compatible(received->shape(), shape)) return received;
  return InvalidArgument("{} {}: {} sends {}, {} needed", OpcodeText(at.opcode()), at.name(),
                         grid().Name(*partners.source), received->shape().ToString(), shape.ToString());
}

Status ThreadLink::Send(const Instruction& send, int64_t device, Literal data) {
  const int64_t channel = TransferChannel(send);
  if (IsHostTransfer(send)) {
    if (!host_.send_to_host) return NoHost(send, "host to send to (HostTransfers::send_to_host)");
    return host_.send_to_host(device, channel, std::move(data));
  }
  ChannelPath path{Opcode::kSend, channel, device, ChannelPath::kAnyTarget};
  VXLA_ASSIGN_OR_RETURN(const auto pairs, StatedPairs(send));
  if (pairs) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(send, grid(), device));
    if (!partners.target) return OkStatus();
    path.target = *partners.target;
  }
  rendezvous_.Put(send, path, std::move(data));
  return OkStatus();
}

Result<Literal> ThreadLink::Receive(const Instruction& recv_done, int64_t device) {
  const Instruction& recv = *recv_done.operand(0);
  const Shape& shape = recv.shape().tuple_elements()[0];
  const int64_t channel = TransferChannel(recv);
  if (IsHostTransfer(recv)) {
    if (!host_.recv_from_host) return NoHost(recv_done, "host to receive from (HostTransfers::recv_from_host)");
    VXLA_ASSIGN_OR_RETURN(Literal data, host_.recv_from_host(device, channel, shape));
    return CheckReceived(recv_done, std::move(data), shape, "the host gave");
  }
  VXLA_ASSIGN_OR_RETURN(const auto pairs, StatedPairs(recv));
  Literal data;
  if (pairs) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid(), device));
    if (!partners.source) return Literal(shape);
    VXLA_ASSIGN_OR_RETURN(data,
                          rendezvous_.Take(recv_done, device, {Opcode::kSend, channel, *partners.source, device}));
  } else {
    VXLA_ASSIGN_OR_RETURN(data, rendezvous_.TakeFromChannel(recv_done, device, channel));
  }
  return CheckReceived(recv_done, std::move(data), shape, fmt::format("channel {} brought", channel));
}

Result<Literal> ThreadLink::Infeed(const Instruction& infeed, int64_t device) {
  const Shape& shape = infeed.shape().tuple_elements()[0];
  if (IsEmptyTuple(shape)) return Literal();
  if (!host_.infeed) return NoHost(infeed, "infeed (EvaluateOptions::host, --infeed)");
  Result<Literal> item = host_.infeed(device, shape);
  if (!item.ok()) return Status(item.status()).WithPrefix(fmt::format("infeed {}: ", infeed.name()));
  return CheckReceived(infeed, *std::move(item), shape, "the host gave");
}

Status ThreadLink::Outfeed(const Instruction& outfeed, int64_t device, Literal data) {
  if (!host_.outfeed) return NoHost(outfeed, "outfeed (EvaluateOptions::host, --outfeed)");
  if (IsEmptyTuple(data.shape())) return OkStatus();
  Status status = host_.outfeed(device, std::move(data));
  if (!status.ok()) return std::move(status).WithPrefix(fmt::format("outfeed {}: ", outfeed.name()));
  return OkStatus();
}

}  // namespace

std::unique_ptr<ReplicaLink> MakeReplicaLink(const DeviceGrid& grid, std::chrono::milliseconds time_limit,
                                             const HostTransfers& host) {
  return std::make_unique<ThreadLink>(grid, time_limit, host);
}

}  // namespace VXLA_NAMESPACE
