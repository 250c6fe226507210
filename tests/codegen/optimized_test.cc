// Modules leave the optimiser without variables, under both bindings and every version of SPIR-V.
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/codegen/codegen_test_support.h"
#include "tests/codegen/spirv_test_support.h"
#include "tests/support/element_kernel.h"

namespace VXLA_NAMESPACE::vulkan {
namespace optimized_test {

// Below SPIR-V 1.5 addresses, and below 1.4 float controls, are extensions, which passes of the optimiser do not know.
TEST(OptimizedVariablesTest, BecomeValues) {
  const std::string statement = "float s = LOAD(0, f32, i); if (s > 2.0f) s = s * s; STORE(0, f32, i, tanh_f32(s));";
  for (const BindingMode bindings : {BindingMode::kDescriptors, BindingMode::kAddresses}) {
    for (const bool spirv_1_6 : {false, true}) {
      const auto text = AssembleShader(ElementKernel({"f32"}, statement), FullFacts(), bindings);
      ASSERT_TRUE(text.ok()) << text.status().message();
      const auto words = CompileGlsl(*text, "kernel", {spirv_1_6});
      ASSERT_TRUE(words.ok()) << words.status().message();
      const std::vector<uint32_t> optimized = Optimized(*words, {spirv_1_6});
      const auto extensions = [](const std::vector<uint32_t>& module) {
        return std::ranges::count(spirv::Read(module), uint32_t{spirv::OpExtension}, &spirv::Instruction::op);
      };
      int variables = 0;
      for (const spirv::Instruction& instruction : spirv::Read(optimized)) {
        variables += instruction.op() == spirv::OpVariable && instruction.words[3] == spirv::StorageClassFunction;
      }
      EXPECT_EQ(variables, 0);
      EXPECT_EQ(extensions(optimized), extensions(*words));
      ExpectValid(optimized, statement);
    }
  }
}

}  // namespace optimized_test
}  // namespace VXLA_NAMESPACE::vulkan
