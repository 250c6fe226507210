// Arguments and results with bounded dynamic dimensions, as a user of the command gives and gets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;

std::string Program() {
  return WriteScratch(
      "live.hlo",
      "HloModule live\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
      "ENTRY e {\n p = f32[<=5] parameter(0)\n z = f32[] constant(0)\n d = f32[<=5] add(p, p)\n"
      " s = f32[] reduce(d, z), dimensions={0}, to_apply=sum\n ROOT t = (f32[<=5], f32[]) tuple(d, s)\n}\n");
}

TEST(DynamicCommandTest, ASmallerArraySaysHowMuchLives) {
  const CommandResult r =
      RunVxla("run " + Program() + " --device cpu --args " + WriteScratch("three.npy", NpyF32({3}, {1, 2, 3})));
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("result_0: f32[<=5]\n[2. 4. 6.]"));
  EXPECT_THAT(r.out, HasSubstr("12."));
}

TEST(DynamicCommandTest, ResultsAreWrittenAtTheirLiveSizesAndCompareWithThem) {
  const std::string args = " --args " + WriteScratch("two.npy", NpyF32({2}, {1, 2}));
  const std::string out = ScratchFolder() + "/live.npz";
  ASSERT_EQ(RunVxla("run " + Program() + " --device cpu" + args + " -o " + out).exit_code, 0);
  EXPECT_EQ(RunVxla("diff " + Program() + " --device cpu --against " + out + args).exit_code, 0);
  const std::string three = " --args " + WriteScratch("three.npy", NpyF32({3}, {1, 2, 3}));
  EXPECT_NE(RunVxla("diff " + Program() + " --device cpu --against " + out + three).exit_code, 0);
}

TEST(DynamicCommandTest, RejectsArraysBeyondTheBound) {
  const CommandResult r =
      RunVxla("run " + Program() + " --device cpu --args " + WriteScratch("six.npy", NpyF32({6}, {1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("arg_0: f32[6] given, the program wants f32[<=5]"));
}

TEST(DynamicCommandTest, DevicesComputeAtTheLiveSizes) {
  const std::string args = " --args " + WriteScratch("three.npy", NpyF32({3}, {1, 2, 3}));
  const CommandResult r = RunVxla("run " + Program() + " --device vulkan" + args);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("result_0: f32[<=5]\n[2. 4. 6.]"));
  EXPECT_THAT(r.out, HasSubstr("12."));
  EXPECT_EQ(RunVxla("diff " + Program() + " --device vulkan" + args).exit_code, 0);
  EXPECT_EQ(RunVxla("run " + Program() + " --device vulkan --require-gpu" + args).exit_code, 0);
}

TEST(DynamicCommandTest, DevicesGetAndGiveStackedArraysOfOneLiveSize) {
  const std::string program = WriteScratch("gather.hlo",
                                           "HloModule g\nENTRY e {\n p = f32[<=5] parameter(0)\n ROOT r = f32[<=10] "
                                           "all-gather(p), replica_groups={}, dimensions={0}\n}\n");
  const std::string out = ScratchFolder() + "/gathered.npz";
  const std::string args = " --args " + WriteScratch("dealt.npy", NpyF32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const CommandResult r = RunVxla("run " + program + " --device cpu --replicas 2" + args + " -o " + out);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(RunVxla("diff " + program + " --device cpu --replicas 2 --against " + out + args).exit_code, 0);
  const std::string other =
      WriteScratch("slice.hlo",
                   "HloModule s\nENTRY e {\n p = f32[5] parameter(0)\n i = u32[] replica-id()\n j = s32[] convert(i)\n"
                   " ROOT r = f32[<=5] set-dimension-size(p, j), dimensions={0}\n}\n");
  const CommandResult differ = RunVxla("run " + other + " --device cpu --replicas 2");
  EXPECT_NE(differ.exit_code, 0);
  EXPECT_THAT(differ.err, HasSubstr("result_0: devices differ: f32[0] and f32[1]"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
