// Loops, branches and instructions without a shader as a user of the command meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;

// Doubles until the sum is large: 8 iterations for ones.
constexpr char kDoubling[] =
    "body { x = f32[5] parameter(0)  ROOT y = f32[5] add(x, x) }\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "below { x = f32[5] parameter(0)  z = f32[] constant(0)  s = f32[] reduce(x, z), dimensions={0}, to_apply=add\n"
    "n = f32[] constant(1000)  ROOT c = pred[] compare(s, n), direction=LT }\n"
    "ENTRY e { o = f32[] constant(1)  x = f32[5] broadcast(o), dimensions={}\n"
    "ROOT doubling = f32[5] while(x), condition=below, body=body }";

TEST(LoopCommandTest, TheIterationLimitIsExitCodeOneOnBothDevices) {
  const std::string program = WriteScratch("doubling.hlo", kDoubling);
  for (const char* device : {"cpu", "vulkan"}) {
    const std::string run = "run " + program + " --device " + device;
    const CommandResult limited = RunVxla(run + " --max-loop-iterations 7");
    EXPECT_EQ(limited.exit_code, 1) << limited.err;
    EXPECT_THAT(limited.err, HasSubstr("doubling.hlo:6:6: while: iteration limit 7 reached by doubling"));
    EXPECT_EQ(limited.out, "");
    const CommandResult enough = RunVxla(run + " --max-loop-iterations 8");
    EXPECT_EQ(enough.exit_code, 0) << enough.err;
    EXPECT_THAT(enough.out, HasSubstr("256."));
    EXPECT_EQ(RunVxla(run + " --max-loop-iterations -3").exit_code, 2);
  }
}

TEST(LoopCommandTest, ALoopWithShadersNeedsNoCpu) {
  const std::string program = WriteScratch("doubling.hlo", kDoubling);
  const CommandResult strict = RunVxla("run " + program + " --require-gpu --num-runs 2 --json");
  ASSERT_EQ(strict.exit_code, 0) << strict.err;
  const auto report = nlohmann::json::parse(strict.out);
  EXPECT_TRUE(report["fallbacks"].empty());
  EXPECT_EQ(report["recorded"], 0);
  EXPECT_EQ(report["read_backs"], 1);  // whether the loop, a kernel of its own, came to its end
  const CommandResult explained = RunVxla("explain " + program + " --json");
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const auto decisions = nlohmann::json::parse(explained.out)["decisions"];
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0]["instruction"], "doubling");
  EXPECT_EQ(decisions[0]["kind"], "while");
  EXPECT_TRUE(decisions[0]["trip_count"].is_null());
  EXPECT_TRUE(decisions[0]["reads_back"]);
  EXPECT_THAT(RunVxla("explain " + program + " --plan").out,
              HasSubstr("while doubling (the device reads its condition)"));
  EXPECT_THAT(RunVxla("run " + program + " --profile").err, HasSubstr("doubling (while)"));
}

TEST(HostStepCommandTest, IsNamedWithItsReasonEverywhere) {
  const std::string feeding = WriteScratch("feeding.hlo",
                                           "ENTRY e { x = f32[7] parameter(0)  t = token[] after-all()\n"
                                           "fed = token[] outfeed(x, t)  ROOT s = f32[7] add(x, x) }");
  const std::string with_file = " --outfeed " + WriteScratch("fed.npz", "");
  const CommandResult run = RunVxla("run " + feeding + with_file + " --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("vxla: note: fed (outfeed) runs on the CPU: "));
  const std::string commands[] = {"run " + feeding + with_file, "explain " + feeding};
  for (const std::string& command : commands) {
    const auto fallbacks = nlohmann::json::parse(RunVxla(command + " --json").out)["fallbacks"];
    ASSERT_EQ(fallbacks.size(), 1u);
    EXPECT_EQ(fallbacks[0]["instruction"], "fed");
    EXPECT_EQ(fallbacks[0]["opcode"], "outfeed");
    EXPECT_FALSE(fallbacks[0]["reason"].get<std::string>().empty());
  }
  EXPECT_THAT(RunVxla("explain " + feeding).out, HasSubstr("fallback fed (outfeed): "));
  const CommandResult strict = RunVxla("run " + feeding + with_file + " --require-gpu");
  EXPECT_EQ(strict.exit_code, 3);
  EXPECT_THAT(strict.err, HasSubstr("outfeed fed would run on the host"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
