// Fusion rules: what an instruction is to fusion, and what it costs. Pure predicates over single instructions.
#pragma once

#include "core/index_map.h"
#include "core/instruction.h"
#include "core/target_info.h"

namespace vxla {

// Can be part of a fused computation besides a hero: elementwise ops, index maps, reshapes, same-width
// bitcast-converts.
bool IsFusible(const Instruction& instruction);
// Moves elements only.
bool IsIndexOnly(const Instruction& instruction);
// Costs nothing to repeat in every kernel that wants it: scalar constants, broadcasts of them, iotas.
bool IsFree(const Instruction& instruction);
bool IsHero(const Instruction& instruction);  // dot, reduce, reduce-window
// A get-tuple-element of a variadic hero: lives in its fusion.
bool IsHeroElement(const Instruction& instruction);

// Rough cost of one element in simple operations: 0 for index maps, 1 for an addition, 4 for a division, 16 for a
// transcendental function; more for complex and double.
int ElementCost(const Instruction& instruction);

// What one element comes to in a kernel once every function is inlined, in scalar operations of 32 bits: an addition is
// 1, a division of complex numbers 512, an emulated f64 function thousands. Within a factor of two or so.
int64_t ExpandedOperations(const Instruction& instruction, const TargetInfo& target);

// Multiply-adds of a dot for each element of one operand.
int64_t DotReuse(const Instruction& dot, const Instruction& operand);

// True if `user`, at row-major linear index i, reads its operand `k` at linear index i.
bool ReadsAtOwnIndex(const Instruction& user, int k);

// The iteration space of a row program: O rows of R elements.
struct RowSpace {
  explicit RowSpace(const Instruction& reduce);
  bool Matches(const Instruction& reduce) const;  // the same element space and reduced dimensions

  enum class Place { kNone, kRow, kElement };
  // Where the elements of an array of these dimensions sit: one per row, one per element, or neither.
  Place PlaceOf(const Shape& shape) const;
  // The multi-index of an array at `place` in terms of this space's variables.
  MultiIndex IndexAt(Place place, std::span<const int64_t> dimensions);
  // True if `user` at its own place reads operand k, a value at `operand_place`, at that place of the same row (and
  // element).
  bool ReadsOwnRow(const Instruction& user, Place user_place, int k, Place operand_place);

  IntList element_dimensions, reduced;
  int64_t rows = 1, row_size = 1;

 private:
  IndexSpace space_;
  int row_variable_, element_variable_;
  MultiIndex element_index_;
  IndexExpression element_linear_;
};

}  // namespace vxla
