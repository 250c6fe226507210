// The functions on floats of 16 bits and less: correctly rounded, at every encoding.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "core/data/float_formats.h"
#include "core/numerics/literal_compare.h"
#include "tests/math/functions.h"

namespace VXLA_NAMESPACE {
namespace narrow_function_test {

namespace sm = shader_math;

float Rounded(ElementType type, double value) {
  return static_cast<float>(DecodeNarrowFloat(type, EncodeNarrowFloat(type, value)));
}

bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// A double that rounds to every narrower format as the exact value does: cut, the last bit set if anything was cut off.
// `inexact`: what MPFR said of the number itself, cut too.
double CutToOdd(const Number& exact, int inexact) {
  const double cut = mpfr_get_d(exact.value, MPFR_RNDZ);
  if (!std::isfinite(cut) || cut == 0 || (inexact == 0 && mpfr_cmp_d(exact.value, cut) == 0)) return cut;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(cut) | 1);
}

class NarrowFunctionsTest : public testing::TestWithParam<std::tuple<UnaryFunction, NarrowFormat>> {};

TEST_P(NarrowFunctionsTest, IsCorrectlyRoundedAtEveryEncoding) {
  const auto& [f, format] = GetParam();
  const auto function = format.type == ElementType::kF16 && f.f16 != nullptr ? f.f16 : f.f32;
  int wrong = 0;
  for (uint32_t bits = 0; bits < uint32_t{1} << BitWidth(format.type); ++bits) {
    const double x = DecodeNarrowFloat(format.type, bits);
    double exact = f.wide(x);
    // The double decides unless it lies next to a midpoint.
    if (!Same(Rounded(format.type, exact * (1 - 0x1p-46)), Rounded(format.type, exact * (1 + 0x1p-46)))) {
      Number number(120);
      const int inexact = f.exact(number.value, Number(x).value, MPFR_RNDZ);
      exact = CutToOdd(number, inexact);
    }
    // Smaller than any f32: 0, which f8e8m0fnu has not.
    if (format.type == ElementType::kF8E8M0FNU && std::fabs(exact) <= 0x1p-149) continue;
    const float got = format.round(function(static_cast<float>(x))), want = Rounded(format.type, exact);
    if (Same(got, want)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << f.name << " of " << x << " is " << got << ", correctly rounded " << want << " (" << exact << ")";
  }
  EXPECT_EQ(wrong, 0) << f.name << " " << ElementTypeName(format.type);
}

// Exact values of two-argument functions as a double that rounds to narrow formats as they do.
double ExactOf(const BinaryFunction& f, ElementType type, double x, double y) {
  const double exact = f.wide(x, y);
  if (Same(Rounded(type, exact * (1 - 0x1p-46)), Rounded(type, exact * (1 + 0x1p-46)))) return exact;
  Number number(120);
  const int inexact = f.exact(number.value, Number(x).value, Number(y).value, MPFR_RNDZ);
  return CutToOdd(number, inexact);
}

class NarrowPairsTest : public testing::TestWithParam<std::tuple<BinaryFunction, NarrowFormat>> {};

// 8 bits and less: all pairs. 16 bits: a million random ones, 10^8 in the long test.
TEST_P(NarrowPairsTest, IsCorrectlyRounded) {
  const auto& [f, format] = GetParam();
  const auto function = f.odd != nullptr ? f.odd : f.f32;
  const int width = BitWidth(format.type);
  const bool all = width <= 8;
  const int64_t count =
      all ? int64_t{1} << (2 * width) : (std::getenv("VXLA_TEST_LONG") != nullptr ? 100000000 : 1000000);
  std::mt19937_64 random(43);
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = all ? static_cast<uint64_t>(i) : random();
    const double x = DecodeNarrowFloat(format.type, static_cast<uint32_t>(bits & ((1u << width) - 1)));
    const double y = DecodeNarrowFloat(format.type, static_cast<uint32_t>((bits >> width) & ((1u << width) - 1)));
    const double exact = ExactOf(f, format.type, x, y);
    if (format.type == ElementType::kF8E8M0FNU && std::fabs(exact) <= 0x1p-149) continue;
    const float got = format.round(function(static_cast<float>(x), static_cast<float>(y))),
                want = Rounded(format.type, exact);
    if (Same(got, want)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << f.name << " of " << x << ", " << y << " is " << got << ", correctly rounded " << want;
  }
  EXPECT_EQ(wrong, 0) << f.name << " " << ElementTypeName(format.type);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowPairsTest,
                         testing::Combine(testing::ValuesIn(BinaryFunctions().begin(), BinaryFunctions().end()),
                                          testing::ValuesIn(NarrowFormats().begin(), NarrowFormats().end())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::string(ElementTypeName(std::get<1>(info.param).type));
                         });

// What codegen goes by.
TEST(NarrowFunctionTest, VariantsAreThoseOfTheOpcodes) {
  for (const BinaryFunction& f : BinaryFunctions()) {
    const auto opcode = ParseOpcode(f.name);
    if (opcode) {
      EXPECT_EQ(HasOddVariant(*opcode), f.odd != nullptr) << f.name;
    }
  }
  for (const UnaryFunction& f : UnaryFunctions()) {
    std::string text = f.name;
    std::ranges::replace(text, '_', '-');
    const auto opcode = ParseOpcode(text);
    if (opcode) {
      EXPECT_EQ(Has(*opcode, Trait::kF16Variant), f.f16 != nullptr) << f.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowFunctionsTest,
                         testing::Combine(testing::ValuesIn(UnaryFunctions().begin(), UnaryFunctions().end()),
                                          testing::ValuesIn(NarrowFormats().begin(), NarrowFormats().end())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::string(ElementTypeName(std::get<1>(info.param).type));
                         });

}  // namespace narrow_function_test
}  // namespace VXLA_NAMESPACE
