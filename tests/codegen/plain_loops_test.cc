#include "backend/vulkan/drivers/plain_loops.h"

#include <set>

#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace plain_loops_test {

using spirv::Block;
using spirv::Instruction;
using spirv::OpAccessChain;
using spirv::OpBranchConditional;
using spirv::OpLabel;
using spirv::OpLoopMerge;
using spirv::OpPhi;
using spirv::OpReturn;
using spirv::OpSwitch;
using spirv::OpVariable;
using spirv::Words;

std::vector<Block> BlocksOf(const Words& words) {
  const spirv::Instructions instructions = spirv::Read(words);
  size_t at = 0;
  while (instructions[at].op() != OpLabel) ++at;
  return spirv::TakeBlocks(instructions, &at);
}
const Block& BlockOf(const std::vector<Block>& blocks, uint32_t label) {
  for (const Block& block : blocks) {
    if (block.label == label) return block;
  }
  ADD_FAILURE() << "no block " << label;
  return blocks[0];
}
// Of a kernel as bundles hold it, valid before and after.
Words PlainOf(const std::string& main_body, Words* before) {
  *before = Optimized(CompileMain(main_body), {});
  ExpectValid(*before);
  const Words after = spirv::PlainLoops(*before);
  ExpectValid(after);
  return after;
}
// Loops whose continue block holds more than its branch.
int FullContinues(const Words& words) {
  const std::vector<Block> blocks = BlocksOf(words);
  int count = 0;
  for (const Block& block : blocks) {
    for (const Instruction& instruction : block.body) {
      if (instruction.op() == OpLoopMerge) count += BlockOf(blocks, instruction.words[2]).body.size() > 1;
    }
  }
  return count;
}

constexpr char kNested[] =
    "uint s = 0u, last = 1u;\nfor (uint i = 0u; i < data[0]; ++i) {\n  uint t = last;\n"
    "  for (uint j = 0u; j < data[i]; ++j) { t = t * 3u + data[j]; }\n  last = s;\n  s += t;\n}\ndata[1] = s + last;";

TEST(PlainLoopsTest, ContinueBlocksAreEmptyAndWhatIsHandedOnLiesInVariables) {
  Words before;
  const Words after = PlainOf(kNested, &before);
  EXPECT_EQ(CountOf(before, OpLoopMerge), 2);
  EXPECT_EQ(CountOf(after, OpLoopMerge), 2);
  EXPECT_EQ(CountOf(before, OpPhi), 5);
  EXPECT_EQ(CountOf(after, OpPhi), 0);
  EXPECT_EQ(CountOf(after, OpVariable) - CountOf(before, OpVariable), 5);
  EXPECT_EQ(FullContinues(before), 2);
  EXPECT_EQ(FullContinues(after), 0);
}

// A loop that tests after each turn: the test ends the body.
TEST(PlainLoopsTest, TheTestAfterATurnLeavesTheContinueBlock) {
  Words before;
  const Words after = PlainOf(
      "uint i = 0u, s = 1u;\ndo {\n  if (data[i] > 3u) { data[i + 1u] = s; s += data[i + 2u] * 3u; }\n  ++i;\n"
      "} while (i < data[0]);\ndata[1] = s;",
      &before);
  EXPECT_EQ(CountOf(before, OpLoopMerge), 1);
  EXPECT_EQ(CountOf(after, OpLoopMerge), 1);
  EXPECT_EQ(FullContinues(before), 1);
  EXPECT_EQ(FullContinues(after), 0);
}

// Of those that nothing is said of.
TEST(PlainLoopsTest, DriversAreToldToLeaveLoops) {
  const Words before = Optimized(CompileMain(kNested), {});
  const auto kept = [&](bool keeps_loops) {
    const Words after = spirv::PlainLoops(before, {.keeps_loops = keeps_loops});
    ExpectValid(after);
    int count = 0;
    for (const Block& block : BlocksOf(after)) {
      for (const Instruction& instruction : block.body)
        count += instruction.op() == OpLoopMerge && instruction.words[3] == 2 ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(kept(true), 2);
  EXPECT_EQ(kept(false), 0);
}

// Where drivers are told to leave a loop for any device, its counter begins with what they do not know, and stays the
// same number.
TEST(PlainLoopsTest, LoopsThatAreLeftHideTheirStart) {
  const auto constant_starts = [](const Words& words, bool any_device, bool keeps_loops) {
    const Words after = spirv::PlainLoops(words, {.keeps_loops = keeps_loops, .any_device = any_device});
    ExpectValid(after);
    const spirv::Instructions instructions = spirv::Read(after);
    int count = 0;
    std::set<uint32_t> constants;
    for (const Instruction& each : instructions) {
      if (each.op() == spirv::OpConstant) constants.insert(each.words[2]);
      count += each.op() == spirv::OpStore && constants.contains(each.words[2]) ? 1 : 0;
    }
    return count;
  };
  const Words words = Optimized(CompileMain(kNested), {});
  const int all = constant_starts(words, /*any_device=*/false, /*keeps_loops=*/true);
  EXPECT_EQ(constant_starts(words, /*any_device=*/true, /*keeps_loops=*/false), all);
  EXPECT_EQ(constant_starts(words, /*any_device=*/true, /*keeps_loops=*/true), all - 4);  // i, j, last and s
}

// The number of a workgroup, which a start is hidden behind, is what its decoration says. Validators let it be none.
TEST(PlainLoopsTest, TheNumberOfAWorkgroupIsABuiltIn) {
  const auto numbers = [](const Words& words) {
    int count = 0;
    for (const Instruction& each : spirv::Read(words))
      count += each.op() == spirv::OpDecorate && each.words[2] == spirv::DecorationBuiltIn &&
               each.words[3] == spirv::BuiltInWorkgroupId;
    return count;
  };
  const Words words = Optimized(CompileMain(kNested), {});
  EXPECT_EQ(numbers(words), 0);
  EXPECT_EQ(numbers(spirv::PlainLoops(words, {.keeps_loops = true, .any_device = true})), 1);
}

// What was too long to be written out is not asked of the drivers of any device.
TEST(PlainLoopsTest, LongLoopsAreTheDriversToJudge) {
  Words before =
      Optimized(CompileMain("uint s = 0u;\nfor (uint i = 0u; i < data[0]; ++i) s += data[i];\ndata[1] = s;"), {});
  for (size_t at = 5; at < before.size(); at += before[at] >> 16) {
    if ((before[at] & 0xffffu) == OpLoopMerge) before[at + 3] = 1;
  }
  const auto hint = [](const Words& words) {
    for (const Instruction& each : spirv::Read(words)) {
      if (each.op() == OpLoopMerge) return each.words[3];
    }
    return ~0u;
  };
  EXPECT_EQ(hint(before), 1u);
  EXPECT_EQ(hint(spirv::PlainLoops(before)), 1u);
  EXPECT_EQ(hint(spirv::PlainLoops(before, {.any_device = true})), 0u);
}

// The continue block that several ways lead to stays, and with it the phis that stand in it.
TEST(PlainLoopsTest, LoopsWithSeveralEndsStay) {
  Words before;
  const Words after = PlainOf(
      "uint s = 0u;\nfor (uint i = 0u; i < data[0]; ++i) {\n  if (data[i] > 3u) { data[1] = i; continue; }\n"
      "  if (data[i] > 2u) { data[2] = i; continue; }\n  s += data[i + 1u];\n  data[3] = s;\n}\ndata[1] = s;",
      &before);
  EXPECT_EQ(CountOf(after, OpLoopMerge), 1);
  EXPECT_EQ(FullContinues(after), FullContinues(before));
}

TEST(PlainLoopsTest, AnEarlyEndIsAReturn) {
  Words before;
  const Words after =
      PlainOf("if (data[0] >= 3u) return;\ndata[1] = 7u;\nif (data[2] < 3u) return;\ndata[3] = 8u;", &before);
  EXPECT_EQ(CountOf(before, OpSwitch), 1);
  EXPECT_EQ(CountOf(before, OpReturn), 1);
  EXPECT_EQ(CountOf(after, OpSwitch), 0);
  EXPECT_EQ(CountOf(after, OpReturn), 3);
}

// Where the body or the rest would follow behind an `else`, which readers turn, the opposite is asked.
TEST(PlainLoopsTest, ConditionsAskWhatNeedsNoTurning) {
  constexpr uint32_t kAtLeast = 174, kLess = 176;
  Words before;
  const Words after = PlainOf("if (data[0] >= 3u) return;\nfor (uint i = 0u; i < data[1]; ++i) data[i] = 7u;", &before);
  EXPECT_EQ(CountOf(before, kAtLeast), 1);
  EXPECT_EQ(CountOf(after, kAtLeast), 1);
  EXPECT_EQ(CountOf(after, kLess), 1);
  auto loop_ends_first = [](const Words& words) {
    for (const Block& block : BlocksOf(words)) {
      const Instruction& merge = block.body[block.body.size() > 1 ? block.body.size() - 2 : 0];
      if (merge.op() == OpLoopMerge) return block.body.back().words[2] == merge.words[1];
    }
    return false;
  };
  EXPECT_FALSE(loop_ends_first(before));
  EXPECT_TRUE(loop_ends_first(after));
}

TEST(PlainLoopsTest, ABufferIsFoundOnce) {
  Words before;
  const Words after = PlainOf("data[1] = data[2] + data[3];", &before);
  auto from_variables = [](const Words& words) {
    int count = 0;
    for (const Block& block : BlocksOf(words)) {
      for (const Instruction& instruction : block.body)
        count += instruction.op() == OpAccessChain && instruction.words.size() == 6;
    }
    return count;
  };
  EXPECT_EQ(from_variables(before), 3);
  EXPECT_EQ(from_variables(after), 0);
  EXPECT_EQ(CountOf(after, OpAccessChain), 4);
}

// Loops around others are unrolled too, and no array that they index is left.
TEST(OptimizedTest, UnrollsLoopsAroundLoops) {
  const Words words = Optimized(
      CompileMain(
          "uint held[8];\n[[unroll]] for (uint p = 0u; p < 2u; ++p) {\n"
          "  [[unroll]] for (uint j = 0u; j < 4u; ++j) held[4u * p + j] = data[8u + 4u * p + j];\n}\n"
          "[[unroll]] for (uint p = 0u; p < 2u; ++p) {\n  if (data[p] > 3u) {\n"
          "    [[unroll]] for (uint j = 0u; j < 4u; ++j) data[data[40u] + 4u * p + j] = held[4u * p + j];\n  }\n}",
          "#extension GL_EXT_control_flow_attributes : require\n"),
      {});
  EXPECT_EQ(CountOf(words, OpLoopMerge), 0);
  EXPECT_EQ(CountOf(words, OpVariable), 1) << "the buffer";
}

}  // namespace plain_loops_test
}  // namespace VXLA_NAMESPACE::vulkan
