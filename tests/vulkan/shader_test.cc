// Compiling, reflecting and checking kernels; no device.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "backend/vulkan/device/handles/kernel.h"
#include "backend/vulkan/shader/reflection.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShaderCompilerTest, ShowsTheLinesAroundAnError) {
  const std::string text = "#version 460\nvoid f() {}\nvoid g() {}\nvoid main() {\n  int x = y;\n}\nvoid h() {}\n";
  const auto result = CompileGlsl(text, "reduce/row.comp", {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
  const std::string& message = result.status().message();
  EXPECT_THAT(message, HasSubstr("kernel reduce/row.comp does not compile"));
  EXPECT_THAT(message, HasSubstr("'y' : undeclared identifier"));
  EXPECT_THAT(message, HasSubstr(">    5   int x = y;"));
  EXPECT_THAT(message, HasSubstr("     2 void f() {}"));
  EXPECT_THAT(message, Not(HasSubstr("     1 #version")));
}

TEST(ShaderCompilerTest, SourceAroundSkipsWhatIsNoLine) {
  EXPECT_EQ(SourceAround("a\nb\n", "x:9: error: beyond the text\nno number here\nx:0: error\n"), "");
  EXPECT_EQ(SourceAround("a\nb\n", "x:2: error: b"), "     1 a\n>    2 b\n");
  EXPECT_EQ(SourceAround("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "x:1: a\nx:10: b"),
            ">    1 1\n     2 2\n     3 3\n     4 4\n      ...\n     7 7\n     8 8\n     9 9\n>   10 10\n");
}

TEST(ShaderCompilerTest, AFailureWithoutAWordHasAReason) {
  EXPECT_EQ(WhyItDoesNotCompile("a\nb\n", ""), "the compiler gave no reason, as where memory runs out\n");
  EXPECT_EQ(WhyItDoesNotCompile("a\nb\n", "x:2: error: b\n"), "x:2: error: b\n     1 a\n>    2 b\n");
}

TEST(ShaderCompilerTest, CompilesForTheTarget) {
  const KernelKey key = ScaleKernel(BindingMode::kAddresses);
  const auto newer = CompileGlsl(key.generated, "a", {true}), older = CompileGlsl(key.generated, "a", {false});
  ASSERT_TRUE(newer.ok()) << newer.status().message();
  ASSERT_TRUE(older.ok()) << older.status().message();
  EXPECT_EQ((*newer)[1], 0x00010600u);
  EXPECT_EQ((*older)[1], 0x00010300u);
}

// glslang keeps one width of a mode.
TEST(ShaderCompilerTest, FloatModesOfEveryWidthReachTheDriver) {
  DeviceFacts facts;
  facts.float16 = facts.float64 = true;
  facts.denorm_preserve_16 = facts.denorm_preserve_32 = facts.denorm_preserve_64 = true;
  facts.rounding_rte_32 = facts.rounding_rte_16 = true;
  const std::string text = "#version 460\n#extension GL_EXT_spirv_intrinsics : require\n" +
                           FloatModes(facts, {.f16 = true, .f64 = true}) +
                           "layout(local_size_x = 1) in;\nvoid main() {}\n";
  const auto words = CompileGlsl(text, "kernel", {});
  ASSERT_TRUE(words.ok()) << words.status().message();
  std::vector<std::pair<uint32_t, uint32_t>> modes;
  for (const spirv::Instruction& instruction : spirv::Read(*words)) {
    if (instruction.op() == 16 && instruction.words[2] >= 4459 && instruction.words[2] <= 4462)
      modes.emplace_back(instruction.words[2], instruction.words[3]);
  }
  EXPECT_THAT(modes, ::testing::UnorderedElementsAre(std::pair(4459, 16), std::pair(4459, 32), std::pair(4459, 64),
                                                     std::pair(4462, 16), std::pair(4462, 32)));
}

TEST(ShaderCompilerTest, ManyThreadsShareTheCompiler) {
  const std::string text = ScaleKernel(BindingMode::kAddresses).generated;
  const auto expected = CompileGlsl(text, "a", {});
  ASSERT_TRUE(expected.ok());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto got = CompileGlsl(text, "a", {});
        if (!got.ok() || *got != *expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

Result<ModuleInterface> Reflect(const std::string& text) {
  auto words = CompileGlsl(text, "test", {});
  if (!words.ok()) return words.status();
  return ReflectModule(*words, "test");
}

TEST(ReflectionTest, ReadsAddressKernels) {
  const KernelKey key = ScaleKernel(BindingMode::kAddresses);
  const auto module = Reflect(key.generated);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(module->push_constant_blocks, 1u);
  EXPECT_EQ(module->push_constant_bytes, 8u);
  EXPECT_EQ(module->argument_block_bytes, 2u * 8 + 3 * 4);
  EXPECT_TRUE(module->storage_buffers.empty());
  EXPECT_EQ(module->workgroup_ids, (std::array<int64_t, 3>{0, 1, 2}));
  EXPECT_EQ(module->specialization_ids, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_TRUE(CheckInterface(*module, key, BindingMode::kAddresses).ok());
}

TEST(ReflectionTest, ReadsDescriptorKernels) {
  const KernelKey key = ScaleKernel(BindingMode::kDescriptors);
  const auto module = Reflect(key.generated);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(module->push_constant_blocks, 0u);
  EXPECT_EQ(module->storage_buffers.size(), 3u);
  EXPECT_EQ(module->argument_block_bytes, 2u * 8 + 3 * 4);
  EXPECT_TRUE(CheckInterface(*module, key, BindingMode::kDescriptors).ok());
}

TEST(ReflectionTest, MismatchesShowBothSides) {
  KernelKey addresses = ScaleKernel(BindingMode::kAddresses), descriptors = ScaleKernel(BindingMode::kDescriptors);
  const auto by_address = Reflect(addresses.generated), by_descriptor = Reflect(descriptors.generated);
  ASSERT_TRUE(by_address.ok() && by_descriptor.ok());
  EXPECT_THAT(CheckInterface(*by_address, descriptors, BindingMode::kDescriptors).message(),
              HasSubstr("1 push constant blocks of 8 bytes, the host pushes 0"));
  EXPECT_THAT(CheckInterface(*by_descriptor, addresses, BindingMode::kAddresses).message(),
              HasSubstr("0 push constant blocks of 0 bytes, the host pushes 8"));
  descriptors.buffer_count = 1;
  EXPECT_THAT(CheckInterface(*by_descriptor, descriptors, BindingMode::kDescriptors).message(),
              HasSubstr("set 0 binding 2, the host binds set 0 bindings 0 to 1"));
  descriptors.buffer_count = 3;
  EXPECT_THAT(CheckInterface(*by_descriptor, descriptors, BindingMode::kDescriptors).message(),
              HasSubstr("declares no storage buffer at binding 3, the host binds 4 buffers"));
  addresses.param_count = 4;
  EXPECT_THAT(CheckInterface(*by_address, addresses, BindingMode::kAddresses).message(),
              HasSubstr("argument block has 28 bytes, the host's 32 (2 addresses and 4 parameters)"));
  addresses.param_count = 3;
  addresses.constants = {64, 1};
  EXPECT_THAT(CheckInterface(*by_address, addresses, BindingMode::kAddresses).message(),
              HasSubstr("specialisation constants 0,1,2, the host gives 2 values"));
  addresses.constants = {64, 1, 1, 5};
  EXPECT_THAT(CheckInterface(*by_address, addresses, BindingMode::kAddresses).message(),
              HasSubstr("the host gives a value for specialisation constant 3, the module has 0,1,2"));
}

TEST(ReflectionTest, RejectsLiteralWorkgroupSizesAndForeignResources) {
  KernelKey key;
  key.algorithm = "test";
  key.constants = {64, 1, 1};
  const auto fixed = Reflect(
      "#version 460\nlayout(local_size_x = 64) in;\nlayout(push_constant) uniform P { uvec2 a; };\n"
      "void main() {}\n");
  ASSERT_TRUE(fixed.ok()) << fixed.status().message();
  EXPECT_EQ(fixed->workgroup_size, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_THAT(CheckInterface(*fixed, key, BindingMode::kAddresses).message(),
              HasSubstr("the workgroup size along x is specialisation constant -1 in the module, 0 on the host"));
  const auto uniform = Reflect("#version 460\nlayout(binding = 0) uniform Block { uint a; } block;\nvoid main() {}\n");
  ASSERT_TRUE(uniform.ok()) << uniform.status().message();
  EXPECT_THAT(CheckInterface(*uniform, key, BindingMode::kDescriptors).message(),
              HasSubstr("which the host never binds"));
}

TEST(ReflectionTest, RejectsWhatIsNoModule) {
  EXPECT_THAT(ReflectModule({1, 2, 3}, "bad").status().message(), HasSubstr("kernel bad: SPIRV-Cross cannot read"));
}

TEST(ReflectionTest, ChecksTheWorkgroupAgainstTheDevice) {
  DeviceFacts facts;
  facts.name = "Fake";
  facts.max_workgroup_size = {128, 64, 2};
  facts.max_workgroup_invocations = 128;
  KernelKey key;
  key.algorithm = "k";
  key.constants = {129, 1, 1};
  EXPECT_THAT(CheckWorkgroup(key, facts).message(), HasSubstr("workgroup size 129 along x, Fake allows 1 to 128"));
  key.constants = {1, 1, 0};
  EXPECT_THAT(CheckWorkgroup(key, facts).message(), HasSubstr("workgroup size 0 along z"));
  key.constants = {16, 16, 1};
  EXPECT_THAT(CheckWorkgroup(key, facts).message(), HasSubstr("a workgroup of 256 invocations, Fake allows 128"));
  key.constants = {64, 2, 1};
  EXPECT_TRUE(CheckWorkgroup(key, facts).ok());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
