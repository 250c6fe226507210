#include "core/numerics/dot_algorithm.h"

#include <algorithm>
#include <cmath>

#include "core/data/float_formats.h"

namespace VXLA_NAMESPACE {
namespace {

using enum ElementType;
constexpr DotAlgorithm kAlgorithms[] = {
    {"dot_any_f8_any_f8_f32", "", kF32, kF32},        {"dot_any_f8_any_f8_f32_fast_accum", "", kF32, kF32, 1, true},
    {"dot_any_f8_any_f8_any", "", kF32, kF32},        {"dot_any_f8_any_f8_any_fast_accum", "", kF32, kF32, 1, true},
    {"dot_f16_f16_f16", "f16", kF16, kF16},           {"dot_f16_f16_f32", "f16", kF16, kF32},
    {"dot_bf16_bf16_bf16", "bf16", kBF16, kBF16},     {"dot_bf16_bf16_f32", "bf16", kBF16, kF32},
    {"dot_bf16_bf16_f32_x3", "bf16", kBF16, kF32, 3}, {"dot_bf16_bf16_f32_x6", "bf16", kBF16, kF32, 6},
    {"dot_bf16_bf16_f32_x9", "bf16", kBF16, kF32, 9}, {"dot_tf32_tf32_f32", "tf32", kF32, kF32},
    {"dot_tf32_tf32_f32_x3", "tf32", kF32, kF32, 3},  {"dot_f32_f32_f32", "f32", kF32, kF32},
    {"dot_f64_f64_f64", "f64", kF64, kF64},
};

}  // namespace

double DotAlgorithm::apart() const {
  if (products == 1) return is_tf32() ? std::ldexp(1.0, -22) : 0;  // four sums of parts are joined
  return std::ldexp(1.0, products > 3 ? -22 : is_tf32() ? -20 : -14);
}

double LargestOf(const DotAlgorithm& algorithm) {
  return algorithm.is_tf32() ? std::ldexp(2 - std::ldexp(1.0, -kTf32MantissaBits), 127) : MaxFinite(algorithm.operand);
}

std::span<const DotAlgorithm> DotAlgorithms() { return kAlgorithms; }

const DotAlgorithm* FindDotAlgorithm(std::string_view name) {
  const auto found = std::ranges::find(kAlgorithms, name, &DotAlgorithm::name);
  return found == std::end(kAlgorithms) ? nullptr : &*found;
}

}  // namespace VXLA_NAMESPACE
