// Whiles and conditionals as decisions of the host between segments that stay on the device.
#include "core/passes/base/control_flow.h"

#include <set>
#include <unordered_map>

#include "core/sizes/live_layout.h"
#include "scheduler/graph/step_graph_builder.h"

namespace VXLA_NAMESPACE {
namespace {

struct Move {
  int source = -1, target = -1;
};

}  // namespace

void StepGraphBuilder::AddMark(DecisionMark::Kind kind, int decision) {
  Operation operation;
  operation.action = DecisionMark{kind, decision};
  const HostDecide& decide = graph_.decisions[decision];
  const bool is_while = decide.kind == HostDecide::Kind::kWhile;
  const bool decides = kind == (is_while ? DecisionMark::Kind::kNextRegion : DecisionMark::Kind::kOpen);
  if (decides && decide.selector.buffer >= 0) operation.uses = {{decide.selector, Access::kRead}};
  graph_.operations.push_back(std::move(operation));
}

void StepGraphBuilder::BindParameter(const Computation& computation, const Instruction& argument) {
  for (int leaf = 0, leaves = LeafCount(argument.shape()); leaf < leaves; ++leaf) {
    graph_.buffer_of[{computation.parameter(0), leaf}] = SliceOf(argument, leaf).buffer;
  }
}

std::vector<int> StepGraphBuilder::AddState(const Instruction& loop) {
  const Computation& body = *loop.called(1);
  std::vector<int> state;
  for (int leaf = 0, leaves = LeafCount(loop.shape()); leaf < leaves; ++leaf) {
    const BufferSlice initial = SliceOf(*loop.operand(0), leaf);
    int buffer = initial.buffer;
    if (!(graph_.origins.Of(*body.root(), leaf) == LeafOrigin{body.parameter(0), leaf})) {
      buffer = AddBuffer(LeafName(loop, leaf), DeviceBytes(*FlattenTuple(loop.shape())[leaf]));
      AddCopy(initial.buffer, buffer);
    }
    graph_.buffer_of[{&loop, leaf}] = buffer;
    graph_.buffer_of[{loop.called(0)->parameter(0), leaf}] = buffer;
    graph_.buffer_of[{body.parameter(0), leaf}] = buffer;
    state.push_back(buffer);
  }
  return state;
}

// All leaves change at once: a buffer is overwritten after every move that reads it, and a cycle goes through a buffer
// of its own.
void StepGraphBuilder::MoveIntoState(const Instruction& root, const std::vector<int>& state) {
  std::vector<Move> moves;
  std::unordered_map<int, std::vector<int>> readers;  // by buffer, the moves that still read it
  std::unordered_map<int, int> writer;
  for (int leaf = 0; leaf < static_cast<int>(state.size()); ++leaf) {
    const int source = SliceOf(root, leaf).buffer, move = static_cast<int>(moves.size());
    if (source == state[leaf]) continue;
    moves.push_back({source, state[leaf]});
    readers[source].push_back(move);
    writer[state[leaf]] = move;
  }
  std::set<int> left, free;  // the first free one goes first
  for (int move = 0; move < static_cast<int>(moves.size()); ++move) {
    left.insert(move);
    if (!readers.contains(moves[move].target)) free.insert(move);
  }
  const auto nothing_reads = [&](int buffer) {
    readers.erase(buffer);
    if (const auto at = writer.find(buffer); at != writer.end() && left.contains(at->second)) free.insert(at->second);
  };
  while (!left.empty()) {
    if (!free.empty()) {
      const int move = *free.begin();
      free.erase(move);
      left.erase(move);
      AddCopy(moves[move].source, moves[move].target);
      std::vector<int>& others = readers[moves[move].source];
      std::erase(others, move);
      if (others.empty()) nothing_reads(moves[move].source);
      continue;
    }
    const int saved = moves[*left.begin()].target;
    const int copy = AddBuffer(plan_.buffers[saved].name + " before", plan_.buffers[saved].size_bytes);
    AddCopy(saved, copy);
    const std::vector<int> moved = readers.at(saved);
    for (int move : moved) moves[move].source = copy;
    readers[copy] = moved;
    nothing_reads(saved);
  }
}

Status StepGraphBuilder::AddWhile(const Instruction& loop) {
  std::string apart;
  VXLA_ASSIGN_OR_RETURN(const bool whole, AddLoopKernel(loop, &apart));
  if (whole) return OkStatus();
  const Computation &condition = *loop.called(0), &body = *loop.called(1);
  const std::vector<int> state = AddState(loop);
  const int decision = static_cast<int>(graph_.decisions.size());
  HostDecide decide;
  decide.instruction = PlanName(loop);
  decide.trip_count = loop.notes().trip_count.value_or(-1);
  decide.apart = std::move(apart);
  graph_.decisions.push_back(decide);
  AddMark(DecisionMark::Kind::kOpen, decision);
  if (decide.trip_count < 0) {
    VXLA_RETURN_IF_ERROR(AddComputation(condition));
    graph_.decisions[decision].selector = SliceOf(*condition.root(), 0);
  }
  AddMark(DecisionMark::Kind::kNextRegion, decision);
  VXLA_RETURN_IF_ERROR(AddComputation(body));
  MoveIntoState(*body.root(), state);
  AddMark(DecisionMark::Kind::kClose, decision);
  return OkStatus();
}

Status StepGraphBuilder::AddConditional(const Instruction& conditional) {
  const Instruction& selector = *conditional.operand(0);
  const int branches = static_cast<int>(conditional.called().size());
  const bool is_pred = selector.shape().element_type() == ElementType::kPred;
  if (selector.opcode() == Opcode::kConstant) {
    return AddKnownBranch(conditional, BranchOf(selector.literal().GetInt(0), is_pred, branches));
  }
  const int leaves = LeafCount(conditional.shape());
  AddLeaves(conditional);
  const int decision = static_cast<int>(graph_.decisions.size());
  HostDecide decide;
  decide.kind = HostDecide::Kind::kConditional;
  decide.instruction = PlanName(conditional);
  decide.selector = SliceOf(selector, 0);
  decide.selector_is_pred = is_pred;
  graph_.decisions.push_back(decide);
  for (int branch = 0; branch < branches; ++branch) {
    const Computation& body = *conditional.called(branch);
    AddMark(branch == 0 ? DecisionMark::Kind::kOpen : DecisionMark::Kind::kNextRegion, decision);
    BindParameter(body, *conditional.operand(branch + 1));
    VXLA_RETURN_IF_ERROR(AddComputation(body));
    for (int leaf = 0; leaf < leaves; ++leaf) {
      AddCopy(SliceOf(*body.root(), leaf).buffer, graph_.buffer_of.at({&conditional, leaf}));
    }
  }
  AddMark(DecisionMark::Kind::kClose, decision);
  return OkStatus();
}

Status StepGraphBuilder::AddKnownBranch(const Instruction& conditional, int branch) {
  const Computation& body = *conditional.called(branch);
  BindParameter(body, *conditional.operand(branch + 1));
  VXLA_RETURN_IF_ERROR(AddComputation(body));
  for (int leaf = 0, leaves = LeafCount(conditional.shape()); leaf < leaves; ++leaf) {
    graph_.buffer_of[{&conditional, leaf}] = SliceOf(*body.root(), leaf).buffer;
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
