#include "backend/vulkan/lower/whiles/program.h"

#include <algorithm>
#include <bit>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/whiles/unit_reader.h"
#include "core/ceil_divide.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Branches in the text of a phase that repeats for the neighbours that a lane takes. Of 128 (eight devices' halo
// exchange, eight wide) SwiftShader compiles for minutes, and lavapipe 4 s.
constexpr int64_t kMostBranches = 32;

}  // namespace

LoopAccesses* LoopNode::accesses() {
  if (auto* unit = As<LoopUnitNode>()) return unit;
  if (auto* copy = As<LoopCopy>()) return copy;
  return As<LoopAssignment>();
}

LoopControl* LoopNode::control() {
  if (auto* loop = As<LoopWhile>()) return loop;
  return As<LoopConditional>();
}

void ForEachInside(const LoopControl& control, const std::function<void(const LoopNode&)>& visit) {
  for (const LoopBlock& block : control.blocks) {
    for (const LoopNode& node : block) {
      visit(node);
      if (const LoopControl* inner = node.control()) ForEachInside(*inner, visit);
    }
  }
}

bool OnlyMoves(const FusionDescription& update) {
  return std::ranges::all_of(update.computed, [&](const Instruction* i) {
    return i == update.hero || i->opcode() == Opcode::kConstant || IsSameBytes(*i);
  });
}

bool HandsOnLeaf(Origins& origins, const Instruction& loop, int leaf) {
  const Computation& body = *loop.called(1);
  return origins.Of(*body.root(), leaf) == LeafOrigin{body.parameter(0), leaf};
}

class LoopReader : public LoopUnitReader {
 public:
  using LoopUnitReader::LoopUnitReader;

  Result<LoopProgram> Read() {
    const Instruction& loop = *program_.loop;
    program_.emulates = Emulates(*loop.called(1));
    program_.most_width_ = program_.emulates ? 1 : TunerOf(context_.facts).MostNeighbours(context_.facts);
    BindOutside();
    VXLA_ASSIGN_OR_RETURN(const LoopCost cost, ReadLoop(loop, &program_.root));
    program_.trip_cost = cost.operations;
    program_.alone_cost = cost.alone;
    program_.trip_iterations = cost.iterations;
    VXLA_RETURN_IF_ERROR(NumberStops(program_.root, &program_.root));
    PlaceBarriers(program_.root);
    KeepResident();
    return std::move(program_);
  }

 private:
  bool Emulates(const Computation& computation) const {
    return std::ranges::any_of(computation.instructions(), [&](const auto& i) {
      if (std::ranges::any_of(i->called(), [&](const Computation* called) { return Emulates(*called); })) return true;
      return i->shape().IsArray() && HasWideCarrier(i->shape().element_type()) &&
             IsEmulated(i->shape().element_type(), context_.facts);
    });
  }

  // `loop`: the same, if it is one.
  Status NumberStops(LoopControl& control, LoopWhile* loop) {
    const int before = program_.stops;
    const bool is_inner = loop != nullptr && loop != &program_.root;
    if (is_inner && loop->trip_count < 0) ++program_.stops;
    for (LoopBlock& block : control.blocks) {
      const int outside = program_.stops;
      for (LoopNode& node : block) {
        if (LoopControl* inner = node.control()) VXLA_RETURN_IF_ERROR(NumberStops(*inner, node.As<LoopWhile>()));
      }
      if (loop != nullptr && &block == &loop->condition() && program_.stops != outside)
        return Unsupported("{}: a loop that ends by its data in a condition", loop->instruction->name());
    }
    if (program_.stops == before) return OkStatus();
    control.first_stop = before + 1;
    control.last_stop = program_.stops;
    if (is_inner && loop->trip_count >= 0) loop->counter = NewRegister(ElementType::kU32);
    return OkStatus();
  }

  Result<LoopCost> ReadBlock(LoopScope& scope) {
    LoopCost cost;
    for (; scope.position < static_cast<int>(scope.uses.order.size()); ++scope.position) {
      const Instruction& instruction = *scope.uses.order[static_cast<size_t>(scope.position)];
      Result<LoopCost> part = instruction.opcode() == Opcode::kWhile         ? ReadInnerLoop(scope, instruction)
                              : instruction.opcode() == Opcode::kConditional ? ReadConditional(scope, instruction)
                                                                             : ReadUnit(scope, instruction);
      if (!part.ok()) return part.status();
      cost.Add(*part);
    }
    return cost;
  }

  // The condition and the body of a loop whose state is bound.
  Result<LoopCost> ReadLoop(const Instruction& loop, LoopWhile* node) {
    node->instruction = &loop;
    node->trip_count = loop.notes().trip_count.value_or(-1);
    node->blocks.resize(2);
    LoopCost cost{kPhaseCost, 1};
    if (node->trip_count < 0 || &loop == program_.loop) {
      LoopScope condition{loop.called(0), OrderOf(program_, *loop.called(0)), {}, {}, &node->condition()};
      VXLA_ASSIGN_OR_RETURN(const LoopCost asked, ReadBlock(condition));
      cost.Add(asked);
      node->decides = RegisterOf(node->condition(), *loop.called(0)->root());
    }
    const Computation& body = *loop.called(1);
    LoopScope scope{&body, OrderOf(program_, body), {}, {}, &node->body()};
    for (int leaf = LeafCount(loop.shape()); leaf-- > 0;) {
      const LoopValue state = program_.values.at({body.parameter(0), leaf});
      if (state.place < 0 || HandsOn(loop, leaf)) continue;
      scope.holder[state.place] = {body.parameter(0), leaf};
      scope.preferred[KeyOf(OriginOf(*body.root(), leaf))] = state.place;
    }
    VXLA_ASSIGN_OR_RETURN(const LoopCost run, ReadBlock(scope));
    cost.Add(run);
    MoveIntoState(loop, scope, &cost);
    return cost;
  }

  // All leaves change at once: what a leaf's own place held goes through scratch.
  void MoveIntoState(const Instruction& loop, LoopScope& scope, LoopCost* cost) {
    const Instruction& result = *loop.called(1)->root();
    const Instruction& parameter = *loop.called(1)->parameter(0);
    std::set<int> places;
    std::vector<std::pair<int, LoopValue>> assigned;
    struct Move {
      int from, to;
      const Shape* shape;
    };
    std::vector<Move> moves;
    for (int leaf = 0; leaf < LeafCount(loop.shape()); ++leaf) {
      if (HandsOn(loop, leaf)) continue;
      const LoopValue state = program_.values.at({&parameter, leaf}), next = ValueOf(result, leaf);
      if (state.reg >= 0) assigned.emplace_back(state.reg, next);
      if (state.place < 0) continue;
      places.insert(state.place);
      if (next.place != state.place) moves.push_back({next.place, state.place, &LeafShape(loop, leaf)});
    }
    for (Move& move : moves) {
      if (!places.contains(move.from)) continue;
      const int saved = NewScratch(*move.shape);
      AddCopy(*scope.block, move.from, saved, *move.shape, cost);
      move.from = saved;
    }
    for (const Move& move : moves) AddCopy(*scope.block, move.from, move.to, *move.shape, cost);
    AddAssignment(*scope.block, std::move(assigned));
  }

  Result<LoopCost> ReadInnerLoop(LoopScope& scope, const Instruction& loop) {
    LoopWhile node;
    LoopCost cost;
    std::vector<std::pair<int, LoopValue>> assigned;
    std::map<LoopKey, int> times;  // that a value starts a leaf
    const int leaves = LeafCount(loop.shape());
    for (int leaf = 0; leaf < leaves; ++leaf) ++times[KeyOf(OriginOf(*loop.operand(0), leaf))];
    for (int leaf = 0; leaf < leaves; ++leaf) {
      const Shape& shape = LeafShape(loop, leaf);
      const LeafOrigin initial = OriginOf(*loop.operand(0), leaf);
      LoopValue value = ValueOf(initial);
      if (!HandsOn(loop, leaf) && shape.ElementCount() > 0) {
        if (shape.ElementCount() == 1) {
          const int reg = NewRegister(shape.element_type());
          assigned.emplace_back(reg, value);
          value = {reg, -1};
        } else {
          const auto once = [&](int) { return times.at(KeyOf(initial)) == 1; };
          const auto held = scope.holder.find(value.place);
          const bool stays =
              held != scope.holder.end() && held->second == KeyOf(initial) && MayTake(scope, value.place, loop, once);
          const int place = stays ? value.place : PlaceFor(scope, loop, leaf, [](int) { return false; });
          AddCopy(*scope.block, value.place, place, shape, &cost);
          scope.holder[place] = {&loop, leaf};
          value = {-1, place};
        }
      }
      BindState(loop, leaf, value);
    }
    AddAssignment(*scope.block, std::move(assigned));
    VXLA_ASSIGN_OR_RETURN(const LoopCost trip, ReadLoop(loop, &node));
    node.trip_cost = trip.operations;
    node.trip_iterations = trip.iterations;
    const int64_t counted = node.trip_count < 0 ? 1 : node.trip_count;
    cost.operations += trip.operations * counted;
    cost.alone += trip.alone * counted;
    cost.iterations += (trip.iterations + 1) * counted;
    scope.block->push_back({std::move(node)});
    return cost;
  }

  Result<LoopCost> ReadConditional(LoopScope& scope, const Instruction& conditional) {
    LoopConditional node;
    node.instruction = &conditional;
    node.decides = RegisterOf(*scope.block, *conditional.operand(0));
    const int leaves = LeafCount(conditional.shape());
    for (int leaf = 0; leaf < leaves; ++leaf) {
      const Shape& shape = LeafShape(conditional, leaf);
      LoopValue value;
      if (shape.ElementCount() == 1) value.reg = NewRegister(shape.element_type());
      if (shape.ElementCount() > 1) value.place = NewScratch(shape);
      if (value.place >= 0) scope.holder[value.place] = {&conditional, leaf};
      program_.values[{&conditional, leaf}] = value;
    }
    LoopCost most;
    node.blocks.resize(conditional.called().size());
    for (size_t b = 0; b < node.blocks.size(); ++b) {
      VXLA_ASSIGN_OR_RETURN(const LoopCost cost, ReadBranch(conditional, static_cast<int>(b), &node.blocks[b]));
      most.operations = std::max(most.operations, cost.operations);
      most.iterations = std::max(most.iterations, cost.iterations);
      most.alone = std::max(most.alone, cost.alone);
    }
    scope.block->push_back({std::move(node)});
    return most;
  }

  Result<LoopCost> ReadBranch(const Instruction& conditional, int branch, LoopBlock* block) {
    const Computation& called = *conditional.called(branch);
    const Instruction& argument = *conditional.operand(branch + 1);
    for (int leaf = 0; leaf < LeafCount(argument.shape()); ++leaf) {
      program_.values[{called.parameter(0), leaf}] = ValueOf(argument, leaf);
    }
    LoopScope scope{&called, OrderOf(program_, called), {}, {}, block};
    const int leaves = LeafCount(conditional.shape());
    for (int leaf = leaves; leaf-- > 0;) {
      const LoopValue value = program_.values.at({&conditional, leaf});
      if (value.place < 0) continue;
      scope.holder[value.place] = {nullptr, 0};
      scope.preferred[KeyOf(OriginOf(*called.root(), leaf))] = value.place;
    }
    VXLA_ASSIGN_OR_RETURN(LoopCost cost, ReadBlock(scope));
    std::vector<std::pair<int, LoopValue>> assigned;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      const LoopValue value = program_.values.at({&conditional, leaf});
      if (value.reg >= 0) assigned.emplace_back(value.reg, ValueOf(*called.root(), leaf));
      if (value.place < 0) continue;
      AddCopy(*block, ValueOf(*called.root(), leaf).place, value.place, LeafShape(conditional, leaf), &cost);
    }
    AddAssignment(*block, std::move(assigned));
    return cost;
  }
};

namespace {

// The most elements of an array that the computation goes through.
int64_t LargestOf(const Computation& computation) {
  int64_t largest = 1;
  for (const auto& instruction : computation.instructions()) {
    for (const Shape* leaf : FlattenTuple(instruction->shape())) largest = std::max(largest, leaf->ElementCount());
  }
  return largest;
}

uint32_t WithinLimits(const DeviceFacts& facts, int64_t lanes) {
  const int64_t most = LoopProgram::MostLanes(facts);
  return static_cast<uint32_t>(std::bit_floor(static_cast<uint64_t>(std::min(lanes, most))));
}

}  // namespace

// GPUs hide the time that memory takes behind many lanes. Where barriers are dear, many are good only where there is
// none, one for each element then.
Result<LoopProgram> LoopProgram::Read(const LowerContext& context, const Instruction& loop, LoopShare share, bool notes,
                                      const std::function<Status(const Instruction&)>& can_lower) {
  // What the loop's results depend on would be all that runs.
  if (HasSideEffect(loop)) return Unsupported("{} has side effects, which are steps of their own", loop.name());
  const int64_t own = CeilDivide(LargestOf(*loop.called(1)), share.parts());
  const auto largest = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(own)));
  const bool in_turn = context.facts.costs.subgroups_in_turn;
  const int64_t least = in_turn ? std::max(context.facts.subgroup_size, 4u) : 256;
  const uint32_t lanes = WithinLimits(context.facts, std::max(largest, least));
  Result<LoopProgram> program = LoopReader(context, loop, lanes, share, notes, can_lower).Read();
  if (!program.ok()) return program;
  uint32_t wanted = lanes;
  // Where accesses go lane by lane, one workgroup that reads tables takes neighbours at a time (2,000 trips of 256
  // elements, lavapipe: 2.5 ms, 2.8 in registers).
  const bool tables = !std::ranges::all_of(program->places, &LoopPlace::resident);
  const bool alone = context.facts.costs.accesses_by_lane && share.groups == 1;
  if (program->IsInRegisters() && !(tables && alone)) {
    // Tables, of which lanes read what they need, may be larger than what changes.
    const int64_t written = CeilDivide(program->LargestWritten(), share.parts());
    const auto all = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(written)));
    wanted = WithinLimits(context.facts, std::max(all, least));
  } else if (in_turn) {
    wanted = WithinLimits(context.facts, least);
  }
  if (wanted >= lanes) return program;
  return LoopReader(context, loop, wanted, share, notes, can_lower).Read();
}

int64_t LoopProgram::LargestWritten() const {
  int64_t largest = 1;
  for (const LoopPlace& place : places) {
    if (place.kind != LoopPlace::Kind::kOperand) largest = std::max(largest, place.count);
  }
  return largest;
}

bool LoopProgram::IsInRegisters() const {
  return !has_barriers && std::ranges::all_of(places, [](const LoopPlace& p) {
    return p.resident || p.kind == LoopPlace::Kind::kOperand;
  });
}

// A workgroup's registers lie in one file: 1,024 invocations have 64 each on NVIDIA's devices and AMD's before RDNA,
// where the loops of shared programs spilled up to 90 more.
uint32_t LoopProgram::MostLanes(const DeviceFacts& facts) {
  const uint32_t wanted = facts.costs.subgroups_in_turn ? 1024 : 512;
  return std::bit_floor(std::min({wanted, facts.max_workgroup_invocations, facts.max_workgroup_size[0]}));
}

LeafOrigin LoopProgram::OriginOf(const Instruction& instruction, int leaf) const {
  LeafOrigin origin = origins_.Of(instruction, leaf);
  while (origin.instruction->opcode() == Opcode::kWhile && origin.instruction != loop &&
         HandsOnLeaf(origins_, *origin.instruction, origin.leaf)) {
    origin = origins_.Of(*origin.instruction->operand(0), origin.leaf);
  }
  return origin;
}

LoopValue LoopProgram::ValueOf(const Instruction& instruction, int leaf) const {
  const LeafOrigin origin = OriginOf(instruction, leaf);
  return values.at({origin.instruction, origin.leaf});
}

int64_t LoopProgram::WidthOf(int64_t count, const FusionDescription& body) const {
  int64_t branches = 0;  // that tell parts of an array apart
  for (const Instruction* instruction : body.computed) {
    if (instruction->opcode() == Opcode::kConcatenate) branches += instruction->operand_count() - 1;
    if (instruction->opcode() == Opcode::kPad) ++branches;
  }
  int64_t width = WidthOf(count);
  while (width > 1 && width * branches > kMostBranches) width = width > 4 ? 4 : 1;
  return width;
}

int64_t LoopProgram::WidthOf(int64_t count, bool moves) const {
  int64_t width = moves ? std::min<int64_t>(most_width_, 4) : most_width_;
  if (share.cooperative || count % share.groups != 0) return 1;
  count /= share.groups;
  while (width > 1 && (count % width != 0 || count < width * lanes)) width = width > 4 ? 4 : 1;
  return width;
}

}  // namespace VXLA_NAMESPACE::vulkan
