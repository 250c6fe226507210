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
  const auto inlined = spirv::InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kFunction), 1) << "functions that nothing calls go";
  // Four calls of g with two of f each, and two of f alone; f multiplies twice.
  EXPECT_EQ(CountOf(inlined, kIMul), 20);
}

TEST(InlineFunctionsTest, ResultsThroughParametersAndCopiedParameters) {
  const auto words = CompileMain("uint r;\nuint q = f(data[0], r);\ndata[1] = q + r;",
                                 "uint f(uint a, out uint rest) { a += 2u; rest = a * 5u; return a; }");
  const auto inlined = spirv::InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kIMul), 1);
}

TEST(InlineFunctionsTest, LiteralsThatLookLikeValuesStay) {
  // Members 1 and 0, instruction 75 of GLSL.std.450: numbers that are ids elsewhere in the module.
  const auto words =
      CompileMain("uvec2 r = f(uvec2(data[0], data[1]));\ndata[2] = r.x;\ndata[3] = r.y;",
                  "uvec2 f(uvec2 a) { uvec4 b = uvec4(a.yx, a); return uvec2(b.w + uint(findMSB(b.x)), b.z); }");
  const auto inlined = spirv::InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kExtInst), CountOf(words, kExtInst));
}

// Without NoContraction a driver may fuse a product with a sum, which changes bits.
TEST(InlineFunctionsTest, EachCopyIsAsPreciseAsTheText) {
  const auto words =
      CompileMain("float x = uintBitsToFloat(data[0]);\ndata[1] = floatBitsToUint(g(x) + f(x));",
                  "float f(float a) { precise float r = a * a; return r; }\nfloat g(float a) { return f(f(a)); }");
  const auto inlined = spirv::InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFMul), 3);
  const int others = CountOf(words, kDecorate) - CountOf(words, kFMul);
  EXPECT_EQ(CountOf(inlined, kDecorate) - others, 3) << "one decoration for each product";
}

TEST(InlineFunctionsTest, FunctionsThatBranchStay) {
  const auto words = CompileMain("data[1] = f(data[0]);",
                                 "uint h(uint a) { return a * 7u; }\nuint f(uint a) { uint s = 0u; for (uint i = 0u; i "
                                 "< a; ++i) { s += h(i); } return s; }");
  const auto inlined = spirv::InlineStraightFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 1);
  EXPECT_EQ(CountOf(inlined, kLoopMerge), 1);
  EXPECT_EQ(CountOf(inlined, kFunction), 2);
}

TEST(InlineFunctionsTest, FunctionsThatBranchAreInPlaceWhereAsked) {
  const auto words = CompileMain("uint s = 0u;\nfor (uint i = 0u; i < 4u; ++i) { s += f(i + f(s)); }\ndata[1] = s;",
                                 "uint h(uint a) { return a * 7u; }\nuint f(uint a) { uint s = 0u; for (uint i = 0u; i "
                                 "< a; ++i) { if (h(i) > s) s "
                                 "+= h(i); } return s; }");
  const auto inlined = spirv::InlineFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
  EXPECT_EQ(CountOf(inlined, kFunction), 1);
  EXPECT_EQ(CountOf(inlined, kLoopMerge), 3);
  EXPECT_EQ(CountOf(inlined, kIMul), 4);
}

// The second operand of && has a block of its own, which ends elsewhere once a call in it has been replaced.
TEST(InlineFunctionsTest, PhisFollowTheBlocksTheyComeFrom) {
  const auto words = CompileMain("bool b = g(data[0]) > 2u && g(data[1]) > 3u && data[3] > 1u;\ndata[2] = b ? 1u : 0u;",
                                 "uint g(uint a) { uint r = 5u; if (a > 1u && data[4] > a) r = data[a]; return r; }");
  const auto inlined = spirv::InlineFunctions(words);
  ExpectValid(inlined);
  EXPECT_EQ(CountOf(inlined, kFunctionCall), 0);
}

// What returns early, has a switch, or is called where a loop goes on.
TEST(InlineFunctionsTest, CallsStayWhereBlocksCannotStand) {
  const std::string branching = "uint f(uint a) { uint r = a; if (a > 3u) r = data[a]; return r; }\n";
  const auto early = CompileMain("data[1] = e(data[0]);", "uint e(uint a) { if (a > 2u) return 1u; return data[a]; }");
  const auto choice = CompileMain("data[1] = c(data[0]);",
                                  "uint c(uint a) { uint r = 0u; switch (a) { case 1u: r = 4u; break; default: r = 5u; "
                                  "} return r; }");
  const auto step = CompileMain("for (uint i = 0u; i < 9u; i = f(i) + 1u) { data[i] = i; }", branching);
  for (const auto& words : {early, choice, step}) {
    const auto inlined = spirv::InlineFunctions(words);
    ExpectValid(inlined);
    EXPECT_EQ(CountOf(inlined, kFunctionCall), 1);
  }
}

}  // namespace inline_functions_test
}  // namespace VXLA_NAMESPACE::vulkan
