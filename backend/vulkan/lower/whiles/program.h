// Loop programs: what a workgroup does that runs a whole while, or its part of the rows of one, as a tree of phases;
// where every value lies and between which phases lanes wait for each other. Decided before any text is written.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backend/vulkan/lower/lower.h"
#include "core/passes/base/origins.h"

namespace VXLA_NAMESPACE::vulkan {

// Memory of an array: an operand's that the loop only reads, a leaf of the loop's state, or scratch.
struct LoopPlace {
  enum class Kind : uint8_t { kOperand, kState, kScratch } kind = Kind::kScratch;
  const Instruction* instruction = nullptr;  // of an operand
  int leaf = 0;                              // of it, or of the state
  int64_t size_bytes = 0;                    // of scratch
  // Each lane keeps its own element in a register: nothing reads or writes it but element by element, and there is no
  // more than one element for each lane, or none is read.
  bool resident = false;
  ElementType type = ElementType::kPred;
  int64_t count = 0;
};

// A value of one element that every lane keeps for itself.
struct LoopRegister {
  ElementType type = ElementType::kPred;
  const Instruction* constant = nullptr;  // what it always is
};

// Where a value lies: one of the two.
struct LoopValue {
  int reg = -1, place = -1;
};

// A phase reads or writes a place. `own`: each lane only the elements that are its own in every phase, so that it waits
// for nobody. (Phases that go by different widths give an element to different lanes. Only software drivers have such,
// and their workgroup is one subgroup, in lockstep, or each of its lanes has one element.) `again`: each element that
// it writes the same lane writes in every trip that does; no other trip's.
struct LoopUse {
  int place = -1;
  bool writes = false, own = false, again = false;
};

// Workgroups that share a loop's rows and elements out. Each has a part of every array to itself, so that none knows of
// the others; or they meet at barriers of the whole dispatch, elements and rows go round among those that run, and
// `groups` are so many at most.
struct LoopShare {
  int64_t groups = 1;
  bool meets = false;
  // By which a workgroup's part of an array is known before it runs.
  int64_t parts() const { return meets ? 1 : groups; }
};

struct LoopNode;
using LoopBlock = std::vector<LoopNode>;

struct LoopNode {
  enum class Kind : uint8_t { kUnit, kCopy, kAssign, kWhile, kConditional } kind = Kind::kUnit;
  const Instruction* instruction = nullptr;  // of a unit, a while or a conditional
  std::vector<LoopUse> uses;
  bool waits = false;  // a barrier comes first
  // Of a unit, by leaf.
  std::vector<LoopValue> results;
  std::vector<int> arrays;   // of an update: the places of the arrays that change
  int fills = -1;            // before an update: writes the array of this number, which its fusion computes
  bool sums_parts = false;   // before a scatter: sums of parts of its runs, into `scratch` of both
  std::vector<int> scratch;  // of a unit: places that it alone uses (lower/whiles/units/units.h)
  // Of a unit: dynamic-update-slices of what it makes, into whose arrays it stores each element too as it stores it as
  // its own. Their uses are among the unit's.
  std::vector<LoopNode> updates;
  // Of Fourier transforms of one kind that are made at once: the rows of what they read, of what they write, of what
  // each uses alone.
  std::vector<int> rows;
  // Of reductions of all elements of preds, each to whether any holds or all do: the number of the first of them. They
  // are noted trip by trip, and known after the dispatch.
  int notes = -1;
  // Of a copy.
  int from = -1, to = -1;
  ElementType type = ElementType::kPred;
  int64_t count = 0;
  // Of an assignment: registers that take values over, all at once.
  std::vector<std::pair<int, LoopValue>> assigned;
  // Of a while its condition and its body, of a conditional its branches.
  std::vector<LoopBlock> blocks;
  int decides = -1;         // the register of the condition's value or of the selector
  int64_t trip_count = -1;  // of a while, where it is known: the condition is not asked
  // Of an inner while that ends by its data: what a trip takes, which the dispatch counts.
  int64_t trip_cost = 0, trip_iterations = 0;
  // Inner whiles that end by their data are numbered from 1 in the order of their conditions: a dispatch that has done
  // its share stops before a trip of one, and another dispatch goes on there. These are the numbers of those in the
  // node, itself included; 0: none.
  int first_stop = 0, last_stop = 0;
  int counter = -1;  // of a while of known length around some: the register of its trips
};

// A leaf of the state that changes.
struct LoopState {
  int leaf = 0;
  LoopValue value;
};

class LoopProgram {
 public:
  // Unsupported with the reason where no workgroup runs the loop. `can_lower` answers for fusions.
  // `share`: workgroups that share its rows out (lower/whiles/groups.h). `notes`: whether reductions may be noted
  // (lower/whiles/chunks.h).
  static Result<LoopProgram> Read(const LowerContext& context, const Instruction& loop, LoopShare share, bool notes,
                                  const std::function<Status(const Instruction&)>& can_lower);
  // Lanes wait for each other somewhere.
  bool has_barriers = false;
  bool emulates = false;  // 64-bit types, by pairs of words

  const Instruction* loop = nullptr;
  LoopNode root;  // the while
  std::vector<LoopPlace> places;
  std::vector<std::vector<int>> rows;  // scratch places of one size that follow each other in memory
  std::vector<LoopRegister> registers;
  std::vector<LoopState> state;
  // Registers that hold an element of an operand.
  std::vector<std::pair<int, LeafOrigin>> loaded;
  std::map<std::pair<const Instruction*, int>, LoopValue> values;  // by origin
  uint32_t lanes = 1;                                              // of a workgroup
  // Workgroups, each of which runs the whole loop for its part of every array: neighbouring elements, as many as
  // others, but for the last ones where lanes keep them in registers. Or such as meet.
  LoopShare share;
  int64_t phases = 0;           // that one trip is made of, those of inner loops once
  int64_t trip_cost = 0;        // simple operations of one trip, of one workgroup; of all where they meet
  int64_t alone_cost = 0;       // of these, what one workgroup does where they meet
  int64_t trip_iterations = 0;  // of the loops of one invocation, in one trip
  int notes = 0;                // reductions that are noted
  int stops = 0;                // inner whiles that end by their data; a trip counts one of theirs

  // Lanes keep every array that changes in registers, and wait for nobody.
  bool IsInRegisters() const;
  // Elements of the largest array that it writes; 1: none.
  int64_t LargestWritten() const;
  // The most lanes that a loop's workgroup has.
  static uint32_t MostLanes(const DeviceFacts& facts);

  // Where a leaf of an instruction in one of the loop's computations comes from, through loops that hand it on too.
  LeafOrigin OriginOf(const Instruction& instruction, int leaf) const;
  // Its value.
  LoopValue ValueOf(const Instruction& instruction, int leaf) const;
  // How many neighbours a lane takes at a time of so many elements. What only moves goes by four, as in loops that are
  // kernels of their own: lavapipe takes a word of a pair that it loaded from a vector of 64 bytes on the stack, and
  // waits until that is written (a tenth of a recurrent network).
  int64_t WidthOf(int64_t count, bool moves = false) const;
  // Of the elements that a fusion computes.
  int64_t WidthOf(int64_t count, const FusionDescription& body) const;

 private:
  friend class LoopPlaces;
  friend class LoopReader;
  mutable Origins origins_;
  int64_t most_width_ = 1;
};

// Whether the loop's body hands this leaf of the state on as it is.
bool HandsOnLeaf(Origins& origins, const Instruction& loop, int leaf);

// Whether an update computes nothing but its place.
bool OnlyMoves(const FusionDescription& update);

// The registers and places that are used before and after a place where a dispatch may stop. Pure.
struct LoopValuesAcrossStops {
  std::set<int> registers, places;
};
LoopValuesAcrossStops ValuesAcrossStops(const LoopProgram& program);

// Marks the phases that have to wait. Pure; for tests.
void PlaceBarriers(LoopNode& root);

}  // namespace VXLA_NAMESPACE::vulkan
