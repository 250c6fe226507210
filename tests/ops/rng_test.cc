// rng and rng-get-and-update-state on the device: the reference's numbers, drawn in the order of the text.
#include <fmt/format.h>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace rng_test {

RunOptions Exact() {
  RunOptions options;
  options.tolerance = Tolerance{};
  return options;
}

TEST(RngTest, UniformNumbersOfEveryType) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type) || IsComplex(type)) continue;
    const bool tiny = BitWidth(type) < 4 || type == ElementType::kPred;
    SCOPED_TRACE(ElementTypeName(type));
    const char* low = type == ElementType::kPred ? "false" : !tiny ? "1" : IsSigned(type) ? "-1" : "0";
    const char* high = type == ElementType::kPred ? "true" : !tiny ? "3" : IsSigned(type) ? "0" : "1";
    RunBoth(fmt::format("ENTRY e {{ a = {0}[] constant({1})  b = {0}[] constant({2})\n"
                        "ROOT r = {0}[517] rng(a, b), distribution=rng_uniform }}",
                        ElementTypeName(type), low, high),
            {}, Exact());
  }
}

// Types of few bits draw again and again; some intervals have no number, and some are none.
TEST(RngTest, NumbersThatRoundUpAreDrawnAgain) {
  for (const char* bounds : {"f8e4m3fn 0 1", "f8e5m2 1 1.25", "bf16 -1 -0.9921875", "f32 1 1.0000001", "f32 2 1",
                             "f64 0 5e-324", "f32 nan 1", "f32 0 nan", "f32 -inf inf", "s32 7 7", "s64 5 -5",
                             "u64 0 18446744073709551615", "s64 -9223372036854775808 9223372036854775807"}) {
    const std::string text = bounds;
    const size_t first = text.find(' '), second = text.rfind(' ');
    const std::string type = text.substr(0, first), low = text.substr(first + 1, second - first - 1),
                      high = text.substr(second + 1);
    SCOPED_TRACE(text);
    RunBoth(fmt::format("ENTRY e {{ a = {0}[] constant({1})  b = {0}[] constant({2})\n"
                        "ROOT r = {0}[9,37] rng(a, b), distribution=rng_uniform }}",
                        type, low, high),
            {}, Exact());
  }
}

TEST(RngTest, NormalNumbers) {
  for (const char* type : {"f32", "f16", "bf16", "f8e5m2"}) {
    SCOPED_TRACE(type);
    RunBoth(fmt::format("ENTRY e {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)\n"
                        "ROOT r = {0}[3,67] rng(a, b), distribution=rng_normal }}",
                        type),
            {Literal::Scalar(*ParseElementType(type), -1.5), Literal::Scalar(*ParseElementType(type), 3)}, Exact());
  }
}

// Logarithms and cosines of f64 may be off by a unit: by the operation's own bound.
TEST(RngTest, NormalNumbersOfF64) {
  for (const double mean : {0.0, -1.5}) {
    RunBoth(
        "ENTRY e { a = f64[] parameter(0)  b = f64[] parameter(1)\n"
        "ROOT r = f64[4001] rng(a, b), distribution=rng_normal }",
        {Literal::Scalar(ElementType::kF64, mean), Literal::Scalar(ElementType::kF64, 3)});
  }
}

// The draws of loops, branches and calls are counted where they happen, in the order of the text and not in that of
// what reads them; scalars and empty arrays are draws too.
TEST(RngTest, DrawsAreCountedInTheOrderOfTheText) {
  RunBoth(R"(
body { s = (s32[], f32[5], u64[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[5] get-tuple-element(s), index=1  t = u64[2] get-tuple-element(s), index=2
  a = f32[] constant(0)  b = f32[] constant(1)  u = f32[5] rng(a, b), distribution=rng_uniform
  y = f32[5] add(x, u)  c = u64[2] rng-get-and-update-state(), delta=-3  d = u64[2] xor(c, t)
  one = s32[] constant(1)  n = s32[] add(i, one)  ROOT r = (s32[], f32[5], u64[2]) tuple(n, y, d) }
goes_on { s = (s32[], f32[5], u64[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(3)  ROOT r = pred[] compare(i, k), direction=LT }
left { p = f32[5] parameter(0)  a = f32[] constant(1)  b = f32[] constant(2)
  u = f32[5] rng(a, b), distribution=rng_uniform  ROOT r = f32[5] add(p, u) }
right { p = f32[5] parameter(0)  ROOT r = f32[5] negate(p) }
ENTRY e { a = f32[] constant(-2)  b = f32[] constant(3)  flag = pred[] parameter(0)
  first = f32[5] rng(a, b), distribution=rng_uniform
  none = f32[0,3] rng(a, b), distribution=rng_uniform
  second = f32[] rng(a, b), distribution=rng_uniform
  c0 = u64[2] rng-get-and-update-state(), delta=4611686018427387904
  c1 = u64[2] rng-get-and-update-state(), delta=9223372036854775807
  zero = s32[] constant(0)  s = (s32[], f32[5], u64[2]) tuple(zero, first, c1)
  w = (s32[], f32[5], u64[2]) while(s), condition=goes_on, body=body
  x = f32[5] get-tuple-element(w), index=1  y = u64[2] get-tuple-element(w), index=2
  z = f32[5] conditional(flag, x, first), true_computation=left, false_computation=right
  called = f32[5] call(z), to_apply=left
  third = f32[5] rng(a, b), distribution=rng_uniform
  c2 = u64[2] rng-get-and-update-state(), delta=1
  fourth = f32[5] multiply(third, called)
  ROOT r = (f32[5], f32[0,3], f32[], u64[2], u64[2], u64[2], f32[5], u64[2], f32[5]) tuple(fourth, none, second, c0, c1, y, z, c2, third) })",
          {Literal::ScalarInt(ElementType::kPred, 1)}, Exact());
}

// Each run begins with the seed, so a second one gives the same.
TEST(RngTest, EveryRunBeginsAnew) {
  const auto module = ParseModule(
      "ENTRY e { a = f32[] constant(0)  b = f32[] constant(1)  u = f32[9] rng(a, b), distribution=rng_uniform\n"
      "c = u64[2] rng-get-and-update-state(), delta=5  ROOT r = (f32[9], u64[2]) tuple(u, c) }");
  ASSERT_NE(module, nullptr);
  for (const BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const auto one = (*executable)->Run(std::vector<const Literal*>{}),
               two = (*executable)->Run(std::vector<const Literal*>{});
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_EQ(*one, *two);
  }
}

}  // namespace rng_test
}  // namespace VXLA_NAMESPACE::testing
