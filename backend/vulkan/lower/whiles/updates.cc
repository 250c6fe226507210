#include "backend/vulkan/lower/whiles/updates.h"

#include <algorithm>
#include <set>

#include "backend/vulkan/lower/whiles/units/dot.h"
#include "backend/vulkan/lower/whiles/units/units.h"
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
size_t MostResults(const LowerContext& context, const LoopProgram& program, const LoopNode& unit) {
  if (unit.fills >= 0 || unit.sums_parts || !unit.arrays.empty()) return 0;
  const auto described = DescriptionOf(*unit.instruction);
  if (!described.ok()) return 0;
  const std::shared_ptr<const FusionDescription>& body = *described;
  if ((body->hero != nullptr && NeedsOfLoopUnit(context, *body, program.lanes))) return 0;
  const bool at_once =
      body->hero == nullptr || (body->hero->opcode() == Opcode::kDot &&
                                TileLoopDot(context, *ReadDot(*body), program.lanes, program.share).has_value());
  return at_once ? unit.results.size() : 1;
}

// The decision for one update.
class UpdateJoiner {
 public:
  UpdateJoiner(const LowerContext& context, const LoopProgram& program, const FusionDescription& body, LoopNode& update)
      : context_(context), program_(program), body_(body), update_(update), in_place_(OperandsInPlace(body)) {}

  // The unit that makes what is stored. Where the update stands then, nothing may have happened yet that it has to
  // follow, or that has to come before it.
  LoopNode* FindMaker(LoopBlock& block) const {
    for (auto node = block.rbegin(); node != block.rend(); ++node) {
      if (!node->blocks.empty()) return nullptr;
      if (node->kind == LoopNode::Kind::kUnit && ReadsResultsOf(*node)) return MayJoin(*node) ? &*node : nullptr;
      if (HasToFollow(*node)) return nullptr;
    }
    return nullptr;
  }

  void Join(LoopNode& maker) {
    std::set<int> made, elsewhere;
    const bool by_element = WritesByElement(maker);
    for (const Instruction* operand : update_.instruction->operands()) {
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
    for (LoopUse& use : update_.uses) use.own = !use.writes && !elsewhere.contains(use.place);
    maker.uses.insert(maker.uses.end(), update_.uses.begin(), update_.uses.end());
    maker.updates.push_back(std::move(update_));
  }

 private:
  bool IsMadeBy(const LoopNode& node, const Instruction& operand) const {
    return program_.OriginOf(operand, 0).instruction == node.instruction;
  }
  bool ReadsResultsOf(const LoopNode& node) const {
    return std::ranges::any_of(update_.instruction->operands(), [&](const Instruction* operand) {
      return operand->shape().ElementCount() > 0 && program_.ValueOf(*operand, 0).place >= 0 &&
             IsMadeBy(node, *operand);
    });
  }

  // Each lane its own elements of all results.
  static bool WritesByElement(const LoopNode& unit) {
    return std::ranges::all_of(unit.results, [&](const LoopValue& result) {
      return std::ranges::any_of(
          unit.uses, [&](const LoopUse& use) { return use.place == result.place && use.writes && use.own; });
    });
  }

  // It uses what the other one changes, or the other way round.
  bool HasToFollow(const LoopNode& node) const {
    for (const LoopUse& use : node.uses) {
      for (const LoopUse& own : update_.uses) {
        if (use.place == own.place && (use.writes || own.writes)) return true;
      }
    }
    return std::ranges::any_of(update_.instruction->operands(), [&](const Instruction* operand) {
      if (operand->shape().ElementCount() != 1) return false;
      const int reg = program_.ValueOf(*operand, 0).reg;
      if (reg < 0) return false;
      return std::ranges::any_of(node.results, [&](const LoopValue& result) { return result.reg == reg; }) ||
             std::ranges::any_of(node.assigned, [&](const auto& assigned) { return assigned.first == reg; });
    });
  }

  // What stands for an operand inside has to tell whose it is.
  bool SharesComputation(const LoopNode& maker) const {
    const auto shares = [&](const LoopNode& node) {
      return node.instruction->opcode() == Opcode::kFusion &&
             node.instruction->called(0) == update_.instruction->called(0);
    };
    return shares(maker) || std::ranges::any_of(maker.updates, shares);
  }

  bool MayJoin(const LoopNode& maker) const {
    if (SharesComputation(maker)) return false;
    std::set<int> made;
    for (const Instruction* operand : update_.instruction->operands()) {
      if (!IsMadeBy(maker, *operand)) continue;
      const int leaf = program_.OriginOf(*operand, 0).leaf;
      const Shape& shape = *FlattenTuple(maker.instruction->shape()).at(static_cast<size_t>(leaf));
      const bool same = shape.element_type() == operand->shape().element_type() &&
                        shape.ElementCount() == body_.hero->operand(1)->shape().ElementCount();
      if (!same || !in_place_.contains(operand)) return false;
      made.insert(maker.results.at(static_cast<size_t>(leaf)).place);
    }
    if (made.size() > MostResults(context_, program_, maker)) return false;
    // What others still read in the unit is not written, nor read what they write.
    for (const LoopUse& own : update_.uses) {
      for (const LoopUse& use : maker.uses) {
        if (use.place == own.place && (own.writes || (use.writes && !made.contains(use.place)))) return false;
      }
    }
    return true;
  }

  const LowerContext& context_;
  const LoopProgram& program_;
  const FusionDescription& body_;
  LoopNode& update_;
  const std::set<const Instruction*> in_place_;
};

}  // namespace

bool StoreAlong(const LowerContext& context, const LoopProgram& program, const FusionDescription& body,
                LoopNode& update, LoopBlock& block) {
  if (body.hero->opcode() != Opcode::kDynamicUpdateSlice || update.instruction->opcode() != Opcode::kFusion)
    return false;
  UpdateJoiner joiner(context, program, body, update);
  LoopNode* maker = joiner.FindMaker(block);
  if (maker != nullptr) joiner.Join(*maker);
  return maker != nullptr;
}

}  // namespace VXLA_NAMESPACE::vulkan
