// Fusion rules: what an instruction is to fusion, and what it costs. Pure predicates over single instructions.
#pragma once

#include <optional>

#include "core/ir/instruction.h"
#include "core/ir/target_info.h"
#include "core/maps/index_map.h"

namespace VXLA_NAMESPACE {

// The instruction's result or an operand is dynamic: what live sizes touch takes nothing else into its kernel.
bool TouchesLiveSizes(const Instruction& instruction);
// The instruction's result, an operand or something in a computation that it calls is dynamic.
bool UsesLiveSizes(const Instruction& instruction);

// Can be part of a fused computation besides a hero: elementwise ops, index maps, reshapes, same-width
// bitcast-converts.
bool IsFusible(const Instruction& instruction);
// Moves elements only.
bool IsIndexOnly(const Instruction& instruction);
// Costs nothing to repeat in every kernel that wants it: scalar constants, broadcasts of them, iotas.
bool IsFree(const Instruction& instruction);
// The kind of fusion that is made around an op with a kernel of its own; none: it has none, or is a fusion itself.
std::optional<FusionKind> HeroKind(Opcode opcode);
// It has a kernel of its own that fusion makes larger; one that stands alone is lowered as it is.
bool IsHero(const Instruction& instruction);
// Whether what follows the hero, elementwise, is computed in its kernel.
bool TakesEpilogue(const Instruction& hero);
// Whether the kernel asks for each element of what feeds it about once.
bool AsksOnce(const Instruction& hero);
// Of dynamic-update-slice and scatter: how many of the first operands are changed in part, each in its own place.
int UpdatedArrays(const Instruction& instruction);
// A get-tuple-element of a variadic hero: lives in its fusion.
bool IsHeroElement(const Instruction& instruction);

// Rough cost of one element in simple operations: 0 for index maps, 1 for an addition, 4 for a division, 16 for a
// transcendental function; more for complex and double.
int ElementCost(const Instruction& instruction);
// Of all of them: a computation's, or those that a fusion computes.
template <typename Instructions>
int64_t ElementCosts(const Instructions& instructions) {
  int64_t cost = 0;
  for (const auto& instruction : instructions) cost += ElementCost(*instruction);
  return cost;
}

// What one element comes to in a kernel once every function is inlined, in scalar operations of 32 bits: an addition is
// 1, a division of complex numbers 512, an emulated f64 function thousands. Within a factor of two or so.
int64_t ExpandedOperations(const Instruction& instruction, const TargetInfo& target);

// Multiply-adds of a dot or convolution for each element of one operand.
int64_t ProductReuse(const Instruction& product, const Instruction& operand);

// True if `user`, at row-major linear index i, reads its operand `k` at linear index i.
bool ReadsAtOwnIndex(const Instruction& user, int k);

// Whether a fusion reads fused parameter `number` only at the row-major position of the element that it is about to
// write, or to reduce.
bool ReadsOwnElementOnly(const Computation& fused, int64_t number);

// The iteration space of a row program: O rows of R elements. Arrays lie in it by their linear index, so shapes that
// reshapes turn into one another lie in it alike: a reduction of [B,S,D] over D and one of [B*S,D] over D share a
// space.
class RowSpace {
 public:
  explicit RowSpace(const Instruction& reduce);
  // The same rows of the same elements, whatever the dimensions, and taken in order or not.
  bool Matches(const Instruction& reduce) const;

  enum class Place { kNone, kRow, kElement };
  // Where the elements of an array of these dimensions sit: one per row, one per element, or neither.
  Place PlaceOf(const Shape& shape) const;
  // The index of an array at `place`, at this row and this element of it.
  MultiIndex IndexAt(IndexSpace& space, Place place, std::span<const int64_t> dimensions, const IndexExpression& row,
                     const IndexExpression& element) const;
  // True if `user` at its own place reads operand k, a value at `operand_place`, at that place of the same row (and
  // element).
  bool ReadsOwnRow(const Instruction& user, Place user_place, int k, Place operand_place) const;
  // Neighbouring elements of memory belong to different rows.
  bool rows_are_contiguous() const { return !runs_.empty() && !runs_.back().reduced; }

  int64_t rows = 1, row_size = 1;

 private:
  // Neighbouring dimensions that are all kept or all reduced, as one; dimensions of size 1 are left out.
  struct Run {
    int64_t size;
    bool reduced;
    friend bool operator==(const Run&, const Run&) = default;
  };
  static std::vector<Run> RunsOf(const Instruction& reduce);
  IndexExpression ElementLinear(IndexSpace& space, const IndexExpression& row, const IndexExpression& element) const;

  static bool IsInOrder(const Instruction& reduce);

  std::vector<Run> runs_;
  bool in_order_;  // the combiner does not associate (CombinerOrder::kInOrder)
};

}  // namespace VXLA_NAMESPACE
