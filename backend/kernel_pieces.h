// Loops and reductions side by side: several steps of one kernel, none of which waits for another, as one dispatch.
// A workgroup finds out which step it belongs to and reads that step's arguments: where its tensors are, or which
// elements of the arrays of descriptors they are.
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
// has b tensors and p parameters: n * b addresses, the first workgroup of each piece, n * p parameters. Under
// descriptors nothing lies at the addresses, which are as many as there are elements in the arrays, and behind the
// first workgroups come n * b pairs of words: the tensor's place in its array and its first byte there.
inline uint32_t PiecesOf(const KernelKey& key) {
  const size_t constant = PiecesConstant(key);
  return constant > 0 && key.constants.size() > constant ? key.constants[constant] : 0;
}

}  // namespace VXLA_NAMESPACE
