#include "backend/vulkan/lower/whiles/unit_reader.h"

#include <algorithm>
#include <bit>

#include "backend/vulkan/lower/indexing/scatter_windows.h"
#include "backend/vulkan/lower/whiles/groups.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "backend/vulkan/lower/whiles/updates.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {

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

int64_t LoopUnitReader::OperationsOf(const FusionDescription& body) { return 1 + ElementCosts(body.computed); }

void LoopUnitReader::AddReads(const std::function<bool(int)>& own, LoopUnitNode* unit) {
  const Instruction& instruction = unit->instruction();
  for (int k = 0; k < instruction.operand_count(); ++k) {
    if (instruction.operand(k)->shape().ElementCount() == 0) continue;
    const int place = ValueOf(*instruction.operand(k), 0).place;
    const int64_t count = instruction.operand(k)->shape().ElementCount();
    if (place >= 0) unit->uses.push_back(UseOf(place, count, false, own(k)));
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

bool LoopUnitReader::ReadsOwnElements(const FusionDescription& body, int k, int64_t count) {
  if (count == 1 || body.instruction->operand(k)->shape().ElementCount() != count) return false;
  return body.instruction->opcode() == Opcode::kFusion && ReadsOwnElementOnly(*body.instruction->called(0), k);
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

Result<LoopCost> LoopUnitReader::ReadScatter(LoopScope& scope, LoopUnitNode unit) {
  const Instruction& scatter = *unit.body->hero;
  const ScatterForm form(scatter);
  const int64_t updates = scatter.operand(scatter.operand_count() - 1)->shape().ElementCount();
  const ScatterWay way = WayOf(scatter, ScatterTargetOf(context_.facts));
  const bool one_by_one = way == ScatterWay::kOneByOne;
  VXLA_ASSIGN_OR_RETURN(LoopCost cost, ReadUpdate(scope, std::move(unit), one_by_one ? updates / form.count : updates,
                                                  one_by_one ? form.count : 1));
  switch (way) {
    case ScatterWay::kApart:
      return cost;
    case ScatterWay::kOneByOne:
      // Places of a window are shared out, and each goes through all windows.
      if (updates / form.count <= program_.lanes) cost.alone = cost.operations;
      return cost;
    case ScatterWay::kAtomic:
      // Of the lanes that exchange a word together one gets through each time.
      for (int k = 0; k < form.arrays; ++k) {
        const bool at_once = OrderFreeOf(scatter, k) == OrderFree::kFunction &&
                             StorageBytes(scatter.operand(k)->shape().element_type()) >= 4;
        if (!at_once) cost.iterations += CeilDivide(updates, program_.lanes) * (context_.facts.subgroup_size + 2);
      }
      return cost;
    case ScatterWay::kLast:
      cost.iterations += 2;
      return cost;
    case ScatterWay::kRuns:
      cost.iterations += 2 + CeilDivide(updates, program_.lanes) * (form.count + 1);  // all may be one run
      return cost;
    case ScatterWay::kPlaces:
      cost.Add(CostOfPlaces(scatter));
      return cost;
    default:
      return Unsupported("{}: updates that may meet are not applied inside a workgroup's loop", scatter.name());
  }
}

LoopCost LoopUnitReader::CostOfPlaces(const Instruction& scatter) const {
  const ScatterForm form(scatter);
  const int64_t elements = scatter.operand(0)->shape().ElementCount();
  const int64_t halvings = scatter.notes().run_starts ? 0 : std::bit_width(static_cast<uint64_t>(form.count));
  const int64_t own = CeilDivide(elements, program_.lanes);
  const int64_t window = ElementCountOf(form.window_sizes);
  // A lane goes through each run once for every element of a window that it has.
  LoopCost cost{elements * halvings, own * (halvings + 8) + std::min(own, window) * form.count};
  if (!AddsInParts(scatter)) return cost;
  const int64_t length = WindowsOfAPart(form.count), parts = CeilDivide(form.count, length);
  const int64_t turns = std::min(own * (2 * length + parts), std::min(own, window) * (form.count + parts));
  cost.operations += parts * window + kPhaseCost;
  cost.iterations = own * (halvings + 8) + turns + CeilDivide(parts * window, program_.lanes) * (length + 2);
  return cost;
}

Result<LoopCost> LoopUnitReader::ReadUpdate(LoopScope& scope, LoopUnitNode unit, int64_t count, int64_t turns) {
  const FusionDescription& body = *unit.body;
  const Instruction& fusion = *body.instruction;
  const int64_t elements = body.hero->operand(0)->shape().ElementCount();
  LoopCost cost;
  if (elements == 0) return cost;
  if (elements == 1) return Unsupported("{} updates no array of its own", fusion.name());
  unit.results.resize(static_cast<size_t>(LeafCount(fusion.shape())));
  std::set<const Instruction*> in_place;
  if (unit.kind == LoopUnitKind::kUpdate) in_place = OperandsInPlace(body);
  AddReads([&](int k) { return in_place.contains(fusion.operand(k)); }, &unit);
  if (unit.kind == LoopUnitKind::kScatter) SumParts(scope, &unit);
  for (int array = 0; array < UpdatedArrays(*body.hero); ++array) PlaceUpdated(scope, array, &unit, &cost);
  for (size_t leaf = 0; leaf < unit.results.size(); ++leaf) {
    if (unit.results[leaf].place < 0) return Unsupported("{} gives an array twice", fusion.name());
    program_.values[{&fusion, static_cast<int>(leaf)}] = unit.results[leaf];
  }
  if (StoreAlong(program_, unit, *scope.block)) {
    cost.operations += count / program_.share.parts() * OperationsOf(body);
    return cost;
  }
  AddUpdates(body, count, turns, &cost);
  scope.block->push_back({std::move(unit)});
  return cost;
}

void LoopUnitReader::SumParts(LoopScope& scope, LoopUnitNode* scatter) {
  const std::vector<Shape> shapes = ScatterWindows::PartsOf(*scatter->body->hero, context_.facts);
  if (shapes.empty()) return;
  LoopUnitNode parts;
  parts.kind = LoopUnitKind::kParts;
  parts.body = scatter->body;
  parts.uses = scatter->uses;
  for (const Shape& shape : shapes) {
    parts.scratch.push_back(NewScratch(shape));
    parts.uses.push_back({parts.scratch.back(), true, false});
    scatter->uses.push_back({parts.scratch.back(), false, false});
  }
  scatter->scratch = parts.scratch;
  scope.block->push_back({std::move(parts)});
}

void LoopUnitReader::AddFill(LoopBlock& block, const LoopUnitNode& unit, int number, int place, LoopCost* cost) {
  const int64_t count = unit.body->hero->operand(number)->shape().ElementCount();
  LoopUnitNode fill;
  fill.kind = LoopUnitKind::kFill;
  fill.body = unit.body;
  fill.number = number;
  AddReads([](int) { return false; }, &fill);
  fill.results = {{-1, place}};
  fill.uses.push_back(UseOf(place, count, true, true));
  AddElements(count, OperationsOf(*unit.body), program_.WidthOf(count), cost);
  block.push_back({std::move(fill)});
}

void LoopUnitReader::PlaceUpdated(LoopScope& scope, int number, LoopUnitNode* unit, LoopCost* cost) {
  const FusionDescription& body = *unit->body;
  const Instruction& fusion = *body.instruction;
  const Instruction* inside = body.hero->operand(number);
  const Instruction* const array = body.OperandOf(*inside);
  const int leaf = body.LeafOf(*body.hero, number);
  const Shape& shape = inside->shape();
  const auto fresh = [&] {
    int place = leaf < 0 ? -1 : PlaceFor(scope, fusion, leaf, [](int) { return false; });
    if (place >= 0 && std::ranges::find(unit->arrays, place) == unit->arrays.end()) return place;
    place = NewScratch(shape);
    scope.holder[place] = {&fusion, leaf};
    return place;
  };
  int place = -1;
  const bool writes_all =
      unit->kind == LoopUnitKind::kScatter && WayOf(*body.hero, ScatterTargetOf(context_.facts)) == ScatterWay::kPlaces;
  if (array == nullptr || leaf < 0) {
    place = fresh();
    if (!writes_all) AddFill(*scope.block, *unit, number, place, cost);
  } else {
    const auto at = std::ranges::find(fusion.operands(), array) - fusion.operands().begin();
    // The array is only written where nothing else of the phase reads it.
    const bool only_hero = inside->users().size() == 1 && std::ranges::count(fusion.operands(), array) == 1 &&
                           std::ranges::count(body.hero->operands(), inside) == 1;
    const LoopValue value = ValueOf(*array, 0);
    const auto shares = [&](int operand) { return operand == at && only_hero; };
    const auto held = scope.holder.find(value.place);
    const bool stays = held != scope.holder.end() && held->second == KeyOf(OriginOf(*array, 0)) &&
                       MayTake(scope, value.place, fusion, shares);
    place = stays ? value.place : fresh();
    AddCopy(*scope.block, value.place, place, shape, cost);
    scope.holder[place] = {&fusion, leaf};
    if (only_hero) std::erase_if(unit->uses, [&](const LoopUse& use) { return use.place == value.place; });
  }
  unit->uses.push_back({place, true, false, HasSeparateWindows(*body.hero)});
  unit->arrays.push_back(place);
  if (leaf >= 0) unit->results[static_cast<size_t>(leaf)] = {-1, place};
}

bool LoopUnitReader::HasSeparateWindows(const Instruction& update) {
  if (update.opcode() != Opcode::kDynamicUpdateSlice) return false;
  const auto whole = update.shape().dimensions(), part = update.operand(1)->shape().dimensions();
  for (size_t d = 0; d < whole.size(); ++d) {
    if (part[d] != 1 && part[d] != whole[d]) return false;
  }
  return true;
}

void LoopUnitReader::AddUpdates(const FusionDescription& body, int64_t count, int64_t turns, LoopCost* cost) const {
  const bool scatters = body.hero->opcode() == Opcode::kScatter;
  AddElements(count, turns * OperationsOf(body), scatters ? 1 : program_.WidthOf(count, OnlyMoves(body)), cost);
  if (turns > 1) cost->iterations += CeilDivide(count, program_.lanes) * (turns + 1);
}

std::set<int> LoopUnitReader::OperandsReadFirst(const LoopUnitNode& unit) {
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
