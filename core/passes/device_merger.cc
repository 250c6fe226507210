#include "core/passes/device_merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "core/passes/call_inliner.h"
#include "core/passes/dce.h"
#include "core/passes/exchanges.h"
#include "core/passes/integer_folding.h"

namespace VXLA_NAMESPACE {
namespace {

using Values = std::vector<Instruction*>;  // by device, or by member of a group

template <typename... Args>
Status MergeError(const Instruction& instruction, StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format("{} {}: {}", OpcodeText(instruction.opcode()), instruction.name(),
                                  fmt::format(format, std::forward<Args>(args)...)))
      .At(instruction.location());
}

bool IsExchange(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

bool IsPermute(Opcode opcode) {
  return opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart;
}

// Draws from a state of its device, or talks to its host.
bool IsOfItsDevice(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
      return true;
    case Opcode::kSend:
    case Opcode::kRecv:
      return instruction.attributes<SendRecvAttributes>().is_host_transfer;
    case Opcode::kSendDone:
    case Opcode::kRecvDone:
      return IsOfItsDevice(*instruction.operand(0));
    default:
      return false;
  }
}

bool KnowsItsDevice(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kReplicaId:
    case Opcode::kPartitionId:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
      return true;
    default:
      return IsExchange(instruction.opcode()) || IsOfItsDevice(instruction);
  }
}

Status CheckMergeable(const Instruction& instruction) {
  if (!IsExchange(instruction.opcode())) return OkStatus();
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsDynamic()) continue;
    return MergeError(instruction, StatusCode::kUnsupported,
                      "exchanges arrays with dynamic dimensions: several devices of it run on the CPU reference only");
  }
  return OkStatus();
}

class Merger {
 public:
  // places: null where all devices are here.
  Merger(const Module& source, const DeviceGrid& grid, const DevicePlaces* places)
      : source_(source), grid_(grid), places_(places), depends_(KnowsItsDevice), has_effects_(HasSideEffect) {}

  Result<MergedProgram> Merge(const std::vector<bool>& shared);

 private:
  // One computation of the source for some devices, at the end of one of the target's. Each device goes through the
  // instructions in their order, and waits where others have to come too.
  struct Frame {
    const Computation& source;
    Computation& into;
    IntList devices;
    std::unordered_map<const Instruction*, Values> values;
    std::map<int64_t, std::list<std::unique_ptr<Instruction>>::const_iterator> at;  // by device
    // Equal values are made once.
    std::map<std::pair<const Instruction*, Values>, Instruction*> copies;
    std::map<std::pair<std::string, int64_t>, Instruction*> integers;  // by shape and value
    std::map<std::pair<Instruction*, int64_t>, Instruction*> elements;
    // What sends have given and no recv has taken yet, by (channel, source, target).
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Instruction*>> sent;
    Instruction* parted = nullptr;  // s32: which of partings_ has come to be, 0: none; null: none can
  };

  // `arguments`: of the devices, by parameter. Gives the roots, by device. parted: as a frame's, before and after.
  Result<Values> Emit(const Computation& source, Computation& into, const IntList& devices,
                      const std::vector<Values>& arguments, Instruction*& parted);
  // False: it has to wait.
  Result<bool> Step(Frame& frame, int64_t device, const Instruction& instruction);
  bool HaveCome(const Frame& frame, const Instruction& instruction, const IntList& devices) const;
  // Which devices have to come before this one can go on; none: any of them may be the one.
  Result<IntList> AwaitedBy(const Frame& frame, const Instruction& instruction, int64_t device) const;
  Status Deadlock(const Frame& frame) const;
  // Those who take part with `device` go its way.
  Status CheckTogether(const Frame& frame, const Instruction& instruction, int64_t device, const IntList& others) const;

  Values& ValuesOf(Frame& frame, const Instruction& instruction) {
    Values& values = frame.values[&instruction];
    if (values.empty()) values.resize(static_cast<size_t>(grid_.count()));
    return values;
  }
  Values OperandsOf(Frame& frame, const Instruction& instruction, int64_t device) {
    Values operands;
    for (const Instruction* operand : instruction.operands()) {
      operands.push_back(frame.values.at(operand)[static_cast<size_t>(device)]);
    }
    return operands;
  }
  Instruction* Copy(Frame& frame, int64_t device, const Instruction& instruction);
  // A constant in the instruction's place.
  Instruction* IntegerOf(Frame& frame, const Instruction& instruction, int64_t value);
  Instruction* ElementOf(Frame& frame, const Instruction& like, Instruction* tuple, int64_t index);
  Computation* PlainCopyOf(Computation* computation);

  bool IsHere(int64_t device) const { return places_ == nullptr || places_->IsHere(device); }
  bool AnyHere(const IntList& devices) const {
    return std::ranges::any_of(devices, [&](int64_t device) { return IsHere(device); });
  }
  // Stands for a value of devices elsewhere, each time another one; what is made of it is dead code in the end.
  Instruction* Absent(Computation& into, const Instruction& like, const Shape& shape);
  // values[i] is what devices[i] gives; afterwards it is known at the places of `takers`. Places differ in what stands
  // here, but never in which values are one, so that all of them merge alike.
  Status Share(Computation& into, const Instruction& like, const IntList& devices,
               const std::vector<Instruction**>& values, const IntList& takers);
  Status ShareWays(Computation& into, const Instruction& like, const IntList& devices, Values& ways);
  // Exchanges, and loops and branches with exchanges in them, keep one order.
  void InOrder(Computation& into, Instruction* exchange);
  bool Exchanges(const Computation& computation) const { return last_.contains(&computation); }

  Status Exchange(Frame& frame, const Instruction& instruction, const IntList& members);
  Status Permute(Frame& frame, const Instruction& instruction);
  Status Send(Frame& frame, int64_t device, const Instruction& instruction);
  Result<bool> Receive(Frame& frame, int64_t device, const Instruction& done);

  Status Call(Frame& frame, const Instruction& instruction);
  struct MergedBranch {
    Computation* computation = nullptr;
    Instruction *operand = nullptr, *parted = nullptr;
  };
  Result<Values> Branch(Frame& frame, const Instruction& instruction, int branch, const IntList& devices,
                        MergedBranch& merged);
  Status Conditional(Frame& frame, const Instruction& instruction);
  Result<IntList> KnownBranches(Frame& frame, const Instruction& instruction);
  Status While(Frame& frame, const Instruction& instruction, const IntList& devices);
  // Of classes of devices that go their own ways, those whose members meet inside of the instruction go one way, which
  // is the first one's: a check says whether it is the others' too.
  struct Ways {
    std::vector<IntList> classes;
    std::vector<const Instruction*> meetings;  // by class; null: its devices have one value
  };
  Status Parting(const Instruction& instruction, const Instruction& meeting, const IntList& devices) const;
  Result<Ways> WaysOf(const Instruction& instruction, const std::vector<IntList>& classes);
  void AddCheck(Frame& frame, const Instruction& instruction, const Instruction& meeting, const IntList& devices,
                const Values& ways);
  void AddParted(Frame& frame, const Instruction& like, Instruction* parted);
  struct Loop;
  Result<bool> TryLoop(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop);

  const Module& source_;
  const DeviceGrid grid_;
  std::unique_ptr<Module> target_;
  const DevicePlaces* const places_;
  DeepProperty depends_, has_effects_;
  std::unordered_map<const Computation*, Computation*> plain_;
  std::vector<Status> partings_;
  std::vector<PlaceExchange> exchanges_;
  int64_t exchange_count_ = 0;
  std::unordered_map<const Computation*, Instruction*> last_;  // exchange, or what has some inside
};

Computation* Merger::PlainCopyOf(Computation* computation) {
  if (const auto known = plain_.find(computation); known != plain_.end()) return known->second;
  // Callees first.
  for (const auto& instruction : computation->instructions()) {
    for (Computation* called : instruction->called()) PlainCopyOf(called);
  }
  Computation* const copy = target_->AddComputation(computation->name());
  copy->set_root(CloneInto(*computation, *copy, {}, [&](Computation* called) { return plain_.at(called); }));
  return plain_[computation] = copy;
}

constexpr std::string_view kAbsent = "vxla.device_elsewhere";

Instruction* Merger::Absent(Computation& into, const Instruction& like, const Shape& shape) {
  CustomCallAttributes attributes;
  attributes.custom_call_target = kAbsent;
  return Expansion(into, like).Add(Opcode::kCustomCall, shape, {}, std::move(attributes));
}

void Merger::InOrder(Computation& into, Instruction* exchange) {
  Instruction*& last = last_[&into];
  if (last != nullptr) exchange->AddControlPredecessor(last);
  last = exchange;
}

// The arrays that a value is made of, depth first.
void AppendArrays(Expansion& make, Instruction* value, Values& arrays) {
  if (value->shape().IsArray()) arrays.push_back(value);
  for (size_t i = 0; value->shape().IsTuple() && i < value->shape().tuple_elements().size(); ++i) {
    AppendArrays(make, make.Element(value, static_cast<int64_t>(i)), arrays);
  }
}

// The same value as another instruction.
Instruction* Renewed(Expansion& make, Instruction* value) {
  if (!value->shape().IsTuple()) return make.Add(Opcode::kCopy, value->shape(), {value});
  Values elements;
  for (int64_t i = 0; i < std::ssize(value->shape().tuple_elements()); ++i) elements.push_back(make.Element(value, i));
  return make.TupleOf(elements);
}

// A value of arrays that are elements of `call` from `next` on.
Instruction* Received(Expansion& make, const Shape& shape, Instruction* call, int64_t& next) {
  if (shape.IsArray()) return make.Element(call, next++);
  if (!shape.IsTuple()) return make.Zeros(shape);
  Values elements;
  for (const Shape& element : shape.tuple_elements()) elements.push_back(Received(make, element, call, next));
  return make.TupleOf(elements);
}

Status Merger::Share(Computation& into, const Instruction& like, const IntList& devices,
                     const std::vector<Instruction**>& values, const IntList& takers) {
  if (places_ == nullptr) return OkStatus();
  const auto place_of = [&](int64_t device) { return places_->place_of[static_cast<size_t>(device)]; };
  struct OneValue {
    Instruction* value = nullptr;
    std::set<int64_t> known_at;
    int64_t owner = 0;     // a place
    int64_t received = 0;  // its first array, among those received
    std::vector<Instruction**> uses;
  };
  std::vector<OneValue> all;
  for (size_t i = 0; i < devices.size(); ++i) {
    auto one = std::ranges::find(all, *values[i], &OneValue::value);
    if (one == all.end()) one = all.insert(all.end(), OneValue{*values[i], {}, place_of(devices[i]), 0, {}});
    one->known_at.insert(place_of(devices[i]));
    one->uses.push_back(values[i]);
  }
  std::set<int64_t> taking;
  for (const int64_t device : takers) taking.insert(place_of(device));
  std::erase_if(all, [&](const OneValue& one) { return std::ranges::includes(one.known_at, taking); });
  if (all.empty()) return OkStatus();
  PlaceExchange exchange;
  exchange.number = ++exchange_count_;
  exchange.what = TextWithChannel(like);
  for (const OneValue& one : all) taking.insert(one.owner);
  exchange.places.assign(taking.begin(), taking.end());
  exchange.posted.resize(static_cast<size_t>(*std::ranges::max_element(places_->place_of)) + 1);
  Expansion make(into, like);
  Values operands;
  std::vector<Shape> received;
  for (OneValue& one : all) {
    std::vector<Shape>& posted = exchange.posted[static_cast<size_t>(one.owner)];
    if (one.owner == places_->here) AppendArrays(make, one.value, operands);
    one.received = std::ssize(received);
    for (const Shape* leaf : FlattenTuple(one.value->shape())) {
      if (!leaf->IsArray()) continue;
      if (!one.known_at.contains(places_->here)) {
        exchange.received.emplace_back(one.owner, std::ssize(posted));
        received.push_back(*leaf);
      }
      posted.push_back(*leaf);
    }
  }
  const bool takes_part = taking.contains(places_->here);
  Instruction* call = nullptr;
  if (takes_part) {
    CustomCallAttributes attributes;
    attributes.custom_call_target = exchange.target();
    attributes.custom_call_has_side_effect = true;
    call = make.Add(Opcode::kCustomCall, Shape::Tuple(received), std::move(operands), std::move(attributes));
    InOrder(into, call);
    exchanges_.push_back(std::move(exchange));
  }
  for (OneValue& one : all) {
    // Everywhere another value than before.
    const bool here = one.known_at.contains(places_->here);
    Instruction* const shared = here         ? Renewed(make, one.value)
                                : takes_part ? Received(make, one.value->shape(), call, one.received)
                                             : Absent(into, like, one.value->shape());
    for (Instruction** use : one.uses) *use = shared;
  }
  return OkStatus();
}

Status Merger::ShareWays(Computation& into, const Instruction& like, const IntList& devices, Values& ways) {
  std::vector<Instruction**> values;
  for (const int64_t device : devices) values.push_back(&ways[static_cast<size_t>(device)]);
  return Share(into, like, devices, values, devices);
}

Instruction* Merger::Copy(Frame& frame, int64_t device, const Instruction& instruction) {
  Values operands = OperandsOf(frame, instruction, device);
  if (instruction.opcode() == Opcode::kGetTupleElement) {
    return ElementOf(frame, instruction, operands[0], instruction.attributes<GetTupleElementAttributes>().index);
  }
  const bool effect = HasSideEffect(instruction);
  Instruction*& known = frame.copies[{&instruction, operands}];
  if (known != nullptr && !effect) return known;
  std::vector<Computation*> called;
  for (Computation* computation : instruction.called()) called.push_back(PlainCopyOf(computation));
  auto copy = std::make_unique<Instruction>(instruction.opcode(), instruction.shape(), std::move(operands),
                                            instruction.attributes(), std::move(called));
  copy->set_name(instruction.name());
  copy->mutable_common() = instruction.common();
  copy->set_location(instruction.location());
  if (device != 0 && IsOfItsDevice(instruction)) StateDevice(*copy, device);
  if (const auto value = KnownInteger(*copy); value && instruction.control_predecessors().empty()) {
    return known = IntegerOf(frame, instruction, *value);
  }
  known = frame.into.Add(std::move(copy));
  for (const Instruction* before : instruction.control_predecessors()) {
    Instruction* const value = frame.values.at(before)[static_cast<size_t>(device)];
    if (value->parent() == known->parent()) known->AddControlPredecessor(value);
  }
  return known;
}

Instruction* Merger::ElementOf(Frame& frame, const Instruction& like, Instruction* tuple, int64_t index) {
  if (tuple->opcode() == Opcode::kTuple) return tuple->operand(static_cast<int>(index));
  Instruction*& known = frame.elements[{tuple, index}];
  if (known == nullptr) known = Expansion(frame.into, like).Element(tuple, index);
  return known;
}

Instruction* Merger::IntegerOf(Frame& frame, const Instruction& instruction, int64_t value) {
  Literal literal(Shape(instruction.shape().element_type(), SizesOf(instruction.shape())));
  literal.SetInt(0, value);
  Instruction*& known = frame.integers[{instruction.shape().ToString(), value}];
  if (known == nullptr) known = Expansion(frame.into, instruction).Constant(std::move(literal));
  return known;
}

bool Merger::HaveCome(const Frame& frame, const Instruction& instruction, const IntList& devices) const {
  return std::ranges::all_of(devices, [&](int64_t device) {
    const auto at = frame.at.find(device);
    return at != frame.at.end() && at->second != frame.source.instructions().end() && at->second->get() == &instruction;
  });
}

Status Merger::CheckTogether(const Frame& frame, const Instruction& instruction, int64_t device,
                             const IntList& others) const {
  for (const int64_t other : others) {
    if (frame.at.contains(other)) continue;
    return MergeError(instruction, StatusCode::kUnsupported,
                      "{} takes part, which may leave a loop or take another branch than {}: several devices that "
                      "part run on the CPU reference only",
                      grid_.Name(other), grid_.Name(device));
  }
  return OkStatus();
}

Result<IntList> Merger::AwaitedBy(const Frame& frame, const Instruction& instruction, int64_t device) const {
  if (instruction.opcode() == Opcode::kRecvDone) {
    const Instruction& recv = *instruction.operand(0);
    VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(recv));
    if (!stated) return IntList{};
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid_, device));
    return IntList{*partners.source};
  }
  IntList members = frame.devices;
  if (IsExchange(instruction.opcode()) && !IsPermute(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(members, GroupOf(instruction, grid_, device));
  }
  std::erase_if(members, [&](int64_t member) { return HaveCome(frame, instruction, {member}); });
  return members;
}

Status Merger::Deadlock(const Frame& frame) const {
  const auto end = frame.source.instructions().end();
  const auto first = std::ranges::find_if(frame.at, [&](const auto& device) { return device.second != end; });
  const Instruction& waits_at = **first->second;
  VXLA_ASSIGN_OR_RETURN(const IntList missing, AwaitedBy(frame, waits_at, first->first));
  std::string text =
      fmt::format("{}: {} waits for {}", TextWithChannel(waits_at), grid_.Name(first->first), grid_.Names(missing));
  int64_t listed = 0;
  for (const auto& [device, at] : frame.at) {
    if (device == first->first) continue;
    if (listed++ == DeviceGrid::kMostListed) {
      text += fmt::format("; and {} more devices", std::ssize(frame.at) - 1 - DeviceGrid::kMostListed);
      break;
    }
    if (at == end) {
      text += fmt::format("; {} has ended", grid_.Name(device));
      continue;
    }
    VXLA_ASSIGN_OR_RETURN(const IntList awaited, AwaitedBy(frame, **at, device));
    text += fmt::format("; {} waits at {} for {}", grid_.Name(device), TextWithChannel(**at), grid_.Names(awaited));
  }
  if (frame.devices.size() < static_cast<size_t>(grid_.count())) {
    return Unsupported("{}; other devices may have taken another branch: that runs on the CPU reference only", text)
        .At(waits_at.location());
  }
  return InvalidArgument("deadlock: {}", text).At(waits_at.location());
}

Result<Values> Merger::Emit(const Computation& source, Computation& into, const IntList& devices,
                            const std::vector<Values>& arguments, Instruction*& parted) {
  Frame frame{source, into, devices, {}, {}, {}, {}, {}, {}, parted};
  for (const int64_t device : devices) frame.at[device] = source.instructions().begin();
  for (size_t p = 0; p < arguments.size(); ++p) {
    frame.values[source.parameter(static_cast<int64_t>(p))] = arguments[p];
  }
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (auto& [device, at] : frame.at) {
      while (at != source.instructions().end()) {
        VXLA_ASSIGN_OR_RETURN(const bool done, Step(frame, device, **at));
        if (!done) break;
        ++at;
        goes_on = true;
      }
    }
  }
  for (const auto& [device, at] : frame.at) {
    if (at != source.instructions().end()) return Deadlock(frame);
  }
  for (const auto& [path, values] : frame.sent) {
    if (values.empty()) continue;
    return InvalidArgument("{} has sent {} to {} on channel {}, and no recv has taken it",
                           grid_.Name(std::get<1>(path)), values.front()->shape().ToString(),
                           grid_.Name(std::get<2>(path)), std::get<0>(path));
  }
  parted = frame.parted;
  return frame.values.at(source.root());
}

Result<bool> Merger::Step(Frame& frame, int64_t device, const Instruction& instruction) {
  Values& values = ValuesOf(frame, instruction);
  Instruction*& value = values[static_cast<size_t>(device)];
  if (value != nullptr) return true;
  const auto operand = [&](int i) { return frame.values.at(instruction.operand(i))[static_cast<size_t>(device)]; };
  if (!IsHere(device) && (IsOfItsDevice(instruction) || (!depends_.Of(instruction) && has_effects_.Of(instruction)))) {
    value = Absent(frame.into, instruction, instruction.shape());
    return true;
  }
  if (IsOfItsDevice(instruction)) {
    value = Copy(frame, device, instruction);
    return true;
  }
  switch (instruction.opcode()) {
    case Opcode::kReplicaId:
      value = IntegerOf(frame, instruction, grid_.replica(device));
      return true;
    case Opcode::kPartitionId:
      value = IntegerOf(frame, instruction, grid_.partition(device));
      return true;
    case Opcode::kAllReduceDone:
    case Opcode::kAsyncUpdate:
      value = operand(0);
      return true;
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncDone:
      value = ElementOf(frame, instruction, operand(0), 1);
      return true;
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      if (!HaveCome(frame, instruction, frame.devices)) return false;
      VXLA_RETURN_IF_ERROR(Permute(frame, instruction));
      return true;
    case Opcode::kSend:
      VXLA_RETURN_IF_ERROR(Send(frame, device, instruction));
      return true;
    case Opcode::kSendDone:
      value = ElementOf(frame, instruction, operand(0), 2);
      return true;
    case Opcode::kRecv:  // what comes is known when it is done
      value = Expansion(frame.into, instruction).Zeros(instruction.shape());
      return true;
    case Opcode::kRecvDone:
      return Receive(frame, device, instruction);
    default:
      break;
  }
  if (IsExchange(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(const IntList members, GroupOf(instruction, grid_, device));
    VXLA_RETURN_IF_ERROR(CheckTogether(frame, instruction, device, members));
    if (!members.empty() && !HaveCome(frame, instruction, members)) return false;
    VXLA_RETURN_IF_ERROR(Exchange(frame, instruction, members.empty() ? IntList{device} : members));
    return true;
  }
  const bool apart = instruction.opcode() != Opcode::kAsyncStart && !depends_.Of(instruction);
  if (apart) {
    value = Copy(frame, device, instruction);
    return true;
  }
  if (!HaveCome(frame, instruction, frame.devices)) return false;
  switch (instruction.opcode()) {
    case Opcode::kWhile:
      VXLA_RETURN_IF_ERROR(While(frame, instruction, frame.devices));
      return true;
    case Opcode::kConditional:
      VXLA_RETURN_IF_ERROR(Conditional(frame, instruction));
      return true;
    case Opcode::kAsyncStart:
    case Opcode::kCall:
      VXLA_RETURN_IF_ERROR(Call(frame, instruction));
      return true;
    default:
      return MergeError(instruction, StatusCode::kUnsupported, "calls a computation with collectives in it");
  }
}

Status Merger::Exchange(Frame& frame, const Instruction& instruction, const IntList& members) {
  Values& values = ValuesOf(frame, instruction);
  Expansion make(frame.into, instruction);
  std::vector<Values> given;
  for (const int64_t member : members) given.push_back(OperandsOf(frame, instruction, member));
  IntList givers;
  std::vector<Instruction**> shared;
  for (size_t m = 0; m < members.size(); ++m) {
    for (Instruction*& value : given[m]) {
      givers.push_back(members[m]);
      shared.push_back(&value);
    }
  }
  VXLA_RETURN_IF_ERROR(Share(frame.into, instruction, givers, shared, members));
  VXLA_ASSIGN_OR_RETURN(const IntList group, GroupOf(instruction, grid_, members[0]));
  const bool starts = instruction.opcode() == Opcode::kAllGatherStart;
  const Shape& shape = starts ? instruction.shape().tuple_elements()[1] : instruction.shape();
  if (group.empty()) {
    values[static_cast<size_t>(members[0])] = make.Zeros(shape);
    return OkStatus();
  }
  const bool tuple =
      instruction.opcode() == Opcode::kAllToAll && instruction.attributes<CollectiveAttributes>().dimensions.empty();
  if (tuple && given[0].size() != members.size()) {
    return MergeError(instruction, StatusCode::kInvalidArgument, "{} operands for groups of {}", given[0].size(),
                      members.size());
  }
  if (instruction.opcode() == Opcode::kRaggedAllToAll) {
    const int64_t entries = given[0][2]->shape().ElementCount();
    if (entries % static_cast<int64_t>(members.size()) != 0) {
      return MergeError(instruction, StatusCode::kInvalidArgument, "{} offsets for {} members", entries,
                        members.size());
    }
  }
  const bool in_blocks =
      instruction.opcode() == Opcode::kReduceScatter || (instruction.opcode() == Opcode::kAllToAll && !tuple);
  for (const Instruction* operand : instruction.operands()) {
    if (!in_blocks) break;
    const auto dimension = static_cast<int>(instruction.attributes<CollectiveAttributes>().dimensions[0]);
    if (operand->shape().dimension(dimension) % static_cast<int64_t>(members.size()) == 0) continue;
    return MergeError(instruction, StatusCode::kInvalidArgument, "dimension {} of {} does not fit groups of {}",
                      dimension, operand->shape().ToString(), members.size());
  }
  const Values results =
      Exchanged(make, given, shape, [&](Computation* computation) { return PlainCopyOf(computation); });
  for (size_t m = 0; m < members.size(); ++m) {
    if (!Compatible(results[m]->shape(), shape)) {
      return MergeError(instruction, StatusCode::kInvalidArgument, "{} comes to {} in groups of {}", shape.ToString(),
                        results[m]->shape().ToString(), members.size());
    }
    values[static_cast<size_t>(members[m])] = starts ? make.Started(make.Together(given[m]), results[m]) : results[m];
  }
  return OkStatus();
}

Status Merger::Permute(Frame& frame, const Instruction& instruction) {
  Expansion make(frame.into, instruction);
  Values& values = ValuesOf(frame, instruction);
  const bool starts = instruction.opcode() == Opcode::kCollectivePermuteStart;
  const bool slices = !instruction.attributes<CollectivePermuteAttributes>().slice_sizes.empty();
  const Shape& shape = starts ? instruction.shape().tuple_elements()[1] : instruction.shape();
  std::map<int64_t, Values> given;
  IntList givers, takers;
  std::vector<Instruction**> shared;
  for (const int64_t device : frame.devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    if (!partners.source) continue;
    takers.push_back(device);
    if (given.contains(*partners.source) || !frame.at.contains(*partners.source)) continue;
    for (Instruction*& value : given[*partners.source] = OperandsOf(frame, instruction, *partners.source)) {
      givers.push_back(*partners.source);
      shared.push_back(&value);
    }
  }
  VXLA_RETURN_IF_ERROR(Share(frame.into, instruction, givers, shared, takers));
  for (const int64_t device : frame.devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    for (const auto& partner : {partners.source, partners.target}) {
      if (partner) VXLA_RETURN_IF_ERROR(CheckTogether(frame, instruction, device, {*partner}));
    }
    const Values own = OperandsOf(frame, instruction, device);
    Instruction* received = nullptr;
    if (partners.source) {
      const Values& sent = given.at(*partners.source);
      received = slices ? SlicesReceived(make, sent, own) : shape.IsTuple() ? make.TupleOf(sent) : sent[0];
    } else {
      received = slices ? own[1] : make.Zeros(shape);
    }
    values[static_cast<size_t>(device)] =
        starts ? make.Started(slices ? own[0] : make.Together(own), received) : received;
  }
  return OkStatus();
}

Status Merger::Send(Frame& frame, int64_t device, const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(instruction));
  std::optional<int64_t> target = device;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    target = partners.target;
  }
  const Values operands = OperandsOf(frame, instruction, device);
  if (target) frame.sent[{ChannelOf(instruction).value_or(-1), device, *target}].push_back(operands[0]);
  Expansion make(frame.into, instruction);
  ValuesOf(frame, instruction)[static_cast<size_t>(device)] =
      make.TupleOf({operands[0], make.Zeros(instruction.shape().tuple_elements()[1]), operands[1]});
  return OkStatus();
}

Result<bool> Merger::Receive(Frame& frame, int64_t device, const Instruction& done) {
  const Instruction& recv = *done.operand(0);
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(recv));
  std::optional<int64_t> source = device;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid_, device));
    source = partners.source;
  }
  Expansion make(frame.into, done);
  Instruction* const token = make.Zeros(Shape::Token());
  Instruction* data = nullptr;
  if (source) {
    auto& sent = frame.sent[{ChannelOf(recv).value_or(-1), *source, device}];
    if (sent.empty()) return false;
    data = sent.front();
    sent.pop_front();
    VXLA_RETURN_IF_ERROR(Share(frame.into, done, {*source}, {&data}, {*source, device}));
  } else {
    data = make.Zeros(done.shape().tuple_elements()[0]);
  }
  ValuesOf(frame, done)[static_cast<size_t>(device)] = make.TupleOf({data, token});
  return true;
}

Status Merger::Call(Frame& frame, const Instruction& instruction) {
  std::vector<Values> arguments(static_cast<size_t>(instruction.operand_count()));
  for (int i = 0; i < instruction.operand_count(); ++i) {
    arguments[static_cast<size_t>(i)] = frame.values.at(instruction.operand(i));
  }
  VXLA_ASSIGN_OR_RETURN(Values results,
                        Emit(*instruction.called(0), frame.into, frame.devices, arguments, frame.parted));
  Expansion make(frame.into, instruction);
  for (const int64_t device : frame.devices) {
    Instruction*& result = results[static_cast<size_t>(device)];
    if (instruction.opcode() == Opcode::kAsyncStart) {
      result = make.Started(make.TupleOf(OperandsOf(frame, instruction, device)), result);
    }
    ValuesOf(frame, instruction)[static_cast<size_t>(device)] = result;
  }
  return OkStatus();
}

// The devices whose values are one, in the order of the first of each.
std::vector<IntList> Classes(const IntList& devices, const Values& values) {
  std::vector<IntList> classes;
  std::unordered_map<const Instruction*, size_t> known;
  for (const int64_t device : devices) {
    const auto [at, fresh] = known.try_emplace(values[static_cast<size_t>(device)], classes.size());
    if (fresh) classes.emplace_back();
    classes[at->second].push_back(device);
  }
  return classes;
}

// Those whose way is known go it, all of a branch together. Gives the others.
Result<IntList> Merger::KnownBranches(Frame& frame, const Instruction& instruction) {
  const auto count = static_cast<int64_t>(instruction.called().size());
  IntList undecided;
  std::map<int64_t, IntList> by_branch;
  for (const int64_t device : frame.devices) {
    const Instruction& selector = *frame.values.at(instruction.operand(0))[static_cast<size_t>(device)];
    if (selector.opcode() != Opcode::kConstant) {
      undecided.push_back(device);
      continue;
    }
    const int64_t value = selector.literal().GetInt(0);
    const bool truth = selector.shape().element_type() == ElementType::kPred;
    by_branch[truth ? 1 - value : value < 0 || value >= count ? count - 1 : value].push_back(device);
  }
  for (const auto& [branch, devices] : by_branch) {
    const Values& given = frame.values.at(instruction.operand(static_cast<int>(branch) + 1));
    VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(*instruction.called(static_cast<int>(branch)), frame.into, devices,
                                                   {given}, frame.parted));
    for (const int64_t device : devices) {
      ValuesOf(frame, instruction)[static_cast<size_t>(device)] = roots[static_cast<size_t>(device)];
    }
  }
  return undecided;
}

// At any depth.
std::vector<const Instruction*> ExchangesIn(std::span<Computation* const> called) {
  std::vector<const Instruction*> exchanges;
  std::vector<const Computation*> work(called.begin(), called.end());
  while (!work.empty()) {
    const Computation& computation = *work.back();
    work.pop_back();
    for (const auto& inner : computation.instructions()) {
      work.insert(work.end(), inner->called().begin(), inner->called().end());
      if (IsExchange(inner->opcode())) exchanges.push_back(inner.get());
    }
  }
  return exchanges;
}

Result<Merger::Ways> Merger::WaysOf(const Instruction& instruction, const std::vector<IntList>& classes) {
  Ways ways{classes, std::vector<const Instruction*>(classes.size())};
  if (classes.size() < 2) return ways;
  std::map<int64_t, size_t> class_of;
  for (size_t c = 0; c < classes.size(); ++c) {
    for (const int64_t device : classes[c]) class_of[device] = c;
  }
  for (const Instruction* meeting : ExchangesIn(instruction.called())) {
    for (auto& [device, own] : class_of) {
      IntList members;
      if (IsPermute(meeting->opcode())) {
        VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*meeting, grid_, device));
        if (partners.target) members.push_back(*partners.target);
      } else {
        VXLA_ASSIGN_OR_RETURN(members, GroupOf(*meeting, grid_, device));
      }
      for (const int64_t member : members) {
        const auto other = class_of.find(member);
        if (other == class_of.end() || other->second == own) continue;
        const size_t joins = own, joined = other->second;
        for (auto& [moved, c] : class_of) c = c == joined ? joins : c;
        ways.classes[joins].insert(ways.classes[joins].end(), ways.classes[joined].begin(), ways.classes[joined].end());
        ways.classes[joined].clear();
        std::ranges::sort(ways.classes[joins]);
        ways.meetings[joins] = meeting;
      }
    }
  }
  return ways;
}

void Merger::AddParted(Frame& frame, const Instruction& like, Instruction* parted) {
  if (frame.parted == nullptr || parted == nullptr) {
    if (parted != nullptr) frame.parted = parted;
    return;
  }
  Expansion make(frame.into, like);
  Instruction* const none = make.Compare(ComparisonDirection::kEq, frame.parted, make.Zeros(parted->shape()));
  frame.parted = make.Add(Opcode::kSelect, parted->shape(), {none, parted, frame.parted});
}

// In a conditional whose other branches have such an exchange too, the devices may meet all the same.
Status Merger::Parting(const Instruction& instruction, const Instruction& meeting, const IntList& devices) const {
  const auto branches = instruction.called();
  const bool elsewhere = instruction.opcode() == Opcode::kConditional &&
                         std::ranges::count_if(branches, [&](Computation* const& branch) {
                           return std::ranges::any_of(ExchangesIn({&branch, 1}), [&](const Instruction* exchange) {
                             return exchange->opcode() == meeting.opcode();
                           });
                         }) > 1;
  const std::string text =
      fmt::format("{} {}: {} go different ways, and {} inside waits for all of them", OpcodeText(instruction.opcode()),
                  instruction.name(), grid_.Names(devices), TextWithChannel(meeting));
  return elsewhere ? Unsupported("{}: several devices that part run on the CPU reference only", text)
                   : DeviceFailure("deadlock: {}", text);
}

void Merger::AddCheck(Frame& frame, const Instruction& instruction, const Instruction& meeting, const IntList& devices,
                      const Values& ways) {
  if (!AnyHere(devices)) return;  // their places check it
  Status parting = Parting(instruction, meeting, devices);
  const auto known = std::ranges::find(partings_, parting.message(), &Status::message);
  const int64_t number = known - partings_.begin() + 1;
  if (known == partings_.end()) partings_.push_back(std::move(parting));
  Expansion make(frame.into, instruction);
  Instruction* differs = nullptr;
  Instruction* const first = ways[static_cast<size_t>(devices[0])];
  for (const int64_t device : devices) {
    Instruction* const way = ways[static_cast<size_t>(device)];
    if (way == first) continue;
    Instruction* const one = make.Compare(ComparisonDirection::kNe, way, first);
    differs = differs == nullptr ? one : make.Binary(Opcode::kOr, differs, one);
  }
  const Shape s32(ElementType::kS32);
  Instruction* const code = make.Constant(Literal::ScalarInt(ElementType::kS32, number));
  AddParted(frame, instruction, make.Add(Opcode::kSelect, s32, {differs, code, make.Zeros(s32)}));
}

// One branch for several devices; its parameter is a tuple of the arguments of those that are here. Gives the results
// by place.
Result<Values> Merger::Branch(Frame& frame, const Instruction& instruction, int branch, const IntList& devices,
                              MergedBranch& merged) {
  const Values& given = frame.values.at(instruction.operand(branch + 1));
  const Computation& body = *instruction.called(branch);
  Values together;  // once each
  for (const int64_t device : devices) {
    Instruction* const value = given[static_cast<size_t>(device)];
    if (IsHere(device) && std::ranges::find(together, value) == together.end()) together.push_back(value);
  }
  merged.operand = Expansion(frame.into, instruction).TupleOf(together);
  merged.computation = target_->AddComputation(body.name());
  Instruction* const parameter =
      merged.computation->Add(Opcode::kParameter, merged.operand->shape(), {}, ParameterAttributes{});
  Expansion inside(*merged.computation, instruction);
  Values arguments(static_cast<size_t>(grid_.count()));
  std::unordered_map<const Instruction*, Instruction*> known;
  for (const int64_t device : devices) {
    Instruction* const value = given[static_cast<size_t>(device)];
    Instruction*& one = known[value];
    const auto place = std::ranges::find(together, value) - together.begin();
    if (one == nullptr) {
      one = place < std::ssize(together) ? inside.Element(parameter, place)
                                         : Absent(*merged.computation, instruction, value->shape());
    }
    arguments[static_cast<size_t>(device)] = one;
  }
  VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(body, *merged.computation, devices, {arguments}, merged.parted));
  Values of_devices;
  for (const int64_t device : devices) of_devices.push_back(roots[static_cast<size_t>(device)]);
  return of_devices;
}

// What selects is a truth value or a number, beyond the branches the last one's.
Values BranchesOf(Expansion& make, Values selectors) {
  const auto last = std::ssize(make.instruction().called()) - 1;
  for (Instruction*& selector : selectors) {
    if (selector == nullptr || selector->shape().element_type() == ElementType::kPred) continue;
    const Shape u32(ElementType::kU32);
    selector = make.Binary(Opcode::kMinimum, make.Add(Opcode::kBitcastConvert, u32, {selector}),
                           make.Constant(Literal::ScalarInt(ElementType::kU32, last)));
  }
  return selectors;
}

Status Merger::Conditional(Frame& frame, const Instruction& instruction) {
  Values& results = ValuesOf(frame, instruction);
  Expansion make(frame.into, instruction);
  Values selectors = frame.values.at(instruction.operand(0));
  VXLA_ASSIGN_OR_RETURN(const IntList undecided, KnownBranches(frame, instruction));
  VXLA_ASSIGN_OR_RETURN(const Ways ways, WaysOf(instruction, Classes(undecided, selectors)));
  for (size_t c = 0; c < ways.classes.size(); ++c) {
    const IntList& devices = ways.classes[c];
    if (devices.empty()) continue;
    if (ways.meetings[c] != nullptr) {
      VXLA_RETURN_IF_ERROR(ShareWays(frame.into, instruction, devices, selectors));
      AddCheck(frame, instruction, *ways.meetings[c], devices, BranchesOf(make, selectors));
    }
    Values operands{selectors[static_cast<size_t>(devices[0])]};
    std::vector<MergedBranch> branches(instruction.called().size());
    std::vector<Values> roots;
    bool parts = false, exchanges = false;
    for (size_t b = 0; b < branches.size(); ++b) {
      VXLA_ASSIGN_OR_RETURN(Values of_devices, Branch(frame, instruction, static_cast<int>(b), devices, branches[b]));
      roots.emplace_back();
      for (size_t i = 0; i < devices.size(); ++i) {
        if (IsHere(devices[i])) roots.back().push_back(of_devices[i]);
      }
      operands.push_back(branches[b].operand);
      parts |= branches[b].parted != nullptr;
      exchanges |= Exchanges(*branches[b].computation);
    }
    std::vector<Computation*> called;
    for (size_t b = 0; b < branches.size(); ++b) {
      Computation& merged = *branches[b].computation;
      Expansion inside(merged, instruction);
      Instruction* const parted = branches[b].parted;
      if (parts) roots[b].push_back(parted != nullptr ? parted : inside.Zeros(Shape(ElementType::kS32)));
      merged.set_root(inside.TupleOf(roots[b]));
      called.push_back(&merged);
    }
    Instruction* const merged =
        make.Add(Opcode::kConditional, called[0]->root()->shape(), operands, instruction.attributes(), called);
    if (exchanges) InOrder(frame.into, merged);
    int64_t place = 0;
    for (const int64_t device : devices) {
      results[static_cast<size_t>(device)] = IsHere(device) ? ElementOf(frame, instruction, merged, place++)
                                                            : Absent(frame.into, instruction, instruction.shape());
    }
    if (parts) AddParted(frame, instruction, make.Element(merged, place));
  }
  return OkStatus();
}

// A loop of several devices: elements of their states that are one value of some of them stay one.
struct Merger::Loop {
  bool tuple = false;
  std::vector<Shape> shapes;     // of the elements of one device's state
  std::vector<IntList> classes;  // by element and place of the device: those of one class have one value
  Computation *body = nullptr, *condition = nullptr;
  Values initial;  // of the merged state
  // By element and place of the device, in the merged state; -1: of devices elsewhere, which have none.
  std::vector<std::vector<int64_t>> slots;
  Values decide;                         // by device
  const Instruction* meeting = nullptr;  // inside, of devices that must all decide alike though their values differ
  int64_t parted = -1;                   // the place in the merged state of what a frame calls so
};

// One attempt with what is taken to be shared; false: less is, and loop.classes say what.
Result<bool> Merger::TryLoop(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop) {
  const Values& states = frame.values.at(instruction.operand(0));
  loop.initial.clear();
  loop.slots.assign(loop.shapes.size(), {});
  const auto element = [&](Frame& of, Instruction* state, size_t i) {
    return loop.tuple ? ElementOf(of, instruction, state, static_cast<int64_t>(i)) : state;
  };
  std::vector<Shape> shapes;
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    std::map<int64_t, int64_t> slots;
    for (size_t place = 0; place < devices.size(); ++place) {
      if (!IsHere(devices[place])) continue;
      if (!slots.try_emplace(loop.classes[i][place], std::ssize(loop.initial)).second) continue;
      loop.initial.push_back(element(frame, states[static_cast<size_t>(devices[place])], i));
      shapes.push_back(loop.shapes[i]);
    }
    for (size_t place = 0; place < devices.size(); ++place) {
      const auto slot = slots.find(loop.classes[i][place]);
      loop.slots[i].push_back(slot == slots.end() ? -1 : slot->second);
    }
  }
  if (loop.parted >= 0) {
    loop.parted = std::ssize(loop.initial);
    shapes.emplace_back(ElementType::kS32);
    loop.initial.push_back(Expansion(frame.into, instruction).Zeros(shapes.back()));
  }
  const Shape state = Shape::Tuple(shapes);
  Instruction* parted = nullptr;
  Values given;  // by device, in the computation that is emitted
  const auto emit = [&](const Computation& source, Computation*& merged) -> Result<Values> {
    merged = target_->AddComputation(source.name());
    Instruction* const parameter = merged->Add(Opcode::kParameter, state, {}, ParameterAttributes{});
    Expansion make(*merged, instruction);
    Values of_slots, arguments(static_cast<size_t>(grid_.count()));
    for (size_t slot = 0; slot < shapes.size(); ++slot) {
      of_slots.push_back(make.Element(parameter, static_cast<int64_t>(slot)));
    }
    parted = loop.parted >= 0 ? of_slots.back() : nullptr;
    std::map<std::pair<size_t, int64_t>, Instruction*> elsewhere;  // by element and class
    Instruction* last = nullptr;
    for (size_t place = 0; place < devices.size(); ++place) {
      Values elements;
      for (size_t i = 0; i < loop.shapes.size(); ++i) {
        const int64_t slot = loop.slots[i][place];
        if (slot >= 0) {
          elements.push_back(of_slots[static_cast<size_t>(slot)]);
          continue;
        }
        Instruction*& absent = elsewhere[{i, loop.classes[i][place]}];
        if (absent == nullptr) absent = Absent(*merged, instruction, loop.shapes[i]);
        elements.push_back(absent);
      }
      const bool same = last != nullptr && loop.tuple && std::ranges::equal(last->operands(), elements);
      if (!same) last = loop.tuple ? make.TupleOf(elements) : elements[0];
      arguments[static_cast<size_t>(devices[place])] = last;
    }
    given = arguments;
    return Emit(source, *merged, devices, {arguments}, parted);
  };
  VXLA_ASSIGN_OR_RETURN(const Values roots, emit(*instruction.called(1), loop.body));
  Frame inside{*instruction.called(1), *loop.body, devices, {}, {}, {}, {}, {}, {}, parted};
  if (loop.meeting != nullptr) {
    VXLA_ASSIGN_OR_RETURN(Values decide, Emit(*instruction.called(0), *loop.body, devices, {given}, inside.parted));
    VXLA_RETURN_IF_ERROR(ShareWays(*loop.body, instruction, devices, decide));
    AddCheck(inside, instruction, *loop.meeting, devices, decide);
  }
  Values next(loop.initial.size());
  bool holds = true;
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    std::map<int64_t, Instruction*> elsewhere;  // by class
    std::map<std::pair<int64_t, Instruction*>, int64_t> parts;
    for (size_t place = 0; place < devices.size(); ++place) {
      Instruction* const value = element(inside, roots[static_cast<size_t>(devices[place])], i);
      const int64_t slot = loop.slots[i][place];
      Instruction*& known = slot >= 0 ? next[static_cast<size_t>(slot)] : elsewhere[loop.classes[i][place]];
      holds &= known == nullptr || known == value;
      known = value;
      int64_t& of_device = loop.classes[i][place];
      of_device = parts.try_emplace({of_device, value}, std::ssize(parts)).first->second;
    }
  }
  if (inside.parted != nullptr && loop.parted < 0) {
    loop.parted = 0;  // there is such an element
    holds = false;
  }
  if (!holds) return false;
  if (inside.parted != nullptr) next[static_cast<size_t>(loop.parted)] = inside.parted;
  loop.body->set_root(Expansion(*loop.body, instruction).TupleOf(next));
  VXLA_ASSIGN_OR_RETURN(loop.decide, emit(*instruction.called(0), loop.condition));
  // All take the first one's way.
  if (loop.meeting != nullptr) {
    VXLA_RETURN_IF_ERROR(
        Share(*loop.condition, instruction, {devices[0]}, {&loop.decide[static_cast<size_t>(devices[0])]}, devices));
  }
  return true;
}

Status Merger::While(Frame& frame, const Instruction& instruction, const IntList& devices) {
  const Values& states = frame.values.at(instruction.operand(0));
  Loop loop;
  loop.tuple = instruction.shape().IsTuple();
  loop.shapes = loop.tuple ? instruction.shape().tuple_elements() : std::vector<Shape>{instruction.shape()};
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    std::map<Instruction*, int64_t> known;
    IntList& classes = loop.classes.emplace_back();
    for (const int64_t device : devices) {
      Instruction* const state = states[static_cast<size_t>(device)];
      Instruction* const value = loop.tuple ? ElementOf(frame, instruction, state, static_cast<int64_t>(i)) : state;
      classes.push_back(known.try_emplace(value, std::ssize(known)).first->second);
    }
  }
  for (bool holds = false; !holds;) {
    VXLA_ASSIGN_OR_RETURN(holds, TryLoop(frame, instruction, devices, loop));
  }
  // Devices that may end at different times have loops of their own, unless they meet inside.
  VXLA_ASSIGN_OR_RETURN(const Ways ways, WaysOf(instruction, Classes(devices, loop.decide)));
  for (const IntList& of_class : ways.classes) {
    if (of_class.empty() || of_class.size() == devices.size()) continue;
    VXLA_RETURN_IF_ERROR(While(frame, instruction, of_class));
  }
  const auto all = std::ranges::find(ways.classes, devices.size(), &IntList::size);
  if (all == ways.classes.end()) return OkStatus();
  loop.meeting = ways.meetings[static_cast<size_t>(all - ways.classes.begin())];
  for (bool holds = loop.meeting == nullptr; !holds;) {
    VXLA_ASSIGN_OR_RETURN(holds, TryLoop(frame, instruction, devices, loop));
  }
  loop.condition->set_root(loop.decide[static_cast<size_t>(devices[0])]);
  Expansion make(frame.into, instruction);
  Instruction* const initial = make.TupleOf(loop.initial);
  Instruction* const merged =
      make.Add(Opcode::kWhile, initial->shape(), {initial}, instruction.attributes(), {loop.condition, loop.body});
  if (Exchanges(*loop.body) || Exchanges(*loop.condition)) InOrder(frame.into, merged);
  Values& results = ValuesOf(frame, instruction);
  std::map<std::pair<size_t, int64_t>, Instruction*> elsewhere;
  for (size_t place = 0; place < devices.size(); ++place) {
    Values elements;
    for (size_t i = 0; i < loop.shapes.size(); ++i) {
      const int64_t slot = loop.slots[i][place];
      if (slot >= 0) {
        elements.push_back(ElementOf(frame, instruction, merged, slot));
        continue;
      }
      Instruction*& absent = elsewhere[{i, loop.classes[i][place]}];
      if (absent == nullptr) absent = Absent(frame.into, instruction, loop.shapes[i]);
      elements.push_back(absent);
    }
    results[static_cast<size_t>(devices[place])] = loop.tuple ? make.TupleOf(elements) : elements[0];
  }
  if (loop.parted >= 0) AddParted(frame, instruction, make.Element(merged, loop.parted));
  if (loop.meeting == nullptr) return OkStatus();
  // The first device has ended: have the others?
  VXLA_ASSIGN_OR_RETURN(Values decide, Emit(*instruction.called(0), frame.into, devices, {results}, frame.parted));
  VXLA_RETURN_IF_ERROR(ShareWays(frame.into, instruction, devices, decide));
  AddCheck(frame, instruction, *loop.meeting, devices, decide);
  return OkStatus();
}

Result<MergedProgram> Merger::Merge(const std::vector<bool>& shared) {
  VXLA_RETURN_IF_ERROR(CheckCollectives(source_, grid_));
  for (const auto& computation : source_.computations()) {
    for (const auto& instruction : computation->instructions()) VXLA_RETURN_IF_ERROR(CheckMergeable(*instruction));
  }
  MergedProgram program;
  target_ = std::make_unique<Module>(source_.name());
  target_->mutable_attributes().frontend_attributes = source_.attributes().frontend_attributes;
  Computation* const entry = target_->AddComputation(source_.entry()->name());
  target_->set_entry(entry);
  IntList devices;
  for (int64_t device = 0; device < grid_.count(); ++device) devices.push_back(device);
  std::vector<Values> arguments;
  for (const Instruction* parameter : source_.entry()->parameters()) {
    const auto p = static_cast<size_t>(parameter->parameter_number());
    Values& values = arguments.emplace_back();
    for (const int64_t device : devices) {
      const bool is_shared = p < shared.size() && shared[p];
      if (device > 0 && is_shared) {
        values.push_back(values[0]);
        continue;
      }
      if (!IsHere(device) && !is_shared) {
        values.push_back(Absent(*entry, *parameter, parameter->shape()));
        continue;
      }
      ParameterAttributes attributes;
      attributes.number = static_cast<int64_t>(program.parameters.size());
      program.parameters.emplace_back(device, parameter->parameter_number());
      values.push_back(entry->Add(Opcode::kParameter, parameter->shape(), {}, attributes, {}, parameter->name()));
    }
  }
  Instruction* parted = nullptr;
  VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(*source_.entry(), *entry, devices, arguments, parted));
  Expansion make(*entry, *source_.entry()->root());
  std::unordered_map<const Instruction*, int64_t> known;
  std::map<std::pair<const Instruction*, int64_t>, Instruction*> elements;
  Values leaves;
  for (const int64_t device : devices) {
    Instruction* const root = roots[static_cast<size_t>(device)];
    IntList& own = program.results.emplace_back();
    if (!IsHere(device)) continue;
    const std::function<void(Instruction*)> take = [&](Instruction* value) {
      for (size_t i = 0; value->shape().IsTuple() && i < value->shape().tuple_elements().size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        Instruction*& element = elements[{value, at}];
        if (element == nullptr) {
          element = value->opcode() == Opcode::kTuple ? value->operand(static_cast<int>(i)) : make.Element(value, at);
        }
        take(element);
      }
      if (value->shape().IsTuple()) return;
      const auto [place, fresh] = known.try_emplace(value, static_cast<int64_t>(leaves.size()));
      if (fresh) leaves.push_back(value);
      own.push_back(place->second);
    };
    take(root);
  }
  if (parted != nullptr) {
    leaves.push_back(parted);
    program.partings = std::move(partings_);
  }
  entry->set_root(make.TupleOf(leaves));
  target_->SortComputations();
  target_->RemoveUnusedComputations();
  if (places_ != nullptr) {
    while (RemoveDeadCode(*target_)) {
    }
    for (const auto& computation : target_->computations()) {
      for (const auto& instruction : computation->instructions()) {
        if (instruction->opcode() != Opcode::kCustomCall ||
            instruction->attributes<CustomCallAttributes>().custom_call_target != kAbsent)
          continue;
        return MergeError(*instruction, StatusCode::kUnsupported,
                          "is of a device at another place, and is needed here");
      }
    }
    program.exchanges = std::move(exchanges_);
  }
  program.module = std::move(target_);
  return program;
}

}  // namespace

Result<MergedProgram> MergeDevices(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared) {
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  return Merger(*inlined, grid, nullptr).Merge(shared);
}

Result<MergedProgram> MergeDevicesOfPlace(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared,
                                          const DevicePlaces& places) {
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  return Merger(*inlined, grid, &places).Merge(shared);
}

std::string PlaceExchange::target() const { return fmt::format("vxla.exchange.{}", number); }

Result<std::vector<std::vector<const Literal*>>> LeavesByDevice(const MergedProgram& program, const Literal& result) {
  if (!program.partings.empty()) {
    const int64_t parting = result.tuple_elements().back().GetInt(0);
    if (parting != 0) return program.partings[static_cast<size_t>(parting) - 1];
  }
  std::vector<std::vector<const Literal*>> by_device;
  for (const IntList& places : program.results) {
    std::vector<const Literal*>& leaves = by_device.emplace_back();
    for (const int64_t place : places) leaves.push_back(&result.tuple_element(place));
  }
  return by_device;
}

}  // namespace VXLA_NAMESPACE
