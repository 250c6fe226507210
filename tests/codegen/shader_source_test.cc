#include "backend/vulkan/shader/shader_source.h"

#include <fmt/format.h>

#include <chrono>

#include "tests/codegen/codegen_test_support.h"
#include "tests/support/element_kernel.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

KernelKey LoopKey(const std::string& body) { return ElementKernel({"f32"}, body); }

std::string Assemble(const KernelKey& key, const DeviceFacts& facts = FullFacts(),
                     BindingMode bindings = BindingMode::kAddresses) {
  auto text = AssembleShader(key, facts, bindings);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? *text : "";
}

TEST(ShaderSourceTest, TakesOnlyTheFunctionsThatAreUsed) {
  const std::string text = Assemble(LoopKey("STORE(0, f32, i, tanh_f32(LOAD(0, f32, i)));"));
  EXPECT_EQ(Count(text, "FN F tanh_f32("), 1);
  EXPECT_EQ(Count(text, "FN F reduce_ln2_f32("), 1) << "what tanh needs comes along";
  EXPECT_EQ(Count(text, "sine_f32("), 0);
  EXPECT_EQ(Count(text, "types_int64"), 0);
  EXPECT_LT(text.find("FN F magnitude_f32("), text.find("FN F tanh_f32("));
}

TEST(ShaderSourceTest, NamesInCommentsPullNothingIn) {
  const std::string text = Assemble(LoopKey("STORE(0, f32, i, 1.0f);  // unlike sine_f32"));
  EXPECT_EQ(Count(text, "FN F sine_f32("), 0);
}

TEST(ShaderSourceTest, AsksOnlyForTheExtensionsInUse) {
  const std::string text = Assemble(LoopKey("STORE(0, f32, i, 1.0f);"));
  EXPECT_EQ(Count(text, "16bit_storage"), 0);
  EXPECT_EQ(Count(text, "types_int64"), 0);
  EXPECT_EQ(Count(text, "subgroup"), 0);
  EXPECT_EQ(Count(text, "4461, 32"), 1);
  EXPECT_EQ(Count(text, "4461, 64"), 0) << "no double is in use";
  KernelKey key = LoopKey("STORE(0, u8, i, 1u); double x = 1.0lf; int64_t y = int64_t(subgroupAdd(1));");
  key.generated.insert(0, "TENSOR(0, u8)\n");
  const std::string wide = Assemble(key);
  EXPECT_EQ(Count(wide, "#extension GL_EXT_shader_8bit_storage"), 1);
  EXPECT_EQ(Count(wide, "#extension GL_EXT_shader_explicit_arithmetic_types_int64"), 1);
  EXPECT_EQ(Count(wide, "#extension GL_KHR_shader_subgroup_arithmetic"), 1);
  EXPECT_EQ(Count(wide, "4461, 64"), 1);
}

TEST(ShaderSourceTest, DoublesAreWrittenAsWordsWhereTheyAreEmulated) {
  KernelKey key = LoopKey("STORE(0, f64, i, log_f64(LOAD(0, f64, i)));");
  key.generated.insert(0, "TENSOR(0, f64)\n");
  const std::string native = Assemble(key), emulated = Assemble(key, BareFacts());
  EXPECT_EQ(Count(native, "1.0lf)"), Count(emulated, "uvec2(0x0u, 0x3ff00000u))"));
  EXPECT_GT(Count(native, "1.0lf)"), 0);
  EXPECT_EQ(Count(emulated, "lf)") + Count(emulated, "lf,"), 0);
  EXPECT_EQ(Count(emulated, "FN uvec2 pack_words("), 1) << "the emulation's own helpers come along";
  EXPECT_EQ(Count(native, "FN uvec2 pack_words("), 0);
}

TEST(ShaderSourceTest, EmulatedPolynomialsAreLoopsOverTheirCoefficients) {
  KernelKey key = LoopKey("STORE(0, f64, i, exp_tail_f64(LOAD(0, f64, i)));");
  key.generated.insert(0, "TENSOR(0, f64)\n");
  const std::string native = Assemble(key), emulated = Assemble(key, BareFacts());
  const int steps = Count(native, "p = horner_f64(p, r, ");
  ASSERT_GT(steps, 4);
  EXPECT_EQ(Count(native, "for (int term"), 0);
  EXPECT_EQ(Count(emulated, "p = horner_f64(p, r, "), 1);
  EXPECT_EQ(Count(emulated, "for (int term = 0; term < " + std::to_string(steps) + "; ++term)"), 1);
  EXPECT_EQ(Count(emulated, "select_words(term == "), steps - 1);
  // 1/6 comes last.
  EXPECT_EQ(Count(emulated,
                  "c = select_words(term == " + std::to_string(steps - 1) + ", uvec2(0x55555556u, 0x3fc55555u), c);"),
            1);
}

TEST(ShaderSourceTest, ComplexFunctionsComeInTheWordsOfTheirType) {
  const std::string text = Assemble(LoopKey("vec2 z = sqrt_c64(vec2(1.0f, 2.0f)); STORE(0, f32, i, z.x);"));
  EXPECT_EQ(Count(text, "FN vec2 sqrt_c64(vec2 a)"), 1);
  EXPECT_EQ(Count(text, "sqrt_c128("), 0);
  EXPECT_EQ(Count(text, "CX("), 0);
  EXPECT_EQ(Count(text, " RE("), 0);
  EXPECT_EQ(Count(text, "L(0.5)"), 0);
  EXPECT_EQ(Count(text, "COMPLEX"), 0);
}

TEST(ShaderSourceTest, DevicesWithout64BitTypesGetPairsOfWords) {
  KernelKey key = LoopKey("STORE(0, i64, i, add_i64(LOAD(0, i64, i), from_words_i64(0u, 1u)));");
  key.generated.insert(0, "TENSOR(0, i64)\n");
  const std::string native = Assemble(key), emulated = Assemble(key, BareFacts());
  EXPECT_EQ(Count(native, "#extension GL_EXT_shader_explicit_arithmetic_types_int64"), 1);
  EXPECT_EQ(Count(native, "#define VXLA_EMULATE_I64 1"), 0);
  EXPECT_EQ(Count(emulated, "#extension GL_EXT_shader_explicit_arithmetic_types_int64"), 0);
  EXPECT_EQ(Count(emulated, "#define VXLA_EMULATE_I64 1"), 1);
}

TEST(ShaderSourceTest, DivisionIsCorrectedWhereTheDevicesIsInexact) {
  KernelKey key = LoopKey(
      "STORE(0, f32, i, divide_f32(rsqrt_f32(LOAD(0, f32, i)), 3.0f)); STORE(1, f64, i, divide_f64(LOAD(1, f64, i), "
      "3.0lf));");
  key.generated.insert(0, "TENSOR(1, f64)\n");
  key.buffer_count = 2;
  DeviceFacts facts = FullFacts();
  const std::string native = Assemble(key, facts);
  EXPECT_EQ(Count(native, " corrected_"), 0);
  EXPECT_EQ(Count(native, "quotient_words("), 0);
  EXPECT_EQ(Count(native, " = a / b;"), 3);
  facts.division_f32 = DeviceFacts::Division::kCorrected;
  const std::string single = Assemble(key, facts);
  EXPECT_EQ(Count(single, "FN F corrected_divide_f32("), 1);
  EXPECT_EQ(Count(single, "FN F corrected_sqrt_f32("), 1);
  EXPECT_EQ(Count(single, "FN uvec2 quotient_words("), 0) << "f64's own is right";
  facts.division_f64 = DeviceFacts::Division::kCorrected;
  const std::string both = Assemble(key, facts);
  EXPECT_EQ(Count(both, "FN uvec2 quotient_words("), 1);
  EXPECT_EQ(Count(both, " = a / b;"), 1) << "the guess";
  for (const std::string& text : {native, single, both}) EXPECT_TRUE(CompileGlsl(text, "division", {}).ok());
}

// What keeps a driver from finding out zeros stands in the kernels of those alone that compute wrongly then, and of
// kernels for any device.
TEST(ShaderSourceTest, ZerosAreHiddenOnlyFromDriversThatFoldThem) {
  const std::vector<std::string> programs = {
      "fused { x = s64[8] parameter(0)  d = s64[8] subtract(x, x)  ROOT z = f64[8] convert(d) }\n"
      "ENTRY e { x = s64[8] parameter(0)  ROOT f = f64[8] fusion(x), kind=kLoop, calls=fused }",
      "fused { x = f32[8] parameter(0)  p = pred[8] compare(x, x), direction=NE  ROOT z = f32[8] convert(p) }\n"
      "ENTRY e { x = f32[8] parameter(0)  ROOT f = f32[8] fusion(x), kind=kLoop, calls=fused }",
      "ENTRY e { x = f32[8] parameter(0)  ROOT z = c64[8] convert(x) }",
      "times { a = f32[] parameter(0)  b = f32[] parameter(1)  z = f32[] constant(0)  c = f32[] multiply(a, z)\n"
      "ROOT r = f32[] add(c, b) }\n"
      "ENTRY e { x = f32[8] parameter(0)  i = f32[] parameter(1)\n"
      "ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=times }"};
  DeviceFacts folds = FullFacts(), any = FullFacts();
  folds.quirks.folds_zeros = true;
  any.compile_only = true;
  any.kind = DeviceFacts::Kind::kOther;
  for (const std::string& program : programs) {
    SCOPED_TRACE(program);
    const auto steps = LowerRoot(program);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(Count(Compiled(steps[0]), "gl_NumWorkGroups.x >> 31"), 0);
    EXPECT_EQ(Count(Compiled(steps[0], folds), "gl_NumWorkGroups.x >> 31"), 1);
    EXPECT_EQ(Count(Compiled(steps[0], any), "gl_NumWorkGroups.x >> 31"), 1);
  }
}

TEST(ShaderSourceTest, DenormalsArePreservedWhereTheDeviceOffersIt) {
  DeviceFacts facts = FullFacts();
  const KernelKey key = LoopKey("STORE(0, f32, i, 1.0f);");
  EXPECT_EQ(Count(Assemble(key, facts), "4459"), 0);
  facts.denorm_preserve_32 = facts.denorm_preserve_64 = true;
  EXPECT_EQ(Count(Assemble(key, facts), "spirv_execution_mode(capabilities = [4464], 4459, 32);"), 1);
  EXPECT_EQ(Count(Assemble(key, facts), "4459, 64"), 0) << "no double is in use";
  EXPECT_TRUE(CompileGlsl(Assemble(key, facts), "denormals", {}).ok());
}

TEST(ShaderSourceTest, ExecutionModesFollowTheDevice) {
  DeviceFacts facts = FullFacts();
  facts.signed_zero_inf_nan_preserve_32 = facts.rounding_rte_32 = false;
  const std::string text = Assemble(LoopKey("STORE(0, f32, i, 1.0f);"), facts);
  EXPECT_EQ(Count(text, "spirv_execution_mode"), 0);
  EXPECT_EQ(Count(text, "GL_EXT_spirv_intrinsics"), 0);
}

TEST(ShaderSourceTest, DescriptorsNeedNoAddresses) {
  const KernelKey key = LoopKey("STORE(0, f32, i, 1.0f);");
  const std::string text = Assemble(key, FullFacts(), BindingMode::kDescriptors);
  EXPECT_EQ(Count(text, "#define ADDRESSES"), 0);
  EXPECT_EQ(Count(text, "push_constant"), 0);
  EXPECT_EQ(Count(text, "set = 0, binding = 0"), 1);
  EXPECT_TRUE(CompileGlsl(text, "descriptors", {}).ok());
}

TEST(ShaderSourceTest, CompilesWithVectorViewsInBothModes) {
  KernelKey key = LoopKey("STORE(0, f32x4, i, LOAD(0, f32x4, i) * 2.0f);");
  key.generated.insert(0, "TENSOR(0, f32x4)\n");
  for (BindingMode bindings : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto words = CompileGlsl(Assemble(key, FullFacts(), bindings), "views", {});
    EXPECT_TRUE(words.ok()) << words.status().message();
  }
}

TEST(ShaderSourceTest, AnUnknownAlgorithmIsAnError) {
  KernelKey key;
  key.algorithm = "elementwise/no_such.comp";
  const auto text = AssembleShader(key, FullFacts(), BindingMode::kAddresses);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().message(), "no shader file elementwise/no_such.comp");
}

// How long each takes is in the report of the tests: some 0.1 ms.
TEST(ShaderSourceTest, AssemblyGivesTheSameTextEachTime) {
  const KernelKey key = LoopKey("STORE(0, f32, i, power_f32(LOAD(0, f32, i), tanh_f32(LOAD(0, f32, i))));");
  const std::string first = Assemble(key);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Assemble(key), first);
  const std::chrono::duration<double, std::milli> each = (std::chrono::steady_clock::now() - start) / 20;
  RecordProperty("ms_each", fmt::format("{:.3f}", each.count()));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
