// Compare: where two values differ, by how much, and whether that is within a tolerance.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/data/literal.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

// An element agrees when it is within `ulp` OR within atol + rtol * |expected|. NaN equals NaN; infinities must match.
// Of complex numbers the tolerance is on the distance |actual - expected|, while ulps, NaN and infinities count part by
// part; integers and pred must be equal whatever the tolerance.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
  double ulp = 0;
  // Of complex numbers: or the distance is within so many units in the last place of |expected|.
  double norm_ulp = 0;
  // Values no larger than this on both sides agree: what a device that flushes denormals cannot keep.
  double least = 0;
  // Beside `ulp`, each element may be off by magnitude_factor * |magnitudes[i]|: the error of a sum, which grows with
  // the magnitudes of its terms. Null: no such allowance. It has the shape of what is compared.
  const Literal* magnitudes = nullptr;
  double magnitude_factor = 0;
  // Null, or a pred of the shape of what is compared: where a partial result may leave the type's range in one order of
  // the terms and not in another, infinities and NaN on either side agree with anything.
  const Literal* may_overflow = nullptr;
  // Likewise, of complex angles: where the real part may be off by whole half turns.
  const Literal* half_turns = nullptr;
  // The default of `vxla diff`: rtol 1e-5 and atol 1e-6 of the largest finite expected magnitude; for types that have
  // fewer bits than f32 as many of their own units, but no more than two.
  static Tolerance DefaultFor(const Literal& expected);
};

struct ElementDifference {
  int64_t index = 0;  // row-major
  std::string where;  // "3,5"
  std::string actual, expected;
  double ulp = 0, abs = 0, rel = 0;
};

// Bounds of the buckets of relative errors: below 1e-7, 1e-6 ... and the rest.
inline constexpr std::array<double, 6> kRelativeBuckets = {1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};

struct Comparison {
  bool shapes_match = true;
  std::string shapes;  // where they do not: both, of what lives
  int64_t elements = 0;
  int64_t mismatches = 0;                                      // outside the tolerance
  int64_t nan_mismatches = 0;                                  // NaN on one side only
  int64_t infinity_mismatches = 0;                             // infinite on one side only, or of the other sign
  int64_t differing = 0;                                       // not bitwise equal (NaN equals NaN)
  double max_ulp = 0, max_abs = 0, max_rel = 0;                // over elements that are finite on both sides
  // The elements that these are of, which need not be the same; none where the maximum is 0.
  std::optional<ElementDifference> worst_ulp, worst_abs, worst_rel;
  std::vector<ElementDifference> worst;                        // the worst mismatches first, at most five
  std::array<int64_t, kRelativeBuckets.size() + 1> buckets{};  // of relative errors of the differing elements
  bool agrees() const { return shapes_match && mismatches == 0; }
};

// Both are arrays; tuples are compared leaf by leaf by the caller.
Comparison Compare(const Literal& actual, const Literal& expected, const Tolerance& tolerance);

// Whether element i agrees. Both have one shape, without live sizes.
bool Agrees(const Literal& actual, const Literal& expected, int64_t i, const Tolerance& tolerance);

// One element as text: "1.5", "(1, -2)", "true".
std::string ElementToString(const Literal& literal, int64_t index);
// The multi-index of a row-major position: "3,5".
std::string IndexToString(const Shape& shape, int64_t index);

// Distance in units in the last place of the expected value's format; 0 for equal values, infinity across NaN.
double UlpDistance(ElementType type, double actual, double expected);

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
