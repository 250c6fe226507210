// Dot against plain loops for every type.
#include <cmath>

#include "backend/cpu/twin/shader_evaluator.h"
#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;

Literal Dot(const Literal& a, const Literal& b, const Shape& out, const std::string& attributes, int threads = 0) {
  EvaluateOptions options;
  options.threads = threads;
  return RunText(Entry("a = " + Text(a.shape()) + " parameter(0)\nb = " + Text(b.shape()) +
                       " parameter(1)\nROOT r = " + Text(out) + " dot(a, b), " + attributes),
                 {a, b}, options);
}

// a[B,M,K] . b[B,K,N], exactly for integers and in long double for the others.
void CheckBatched(ElementType type, ElementType result, double tolerance) {
  const int64_t batch = 3, m = 7, k = 19, n = 11;
  const Literal a = Random(type, {batch, m, k}, 1), b = Random(type, {batch, k, n}, 2);
  const Literal c = Dot(a, b, Shape(result, {batch, m, n}),
                        "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}");
  Literal want(c.shape());
  for (int64_t i = 0; i < c.element_count(); ++i) {
    std::complex<long double> sum = 0;
    uint64_t integer = 0;  // wraps round
    for (int64_t x = 0; x < k; ++x) {
      const int64_t at = i / n * k + x, bt = (i / (m * n) * k + x) * n + i % n;
      if (IsFloating(type) || IsComplex(type)) {
        sum += std::complex<long double>(a.GetComplex(at)) * std::complex<long double>(b.GetComplex(bt));
      } else {
        integer += static_cast<uint64_t>(a.GetInt(at)) * static_cast<uint64_t>(b.GetInt(bt));
      }
    }
    if (!IsFloating(type) && !IsComplex(type)) {
      if (IsFloating(result)) {
        EXPECT_EQ(c.GetDouble(i), static_cast<double>(static_cast<int64_t>(integer)));
        continue;
      }
      want.SetInt(i, static_cast<int64_t>(integer));
      EXPECT_EQ(c.GetInt(i), want.GetInt(i)) << ElementTypeName(type);
    } else {
      EXPECT_LE(std::abs(c.GetComplex(i) - std::complex<double>(sum)),
                tolerance * (1 + static_cast<double>(std::abs(sum))))
          << ElementTypeName(type) << " to " << ElementTypeName(result);
    }
  }
}

TEST(DotTest, BatchedProductsOfEveryType) {
  for (ElementType type : {kPred, kS2, kS4, kS8, kS16, kS32, kS64, kU4, kU8, kU16, kU32, kU64})
    CheckBatched(type, type, 0);
  CheckBatched(kS8, kS32, 0);
  CheckBatched(kU4, kS32, 0);
  CheckBatched(kS8, kF32, 0);
  CheckBatched(kF8E5M2, kF32, 1e-6);
  CheckBatched(kF8E4M3FN, kBF16, 0.005);
  CheckBatched(kBF16, kBF16, 0.005);
  CheckBatched(kBF16, kF32, 1e-6);
  CheckBatched(kF16, kF16, 0.0006);
  CheckBatched(kF32, kF32, 7e-8);
  CheckBatched(kF64, kF64, 2e-16);
  CheckBatched(kC64, kC64, 1.2e-7);
  CheckBatched(kC128, kC128, 3e-16);
}

// x to a significand of so many bits after the first, ties to even; infinite beyond what 8 exponent bits hold.
double RoundedTo(double x, int bits) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double place = std::ldexp(1.0, std::max(std::ilogb(x), -126) - bits);
  const double rounded = std::nearbyint(x / place) * place;
  return std::abs(rounded) < 0x1p128 ? rounded : std::copysign(HUGE_VAL, x);
}

struct AlgorithmCase {
  const char* name;
  int bits, parts, products;
  double error;  // of the exact product, relative to the sum of magnitudes
};

std::vector<double> PartsOf(double x, const AlgorithmCase& c) {
  std::vector<double> parts;
  for (int p = 0; p < c.parts; ++p) {
    parts.push_back(RoundedTo(x, c.bits));
    if (c.parts > 1 && std::isinf(parts.back()) && std::isfinite(x))
      parts.back() = std::copysign(std::ldexp(2 - std::ldexp(1.0, -c.bits), 127), x);
    x -= parts.back();
  }
  return parts;
}

constexpr AlgorithmCase kAlgorithms[] = {
    {"dot_bf16_bf16_f32", 7, 1, 1, 0x1p-7},     {"dot_bf16_bf16_f32_x3", 7, 2, 3, 0x1p-14},
    {"dot_bf16_bf16_f32_x6", 7, 3, 6, 0x1p-22}, {"dot_bf16_bf16_f32_x9", 7, 3, 9, 0x1p-22},
    {"dot_tf32_tf32_f32", 10, 1, 1, 0x1p-10},   {"dot_tf32_tf32_f32_x3", 10, 2, 3, 0x1p-20},
    {"dot_f32_f32_f32", 23, 1, 1, 0x1p-23},
};

TEST(DotTest, AlgorithmsRoundTheirOperands) {
  constexpr int64_t m = 5, k = 33, n = 7;
  for (const ElementType type : {kF32, kF64}) {
    const Literal a = Random(type, {m, k}, 1), b = Random(type, {k, n}, 2);
    for (const AlgorithmCase& c : kAlgorithms) {
      const Literal got = Dot(a, b, Shape(kF32, {m, n}),
                              std::string("lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=") + c.name);
      for (int64_t i = 0; i < m * n; ++i) {
        long double sum = 0, exact = 0, magnitudes = 0;
        for (int64_t x = 0; x < k; ++x) {
          double p = a.GetDouble(i / n * k + x), q = b.GetDouble(x * n + i % n);
          exact += static_cast<long double>(p) * q;
          magnitudes += std::abs(static_cast<long double>(p) * q);
          if (c.parts > 1 || c.bits == 10) p = static_cast<float>(p), q = static_cast<float>(q);
          const std::vector<double> left = PartsOf(p, c), right = PartsOf(q, c);
          for (int s = 0; s < c.parts; ++s) {
            for (int t = 0; t < c.parts; ++t) {
              if (c.products == 9 || s + t < c.parts)
                sum += static_cast<long double>(left[static_cast<size_t>(s)]) * right[static_cast<size_t>(t)];
            }
          }
        }
        EXPECT_NEAR(got.GetDouble(i), static_cast<double>(sum), 0x1p-23 * std::abs(static_cast<double>(sum))) << c.name;
        EXPECT_LE(std::abs(got.GetDouble(i) - static_cast<double>(exact)),
                  (c.error + 0x1p-23) * static_cast<double>(magnitudes))
            << c.name;
      }
    }
  }
}

TEST(DotTest, AlgorithmsKeepSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  for (const AlgorithmCase& c : kAlgorithms) {
    SCOPED_TRACE(c.name);
    auto product = [&](double x, double y) {
      const Literal a = Literal::FromVector<float>(Shape(kF32, {1}), std::vector<float>{static_cast<float>(x)});
      const Literal b = Literal::FromVector<float>(Shape(kF32, {1}), std::vector<float>{static_cast<float>(y)});
      return Dot(a, b, Shape(kF32, {}),
                 std::string("lhs_contracting_dims={0}, rhs_contracting_dims={0}, algorithm=") + c.name)
          .GetDouble(0);
    };
    EXPECT_EQ(product(inf, 2), inf);
    EXPECT_EQ(product(-3, inf), -inf);
    EXPECT_EQ(product(inf, -inf), -inf);
    EXPECT_TRUE(std::isnan(product(inf, 0)));
    EXPECT_TRUE(std::isnan(product(nan, 1)));
    EXPECT_TRUE(std::isnan(product(1, nan)));
    EXPECT_EQ(product(0, 0), 0);
    // Rounded alone the largest number is infinite; split, it is not.
    if (c.parts > 1) {
      EXPECT_NEAR(product(largest, 0.5), largest / 2, largest * c.error);
    } else {
      EXPECT_EQ(product(largest, 0.5), c.bits == 23 ? largest / 2 : inf);
    }
    EXPECT_EQ(product(least, 1), c.bits == 23 ? least : 0);  // below the last place of the others
  }
}

TEST(DotTest, AlgorithmsTakeIntegers) {
  const Literal a = Literal::FromVector<int32_t>(Shape(kS32, {2}), std::vector<int32_t>{2049, -3});
  const Literal b = Literal::FromVector<int32_t>(Shape(kS32, {2}), std::vector<int32_t>{1, 5});
  const std::string attributes = "lhs_contracting_dims={0}, rhs_contracting_dims={0}, algorithm=dot_";
  EXPECT_EQ(Dot(a, b, Shape(kS32, {}), attributes + "f32_f32_f32").GetInt(0), 2034);
  EXPECT_EQ(Dot(a, b, Shape(kS32, {}), attributes + "tf32_tf32_f32").GetInt(0), 2033);  // 2049 is 2048 there
  EXPECT_EQ(Dot(a, b, Shape(kS8, {}), attributes + "f32_f32_f32").GetInt(0), 127);
  EXPECT_EQ(Dot(a, b, Shape(kF32, {}), attributes + "bf16_bf16_f32_x3").GetDouble(0), 2034);
}

TEST(DotTest, AlgorithmsSumInTheirType) {
  const Literal a = Random(kF32, {4, 50}, 3), b = Random(kF32, {50, 4}, 4);
  auto dot = [&](const Literal& x, const Literal& y, ElementType result, const std::string& algorithm) {
    return Dot(x, y, Shape(result, {4, 4}),
               "lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_" + algorithm);
  };
  const Literal f16 = dot(a, b, kF32, "f16_f16_f16"), f32 = dot(a, b, kF32, "f16_f16_f32");
  const Literal bf16 = dot(a, b, kF32, "bf16_bf16_bf16"), f64 = dot(a, b, kF64, "f64_f64_f64");
  const Literal f8 = Random(kF8E5M2, {4, 4}, 5);
  EXPECT_EQ(dot(f8, f8, kF32, "any_f8_any_f8_f32"), dot(f8, f8, kF32, "any_f8_any_f8_f32_fast_accum"));
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(RoundedTo(f16.GetDouble(i), 10), f16.GetDouble(i));
    EXPECT_NEAR(f16.GetDouble(i), f32.GetDouble(i), 0x1p-11 * std::abs(f32.GetDouble(i)));
    EXPECT_EQ(RoundedTo(bf16.GetDouble(i), 7), bf16.GetDouble(i));
    double sum = 0;
    for (int64_t x = 0; x < 50; ++x) sum += a.GetDouble(i / 4 * 50 + x) * b.GetDouble(x * 4 + i % 4);
    EXPECT_NEAR(f64.GetDouble(i), sum, 1e-13);
  }
}

TEST(DotTest, ContractsAnyDimensions) {
  // a[k1,m,k2,b] . b[k2,b,n,k1] over k1 and k2 with batch b
  const Literal a = Random(kS32, {2, 3, 5, 4}, 3), b = Random(kS32, {5, 4, 7, 2}, 4);
  const Literal c =
      Dot(a, b, Shape(kS32, {4, 3, 7}),
          "lhs_batch_dims={3}, lhs_contracting_dims={0,2}, rhs_batch_dims={1}, rhs_contracting_dims={3,0}");
  for (int64_t i = 0; i < c.element_count(); ++i) {
    const std::vector<int64_t> at = IndexOf(i, {4, 3, 7});
    uint64_t sum = 0;  // wraps round
    for (int64_t x = 0; x < 2; ++x) {
      for (int64_t y = 0; y < 5; ++y) {
        sum += static_cast<uint64_t>(a.GetInt(PositionOf({x, at[1], y, at[0]}, {2, 3, 5, 4})) *
                                     b.GetInt(PositionOf({y, at[0], at[2], x}, {5, 4, 7, 2})));
      }
    }
    EXPECT_EQ(c.GetInt(i), static_cast<int32_t>(sum));
  }
}

TEST(DotTest, VectorsScalarsAndEmptySums) {
  const Literal v = Random(kF32, {1009}, 7);
  double want = 0;
  for (int64_t i = 0; i < 1009; ++i) want += v.GetDouble(i) * v.GetDouble(i);
  EXPECT_EQ(Dot(v, v, Shape(kF32), "lhs_contracting_dims={0}, rhs_contracting_dims={0}").GetDouble(0),
            static_cast<float>(want));
  const Literal none(Shape(kF32, {3, 0}));
  EXPECT_THAT(Doubles(Dot(none, none, Shape(kF32, {3, 3}), "lhs_contracting_dims={1}, rhs_contracting_dims={1}")),
              ::testing::Each(0.0));
  EXPECT_EQ(Dot(Literal(Shape(kF32, {0, 3})), Literal(Shape(kF32, {3, 2})), Shape(kF32, {0, 2}),
                "lhs_contracting_dims={1}, rhs_contracting_dims={0}")
                .element_count(),
            0);
}

TEST(DotTest, InfinityAndNanReachOnlyTheirOutputs) {
  const Literal a = Array(kF32, {2, 2}, {kInf, 0, 1, 2}), b = Array(kF32, {2, 1}, {0, 1});
  EXPECT_THAT(Doubles(Dot(a, b, Shape(kF32, {2, 1}), "lhs_contracting_dims={1}, rhs_contracting_dims={0}")),
              SameDoubles({kNan, 2}));
}

TEST(DotTest, LongSumsOfF32RoundOnce) {
  const int64_t n = 1 << 16;
  Literal a(Shape(kF32, {n})), b(Shape(kF32, {n}));
  for (int64_t i = 0; i < n; ++i) a.SetDouble(i, i == 0 ? 1 : 0x1p-25), b.SetDouble(i, 1);
  EXPECT_EQ(Dot(a, b, Shape(kF32), "lhs_contracting_dims={0}, rhs_contracting_dims={0}").GetDouble(0),
            static_cast<float>(1 + (n - 1) * 0x1p-25));
}

TEST(DotTest, TheThreadCountDoesNotChangeABit) {
  const Literal a = Random(kF32, {211, 307}, 8), b = Random(kF32, {307, 601}, 9);
  const std::string attributes = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  EXPECT_EQ(Dot(a, b, Shape(kF32, {211, 601}), attributes, 1), Dot(a, b, Shape(kF32, {211, 601}), attributes, 2));
}

// Two shares of a sum in blocks of three, of which the last ones are shorter.
TEST(DotTest, TermsOfShaderMathAreFusedWhereTheKernelFusesThem) {
  const int64_t m = 5, k = 17, n = 4, share = 9, block = 3;
  const Literal a = Random(kF32, {m, k}, 1), b = Random(kF32, {k, n}, 2);
  const auto module = ParseHlo(
      "ENTRY e { a = f32[5,17] parameter(0)  b = f32[17,4] parameter(1)\n"
      "ROOT r = f32[5,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
  ASSERT_TRUE(module.ok()) << module.status().message();
  const std::vector<const Literal*> arguments = {&a, &b};
  int others = 0;
  for (const bool fused : {true, false}) {
    ShaderEvaluation evaluation;
    evaluation.orders[PathOf(*(*module)->entry()->root())] = {
        {.block = block, .shares = 2, .chunk = share, .fused = fused}, {.chunk = 2}};
    const auto got = EvaluateAsShaders(**module, arguments, evaluation);
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (int64_t i = 0; i < m * n; ++i) {
      float shares[2] = {0, 0};
      for (int64_t s = 0; s < 2; ++s) {
        for (int64_t first = s * share; first < std::min(k, (s + 1) * share); first += block) {
          float sum = 0;
          for (int64_t x = first; x < std::min({k, (s + 1) * share, first + block}); ++x) {
            const float p = a.data<float>()[i / n * k + x], q = b.data<float>()[x * n + i % n];
            const float product = p * q;
            others += std::fma(p, q, sum) != sum + product ? 1 : 0;
            sum = fused ? std::fma(p, q, sum) : sum + product;
          }
          shares[s] += sum;
        }
      }
      EXPECT_EQ(got->data<float>()[i], shares[0] + shares[1]) << i << (fused ? " fused" : "");
    }
  }
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
