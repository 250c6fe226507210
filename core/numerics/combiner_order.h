// In which order a combiner, the computation of a reduce, reduce-window, all-reduce ..., is to be applied.
#pragma once

#include <cstdint>

#include "core/ir/opcode.h"

namespace VXLA_NAMESPACE {

class Computation;

enum class CombinerOrder : uint8_t {
  kAny,      // shown to associate, but for rounding: elements may be grouped in any way
  kInOrder,  // known not to: from the left, the initial value first, each step in the types that the text states
  kUnknown,  // neither: grouped as the device likes, so that the order may decide the result
};

// Shown: each result is such an operation of its own two values, or one of these as it is; and of pred every case is
// gone through. Known not to: for some numbers f(f(a, b), c) and f(a, f(b, c)) lie farther apart than rounding
// explains.
CombinerOrder OrderOf(const Computation& combiner);

}  // namespace VXLA_NAMESPACE
