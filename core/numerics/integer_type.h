// Integers and truth values as their types have them: two's complement, of as many bits, which wraps.
#pragma once

#include <optional>

#include "core/data/element_type.h"
#include "core/numerics/comparison.h"

namespace VXLA_NAMESPACE {

// Numbers are those that Literal::GetInt gives.
struct IntegerType {
  explicit IntegerType(ElementType of)
      : type(of), bits(of == ElementType::kPred ? 1 : BitWidth(of)), is_signed(IsSigned(of)) {}

  int64_t Wrapped(uint64_t value) const {
    const int unused = 64 - bits;
    return is_signed ? static_cast<int64_t>(value << unused) >> unused
                     : static_cast<int64_t>(value << unused >> unused);
  }
  bool Compares(ComparisonDirection direction, int64_t x, int64_t y) const {
    return is_signed ? Holds(direction, x, y) : Holds(direction, static_cast<uint64_t>(x), static_cast<uint64_t>(y));
  }
  // A binary operation as HLO has it, where x / 0 is -1; nothing: it is none, or a negative power.
  std::optional<int64_t> Computed(Opcode opcode, int64_t x, int64_t y) const;

  ElementType type;
  int bits;
  bool is_signed;

 private:
  int64_t Shifted(Opcode opcode, int64_t x, int64_t by) const;
  std::optional<int64_t> Divided(Opcode opcode, int64_t x, int64_t y) const;
  std::optional<int64_t> Power(int64_t base, int64_t exponent) const;
};

}  // namespace VXLA_NAMESPACE
