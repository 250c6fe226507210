// Narrow floats that are stored in words are rounded as they are packed.
#pragma once

#include "backend/vulkan/codegen/statements/statement.h"

namespace VXLA_NAMESPACE::vulkan {

// Pure. Where all values of a store of words were rounded just before and are used nowhere else, the words are made of
// what was not rounded yet, by the conversions that hold for numbers, and one test follows for all of them: where one
// is NaN, the words are made as they were. The same bits, with one test in place of one for each value. `f16`: f16's
// conversions are the device's own, and worth it.
Code PackRoundings(Code code, bool f16);

}  // namespace VXLA_NAMESPACE::vulkan
