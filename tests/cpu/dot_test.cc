// Dot against plain loops for every type.
#include <cmath>

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
    int64_t integer = 0;
    for (int64_t x = 0; x < k; ++x) {
      const int64_t at = i / n * k + x, bt = (i / (m * n) * k + x) * n + i % n;
      if (IsFloating(type) || IsComplex(type)) {
        sum += std::complex<long double>(a.GetComplex(at)) * std::complex<long double>(b.GetComplex(bt));
      } else {
        integer += a.GetInt(at) * b.GetInt(bt);
      }
    }
    if (!IsFloating(type) && !IsComplex(type)) {
      if (IsFloating(result)) {
        EXPECT_EQ(c.GetDouble(i), static_cast<double>(integer));
        continue;
      }
      want.SetInt(i, integer);
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

TEST(DotTest, ContractsAnyDimensions) {
  // a[k1,m,k2,b] . b[k2,b,n,k1] over k1 and k2 with batch b
  const Literal a = Random(kS32, {2, 3, 5, 4}, 3), b = Random(kS32, {5, 4, 7, 2}, 4);
  const Literal c =
      Dot(a, b, Shape(kS32, {4, 3, 7}),
          "lhs_batch_dims={3}, lhs_contracting_dims={0,2}, rhs_batch_dims={1}, rhs_contracting_dims={3,0}");
  for (int64_t i = 0; i < c.element_count(); ++i) {
    const std::vector<int64_t> at = IndexOf(i, {4, 3, 7});
    int64_t sum = 0;
    for (int64_t x = 0; x < 2; ++x) {
      for (int64_t y = 0; y < 5; ++y) {
        sum += a.GetInt(PositionOf({x, at[1], y, at[0]}, {2, 3, 5, 4})) *
               b.GetInt(PositionOf({y, at[0], at[2], x}, {5, 4, 7, 2}));
      }
    }
    EXPECT_EQ(c.GetInt(i), sum);
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

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
