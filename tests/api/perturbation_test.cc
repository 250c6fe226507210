// Monte Carlo arithmetic on the reference: what rounding touches moves within its bound, and nothing else does.
#include "api/verify/perturbation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "api/verify/seeded_arguments.h"
#include "core/numerics/literal_compare.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

struct Moved {
  Literal plain, perturbed, again, other;
};

Moved MoveProgram(const std::string& hlo, std::vector<Literal> arguments = {}, bool any_order = false) {
  auto module = ParseHlo(hlo);
  EXPECT_TRUE(module.ok()) << module.status().message();
  if (arguments.empty()) arguments = *SeededArguments(**module, 3);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  PerturbationOptions options;
  options.any_order = any_order;
  Perturbation perturbation(options);
  auto plain = Evaluate(**module, pointers);
  auto perturbed = perturbation.Run(**module, pointers, 1), again = perturbation.Run(**module, pointers, 1),
       other = perturbation.Run(**module, pointers, 2);
  EXPECT_TRUE(perturbed.ok()) << perturbed.status().message();
  return {*plain, *perturbed, *again, *other};
}

double LargestUlp(const Literal& a, const Literal& b) { return Compare(a, b, {}).max_ulp; }

TEST(PerturbationTest, TheSameSeedGivesTheSameBits) {
  const Moved m = MoveProgram("ENTRY e { x = f32[1000] parameter(0)  ROOT r = f32[1000] tanh(x) }");
  EXPECT_EQ(m.perturbed, m.again);
  EXPECT_FALSE(m.perturbed == m.other);
  EXPECT_FALSE(m.perturbed == m.plain);
}

TEST(PerturbationTest, FunctionsMoveWithinTheirAccuracy) {
  for (const char* type : {"f32", "f64", "bf16", "f16"}) {
    for (const char* op : {"exponential", "sine", "cbrt", "logistic"}) {
      const std::string hlo =
          std::string("ENTRY e { x = ") + type + "[3000] parameter(0)  ROOT r = " + type + "[3000] " + op + "(x) }";
      const Moved m = MoveProgram(hlo);
      const double moved = LargestUlp(m.perturbed, m.plain);
      EXPECT_GE(moved, 0.5) << hlo;  // half a unit above the binade's limit counts as one of the lower one
      EXPECT_LE(moved, 4) << hlo;    // 2 ulp of f64, in units of the lower binade
    }
  }
}

TEST(PerturbationTest, WhatIsExactStaysAsItIs) {
  const Moved m = MoveProgram(
      "ENTRY e { n = s32[1000] parameter(0)  x = f32[1000] convert(n)  two = f32[] constant(2)  t = f32[1000] "
      "broadcast(two), dimensions={}\n"
      "  a = f32[1000] multiply(x, t)  b = f32[1000] add(a, x)  c = f32[1000] maximum(b, x)  d = f32[1000] negate(c)\n"
      "  e = f64[1000] convert(d)  g = f64[1000] add(e, e)  h = f64[1000] sqrt(g)  i = s32[1000] convert(d)  p = "
      "pred[1000] "
      "compare(d, x), direction=LT\n"
      "  ROOT r = (f32[1000], f64[1000], s32[1000], pred[1000]) tuple(d, g, i, p) }");
  EXPECT_EQ(m.perturbed, m.plain);
}

TEST(PerturbationTest, CorrectlyRoundedOperationsGoToOneOfTheirTwoNeighbours) {
  for (const char* type : {"f32", "f64", "bf16"}) {
    for (const char* op : {"add", "multiply", "divide"}) {
      const std::string t = std::string(type) + "[3000]";
      const Moved m = MoveProgram("ENTRY e { x = " + t + " parameter(0)  y = " + t + " parameter(1)  ROOT r = " + t +
                                  " " + op + "(x, y) }");
      const Comparison c = Compare(m.perturbed, m.plain, {});
      EXPECT_GT(c.differing, 300) << type << " " << op;
      EXPECT_LT(c.differing, 2000) << type << " " << op;
      EXPECT_LE(c.max_ulp, 1) << type << " " << op;
    }
  }
}

TEST(PerturbationTest, SumsMoveByWhatTheirTermsLeave) {
  const std::string hlo =
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "ENTRY e { x = f32[400,1000] parameter(0)  z = f32[] constant(0)  ROOT r = f32[400] reduce(x, z), "
      "dimensions={1}, "
      "to_apply=f }";
  const double near = Compare(MoveProgram(hlo).perturbed, MoveProgram(hlo).plain, {}).max_abs;
  const double far = Compare(MoveProgram(hlo, {}, true).perturbed, MoveProgram(hlo, {}, true).plain, {}).max_abs;
  // A thousand normal terms: partial sums of about 30, each rounded by 2^-24 of it.
  EXPECT_GT(near, 1e-5);
  EXPECT_LT(near, 1e-3);
  EXPECT_GT(far, 5 * near);
  EXPECT_LT(far, 12 * std::sqrt(1001.0) * 0x1p-24 * 900);
}

TEST(PerturbationTest, WhatOverflowsInOneOrderOnlyMayBeAnything) {
  const auto numbers = [](const std::string& operation, const std::string& init, const std::string& terms) {
    const Moved m = MoveProgram("f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] " + operation +
                                "(a, b) }\nENTRY e { x = f32[4] constant({" + terms +
                                "})  b = f32[300,4] broadcast(x), dimensions={1}\n  z = f32[] constant(" + init +
                                ")  ROOT r = f32[300] reduce(b, z), dimensions={1}, to_apply=f }");
    int count = 0;
    for (int64_t i = 0; i < 300; ++i) count += std::isfinite(m.perturbed.GetDouble(i)) ? 1 : 0;
    return count;
  };
  for (const int some :
       {numbers("multiply", "1", "1e30, 1e30, 1e-19, 1e-19"), numbers("add", "0", "3e38, 3e38, -3e38, -3e38")}) {
    EXPECT_GT(some, 100);
    EXPECT_LT(some, 200);
  }
  EXPECT_EQ(numbers("multiply", "1", "1e30, inf, 1e30, 2"), 0);
  EXPECT_EQ(numbers("multiply", "1", "1e30, 1e8, 1e-30, 1e-8"), 300);
  EXPECT_EQ(numbers("add", "0", "1e38, 1e38, -1e38, 1"), 300);
  EXPECT_EQ(numbers("add", "0", "1, inf, 2, 3"), 0);
}

TEST(PerturbationTest, ASumOfSmallIntegersIsExactInEveryOrder) {
  const Moved m = MoveProgram(
      "ENTRY e { n = s32[37,100] parameter(0)  x = f32[37,100] convert(n)\n"
      "  ROOT r = f32[37,37] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }");
  EXPECT_EQ(m.perturbed, m.plain);
}

TEST(PerturbationTest, LoopsBranchesAndCustomCombinersAreReached) {
  const Moved loop = MoveProgram(
      "condition { s = (s32[], f32[7]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)  "
      "ROOT c "
      "= pred[] compare(i, n), direction=LT }\n"
      "body { s = (s32[], f32[7]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[7] "
      "get-tuple-element(s), "
      "index=1  one = s32[] constant(1)\n"
      "  next = s32[] add(i, one)  y = f32[7] cosine(x)  ROOT t = (s32[], f32[7]) tuple(next, y) }\n"
      "ENTRY e { zero = s32[] constant(0)  x = f32[7] parameter(0)  s = (s32[], f32[7]) tuple(zero, x)\n"
      "  w = (s32[], f32[7]) while(s), condition=condition, body=body  ROOT r = f32[7] get-tuple-element(w), index=1 "
      "}");
  EXPECT_FALSE(loop.perturbed == loop.plain);
  const Moved branch = MoveProgram(
      "t { x = f32[50] parameter(0)  ROOT r = f32[50] tanh(x) }\nf { x = f32[50] parameter(0)  ROOT r = f32[50] "
      "sine(x) }\n"
      "ENTRY e { p = pred[] parameter(0)  x = f32[50] parameter(1)  ROOT r = f32[50] conditional(p, x, x), "
      "true_computation=t, false_computation=f }");
  EXPECT_FALSE(branch.perturbed == branch.plain);
  const Moved combiner = MoveProgram(
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  s = f32[] add(a, b)  m = f32[] multiply(a, b)  ROOT r = "
      "f32[] "
      "add(s, m) }\n"
      "ENTRY e { x = f32[40,9] parameter(0)  z = f32[] constant(0)  ROOT r = f32[40] reduce(x, z), dimensions={1}, "
      "to_apply=f }");
  EXPECT_FALSE(combiner.perturbed == combiner.plain);
}

TEST(PerturbationTest, AnUnderflowDoesNotChangeItsSign) {
  const Literal x = Literal::FromVector<float>(Shape(ElementType::kF32, {2}), std::vector<float>{-110, -103.9F});
  const Moved m =
      MoveProgram("ENTRY e { x = f32[2] parameter(0)  e = f32[2] exponential(x)  ROOT l = f32[2] log(e) }", {x});
  for (int64_t i = 0; i < 2; ++i) EXPECT_FALSE(std::isnan(m.perturbed.GetDouble(i)));
}

TEST(PerturbationTest, ArraysWithDynamicSizesMoveToo) {
  Literal x = RandomLiteral(Shape(ElementType::kF32, {100}), 1, 0);
  Shape shape(ElementType::kF32, {100});
  shape.set_dynamic_dimension(0, true);
  Literal dynamic = std::move(x).Reshaped(shape);
  dynamic.set_dynamic_size(0, 60);
  const Moved m = MoveProgram("ENTRY e { x = f32[<=100] parameter(0)  ROOT r = f32[<=100] tanh(x) }", {dynamic});
  EXPECT_EQ(m.perturbed.dynamic_size(0), 60);
  EXPECT_GT(Compare(m.perturbed, m.plain, {}).differing, 10);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
