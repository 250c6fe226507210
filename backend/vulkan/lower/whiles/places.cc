#include "backend/vulkan/lower/whiles/places.h"

#include <algorithm>
#include <set>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {

LoopPlaces::LoopPlaces(const Instruction& loop, uint32_t lanes, LoopShare share) {
  program_.loop = &loop;
  program_.lanes = lanes;
  program_.share = share;
}

int LoopPlaces::NewRegister(ElementType type, const Instruction* constant) {
  program_.registers.push_back({type, constant});
  return static_cast<int>(program_.registers.size()) - 1;
}

int LoopPlaces::NewPlace(LoopPlace place, const Shape& shape) {
  place.type = shape.element_type();
  place.count = shape.ElementCount();
  program_.places.push_back(place);
  return static_cast<int>(program_.places.size()) - 1;
}

int LoopPlaces::NewScratch(const Shape& shape) {
  return NewPlace({LoopPlace::Kind::kScratch, nullptr, 0, shape.ElementCount() * StorageBytes(shape.element_type())},
                  shape);
}

LoopValue LoopPlaces::ValueOf(const LeafOrigin& origin) {
  if (LeafShape(*origin.instruction, origin.leaf).ElementCount() == 0) return {};
  if (const auto it = program_.values.find(KeyOf(origin)); it != program_.values.end()) return it->second;
  VXLA_CHECK(origin.instruction->opcode() == Opcode::kConstant, "a value of a loop that has no place yet");
  return program_.values[KeyOf(origin)] = OutsideValue(origin);
}

LoopValue LoopPlaces::OutsideValue(const LeafOrigin& origin) {
  const Shape& shape = LeafShape(*origin.instruction, origin.leaf);
  LoopValue value;
  if (shape.ElementCount() == 1) {
    const bool constant = origin.instruction->opcode() == Opcode::kConstant;
    value.reg = NewRegister(shape.element_type(), constant ? origin.instruction : nullptr);
    if (!constant) program_.loaded.emplace_back(value.reg, origin);
  } else if (shape.ElementCount() > 0) {
    value.place = NewPlace({LoopPlace::Kind::kOperand, origin.instruction, origin.leaf}, shape);
  }
  return value;
}

void LoopPlaces::BindOutside() {
  const Instruction& loop = *program_.loop;
  for (int leaf = 0; leaf < LeafCount(loop.shape()); ++leaf) {
    LoopValue value;
    const Shape& shape = LeafShape(loop, leaf);
    if (HandsOn(loop, leaf)) {
      value = OutsideValue(program_.origins_.Of(*loop.operand(0), leaf));
    } else {
      if (shape.ElementCount() == 1) value.reg = NewRegister(shape.element_type());
      if (shape.ElementCount() > 1) value.place = NewPlace({LoopPlace::Kind::kState, nullptr, leaf}, shape);
      if (shape.ElementCount() > 0) program_.state.push_back({leaf, value});
    }
    BindState(loop, leaf, value);
  }
}

void LoopPlaces::BindState(const Instruction& loop, int leaf, LoopValue value) {
  program_.values[{loop.called(0)->parameter(0), leaf}] = value;
  program_.values[{loop.called(1)->parameter(0), leaf}] = value;
  program_.values[{&loop, leaf}] = value;
}

bool LoopPlaces::MayTake(const LoopScope& scope, int place, const Instruction& at,
                         const std::function<bool(int)>& shares) {
  const auto holder = scope.holder.find(place);
  if (holder == scope.holder.end()) return false;
  const LoopKey& held = holder->second;
  const auto last = scope.uses.last.find(held);
  if (held.first == nullptr || last == scope.uses.last.end() || last->second < scope.position) return true;
  if (last->second > scope.position) return false;
  for (int k = 0; k < at.operand_count(); ++k) {
    for (int leaf = 0; leaf < LeafCount(at.operand(k)->shape()); ++leaf) {
      if (KeyOf(OriginOf(*at.operand(k), leaf)) == held && !shares(k)) return false;
    }
  }
  return true;
}

int LoopPlaces::PlaceFor(LoopScope& scope, const Instruction& at, int leaf, const std::function<bool(int)>& shares) {
  const LoopKey key{&at, leaf};
  const auto wanted = scope.preferred.find(key);
  const bool takes = wanted != scope.preferred.end() && MayTake(scope, wanted->second, at, shares);
  const int place = takes ? wanted->second : NewScratch(LeafShape(at, leaf));
  scope.holder[place] = key;
  return place;
}

void LoopPlaces::AddCopy(LoopBlock& block, int from, int to, const Shape& shape, LoopCost* cost) {
  if (from == to || from < 0) return;
  LoopCopy copy;
  copy.from = from;
  copy.to = to;
  copy.type = shape.element_type();
  copy.count = shape.ElementCount();
  copy.uses = {UseOf(from, copy.count, false, true), UseOf(to, copy.count, true, true)};
  block.push_back({std::move(copy)});
  AddElements(shape.ElementCount(), 1, program_.WidthOf(shape.ElementCount(), true), cost);
}

void LoopPlaces::AddElements(int64_t count, int64_t each, int64_t width, LoopCost* cost) const {
  count = CeilDivide(count, program_.share.parts());
  cost->operations += count * each + kPhaseCost;
  const int64_t turns = CeilDivide(count / width, program_.lanes);
  if (turns > 1) cost->iterations += turns + 1;
}

void LoopPlaces::AddAssignment(LoopBlock& block, std::vector<std::pair<int, LoopValue>> assigned) {
  if (assigned.empty()) return;
  LoopAssignment assignment;
  for (const auto& [reg, value] : assigned) {
    if (value.place >= 0) assignment.uses.push_back({value.place, false, false});
  }
  assignment.assigned = std::move(assigned);
  block.push_back({std::move(assignment)});
}

int LoopPlaces::RegisterOf(LoopBlock& block, const Instruction& scalar) {
  const LoopValue value = ValueOf(scalar, 0);
  if (value.reg >= 0) return value.reg;
  const int reg = NewRegister(scalar.shape().element_type());
  AddAssignment(block, {{reg, value}});
  return reg;
}

void LoopPlaces::KeepResident() {
  std::set<int> read;
  ForEachInside(program_.root, [&](const LoopNode& node) {
    if (node.accesses() == nullptr) return;
    for (const LoopUse& use : node.accesses()->uses) {
      if (!use.writes) read.insert(use.place);
    }
  });
  for (size_t p = 0; p < program_.places.size(); ++p) {
    LoopPlace& place = program_.places[p];
    const bool is_read = place.kind != LoopPlace::Kind::kScratch || read.contains(static_cast<int>(p));
    // Which workgroups cooperate, and whose lane an element is, is not known before they run.
    const bool fits = !program_.share.cooperative && CeilDivide(place.count, program_.share.groups) <= program_.lanes;
    place.resident = fits || !is_read;
  }
  ForEachInside(program_.root, [&](const LoopNode& node) { Forget(node); });
}

void LoopPlaces::Forget(const LoopNode& node) {
  const LoopAccesses* const phase = node.accesses();
  if (phase == nullptr) return;
  program_.has_barriers |= phase->waits;
  for (const LoopUse& use : phase->uses) program_.places[static_cast<size_t>(use.place)].resident &= use.own;
  if (const auto* copy = node.As<LoopCopy>()) {
    ++program_.phases;
    for (const int place : {copy->from, copy->to}) KeepIf(place, copy->type);
  }
  if (const auto* unit = node.As<LoopUnitNode>()) ForgetUnit(*unit);
}

// Under another type, the element is not what the register holds.
void LoopPlaces::ForgetUnit(const LoopUnitNode& unit) {
  program_.phases += unit.rows.empty() ? 1 : std::ssize(program_.rows[static_cast<size_t>(unit.rows[0])]);
  for (const Instruction* operand : unit.instruction().operands()) {
    if (operand->shape().ElementCount() > 1) KeepIf(ValueOf(*operand, 0).place, operand->shape().element_type());
  }
  for (size_t leaf = 0; leaf < unit.results.size(); ++leaf)
    KeepIf(unit.results[leaf].place, LeafShape(unit.instruction(), static_cast<int>(leaf)).element_type());
  // Outside of a workgroup each of them would be a dispatch.
  for (const LoopUnitNode& update : unit.updates) ForgetUnit(update);
}

void LoopPlaces::KeepIf(int place, ElementType type) {
  if (place >= 0)
    program_.places[static_cast<size_t>(place)].resident &= program_.places[static_cast<size_t>(place)].type == type;
}

}  // namespace VXLA_NAMESPACE::vulkan
