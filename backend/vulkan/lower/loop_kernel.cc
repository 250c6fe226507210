// The text of loops that one workgroup runs.
#include "backend/vulkan/lower/loop_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/loop_dot.h"
#include "backend/vulkan/lower/loop_rows.h"
#include "backend/vulkan/lower/loop_scatter.h"
#include "backend/vulkan/lower/loop_stages.h"
#include "backend/vulkan/lower/loop_units.h"
#include "core/passes/control_flow.h"
#include "core/passes/fusion_rules.h"

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
// Where lanes wait for each other.
constexpr std::string_view kPhase = "PHASE";
// Barriers of a loop around others that end by their data: of 60, and 58 loops, RADV makes 40 KB with 705 spilled
// scalars, and lavapipe, which keeps what lives at each of them, compiles 17 seconds (with 29 of them two).
constexpr int64_t kMostBarriersAroundStops = 32;
// Phases of such a loop whose 64-bit types are emulated: each operation is some hundred. 167 of them took SwiftShader
// 80 s.
constexpr int64_t kMostEmulatedPhasesAroundStops = 32;
// What is small enough to be packed where a loop has more arrays than a device binds: packing goes through it twice.
constexpr int64_t kMostPacked = int64_t{1} << 14;
// Of a workgroup whose pipeline asks for full ones: Intel's devices stop there, others have fewer in 512 lanes.
constexpr uint32_t kMostSubgroups = 64;
// Elements that the text reads or writes in memory, where text is dear. Lavapipe's compiler makes blocks of each, and
// takes time by their square and more: 1 second of 320 (20 steps of NUTS), 6 of 750 and 9 of 810 (steps of small
// language models), 7 of 890 (a game of Othello), 43 of 1,040 (a beam search, which runs as quickly as kernels of its
// own).
constexpr int64_t kMostAccesses = 960;
// Of arrays in one buffer: the most that a device may want of what it binds.
constexpr int64_t kScratchAlignment = 256;

MultiIndex FirstElement(const Shape& shape) { return MultiIndex(static_cast<size_t>(shape.rank())); }

// Where one unit's values lie.
class UnitBuffers final : public BufferMap {
 public:
  UnitBuffers(BufferMap& buffers, std::function<BufferSlice(const Instruction&, int)> slice_of)
      : buffers_(buffers), slice_of_(std::move(slice_of)) {}
  BufferSlice SliceOf(const Instruction& instruction, int leaf) override { return slice_of_(instruction, leaf); }
  BufferSlice Scratch(int64_t size_bytes) override { return buffers_.Scratch(size_bytes); }
  BufferSlice Constant(std::vector<uint32_t> words) override { return buffers_.Constant(std::move(words)); }

 private:
  BufferMap& buffers_;
  std::function<BufferSlice(const Instruction&, int)> slice_of_;
};

class LoopKernelWriter {
 public:
  LoopKernelWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers)
      : context_(context),
        program_(program),
        buffers_(buffers),
        kernel_(context.facts),
        slices_(program.places.size()) {
    kernel_.InlineParams();
    PlaceScratch();
    Pack();
    // A workgroup that is one subgroup need not stop for others.
    const DeviceFacts& facts = context_.facts;
    const bool one_subgroup =
        facts.costs.dear_barriers && facts.subgroup_shuffle && program_.lanes == facts.subgroup_size;
    kernel_.Append(
        fmt::format("#define PHASE {}\n", one_subgroup ? "subgroupBarrier();" : "memoryBarrierBuffer(); barrier();"));
  }

  Result<LoopLowering> Write() {
    const Instruction& loop = *program_.loop;
    LoopLowering lowering;
    const int64_t trips = program_.root.trip_count, most = MostTrips();
    counted_ = !stops() && trips >= 0 && trips <= most;
    resumes_ = !counted_ || !packed_.empty();
    lowering.runs = counted_ ? 1 : trips >= 0 && !stops() ? (trips + most - 1) / most : -1;
    if (lowering.runs < 0) lowering.goes_on = buffers_.Scratch(4);
    Registers();
    ResidentPlaces();
    if (stops()) {
      at_ = buffers_.Scratch(4);
      Line(fmt::format("uint left = {}u, at = uint({});", kShare,
                       kernel_.Load(kernel_.AddBuffer(ElementType::kS32, Access::kRead, at_), "0u")));
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
        Line(fmt::format("if (!{}) break;", Name(program_.root.decides)));
      }
      if (trips != 0) RepeatsPhases() ? WriteRepeated(program_.root.blocks[1]) : WriteBlock(program_.root.blocks[1]);
      --depth_;
      Line("}");
      if (lowering.runs < 0) WriteBlock(program_.root.blocks[0]);
    }
    StoreState(lowering);
    if (text_.find("subgroupShuffleXor(") != std::string::npos) kernel_.Append("#define BY_SUBGROUP 1\n");
    kernel_.Append("void run(uint lane) {\n" + text_ + "}\n");
    if (context_.bindings == BindingMode::kDescriptors &&
        1 + kernel_.binding_count() > static_cast<int>(context_.facts.max_storage_buffers)) {
      if (program_.trip_cost > program_.phases * kMostOfASharedPhase) {
        return Unsupported("{} needs {} storage buffers, more than this device's {}", loop.name(),
                           1 + kernel_.binding_count(), context_.facts.max_storage_buffers);
      }
      kernel_.ShareBindings();
    }
    Step step = kernel_.Finish(fmt::format("{} (while)", loop.name()), "control_flow/loop.comp", {program_.lanes, 1, 1},
                               {1, 1, 1});
    step.flop = counted_ ? program_.trip_cost * trips : 0;
    lowering.steps = MovePacked(true);
    lowering.steps.push_back(std::move(step));
    for (Step& moved : MovePacked(false)) lowering.steps.push_back(std::move(moved));
    PlaceState(lowering.steps.front());
    return lowering;
  }

  // At most: accumulators take up to 16 bytes a lane.
  int64_t shared_bytes() const { return static_cast<int64_t>(shared_.size()) * program_.lanes * 16; }

  // What has been written.
  int64_t barriers() const { return CountOf(kPhase); }
  int64_t accesses() const {  // each element of a vector is one
    return CountOf("LOAD(") + CountOf("STORE(") + 3 * CountOf("x4, ") + CountOf("x2, ");
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
  int64_t MostTrips(int64_t cost, int64_t iterations) const {
    const int64_t limit = context_.facts.quirks.loop_iteration_limit;
    int64_t most = std::max<int64_t>(kMostOfADispatch / std::max<int64_t>(cost, 1), 1);
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
  int64_t CountOf(std::string_view words) const {
    int64_t count = 0;
    for (size_t at = text_.find(words); at != std::string::npos; at = text_.find(words, at + 1)) ++count;
    return count;
  }
  // Inner loops end by their data: trips of all loops take from the dispatch's share, each what it may cost.
  bool stops() const { return program_.stops > 0; }
  int64_t ShareOf(int64_t cost, int64_t iterations) const {
    const int64_t most = std::max<int64_t>(MostTrips(cost, iterations), 1);
    return (kShare + most - 1) / most;
  }

  // Lanes whose sums meet without waiting for all others. Where values lie in memory so does what a shuffle needs.
  uint32_t SubgroupThatShuffles() const {
    const DeviceFacts& facts = context_.facts;
    const bool whole = program_.lanes % facts.subgroup_size == 0;
    return facts.subgroup_shuffle && !facts.costs.values_in_memory && whole &&
                   program_.lanes <= kMostSubgroups * facts.subgroup_size
               ? facts.subgroup_size
               : 0;
  }

  // Arrays that only the loop knows lie in one buffer, those of a row first.
  void PlaceScratch() {
    scratch_first_.assign(program_.places.size(), -1);
    const auto append = [this](size_t p) {
      const LoopPlace& place = program_.places[p];
      if (place.kind != LoopPlace::Kind::kScratch || place.resident || scratch_first_[p] >= 0) return;
      scratch_first_[p] = scratch_bytes_;
      scratch_bytes_ += Aligned(place.size_bytes);
    };
    for (const std::vector<int>& row : program_.rows) {
      for (const int place : row) append(static_cast<size_t>(place));
    }
    for (size_t p = 0; p < program_.places.size(); ++p) append(p);
  }
  static int64_t Aligned(int64_t bytes) {
    return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }
  BufferSlice SliceOfRow(int number) {
    const std::vector<int>& row = program_.rows.at(static_cast<size_t>(number));
    BufferSlice slice = SliceOf(row[0]);
    slice.size_bytes = Aligned(slice.size_bytes) * std::ssize(row);
    return slice;
  }

  // Something that lies in a buffer of its own outside, and in one with others while the loop runs.
  struct Packed {
    BufferSlice outside, inside;
    ElementType type = ElementType::kPred;
    int64_t count = 0;
    bool state = false;
  };
  static std::tuple<int, int64_t, int64_t> KeyOf(const BufferSlice& slice) {
    return {slice.buffer, slice.offset_bytes, slice.size_bytes};
  }

  // Where operands and state are in more buffers than the device binds, a step puts what is small of them into one
  // before the loop, and another one the state back.
  void Pack() {
    if (context_.bindings != BindingMode::kDescriptors) return;
    std::vector<Packed> small;
    std::set<int> buffers;
    const auto add = [&](const Instruction& instruction, int leaf, bool state) {
      const Shape& shape = *FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf));
      const BufferSlice slice = buffers_.SliceOf(instruction, leaf);
      buffers.insert(slice.buffer);
      if (shape.ElementCount() <= kMostPacked)
        small.push_back({slice, {}, shape.element_type(), shape.ElementCount(), state});
    };
    for (const LoopPlace& place : program_.places) {
      if (place.kind == LoopPlace::Kind::kOperand) add(*place.instruction, place.leaf, false);
    }
    for (const auto& [reg, origin] : program_.loaded) add(*origin.instruction, origin.leaf, false);
    for (const LoopState& state : program_.state) add(*program_.loop, state.leaf, true);
    // The argument block, scratch, what a dispatch hands to the next one, by type.
    constexpr size_t kOthers = 8;
    if (buffers.size() + kOthers <= context_.facts.max_storage_buffers) return;
    int64_t bytes = 0;
    for (Packed& part : small) {
      if (!packed_at_.emplace(KeyOf(part.outside), packed_.size()).second) continue;
      part.inside.offset_bytes = bytes;
      part.inside.size_bytes = part.outside.size_bytes;
      bytes += Aligned(part.outside.size_bytes);
      packed_.push_back(part);
    }
    if (bytes == 0) return;
    const BufferSlice block = buffers_.Scratch(bytes);
    for (Packed& part : packed_) {
      part.inside.buffer = block.buffer;
      part.inside.offset_bytes += block.offset_bytes;
    }
  }
  BufferSlice Inside(const BufferSlice& outside) const {
    const auto at = packed_at_.find(KeyOf(outside));
    return at == packed_at_.end() ? outside : packed_[at->second].inside;
  }

  std::vector<Step> MovePacked(bool in) const {
    std::vector<const Packed*> moved;
    for (const Packed& part : packed_) {
      if (in || part.state) moved.push_back(&part);
    }
    std::vector<Step> steps;
    const size_t at_once = context_.facts.max_storage_buffers - 2;  // the argument block, and the packed
    for (size_t first = 0; first < moved.size(); first += at_once) {
      KernelBuilder kernel(context_.facts);
      kernel.InlineParams();
      std::string text;
      for (size_t i = first; i < std::min(first + at_once, moved.size()); ++i) {
        const Packed& part = *moved[i];
        const int from = kernel.AddBuffer(part.type, Access::kRead, in ? part.outside : part.inside),
                  to = kernel.AddBuffer(part.type, Access::kWrite, in ? part.inside : part.outside);
        const std::string move = fmt::format("STORE({0}, {2}, i, LOAD({1}, {2}, i));", to, from, StorageTag(part.type));
        text += fmt::format("  for (uint i = (lane + {0}u) % {1}u; i < {2}u; i += {1}u) {3}\n", i % program_.lanes,
                            program_.lanes, part.count, move);
      }
      kernel.Append("void run(uint lane) {\n" + text + "}\n");
      kernel.ShareBindings();
      steps.push_back(kernel.Finish(fmt::format("{} ({} its state)", program_.loop->name(), in ? "packs" : "unpacks"),
                                    "control_flow/loop.comp", {program_.lanes, 1, 1}, {1, 1, 1}));
    }
    return steps;
  }

  void Line(const std::string& statement) {
    text_.append(static_cast<size_t>(2 * depth_), ' ');
    text_ += statement;
    text_ += '\n';
  }
  static std::string Name(int reg) { return fmt::format("r{}", reg); }

  BufferSlice SliceOf(int place) {
    std::optional<BufferSlice>& slice = slices_.at(static_cast<size_t>(place));
    if (slice) return *slice;
    const LoopPlace& at = program_.places.at(static_cast<size_t>(place));
    switch (at.kind) {
      case LoopPlace::Kind::kOperand:
        slice = Inside(buffers_.SliceOf(*at.instruction, at.leaf));
        break;
      case LoopPlace::Kind::kState:
        slice = Inside(buffers_.SliceOf(*program_.loop, at.leaf));
        break;
      case LoopPlace::Kind::kScratch:
        if (scratch_.buffer < 0) scratch_ = buffers_.Scratch(scratch_bytes_);
        slice = BufferSlice{scratch_.buffer, scratch_.offset_bytes + scratch_first_[static_cast<size_t>(place)],
                            at.size_bytes};
    }
    return *slice;
  }

  // Every lane keeps all of them.
  void Registers() {
    for (size_t r = 0; r < program_.registers.size(); ++r) {
      const LoopRegister& reg = program_.registers[r];
      Line(fmt::format("{} {} = {};", CarrierType(reg.type), Name(static_cast<int>(r)), ZeroText(reg.type)));
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
  static std::string Element(int place) { return fmt::format("e{}", place); }
  bool IsResident(int place) const { return place >= 0 && program_.places[static_cast<size_t>(place)].resident; }
  // The lane's own elements of what is kept in registers.
  void ResidentPlaces() {
    for (size_t p = 0; p < program_.places.size(); ++p) {
      const LoopPlace& place = program_.places[p];
      if (!place.resident) continue;
      const int number = static_cast<int>(p);
      Line(fmt::format("{} {} = {};", CarrierType(place.type), Element(number), ZeroText(place.type)));
      if (place.kind == LoopPlace::Kind::kScratch) continue;
      const int k = kernel_.AddBuffer(place.type, Access::kRead, SliceOf(number));
      Line(fmt::format("if (lane < {}u) {} = {};", place.count, Element(number), kernel_.Load(k, "lane")));
    }
  }

  void LoadConstant(int reg, const Instruction& constant) {
    FusionDescription nothing;
    IndexSpace space;
    ValueWriter writer(kernel_, nothing, buffers_, space);
    const std::string value = writer.Value(constant, FirstElement(constant.shape()));
    writer.Line(fmt::format("{} = {};", Name(reg), value));
    Block(writer);
  }
  void LoadRegister(int reg, const BufferSlice& slice) {
    const int k = kernel_.AddBuffer(program_.registers[static_cast<size_t>(reg)].type, Access::kRead, Inside(slice));
    Line(fmt::format("{} = {};", Name(reg), kernel_.Load(k, "0u")));
  }

  // What a writer has written, its locals kept apart.
  void Block(ValueWriter& writer, const std::string& head = "") { Block(writer.Take(), head); }
  void Block(const std::string& statements, const std::string& head = "") {
    Line(head.empty() ? "{" : head + " {");
    text_ += statements;
    Line("}");
  }

  // What stands before the place where a dispatch goes on (`at`) has been done by the one before.
  void WriteBlock(const LoopBlock& block) {
    const bool resumes = std::ranges::any_of(block, [](const LoopNode& node) { return node.last_stop > 0; });
    bool open = false;
    const auto close = [&] {
      if (!open) return;
      --depth_;
      Line("}");
      open = false;
    };
    for (const LoopNode& node : block) {
      if (node.last_stop > 0) close();
      if (resumes && !open) {
        Line(node.last_stop == 0
                 ? "if (at == 0u) {"
                 : fmt::format("if (at == 0u || (at >= {}u && at <= {}u)) {{", node.first_stop, node.last_stop));
        ++depth_;
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
    const std::string before = std::move(text_);
    for (const LoopNode& node : block) {
      text_.clear();
      WriteStatements(node);
      phases.push_back({std::move(text_), node.waits});
    }
    text_ = before + TextOf(phases, "round", std::string(kPhase));
  }

  void WriteNode(const LoopNode& node) {
    if (node.waits) Line(std::string(kPhase));
    WriteStatements(node);
  }
  void WriteStatements(const LoopNode& node) {
    switch (node.kind) {
      case LoopNode::Kind::kUnit:
        return WriteUnit(node);
      case LoopNode::Kind::kCopy:
        return WriteCopy(node);
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
    Line("for (;;) {");
    ++depth_;
    if (has_inner) Line(number == 0 ? "if (at == 0u) {" : fmt::format("if (at == 0u || at == {}u) {{", number));
    if (number > 0) Line("at = 0u;");
    WriteBlock(node.blocks[0]);
    Line(fmt::format("if (!{}) break;", Name(node.decides)));
    Line(fmt::format("if (left < {}u) {{ at = {}u; break; }}", share, number));
    Line(fmt::format("left -= {}u;", share));
    if (has_inner) Line("}");
    WriteBlock(node.blocks[1]);
    if (has_inner) Line("if (at != 0u) break;");
    --depth_;
    Line("}");
  }

  void WriteInnerLoop(const LoopNode& node) {
    if (node.trip_count == 0) return;
    if (node.trip_count < 0) return WriteLoopByShare(node, ShareOf(node.trip_cost, node.trip_iterations));
    if (node.counter >= 0) {
      const std::string trips = Name(node.counter);
      Line(fmt::format("if (at == 0u) {} = 0u;", trips));
      Line(fmt::format("for (; {0} < {1}u; ++{0}) {{", trips, node.trip_count));
      ++depth_;
      WriteBlock(node.blocks[1]);
      Line("if (at != 0u) break;");
      --depth_;
      Line("}");
      return;
    }
    const std::string trip = fmt::format("trip_{}", next_unit_++);
    Line(fmt::format("for (uint {0} = 0u; {0} < {1}u; ++{0}) {{", trip, node.trip_count));
    ++depth_;
    WriteBlock(node.blocks[1]);
    --depth_;
    Line("}");
  }

  // A pred that holds takes the first branch, an index out of range the last.
  void WriteConditional(const LoopNode& node) {
    const bool is_pred = program_.registers[static_cast<size_t>(node.decides)].type == ElementType::kPred;
    const std::string which = fmt::format("which_{}", next_unit_++);
    Line(fmt::format("uint {} = {};", which,
                     is_pred ? fmt::format("{} ? 0u : 1u", Name(node.decides))
                             : fmt::format("min(uint({}), {}u)", Name(node.decides), node.blocks.size() - 1)));
    WriteBranches(node, which, 0, node.blocks.size());
  }
  // Halves of halves: drivers keep few levels (beyond 80 lavapipe takes all branches).
  void WriteBranches(const LoopNode& node, const std::string& which, size_t first, size_t count) {
    if (count == 1) return WriteBlock(node.blocks[first]);
    const size_t half = count / 2;
    Line(fmt::format("if ({} < {}u) {{", which, first + half));
    ++depth_;
    WriteBranches(node, which, first, half);
    --depth_;
    Line("} else {");
    ++depth_;
    WriteBranches(node, which, first + half, count - half);
    --depth_;
    Line("}");
  }

  void WriteAssignment(const LoopNode& node) {
    std::vector<std::string> names;
    Line("{");
    for (const auto& [reg, value] : node.assigned) {
      const ElementType type = program_.registers[static_cast<size_t>(reg)].type;
      names.push_back(fmt::format("n{}", names.size()));
      std::string from = value.reg >= 0 ? Name(value.reg) : "";
      if (value.reg < 0) from = kernel_.Load(kernel_.AddBuffer(type, Access::kRead, SliceOf(value.place)), "0u");
      Line(fmt::format("  {} {} = {};", CarrierType(type), names.back(), from));
    }
    for (size_t i = 0; i < names.size(); ++i) Line(fmt::format("  {} = {};", Name(node.assigned[i].first), names[i]));
    Line("}");
  }

  // Writes what `write` makes of the elements first + 0, 1 ... width - 1 of `count`.
  void EachElement(ValueWriter& writer, IndexSpace& space, int64_t count, int64_t width,
                   const std::function<void(const IndexExpression& first)>& write) {
    const int64_t groups = count / width;
    const int loop = space.AddVariable(groups);
    writer.Bind(loop, "i");
    if (width > 1) writer.Vectorize(loop, static_cast<int>(width));
    OpenElements(writer, "i", groups, program_.lanes);
    write(space.Scale(space.Variable(loop), width));
    writer.CloseBlock();
  }

  // The lane's own elements of a place.
  void StoreOwn(ValueWriter& writer, int place, ElementType type, const IndexExpression& first,
                const std::vector<std::string>& values) {
    if (IsResident(place)) return writer.Line(fmt::format("{} = {};", Element(place), values.at(0)));
    writer.StoreGroup(kernel_.AddBuffer(type, Access::kWrite, SliceOf(place)), first, values);
  }

  void WriteCopy(const LoopNode& node) {
    FusionDescription nothing;
    IndexSpace space;
    ValueWriter writer(kernel_, nothing, buffers_, space);
    const int64_t width = program_.WidthOf(node.count, true);
    EachElement(writer, space, node.count, width, [&](const IndexExpression& first) {
      std::vector<std::string> values;
      if (IsResident(node.from)) values = {Element(node.from)};
      const int from = values.empty() ? kernel_.AddBuffer(node.type, Access::kRead, SliceOf(node.from)) : -1;
      for (int64_t j = 0; j < width && from >= 0; ++j) values.push_back(writer.Load(from, space.Add(first, {{}, j})));
      StoreOwn(writer, node.to, node.type, first, values);
    });
    Block(writer);
  }

  void WriteUnit(const LoopNode& node) {
    const Result<FusionDescription> described = DescribeFusion(*node.instruction);
    VXLA_CHECK(described.ok(), "a fusion that was described before");
    const FusionDescription& body = *described;
    UnitBuffers buffers(buffers_, [&](const Instruction& instruction, int leaf) {
      if (!node.rows.empty()) return SliceOfRow(node.rows[&instruction == node.instruction ? 1 : 0]);
      const LoopValue value = &instruction == node.instruction ? node.results.at(static_cast<size_t>(leaf))
                                                               : program_.ValueOf(instruction, leaf);
      // No element of an empty array is read, but a kernel may name it.
      if (value.place < 0 && FlattenTuple(instruction.shape()).at(static_cast<size_t>(leaf))->ElementCount() == 0)
        return buffers_.Constant({0, 0, 0, 0});
      VXLA_CHECK(value.place >= 0, "a value of a loop that is in no memory: " + instruction.name());
      return SliceOf(value.place);
    });
    std::vector<std::pair<const Instruction*, std::string>> held;
    for (const Instruction* operand : node.instruction->operands()) {
      if (operand->shape().ElementCount() == 0) continue;
      const LoopValue value = program_.ValueOf(*operand, 0);
      if (value.reg >= 0) held.emplace_back(operand, Name(value.reg));
    }
    const bool in_part = body.hero != nullptr && UpdatedArrays(*body.hero) > 0;
    if (body.hero != nullptr && !in_part) return WriteTogether(body, node, buffers, std::move(held));
    IndexSpace space;
    ValueWriter writer(kernel_, body, buffers, space);
    for (const auto& [operand, name] : held) writer.Hold(*operand, name);
    if (node.fills >= 0) {
      WriteFilled(*body.hero->operand(node.fills), node.results[0].place, writer, space);
    } else if (in_part && body.hero->opcode() == Opcode::kScatter) {
      std::vector<BufferSlice> arrays;
      for (const int place : node.arrays) arrays.push_back(SliceOf(place));
      WriteLoopScatter(*body.hero, arrays, writer, program_.lanes, next_unit_++);
    } else if (in_part) {
      WriteUpdate(body, node, writer, space);
    } else {
      WriteElements(body, node, writer, space);
    }
    Block(writer);
  }

  void WriteElements(const FusionDescription& body, const LoopNode& node, ValueWriter& writer, IndexSpace& space) {
    const int64_t count = body.roots[0]->shape().ElementCount();
    if (count == 1) {
      for (size_t leaf = 0; leaf < body.roots.size(); ++leaf) {
        const Instruction& root = *body.roots[leaf];
        writer.Line(
            fmt::format("{} = {};", Name(node.results[leaf].reg), writer.Value(root, FirstElement(root.shape()))));
      }
      return;
    }
    // Every value is computed before any is stored: a result may lie where an operand lay.
    const int64_t width = program_.WidthOf(count, body);
    EachElement(writer, space, count, width, [&](const IndexExpression& first) {
      std::vector<std::vector<std::string>> values(body.roots.size());
      OverrideResident(body, writer, space, first);
      for (int64_t j = 0; j < width; ++j) {
        const IndexExpression linear = space.Add(first, {{}, j});
        for (size_t leaf = 0; leaf < values.size(); ++leaf) {
          const Instruction& root = *body.roots[leaf];
          values[leaf].push_back(writer.Value(root, space.Delinearize(linear, root.shape().dimensions())));
        }
      }
      for (size_t leaf = 0; leaf < values.size(); ++leaf) {
        const ElementType type = body.roots[leaf]->shape().element_type();
        StoreOwn(writer, node.results[leaf].place, type, first, values[leaf]);
      }
    });
  }

  // Operands whose elements lanes keep.
  void OverrideResident(const FusionDescription& body, ValueWriter& writer, IndexSpace& space,
                        const IndexExpression& first) {
    for (const auto& [inside, operand] : body.operands) {
      if (operand->shape().ElementCount() <= 1) continue;
      const int place = program_.ValueOf(*operand, 0).place;
      if (!IsResident(place)) continue;
      // A local, for a result may take the register before another one asks for what it held.
      const std::string held = writer.Assignable(program_.places[static_cast<size_t>(place)].type, Element(place));
      writer.Override(*inside, space.Delinearize(first, inside->shape().dimensions()), held);
    }
  }

  void WriteUpdate(const FusionDescription& body, const LoopNode& node, ValueWriter& writer, IndexSpace& space) {
    const Instruction& hero = *body.hero;
    const Shape &whole = hero.shape(), &part = hero.operand(1)->shape();
    if (part.ElementCount() == 0) return;
    const int k = kernel_.AddBuffer(whole.element_type(), Access::kReadWrite, SliceOf(node.arrays[0]));
    const MultiIndex start = writer.WindowStart(hero, 2, whole, part);
    const int64_t width = program_.WidthOf(part.ElementCount(), OnlyMoves(body));
    EachElement(writer, space, part.ElementCount(), width, [&](const IndexExpression& first) {
      std::vector<IndexExpression> targets;
      std::vector<std::string> values;
      for (int64_t j = 0; j < width; ++j) {
        MultiIndex index = space.Delinearize(space.Add(first, {{}, j}), part.dimensions());
        values.push_back(writer.Value(*hero.operand(1), index));
        for (size_t d = 0; d < index.size(); ++d) index[d] = space.Add(index[d], start[d]);
        targets.push_back(space.Linearize(index, whole.dimensions()));
      }
      bool side_by_side = true;
      for (int64_t j = 1; j < width; ++j)
        side_by_side &= targets[static_cast<size_t>(j)] == space.Add(targets[0], {{}, j});
      if (side_by_side) return writer.StoreGroup(k, targets[0], values);
      for (size_t j = 0; j < values.size(); ++j) writer.Line(kernel_.Store(k, writer.Index(targets[j]), values[j]));
    });
  }

  void WriteFilled(const Instruction& array, int place, ValueWriter& writer, IndexSpace& space) {
    const int64_t count = array.shape().ElementCount(), width = program_.WidthOf(count);
    EachElement(writer, space, count, width, [&](const IndexExpression& first) {
      std::vector<std::string> values;
      for (int64_t j = 0; j < width; ++j) {
        const IndexExpression linear = space.Add(first, {{}, j});
        values.push_back(writer.Value(array, space.Delinearize(linear, array.shape().dimensions())));
      }
      StoreOwn(writer, place, array.shape().element_type(), first, values);
    });
  }

  void WriteTogether(const FusionDescription& body, const LoopNode& node, BufferMap& buffers,
                     std::vector<std::pair<const Instruction*, std::string>> held) {
    const auto width = [this](int64_t count) { return program_.WidthOf(count); };
    LoopUnit unit{next_unit_++, program_.lanes, width, kernel_, shared_, SubgroupThatShuffles(), std::move(held)};
    if (!node.rows.empty()) unit.at_once = std::ssize(program_.rows[static_cast<size_t>(node.rows[0])]);
    if (NeedsOfLoopUnit(context_, body, program_.lanes)) {
      std::vector<BufferSlice> scratch;
      for (size_t i = 0; i < node.scratch.size(); ++i)
        scratch.push_back(node.rows.empty() ? SliceOf(node.scratch[i]) : SliceOfRow(node.rows[2 + i]));
      return Block(WriteLoopUnit(context_, body, buffers, scratch, unit));
    }
    const LoopRowsShape shape = ShapeOfLoopRows(context_, body, program_.lanes);
    const auto rows = [&](const RowProgram& program) { Block(WriteLoopRows(program, shape, unit)); };
    switch (body.hero->opcode()) {
      case Opcode::kReduceWindow:
        return WithWindowProgram(body, buffers, rows);
      case Opcode::kConvolution:
        return rows(ProductProgram(*ReadConvolution(body), buffers, {}));
      case Opcode::kDot:
        break;
      default:
        return WithReduceProgram(body, buffers, rows);
    }
    const auto reader = ReadDot(body);
    if (const auto tile = TileLoopDot(context_, body, program_.lanes))
      return Block(WriteLoopDot(*reader, buffers, *tile, unit));
    rows(ProductProgram(*reader, buffers, {}));
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
    Line("if (at != 0u) {");
    for (const auto& [type, kept] : kept_) {
      const int k = kernel_.AddBuffer(type, Access::kRead, kept.slice);
      size_t index = 0;
      for (const int reg : kept.registers)
        Line(fmt::format("  {} = {};", Name(reg), kernel_.Load(k, fmt::format("{}u", index++))));
      for (const int place : kept.places) {
        Line(fmt::format("  {} = {};", Element(place), kernel_.Load(k, fmt::format("{}u + lane", index))));
        index += program_.lanes;
      }
    }
    Line("}");
  }
  // After all lanes have read what was there.
  void KeepRegisters() {
    Line("if (at != 0u) {");
    for (const auto& [type, kept] : kept_) {
      const int k = kernel_.AddBuffer(type, Access::kWrite, kept.slice);
      size_t index = kept.registers.size();
      for (const int place : kept.places) {
        Line("  " + kernel_.Store(k, fmt::format("{}u + lane", index), Element(place)));
        index += program_.lanes;
      }
      index = 0;
      if (!kept.registers.empty()) Line("  if (lane == 0u) {");
      for (const int reg : kept.registers) Line("    " + kernel_.Store(k, fmt::format("{}u", index++), Name(reg)));
      if (!kept.registers.empty()) Line("  }");
    }
    Line("}");
  }

  // What is kept of the state, and whether the loop goes on.
  void StoreState(const LoopLowering& lowering) {
    for (const LoopState& state : program_.state) {
      if (!IsResident(state.value.place)) continue;
      const LoopPlace& place = program_.places[static_cast<size_t>(state.value.place)];
      const int k = kernel_.AddBuffer(place.type, Access::kWrite, SliceOf(state.value.place));
      Line(fmt::format("if (lane < {}u) {{", place.count));
      Line("  " + kernel_.Store(k, "lane", Element(state.value.place)));
      Line("}");
    }
    if (resumes_) Line(std::string(kPhase));  // the registers have been read by all
    if (stops()) KeepRegisters();
    Line("if (lane == 0u) {");
    for (const LoopState& state : program_.state) {
      if (state.value.reg < 0) continue;
      const ElementType type = program_.registers[static_cast<size_t>(state.value.reg)].type;
      const int k = kernel_.AddBuffer(type, Access::kWrite, Inside(buffers_.SliceOf(*program_.loop, state.leaf)));
      Line("  " + kernel_.Store(k, "0u", Name(state.value.reg)));
    }
    if (lowering.runs < 0) {
      const int k = kernel_.AddBuffer(ElementType::kS32, Access::kWrite, lowering.goes_on);
      Line("  " + kernel_.Store(k, "0u", fmt::format("({} ? 1 : 0)", Name(program_.root.decides))));
    }
    if (stops()) {
      const int k = kernel_.AddBuffer(ElementType::kS32, Access::kWrite, at_);
      Line("  " + kernel_.Store(k, "0u", "int(at)"));
    }
    Line("}");
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

  const LowerContext& context_;
  const LoopProgram& program_;
  BufferMap& buffers_;
  KernelBuilder kernel_;
  std::vector<std::optional<BufferSlice>> slices_;
  std::vector<int64_t> scratch_first_;  // by place
  std::vector<Packed> packed_;
  std::map<std::tuple<int, int64_t, int64_t>, size_t> packed_at_;  // by the slice outside
  int64_t scratch_bytes_ = 0;
  BufferSlice scratch_, at_;
  std::map<ElementType, Kept> kept_;
  std::set<std::string> shared_;
  std::string text_;
  int depth_ = 1, next_unit_ = 0;
  bool counted_ = false, resumes_ = false;
};

}  // namespace

Result<LoopLowering> LowerLoopKernel(const LowerContext& context, const Instruction& loop, BufferMap& buffers,
                                     const std::function<Status(const Instruction&)>& can_lower) {
  VXLA_ASSIGN_OR_RETURN(const LoopProgram program, LoopProgram::Read(context, loop, can_lower));
  const DeviceFacts& facts = context.facts;
  const bool threads = facts.costs.few_workgroups && facts.hardware_threads > 4;
  const int64_t most_of_a_phase = threads                             ? kMostAmongThreads
                                  : facts.compute_units >= kManyUnits ? kMostAmongUnits
                                                                      : kMostOfAPhase;
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
  VXLA_ASSIGN_OR_RETURN(LoopLowering lowering, writer.Write());
  if (program.stops > 0 && writer.barriers() > kMostBarriersAroundStops) {
    return Unsupported("{}: {} barriers, more than the {} of a loop around others that end by their data", loop.name(),
                       writer.barriers(), kMostBarriersAroundStops);
  }
  if (const int64_t accesses = writer.accesses(); context.facts.costs.dear_text && accesses > kMostAccesses) {
    return Unsupported(
        "{}: its text reads and writes memory in {} places, more than the {} of a software driver's loop", loop.name(),
        accesses, kMostAccesses);
  }
  if (writer.shared_bytes() > context.facts.max_shared_bytes) {
    return Unsupported("{}: {} bytes of shared memory, and the device has {}", loop.name(), writer.shared_bytes(),
                       context.facts.max_shared_bytes);
  }
  return lowering;
}

}  // namespace VXLA_NAMESPACE::vulkan
