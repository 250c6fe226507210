// The limits that vxla sets itself, in one place; docs/reference/limits.md states them. Beyond each there is a message:
// text, files and callers can ask for more than recursion, memory and 64-bit sums can give.
#pragma once

#include <cstdint>

namespace VXLA_NAMESPACE {

// The dimensions of an array: NumPy's arrays have no more, and index maps are worked out per dimension.
inline constexpr int kMaxRank = 64;
// 16 TiB: larger arrays are mistakes, and sums over half a million of them stay within 63 bits.
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 44;
// Paddings, strides, dilations and sizes of windows; and what a window pads and dilates
// a dimension to. Index arithmetic with them stays within 63 bits.
inline constexpr int64_t kMaxWindowNumber = int64_t{1} << 44;
inline constexpr int64_t kMaxPaddedSize = int64_t{1} << 61;
// The bits of reduce-precision: XLA keeps them in 32 bits.
inline constexpr int64_t kMaxPrecisionBits = (int64_t{1} << 31) - 1;
// Tuples within tuples, and the arrays, tokens and tuples in one of them: a few lines of text can double a tuple again
// and again.
inline constexpr int kMaxTupleDepth = 64;
inline constexpr int64_t kMaxTupleNodes = int64_t{1} << 16;
// Computations that call computations: evaluating and planning recurse once a level.
inline constexpr int kMaxCallDepth = 500;
// What inlining calls may come to, over a program and in a computation of scalars.
inline constexpr int64_t kMaxInlinedInstructions = 250'000;
// Operands and computation bodies written inside one another: the parser recurses.
inline constexpr int kMaxTextNesting = 200;
// What an array of an .npy or .npz file may claim.
inline constexpr int64_t kMaxFileArrayBytes = int64_t{1} << 40;
// Buffers in a device's memory begin at multiples of it: the most that Vulkan lets a device ask for.
inline constexpr int64_t kBlockAlignment = 256;
inline constexpr int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace VXLA_NAMESPACE
