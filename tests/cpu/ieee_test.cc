// The reference and shader math at signed zeros, subnormal numbers, infinities and NaN, in every type that has them.
#include <bit>
#include <cmath>

#include "backend/cpu/twin/shader_evaluator.h"
#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"
#include "tests/support/ieee_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;

Literal RunAsShaders(const IeeeProgram& program) {
  auto module = ParseHlo(program.text);
  EXPECT_TRUE(module.ok()) << module.status().message() << "\n" << program.text;
  if (!module.ok()) return {};
  std::vector<const Literal*> arguments;
  for (const Literal& argument : program.arguments) arguments.push_back(&argument);
  auto result = EvaluateAsShaders(**module, arguments, {});
  EXPECT_TRUE(result.ok()) << result.status().message() << "\n" << program.text;
  return result.ok() ? std::move(*result) : Literal();
}

void ExpectOfBoth(const IeeeProgram& program) {
  EXPECT_EQ(FirstUnexpected(program, RunText(program.text, program.arguments)), "") << "on the reference";
  EXPECT_EQ(FirstUnexpected(program, RunAsShaders(program)), "") << "in shader math";
}

class IeeeTest : public ::testing::TestWithParam<ElementType> {};
INSTANTIATE_TEST_SUITE_P(Floats, IeeeTest, ::testing::ValuesIn(FloatTypes()),
                         [](const auto& info) { return std::string(ElementTypeName(info.param)); });

TEST_P(IeeeTest, ComparisonsSeeSubnormalNumbersAndSignedZeros) { ExpectOfBoth(ComparisonsOf(GetParam())); }
TEST_P(IeeeTest, ReductionsSeeSubnormalNumbersAndSignedZeros) { ExpectOfBoth(ReductionsOf(GetParam())); }
TEST_P(IeeeTest, SortsSeeSubnormalNumbersAndSignedZeros) { ExpectOfBoth(SortsOf(GetParam())); }
TEST_P(IeeeTest, ReducePrecisionGoesByTheTypesOwnBits) { ExpectOfBoth(ReducedPrecisionOf(GetParam())); }

TEST(IeeeComplexTest, FunctionsSeeSubnormalNumbersAndSignedZeros) {
  for (const ElementType type : {kC64, kC128}) {
    for (const IeeeProgram& program : ComplexFunctionsOf(type)) ExpectOfBoth(program);
  }
}

TEST(IeeeComplexTest, ComparesEqualByParts) {
  for (const ElementType type : {kC64, kC128}) {
    const double d = type == kC64 ? 0x1p-149 : 0x1p-1074;
    Literal a(Shape(type, {4})), b(Shape(type, {4}));
    const std::complex<double> left[] = {{0.0, d}, {d, 0.0}, {-0.0, 0.0}, {d, -d}},
                               right[] = {{0.0, 0.0}, {0.0, 0.0}, {0.0, -0.0}, {d, -d}};
    for (int64_t i = 0; i < 4; ++i) a.SetComplex(i, left[i]), b.SetComplex(i, right[i]);
    const std::string s = Text(a.shape());
    const auto run = [&](const char* direction) {
      return Integers(RunText(Entry("a = " + s + " parameter(0)\nb = " + s + " parameter(1)\nROOT r = pred[4] " +
                                    "compare(a, b), direction=" + direction),
                              {a, b}));
    };
    EXPECT_THAT(run("EQ"), ::testing::ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(run("NE"), ::testing::ElementsAre(1, 1, 0, 0));
  }
}

// Products and sums of c128 are rounded once, and keep the signs of zeros all the same.
TEST(IeeeComplexTest, ProductsKeepTheSignsOfZeros) {
  for (const ElementType type : {kC64, kC128}) {
    Literal a(Shape(type, {3})), b(Shape(type, {3}));
    const std::complex<double> left[] = {{-0.0, 0.0}, {0.0, -0.0}, {-0.0, -0.0}}, right[] = {{1, 0}, {1, 0}, {2, 0}};
    for (int64_t i = 0; i < 3; ++i) a.SetComplex(i, left[i]), b.SetComplex(i, right[i]);
    const std::string s = Text(a.shape());
    const Literal product = RunText(
        Entry("a = " + s + " parameter(0)\nb = " + s + " parameter(1)\nROOT r = " + s + " multiply(a, b)"), {a, b});
    const double re[] = {-0.0, 0.0, 0.0}, im[] = {0.0, 0.0, -0.0};
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(std::signbit(product.GetComplex(i).real()), std::signbit(re[i])) << i;
      EXPECT_EQ(std::signbit(product.GetComplex(i).imag()), std::signbit(im[i])) << i;
      EXPECT_EQ(product.GetComplex(i), std::complex<double>(0, 0));
    }
  }
}

// Compensated sums and products of f64 too.
TEST(IeeeSumTest, KeepsTheSignOfZeroAndSubnormalNumbers) {
  const std::string reducers =
      "sum { a = $[] parameter(0)  b = $[] parameter(1)  ROOT r = $[] add(a, b) }\n"
      "product { a = $[] parameter(0)  b = $[] parameter(1)  ROOT r = $[] multiply(a, b) }\n";
  const auto of = [](std::string text, ElementType type) {
    for (size_t at = text.find('$'); at != text.npos; at = text.find('$'))
      text.replace(at, 1, std::string(ElementTypeName(type)));
    return text;
  };
  for (const ElementType type : {kF32, kF64, kBF16, kF16}) {
    const int exponent = type == kF64 ? -1074 : type == kF32 ? -149 : type == kF16 ? -24 : -133;
    const double d = std::ldexp(1.0, exponent), down = std::ldexp(1.0, exponent / 2),
                 up = std::ldexp(1.0, exponent - exponent / 2);
    const auto reduce = [&](const char* op, const char* init, std::vector<double> values) {
      const std::string n = std::to_string(values.size());
      const Literal x = Array(type, {static_cast<int64_t>(values.size())}, values);
      return RunText(of(Entry("x = $[" + n + "] parameter(0)\ni = $[] constant(" + init +
                                  ")\nROOT r = $[] reduce(x, i), dimensions={0}, to_apply=" + op,
                              reducers),
                        type),
                     {x})
          .GetDouble(0);
    };
    const auto is_minus_zero = [](double x) { return x == 0 && std::signbit(x); };
    EXPECT_TRUE(is_minus_zero(reduce("sum", "-0.0", {-0.0, -0.0, -0.0})));
    EXPECT_FALSE(is_minus_zero(reduce("sum", "0", {-0.0, -0.0})));
    EXPECT_TRUE(is_minus_zero(reduce("product", "1", {-0.0, 3.0})));
    EXPECT_EQ(reduce("sum", "0", {d, d, d}), 3 * d);
    EXPECT_EQ(reduce("product", "1", {down, up}), d);
    EXPECT_EQ(reduce("product", "3", {down, -up}), -3 * d);
  }
}

TEST(IeeeSumTest, RunningSumsOfNegativeZerosFromZeroAreZero) {
  const Literal x = Array(kF32, {3}, {-0.0, -0.0, -0.0});
  const Literal sums = RunText(
      Entry("x = f32[3] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[3] reduce-window(x, z), window={size=3 "
            "pad=2_0}, to_apply=sum",
            "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"),
      {x});
  EXPECT_THAT(Doubles(sums), SameDoubles({0.0, 0.0, 0.0}));
}

TEST(IeeeSumTest, AddedConstantsAreNotCancelled) {
  const IeeeProgram program{"f32 (x + c) - c",
                            R"(HloModule m
minus { x = f32[4] parameter(0)  one = f32[] constant(1)  b = f32[4] broadcast(one), dimensions={}  ROOT s = f32[4] subtract(x, b) }
ENTRY e { x = f32[4] parameter(0)  one = f32[] constant(1)  b = f32[4] broadcast(one), dimensions={}  y = f32[4] add(b, x)
  z = f32[4] call(y), to_apply=minus  ROOT t = (f32[4]) tuple(z) })",
                            {Array(kF32, {4}, {1e-10, 1e-7, 0.75, 3e10})},
                            Literal::Tuple({Array(kF32, {4}, {0.0, 0x1p-23, 0.75, static_cast<float>(3e10)})})};
  ExpectOfBoth(program);
}

// With no bit of mantissa there is nothing to tell NaN from infinity.
TEST(IeeeTest, ReducePrecisionToNoMantissaMakesNanInfinity) {
  for (const ElementType type : {kF16, kBF16, kF32, kF64, kF8E5M2, kF8E4M3, kF8E3M4}) {
    const Literal x = Array(type, {2}, {kNan, -kNan});
    const std::string s = Text(x.shape());
    const auto run = [&](int mantissa_bits) {
      return Doubles(
          RunText(Entry("x = " + s + " parameter(0)\nROOT r = " + s +
                        " reduce-precision(x), exponent_bits=3, mantissa_bits=" + std::to_string(mantissa_bits)),
                  {x}));
    };
    EXPECT_THAT(run(0), SameDoubles({kInf, kInf})) << ElementTypeName(type);
    EXPECT_THAT(run(1), SameDoubles({kNan, kNan})) << ElementTypeName(type);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
