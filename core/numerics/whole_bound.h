// Values that are known to be whole numbers, and how large they can be: counts, flags, what was converted from
// integers. Sums of them that a type holds exactly are the same in any order.
#pragma once

#include <cstdint>
#include <optional>

#include "core/instruction.h"

namespace VXLA_NAMESPACE {

// The largest absolute value that elements of an array can have, all of which are whole numbers, and none is -0, told
// by how they are made. Nothing: not known.
std::optional<int64_t> WholeBound(const Instruction& value);

// The largest whole number up to which a floating type with infinities holds each.
int64_t LastExactWhole(ElementType type);

}  // namespace VXLA_NAMESPACE
