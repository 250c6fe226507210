// What kernels of attentions and product chains (lower/attention.cc, lower/product_chain.cc) refuse, and how they
// spread.
#include <fmt/format.h>

#include "backend/vulkan/lower/tuning.h"
#include "tests/codegen/codegen_test_support.h"

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
