#include "backend/vulkan/drivers/break_blocks.h"

#include <algorithm>

#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

constexpr uint32_t kLabel = 248, kFunctionEnd = 56, kLoopMerge = 246, kIMul = 132;

std::string Times(int count, const std::string& statement) {
  std::string text;
  for (int i = 0; i < count; ++i) text += statement + "\n";
  return text;
}

size_t LongestBlock(const std::vector<uint32_t>& words) {
  size_t longest = 0, length = 0;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffffu;
    length = op == kLabel || op == kFunctionEnd ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  return longest;
}

TEST(BreakBlocksTest, LongBlocksBecomeLoopsThatRunOnce) {
  const auto words =
      CompileMain("uint x = data[gl_LocalInvocationID.x];\n" + Times(300, "x = x * 3u + data[x];") + "data[0] = x;");
  const size_t before = LongestBlock(words);
  ASSERT_GT(before, 1000u);
  const auto broken = spirv::BreakLongBlocks(words, 100);
  ExpectValid(broken);
  EXPECT_LT(LongestBlock(broken), 120u);
  EXPECT_GT(CountOf(broken, kLoopMerge), static_cast<int>(before / 250));
  EXPECT_EQ(CountOf(broken, kIMul), 300);
}

TEST(BreakBlocksTest, LoopsAndBranchesAroundLongBlocksKeepTheirShape) {
  const auto words = CompileMain(
      "uint x = data[gl_WorkGroupID.x];\nfor (uint i = 0u; i < data[1]; ++i) {\n" + Times(60, "x = x * 3u + data[x];") +
      "if (x > 7u && data[x] > 3u) {\n" + Times(60, "x = x * 5u + data[x];") + "} else { x += 9u; }\n" +
      Times(60, "x = x * 7u + data[x];") + "}\ndata[0] = x > 3u && data[2] > 1u ? x : data[5];");
  const auto broken = spirv::BreakLongBlocks(words, 40);
  ExpectValid(broken);
  EXPECT_LT(LongestBlock(broken), 90u);
  EXPECT_EQ(CountOf(broken, kIMul), 180);
}

TEST(BreakBlocksTest, ShortBlocksStay) {
  const auto shorter = CompileMain("data[gl_LocalInvocationID.x] = 3u;");
  EXPECT_EQ(spirv::BreakLongBlocks(shorter, 100), shorter);
}

TEST(BreakBlocksTest, AModuleThatNumbersNothingReadsTheWorkgroupsNumber) {
  const auto words = CompileMain("uint x = data[0];\n" + Times(300, "x = x * 3u + data[x];") + "data[0] = x;");
  const auto broken = spirv::BreakLongBlocks(words, 100);
  ExpectValid(broken);
  EXPECT_LT(LongestBlock(broken), 120u);
  EXPECT_EQ(CountOf(broken, kIMul), 300);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
