// Arrays of seeded numbers: arguments of programs that are given none, and of tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

// What seeded arrays hold; pred is fair in each.
enum class ArgumentFill : uint8_t {
  kSmall,      // floats normal, integers uniform in [0, 8) or the type's range if smaller
  kFullRange,  // integers uniform over their type, floats over their finite encodings: every magnitude, both signs
  // Infinities, NaN, both zeros, the largest and the smallest numbers, normal and subnormal, the extremes of integers,
  // where the type has them; among them ordinary values, half small, half of the full range. Each special value comes
  // once at least in every 32 elements from the first on.
  kSpecial,
};
std::string_view FillName(ArgumentFill fill);  // "small", "full-range", "special"
std::optional<ArgumentFill> ParseFill(std::string_view name);

// An array from the seed, parts of complex numbers filled alike. Counter-based (Philox 4x32-10 of element, array and
// seed) and made with IEEE arithmetic alone: the same bits on every machine.
Literal RandomLiteral(const Shape& shape, uint64_t seed, uint32_t array, ArgumentFill fill = ArgumentFill::kSmall);

}  // namespace VXLA_NAMESPACE
