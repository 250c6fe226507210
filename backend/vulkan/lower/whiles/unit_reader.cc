#include "backend/vulkan/lower/whiles/unit_reader.h"

#include <algorithm>
#include <bit>

#include "backend/vulkan/lower/indexing/scatter_text.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "backend/vulkan/lower/whiles/units/rows.h"
#include "backend/vulkan/lower/whiles/units/scatter.h"
#include "backend/vulkan/lower/whiles/updates.h"
#include "core/numerics/reducer_facts.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/fuse/own_elements.h"

namespace VXLA_NAMESPACE::vulkan {

Result<LoopCost> LoopUnitReader::ReadUnit(LoopScope& scope, const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kFusion && !HeroKind(instruction.opcode())) {
    return Unsupported("{} {} is not run inside a workgroup's loop", OpcodeText(instruction.opcode()),
                       instruction.name());
  }
  VXLA_RETURN_IF_ERROR(can_lower_(instruction));
  VXLA_ASSIGN_OR_RETURN(const auto described, DescriptionOf(instruction));
  const FusionDescription& body = *described;
  if (body.attention || body.chain) {
    return Unsupported("{}: products of products are not run inside a workgroup's loop", instruction.name());
  }
  if (body.hero == nullptr) return ReadElements(scope, body);
  if (MayBeNoted(scope, body)) return ReadNoted(scope, body);
  if (const auto needs = NeedsOfLoopUnit(context_, body, program_.lanes)) return ReadTogether(scope, body, *needs);
  switch (body.hero->opcode()) {
    case Opcode::kDynamicUpdateSlice:
      return ReadUpdate(scope, body);
    case Opcode::kScatter:
      return ReadScatter(scope, body);
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kDot:
    case Opcode::kConvolution:
      return ReadRows(scope, body);
    default:
      return Unsupported("{} {} is not run inside a workgroup's loop", OpcodeText(body.hero->opcode()),
                         body.hero->name());
  }
}

int64_t LoopUnitReader::OperationsOf(const FusionDescription& body) {
  int64_t each = 1;
  for (const Instruction* instruction : body.computed) each += ElementCost(*instruction);
  return each;
}

void LoopUnitReader::AddReads(const Instruction& fusion, const std::function<bool(int)>& own, LoopNode* node) {
  for (int k = 0; k < fusion.operand_count(); ++k) {
    if (fusion.operand(k)->shape().ElementCount() == 0) continue;
    const LoopValue value = ValueOf(*fusion.operand(k), 0);
    if (value.place >= 0) node->uses.push_back({value.place, false, own(k)});
  }
}

Result<LoopCost> LoopUnitReader::ReadElements(LoopScope& scope, const FusionDescription& body) {
  const Instruction& fusion = *body.instruction;
  LoopNode node;
  node.instruction = &fusion;
  const int64_t count = body.roots[0]->shape().ElementCount();
  LoopCost cost;
  if (count == 0) return cost;
  const auto own_at = [&](int k, int leaf) { return body.MayLieAt(k, leaf); };
  // Pairs say that an operand is read at its own element alone, whatever the result.
  AddReads(
      fusion, [&](int k) { return ReadsOwnElements(body, k, count); }, &node);
  const int leaves = LeafCount(fusion.shape());
  for (int leaf = 0; leaf < leaves; ++leaf) {
    LoopValue value;
    if (count == 1) {
      value.reg = NewRegister(LeafShape(fusion, leaf).element_type());
    } else {
      value.place = PlaceFor(scope, fusion, leaf, [&](int k) { return own_at(k, leaf); });
      node.uses.push_back({value.place, true, true});
    }
    program_.values[{&fusion, leaf}] = value;
    node.results.push_back(value);
  }
  AddElements(count, OperationsOf(body), program_.WidthOf(count, body), &cost);
  scope.block->push_back(std::move(node));
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

Result<LoopCost> LoopUnitReader::ReadNoted(LoopScope& scope, const FusionDescription& body) {
  const Instruction& unit = *body.instruction;
  const int64_t count = body.hero->operand(0)->shape().ElementCount();
  LoopNode node;
  node.instruction = &unit;
  node.notes = program_.notes;
  program_.notes += static_cast<int>(body.heroes.size());
  AddReads(
      unit, [&](int k) { return unit.opcode() != Opcode::kFusion || ReadsOwnElements(body, k, count); }, &node);
  for (int leaf = 0; leaf < LeafCount(unit.shape()); ++leaf) {
    const LoopValue value{NewRegister(LeafShape(unit, leaf).element_type()), -1};
    program_.values[{&unit, leaf}] = value;
    node.results.push_back(value);
  }
  LoopCost cost;
  AddElements(count, OperationsOf(body), 1, &cost);
  scope.block->push_back(std::move(node));
  return cost;
}

Result<LoopCost> LoopUnitReader::ReadScatter(LoopScope& scope, const FusionDescription& body) {
  const Instruction& scatter = *body.hero;
  const ScatterForm form(scatter);
  const int64_t updates = scatter.operand(scatter.operand_count() - 1)->shape().ElementCount();
  const ScatterWay way = WayOf(scatter, ScatterTargetOf(context_.facts));
  const bool one_by_one = way == ScatterWay::kOneByOne;
  VXLA_ASSIGN_OR_RETURN(
      LoopCost cost, ReadUpdate(scope, body, one_by_one ? updates / form.count : updates, one_by_one ? form.count : 1));
  switch (way) {
    case ScatterWay::kApart:
    case ScatterWay::kOneByOne:
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
  int64_t window = 1;
  for (const int64_t size : form.window_sizes) window *= size;
  // A lane goes through each run once for every element of a window that it has.
  LoopCost cost{elements * halvings, own * (halvings + 8) + std::min(own, window) * form.count};
  if (!AddsInParts(scatter)) return cost;
  const int64_t length = WindowsOfAPart(form.count), parts = CeilDivide(form.count, length);
  const int64_t turns = std::min(own * (2 * length + parts), std::min(own, window) * (form.count + parts));
  cost.operations += parts * window + kPhaseCost;
  cost.iterations = own * (halvings + 8) + turns + CeilDivide(parts * window, program_.lanes) * (length + 2);
  return cost;
}

Result<LoopCost> LoopUnitReader::ReadUpdate(LoopScope& scope, const FusionDescription& body) {
  const Shape& part = body.hero->operand(1)->shape();
  return ReadUpdate(scope, body, part.ElementCount(), 1);
}

Result<LoopCost> LoopUnitReader::ReadUpdate(LoopScope& scope, const FusionDescription& body, int64_t count,
                                            int64_t turns) {
  const Instruction& fusion = *body.instruction;
  const int64_t elements = body.hero->operand(0)->shape().ElementCount();
  LoopCost cost;
  if (elements == 0) return cost;
  if (elements == 1) return Unsupported("{} updates no array of its own", fusion.name());
  LoopNode node;
  node.instruction = &fusion;
  node.results.resize(static_cast<size_t>(LeafCount(fusion.shape())));
  std::set<const Instruction*> in_place;
  if (body.hero->opcode() == Opcode::kDynamicUpdateSlice) in_place = OperandsInPlace(body);
  AddReads(
      fusion, [&](int k) { return in_place.contains(fusion.operand(k)); }, &node);
  const bool scatters = body.hero->opcode() == Opcode::kScatter;
  if (scatters) SumParts(scope, body, &node);
  for (int array = 0; array < UpdatedArrays(*body.hero); ++array) PlaceUpdated(scope, body, array, &node, &cost);
  for (size_t leaf = 0; leaf < node.results.size(); ++leaf) {
    if (node.results[leaf].place < 0) return Unsupported("{} gives an array twice", fusion.name());
    program_.values[{&fusion, static_cast<int>(leaf)}] = node.results[leaf];
  }
  if (StoreAlong(context_, program_, body, node, *scope.block)) {
    cost.operations += count / program_.groups * OperationsOf(body);
    return cost;
  }
  AddUpdates(body, count, turns, &cost);
  scope.block->push_back(std::move(node));
  return cost;
}

void LoopUnitReader::SumParts(LoopScope& scope, const FusionDescription& body, LoopNode* node) {
  const std::vector<Shape> shapes = PartsOfLoopScatter(*body.hero, context_.facts);
  if (shapes.empty()) return;
  LoopNode parts;
  parts.instruction = body.instruction;
  parts.sums_parts = true;
  parts.uses = node->uses;
  for (const Shape& shape : shapes) {
    parts.scratch.push_back(NewScratch(shape));
    parts.uses.push_back({parts.scratch.back(), true, false});
    node->uses.push_back({parts.scratch.back(), false, false});
  }
  node->scratch = parts.scratch;
  scope.block->push_back(std::move(parts));
}

void LoopUnitReader::AddFill(LoopBlock& block, const FusionDescription& body, int number, int place, LoopCost* cost) {
  const int64_t count = body.hero->operand(number)->shape().ElementCount();
  LoopNode fill;
  fill.instruction = body.instruction;
  fill.fills = number;
  AddReads(
      *body.instruction, [](int) { return false; }, &fill);
  fill.results = {{-1, place}};
  fill.uses.push_back({place, true, true});
  AddElements(count, OperationsOf(body), program_.WidthOf(count), cost);
  block.push_back(std::move(fill));
}

void LoopUnitReader::PlaceUpdated(LoopScope& scope, const FusionDescription& body, int number, LoopNode* node,
                                  LoopCost* cost) {
  const Instruction& fusion = *body.instruction;
  const Instruction* inside = body.hero->operand(number);
  const Instruction* const array = body.OperandOf(*inside);
  const int leaf = body.LeafOf(*body.hero, number);
  const Shape& shape = inside->shape();
  const auto fresh = [&] {
    int place = leaf < 0 ? -1 : PlaceFor(scope, fusion, leaf, [](int) { return false; });
    if (place >= 0 && std::ranges::find(node->arrays, place) == node->arrays.end()) return place;
    place = NewScratch(shape);
    scope.holder[place] = {&fusion, leaf};
    return place;
  };
  int place = -1;
  const bool writes_all = body.hero->opcode() == Opcode::kScatter &&
                          WayOf(*body.hero, ScatterTargetOf(context_.facts)) == ScatterWay::kPlaces;
  if (array == nullptr || leaf < 0) {
    place = fresh();
    if (!writes_all) AddFill(*scope.block, body, number, place, cost);
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
    if (only_hero) std::erase_if(node->uses, [&](const LoopUse& use) { return use.place == value.place; });
  }
  node->uses.push_back({place, true, false, HasSeparateWindows(*body.hero)});
  node->arrays.push_back(place);
  if (leaf >= 0) node->results[static_cast<size_t>(leaf)] = {-1, place};
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

std::set<int> LoopUnitReader::OperandsReadFirst(const FusionDescription& body) const {
  std::set<int> first;
  if (body.hero->opcode() != Opcode::kDot || !StoresSumsFirst(body) ||
      !TileLoopDot(context_, *ReadDot(body), program_.lanes, program_.groups))
    return first;
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

Result<LoopCost> LoopUnitReader::ReadRows(LoopScope& scope, const FusionDescription& body) {
  const LoopRowsShape shape = ShapeOfLoopRows(context_, body, program_.lanes, program_.groups);
  return ReadTogether(scope, body, {{}, shape.operations, shape.iterations});
}

bool LoopUnitReader::Joins(LoopBlock& block, const LoopNode& node) {
  if (block.empty() || block.back().kind != LoopNode::Kind::kUnit) return false;
  LoopNode& first = block.back();
  if (!AreOneTransform(*first.instruction, *node.instruction)) return false;
  const std::vector<int> own = PlacesOfTransform(node);
  if (!MayStandInRows(own) || (first.rows.empty() && !MayStandInRows(PlacesOfTransform(first)))) return false;
  const auto meets = [&](const LoopUse& use) {
    return std::ranges::any_of(first.uses, [&](const LoopUse& other) { return other.place == use.place; });
  };
  if (std::ranges::any_of(node.uses, meets)) return false;
  if (first.rows.empty()) {
    for (const int place : PlacesOfTransform(first)) {
      first.rows.push_back(static_cast<int>(program_.rows.size()));
      program_.rows.push_back({place});
    }
  }
  for (size_t i = 0; i < own.size(); ++i) program_.rows[static_cast<size_t>(first.rows[i])].push_back(own[i]);
  first.uses.insert(first.uses.end(), node.uses.begin(), node.uses.end());
  return true;
}

std::vector<int> LoopUnitReader::PlacesOfTransform(const LoopNode& node) {
  std::vector<int> places{ValueOf(*node.instruction->operand(0), 0).place, node.results[0].place};
  places.insert(places.end(), node.scratch.begin(), node.scratch.end());
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

Result<LoopCost> LoopUnitReader::ReadTogether(LoopScope& scope, const FusionDescription& body,
                                              const LoopUnitNeeds& needs) {
  const Instruction& fusion = *body.instruction;
  const std::set<int> first = OperandsReadFirst(body);
  LoopNode node;
  node.instruction = &fusion;
  LoopCost cost;
  AddReads(
      fusion, [](int) { return false; }, &node);
  const int leaves = LeafCount(fusion.shape());
  bool any = false;
  for (int leaf = 0; leaf < leaves; ++leaf) {
    LoopValue value;
    if (LeafShape(fusion, leaf).ElementCount() > 0) {
      value.place = PlaceFor(scope, fusion, leaf, [&](int k) { return first.contains(k); });
      node.uses.push_back({value.place, true, false});
      any = true;
    }
    program_.values[{&fusion, leaf}] = value;
    node.results.push_back(value);
  }
  if (!any) return cost;
  for (const Shape& shape : needs.scratch) {
    node.scratch.push_back(NewScratch(shape));
    node.uses.push_back({node.scratch.back(), true, false});
    node.uses.push_back({node.scratch.back(), false, false});
  }
  cost.operations += needs.operations + 4 * kPhaseCost;
  cost.iterations += needs.iterations;
  if (!Joins(*scope.block, node)) scope.block->push_back(std::move(node));
  return cost;
}

}  // namespace VXLA_NAMESPACE::vulkan
