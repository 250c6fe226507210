// Scatters that add up floats as integers: the order of their updates does not matter, so nothing is sorted.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/data/float_formats.h"
#include "core/passes/base/pipeline.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"
#include "tests/support/index_arguments.h"

namespace VXLA_NAMESPACE::testing {
namespace scatter_sums_test {

using enum ElementType;

constexpr std::string_view kElements =
    "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";

struct SumCase {
  std::string name, operand, indices, updates, attributes;
  int64_t low, count;  // of the indices
};

const SumCase kCases[] = {
    {"Elements", "[12]", "[600]", "[600]", std::string(kElements), -2, 17},
    {"OneElement", "[1]", "[900]", "[900]", std::string(kElements), 0, 1},
    {"Pairs", "[5,9]", "[90,2]", "[90]",
     "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1", -1,
     10},
    {"Rows", "[11,3]", "[400]", "[400,3]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1", -2, 15},
    {"Overlapping", "[13,5]", "[90,2]", "[2,90,3]",
     "update_window_dims={0,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1", -5,
     20},
    {"Batches", "[4,9,3]", "[150,4]", "[150,4,3]",
     "update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={1}, index_vector_dim=2",
     -1, 12},
    {"VectorsInTheMiddle", "[6,7]", "[5,2,40]", "[5,40]",
     "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1", -1,
     9},
    {"AllOutside", "[7]", "[300]", "[300]", std::string(kElements), 7, 5},
    {"NoUpdates", "[7]", "[0]", "[0]", std::string(kElements), 0, 1},
};

std::string ProgramOf(const SumCase& c, std::string_view type, std::string_view index_type = "s32") {
  return fmt::format(
      "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}\n"
      "ENTRY e {{ p = {0}{1} parameter(0)  i = {2}{3} parameter(1)  u = {0}{4} parameter(2)\n"
      "ROOT r = {0}{1} scatter(p, i, u), {5}, to_apply=f }}",
      type, c.operand, index_type, c.indices, c.updates, c.attributes);
}

bool Sorts(Client& client, const Module& module) {
  const auto executable = client.Compile(module);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  return executable.ok() && ToText((*executable)->plan()).find("sort/") != std::string::npos;
}
bool Sorts(const Module& module) { return Sorts(*DeviceClient(ModesToRun()[0]), module); }

// Zeros for what the device's additions may take for zeros.
void DropDenormals(Literal& literal) {
  if (!DeviceClient(ModesToRun()[0])->device().facts().quirks.flushes_f32_denormals) return;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (std::abs(literal.GetDouble(i)) < std::numeric_limits<float>::min()) literal.SetDouble(i, 0);
  }
}

class ScatterSumsTest : public ::testing::TestWithParam<SumCase> {};

TEST_P(ScatterSumsTest, AreTheReferencesAndNotSorted) {
  const SumCase& c = GetParam();
  for (const ElementType type : {kF32, kBF16, kF16, kF8E5M2, kF8E4M3FN, kF8E4M3FNUZ, kF4E2M1FN}) {
    if (BitWidth(type) < 16 && c.name != "Elements") continue;
    const std::string text = ProgramOf(c, ElementTypeName(type));
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    EXPECT_FALSE(Sorts(*module)) << ElementTypeName(type);
    for (const Fill fill : {Fill::kSmall, Fill::kFullRange, Fill::kSpecial}) {
      SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(type), static_cast<int>(fill)));
      std::vector<Literal> arguments = RandomArguments(*module, 5, fill);
      arguments[1] = Indices(arguments[1].shape(), c.low, c.count);
      for (const size_t k : {0, 2}) DropDenormals(arguments[k]);
      RunBoth(text, arguments);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScatterSumsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// The exact sum of doubles as parts that do not overlap (J. R. Shewchuk, Adaptive precision floating-point arithmetic,
// 1997), rounded to odd: what is rounded from it to 32 bits or fewer is the exact sum rounded.
double ExactSum(const std::vector<double>& values) {
  std::vector<double> parts;
  for (double x : values) {
    std::vector<double> next;
    for (double y : parts) {
      if (std::abs(x) < std::abs(y)) std::swap(x, y);
      const double sum = x + y, rest = y - (sum - x);
      if (rest != 0) next.push_back(rest);
      x = sum;
    }
    next.push_back(x);
    parts = next;
  }
  double high = 0, low = 0;
  while (!parts.empty() && low == 0) {
    const double x = high, y = parts.back();
    parts.pop_back();
    high = x + y;
    low = y - (high - x);
  }
  const auto bits = std::bit_cast<uint64_t>(high);
  if (low == 0 || (bits & 1) != 0) return high;
  return std::nextafter(high, low > 0 ? HUGE_VAL : -HUGE_VAL);
}

// Numbers of all exponents, of which `most` times the largest stay finite; none that a device may flush.
Literal OfAllExponents(const Shape& shape, uint64_t seed, double most) {
  const ElementType type = shape.element_type();
  const FloatFormat& format = FormatOf(type);
  const double least = std::ldexp(1, 1 - format.bias);
  const Literal drawn = Indices(Shape(kS64, {2 * shape.ElementCount()}), 0, int64_t{1} << 31, seed);
  const double span = std::log2(MaxFinite(type) / most / 4 / least);
  Literal values(shape);
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const auto exponent =
        static_cast<int>(std::fmod(static_cast<double>(drawn.GetInt(2 * i) >> 7), std::max(span, 1.0)));
    const double fraction = 1 + std::ldexp(static_cast<double>(drawn.GetInt(2 * i + 1) >> 1), -30);
    values.SetDouble(i, std::ldexp(drawn.GetInt(2 * i + 1) % 2 == 0 ? fraction : -fraction, exponent) * least);
  }
  return values;
}

Literal Rounded(const Shape& shape, const std::vector<std::vector<double>>& terms) {
  Literal result(shape);
  for (size_t k = 0; k < terms.size(); ++k) {
    result.SetDouble(static_cast<int64_t>(k), static_cast<double>(static_cast<float>(ExactSum(terms[k]))));
  }
  return result;
}

// To f32, and from there to a narrower type: whatever the exponents, and the order of the updates. With what was there,
// where several integers take it.
TEST(FixedSumsTest, AreRoundedOnceWhateverTheExponents) {
  for (const auto& [type, count] :
       {std::pair(kF32, 400), {kF32, 40}, {kF32, 9000}, {kBF16, 3000}, {kF16, 3000}, {kF8E5M2, 50}, {kF8E4M3, 500}}) {
    SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(type), count));
    const Shape array(type, {7});
    const std::string text = fmt::format(
        "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}\n"
        "ENTRY e {{ i = s32[{1}] parameter(0)  u = {0}[{1}] parameter(1)  p = {0}[7] parameter(2)\n"
        "ROOT r = {0}[7] scatter(p, i, u), {2}, to_apply=f }}",
        ElementTypeName(type), count, kElements);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    EXPECT_FALSE(Sorts(*module));
    std::vector<Literal> arguments{Indices(Shape(kS32, {count}), -1, 9, 3),
                                   OfAllExponents(Shape(type, {count}), 11, BitWidth(type) < 16 ? 1 : count)};
    const bool several = type == kF32 || type == kBF16;
    arguments.push_back(several ? OfAllExponents(array, 12, count) : Literal(array));
    // The first place's cancel but for the least of all.
    int64_t last = -1;
    for (int64_t i = 0; i < count; ++i) {
      if (arguments[0].GetInt(i) != 0) continue;
      if (last >= 0) arguments[1].SetDouble(i, -arguments[1].GetDouble(last));
      last = last >= 0 ? -1 : i;
    }
    std::vector<std::vector<double>> terms(7);
    for (int64_t k = 0; several && k < 7; ++k) terms[static_cast<size_t>(k)].push_back(arguments[2].GetDouble(k));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = arguments[0].GetInt(i);
      if (at >= 0 && at < 7) terms[static_cast<size_t>(at)].push_back(arguments[1].GetDouble(i));
    }
    const Literal expected = Rounded(array, terms);
    for (const bool backwards : {false, true}) {
      if (backwards) {
        for (int64_t i = 0; 2 * i < count - 1; ++i) {
          const int64_t j = count - 1 - i, index = arguments[0].GetInt(i);
          const double value = arguments[1].GetDouble(i);
          arguments[0].SetInt(i, arguments[0].GetInt(j));
          arguments[0].SetInt(j, index);
          arguments[1].SetDouble(i, arguments[1].GetDouble(j));
          arguments[1].SetDouble(j, value);
        }
      }
      for (const BindingMode mode : ModesToRun()) {
        const auto value = RunOnDevice(mode, *module, arguments);
        ASSERT_TRUE(value.has_value());
        ExpectAgreement(*value, expected, Exactly(), backwards ? "backwards" : "forwards");
      }
    }
  }
}

// The updates' sum alone is beyond the type.
TEST(FixedSumsTest, WhatWasThereBringsSumsBack) {
  for (const ElementType type : {kF32, kBF16}) {
    SCOPED_TRACE(ElementTypeName(type));
    const SumCase c{"", "[10]", "[40]", "[40]", std::string(kElements), 0, 0};
    const auto module = ParseModule(ProgramOf(c, ElementTypeName(type)));
    ASSERT_NE(module, nullptr);
    EXPECT_FALSE(Sorts(*module));
    std::vector<Literal> arguments = RandomArguments(*module, 1);
    Literal expected(arguments[0].shape());
    const double large = std::ldexp(1, 127), small = std::ldexp(1, 110);
    for (int64_t k = 0; k < 10; ++k) {
      arguments[0].SetDouble(k, k % 2 == 0 ? -large : large);
      expected.SetDouble(k, k % 2 == 0 ? large + 2 * small : std::numeric_limits<double>::infinity());
    }
    for (int64_t i = 0; i < 40; ++i) {
      arguments[1].SetInt(i, i % 10);
      arguments[2].SetDouble(i, i < 20 ? large : small);
    }
    for (const BindingMode mode : ModesToRun()) {
      const auto value = RunOnDevice(mode, *module, arguments);
      ASSERT_TRUE(value.has_value());
      ExpectAgreement(*value, expected, Exactly(), "sums of 2^128");
    }
  }
}

// Infinities and NaN are what they are in any order, of one update and of updates that meet; zeros leave what was
// there.
TEST(FixedSumsTest, SpecialValuesMeet) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const ElementType type : {kF32, kBF16, kF16, kF8E5M2}) {
    SCOPED_TRACE(ElementTypeName(type));
    const SumCase c{"", "[10]", "[40]", "[40]", std::string(kElements), 0, 0};
    const auto module = ParseModule(ProgramOf(c, ElementTypeName(type)));
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 1);
    const double updates[10][4] = {{infinity, 1, 2, 0},   {-infinity, 1, -1, 0},      {infinity, -infinity, 0, 0},
                                   {nan, 1, infinity, 0}, {infinity, infinity, 0, 0}, {-0.0, -0.0, -0.0, -0.0},
                                   {1, 2, -3, -0.0},      {-0.0, -0.0, -0.0, -0.0},   {1, 1, 1, 1},
                                   {0, 0, 0, 0}};
    const double before[10] = {1, 2, 3, 4, -infinity, -0.0, 5, nan, infinity, 0.0};
    const double after[10] = {infinity, -infinity, nan, nan, nan, -0.0, 5, nan, infinity, 0.0};
    Literal expected(arguments[0].shape());
    for (int64_t k = 0; k < 10; ++k) {
      arguments[0].SetDouble(k, before[k]);
      expected.SetDouble(k, after[k]);
      for (int64_t j = 0; j < 4; ++j) {
        arguments[1].SetInt(10 * j + k, k);
        arguments[2].SetDouble(10 * j + k, updates[k][j]);
      }
    }
    for (const BindingMode mode : ModesToRun()) {
      const auto value = RunOnDevice(mode, *module, arguments);
      ASSERT_TRUE(value.has_value());
      ExpectAgreement(*value, expected, Exactly(), "special");
      EXPECT_TRUE(std::signbit(value->GetDouble(5)));
    }
  }
}

// The arrays that an optimized program's scatters change, in its order.
std::vector<std::string> ScattersIn(const std::string& text, TargetInfo target = {}) {
  std::vector<std::string> shapes;
  const auto module = ParseModule(text);
  EXPECT_NE(module, nullptr);
  if (module == nullptr) return shapes;
  const auto optimized = Optimize(*module, target);
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  for (const auto& computation : (*optimized)->computations()) {
    for (const auto& i : computation->instructions()) {
      if (i->opcode() == Opcode::kSort) shapes.push_back("sort");
      if (i->opcode() == Opcode::kScatter) shapes.push_back(i->shape().ToString());
    }
  }
  return shapes;
}

// What is known of the updates decides how many integers a sum takes, and of which type.
TEST(FixedSumsTest, KnownRangesTakeOneInteger) {
  const auto takes = [](const std::string& type, const std::string& updates, const std::string& array) {
    SCOPED_TRACE(type + ": " + updates);
    const std::string text = fmt::format(
        "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}\n"
        "ENTRY e {{ p = {0}[12] parameter(0)  i = s32[3000] parameter(1)  h = f16[3000] parameter(2)\n"
        "s = s8[3000] parameter(3)  w = s32[3000] parameter(4)  x = {0}[3000] parameter(5)  u = u16[3000] "
        "parameter(6)\n"
        "quarter = {0}[] constant(0.25)  q = {0}[3000] broadcast(quarter), dimensions={{}}\n"
        "t = {0}[3000] convert(s)  v = {0}[3000] convert(w)  y = {0}[3000] convert(u)  k = {0}[3000] convert(h)\n"
        "m = {0}[3000] {2}  ROOT r = {0}[12] scatter(p, i, m), {1}, to_apply=f }}",
        type, kElements, updates);
    EXPECT_EQ(ScattersIn(text), std::vector{array});
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 9);
    arguments[1] = Indices(arguments[1].shape(), -2, 17);
    RunBoth(text, arguments);
  };
  takes("f32", "multiply(t, q)", "s32[12]");  // quarters
  takes("f32", "add(y, q)", "s32[12]");
  takes("f32", "subtract(v, q)", "s64[12]");
  takes("f32", "multiply(t, v)", "s64[12]");
  takes("f32", "negate(q)", "s32[12]");
  takes("f32", "iota(), iota_dimension=0", "s32[12]");
  takes("f64", "multiply(v, q)", "s64[12]");
  takes("bf16", "multiply(q, q)", "s32[12]");
  takes("f32", "copy(k)", "s64[24]");  // and infinities
  takes("f16", "copy(x)", "s64[24]");
  takes("f16", "multiply(x, q)", "s64[24]");
  takes("bf16", "copy(x)", "s64[108]");  // 254 exponents by 36
  takes("f32", "copy(x)", "s64[132]");   // by 26, and infinities
  takes("f32", "multiply(x, k)", "s64[132]");
}

// Where integers take longer than a sort, or have no end, it is one.
TEST(FixedSumsTest, OthersAreSorted) {
  const auto sorts = [](const std::string& type, const std::string& array, const std::string& window,
                        const std::string& operation = "add(a, b)") {
    const std::string text = fmt::format(
        "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {3} }}\n"
        "ENTRY e {{ p = {0}{1} parameter(0)  i = s32[500] parameter(1)  u = {0}[500{2}] parameter(2)\n"
        "ROOT r = {0}{1} scatter(p, i, u), update_window_dims={{{4}}}, inserted_window_dims={{0}}, "
        "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=f }}",
        type, array, window, operation, window.empty() ? "" : "1");
    return std::ranges::count(ScattersIn(text), "sort") == 1;
  };
  EXPECT_FALSE(sorts("f32", "[500]", ""));
  EXPECT_TRUE(sorts("f32", "[5000]", ""));
  EXPECT_FALSE(sorts("f16", "[5000]", ""));
  EXPECT_TRUE(sorts("f16", "[50000]", ""));
  EXPECT_TRUE(sorts("f32", "[12,40]", ",40"));
  EXPECT_TRUE(sorts("f64", "[12]", ""));
  EXPECT_TRUE(sorts("c64", "[12]", ""));
  EXPECT_TRUE(sorts("f32", "[12]", "", "subtract(a, b)"));
  EXPECT_TRUE(sorts("f32", "[12]", "", "multiply(a, b)"));
}

// A loop in which the indices stay the same sorts them before it, and so does one that a device knows no runs for;
// where they change, each trip adds up integers.
TEST(FixedSumsTest, LoopsSortBeforeThemOrNotAtAll) {
  for (const bool stays : {true, false}) {
    const std::string state = "(s32[], s32[600], f32[600], f32[12])";
    const std::string text = fmt::format(
        "f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}\n"
        "body {{ s = {0} parameter(0)  n = s32[] get-tuple-element(s), index=0\n"
        "i = s32[600] get-tuple-element(s), index=1  u = f32[600] get-tuple-element(s), index=2\n"
        "p = f32[12] get-tuple-element(s), index=3  one = s32[] constant(1)  m = s32[] add(n, one)\n"
        "w = s32[600] broadcast(n), dimensions={{}}  j = s32[600] add(i, w)\n"
        "r = f32[12] scatter(p, {1}, u), {2}, to_apply=f  half = f32[] constant(0.5)\n"
        "h = f32[12] broadcast(half), dimensions={{}}  q = f32[12] multiply(r, h)\n"
        "ROOT t = {0} tuple(m, i, u, q) }}\n"
        "condition {{ s = {0} parameter(0)  n = s32[] get-tuple-element(s), index=0  k = s32[] constant(9)\n"
        "ROOT l = pred[] compare(n, k), direction=LT }}\n"
        "ENTRY e {{ i = s32[600] parameter(0)  u = f32[600] parameter(1)  p = f32[12] parameter(2)\n"
        "z = s32[] constant(0)  t = {0} tuple(z, i, u, p)  w = {0} while(t), condition=condition, body=body\n"
        "ROOT r = f32[12] get-tuple-element(w), index=3 }}",
        state, stays ? "i" : "j", kElements);
    for (const bool by_lane : {true, false}) {
      TargetInfo target;
      target.accesses_by_lane = by_lane;
      const std::vector<std::string> found = ScattersIn(text, target);
      EXPECT_EQ(std::ranges::count(found, "sort"), stays ? 1 : 0);
      EXPECT_EQ(found.size(), stays ? 2 : 1);
    }
    std::vector<Literal> arguments = RandomArguments(*ParseModule(text), 9);
    arguments[0] = Indices(arguments[0].shape(), -6, 17);
    RunBoth(text, arguments);
    const auto gpu = GpuClient(BindingMode::kAddresses);
    ASSERT_NE(gpu, nullptr);
    const auto module = ParseModule(text);
    const auto value = RunOnClient(*gpu, *module, arguments), expected = RunOnCpu(*module, arguments);
    ASSERT_TRUE(value.has_value() && expected.has_value());
    ExpectAgreement(*value, *expected, {}, "as a GPU");
  }
}

// Several scatters of the same indices share a sort, which then is worth more of them.
TEST(FixedSumsTest, BranchesAndSharedIndices) {
  const auto text = [](int arrays) {
    std::string scatters, all, shapes;
    for (int k = 0; k < arrays; ++k) {
      scatters += fmt::format(
          "u{0} = f32[500] slice(u), slice={{[{2}:{3}]}}\n"
          "r{0} = f32[2000] scatter(p, i, u{0}), {1}, to_apply=f\n",
          k, kElements, k, k + 500);
      all += fmt::format("{}r{}", k == 0 ? "" : ", ", k);
      shapes += k == 0 ? "f32[2000]" : ", f32[2000]";
    }
    return fmt::format(
        "f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}\n"
        "yes {{ t = (f32[2000], s32[500], f32[600]) parameter(0)  p = f32[2000] get-tuple-element(t), index=0\n"
        "i = s32[500] get-tuple-element(t), index=1  u = f32[600] get-tuple-element(t), index=2\n{0}"
        "ROOT r = ({2}) tuple({1}) }}\n"
        "no {{ t = (f32[2000], s32[500], f32[600]) parameter(0)  p = f32[2000] get-tuple-element(t), index=0\n"
        "ROOT r = ({2}) tuple({3}) }}\n"
        "ENTRY e {{ p = f32[2000] parameter(0)  i = s32[500] parameter(1)  u = f32[600] parameter(2)  b = pred[] "
        "parameter(3)\n"
        "t = (f32[2000], s32[500], f32[600]) tuple(p, i, u)\n"
        "ROOT c = ({2}) conditional(b, t, t), true_computation=yes, false_computation=no }}",
        scatters, all, shapes, [&] {
          std::string same = "p";
          for (int k = 1; k < arrays; ++k) same += ", p";
          return same;
        }());
  };
  EXPECT_EQ(std::ranges::count(ScattersIn(text(1)), "sort"), 0);
  EXPECT_EQ(std::ranges::count(ScattersIn(text(3)), "sort"), 1);
  for (const bool branch : {true, false}) {
    std::vector<Literal> arguments = RandomArguments(*ParseModule(text(1)), 9);
    arguments[1] = Indices(arguments[1].shape(), -6, 2017);
    arguments[3] = Literal::ScalarInt(kPred, branch ? 1 : 0);
    RunBoth(text(1), arguments);
  }
}

}  // namespace scatter_sums_test
}  // namespace VXLA_NAMESPACE::testing
