#include "backend/vulkan/lower/whiles/updates.h"

#include <algorithm>
#include <bit>
#include <set>

#include "backend/vulkan/lower/indexing/scatter_windows.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The operands that a dynamic-update-slice's fusion reads at the place of the element that it is about to store, and
// nowhere else.
std::set<const Instruction*> OperandsInPlace(const FusionDescription& update) {
  std::set<const Instruction*> in_place, elsewhere;
  for (auto i = update.computed.rbegin(); i != update.computed.rend(); ++i) {
    for (int k = 0; k < (*i)->operand_count(); ++k) {
      const bool is_stored = *i == update.hero && k == 1;
      const bool follows = in_place.contains(*i) && !elsewhere.contains(*i) && ReadsAtOwnIndex(**i, k);
      (is_stored || follows ? in_place : elsewhere).insert((*i)->operand(k));
    }
  }
  std::set<const Instruction*> operands, others;
  for (const auto& [inside, operand] : update.operands)
    (in_place.contains(inside) && !elsewhere.contains(inside) ? operands : others).insert(operand);
  std::erase_if(operands, [&](const Instruction* operand) { return others.contains(operand); });
  return operands;
}

// How many results of a unit an update may be made of: those that the unit stores at once, element by element
// (ValueWriter::StoreGroup). Results of rows are made one after another.
size_t MostResults(const LoopUnitNode& unit) {
  if (unit.kind == LoopUnitKind::kElements) return unit.results.size();
  if (unit.kind != LoopUnitKind::kRows) return 0;
  return unit.shape.tile ? unit.results.size() : 1;
}

// The decision for one update.
class UpdateJoiner {
 public:
  UpdateJoiner(const LoopProgram& program, LoopUnitNode& update)
      : program_(program), update_(update), in_place_(OperandsInPlace(*update.body)) {}

  // The unit that makes what is stored. Where the update stands then, nothing may have happened yet that it has to
  // follow, or that has to come before it.
  LoopUnitNode* FindMaker(LoopBlock& block) const {
    for (auto node = block.rbegin(); node != block.rend(); ++node) {
      if (node->control() != nullptr) return nullptr;
      auto* const unit = node->As<LoopUnitNode>();
      if (unit != nullptr && ReadsResultsOf(*unit)) return MayJoin(*unit) ? unit : nullptr;
      if (HasToFollow(*node)) return nullptr;
    }
    return nullptr;
  }

  void Join(LoopUnitNode& maker) {
    std::set<int> made, elsewhere;
    const bool by_element = WritesByElement(maker);
    for (const Instruction* operand : update_.instruction().operands()) {
      if (operand->shape().ElementCount() == 0) continue;
      const int place = program_.ValueOf(*operand, 0).place;
      if (IsMadeBy(maker, *operand)) {
        made.insert(place);
      } else if (!by_element || !in_place_.contains(operand)) {
        elsewhere.insert(place);
      }
    }
    // A lane has what it makes, and of other arrays wants its own elements where the unit goes by them.
    std::erase_if(update_.uses, [&](const LoopUse& use) { return made.contains(use.place); });
    for (LoopUse& use : update_.uses) use.own &= !use.writes && !elsewhere.contains(use.place);
    maker.uses.insert(maker.uses.end(), update_.uses.begin(), update_.uses.end());
    maker.updates.push_back(std::move(update_));
  }

 private:
  bool IsMadeBy(const LoopUnitNode& unit, const Instruction& operand) const {
    return program_.OriginOf(operand, 0).instruction == &unit.instruction();
  }
  bool ReadsResultsOf(const LoopUnitNode& unit) const {
    return std::ranges::any_of(update_.instruction().operands(), [&](const Instruction* operand) {
      return operand->shape().ElementCount() > 0 && program_.ValueOf(*operand, 0).place >= 0 &&
             IsMadeBy(unit, *operand);
    });
  }

  // Each lane its own elements of all results.
  static bool WritesByElement(const LoopUnitNode& unit) {
    return std::ranges::all_of(unit.results, [&](const LoopValue& result) {
      return std::ranges::any_of(
          unit.uses, [&](const LoopUse& use) { return use.place == result.place && use.writes && use.own; });
    });
  }

  // It uses what the other one changes, or the other way round.
  bool HasToFollow(const LoopNode& node) const {
    for (const LoopUse& use : node.accesses()->uses) {
      for (const LoopUse& own : update_.uses) {
        if (use.place == own.place && (use.writes || own.writes)) return true;
      }
    }
    std::set<int> registers;  // that it writes
    if (const auto* unit = node.As<LoopUnitNode>()) {
      for (const LoopValue& result : unit->results) registers.insert(result.reg);
    }
    if (const auto* assignment = node.As<LoopAssignment>()) {
      for (const auto& [reg, value] : assignment->assigned) registers.insert(reg);
    }
    return std::ranges::any_of(update_.instruction().operands(), [&](const Instruction* operand) {
      if (operand->shape().ElementCount() != 1) return false;
      const int reg = program_.ValueOf(*operand, 0).reg;
      return reg >= 0 && registers.contains(reg);
    });
  }

  // What stands for an operand inside has to tell whose it is.
  bool SharesComputation(const LoopUnitNode& maker) const {
    const auto shares = [&](const LoopUnitNode& unit) {
      return unit.instruction().opcode() == Opcode::kFusion &&
             unit.instruction().called(0) == update_.instruction().called(0);
    };
    return shares(maker) || std::ranges::any_of(maker.updates, shares);
  }

  bool MayJoin(const LoopUnitNode& maker) const {
    if (SharesComputation(maker)) return false;
    std::set<int> made;
    for (const Instruction* operand : update_.instruction().operands()) {
      if (!IsMadeBy(maker, *operand)) continue;
      const int leaf = program_.OriginOf(*operand, 0).leaf;
      const Shape& shape = *FlattenTuple(maker.instruction().shape()).at(static_cast<size_t>(leaf));
      const bool same = shape.element_type() == operand->shape().element_type() &&
                        shape.ElementCount() == update_.body->hero->operand(1)->shape().ElementCount();
      if (!same || !in_place_.contains(operand)) return false;
      made.insert(maker.results.at(static_cast<size_t>(leaf)).place);
    }
    if (made.size() > MostResults(maker)) return false;
    // What others still read in the unit is not written, nor read what they write.
    for (const LoopUse& own : update_.uses) {
      for (const LoopUse& use : maker.uses) {
        if (use.place == own.place && (own.writes || (use.writes && !made.contains(use.place)))) return false;
      }
    }
    return true;
  }

  const LoopProgram& program_;
  LoopUnitNode& update_;
  const std::set<const Instruction*> in_place_;
};

// Whether two windows are the same or have no element in common, wherever they start: each lane goes to the same
// places of any of them.
bool HasSeparateWindows(const Instruction& update) {
  if (update.opcode() != Opcode::kDynamicUpdateSlice) return false;
  const auto whole = update.shape().dimensions(), part = update.operand(1)->shape().dimensions();
  for (size_t d = 0; d < whole.size(); ++d) {
    if (part[d] != 1 && part[d] != whole[d]) return false;
  }
  return true;
}

// Of a scatter that goes through the runs of its places, beside its updates.
LoopCost CostOfPlaces(const Instruction& scatter, uint32_t lanes) {
  const ScatterForm form(scatter);
  const int64_t elements = scatter.operand(0)->shape().ElementCount();
  const int64_t halvings = scatter.notes().run_starts ? 0 : std::bit_width(static_cast<uint64_t>(form.count));
  const int64_t own = CeilDivide(elements, lanes);
  const int64_t window = ElementCountOf(form.window_sizes);
  // A lane goes through each run once for every element of a window that it has.
  LoopCost cost{elements * halvings, own * (halvings + 8) + std::min(own, window) * form.count};
  if (!AddsInParts(scatter)) return cost;
  const int64_t length = WindowsOfAPart(form.count), parts = CeilDivide(form.count, length);
  const int64_t turns = std::min(own * (2 * length + parts), std::min(own, window) * (form.count + parts));
  cost.operations += parts * window + kPhaseCost;
  cost.iterations = own * (halvings + 8) + turns + CeilDivide(parts * window, lanes) * (length + 2);
  return cost;
}

// Makes the update, which would come next in the block, a part of such a unit of it. False: it has to be a phase of its
// own.
bool StoreAlong(const LoopProgram& program, LoopUnitNode& update, LoopBlock& block) {
  if (update.kind != LoopUnitKind::kUpdate || update.instruction().opcode() != Opcode::kFusion) return false;
  UpdateJoiner joiner(program, update);
  LoopUnitNode* maker = joiner.FindMaker(block);
  if (maker != nullptr) joiner.Join(*maker);
  return maker != nullptr;
}

}  // namespace

int64_t LoopUpdateReader::OperationsOf(const FusionDescription& body) { return 1 + ElementCosts(body.computed); }

void LoopUpdateReader::AddReads(const std::function<bool(int)>& own, LoopUnitNode* unit) {
  const Instruction& instruction = unit->instruction();
  for (int k = 0; k < instruction.operand_count(); ++k) {
    if (instruction.operand(k)->shape().ElementCount() == 0) continue;
    const int place = ValueOf(*instruction.operand(k), 0).place;
    const int64_t count = instruction.operand(k)->shape().ElementCount();
    if (place >= 0) unit->uses.push_back(UseOf(place, count, false, own(k)));
  }
}

Result<LoopCost> LoopUpdateReader::ReadScatter(LoopScope& scope, LoopUnitNode unit) {
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
      cost.Add(CostOfPlaces(scatter, program_.lanes));
      return cost;
    default:
      return Unsupported("{}: updates that may meet are not applied inside a workgroup's loop", scatter.name());
  }
}

Result<LoopCost> LoopUpdateReader::ReadUpdate(LoopScope& scope, LoopUnitNode unit, int64_t count, int64_t turns) {
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

void LoopUpdateReader::SumParts(LoopScope& scope, LoopUnitNode* scatter) {
  const std::vector<Shape> shapes = ScatterPartsOf(*scatter->body->hero, context_.facts);
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

void LoopUpdateReader::AddFill(LoopBlock& block, const LoopUnitNode& unit, int number, int place, LoopCost* cost) {
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

void LoopUpdateReader::PlaceUpdated(LoopScope& scope, int number, LoopUnitNode* unit, LoopCost* cost) {
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

void LoopUpdateReader::AddUpdates(const FusionDescription& body, int64_t count, int64_t turns, LoopCost* cost) const {
  const bool scatters = body.hero->opcode() == Opcode::kScatter;
  AddElements(count, turns * OperationsOf(body), scatters ? 1 : program_.WidthOf(count, OnlyMoves(body)), cost);
  if (turns > 1) cost->iterations += CeilDivide(count, program_.lanes) * (turns + 1);
}

}  // namespace VXLA_NAMESPACE::vulkan
