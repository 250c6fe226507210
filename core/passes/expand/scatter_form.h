// What is known of a scatter before it runs: which updates can meet in one element, and so how a device applies them.
#pragma once

#include <optional>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

// The dimensions of a scatter by what they are. A scatter applies `count` windows of `window_sizes`; window n lies
// where index vector n says.
struct ScatterForm {
  explicit ScatterForm(const Instruction& scatter);

  int arrays = 1;                     // operands 0 ... arrays - 1, the indices, as many updates
  int64_t count = 1;                  // index vectors: the product of batch_sizes
  IntList batch_sizes, window_sizes;  // in the order of the updates' dimensions
  IntList batch_dims, window_dims;    // of the updates
  IntList indices_dims;               // of the indices, by batch dimension
  // By operand dimension: the place in window_dims, the element of the index vector, the batch dimension; -1: none.
  IntList window_of, index_of, batch_of;
  // Two windows with different starts can share elements.
  bool can_overlap = false;
};

enum class ScatterWay {
  kApart,     // no two updates meet, or the program says so
  kAtomic,    // the result does not depend on the order
  kOneByOne,  // few windows: each place of the window goes through them in order
  kRuns,      // equal index vectors are neighbours: one invocation goes through a run in order
  kLast,      // the same, of updates that replace: the last of a run
  kParts,     // the same, many and associative: parts of equal length, then those of runs that lie in several
  kPlaces,    // sorted, several for each place: an element goes through its run, in the order of kRuns or kParts
  kUnordered  // to be sorted first (ExpandScatters)
};
// What the way depends on of the device (target_info.h).
struct ScatterTarget {
  bool accesses_by_lane = true, wide_atomics = false;
};
ScatterWay WayOf(const Instruction& scatter, const ScatterTarget& target);
// Whether kPlaces will do once windows come in the order of where they start: every element belongs to one that may
// start somewhere, so it can look for its run.
bool MayGoByPlaces(const Instruction& scatter, const ScatterTarget& target);
// Where the runs begin can be known before (ExpandScatters, Notes::run_starts): the indices are then, for each place in
// row-major order of the dimensions in which windows start, how many windows come before its own; their number without
// those outside; and, where AddsInParts, of each part the place whose run it lies in whole and goes on, else -1.

// How an element takes updates whose result does not depend on their order, none of them waiting for another.
enum class OrderFree : uint8_t {
  kNo,
  kFunction,     // by atomic functions of its words: add, and, or, xor, and extremes of 32-bit integers
  kExchange,     // the 32-bit word that it lies in is compared and exchanged
  kExchangeWide  // its 64 bits are
};
// Of array k.
OrderFree OrderFreeOf(const Instruction& scatter, int k);
// The computation's result for array k, and the operation that it is of the element and its update, in either order; of
// pred it is an And, Or or Xor.
const Instruction& ResultOf(const Instruction& scatter, int k);
std::optional<Opcode> OperationOf(const Instruction& scatter, int k);

// Its updates take the place of what was there.
bool Replaces(const Instruction& scatter);
// Its runs are added up in parts (kParts, and kPlaces to the same bits).
bool AddsInParts(const Instruction& scatter);
// So many windows make a part: the same on all devices, as sums depend on it.
int64_t WindowsOfAPart(int64_t count);

}  // namespace VXLA_NAMESPACE
