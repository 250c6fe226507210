// Modules from files are compared with the layout that their pipeline gets, before a driver is: some crash.
#include <gmock/gmock.h>

#include "backend/vulkan/shader/custom_shader.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace module_layout_test {

using ::testing::HasSubstr;

std::vector<uint32_t> ModuleUnder(BindingMode mode, bool in_parts = false) {
  std::vector<Step> steps =
      LowerRoot("ENTRY e { x = f32[64] parameter(0)  ROOT r = f32[64] negate(x) }", FullFacts(), mode);
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kernel.buffer_count, 2u);
  steps[0].kernel.in_parts = in_parts;
  const auto words = CompileGlsl(Compiled(steps[0], FullFacts(), mode), "negate", {});
  EXPECT_TRUE(words.ok()) << words.status().message();
  return words.ok() ? *words : std::vector<uint32_t>();
}

std::string Refusal(const std::vector<uint32_t>& words, uint32_t buffers, BindingMode mode, bool in_parts = false) {
  KernelKey key;
  key.buffer_count = buffers;
  key.in_parts = in_parts;
  const Status status = CheckLayout(words, "negate", key, mode);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidArgument);
  return status.message();
}

TEST(ModuleLayoutTest, TakesWhatWasCompiledForIt) {
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    EXPECT_EQ(Refusal(ModuleUnder(mode), 2, mode), "");
    EXPECT_EQ(Refusal(ModuleUnder(mode, /*in_parts=*/true), 2, mode, /*in_parts=*/true), "");
  }
}

TEST(ModuleLayoutTest, RejectsAnotherWayToBind) {
  EXPECT_THAT(Refusal(ModuleUnder(BindingMode::kDescriptors), 2, BindingMode::kAddresses),
              HasSubstr("kernel negate: its module binds descriptors, of which kernels under addresses have none"));
  EXPECT_THAT(
      Refusal(ModuleUnder(BindingMode::kAddresses), 2, BindingMode::kDescriptors),
      HasSubstr("kernel negate: its module takes push constants, of which kernels under descriptors have none"));
  EXPECT_THAT(
      Refusal(ModuleUnder(BindingMode::kDescriptors, /*in_parts=*/true), 2, BindingMode::kDescriptors),
      HasSubstr("kernel negate: its module takes push constants, of which kernels under descriptors have none"));
}

TEST(ModuleLayoutTest, RejectsDescriptorsThatTheLayoutLacks) {
  std::vector<uint32_t> words = ModuleUnder(BindingMode::kDescriptors);
  EXPECT_EQ(Refusal(words, 1, BindingMode::kDescriptors),
            "kernel negate: its module has descriptor binding 2, 1 is the last");
  constexpr uint32_t kDescriptorSet = 34;
  for (size_t at = spirv::kHeaderWords; at < words.size(); at += words[at] >> 16)
    if ((words[at] & 0xffffu) == spirv::OpDecorate && words[at + 2] == kDescriptorSet) words[at + 3] = 1;
  EXPECT_EQ(Refusal(words, 2, BindingMode::kDescriptors),
            "kernel negate: its module has descriptor set 1, 0 is the last");
}

TEST(ModuleLayoutTest, RejectsAModuleWithoutItsEntryPoint) {
  for (const bool renamed : {true, false}) {
    std::vector<uint32_t> words = ModuleUnder(BindingMode::kDescriptors);
    for (size_t at = spirv::kHeaderWords; at < words.size(); at += words[at] >> 16)
      if ((words[at] & 0xffffu) == spirv::OpEntryPoint) words[at + (renamed ? 3 : 1)] ^= 1;
    EXPECT_EQ(Refusal(words, 2, BindingMode::kDescriptors),
              "kernel negate: its module has no compute shader named main");
  }
}

}  // namespace module_layout_test
}  // namespace VXLA_NAMESPACE::vulkan
