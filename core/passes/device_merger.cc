#include "core/passes/device_merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>

#include "core/passes/call_inliner.h"
#include "core/passes/expansion.h"

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
      return IsExchange(instruction.opcode());
  }
}

// What one device's own state or host decides.
Status CheckMergeable(const Instruction& instruction) {
  const auto refused = [&](const char* why) {
    return MergeError(instruction, StatusCode::kUnsupported, "{}: several devices of it run on the CPU reference only",
                      why);
  };
  switch (instruction.opcode()) {
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return refused("talks to the host");
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
      return refused("draws from a state of each device");
    case Opcode::kRaggedAllToAll:
      return refused("sends rows that data decide");
    case Opcode::kSend:
    case Opcode::kRecv:
      if (instruction.attributes<SendRecvAttributes>().is_host_transfer) return refused("talks to the host");
      return OkStatus();
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      if (!instruction.attributes<CollectivePermuteAttributes>().slice_sizes.empty()) return refused("sends slices");
      break;
    default:
      break;
  }
  if (!IsExchange(instruction.opcode())) return OkStatus();
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().IsDynamic()) return refused("exchanges arrays with dynamic dimensions");
  }
  return OkStatus();
}

// op(p0, p1) of an elementwise operation: that.
std::optional<Opcode> PlainReducer(const Computation& computation) {
  const Instruction& root = *computation.root();
  if (!IsElementwise(root.opcode()) || root.operand_count() != 2 || root.opcode() == Opcode::kCompare) return {};
  const bool plain = root.operand(0) == computation.parameter(0) && root.operand(1) == computation.parameter(1);
  return plain ? std::optional(root.opcode()) : std::nullopt;
}

class Merger {
 public:
  Merger(const Module& source, const DeviceGrid& grid) : source_(source), grid_(grid), depends_(KnowsItsDevice) {}

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
    std::map<std::pair<Opcode, int64_t>, Instruction*> ids;
    std::map<std::pair<Instruction*, int64_t>, Instruction*> elements;
    // What sends have given and no recv has taken yet, by (channel, source, target).
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<Instruction*>> sent;
  };

  // `arguments`: of the devices, by parameter. Gives the roots, by device.
  Result<Values> Emit(const Computation& source, Computation& into, const IntList& devices,
                      const std::vector<Values>& arguments);
  // False: it has to wait.
  Result<bool> Step(Frame& frame, int64_t device, const Instruction& instruction);
  bool HaveCome(const Frame& frame, const Instruction& instruction, const IntList& devices) const;
  Status Deadlock(const Frame& frame) const;

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
  Instruction* IdOf(Frame& frame, const Instruction& instruction, int64_t id);
  Instruction* ElementOf(Frame& frame, const Instruction& like, Instruction* tuple, int64_t index);
  Computation* PlainCopyOf(Computation* computation);

  Status Exchange(Frame& frame, const Instruction& instruction, const IntList& members);
  Values Exchanged(Frame& frame, const Instruction& instruction, const std::vector<Values>& given, const Shape& shape);
  Instruction* Reduced(Expansion& make, const Instruction& instruction, Values values);
  Status Permute(Frame& frame, const Instruction& instruction);
  // A -start form gives (operands, result, contexts ...).
  Instruction* Started(Expansion& make, const Instruction& instruction, const Values& operands, Instruction* result);
  Status Send(Frame& frame, int64_t device, const Instruction& instruction);
  Result<bool> Receive(Frame& frame, int64_t device, const Instruction& done);

  Status Call(Frame& frame, const Instruction& instruction);
  Status Conditional(Frame& frame, const Instruction& instruction);
  Status While(Frame& frame, const Instruction& instruction, const IntList& devices);
  struct Loop;
  Result<bool> TryLoop(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop);

  const Module& source_;
  const DeviceGrid grid_;
  std::unique_ptr<Module> target_;
  DeepProperty depends_;
  std::unordered_map<const Computation*, Computation*> plain_;
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

Instruction* Merger::IdOf(Frame& frame, const Instruction& instruction, int64_t id) {
  Instruction*& known = frame.ids[{instruction.opcode(), id}];
  if (known == nullptr) {
    known = Expansion(frame.into, instruction).Constant(Literal::ScalarInt(instruction.shape().element_type(), id));
  }
  return known;
}

bool Merger::HaveCome(const Frame& frame, const Instruction& instruction, const IntList& devices) const {
  return std::ranges::all_of(devices, [&](int64_t device) {
    const auto at = frame.at.find(device);
    return at != frame.at.end() && at->second != frame.source.instructions().end() && at->second->get() == &instruction;
  });
}

Status Merger::Deadlock(const Frame& frame) const {
  std::string text;
  const Instruction* first = nullptr;
  for (const auto& [device, at] : frame.at) {
    if (at == frame.source.instructions().end()) {
      text += fmt::format("; {} has ended", grid_.Name(device));
      continue;
    }
    if (first == nullptr) first = at->get();
    text += fmt::format("; {} waits at {} {}", grid_.Name(device), OpcodeText((*at)->opcode()), (*at)->name());
  }
  if (frame.devices.size() < static_cast<size_t>(grid_.count())) {
    return Unsupported("{}; other devices may have taken another branch: that runs on the CPU reference only",
                       text.substr(2))
        .At(first->location());
  }
  return InvalidArgument("deadlock: {}", text.substr(2)).At(first->location());
}

Result<Values> Merger::Emit(const Computation& source, Computation& into, const IntList& devices,
                            const std::vector<Values>& arguments) {
  Frame frame{source, into, devices, {}, {}, {}, {}, {}, {}};
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
  return frame.values.at(source.root());
}

Result<bool> Merger::Step(Frame& frame, int64_t device, const Instruction& instruction) {
  Values& values = ValuesOf(frame, instruction);
  Instruction*& value = values[static_cast<size_t>(device)];
  if (value != nullptr) return true;
  const auto operand = [&](int i) { return frame.values.at(instruction.operand(i))[static_cast<size_t>(device)]; };
  switch (instruction.opcode()) {
    case Opcode::kReplicaId:
      value = IdOf(frame, instruction, grid_.replica(device));
      return true;
    case Opcode::kPartitionId:
      value = IdOf(frame, instruction, grid_.partition(device));
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
    for (const int64_t member : members) {
      if (frame.at.contains(member)) continue;
      return MergeError(instruction, StatusCode::kUnsupported,
                        "{} takes part, which may leave a loop or take another branch than {}: several devices that "
                        "part run on the CPU reference only",
                        grid_.Name(member), grid_.Name(device));
    }
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

// In pairs, and pairs of those, in the order of the group.
Instruction* Merger::Reduced(Expansion& make, const Instruction& instruction, Values values) {
  const Computation& reducer = *instruction.called(0);
  const std::optional<Opcode> plain = PlainReducer(reducer);
  const ElementType type = values[0]->shape().element_type();
  const bool widens = values.size() > 1 && IsFloating(type) && BitWidth(type) < 32 &&
                      (plain == Opcode::kAdd || plain == Opcode::kMultiply);
  if (widens) {
    for (Instruction*& value : values) value = make.Converted(value, ElementType::kF32);
  }
  while (values.size() > 1) {
    Values pairs;
    for (size_t i = 0; i < values.size(); i += 2) {
      if (i + 1 == values.size()) {
        pairs.push_back(values[i]);
      } else if (plain) {
        pairs.push_back(make.Binary(*plain, values[i], values[i + 1]));
      } else {
        IntList dimensions;
        for (int64_t d = 0; d < values[i]->shape().rank(); ++d) dimensions.push_back(d);
        pairs.push_back(make.Add(Opcode::kMap, values[i]->shape(), {values[i], values[i + 1]},
                                 DimensionsAttributes{dimensions}, {PlainCopyOf(instruction.called(0))}));
      }
    }
    values = std::move(pairs);
  }
  return make.Converted(values[0], type);
}

// By member. given[m] are member m's operands; `shape` is what the instruction gives (of a start, its second element).
Values Merger::Exchanged(Frame& frame, const Instruction& instruction, const std::vector<Values>& given,
                         const Shape& shape) {
  Expansion make(frame.into, instruction);
  const auto count = static_cast<int64_t>(given.size());
  const auto of_operand = [&](size_t k) {
    Values values;
    for (const Values& of_member : given) values.push_back(of_member[k]);
    return values;
  };
  // One value for each member of each operand, put together by member.
  const auto each = [&](const std::function<Values(const Values&)>& results) {
    std::vector<Values> by_member(given.size());
    for (size_t k = 0; k < given[0].size(); ++k) {
      const Values of_members = results(of_operand(k));
      for (size_t m = 0; m < given.size(); ++m) by_member[m].push_back(of_members[m]);
    }
    Values together;
    for (Values& values : by_member) {
      const bool same = !together.empty() && shape.IsTuple() &&
                        std::ranges::equal(together.back()->operands(), values, std::equal_to<>());
      together.push_back(same ? together.back() : shape.IsTuple() ? make.TupleOf(values) : values[0]);
    }
    return together;
  };
  const auto all = [&](Instruction* value) { return Values(given.size(), value); };
  const IntList& dimensions = instruction.attributes<CollectiveAttributes>().dimensions;
  // Block m of `count` along the dimension.
  const auto block = [&](Instruction* value, int64_t m) {
    const int64_t size = value->shape().dimension(static_cast<int>(dimensions[0])) / count;
    return make.Slice(value, dimensions[0], m * size, (m + 1) * size);
  };
  switch (instruction.opcode()) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
      return each([&](const Values& values) { return all(Reduced(make, instruction, values)); });
    case Opcode::kCollectiveReduce:
      return each([&](const Values& values) {
        Values results = all(make.Zeros(values[0]->shape()));
        results[0] = Reduced(make, instruction, values);
        return results;
      });
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
      return each([&](const Values& values) { return all(make.Concatenated(values, dimensions[0])); });
    case Opcode::kCollectiveBroadcast:
      return each([&](const Values& values) { return all(values[0]); });
    case Opcode::kReduceScatter:
      return each([&](const Values& values) {
        Values results;
        for (int64_t m = 0; m < count; ++m) {
          Values blocks;
          for (Instruction* value : values) blocks.push_back(block(value, m));
          results.push_back(Reduced(make, instruction, blocks));
        }
        return results;
      });
    default: {  // all-to-all: an array in blocks, or operand m for member m
      Values results;
      for (int64_t m = 0; m < count; ++m) {
        Values parts;
        for (const Values& of_member : given) {
          parts.push_back(dimensions.empty() ? of_member[static_cast<size_t>(m)] : block(of_member[0], m));
        }
        results.push_back(dimensions.empty() ? make.TupleOf(parts) : make.Concatenated(parts, dimensions[0]));
      }
      return results;
    }
  }
}

Instruction* Merger::Started(Expansion& make, const Instruction& instruction, const Values& operands,
                             Instruction* result) {
  const std::vector<Shape>& shapes = instruction.shape().tuple_elements();
  Values elements{shapes[0].IsTuple() ? make.TupleOf(operands) : operands[0], result};
  for (size_t i = 2; i < shapes.size(); ++i) elements.push_back(make.Zeros(shapes[i]));
  return make.TupleOf(elements);
}

Status Merger::Exchange(Frame& frame, const Instruction& instruction, const IntList& members) {
  Values& values = ValuesOf(frame, instruction);
  Expansion make(frame.into, instruction);
  std::vector<Values> given;
  for (const int64_t member : members) given.push_back(OperandsOf(frame, instruction, member));
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
  const bool in_blocks =
      instruction.opcode() == Opcode::kReduceScatter || (instruction.opcode() == Opcode::kAllToAll && !tuple);
  for (const Instruction* operand : instruction.operands()) {
    if (!in_blocks) break;
    const auto dimension = static_cast<int>(instruction.attributes<CollectiveAttributes>().dimensions[0]);
    if (operand->shape().dimension(dimension) % static_cast<int64_t>(members.size()) == 0) continue;
    return MergeError(instruction, StatusCode::kInvalidArgument, "dimension {} of {} does not fit groups of {}",
                      dimension, operand->shape().ToString(), members.size());
  }
  const Values results = Exchanged(frame, instruction, given, shape);
  for (size_t m = 0; m < members.size(); ++m) {
    if (!Compatible(results[m]->shape(), shape)) {
      return MergeError(instruction, StatusCode::kInvalidArgument, "{} comes to {} in groups of {}", shape.ToString(),
                        results[m]->shape().ToString(), members.size());
    }
    values[static_cast<size_t>(members[m])] = starts ? Started(make, instruction, given[m], results[m]) : results[m];
  }
  return OkStatus();
}

Status Merger::Permute(Frame& frame, const Instruction& instruction) {
  Expansion make(frame.into, instruction);
  Values& values = ValuesOf(frame, instruction);
  const bool starts = instruction.opcode() == Opcode::kCollectivePermuteStart;
  const Shape& shape = starts ? instruction.shape().tuple_elements()[1] : instruction.shape();
  for (const int64_t device : frame.devices) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    for (const auto& partner : {partners.source, partners.target}) {
      if (!partner || frame.at.contains(*partner)) continue;
      return MergeError(instruction, StatusCode::kUnsupported,
                        "{} takes part, which may leave a loop or take another branch than {}: several devices that "
                        "part run on the CPU reference only",
                        grid_.Name(*partner), grid_.Name(device));
    }
    Instruction* received = nullptr;
    if (partners.source) {
      const Values sent = OperandsOf(frame, instruction, *partners.source);
      received = shape.IsTuple() ? make.TupleOf(sent) : sent[0];
    } else {
      received = make.Zeros(shape);
    }
    values[static_cast<size_t>(device)] =
        starts ? Started(make, instruction, OperandsOf(frame, instruction, device), received) : received;
  }
  return OkStatus();
}

int64_t ChannelOf(const Instruction& instruction) {
  return instruction.attributes<SendRecvAttributes>().channel_id.value_or(-1);
}

Status Merger::Send(Frame& frame, int64_t device, const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const auto stated, StatedPairs(instruction));
  std::optional<int64_t> target = device;
  if (stated) {
    VXLA_ASSIGN_OR_RETURN(const Partners partners, PartnersOf(instruction, grid_, device));
    target = partners.target;
  }
  const Values operands = OperandsOf(frame, instruction, device);
  if (target) frame.sent[{ChannelOf(instruction), device, *target}].push_back(operands[0]);
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
    auto& sent = frame.sent[{ChannelOf(recv), *source, device}];
    if (sent.empty()) return false;
    data = sent.front();
    sent.pop_front();
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
  VXLA_ASSIGN_OR_RETURN(Values results, Emit(*instruction.called(0), frame.into, frame.devices, arguments));
  Expansion make(frame.into, instruction);
  for (const int64_t device : frame.devices) {
    Instruction*& result = results[static_cast<size_t>(device)];
    if (instruction.opcode() == Opcode::kAsyncStart) {
      result = Started(make, instruction, OperandsOf(frame, instruction, device), result);
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

Status Merger::Conditional(Frame& frame, const Instruction& instruction) {
  Values& results = ValuesOf(frame, instruction);
  Expansion make(frame.into, instruction);
  const Values selectors = frame.values.at(instruction.operand(0));
  for (const IntList& devices : Classes(frame.devices, selectors)) {
    Values operands{selectors[static_cast<size_t>(devices[0])]};
    std::vector<Computation*> called;
    Shape shape;
    for (size_t branch = 0; branch < instruction.called().size(); ++branch) {
      const Values& given = frame.values.at(instruction.operand(static_cast<int>(branch) + 1));
      const Computation& body = *instruction.called(static_cast<int>(branch));
      Values together;
      for (const int64_t device : devices) together.push_back(given[static_cast<size_t>(device)]);
      operands.push_back(make.TupleOf(together));
      Computation* const merged = target_->AddComputation(body.name());
      Instruction* const parameter =
          merged->Add(Opcode::kParameter, operands.back()->shape(), {}, ParameterAttributes{});
      Expansion inside(*merged, instruction);
      Values arguments(static_cast<size_t>(grid_.count()));
      std::unordered_map<const Instruction*, Instruction*> known;
      for (size_t i = 0; i < devices.size(); ++i) {
        Instruction*& one = known[together[i]];
        if (one == nullptr) one = inside.Element(parameter, static_cast<int64_t>(i));
        arguments[static_cast<size_t>(devices[i])] = one;
      }
      VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(body, *merged, devices, {arguments}));
      Values of_devices;
      for (const int64_t device : devices) of_devices.push_back(roots[static_cast<size_t>(device)]);
      merged->set_root(Expansion(*merged, instruction).TupleOf(of_devices));
      shape = merged->root()->shape();
      called.push_back(merged);
    }
    Instruction* const merged = make.Add(Opcode::kConditional, shape, operands, instruction.attributes(), called);
    for (size_t i = 0; i < devices.size(); ++i) {
      results[static_cast<size_t>(devices[i])] = ElementOf(frame, instruction, merged, static_cast<int64_t>(i));
    }
  }
  return OkStatus();
}

// A loop of several devices: elements of their states that are one value stay one.
struct Merger::Loop {
  bool tuple = false;
  std::vector<Shape> shapes;  // of the elements of one device's state
  std::vector<bool> shared;   // by element
  Computation *body = nullptr, *condition = nullptr;
  Values initial;                           // of the merged state
  std::vector<std::vector<int64_t>> slots;  // by element and place of the device, in the merged state
  Values decide;                            // by device
};

// One attempt with what is taken to be shared; false: less is.
Result<bool> Merger::TryLoop(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop) {
  const Values& states = frame.values.at(instruction.operand(0));
  loop.initial.clear();
  loop.slots.assign(loop.shapes.size(), {});
  const auto element = [&](Frame& of, Instruction* state, size_t i) {
    return loop.tuple ? ElementOf(of, instruction, state, static_cast<int64_t>(i)) : state;
  };
  std::vector<Shape> shapes;
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    for (size_t place = 0; place < devices.size(); ++place) {
      if (place == 0 || !loop.shared[i]) {
        loop.initial.push_back(element(frame, states[static_cast<size_t>(devices[place])], i));
        shapes.push_back(loop.shapes[i]);
      }
      loop.slots[i].push_back(static_cast<int64_t>(loop.initial.size()) - 1);
    }
  }
  const Shape state = Shape::Tuple(shapes);
  const auto emit = [&](const Computation& source, Computation*& merged) -> Result<Values> {
    merged = target_->AddComputation(source.name());
    Instruction* const parameter = merged->Add(Opcode::kParameter, state, {}, ParameterAttributes{});
    Expansion make(*merged, instruction);
    Values of_slots, arguments(static_cast<size_t>(grid_.count()));
    for (size_t slot = 0; slot < shapes.size(); ++slot) {
      of_slots.push_back(make.Element(parameter, static_cast<int64_t>(slot)));
    }
    Instruction* last = nullptr;
    for (size_t place = 0; place < devices.size(); ++place) {
      Values elements;
      for (size_t i = 0; i < loop.shapes.size(); ++i) {
        elements.push_back(of_slots[static_cast<size_t>(loop.slots[i][place])]);
      }
      const bool same = last != nullptr && loop.tuple && std::ranges::equal(last->operands(), elements);
      if (!same) last = loop.tuple ? make.TupleOf(elements) : elements[0];
      arguments[static_cast<size_t>(devices[place])] = last;
    }
    return Emit(source, *merged, devices, {arguments});
  };
  VXLA_ASSIGN_OR_RETURN(const Values roots, emit(*instruction.called(1), loop.body));
  Frame inside{*instruction.called(1), *loop.body, devices, {}, {}, {}, {}, {}, {}};
  Values next(loop.initial.size());
  bool holds = true;
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    for (size_t place = 0; place < devices.size(); ++place) {
      Instruction* const value = element(inside, roots[static_cast<size_t>(devices[place])], i);
      Instruction*& known = next[static_cast<size_t>(loop.slots[i][place])];
      if (known != nullptr && known != value) loop.shared[i] = holds = false;
      known = value;
    }
  }
  if (!holds) return false;
  loop.body->set_root(Expansion(*loop.body, instruction).TupleOf(next));
  VXLA_ASSIGN_OR_RETURN(loop.decide, emit(*instruction.called(0), loop.condition));
  return true;
}

Status Merger::While(Frame& frame, const Instruction& instruction, const IntList& devices) {
  const Values& states = frame.values.at(instruction.operand(0));
  Loop loop;
  loop.tuple = instruction.shape().IsTuple();
  loop.shapes = loop.tuple ? instruction.shape().tuple_elements() : std::vector<Shape>{instruction.shape()};
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    const auto value = [&](int64_t device) {
      Instruction* const state = states[static_cast<size_t>(device)];
      return loop.tuple ? ElementOf(frame, instruction, state, static_cast<int64_t>(i)) : state;
    };
    Instruction* const first = value(devices[0]);
    loop.shared.push_back(std::ranges::all_of(devices, [&](int64_t device) { return value(device) == first; }));
  }
  for (bool holds = false; !holds;) {
    VXLA_ASSIGN_OR_RETURN(holds, TryLoop(frame, instruction, devices, loop));
  }
  // Devices that may end at different times have loops of their own.
  if (const auto classes = Classes(devices, loop.decide); classes.size() > 1) {
    for (const IntList& of_class : classes) VXLA_RETURN_IF_ERROR(While(frame, instruction, of_class));
    return OkStatus();
  }
  loop.condition->set_root(loop.decide[static_cast<size_t>(devices[0])]);
  Expansion make(frame.into, instruction);
  Instruction* const initial = make.TupleOf(loop.initial);
  Instruction* const merged =
      make.Add(Opcode::kWhile, initial->shape(), {initial}, instruction.attributes(), {loop.condition, loop.body});
  Values& results = ValuesOf(frame, instruction);
  for (size_t place = 0; place < devices.size(); ++place) {
    Values elements;
    for (size_t i = 0; i < loop.shapes.size(); ++i) {
      elements.push_back(ElementOf(frame, instruction, merged, loop.slots[i][place]));
    }
    results[static_cast<size_t>(devices[place])] = loop.tuple ? make.TupleOf(elements) : elements[0];
  }
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
      if (device > 0 && p < shared.size() && shared[p]) {
        values.push_back(values[0]);
        continue;
      }
      ParameterAttributes attributes;
      attributes.number = static_cast<int64_t>(program.parameters.size());
      program.parameters.emplace_back(device, parameter->parameter_number());
      values.push_back(entry->Add(Opcode::kParameter, parameter->shape(), {}, attributes, {}, parameter->name()));
    }
  }
  VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(*source_.entry(), *entry, devices, arguments));
  Expansion make(*entry, *source_.entry()->root());
  std::unordered_map<const Instruction*, int64_t> known;
  std::map<std::pair<const Instruction*, int64_t>, Instruction*> elements;
  Values leaves;
  for (Instruction* root : roots) {
    IntList& own = program.results.emplace_back();
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
  entry->set_root(make.TupleOf(leaves));
  target_->SortComputations();
  target_->RemoveUnusedComputations();
  program.module = std::move(target_);
  return program;
}

}  // namespace

Result<MergedProgram> MergeDevices(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared) {
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  return Merger(*inlined, grid).Merge(shared);
}

std::vector<std::vector<const Literal*>> LeavesByDevice(const MergedProgram& program, const Literal& result) {
  std::vector<std::vector<const Literal*>> by_device;
  for (const IntList& places : program.results) {
    std::vector<const Literal*>& leaves = by_device.emplace_back();
    for (const int64_t place : places) leaves.push_back(&result.tuple_element(place));
  }
  return by_device;
}

}  // namespace VXLA_NAMESPACE
