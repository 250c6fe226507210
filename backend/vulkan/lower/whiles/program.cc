#include "backend/vulkan/lower/whiles/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>

#include "backend/vulkan/lower/indexing/scatter_text.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "backend/vulkan/lower/whiles/units/rows.h"
#include "backend/vulkan/lower/whiles/units/units.h"
#include "backend/vulkan/lower/whiles/updates.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int kAtRoot = std::numeric_limits<int>::max();
// What waiting for all lanes, or setting up a phase, costs beside a simple operation of one element.
constexpr int64_t kPhaseCost = 64;
// Branches in the text of a phase that repeats for the neighbours that a lane takes. Of 128 (eight devices' halo
// exchange, eight wide) SwiftShader compiles for minutes, and lavapipe 4 s.
constexpr int64_t kMostBranches = 32;

bool IsLoopValueMade(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return false;
    default:
      return !HandsOn(instruction) && !IsSameBytes(instruction);
  }
}

}  // namespace

bool OnlyMoves(const FusionDescription& update) {
  return std::ranges::all_of(update.computed, [&](const Instruction* i) {
    return i == update.hero || i->opcode() == Opcode::kConstant || IsSameBytes(*i);
  });
}

bool HandsOnLeaf(Origins& origins, const Instruction& loop, int leaf) {
  const Computation& body = *loop.called(1);
  return origins.Of(*body.root(), leaf) == LeafOrigin{body.parameter(0), leaf};
}

class LoopReader {
 public:
  LoopReader(const LowerContext& context, const Instruction& loop, uint32_t lanes, int64_t groups,
             const std::function<Status(const Instruction&)>& can_lower)
      : context_(context), can_lower_(can_lower) {
    program_.loop = &loop;
    program_.lanes = lanes;
    program_.groups = groups;
  }

  Result<LoopProgram> Read() {
    const Instruction& loop = *program_.loop;
    program_.emulates = Emulates(*loop.called(1));
    program_.most_width_ = !context_.facts.costs.accesses_by_lane || program_.emulates ? 1
                           : context_.facts.int64                                      ? 8
                                                                                       : 4;
    program_.root.kind = LoopNode::Kind::kWhile;
    program_.root.instruction = &loop;
    BindOutside();
    VXLA_ASSIGN_OR_RETURN(const Cost cost, ReadLoop(loop, &program_.root));
    program_.trip_cost = cost.operations;
    program_.trip_iterations = cost.iterations;
    VXLA_RETURN_IF_ERROR(NumberStops(&program_.root));
    PlaceBarriers(program_.root);
    KeepResident();
    return std::move(program_);
  }

 private:
  using Key = std::pair<const Instruction*, int>;
  // How long values are needed in one computation, by the positions of what reads them.
  struct Uses {
    std::vector<const Instruction*> order;
    std::map<std::pair<const Instruction*, int>, int> last;
  };
  // Of one run of a block, or one trip of a loop.
  struct Cost {
    int64_t operations = 0, iterations = 0;
    void Add(const Cost& other) {
      operations += other.operations;
      iterations += other.iterations;
    }
  };

  bool Emulates(const Computation& computation) const {
    return std::ranges::any_of(computation.instructions(), [&](const auto& i) {
      if (std::ranges::any_of(i->called(), [&](const Computation* called) { return Emulates(*called); })) return true;
      return i->shape().IsArray() && HasWideCarrier(i->shape().element_type()) &&
             IsEmulated(i->shape().element_type(), context_.facts);
    });
  }

  Status NumberStops(LoopNode* node) {
    const int before = program_.stops;
    const bool is_while = node->kind == LoopNode::Kind::kWhile;
    if (node != &program_.root && is_while && node->trip_count < 0) ++program_.stops;
    for (LoopBlock& block : node->blocks) {
      const int outside = program_.stops;
      for (LoopNode& inner : block) VXLA_RETURN_IF_ERROR(NumberStops(&inner));
      if (is_while && &block == &node->blocks[0] && program_.stops != outside)
        return Unsupported("{}: a loop that ends by its data in a condition", node->instruction->name());
    }
    if (program_.stops == before) return OkStatus();
    node->first_stop = before + 1;
    node->last_stop = program_.stops;
    if (node != &program_.root && node->kind == LoopNode::Kind::kWhile && node->trip_count >= 0)
      node->counter = NewRegister(ElementType::kU32);
    return OkStatus();
  }

  // Places that lanes need not put into memory.
  void KeepResident() {
    std::set<int> read;
    FindRead(program_.root, &read);
    for (size_t p = 0; p < program_.places.size(); ++p) {
      LoopPlace& place = program_.places[p];
      const bool is_read = place.kind != LoopPlace::Kind::kScratch || read.contains(static_cast<int>(p));
      place.resident = place.count / program_.groups <= program_.lanes || !is_read;
    }
    Forget(program_.root);
  }
  static void FindRead(const LoopNode& node, std::set<int>* read) {
    for (const LoopUse& use : node.uses) {
      if (!use.writes) read->insert(use.place);
    }
    for (const LoopBlock& block : node.blocks) {
      for (const LoopNode& inner : block) FindRead(inner, read);
    }
  }
  void Forget(const LoopNode& node) {
    if (node.kind == LoopNode::Kind::kUnit || node.kind == LoopNode::Kind::kCopy)
      program_.phases += node.rows.empty() ? 1 : std::ssize(program_.rows[static_cast<size_t>(node.rows[0])]);
    program_.has_barriers |= node.waits;
    for (const LoopUse& use : node.uses) program_.places[static_cast<size_t>(use.place)].resident &= use.own;
    // Under another type, the element is not what the register holds.
    if (node.kind == LoopNode::Kind::kCopy) {
      for (const int place : {node.from, node.to}) KeepIf(place, node.type);
    }
    if (node.kind == LoopNode::Kind::kUnit) {
      for (const Instruction* operand : node.instruction->operands()) {
        if (operand->shape().ElementCount() > 1) KeepIf(ValueOf(*operand, 0).place, operand->shape().element_type());
      }
      for (size_t leaf = 0; leaf < node.results.size(); ++leaf)
        KeepIf(node.results[leaf].place, LeafShape(*node.instruction, static_cast<int>(leaf)).element_type());
    }
    // Outside of a workgroup each of them would be a dispatch.
    for (const LoopNode& update : node.updates) Forget(update);
    for (const LoopBlock& block : node.blocks) {
      for (const LoopNode& inner : block) Forget(inner);
    }
  }
  void KeepIf(int place, ElementType type) {
    if (place >= 0)
      program_.places[static_cast<size_t>(place)].resident &= program_.places[static_cast<size_t>(place)].type == type;
  }

  LeafOrigin OriginOf(const Instruction& instruction, int leaf) const { return program_.OriginOf(instruction, leaf); }
  static Key KeyOf(const LeafOrigin& origin) { return {origin.instruction, origin.leaf}; }

  static const Shape& LeafShape(const Instruction& instruction, int leaf) {
    return *FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf));
  }

  int NewRegister(ElementType type, const Instruction* constant = nullptr) {
    program_.registers.push_back({type, constant});
    return static_cast<int>(program_.registers.size()) - 1;
  }
  int NewPlace(LoopPlace place, const Shape& shape) {
    place.type = shape.element_type();
    place.count = shape.ElementCount();
    program_.places.push_back(place);
    return static_cast<int>(program_.places.size()) - 1;
  }
  int NewScratch(const Shape& shape) {
    return NewPlace({LoopPlace::Kind::kScratch, nullptr, 0, shape.ElementCount() * StorageBytes(shape.element_type())},
                    shape);
  }

  // Values may be asked for once their computation has been read so far.
  LoopValue ValueOf(const LeafOrigin& origin) {
    if (LeafShape(*origin.instruction, origin.leaf).ElementCount() == 0) return {};
    if (const auto it = program_.values.find(KeyOf(origin)); it != program_.values.end()) return it->second;
    VXLA_CHECK(origin.instruction->opcode() == Opcode::kConstant, "a value of a loop that has no place yet");
    return program_.values[KeyOf(origin)] = OutsideValue(origin);
  }
  LoopValue ValueOf(const Instruction& instruction, int leaf) { return ValueOf(OriginOf(instruction, leaf)); }

  // A constant, or what the loop reads and does not change.
  LoopValue OutsideValue(const LeafOrigin& origin) {
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

  // The state of the whole loop, and what it only reads.
  void BindOutside() {
    const Instruction& loop = *program_.loop;
    for (int leaf = 0; leaf < LeafCount(loop.shape()); ++leaf) {
      LoopValue value;
      const Shape& shape = LeafShape(loop, leaf);
      if (HandsOnLeaf(program_.origins_, loop, leaf)) {
        value = OutsideValue(program_.origins_.Of(*loop.operand(0), leaf));
      } else {
        if (shape.ElementCount() == 1) value.reg = NewRegister(shape.element_type());
        if (shape.ElementCount() > 1) value.place = NewPlace({LoopPlace::Kind::kState, nullptr, leaf}, shape);
        if (shape.ElementCount() > 0) program_.state.push_back({leaf, value});
      }
      BindState(loop, leaf, value);
    }
  }
  void BindState(const Instruction& loop, int leaf, LoopValue value) {
    program_.values[{loop.called(0)->parameter(0), leaf}] = value;
    program_.values[{loop.called(1)->parameter(0), leaf}] = value;
    program_.values[{&loop, leaf}] = value;
  }

  Uses UsesOf(const Computation& computation) {
    Uses uses;
    std::set<const Instruction*> needed;
    std::vector<const Instruction*> pending{computation.root()};
    while (!pending.empty()) {
      const Instruction* at = pending.back();
      pending.pop_back();
      if (!needed.insert(at).second) continue;
      pending.insert(pending.end(), at->operands().begin(), at->operands().end());
    }
    for (const auto& owned : computation.instructions()) {
      if (needed.contains(owned.get()) && IsLoopValueMade(*owned)) uses.order.push_back(owned.get());
    }
    BringUpdatesForward(uses.order);
    BringTransformsTogether(uses.order);
    for (size_t position = 0; position < uses.order.size(); ++position) {
      for (const Key& key : ReadBy(*uses.order[position])) uses.last[key] = static_cast<int>(position);
    }
    for (int leaf = 0; leaf < LeafCount(computation.root()->shape()); ++leaf)
      uses.last[KeyOf(OriginOf(*computation.root(), leaf))] = kAtRoot;
    return uses;
  }

  std::vector<Key> ReadBy(const Instruction& instruction) {
    std::vector<Key> keys;
    for (const Instruction* operand : instruction.operands()) {
      for (int leaf = 0; leaf < LeafCount(operand->shape()); ++leaf) keys.push_back(KeyOf(OriginOf(*operand, leaf)));
    }
    return keys;
  }

  // Updates that store what a trip begins with, as those of the residuals of a gradient do, come first: what they read
  // may be overwritten then. Not before something that reads the array as it was.
  void BringUpdatesForward(std::vector<const Instruction*>& order) {
    std::set<const Instruction*> before;
    std::set<Key> read;
    std::vector<const Instruction*> first, others;
    for (const Instruction* at : order) {
      const std::vector<Key> keys = ReadBy(*at);
      const bool goes_first = UpdatesSlice(*at) && !std::ranges::any_of(keys, [&](const Key& key) {
                                return before.contains(key.first) || (read.contains(key) && IsUpdatedBy(*at, key));
                              });
      (goes_first ? first : others).push_back(at);
      if (goes_first) continue;
      before.insert(at);
      read.insert(keys.begin(), keys.end());
    }
    order = std::move(first);
    order.insert(order.end(), others.begin(), others.end());
  }
  static bool UpdatesSlice(const Instruction& instruction) {
    return instruction.opcode() == Opcode::kFusion &&
           instruction.called(0)->root()->opcode() == Opcode::kDynamicUpdateSlice;
  }
  bool IsUpdatedBy(const Instruction& update, const Key& key) {
    const Instruction& array = *update.called(0)->root()->operand(0);
    return array.opcode() == Opcode::kParameter &&
           KeyOf(OriginOf(*update.operand(static_cast<int>(array.parameter_number())), 0)) == key;
  }

  // Whether one text makes both Fourier transforms.
  static bool AreOneKind(const Instruction& a, const Instruction& b) {
    if (a.opcode() != Opcode::kFft || b.opcode() != Opcode::kFft) return false;
    const auto &x = a.attributes<FftAttributes>(), &y = b.attributes<FftAttributes>();
    return x.fft_type == y.fft_type && x.fft_length == y.fft_length && a.shape() == b.shape() &&
           a.operand(0)->shape() == b.operand(0)->shape();
  }
  // Fourier transforms wait for the next one of their kind, unless something before it, or itself, reads them.
  void BringTransformsTogether(std::vector<const Instruction*>& order) {
    for (size_t i = order.size(); i-- > 0;) {
      const Instruction& fft = *order[i];
      if (fft.opcode() != Opcode::kFft) continue;
      const auto reads = [&](const Instruction* at) {
        const std::vector<Key> keys = ReadBy(*at);
        return std::ranges::find(keys, Key{&fft, 0}) != keys.end();
      };
      size_t next = i + 1;
      while (next < order.size() && !AreOneKind(fft, *order[next]) && !reads(order[next])) ++next;
      if (next == order.size() || reads(order[next])) continue;
      std::rotate(order.begin() + static_cast<ptrdiff_t>(i), order.begin() + static_cast<ptrdiff_t>(i) + 1,
                  order.begin() + static_cast<ptrdiff_t>(next));
    }
  }

  // A computation that is being read: which of its places may be written, the value that each holds, and where
  // results should lie best.
  struct Scope {
    const Computation* computation;
    Uses uses;
    std::map<int, Key> holder;     // of places that may be written; no instruction: free
    std::map<Key, int> preferred;  // of results, by origin
    LoopBlock* block;
    int position = 0;
  };

  // Whether the instruction at hand may write its leaf over what a place holds; `shares` tells of an operand that the
  // value is whether each lane reads it only at the element it is about to write.
  bool MayTake(const Scope& scope, int place, const Instruction& at, const std::function<bool(int)>& shares) {
    const auto holder = scope.holder.find(place);
    if (holder == scope.holder.end()) return false;
    const Key& held = holder->second;
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

  // The place of a result: where it goes in the end if it may, else scratch.
  int PlaceFor(Scope& scope, const Instruction& at, int leaf, const std::function<bool(int)>& shares) {
    const Key key{&at, leaf};
    const auto wanted = scope.preferred.find(key);
    const bool takes = wanted != scope.preferred.end() && MayTake(scope, wanted->second, at, shares);
    const int place = takes ? wanted->second : NewScratch(LeafShape(at, leaf));
    scope.holder[place] = key;
    return place;
  }

  void AddCopy(LoopBlock& block, int from, int to, const Shape& shape, Cost* cost) {
    if (from == to || from < 0) return;
    LoopNode copy;
    copy.kind = LoopNode::Kind::kCopy;
    copy.from = from;
    copy.to = to;
    copy.type = shape.element_type();
    copy.count = shape.ElementCount();
    copy.uses = {{from, false, true}, {to, true, true}};
    block.push_back(std::move(copy));
    AddElements(shape.ElementCount(), 1, program_.WidthOf(shape.ElementCount(), true), cost);
  }
  // So many elements, each of so many operations, lane by lane.
  void AddElements(int64_t count, int64_t each, int64_t width, Cost* cost) const {
    count /= program_.groups;
    cost->operations += count * each + kPhaseCost;
    const int64_t turns = CeilDivide(count / width, program_.lanes);
    if (turns > 1) cost->iterations += turns + 1;
  }
  static void AddAssignment(LoopBlock& block, std::vector<std::pair<int, LoopValue>> assigned) {
    if (assigned.empty()) return;
    LoopNode node;
    node.kind = LoopNode::Kind::kAssign;
    for (const auto& [reg, value] : assigned) {
      if (value.place >= 0) node.uses.push_back({value.place, false, false});
    }
    node.assigned = std::move(assigned);
    block.push_back(std::move(node));
  }

  // A scalar that decides, in a register.
  int RegisterOf(LoopBlock& block, const Instruction& scalar) {
    const LoopValue value = ValueOf(scalar, 0);
    if (value.reg >= 0) return value.reg;
    const int reg = NewRegister(scalar.shape().element_type());
    AddAssignment(block, {{reg, value}});
    return reg;
  }

  Result<Cost> ReadBlock(Scope& scope) {
    Cost cost;
    for (; scope.position < static_cast<int>(scope.uses.order.size()); ++scope.position) {
      const Instruction& instruction = *scope.uses.order[static_cast<size_t>(scope.position)];
      Result<Cost> part = instruction.opcode() == Opcode::kWhile         ? ReadInnerLoop(scope, instruction)
                          : instruction.opcode() == Opcode::kConditional ? ReadConditional(scope, instruction)
                                                                         : ReadUnit(scope, instruction);
      if (!part.ok()) return part.status();
      cost.Add(*part);
    }
    return cost;
  }

  // The condition and the body of a loop whose state is bound.
  Result<Cost> ReadLoop(const Instruction& loop, LoopNode* node) {
    node->trip_count = loop.notes().trip_count.value_or(-1);
    node->blocks.resize(2);
    Cost cost{kPhaseCost, 1};
    if (node->trip_count < 0 || &loop == program_.loop) {
      Scope condition{loop.called(0), UsesOf(*loop.called(0)), {}, {}, &node->blocks[0]};
      VXLA_ASSIGN_OR_RETURN(const Cost asked, ReadBlock(condition));
      cost.Add(asked);
      node->decides = RegisterOf(node->blocks[0], *loop.called(0)->root());
    }
    const Computation& body = *loop.called(1);
    Scope scope{&body, UsesOf(body), {}, {}, &node->blocks[1]};
    for (int leaf = LeafCount(loop.shape()); leaf-- > 0;) {
      const LoopValue state = program_.values.at({body.parameter(0), leaf});
      if (state.place < 0 || HandsOnLeaf(program_.origins_, loop, leaf)) continue;
      scope.holder[state.place] = {body.parameter(0), leaf};
      scope.preferred[KeyOf(OriginOf(*body.root(), leaf))] = state.place;
    }
    VXLA_ASSIGN_OR_RETURN(const Cost run, ReadBlock(scope));
    cost.Add(run);
    MoveIntoState(loop, scope, &cost);
    return cost;
  }

  // All leaves change at once: what a leaf's own place held goes through scratch.
  void MoveIntoState(const Instruction& loop, Scope& scope, Cost* cost) {
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
      if (HandsOnLeaf(program_.origins_, loop, leaf)) continue;
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

  Result<Cost> ReadInnerLoop(Scope& scope, const Instruction& loop) {
    LoopNode node;
    node.kind = LoopNode::Kind::kWhile;
    node.instruction = &loop;
    Cost cost;
    std::vector<std::pair<int, LoopValue>> assigned;
    std::map<Key, int> times;  // that a value starts a leaf
    const int leaves = LeafCount(loop.shape());
    for (int leaf = 0; leaf < leaves; ++leaf) ++times[KeyOf(OriginOf(*loop.operand(0), leaf))];
    for (int leaf = 0; leaf < leaves; ++leaf) {
      const Shape& shape = LeafShape(loop, leaf);
      const LeafOrigin initial = OriginOf(*loop.operand(0), leaf);
      LoopValue value = ValueOf(initial);
      if (!HandsOnLeaf(program_.origins_, loop, leaf) && shape.ElementCount() > 0) {
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
    VXLA_ASSIGN_OR_RETURN(const Cost trip, ReadLoop(loop, &node));
    node.trip_cost = trip.operations;
    node.trip_iterations = trip.iterations;
    const int64_t counted = node.trip_count < 0 ? 1 : node.trip_count;
    cost.operations += trip.operations * counted;
    cost.iterations += (trip.iterations + 1) * counted;
    scope.block->push_back(std::move(node));
    return cost;
  }

  Result<Cost> ReadConditional(Scope& scope, const Instruction& conditional) {
    LoopNode node;
    node.kind = LoopNode::Kind::kConditional;
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
    Cost most;
    node.blocks.resize(conditional.called().size());
    for (size_t b = 0; b < node.blocks.size(); ++b) {
      VXLA_ASSIGN_OR_RETURN(const Cost cost, ReadBranch(conditional, static_cast<int>(b), &node.blocks[b]));
      most.operations = std::max(most.operations, cost.operations);
      most.iterations = std::max(most.iterations, cost.iterations);
    }
    scope.block->push_back(std::move(node));
    return most;
  }

  Result<Cost> ReadBranch(const Instruction& conditional, int branch, LoopBlock* block) {
    const Computation& called = *conditional.called(branch);
    const Instruction& argument = *conditional.operand(branch + 1);
    for (int leaf = 0; leaf < LeafCount(argument.shape()); ++leaf) {
      program_.values[{called.parameter(0), leaf}] = ValueOf(argument, leaf);
    }
    Scope scope{&called, UsesOf(called), {}, {}, block};
    const int leaves = LeafCount(conditional.shape());
    for (int leaf = leaves; leaf-- > 0;) {
      const LoopValue value = program_.values.at({&conditional, leaf});
      if (value.place < 0) continue;
      scope.holder[value.place] = {nullptr, 0};
      scope.preferred[KeyOf(OriginOf(*called.root(), leaf))] = value.place;
    }
    VXLA_ASSIGN_OR_RETURN(Cost cost, ReadBlock(scope));
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

  Result<Cost> ReadUnit(Scope& scope, const Instruction& instruction) {
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

  static int64_t OperationsOf(const FusionDescription& body) {
    int64_t each = 1;
    for (const Instruction* instruction : body.computed) each += ElementCost(*instruction);
    return each;
  }

  // What a unit reads; `own` tells of operands that each lane reads at its own elements only.
  void AddReads(const Instruction& fusion, const std::function<bool(int)>& own, LoopNode* node) {
    for (int k = 0; k < fusion.operand_count(); ++k) {
      if (fusion.operand(k)->shape().ElementCount() == 0) continue;
      const LoopValue value = ValueOf(*fusion.operand(k), 0);
      if (value.place >= 0) node->uses.push_back({value.place, false, own(k)});
    }
  }

  Result<Cost> ReadElements(Scope& scope, const FusionDescription& body) {
    const Instruction& fusion = *body.instruction;
    LoopNode node;
    node.instruction = &fusion;
    const int64_t count = body.roots[0]->shape().ElementCount();
    Cost cost;
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

  // FindInPlacePairs names an operand that keeps positions with each result of its storage size.
  static bool ReadsOwnElements(const FusionDescription& body, int k, int64_t count) {
    if (count == 1 || body.instruction->operand(k)->shape().ElementCount() != count) return false;
    return std::ranges::any_of(body.in_place, [&](const InPlacePair& pair) { return pair.operand == k; });
  }

  Result<Cost> ReadScatter(Scope& scope, const FusionDescription& body) {
    const Instruction& scatter = *body.hero;
    const ScatterForm form(scatter);
    const int64_t updates = scatter.operand(scatter.operand_count() - 1)->shape().ElementCount();
    const ScatterWay way = WayOf(scatter, ScatterTargetOf(context_.facts));
    const bool one_by_one = way == ScatterWay::kOneByOne;
    VXLA_ASSIGN_OR_RETURN(
        Cost cost, ReadUpdate(scope, body, one_by_one ? updates / form.count : updates, one_by_one ? form.count : 1));
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
      default:
        return Unsupported("{}: updates that may meet are not applied inside a workgroup's loop", scatter.name());
    }
  }

  Result<Cost> ReadUpdate(Scope& scope, const FusionDescription& body) {
    const Shape& part = body.hero->operand(1)->shape();
    return ReadUpdate(scope, body, part.ElementCount(), 1);
  }

  // Lanes share `count` elements out, each of which takes so many turns.
  Result<Cost> ReadUpdate(Scope& scope, const FusionDescription& body, int64_t count, int64_t turns) {
    const Instruction& fusion = *body.instruction;
    const int64_t elements = body.hero->operand(0)->shape().ElementCount();
    Cost cost;
    if (elements == 0) return cost;
    if (elements == 1) return Unsupported("{} updates no array of its own", fusion.name());
    LoopNode node;
    node.instruction = &fusion;
    node.results.resize(static_cast<size_t>(LeafCount(fusion.shape())));
    std::set<const Instruction*> in_place;
    if (body.hero->opcode() == Opcode::kDynamicUpdateSlice) in_place = OperandsInPlace(body);
    AddReads(
        fusion, [&](int k) { return in_place.contains(fusion.operand(k)); }, &node);
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

  // An array that is updated lies where it lay, or what it is at first is copied to where the result will lie, or is
  // computed there, as that of a result that nobody reads is too.
  void PlaceUpdated(Scope& scope, const FusionDescription& body, int number, LoopNode* node, Cost* cost) {
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
    if (array == nullptr || leaf < 0) {
      place = fresh();
      LoopNode fill;
      fill.instruction = &fusion;
      fill.fills = number;
      AddReads(
          fusion, [](int) { return false; }, &fill);
      fill.results = {{-1, place}};
      fill.uses.push_back({place, true, true});
      AddElements(shape.ElementCount(), OperationsOf(body), program_.WidthOf(shape.ElementCount()), cost);
      scope.block->push_back(std::move(fill));
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

  // Whether two windows are the same or have no element in common, wherever they start: each lane goes to the same
  // places of any of them.
  static bool HasSeparateWindows(const Instruction& update) {
    if (update.opcode() != Opcode::kDynamicUpdateSlice) return false;
    const auto whole = update.shape().dimensions(), part = update.operand(1)->shape().dimensions();
    for (size_t d = 0; d < whole.size(); ++d) {
      if (part[d] != 1 && part[d] != whole[d]) return false;
    }
    return true;
  }

  void AddUpdates(const FusionDescription& body, int64_t count, int64_t turns, Cost* cost) const {
    const bool scatters = body.hero->opcode() == Opcode::kScatter;
    AddElements(count, turns * OperationsOf(body), scatters ? 1 : program_.WidthOf(count, OnlyMoves(body)), cost);
    if (turns > 1) cost->iterations += CeilDivide(count, program_.lanes) * (turns + 1);
  }

  // Operands that are read before any result is written: by a product whose sums are all stored before its epilogue
  // begins, and by nothing in that.
  std::set<int> OperandsReadFirst(const FusionDescription& body) const {
    std::set<int> first;
    if (body.hero->opcode() != Opcode::kDot || !StoresSumsFirst(body) ||
        !TileLoopDot(context_, body, program_.lanes, program_.groups))
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

  Result<Cost> ReadRows(Scope& scope, const FusionDescription& body) {
    const LoopRowsShape shape = ShapeOfLoopRows(context_, body, program_.lanes, program_.groups);
    return ReadTogether(scope, body, {{}, shape.operations, shape.iterations});
  }

  // A Fourier transform after one of its kind is made at once with it, so that its text is there once and more lanes
  // have something to do between two barriers. Not where it reads what the other one writes, or the other way round.
  bool Joins(LoopBlock& block, const LoopNode& node) {
    if (block.empty() || block.back().kind != LoopNode::Kind::kUnit) return false;
    LoopNode& first = block.back();
    if (!AreOneKind(*first.instruction, *node.instruction)) return false;
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
  // What it reads, what it writes, what it alone uses.
  std::vector<int> PlacesOfTransform(const LoopNode& node) {
    std::vector<int> places{ValueOf(*node.instruction->operand(0), 0).place, node.results[0].place};
    places.insert(places.end(), node.scratch.begin(), node.scratch.end());
    return places;
  }
  bool MayStandInRows(const std::vector<int>& places) const {
    return std::ranges::all_of(places, [&](int place) {
      return place >= 0 && program_.places[static_cast<size_t>(place)].kind == LoopPlace::Kind::kScratch &&
             std::ranges::count(places, place) == 1 &&
             std::ranges::none_of(program_.rows, [&](const std::vector<int>& row) {
               return std::ranges::find(row, place) != row.end();
             });
    });
  }

  // Lanes read what others have written, and write what others read.
  Result<Cost> ReadTogether(Scope& scope, const FusionDescription& body, const LoopUnitNeeds& needs) {
    const Instruction& fusion = *body.instruction;
    const std::set<int> first = OperandsReadFirst(body);
    LoopNode node;
    node.instruction = &fusion;
    Cost cost;
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

  const LowerContext& context_;
  const std::function<Status(const Instruction&)>& can_lower_;
  LoopProgram program_;
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
Result<LoopProgram> LoopProgram::Read(const LowerContext& context, const Instruction& loop, int64_t groups,
                                      const std::function<Status(const Instruction&)>& can_lower) {
  // What the loop's results depend on would be all that runs.
  if (HasSideEffect(loop)) return Unsupported("{} has side effects, which are steps of their own", loop.name());
  const auto largest = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(LargestOf(*loop.called(1)) / groups)));
  const bool dear_barriers = context.facts.costs.dear_barriers;
  const int64_t least = dear_barriers ? std::max(context.facts.subgroup_size, 4u) : 256;
  const uint32_t lanes = WithinLimits(context.facts, std::max(largest, least));
  Result<LoopProgram> program = LoopReader(context, loop, lanes, groups, can_lower).Read();
  if (!program.ok() || !dear_barriers || lanes == WithinLimits(context.facts, least)) return program;
  if (program->IsInRegisters()) return program;
  return LoopReader(context, loop, WithinLimits(context.facts, least), groups, can_lower).Read();
}

bool LoopProgram::IsInRegisters() const {
  return !has_barriers && std::ranges::all_of(places, [](const LoopPlace& p) { return p.resident; });
}

// A workgroup's registers lie in one file: 1,024 invocations have 64 each on NVIDIA's devices and AMD's before RDNA,
// where the loops of shared programs spilled up to 90 more.
uint32_t LoopProgram::MostLanes(const DeviceFacts& facts) {
  const uint32_t wanted = facts.costs.values_in_memory ? 1024 : 512;
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
  count /= groups;
  while (width > 1 && (count % width != 0 || count < width * lanes)) width = width > 4 ? 4 : 1;
  return width;
}

}  // namespace VXLA_NAMESPACE::vulkan
