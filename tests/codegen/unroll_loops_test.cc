#include "backend/vulkan/spirv/unroll_loops.h"

#include "tests/codegen/spirv_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace unroll_loops_test {

constexpr uint32_t kDecorate = 71, kIAdd = 128, kIMul = 132, kFMul = 133, kLoopMerge = 246, kLabel = 248;

std::vector<uint32_t> Unrolled(const std::string& body) {
  const auto words = CompileMain(body, "#extension GL_EXT_control_flow_attributes : require\nshared uint parts[64];\n");
  auto unrolled = spirv::UnrollLoops(words);
  ExpectValid(unrolled);
  return unrolled;
}

TEST(UnrollLoopsTest, MarkedLoopsAreWrittenOut) {
  const auto words = Unrolled("[[unroll]] for (uint i = 0u; i < 5u; ++i) { data[i] = data[i] * data[7]; }");
  EXPECT_EQ(CountOf(words, kLoopMerge), 0);
  EXPECT_EQ(CountOf(words, kIMul), 5);
}

TEST(UnrollLoopsTest, WhatFollowsFromTheCounterIsAConstant) {
  const auto words = Unrolled("[[unroll]] for (int i = 6; i >= 0; i -= 2) { data[3u * uint(i) + 1u] = 9u; }");
  EXPECT_EQ(CountOf(words, kLoopMerge), 0);
  EXPECT_EQ(CountOf(words, kIMul) + CountOf(words, kIAdd), 0);
}

TEST(UnrollLoopsTest, LoopsInLoopsBeginAndEndWhereTheOuterOneStands) {
  // 3 + 2 + 1 turns of the inner loop.
  const auto words = Unrolled(
      "[[unroll]] for (uint i = 0u; i < 3u; ++i) { [[unroll]] for (uint j = i; j < 3u; ++j) { "
      "if (data[j] > i && data[i] > j) parts[j] = data[i] * data[j]; } }\ndata[0] = parts[1];");
  EXPECT_EQ(CountOf(words, kLoopMerge), 0);
  EXPECT_EQ(CountOf(words, kIMul), 6);
}

// Without NoContraction a driver may fuse a product with a sum, which changes bits.
TEST(UnrollLoopsTest, EachTurnIsAsPreciseAsTheText) {
  const auto words = Unrolled(
      "[[unroll]] for (uint i = 0u; i < 4u; ++i) { precise float x = uintBitsToFloat(data[i]); x = x * x + 1.0f; "
      "data[i] = floatBitsToUint(x); }");
  EXPECT_EQ(CountOf(words, kFMul), 4);
  const auto text = Unrolled("precise float x = uintBitsToFloat(data[0]); data[1] = floatBitsToUint(x * x + 1.0f);");
  EXPECT_EQ(CountOf(words, kDecorate) - CountOf(text, kDecorate), 6) << "of a product and a sum in three more turns";
}

TEST(UnrollLoopsTest, LoopsWithoutTurnsGo) {
  const auto words = Unrolled("[[unroll]] for (uint i = 3u; i < 3u; ++i) { data[i] = data[i] * 5u; }\ndata[0] = 1u;");
  EXPECT_EQ(CountOf(words, kLoopMerge), 0);
  EXPECT_EQ(CountOf(words, kIMul), 0);
}

TEST(UnrollLoopsTest, LoopsThatEndOtherwiseOrAreNotMarkedStay) {
  const std::vector<std::string> bodies = {
      "for (uint i = 0u; i < 5u; ++i) { data[i] *= 7u; }",
      "[[dont_unroll]] for (uint i = 0u; i < 5u; ++i) { data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i < data[0]; ++i) { data[i] *= 7u; }",
      "[[unroll]] for (uint i = data[0]; i < 5u; ++i) { data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i < 33u; ++i) { data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i < 5u; ++i) { if (data[i] == 3u) break; data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i < 5u; ++i) { if (data[i] == 3u) continue; data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i < 5u; ++i) { if (data[i] == 3u) return; data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i < 5u; ++i) { if (data[i] == 3u) ++i; data[i] *= 7u; }",
      "[[unroll]] for (uint i = 0u; i != 5u; i += 2u) { data[i] *= 7u; }",
  };
  for (const std::string& body : bodies) {
    const auto words = Unrolled(body);
    EXPECT_EQ(CountOf(words, kLoopMerge), 1) << body;
    EXPECT_EQ(CountOf(words, kIMul), 1) << body;
  }
}

TEST(UnrollLoopsTest, LoopsAroundOneThatStaysStay) {
  const auto words =
      Unrolled("[[unroll]] for (uint i = 0u; i < 5u; ++i) { for (uint j = data[0]; j < 40u; ++j) { data[j] *= 7u; } }");
  EXPECT_EQ(CountOf(words, kLoopMerge), 2);
  EXPECT_EQ(CountOf(words, kIMul), 1);
}

// The block that tests is gone then: its test stands behind the step.
TEST(UnrollLoopsTest, LoopsThatCertainlyHaveATurnTestLast) {
  const std::vector<std::pair<std::string, int>> bodies = {
      {"for (uint i = 0u; i < 40u; ++i) { data[i] *= 7u; }", 1},
      {"[[dont_unroll]] for (int i = 3; i > 0; --i) { data[i] *= 7u; }", 1},
      {"for (uint i = 0u; i < 40u; ++i) { if (data[i] == 3u) break; data[i] *= 7u; }", 1},
      {"for (uint i = 0u; i < 40u; ++i) { for (uint j = 0u; j < 40u; ++j) { data[i + j] *= 7u; } }", 2},
      {"for (uint i = 0u; i < 40u; ++i) { if (data[i] == 3u) continue; data[i] *= 7u; }", 0},
      {"for (uint i = 0u; i < data[50]; ++i) { data[i] *= 7u; }", 0},
      {"for (uint i = data[50]; i < 40u; ++i) { data[i] *= 7u; }", 0},
      {"for (uint i = 40u; i < 40u; ++i) { data[i] *= 7u; }", 0},
      {"for (uint i = 0u; atomicAdd(data[50], 1u) < 40u; ++i) { data[i] *= 7u; }", 0},
      {"for (uint i = 0u; i < 40u && data[50] > i; ++i) { data[i] *= 7u; }", 0},
  };
  for (const auto& [body, moved] : bodies) {
    const auto words = CompileMain(body, "#extension GL_EXT_control_flow_attributes : require\n");
    const auto unrolled = spirv::UnrollLoops(words);
    ExpectValid(unrolled);
    EXPECT_EQ(CountOf(words, kLabel) - CountOf(unrolled, kLabel), moved) << body;
    EXPECT_EQ(CountOf(words, kLoopMerge), CountOf(unrolled, kLoopMerge)) << body;
  }
}

}  // namespace unroll_loops_test
}  // namespace VXLA_NAMESPACE::vulkan
