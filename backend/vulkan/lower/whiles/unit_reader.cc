#include "backend/vulkan/lower/whiles/unit_reader.h"

#include <algorithm>

#include "backend/vulkan/lower/indexing/scatter_windows.h"
#include "backend/vulkan/lower/whiles/groups.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

bool ReadsOwnElements(const FusionDescription& body, int k, int64_t count) {
  if (count == 1 || body.instruction->operand(k)->shape().ElementCount() != count) return false;
  return body.instruction->opcode() == Opcode::kFusion && ReadsOwnElementOnly(*body.instruction->called(0), k);
}

// Operands that are read before any result is written: by a product in tiles whose sums are all stored before its
// epilogue begins, and by nothing in that.
std::set<int> OperandsReadFirst(const LoopUnitNode& unit) {
  const FusionDescription& body = *unit.body;
  std::set<int> first;
  if (!unit.shape.tile || !StoresSumsFirst(body)) return first;
  std::set<const Instruction*> later;
  std::vector<const Instruction*> open(body.roots.begin(), body.roots.end());
  while (!open.empty()) {
    const Instruction* instruction = open.back();
    open.pop_back();
    if (instruction == body.hero || !later.insert(instruction).second) continue;
    for (const Instruction* operand : instruction->operands()) open.push_back(operand);
  }
  for (int k = 0; k < body.instruction->operand_count(); ++k) {
    const Instruction* operand = body.instruction->operand(k);
    const bool read_later = std::ranges::any_of(
        body.operands, [&](const auto& pair) { return pair.second == operand && later.contains(pair.first); });
    if (!read_later) first.insert(k);
  }
  return first;
}

}  // namespace

Result<LoopCost> LoopUnitReader::ReadUnit(LoopScope& scope, const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kFusion && !HeroKind(instruction.opcode())) {
    return Unsupported("{} {} is not run inside a workgroup's loop", OpcodeText(instruction.opcode()),
                       instruction.name());
  }
  VXLA_RETURN_IF_ERROR(can_lower_(instruction));
  LoopUnitNode unit;
  VXLA_ASSIGN_OR_RETURN(unit.body, DescriptionOf(instruction));
  VXLA_ASSIGN_OR_RETURN(unit.kind, KindOfLoopUnit(*unit.body));
  const FusionDescription& body = *unit.body;
  switch (unit.kind) {
    case LoopUnitKind::kElements:
      return ReadElements(scope, std::move(unit));
    case LoopUnitKind::kUpdate:
      return ReadUpdate(scope, std::move(unit), body.hero->operand(1)->shape().ElementCount(), 1);
    case LoopUnitKind::kScatter:
      return ReadScatter(scope, std::move(unit));
    case LoopUnitKind::kWorkgroup:
      return ReadWorkgroup(scope, std::move(unit));
    default:
      return MayBeNoted(scope, body) ? ReadNoted(scope, std::move(unit)) : ReadRows(scope, std::move(unit));
  }
}

Result<LoopCost> LoopUnitReader::ReadElements(LoopScope& scope, LoopUnitNode unit) {
  const FusionDescription& body = *unit.body;
  const Instruction& fusion = *body.instruction;
  const int64_t count = body.roots[0]->shape().ElementCount();
  LoopCost cost;
  if (count == 0) return cost;
  const auto own_at = [&](int k, int leaf) { return body.MayLieAt(k, leaf); };
  // Pairs say that an operand is read at its own element alone, whatever the result.
  AddReads([&](int k) { return ReadsOwnElements(body, k, count); }, &unit);
  const int leaves = LeafCount(fusion.shape());
  for (int leaf = 0; leaf < leaves; ++leaf) {
    LoopValue value;
    if (count == 1) {
      value.reg = NewRegister(LeafShape(fusion, leaf).element_type());
    } else {
      value.place = PlaceFor(scope, fusion, leaf, [&](int k) { return own_at(k, leaf); });
      unit.uses.push_back(UseOf(value.place, count, true, true));
    }
    program_.values[{&fusion, leaf}] = value;
    unit.results.push_back(value);
  }
  AddElements(count, OperationsOf(body), program_.WidthOf(count, body), &cost);
  scope.block->push_back({std::move(unit)});
  return cost;
}

bool LoopUnitReader::MayBeNoted(const LoopScope& scope, const FusionDescription& body) const {
  const auto is_noted = [](const Instruction* hero) {
    if (hero->opcode() != Opcode::kReduce || hero->operand_count() != 2) return false;
    const std::optional<Opcode> operation = SingleOperation(*hero->called(0));
    return hero->shape().IsArray() && hero->shape().element_type() == ElementType::kPred &&
           hero->shape().ElementCount() == 1 && (operation == Opcode::kOr || operation == Opcode::kAnd);
  };
  const LoopBlock* const in = scope.block;
  const bool of_the_loop = in == &program_.root.blocks[0] || in == &program_.root.blocks[1];
  return notes_ && of_the_loop && body.phases == 1 && body.product == nullptr &&
         body.hero->operand(0)->shape().ElementCount() > 1 && std::ranges::all_of(body.heroes, is_noted) &&
         std::ranges::all_of(body.roots, [](const Instruction* root) { return root->shape().ElementCount() == 1; });
}

Result<LoopCost> LoopUnitReader::ReadNoted(LoopScope& scope, LoopUnitNode unit) {
  const FusionDescription& body = *unit.body;
  const Instruction& instruction = *body.instruction;
  const int64_t count = body.hero->operand(0)->shape().ElementCount();
  unit.kind = LoopUnitKind::kNotes;
  unit.number = program_.notes;
  program_.notes += static_cast<int>(body.heroes.size());
  AddReads([&](int k) { return instruction.opcode() != Opcode::kFusion || ReadsOwnElements(body, k, count); }, &unit);
  for (int leaf = 0; leaf < LeafCount(instruction.shape()); ++leaf) {
    const LoopValue value{NewRegister(LeafShape(instruction, leaf).element_type()), -1};
    program_.values[{&instruction, leaf}] = value;
    unit.results.push_back(value);
  }
  LoopCost cost;
  AddElements(count, OperationsOf(body), 1, &cost);
  scope.block->push_back({std::move(unit)});
  return cost;
}

Result<LoopCost> LoopUnitReader::ReadRows(LoopScope& scope, LoopUnitNode unit) {
  unit.shape = ShapeOfLoopRows(context_, *unit.body, program_.lanes, program_.share);
  const LoopUnitNeeds needs{{}, unit.shape.operations, unit.shape.iterations};
  return ReadTogether(scope, std::move(unit), needs);
}

bool LoopUnitReader::Joins(LoopBlock& block, const LoopUnitNode& unit) {
  LoopUnitNode* const first = block.empty() ? nullptr : block.back().As<LoopUnitNode>();
  if (first == nullptr || !AreOneTransform(first->instruction(), unit.instruction())) return false;
  const std::vector<int> own = PlacesOfTransform(unit);
  if (!MayStandInRows(own) || (first->rows.empty() && !MayStandInRows(PlacesOfTransform(*first)))) return false;
  const auto meets = [&](const LoopUse& use) {
    return std::ranges::any_of(first->uses, [&](const LoopUse& other) { return other.place == use.place; });
  };
  if (std::ranges::any_of(unit.uses, meets)) return false;
  if (first->rows.empty()) {
    for (const int place : PlacesOfTransform(*first)) {
      first->rows.push_back(static_cast<int>(program_.rows.size()));
      program_.rows.push_back({place});
    }
  }
  for (size_t i = 0; i < own.size(); ++i) program_.rows[static_cast<size_t>(first->rows[i])].push_back(own[i]);
  first->uses.insert(first->uses.end(), unit.uses.begin(), unit.uses.end());
  return true;
}

std::vector<int> LoopUnitReader::PlacesOfTransform(const LoopUnitNode& unit) {
  std::vector<int> places{ValueOf(*unit.instruction().operand(0), 0).place, unit.results[0].place};
  places.insert(places.end(), unit.scratch.begin(), unit.scratch.end());
  return places;
}

bool LoopUnitReader::MayStandInRows(const std::vector<int>& places) const {
  return std::ranges::all_of(places, [&](int place) {
    return place >= 0 && program_.places[static_cast<size_t>(place)].kind == LoopPlace::Kind::kScratch &&
           std::ranges::count(places, place) == 1 &&
           std::ranges::none_of(
               program_.rows, [&](const std::vector<int>& row) { return std::ranges::find(row, place) != row.end(); });
  });
}

Result<LoopCost> LoopUnitReader::ReadWorkgroup(LoopScope& scope, LoopUnitNode unit) {
  LoopUnitNeeds needs = NeedsOfLoopUnit(context_, *unit.body, program_.lanes);
  const LoopSharing sharing = SharingOf(context_.facts, needs);
  unit.sharing = sharing;
  unit.grid_waits = sharing == LoopSharing::kElements ? needs.waits : 0;
  if (program_.share.cooperative && sharing == LoopSharing::kElements)
    needs.scratch.insert(needs.scratch.end(), needs.grid_scratch.begin(), needs.grid_scratch.end());
  VXLA_ASSIGN_OR_RETURN(LoopCost cost, ReadTogether(scope, std::move(unit), needs));
  if (sharing == LoopSharing::kAlone) cost.alone = cost.operations;
  if (sharing == LoopSharing::kRows) cost.alone = cost.operations / needs.rows;
  return cost;
}

Result<LoopCost> LoopUnitReader::ReadTogether(LoopScope& scope, LoopUnitNode unit, const LoopUnitNeeds& needs) {
  const Instruction& fusion = unit.instruction();
  const std::set<int> first = OperandsReadFirst(unit);
  LoopCost cost;
  AddReads([](int) { return false; }, &unit);
  const int leaves = LeafCount(fusion.shape());
  bool any = false;
  for (int leaf = 0; leaf < leaves; ++leaf) {
    LoopValue value;
    if (LeafShape(fusion, leaf).ElementCount() > 0) {
      value.place = PlaceFor(scope, fusion, leaf, [&](int k) { return first.contains(k); });
      unit.uses.push_back({value.place, true, false});
      any = true;
    }
    program_.values[{&fusion, leaf}] = value;
    unit.results.push_back(value);
  }
  if (!any) return cost;
  for (const Shape& shape : needs.scratch) {
    unit.scratch.push_back(NewScratch(shape));
    unit.uses.push_back({unit.scratch.back(), true, false});
    unit.uses.push_back({unit.scratch.back(), false, false});
  }
  cost.operations += needs.operations + 4 * kPhaseCost;
  cost.iterations += needs.iterations;
  if (!Joins(*scope.block, unit)) scope.block->push_back({std::move(unit)});
  return cost;
}

}  // namespace VXLA_NAMESPACE::vulkan
