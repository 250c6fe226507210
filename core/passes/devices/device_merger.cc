#include "core/passes/devices/device_merger.h"

#include <functional>

#include "core/host/ranges.h"
#include "core/ir/module_edits.h"
#include "core/passes/base/call_inliner.h"
#include "core/passes/devices/device_merger_impl.h"
#include "core/passes/simplify/integer_folding.h"

namespace VXLA_NAMESPACE {
namespace merging {
namespace {

// Draws from a state of its device, or talks to its host.
bool IsOfItsDevice(const Instruction& instruction) {
  return IsHostTransfer(instruction) || Has(instruction.opcode(), Trait::kDraws);
}

}  // namespace

bool IsPermute(Opcode opcode) { return IsAnyOf(opcode, Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart); }

bool KnowsItsDevice(const Instruction& instruction) {
  return Has(instruction.opcode(), Trait::kMeets, Trait::kTransfers, Trait::kDraws, Trait::kTellsPlace);
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

Instruction* Merger::Copy(Frame& frame, int64_t device, const Instruction& instruction) {
  Values operands = OperandsOf(frame, instruction, device);
  if (instruction.opcode() == Opcode::kGetTupleElement) {
    return ElementOf(frame, instruction, operands[0], instruction.attributes<GetTupleElementAttributes>().index);
  }
  const bool effect = HasSideEffect(instruction) && !instruction.notes().once;
  // What happens once has the first device's operands: all have the same values, though not in the same arrays.
  Instruction*& known = frame.copies[{&instruction, instruction.notes().once ? Values() : operands}];
  if (known != nullptr && !effect) return known;
  auto copy = instruction.CloneWith(std::move(operands), instruction.shape(),
                                    Transformed(instruction.called(), [&](Computation* c) { return PlainCopyOf(c); }));
  if (IsOfItsDevice(instruction)) copy->mutable_notes().device = device;
  if (const auto value = KnownInteger(*copy); value && instruction.control_predecessors().empty()) {
    return known = IntegerOf(frame, instruction, *value);
  }
  known = frame.into.Add(std::move(copy));
  for (const Instruction* before : instruction.control_predecessors()) {
    Instruction* const value = frame.values.at(before)[device];
    if (value->parent() == known->parent()) known->AddControlPredecessor(value);
  }
  return known;
}

Instruction* Merger::ElementOf(Frame& frame, const Instruction& like, Instruction* tuple, int64_t index) {
  if (tuple->opcode() == Opcode::kTuple) return tuple->operand(index);
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

Merger::Frame& Merger::Open(Region& region, const Computation& source, const IntList& devices,
                            const std::vector<Values>& arguments) {
  Frame& frame = region.frames.emplace_back(
      Frame{region, source, region.into, devices, region.parted, nullptr, nullptr, {}, {}, {}, {}, {}});
  for (const int64_t device : devices) {
    frame.at[device] = source.instructions().begin();
    region.frame_of[device] = &frame;
  }
  for (size_t p = 0; p < arguments.size(); ++p) {
    frame.values[source.parameter(p)] = arguments[p];
  }
  return frame;
}

void Merger::Return(Frame& frame, int64_t device) {
  Instruction* result = frame.values.at(frame.source.root())[device];
  if (frame.call->opcode() == Opcode::kAsyncStart) {
    Expansion make(frame.into, *frame.call);
    result = make.Started(make.TupleOf(OperandsOf(*frame.caller, *frame.call, device)), result);
  }
  ValuesOf(*frame.caller, *frame.call)[device] = result;
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
    // Unless those who went one way before go ways of their own, or one goes ahead to where it sends.
    const bool may_meet = SendsFurtherOn(region) || std::ranges::any_of(partings_, [](const Status& parting) {
                            return parting.code() == StatusCode::kUnsupported;
                          });
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
  Instruction*& value = values[device];
  if (value != nullptr) return true;
  const auto operand = [&](int i) { return frame.values.at(instruction.operand(i))[device]; };
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
  if (Has(instruction.opcode(), Trait::kMeets)) return StepToMeeting(frame, device, instruction);
  const bool apart = instruction.opcode() != Opcode::kAsyncStart && !depends_.Of(instruction);
  if (apart) {
    value = Copy(frame, device, instruction);
    return true;
  }
  return StepTogether(frame, device, instruction);
}

// What calls computations in which devices meet: when all have come to it.
Result<bool> Merger::StepTogether(Frame& frame, int64_t device, const Instruction& instruction) {
  if (!HaveCome(frame, instruction, frame.devices)) return false;
  switch (instruction.opcode()) {
    case Opcode::kWhile:
      VXLA_RETURN_IF_ERROR(While(frame, instruction, frame.devices));
      return true;
    case Opcode::kConditional:
      VXLA_RETURN_IF_ERROR(Conditional(frame, instruction));
      return ValuesOf(frame, instruction)[device] != nullptr;
    case Opcode::kAsyncStart:
    case Opcode::kCall:
      Call(frame, instruction);
      return false;
    default:
      return MergeError(instruction, StatusCode::kUnsupported, "calls a computation with collectives in it");
  }
}

void Merger::Call(Frame& frame, const Instruction& instruction) {
  std::vector<Values> arguments(static_cast<size_t>(instruction.operand_count()));
  for (int i = 0; i < instruction.operand_count(); ++i) {
    arguments[i] = frame.values.at(instruction.operand(i));
  }
  Frame& inside = Open(frame.region, *instruction.called(0), frame.devices, arguments);
  inside.caller = &frame;
  inside.call = &instruction;
}

std::vector<Values> Merger::AddParameters(Computation& entry, const std::vector<bool>& shared, MergedProgram& program) {
  std::vector<Values> arguments;
  for (const Instruction* parameter : source_.entry()->parameters()) {
    const auto p = static_cast<size_t>(parameter->parameter_number());
    Values& values = arguments.emplace_back();
    for (int64_t device = 0; device < grid_.count(); ++device) {
      const bool is_shared = p < shared.size() && shared[p];
      if (device > 0 && is_shared) {
        values.push_back(values[0]);
        continue;
      }
      if (!IsHere(device) && !is_shared) {
        values.push_back(Absent(entry, *parameter, parameter->shape()));
        continue;
      }
      ParameterAttributes attributes;
      attributes.number = static_cast<int64_t>(program.parameters.size());
      program.parameters.emplace_back(device, parameter->parameter_number());
      values.push_back(entry.Add(Opcode::kParameter, parameter->shape(), {}, attributes, {}, parameter->name()));
    }
  }
  return arguments;
}

Values Merger::LeavesOf(Expansion& make, const Values& roots, MergedProgram& program) const {
  std::unordered_map<const Instruction*, int64_t> known;
  std::map<std::pair<const Instruction*, int64_t>, Instruction*> elements;
  Values leaves;
  for (int64_t device = 0; device < grid_.count(); ++device) {
    IntList& own = program.results.emplace_back();
    if (!IsHere(device)) continue;
    const std::function<void(Instruction*)> take = [&](Instruction* value) {
      for (size_t i = 0; value->shape().IsTuple() && i < value->shape().tuple_elements().size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        Instruction*& element = elements[{value, at}];
        if (element == nullptr) {
          element = value->opcode() == Opcode::kTuple ? value->operand(i) : make.Element(value, at);
        }
        take(element);
      }
      if (value->shape().IsTuple()) return;
      const auto [place, fresh] = known.try_emplace(value, static_cast<int64_t>(leaves.size()));
      if (fresh) leaves.push_back(value);
      own.push_back(place->second);
    };
    take(roots[device]);
  }
  return leaves;
}

Result<MergedProgram> Merger::Merge(const std::vector<bool>& shared) {
  VXLA_RETURN_IF_ERROR(CheckCollectives(source_, grid_));
  MergedProgram program;
  target_ = std::make_unique<Module>(source_.name());
  target_->mutable_attributes().frontend_attributes = source_.attributes().frontend_attributes;
  Computation* const entry = target_->AddComputation(source_.entry()->name());
  target_->set_entry(entry);
  Instruction* parted = nullptr;
  VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(*source_.entry(), *entry, UpTo(grid_.count()),
                                                 AddParameters(*entry, shared, program), parted));
  Expansion make(*entry, *source_.entry()->root());
  Values leaves = LeavesOf(make, roots, program);
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
    for (const auto& instruction : EachInstruction(*target_)) {
      if (instruction->call_kind() != CallKind::kElsewhere) continue;
      return MergeError(*instruction, StatusCode::kUnsupported, "is of a device at another place, and is needed here");
    }
    program.exchanges = std::move(exchanges_);
  }
  program.module = std::move(target_);
  return program;
}

}  // namespace merging

Result<MergedProgram> MergeDevices(const Module& module, const DeviceGrid& grid, const std::vector<bool>& shared,
                                   const std::optional<DevicePlaces>& places) {
  const std::unique_ptr<Module> inlined = module.Clone();
  VXLA_RETURN_IF_ERROR(InlineCalls(*inlined).status());
  while (true) {
    merging::Merger merger(*inlined, grid, places ? &*places : nullptr);
    Result<MergedProgram> merged = merger.Merge(shared);
    if (merger.hoistable().empty()) return merged;
    // One at a time: another one may have stood in its branches.
    const std::vector<Instruction*> all = InstructionList(*merger.hoistable()[0]->parent());
    merging::HoistMeetings(*inlined, **std::ranges::find(all, merger.hoistable()[0]));
  }
}

int64_t PlaceExchange::SizeOf(const Piece& piece) const {
  if (piece.size_bytes != Piece::kAll) return piece.size_bytes;
  return posted[piece.place][piece.which].SizeBytes();
}

int64_t PlaceExchange::BytesReceived(int64_t place) const {
  int64_t bytes = 0;
  for (const Piece& piece : takes[place]) bytes += piece.place == place ? 0 : SizeOf(piece);
  return bytes;
}

}  // namespace VXLA_NAMESPACE
