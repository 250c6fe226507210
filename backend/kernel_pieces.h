// Loops side by side: several steps of one kernel, none of which waits for another, as one dispatch. Only tensors are
// bound by address, so a workgroup can find out which step it belongs to and read that step's arguments.
#pragma once

#include "backend/step.h"

namespace VXLA_NAMESPACE {

inline constexpr const char* kLoopAlgorithm = "elementwise/fused_loop.comp";
// The specialisation constant that says of how many pieces a loop is.
inline constexpr size_t kPiecesConstant = 4;

// How many steps share a dispatch of this kernel; 0: it is one step's. The argument block of n pieces, each of which
// has b addresses and p parameters: n * b addresses, the first workgroup of each piece, n * p parameters.
inline uint32_t PiecesOf(const KernelKey& key) {
  const bool several = key.algorithm == kLoopAlgorithm && key.constants.size() > kPiecesConstant;
  return several ? key.constants[kPiecesConstant] : 0;
}

}  // namespace VXLA_NAMESPACE
