// Signed zeros, subnormal numbers, infinities and NaN on a device: what compares, orders or tells signs is right also
// where the device flushes subnormal numbers.
#include <cmath>

#include "tests/support/device_test_support.h"
#include "tests/support/ieee_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;

void ExpectOnDevice(const IeeeProgram& program, const std::vector<BindingMode>& modes, bool allow_fallbacks = false) {
  const auto module = ParseModule(program.text);
  ASSERT_NE(module, nullptr) << program.text;
  RunOptions options;
  options.allow_fallbacks = allow_fallbacks;
  for (const BindingMode mode : modes) {
    const auto result = RunOnDevice(mode, *module, program.arguments, options);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(FirstUnexpected(program, *result), "");
  }
}

const std::vector<BindingMode> kDescriptors = {BindingMode::kDescriptors};

class IeeeTest : public ::testing::TestWithParam<ElementType> {};
INSTANTIATE_TEST_SUITE_P(Floats, IeeeTest, ::testing::ValuesIn(FloatTypes()),
                         [](const auto& info) { return std::string(ElementTypeName(info.param)); });

TEST_P(IeeeTest, ComparisonsSeeSubnormalNumbersAndSignedZeros) {
  ExpectOnDevice(ComparisonsOf(GetParam()), ModesToRun());
}
TEST_P(IeeeTest, ReductionsSeeSubnormalNumbersAndSignedZeros) {
  ExpectOnDevice(ReductionsOf(GetParam()), ModesToRun());
}
TEST_P(IeeeTest, SortsSeeSubnormalNumbersAndSignedZeros) { ExpectOnDevice(SortsOf(GetParam()), kDescriptors, true); }
TEST_P(IeeeTest, ReducePrecisionGoesByTheTypesOwnBits) { ExpectOnDevice(ReducedPrecisionOf(GetParam()), kDescriptors); }

TEST(IeeeComplexTest, FunctionsSeeSubnormalNumbersAndSignedZeros) {
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  const DeviceFacts& facts = client->device().facts();
  const bool flushes = facts.quirks.flushes_f32_denormals;
  for (const ElementType type : {kC64, kC128}) {
    if (type == kC128 && !facts.float64) continue;  // integers alone, as in the twin; seconds for each function
    for (IeeeProgram program : ComplexFunctionsOf(type)) {
      // Products and sums on the way are the device's own.
      if (flushes && type == kC64) program.least = std::numeric_limits<float>::min();
      ExpectOnDevice(program, kDescriptors);
    }
  }
}

// -inf + NaN i has an infinite part in its root, whose sign is not that of the NaN.
TEST(IeeeComplexTest, TheSignOfANanDecidesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  Literal x(Shape(kF32, {4})), y(Shape(kF32, {4}));
  for (int64_t i = 0; i < 4; ++i) {
    x.SetDouble(i, i < 2 ? -inf : inf);
    y.SetDouble(i, i % 2 == 0 ? nan : std::copysign(nan, -1.0));
  }
  RunBoth(
      "ENTRY e { x = f32[4] parameter(0)  y = f32[4] parameter(1)  c = c64[4] complex(x, y)\n"
      "ROOT r = c64[4] sqrt(c) }",
      {x, y});
}

TEST(IeeeSumTest, AddedConstantsAreNotCancelled) {
  for (const char* type : {"f32", "f16", "bf16", "f64"}) {
    const auto result = RunBoth(fmt::format(R"(HloModule m
minus {{ x = {0}[4] parameter(0)  c = {0}[] constant(1)  b = {0}[4] broadcast(c), dimensions={{}}  ROOT s = {0}[4] subtract(x, b) }}
ENTRY e {{ x = {0}[4] parameter(0)  c = {0}[] constant(1)  b = {0}[4] broadcast(c), dimensions={{}}  y = {0}[4] add(b, x)
  ROOT z = {0}[4] call(y), to_apply=minus }})",
                                            type),
                                {[&] {
                                  Literal x(Shape(*ParseElementType(type), {4}));
                                  for (int64_t i = 0; i < 4; ++i)
                                    x.SetDouble(i, std::ldexp(1.0, -60 * (i > 1) - 3 * static_cast<int>(i)));
                                  return x;
                                }()},
                                {.tolerance = Tolerance{}});
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->GetDouble(0), 1) << type;
    EXPECT_EQ(result->GetDouble(3), 0) << type;
  }
}

// Functions take subnormal operands for what they are; the five operations of arithmetic are what a device may flush.
TEST(IeeeFunctionTest, FunctionsSeeSubnormalOperands) {
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  for (const ElementType type : {kF32, kBF16, kF64}) {
    const double least = std::ldexp(1.0, type == kF64 ? -1074 : type == kF32 ? -149 : -133);
    std::vector<double> numbers;
    for (const double x : {1.0, 3.0, 77.0, 127.0}) numbers.insert(numbers.end(), {x * least, -x * least});
    Literal x(Shape(type, {8})), y(Shape(type, {8}));
    const double others[] = {0.5, -0.5, 2, 1e10, numbers[2], -0.0, numbers[7], 3};
    for (int64_t i = 0; i < 8; ++i) x.SetDouble(i, numbers[static_cast<size_t>(i)]), y.SetDouble(i, others[i]);
    for (const char* op : {"floor",
                           "ceil",
                           "round-nearest-even",
                           "round-nearest-afz",
                           "exponential",
                           "exponential-minus-one",
                           "log",
                           "log-plus-one",
                           "logistic",
                           "rsqrt",
                           "cbrt",
                           "sine",
                           "cosine",
                           "tan",
                           "tanh",
                           "sinh",
                           "cosh",
                           "asinh",
                           "atanh",
                           "asin",
                           "acos",
                           "atan",
                           "erf",
                           "erfc",
                           "erf-inv",
                           "lgamma",
                           "digamma"}) {
      RunBoth(fmt::format("HloModule m\nENTRY e {{\n  x = {0}[8] parameter(0)\n  ROOT r = {0}[8] {1}(x)\n}}\n",
                          ElementTypeName(type), op),
              {x});
    }
    for (const char* op : {"power", "atan2", "remainder"}) {
      const std::string text = fmt::format(
          "HloModule m\nENTRY e {{\n  x = {0}[8] parameter(0)\n  y = {0}[8] parameter(1)\n  ROOT r = {0}[8] {1}(x, "
          "y)\n}}\n",
          ElementTypeName(type), op);
      RunBoth(text, {x, y});
      RunBoth(text, {y, x});
    }
    if (type == kF64 || !client->device().facts().quirks.flushes_f32_denormals) {
      RunBoth(fmt::format("HloModule m\nENTRY e {{\n  x = {0}[8] parameter(0)\n  y = {0}[8] parameter(1)\n"
                          "  a = {0}[8] add(x, y)\n  s = {0}[8] subtract(x, y)\n  m = {0}[8] multiply(x, y)\n"
                          "  d = {0}[8] divide(x, y)\n  q = {0}[8] sqrt(x)\n"
                          "  ROOT t = ({0}[8], {0}[8], {0}[8], {0}[8], {0}[8]) tuple(a, s, m, d, q)\n}}\n",
                          ElementTypeName(type)),
              {x, y});
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
