// Loops that one workgroup runs: what is around their phases.
#include "backend/vulkan/lower/whiles/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "backend/vulkan/codegen/passes/repeat_phases.h"
#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/whiles/chunks.h"
#include "backend/vulkan/lower/whiles/groups.h"
#include "backend/vulkan/lower/whiles/writer.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// A phase of a loop whose arrays have to share a binding does no more in one workgroup. At 147,000 a phase (a training
// loop of 300 steps) lavapipe takes as long either way, 160 and 169 ms, and sums of separate kernels are the closer
// ones (4.9e-8 rms off, 5.2e-8).
constexpr int64_t kMostOfASharedPhase = int64_t{1} << 17;
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
class LoopStateWriter : protected LoopWriter {
 public:
  using LoopWriter::LoopWriter;

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
      if (IsResident(state.value.place)) StoreResident(state.value.place, memory_.SliceOf(state.value.place));
    }
    if (resumes_) Barrier(program_.share.cooperative);  // the registers have been read by all
    if (stops()) KeepRegisters();
    OpenBlock("if (lane == 0u{})", program_.share.cooperative  ? " && grid_group == 0u"
                                   : program_.share.groups > 1 ? " && WORKGROUP == 0u"
                                                               : "");
    for (const LoopState& state : program_.state) {
      if (state.value.reg < 0) continue;
      const ElementType type = program_.registers[static_cast<size_t>(state.value.reg)].type;
      BufferSlice slice = memory_.Inside(buffers_.SliceOf(*program_.loop, state.leaf));
      if (program_.share.parts() > 1 && resumes_) {
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
                         1);
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

  std::vector<Moved> next_;  // registers of the state after a dispatch of several workgroups
  BufferSlice at_, grid_;
  std::map<ElementType, Kept> kept_;
  bool counted_ = false, resumes_ = false;
};

class LoopKernelWriter : LoopStateWriter {
 public:
  using LoopStateWriter::LoopStateWriter;

  Result<LoopLowering> Write() {
    const Instruction& loop = *program_.loop;
    LoopLowering lowering;
    const int64_t trips = program_.root.trip_count, most = MostTrips();
    counted_ = !stops() && trips >= 0 && trips <= most;
    resumes_ = !counted_ || memory_.moves();
    lowering.runs = counted_ ? 1 : trips >= 0 && !stops() ? CeilDivide(trips, most) : -1;
    if (lowering.runs < 0) lowering.goes_on = buffers_.Scratch(4);
    if (program_.share.cooperative) UseGridBarriers();
    Registers(resumes_);
    ResidentPlaces();
    if (stops()) {
      at_ = buffers_.Scratch(4);
      Declare("int", "stopped_at", kernel_.Loaded(kernel_.AddBuffer(ElementType::kS32, Access::kRead, at_), "0u"));
      Line("uint left = {}u, at = uint(stopped_at);", kShare);
      RestoreRegisters();
      WriteLoopByShare(program_.root, ShareOf(program_.trip_cost, program_.trip_iterations));
    } else {
      Line(counted_ && trips == 1
               ? "{"
               : fmt::format("for (uint trip = 0u; trip < {}u; ++trip) {{", counted_ ? trips : most));
      ++depth_;
      // A condition that is known to hold is not asked.
      if (!counted_) {
        WriteBlock(program_.root.condition());
        Line("if (!{}) break;", NameOfRegister(program_.root.decides));
      }
      if (trips != 0) RepeatsPhases() ? WriteRepeated(program_.root.body()) : WriteBlock(program_.root.body());
      CloseBlock();
      if (lowering.runs < 0) WriteBlock(program_.root.condition());
    }
    StoreState(lowering);
    VXLA_RETURN_IF_ERROR(CheckLimits());
    if (BindsTooMany() && program_.trip_cost > program_.phases * kMostOfASharedPhase) {
      return Unsupported("{} needs {} storage buffers, more than this device's {}", loop.name(),
                         1 + kernel_.binding_count(), context_.facts.max_storage_buffers);
    }
    Step step = FinishKernel(program_.share.cooperative ? "while, " + SharingText() : "while", program_.lanes,
                             program_.share.groups);
    step.flop = counted_ ? program_.share.parts() * program_.trip_cost * trips : 0;
    if (program_.share.cooperative) step.in_place.push_back({buffers_.Constant({0, 0, 0, 0}), grid_, true});
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
    int64_t most = LoopWriter::MostTrips(program_.trip_cost, program_.trip_iterations + turns);
    ForEachInside(program_.root, [&](const LoopNode& node) {
      const auto* const loop = node.As<LoopWhile>();
      if (loop != nullptr && loop->trip_count < 0)
        most = std::min(most, LoopWriter::MostTrips(loop->trip_cost, loop->trip_iterations));
    });
    return most;
  }

 private:
  void UseGridBarriers() {
    grid_ = buffers_.Scratch(16);
    kernel_.ReadsOfOthers();
    kernel_.Append("#define GRID {}\n#define GRID_GROUPS {}u\n",
                   kernel_.AddBuffer(ElementType::kU32, Access::kReadWrite, grid_), program_.share.groups);
  }
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
    return CheckSharedMemory();
  }

  // How many units all workgroups share, and those that one of them makes sooner.
  std::string SharingText() const {
    int shared = 0;
    std::vector<std::string> alone;
    ForEachInside(program_.root, [&](const LoopNode& node) {
      const auto* const unit = node.As<LoopUnitNode>();
      if (unit == nullptr) return;
      if (unit->sharing == LoopSharing::kAlone) {
        alone.push_back(unit->instruction().name());
      } else {
        ++shared;
      }
    });
    const std::string all = fmt::format("{} {} shared out", shared, shared == 1 ? "unit" : "units");
    return alone.empty() ? all : fmt::format("{}, {} too short to be: {}", all, alone.size(), fmt::join(alone, " "));
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
      const LoopAccesses* const phase = node.accesses();
      phases.push_back({Take(), phase != nullptr && phase->waits});
    }
    Add(std::move(before) + RepeatPhases(phases, "round", program_.share.cooperative));
  }
  // The lane's own elements of what is kept in registers.
  void ResidentPlaces() {
    for (int place = 0; place < static_cast<int>(program_.places.size()); ++place) {
      if (!IsResident(place)) continue;
      DeclareResident(place);
      if (program_.places[static_cast<size_t>(place)].kind != LoopPlace::Kind::kScratch)
        LoadResident(place, memory_.SliceOf(place));
    }
  }
};

// In as many workgroups as pay where rows never meet, or elements.
class GroupsReader {
 public:
  GroupsReader(const LowerContext& context, const Instruction& loop,
               const std::function<Status(const Instruction&)>& can_lower)
      : context_(context), loop_(loop), can_lower_(can_lower) {}

  Result<LoopProgram> Read(int64_t most_of_a_phase) const {
    VXLA_ASSIGN_OR_RETURN(LoopProgram whole, In(1, false));
    if (const int64_t groups = GroupsInRegisters(context_.facts, whole); groups > 1 && !whole.has_barriers) {
      VXLA_ASSIGN_OR_RETURN(LoopProgram shared, In(groups, false));
      if (shared.IsInRegisters()) return shared;
    } else if (groups > 1 && whole.root.trip_count < 0) {
      VXLA_ASSIGN_OR_RETURN(std::optional<LoopProgram> noted, Noted(groups));
      if (noted) return *std::move(noted);
    }
    const LoopShare share = ShareOfLoop(context_.facts, whole, most_of_a_phase);
    if (share.groups == 1) return whole;
    return LoopProgram::Read(context_, loop_, share, false, can_lower_);
  }

 private:
  Result<LoopProgram> In(int64_t groups, bool notes) const {
    return LoopProgram::Read(context_, loop_, {groups}, notes, can_lower_);
  }
  // For chunks of trips, in so many groups of elements, or in groups of rows.
  Result<std::optional<LoopProgram>> Noted(int64_t groups) const {
    VXLA_ASSIGN_OR_RETURN(LoopProgram elements, In(groups, true));
    if (!GoesInChunks(context_, elements)) return std::optional<LoopProgram>();
    if (elements.IsInRegisters()) return std::optional(std::move(elements));
    VXLA_ASSIGN_OR_RETURN(const LoopProgram whole, In(1, true));
    const int64_t of_rows = GroupsOfRows(context_.facts, whole, SeparateRows(whole));
    if (of_rows == 1) return std::optional<LoopProgram>();
    VXLA_ASSIGN_OR_RETURN(LoopProgram rows, In(of_rows, true));
    return std::optional(std::move(rows));
  }

  const LowerContext& context_;
  const Instruction& loop_;
  const std::function<Status(const Instruction&)>& can_lower_;
};

}  // namespace

Result<LoopLowering> LowerLoopKernel(const LowerContext& context, const Instruction& loop, BufferMap& buffers,
                                     const std::function<Status(const Instruction&)>& can_lower) {
  const bool counted = loop.notes().trip_count.has_value();
  const int64_t most_of_a_phase = TunerOf(context.facts).MostOfAPhase(context.facts, context.bindings, counted);
  VXLA_ASSIGN_OR_RETURN(const LoopProgram program, GroupsReader(context, loop, can_lower).Read(most_of_a_phase));
  LoopMemory memory(context, program, buffers);
  if (program.notes > 0) return LowerLoopInChunks(context, program, buffers, memory);
  const int64_t most = program.phases * most_of_a_phase;
  if (program.alone_cost + (program.trip_cost - program.alone_cost) / MostGroupsOfAPhase(program.share) > most) {
    return Unsupported("{}: a trip of about {} operations is more than the {} that are left to one workgroup",
                       loop.name(), program.trip_cost, most);
  }
  if (program.stops > 0 && program.emulates && program.phases > kMostEmulatedPhasesAroundStops) {
    return Unsupported(
        "{}: {} phases, more than the {} of a loop of emulated types around others that end by their data", loop.name(),
        program.phases, kMostEmulatedPhasesAroundStops);
  }
  LoopKernelWriter writer(context, program, buffers, memory);
  if (writer.MostTrips() < 1) {
    return Unsupported("{}: a trip of {} turns of loops; loops of this device stop after {}", loop.name(),
                       program.trip_iterations, context.facts.quirks.loop_iteration_limit);
  }
  return writer.Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
