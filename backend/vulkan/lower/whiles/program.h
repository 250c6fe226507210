// Loop programs: what a workgroup does that runs a whole while, or its part of the rows of one, as a tree of phases;
// where every value lies and between which phases lanes wait for each other. Decided before any text is written.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/whiles/units/shape.h"
#include "backend/vulkan/lower/whiles/units/units.h"
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

// What a phase uses, and whether a barrier comes before it.
struct LoopAccesses {
  std::vector<LoopUse> uses;
  bool waits = false;
};

// Lanes share out what a fusion, or an operation outside of one, computes.
struct LoopUnitNode : LoopAccesses {
  LoopUnitKind kind = LoopUnitKind::kElements;
  std::shared_ptr<const FusionDescription> body;
  LoopRowsShape shape;                           // of kRows
  LoopSharing sharing = LoopSharing::kElements;  // among cooperative workgroups
  int64_t grid_waits = 0;                        // of these all, within it
  int number = -1;                               // of kFill: the operand; of kNotes: the first reduction's
  std::vector<LoopValue> results;                // by leaf
  std::vector<int> arrays;                       // places of what kUpdate and kScatter change
  std::vector<int> scratch;                      // of kWorkgroup, kParts and kScatter: places that it alone uses
  // Dynamic-update-slices of what it makes, into whose arrays it stores each element too as it stores it as its own.
  // Their uses are among the unit's.
  std::vector<LoopUnitNode> updates;
  // Of Fourier transforms of one kind that are made at once: the rows of what they read, of what they write, of what
  // each uses alone.
  std::vector<int> rows;
  const Instruction& instruction() const { return *body->instruction; }
};

struct LoopCopy : LoopAccesses {
  int from = -1, to = -1;
  ElementType type = ElementType::kPred;
  int64_t count = 0;
};

// Registers that take values over, all at once.
struct LoopAssignment : LoopAccesses {
  std::vector<std::pair<int, LoopValue>> assigned;
};

struct LoopNode;
using LoopBlock = std::vector<LoopNode>;

// Goes through blocks of its own as a register says.
struct LoopControl {
  const Instruction* instruction = nullptr;
  std::vector<LoopBlock> blocks;
  int decides = -1;  // the register of the condition's value or of the selector
  // Inner whiles that end by their data are numbered from 1 in the order of their conditions: a dispatch that has done
  // its share stops before a trip of one, and another dispatch goes on there. These are the numbers of those in here,
  // itself included; 0: none.
  int first_stop = 0, last_stop = 0;
  bool stops() const { return last_stop > 0; }
};

struct LoopWhile : LoopControl {
  int64_t trip_count = -1;  // where it is known: the condition is not asked
  // Of one inside that ends by its data: what a trip takes, which the dispatch counts.
  int64_t trip_cost = 0, trip_iterations = 0;
  int counter = -1;  // of one of known length around such: the register of its trips
  LoopBlock& condition() { return blocks[0]; }
  LoopBlock& body() { return blocks[1]; }
  const LoopBlock& condition() const { return blocks[0]; }
  const LoopBlock& body() const { return blocks[1]; }
};

struct LoopConditional : LoopControl {};  // by branch

struct LoopNode {
  std::variant<LoopUnitNode, LoopCopy, LoopAssignment, LoopWhile, LoopConditional> is;
  template <typename T>
  T* As() {
    return std::get_if<T>(&is);
  }
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&is);
  }
  // It is one of the two.
  LoopAccesses* accesses();
  LoopControl* control();
  const LoopAccesses* accesses() const { return const_cast<LoopNode*>(this)->accesses(); }
  const LoopControl* control() const { return const_cast<LoopNode*>(this)->control(); }
};

// Every node of the blocks, and then those of its own.
void ForEachInside(const LoopControl& control, const std::function<void(const LoopNode&)>& visit);

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
  LoopWhile root;
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
  int64_t trip_cost = 0;        // simple operations of one trip, of one workgroup; of all cooperative ones
  int64_t alone_cost = 0;       // of these, what takes as long as if one of cooperative workgroups did it
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

// Marks the phases that have to wait. Pure.
void PlaceBarriers(LoopWhile& root);

}  // namespace VXLA_NAMESPACE::vulkan
