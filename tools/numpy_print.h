// Arrays as numpy prints them, long ones shortened.
#pragma once

#include <string>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

// "[[1.  2.5]\n [3.  4. ]]"; more than 1,000 elements: three at each end of each dimension. Tuples leaf by leaf are the
// caller's business.
std::string PrintLikeNumpy(const Literal& array);

}  // namespace VXLA_NAMESPACE
