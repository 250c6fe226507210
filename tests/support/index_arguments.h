// Arguments of programs that look up and change parts of arrays.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {

inline RunOptions Exactly(int dispatches = -1) {
  RunOptions options;
  options.tolerance = Tolerance{};
  options.dispatches = dispatches;
  return options;
}

// Seeded indices from `low` on, `count` different ones; unsigned types begin at 0.
inline Literal Indices(const Shape& shape, int64_t low, int64_t count, uint64_t seed = 1) {
  Literal indices(shape);
  uint64_t state = seed;
  for (int64_t i = 0; i < indices.element_count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int64_t value = low + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(count));
    indices.SetInt(i, IsUnsigned(shape.element_type()) ? std::max<int64_t>(value, 0) : value);
  }
  return indices;
}

inline std::vector<ElementType> ArrayTypes() {
  std::vector<ElementType> types;
  for (int t = 0; t < kElementTypeCount; ++t) {
    if (IsArrayElement(static_cast<ElementType>(t))) types.push_back(static_cast<ElementType>(t));
  }
  return types;
}

inline constexpr ElementType kIndexTypes[] = {ElementType::kS8,  ElementType::kU8,  ElementType::kS16,
                                              ElementType::kU16, ElementType::kS32, ElementType::kU32,
                                              ElementType::kS64, ElementType::kU64};

}  // namespace VXLA_NAMESPACE::testing
