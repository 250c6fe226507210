// Loops that one workgroup runs: what is around their phases.
#include "backend/vulkan/lower/whiles/kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/passes/repeat_phases.h"
#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/whiles/groups.h"
#include "backend/vulkan/lower/whiles/memory.h"
#include "backend/vulkan/lower/whiles/phases.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A phase that does more simple operations is better shared out over the device: a dispatch and its barrier cost some
// five microseconds, in which one workgroup does about 2^16 operations on a GPU and fewer on a software driver's
// thread; a few times as many are no great loss. Where many threads would share the work, less. Of an H100's 132 units
// one takes 3 to 7 us for phases of 147,000 to 263,000 (training of a small net, bodies, transforms, a recurrent net),
// and 22 for one of 295,000 (points of the Mandelbrot set); a dispatch and its barrier take 6 there.
constexpr int64_t kMostOfAPhase = int64_t{1} << 19, kMostAmongThreads = int64_t{1} << 17, kMostAmongUnits = 270'000;
constexpr uint32_t kManyUnits = 32;
// The same where arrays have to share a binding. At 147,000 a phase (a training loop of 300 steps) lavapipe takes as
// long either way, 160 and 169 ms, and sums of separate kernels are the closer ones (4.9e-8 rms off, 5.2e-8).
constexpr int64_t kMostOfASharedPhase = int64_t{1} << 17;
// What a dispatch may do before a desktop's watchdog thinks that the device hangs (about two seconds): a quarter of it
// on one thread of a software driver.
constexpr int64_t kMostOfADispatch = int64_t{1} << 29;
// The same where loops that end by their data lie in the loop: trips take parts of it.
constexpr int64_t kShare = int64_t{1} << 31;
// Barriers of a loop around others that end by their data: of 60, and 58 loops, RADV makes 40 KB with 705 spilled
// scalars, and lavapipe, which keeps what lives at each of them, compiles 17 seconds (with 29 of them two).
constexpr int64_t kMostBarriersAroundStops = 32;
// Phases of such a loop whose 64-bit types are emulated: each operation is some hundred. 167 of them took SwiftShader
// 80 s.
constexpr int64_t kMostEmulatedPhasesAroundStops = 32;
// Elements that the text reads or writes in memory, where text is dear. Lavapipe's compiler makes blocks of each, and
// takes time by their square and more: 1 second of 320 (20 steps of NUTS), 6 of 750 and 9 of 810 (steps of small
// language models), 7 of 890 (a game of Othello), 43 of 1,040 (a beam search, which runs as quickly as kernels of its
// own).
constexpr int64_t kMostAccesses = 960;

// What lanes keep in registers: where a dispatch finds it and where it leaves it.
class LoopStateWriter : protected CodeWriter {
 public:
  LoopStateWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers)
      : context_(context),
        program_(program),
        buffers_(buffers),
        kernel_(context.facts),
        memory_(context, program, buffers) {}

  // Inner loops end by their data: trips of all loops take from the dispatch's share, each what it may cost.
  bool stops() const { return program_.stops > 0; }

  // Every lane keeps all of them.
  void Registers() {
    for (size_t r = 0; r < program_.registers.size(); ++r) {
      const LoopRegister& reg = program_.registers[r];
      Line(fmt::format("{} {} = {};", CarrierType(reg.type), NameOfRegister(static_cast<int>(r)), ZeroText(reg.type)));
      if (reg.constant != nullptr) LoadConstant(static_cast<int>(r), *reg.constant);
    }
    for (const auto& [reg, origin] : program_.loaded)
      LoadRegister(reg, buffers_.SliceOf(*origin.instruction, origin.leaf));
    Origins origins;
    for (const LoopState& state : program_.state) {
      if (state.value.reg < 0) continue;
      const LeafOrigin initial = origins.Of(*program_.loop->operand(0), state.leaf);
      if (resumes_) {
        LoadRegister(state.value.reg, buffers_.SliceOf(*program_.loop, state.leaf));
      } else if (initial.instruction->opcode() == Opcode::kConstant) {
        LoadConstant(state.value.reg, *initial.instruction);
      } else {
        LoadRegister(state.value.reg, buffers_.SliceOf(*initial.instruction, initial.leaf));
      }
    }
  }
  bool IsResident(int place) const { return place >= 0 && program_.places[static_cast<size_t>(place)].resident; }
  // The lane's own elements of what is kept in registers.
  void ResidentPlaces() {
    for (size_t p = 0; p < program_.places.size(); ++p) {
      const LoopPlace& place = program_.places[p];
      if (!place.resident) continue;
      const int number = static_cast<int>(p);
      Line(fmt::format("{} {} = {};", CarrierType(place.type), NameOfElement(number), ZeroText(place.type)));
      if (place.kind == LoopPlace::Kind::kScratch) continue;
      const int k = kernel_.AddBuffer(place.type, Access::kRead, memory_.SliceOf(number));
      OpenBlock(fmt::format("if (lane < {}u)", place.count / program_.groups));
      Assign(NameOfElement(number), kernel_.Loaded(k, OwnBase(place.count, program_.groups) + "lane"));
      CloseBlock();
    }
  }

  void LoadConstant(int reg, const Instruction& constant) {
    FusionDescription nothing;
    IndexSpace space;
    ValueWriter writer(kernel_, nothing, buffers_, space);
    const std::string value = writer.Value(constant, MultiIndex(static_cast<size_t>(constant.shape().rank())));
    writer.Line(fmt::format("{} = {};", NameOfRegister(reg), value));
    Block(writer.Take());
  }
  void LoadRegister(int reg, const BufferSlice& slice) {
    const int k =
        kernel_.AddBuffer(program_.registers[static_cast<size_t>(reg)].type, Access::kRead, memory_.Inside(slice));
    Assign(NameOfRegister(reg), kernel_.Loaded(k, "0u"));
  }

  // What a writer has written, its locals kept apart.
  void Block(Code statements) {
    Line("{");
    Add(std::move(statements));
    Line("}");
  }

  // What a dispatch hands to the next one beside the state, where it stops in the middle of a trip: registers, and the
  // elements that lanes keep, an array for each type.
  struct Kept {
    std::vector<int> registers, places;
    BufferSlice slice;
  };
  void FindKept() {
    LoopValuesAcrossStops across = ValuesAcrossStops(program_);
    for (const LoopState& state : program_.state) across.registers.erase(state.value.reg);
    for (const auto& [reg, origin] : program_.loaded) across.registers.erase(reg);
    for (const int r : across.registers) {
      const LoopRegister& reg = program_.registers[static_cast<size_t>(r)];
      if (reg.constant == nullptr) kept_[reg.type].registers.push_back(r);
    }
    for (const int p : across.places) {
      const LoopPlace& place = program_.places[static_cast<size_t>(p)];
      if (place.resident && place.kind == LoopPlace::Kind::kScratch) kept_[place.type].places.push_back(p);
    }
    for (auto& [type, kept] : kept_) {
      const auto count = static_cast<int64_t>(kept.registers.size() + kept.places.size() * program_.lanes);
      kept.slice = buffers_.Scratch(count * StorageBytes(type));
    }
  }
  void RestoreRegisters() {
    FindKept();
    OpenBlock("if (at != 0u)");
    for (const auto& [type, kept] : kept_) {
      const int k = kernel_.AddBuffer(type, Access::kRead, kept.slice);
      size_t index = 0;
      for (const int reg : kept.registers) Assign(NameOfRegister(reg), kernel_.Loaded(k, fmt::format("{}u", index++)));
      for (const int place : kept.places) {
        Assign(NameOfElement(place), kernel_.Loaded(k, fmt::format("{}u + lane", index)));
        index += program_.lanes;
      }
    }
    CloseBlock();
  }
  // After all lanes have read what was there.
  void KeepRegisters() {
    OpenBlock("if (at != 0u)");
    for (const auto& [type, kept] : kept_) {
      const int k = kernel_.AddBuffer(type, Access::kWrite, kept.slice);
      size_t index = kept.registers.size();
      for (const int place : kept.places) {
        Add(kernel_.Storing(k, fmt::format("{}u + lane", index), NameOfElement(place)));
        index += program_.lanes;
      }
      index = 0;
      if (!kept.registers.empty()) OpenBlock("if (lane == 0u)");
      for (const int reg : kept.registers) Add(kernel_.Storing(k, fmt::format("{}u", index++), NameOfRegister(reg)));
      if (!kept.registers.empty()) CloseBlock();
    }
    CloseBlock();
  }

  // What is kept of the state, and whether the loop goes on.
  void StoreState(const LoopLowering& lowering) {
    for (const LoopState& state : program_.state) {
      if (!IsResident(state.value.place)) continue;
      const LoopPlace& place = program_.places[static_cast<size_t>(state.value.place)];
      const int k = kernel_.AddBuffer(place.type, Access::kWrite, memory_.SliceOf(state.value.place));
      OpenBlock(fmt::format("if (lane < {}u)", place.count / program_.groups));
      Add(kernel_.Storing(k, OwnBase(place.count, program_.groups) + "lane", NameOfElement(state.value.place)));
      CloseBlock();
    }
    if (resumes_) Barrier();  // the registers have been read by all
    if (stops()) KeepRegisters();
    OpenBlock(program_.groups == 1 ? "if (lane == 0u)" : "if (lane == 0u && WORKGROUP == 0u)");
    for (const LoopState& state : program_.state) {
      if (state.value.reg < 0) continue;
      const ElementType type = program_.registers[static_cast<size_t>(state.value.reg)].type;
      BufferSlice slice = memory_.Inside(buffers_.SliceOf(*program_.loop, state.leaf));
      if (program_.groups > 1 && resumes_) {
        next_.push_back({buffers_.Scratch(slice.size_bytes), slice, type});
        slice = next_.back().from;
      }
      Add(kernel_.Storing(kernel_.AddBuffer(type, Access::kWrite, slice), "0u", NameOfRegister(state.value.reg)));
    }
    if (lowering.runs < 0) {
      const int k = kernel_.AddBuffer(ElementType::kS32, Access::kWrite, lowering.goes_on);
      Add(kernel_.Storing(k, "0u", fmt::format("({} ? 1 : 0)", NameOfRegister(program_.root.decides))));
    }
    if (stops()) {
      const int k = kernel_.AddBuffer(ElementType::kS32, Access::kWrite, at_);
      Add(kernel_.Storing(k, "0u", "int(at)"));
    }
    CloseBlock();
  }

  // Other workgroups of the dispatch may not have read the registers yet: the next dispatch finds them by this step.
  Step NextRegisters() const {
    KernelBuilder kernel(context_.facts);
    kernel.InlineParams();
    std::string text;
    for (const Moved& moved : next_) {
      const int from = kernel.AddBuffer(moved.type, Access::kRead, moved.from);
      text += "  " +
              kernel.Store(kernel.AddBuffer(moved.type, Access::kWrite, moved.to), "0u", kernel.Load(from, "0u")) +
              "\n";
    }
    kernel.Append("void run(uint lane) {\n" + text + "}\n");
    if (context_.bindings == BindingMode::kDescriptors) kernel.ShareBindings();
    return kernel.Finish(fmt::format("{} (its scalars)", program_.loop->name()), "control_flow/loop.comp", {1, 1, 1},
                         {1, 1, 1});
  }

  // The state begins as the operand is; registers are read there if the loop runs once.
  void PlaceState(Step& step) {
    for (const LoopState& state : program_.state) {
      if (state.value.reg >= 0 && !resumes_) continue;
      step.in_place.push_back({buffers_.SliceOf(*program_.loop->operand(0), state.leaf),
                               buffers_.SliceOf(*program_.loop, state.leaf), true});
    }
    if (stops()) step.in_place.push_back({buffers_.Constant({0}), at_, true});
  }
  struct Moved {
    BufferSlice from, to;
    ElementType type = ElementType::kPred;
  };

  const LowerContext& context_;
  const LoopProgram& program_;
  BufferMap& buffers_;
  KernelBuilder kernel_;
  LoopMemory memory_;
  std::vector<Moved> next_;  // registers of the state after a dispatch of several workgroups
  BufferSlice at_;
  std::map<ElementType, Kept> kept_;
  int next_name_ = 0;
  bool counted_ = false, resumes_ = false;
};

class LoopKernelWriter : LoopStateWriter {
 public:
  LoopKernelWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers)
      : LoopStateWriter(context, program, buffers), phases_(context, program, buffers, memory_, kernel_) {
    kernel_.InlineParams();
    // A workgroup that is one subgroup need not stop for others.
    const DeviceFacts& facts = context_.facts;
    const bool one_subgroup =
        facts.costs.dear_barriers && facts.subgroup_shuffle && program_.lanes == facts.subgroup_size;
    kernel_.Append(fmt::format("#define {} {}\n", kBarrier,
                               one_subgroup ? "subgroupBarrier();" : "memoryBarrierBuffer(); barrier();"));
  }

  Result<LoopLowering> Write() {
    const Instruction& loop = *program_.loop;
    LoopLowering lowering;
    const int64_t trips = program_.root.trip_count, most = MostTrips();
    counted_ = !stops() && trips >= 0 && trips <= most;
    resumes_ = !counted_ || memory_.moves();
    lowering.runs = counted_ ? 1 : trips >= 0 && !stops() ? CeilDivide(trips, most) : -1;
    if (lowering.runs < 0) lowering.goes_on = buffers_.Scratch(4);
    Registers();
    ResidentPlaces();
    if (stops()) {
      at_ = buffers_.Scratch(4);
      Declare("int", "stopped_at", kernel_.Loaded(kernel_.AddBuffer(ElementType::kS32, Access::kRead, at_), "0u"));
      Line(fmt::format("uint left = {}u, at = uint(stopped_at);", kShare));
      RestoreRegisters();
      WriteLoopByShare(program_.root, ShareOf(program_.trip_cost, program_.trip_iterations));
    } else {
      Line(counted_ && trips == 1
               ? "{"
               : fmt::format("for (uint trip = 0u; trip < {}u; ++trip) {{", counted_ ? trips : most));
      ++depth_;
      // A condition that is known to hold is not asked.
      if (!counted_) {
        WriteBlock(program_.root.blocks[0]);
        Line(fmt::format("if (!{}) break;", NameOfRegister(program_.root.decides)));
      }
      if (trips != 0) RepeatsPhases() ? WriteRepeated(program_.root.blocks[1]) : WriteBlock(program_.root.blocks[1]);
      CloseBlock();
      if (lowering.runs < 0) WriteBlock(program_.root.blocks[0]);
    }
    StoreState(lowering);
    VXLA_RETURN_IF_ERROR(CheckLimits());
    if (kernel_.shuffles()) kernel_.Append("#define BY_SUBGROUP 1\n");
    kernel_.Define("void run(uint lane)", Take());
    if (context_.bindings == BindingMode::kDescriptors &&
        1 + kernel_.binding_count() > static_cast<int>(context_.facts.max_storage_buffers)) {
      if (program_.trip_cost > program_.phases * kMostOfASharedPhase) {
        return Unsupported("{} needs {} storage buffers, more than this device's {}", loop.name(),
                           1 + kernel_.binding_count(), context_.facts.max_storage_buffers);
      }
      kernel_.ShareBindings();
    }
    Step step = kernel_.Finish(fmt::format("{} (while)", loop.name()), "control_flow/loop.comp", {program_.lanes, 1, 1},
                               {static_cast<uint32_t>(program_.groups), 1, 1});
    step.flop = counted_ ? program_.groups * program_.trip_cost * trips : 0;
    lowering.steps = memory_.MovePacked(true);
    lowering.steps.push_back(std::move(step));
    if (!next_.empty()) lowering.steps.push_back(NextRegisters());
    for (Step& moved : memory_.MovePacked(false)) lowering.steps.push_back(std::move(moved));
    PlaceState(lowering.steps.front());
    return lowering;
  }

  // Trips of one dispatch, of the least that any loop that ends by its data may make.
  int64_t MostTrips() const {
    const int64_t turns = RepeatsPhases() ? std::min(program_.phases, kMostTurns) : 0;
    int64_t most = MostTrips(program_.trip_cost, program_.trip_iterations + turns);
    ForEachStop(program_.root,
                [&](const LoopNode& loop) { most = std::min(most, MostTrips(loop.trip_cost, loop.trip_iterations)); });
    return most;
  }

 private:
  Status CheckLimits() const {
    const std::string& name = program_.loop->name();
    if (const int64_t barriers = code_.barriers(); program_.stops > 0 && barriers > kMostBarriersAroundStops) {
      return Unsupported("{}: {} barriers, more than the {} of a loop around others that end by their data", name,
                         barriers, kMostBarriersAroundStops);
    }
    if (const int64_t accesses = code_.accesses(); context_.facts.costs.dear_text && accesses > kMostAccesses) {
      return Unsupported(
          "{}: its text reads and writes memory in {} places, more than the {} of a software driver's loop", name,
          accesses, kMostAccesses);
    }
    // At most: accumulators take up to 16 bytes a lane.
    const int64_t shared_bytes = phases_.shared_arrays() * program_.lanes * 16;
    if (shared_bytes <= context_.facts.max_shared_bytes) return OkStatus();
    return Unsupported("{}: {} bytes of shared memory, and the device has {}", name, shared_bytes,
                       context_.facts.max_shared_bytes);
  }

  int64_t MostTrips(int64_t cost, int64_t iterations) const {
    const int64_t limit = context_.facts.quirks.loop_iteration_limit;
    const int64_t turns = CeilDivide(program_.groups, GroupsAtOnce(context_.facts));
    int64_t most = std::max<int64_t>(kMostOfADispatch / turns / std::max<int64_t>(cost, 1), 1);
    // Lavapipe counts up to a tenth more of a sort's than its text has; a dispatch more costs little where that many
    // are.
    if (limit != 0) most = std::min(most, (limit - limit / 4) / std::max<int64_t>(iterations + 1, 1));
    return std::min<int64_t>(most, int64_t{1} << 30);
  }
  static void ForEachStop(const LoopNode& node, const std::function<void(const LoopNode&)>& visit) {
    for (const LoopBlock& block : node.blocks) {
      for (const LoopNode& inner : block) {
        if (inner.kind == LoopNode::Kind::kWhile && inner.trip_count < 0) visit(inner);
        ForEachStop(inner, visit);
      }
    }
  }
  int64_t ShareOf(int64_t cost, int64_t iterations) const {
    const int64_t most = std::max<int64_t>(MostTrips(cost, iterations), 1);
    return CeilDivide(kShare, most);
  }

  // What stands before the place where a dispatch goes on (`at`) has been done by the one before.
  void WriteBlock(const LoopBlock& block) {
    const bool resumes = std::ranges::any_of(block, [](const LoopNode& node) { return node.last_stop > 0; });
    bool open = false;
    const auto close = [&] {
      if (!open) return;
      CloseBlock();
      open = false;
    };
    for (const LoopNode& node : block) {
      if (node.last_stop > 0) close();
      if (resumes && !open) {
        OpenBlock(node.last_stop == 0
                      ? "if (at == 0u)"
                      : fmt::format("if (at == 0u || (at >= {}u && at <= {}u))", node.first_stop, node.last_stop));
        open = true;
      }
      WriteNode(node);
      if (node.last_stop > 0) close();
    }
    close();
  }

  // Drivers of GPUs take time by the text, and tensors are chosen by their addresses.
  bool RepeatsPhases() const {
    return context_.bindings == BindingMode::kAddresses && kernel_.keeps_loops() && !stops();
  }
  void WriteRepeated(const LoopBlock& block) {
    std::vector<LoopPhase> phases;
    Code before = Take();
    for (const LoopNode& node : block) {
      WriteStatements(node);
      phases.push_back({Take(), node.waits});
    }
    Add(std::move(before) + RepeatPhases(phases, "round"));
  }

  void WriteNode(const LoopNode& node) {
    if (node.waits) Barrier();
    WriteStatements(node);
  }
  void WriteStatements(const LoopNode& node) {
    switch (node.kind) {
      case LoopNode::Kind::kUnit:
        return Block(phases_.Unit(node));
      case LoopNode::Kind::kCopy:
        return Block(phases_.Copy(node));
      case LoopNode::Kind::kAssign:
        return WriteAssignment(node);
      case LoopNode::Kind::kWhile:
        return WriteInnerLoop(node);
      case LoopNode::Kind::kConditional:
        return WriteConditional(node);
    }
  }

  // A loop, the outermost one too, whose condition is asked before each trip, and which stops where the share is used
  // up.
  void WriteLoopByShare(const LoopNode& node, int64_t share) {
    const int number = node.trip_count < 0 && &node != &program_.root ? node.first_stop : 0;
    const bool has_inner = node.last_stop > number;
    OpenBlock("for (;;)");
    if (has_inner) Line(number == 0 ? "if (at == 0u) {" : fmt::format("if (at == 0u || at == {}u) {{", number));
    if (number > 0) Line("at = 0u;");
    WriteBlock(node.blocks[0]);
    Line(fmt::format("if (!{}) break;", NameOfRegister(node.decides)));
    Line(fmt::format("if (left < {}u) {{ at = {}u; break; }}", share, number));
    Line(fmt::format("left -= {}u;", share));
    if (has_inner) Line("}");
    WriteBlock(node.blocks[1]);
    if (has_inner) Line("if (at != 0u) break;");
    CloseBlock();
  }

  void WriteInnerLoop(const LoopNode& node) {
    if (node.trip_count == 0) return;
    if (node.trip_count < 0) return WriteLoopByShare(node, ShareOf(node.trip_cost, node.trip_iterations));
    if (node.counter >= 0) {
      const std::string trips = NameOfRegister(node.counter);
      Line(fmt::format("if (at == 0u) {} = 0u;", trips));
      OpenBlock(fmt::format("for (; {0} < {1}u; ++{0})", trips, node.trip_count));
      WriteBlock(node.blocks[1]);
      Line("if (at != 0u) break;");
      CloseBlock();
      return;
    }
    const std::string trip = fmt::format("trip_{}", next_name_++);
    OpenBlock(fmt::format("for (uint {0} = 0u; {0} < {1}u; ++{0})", trip, node.trip_count));
    WriteBlock(node.blocks[1]);
    CloseBlock();
  }

  // A pred that holds takes the first branch, an index out of range the last.
  void WriteConditional(const LoopNode& node) {
    const bool is_pred = program_.registers[static_cast<size_t>(node.decides)].type == ElementType::kPred;
    const std::string which = fmt::format("which_{}", next_name_++);
    Line(fmt::format("uint {} = {};", which,
                     is_pred
                         ? fmt::format("{} ? 0u : 1u", NameOfRegister(node.decides))
                         : fmt::format("min(uint({}), {}u)", NameOfRegister(node.decides), node.blocks.size() - 1)));
    WriteBranches(node, which, 0, node.blocks.size());
  }
  // Halves of halves: drivers keep few levels (beyond 80 lavapipe takes all branches).
  void WriteBranches(const LoopNode& node, const std::string& which, size_t first, size_t count) {
    if (count == 1) return WriteBlock(node.blocks[first]);
    const size_t half = count / 2;
    OpenBlock(fmt::format("if ({} < {}u)", which, first + half));
    WriteBranches(node, which, first, half);
    --depth_;
    OpenBlock("} else");
    WriteBranches(node, which, first + half, count - half);
    CloseBlock();
  }

  void WriteAssignment(const LoopNode& node) {
    std::vector<std::string> names;
    Line("{");
    ++depth_;
    for (const auto& [reg, value] : node.assigned) {
      const ElementType type = program_.registers[static_cast<size_t>(reg)].type;
      names.push_back(fmt::format("n{}", names.size()));
      Declare(CarrierType(type), names.back(),
              value.reg >= 0
                  ? NameOfRegister(value.reg)
                  : kernel_.Loaded(kernel_.AddBuffer(type, Access::kRead, memory_.SliceOf(value.place)), "0u"));
    }
    for (size_t i = 0; i < names.size(); ++i) Assign(NameOfRegister(node.assigned[i].first), names[i]);
    CloseBlock();
  }
  LoopPhaseWriter phases_;
};

// In as many workgroups as pay where rows never meet.
Result<LoopProgram> ReadInGroups(const LowerContext& context, const Instruction& loop, int64_t most_of_a_phase,
                                 const std::function<Status(const Instruction&)>& can_lower) {
  VXLA_ASSIGN_OR_RETURN(LoopProgram whole, LoopProgram::Read(context, loop, 1, can_lower));
  const int64_t rows = SeparateRows(context, whole);
  if (const int64_t groups = GroupsInRegisters(context.facts, whole, rows); groups > 1) {
    VXLA_ASSIGN_OR_RETURN(LoopProgram shared, LoopProgram::Read(context, loop, groups, can_lower));
    if (shared.IsInRegisters()) return shared;
  }
  const int64_t groups = GroupsOfLoop(context.facts, whole, rows, most_of_a_phase);
  return groups == 1 ? std::move(whole) : LoopProgram::Read(context, loop, groups, can_lower);
}

}  // namespace

Result<LoopLowering> LowerLoopKernel(const LowerContext& context, const Instruction& loop, BufferMap& buffers,
                                     const std::function<Status(const Instruction&)>& can_lower) {
  const DeviceFacts& facts = context.facts;
  const bool threads = facts.costs.few_workgroups && facts.hardware_threads > 4;
  const int64_t most_of_a_phase = threads                             ? kMostAmongThreads
                                  : facts.compute_units >= kManyUnits ? kMostAmongUnits
                                                                      : kMostOfAPhase;
  VXLA_ASSIGN_OR_RETURN(const LoopProgram program, ReadInGroups(context, loop, most_of_a_phase, can_lower));
  const int64_t most = program.phases * most_of_a_phase;
  if (program.trip_cost > most) {
    return Unsupported("{}: a trip of about {} operations is more than the {} that are left to one workgroup",
                       loop.name(), program.trip_cost, most);
  }
  if (program.stops > 0 && program.emulates && program.phases > kMostEmulatedPhasesAroundStops) {
    return Unsupported(
        "{}: {} phases, more than the {} of a loop of emulated types around others that end by their data", loop.name(),
        program.phases, kMostEmulatedPhasesAroundStops);
  }
  LoopKernelWriter writer(context, program, buffers);
  if (writer.MostTrips() < 1) {
    return Unsupported("{}: a trip of {} turns of loops; loops of this device stop after {}", loop.name(),
                       program.trip_iterations, context.facts.quirks.loop_iteration_limit);
  }
  return writer.Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
