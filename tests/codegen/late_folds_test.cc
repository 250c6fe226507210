#include "backend/vulkan/drivers/late_folds.h"

#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace late_folds_test {

using spirv::Words;

constexpr uint32_t OpLogicalOr = 166;

// A kernel as bundles hold it, valid before and after.
Words Folded(const std::string& main_body) {
  const Words before = Optimized(CompileMain(main_body), {});
  ExpectValid(before);
  const Words after = spirv::FoldLate(before);
  ExpectValid(after);
  return after;
}
// The value of the last operand of the only instruction of this kind, a constant.
uint32_t LastOperand(const Words& words, uint32_t op) {
  uint32_t id = 0, value = ~0u;
  for (const spirv::Instruction& each : spirv::Read(words)) {
    if (each.op() == op) id = each.words.back();
  }
  for (const spirv::Instruction& each : spirv::Read(words)) {
    if (each.op() == spirv::OpConstant && each.words[2] == id) value = each.words[3];
  }
  return value;
}

TEST(LateFoldsTest, AChoiceOfTruthValuesIsAnOr) {
  const Words words = Folded("bool a = data[0] > 3u, b = data[1] > 4u;\ndata[2] = (a ? a : b) ? 7u : 9u;");
  EXPECT_EQ(CountOf(words, OpLogicalOr), 1);
  EXPECT_EQ(CountOf(words, spirv::OpSelect), 1);
}

TEST(LateFoldsTest, TheLargerOfAValueAndALowConstantIsTheValue) {
  const Words low = Folded("if (max(data[0], 5u) > 7u) data[1] = 9u;");
  EXPECT_EQ(CountOf(low, spirv::OpExtInst), 0);
  EXPECT_EQ(LastOperand(low, spirv::OpUGreaterThan), 7u);
  const Words high = Folded("if (max(data[0], 8u) > 7u) data[1] = data[2];");
  EXPECT_EQ(CountOf(high, spirv::OpExtInst), 1);
}

TEST(LateFoldsTest, ConstantsOfSumsStandLastAndOnce) {
  const Words words = Folded("data[0] = ((data[1] + 3u) * 4u + data[2] + 5u) << 2;");
  EXPECT_EQ(CountOf(words, spirv::OpIAdd), 2);
  EXPECT_EQ(LastOperand(words, spirv::OpIAdd), (3u * 4u + 5u) << 2);
}

TEST(LateFoldsTest, WhatIsTakenAwayIsAdded) {
  const Words words = Folded("data[0] = data[1] - (data[2] > 3u ? 7u : 2u);");
  EXPECT_EQ(CountOf(words, spirv::OpISub), 0);
  EXPECT_EQ(CountOf(words, spirv::OpIAdd), 1);
  EXPECT_EQ(LastOperand(words, spirv::OpSelect), 0u - 2u);
}

// A sum that others read too stays, and with it its name and decorations.
TEST(LateFoldsTest, WhatOthersReadStays) {
  const Words words = Folded("uint x = data[1] + 3u;\ndata[0] = x * 4u;\ndata[2] = x;");
  EXPECT_EQ(CountOf(words, spirv::OpIAdd), 1);
  EXPECT_EQ(CountOf(words, spirv::OpIMul), 1);
}

}  // namespace late_folds_test
}  // namespace VXLA_NAMESPACE::vulkan
