// Elementwise operations on a device against the CPU reference: every operation of every type, special values, fusion.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/data/float_formats.h"
#include "core/text/hlo_printer.h"
#include "core/text/literal_text.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using Names = std::vector<std::string>;

const Names kFloats = {"f32", "f64", "f16", "bf16", "f8e5m2", "f8e4m3fn"};
const Names kFurtherFloats = {"f8e4m3",    "f8e3m4",   "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz",
                              "f8e8m0fnu", "f6e2m3fn", "f6e3m2fn",   "f4e2m1fn"};
const Names kComplexes = {"c64", "c128"};
const Names kIntegers = {"s32", "u32", "s64", "u64", "s8", "u8", "s16", "u16", "s4", "u4"};

constexpr int64_t kCount = 211;

ElementType TypeNamed(const std::string& name) { return *ParseElementType(name); }

// Ordinary values mixed with the ones that go wrong: signed zeros, infinities, NaN, denormals, limits of integers.
// Sums, products and quotients are the device's own, so where it flushes denormals of f32, zeros stand for them.
Literal Values(const std::string& type_name, uint64_t seed) {
  const ElementType type = TypeNamed(type_name);
  Literal literal = RandomLiteral(Shape(type, {kCount}), seed, Fill::kSpecial);
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  if (client == nullptr || !client->device().facts().quirks.flushes_f32_denormals) return literal;
  const auto flushed = [](double x) {
    return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0, x) : x;
  };
  for (int64_t i = 0; i < kCount; ++i) {
    if (type == ElementType::kF32 || type == ElementType::kBF16) literal.SetDouble(i, flushed(literal.GetDouble(i)));
    const std::complex<double> z = type == ElementType::kC64 ? literal.GetComplex(i) : 0;
    if (type == ElementType::kC64) literal.SetComplex(i, {flushed(z.real()), flushed(z.imag())});
  }
  return literal;
}

// All operations of one arity on one type: a tuple of results, one compilation.
void RunAll(const Names& operations, const std::string& type, int operands, const std::string& suffix = "") {
  SCOPED_TRACE(type);
  std::string body, names, shapes, arguments;
  for (int i = 0; i < operands; ++i) {
    body += fmt::format("  a{} = {}[{}] parameter({})\n", i, type, kCount, i);
    arguments += fmt::format("{}a{}", i > 0 ? ", " : "", i);
  }
  for (const std::string& operation : operations) {
    const size_t space = operation.find(' ');  // "compare pred, direction=EQ"
    const std::string opcode = operation.substr(0, space);
    std::string attributes = space == operation.npos ? "" : operation.substr(space + 1), result = type;
    if (const size_t comma = attributes.find(','); comma != attributes.npos) {
      result = attributes.substr(0, comma);
      attributes = attributes.substr(comma);
    } else if (!attributes.empty()) {
      result = std::exchange(attributes, "");
    }
    const std::string name =
        fmt::format("r{}", Names::size_type(std::count(names.begin(), names.end(), ',')) + (names.empty() ? 0 : 1));
    body += fmt::format("  {} = {}[{}] {}({}){}\n", name, result, kCount, opcode, arguments, attributes);
    names += (names.empty() ? "" : ", ") + name;
    shapes += fmt::format("{}{}[{}]", shapes.empty() ? "" : ", ", result, kCount);
  }
  const std::string text =
      fmt::format("HloModule m\nENTRY main {{\n{}  ROOT t = ({}) tuple({})\n}}\n{}", body, shapes, names, suffix);
  std::vector<Literal> values;
  for (int i = 0; i < operands; ++i) values.push_back(Values(type, static_cast<uint64_t>(i) + 1));
  RunBoth(text, values);
}

// One type to all of them: a tuple of results, one compilation.
void RunConversions(const std::string& from, const Names& types) {
  SCOPED_TRACE(from);
  std::string body = fmt::format("  a = {}[{}] parameter(0)\n", from, kCount), names, shapes;
  for (const std::string& to : types) {
    if (from == "c64" && to != "c64") continue;
    body += fmt::format("  to_{0} = {0}[{1}] convert(a)\n", to, kCount);
    names += (names.empty() ? "to_" : ", to_") + to;
    shapes += fmt::format("{}{}[{}]", shapes.empty() ? "" : ", ", to, kCount);
  }
  RunBoth(fmt::format("HloModule m\nENTRY main {{\n{}  ROOT t = ({}) tuple({})\n}}\n", body, shapes, names),
          {Values(from, 2)});
}

// lavapipe takes x * 0 and 0 / x for 0 and x / 0 for nothing in particular where the zero is a literal.
TEST(ElementwiseTest, ConstantZerosKeepInfinitiesAndNan) {
  for (const std::string type : {"f32", "f64", "f16", "bf16", "f8e5m2", "f8e4m3fn", "c64", "c128"}) {
    SCOPED_TRACE(type);
    std::vector<std::string> zeros = {"constant(0)", "convert(none)", "convert(no)"};
    if (type == "f32") zeros.push_back("bitcast-convert(none)");
    if (type[0] == 'c') zeros = {"constant((0, 0))", "constant((0, 1))", "constant((1, 0))"};
    std::string body, names, shapes;
    int count = 0;
    for (size_t z = 0; z < zeros.size(); ++z) {
      body += fmt::format("  z{0} = {1}[] {2}\n  b{0} = {1}[{3}] broadcast(z{0}), dimensions={{}}\n", z, type, zeros[z],
                          kCount);
      for (const char* call : {"multiply(x, b{})", "multiply(b{}, x)", "divide(x, b{})", "divide(b{}, x)"}) {
        body += fmt::format("  r{} = {}[{}] {}\n", count, type, kCount, fmt::format(fmt::runtime(call), z));
        names += fmt::format("{}r{}", count > 0 ? ", " : "", count);
        shapes += fmt::format("{}{}[{}]", count > 0 ? ", " : "", type, kCount);
        ++count;
      }
    }
    RunBoth(
        fmt::format("ENTRY e {{\n  x = {}[{}] parameter(0)\n  none = s32[] constant(0)\n  no = pred[] constant(false)\n"
                    "{}  ROOT t = ({}) tuple({}) }}",
                    type, kCount, body, shapes, names),
        {Values(type, 1)});
  }
}

TEST(ElementwiseTest, ConstantZerosOfReducersAndCombinersKeepInfinitiesAndNan) {
  for (const std::string type : {"f32", "f64", "bf16", "c64"}) {
    SCOPED_TRACE(type);
    for (const char* call : {"multiply(a, z)", "divide(z, a)", "divide(a, z)"}) {
      SCOPED_TRACE(call);
      const std::string computation = fmt::format(
          "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  z = {0}[] constant({2})  c = {0}[] {1}  ROOT r = {0}[] "
          "add(c, b) }}\n",
          type, call, type == "c64" ? "(0, 0)" : "0");
      const std::string operands = fmt::format(
          "ENTRY e {{ x = {0}[{1}] parameter(0)  y = {0}[{1}] reverse(x), dimensions={{0}}  ", type, kCount);
      RunBoth(
          computation + operands +
              fmt::format("i = s32[{1},1] iota(), iota_dimension=0\n  ROOT s = {0}[{1}] scatter(x, i, y), "
                          "update_window_dims={{}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                          "index_vector_dim=1, unique_indices=true, to_apply=f }}",
                          type, kCount),
          {Values(type, 1)});
      if (type == "c64" || call[0] != 'm') continue;  // depends on the order
      RunBoth(computation + operands +
                  fmt::format("one = {0}[] constant(1)\n  u = {0}[{1},1] reshape(x)  v = {0}[{1},1] reshape(y)  "
                              "w = {0}[{1},2] concatenate(u, v), dimensions={{1}}\n"
                              "  ROOT r = {0}[{1}] reduce(w, one), dimensions={{1}}, to_apply=f }}",
                              type, kCount),
              {Values(type, 1)});
    }
  }
}

// Zeros that the driver finds out although none is written: of one index, of truth values, of integers that cancel, of
// other constants.
TEST(ElementwiseTest, ZerosThatFollowKeepInfinitiesAndNan) {
  const std::vector<std::pair<std::string, std::string>> zeros = {
      {"f32", "i = s32[1] iota(), iota_dimension=0  j = s32[] reshape(i)  c = f32[] bitcast-convert(j)"},
      {"", "i = s32[1] iota(), iota_dimension=0  j = s32[] reshape(i)  c = T[] convert(j)"},
      {"", "i = T[1] iota(), iota_dimension=0  j = T[1] reverse(i), dimensions={0}  c = T[] reshape(j)"},
      {"", "i = T[8,1] iota(), iota_dimension=1  j = T[1,1] slice(i), slice={[3:4], [0:1]}  c = T[] reshape(j)"},
      {"",
       "i = s32[N] iota(), iota_dimension=0  j = s32[1] slice(i), slice={[5:6]}  k = s32[] reshape(j)  "
       "n = s32[] constant(5)  l = s32[] subtract(k, n)  c = T[] convert(l)"},
      {"", "n = pred[] constant(true)  j = pred[] not(n)  c = T[] convert(j)"},
      {"", "n = T[] constant(1.5)  c = T[] subtract(n, n)"},
      {"", "n = T[] constant(1.5)  m = T[] constant(-1.5)  c = T[] add(n, m)"},
      {"", "n = T[] constant(0.5)  c = T[] floor(n)"},
      {"", "n = T[] constant(-0.5)  c = T[] ceil(n)"},
      {"", "n = T[] constant(-inf)  c = T[] exponential(n)"},
      {"", "n = T[] constant(-inf)  m = T[] constant(1)  c = T[] divide(m, n)"},
      {"", "n = T[] constant(1e-5)  c = T[] reduce-precision(n), exponent_bits=3, mantissa_bits=2"},
  };
  const std::vector<std::string> arrays = {
      "i = s32[N] iota(), iota_dimension=0  j = s32[N] subtract(i, i)  z = T[N] convert(j)",
      "i = u64[N] iota(), iota_dimension=0  j = u64[N] xor(i, i)  z = T[N] convert(j)",
      "j = s32[N] subtract(s, s)  z = T[N] convert(j)",
      "i = s32[N] not(s)  j = s32[N] and(s, i)  z = T[N] convert(j)",
      "i = s32[N] negate(s)  j = s32[N] add(s, i)  z = T[N] convert(j)",
      "j = pred[N] compare(x, x), direction=LT  z = T[N] convert(j)",
      "i = pred[N] compare(x, x), direction=EQ  j = pred[N] xor(i, i)  z = T[N] convert(j)",
      "i = f32[N] convert(x)  j = f32[N] imag(i)  z = T[N] convert(j)",
      "i = f32[N] convert(x)  j = c64[N] convert(i)  k = f32[N] imag(j)  z = T[N] convert(k)",
  };
  for (const std::string type : {"f32", "f64", "f16", "bf16"}) {
    std::vector<std::string> bodies = arrays;
    for (const auto& [only, zero] : zeros) {
      if (only.empty() || only == type) bodies.push_back(zero + "  z = T[N] broadcast(c), dimensions={}");
    }
    for (const std::string& body : bodies) {
      std::string text =
          "ENTRY e { x = T[N] parameter(0)  s = s32[N] parameter(1)  " + body +
          "  a = T[N] multiply(x, z)  b = T[N] multiply(z, x)  q = T[N] divide(x, z)  r = T[N] divide(z, x)  "
          "u = T[N] subtract(z, x)  v = T[N] add(x, z)  w = T[N] subtract(x, z)  "
          "ROOT t = (T[N], T[N], T[N], T[N], T[N], T[N], T[N]) tuple(a, b, q, r, u, v, w) }";
      const auto replace = [&text](const std::string& from, const std::string& to) {
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
          text.replace(at, from.size(), to);
      };
      replace("[N", fmt::format("[{}", kCount));
      replace("T[", type + "[");
      SCOPED_TRACE(text);
      RunBoth(text, {Values(type, 1), Values("s32", 2)});
    }
  }
}

// A complex number that is made of a real one has an imaginary zero, which times an infinity is NaN.
TEST(ElementwiseTest, RealNumbersAsComplexOnesKeepInfinitiesAndNan) {
  RunBoth(fmt::format("ENTRY e {{ u = f32[{0}] parameter(0)  v = f32[{0}] parameter(1)  y = f32[{0}] parameter(2)  "
                      "x = c64[{0}] complex(u, v)  z = c64[{0}] convert(y)  a = c64[{0}] multiply(x, z)  "
                      "b = c64[{0}] add(x, z)  c = c64[{0}] subtract(z, x)  "
                      "ROOT t = (c64[{0}], c64[{0}], c64[{0}]) tuple(a, b, c) }}",
                      kCount),
          {Values("f32", 1), Values("f32", 2), Values("f32", 3)});
}

TEST(ElementwiseTest, UnaryOperationsOfFloats) {
  for (const std::string& type : kFloats) {
    RunAll({"abs", "negate", "sign", "ceil", "floor", "round-nearest-afz", "round-nearest-even", "sqrt", "rsqrt",
            "cbrt", "is-finite pred"},
           type, 1);
  }
  // The transcendental functions of narrow types are those of f32, rounded; compiling them takes a driver most of the
  // time here.
  // SwiftShader takes minutes for the f64 ones, which lavapipe runs emulated too.
  Client* client = DeviceClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  const bool slow = client->device().facts().quirks.slow_long_blocks && std::getenv("VXLA_TEST_LONG") == nullptr;
  for (const std::string type : {"f32", "f64", "bf16"}) {
    if (slow && type == "f64") continue;
    RunAll({"exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "sine", "cosine", "tan",
            "erf"},
           type, 1);
    RunAll({"erfc", "erf-inv", "lgamma", "digamma"}, type, 1);
    RunAll({"asin", "acos", "atan", "asinh", "acosh", "atanh", "sinh", "cosh"}, type, 1);
  }
}

TEST(ElementwiseTest, BinaryOperationsOfFloats) {
  for (const std::string& type : kFloats) {
    RunAll({"add", "subtract", "multiply", "divide", "remainder", "power", "atan2", "maximum", "minimum"}, type, 2);
    RunAll({"compare pred, direction=EQ", "compare pred, direction=NE", "compare pred, direction=LT",
            "compare pred, direction=LE", "compare pred, direction=GT", "compare pred, direction=GE",
            "compare pred, direction=LT, type=TOTALORDER", "compare pred, direction=GE, type=TOTALORDER"},
           type, 2);
  }
}

// All values of these types fit into kCount or nearly so; what they have of infinities, NaN, zeros and signs differs.
TEST(ElementwiseTest, OperationsOfNarrowFloats) {
  const Client* client = DeviceClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  for (const std::string& type : kFurtherFloats) {
    // Its least number is a denormal of f32, in which narrow floats are computed.
    if (type == "f8e8m0fnu" && client->device().facts().quirks.flushes_f32_denormals) continue;
    RunAll({"abs", "negate", "sign", "ceil", "round-nearest-even", "sqrt", "is-finite pred"}, type, 1);
    RunAll({"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "compare pred, direction=NE",
            "compare pred, direction=LT", "compare pred, direction=GE, type=TOTALORDER"},
           type, 2);
  }
}

TEST(ElementwiseTest, ConversionsOfNarrowFloats) {
  Names all = kFurtherFloats;
  for (const char* other : {"s8", "u16", "s32", "bf16", "f16", "f32", "f64"}) all.push_back(other);
  for (const std::string& from : all) RunConversions(from, all);
}

TEST(ElementwiseTest, OperationsOfIntegers) {
  for (const std::string& type : kIntegers) {
    Names unary = {"not", "count-leading-zeros", "popcnt", "negate"};
    if (IsSigned(TypeNamed(type))) unary.insert(unary.end(), {"abs", "sign"});
    RunAll(unary, type, 1);
    RunAll({"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor",
            "shift-left", "shift-right-arithmetic", "shift-right-logical", "power"},
           type, 2);
    RunAll({"compare pred, direction=EQ", "compare pred, direction=LT", "compare pred, direction=GE"}, type, 2);
  }
}

TEST(ElementwiseTest, OperationsOfPredicates) {
  RunAll({"not"}, "pred", 1);
  RunAll({"and", "or", "xor", "add", "multiply", "maximum", "minimum", "compare pred, direction=EQ",
          "compare pred, direction=LT"},
         "pred", 2);
}

TEST(ElementwiseTest, OperationsOfComplexNumbers) {
  for (const std::string& type : kComplexes) {
    const std::string part = type == "c64" ? "f32" : "f64";
    RunAll({"negate", "exponential", "log", "sqrt", "abs " + part, "real " + part, "imag " + part}, type, 1);
    if (type == "c64") RunAll({"sine", "cosine", "tanh", "rsqrt"}, type, 1);
    RunAll({"add", "subtract", "multiply", "divide", "maximum", "minimum", "compare pred, direction=EQ",
            "compare pred, direction=NE"},
           type, 2);
  }
}

// By the real parts, where these are equal by the imaginary ones; in a reducer and with live sizes too.
TEST(ElementwiseTest, ComplexNumbersHaveAnOrder) {
  const auto module =
      ParseModule(R"(largest { a = c64[] parameter(0)  b = c64[] parameter(1)  ROOT r = c64[] maximum(a, b) }
ENTRY e { x = c64[5] constant({(1, 2), (3, 0), (2, 5), (3, -1), (1, 3)})  low = c64[] constant((1, 3))  high = c64[] constant((2, 1))
  lows = c64[5] broadcast(low), dimensions={}  first = c64[] constant((-inf, 0))
  a = c64[5] clamp(low, x, high)  b = c64[5] clamp(lows, x, high)  c = c64[] reduce(x, first), dimensions={0}, to_apply=largest
  n = s32[] constant(3)  d = c64[<=5] set-dimension-size(x, n), dimensions={0}
  f = c64[<=5] clamp(low, d, high)  g = c64[] reduce(f, first), dimensions={0}, to_apply=largest
  ROOT r = (c64[5], c64[5], c64[], c64[]) tuple(a, b, c, g) })");
  ASSERT_NE(module, nullptr);
  const auto result = RunOnCpu(*module, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(PrintLiteral(*result),
            "({(1, 3), (2, 1), (2, 1), (2, 1), (1, 3)}, {(1, 3), (2, 1), (2, 1), (2, 1), (1, 3)}, (3, 0), (2, 1))");
  RunBoth(PrintHlo(*module), {});
}

// Every pair of zeros, infinities, NaN and ordinary parts; of two operands, every pair of those.
TEST(ElementwiseTest, ComplexFunctionsAgreeAtSpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> parts = {0.0, -0.0, 1.0, -2.5, infinity, -infinity, std::nan("")};
  std::vector<std::complex<double>> points;
  for (const double re : parts) {
    for (const double im : parts) points.emplace_back(re, im);
  }
  const auto count = static_cast<int64_t>(points.size());
  Literal x{Shape(ElementType::kC64, {count})}, y{Shape(ElementType::kC64, {count * count})}, z = y;
  for (int64_t i = 0; i < count; ++i) {
    x.SetComplex(i, points[i]);
    for (int64_t j = 0; j < count; ++j) y.SetComplex(i * count + j, points[i]), z.SetComplex(i * count + j, points[j]);
  }
  const Names unary = {"sign",   "exponential",  "exponential-minus-one",
                       "log",    "log-plus-one", "sqrt",
                       "rsqrt",  "cbrt",         "sine",
                       "cosine", "tan",          "tanh",
                       "sinh",   "cosh",         "logistic",
                       "asin",   "acos",         "atan",
                       "asinh",  "acosh",        "atanh"};
  for (const std::string& op : unary) {
    SCOPED_TRACE(op);
    RunBoth(fmt::format("HloModule m\nENTRY e {{\n  x = c64[{0}] parameter(0)\n  ROOT r = c64[{0}] {1}(x)\n}}\n", count,
                        op),
            {x});
  }
  for (const std::string op : {"multiply", "divide", "power", "maximum", "minimum"}) {
    SCOPED_TRACE(op);
    RunBoth(fmt::format("HloModule m\nENTRY e {{\n  y = c64[{0}] parameter(0)\n  z = c64[{0}] parameter(1)\n"
                        "  ROOT r = c64[{0}] {1}(y, z)\n}}\n",
                        count * count, op),
            {y, z});
  }
}

TEST(ElementwiseTest, ClampAndSelectTakeScalars) {
  for (const std::string type : {"f32", "s32", "bf16", "u8", "f64"}) {
    const std::string text = fmt::format(
        "HloModule m\nENTRY main {{\n  lo = {0}[] parameter(0)\n  x = {0}[{1}] parameter(1)\n  hi = {0}[] "
        "parameter(2)\n"
        "  p = pred[] parameter(3)\n  c = {0}[{1}] clamp(lo, x, hi)\n  ROOT s = {0}[{1}] select(p, c, x)\n}}\n",
        type, kCount);
    RunBoth(text, {Literal::Scalar(TypeNamed(type), 1), Values(type, 5), Literal::Scalar(TypeNamed(type), 3),
                   Literal::Scalar(ElementType::kPred, 1)});
  }
}

TEST(ElementwiseTest, ConversionsBetweenAllTypes) {
  const Names all = {"pred", "s8",  "u8",  "s4",   "u4",     "s16",      "u16", "s32", "u32",
                     "s64",  "u64", "f16", "bf16", "f8e5m2", "f8e4m3fn", "f32", "f64", "c64"};
  for (const std::string& from : all) RunConversions(from, all);
}

// Drivers know the range of an extended value and compare it in ways of their own.
TEST(ElementwiseTest, ExtendedIntegersMeetConstants) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"s8", "s32"}, {"s8", "s64"}, {"s16", "s64"}, {"s32", "s64"}, {"u32", "s64"}, {"u32", "u64"}}) {
    SCOPED_TRACE(from + " " + to);
    std::string body = fmt::format("  a = {}[{}] parameter(0)\n  b = {}[{}] convert(a)\n", from, kCount, to, kCount);
    std::string names, shapes;
    auto add = [&](const std::string& type, const std::string& operation) {
      const std::string name = fmt::format("r{}", std::count(names.begin(), names.end(), ','));
      body += fmt::format("  {} = {}[{}] {}\n", name, type, kCount, operation);
      names += name + ", ";
      shapes += fmt::format("{}[{}], ", type, kCount);
    };
    for (int constant : {0, -1, 3}) {
      if (constant < 0 && to[0] == 'u') continue;
      const std::string k = fmt::format("k{}", constant + 1);
      body += fmt::format("  {0}s = {1}[] constant({2})\n  {0} = {1}[{3}] broadcast({0}s), dimensions={{}}\n", k, to,
                          constant, kCount);
      for (const char* direction : {"LT", "GE"}) {
        const std::string p = fmt::format("p{}{}", constant + 1, direction);
        body += fmt::format("  {} = pred[{}] compare(b, {}), direction={}\n", p, kCount, k, direction);
        add(to, fmt::format("select({}, {}, b)", p, k));
      }
      for (const char* binary : {"maximum", "remainder", "shift-right-arithmetic"}) {
        add(to, fmt::format("{}(b, {})", binary, k));
      }
    }
    if (to[0] == 's') add(to, "abs(b)"), add(to, "sign(b)");
    for (const char* wide : {"f32", "f64"}) add(wide, "convert(b)");
    names.resize(names.size() - 2), shapes.resize(shapes.size() - 2);
    RunBoth(fmt::format("HloModule m\nENTRY main {{\n{}  ROOT t = ({}) tuple({})\n}}\n", body, shapes, names),
            {Values(from, 2)});
  }
}

TEST(ElementwiseTest, ReducePrecisionRoundsAndOverflows) {
  RunBoth(fmt::format("HloModule m\nENTRY main {{\n  a = f32[{0}] parameter(0)\n  x = f32[{0}] reduce-precision(a), "
                      "exponent_bits=5, mantissa_bits=10\n"
                      "  y = f32[{0}] reduce-precision(a), exponent_bits=8, mantissa_bits=7\n  z = f32[{0}] "
                      "reduce-precision(a), exponent_bits=3, mantissa_bits=2\n"
                      "  ROOT t = (f32[{0}], f32[{0}], f32[{0}]) tuple(x, y, z)\n}}\n",
                      kCount),
          {Values("f32", 4)});
}

TEST(ElementwiseTest, AChainOfTwentyOperationsWithBroadcastsIsOneDispatch) {
  std::string body =
      "  a = f32[13,7] parameter(0)\n  v = f32[7] parameter(1)\n  c = f32[] constant(0.75)\n"
      "  cb = f32[13,7] broadcast(c), dimensions={}\n  vb = f32[13,7] broadcast(v), dimensions={1}\n  x0 = f32[13,7] "
      "add(a, vb)\n";
  const Names cycle = {"multiply", "subtract", "maximum", "add"};
  for (int i = 1; i < 20; ++i) {
    body += fmt::format("  {}x{} = f32[13,7] {}(x{}, {})\n", i == 19 ? "ROOT " : "", i, cycle[i % 4], i - 1,
                        i % 3 == 0 ? "cb" : "vb");
  }
  RunOptions options;
  options.dispatches = 1;
  const std::string text = "HloModule m\nENTRY main {\n" + body + "}\n";
  RunBoth(text, RandomArguments(*ParseModule(text)), options);
}

// Done by a multiplication, which must not show: denormal quotients, overflow, zeros, infinities.
TEST(ElementwiseTest, DivisionByAPowerOfTwoHasTheQuotientsBits) {
  for (const std::string type : {"f32", "f16", "bf16"}) {
    for (const std::string divisor : {"8", "-0.25", "1024", "1"}) {
      const std::string shape = fmt::format("{}[{}]", type, kCount);
      RunBoth("ENTRY e { x = " + shape + " parameter(0)  c = " + type + "[] constant(" + divisor + ")  b = " + shape +
                  " broadcast(c), dimensions={}  ROOT r = " + shape + " divide(x, b) }",
              {Values(type, 5)});
    }
  }
}

TEST(ElementwiseTest, ScalarsAndEmptyArrays) {
  RunBoth("HloModule m\nENTRY main {\n  a = f32[] parameter(0)\n  ROOT r = f32[] exponential(a)\n}\n",
          {Literal::Scalar(ElementType::kF32, 1.5)});
  RunBoth("HloModule m\nENTRY main {\n  a = f32[3,0] parameter(0)\n  ROOT r = f32[3,0] exponential(a)\n}\n",
          {Literal(Shape(ElementType::kF32, {3, 0}))});
}

TEST(ElementwiseTest, ZeroConstantsKeepTheSignOfZero) {
  const std::vector<float> zeros = {0.0f, -0.0f, 1.0f};
  RunOptions options;
  options.tolerance = Tolerance{};
  const auto result = RunBoth(
      "HloModule m\nENTRY main {\n  a = f32[3] parameter(0)\n  z = f32[] constant(0)\n  b = f32[3] broadcast(z), "
      "dimensions={}\n"
      "  s = f32[3] subtract(b, a)\n  p = f32[3] add(a, b)\n  m = f32[3] multiply(a, b)\n  ROOT t = (f32[3], f32[3], "
      "f32[3]) tuple(s, p, m)\n}\n",
      {Literal::FromVector<float>(Shape(ElementType::kF32, {3}), zeros)}, options);
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(std::signbit(result->tuple_elements()[0].data<float>()[0]));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
