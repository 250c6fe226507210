// Float arithmetic reaches drivers with NoContraction, wherever it stands in the text.
#include "backend/vulkan/spirv/no_contraction.h"

#include <set>

#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/codegen/codegen_test_support.h"
#include "tests/codegen/spirv_test_support.h"
#include "tests/support/element_kernel.h"

namespace VXLA_NAMESPACE::vulkan {
namespace no_contraction_test {

// Results of float + - * / without the decoration, and of / and % of signed integers, whose signs drivers disagree
// about.
struct Loose {
  int floats = 0, signed_divisions = 0, decorated = 0;
};

Loose LooseIn(const std::vector<uint32_t>& words) {
  std::set<uint32_t> decorated;
  Loose loose;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffffu;
    if (op == 71 && words[at + 2] == 42) {
      EXPECT_TRUE(decorated.insert(words[at + 1]).second) << "decorated twice";
    }
    const bool fused = op == spirv::OpExtInst && words[at + 4] == 50;
    const bool rounds =
        fused || op == 129 || op == 131 || op == 133 || op == 136 || op == 140 || op == 141 || op == 142 || op == 148;
    if (rounds && !decorated.contains(words[at + 2])) ++loose.floats;
    if (op == 135 || op == 138 || op == 139) ++loose.signed_divisions;
  }
  loose.decorated = static_cast<int>(decorated.size());
  return loose;
}

std::vector<uint32_t> Compiled(const std::string& statement, const DeviceFacts& facts) {
  const auto text = AssembleShader(ElementKernel({"f32", "f64"}, statement), facts, BindingMode::kDescriptors);
  EXPECT_TRUE(text.ok()) << text.status().message();
  const auto words = CompileGlsl(*text, "kernel", {});
  EXPECT_TRUE(words.ok()) << words.status().message();
  return words.ok() ? *words : std::vector<uint32_t>();
}

TEST(NoContractionTest, ArgumentsOfCallsAreKeptAsTheyAreWritten) {
  const std::string statement = "float x = LOAD(0, f32, i); STORE(0, f32, i, floor(x * x + 2.0f) * 3.0f);";
  const std::vector<uint32_t> before = Compiled(statement, FullFacts()), after = spirv::WithoutContraction(before);
  EXPECT_GE(LooseIn(before).floats, 3);
  EXPECT_EQ(LooseIn(after).floats, 0);
  EXPECT_EQ(LooseIn(after).decorated, LooseIn(before).decorated + LooseIn(before).floats);
  EXPECT_EQ(spirv::WithoutContraction(after), after);
  ExpectValid(after, statement);
}

TEST(NoContractionTest, HoldsForTheFunctionsOfShaderMath) {
  DeviceFacts corrected = FullFacts();
  corrected.division_f32 = corrected.division_f64 = DeviceFacts::Division::kCorrected;
  for (const DeviceFacts& facts : {FullFacts(), BareFacts(), corrected}) {
    for (const char* statement :
         {"STORE(0, f32, i, power_f32(LOAD(0, f32, i), cbrt_f32(LOAD(0, f32, i))));",
          "STORE(0, f32, i, erf_inv_f32(LOAD(0, f32, i)));",
          "STORE(0, f32, i, lgamma_f32(remainder_f32(LOAD(0, f32, i), 3.0f)));",
          "STORE(1, f64, i, log_f64(LOAD(1, f64, i)));",
          "vec2 z = asin_c64(vec2(LOAD(0, f32, i), 1.0f)); STORE(0, f32, i, z.x);",
          "STORE(0, f32, i, round_f16(sine_f32(convert_i32_f32(divide_i32(convert_f32_i32(LOAD(0, f32, i)), 7)))));"}) {
      const std::vector<uint32_t> words = spirv::WithoutContraction(Compiled(statement, facts));
      EXPECT_GT(LooseIn(words).decorated, 0) << statement;
      EXPECT_EQ(LooseIn(words).floats, 0) << statement;
      // cbrt divides an exponent that is not negative.
      EXPECT_LE(LooseIn(words).signed_divisions, 1) << statement;
      ExpectValid(words, statement);
    }
  }
}

// Else a driver may round twice, in one kernel and not in another.
TEST(NoContractionTest, FusedMultiplyAddsStayFused) {
  const std::string statement = "float x = LOAD(0, f32, i); STORE(0, f32, i, fma(x, x, 2.0f));";
  const std::vector<uint32_t> before = Compiled(statement, FullFacts()), after = spirv::WithoutContraction(before);
  EXPECT_EQ(LooseIn(before).floats, 1);
  EXPECT_EQ(LooseIn(after).floats, 0);
  ExpectValid(after, statement);
}

// The optimiser copies the bodies of loops without their decorations, and would make fused multiply-adds of them.
TEST(NoContractionTest, OptimizedModulesRoundInUnrolledLoopsAsInTheText) {
  const std::string statement =
      "float x = LOAD(0, f32, i), s = x; [[unroll]] for (uint k = 0u; k < 8u; ++k) s = s * x + x; STORE(0, f32, i, s);";
  const auto count = [](const std::vector<uint32_t>& words, uint32_t op) {
    int counted = 0;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) counted += (words[at] & 0xffffu) == op ? 1 : 0;
    return counted;
  };
  const std::vector<uint32_t> words = Optimized(spirv::WithoutContraction(Compiled(statement, FullFacts())), {});
  EXPECT_EQ(count(words, spirv::OpFMul), 8);  // neither a loop nor fma
  EXPECT_EQ(count(words, spirv::OpFAdd), 8);
  EXPECT_EQ(LooseIn(words).floats, 0);
  ExpectValid(words, statement);
}

}  // namespace no_contraction_test
}  // namespace VXLA_NAMESPACE::vulkan
