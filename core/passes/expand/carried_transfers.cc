#include "core/passes/expand/repairs.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/devices/replica_groups.h"
#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

bool IsContext(const Shape& shape) {
  const auto& elements = shape.tuple_elements();
  return shape.IsTuple() && elements.size() == 3 && elements[1].IsScalar() &&
         elements[1].element_type() == ElementType::kU32 && elements[2].IsToken();
}

bool IsStart(const Instruction& i) {
  return (i.opcode() == Opcode::kSend && i.operand_count() == 2) ||
         (i.opcode() == Opcode::kRecv && i.operand_count() == 1);
}
bool IsDone(const Instruction& i) {
  return (i.opcode() == Opcode::kSendDone || i.opcode() == Opcode::kRecvDone) && i.operand_count() == 1;
}

bool IsDoneOf(const Instruction& done, const Instruction& start) {
  return done.opcode() == (start.opcode() == Opcode::kSend ? Opcode::kSendDone : Opcode::kRecvDone);
}

// The first use of a context that nothing finishes here, null where it is but the computation's result; nothing where
// it is finished or unused.
std::optional<Instruction*> FirstCarrier(const Computation& computation, const Instruction& start) {
  if (std::ranges::any_of(start.users(), [&](const Instruction* user) { return IsDoneOf(*user, start); })) return {};
  const auto found =
      std::ranges::find_if(computation.instructions(), [&](const auto& i) { return start.HasUser(i.get()); });
  if (found != computation.instructions().end()) return found->get();
  return computation.root() == &start ? std::optional<Instruction*>(nullptr) : std::nullopt;
}

void FinishHere(Computation& computation, Instruction& start, Instruction* carrier) {
  const std::vector<Instruction*> users(start.users().begin(), start.users().end());
  const bool is_send = start.opcode() == Opcode::kSend;
  auto done = std::make_unique<Instruction>(
      is_send ? Opcode::kSendDone : Opcode::kRecvDone,
      is_send ? Shape::Token() : Shape::Tuple({start.shape().tuple_elements()[0], Shape::Token()}),
      std::vector<Instruction*>{&start}, start.attributes(), std::vector<Computation*>{});
  done->set_name(start.name() + ".done");
  done->set_location(start.location());
  Instruction* const finished =
      carrier == nullptr ? computation.Add(std::move(done)) : computation.InsertBefore(carrier, std::move(done));
  Expansion make = carrier == nullptr ? Expansion(computation, std::as_const(start)) : Expansion(computation, carrier);
  Instruction* const data = is_send ? start.operand(0) : make.Element(finished, 0);
  Instruction* const token = is_send ? finished : make.Element(finished, 1);
  Instruction* const context = make.TupleOf({data, make.Zeros(start.shape().tuple_elements()[1]), token});
  for (Instruction* user : users) user->ReplaceOperand(&start, context);
  if (computation.root() == &start) computation.set_root(context);
}

// A done of what a tuple carried: the data are in the context.
void TakeFromContext(Computation& computation, Instruction& done) {
  Expansion make(computation, &done);
  Instruction* const token = make.Element(done.operand(0), 2);
  Instruction* const value =
      done.opcode() == Opcode::kSendDone ? token : make.TupleOf({make.Element(done.operand(0), 0), token});
  computation.ReplaceAllUses(&done, value);
  computation.Remove(&done);
}

// ---- channels

struct Channels {
  std::set<int64_t> sends, recvs;
};

std::optional<Pairs> PairsOf(const Instruction& start) {
  auto pairs = StatedPairs(start);
  if (!pairs.ok() || !*pairs) return std::nullopt;  // a run reports what is malformed
  std::ranges::sort(**pairs);
  return std::move(*pairs);
}

bool JoinChannels(const std::vector<Instruction*>& starts) {
  Channels all;
  std::map<Pairs, Channels> of_pairs;
  for (const Instruction* start : starts) {
    const auto channel = start->attributes<SendRecvAttributes>().channel_id;
    if (!channel) continue;
    const bool is_send = start->opcode() == Opcode::kSend;
    (is_send ? all.sends : all.recvs).insert(*channel);
    if (const auto pairs = PairsOf(*start)) {
      Channels& channels = of_pairs[*pairs];
      (is_send ? channels.sends : channels.recvs).insert(*channel);
    }
  }
  bool changed = false;
  for (Instruction* start : starts) {
    auto& channel = std::get<SendRecvAttributes>(start->mutable_attributes()).channel_id;
    if (start->opcode() != Opcode::kRecv || !channel || all.sends.contains(*channel)) continue;
    const auto pairs = PairsOf(*start);
    if (!pairs) continue;
    const Channels& channels = of_pairs.at(*pairs);
    if (channels.sends.size() != 1 || channels.recvs.size() != 1 || all.recvs.contains(*channels.sends.begin()))
      continue;
    channel = *channels.sends.begin();
    for (Instruction* done : start->users()) {
      if (IsDone(*done)) std::get<SendRecvAttributes>(done->mutable_attributes()).channel_id = channel;
    }
    changed = true;
  }
  return changed;
}

}  // namespace

bool FinishCarriedTransfers(Module& module) {
  std::vector<Instruction*> starts;
  for (const auto& i : EachInstruction(module)) {
    if (IsStart(*i) && IsContext(i->shape())) starts.push_back(i.get());
  }
  bool changed = JoinChannels(starts);
  std::set<Opcode> carried;
  for (Instruction* start : starts) {
    if (start->attributes<SendRecvAttributes>().is_host_transfer) continue;
    Computation& computation = *start->parent();
    const auto carrier = FirstCarrier(computation, *start);
    if (!carrier) continue;
    carried.insert(start->opcode() == Opcode::kSend ? Opcode::kSendDone : Opcode::kRecvDone);
    FinishHere(computation, *start, *carrier);
    changed = true;
  }
  if (carried.empty()) return changed;
  for (const auto& computation : module.computations()) {
    std::vector<Instruction*> dones;
    for (const auto& i : computation->instructions()) {
      if (IsDone(*i) && carried.contains(i->opcode()) && !IsStart(*i->operand(0)) && IsContext(i->operand(0)->shape()))
        dones.push_back(i.get());
    }
    for (Instruction* done : dones) TakeFromContext(*computation, *done);
  }
  return changed;
}

}  // namespace VXLA_NAMESPACE
