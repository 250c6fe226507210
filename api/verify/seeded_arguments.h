// Arguments from a seed, for programs that are given none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/module.h"
#include "core/numerics/random_literal.h"

namespace VXLA_NAMESPACE {

// One value per entry parameter, tuples rebuilt; arrays are numbered depth first, as files name them. kInvalidArgument:
// an array with dynamic dimensions, whose live sizes no seed tells, or too large a one.
Result<std::vector<Literal>> SeededArguments(const Module& module, uint64_t seed,
                                             ArgumentFill fill = ArgumentFill::kSmall);

}  // namespace VXLA_NAMESPACE
