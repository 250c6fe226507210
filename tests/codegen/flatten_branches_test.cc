#include "backend/vulkan/drivers/flatten_branches.h"

#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/shader/module_compiler.h"
#include "tests/codegen/codegen_test_support.h"
#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace flatten_branches_test {

constexpr uint32_t kSelect = 169, kStore = 62, kBranchConditional = 250, kFunctionCall = 57;

TEST(FlattenBranchesTest, SidesThatOnlyComputeBecomeSelections) {
  const auto words = CompileMain(
      "uint x = data[0], y = 1u;\nif (x > 3u) { y = 31u - uint(findMSB(x)); } else { y = x * 7u; x = 2u; }\n"
      "data[1] = x == 2u ? y + uint(findMSB(y)) : y;");
  const auto flat = spirv::FlattenBranches(words);
  EXPECT_GE(CountOf(words, kBranchConditional), 2);
  EXPECT_EQ(CountOf(flat, kBranchConditional), 0);
  EXPECT_GE(CountOf(flat, kSelect), 3);
}

TEST(FlattenBranchesTest, NestedBranchesAndCallsOfPureFunctions) {
  const auto words = CompileMain("uint x = data[0];\nif (x > 3u) { if (x > 9u) { x = f(x); } x += 1u; }\ndata[1] = x;",
                                 "uint f(uint a) { if (a > 5u) { a *= 3u; } return a + 1u; }");
  const auto flat = spirv::FlattenBranches(words);
  EXPECT_EQ(CountOf(flat, kBranchConditional), 0);
  EXPECT_EQ(CountOf(flat, kFunctionCall), 1);
}

// What a side does to memory, or to a member of a local, happens as often as before.
TEST(FlattenBranchesTest, MemoryIsReachedOnlyWhereItWas) {
  const auto words = CompileMain(
      "if (data[0] > 3u) { data[1] = data[2]; }\nuint x = 1u;\nif (data[3] > 3u) { x = g(); }\ndata[4] = x;",
      "uint g() { return data[7]; }");
  EXPECT_EQ(CountOf(spirv::FlattenBranches(words), kBranchConditional), CountOf(words, kBranchConditional));
  const auto members = CompileMain(
      "Pair p;\np.a = data[0];\np.b = false;\nif (p.a > 3u) { p.a = 9u; p.b = true; } else { p.a = 4u; }\ndata[1] = "
      "p.b ? p.a : 0u;",
      "struct Pair { uint a; bool b; };");
  const auto flat = spirv::FlattenBranches(members);
  EXPECT_EQ(CountOf(flat, kBranchConditional), 0);
  EXPECT_EQ(CountOf(flat, kStore), CountOf(members, kStore));
  EXPECT_GE(CountOf(flat, kSelect) - CountOf(members, kSelect), 3) << "a selection for each conditional store";
}

// A long side is left to the few that take it.
TEST(FlattenBranchesTest, LongSidesStayBranches) {
  const auto words = CompileMain(
      "uint x = data[0];\nuint y = x > 3u ? x * 7u : x;\n"
      "if (y > 5u) { y = (((y * 3u + 1u) * 5u + 2u) * 7u + 3u) * 11u + 4u; }\ndata[1] = y;");
  EXPECT_EQ(CountOf(words, kBranchConditional), 2);
  EXPECT_EQ(CountOf(spirv::FlattenBranches(words, 6), kBranchConditional), 1);
  EXPECT_EQ(CountOf(spirv::FlattenBranches(words, 60), kBranchConditional), 0);
}

// SPIR-V 1.3 selects scalars and, by a vector of conditions, vectors: a structure of structures, an array and vectors
// go member by member there.
TEST(FlattenBranchesTest, BeforeSpirv14MembersAreSelected) {
  const std::string functions =
      "struct Inner { uvec3 v; float w[2]; };\nstruct Outer { Inner a; uint b; };\n"
      "Outer f(uint x) { Outer o; o.a.v = uvec3(x, 2u, x + 1u); o.a.w[0] = float(x); o.a.w[1] = 2.0f; o.b = x * 3u; "
      "return o; }";
  const std::string body =
      "uint x = data[3];\nOuter o = f(data[0]);\nif (data[1] > 3u) { o = f(7u); }\nuvec2 y = data[2] > 5u ? uvec2(1u, "
      "x) : o.a.v.xy;\n"
      "data[4] = o.b + o.a.v.z + uint(o.a.w[1]) + y.x;";
  const auto older = CompileMain(body, functions, {.spirv_1_6 = false});
  const auto newer = CompileMain(body, functions);
  for (const auto& words : {older, newer}) {
    const auto flat = spirv::FlattenBranches(words);
    EXPECT_EQ(CountOf(flat, kBranchConditional), 0);
    ExpectValid(flat);
  }
  EXPECT_GT(CountOf(spirv::FlattenBranches(older), kSelect), CountOf(spirv::FlattenBranches(newer), kSelect));
}

TEST(FlattenBranchesTest, LoopsStay) {
  const auto words =
      CompileMain("uint s = 0u;\nfor (uint i = 0u; i < data[0]; ++i) { if (i > 2u) { s += i * 3u; } }\ndata[1] = s;");
  EXPECT_EQ(CountOf(spirv::FlattenBranches(words), kBranchConditional), 1);
}

// A maximum, whose ?: and || GLSL makes branches of.
TEST(FlattenBranchesTest, GpusGetShortSidesAsSelections) {
  DeviceFacts facts = FullFacts();
  PretendGpu(facts);
  const auto steps = LowerRoot(
      "ENTRY e { x = f32[1024] parameter(0)  y = f32[1024] parameter(1)  ROOT m = f32[1024] maximum(x, y) }", facts);
  ASSERT_EQ(steps.size(), 1u);
  const auto text = AssembleShader(steps[0].kernel, facts, BindingMode::kDescriptors);
  ASSERT_TRUE(text.ok()) << text.status().message();
  ModuleTarget target(facts, BindingMode::kDescriptors);
  EXPECT_TRUE(target.selects);
  const auto selected = ShadercCompiler().compile(steps[0].kernel, *text, target);
  target.selects = false;
  const auto branched = ShadercCompiler().compile(steps[0].kernel, *text, target);
  ASSERT_TRUE(selected.ok() && branched.ok());
  EXPECT_LT(CountOf(*selected, kBranchConditional), CountOf(*branched, kBranchConditional));
  ExpectValid(*selected);
  EXPECT_FALSE(ModuleTarget(FullFacts(), BindingMode::kDescriptors).selects) << "a processor's lanes";
}

}  // namespace flatten_branches_test
}  // namespace VXLA_NAMESPACE::vulkan
