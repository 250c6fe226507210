// Operands of which a fusion reads an element only where it makes one.
#pragma once

#include <cstdint>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Whether a fusion reads fused parameter `number` only at the row-major position of the element that it is about to
// write, or to reduce.
bool ReadsOwnElementOnly(const Computation& fused, int64_t number);

}  // namespace VXLA_NAMESPACE
