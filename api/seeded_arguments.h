// Arguments from a seed, for programs that are given none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/literal.h"
#include "core/module.h"

namespace VXLA_NAMESPACE {

// An array from the seed: floats normal, integers uniform in [0, 8) or the type's range if smaller, pred fair.
// Counter-based (Philox 4x32-10 of element, array and seed) and made with IEEE arithmetic alone: the same bits on every
// machine.
Literal RandomLiteral(const Shape& shape, uint64_t seed, uint32_t array);

// One value per entry parameter, tuples rebuilt; arrays are numbered depth first, as files name them. kInvalidArgument:
// an array with dynamic dimensions, whose live sizes no seed tells, or too large a one.
Result<std::vector<Literal>> SeededArguments(const Module& module, uint64_t seed);

}  // namespace VXLA_NAMESPACE
