// Values that are known to be multiples of a power of two, and how large they can be: counts, flags, what was converted
// from integers or from narrow floats. Sums of them that an integer holds are the same in any order.
#pragma once

#include <optional>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

// What holds of each element of an array.
struct FixedRange {
  int unit = 0;          // where it is finite, it is a multiple of 2^unit
  double most = 0;       // and its magnitude is this at most
  bool finite = true;    // it is
  bool negative = true;  // it may lie below 0, or be -0

  // The largest magnitude in units.
  double units() const;
};

// Told by how the elements are made, else by their type, an integer or floating one.
std::optional<FixedRange> FixedRangeOf(const Instruction& value);

}  // namespace VXLA_NAMESPACE
