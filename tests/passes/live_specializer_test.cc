// Programs with bounded dynamic dimensions as the static programs that they are at given live sizes.
#include "core/passes/sizes/live_specializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE::testing {
namespace live_specializer_test {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Module> Parsed(const std::string& entry) {
  auto module = ParseHlo("HloModule m\n" + entry);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? std::move(*module) : nullptr;
}

// Knows no arithmetic.
Result<Literal> NoFolding(const Instruction&, std::span<const Literal* const>) { return Unsupported("not here"); }

TEST(LiveSpecializerTest, ArraysAreCutWhereTheyAreUsed) {
  const auto module = Parsed(R"(ENTRY e {
  p = f32[<=8,3] parameter(0)
  n = s32[] get-dimension-size(p), dimensions={0}
  t = f32[3,<=8] transpose(p), dimensions={1,0}
  ROOT r = (f32[3,<=8], s32[]) tuple(t, n)
})");
  const auto made = SpecializeLiveSizes(*module, {{{5, 3}}, {}}, NoFolding);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE(made->is_question);
  EXPECT_FALSE(HasLiveSizes(*made->module));
  EXPECT_TRUE(Verify(*made->module).ok());
  EXPECT_EQ(made->result_sizes, (std::vector<std::vector<int64_t>>{{3, 5}, {}}));
  const std::string text = PrintHlo(*made->module);
  EXPECT_THAT(text, HasSubstr("f32[5,3] slice(p), slice={[0:5], [0:3]}"));
  EXPECT_THAT(text, HasSubstr("f32[3,5] transpose("));
  EXPECT_THAT(text, HasSubstr("f32[3,8] pad("));
  EXPECT_THAT(text, HasSubstr("s32[] constant(5)"));
}

// What lay beyond a smaller size is there again.
TEST(LiveSpecializerTest, ALargerSizeBringsElementsBack) {
  const auto module = Parsed(R"(ENTRY e {
  p = f32[<=8] parameter(0)
  two = s32[] constant(2)
  six = s32[] constant(6)
  s = f32[<=8] set-dimension-size(p, two), dimensions={0}
  ROOT r = f32[<=8] set-dimension-size(s, six), dimensions={0}
})");
  const auto made = SpecializeLiveSizes(*module, {{{4}}, {}}, NoFolding);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->module->entry()->root()->opcode(), Opcode::kParameter);
  EXPECT_EQ(made->result_sizes, (std::vector<std::vector<int64_t>>{{6}}));
}

TEST(LiveSpecializerTest, SizesThatDataDecideAreAskedFor) {
  const auto module = Parsed(R"(ENTRY e {
  p = f32[<=8] parameter(0)
  n = s32[] parameter(1)
  k = s32[2] parameter(2)
  one = s32[1] slice(k), slice={[0:1]}
  m = s32[] reshape(one)
  s = f32[<=8] set-dimension-size(p, n), dimensions={0}
  ROOT r = f32[<=8] set-dimension-size(s, m), dimensions={0}
})");
  LiveFacts facts{{{4}, {}, {2}}, {}};
  auto made = SpecializeLiveSizes(*module, facts, NoFolding);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(made->is_question);
  EXPECT_EQ(made->parameter, 1);
  EXPECT_EQ(made->likely_answer.GetInt(0), 8);
  facts.answers.push_back(Literal::ScalarInt(ElementType::kS32, 3));
  made = SpecializeLiveSizes(*module, facts, NoFolding);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(made->is_question);
  EXPECT_EQ(made->parameter, -1);
  EXPECT_EQ(made->module->entry()->root()->opcode(), Opcode::kReshape);
  facts.answers.push_back(Literal::ScalarInt(ElementType::kS32, 9));
  made = SpecializeLiveSizes(*module, facts, NoFolding);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().message(),
            "set-dimension-size: size 9 is not in 0 to 8, the bound of dimension 0 of f32[<=8]");
  EXPECT_EQ(made.status().location().line, 9);
}

TEST(LiveSpecializerTest, SizesThatChangeWithinALoopAreRefused) {
  const auto module = Parsed(R"(more {
  v = f32[<=8] parameter(0)
  n = s32[] get-dimension-size(v), dimensions={0}
  two = s32[] constant(2)
  ROOT r = pred[] compare(n, two), direction=GT
}
fewer {
  v = f32[<=8] parameter(0)
  ROOT r = f32[<=8] slice(v), slice={[1:8]}
}
ENTRY e {
  p = f32[<=8] parameter(0)
  ROOT l = f32[<=8] while(p), condition=more, body=fewer
})");
  if (module == nullptr) return;
  const auto made = SpecializeLiveSizes(*module, {{{4}}, {}}, NoFolding);
  EXPECT_FALSE(made.ok());
}

// No answer may be wrong because a program ran twice.
TEST(LiveSpecializerTest, ProgramsWithRandomNumbersAskNothing) {
  const auto module = Parsed(R"(ENTRY e {
  p = f32[<=8] parameter(0)
  low = s32[] constant(0)
  high = s32[] constant(8)
  n = s32[] rng(low, high), distribution=rng_uniform
  ROOT s = f32[<=8] set-dimension-size(p, n), dimensions={0}
})");
  const auto made = SpecializeLiveSizes(*module, {{{4}}, {}}, NoFolding);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(made.status().message(), HasSubstr("random numbers"));
}

TEST(LiveSpecializerTest, LikelySizesGoTogether) {
  const auto module = Parsed(R"(ENTRY e {
  p = f32[<=8] parameter(0)
  three = s32[] constant(3)
  one = s32[] constant(1)
  ROOT r = f32[<=4,<=4] dynamic-reshape(p, three, one)
})");
  const auto made = SpecializeAtLikelySizes(*module, NoFolding);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_TRUE(*made != nullptr);
  EXPECT_THAT(PrintHlo(**made), HasSubstr("f32[3,1] reshape("));
  EXPECT_THAT(PrintHlo(**made), Not(HasSubstr("<=")));
}

}  // namespace live_specializer_test
}  // namespace VXLA_NAMESPACE::testing
