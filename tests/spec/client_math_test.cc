// The functions of XLA's client library against the C library's.
#include <cmath>

#include "core/builder/math.h"
#include "core/ir/module.h"
#include "tests/spec/spec_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// One value of a function of an array of these arguments.
std::vector<double> Values(XlaOp (*function)(XlaOp), ElementType type, const std::vector<double>& x) {
  Literal literal{Shape(type, {static_cast<int64_t>(x.size())})};
  for (size_t i = 0; i < x.size(); ++i) literal.SetDouble(static_cast<int64_t>(i), x[i]);
  Program p;
  const Literal result = p.RunLiteral(function(p.Arg(literal)));
  std::vector<double> values;
  for (int64_t i = 0; i < result.element_count(); ++i) values.push_back(result.GetDouble(i));
  return values;
}

TEST(ClientMathTest, ClassificationAndConstants) {
  Program p;
  const XlaOp x = p.Arg("f32[6]{nan,inf,-inf,-0,0,3}");
  EXPECT_EQ(p.Run(IsNan(x)), "pred[6]{1,0,0,0,0,0}");
  EXPECT_EQ(p.Run(IsInf(x)), "pred[6]{0,1,1,0,0,0}");
  EXPECT_EQ(p.Run(IsPosInf(x)), "pred[6]{0,1,0,0,0,0}");
  EXPECT_EQ(p.Run(IsNegInf(x)), "pred[6]{0,0,1,0,0,0}");
  EXPECT_EQ(p.Run(IsNegZero(x)), "pred[6]{0,0,0,1,0,0}");
  EXPECT_EQ(p.Run(Reciprocal(p.Arg("f64[2]{4,-0}"))), "f64[2]{0.25,-inf}");
  EXPECT_EQ(p.Run(Square(p.Arg("s32[2]{-3,5}"))), "s32[2]{9,25}");
  EXPECT_EQ(p.Run(Conj(p.Arg("c64[2]{(1,2),(3,-4)}"))), "c64[2]{(1,-2),(3,4)}");
  EXPECT_EQ(p.Run(ZerosLike(p.Arg("s8[2]{1,2}"))), "s8[2]{0,0}");
  EXPECT_EQ(p.Run(Tuple(p.b(), {MinValue(p.b(), kF32), MaxValue(p.b(), kU8), MinFiniteValue(p.b(), kS16),
                                MaxFiniteValue(p.b(), kF16)})),
            "(f32[]-inf,u8[]255,s16[]-32768,f16[]6.55e+04)");
}

TEST(ClientMathTest, TakesFloatsOnly) {
  Program p;
  EXPECT_EQ(ErrorOf(Lgamma(p.Arg("s32[2]{1,2}"))), "lgamma: operand 0 is of s32, a floating type needed");
}

TEST(ClientMathTest, ErfInvInvertsErf) {
  std::vector<double> x;
  for (int i = -400; i <= 400; ++i) x.push_back(static_cast<float>(i / 401.0));
  const std::vector<double> got = Values(ErfInv, kF64, x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(std::erf(got[i]), x[i], 3e-16) << x[i];
  Program p;
  EXPECT_EQ(p.Run(ErfInv(p.Arg("f32[4]{1,-1,0,2}"))), "f32[4]{inf,-inf,0,nan}");
}

TEST(ClientMathTest, EndsOfTheRanges) {
  Program p;
  EXPECT_EQ(p.Run(Erfc(p.Arg("f32[4]{inf,-inf,nan,0}"))), "f32[4]{0,2,nan,1}");
  EXPECT_EQ(p.Run(Lgamma(p.Arg("f32[4]{inf,0,-3,nan}"))), "f32[4]{inf,inf,inf,nan}");
  EXPECT_EQ(p.Run(Digamma(p.Arg("f32[2]{0,-2}"))), "f32[2]{nan,nan}");
  EXPECT_EQ(p.Run(Erfc(p.Arg("bf16[1]{0}"))), "bf16[1]{1}");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
