// Giants that no slices make smaller, as programs of smaller operations: matrices, transforms, rows.
#pragma once

#include <cstdint>
#include <memory>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A module whose entry stands for a cholesky or triangular-solve of one matrix (four quarters and products), an fft of
// one transform (columns, twiddle factors and rows; a prime length as a convolution with a chirp) or a topk of one row
// (that of the parts' own), where arrays have more than `most` elements. Its operations may still have more and are to
// be split again. Null: anything else, and primes from 2^32 on, whose chirp no integer counts.
std::shared_ptr<const Module> SmallerProgramOf(const Instruction& instruction, int64_t most);

}  // namespace VXLA_NAMESPACE
