#include "backend/vulkan/lower/whiles/updates.h"

#include <algorithm>
#include <set>

#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {

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

namespace {

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

}  // namespace

bool StoreAlong(const LoopProgram& program, LoopUnitNode& update, LoopBlock& block) {
  if (update.kind != LoopUnitKind::kUpdate || update.instruction().opcode() != Opcode::kFusion) return false;
  UpdateJoiner joiner(program, update);
  LoopUnitNode* maker = joiner.FindMaker(block);
  if (maker != nullptr) joiner.Join(*maker);
  return maker != nullptr;
}

}  // namespace VXLA_NAMESPACE::vulkan
