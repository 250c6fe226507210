// How many arithmetic operations a program does: what `vxla bench` divides by the time.
#pragma once

#include <span>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Of one instruction: an elementwise one counts one per element, a product or convolution two per term, a reduction
// or window its reducer's operations per term, scatter per update, fft 5 n log2 n, cholesky n^3 / 3 and
// triangular-solve n^2 per right-hand side; what moves data, and what runs other computations (loops, calls, scans),
// counts nothing itself.
double FlopOf(const Instruction& instruction);

struct CountedRun {
  double flop = 0;
  double ms = 0;
};
// Runs the program on the reference and counts what it does: loops as often as they go round, of a conditional the
// branch taken.
Result<CountedRun> RunAndCount(const Module& module, std::span<const Literal* const> arguments,
                               EvaluateOptions options);

}  // namespace VXLA_NAMESPACE
