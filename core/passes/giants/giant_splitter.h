// Giants: arrays of more elements than a kernel's 32-bit indices tell apart.
#pragma once

#include <cstdint>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Operations with kernels of 32-bit indices (products, convolutions, windows, sorts, top-k, scatters, FFTs, cholesky,
// triangular-solve) that read or give an array of more than `most` elements become parts of at most so many: slices of
// the operands along a batch, free or spatial dimension, their results concatenated. Each element is computed from the
// same terms as before. Where one result's terms are too many: a running window goes on from the part before it, a
// product becomes a reduction, updates are scattered one part after the other. What no cut makes smaller (one sorted
// row, one matrix, one transform) becomes a program of smaller operations (giant_rows.h), whose own giants, and calls,
// are there for another round. Loops over elements, reductions and updates in place reach everything themselves. In the
// entry and in what control flow runs. Returns whether anything changed.
bool SplitGiants(Module& module, int64_t most);

// Whether an instruction reads or gives an array of more than `most` elements.
bool TouchesGiant(const Instruction& instruction, int64_t most);

// Whether a kernel around this operation reaches arrays of any number of elements.
bool ReachesGiants(Opcode hero);

}  // namespace VXLA_NAMESPACE
