// What kernels of attentions and product chains (lower/products/attention.cc, lower/products/product_chain.cc) refuse,
// how they spread, and that what is long in them is written once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "backend/vulkan/lower/tuning/tuning.h"
#include "backend/vulkan/shader/module_compiler.h"
#include "backend/vulkan/spirv/matrix_types.h"
#include "backend/vulkan/spirv/shared_memory.h"
#include "tests/codegen/codegen_test_support.h"
#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace product_chain_lowering_test {

std::string ChainOf(int64_t columns) {
  return fmt::format(
      "f {{ x = f32[64,8] parameter(0)  w = f32[8,64] parameter(1)  u = f32[64,{0}] parameter(2)\n"
      "d = f32[64,64] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}  e = f32[64,64] "
      "exponential(d)\n"
      "ROOT r = f32[64,{0}] dot(e, u), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}\n"
      "ENTRY e {{ x = f32[64,8] parameter(0)  w = f32[8,64] parameter(1)  u = f32[64,{0}] parameter(2)\n"
      "ROOT r = f32[64,{0}] fusion(x, w, u), kind=kCustom, calls=f }}",
      columns);
}

TEST(ProductChainLoweringTest, RefusesRowsThatAWorkgroupCannotHold) {
  EXPECT_EQ(RefusalOf(ChainOf(256), FullFacts()), "");
  DeviceFacts facts = FullFacts();
  EXPECT_EQ(
      RefusalOf(ChainOf(300), facts),
      fmt::format("r: 300 columns of a product of products are more than 256, or than {} bytes of shared memory hold",
                  facts.max_shared_bytes));
  facts.max_shared_bytes = 512;
  EXPECT_EQ(RefusalOf(ChainOf(16), facts),
            "r: 16 columns of a product of products are more than 256, or than 512 bytes of shared memory hold");
}

TEST(ProductChainLoweringTest, SharesOutTheKeysOfFewRows) {
  const DeviceFacts facts = FullFacts();
  const AttentionShape decoding = TuneAttention(facts, {8, 1, 4096, 64, 64, false});
  EXPECT_EQ(decoding.rows(), 1);
  EXPECT_GT(decoding.parts, 1);
  EXPECT_GE(decoding.parts * decoding.part_keys, 4096);
  EXPECT_LT((decoding.parts - 1) * decoding.part_keys, 4096);
  EXPECT_EQ(decoding.part_keys % decoding.keys(), 0);
  EXPECT_EQ(TuneAttention(facts, {8, 1, 4096, 64, 64, true}).parts, 1);      // what a mask hides is left out instead
  EXPECT_EQ(TuneAttention(facts, {1024, 1, 4096, 64, 64, false}).parts, 1);  // enough to do as it is
}

// Generic bundles heed the least limit known, lavapipe's: attention over 20,000 keys stopped in the middle, silently.
TEST(ProductChainLoweringTest, LoopsStayBelowTheDevicesLimit) {
  DeviceFacts facts = FullFacts();
  const AttentionWork longest{8, 4096, 20000, 64, 64, true};
  EXPECT_EQ(TuneAttention(facts, longest).parts, 1);
  facts.quirks.loop_iteration_limit = 65535;
  const AttentionShape shape = TuneAttention(facts, longest);
  EXPECT_GT(shape.parts, 1);
  EXPECT_LT(shape.part_keys / shape.keys() * (longest.depth + 3 * shape.keys()), 65535);
  EXPECT_GE(shape.parts * shape.part_keys, 20000);
  EXPECT_EQ(TuneAttention(facts, {8, 4096, 4096, 64, 64, true}).parts, 1);

  const auto of_keys = [](int64_t keys) {
    return fmt::format(
        "f {{ x = f32[64,128] parameter(0)  w = f32[128,{0}] parameter(1)  u = f32[{0},16] parameter(2)\n"
        "d = f32[64,{0}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "e = f32[64,{0}] exponential(d)\n"
        "ROOT r = f32[64,16] dot(e, u), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}\n"
        "ENTRY e {{ x = f32[64,128] parameter(0)  w = f32[128,{0}] parameter(1)  u = f32[{0},16] parameter(2)\n"
        "ROOT r = f32[64,16] fusion(x, w, u), kind=kCustom, calls=f }}",
        keys);
  };
  EXPECT_EQ(RefusalOf(of_keys(4096), facts), "");
  EXPECT_THAT(RefusalOf(of_keys(40000), facts),
              ::testing::MatchesRegex("r: a product of products over 40000 keys takes [0-9]+ steps of an invocation's "
                                      "loops, 49087 are possible"));
  facts.quirks.loop_iteration_limit = 0;
  EXPECT_EQ(RefusalOf(of_keys(40000), facts), "");
}

// Weights of four rows stand together, for their divisions' sake; what is long for one row is not written four times.
TEST(ProductChainLoweringTest, LongWeightsAreWrittenOnce) {
  const auto weighs = [](int operations) {
    std::string text = ChainOf(16), chain;
    for (int i = 0; i < operations; ++i)
      chain += fmt::format("e{} = f32[64,64] tanh({})\n", i, i == 0 ? "d" : fmt::format("e{}", i - 1));
    const size_t at = text.find("e = f32[64,64] exponential(d)");
    text.replace(at, 29, fmt::format("{}e = f32[64,64] exponential(e{})", chain, operations - 1));
    const std::vector<Step> steps = LowerRoot(text);
    EXPECT_EQ(steps.size(), 1u);
    return Count(steps[0].kernel.generated, "tanh_f32(");
  };
  EXPECT_EQ(weighs(20), 80);
  EXPECT_EQ(weighs(80), 80);
}

// Drivers take most of a load for what is long: each score's exponential was written out, and each row's once more.
TEST(ProductChainLoweringTest, ExponentialsOfAttentionAreALoop) {
  constexpr const char* kText =
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
      "f { q = f32[64,8] parameter(0)  k = f32[64,8] parameter(1)  v = f32[64,8] parameter(2)\n"
      "x = f32[64,64] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
      "o = f32[] constant(0)  i = f32[] constant(-inf)\n"
      "m = f32[64] reduce(x, i), dimensions={1}, to_apply=max  mb = f32[64,64] broadcast(m), dimensions={0}\n"
      "y = f32[64,64] subtract(x, mb)  z = f32[64,64] exponential(y)\n"
      "l = f32[64] reduce(z, o), dimensions={1}, to_apply=sum  lb = f32[64,64] broadcast(l), dimensions={0}\n"
      "w = f32[64,64] divide(z, lb)\n"
      "ROOT r = f32[64,8] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
      "ENTRY e { q = f32[64,8] parameter(0)  k = f32[64,8] parameter(1)  v = f32[64,8] parameter(2)\n"
      "ROOT r = f32[64,8] fusion(q, k, v), kind=kCustom, calls=f }";
  const auto exponentials = [&](const DeviceFacts& facts) {
    const std::vector<Step> steps = LowerRoot(kText, facts);
    EXPECT_EQ(steps.size(), 1u);
    if (steps.size() != 1) return 0;
    EXPECT_EQ(steps[0].kernel.algorithm, "attention/forward.comp");
    const auto words = CompileGlsl(Compiled(steps[0], facts), "attention", {});
    EXPECT_TRUE(words.ok()) << words.status().message();
    if (!words.ok()) return 0;
    constexpr uint32_t kExtInst = 12, kFloor = 8;
    const std::vector<uint32_t> simple = Optimized(*words, {});
    int floors = 0;  // of each exponential one
    for (size_t at = 5; at < simple.size(); at += simple[at] >> 16)
      floors += (simple[at] & 0xffffu) == kExtInst && simple[at + 4] == kFloor ? 1 : 0;
    return floors;
  };
  const AttentionShape shape = TuneAttention(FullFacts(), {1, 64, 64, 8, 8, false});
  DeviceFacts facts = FullFacts();
  EXPECT_EQ(exponentials(facts), shape.tile_rows);
  facts.compile_only = true;
  facts.kind = DeviceFacts::Kind::kOther;
  facts.costs = {};
  EXPECT_EQ(exponentials(facts), 1);
}

// What a row's statistic is rounded to is known before the keys; glslang made modules of it that drivers refuse.
TEST(ProductChainLoweringTest, RowsRoundTheirStatisticsOnce) {
  const std::string program =
      "x = f32[64,8] parameter(0)  w = f32[64,8] parameter(1)  u = f32[64,16] parameter(2)  m = f32[64] parameter(3)\n";
  const std::vector<Step> steps = LowerRoot(
      "f { " + program +
      "d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}  n = bf16[64] convert(m)\n"
      "h = bf16[64] multiply(n, n)  f = f32[64] convert(h)  b = f32[64,64] broadcast(f), dimensions={0}\n"
      "e = f32[64,64] multiply(d, b)\n"
      "ROOT r = f32[64,16] dot(e, u), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
      "ENTRY e { " +
      program + "ROOT r = f32[64,16] fusion(x, w, u, m), kind=kCustom, calls=f }");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kernel.algorithm, "attention/chain.comp");
  const std::string& text = steps[0].kernel.generated;
  EXPECT_EQ(Count(text.substr(text.find("void weigh(")), "round_bf16("), 0);
  EXPECT_GE(Count(text, "round_bf16("), 4);
  const auto words = CompileGlsl(Compiled(steps[0]), "chain", {});
  ASSERT_TRUE(words.ok()) << words.status().message();
  ExpectValid(*words);
}

// NVIDIA's units and shared memory: with the rows' terms in it a workgroup had two subgroups. Loads of what is the
// row's, or of a unit of keys, are one; exponentials are multiply-adds.
TEST(ProductChainLoweringTest, RowsOfMatrixUnitsStayInRegisters) {
  DeviceFacts facts = FullFacts();
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.costs = {};
  facts.fused_multiply_add = true;
  facts.max_shared_bytes = 49152;
  facts.max_workgroup_invocations = 1024;
  facts.subgroup_size = facts.matrix_lanes = 32;
  facts.matrices = {{ElementType::kF16, ElementType::kF32, 16, 16, 16}};
  for (const auto& [depth, keys, holds] : {std::tuple{64, 128, 1}, {64, 100, 1}, {64, 90, 1}, {144, 128, 0}}) {
    const std::string program = fmt::format(
        "x = f16[2,128,{0}] parameter(0)  w = f16[2,{1},{0}] parameter(1)  u = f16[2,{1},64] parameter(2)\n"
        "m = f32[2,128] parameter(3)  n = f32[2,{1}] parameter(4)\n",
        depth, keys);
    const std::vector<Step> steps = LowerRoot(
        "f { " + program +
            fmt::format("d = f16[2,128,{0}] dot(x, w), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
                        "lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}  c = f32[2,128,{0}] convert(d)\n"
                        "mb = f32[2,128,{0}] broadcast(m), dimensions={{0,1}}  s = f32[2,128,{0}] subtract(c, mb)\n"
                        "nb = f32[2,128,{0}] broadcast(n), dimensions={{0,2}}  a = f32[2,128,{0}] add(s, nb)\n"
                        "e = f32[2,128,{0}] exponential(a)  h = f16[2,128,{0}] convert(e)\n"
                        "ROOT r = f16[2,128,64] dot(h, u), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
                        "lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}} }}\n",
                        keys) +
            "ENTRY e { " + program + "ROOT r = f16[2,128,64] fusion(x, w, u, m, n), kind=kCustom, calls=f }",
        facts);
    ASSERT_EQ(steps.size(), 1u);
    const std::string& text = steps[0].kernel.generated;
    EXPECT_EQ(steps[0].kernel.algorithm, "attention/chain_matrices.comp");
    EXPECT_EQ(Count(text, fmt::format("#define HOLDS_ROWS {}\n", holds)), 1);
    EXPECT_EQ(Count(text, fmt::format("#define KEY_TAIL {}\n", keys % 32 == 0 ? 0 : 1)), 1);
    EXPECT_EQ(Count(text, "LOAD(2, f32, "), 1);
    EXPECT_EQ(Count(text, "LOAD(3, f32x4, "), keys % 4 == 0 ? 1 : 0);
    EXPECT_EQ(Count(text, "LOAD(3, f32, "), keys % 4 == 0 ? 0 : 4);
    EXPECT_EQ(Count(text, "exponential_by_fma_f32("), 4);
    if (holds == 1) {
      EXPECT_EQ(Count(text, "#define SUBGROUPS 4u\n"), 1);
    }
    const auto source = AssembleShader(steps[0].kernel, facts, BindingMode::kAddresses);
    ASSERT_TRUE(source.ok()) << source.status().message();
    const auto words =
        ShadercCompiler().compile(steps[0].kernel, *source, ModuleTarget(facts, BindingMode::kAddresses));
    ASSERT_TRUE(words.ok()) << words.status().message();
    const auto shared = spirv::SharedBytes(spirv::WithoutMatrixTypes(*words), steps[0].kernel.constants);
    ASSERT_TRUE(shared.has_value());
    EXPECT_LE(*shared, facts.max_shared_bytes);
  }
}

// Of a feed-forward block's gradient: 21 registers of an invocation were spilled on RDNA 3 by RADV 22.3.6.
TEST(ProductChainLoweringTest, TwoWideSumsLeaveRegisters) {
  DeviceFacts facts = FullFacts();
  facts.max_shared_bytes = 65536;
  facts.max_workgroup_invocations = 1024;
  const auto sums_of = [&](int64_t sums, int64_t columns) {
    const std::vector<int64_t> each(static_cast<size_t>(sums), columns);
    const ChainShape shape = TuneChain(facts, {.rows = 1024, .keys = 256, .depths = {256, 256}, .columns = each});
    EXPECT_EQ(shape.lanes * shape.lanes_y, 256u);
    return sums * shape.column_units;
  };
  EXPECT_EQ(sums_of(1, 256), 2);
  EXPECT_EQ(sums_of(2, 256), 2);
  EXPECT_EQ(sums_of(2, 128), 2);
  EXPECT_EQ(sums_of(2, 64), 2);
}

}  // namespace product_chain_lowering_test
}  // namespace VXLA_NAMESPACE::vulkan
