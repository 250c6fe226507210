// Sums of floats as integers, the same in whatever order they are added up: as multiples of the least number that the
// terms are multiples of, in one integer where that holds a sum, else in several, each of which takes the terms of some
// exponents.
#pragma once

#include <optional>

#include "core/numerics/fixed_range.h"
#include "core/passes/base/expansion.h"

namespace VXLA_NAMESPACE {

struct FixedSum {
  ElementType term = ElementType::kF32;  // the terms' type
  ElementType sum = ElementType::kS64;   // the integers', kS32 or kS64
  int unit = 0;                          // of the first integer: 2^unit
  int integers = 1;                      // the next ones' are 2^width times as large each
  int width = 0;                         // 0: one integer takes all
  bool has_specials = false;             // one more counts infinities and NaN

  int64_t places() const { return integers + (has_specials ? 1 : 0); }
};

// For sums of so many elements of an array of floats, where such integers hold them.
std::optional<FixedSum> FixedSumOf(const Instruction& terms, int64_t count);

// What the terms add to their integers: of `value` to integer `place` (null: the first), both of the terms' shape, the
// place s32.
struct FixedTerms {
  Instruction *place = nullptr, *value = nullptr;
};
FixedTerms FixedTermsOf(Expansion& expansion, const FixedSum& sum, Instruction* terms);

// `before` and the sum of what the integers [places(), sizes ...] hold. Several integers take `before` too, and all is
// rounded once, to f32; of one, the sum is rounded, and that with `before`, to f32 or f64. Where each integer is zero
// (of one: the sum) it stays as it was, whatever its sign.
Instruction* WithFixedSum(Expansion& expansion, const FixedSum& sum, Instruction* integers, Instruction* before);

}  // namespace VXLA_NAMESPACE
