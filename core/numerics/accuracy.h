// Accuracy: the one table of how far a result may lie from the exact one, per operation and element type. The math
// tests assert it, docs/reference/accuracy.md prints it, `vxla diff` takes its budgets from it.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

// A result is within its bound if it is within `ulp` units in the last place of its own format (of the exact value's
// binade; 2^-149 steps below f32's normals) OR within `absolute` of the exact value OR, of complex numbers, within
// `norm` units in the last place of 1 times the exact result's absolute value. 0.5 means correctly rounded, 0 exact.
struct UlpBound {
  double ulp = 0;
  double absolute = 0;
  double norm = 0;
};

// Of one operation on exact operands whose result has this type; of a convert or a reduce-precision, of the rounding
// alone. Accumulations (dot, reduce ...) have the bound of their final rounding here; see AccumulationOf. Integers: 0.
UlpBound AccuracyOf(Opcode opcode, ElementType type);
// The same of an instruction whose result is an array: abs of a complex operand rounds, abs of a real one does not.
UlpBound AccuracyOf(const Instruction& instruction);

// The same by the function's name in shaders/include/math, for those that have no opcode too: exp2 log2
// hypot. An HLO opcode's text with '-' or '_'. CHECKs that the name is known and the type floating.
UlpBound AccuracyOfFunction(std::string_view name, ElementType type);
// What the norm of the table's complex power is to be multiplied by: 1, and |w log z| / 64 where that is more, as the
// angle of z^w is rounded in proportion to its size. 1 too where z or w is not finite or z is 0.
double PowerNormFactor(std::complex<double> z, std::complex<double> w);
// Every name of the table, sorted.
std::span<const std::string_view> AccuracyFunctions();

// How many units apart two results in this type may be if one is the exact value rounded (the CPU reference) and the
// other within the bound: 0 where both are correctly rounded.
int64_t UlpBudget(const UlpBound& bound);

// How many terms are added up in one element of the result: dot: the contracted elements; convolution: kernel elements
// by input features; reduce, reduce-window, scan, select-and-scatter: elements of a window (or row); scatter: the
// updates; batch norm: the elements of a feature; fft, cholesky, triangular-solve and calls of linear algebra: the
// length of the transform or the rows. 0: adds nothing up.
int64_t AccumulationLength(const Instruction& instruction);

// The error of a sum of `length` terms, relative to the sum of the terms' MAGNITUDES (of the products' for dot and
// convolution), whatever the order, when every step rounds to `accumulator`, the type that the plan adds in. A product
// of `length` factors: relative to the result. Minimum, maximum, and, or: 0 (use it for sums and products only).
//   certain: (length + 1) u, u = half a unit in the last place of 1: no order of additions is worse.
//   likely:  12 sqrt(length + 1) u where that is smaller: what independent roundings leave with a chance below 1e-15
//            (a random walk of 12 standard deviations); only sums that stagnate (2^25 equal terms one by one in f32)
//            exceed it.
// To it comes the rounding to the result's type: AccuracyOf(opcode, type).
struct AccumulationBound {
  double certain = 0;
  double likely = 0;
};
AccumulationBound AccumulationOf(ElementType accumulator, int64_t length);

// Functions of two arguments of which what Trait::kF16Variant says holds in every narrow float type:
// shaders/include/math/f32_odd.glsl has <op>_f32_odd.
bool HasOddVariant(Opcode opcode);
// Functions of one narrow float that devices with a fused multiply-add compute more quickly, rounded to the same bits:
// shaders/include/math/f32_narrow.glsl has <op>_f32_narrow.
bool HasNarrowVariant(Opcode opcode);
// Functions of f32 that they compute more quickly within the same bound, but with other bits:
// shaders/include/math/f32_exp_log.glsl and f32_special.glsl have <op>_by_fma_f32.
bool HasFusedVariant(Opcode opcode);

// The exponent and mantissa bits of a reduce-precision; more than the widest format's change nothing and are not told
// apart.
struct ReducedBits {
  int exponent = 0, mantissa = 0;
};
ReducedBits ReducedBitsOf(const Instruction& instruction);

// Half a unit in the last place of 1: 2^-24 for f32; of a complex type, of its parts; 0 for integers.
double UnitRoundoff(ElementType type);

}  // namespace VXLA_NAMESPACE
