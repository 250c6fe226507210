// stochastic-convert on the device: the reference's bits, for every pair of types.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/data/float_formats.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace stochastic_convert_test {

using enum ElementType;

ElementType RandomTypeFor(ElementType from) {
  const int width = BitWidth(from);
  return width == 4 ? kU4 : width == 8 ? kU8 : width == 16 ? kU16 : width == 32 ? kU32 : kU64;
}

// Numbers of all sizes around what a result type of few bits can tell apart: 2^e * (1 + 3 k / 16), both signs, with
// e from below the least denormal to beyond the largest number of each type, and what is no number.
Literal Numbers(ElementType type, int64_t count) {
  Literal values(Shape(type, {count}));
  const Literal random = RandomLiteral(Shape(kF64, {count}), 11);
  for (int64_t i = 0; i < count; ++i) {
    const int exponent = static_cast<int>(i % 3 == 0 ? i % 300 - 150 : i % 3 == 1 ? i % 24 - 12 : i % 70 - 3);
    const double value = std::ldexp(1 + std::fabs(random.GetDouble(i)), exponent);
    values.SetDouble(i, i % 2 == 0 ? value : -value);
  }
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {0, -0.0, inf, -inf, std::nan(""), 127.5, -128.5, 0x1p-127, 0x1.8p-127, 0x1p-149, 0.5};
  for (size_t i = 0; i < std::size(special); ++i) values.SetDouble(static_cast<int64_t>(i), special[i]);
  return values;
}

void Check(ElementType from, const std::vector<ElementType>& to) {
  constexpr int64_t kCount = 601;
  SCOPED_TRACE(ElementTypeName(from));
  const ElementType random_type = RandomTypeFor(from);
  Literal bits(Shape(random_type, {kCount}));
  for (int64_t i = 0; i < kCount; ++i) {
    uint64_t word = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
    if (i % 7 == 0) word = i % 2 == 0 ? 0 : ~uint64_t{0};
    bits.SetInt(i, static_cast<int64_t>(word >> (64 - BitWidth(random_type))));
  }
  std::string text = fmt::format("ENTRY e {{ a = {}[601] parameter(0)\n b = {}[601] parameter(1)\n",
                                 ElementTypeName(from), ElementTypeName(random_type));
  std::string names, shapes;
  for (const ElementType type : to) {
    const std::string name(ElementTypeName(type));
    text += fmt::format(" r_{0} = {0}[601] stochastic-convert(a, b)\n", name);
    names += (names.empty() ? "r_" : ", r_") + name;
    shapes += (shapes.empty() ? "" : ", ") + name + "[601]";
  }
  RunOptions exact;
  exact.tolerance = Tolerance{};
  RunBoth(text + fmt::format(" ROOT t = ({}) tuple({}) }}", shapes, names), {Numbers(from, kCount), bits}, exact);
}

std::vector<ElementType> AllTypes() {
  std::vector<ElementType> types;
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (IsArrayElement(type) && !IsComplex(type) && type != kPred && HasIntegerOfItsWidth(type)) types.push_back(type);
  }
  return types;
}

TEST(StochasticConvertTest, FromF32ToEveryType) { Check(kF32, AllTypes()); }
TEST(StochasticConvertTest, FromF64) { Check(kF64, {kF32, kBF16, kF8E8M0FNU, kF8E4M3FNUZ, kS8, kS64, kU64}); }
TEST(StochasticConvertTest, FromNarrowTypes) {
  Check(kF16, {kF8E5M2, kBF16, kF32, kF64, kS4});
  Check(kBF16, {kF16, kF8E8M0FNU, kF4E2M1FN, kU32});
  Check(kF8E8M0FNU, {kF8E4M3FN, kS16});
  Check(kF4E2M1FN, {kF8E3M4, kU2});
}

TEST(StochasticConvertTest, ScalarsAndEmptyArrays) {
  RunOptions exact;
  exact.tolerance = Tolerance{};
  RunBoth("ENTRY e { a = f32[] parameter(0)\n b = u32[] parameter(1)\n ROOT r = bf16[] stochastic-convert(a, b) }",
          {RandomLiteral(Shape(kF32), 4), RandomLiteral(Shape(kU32), 3)}, exact);
  RunBoth(
      "ENTRY e { a = f32[3,0] parameter(0)\n b = u32[3,0] parameter(1)\n"
      "ROOT r = s8[3,0] stochastic-convert(a, b) }",
      {Literal(Shape(kF32, {3, 0})), Literal(Shape(kU32, {3, 0}))}, exact);
}

// It joins its neighbours' loop.
TEST(StochasticConvertTest, IsFused) {
  RunOptions options;
  options.dispatches = 1;
  options.tolerance = Tolerance{};
  RunBoth(
      "ENTRY e { x = f32[77] parameter(0)\n b = u32[77] parameter(1)\n n = f32[77] negate(x)\n"
      "r = bf16[77] stochastic-convert(n, b)\n ROOT s = bf16[77] negate(r) }",
      {RandomLiteral(Shape(kF32, {77}), 4), RandomLiteral(Shape(kU32, {77}), 5)}, options);
}

}  // namespace stochastic_convert_test
}  // namespace VXLA_NAMESPACE::testing
