// What a comparison's direction says of two numbers.
#pragma once

#include "core/ir/attributes.h"

namespace VXLA_NAMESPACE {

template <typename T>
constexpr bool Holds(ComparisonDirection direction, const T& a, const T& b) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return a == b;
    case ComparisonDirection::kNe:
      return a != b;
    case ComparisonDirection::kGe:
      return a >= b;
    case ComparisonDirection::kGt:
      return a > b;
    case ComparisonDirection::kLe:
      return a <= b;
    case ComparisonDirection::kLt:
      return a < b;
  }
  return false;
}

}  // namespace VXLA_NAMESPACE
