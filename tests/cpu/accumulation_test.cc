// Sums of f64 and c128 that cancel: compensated accumulation leaves the exact sum's nearest number where plain double
// would leave little of it. The exact values come from MPFR, with bits enough for these sums of products.
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;
using Complex = std::complex<double>;

class Exact {
 public:
  Exact() {
    mpfr_init2(sum_, 2200);
    mpfr_init2(term_, 2200);
    mpfr_set_zero(sum_, 1);
  }
  Exact(const Exact&) = delete;
  ~Exact() {
    mpfr_clear(sum_);
    mpfr_clear(term_);
  }
  void AddProduct(double a, double b) {
    mpfr_set_d(term_, a, MPFR_RNDN);
    mpfr_mul_d(term_, term_, b, MPFR_RNDN);
    mpfr_add(sum_, sum_, term_, MPFR_RNDN);
  }
  double Value() const { return mpfr_get_d(sum_, MPFR_RNDN); }

 private:
  mpfr_t sum_, term_;
};

// Pairs whose products nearly cancel: the sum is 1e-13 of the largest partial sum.
void MakeCancelling(std::vector<double>& a, std::vector<double>& b, uint32_t seed) {
  std::mt19937_64 engine(seed);
  auto unit = [&] { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1; };
  Exact sum;
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(engine() % 10));
    a[i] = unit() * scale, b[i] = unit() * scale;
    sum.AddProduct(a[i], b[i]);
  }
  b.back() = unit() + 2;
  a.back() = -sum.Value() / b.back() * (1 - 1e-13);
}

double ExactDot(const std::vector<double>& a, const std::vector<double>& b) {
  Exact sum;
  for (size_t i = 0; i < a.size(); ++i) sum.AddProduct(a[i], b[i]);
  return sum.Value();
}

// Plain double leaves an error of about 1e-2 of such a sum.
void ExpectClose(double got, double want) { EXPECT_LE(std::fabs(got - want), 1e-14 * std::fabs(want)) << got; }

constexpr int64_t kLength = 211;

struct Cancelling {
  std::vector<double> a = std::vector<double>(kLength), b = std::vector<double>(kLength);
  explicit Cancelling(uint32_t seed) { MakeCancelling(a, b, seed); }
};

TEST(AccumulationTest, DotOfF64) {
  const int64_t m = 5, n = 3;
  const Cancelling c(1);
  Literal x(Shape(kF64, {m, kLength})), y(Shape(kF64, {kLength, n}));
  for (int64_t k = 0; k < kLength; ++k) {
    for (int64_t i = 0; i < m; ++i)
      x.SetDouble(i * kLength + k, c.a[static_cast<size_t>(k)] * std::ldexp(1.0, static_cast<int>(i)));
    for (int64_t j = 0; j < n; ++j) y.SetDouble(k * n + j, c.b[static_cast<size_t>(k)] * (j == 1 ? -1 : 1));
  }
  const Literal r = RunText(Entry("x = f64[5,211] parameter(0)\ny = f64[211,3] parameter(1)\n"
                                  "ROOT r = f64[5,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                            {x, y});
  const double exact = ExactDot(c.a, c.b);
  for (int64_t i = 0; i < m * n; ++i) {
    ExpectClose(r.GetDouble(i), std::ldexp(exact, static_cast<int>(i / n)) * (i % n == 1 ? -1 : 1));
  }
}

TEST(AccumulationTest, DotOfC128) {
  std::vector<double> real_a, real_b, imag_a, imag_b;
  Literal x(Shape(kC128, {kLength})), y(Shape(kC128, {kLength}));
  const Cancelling c(2), d(3);
  for (int64_t k = 0; k < kLength; ++k) {
    const size_t i = static_cast<size_t>(k);
    const Complex a(c.a[i], d.a[i]), b(c.b[i], d.b[i]);
    x.SetComplex(k, a), y.SetComplex(k, b);
    real_a.insert(real_a.end(), {a.real(), -a.imag()}), real_b.insert(real_b.end(), {b.real(), b.imag()});
    imag_a.insert(imag_a.end(), {a.real(), a.imag()}), imag_b.insert(imag_b.end(), {b.imag(), b.real()});
  }
  const Literal r = RunText(Entry("x = c128[211] parameter(0)\ny = c128[211] parameter(1)\n"
                                  "ROOT r = c128[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
                            {x, y});
  ExpectClose(r.GetComplex(0).real(), ExactDot(real_a, real_b));
  ExpectClose(r.GetComplex(0).imag(), ExactDot(imag_a, imag_b));
}

TEST(AccumulationTest, DotsThatOverflowOrMeetInfinityStayThatWay) {
  auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    const int64_t n = static_cast<int64_t>(a.size());
    const std::string s = Text(Shape(kF64, {n}));
    return RunText(Entry("x = " + s + " parameter(0)\ny = " + s +
                         " parameter(1)\nROOT r = f64[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
                   {Array(kF64, {n}, a), Array(kF64, {n}, b)})
        .GetDouble(0);
  };
  EXPECT_EQ(dot({kInf, 1}, {1, 1}), kInf);
  EXPECT_EQ(dot({1e300, 1}, {-1e300, 1}), -kInf);
  EXPECT_TRUE(std::isnan(dot({kInf, -kInf}, {1, 1})));
  EXPECT_TRUE(std::isnan(dot({kInf}, {0})));
  EXPECT_EQ(dot({1e305, 1}, {2, 1}), 2e305);  // the halves of 1e305 do not exist
}

TEST(AccumulationTest, ConvolutionOfF64) {
  const Cancelling c(4);
  const Literal r = RunText(Entry("x = f64[1,211,1] parameter(0)\nk = f64[211,1,1] parameter(1)\n"
                                  "ROOT r = f64[1,1,1] convolution(x, k), window={size=211}, dim_labels=b0f_0io->b0f"),
                            {Array(kF64, {1, kLength, 1}, c.a), Array(kF64, {kLength, 1, 1}, c.b)});
  ExpectClose(r.GetDouble(0), ExactDot(c.a, c.b));
}

// The products themselves are rounded here: sums of them.
std::vector<double> Terms(const Cancelling& c) {
  std::vector<double> terms;
  for (size_t i = 0; i + 1 < c.a.size(); ++i) terms.push_back(c.a[i] * c.b[i]);
  Exact sum;
  for (double t : terms) sum.AddProduct(t, 1);
  terms.push_back(-sum.Value() * (1 - 1e-13));
  return terms;
}

double ExactSum(const std::vector<double>& terms) { return ExactDot(terms, std::vector<double>(terms.size(), 1)); }

std::string Add(const std::string& type) {
  return "sum { a = " + type + "[] parameter(0)\n b = " + type + "[] parameter(1)\n ROOT r = " + type +
         "[] add(a, b) }\n";
}

TEST(AccumulationTest, ReduceAndReduceWindowAndScatterOfF64) {
  const std::vector<double> terms = Terms(Cancelling(5));
  const double exact = ExactSum(terms);
  const Literal x = Array(kF64, {kLength}, terms);
  ExpectClose(RunText(Entry("x = f64[211] parameter(0)\nz = f64[] constant(0)\n"
                            "ROOT r = f64[] reduce(x, z), dimensions={0}, to_apply=sum",
                            Add("f64")),
                      {x})
                  .GetDouble(0),
              exact);
  ExpectClose(RunText(Entry("x = f64[211] parameter(0)\nz = f64[] constant(0)\n"
                            "ROOT r = f64[1] reduce-window(x, z), window={size=211}, to_apply=sum",
                            Add("f64")),
                      {x})
                  .GetDouble(0),
              exact);
  ExpectClose(RunText(Entry("x = f64[211] parameter(0)\nz = f64[] constant(0)\n"
                            "ROOT r = f64[211] reduce-window(x, z), window={size=211 pad=210_0}, to_apply=sum",
                            Add("f64")),
                      {x})
                  .GetDouble(kLength - 1),
              exact);
  ExpectClose(RunText(Entry("x = f64[211] parameter(0)\np = f64[1] constant({0})\nz = s32[] constant(0)\n"
                            "i = s32[211] broadcast(z), dimensions={}\n"
                            "ROOT r = f64[1] scatter(p, i, x), update_window_dims={}, inserted_window_dims={0}, "
                            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
                            Add("f64")),
                      {x})
                  .GetDouble(0),
              exact);
}

// Arrays that a reducer folds apart from each other are as exact as one.
TEST(AccumulationTest, VariadicReduceOfF64) {
  const std::vector<double> a = Terms(Cancelling(10)), b = Terms(Cancelling(11));
  const std::string reducer =
      "both { a = f64[] parameter(0)\n m = s32[] parameter(1)\n b = f64[] parameter(2)\n x = f64[] parameter(3)\n"
      " n = s32[] parameter(4)\n y = f64[] parameter(5)\n p = f64[] add(x, a)\n q = s32[] maximum(m, n)\n r = f64[] "
      "add(b, y)\n"
      " ROOT t = (f64[], s32[], f64[]) tuple(p, q, r) }\n";
  for (const std::string op :
       {"reduce(x, i, y, z, k, z), dimensions={0}", "reduce-window(x, i, y, z, k, z), window={size=211}"}) {
    const std::string dimensions = op.starts_with("reduce(") ? "[]" : "[1]";
    const Literal r =
        RunText(Entry("x = f64[211] parameter(0)\ny = f64[211] parameter(1)\ni = s32[211] iota(), iota_dimension=0\n"
                      "z = f64[] constant(0)\nk = s32[] constant(-1)\nROOT r = (f64" +
                          dimensions + ", s32" + dimensions + ", f64" + dimensions + ") " + op + ", to_apply=both",
                      reducer),
                {Array(kF64, {kLength}, a), Array(kF64, {kLength}, b)});
    ExpectClose(r.tuple_elements()[0].GetDouble(0), ExactSum(a));
    EXPECT_EQ(r.tuple_elements()[1].GetInt(0), 210);
    ExpectClose(r.tuple_elements()[2].GetDouble(0), ExactSum(b));
  }
}

TEST(AccumulationTest, ScatterAndSelectAndScatterOfC128) {
  const std::vector<double> re = Terms(Cancelling(6)), im = Terms(Cancelling(7));
  Literal x(Shape(kC128, {kLength}));
  for (int64_t i = 0; i < kLength; ++i) x.SetComplex(i, {re[static_cast<size_t>(i)], im[static_cast<size_t>(i)]});
  const Literal r = RunText(Entry("x = c128[211] parameter(0)\nz = s32[] constant(0)\n"
                                  "p = c128[1] constant({(0, 0)})\ni = s32[211] broadcast(z), dimensions={}\n"
                                  "ROOT r = c128[1] scatter(p, i, x), update_window_dims={}, inserted_window_dims={0}, "
                                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
                                  Add("c128")),
                            {x});
  ExpectClose(r.GetComplex(0).real(), ExactSum(re));
  ExpectClose(r.GetComplex(0).imag(), ExactSum(im));
  // All windows overlap in one cell, the largest, which takes every source.
  Literal peak(Shape(kF64, {2 * kLength - 1}));
  peak.SetDouble(kLength - 1, 1);
  const Literal s =
      RunText(Entry("p = f64[421] parameter(0)\nx = f64[211] parameter(1)\nz = f64[] constant(0)\n"
                    "ROOT r = f64[421] select-and-scatter(p, x, z), window={size=211}, select=ge, scatter=sum",
                    Add("f64") + "ge { a = f64[] parameter(0)\n b = f64[] parameter(1)\n"
                                 " ROOT r = pred[] compare(a, b), direction=GE }\n"),
              {peak, Array(kF64, {kLength}, re)});
  ExpectClose(s.GetDouble(kLength - 1), ExactSum(re));
}

// 1 + e each: double alone would be off by some twenty units in the last place.
TEST(AccumulationTest, ProductsOfF64) {
  std::mt19937_64 engine(9);
  for (const int64_t n : {1, 2, 7, 1000, 70000}) {
    std::vector<double> x;
    mpfr_t exact;
    mpfr_init2(exact, 400);
    mpfr_set_d(exact, 1, MPFR_RNDN);
    for (int64_t i = 0; i < n; ++i) {
      x.push_back((i % 3 == 0 ? -1 : 1) * (1 + (static_cast<double>(engine() >> 11) * 0x1p-52 - 1) * 1e-3));
      mpfr_mul_d(exact, exact, x.back(), MPFR_RNDN);
    }
    const std::string s = Text(Shape(kF64, {n}));
    const Literal r = RunText(Entry("x = " + s +
                                        " parameter(0)\no = f64[] constant(1)\n"
                                        "ROOT r = f64[] reduce(x, o), dimensions={0}, to_apply=product",
                                    "product { a = f64[] parameter(0)\n b = f64[] parameter(1)\n"
                                    " ROOT r = f64[] multiply(a, b) }\n"),
                              {Array(kF64, {n}, x)});
    EXPECT_EQ(r.GetDouble(0), mpfr_get_d(exact, MPFR_RNDN)) << n;
    mpfr_clear(exact);
  }
}

TEST(AccumulationTest, ProductsOfF64ThatOverflowVanishOrMeetInfinity) {
  auto product = [](const std::vector<double>& x) {
    const std::string s = Text(Shape(kF64, {static_cast<int64_t>(x.size())}));
    return RunText(Entry("x = " + s +
                             " parameter(0)\no = f64[] constant(1)\n"
                             "ROOT r = f64[] reduce(x, o), dimensions={0}, to_apply=product",
                         "product { a = f64[] parameter(0)\n b = f64[] parameter(1)\n"
                         " ROOT r = f64[] multiply(a, b) }\n"),
                   {Array(kF64, {static_cast<int64_t>(x.size())}, x)})
        .GetDouble(0);
  };
  EXPECT_EQ(product({kInf, -2}), -kInf);
  EXPECT_EQ(product({1e200, -1e200}), -kInf);
  EXPECT_EQ(product({1e305, 2}), 2e305);
  EXPECT_EQ(product({1e-200, 1e-200}), 0);
  EXPECT_EQ(product({0x1p-1074, 1, 3}), 3 * 0x1p-1074);
  EXPECT_EQ(product({0, 5, 7}), 0);
  EXPECT_TRUE(std::isnan(product({0, kInf})));
  EXPECT_TRUE(std::isnan(product({kNan, 2, 3})));
}

// The components cancel: a product rounded before the difference would leave none of their digits.
TEST(AccumulationTest, MultiplyOfC128) {
  const double a = 1 + 0x1p-30, b = 1 - 0x1p-30;
  Literal x(Shape(kC128, {4})), y(Shape(kC128, {4}));
  const std::vector<std::pair<Complex, Complex>> factors = {
      {{a, 1}, {b, 1}}, {{1, a}, {-b, 1}}, {{1e300, 1}, {2, 1e-300}}, {{kInf, 1}, {2, 0}}};
  for (int64_t i = 0; i < 4; ++i) {
    x.SetComplex(i, factors[static_cast<size_t>(i)].first), y.SetComplex(i, factors[static_cast<size_t>(i)].second);
  }
  const Literal r =
      RunText(Entry("x = c128[4] parameter(0)\ny = c128[4] parameter(1)\nROOT r = c128[4] multiply(x, y)"), {x, y});
  EXPECT_EQ(r.GetComplex(0), Complex(-0x1p-60, 2));
  EXPECT_EQ(r.GetComplex(1), Complex(-2, 0x1p-60));
  EXPECT_EQ(r.GetComplex(2), Complex(2e300, 3));
  EXPECT_EQ(r.GetComplex(3).real(), kInf);
}

TEST(AccumulationTest, BatchNormalisationOfF64FarFromZero) {
  // Mean 2^40, deviation 1: squares of the values would swallow the variance.
  std::vector<double> x;
  for (int64_t i = 0; i < 1000; ++i) x.push_back(0x1p40 + (i % 2 ? 1 : -1));
  const Literal r =
      RunText(Entry("x = f64[1000,1] parameter(0)\ns = f64[1] constant({1})\no = f64[1] constant({0})\n"
                    "ROOT r = (f64[1000,1], f64[1], f64[1]) batch-norm-training(x, s, o), epsilon=0, feature_index=1"),
              {Array(kF64, {1000, 1}, x)});
  EXPECT_EQ(r.tuple_elements()[1].GetDouble(0), 0x1p40);
  EXPECT_EQ(r.tuple_elements()[2].GetDouble(0), 1);
  EXPECT_EQ(r.tuple_elements()[0].GetDouble(0), -1);
}

// Each row's own solution is as good as the pivots allow: the residual of b - A x is rounded once.
TEST(AccumulationTest, TriangularSolveOfF64) {
  const Cancelling c(8);
  const int64_t n = kLength;
  Literal a(Shape(kF64, {n, n})), b(Shape(kF64, {n, 1}));
  for (int64_t i = 0; i < n; ++i) a.SetDouble(i * (n + 1), 1);
  for (int64_t k = 0; k + 1 < n; ++k) {
    a.SetDouble((n - 1) * n + k, c.a[static_cast<size_t>(k)]);
    b.SetDouble(k, c.b[static_cast<size_t>(k)]);
  }
  b.SetDouble(n - 1, -c.a.back() * c.b.back());
  const Literal x = RunText(Entry("a = f64[211,211] parameter(0)\nb = f64[211,1] parameter(1)\n"
                                  "ROOT r = f64[211,1] triangular-solve(a, b), left_side=true, lower=true, "
                                  "unit_diagonal=false, transpose_a=NO_TRANSPOSE"),
                            {a, b});
  Exact last;
  last.AddProduct(b.GetDouble(n - 1), 1);
  for (size_t k = 0; k + 1 < c.a.size(); ++k) last.AddProduct(-c.a[k], c.b[k]);
  ExpectClose(x.GetDouble(n - 1), last.Value());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
