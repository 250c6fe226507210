#include "backend/vulkan/lower/whiles/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backend/vulkan/lower/tuning/tuner.h"
#include "backend/vulkan/lower/whiles/writer.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr int64_t kTripsOfAWord = 32;
// Of the first chunk and of the longest: trips beyond the end are made for nothing.
constexpr int64_t kFirstTrips = kTripsOfAWord, kMostTrips = 1024;
// What runs before the host reads whether the loop goes on, which takes longer than to find that nothing is left to do:
// two chunks of the first 96 trips, and the last trips again.
constexpr int kChunksAtOnce = 3;
constexpr uint32_t kLanesThatAsk = 32;

// Registers that depend on noted reductions, which are known after a chunk.
class NotedRegisters {
 public:
  // False: an element does, or a loop or a branch inside.
  bool Find(const LoopProgram& program) {
    size_t before = 0;
    do {
      before = noted_.size();
      for (const LoopBlock& block : program.root.blocks) {
        if (!Follow(program, block, false)) return false;
      }
    } while (noted_.size() != before);
    return true;
  }

 private:
  bool Follow(const LoopProgram& program, const LoopBlock& block, bool inside) {
    return std::ranges::all_of(block, [&](const LoopNode& node) { return Follow(program, node, inside); });
  }
  bool Follow(const LoopProgram& program, const LoopNode& node, bool inside) {
    if (const auto* unit = node.As<LoopUnitNode>()) return FollowUnit(program, *unit, inside);
    if (const auto* assignment = node.As<LoopAssignment>()) {
      for (const auto& [reg, value] : assignment->assigned) {
        if (!noted_.contains(value.reg)) continue;
        if (inside) return false;
        noted_.insert(reg);
      }
    }
    const LoopControl* const control = node.control();
    return control == nullptr ||
           (!noted_.contains(control->decides) &&
            std::ranges::all_of(control->blocks, [&](const LoopBlock& block) { return Follow(program, block, true); }));
  }
  bool FollowUnit(const LoopProgram& program, const LoopUnitNode& unit, bool inside) {
    const auto is_noted = [&](const Instruction* operand) {
      return operand->shape().ElementCount() == 1 && noted_.contains(program.ValueOf(*operand, 0).reg);
    };
    const bool notes = unit.kind == LoopUnitKind::kNotes;
    if (!notes && std::ranges::none_of(unit.instruction().operands(), is_noted)) return true;
    const bool scalars = std::ranges::none_of(unit.results, [](const LoopValue& value) { return value.reg < 0; });
    if (inside || !scalars) return false;
    const FusionDescription& body = *unit.body;
    const auto is_reduced = [&](const Instruction* user) {
      return std::ranges::find(body.prologue, user) != body.prologue.end();
    };
    for (const auto& [inner, operand] : body.operands) {
      if (notes && is_noted(operand) && std::ranges::any_of(inner->users(), is_reduced)) return false;
    }
    for (const LoopValue& value : unit.results) noted_.insert(value.reg);
    return true;
  }

  std::set<int> noted_;
};

// What chunks know of each other, beside the state: in which part of a loop they are, in which copy of the state this
// one begins, its trips, then the notes of each reduction.
enum class Part : uint8_t { kTrips, kLastTrips, kEnded };
struct Chunks {
  BufferSlice control;
  int64_t first = 1, most = 1;        // trips
  std::map<int, BufferSlice> copies;  // of the state, by place
  static constexpr int64_t kPart = 0, kCopy = 1, kTrips = 2, kNotes = 3;
  int64_t words() const { return CeilDivide(most, kTripsOfAWord); }
  std::string NoteAt(int note) const { return fmt::format("{}u + word", kNotes + note * words()); }
};

class ChunkWriter : protected LoopWriter {
 public:
  using LoopWriter::LoopWriter;

  Chunks PlanChunks() {
    Chunks chunks;
    const int64_t most = std::min(kMostTrips, MostTrips(program_.trip_cost, program_.trip_iterations + 1));
    chunks.most = most < kTripsOfAWord ? most : most / kTripsOfAWord * kTripsOfAWord;
    chunks.first = std::min(kFirstTrips, chunks.most);
    if (most < 1) return chunks;
    chunks.control = buffers_.Scratch(4 * (Chunks::kNotes + program_.notes * chunks.words()));
    for (const LoopState& state : program_.state) {
      const int place = state.value.place;
      if (place >= 0) chunks.copies[place] = buffers_.Scratch(memory_.SliceOf(place).size_bytes);
    }
    return chunks;
  }

 protected:
  static std::string Is(Part part) { return fmt::format("part == {}u", static_cast<int>(part)); }
  int Control(const Chunks& chunks, Access access) {
    return kernel_.AddBuffer(ElementType::kU32, access, chunks.control);
  }
  void ReadControl(const Chunks& chunks, Access access) {
    const int k = Control(chunks, access);
    const auto declare = [&](const char* name, int64_t word) {
      Declare("uint", name, kernel_.Loaded(k, fmt::format("{}u", word)));
    };
    declare("part", Chunks::kPart);
    Line("if ({}) return;", Is(Part::kEnded));
    declare("copy", Chunks::kCopy);
    declare("trips", Chunks::kTrips);
    Line("uint trip = 0u;");
  }
  void OpenWord(const std::string& goes_on) {
    OpenBlock("[[dont_unroll]] for (uint word = 0u; {}trip < trips; ++word)", goes_on);
  }
  void OpenTrip() { OpenBlock("[[dont_unroll]] for (uint bit = 1u; bit != 0u && trip < trips; bit <<= 1, ++trip)"); }
};

// The first step of a chunk.
class TripsWriter : ChunkWriter {
 public:
  using ChunkWriter::ChunkWriter;

  Result<Step> Write(const Chunks& chunks) {
    ReadControl(chunks, Access::kReadWrite);
    Registers(true);
    Elements(chunks);
    SaveOrRestore(chunks);
    OpenWord("");
    for (int note = 0; note < program_.notes; ++note) Line("uint {} = 0u;", NameOfNote(note));
    OpenTrip();
    WriteBlock(program_.root.condition());
    WriteBlock(program_.root.body());
    CloseBlock();
    for (int note = 0; note < program_.notes; ++note) Note(chunks, note);
    CloseBlock();
    EachCopy(chunks, fmt::format("{} || copy != 0u", Is(Part::kLastTrips)),
             [&](int place, const BufferSlice& to) { StoreResident(place, to); });
    VXLA_RETURN_IF_ERROR(CheckSharedMemory());
    return FinishKernel("while, trips of a chunk", program_.lanes, program_.share.groups);
  }

 private:
  // Where `first` holds the state lies where the results do, else in the copies.
  template <typename Function>
  void EachCopy(const Chunks& chunks, const std::string& first, const Function& function) {
    for (const bool other : {false, true}) {
      OpenBlock(other ? fmt::format("if (!({}))", first) : fmt::format("if ({})", first));
      for (const auto& [place, copy] : chunks.copies) {
        if (IsResident(place)) function(place, other ? copy : memory_.SliceOf(place));
      }
      CloseBlock();
    }
  }
  // Of arrays in memory.
  void SaveOrRestore(const Chunks& chunks) {
    bool any = false;
    for (const auto& [place, copy] : chunks.copies) {
      if (IsResident(place)) continue;
      any = true;
      const LoopPlace& at = program_.places[static_cast<size_t>(place)];
      const int there = kernel_.AddBuffer(at.type, Access::kReadWrite, memory_.SliceOf(place)),
                saved = kernel_.AddBuffer(at.type, Access::kReadWrite, copy);
      const int64_t own = at.count / program_.share.groups;
      const std::string base = OwnBase(at.count, program_.share.groups);
      OpenBlock("for (uint i = {0}lane; i < {0}{1}u; i += {2}u)", base, own, program_.lanes);
      OpenBlock("if ({})", Is(Part::kLastTrips));
      Move(at.type, saved, there);
      CloseBlock();
      OpenBlock("else");
      Move(at.type, there, saved);
      CloseBlock(2);
    }
    if (any) Barrier();
  }
  void Move(ElementType type, int from, int to) {
    Declare(CarrierType(type), "moved", kernel_.Loaded(from, "i"));
    Add(kernel_.Storing(to, "i", "moved"));
  }
  void Elements(const Chunks& chunks) {
    for (int place = 0; place < static_cast<int>(program_.places.size()); ++place) {
      if (!IsResident(place)) continue;
      DeclareResident(place);
      if (program_.places[static_cast<size_t>(place)].kind == LoopPlace::Kind::kOperand)
        LoadResident(place, memory_.SliceOf(place));
    }
    EachCopy(chunks, "copy == 0u", [&](int place, const BufferSlice& from) { LoadResident(place, from); });
  }
  // One lane of a subgroup tells the others' notes, unless they have been told.
  void Note(const Chunks& chunks, int note) {
    const std::string name = NameOfNote(note), at = chunks.NoteAt(note);
    const int k = Control(chunks, Access::kReadWrite);
    std::string tells;
    if (const uint32_t lanes = phases_.SubgroupThatShuffles(); lanes > 1) {
      kernel_.NoteShuffles();
      Line("[[unroll]] for (uint m = 1u; m < {0}u; m *= 2u) {1} |= subgroupShuffleXor({1}, m);", lanes, name);
      tells = fmt::format("lane % {}u == 0u && ", lanes);
    }
    OpenBlock("");
    Declare("uint", "told", kernel_.Loaded(k, at));
    OpenBlock("if ({}({} & ~told) != 0u)", tells, name);
    Line("atomicOr(", kernel_.ElementAt(k, at), fmt::format(", {});", name));
    CloseBlock(2);
  }
};

// The second one.
class QuestionWriter : ChunkWriter {
 public:
  QuestionWriter(const LowerContext& context, const LoopProgram& program, BufferMap& buffers, LoopMemory& memory)
      : ChunkWriter(context, program, buffers, memory) {
    registers_only_ = true;
    phases_.TakeNotes();
  }

  Step Write(const Chunks& chunks, const BufferSlice& goes_on) {
    ReadControl(chunks, Access::kReadWrite);
    Registers(true);
    Line("bool holds = true;");
    OpenWord("holds && ");
    const int k = Control(chunks, Access::kRead);
    for (int note = 0; note < program_.notes; ++note)
      Declare("uint", NameOfNote(note), kernel_.Loaded(k, chunks.NoteAt(note)));
    OpenTrip();
    WriteBlock(program_.root.condition());
    Line("if ({} && !{}) {{ holds = false; break; }}", Is(Part::kTrips), NameOfRegister(program_.root.decides));
    WriteBlock(program_.root.body());
    CloseBlock(2);
    Barrier();  // all of it has been read by all
    Tell(chunks, goes_on);
    return FinishKernel("its condition", kLanesThatAsk, 1);
  }

 private:
  void Tell(const Chunks& chunks, const BufferSlice& goes_on) {
    const int k = Control(chunks, Access::kWrite);
    OpenBlock("for (uint i = lane; i < {}u; i += {}u)", program_.notes * chunks.words(), kLanesThatAsk);
    Add(kernel_.Storing(k, fmt::format("{}u + i", Chunks::kNotes), "0u"));
    CloseBlock();
    const std::string last = Is(Part::kLastTrips);
    OpenBlock("if (lane == 0u)");
    OpenBlock("if (holds)");
    for (const LoopState& state : program_.state) {
      if (state.value.reg < 0) continue;
      const ElementType type = program_.registers[static_cast<size_t>(state.value.reg)].type;
      const BufferSlice slice = memory_.Inside(buffers_.SliceOf(*program_.loop, state.leaf));
      Add(kernel_.Storing(kernel_.AddBuffer(type, Access::kWrite, slice), "0u", NameOfRegister(state.value.reg)));
    }
    CloseBlock();
    const auto tell = [&](int64_t word, const std::string& value) {
      Add(kernel_.Storing(k, fmt::format("{}u", word), value));
    };
    tell(Chunks::kPart, fmt::format("({} ? {}u : holds ? {}u : {}u)", last, static_cast<int>(Part::kEnded),
                                    static_cast<int>(Part::kTrips), static_cast<int>(Part::kLastTrips)));
    tell(Chunks::kCopy, "(holds ? copy ^ 1u : copy)");
    tell(Chunks::kTrips, fmt::format("(holds ? min(2u * trips, {}u) : trip)", chunks.most));
    Add(kernel_.Storing(kernel_.AddBuffer(ElementType::kS32, Access::kWrite, goes_on), "0u",
                        fmt::format("({} ? 0 : 1)", last)));
    CloseBlock();
  }
};

}  // namespace

bool GoesInChunks(const LowerContext& context, const LoopProgram& program) {
  if (program.notes == 0) return false;
  const int64_t least = TunerOf(context.facts).LeastInChunks();
  return program.LargestWritten() >= least && NotedRegisters().Find(program);
}

Result<LoopLowering> LowerLoopInChunks(const LowerContext& context, const LoopProgram& program, BufferMap& buffers,
                                       LoopMemory& memory) {
  const Instruction& loop = *program.loop;
  const Chunks chunks = ChunkWriter(context, program, buffers, memory).PlanChunks();
  if (chunks.most < 1) {
    return Unsupported("{}: a trip of {} turns of loops; loops of this device stop after {}", loop.name(),
                       program.trip_iterations, context.facts.quirks.loop_iteration_limit);
  }
  LoopLowering lowering;
  lowering.runs = -1;
  lowering.goes_on = buffers.Scratch(4);
  lowering.steps = memory.MovePacked(true);
  VXLA_ASSIGN_OR_RETURN(const Step trips, TripsWriter(context, program, buffers, memory).Write(chunks));
  const Step question = QuestionWriter(context, program, buffers, memory).Write(chunks, lowering.goes_on);
  for (int i = 0; i < kChunksAtOnce; ++i) {
    lowering.steps.push_back(trips);
    lowering.steps.push_back(question);
  }
  for (Step& moved : memory.MovePacked(false)) lowering.steps.push_back(std::move(moved));
  std::vector<uint32_t> control(static_cast<size_t>(chunks.control.size_bytes) / 4);
  control[Chunks::kTrips] = static_cast<uint32_t>(chunks.first);
  std::vector<SharedPlace>& in_place = lowering.steps.front().in_place;
  // In memory of its own from the beginning: what the second step is the first to use may lie where the copies do.
  in_place.push_back({buffers.Constant({1}), lowering.goes_on, true});
  in_place.push_back({buffers.Constant(std::move(control)), chunks.control, true});
  for (const LoopState& state : program.state)
    in_place.push_back({buffers.SliceOf(*loop.operand(0), state.leaf), buffers.SliceOf(loop, state.leaf), true});
  return lowering;
}

}  // namespace VXLA_NAMESPACE::vulkan
