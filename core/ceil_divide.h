// Division that rounds up.
#pragma once

#include <cstdint>

namespace VXLA_NAMESPACE {

// How often b takes from a, above or at 0, until nothing is left.
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace VXLA_NAMESPACE
