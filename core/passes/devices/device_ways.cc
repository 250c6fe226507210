// How devices go through loops and branches together: merging::Merger's other half.

#include "core/host/ranges.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/devices/device_merger_impl.h"
#include "core/passes/devices/exchanges.h"

namespace VXLA_NAMESPACE::merging {
namespace {

// The devices whose values are one, in the order of the first of each.
std::vector<IntList> Classes(const IntList& devices, const Values& values) {
  std::vector<IntList> classes;
  std::unordered_map<const Instruction*, size_t> known;
  for (const int64_t device : devices) {
    const auto [at, fresh] = known.try_emplace(values[device], classes.size());
    if (fresh) classes.emplace_back();
    classes[at->second].push_back(device);
  }
  return classes;
}

// At any depth.
std::vector<const Instruction*> ExchangesIn(std::span<Computation* const> called) {
  std::vector<const Instruction*> exchanges;
  for (const Computation* computation : CalledDeep(called)) {
    for (const auto& inner : computation->instructions()) {
      if (Has(inner->opcode(), Trait::kMeets)) exchanges.push_back(inner.get());
    }
  }
  return exchanges;
}

// What selects is a truth value or a number, beyond the branches the last one's.
Values BranchesOf(Expansion& make, Values selectors) {
  const auto last = std::ssize(make.instruction().called()) - 1;
  for (Instruction*& selector : selectors) {
    if (selector == nullptr || selector->shape().element_type() == ElementType::kPred) continue;
    const Shape u32(ElementType::kU32);
    selector = make.Smaller(make.Add(Opcode::kBitcastConvert, u32, {selector}), make.Number(ElementType::kU32, last));
  }
  return selectors;
}

}  // namespace

// Those whose way is known go it, all of a branch together. Gives the others.
IntList Merger::KnownBranches(Frame& frame, const Instruction& instruction) {
  const auto count = static_cast<int64_t>(instruction.called().size());
  IntList undecided;
  std::map<int64_t, IntList> by_branch;
  for (const int64_t device : frame.devices) {
    const Instruction& selector = *frame.values.at(instruction.operand(0))[device];
    if (selector.opcode() != Opcode::kConstant) {
      undecided.push_back(device);
      continue;
    }
    by_branch[BranchOf(selector.literal(), count)].push_back(device);
  }
  for (const auto& [branch, devices] : by_branch) {
    Frame& inside = Open(frame.region, *instruction.called(branch), devices,
                         {frame.values.at(instruction.operand(static_cast<int>(branch) + 1))});
    inside.caller = &frame;
    inside.call = &instruction;
  }
  return undecided;
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
  frame.parted = make.Select(none, parted, frame.parted);
}

bool Merger::StandsInLoop(const Instruction& instruction) const {
  return std::ranges::any_of(EachInstruction(source_), [&](const auto& i) {
    return i->opcode() == Opcode::kWhile && Contains(CalledDeep(i->called()), instruction.parent());
  });
}

// Devices that go different ways here may meet all the same: the one that does not come now by another instruction, or
// by this one at another time.
Status Merger::Parting(const Instruction& instruction, const Instruction& meeting, const IntList& devices) const {
  const bool elsewhere = StandsInLoop(instruction) || DoneElsewhere(meeting, KindOfCollective(meeting));
  const std::string text =
      fmt::format("{} {}: {} go different ways, and {} inside waits for all of them", OpcodeText(instruction.opcode()),
                  instruction.name(), grid_.Names(devices), TextWithChannel(meeting));
  return elsewhere ? Unsupported("{}: {}", text, kMeetApart) : DeviceFailure("deadlock: {}", text);
}

void Merger::AddCheck(Frame& frame, const Instruction& instruction, const Instruction& meeting, const IntList& devices,
                      const Values& ways) {
  if (!AnyHere(devices)) return;  // their places check it
  Expansion make(frame.into, instruction);
  Instruction* differs = nullptr;
  Instruction* const first = ways[devices[0]];
  for (const int64_t device : devices) {
    Instruction* const way = ways[device];
    if (way == first) continue;
    Instruction* const one = make.Compare(ComparisonDirection::kNe, way, first);
    differs = differs == nullptr ? one : make.Or(differs, one);
  }
  AddFault(frame, instruction, Parting(instruction, meeting, devices), differs);
}

// One branch for several devices; its parameter is a tuple of the arguments of those that are here. Gives the results
// by place.
Result<Values> Merger::Branch(Frame& frame, const Instruction& instruction, int branch, const IntList& devices,
                              MergedBranch& merged) {
  const Values& given = frame.values.at(instruction.operand(branch + 1));
  const Computation& body = *instruction.called(branch);
  Values together;  // once each
  for (const int64_t device : devices) {
    Instruction* const value = given[device];
    if (IsHere(device) && !Contains(together, value)) together.push_back(value);
  }
  merged.operand = Expansion(frame.into, instruction).TupleOf(together);
  merged.computation = target_->AddComputation(body.name());
  Instruction* const parameter =
      merged.computation->Add(Opcode::kParameter, merged.operand->shape(), {}, ParameterAttributes{});
  Expansion inside(*merged.computation, instruction);
  Values arguments(static_cast<size_t>(grid_.count()));
  std::unordered_map<const Instruction*, Instruction*> known;
  for (const int64_t device : devices) {
    Instruction* const value = given[device];
    Instruction*& one = known[value];
    const auto place = std::ranges::find(together, value) - together.begin();
    if (one == nullptr) {
      one = place < std::ssize(together) ? inside.Element(parameter, place)
                                         : Absent(*merged.computation, instruction, value->shape());
    }
    arguments[device] = one;
  }
  VXLA_ASSIGN_OR_RETURN(const Values roots, Emit(body, *merged.computation, devices, {arguments}, merged.parted));
  return Transformed(devices, [&](const int64_t device) { return roots[device]; });
}

Status Merger::NoteHoistable(const Instruction& conditional, const std::vector<IntList>& classes) {
  if (classes.size() < 2 || !CanHoistMeetings(conditional)) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const Ways ways, WaysOf(conditional, classes));
  const bool meet = std::ranges::any_of(ways.meetings, [](const Instruction* meeting) { return meeting != nullptr; });
  if (meet && !Contains(hoistable_, &conditional)) hoistable_.push_back(&conditional);
  return OkStatus();
}

Status Merger::Conditional(Frame& frame, const Instruction& instruction) {
  Values& results = ValuesOf(frame, instruction);
  Expansion make(frame.into, instruction);
  Values selectors = frame.values.at(instruction.operand(0));
  const IntList undecided = KnownBranches(frame, instruction);
  if (!undecided.empty()) {
    VXLA_RETURN_IF_ERROR(NoteHoistable(instruction, Classes(frame.devices, selectors)));
  }
  VXLA_ASSIGN_OR_RETURN(const Ways ways, WaysOf(instruction, Classes(undecided, selectors)));
  for (size_t c = 0; c < ways.classes.size(); ++c) {
    const IntList& devices = ways.classes[c];
    if (devices.empty()) continue;
    if (ways.meetings[c] != nullptr) {
      ShareWays(frame.into, instruction, devices, selectors);
      AddCheck(frame, instruction, *ways.meetings[c], devices, BranchesOf(make, selectors));
    }
    Values operands{selectors[devices[0]]};
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
      results[device] = IsHere(device) ? ElementOf(frame, instruction, merged, place++)
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

Instruction* Merger::StateElement(Frame& frame, const Instruction& instruction, const Loop& loop, Instruction* state,
                                  size_t i) {
  return loop.tuple ? ElementOf(frame, instruction, state, static_cast<int64_t>(i)) : state;
}

// Where each element of each device's state lies in the merged state, and what it is before the loop.
void Merger::PlaceState(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop) {
  const Values& states = frame.values.at(instruction.operand(0));
  loop.initial.clear();
  loop.slots.assign(loop.shapes.size(), {});
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    std::map<int64_t, int64_t> slots;
    for (size_t place = 0; place < devices.size(); ++place) {
      if (!IsHere(devices[place])) continue;
      if (!slots.try_emplace(loop.classes[i][place], std::ssize(loop.initial)).second) continue;
      Instruction* const state = states[devices[place]];
      loop.initial.push_back(StateElement(frame, instruction, loop, state, i));
    }
    for (size_t place = 0; place < devices.size(); ++place) {
      const auto slot = slots.find(loop.classes[i][place]);
      loop.slots[i].push_back(slot == slots.end() ? -1 : slot->second);
    }
  }
  if (loop.parted >= 0) {
    loop.parted = std::ssize(loop.initial);
    loop.initial.push_back(Expansion(frame.into, instruction).Zeros(Shape(ElementType::kS32)));
  }
}

// The loop's body or its condition for all devices; `given`: their states in it, by device.
Result<Values> Merger::EmitLoop(const Computation& source, const Instruction& instruction, const IntList& devices,
                                const Loop& loop, Computation*& merged, Values& given, Instruction*& parted) {
  std::vector<Shape> shapes(loop.initial.size(), Shape(ElementType::kS32));  // of all but what a frame calls parted:
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    for (const int64_t slot : loop.slots[i]) {
      if (slot >= 0) shapes[slot] = loop.shapes[i];
    }
  }
  merged = target_->AddComputation(source.name());
  Instruction* const parameter =
      merged->Add(Opcode::kParameter, Shape::Tuple(std::move(shapes)), {}, ParameterAttributes{});
  Expansion make(*merged, instruction);
  Values of_slots;
  for (int64_t slot = 0; slot < std::ssize(loop.initial); ++slot) of_slots.push_back(make.Element(parameter, slot));
  parted = loop.parted >= 0 ? of_slots.back() : nullptr;
  given.assign(static_cast<size_t>(grid_.count()), nullptr);
  std::map<std::pair<size_t, int64_t>, Instruction*> elsewhere;  // by element and class
  Instruction* last = nullptr;
  for (size_t place = 0; place < devices.size(); ++place) {
    Values elements;
    for (size_t i = 0; i < loop.shapes.size(); ++i) {
      const int64_t slot = loop.slots[i][place];
      if (slot >= 0) {
        elements.push_back(of_slots[slot]);
        continue;
      }
      Instruction*& absent = elsewhere[{i, loop.classes[i][place]}];
      if (absent == nullptr) absent = Absent(*merged, instruction, loop.shapes[i]);
      elements.push_back(absent);
    }
    const bool same = last != nullptr && loop.tuple && std::ranges::equal(last->operands(), elements);
    if (!same) last = loop.tuple ? make.TupleOf(elements) : elements[0];
    given[devices[place]] = last;
  }
  return Emit(source, *merged, devices, {given}, parted);
}

// One attempt with what is taken to be shared; false: less is, and loop.classes say what.
Result<bool> Merger::TryLoop(Frame& frame, const Instruction& instruction, const IntList& devices, Loop& loop) {
  PlaceState(frame, instruction, devices, loop);
  Instruction* parted = nullptr;
  Values given;
  VXLA_ASSIGN_OR_RETURN(const Values roots,
                        EmitLoop(*instruction.called(1), instruction, devices, loop, loop.body, given, parted));
  Region behind{*loop.body, devices, parted, {}, {}, {}, {}};
  Frame& inside = Open(behind, *instruction.called(1), devices, {});
  if (loop.meeting != nullptr) {
    VXLA_ASSIGN_OR_RETURN(Values decide, Emit(*instruction.called(0), *loop.body, devices, {given}, inside.parted));
    ShareWays(*loop.body, instruction, devices, decide);
    AddCheck(inside, instruction, *loop.meeting, devices, decide);
  }
  Values next(loop.initial.size());
  bool holds = true;
  for (size_t i = 0; i < loop.shapes.size(); ++i) {
    std::map<int64_t, Instruction*> elsewhere;  // by class
    std::map<std::pair<int64_t, Instruction*>, int64_t> parts;
    for (size_t place = 0; place < devices.size(); ++place) {
      Instruction* const root = roots[devices[place]];
      Instruction* const value = StateElement(inside, instruction, loop, root, i);
      const int64_t slot = loop.slots[i][place];
      Instruction*& known = slot >= 0 ? next[slot] : elsewhere[loop.classes[i][place]];
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
  if (inside.parted != nullptr) next[loop.parted] = inside.parted;
  loop.body->set_root(Expansion(*loop.body, instruction).TupleOf(next));
  VXLA_ASSIGN_OR_RETURN(loop.decide,
                        EmitLoop(*instruction.called(0), instruction, devices, loop, loop.condition, given, parted));
  // All take the first one's way.
  if (loop.meeting != nullptr) Share(*loop.condition, instruction, {{devices[0], &loop.decide[devices[0]], devices}});
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
      Instruction* const state = states[device];
      Instruction* const value = loop.tuple ? ElementOf(frame, instruction, state, static_cast<int64_t>(i)) : state;
      classes.push_back(known.try_emplace(value, std::ssize(known)).first->second);
    }
  }
  for (bool holds = false; !holds;) VXLA_SET_OR_RETURN(holds, TryLoop(frame, instruction, devices, loop));
  // Devices that may end at different times have loops of their own, unless they meet inside.
  VXLA_ASSIGN_OR_RETURN(const Ways ways, WaysOf(instruction, Classes(devices, loop.decide)));
  for (const IntList& of_class : ways.classes) {
    if (of_class.empty() || of_class.size() == devices.size()) continue;
    VXLA_RETURN_IF_ERROR(While(frame, instruction, of_class));
  }
  const auto all = std::ranges::find(ways.classes, devices.size(), &IntList::size);
  if (all == ways.classes.end()) return OkStatus();
  loop.meeting = ways.meetings[all - ways.classes.begin()];
  for (bool holds = loop.meeting == nullptr; !holds;)
    VXLA_SET_OR_RETURN(holds, TryLoop(frame, instruction, devices, loop));
  loop.condition->set_root(loop.decide[devices[0]]);
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
    results[devices[place]] = loop.tuple ? make.TupleOf(elements) : elements[0];
  }
  if (loop.parted >= 0) AddParted(frame, instruction, make.Element(merged, loop.parted));
  if (loop.meeting == nullptr) return OkStatus();
  // The first device has ended: have the others?
  VXLA_ASSIGN_OR_RETURN(Values decide, Emit(*instruction.called(0), frame.into, devices, {results}, frame.parted));
  ShareWays(frame.into, instruction, devices, decide);
  AddCheck(frame, instruction, *loop.meeting, devices, decide);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::merging
