// Bounds of single instructions: sums by the magnitudes of their terms, wherever they stand.
#include "backend/cpu/reference/op_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <limits>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

// Three large terms that cancel, and what is left.
const std::vector<float> kCancelling{1e8F, 1, -1e8F, 0.5F, 0.25F};

struct Bounded {
  Literal expected;
  OpBound bound;
};

Bounded BoundOfRoot(const std::string& hlo, const std::vector<Literal>& arguments) {
  auto module = ParseHlo(hlo);
  EXPECT_TRUE(module.ok()) << module.status().message();
  const Instruction& root = *(*module)->entry()->root();
  std::vector<const Literal*> operands;
  for (const Instruction* operand : root.operands()) {
    operands.push_back(operand->opcode() == Opcode::kParameter
                           ? &arguments[static_cast<size_t>(operand->parameter_number())]
                           : &operand->literal());
  }
  auto expected = EvaluateInstruction(root, operands);
  EXPECT_TRUE(expected.ok()) << expected.status().message();
  Bounded result{*expected, BoundOf(root, operands, *expected)};
  return result;
}

Literal Terms() { return Literal::FromVector<float>(Shape(ElementType::kF32, {5}), kCancelling); }

constexpr char kPair[] =
    "pair { a = f32[] parameter(0)  j = f32[] parameter(1)  b = f32[] parameter(2)  k = f32[] parameter(3)\n"
    "  s = f32[] add(a, b)  m = f32[] maximum(j, k)  ROOT t = (f32[], f32[]) tuple(s, m) }\n";

TEST(OpBoundTest, ASumBesideAMaximumHasTheBoundOfItsTermsMagnitudes) {
  const Bounded b =
      BoundOfRoot(std::string(kPair) +
                      "ENTRY e { x = f32[5] parameter(0)  z = f32[] constant(0)  n = f32[] constant(-inf)\n"
                      "  ROOT r = (f32[], f32[]) reduce(x, x, z, n), dimensions={0}, to_apply=pair }",
                  {Terms()});
  ASSERT_EQ(b.bound.leaves.size(), 2u);
  EXPECT_TRUE(b.bound.known);
  ASSERT_NE(b.bound.leaves[0].magnitudes, nullptr);
  EXPECT_FLOAT_EQ(static_cast<float>(b.bound.leaves[0].magnitudes->GetDouble(0)), 2e8F);
  EXPECT_EQ(b.bound.leaves[1].magnitudes, nullptr);
  EXPECT_EQ(b.bound.leaves[1].ulp, 0);
  // What f32 gives when it adds these one by one is within the bound, and a wrong maximum is not.
  float one_by_one = 0;
  for (const float x : kCancelling) one_by_one += x;
  ASSERT_NE(one_by_one, static_cast<float>(b.expected.tuple_elements()[0].GetDouble(0)));
  EXPECT_TRUE(Compare(Literal::Scalar(ElementType::kF32, one_by_one), b.expected.tuple_elements()[0], b.bound.leaves[0])
                  .agrees());
  EXPECT_FALSE(
      Compare(Literal::Scalar(ElementType::kF32, 2), b.expected.tuple_elements()[1], b.bound.leaves[1]).agrees());
  EXPECT_THAT(b.bound.text, ::testing::HasSubstr("of the magnitudes of 5 terms, then 1 ulp; equal"));
}

TEST(OpBoundTest, SumsInVariadicWindowsAndScattersHaveTheirBound) {
  const Bounded window =
      BoundOfRoot(std::string(kPair) +
                      "ENTRY e { x = f32[5] parameter(0)  z = f32[] constant(0)  n = f32[] constant(-inf)\n"
                      "  ROOT r = (f32[1], f32[1]) reduce-window(x, x, z, n), window={size=5}, to_apply=pair }",
                  {Terms()});
  ASSERT_NE(window.bound.leaves.at(0).magnitudes, nullptr);
  EXPECT_FLOAT_EQ(static_cast<float>(window.bound.leaves[0].magnitudes->GetDouble(0)), 2e8F);
  EXPECT_EQ(window.bound.leaves.at(1).magnitudes, nullptr);

  const Bounded scatter = BoundOfRoot(
      std::string(kPair) +
          "ENTRY e { o = f32[2] parameter(1)  i = s32[5,1] parameter(2)  x = f32[5] parameter(0)\n"
          "  ROOT r = (f32[2], f32[2]) scatter(o, o, i, x, x), update_window_dims={}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=pair }",
      {Terms(), Literal(Shape(ElementType::kF32, {2})), Literal(Shape(ElementType::kS32, {5, 1}))});
  ASSERT_NE(scatter.bound.leaves.at(0).magnitudes, nullptr);
  EXPECT_FLOAT_EQ(static_cast<float>(scatter.bound.leaves[0].magnitudes->GetDouble(0)), 2e8F);
  EXPECT_EQ(scatter.bound.leaves.at(1).magnitudes, nullptr);
}

// As those of a reduction do: an infinity may meet what has become 0, where its factors come together.
TEST(OpBoundTest, ProductsOfScattersMayLoseAnInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Bounded b = BoundOfRoot(
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] multiply(a, b) }\n"
      "ENTRY e { x = f32[5] parameter(0)  o = f32[2] parameter(1)  i = s32[5,1] parameter(2)\n"
      "  ROOT r = f32[2] scatter(o, i, x), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f }",
      {Literal::FromVector<float>(Shape(ElementType::kF32, {5}), std::vector<float>{infinity, 1e-30F, 1e-30F, 2, 3}),
       Literal::FromVector<float>(Shape(ElementType::kF32, {2}), std::vector<float>{1, 1}),
       Literal::FromVector<int32_t>(Shape(ElementType::kS32, {5, 1}), std::vector<int32_t>{0, 0, 0, 1, 1})});
  const auto agrees = [&](float first, float second) {
    const Literal actual = Literal::FromVector<float>(Shape(ElementType::kF32, {2}), std::vector<float>{first, second});
    return Compare(actual, b.expected, b.bound.leaves.at(0)).agrees();
  };
  EXPECT_TRUE(agrees(infinity, 6));
  EXPECT_TRUE(agrees(std::numeric_limits<float>::quiet_NaN(), 6));
  EXPECT_FALSE(agrees(infinity, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_FALSE(agrees(infinity, 6.01F));
}

TEST(OpBoundTest, SelectAndScatterAddsMagnitudesWhereTheOperandPoints) {
  const Bounded b = BoundOfRoot(
      "ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }\n"
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "ENTRY e { x = f32[5] parameter(0)  s = f32[2] parameter(1)  z = f32[] constant(0)\n"
      "  ROOT r = f32[5] select-and-scatter(x, s, z), window={size=4 stride=1}, select=ge, scatter=sum }",
      {Terms(), Literal::FromVector<float>(Shape(ElementType::kF32, {2}), std::vector<float>{3, -2})});
  EXPECT_TRUE(b.bound.known);
  ASSERT_NE(b.bound.leaves.at(0).magnitudes, nullptr);
  // The first window's greatest element is 1e8, the second one's 1.
  EXPECT_EQ(b.bound.leaves[0].magnitudes->GetDouble(0), 3);
  EXPECT_EQ(b.bound.leaves[0].magnitudes->GetDouble(1), 2);
}

// Whether a device's value of a reduction of f32 terms is within the bound of the reference's.
bool Agrees(const std::string& operation, float init, const std::vector<float>& terms, float value) {
  const std::string type = "f32[" + std::to_string(terms.size()) + "]";
  const Bounded b = BoundOfRoot(
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] " + operation + "(a, b) }\nENTRY e { x = " +
          type + " parameter(0)  z = f32[] parameter(1)  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f }",
      {Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(terms.size())}), terms),
       Literal::Scalar(ElementType::kF32, init)});
  EXPECT_TRUE(b.bound.known);
  return Compare(Literal::Scalar(ElementType::kF32, value), b.expected, b.bound.leaves.at(0)).agrees();
}

TEST(OpBoundTest, PartialResultsMayLeaveTheRangeInOneOrderOnly) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const float value : {1.0F, infinity, -infinity, nan}) {
    EXPECT_TRUE(Agrees("multiply", 1, {1e30F, -1e30F, 1e-19F, 1e-19F, -1e-19F}, value == 1 ? 1e3F : value)) << value;
  }
  // In no order: an infinity is wrong then, and so is a number where a factor is infinite.
  EXPECT_FALSE(Agrees("multiply", 1, {1e30F, 1e8F, 1e-8F}, infinity));
  EXPECT_FALSE(Agrees("multiply", 1, {1e30F, 1e8F, 1e-8F}, nan));
  EXPECT_FALSE(Agrees("multiply", 1, {1e30F, 1e8F, 1e-8F}, 1.1e30F));
  EXPECT_FALSE(Agrees("multiply", 1, {infinity, 1e30F, 1e30F}, 1e30F));
  // Roundings go either way, but where a partial product leaves no room for its remainder.
  EXPECT_TRUE(Agrees("multiply", 1, std::vector<float>(4096, 1), 1 - 0x1p-14F));
  EXPECT_FALSE(Agrees("multiply", 1, std::vector<float>(4096, 1), 1 - 0x1p-13F));
  std::vector<float> small(4096, 1);
  small[0] = 0x1p-101F;
  EXPECT_TRUE(Agrees("multiply", 1, small, 0x1p-101F - 0x1p-114F));
  EXPECT_FALSE(Agrees("multiply", 1, small, 0x1p-101F - 0x1p-111F));
  // A partial product below the normal numbers has lost digits, or all of them.
  EXPECT_TRUE(Agrees("multiply", 1, {1e-25F, 1e-25F, 1e25F, 1e5F}, 0));
  EXPECT_FALSE(Agrees("multiply", 1, {1e-25F, 1e-5F, 1e25F, 1e5F}, 0));
  // Nothing is left of it where it meets an infinity.
  EXPECT_TRUE(Agrees("multiply", 1, {infinity, 1e-25F, 1e-25F}, nan));
  EXPECT_FALSE(Agrees("multiply", 1, {infinity, 1e-25F, 1e-5F}, nan));

  for (const float value : {0.0F, infinity, -infinity, nan}) {
    EXPECT_TRUE(Agrees("add", 0, {3e38F, 3e38F, -3e38F, -3e38F}, value)) << value;
  }
  EXPECT_FALSE(Agrees("add", 0, {3e38F, -3e37F, 1}, infinity));
  EXPECT_FALSE(Agrees("add", 0, {3e38F, -3e37F, 1}, nan));
  EXPECT_FALSE(Agrees("add", 0, {infinity, 1, 2}, 3));
  EXPECT_FALSE(Agrees("add", 0, {infinity, 1, 2}, nan));
}

// Where a partial result may leave the range, an infinity or a NaN says nothing; elsewhere it does.
std::string MayOverflow(const Bounded& b) {
  const Literal* const may = b.bound.leaves.at(0).may_overflow;
  std::string text;
  for (int64_t i = 0; may != nullptr && i < may->element_count(); ++i) text += may->GetInt(i) != 0 ? 'x' : '.';
  return text;
}

// A number beside an infinity in a factor may leave the range, and takes the infinity with it.
TEST(OpBoundTest, PartsBesideAnInfinityMayOverflow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto numbers = [](std::initializer_list<std::complex<float>> values) {
    return Literal::FromVector<std::complex<float>>(Shape(ElementType::kC64, {static_cast<int64_t>(values.size()), 1}),
                                                    std::vector<std::complex<float>>(values));
  };
  const Bounded b = BoundOfRoot(
      "ENTRY e { x = c64[3,1] parameter(0)  y = c64[1,1] parameter(1)\n"
      "  ROOT r = c64[3,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
      {numbers({{-kInfinity, 2.4e38F}, {-kInfinity, 2.4e37F}, {-kInfinity, kInfinity}}), numbers({{-0.8F, 2.1F}})});
  EXPECT_EQ(MayOverflow(b), "x..");
}

TEST(OpBoundTest, ProductsOfBf16LeaveTheRangeAsThoseOfF32Do) {
  const auto matrix = [](std::vector<float> values) {
    Literal made(Shape(ElementType::kBF16, {2, 2}));
    for (size_t i = 0; i < 4; ++i) made.SetDouble(static_cast<int64_t>(i), values[i]);
    return made;
  };
  const char* const text =
      "ENTRY e { a = bf16[2,2] parameter(0)  b = bf16[2,2] parameter(1)\n"
      "  ROOT r = bf16[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
  const Bounded b = BoundOfRoot(text, {matrix({1e30F, -1e30F, 1, 2}), matrix({1e20F, 1, 1e20F, 1})});
  EXPECT_EQ(MayOverflow(b), "x...");
  EXPECT_EQ(MayOverflow(BoundOfRoot(text, {matrix({1, 2, 3, 4}), matrix({5, 6, 7, 8})})), "");
}

TEST(OpBoundTest, ADeviceThatFlushesLosesMoreOfAPartialProduct) {
  const auto module = ParseHlo(
      "f { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] multiply(x, y) }\nENTRY e { a = f32[4] "
      "parameter(0)  i = f32[] constant(1)  ROOT r = f32[] reduce(a, i), dimensions={0}, to_apply=f }");
  ASSERT_TRUE(module.ok());
  const Literal factors =
      Literal::FromVector<float>(Shape(ElementType::kF32, {4}), std::vector<float>{1e-20F, 1e-19F, 1e30F, 3});
  const Literal* const arguments[] = {&factors};
  const Literal expected = Literal::FromVector<float>(Shape(ElementType::kF32, {}), std::vector<float>{3e-9F});
  const Literal lost = Literal::FromVector<float>(Shape(ElementType::kF32, {}), std::vector<float>{0});
  for (const bool flushes : {false, true}) {
    const auto bound = BoundOfProgram(**module, arguments, expected, flushes);
    ASSERT_TRUE(bound.has_value());
    EXPECT_EQ(Compare(lost, expected, bound->leaves.at(0)).agrees(), flushes);
  }
}

TEST(OpBoundTest, TransformsLeaveTheRangeLineByLine) {
  Literal x(Shape(ElementType::kC64, {2, 5}));
  x.SetComplex(1, {1e38, 1e38});
  x.SetComplex(5, {1, 2});
  const Bounded b =
      BoundOfRoot("ENTRY e { x = c64[2,5] parameter(0)  ROOT r = c64[2,5] fft(x), fft_type=FFT, fft_length={5} }", {x});
  EXPECT_EQ(MayOverflow(b), "xxxxx.....");
}

// Of (0.5 - 3i)^w the angle and the logarithm of the size grow with w.
TEST(OpBoundTest, TheBoundOfAComplexPowerGrowsWithItsLogarithm) {
  Literal z(Shape(ElementType::kC64, {7})), w(Shape(ElementType::kC64, {7}));
  const std::vector<std::complex<double>> powers = {
      {2, 0},         // small
      {200, -181.3},  // (|w log z| = 484), a number
      {90, 0},        // beyond the largest number, both parts in a certain direction
      {0, 3e8},       // a size and angle of 3e8, known to 1: where it points to is not
      {0, -3e8},      // certainly 0
      {1e9, 1e9},     // so far off that nothing is known but that it is large
      {0, 0}};
  for (int64_t i = 0; i < 7; ++i) {
    z.SetComplex(i, {0.5, -3});
    w.SetComplex(i, powers[static_cast<size_t>(i)]);
  }
  const Bounded b =
      BoundOfRoot("ENTRY e { z = c64[7] parameter(0)  w = c64[7] parameter(1)  ROOT r = c64[7] power(z, w) }", {z, w});
  const Tolerance& tolerance = b.bound.leaves.at(0);
  EXPECT_EQ(tolerance.norm_ulp, 1.5);
  EXPECT_EQ(MayOverflow(b), "...x.x.");
  ASSERT_NE(tolerance.magnitudes, nullptr);
  const auto units = [&](int64_t i) {
    return tolerance.magnitude_factor * tolerance.magnitudes->GetDouble(i) / std::abs(b.expected.GetComplex(i)) *
           0x1p23;
  };
  const double size = std::abs(powers[1] * std::log(std::complex<double>(0.5, -3)));
  EXPECT_GT(units(1), size / 64 / 2);
  EXPECT_LE(units(1), size / 64 + 0.5);
  EXPECT_EQ(tolerance.magnitudes->GetDouble(0), 0);
  EXPECT_EQ(tolerance.magnitudes->GetDouble(4), 0);

  const auto agrees = [&](int64_t i, std::complex<double> value) {
    Literal actual = b.expected;
    actual.SetComplex(i, value);
    return Compare(actual, b.expected, tolerance).agrees();
  };
  const std::complex<double> infinite = b.expected.GetComplex(2);
  EXPECT_TRUE(agrees(1, b.expected.GetComplex(1) * (1 + 4 * 0x1p-23)));
  EXPECT_FALSE(agrees(1, b.expected.GetComplex(1) * (1 + 12 * 0x1p-23)));
  EXPECT_FALSE(agrees(2, -infinite));
  EXPECT_TRUE(agrees(3, -b.expected.GetComplex(3)));
  EXPECT_FALSE(agrees(4, {1e-30, 0}));
}

TEST(OpBoundTest, AComplexAngleMayTurnNextToItsCuts) {
  Literal y(Shape(ElementType::kC64, {5})), x(Shape(ElementType::kC64, {5}));
  const std::vector<std::pair<std::complex<double>, std::complex<double>>> points = {
      {{1, 2}, {3, -1}},                    // nowhere near
      {{-2e-14, 568}, {4e-26, 3.5e32}},     // the square root's
      {{-3e-25, 3e-26}, {-5e11, 5e-11}},    // the logarithm's
      {{-2.5e38, -1e38}, {-1e38, 3.2e38}},  // nowhere near, next to the largest numbers
      {{0, -3e-45}, {0, -1.5e-45}}};        // the square root's, of the smallest numbers
  for (int64_t i = 0; i < 5; ++i) {
    y.SetComplex(i, points[static_cast<size_t>(i)].first);
    x.SetComplex(i, points[static_cast<size_t>(i)].second);
  }
  const Bounded b =
      BoundOfRoot("ENTRY e { y = c64[5] parameter(0)  x = c64[5] parameter(1)  ROOT r = c64[5] atan2(y, x) }", {y, x});
  const Literal* const may = b.bound.leaves.at(0).half_turns;
  ASSERT_NE(may, nullptr);
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(may->GetInt(i), i == 1 || i == 2 || i == 4 ? 1 : 0) << i;
  const auto agrees = [&](int64_t i, std::complex<double> apart) {
    Literal actual = b.expected;
    actual.SetComplex(i, b.expected.GetComplex(i) + apart);
    return Compare(actual, b.expected, b.bound.leaves.at(0)).agrees();
  };
  constexpr double kHalfTurn = 3.141592653589793;
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(agrees(i, 0));
    EXPECT_EQ(agrees(i, kHalfTurn), may->GetInt(i) != 0) << i;
    EXPECT_EQ(agrees(i, -2 * kHalfTurn), may->GetInt(i) != 0) << i;
    EXPECT_FALSE(agrees(i, 3 * kHalfTurn)) << i;
    EXPECT_FALSE(agrees(i, 1e-4 + kHalfTurn)) << i;
    EXPECT_FALSE(agrees(i, {0, kHalfTurn})) << i;
  }
}

TEST(OpBoundTest, SolutionsLeaveTheRangeFromTheElementOnWhereTheirTermsDo) {
  const auto made = [](std::vector<int64_t> sizes, std::vector<float> values) {
    return Literal::FromVector<float>(Shape(ElementType::kF32, std::move(sizes)), values);
  };
  // x0 = 1e30, x1 = 1 - 1e10 x0, x2 = (1e38 + x1) / 1.
  const Bounded b = BoundOfRoot(
      "ENTRY e { a = f32[3,3] parameter(0)  b = f32[3,2] parameter(1)\n"
      "  ROOT r = f32[3,2] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE }",
      {made({3, 3}, {1, 7, 7, 1e10F, 1, 7, 0, -1, 1}), made({3, 2}, {1e30F, 1, 1, 1, 1e38F, 1})});
  EXPECT_EQ(MayOverflow(b), "..x.x.");
  // x1 = -9.9e17 x0 / 13 is beyond the range of f32, which the reference computes x2 = 391 of all the same. The other
  // ways round are the same system.
  const auto others = [&](const std::string& attributes, const std::string& left, std::vector<float> matrix,
                          bool is_row) {
    const std::string right = is_row ? "f32[1,3]" : "f32[3,1]";
    return MayOverflow(BoundOfRoot(
        "ENTRY e { a = f32[3,3] parameter(0)  b = " + right + " parameter(1)\n  ROOT r = " + right +
            " triangular-solve(a, b), left_side=" + left + ", " + attributes + " }",
        {made({3, 3}, std::move(matrix)),
         made(is_row ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{3, 1}, {-3.6e-2F, -1e-8F, -3e38F})}));
  };
  EXPECT_EQ(others("lower=true, transpose_a=NO_TRANSPOSE", "true",
                   {2e-33F, 0, 0, 9.9e17F, 13, 0, 4e-33F, 5e-17F, -7.7e35F}, false),
            ".xx");
  EXPECT_EQ(others("lower=false, transpose_a=TRANSPOSE", "true",
                   {2e-33F, 9.9e17F, 4e-33F, 0, 13, 5e-17F, 0, 0, -7.7e35F}, false),
            ".xx");
  EXPECT_EQ(others("lower=false, transpose_a=NO_TRANSPOSE", "false",
                   {2e-33F, 9.9e17F, 4e-33F, 0, 13, 5e-17F, 0, 0, -7.7e35F}, true),
            ".xx");
  EXPECT_EQ(others("lower=false, transpose_a=NO_TRANSPOSE", "true", {2e-33F, 0, 0, 0, 1, 9.9e17F, 0, 0, 13}, false),
            "xx.");
}

// Feature by feature: the squares of 1e25 leave f32, those of 1 do not.
TEST(OpBoundTest, BatchNormsLeaveTheRangeFeatureByFeature) {
  const auto made = [](std::vector<int64_t> sizes, std::vector<float> values) {
    return Literal::FromVector<float>(Shape(ElementType::kF32, std::move(sizes)), values);
  };
  const Literal x = made({3, 2}, {1e25F, 1, -1e25F, 2, 3, 4}), ones = made({2}, {1, 1});
  const Bounded training = BoundOfRoot(
      "ENTRY e { x = f32[3,2] parameter(0)  s = f32[2] parameter(1)  o = f32[2] parameter(2)  ROOT r = (f32[3,2], "
      "f32[2], "
      "f32[2]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=1 }",
      {x, ones, ones});
  EXPECT_EQ(MayOverflow(training), "x.x.x.");
  for (const Tolerance& tolerance : training.bound.leaves) {
    ASSERT_NE(tolerance.magnitudes, nullptr);
    EXPECT_EQ(tolerance.magnitudes->GetDouble(0), HUGE_VAL);
    EXPECT_EQ(tolerance.magnitudes->GetDouble(1), 0);
  }
  const std::string text =
      "ENTRY e { x = f32[3,2] parameter(0)  s = f32[2] parameter(1)  o = f32[2] parameter(2)  m = f32[2] parameter(3)\n"
      "  v = f32[2] parameter(4)  ROOT r = f32[3,2] batch-norm-inference(x, s, o, m, v), epsilon=0.001, "
      "feature_index=1 }";
  EXPECT_EQ(MayOverflow(BoundOfRoot(text, {x, ones, ones, ones, ones})), "");
  EXPECT_EQ(MayOverflow(BoundOfRoot(text, {x, made({2}, {1e20F, 1}), ones, ones, ones})), "x.x.x.");
  EXPECT_EQ(
      MayOverflow(BoundOfRoot(
          "ENTRY e { x = f32[3,2] parameter(0)  s = f32[2] parameter(1)  m = f32[2] parameter(2)  v = f32[2] "
          "parameter(3)\n  g = f32[3,2] parameter(4)  ROOT r = (f32[3,2], f32[2], f32[2]) batch-norm-grad(x, s, m, v, "
          "g), epsilon=0.001, feature_index=1 }",
          {x, ones, ones, ones, made({3, 2}, {1e20F, 1e30F, 1, 1, 1, 1})})),
      "x.x.x.");
}

TEST(OpBoundTest, ACustomCombinerHasNoKnownBound) {
  const Bounded b = BoundOfRoot(
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  s = f32[] add(a, b)  m = f32[] multiply(a, b)  ROOT r = "
      "f32[] "
      "add(s, m) }\n"
      "ENTRY e { x = f32[5] parameter(0)  z = f32[] constant(0)  ROOT r = f32[] reduce(x, z), dimensions={0}, "
      "to_apply=f }",
      {Terms()});
  EXPECT_FALSE(b.bound.known);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
