#include "backend/vulkan/lower/whiles/groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backend/vulkan/lower/whiles/units/units.h"
#include "core/ceil_divide.h"
#include "core/passes/base/fusion_rules.h"
#include "core/passes/sharding/factor_rule.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kMostGroups = 65535;  // what every device dispatches

// The dimension of a value that counts the rows, or one of these.
constexpr int kCommon = -1;   // the value is the same for all rows: nothing that the loop writes is in it
constexpr int kUnknown = -2;  // not known yet: a leaf of the state that no row has reached

int FirstLongDimension(const Shape& shape) {
  const auto dimensions = shape.dimensions();
  const auto at = std::ranges::find_if(dimensions, [](int64_t size) { return size > 1; });
  return at == dimensions.end() ? kUnknown : static_cast<int>(at - dimensions.begin());
}
// Elements between two neighbours of the runs of rows that the array is made of; 1: it is one run.
int64_t RunsOf(const Shape& shape, int dimension) {
  return ElementCountOf(shape.dimensions().first(static_cast<size_t>(dimension)));
}

// Follows rows from one dimension of a leaf of the state through the body, and round the loop until nothing is new.
class RowFinder {
 public:
  RowFinder(const LoopProgram& program, int leaf, int dimension) : program_(program), body_(*program.loop->called(1)) {
    const Instruction& parameter = *body_.parameter(0);
    for (int l = 0; l < LeafCount(parameter.shape()); ++l) dimension_[{&parameter, l}] = kCommon;
    for (const LoopState& state : program.state) {
      if (state.value.place >= 0) dimension_[{&parameter, state.leaf}] = kUnknown;
    }
    ForEachInside(program.root, [&](const LoopNode& node) {
      const auto* const unit = node.As<LoopUnitNode>();
      if (unit != nullptr && unit->kind == LoopUnitKind::kNotes)
        noted_.insert(unit->body->heroes.begin(), unit->body->heroes.end());
    });
    rows_ = LeafShape(parameter, leaf).dimensions()[static_cast<size_t>(dimension)];
    dimension_[{&parameter, leaf}] = dimension;
  }

  // Whether rows never meet.
  bool Run() {
    do {
      for (const auto& instruction : body_.instructions()) VisitInBody(*instruction);
    } while (!meet_ && HandOn());
    if (!noted_.empty()) VisitCondition();
    return !meet_;
  }

  int64_t rows() const { return rows_; }
  int DimensionOf(const Instruction& instruction, int leaf) const {
    const auto at = dimension_.find({&instruction, leaf});
    return at == dimension_.end() ? kCommon : at->second;
  }

 private:
  // One that asks all elements: of what it computes each group has its part too.
  void VisitCondition() {
    const Computation& condition = *program_.loop->called(0);
    for (int leaf = 0; leaf < LeafCount(body_.parameter(0)->shape()); ++leaf)
      dimension_[{condition.parameter(0), leaf}] = dimension_.at({body_.parameter(0), leaf});
    for (const auto& instruction : condition.instructions()) VisitInBody(*instruction);
  }
  // What the state is after a trip it is before the next one. Whether that is news.
  bool HandOn() {
    bool news = false;
    int unknown = -1;
    const Instruction &parameter = *body_.parameter(0), &root = *body_.root();
    for (const LoopState& state : program_.state) {
      if (state.value.place < 0) continue;
      int& before = dimension_.at({&parameter, state.leaf});
      const int after = DimensionOf(root, state.leaf);
      if (before == kUnknown && after == kUnknown) unknown = state.leaf;
      if (before != kUnknown && after >= 0) meet_ |= before != after;
      if (before != kUnknown || after == kUnknown) continue;
      before = after == kCommon ? Shared(LeafShape(parameter, state.leaf)) : after;
      news = true;
    }
    if (news || unknown < 0) return news;
    dimension_.at({&parameter, unknown}) = Shared(LeafShape(parameter, unknown));
    return true;
  }
  // The dimension of an array along which rows may be shared out as well as along any other one.
  int Shared(const Shape& shape) {
    const int dimension = FirstLongDimension(shape);
    meet_ |= dimension < 0 || shape.dimensions()[static_cast<size_t>(dimension)] != rows_;
    return dimension;
  }

  // What the body computes is written: each group its part of what all rows have in common too.
  void VisitInBody(const Instruction& instruction) {
    if (instruction.opcode() == Opcode::kParameter) return;
    Visit(instruction);
    if (meet_ || HandsOn(instruction) || IsSameBytes(instruction) || instruction.opcode() == Opcode::kConstant) return;
    for (int leaf = 0; leaf < LeafCount(instruction.shape()); ++leaf) {
      int& dimension = dimension_[{&instruction, leaf}];
      const Shape& shape = LeafShape(instruction, leaf);
      if (dimension == kCommon && shape.ElementCount() > 1) dimension = Shared(shape);
    }
  }

  // Where rows meet, nothing more is asked.
  void Visit(const Instruction& i) {
    if (meet_) return;
    switch (i.opcode()) {
      case Opcode::kTuple:
      case Opcode::kOptimizationBarrier:
        return VisitHandedOn(i);
      case Opcode::kGetTupleElement: {
        const int first = FirstLeafAt(i.operand(0)->shape(), {&i.attributes<GetTupleElementAttributes>().index, 1});
        for (int leaf = 0; leaf < LeafCount(i.shape()); ++leaf)
          dimension_[{&i, leaf}] = DimensionOf(*i.operand(0), first + leaf);
        return;
      }
      case Opcode::kFusion:
        return VisitFusion(i);
      case Opcode::kReduce:
        return noted_.contains(&i) ? VisitNoted(i) : VisitByRule(i);
      default:
        VisitByRule(i);
    }
  }
  void VisitHandedOn(const Instruction& i) {
    int to = 0;
    for (const Instruction* operand : i.operands()) {
      for (int leaf = 0; leaf < LeafCount(operand->shape()); ++leaf)
        dimension_[{&i, to++}] = DimensionOf(*operand, leaf);
    }
  }
  void VisitFusion(const Instruction& fusion) {
    const Computation& inside = *fusion.called(0);
    for (const auto& instruction : inside.instructions()) {
      if (instruction->opcode() == Opcode::kParameter) {
        dimension_[{instruction.get(), 0}] =
            DimensionOf(*fusion.operand(static_cast<int>(instruction->parameter_number())), 0);
      } else {
        Visit(*instruction);
      }
    }
    for (int leaf = 0; leaf < LeafCount(fusion.shape()); ++leaf)
      dimension_[{&fusion, leaf}] = DimensionOf(*inside.root(), leaf);
  }
  // Each group goes through its part of the elements, whose rows have to be its own.
  void VisitNoted(const Instruction& reduce) {
    const int of_operand = DimensionOf(*reduce.operand(0), 0);
    meet_ |= of_operand >= 0 && RunsOf(reduce.operand(0)->shape(), of_operand) != 1;
    dimension_[{&reduce, 0}] = kCommon;
  }
  void VisitByRule(const Instruction& i) {
    std::vector<int> dimensions(static_cast<size_t>(LeafCount(i.shape())), kCommon);
    std::optional<FactorRule> rule;
    for (int k = 0; k < i.operand_count(); ++k) {
      for (int from = 0; from < LeafCount(i.operand(k)->shape()); ++from) {
        const int of_operand = DimensionOf(*i.operand(k), from);
        if (of_operand >= 0 && !rule) rule = RuleOf(i);
        meet_ |= of_operand >= 0 && !rule;
        if (meet_) return;
        for (size_t leaf = 0; leaf < dimensions.size(); ++leaf) {
          dimensions[leaf] = Join(dimensions[leaf], of_operand < 0 ? of_operand : Moved(*rule, k, of_operand, leaf));
        }
      }
    }
    for (size_t leaf = 0; leaf < dimensions.size(); ++leaf) dimension_[{&i, static_cast<int>(leaf)}] = dimensions[leaf];
  }
  // Of two values that an element reads at its own place.
  int Join(int a, int b) {
    if (a >= 0 && b >= 0) meet_ |= a != b;
    return a >= 0 || b >= 0 ? std::max(a, b) : std::min(a, b);
  }
  // Rows that are alone in their dimension, and are so in one of the result, each at its own place.
  int Moved(const FactorRule& rule, int operand, int dimension, size_t leaf) {
    const std::vector<int>& own = rule.operands[static_cast<size_t>(operand)][static_cast<size_t>(dimension)];
    const auto& dimensions = rule.results[leaf].dimensions;
    const auto at = std::ranges::find(dimensions, own);
    meet_ |= own.size() != 1 || at == dimensions.end();
    if (meet_) return kCommon;
    const FactorRule::Factor& rows = rule.factors[static_cast<size_t>(own[0])];
    meet_ |= rows.is_reduced || rows.is_whole || rows.is_indexed || rows.is_shifted || rows.is_reversed;
    return static_cast<int>(at - dimensions.begin());
  }

  const LoopProgram& program_;
  const Computation& body_;
  std::map<std::pair<const Instruction*, int>, int> dimension_;
  std::set<const Instruction*> noted_;  // reductions
  int64_t rows_ = 1;
  bool meet_ = false;
};

// Whether the rows of each array of a program lie where groups may take their parts of the phases' elements.
class PhaseCheck {
 public:
  PhaseCheck(const LoopProgram& program, const RowFinder& rows) : program_(program), rows_(rows) {}

  bool Run() {
    const Instruction& parameter = *program_.loop->called(1)->parameter(0);
    for (const LoopState& state : program_.state) {
      if (state.value.place >= 0) SetRuns(state.value.place, parameter, state.leaf);
    }
    const bool notes = program_.notes > 0;
    for (const LoopNode& node : program_.root.condition()) fits_ &= notes ? Fits(node) : DecidesAlike(node);
    for (const LoopNode& node : program_.root.body()) fits_ &= Fits(node);
    for (const LoopNode& node : program_.root.body()) {
      if (const auto* copy = node.As<LoopCopy>()) fits_ &= CopyFits(*copy);
    }
    // What chunks of trips go back to is a copy of a group's neighbouring elements.
    if (notes) fits_ &= std::ranges::all_of(runs_, [](const auto& of) { return of.second == 1; });
    return fits_;
  }

 private:
  bool IsWritten(int place) const {
    return place >= 0 && program_.places[static_cast<size_t>(place)].kind != LoopPlace::Kind::kOperand;
  }
  // Every group comes to the same end.
  bool DecidesAlike(const LoopNode& node) const {
    const LoopAccesses* const phase = node.accesses();
    return phase != nullptr && node.As<LoopCopy>() == nullptr &&
           std::ranges::none_of(phase->uses, [&](const LoopUse& use) { return IsWritten(use.place); });
  }
  // Copies are asked when all arrays are known.
  bool Fits(const LoopNode& node) {
    if (const auto* assignment = node.As<LoopAssignment>()) {
      return std::ranges::none_of(assignment->assigned, [&](const auto& to) { return IsWritten(to.second.place); });
    }
    if (const auto* unit = node.As<LoopUnitNode>()) {
      return UnitFits(*unit) &&
             std::ranges::all_of(unit->updates, [&](const LoopUnitNode& update) { return UnitFits(update); });
    }
    return node.control() == nullptr;
  }
  bool UnitFits(const LoopUnitNode& unit) {
    const Instruction* const hero = unit.body->hero;
    const bool updates = unit.kind == LoopUnitKind::kUpdate;
    switch (unit.kind) {
      case LoopUnitKind::kNotes:
        return true;
      case LoopUnitKind::kElements:
      case LoopUnitKind::kUpdate:
        break;
      case LoopUnitKind::kRows:
        if (hero->opcode() != Opcode::kDot && hero->opcode() != Opcode::kReduce) return false;
        break;
      default:
        return false;
    }
    for (size_t leaf = 0; leaf < unit.results.size(); ++leaf) {
      const int place = unit.results[leaf].place, number = static_cast<int>(leaf);
      if (place < 0) continue;
      const int64_t runs = SetRuns(place, unit.instruction(), number);
      if (!updates && runs != 1) return false;
    }
    if (!updates) return true;
    const int dimension = rows_.DimensionOf(*hero, 0);
    return dimension >= 0 && RunsOf(hero->operand(1)->shape(), dimension) == 1;
  }
  bool CopyFits(const LoopCopy& copy) {
    const auto to = runs_.find(copy.to), from = runs_.find(copy.from);
    if (to == runs_.end() && from != runs_.end()) runs_[copy.to] = from->second;
    return runs_.contains(copy.to) && runs_[copy.to] == 1;
  }
  int64_t SetRuns(int place, const Instruction& instruction, int leaf) {
    const int dimension = rows_.DimensionOf(instruction, leaf);
    if (dimension < 0) {
      fits_ = false;
      return 0;
    }
    const int64_t runs = RunsOf(LeafShape(instruction, leaf), dimension);
    fits_ &= runs_.try_emplace(place, runs).first->second == runs;
    return runs;
  }

  const LoopProgram& program_;
  const RowFinder& rows_;
  std::map<int, int64_t> runs_;  // by place that is written
  bool fits_ = true;
};

}  // namespace

int64_t SeparateRows(const LoopProgram& program) {
  constexpr int kMostTries = 8;  // each goes through the body
  if (program.stops > 0 || (program.root.trip_count < 0 && program.notes == 0)) return 1;
  int tries = 0;
  for (const LoopState& state : program.state) {
    if (state.value.place < 0) continue;
    if (++tries > kMostTries) return 1;
    const int dimension = FirstLongDimension(LeafShape(*program.loop, state.leaf));
    RowFinder rows(program, state.leaf, dimension);
    if (rows.Run() && PhaseCheck(program, rows).Run()) return rows.rows();
  }
  return 1;
}

int64_t GroupsInRegisters(const DeviceFacts& facts, const LoopProgram& program) {
  if (program.stops > 0) return 1;
  const int64_t largest = program.LargestWritten();
  const int64_t groups = CeilDivide(largest, LoopProgram::MostLanes(facts));
  return groups <= kMostGroups ? groups : 1;
}

int64_t GroupsOfRows(const DeviceFacts& facts, const LoopProgram& program, int64_t rows) {
  constexpr int64_t kIdle = 8;  // lanes for each that works
  const int64_t lanes = LoopProgram::MostLanes(facts);
  const int64_t largest = program.LargestWritten();
  for (int64_t groups = CeilDivide(largest, lanes); groups <= std::min(rows, kMostGroups); ++groups) {
    if (rows % groups == 0) return largest / groups * kIdle >= lanes ? groups : 1;
  }
  return 1;
}

int64_t GroupsAtOnce(const DeviceFacts& facts) {
  constexpr int64_t kUnknownUnits = 8;
  if (facts.costs.subgroups_in_turn) return std::max(facts.hardware_threads, 1);
  return facts.compute_units > 0 ? facts.compute_units : kUnknownUnits;
}

namespace {

// A lane with little to do is not worth another group. A software driver's lanes read what they share with other rows
// one by one, so that a group takes a few rows at least; and only as many groups as threads run them, or a few more
// where the loop is too much for those.
int64_t GroupsOfLoop(const DeviceFacts& facts, const LoopProgram& program, int64_t rows, int64_t most_of_a_phase) {
  constexpr int64_t kLeastOfAPhase = int64_t{1} << 12, kRowsTogether = 8, kMostOfALoop = 1024;
  const int64_t phase = program.trip_cost / std::max<int64_t>(program.phases, 1);
  const bool software = facts.costs.subgroups_in_turn;
  int64_t wanted = GroupsAtOnce(facts), most = wanted;
  if (software) {
    wanted = std::max(wanted, CeilDivide(phase, most_of_a_phase));
    most = 4 * wanted;
  }
  int64_t groups = 1;
  for (int64_t candidate = 2; candidate <= std::min({rows, most, kMostOfALoop}) && groups < wanted; ++candidate) {
    const bool worth = phase / candidate >= kLeastOfAPhase && (!software || rows / candidate >= kRowsTogether);
    if (rows % candidate == 0 && worth) groups = candidate;
  }
  return groups;
}

// Barriers of a trip of the program's loop, those of inner loops as often as they are met.
int64_t BarriersOfATrip(const LoopControl& control) {
  int64_t count = 0;
  for (const LoopBlock& block : control.blocks) {
    for (const LoopNode& node : block) {
      const LoopAccesses* phase = node.accesses();
      count += phase != nullptr && phase->waits ? 1 : 0;
      if (const auto* unit = node.As<LoopUnitNode>()) count += unit->grid_waits;
      const auto* loop = node.As<LoopWhile>();
      if (const LoopControl* inner = node.control())
        count += BarriersOfATrip(*inner) * (loop != nullptr ? std::max<int64_t>(loop->trip_count, 1) : 1);
    }
  }
  return count;
}

// Not measured yet. A barrier of all workgroups takes an H100 some 1.5 us, that of one 0.2; a workgroup does about
// 13,000 operations in a microsecond. Cooperative workgroups are to gain a fifth at least.
constexpr double kGridBarrierUs = 1.5, kBarrierUs = 0.2, kOperationsOfAUs = 13'000, kLeastGain = 1.25;

// Workgroups of a device whose grid barriers cost nothing.
constexpr int64_t kOfFreeBarriers = 8;

// Cooperative workgroups: as many as have a few thousand operations each between two barriers; 1: none do, or `apart`
// ones are as quick.
int64_t CooperativeGroups(const DeviceFacts& facts, const LoopProgram& program, int64_t apart) {
  constexpr int64_t kLeastOfAPhase = int64_t{1} << 11;
  // One for each unit, so that all of them run at once, unless something else does. Loops that stop silently do not
  // wait.
  const bool waits = TraitsOf(facts).look_back || facts.costs.free_grid_barriers;
  const int64_t barriers = BarriersOfATrip(program.root);
  if (!waits || facts.quirks.loop_iteration_limit != 0 || program.stops > 0 || barriers == 0) return 1;
  if (facts.costs.free_grid_barriers) return kOfFreeBarriers;
  const int64_t shared = program.trip_cost - program.alone_cost;
  const int64_t groups = std::min<int64_t>(facts.compute_units, shared / barriers / kLeastOfAPhase);
  if (groups <= apart) return 1;
  const auto time_of = [&](int64_t operations, double barrier_us) {
    return static_cast<double>(barriers) * barrier_us + static_cast<double>(operations) / kOperationsOfAUs;
  };
  const double met = time_of(program.alone_cost + shared / groups, kGridBarrierUs);
  return kLeastGain * met < time_of(program.trip_cost / apart, kBarrierUs) ? groups : 1;
}

}  // namespace

LoopShare ShareOfLoop(const DeviceFacts& facts, const LoopProgram& program, int64_t most_of_a_phase) {
  const int64_t apart = GroupsOfLoop(facts, program, SeparateRows(program), most_of_a_phase);
  const int64_t together = CooperativeGroups(facts, program, apart);
  return together > 1 ? LoopShare{together, true} : LoopShare{apart};
}

LoopSharing SharingOf(const DeviceFacts& facts, const LoopUnitNeeds& needs) {
  const bool free = facts.costs.free_grid_barriers;
  const int64_t groups = free ? kOfFreeBarriers : std::max<int64_t>(facts.compute_units, 1);
  const auto time_of = [&](int64_t parts, double barrier_us) {
    return static_cast<double>(needs.operations) / kOperationsOfAUs / static_cast<double>(std::min(parts, groups)) +
           static_cast<double>(needs.waits) * (free ? 0 : barrier_us);
  };
  const double alone = time_of(1, kBarrierUs), by_rows = time_of(needs.rows, kBarrierUs),
               by_elements = time_of(groups, kGridBarrierUs);
  if (needs.rows > 1 && by_rows <= by_elements) return LoopSharing::kRows;
  return needs.waits == 0 || kLeastGain * by_elements < alone ? LoopSharing::kElements : LoopSharing::kAlone;
}

int64_t MostGroupsOfAPhase(LoopShare share) {
  constexpr int64_t kMost = 8;
  return share.cooperative ? std::min(share.groups, kMost) : 1;
}

}  // namespace VXLA_NAMESPACE::vulkan
