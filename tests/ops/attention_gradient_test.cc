// Attention's gradient as kernels: forward, the rows' sums, queries, keys and values; what stays apart; a product under
// a reduction; few queries over many keys.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace attention_gradient_test {

// $name by what it stands for.
std::string Fill(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    for (size_t at = text.find("$" + name); at != std::string::npos; at = text.find("$" + name, at + value.size()))
      text.replace(at, name.size() + 1, value);
  }
  return text;
}

constexpr char kReducers[] =
    "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

struct GradientCase {
  const char* name;
  const char* type = "f32";
  int64_t groups = 2, rows = 100, keys = 90, depth = 40, columns = 24;
  const char* hidden = "";    // of a causal mask
  const char* seen = "keys";  // what the mask counts up to the row: keys, or keys before the row alone
  bool padded = false;        // and the first rows see nothing at all
  bool bias = false;
  const char* bias_over = "3,4";  // the dimensions of the scores that it has: 0,4: a bias of each key
  bool forward = true;            // the attention itself is a result too
  bool bias_gradient = false;
  int dispatches = 5;  // attention, a loop of 1 / total^2, and the three of the gradient; a loop that joins masks
  BindingMode mode = BindingMode::kAddresses;
  bool units = false;  // on matrix units, stood in for
};

constexpr int64_t kBatches = 2, kHeads = 2;

// As JAX writes it: queries [batch, row, head, group, depth], keys and values [batch, key, head, ...].
std::string ProgramOf(const GradientCase& c) {
  std::string text =
      "$reducersENTRY e {\n"
      "q = $t[$B,$R,$H,$G,$D] parameter(0)  k = $t[$B,$K,$H,$D] parameter(1)  v = $t[$B,$K,$H,$C] parameter(2)\n"
      "do = $t[$B,$R,$H,$G,$C] parameter(3)\n"
      "d = $t[$B,$H,$R,$G,$K] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={4}, "
      "rhs_contracting_dims={3}\n"
      "dw = f32[$B,$H,$R,$G,$K] convert(d)  scale = f32[] constant(0.15625)\n"
      "scales = f32[$B,$H,$R,$G,$K] broadcast(scale), dimensions={}  x = f32[$B,$H,$R,$G,$K] multiply(dw, scales)\n"
      "x0 = f32[$E] transpose(x), dimensions={0,1,3,2,4}\n"
      "zero = f32[] constant(0)  zeros = f32[$E] broadcast(zero), dimensions={}\n";
  if (c.bias) {
    text +=
        "bias = f32[$S] parameter(4)  biases = f32[$E] broadcast(bias), dimensions={$over}\n"
        "x1 = f32[$E] add(x0, biases)\n";
  }
  if (*c.hidden != '\0') {
    text +=
        "row = s32[$R,$K] iota(), iota_dimension=0  key = s32[$R,$K] iota(), iota_dimension=1\n"
        "causal = pred[$R,$K] compare(row, key), direction=$direction\n";
    if (c.padded) text += "padding = pred[$R,$K] parameter(4)  both = pred[$R,$K] and(causal, padding)\n";
    text +=
        "sees = pred[$E] broadcast($mask), dimensions={3,4}  h = f32[] constant($hidden)\n"
        "hs = f32[$E] broadcast(h), dimensions={}  x2 = f32[$E] select(sees, $x, hs)\n";
  }
  text +=
      "least = f32[] constant(-inf)  m = f32[$W] reduce($logits, least), dimensions={4}, to_apply=max\n"
      "ms = f32[$E] broadcast(m), dimensions={0,1,2,3}  y = f32[$E] subtract($logits, ms)\n"
      "z = f32[$E] exponential(y)  l = f32[$W] reduce(z, zero), dimensions={4}, to_apply=add\n"
      "ls = f32[$E] broadcast(l), dimensions={0,1,2,3}  s = f32[$E] divide(z, ls)  p = $t[$E] convert(s)\n"
      "o = $t[$B,$H,$C,$G,$R] dot(v, p), lhs_batch_dims={0,2}, rhs_batch_dims={0,1}, lhs_contracting_dims={1}, "
      "rhs_contracting_dims={4}\n"
      "out = $t[$B,$R,$H,$G,$C] transpose(o), dimensions={0,4,1,3,2}\n"
      "dot = $t[$B,$H,$C,$G,$R] transpose(do), dimensions={0,2,4,3,1}\n"
      "g = $t[$E] dot(dot, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={3}\n"
      "gw = f32[$E] convert(g)  part = f32[$E] divide(gw, ls)\n"
      "one = f32[] constant(1)  ones = f32[$W] broadcast(one), dimensions={}  square = f32[$W] multiply(l, l)\n"
      "inverse = f32[$W] divide(ones, square)  inverses = f32[$E] broadcast(inverse), dimensions={0,1,2,3}\n"
      "a = f32[$E] multiply(gw, inverses)  az = f32[$E] multiply(a, z)\n"
      "sum = f32[$W] reduce(az, zero), dimensions={4}, to_apply=add  minus = f32[$W] negate(sum)\n"
      "minuses = f32[$E] broadcast(minus), dimensions={0,1,2,3}  both_parts = f32[$E] add(part, minuses)\n"
      "dz = f32[$E] multiply(both_parts, z)\n"
      "$masked"
      "dt = f32[$B,$H,$R,$G,$K] transpose($dx), dimensions={0,1,3,2,4}\n"
      "ds = f32[$B,$H,$R,$G,$K] multiply(dt, scales)  dn = $t[$B,$H,$R,$G,$K] convert(ds)\n"
      "dq = $t[$B,$H,$R,$G,$D] dot(dn, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={4}, "
      "rhs_contracting_dims={1}\n"
      "dk = $t[$B,$H,$K,$D] dot(dn, q), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={2,3}, "
      "rhs_contracting_dims={1,3}\n"
      "dv = $t[$B,$H,$C,$K] dot(dot, p), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3,4}, "
      "rhs_contracting_dims={2,3}\n$end }\n";
  const std::string x = c.bias ? "x1" : "x0";
  const bool masked = *c.hidden != '\0';
  std::string results = "$t[$B,$H,$R,$G,$D], $t[$B,$H,$K,$D], $t[$B,$H,$C,$K]", values = "dq, dk, dv", end;
  if (c.forward) results = "$t[$B,$R,$H,$G,$C], " + results, values = "out, " + values;
  if (c.bias_gradient) {
    const bool whole = c.bias_over == std::string("0,1,2,3,4");
    end = "db = f32[$S] reduce($dx, zero), dimensions={$others}, to_apply=add\n";
    if (whole) end.clear();
    results += ", f32[$S]", values += whole ? ", $dx" : ", db";
  }
  end += "ROOT r = (" + results + ") tuple(" + values + ")";
  const auto number = [](int64_t n) { return std::to_string(n); };
  text = Fill(text, {{"end", end}});
  text = Fill(text, {{"masked", masked ? "dx2 = f32[$E] select(sees, dz, zeros)\n" : ""}});
  const std::string over = c.bias_over;
  text = Fill(text, {{"reducers", kReducers},
                     {"S", over == "3,4"   ? "$R,$K"
                           : over == "0,4" ? "$B,$K"
                                           : "$E"},
                     {"others", over == "3,4" ? "0,1,2" : "1,2,3"},
                     {"over", over}});
  text = Fill(text, {{"E", "$B,$H,$G,$R,$K"},
                     {"W", "$B,$H,$G,$R"},
                     {"logits", masked ? "x2" : x},
                     {"dx", masked ? "dx2" : "dz"},
                     {"mask", c.padded ? "both" : "causal"},
                     {"hidden", c.hidden},
                     {"direction", c.seen == std::string("keys") ? "GE" : "GT"}});
  return Fill(text, {{"x", x},
                     {"t", c.type},
                     {"B", number(kBatches)},
                     {"H", number(kHeads)},
                     {"G", number(c.groups)},
                     {"R", number(c.rows)},
                     {"K", number(c.keys)},
                     {"D", number(c.depth)},
                     {"C", number(c.columns)}});
}

class AttentionGradientTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(AttentionGradientTest, AgreesWithThePlainProgram) {
  const GradientCase& c = GetParam();
  const std::string text = ProgramOf(c);
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module);
  if (c.padded) {
    for (int64_t i = 0; i < 9 * c.keys; ++i) arguments[4].mutable_data<bool>()[static_cast<size_t>(i)] = false;
  }
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->rtol = options.tolerance->atol = c.type == std::string("f32") ? 3e-5 : 3e-2;
  const auto client = GpuClient(c.mode, c.units ? MatrixUnits::kStoodInFor : MatrixUnits::kOwn);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, options, c.dispatches, *expected);
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok());
  const Plan& plan = (*executable)->plan();
  // A GPU's own units may take what is not meant for them here.
  if (c.units || client->device().facts().matrices.empty()) {
    EXPECT_EQ(std::ranges::count(plan.kernels, "attention/chain_matrices.comp", &KernelKey::algorithm),
              c.units ? 3 : 0);
  }
  // Nothing of the scores' size is kept.
  const int64_t scores = kBatches * kHeads * c.groups * c.rows * c.keys;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.placement.space != MemorySpace::kScratch) continue;
    EXPECT_LT(buffer.size_bytes, 2 * scores) << buffer.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionGradientTest,
    ::testing::Values(
        GradientCase{.name = "Plain", .mode = BindingMode::kDescriptors},
        GradientCase{.name = "GroupedCausalBfloat16", .type = "bf16", .rows = 128, .keys = 128, .hidden = "-2.38e38"},
        GradientCase{.name = "CausalFloat16OverTwoTiles",
                     .type = "f16",
                     .groups = 1,
                     .rows = 150,
                     .keys = 150,
                     .hidden = "-1e9",
                     .mode = BindingMode::kDescriptors},
        GradientCase{.name = "CausalInWholeTiles",
                     .groups = 1,
                     .rows = 256,
                     .keys = 256,
                     .depth = 64,
                     .columns = 64,
                     .hidden = "-inf"},
        // Hidden logits beside which no seen one is large: their weights are not nothing, and no block is left out.
        GradientCase{.name = "HiddenKeysThatWeigh", .groups = 1, .rows = 192, .keys = 192, .hidden = "-0.5"},
        GradientCase{.name = "OfItsBias",
                     .rows = 70,
                     .keys = 131,
                     .depth = 37,
                     .columns = 23,
                     .bias = true,
                     .bias_gradient = true,
                     .dispatches = 6},
        GradientCase{.name = "OfItsBiasFloat16Causal",
                     .type = "f16",
                     .rows = 150,
                     .keys = 100,
                     .hidden = "-1e9",
                     .bias = true,
                     .bias_gradient = true,
                     .dispatches = 6,
                     .mode = BindingMode::kDescriptors},
        GradientCase{.name = "OfABiasOfTheScoresSize",
                     .rows = 70,
                     .keys = 131,
                     .depth = 37,
                     .columns = 23,
                     .bias = true,
                     .bias_over = "0,1,2,3,4",
                     .bias_gradient = true,
                     .dispatches = 6},
        GradientCase{.name = "OfABiasOfTheScoresSizeCausalBfloat16",
                     .type = "bf16",
                     .rows = 128,
                     .keys = 128,
                     .hidden = "-1e9",
                     .bias = true,
                     .bias_over = "0,1,2,3,4",
                     .bias_gradient = true,
                     .dispatches = 6,
                     .mode = BindingMode::kDescriptors},
        GradientCase{.name = "OfABiasOfEachKey",
                     .rows = 70,
                     .keys = 131,
                     .depth = 37,
                     .columns = 23,
                     .bias = true,
                     .bias_over = "0,4",
                     .bias_gradient = true,
                     .dispatches = 7},
        GradientCase{.name = "Biased", .rows = 70, .keys = 131, .depth = 37, .columns = 23, .bias = true},
        GradientCase{
            .name = "RowsThatSeeNothingAreUniform", .rows = 128, .hidden = "-2.38e38", .padded = true, .dispatches = 6},
        GradientCase{.name = "RowsThatSeeNothingAreNan",
                     .rows = 128,
                     .hidden = "-inf",
                     .seen = "before",
                     .padded = true,
                     .dispatches = 6},
        GradientCase{
            .name = "OnMatrixUnits", .type = "f16", .rows = 70, .keys = 131, .depth = 40, .columns = 24, .units = true},
        GradientCase{.name = "OnMatrixUnitsGroupedCausal",
                     .type = "bf16",
                     .rows = 128,
                     .keys = 128,
                     .hidden = "-2.38e38",
                     .bias = true,
                     .mode = BindingMode::kDescriptors,
                     .units = true},
        GradientCase{.name = "OnMatrixUnitsHiddenKeysThatWeigh",
                     .type = "f16",
                     .groups = 1,
                     .rows = 192,
                     .keys = 192,
                     .depth = 64,
                     .columns = 64,
                     .hidden = "-0.5",
                     .units = true},
        GradientCase{.name = "WideHeads", .groups = 1, .rows = 140, .keys = 130, .depth = 160, .columns = 136},
        // Largest logits and totals come from kernels of their own where nobody wants the attention itself.
        GradientCase{.name = "WithoutTheAttention", .hidden = "-1e9", .forward = false, .dispatches = 6}),
    [](const auto& info) { return info.param.name; });

struct SumCase {
  const char* name;
  const char* text;
  int dispatches = 1;
  bool units = false;
};
class ReducedProductTest : public ::testing::TestWithParam<SumCase> {};

TEST_P(ReducedProductTest, IsOneKernel) {
  const std::string text = std::string(kReducers) + GetParam().text;
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module);
  // Eighths: their products and sums are exact, so that what rounds to f16 rounds alike in every order.
  for (Literal& argument : arguments) {
    for (int64_t i = 0; argument.shape().element_type() == ElementType::kF16 && i < argument.element_count(); ++i)
      argument.SetDouble(i, std::round(8 * argument.GetDouble(i)) / 8);
  }
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode, GetParam().units ? MatrixUnits::kStoodInFor : MatrixUnits::kOwn);
    ASSERT_NE(client, nullptr);
    ExpectOnGpu(*client, *module, arguments, {}, GetParam().dispatches, *expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ReducedProductTest,
    ::testing::Values(
        SumCase{"LargestOfRows",
                "ENTRY e { x = f32[601,37] parameter(0)  w = f32[37,130] parameter(1)\n"
                "d = f32[601,130] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                "i = f32[] constant(-inf)  ROOT r = f32[601] reduce(d, i), dimensions={1}, to_apply=max }"},
        SumCase{"SumOfSquaresOfColumns",
                "ENTRY e { x = f32[130,40] parameter(0)  w = f32[40,601] parameter(1)\n"
                "d = f32[130,601] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                "s = f32[130,601] multiply(d, d)  i = f32[] constant(0)\n"
                "ROOT r = f32[601] reduce(s, i), dimensions={0}, to_apply=add }"},
        // The batch is not the first dimension of the result.
        SumCase{"OfBatchesInTheMiddle",
                "ENTRY e { x = bf16[3,220,2,24] parameter(0)  w = bf16[3,110,24] parameter(1)\n"
                "d = bf16[3,220,2,110] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, "
                "rhs_contracting_dims={2}\n"
                "t = bf16[2,3,220,110] transpose(d), dimensions={2,0,1,3}  c = f32[2,3,220,110] convert(t)\n"
                "i = f32[] constant(-inf)  ROOT r = f32[2,3,220] reduce(c, i), dimensions={3}, to_apply=max }"},
        // What follows is of the reductions' kernels.
        SumCase{"Logsumexp",
                "ENTRY e { x = f32[601,37] parameter(0)  w = f32[37,130] parameter(1)\n"
                "d = f32[601,130] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                "i = f32[] constant(-inf)  o = f32[] constant(0)  os = f32[601] broadcast(o), dimensions={}\n"
                "m = f32[601] reduce(d, i), dimensions={1}, to_apply=max  fi = pred[601] is-finite(m)\n"
                "mg = f32[601] select(fi, m, os)  mb = f32[601,130] broadcast(mg), dimensions={0}\n"
                "y = f32[601,130] subtract(d, mb)  z = f32[601,130] exponential(y)\n"
                "l = f32[601] reduce(z, o), dimensions={1}, to_apply=add  a = f32[601] abs(l)  n = f32[601] log(a)\n"
                "ROOT r = f32[601] add(n, mg) }",
                2},
        SumCase{"WithWhatFollowsAndItself",
                "ENTRY e { x = bf16[3,220,2,24] parameter(0)  w = bf16[3,110,24] parameter(1)  u = f32[6,220] "
                "parameter(2)\n"
                "d = bf16[3,220,2,110] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, "
                "rhs_contracting_dims={2}\n"
                "t = bf16[2,3,220,110] transpose(d), dimensions={2,0,1,3}  c = f32[2,3,220,110] convert(t)\n"
                "i = f32[] constant(-inf)  m = f32[2,3,220] reduce(c, i), dimensions={3}, to_apply=max\n"
                "s = f32[6,220] reshape(m)  v = f32[6,220] multiply(s, u)  b = bf16[6,220] convert(v)\n"
                "k = f32[1,2,3,220] broadcast(m), dimensions={1,2,3}\n"
                "ROOT r = (bf16[6,220], f32[1,2,3,220]) tuple(b, k) }"},
        SumCase{"OnMatrixUnitsWithWhatFollows",
                "ENTRY e { x = f16[601,40] parameter(0)  w = f16[136,40] parameter(1)  u = f32[601] parameter(2)\n"
                "d = f16[601,136] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
                "c = f32[601,136] convert(d)  q = f32[601,136] multiply(c, c)  i = f32[] constant(0)\n"
                "m = f32[601] reduce(q, i), dimensions={1}, to_apply=add  h = f32[601] sqrt(m)\n"
                "ROOT r = f32[601] multiply(h, u) }",
                1, true},
        // A second reader wants the product in memory.
        SumCase{"ThatIsReadElsewhereToo",
                "ENTRY e { x = f32[601,37] parameter(0)  w = f32[37,130] parameter(1)\n"
                "d = f32[601,130] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                "i = f32[] constant(-inf)  m = f32[601] reduce(d, i), dimensions={1}, to_apply=max\n"
                "ROOT r = (f32[601], f32[601,130]) tuple(m, d) }",
                2}),
    [](const auto& info) { return info.param.name; });

// A loop's body that one workgroup might run, but for that kernel.
TEST(ReducedProductTest, InALoopIsNoDotOfAWorkgroupsLoop) {
  const std::string text = std::string(kReducers) + R"(
more { s = (s32[], f32[601,8], f32[8,130]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)  ROOT r = pred[] compare(i, n), direction=LT }
step { s = (s32[], f32[601,8], f32[8,130]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[601,8] get-tuple-element(s), index=1  w = f32[8,130] get-tuple-element(s), index=2
  one = s32[] constant(1)  next = s32[] add(i, one)
  d = f32[601,130] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  l = f32[] constant(-inf)  m = f32[601] reduce(d, l), dimensions={1}, to_apply=max
  t = f32[601] tanh(m)  b = f32[601,8] broadcast(t), dimensions={0}  y = f32[601,8] subtract(x, b)
  ROOT r = (s32[], f32[601,8], f32[8,130]) tuple(next, y, w) }
ENTRY e { x = f32[601,8] parameter(0)  w = f32[8,130] parameter(1)  i = s32[] constant(0)
  s = (s32[], f32[601,8], f32[8,130]) tuple(i, x, w)
  r = (s32[], f32[601,8], f32[8,130]) while(s), condition=more, body=step
  ROOT y = f32[601,8] get-tuple-element(r), index=1 })";
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->rtol = options.tolerance->atol = 1e-4;
  const auto client = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, options, 40, *expected);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok());
  EXPECT_TRUE((*executable)->plan().faults.empty());
}

// One query a head and group over a long cache, of which each example has filled some: parts of the keys, joined.
class DecodingTest : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(DecodingTest, IsTwoKernels) {
  const auto [rows, type] = GetParam();
  const std::string text = Fill(
      std::string(kReducers) +
          "ENTRY e { q = $t[2,$R,3,64] parameter(0)  k = $t[2,2100,3,64] parameter(1)  v = $t[2,2100,3,64] "
          "parameter(2)\n"
          "n = s32[2] parameter(3)\n"
          "d = $t[2,3,$R,2100] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
          "rhs_contracting_dims={3}\n"
          "w = f32[2,3,$R,2100] convert(d)  key = s32[2,2100] iota(), iota_dimension=1\n"
          "ns = s32[2,2100] broadcast(n), dimensions={0}  sees = pred[2,2100] compare(key, ns), direction=LT\n"
          "all = pred[2,3,$R,2100] broadcast(sees), dimensions={0,3}  h = f32[] constant(-1e9)\n"
          "hs = f32[2,3,$R,2100] broadcast(h), dimensions={}  x = f32[2,3,$R,2100] select(all, w, hs)\n"
          "least = f32[] constant(-inf)  m = f32[2,3,$R] reduce(x, least), dimensions={3}, to_apply=max\n"
          "ms = f32[2,3,$R,2100] broadcast(m), dimensions={0,1,2}  y = f32[2,3,$R,2100] subtract(x, ms)\n"
          "z = f32[2,3,$R,2100] exponential(y)  zero = f32[] constant(0)\n"
          "l = f32[2,3,$R] reduce(z, zero), dimensions={3}, to_apply=add\n"
          "ls = f32[2,3,$R,2100] broadcast(l), dimensions={0,1,2}  s = f32[2,3,$R,2100] divide(z, ls)\n"
          "p = $t[2,3,$R,2100] convert(s)\n"
          "ROOT o = $t[2,3,$R,64] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
          "rhs_contracting_dims={1} }",
      {{"t", type}, {"R", std::to_string(rows)}});
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module);
  arguments[3].mutable_data<int32_t>()[0] = 1500;
  arguments[3].mutable_data<int32_t>()[1] = 2100;
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->rtol = options.tolerance->atol = type == std::string("f32") ? 2e-5 : 2e-2;
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode);
    ASSERT_NE(client, nullptr);
    ExpectOnGpu(*client, *module, arguments, options, 2, *expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, DecodingTest,
                         ::testing::Combine(::testing::Values(1, 4, 6), ::testing::Values("f32", "bf16")),
                         [](const auto& info) {
                           return fmt::format("{}Of{}", std::get<1>(info.param), std::get<0>(info.param));
                         });

}  // namespace attention_gradient_test
}  // namespace VXLA_NAMESPACE::testing
