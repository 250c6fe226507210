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

}  // namespace product_lowering_test
}  // namespace VXLA_NAMESPACE::vulkan
