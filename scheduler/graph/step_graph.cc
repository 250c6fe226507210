#include "scheduler/graph/step_graph.h"

#include <algorithm>
#include <span>

#include "core/devices/replica_groups.h"
#include "core/ir/observation.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/devices/device_merger.h"
#include "core/passes/fuse/fusion.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/sizes/live_layout.h"
#include "scheduler/graph/step_graph_builder.h"

namespace VXLA_NAMESPACE {
namespace {

// Reads or sets a live size where it lies, which a kernel can do.
bool IsLiveSizeAccess(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kGetDimensionSize) return true;
  return instruction.opcode() == Opcode::kSetDimensionSize &&
         (instruction.notes().sizes_in_range || instruction.operand_count() == 1);
}

constexpr std::string_view kLiveSizes = "its live sizes are known to the host alone";

// The state of a while, the arguments and results of a conditional's branches: one form in and out of the computations,
// so that their memory is handed on. Else the host runs the whole.
bool KeepsItsForm(const Instruction& instruction) {
  const bool is_while = instruction.opcode() == Opcode::kWhile;
  for (size_t k = 0; k < instruction.called().size(); ++k) {
    const Computation& called = *instruction.called(k);
    const Instruction& argument = *instruction.operand(is_while ? 0 : static_cast<int>(k) + 1);
    const bool gives_result = !is_while || k == 1;
    if (!SameFlags(argument.shape(), called.parameter(0)->shape())) return false;
    if (gives_result && !SameFlags(called.root()->shape(), instruction.shape())) return false;
  }
  return !is_while || SameFlags(instruction.operand(0)->shape(), instruction.shape());
}

// What an instruction is about, for messages: of a fusion the op that has a kernel of its own, or its root.
Opcode MainOpcode(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kFusion) return instruction.opcode();
  const Computation& fused = *instruction.called(0);
  for (const auto& inner : fused.instructions()) {
    if (KindOf(inner->opcode()) == OpcodeKind::kKernel) return inner->opcode();
  }
  const Instruction* root = fused.root();
  return root->opcode() == Opcode::kTuple && root->operand_count() > 0 ? root->operand(0)->opcode() : root->opcode();
}

std::unordered_set<const Instruction*> NeededIn(const Computation& computation) {
  std::vector<const Instruction*> pending{computation.root()};
  SideEffects effects;
  for (const auto& instruction : computation.instructions()) {
    if (effects.Of(*instruction)) pending.push_back(instruction.get());
  }
  std::unordered_set<const Instruction*> needed;
  while (!pending.empty()) {
    const Instruction* instruction = pending.back();
    pending.pop_back();
    if (!needed.insert(instruction).second) continue;
    for (const Instruction* operand : instruction->operands()) pending.push_back(operand);
  }
  return needed;
}

}  // namespace

std::string LeafName(const Instruction& instruction, int leaf) {
  return instruction.shape().IsTuple() ? fmt::format("{}[{}]", PlanName(instruction), leaf) : PlanName(instruction);
}

StepGraphBuilder::StepGraphBuilder(const Module& module, const Lowering& lowering, const PlanOptions& options)
    : module_(module), entry_(*module.entry()), lowering_(lowering), options_(options) {
  plan_.name = module.name();
  plan_.bindings = options.bindings;
}

Result<StepGraph> StepGraphBuilder::Build() {
  for (const auto& i : EachInstruction(module_)) {
    if (KindOf(i->opcode()) == OpcodeKind::kUnevaluated)
      return Unsupported("{} {} cannot be run yet", OpcodeText(i->opcode()), i->name()).At(i->location());
  }
  AddParameters();
  AddRandomStates();
  VXLA_RETURN_IF_ERROR(AddComputation(entry_));
  VXLA_RETURN_IF_ERROR(ReadDonors());
  AddResults();
  return std::move(graph_);
}

BufferSlice StepGraphBuilder::SliceOf(const Instruction& instruction, int leaf) {
  const LeafOrigin origin = graph_.origins.Of(instruction, leaf);
  const auto key = std::pair(origin.instruction, origin.leaf);
  auto found = graph_.buffer_of.find(key);
  if (found == graph_.buffer_of.end()) {
    const bool constant = origin.instruction->opcode() == Opcode::kConstant;
    VXLA_CHECK(constant || origin.instruction == current_, "operand without a buffer: " + origin.instruction->name());
    const int buffer = AddBuffer(LeafName(*origin.instruction, origin.leaf),
                                 DeviceBytes(*FlattenTuple(origin.instruction->shape())[origin.leaf]));
    if (constant) {
      plan_.buffers[buffer].placement.space = MemorySpace::kConstant;
      plan_.constants.push_back({PlanName(*origin.instruction), origin.leaf, buffer});
    }
    found = graph_.buffer_of.emplace(key, buffer).first;
  }
  return WholeSlice(found->second);
}

void StepGraphBuilder::AddLeaves(const Instruction& instruction) {
  const auto leaves = FlattenTuple(instruction.shape());
  for (int leaf = 0; leaf < static_cast<int>(leaves.size()); ++leaf) {
    const auto [at, fresh] = graph_.buffer_of.emplace(std::pair(&instruction, leaf), -1);
    if (fresh) at->second = AddBuffer(LeafName(instruction, leaf), DeviceBytes(*leaves[leaf]));
  }
}

BufferSlice StepGraphBuilder::Scratch(int64_t size_bytes) {
  return WholeSlice(AddBuffer(fmt::format("{} scratch {}", PlanName(*current_), scratch_count_++), size_bytes));
}

BufferSlice StepGraphBuilder::Constant(std::vector<uint32_t> words) {
  const Hash128 hash = HashBytes(std::as_bytes(std::span<const uint32_t>(words)));
  for (auto [at, end] = tables_.equal_range(hash); at != end; ++at) {
    const PlanConstant& table = plan_.constants[at->second];
    if (table.words == words) return WholeSlice(table.buffer);
  }
  tables_.emplace(hash, plan_.constants.size());
  const int buffer = AddBuffer(PlanName(*current_) + " table", static_cast<int64_t>(4 * words.size()));
  plan_.buffers[buffer].placement.space = MemorySpace::kConstant;
  plan_.constants.push_back({"", 0, buffer, std::move(words)});
  return WholeSlice(buffer);
}

void StepGraphBuilder::ReturnTo(const PlanSize& before) {
  const auto cut = [](auto& list, size_t size) { list.erase(list.begin() + static_cast<ptrdiff_t>(size), list.end()); };
  cut(plan_.buffers, before.buffers);
  cut(plan_.constants, before.constants);
  std::erase_if(tables_, [&](const auto& table) { return table.second >= before.constants; });
  std::erase_if(graph_.buffer_of, [&](const auto& of) { return of.second >= static_cast<int>(before.buffers); });
}

void StepGraphBuilder::AddRandomStates() {
  const auto add = [&](bool draws, int64_t device) {
    const std::string name = draws ? "draws of rng" : "random state";
    const int buffer = AddBuffer(name, 16), initial = AddBuffer(name + " at first", 16);
    // Keys of devices are far apart: by 2^64 over the golden ratio.
    const auto number = static_cast<uint64_t>(device);
    const uint64_t word = options_.seed + (draws ? kSplitMixStep * number : 0);
    const auto low = static_cast<uint32_t>(word), high = static_cast<uint32_t>(word >> 32);
    plan_.buffers[initial].placement.space = MemorySpace::kConstant;
    plan_.constants.push_back({"", 0, initial,
                               draws ? std::vector<uint32_t>{0, 0, low, high}
                                     : std::vector<uint32_t>{low, high, static_cast<uint32_t>(number), 0}});
    AddCopy(initial, buffer);
    return buffer;
  };
  for (const auto& i : EachInstruction(module_)) {
    if (i->opcode() != Opcode::kRngGetAndUpdateState) continue;
    const std::pair key{i->notes().draws_of_rng, i->notes().device};
    if (!random_states_.contains(key)) random_states_[key] = add(key.first, key.second);
  }
}

BufferSlice StepGraphBuilder::RandomState(const Instruction& state) {
  return WholeSlice(random_states_.at({state.notes().draws_of_rng, state.notes().device}));
}

int StepGraphBuilder::AddBuffer(std::string name, int64_t size_bytes) {
  plan_.buffers.push_back({std::move(name), size_bytes, {}});
  return static_cast<int>(plan_.buffers.size()) - 1;
}

void StepGraphBuilder::AddCopy(int source, int target) {
  // An argument at its bounds has live sizes behind it.
  const int64_t size = std::min(plan_.buffers[source].size_bytes, plan_.buffers[target].size_bytes);
  if (source == target || size == 0) return;
  const BufferSlice from{source, 0, size}, to{target, 0, size};
  Operation operation;
  operation.action = CopyBytes{from, to};
  operation.uses = {{from, Access::kRead}, {to, Access::kWrite}};
  graph_.operations.push_back(std::move(operation));
}

void StepGraphBuilder::AddParameters() {
  for (const Instruction* parameter : entry_.parameters()) {
    first_leaf_of_parameter_.push_back(static_cast<int>(plan_.parameters.size()));
    const auto leaves = FlattenTuple(parameter->shape());
    for (int leaf = 0; leaf < static_cast<int>(leaves.size()); ++leaf) {
      const int buffer = AddBuffer(LeafName(*parameter, leaf), DeviceBytes(*leaves[leaf]));
      plan_.buffers[buffer].placement = {MemorySpace::kParameter, static_cast<int>(plan_.parameters.size()), 0};
      graph_.buffer_of[{parameter, leaf}] = buffer;
      parameter_leaf_of_buffer_[buffer] = static_cast<int>(plan_.parameters.size());
      plan_.parameters.push_back({*leaves[leaf], static_cast<int>(parameter->parameter_number()), buffer});
    }
  }
}

Status StepGraphBuilder::AddComputation(const Computation& computation) {
  const std::unordered_set<const Instruction*> needed = NeededIn(computation);
  for (const auto& instruction : computation.instructions()) {
    if (needed.contains(instruction.get())) VXLA_RETURN_IF_ERROR(AddInstruction(*instruction));
  }
  return OkStatus();
}

Status StepGraphBuilder::AddInstruction(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kConstant && instruction.known_literal() == nullptr) {
    return InvalidArgument("constant {}: the text leaves its value out (...), so it cannot be run", instruction.name())
        .At(instruction.location());
  }
  const bool live = live_sizes_.Of(instruction);
  const bool decides = instruction.opcode() == Opcode::kWhile || instruction.opcode() == Opcode::kConditional;
  if (decides && live && !KeepsItsForm(instruction)) return AddHostResult(instruction, std::string(kLiveSizes));
  if (instruction.opcode() == Opcode::kWhile) return AddWhile(instruction);
  if (instruction.opcode() == Opcode::kConditional) return AddConditional(instruction);
  const bool placed = instruction.opcode() == Opcode::kParameter || instruction.opcode() == Opcode::kConstant;
  if (placed || HandsOn(instruction) || IsSameBytes(instruction)) return OkStatus();
  if (live && !IsLiveSizeAccess(instruction)) return AddHostResult(instruction, std::string(kLiveSizes));
  current_ = &instruction;
  scratch_count_ = 0;
  AddLeaves(instruction);
  const bool empty =
      std::ranges::all_of(FlattenTuple(instruction.shape()), [](const Shape* leaf) { return DeviceBytes(*leaf) == 0; });
  if (empty && !HasSideEffect(instruction)) return OkStatus();
  return AddSteps(instruction);
}

void StepGraphBuilder::AddFault(const Instruction& instruction, const std::string& error) {
  if (instruction.opcode() == Opcode::kFusion && HoldsSeveral(instruction)) {
    graph_.faults.emplace_back(&instruction, error);
    return;
  }
  plan_.faults.push_back({PlanName(instruction), error, PlanFault::Remedy::kHost});
  AddHostEvaluation(instruction, error);
}

Status StepGraphBuilder::AddHostResult(const Instruction& instruction, const std::string& reason) {
  current_ = &instruction;
  AddLeaves(instruction);
  AddHostEvaluation(instruction, reason);
  return OkStatus();
}

Status StepGraphBuilder::AddSteps(const Instruction& instruction) {
  const PlanSize before = SizeOfPlan();
  Result<std::vector<Step>> lowered =
      WithoutThrowing([&]() -> Result<std::vector<Step>> { return lowering_.Lower(instruction, *this); });
  if (!lowered.ok()) {
    ReturnTo(before);
    const StatusCode code = lowered.status().code();
    if (code != StatusCode::kInternal && code != StatusCode::kUnsupported)
      return Status(lowered.status()).At(instruction.location());
    const std::string& reason = lowered.status().message();
    code == StatusCode::kInternal ? AddFault(instruction, reason) : AddHostEvaluation(instruction, reason);
    return OkStatus();
  }
  for (Step& step : *lowered) {
    for (const SharedPlace& place : step.in_place) {
      if (place.must) AddCopy(place.operand.buffer, place.result.buffer);
    }
    AddStep(instruction, std::move(step));
  }
  return OkStatus();
}

void StepGraphBuilder::AddStep(const Instruction& instruction, Step step) {
  Operation operation;
  operation.action = Dispatch{static_cast<int>(plan_.steps.size())};
  operation.uses = step.bindings;
  if (step.groups_at.buffer >= 0) operation.uses.push_back({step.groups_at, Access::kRead});
  operation.instruction = &instruction;
  plan_.steps.push_back(std::move(step));
  graph_.operations.push_back(std::move(operation));
}

void StepGraphBuilder::AddHostEvaluation(const Instruction& instruction, const std::string& reason) {
  const CallKind kind = instruction.call_kind();
  if (kind != CallKind::kSizeCheck && kind != CallKind::kObservation && kind != CallKind::kExchange) {
    plan_.fallbacks.push_back({PlanName(instruction), std::string(OpcodeText(MainOpcode(instruction))), reason});
  }
  Operation operation;
  operation.instruction = &instruction;
  HostEvaluate evaluation;
  evaluation.instruction = PlanName(instruction);
  evaluation.shape = instruction.shape();
  for (const Instruction* operand : instruction.operands()) {
    HostEvaluate::Operand value;
    value.shape = operand->shape();
    if (operand->opcode() == Opcode::kConstant) {
      value.constant = PlanName(*operand);
    } else {
      for (int leaf = 0, leaves = LeafCount(operand->shape()); leaf < leaves; ++leaf) {
        value.leaves.push_back(SliceOf(*operand, leaf));
        operation.uses.push_back({value.leaves.back(), Access::kRead});
      }
    }
    evaluation.operands.push_back(std::move(value));
  }
  for (int leaf = 0, leaves = LeafCount(instruction.shape()); leaf < leaves; ++leaf) {
    evaluation.results.push_back(SliceOf(instruction, leaf));
    operation.uses.push_back({evaluation.results.back(), Access::kWrite});
  }
  operation.action = std::move(evaluation);
  graph_.operations.push_back(std::move(operation));
}

Status StepGraphBuilder::ReadDonors() {
  const Shape& root = entry_.root()->shape();
  graph_.donors.resize(LeafCount(root));
  for (const Aliasing& alias : module_.attributes().input_output_alias) {
    const TuplePart to = PartAt(root, alias.output_index);
    if (to.shape->IsTuple()) {
      return InvalidArgument("input_output_alias: {{{}}} of {} is a tuple, not an array", JoinInts(alias.output_index),
                             root.ToString());
    }
    const int parameter = first_leaf_of_parameter_[alias.operand] +
                          PartAt(entry_.parameter(alias.operand)->shape(), alias.operand_index).first_leaf;
    if (DeviceBytes(plan_.parameters[parameter].shape) == DeviceBytes(*to.shape))
      graph_.donors[to.first_leaf] = {parameter, alias.kind == "must-alias"};
  }
  return OkStatus();
}

// A leaf whose memory something else owns gets a copy, so that the caller may keep or donate each result by itself.
void StepGraphBuilder::AddResults() {
  const Instruction& root = *entry_.root();
  plan_.result_shape = root.shape();
  const auto leaves = FlattenTuple(root.shape());
  std::unordered_set<int> taken;
  for (int leaf = 0; leaf < static_cast<int>(leaves.size()); ++leaf) {
    int buffer = SliceOf(root, leaf).buffer;
    const auto parameter = parameter_leaf_of_buffer_.find(buffer);
    const bool own_donor =
        parameter != parameter_leaf_of_buffer_.end() && graph_.donors[leaf].parameter_leaf == parameter->second;
    const bool foreign = plan_.buffers[buffer].placement.space != MemorySpace::kScratch && !own_donor;
    if (foreign || !taken.insert(buffer).second) {
      const int source = std::exchange(buffer, AddBuffer(fmt::format("result {}", leaf), DeviceBytes(*leaves[leaf])));
      AddCopy(source, buffer);
    }
    plan_.results.push_back({*leaves[leaf], buffer});
  }
}

std::vector<DecisionPlaces> DecisionPlacesOf(const StepGraph& graph) {
  std::vector<DecisionPlaces> places(graph.decisions.size());
  for (int i = 0; i < static_cast<int>(graph.operations.size()); ++i) {
    const auto* mark = std::get_if<DecisionMark>(&graph.operations[i].action);
    if (mark == nullptr) continue;
    DecisionPlaces& at = places[mark->decision];
    if (mark->kind == DecisionMark::Kind::kOpen) at.open = i;
    if (mark->kind == DecisionMark::Kind::kNextRegion) at.next.push_back(i);
    if (mark->kind == DecisionMark::Kind::kClose) at.close = i;
  }
  return places;
}

std::string PlanName(const Instruction& instruction) {
  const Computation& home = *instruction.parent();
  return home.module()->entry() == &home ? instruction.name() : PathOf(instruction);
}

std::unordered_map<std::string, const Instruction*> InstructionsByPlanName(const Module& module) {
  std::unordered_map<std::string, const Instruction*> instructions;
  for (const Computation* computation : ControlComputations(module)) {
    for (const auto& instruction : computation->instructions())
      instructions.emplace(PlanName(*instruction), instruction.get());
  }
  return instructions;
}

Result<StepGraph> BuildStepGraph(const Module& module, const Lowering& lowering, const PlanOptions& options) {
  return StepGraphBuilder(module, lowering, options).Build();
}

}  // namespace VXLA_NAMESPACE
