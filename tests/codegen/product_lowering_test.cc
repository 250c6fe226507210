// How often what follows a product stands in its kernel.
#include "backend/vulkan/device/target.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace product_lowering_test {

// tanh of a product; `columns` of four are whole units or are not.
int TanhsOf(int columns, const DeviceFacts& facts) {
  const std::string text = fmt::format(
      "f {{ x = f32[64,32] parameter(0)  w = f32[32,{0}] parameter(1)\n"
      "d = f32[64,{0}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
      "ROOT t = f32[64,{0}] tanh(d) }}\n"
      "ENTRY e {{ x = f32[64,32] parameter(0)  w = f32[32,{0}] parameter(1)\n"
      "ROOT r = f32[64,{0}] fusion(x, w), kind=kOutput, calls=f }}",
      columns);
  const std::vector<Step> steps = LowerRoot(text, facts, BindingMode::kDescriptors);
  EXPECT_EQ(steps.size(), 1u);
  return steps.empty() ? 0 : Count(steps[0].kernel.generated, "tanh_f32(");
}

// Of 30 layers of products and tanh, drivers compiled four tanh for half of the time that the bundle took to load.
TEST(ProductLoweringTest, GenericKernelsFinishAUnitsColumnsInALoop) {
  const DeviceFacts generic = GenericFacts(BindingMode::kDescriptors);
  EXPECT_EQ(TanhsOf(64, generic), 1);
  EXPECT_EQ(TanhsOf(43, generic), 1);
  EXPECT_GE(TanhsOf(64, FullFacts()), 4);
}

// The kernel of a convolution of bf16 with `features` of its input, on matrix units where they take whole groups.
std::string ConvolutionOf(int features) {
  DeviceFacts facts = FullFacts();
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.costs = {};
  facts.storage16 = false;  // words
  facts.max_shared_bytes = 65536;
  facts.max_workgroup_invocations = 1024;
  facts.matrix_lanes = 32;
  facts.matrices = {{ElementType::kBF16, ElementType::kF32, 16, 16, 16}};
  const std::vector<Step> steps =
      LowerRoot(fmt::format("ENTRY e {{ x = bf16[8,32,32,{0}] parameter(0)  w = bf16[3,3,{0},64] parameter(1)\n"
                            "ROOT r = bf16[8,32,32,64] convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, "
                            "dim_labels=b01f_01io->b01f }}",
                            features),
                facts, BindingMode::kDescriptors);
  EXPECT_EQ(steps.size(), 1u);
  if (steps.empty()) return "";
  EXPECT_EQ(steps[0].kernel.algorithm, features % 8 == 0 ? "dot/matmul_matrices.comp" : "dot/matmul_quads.comp");
  return steps[0].kernel.generated;
}

TEST(ProductLoweringTest, ConvolutionsTakeWholeWordsOfATap) {
  EXPECT_EQ(Count(ConvolutionOf(64), "decode_bf16("), 0);
  // Sixteen bytes would go over to the next tap, which may be padding.
  EXPECT_GT(Count(ConvolutionOf(4), "decode_bf16("), 0);
}

// Of a place that is chosen once for four features of a tap.
TEST(ProductLoweringTest, ConvolutionsOfFloatsLoadFourTogether) {
  DeviceFacts facts = FullFacts();
  facts.kind = DeviceFacts::Kind::kDiscrete;
  facts.costs = {};
  facts.max_shared_bytes = 65536;
  facts.max_workgroup_invocations = 1024;
  const std::vector<Step> steps = LowerRoot(
      "ENTRY e { x = f32[8,32,32,64] parameter(0)  w = f32[3,3,64,64] parameter(1)\n"
      "ROOT r = f32[8,32,32,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }",
      facts);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kernel.algorithm, "dot/matmul_quads.comp");
  EXPECT_EQ(Count(steps[0].kernel.generated, "LOAD(0, f32x4, "), 1);
  EXPECT_EQ(Count(steps[0].kernel.generated, "LOAD(0, f32, "), 0);
}

TEST(ProductLoweringTest, SumsAreRoundedAsTheirWordsArePacked) {
  const std::string text = ConvolutionOf(64);
  EXPECT_EQ(Count(text, "encode_number_pair_bf16("), 2);
  EXPECT_EQ(Count(text, "encode_bf16("), 0);
}

}  // namespace product_lowering_test
}  // namespace VXLA_NAMESPACE::vulkan
