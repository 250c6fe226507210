// Attention as one kernel: layouts, masks, element types, grouped queries; rows that see nothing; what stays apart.
#include <fmt/format.h>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace attention_test {

struct AttentionCase {
  const char* name;
  const char* type = "f32";
  bool heads_first = true;  // [batch, head, row, ...], else [batch, row, head, ...] with groups of queries
  int64_t rows = 100, keys = 90, depth = 40, columns = 24;
  const char* hidden = "";  // of a causal mask
  const char* direction = "GE";
  bool padded = false;  // rows see none of their keys where a mask says so
  bool bias = false;
  bool dropped = false;  // some weights, the others are doubled
  int dispatches = 1;
  BindingMode mode = BindingMode::kAddresses;
  bool units = false;   // on matrix units, stood in for
  bool capped = false;  // the logits, by a long function
  bool quads = false;   // as NVIDIA's GPUs compute it
};

constexpr int64_t kBatches = 2, kHeads = 2, kGroups = 2;

// The scores of a case in the shape that softmax has, f32 or wider, and the value's product.
std::string ProgramOf(const AttentionCase& c) {
  const std::string space = c.heads_first ? fmt::format("[{},{},{},{}]", kBatches, kHeads * kGroups, c.rows, c.keys)
                                          : fmt::format("[{},{},{},{},{}]", kBatches, kHeads, kGroups, c.rows, c.keys);
  const int last = c.heads_first ? 3 : 4;
  const std::string kept = space.substr(0, space.rfind(',')) + "]", rows = c.heads_first ? "2" : "3",
                    own = c.heads_first ? "0,1,2" : "0,1,2,3";
  std::string text =
      "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\nENTRY e {\n";
  if (c.heads_first) {
    text += fmt::format(
        "q = {0}[{1},{2},{3},{5}] parameter(0)  k = {0}[{1},{2},{4},{5}] parameter(1)  v = {0}[{1},{2},{4},{6}] "
        "parameter(2)\n"
        "d = {0}{7} dot(q, k), lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,1}}, lhs_contracting_dims={{3}}, "
        "rhs_contracting_dims={{3}}\n",
        c.type, kBatches, kHeads * kGroups, c.rows, c.keys, c.depth, c.columns, space);
  } else {
    text += fmt::format(
        "q = {0}[{1},{4},{2},{3},{6}] parameter(0)  k = {0}[{1},{5},{2},{6}] parameter(1)  v = {0}[{1},{5},{2},{7}] "
        "parameter(2)\n"
        "p = {0}[{1},{2},{4},{3},{5}] dot(q, k), lhs_batch_dims={{0,2}}, rhs_batch_dims={{0,2}}, "
        "lhs_contracting_dims={{4}}, rhs_contracting_dims={{3}}\n"
        "d = {0}{8} transpose(p), dimensions={{0,1,3,2,4}}\n",
        c.type, kBatches, kHeads, kGroups, c.rows, c.keys, c.depth, c.columns, space);
  }
  text += fmt::format(
      "w = f32{0} convert(d)  scale = f32[] constant(0.15625)  scales = f32{0} broadcast(scale), dimensions={{}}\n"
      "x0 = f32{0} multiply(w, scales)\n",
      space);
  std::string x = "x0";
  if (c.capped) {
    text += fmt::format("x1 = f32{} tanh(x0)\n", space);
    x = "x1";
  }
  if (c.bias) {
    text += fmt::format(
        "bias = f32[{1},{2}] parameter(3)  biases = f32{0} broadcast(bias), dimensions={{{3},{4}}}\n"
        "x1 = f32{0} add(x0, biases)\n",
        space, c.rows, c.keys, rows, last);
    x = "x1";
  }
  if (*c.hidden != '\0') {
    text += fmt::format(
        "row = s32[{1},{2}] iota(), iota_dimension=0  key = s32[{1},{2}] iota(), iota_dimension=1\n"
        "sees = pred[{1},{2}] compare({6}, {7}), direction={8}\n"
        "all = pred{0} broadcast({9}), dimensions={{{3},{4}}}  h = f32[] constant({5})  hs = f32{0} broadcast(h), "
        "dimensions={{}}\n",
        space, c.rows, c.keys, rows, last, c.hidden, c.direction[0] == 'G' ? "row" : "key",
        c.direction[0] == 'G' ? "key" : "row", c.direction, c.padded ? "both" : "sees");
    if (c.padded) {
      const std::string both = fmt::format(
          "padding = pred[{0},{1}] parameter(3)  both = pred[{0},{1}] and(sees, padding)\n", c.rows, c.keys);
      text.insert(text.rfind("all = "), both);
    }
    text += fmt::format("x2 = f32{0} select(all, {1}, hs)\n", space, x);
    x = "x2";
  }
  text += fmt::format(
      "least = f32[] constant(-inf)  m = f32{1} reduce({2}, least), dimensions={{{3}}}, to_apply=max\n"
      "ms = f32{0} broadcast(m), dimensions={{{4}}}  y = f32{0} subtract({2}, ms)  z = f32{0} exponential(y)\n"
      "zero = f32[] constant(0)  l = f32{1} reduce(z, zero), dimensions={{{3}}}, to_apply=add\n"
      "ls = f32{0} broadcast(l), dimensions={{{4}}}  s = f32{0} divide(z, ls)\n",
      space, kept, x, last, own);
  if (c.dropped) {
    text += fmt::format(
        "keep = pred{0} parameter(3)  double = f32[] constant(2)  doubles = f32{0} broadcast(double), dimensions={{}}\n"
        "twice = f32{0} multiply(s, doubles)  none = f32{0} broadcast(zero), dimensions={{}}\n"
        "u = f32{0} select(keep, twice, none)\n",
        space);
  }
  text += fmt::format("t = {}{} convert({})\n", c.type, space, c.dropped ? "u" : "s");
  if (c.heads_first) {
    return text + fmt::format(
                      "ROOT o = {}[{},{},{},{}] dot(t, v), lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,1}}, "
                      "lhs_contracting_dims={{3}}, rhs_contracting_dims={{2}} }}\n",
                      c.type, kBatches, kHeads * kGroups, c.rows, c.columns);
  }
  return text + fmt::format(
                    "o = {0}[{1},{2},{5},{3},{4}] dot(v, t), lhs_batch_dims={{0,2}}, rhs_batch_dims={{0,1}}, "
                    "lhs_contracting_dims={{1}}, rhs_contracting_dims={{4}}\n"
                    "ROOT r = {0}[{1},{4},{2},{3},{5}] transpose(o), dimensions={{0,4,1,3,2}} }}\n",
                    c.type, kBatches, kHeads, kGroups, c.rows, c.columns);
}

class AttentionTest : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionTest, AgreesWithThePlainProgram) {
  const AttentionCase& c = GetParam();
  const std::string text = ProgramOf(c);
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments = RandomArguments(*module);
  if (c.padded) {  // the first rows see nothing at all
    for (int64_t i = 0; i < 9 * c.keys; ++i) arguments[3].mutable_data<bool>()[static_cast<size_t>(i)] = false;
  }
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->rtol = options.tolerance->atol = c.type == std::string("f32") ? 2e-5 : 2e-2;
  const auto client = c.quads ? GpuClientWith(TestOptions(c.mode), [](DeviceFacts& facts) { facts.vendor_id = 0x10DE; })
                              : GpuClient(c.mode, c.units ? MatrixUnits::kStoodInFor : MatrixUnits::kOwn);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, options, c.dispatches, *expected);
  if (!c.units && !(c.quads && client->device().facts().matrices.empty())) return;
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ((*executable)->plan().kernels.at(0).algorithm,
            c.units ? "attention/matrices.comp" : "attention/forward_quads.comp");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionTest,
    ::testing::Values(
        AttentionCase{.name = "Bfloat16", .type = "bf16", .bias = true},
        AttentionCase{.name = "Float16GroupedCausal",
                      .type = "f16",
                      .heads_first = false,
                      .hidden = "-1e9",
                      .mode = BindingMode::kDescriptors},
        AttentionCase{
            .name = "WholeTilesCausal", .rows = 128, .keys = 128, .depth = 64, .columns = 64, .hidden = "-inf"},
        AttentionCase{.name = "GroupedCausalInWholeTiles",
                      .heads_first = false,
                      .rows = 128,
                      .keys = 70,
                      .depth = 8,
                      .columns = 8,
                      .hidden = "-2.38e38",
                      .direction = "LE"},
        AttentionCase{
            .name = "RowsThatSeeNothingAreUniform", .rows = 96, .keys = 96, .hidden = "-2.38e38", .padded = true},
        AttentionCase{.name = "RowsThatSeeNothingAreNan",
                      .heads_first = false,
                      .rows = 64,
                      .keys = 130,
                      .hidden = "-inf",
                      .padded = true},
        AttentionCase{.name = "OnMatrixUnits",
                      .type = "f16",
                      .rows = 100,
                      .keys = 90,
                      .depth = 40,
                      .columns = 24,
                      .bias = true,
                      .units = true},
        AttentionCase{.name = "OnMatrixUnitsGroupedCausal",
                      .type = "bf16",
                      .heads_first = false,
                      .rows = 130,
                      .keys = 131,
                      .depth = 64,
                      .columns = 64,
                      .hidden = "-1e9",
                      .mode = BindingMode::kDescriptors,
                      .units = true},
        AttentionCase{.name = "OnMatrixUnitsRowsThatSeeNothingAreNan",
                      .type = "bf16",
                      .rows = 64,
                      .keys = 130,
                      .depth = 128,
                      .columns = 128,
                      .hidden = "-inf",
                      .padded = true,
                      .units = true},
        AttentionCase{.name = "WithDropout", .rows = 70, .keys = 131, .depth = 37, .columns = 23, .dropped = true},
        AttentionCase{.name = "WithDropoutBfloat16Causal",
                      .type = "bf16",
                      .heads_first = false,
                      .rows = 128,
                      .keys = 128,
                      .hidden = "-1e9",
                      .dropped = true,
                      .mode = BindingMode::kDescriptors},
        AttentionCase{.name = "OnMatrixUnitsWithDropout",
                      .type = "f16",
                      .rows = 100,
                      .keys = 90,
                      .hidden = "-1e9",
                      .dropped = true,
                      .units = true},
        AttentionCase{.name = "InPartsWithDropout",
                      .rows = 8,
                      .keys = 1100,
                      .depth = 24,
                      .columns = 40,
                      .dropped = true,
                      .dispatches = 2},
        AttentionCase{.name = "OnMatrixUnitsInParts",
                      .type = "f16",
                      .rows = 16,
                      .keys = 1100,
                      .depth = 24,
                      .columns = 40,
                      .dispatches = 2,
                      .units = true},
        AttentionCase{.name = "InQuads", .depth = 10, .columns = 12, .bias = true, .quads = true},
        AttentionCase{.name = "InQuadsCapped", .depth = 37, .capped = true, .quads = true},
        AttentionCase{.name = "InQuadsGroupedCausal",
                      .type = "bf16",
                      .heads_first = false,
                      .rows = 130,
                      .keys = 131,
                      .depth = 64,
                      .columns = 64,
                      .hidden = "-1e9",
                      .mode = BindingMode::kDescriptors,
                      .quads = true},
        AttentionCase{.name = "InQuadsRowsThatSeeNothingAreNan",
                      .rows = 64,
                      .keys = 130,
                      .hidden = "-inf",
                      .padded = true,
                      .quads = true},
        AttentionCase{.name = "InQuadsInPartsWithDropout",
                      .rows = 20,
                      .keys = 1100,
                      .depth = 24,
                      .dropped = true,
                      .dispatches = 2,
                      .quads = true},
        AttentionCase{.name = "WideHeads", .rows = 33, .keys = 260, .depth = 160, .columns = 136, .bias = true}),
    [](const auto& info) { return info.param.name; });

TEST(AttentionTest, OneQueryARowStaysApart) {
  const AttentionCase decode{.name = "", .rows = 1, .keys = 500, .dispatches = 9};
  const auto module = ParseModule(ProgramOf(decode));
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module);
  const auto expected = RunOnCpu(*module, arguments);
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->rtol = options.tolerance->atol = 2e-5;
  const auto client = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  ExpectOnGpu(*client, *module, arguments, options, decode.dispatches, *expected);
}

}  // namespace attention_test
}  // namespace VXLA_NAMESPACE::testing
