// Shader math on the CPU in the order of the plan gives the bits that the device gives.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "backend/cpu/twin/shader_evaluator.h"
#include "scheduler/plan/plan_orders.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace same_bits_test {

// The same bits but for NaNs, which differ in payload, and for denormals where the device flushes them.
std::string FirstDifference(const Literal& device, const Literal& shader_math, const DeviceFacts& facts) {
  const ElementType type = device.shape().element_type();
  const Comparison comparison = Compare(device, shader_math, Tolerance{});
  if (comparison.differing == 0) return "";
  const double least =
      RealPart(type) == ElementType::kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const bool flushes =
      RealPart(type) == ElementType::kF64 ? facts.quirks.flushes_f64_denormals : facts.quirks.flushes_f32_denormals;
  if (flushes && comparison.max_abs < least) return "";
  if (comparison.worst.empty()) return "signs of zeros differ";
  const ElementDifference& worst = comparison.worst[0];
  return fmt::format("{} of {} differ; [{}]: device {}, shader math {}", comparison.differing, comparison.elements,
                     worst.where, worst.actual, worst.expected);
}

// What the device would read as zeros is zeros for both.
void FlushDenormals(const DeviceFacts& facts, Literal* literal) {
  if (!facts.quirks.flushes_f32_denormals || literal->shape().element_type() != ElementType::kF32) return;
  for (float& x : literal->mutable_data<float>()) {
    if (std::fabs(x) < std::numeric_limits<float>::min()) x = std::copysign(0.0f, x);
  }
}

void ExpectSameBitsOn(Client& client, const std::string& hlo, const std::vector<Literal>* given = nullptr,
                      const CompileOptions& options = {}) {
  const auto module = ParseModule(hlo);
  ASSERT_NE(module, nullptr);
  const DeviceFacts& facts = client.device().facts();
  std::vector<Literal> arguments = given != nullptr ? *given : RandomArguments(*module, 5);
  for (Literal& argument : arguments) FlushDenormals(facts, &argument);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  auto executable = client.Compile(*module, options);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (const Fallback& fallback : (*executable)->fallbacks())
    ADD_FAILURE() << fallback.instruction << ": " << fallback.reason;
  auto device = (*executable)->Run(pointers);
  ASSERT_TRUE(device.ok()) << device.status().message();
  ShaderEvaluation evaluation;
  evaluation.orders = OrdersOf((*executable)->plan());
  auto shader_math = EvaluateAsShaders((*executable)->module(), pointers, evaluation);
  ASSERT_TRUE(shader_math.ok()) << shader_math.status().message();
  const auto got = FlattenLiteral(*device), wanted = FlattenLiteral(*shader_math);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k)
    EXPECT_EQ(FirstDifference(*got[k], *wanted[k], facts), "") << "result " << k << " of\n" << hlo;
}

void ExpectSameBits(const std::string& hlo, const std::vector<Literal>* given = nullptr, bool fusion = true,
                    bool wide = false) {
  CompileOptions options;
  options.fusion = fusion;
  options.wide_accumulation = wide;
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors})
    ExpectSameBitsOn(*DeviceClient(mode), hlo, given, options);
}

// Whether products are not what the twin computes: those of 16 bits on units that add as they please.
bool RoundsOtherwise(const std::string& type, const DeviceFacts& facts) {
  return (type == "f16" || type == "bf16") && !facts.matrices.empty() && !facts.matrices_stand_in;
}

// --same-bits promises the twin's on every device, without it those alone that do not round otherwise.
void ExpectSameBitsOfProduct(const std::string& type, const std::string& hlo) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    vulkan::OpenOptions options = TestOptions(mode);
    options.same_bits = true;
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    ExpectSameBitsOn(*MakeTestClient(*device), hlo);
    Client* own = DeviceClient(mode);
    if (!RoundsOtherwise(type, own->device().facts())) ExpectSameBitsOn(*own, hlo);
  }
}

std::string Reducer(const std::string& type, const std::string& op) {
  return fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {1}(a, b) }}\n", type, op);
}

class SameBitsTypeTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SameBitsTypeTest, UnaryFunctions) {
  const std::string type = GetParam();
  std::string body, roots;
  int count = 0;
  for (const char* op : {"exponential",
                         "log",
                         "sine",
                         "cosine",
                         "tan",
                         "tanh",
                         "sqrt",
                         "rsqrt",
                         "cbrt",
                         "logistic",
                         "erf",
                         "erfc",
                         "erf-inv",
                         "lgamma",
                         "digamma",
                         "log-plus-one",
                         "exponential-minus-one",
                         "floor",
                         "round-nearest-even",
                         "sign",
                         "negate",
                         "abs"}) {
    body += fmt::format("  v{} = {}[509] {}(x)\n", count, type, op);
    roots += fmt::format("{}v{}", count == 0 ? "" : ", ", count);
    ++count;
  }
  std::string shapes;
  for (int i = 0; i < count; ++i) shapes += fmt::format("{}{}[509]", i == 0 ? "" : ", ", type);
  ExpectSameBits(fmt::format("ENTRY e {{\n  x = {}[509] parameter(0)\n{}  ROOT t = ({}) tuple({})\n}}", type, body,
                             shapes, roots));
}

TEST_P(SameBitsTypeTest, SumsOfRowsColumnsAndEverything) {
  const std::string type = GetParam();
  for (const char* op : {"add", "maximum", "multiply"}) {
    const std::string head = Reducer(type, op);
    auto program = [&](const char* from, const char* to, const char* dimensions) {
      return fmt::format(
          "{0}ENTRY e {{ x = {1}[{2}] parameter(0)  z = {1}[] constant(1)\n  ROOT r = {1}[{3}] reduce(x, z), "
          "dimensions={{{4}}}, to_apply=f }}",
          head, type, from, to, dimensions);
    };
    ExpectSameBits(program("37,1031", "37", "1"));
    ExpectSameBits(program("1031,37", "37", "0"));
    ExpectSameBits(program("7,5,11", "5", "0,2"));
    ExpectSameBits(program("70001", "", "0"));
    ExpectSameBits(program("3,0", "3", "1"));
  }
}

TEST_P(SameBitsTypeTest, Products) {
  const std::string type = GetParam();
  auto program = [&](int m, int k, int n) {
    return fmt::format(
        "ENTRY e {{ a = {0}[{1},{2}] parameter(0)  b = {0}[{2},{3}] parameter(1)\n  ROOT d = {0}[{1},{3}] dot(a, b), "
        "lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={{0}} }}",
        type, m, k, n);
  };
  ExpectSameBitsOfProduct(type, program(37, 41, 43));
  ExpectSameBitsOfProduct(type, program(32, 512, 32));
  ExpectSameBitsOfProduct(type, program(8, 4096, 4));
  ExpectSameBitsOfProduct(type, program(1, 1031, 7));
  ExpectSameBitsOfProduct(type, program(13, 257, 1));
  ExpectSameBitsOfProduct(type, program(3, 0, 5));
}

INSTANTIATE_TEST_SUITE_P(Floats, SameBitsTypeTest, ::testing::Values("f32", "bf16", "f16", "f64"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SameBitsTest, IntegersAndComplexNumbers) {
  for (const std::string type : {"s32", "u32", "s64", "u64", "s8", "u16", "c64", "c128"}) {
    const std::string head = Reducer(type, "add"), one = type[0] == 'c' ? "(1, 0)" : "1";
    ExpectSameBits(fmt::format(
        "{0}ENTRY e {{ x = {1}[37,131] parameter(0)  z = {1}[] constant({2})\n  s = {1}[37] reduce(x, z), "
        "dimensions={{1}}, to_apply=f\n"
        "  y = {1}[131,5] parameter(1)\n  d = {1}[37,5] dot(x, y), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={{0}}\n"
        "  v = {1}[131] parameter(2)\n  w = {1}[37] dot(x, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "  p = {1}[37,131] multiply(x, x)\n  q = {1}[37,131] divide(p, x)\n"
        "  ROOT t = ({1}[37], {1}[37,5], {1}[37], {1}[37,131]) tuple(s, d, w, q) }}",
        head, type, one));
  }
}

TEST(SameBitsTest, SoftmaxAndLayerNormFused) {
  const std::string head =
      Reducer("f32", "add") + "g { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n";
  for (const char* size : {"37,131", "128,1024", "2,65536"}) {
    const std::string rows(size, std::strchr(size, ','));
    const std::string hlo = fmt::format(
        "{0}ENTRY e {{ x = f32[{1}] parameter(0)  ninf = f32[] constant(-inf)  z = f32[] constant(0)\n"
        "  m = f32[{2}] reduce(x, ninf), dimensions={{1}}, to_apply=g\n  mb = f32[{1}] broadcast(m), dimensions={{0}}\n"
        "  d = f32[{1}] subtract(x, mb)\n  e = f32[{1}] exponential(d)\n  s = f32[{2}] reduce(e, z), dimensions={{1}}, "
        "to_apply=f\n"
        "  sb = f32[{1}] broadcast(s), dimensions={{0}}\n  ROOT q = f32[{1}] divide(e, sb) }}",
        head, size, rows);
    ExpectSameBits(hlo);
    ExpectSameBits(hlo, nullptr, false);
  }
}

TEST(SameBitsTest, ArgmaxByAReducerWithoutIdentity) {
  ExpectSameBits(
      "f { av = f32[] parameter(0)  ai = s32[] parameter(1)  bv = f32[] parameter(2)  bi = s32[] parameter(3)\n"
      "  c = pred[] compare(av, bv), direction=GE\n  v = f32[] select(c, av, bv)\n  i = s32[] select(c, ai, bi)\n"
      "  ROOT t = (f32[], s32[]) tuple(v, i) }\n"
      "ENTRY e { x = f32[37,1031] parameter(0)  i = s32[37,1031] iota(), iota_dimension=1\n  n = f32[] constant(-inf)  "
      "z = s32[] constant(0)\n"
      "  ROOT r = (f32[37], s32[37]) reduce(x, i, n, z), dimensions={1}, to_apply=f }");
}

TEST(SameBitsTest, WindowsWithPaddingStridesAndDilation) {
  struct Case {
    const char *window, *result;
  };
  constexpr Case kCases[] = {{"size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x0_1x0_0", "2,6,5,3"},
                             {"size=1x3x3x1 pad=0_0x2_2x2_2x0_0 lhs_dilate=1x2x1x1 rhs_dilate=1x1x2x1", "2,23,11,3"},
                             {"size=1x1x7x1", "2,11,5,3"}};
  for (const char* type : {"f32", "bf16", "f64", "s32"}) {
    for (const Case& c : kCases) {
      ExpectSameBits(
          fmt::format("{0}ENTRY e {{ x = {1}[2,11,11,3] parameter(0)  z = {1}[] constant(2)\n  ROOT r = {1}[{2}] "
                      "reduce-window(x, z), "
                      "window={{{3}}}, to_apply=f }}",
                      Reducer(type, "add"), type, c.result, c.window));
    }
  }
}

TEST(SameBitsTest, SumsInTwoFloats) {
  const std::string head = Reducer("f32", "add");
  for (const char* shape : {"37,1031", "3,4096", "1,70001"}) {
    const std::string rows(shape, std::strchr(shape, ','));
    ExpectSameBits(fmt::format("{}ENTRY e {{ x = f32[{}] parameter(0)  z = f32[] constant(1)  ROOT r = f32[{}] "
                               "reduce(x, z), dimensions={{1}}, to_apply=f }}",
                               head, shape, rows),
                   nullptr, true, true);
  }
  ExpectSameBits(Reducer("bf16", "add") +
                     "ENTRY e { x = bf16[2,11,11,3] parameter(0)  z = bf16[] constant(2)\n"
                     "  ROOT r = bf16[2,9,9,3] reduce-window(x, z), window={size=1x3x3x1}, to_apply=f }",
                 nullptr, true, true);
  for (const char* sizes : {"37,41,43", "32,512,32", "8,4096,4", "1,1031,7", "13,257,1"}) {
    int m = 0, k = 0, n = 0;
    ASSERT_EQ(std::sscanf(sizes, "%d,%d,%d", &m, &k, &n), 3);
    ExpectSameBits(fmt::format("ENTRY e {{ a = f32[{0},{1}] parameter(0)  b = f32[{1},{2}] parameter(1)\n  ROOT d = "
                               "f32[{0},{2}] dot(a, b), "
                               "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}",
                               m, k, n),
                   nullptr, true, true);
  }
}

TEST(SameBitsTest, SumsInTwoFloatsKeepWhatF32Drops) {
  // 2^24, then ones that one f32 accumulator would lose, then minus 2^24; and infinities stay infinities.
  std::vector<float> values(4099, 1.0f);
  values[0] = 16777216.0f;
  values[4098] = -16777216.0f;
  std::vector<Literal> arguments = {Literal::FromVector<float>(Shape(ElementType::kF32, {4099}), values)};
  const auto module = ParseModule(Reducer("f32", "add") +
                                  "ENTRY e { x = f32[4099] parameter(0)  z = f32[] constant(0)  ROOT r = f32[] "
                                  "reduce(x, z), dimensions={0}, to_apply=f }");
  ASSERT_NE(module, nullptr);
  Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  CompileOptions options;
  options.wide_accumulation = true;
  auto executable = client->Compile(*module, options);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const Literal* pointer[] = {&arguments[0]};
  auto sum = (*executable)->Run(pointer);
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(sum->GetDouble(0), 4097.0);
  arguments[0].SetDouble(7, std::numeric_limits<double>::infinity());
  sum = (*executable)->Run(pointer);
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(sum->GetDouble(0), std::numeric_limits<double>::infinity());
}

TEST(SameBitsTest, ConversionsBetweenAnyTwoTypes) {
  const std::vector<std::string> types = {"pred",   "s4",   "u4",  "s8",  "u8",  "s16",  "u16",
                                          "s32",    "u32",  "s64", "u64", "c64", "c128", "f8e4m3fn",
                                          "f8e5m2", "bf16", "f16", "f32", "f64"};
  for (const std::string& from : types) {
    std::string body, shapes, roots;
    for (const std::string& to : types) {
      // HLO has no conversion of complex numbers to real ones.
      if (from[0] == 'c' && to[0] != 'c') continue;
      const char* comma = shapes.empty() ? "" : ", ";
      body += fmt::format("  to_{0} = {0}[67] convert(x)\n", to);
      shapes += fmt::format("{}{}[67]", comma, to);
      roots += fmt::format("{}to_{}", comma, to);
    }
    ExpectSameBits(fmt::format("ENTRY e {{\n  x = {}[67] parameter(0)\n{}  ROOT t = ({}) tuple({})\n}}", from, body,
                               shapes, roots));
  }
}

TEST(SameBitsTest, SpecialValuesAndConversions) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0f,    -0.0f, inf,  -inf, nan,   1e-40f, -1e-45f,
                                     3.4e38f, 1e30f, 0.5f, 2.5f, -1.5f, 1e-30f};
  std::vector<Literal> arguments = {Literal::FromVector<float>(Shape(ElementType::kF32, {13}), values)};
  for (const char* to :
       {"bf16", "f16", "f8e4m3fn", "f8e5m2", "s8", "u8", "s16", "s32", "u32", "f64", "s64", "u64", "pred", "c64"}) {
    ExpectSameBits(fmt::format("ENTRY e {{ x = f32[13] parameter(0)  ROOT c = {}[13] convert(x) }}", to), &arguments);
  }
  // atan2 of two denormals is a large angle, that of the zeros which a device flushes them to is another.
  Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  if (client->device().facts().quirks.flushes_f32_denormals) {
    arguments[0].mutable_data<float>()[5] = 0.0f;
    arguments[0].mutable_data<float>()[6] = -0.0f;
  }
  ExpectSameBits(
      "ENTRY e { x = f32[13] parameter(0)  y = f32[13] reverse(x), dimensions={0}  p = f32[13] power(x, y)  a = "
      "f32[13] atan2(x, y)\n"
      "  r = f32[13] remainder(x, y)  m = f32[13] maximum(x, y)  ROOT t = (f32[13], f32[13], f32[13], f32[13]) "
      "tuple(p, a, r, m) }",
      &arguments);
}

}  // namespace same_bits_test
}  // namespace VXLA_NAMESPACE::testing
