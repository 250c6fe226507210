#include "scheduler/plan/predication.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/limits.h"

namespace VXLA_NAMESPACE {
namespace {

// Commands of an iteration or of all branches: more of them are worth a wait of the host.
constexpr int64_t kMostCommands = 1024;
constexpr int64_t kImpossible = int64_t{1} << 40;
// Commands of a batch, and its iterations, at most.
constexpr int64_t kBatchCommands = 256, kBatchIterations = 16;
constexpr int64_t kGateBytes = 16;
// A loop in a nest is in the list so often that its trips are few times as many as the nest's: a command that does
// nothing costs a little too.
constexpr int64_t kTripsAtOnce = 4, kCommandsAtOnce = 128;
// The branch of gates that are none.
constexpr uint32_t kNoBranch = 0xffffffff;

// Where a list of commands runs under a condition.
struct Scope {
  int gates = -1;       // in Predicator::gates_
  uint32_t branch = 0;  // that the gates' table names
};

// The gates of one decision.
struct Gates {
  int buffer = -1, table_buffer = -1;
  std::vector<uint32_t> table;
  std::map<std::pair<uint32_t, std::array<uint32_t, 3>>, int> known;
};

// A buffer that is one of the gates.
struct OwnGate {
  int buffer = -1, gates = -1;
  int64_t offset_bytes = 0;
};

// A step that is made once the gates are counted.
struct Decider {
  int step = -1, gates = -1;
  GateRequest request;  // without gates and table
  int parent = -1;      // in Predicator::gates_
};

// From the table of deciders to gates and commands: its steps are one class because each renumbers what all hold.
class Predicator {
 public:
  Predicator(Plan& plan, const Lowering& lowering) : plan_(plan), lowering_(lowering) {}

  Status Run() {
    VXLA_RETURN_IF_ERROR(Rebuild(0, static_cast<int>(plan_.segments.size())));
    plan_.segments = std::move(made_);
    PlaceGates();
    for (Decider& decider : deciders_) {
      decider.request.table = Whole(gates_[decider.gates].table_buffer);
      decider.request.gates = Whole(gates_[decider.gates].buffer);
      if (decider.parent >= 0) decider.request.parent = Whole(gates_[decider.parent].buffer);
      VXLA_ASSIGN_OR_RETURN(plan_.steps[decider.step], lowering_.LowerGates(decider.request));
    }
    return OkStatus();
  }

 private:
  // The commands of segments in a row, or at least kImpossible if not all of them can be decided on the device.
  int64_t Cost(int begin, int end) const;
  int64_t CostOf(int segment) const;
  // Appends segments to those made, as few of them as possible left to the host.
  Status Rebuild(int begin, int end);
  Status RebuildDecision(int segment);
  Status RebuildLoop(int segment);
  // A loop with loops inside whose trips are not known when it is submitted: the device keeps which part of it comes
  // next, its mode, and each submitted iteration runs the parts from there on whose turn it is.
  Status RebuildNest(int segment);
  Status RebuildShares(int segment);
  // The same segments as commands, under a condition if there is a scope.
  Status Emit(int begin, int end, const Scope* scope, std::vector<GpuCommand>& commands);
  Status EmitDecision(int segment, const Scope* scope, std::vector<GpuCommand>& commands);
  // Of a nest.
  struct Nest {
    int gates = -1;
    uint32_t modes = 1;  // given; 0: the nest has ended
    int counters = 0;
    std::vector<int> changes;  // in deciders_
  };
  bool DecidesInside(int begin, int end) const;
  int64_t NestCost(int begin, int end) const;
  int64_t NestCostOf(int segment) const;
  // The segments, from the mode on that `mode` names, which then is the one that they end in.
  Status EmitNest(int begin, int end, Nest& nest, uint32_t& mode, std::vector<GpuCommand>& commands);
  Status EmitNestLoop(int segment, Nest& nest, uint32_t& mode, std::vector<GpuCommand>& commands);
  Status EmitNestBranches(int segment, Nest& nest, uint32_t& mode, std::vector<GpuCommand>& commands);
  Status EmitTrip(int segment, Nest& nest, uint32_t begins, uint32_t ends, int counter,
                  std::vector<GpuCommand>& commands);
  void EmitChange(Nest& nest, const HostDecide* decision, int branches, const ModeChange& change,
                  std::vector<GpuCommand>& commands);
  Status EmitCopy(const CopyBytes& copy, const Scope& scope, std::vector<GpuCommand>& commands);

  const HostDecide& DecisionAt(int segment) const { return std::get<HostDecide>(plan_.segments[segment]); }
  bool IsLoop(int segment) const { return DecisionAt(segment).kind == HostDecide::Kind::kWhile; }
  std::vector<GpuCommand>& Commands() {
    const auto* last = made_.empty() ? nullptr : std::get_if<GpuCommands>(&made_.back());
    if (fresh_ || last == nullptr || last->overlap != 0) made_.push_back(GpuCommands{});
    fresh_ = false;
    return std::get<GpuCommands>(made_.back()).commands;
  }
  // What follows is its first region.
  int Open(HostDecide decision) {
    decision.region_ends.clear();
    made_.push_back(std::move(decision));
    fresh_ = true;
    return static_cast<int>(made_.size()) - 1;
  }
  // A loop that ends itself, as its gates say: what follows is its body.
  int OpenAhead(HostDecide loop, int gates) {
    loop.selector = {gates_[gates].buffer, 0, 4};
    loop.selector_is_pred = false;
    loop.trip_count = -1;
    loop.ahead = true;
    const int decision = Open(std::move(loop));
    EndRegion(decision);
    return decision;
  }
  void CloseAhead(int decision, std::vector<GpuCommand> body) {
    Commands() = std::move(body);
    EndRegion(decision);
    ChooseBatch(decision);
  }
  void EndRegion(int decision) {
    std::get<HostDecide>(made_[decision]).region_ends.push_back(static_cast<int>(made_.size()));
    fresh_ = true;
  }
  int AddGates(const std::string& decision);
  int GateOf(const Scope& scope, const std::array<uint32_t, 3>& groups);
  BufferSlice CountsOf(const Scope& scope, const std::array<uint32_t, 3>& groups) {
    const int gate = GateOf(scope, groups);
    return {gates_[scope.gates].buffer, kGateBytes * gate + 4, 12};
  }
  void OwnCounts(const Scope& scope, const std::array<uint32_t, 3>& groups, const BufferSlice& groups_at);
  Decider& NewDecider(const HostDecide* decision, int gates, int branches, const std::string& what);
  int AddDecider(const HostDecide& decision, int gates, int branches, const Scope* parent);
  void PlaceGates();
  BufferSlice Whole(int buffer) const { return {buffer, 0, plan_.buffers[buffer].size_bytes}; }
  void ChooseBatch(int decision);

  Plan& plan_;
  const Lowering& lowering_;
  std::vector<Segment> made_;
  bool fresh_ = false;  // what follows runs under another condition than the segment before
  std::vector<Gates> gates_;
  std::vector<OwnGate> own_gates_;
  std::vector<Decider> deciders_;
};

int64_t Predicator::CostOf(int segment) const {
  if (const auto* gpu = std::get_if<GpuCommands>(&plan_.segments[segment])) {
    const bool can = std::ranges::all_of(gpu->commands, [&](const GpuCommand& command) {
      if (const auto* dispatch = std::get_if<Dispatch>(&command)) return dispatch->parts == 1;
      return IsCopyOfGroups(plan_, std::get<CopyBytes>(command));
    });
    return can ? static_cast<int64_t>(gpu->commands.size()) : kImpossible;
  }
  const auto* decision = std::get_if<HostDecide>(&plan_.segments[segment]);
  if (decision == nullptr) return kImpossible;
  if (decision->kind == HostDecide::Kind::kConditional) {
    return decision->selector.offset_bytes == 0 ? 1 + Cost(segment + 1, plan_.SegmentEnd(segment)) : kImpossible;
  }
  if (decision->trip_count < 0) return kImpossible;
  const auto [begin, end] = plan_.Region(segment, 1);
  const int64_t body = Cost(begin, end);
  return decision->trip_count > kMostCommands || body > kMostCommands ? kImpossible : decision->trip_count * body;
}

int64_t Predicator::Cost(int begin, int end) const {
  int64_t cost = 0;
  for (int i = begin; i < end && cost < kImpossible; i = plan_.SegmentEnd(i)) cost += CostOf(i);
  return cost;
}

Status Predicator::Rebuild(int begin, int end) {
  int before = -1;
  for (int i = begin; i < end; before = std::exchange(i, plan_.SegmentEnd(i))) {
    if (std::holds_alternative<HostEvaluate>(plan_.segments[i])) {
      made_.push_back(plan_.segments[i]);
    } else if (const auto* gpu = std::get_if<GpuCommands>(&plan_.segments[i])) {
      // Neighbours that were apart stay apart.
      fresh_ |= gpu->overlap != 0 || (before >= 0 && std::holds_alternative<GpuCommands>(plan_.segments[before]));
      std::vector<GpuCommand>& commands = Commands();
      auto& made = std::get<GpuCommands>(made_.back());
      made.queue = gpu->queue, made.overlap = gpu->overlap;
      VXLA_RETURN_IF_ERROR(Emit(i, i + 1, nullptr, commands));
    } else if (IsLoop(i)) {
      VXLA_RETURN_IF_ERROR(RebuildLoop(i));
    } else if (CostOf(i) <= kMostCommands) {
      VXLA_RETURN_IF_ERROR(Emit(i, plan_.SegmentEnd(i), nullptr, Commands()));
    } else {
      VXLA_RETURN_IF_ERROR(RebuildDecision(i));
    }
  }
  return OkStatus();
}

Status Predicator::RebuildDecision(int segment) {
  const int regions = static_cast<int>(DecisionAt(segment).region_ends.size());
  const int decision = Open(DecisionAt(segment));
  for (int region = 0; region < regions; ++region) {
    const auto [begin, end] = plan_.Region(segment, region);
    VXLA_RETURN_IF_ERROR(Rebuild(begin, end));
    EndRegion(decision);
  }
  ChooseBatch(decision);
  return OkStatus();
}

Status Predicator::RebuildLoop(int segment) {
  const HostDecide& loop = DecisionAt(segment);
  const auto [begin, condition_end] = plan_.Region(segment, 0);
  const auto [body_begin, end] = plan_.Region(segment, 1);
  const bool counted = loop.trip_count >= 0;
  if (DecidesInside(begin, end) && NestCostOf(segment) <= kMostCommands) return RebuildNest(segment);
  if (counted || loop.selector.offset_bytes != 0 || Cost(begin, end) > kMostCommands) return RebuildDecision(segment);
  if (body_begin == end) return RebuildShares(segment);
  const int gates = AddGates(loop.instruction);
  // Open, as the table says, when the loop begins; the first one says how the loop stands.
  const Scope scope{gates, 1};
  GateOf(scope, {1, 1, 1});
  Commands().push_back(CopyBytes{{gates_[gates].table_buffer, 0, 0}, {gates_[gates].buffer, 0, 0}});
  const int decision = OpenAhead(loop, gates);
  std::vector<GpuCommand> commands;
  VXLA_RETURN_IF_ERROR(Emit(begin, condition_end, &scope, commands));
  commands.push_back(Dispatch{AddDecider(loop, gates, 0, nullptr)});
  VXLA_RETURN_IF_ERROR(Emit(body_begin, end, &scope, commands));
  CloseAhead(decision, std::move(commands));
  return OkStatus();
}

// Whether there are loops inside whose trips are not known ahead.
bool Predicator::DecidesInside(int begin, int end) const {
  for (int i = begin; i < end; ++i) {
    const auto* decision = std::get_if<HostDecide>(&plan_.segments[i]);
    if (decision != nullptr && decision->kind == HostDecide::Kind::kWhile && decision->trip_count < 0) return true;
  }
  return false;
}

// The commands of one iteration.
int64_t Predicator::NestCost(int begin, int end) const {
  int64_t cost = 0;
  for (int i = begin; i < end && cost < kImpossible; i = plan_.SegmentEnd(i)) cost += NestCostOf(i);
  return cost;
}

int64_t Predicator::NestCostOf(int segment) const {
  const auto* decision = std::get_if<HostDecide>(&plan_.segments[segment]);
  if (decision == nullptr) return CostOf(segment);
  const int64_t cost = CostOf(segment);
  if (cost <= kCommandsAtOnce) return cost;
  if (decision->selector.offset_bytes != 0) return kImpossible;
  const int64_t whole = NestCost(segment + 1, plan_.SegmentEnd(segment));
  return 3 + static_cast<int64_t>(decision->region_ends.size()) + whole;
}

void Predicator::EmitChange(Nest& nest, const HostDecide* decision, int branches, const ModeChange& change,
                            std::vector<GpuCommand>& commands) {
  nest.changes.push_back(static_cast<int>(deciders_.size()));
  Decider& decider = NewDecider(decision, nest.gates, branches, "mode");
  decider.request.change = change;
  commands.push_back(Dispatch{decider.step});
}

// decision: null, if none is asked.
Decider& Predicator::NewDecider(const HostDecide* decision, int gates, int branches, const std::string& what) {
  Decider& decider = deciders_.emplace_back();
  decider.step = static_cast<int>(plan_.steps.size());
  decider.gates = gates;
  decider.request.name = decision == nullptr ? what : decision->instruction + " " + what;
  decider.request.branches = branches;
  if (decision != nullptr) {
    decider.request.selector = decision->selector;
    decider.request.selector_is_pred = decision->selector_is_pred;
  }
  plan_.steps.emplace_back();
  return decider;
}

Status Predicator::EmitNest(int begin, int end, Nest& nest, uint32_t& mode, std::vector<GpuCommand>& commands) {
  for (int i = begin; i < end; i = plan_.SegmentEnd(i)) {
    if (CostOf(i) <= kCommandsAtOnce || std::holds_alternative<GpuCommands>(plan_.segments[i])) {
      const Scope scope{nest.gates, mode};
      GateOf(scope, {1, 1, 1});  // branches inside ask for it
      VXLA_RETURN_IF_ERROR(Emit(i, plan_.SegmentEnd(i), &scope, commands));
    } else if (IsLoop(i)) {
      VXLA_RETURN_IF_ERROR(EmitNestLoop(i, nest, mode, commands));
    } else {
      VXLA_RETURN_IF_ERROR(EmitNestBranches(i, nest, mode, commands));
    }
  }
  return OkStatus();
}

// The condition, if there is one, and the body, which goes back to the mode of the condition.
Status Predicator::EmitTrip(int segment, Nest& nest, uint32_t begins, uint32_t ends, int counter,
                            std::vector<GpuCommand>& commands) {
  const HostDecide& loop = DecisionAt(segment);
  const auto [condition, condition_end] = plan_.Region(segment, 0);
  const auto [body, end] = plan_.Region(segment, 1);
  uint32_t mode = begins;
  VXLA_RETURN_IF_ERROR(EmitNest(condition, condition_end, nest, mode, commands));
  using Kind = ModeChange::Kind;
  ModeChange change{loop.trip_count < 0 ? Kind::kCondition : Kind::kCount, mode, mode, ends};
  change.counter = counter;
  change.trips = std::max<int64_t>(loop.trip_count, 0);
  const bool goes_back = body == end;
  if (goes_back) change.first = begins;
  EmitChange(nest, &loop, 2, change, commands);
  if (goes_back) return OkStatus();
  VXLA_RETURN_IF_ERROR(EmitNest(body, end, nest, mode, commands));
  if (mode != begins) EmitChange(nest, nullptr, 0, {Kind::kAlways, mode, begins}, commands);
  return OkStatus();
}

Status Predicator::EmitNestLoop(int segment, Nest& nest, uint32_t& mode, std::vector<GpuCommand>& commands) {
  const HostDecide& loop = DecisionAt(segment);
  const uint32_t begins = nest.modes++, ends = nest.modes++;
  const int counter = loop.trip_count < 0 ? 0 : ++nest.counters;
  EmitChange(nest, nullptr, 0, {ModeChange::Kind::kAlways, mode, begins}, commands);
  const auto [begin, body] = plan_.Region(segment, 0);
  const auto [body_begin, end] = plan_.Region(segment, 1);
  // A loop that runs its shares by itself needs few.
  const bool repeats = body_begin != end && !DecidesInside(begin, end) && 4 * NestCost(begin, end) <= kCommandsAtOnce;
  for (int64_t i = 0; i < (repeats ? kTripsAtOnce : 1); ++i)
    VXLA_RETURN_IF_ERROR(EmitTrip(segment, nest, begins, ends, counter, commands));
  mode = ends;
  return OkStatus();
}

Status Predicator::EmitNestBranches(int segment, Nest& nest, uint32_t& mode, std::vector<GpuCommand>& commands) {
  const HostDecide& decision = DecisionAt(segment);
  const int branches = static_cast<int>(decision.region_ends.size());
  const uint32_t first = nest.modes, ends = first + static_cast<uint32_t>(branches);
  nest.modes = ends + 1;
  EmitChange(nest, &decision, branches, {ModeChange::Kind::kBranch, mode, first, first + 1}, commands);
  for (int branch = 0; branch < branches; ++branch) {
    uint32_t inside = first + static_cast<uint32_t>(branch);
    const auto [begin, end] = plan_.Region(segment, branch);
    VXLA_RETURN_IF_ERROR(EmitNest(begin, end, nest, inside, commands));
    EmitChange(nest, nullptr, 0, {ModeChange::Kind::kAlways, inside, ends}, commands);
  }
  mode = ends;
  return OkStatus();
}

Status Predicator::RebuildNest(int segment) {
  const HostDecide& loop = DecisionAt(segment);
  Nest nest;
  nest.gates = AddGates(loop.instruction);
  const uint32_t begins = nest.modes++;
  const int counter = loop.trip_count < 0 ? 0 : ++nest.counters;
  // Gates for what the nest keeps come first: how many counters there are is known before any gate is asked for.
  for (int i = segment + 1; i < plan_.SegmentEnd(segment); ++i) {
    const auto* inside = std::get_if<HostDecide>(&plan_.segments[i]);
    if (inside != nullptr && inside->kind == HostDecide::Kind::kWhile && inside->trip_count >= 0) ++nest.counters;
  }
  const int kept = nest.counters;
  nest.counters = counter;
  gates_[nest.gates].table.assign(static_cast<size_t>(4 * (1 + kept)), 0);
  for (int gate = 0; gate <= kept; ++gate) gates_[nest.gates].table[4 * gate] = kNoBranch;
  EmitChange(nest, nullptr, 0, {ModeChange::Kind::kStart, 0, begins}, Commands());
  const int decision = OpenAhead(loop, nest.gates);
  std::vector<GpuCommand> commands;
  VXLA_RETURN_IF_ERROR(EmitTrip(segment, nest, begins, 0, counter, commands));
  for (const int change : nest.changes) deciders_[change].request.change->counters = kept;
  CloseAhead(decision, std::move(commands));
  return OkStatus();
}

// A loop without a body: its condition is steps that run a share of a loop by themselves and say whether there is more.
// They do nothing once there is not, so they need no gates; each is long enough for a submission.
Status Predicator::RebuildShares(int segment) {
  HostDecide shares = DecisionAt(segment);
  shares.ahead = true;
  const int decision = Open(std::move(shares));
  EndRegion(decision);
  const auto [begin, end] = plan_.Region(segment, 0);
  VXLA_RETURN_IF_ERROR(Rebuild(begin, end));
  EndRegion(decision);
  return OkStatus();
}

void Predicator::ChooseBatch(int decision) {
  auto& loop = std::get<HostDecide>(made_[decision]);
  if (loop.kind != HostDecide::Kind::kWhile || (loop.trip_count < 0 && !loop.ahead)) return;
  const int begin = loop.region_ends[0], end = loop.region_ends[1];
  const auto* body = end - begin == 1 ? std::get_if<GpuCommands>(&made_[begin]) : nullptr;
  if (body == nullptr) return;
  // A step of one workgroup may be a share of a loop that it runs by itself: long enough for a submission.
  const auto* first = body->commands.empty() ? nullptr : std::get_if<Dispatch>(&body->commands.front());
  const bool alone = first != nullptr && body->commands.size() == 1;
  if (alone && plan_.steps[first->step].groups == std::array<uint32_t, 3>{1, 1, 1}) return;
  int64_t most = std::min(kBatchIterations, kBatchCommands / std::max<int64_t>(1, std::ssize(body->commands)));
  if (!loop.ahead) most = std::min(most, loop.trip_count);
  loop.batch = most < 2 ? 1 : static_cast<int>(std::bit_floor(static_cast<uint64_t>(most)));
}

Status Predicator::Emit(int begin, int end, const Scope* scope, std::vector<GpuCommand>& commands) {
  for (int i = begin; i < end; i = plan_.SegmentEnd(i)) {
    const auto* gpu = std::get_if<GpuCommands>(&plan_.segments[i]);
    if (gpu == nullptr) {
      VXLA_RETURN_IF_ERROR(EmitDecision(i, scope, commands));
      continue;
    }
    for (const GpuCommand& command : gpu->commands) {
      const auto* copy = std::get_if<CopyBytes>(&command);
      if (scope != nullptr && copy != nullptr) {
        VXLA_RETURN_IF_ERROR(EmitCopy(*copy, *scope, commands));
        continue;
      }
      commands.push_back(command);
      if (auto* dispatch = std::get_if<Dispatch>(&commands.back()); dispatch != nullptr && scope != nullptr) {
        const std::array<uint32_t, 3>& groups = plan_.steps[dispatch->step].groups;
        if (dispatch->groups_at.buffer >= 0) {
          OwnCounts(*scope, groups, dispatch->groups_at);
        } else {
          dispatch->groups_at = CountsOf(*scope, groups);
        }
      }
    }
  }
  return OkStatus();
}

Status Predicator::EmitDecision(int segment, const Scope* scope, std::vector<GpuCommand>& commands) {
  const HostDecide& decision = DecisionAt(segment);
  if (IsLoop(segment)) {
    std::vector<GpuCommand> iteration;
    const auto [begin, end] = plan_.Region(segment, 1);
    if (decision.trip_count > 0) VXLA_RETURN_IF_ERROR(Emit(begin, end, scope, iteration));
    for (int64_t i = 0; i < decision.trip_count; ++i) {
      commands.insert(commands.end(), iteration.begin(), iteration.end());
    }
    return OkStatus();
  }
  const int branches = static_cast<int>(decision.region_ends.size());
  const int gates = AddGates(decision.instruction);
  commands.push_back(Dispatch{AddDecider(decision, gates, branches, scope)});
  for (int branch = 0; branch < branches; ++branch) {
    const Scope inner{gates, static_cast<uint32_t>(branch)};
    const auto [begin, end] = plan_.Region(segment, branch);
    VXLA_RETURN_IF_ERROR(Emit(begin, end, &inner, commands));
  }
  return OkStatus();
}

Status Predicator::EmitCopy(const CopyBytes& copy, const Scope& scope, std::vector<GpuCommand>& commands) {
  const std::string name = "copy to " + plan_.buffers[copy.target.buffer].name;
  VXLA_ASSIGN_OR_RETURN(Step step, lowering_.LowerCopy(name, copy.source, copy.target));
  Dispatch dispatch{static_cast<int>(plan_.steps.size())};
  dispatch.groups_at = CountsOf(scope, step.groups);
  commands.push_back(dispatch);
  plan_.steps.push_back(std::move(step));
  return OkStatus();
}

int Predicator::AddGates(const std::string& decision) {
  Gates gates;
  gates.buffer = static_cast<int>(plan_.buffers.size());
  gates.table_buffer = gates.buffer + 1;
  plan_.buffers.emplace_back().name = decision + " gates";
  plan_.buffers.emplace_back().name = decision + " gates when open";
  gates_.push_back(std::move(gates));
  return static_cast<int>(gates_.size()) - 1;
}

int Predicator::GateOf(const Scope& scope, const std::array<uint32_t, 3>& groups) {
  Gates& gates = gates_[scope.gates];
  const auto [at, fresh] =
      gates.known.emplace(std::pair(scope.branch, groups), static_cast<int>(gates.table.size() / 4));
  if (fresh) gates.table.insert(gates.table.end(), {scope.branch, groups[0], groups[1], groups[2]});
  return at->second;
}

// The step before, under the same condition, counts the workgroups: into a gate of their own, which is closed until
// then if the condition does not hold. It is bound as a buffer, so it begins where one may.
void Predicator::OwnCounts(const Scope& scope, const std::array<uint32_t, 3>& groups, const BufferSlice& groups_at) {
  std::vector<uint32_t>& table = gates_[scope.gates].table;
  while (4 * table.size() % kBlockAlignment != 0) table.insert(table.end(), {kNoBranch, 0, 0, 0});
  own_gates_.push_back({groups_at.buffer, scope.gates, static_cast<int64_t>(4 * table.size())});
  table.insert(table.end(), {scope.branch, groups[0], groups[1], groups[2]});
}

int Predicator::AddDecider(const HostDecide& decision, int gates, int branches, const Scope* parent) {
  Decider& decider = NewDecider(&decision, gates, branches, "gates");
  if (parent != nullptr) {
    decider.parent = parent->gates;
    decider.request.parent_gate = GateOf(*parent, {1, 1, 1});
  }
  return decider.step;
}

// Blocks of their own behind those that are assigned.
void Predicator::PlaceGates() {
  int64_t bytes = 0;
  const int scratch = static_cast<int>(plan_.scratch_block_bytes.size());
  const int constant = static_cast<int>(plan_.constant_block_bytes.size());
  int last_use = 0;
  for (const PlanBuffer& buffer : plan_.buffers) last_use = std::max(last_use, buffer.last_use);
  for (Gates& gates : gates_) {
    // Branches without commands need no gate, but a buffer needs bytes.
    if (gates.table.empty()) gates.table.resize(4);
    const auto size = static_cast<int64_t>(4 * gates.table.size());
    for (int buffer : {gates.buffer, gates.table_buffer}) {
      PlanBuffer& placed = plan_.buffers[buffer];
      placed.size_bytes = size;
      placed.first_use = 0;
      placed.last_use = last_use;
      placed.placement = {MemorySpace::kScratch, scratch, bytes};
    }
    plan_.buffers[gates.table_buffer].placement = {MemorySpace::kConstant, constant, bytes};
    plan_.constants.push_back({"", 0, gates.table_buffer, gates.table});
    bytes += RoundUp(size, kBlockAlignment);
  }
  for (const OwnGate& own : own_gates_) {
    PlanBuffer& placed = plan_.buffers[own.buffer];
    placed.placement = plan_.buffers[gates_[own.gates].buffer].placement;
    placed.placement.offset_bytes += own.offset_bytes;
  }
  if (bytes == 0) return;
  plan_.scratch_block_bytes.push_back(bytes);
  plan_.constant_block_bytes.push_back(bytes);
  plan_.peak_bytes += 2 * bytes;
  plan_.lower_bound_bytes += 2 * bytes;
  std::unordered_map<int, int> table_of;  // by the gates' buffer
  for (const Gates& gates : gates_) table_of[gates.buffer] = gates.table_buffer;
  for (GpuCommands& gpu : Only<GpuCommands>(plan_.segments)) {
    for (CopyBytes& copy : Only<CopyBytes>(gpu.commands)) {
      const auto gates = table_of.find(copy.target.buffer);
      if (gates != table_of.end()) copy = {Whole(gates->second), Whole(gates->first)};
    }
  }
}

}  // namespace

Status Predicate(Plan& plan, const Lowering& lowering) { return Predicator(plan, lowering).Run(); }

}  // namespace VXLA_NAMESPACE
