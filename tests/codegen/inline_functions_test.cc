#include "backend/vulkan/spirv/inline_functions.h"

#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace inline_functions_test {

constexpr uint32_t kFunction = 54, kFunctionCall = 57, kIMul = 132, kFMul = 133, kDecorate = 71, kExtInst = 12,
                   kLoopMerge = 246;

TEST(InlineFunctionsTest, CallsInCallsAndInLoopsAreInPlace) {
  const auto words = CompileMain(
      "uint s = 0u;\nfor (uint i = 0u; i < g(data[0], 3u); ++i) { s += g(f(i), s); }\ndata[1] = g(f(s), g(s, 2u));",
      "uint f(uint a) { uint b = a * 3u; return b * b; }\nuint g(uint a, uint b) { uint c = f(b); return f(a) + c; }");
  const auto inlined = InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kFunction), 1) << "functions that nothing calls go";
  // Four calls of g with two of f each, and two of f alone; f multiplies twice.
  EXPECT_EQ(CountOf(inlined, kIMul), 20);
}

TEST(InlineFunctionsTest, ResultsThroughParametersAndCopiedParameters) {
  const auto words = CompileMain("uint r;\nuint q = f(data[0], r);\ndata[1] = q + r;",
                                 "uint f(uint a, out uint rest) { a += 2u; rest = a * 5u; return a; }");
  const auto inlined = InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kIMul), 1);
}

TEST(InlineFunctionsTest, LiteralsThatLookLikeValuesStay) {
  // Members 1 and 0, instruction 75 of GLSL.std.450: numbers that are ids elsewhere in the module.
  const auto words =
      CompileMain("uvec2 r = f(uvec2(data[0], data[1]));\ndata[2] = r.x;\ndata[3] = r.y;",
                  "uvec2 f(uvec2 a) { uvec4 b = uvec4(a.yx, a); return uvec2(b.w + uint(findMSB(b.x)), b.z); }");
  const auto inlined = InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kExtInst), CountOf(words, kExtInst));
}

// Without NoContraction a driver may fuse a product with a sum, which changes bits.
TEST(InlineFunctionsTest, EachCopyIsAsPreciseAsTheText) {
  const auto words =
      CompileMain("float x = uintBitsToFloat(data[0]);\ndata[1] = floatBitsToUint(g(x) + f(x));",
                  "float f(float a) { precise float r = a * a; return r; }\nfloat g(float a) { return f(f(a)); }");
  const auto inlined = InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFMul), 3);
  const int others = CountOf(words, kDecorate) - CountOf(words, kFMul);
  EXPECT_EQ(CountOf(inlined, kDecorate) - others, 3) << "one decoration for each product";
}

TEST(InlineFunctionsTest, FunctionsThatBranchStay) {
  const auto words = CompileMain("data[1] = f(data[0]);",
                                 "uint h(uint a) { return a * 7u; }\nuint f(uint a) { uint s = 0u; for (uint i = 0u; i "
                                 "< a; ++i) { s += h(i); } return s; }");
  const auto inlined = InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 1);
  EXPECT_EQ(CountOf(inlined, kLoopMerge), 1);
  EXPECT_EQ(CountOf(inlined, kFunction), 2);
}

}  // namespace inline_functions_test
}  // namespace VXLA_NAMESPACE::vulkan
