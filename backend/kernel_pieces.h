// Loops and reductions side by side: several steps of one kernel, none of which waits for another, as one dispatch.
// Only tensors are bound by address, so a workgroup can find out which step it belongs to and read that step's
// arguments.
#pragma once

#include "backend/step.h"

namespace VXLA_NAMESPACE {

inline constexpr const char* kLoopAlgorithm = "elementwise/fused_loop.comp";
inline constexpr const char* kRowsAlgorithm = "reduce/rows.comp";

// The specialisation constant that says of how many pieces a kernel is: the first behind the algorithm's own; 0: it has
// no pieces.
inline size_t PiecesConstant(const KernelKey& key) {
  return key.algorithm == kLoopAlgorithm ? 4 : key.algorithm == kRowsAlgorithm ? 6 : 0;
}

// How many steps share a dispatch of this kernel; 0: it is one step's. The argument block of n pieces, each of which
// has b addresses and p parameters: n * b addresses, the first workgroup of each piece, n * p parameters.
inline uint32_t PiecesOf(const KernelKey& key) {
  const size_t constant = PiecesConstant(key);
  return constant > 0 && key.constants.size() > constant ? key.constants[constant] : 0;
}

}  // namespace VXLA_NAMESPACE
