// In place: whether a kernel may write where it reads.
#pragma once

#include "core/module.h"

namespace vxla {

// Whether a fusion may write a result of this shape over its operand: a loop over elements that computes all of an
// element's results before it stores any, keeps positions and has the same storage size on both sides.
bool MayWriteOver(const Instruction& fusion, int operand, const Shape& result);

}  // namespace vxla
