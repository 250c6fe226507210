// Where the values of a loop lie while its program is being read, and which of its places may be written over.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "backend/vulkan/lower/whiles/order.h"
#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

// What waiting for all lanes, or setting up a phase, costs beside a simple operation of one element.
inline constexpr int64_t kPhaseCost = 64;

// Of one run of a block, or one trip of a loop. `alone`: operations among them that take as long as if one
// workgroup did them, whichever meet.
struct LoopCost {
  int64_t operations = 0, iterations = 0, alone = 0;
  void Add(const LoopCost& other) {
    operations += other.operations;
    iterations += other.iterations;
    alone += other.alone;
  }
};

// A computation that is being read: which of its places may be written, the value that each holds, and where
// results should lie best.
struct LoopScope {
  const Computation* computation;
  LoopOrder uses;
  std::map<int, LoopKey> holder;     // of places that may be written; no instruction: free
  std::map<LoopKey, int> preferred;  // of results, by origin
  LoopBlock* block;
  int position = 0;
};

class LoopPlaces {
 public:
  LoopPlaces(const Instruction& loop, uint32_t lanes, LoopShare share);

  LeafOrigin OriginOf(const Instruction& instruction, int leaf) const { return program_.OriginOf(instruction, leaf); }
  bool HandsOn(const Instruction& loop, int leaf) { return HandsOnLeaf(program_.origins_, loop, leaf); }
  int NewRegister(ElementType type, const Instruction* constant = nullptr);
  int NewPlace(LoopPlace place, const Shape& shape);
  int NewScratch(const Shape& shape);
  // Values may be asked for once their computation has been read so far.
  LoopValue ValueOf(const LeafOrigin& origin);
  LoopValue ValueOf(const Instruction& instruction, int leaf) { return ValueOf(OriginOf(instruction, leaf)); }
  // A constant, or what the loop reads and does not change.
  LoopValue OutsideValue(const LeafOrigin& origin);
  // The state of the whole loop, and what it only reads.
  void BindOutside();
  void BindState(const Instruction& loop, int leaf, LoopValue value);
  // Whether the instruction at hand may write its leaf over what a place holds; `shares` tells of an operand that the
  // value is whether each lane reads it only at the element it is about to write.
  bool MayTake(const LoopScope& scope, int place, const Instruction& at, const std::function<bool(int)>& shares);
  // The place of a result: where it goes in the end if it may, else scratch.
  int PlaceFor(LoopScope& scope, const Instruction& at, int leaf, const std::function<bool(int)>& shares);
  // Of so many elements: under another width, as a bitcast gives it, a lane's own are not those that it has in others.
  LoopUse UseOf(int place, int64_t count, bool writes, bool own) const {
    return {place, writes, own && program_.places[static_cast<size_t>(place)].count == count};
  }
  void AddCopy(LoopBlock& block, int from, int to, const Shape& shape, LoopCost* cost);
  // So many elements, each of so many operations, lane by lane.
  void AddElements(int64_t count, int64_t each, int64_t width, LoopCost* cost) const;
  static void AddAssignment(LoopBlock& block, std::vector<std::pair<int, LoopValue>> assigned);
  // A scalar that decides, in a register.
  int RegisterOf(LoopBlock& block, const Instruction& scalar);
  // Places that lanes need not put into memory.
  void KeepResident();

 protected:
  LoopProgram program_;

 private:
  void Forget(const LoopNode& node);
  void ForgetUnit(const LoopUnitNode& unit);
  void KeepIf(int place, ElementType type);
};

}  // namespace VXLA_NAMESPACE::vulkan
