#include "core/passes/device_merger.h"

#include <functional>
#include <set>

#include "core/deadlock_report.h"
#include "core/passes/call_inliner.h"
#include "core/passes/dce.h"
#include "core/passes/device_merger_impl.h"
#include "core/passes/exchanges.h"
#include "core/passes/integer_folding.h"
#include "core/passes/meeting_hoisting.h"
#include "core/passes/size_math.h"
#include "core/permute_slices.h"

namespace VXLA_NAMESPACE {
namespace merging {
namespace {

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

constexpr std::string_view kAbsent = "vxla.device_elsewhere";

// The arrays that a value is made of, depth first. One with live sizes is that of its bounds, and a scalar for each
// dynamic dimension.
void AppendArrays(Expansion& make, Instruction* value, Values& arrays) {
  if (value->shape().IsArray()) {
    Instruction* whole = value;
    for (int d = 0; d < value->shape().rank(); ++d) whole = make.AtBound(whole, d);
    arrays.push_back(whole);
    for (int d = 0; d < value->shape().rank(); ++d) {
      if (value->shape().is_dynamic_dimension(d)) arrays.push_back(make.LiveSize(value, d));
    }
  }
  for (size_t i = 0; value->shape().IsTuple() && i < value->shape().tuple_elements().size(); ++i) {
    AppendArrays(make, make.Element(value, static_cast<int64_t>(i)), arrays);
  }
}

std::vector<Shape> PostedAs(const Shape& array) {
  std::vector<Shape> shapes{AtBounds(array)};
  for (int d = 0; d < array.rank(); ++d) {
    if (array.is_dynamic_dimension(d)) shapes.emplace_back(ElementType::kS32);
  }
  return shapes;
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
  if (shape.IsArray()) {
    Instruction* array = make.Element(call, next++);
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.is_dynamic_dimension(d)) array = make.WithLiveSize(array, d, make.Element(call, next++));
    }
    return array;
  }
  if (!shape.IsTuple()) return make.Zeros(shape);
  Values elements;
  for (const Shape& element : shape.tuple_elements()) elements.push_back(Received(make, element, call, next));
  return make.TupleOf(elements);
}

}  // namespace

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
      for (const Shape& array : PostedAs(*leaf)) {
        if (!one.known_at.contains(places_->here)) {
          exchange.received.emplace_back(one.owner, std::ssize(posted));
          received.push_back(array);
        }
        posted.push_back(array);
      }
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

bool Merger::DoneElsewhere(const Instruction& instruction, Opcode kind) const {
  // Of each computation: how many such instructions it comes to, 2 for more.
  std::unordered_map<const Computation*, int> known;
  const std::function<int(const Computation&)> count = [&](const Computation& computation) -> int {
    if (const auto it = known.find(&computation); it != known.end()) return it->second;
    int found = 0;
    for (const auto& inner : computation.instructions()) {
      found += KindOfCollective(*inner) == kind && ChannelOf(*inner) == ChannelOf(instruction);
      for (const Computation* called : inner->called()) found += count(*called);
    }
    return known[&computation] = std::min(found, 2);
  };
  const int itself = KindOfCollective(instruction) == kind ? 1 : 0;
  return count(*source_.entry()) > itself;
}

Result<bool> Merger::MayCome(Frame& frame, const Instruction& instruction, int64_t device, const IntList& others) {
  const Region& region = frame.region;
  const auto absent = std::ranges::find_if(others, [&](int64_t other) { return !region.frame_of.contains(other); });
  if (absent == others.end()) return true;
  const bool receives = instruction.opcode() == Opcode::kRecvDone;
  const Instruction& waits_at = receives ? *instruction.operand(0) : instruction;
  if (DoneElsewhere(waits_at, receives ? Opcode::kSend : KindOfCollective(instruction))) {
    return Unsupported("{}: {} takes part, which may leave a loop or take another branch than {}: {}",
                       TextWithChannel(instruction), grid_.Name(*absent), grid_.Name(device), kMeetApart)
        .At(instruction.location());
  }
  if (!IsHere(device)) return false;
  Expansion make(frame.into, instruction);
  const auto situation = [&](int64_t at) {
    return at == device ? DeviceSituation{DeviceSituation::State::kWaiting, &instruction, {*absent}}
                        : DeviceSituation{DeviceSituation::State::kAway, nullptr, {}};
  };
  AddFault(frame, instruction, DeadlockReport(grid_, {device, *absent}, device, {}, situation),
           make.Constant(Literal::ScalarInt(ElementType::kPred, 1)));
  return false;
}

const Instruction* Merger::At(const Region& region, int64_t device) {
  const auto in = region.frame_of.find(device);
  if (in == region.frame_of.end()) return nullptr;
  const auto at = in->second->at.at(device);
  return at == in->second->source.instructions().end() ? nullptr : at->get();
}

bool Merger::HasMet(const Region& region, const Instruction& at, int64_t device) {
  const auto& values = region.frame_of.at(device)->values;
  const auto known = values.find(&at);
  return known != values.end() && !known->second.empty() && known->second[static_cast<size_t>(device)] != nullptr;
}

Result<std::vector<Merger::Comer>> Merger::Come(Frame& frame, const Instruction& instruction,
                                                const IntList& members) const {
  std::vector<Comer> comers;
  for (const int64_t member : members) {
    const Instruction* const at = At(frame.region, member);
    if (at == nullptr || HasMet(frame.region, *at, member)) return std::vector<Comer>();
    if (at != &instruction) {
      if (KindOfCollective(*at) != KindOfCollective(instruction) || ChannelOf(*at) != ChannelOf(instruction)) {
        return std::vector<Comer>();
      }
      VXLA_ASSIGN_OR_RETURN(const IntList group, GroupOf(*at, grid_, member));
      if (group != members) return std::vector<Comer>();
    }
    comers.push_back({member, frame.region.frame_of.at(member), at});
  }
  for (const Comer& comer : comers) VXLA_RETURN_IF_ERROR(CheckSameMeeting(*comers[0].instruction, *comer.instruction));
  return comers;
}

Result<std::vector<Merger::Comer>> Merger::ComeToPermute(Frame& frame, const Instruction& instruction) const {
  std::vector<Comer> comers;
  std::vector<std::pair<Frame*, const Instruction*>> sites{{&frame, &instruction}};
  for (size_t s = 0; s < sites.size(); ++s) {
    const auto [site, at] = sites[s];
    if (!HaveCome(*site, *at, site->devices)) return std::vector<Comer>();
    for (const int64_t device : site->devices) {
      if (frame.region.frame_of.at(device) != site || HasMet(frame.region, *at, device)) return std::vector<Comer>();
      comers.push_back({device, site, at});
      VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*at, grid_, device));
      for (const auto& partner : {partners.source, partners.target}) {
        const auto in = partner ? frame.region.frame_of.find(*partner) : frame.region.frame_of.end();
        if (in == frame.region.frame_of.end()) continue;
        if (std::ranges::find(sites, in->second, [](const auto& known) { return known.first; }) != sites.end())
          continue;
        const Instruction* const other = At(frame.region, *partner);
        if (other == nullptr || KindOfCollective(*other) != KindOfCollective(instruction) ||
            ChannelOf(*other) != ChannelOf(instruction))
          return std::vector<Comer>();
        VXLA_RETURN_IF_ERROR(CheckSameMeeting(instruction, *other));
        sites.emplace_back(in->second, other);
      }
    }
  }
  std::ranges::sort(comers, {}, &Comer::device);
  return comers;
}

Result<IntList> Merger::AwaitedBy(const Region& region, int64_t device) const {
  const Frame& frame = *region.frame_of.at(device);
  const Instruction& instruction = *At(region, device);
  if (instruction.opcode() == Opcode::kRecvDone) {
    const Instruction& recv = *instruction.operand(0);
    VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(recv));
    if (!stated) return IntList{};
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid_, device));
    return IntList{*partners.source};
  }
  IntList members = frame.devices;
  if (IsPermute(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    for (const auto& partner : {partners.source, partners.target}) {
      if (partner && std::ranges::find(members, *partner) == members.end()) members.push_back(*partner);
    }
  } else if (IsExchange(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(members, GroupOf(instruction, grid_, device));
  }
  std::erase_if(members, [&](int64_t member) {
    const Instruction* const at = At(region, member);
    if (at == nullptr || at == &instruction || !IsExchange(at->opcode())) return at == &instruction;
    return KindOfCollective(*at) == KindOfCollective(instruction) && ChannelOf(*at) == ChannelOf(instruction);
  });
  return members;
}

Status Merger::Deadlock(const Region& region) const {
  std::map<int64_t, DeviceSituation> situations;
  int64_t first = -1;
  for (const int64_t device : region.devices) {
    const Instruction* const at = At(region, device);
    DeviceSituation& situation = situations[device] = {DeviceSituation::State::kEnded, nullptr, {}};
    if (at == nullptr) continue;
    if (first < 0) first = device;
    VXLA_ASSIGN_OR_RETURN(IntList awaited, AwaitedBy(region, device));
    situation = {DeviceSituation::State::kWaiting, at, std::move(awaited)};
  }
  return DeadlockReport(grid_, region.devices, first, {}, [&](int64_t device) { return situations.at(device); });
}

Status Merger::Untaken(const Region& region) const {
  for (const auto& [path, values] : region.sent) {
    if (values.empty()) continue;
    const auto& [channel, from, to] = path;
    const Instruction& send = *values.front().by;
    if (to != kAnyTarget && !region.frame_of.contains(to) && DoneElsewhere(send, Opcode::kRecv)) {
      return Unsupported("{}: {} receives it by another branch or loop than {}: {}", TextWithChannel(send),
                         grid_.Name(to), grid_.Name(from), kMeetApart)
          .At(send.location());
    }
    return UntakenReport(grid_, send, from, to);
  }
  return OkStatus();
}

Merger::Frame& Merger::Open(Region& region, const Computation& source, const IntList& devices,
                            const std::vector<Values>& arguments) {
  Frame& frame = region.frames.emplace_back(
      Frame{region, source, region.into, devices, region.parted, nullptr, nullptr, {}, {}, {}, {}, {}});
  for (const int64_t device : devices) {
    frame.at[device] = source.instructions().begin();
    region.frame_of[device] = &frame;
  }
  for (size_t p = 0; p < arguments.size(); ++p) {
    frame.values[source.parameter(static_cast<int64_t>(p))] = arguments[p];
  }
  return frame;
}

void Merger::Return(Frame& frame, int64_t device) {
  Instruction* result = frame.values.at(frame.source.root())[static_cast<size_t>(device)];
  if (frame.call->opcode() == Opcode::kAsyncStart) {
    Expansion make(frame.into, *frame.call);
    result = make.Started(make.TupleOf(OperandsOf(*frame.caller, *frame.call, device)), result);
  }
  ValuesOf(*frame.caller, *frame.call)[static_cast<size_t>(device)] = result;
  frame.region.frame_of[device] = frame.caller;
}

Result<bool> Merger::GoOn(Frame& frame) {
  const auto end = frame.source.instructions().end();
  bool moved = false;
  for (auto& [device, at] : frame.at) {
    const auto is_here = [&, of = device] { return frame.region.frame_of.at(of) == &frame; };
    if (!is_here()) continue;
    while (at != end) {
      VXLA_ASSIGN_OR_RETURN(const bool done, Step(frame, device, **at));
      moved |= done || !is_here();
      if (!done) break;
      ++at;
    }
    if (is_here() && at == end && frame.caller != nullptr) {
      Return(frame, device);
      moved = true;
    }
  }
  return moved;
}

Result<Values> Merger::Emit(const Computation& source, Computation& into, const IntList& devices,
                            const std::vector<Values>& arguments, Instruction*& parted) {
  Region region{into, devices, parted, {}, {}, {}, {}};
  Frame& whole = Open(region, source, devices, arguments);
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (Frame& frame : region.frames) {
      VXLA_ASSIGN_OR_RETURN(const bool moved, GoOn(frame));
      goes_on |= moved;
    }
  }
  for (const int64_t device : devices) {
    if (At(region, device) == nullptr) continue;
    const Status deadlock = Deadlock(region);
    // Unless those who went one way before go ways of their own.
    const bool may_meet = std::ranges::any_of(
        partings_, [](const Status& parting) { return parting.code() == StatusCode::kUnsupported; });
    return may_meet && deadlock.code() == StatusCode::kDeviceFailure
               ? Unsupported("{}: {}", deadlock.message(), kMeetApart).At(deadlock.location())
               : deadlock;
  }
  VXLA_RETURN_IF_ERROR(Untaken(region));
  parted = region.parted;
  return whole.values.at(source.root());
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
      return StepToMeeting(frame, device, instruction);
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
  if (IsExchange(instruction.opcode())) return StepToMeeting(frame, device, instruction);
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
      return values[static_cast<size_t>(device)] != nullptr;
    case Opcode::kAsyncStart:
    case Opcode::kCall:
      Call(frame, instruction);
      return false;
    default:
      return MergeError(instruction, StatusCode::kUnsupported, "calls a computation with collectives in it");
  }
}

Result<bool> Merger::StepToMeeting(Frame& frame, int64_t device, const Instruction& instruction) {
  IntList members;
  if (IsPermute(instruction.opcode())) {
    for (const int64_t own : frame.devices) {
      VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, own));
      for (const auto& partner : {partners.source, partners.target}) {
        if (partner) members.push_back(*partner);
      }
    }
  } else {
    VXLA_ASSIGN_OR_RETURN(members, GroupOf(instruction, grid_, device));
    if (members.empty()) members.push_back(device);
  }
  VXLA_ASSIGN_OR_RETURN(const bool may_come, MayCome(frame, instruction, device, members));
  if (!may_come) {
    Expansion make(frame.into, instruction);
    ValuesOf(frame, instruction)[static_cast<size_t>(device)] = make.Zeros(instruction.shape());
    return true;
  }
  if (IsPermute(instruction.opcode())) {
    VXLA_ASSIGN_OR_RETURN(const std::vector<Comer> devices, ComeToPermute(frame, instruction));
    if (devices.empty()) return false;
    VXLA_RETURN_IF_ERROR(Permute(devices));
    return true;
  }
  VXLA_ASSIGN_OR_RETURN(const std::vector<Comer> comers, Come(frame, instruction, members));
  if (comers.empty()) return false;
  VXLA_RETURN_IF_ERROR(Exchange(comers));
  return true;
}

// What only the size of a group tells.
Status Merger::CheckGroup(const Instruction& instruction, const Values& given, int64_t members) const {
  const bool tuple =
      instruction.opcode() == Opcode::kAllToAll && instruction.attributes<CollectiveAttributes>().dimensions.empty();
  if (tuple && std::ssize(given) != members) {
    return MergeError(instruction, StatusCode::kInvalidArgument, "{} operands for groups of {}", given.size(), members);
  }
  if (instruction.opcode() == Opcode::kRaggedAllToAll) {
    const int64_t entries = given[2]->shape().ElementCount();
    if (entries % members != 0) {
      return MergeError(instruction, StatusCode::kInvalidArgument, "{} offsets for {} members", entries, members);
    }
  }
  const bool in_blocks =
      instruction.opcode() == Opcode::kReduceScatter || (instruction.opcode() == Opcode::kAllToAll && !tuple);
  for (const Instruction* operand : instruction.operands()) {
    if (!in_blocks) break;
    const auto dimension = static_cast<int>(instruction.attributes<CollectiveAttributes>().dimensions[0]);
    if (operand->shape().dimension(dimension) % members == 0) continue;
    return MergeError(instruction, StatusCode::kInvalidArgument, "dimension {} of {} does not fit groups of {}",
                      dimension, operand->shape().ToString(), members);
  }
  return OkStatus();
}

// Each place reduces what its own neighbours give before it shares it. Gives how many of them are one now.
int64_t Merger::ReduceAtPlaces(Computation& into, const Instruction& instruction, const IntList& members,
                               std::vector<Values>& given) {
  IntList places;
  for (const int64_t member : members) places.push_back(places_->place_of[static_cast<size_t>(member)]);
  const int64_t block = ReductionBlock(places);
  const bool dynamic =
      std::ranges::any_of(instruction.operands(), [](const Instruction* o) { return o->shape().IsDynamic(); });
  if (block == 1 || dynamic || KindOfCollective(instruction) != Opcode::kAllReduce) return 1;
  Expansion make(into, instruction);
  const auto of_block = [&](size_t begin, size_t k) {
    Values values;
    for (size_t m = begin; m < std::min(begin + static_cast<size_t>(block), given.size()); ++m)
      values.push_back(given[m][k]);
    return values;
  };
  // What is of equal values is one value everywhere; it is made where one of those stands that have it.
  std::map<std::pair<size_t, Values>, Instruction*> known;
  for (const bool here : {true, false}) {
    for (size_t begin = 0; begin < given.size(); begin += static_cast<size_t>(block)) {
      for (size_t k = 0; IsHere(members[begin]) == here && k < given[begin].size(); ++k) {
        const Values values = of_block(begin, k);
        Instruction*& part = known[{k, values}];
        if (part != nullptr) continue;
        part = here ? ReducedPart(make, values, [&](Computation* computation) { return PlainCopyOf(computation); })
                    : Absent(into, instruction, PartOfReduction(instruction, values[0]->shape()));
      }
    }
  }
  std::vector<Values> parts;
  for (size_t begin = 0; begin < given.size(); begin += static_cast<size_t>(block)) {
    Values& of_place = parts.emplace_back();
    for (size_t k = 0; k < given[begin].size(); ++k) of_place.push_back(known.at({k, of_block(begin, k)}));
  }
  given = std::move(parts);
  return block;
}

Status Merger::Exchange(const std::vector<Comer>& members) {
  const Instruction& instruction = *members[0].instruction;
  Frame& frame = *members[0].frame;
  Expansion make(frame.into, instruction);
  std::vector<Values> given;
  IntList takers, givers;
  for (const Comer& member : members) {
    given.push_back(OperandsOf(*member.frame, *member.instruction, member.device));
    takers.push_back(member.device);
  }
  const int64_t block = places_ == nullptr ? 1 : ReduceAtPlaces(frame.into, instruction, takers, given);
  std::vector<Instruction**> shared;
  for (size_t m = 0; m < given.size(); ++m) {
    for (Instruction*& value : given[m]) {
      givers.push_back(takers[m * static_cast<size_t>(block)]);
      shared.push_back(&value);
    }
  }
  VXLA_RETURN_IF_ERROR(Share(frame.into, instruction, givers, shared, takers));
  const auto result_shape = [](const Instruction& of) -> const Shape& {
    return of.opcode() == Opcode::kAllGatherStart ? of.shape().tuple_elements()[1] : of.shape();
  };
  VXLA_ASSIGN_OR_RETURN(const IntList group, GroupOf(instruction, grid_, takers[0]));
  if (group.empty()) {
    ValuesOf(frame, instruction)[static_cast<size_t>(takers[0])] = ZerosLike(make, result_shape(instruction), given[0]);
    return OkStatus();
  }
  VXLA_RETURN_IF_ERROR(CheckGroup(instruction, given[0], std::ssize(members)));
  for (size_t m = 0; m < members.size() && instruction.opcode() == Opcode::kRaggedAllToAll; ++m) {
    Instruction* const misfit = IsHere(takers[m]) ? RaggedMisfit(make, given, m) : nullptr;
    if (misfit == nullptr) continue;
    AddFault(*members[m].frame, *members[m].instruction,
             MergeError(*members[m].instruction, StatusCode::kInvalidArgument,
                        "the rows for {} do not fit, or it expects others", grid_.Name(takers[m])),
             misfit);
  }
  const Values results = Exchanged(make, given, result_shape(instruction),
                                   [&](Computation* computation) { return PlainCopyOf(computation); });
  for (size_t m = 0; m < members.size(); ++m) {
    const Instruction& own = *members[m].instruction;
    const Shape& shape = result_shape(own);
    Instruction* const value = results[m / static_cast<size_t>(block)];
    if (!Compatible(value->shape(), shape)) {
      return MergeError(own, StatusCode::kInvalidArgument, "{} comes to {} in groups of {}", shape.ToString(),
                        value->shape().ToString(), members.size());
    }
    Instruction* const result = UnderFlags(make, value, shape);
    ValuesOf(*members[m].frame, own)[static_cast<size_t>(members[m].device)] =
        own.opcode() == Opcode::kAllGatherStart ? make.Started(make.Together(given[m]), result) : result;
  }
  return OkStatus();
}

void Merger::AddFault(Frame& frame, const Instruction& like, Status fault, Instruction* fails) {
  const auto known = std::ranges::find(partings_, fault.message(), &Status::message);
  const int64_t number = known - partings_.begin() + 1;
  if (known == partings_.end()) partings_.push_back(std::move(fault));
  Expansion make(frame.into, like);
  Instruction* const code = make.Constant(Literal::ScalarInt(ElementType::kS32, number));
  AddParted(frame, like, make.Add(Opcode::kSelect, code->shape(), {fails, code, make.Zeros(code->shape())}));
}

// A slice as wide as a dynamic dimension takes all of it.
void Merger::CheckSlices(Frame& frame, const Instruction& instruction, const Values& operands) {
  Expansion make(frame.into, instruction);
  const std::vector<IntList>& sizes = instruction.attributes<CollectivePermuteAttributes>().slice_sizes;
  for (size_t k = 0;
       const PermuteSlice& slice : PermuteSlices(instruction.operand(0)->shape(), instruction.operand(2)->shape())) {
    Instruction* array = operands[0];
    if (array->shape().IsTuple()) array = ElementOf(frame, instruction, array, static_cast<int64_t>(slice.array));
    const IntList& size = sizes[k++];
    for (int d = 0; d < array->shape().rank(); ++d) {
      const int64_t bound = array->shape().dimension(d);
      if (!array->shape().is_dynamic_dimension(d) || size[static_cast<size_t>(d)] != bound) continue;
      Instruction* const all = make.Constant(Literal::ScalarInt(ElementType::kS32, bound));
      AddFault(frame, instruction,
               MergeError(instruction, StatusCode::kInvalidArgument,
                          "a slice of {} exceeds the live elements of dimension {} of {}", bound, d,
                          array->shape().ToString()),
               make.Compare(ComparisonDirection::kNe, make.LiveSize(array, d), all));
    }
  }
}

Status Merger::Permute(const std::vector<Comer>& devices) {
  Frame& first = *devices[0].frame;
  const Instruction& like = *devices[0].instruction;
  Expansion make(first.into, like);
  const bool slices = !like.attributes<CollectivePermuteAttributes>().slice_sizes.empty();
  std::map<int64_t, const Comer*> comers;
  for (const Comer& comer : devices) comers[comer.device] = &comer;
  std::map<int64_t, Values> given;
  IntList givers, takers;
  std::vector<Instruction**> shared;
  for (const auto& [device, frame, instruction] : devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*instruction, grid_, device));
    if (!partners.source) continue;
    takers.push_back(device);
    const auto source = comers.find(*partners.source);
    if (given.contains(*partners.source) || source == comers.end()) continue;
    const auto& [sender, its_frame, its] = *source->second;
    for (Instruction*& value : given[sender] = OperandsOf(*its_frame, *its, sender)) {
      givers.push_back(sender);
      shared.push_back(&value);
    }
  }
  VXLA_RETURN_IF_ERROR(Share(first.into, like, givers, shared, takers));
  for (const auto& [device, frame, instruction] : devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(*instruction, grid_, device));
    const bool starts = instruction->opcode() == Opcode::kCollectivePermuteStart;
    const Shape& shape = starts ? instruction->shape().tuple_elements()[1] : instruction->shape();
    const Values own = OperandsOf(*frame, *instruction, device);
    if (slices && IsHere(device)) CheckSlices(*frame, *instruction, own);
    Instruction* received = nullptr;
    if (partners.source && given.contains(*partners.source)) {
      const Values& sent = given.at(*partners.source);
      received = slices ? SlicesReceived(make, sent, own) : shape.IsTuple() ? make.TupleOf(sent) : sent[0];
    } else {
      received = slices ? own[1] : ZerosLike(make, shape, own);
    }
    received = UnderFlags(make, received, shape);
    ValuesOf(*frame, *instruction)[static_cast<size_t>(device)] =
        starts ? make.Started(slices ? own[0] : make.Together(own), received) : received;
  }
  return OkStatus();
}

Status Merger::Send(Frame& frame, int64_t device, const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(instruction));
  std::optional<int64_t> target = kAnyTarget;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    target = partners.target;
  }
  const Values operands = OperandsOf(frame, instruction, device);
  if (target) {
    frame.region.sent[{ChannelOf(instruction).value_or(-1), device, *target}].push_back({operands[0], &instruction});
  }
  Expansion make(frame.into, instruction);
  ValuesOf(frame, instruction)[static_cast<size_t>(device)] =
      make.TupleOf({operands[0], make.Zeros(instruction.shape().tuple_elements()[1]), operands[1]});
  return OkStatus();
}

Result<bool> Merger::Receive(Frame& frame, int64_t device, const Instruction& done) {
  const Instruction& recv = *done.operand(0);
  const int64_t channel = ChannelOf(recv).value_or(-1);
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(recv));
  std::optional<int64_t> source;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(recv, grid_, device));
    source = partners.source;
  } else {
    // Its own data, else that of the one device that sends.
    VXLA_ASSIGN_OR_RETURN(source, SourceOnChannel(frame.region, recv, device));
    if (!source) return false;
  }
  Expansion make(frame.into, done);
  Instruction* data = nullptr;
  if (source) {
    VXLA_ASSIGN_OR_RETURN(const bool may_come, MayCome(frame, done, device, {*source}));
    if (may_come) {
      auto& sent = frame.region.sent[{channel, *source, stated ? device : kAnyTarget}];
      if (sent.empty()) return false;
      data = sent.front().data;
      sent.pop_front();
      const Shape& needed = done.shape().tuple_elements()[0];
      if (!Compatible(data->shape(), needed)) {
        return MergeError(done, StatusCode::kInvalidArgument, "channel {} brought {}, {} needed", channel,
                          data->shape().ToString(), needed.ToString());
      }
      VXLA_RETURN_IF_ERROR(Share(frame.into, done, {*source}, {&data}, {*source, device}));
    }
  }
  if (data == nullptr) data = make.Zeros(done.shape().tuple_elements()[0]);
  ValuesOf(frame, done)[static_cast<size_t>(device)] = make.TupleOf({data, make.Zeros(Shape::Token())});
  return true;
}

Result<std::optional<int64_t>> Merger::SourceOnChannel(Region& region, const Instruction& recv, int64_t device) const {
  const int64_t channel = ChannelOf(recv).value_or(-1);
  const auto has_sent = [&](int64_t source) {
    const auto sent = region.sent.find({channel, source, kAnyTarget});
    return sent != region.sent.end() && !sent->second.empty();
  };
  if (has_sent(device)) return std::optional(device);
  for (const int64_t source : region.devices) {
    if (!has_sent(source)) continue;
    const std::pair between(source, device);
    const auto [known, fresh] = region.connections.try_emplace(channel, between);
    if (!fresh && known->second != between) return SeveralConnections(grid_, recv, known->second, between);
    return std::optional(source);
  }
  return std::optional<int64_t>();
}

void Merger::Call(Frame& frame, const Instruction& instruction) {
  std::vector<Values> arguments(static_cast<size_t>(instruction.operand_count()));
  for (int i = 0; i < instruction.operand_count(); ++i) {
    arguments[static_cast<size_t>(i)] = frame.values.at(instruction.operand(i));
  }
  Frame& inside = Open(frame.region, *instruction.called(0), frame.devices, arguments);
  inside.caller = &frame;
  inside.call = &instruction;
}

Result<MergedProgram> Merger::Merge(const std::vector<bool>& shared) {
  VXLA_RETURN_IF_ERROR(CheckCollectives(source_, grid_));
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

}  // namespace merging

namespace {

Result<MergedProgram> MergeAt(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared,
                              const DevicePlaces* places) {
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  while (true) {
    merging::Merger merger(*inlined, grid, places);
    Result<MergedProgram> merged = merger.Merge(shared);
    if (merger.hoistable().empty()) return merged;
    // One at a time: another one may have stood in its branches.
    HoistMeetings(*inlined, *const_cast<Instruction*>(merger.hoistable()[0]));
  }
}

}  // namespace

Result<MergedProgram> MergeDevices(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared) {
  return MergeAt(module, grid, shared, nullptr);
}

Result<MergedProgram> MergeDevicesOfPlace(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared,
                                          const DevicePlaces& places) {
  return MergeAt(module, grid, shared, &places);
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
