// Dot algorithms: what a dot's operands are rounded to, into how many parts they are split, and what the products are
// added up in. Sources: StableHLO's dot_general (DotAlgorithm) and the names of XLA's PrecisionConfig; the splits
// follow G. Henry, P. T. P. Tang, A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations", 2019.
//
// Operands may be of any integer or floating type: integers become f32 first (f64 where that is the precision), and a
// result of integers is the sum cut towards zero. Where an algorithm makes one product, both operands are rounded to
// nearest even and multiplied. Where it makes three, six or nine, each operand x is split into parts: the first is x
// rounded to nearest even (towards zero where that would be infinite), the next what is left, rounded in the same way.
// Of two parts (three products) all pairs are multiplied but the last of both; of three parts those six whose places
// add up to at most 2 (from 0), or all nine. The product of the first parts is added last, and what the others came to
// counts as zero where it is NaN, as it is for infinities, whose rest is NaN. The CPU reference does that to the
// letter; GPUs may do what is no less accurate (core/passes/expand/dot_expander.cc).
#pragma once

#include <span>
#include <string_view>

#include "core/data/element_type.h"

namespace VXLA_NAMESPACE {

struct DotAlgorithm {
  std::string_view name;       // HLO's
  std::string_view precision;  // what operands are rounded to, by StableHLO's name; empty: any f8 type, not rounded
  ElementType operand = ElementType::kF32;  // holds them; f32 for tf32
  ElementType sum = ElementType::kF32;
  int products = 1;
  bool imprecise = false;  // sums may be kept in less for some steps

  bool is_tf32() const { return precision == "tf32"; }
  bool takes_f8() const { return precision.empty(); }
  // Parts of each operand.
  int parts() const { return products == 1 ? 1 : products < 6 ? 2 : 3; }
  // Whether the product of part i of lhs and part j of rhs counts.
  bool Multiplies(int i, int j) const { return products == parts() * parts() || i + j < parts(); }
  // How far the sums of two devices may lie apart, besides what sums may, relative to the terms' magnitudes: where one
  // takes the parts as they are named here and another one fewer roundings, or other parts, that are no less accurate.
  double apart() const;
};

inline constexpr int kTf32MantissaBits = 10;  // and the 8 exponent bits of f32

// The largest finite number that an operand is rounded to.
double LargestOf(const DotAlgorithm& algorithm);

std::span<const DotAlgorithm> DotAlgorithms();
// Null: no such name.
const DotAlgorithm* FindDotAlgorithm(std::string_view name);

}  // namespace VXLA_NAMESPACE
