// Which matrix units of a made-up device kernels may use, and what is enabled for them.
#include <gmock/gmock.h>

#include "backend/vulkan/device/plan/device_plan.h"
#include "backend/vulkan/device/plan/pretend.h"
#include "tests/vulkan/fake_gpu.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StrEq;

// What AMD's RDNA3 lists, and shapes that kernels cannot use.
TEST(MatrixPlanTest, MatrixUnitsAreThoseOfOneTypeInWholeSubgroups) {
  PhysicalSupport support = FakeGpu();
  const auto offer = [&](uint32_t n, uint32_t term, uint32_t other, uint32_t sum, bool saturating, uint32_t scope) {
    CooperativeMatrixProperties p;
    p.m = p.k = 16;
    p.n = n;
    p.a = term, p.b = other, p.c = p.result = sum;
    p.saturating = saturating;
    p.scope = scope;
    support.matrices.push_back(p);
  };
  offer(8, kComponentFloat16, kComponentFloat16, kComponentFloat32, false, kSubgroupScope);
  offer(16, kComponentFloat16, kComponentFloat16, kComponentFloat32, false, kSubgroupScope);
  offer(16, kComponentFloat16, kComponentFloat16, kComponentFloat16, false, kSubgroupScope);
  offer(16, kComponentBfloat16, kComponentBfloat16, kComponentFloat32, false, kSubgroupScope);
  offer(16, kComponentSint8, kComponentSint8, kComponentSint32, true, kSubgroupScope);
  offer(16, kComponentSint8, kComponentSint8, kComponentSint32, false, kSubgroupScope + 1);
  offer(16, kComponentSint8, kComponentUint8, kComponentSint32, false, kSubgroupScope);
  offer(16, kComponentUint8, kComponentUint8, kComponentUint32, false, kSubgroupScope);
  support.extensions = {kCooperativeMatrixExtension, kBfloat16Extension};
  support.features.cooperative_matrix.cooperativeMatrix = VK_TRUE;
  support.features.vulkan12.shaderFloat16 = support.features.vulkan12.shaderInt8 = VK_TRUE;
  const auto matrices = [&](PlanWants wants = {}) { return PlanDevice(support, wants)->facts.matrices; };
  EXPECT_THAT(matrices(), IsEmpty()) << "no Vulkan memory model";
  support.features.vulkan12.vulkanMemoryModel = VK_TRUE;
  const MatrixShape halves{ElementType::kF16, ElementType::kF32}, bytes{ElementType::kU8, ElementType::kU32};
  MatrixShape narrow = halves;
  narrow.columns = 8;
  EXPECT_EQ(matrices(), (std::vector{halves, bytes, narrow})) << "bfloat16 needs a feature of its own";
  support.features.bfloat16.shaderBFloat16Type = support.features.bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
  EXPECT_THAT(matrices(), Contains(MatrixShape{ElementType::kBF16, ElementType::kF32}));
  for (const uint32_t term : {kComponentFloat8E4M3, kComponentFloat8E5M2}) {
    offer(16, term, term, kComponentFloat32, false, kSubgroupScope);
    offer(16, term, term, kComponentFloat16, false, kSubgroupScope);
    offer(16, term, term ^ kComponentFloat8E4M3 ^ kComponentFloat8E5M2, kComponentFloat32, false, kSubgroupScope);
  }
  const size_t without_f8 = matrices().size();
  support.extensions.insert(kFloat8Extension);
  EXPECT_EQ(matrices().size(), without_f8) << "f8 needs a feature of its own";
  support.features.float8.shaderFloat8 = support.features.float8.shaderFloat8CooperativeMatrix = VK_TRUE;
  EXPECT_EQ(matrices().size(), without_f8 + 2);
  EXPECT_THAT(matrices(), Contains(MatrixShape{ElementType::kF8E4M3FN, ElementType::kF32}));
  EXPECT_THAT(matrices(), Contains(MatrixShape{ElementType::kF8E5M2, ElementType::kF32}));
  const auto plan = PlanDevice(support, {});
  EXPECT_THAT(plan->extensions, Contains(StrEq(kFloat8Extension)));
  EXPECT_TRUE(plan->features.float8.shaderFloat8 && plan->features.float8.shaderFloat8CooperativeMatrix);
  EXPECT_EQ(plan->facts.matrix_lanes, 32u);
  EXPECT_THAT(plan->extensions, Contains(StrEq(kCooperativeMatrixExtension)));
  EXPECT_TRUE(plan->features.cooperative_matrix.cooperativeMatrix);
  PlanWants wants;
  wants.emulate.f16 = true;
  EXPECT_THAT(matrices(wants), IsEmpty());
}

// A host hands Vulkan what RequirementsOf asks for, and vxla what it enabled: units are used where they are among that.
// As NVIDIA's driver lists them for GeForce.
TEST(MatrixPlanTest, ProductsOfWorkgroupsAreThoseThatDimensionsAllow) {
  PhysicalSupport support = FakeGpu();
  CooperativeMatrixProperties subgroup;
  subgroup.m = subgroup.n = subgroup.k = 16;
  subgroup.c = subgroup.result = kComponentFloat32;
  subgroup.scope = kSubgroupScope;
  support.matrices = {subgroup};
  const auto offer = [&](uint32_t n, uint32_t k, uint32_t term, uint32_t sum, uint32_t invocations) {
    support.flexible_matrices.push_back({.m = 32, .n = n, .k = k, .a = term, .b = term, .c = sum, .result = sum});
    support.flexible_matrices.back().scope = invocations == 0 ? kSubgroupScope : kWorkgroupScope;
    support.flexible_matrices.back().invocations = invocations;
  };
  offer(16, 16, kComponentFloat16, kComponentFloat32, 128);
  offer(32, 16, kComponentFloat16, kComponentFloat32, 256);
  offer(32, 16, kComponentFloat16, kComponentFloat16, 256);
  offer(32, 32, kComponentSint8, kComponentSint32, 256);
  offer(32, 128, kComponentUint8, kComponentUint32, 256);
  offer(16, 16, kComponentUint8, kComponentUint32, 0);
  CooperativeMatrix2Properties& limits = support.matrices2;
  limits = {.most_invocations = 256, .most_extent = 512, .reserved_shared_bytes = 16384};
  support.properties.limits.maxComputeSharedMemorySize = 49152;
  support.properties.limits.maxComputeWorkGroupSize[0] = 1024;
  support.extensions = {kCooperativeMatrixExtension, kCooperativeMatrix2Extension};
  FeatureChain& chain = support.features;
  chain.vulkan12.vulkanMemoryModel = chain.vulkan12.shaderFloat16 = chain.vulkan12.shaderInt8 = VK_TRUE;
  chain.vulkan11.storageBuffer16BitAccess = chain.vulkan12.storageBuffer8BitAccess = VK_TRUE;
  chain.base.features.shaderInt16 = chain.cooperative_matrix.cooperativeMatrix = VK_TRUE;
  CooperativeMatrix2Features& features = chain.cooperative_matrix2;
  features.workgroupScope = features.flexibleDimensions = features.conversions = VK_TRUE;
  features.perElementOperations = VK_TRUE;
  const auto forms = [&](PlanWants wants = {}) {
    std::vector<std::string> names;
    const auto plan = PlanDevice(support, wants);
    for (const MatrixShape& m : plan->facts.group_matrices)
      names.push_back(fmt::format("{} {}x{}x{} {}", ElementTypeName(m.term), m.rows, m.columns, m.k, m.invocations));
    return names;
  };
  EXPECT_THAT(forms(), IsEmpty()) << "no tensor addressing";
  features.tensorAddressing = VK_TRUE;
  EXPECT_THAT(forms(), ElementsAre("f16 128x256x64 256", "s8 128x256x64 256", "f16 128x128x64 256", "s8 128x128x64 256",
                                   "f16 64x64x64 128"));
  EXPECT_TRUE(PlanDevice(support, {})->features.cooperative_matrix2.tensorAddressing);
  EXPECT_THAT(RequirementsOf(support)->extensions, Not(Contains(StrEq(kCooperativeMatrix2Extension))));
  limits.most_extent = 128;
  EXPECT_THAT(forms(), ElementsAre("f16 128x128x64 256", "s8 128x128x64 256", "f16 64x64x64 128"));
  limits.most_invocations = 128;
  EXPECT_THAT(forms(), ElementsAre("f16 64x64x64 128"));
  PlanWants wants;
  wants.emulate.subgroups = true;
  EXPECT_THAT(forms(wants), IsEmpty());
  limits.reserved_shared_bytes = 1 << 20;
  EXPECT_THAT(forms(), IsEmpty()) << "more shared memory than there is";
}

TEST(MatrixPlanTest, AHostsDeviceUsesMatrixUnitsThatItEnabled) {
  PhysicalSupport support = FakeGpu();
  CooperativeMatrixProperties p;
  p.m = p.n = p.k = 16;
  p.a = p.b = kComponentFloat16, p.c = p.result = kComponentFloat32;
  p.scope = kSubgroupScope;
  support.matrices = {p};
  p.a = p.b = kComponentFloat8E4M3;
  support.matrices.push_back(p);
  support.extensions = {kCooperativeMatrixExtension, kFloat8Extension};
  support.features.float8.shaderFloat8 = support.features.float8.shaderFloat8CooperativeMatrix = VK_TRUE;
  support.features.cooperative_matrix.cooperativeMatrix = VK_TRUE;
  support.features.vulkan12.shaderFloat16 = support.features.vulkan12.vulkanMemoryModel = VK_TRUE;
  auto asked = RequirementsOf(support);
  ASSERT_TRUE(asked.ok()) << asked.status().message();
  EXPECT_THAT(asked->extensions, Contains(StrEq(kCooperativeMatrixExtension)));
  EXPECT_THAT(asked->extensions, Contains(StrEq(kFloat8Extension)));
  EXPECT_EQ(asked->needed_extensions, 0u);
  PhysicalSupport adopted = support;
  const MatrixShape halves{ElementType::kF16, ElementType::kF32}, bytes{ElementType::kF8E4M3FN, ElementType::kF32};
  adopted.features = FeatureChain::Of(*asked->features.Link(VK_API_VERSION_1_3, support.extensions));
  EXPECT_EQ(PlanDevice(adopted, {})->facts.matrices, (std::vector{halves, bytes}));
  asked->features.float8.shaderFloat8CooperativeMatrix = VK_FALSE;
  adopted.features = FeatureChain::Of(asked->features.base);
  EXPECT_EQ(PlanDevice(adopted, {})->facts.matrices, std::vector{halves});
  asked->features.cooperative_matrix.cooperativeMatrix = VK_FALSE;
  adopted.features = FeatureChain::Of(asked->features.base);
  EXPECT_THAT(PlanDevice(adopted, {})->facts.matrices, IsEmpty());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
