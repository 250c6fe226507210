// Custom calls as a user of the command meets them: --kernel, --custom-call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::testing::custom_call_command_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Program(const std::string& tail = "") {
  return WriteScratch("twice.hlo",
                      "HloModule m\nENTRY e {\n  x = f32[5] iota(), iota_dimension=0\n  a = f32[5] negate(x)\n"
                      "  b = f32[5] custom-call(a), custom_call_target=\"twice\"" +
                          tail + "\n  ROOT r = f32[5] negate(b)\n}");
}
std::string Kernel() {
  return WriteScratch("twice.comp", "void vxla_element(uint i) { SET_OUT0(i, 2.0 * IN0(i)); }\n");
}
std::string Library(const std::string& symbol) { return std::string(VXLA_TEST_CUSTOM_CALLS) + ":" + symbol; }

TEST(CustomCallCommandTest, AKernelRunsOnTheDeviceAndAFunctionOnTheReference) {
  const std::string kernel = " --kernel twice=" + Kernel(), function = " --custom-call twice=" + Library("twice");
  const CommandResult run = RunVxla("run " + Program() + kernel + " --require-gpu");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[0. 2. 4. 6. 8.]"));
  EXPECT_THAT(RunVxla("run " + Program() + function + " --device cpu").out, HasSubstr("[0. 2. 4. 6. 8.]"));
  const CommandResult on_host = RunVxla("run " + Program() + function);
  EXPECT_THAT(on_host.out, HasSubstr("[0. 2. 4. 6. 8.]"));
  EXPECT_THAT(on_host.err, HasSubstr("b (custom-call) runs on the CPU"));
  const CommandResult diff = RunVxla("diff " + Program() + kernel + function);
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_THAT(diff.err, Not(HasSubstr("nothing checks")));
  const CommandResult differs =
      RunVxla("diff " + Program() + kernel + " --custom-call twice=" + Library("three_times"));
  EXPECT_EQ(differs.exit_code, 1);
  EXPECT_THAT(differs.out, HasSubstr("differ, first in b (fault: algorithm)"));
  const CommandResult explained = RunVxla("explain " + Program() + kernel + " --plan");
  EXPECT_THAT(explained.out, HasSubstr("dispatch b (custom-call twice)"));
  EXPECT_THAT(RunVxla("explain " + Program() + function + " --plan").out,
              HasSubstr("host b (fusion.1) -> b, waits for fusion.1"));
  const CommandResult bench = RunVxla("bench " + Program() + kernel + " --num-runs 1 --json");
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
}

TEST(CustomCallCommandTest, DiffSaysThatNothingChecksAKernelWithoutAFunction) {
  const CommandResult diff = RunVxla("diff " + Program() + " --isolate --kernel twice=" + Kernel());
  EXPECT_EQ(diff.exit_code, 0) << diff.err << diff.out;
  EXPECT_THAT(diff.err,
              HasSubstr("nothing checks b: the reference takes what kernel twice gives on the device (--custom-call "
                        "twice=LIB.so:symbol is a function to compare it with)"));
  const CommandResult refused = RunVxla("run " + Program() + " --device cpu --kernel twice=" + Kernel());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("twice.hlo:5:3: custom-call b: \"twice\" is a kernel, which runs on devices only; the "
                        "CPU reference needs a function beside it (--custom-call twice=LIB.so:symbol"));
}

TEST(CustomCallCommandTest, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& options, const std::string& tail = "") {
    const CommandResult result = RunVxla("run " + Program(tail) + " " + options);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(error(""),
              HasSubstr("no function is registered for \"twice\"; none are registered (--custom-call and --kernel"));
  EXPECT_THAT(error("--kernel twice"), HasSubstr("--kernel twice: NAME=FILE.comp or NAME=FILE.spv is needed"));
  EXPECT_THAT(error("--kernel twice=/nowhere/x.comp"),
              HasSubstr("--kernel twice: /nowhere/x.comp: cannot be read: No such file"));
  EXPECT_THAT(error("--kernel twice=" + ScratchFolder()), HasSubstr("cannot be read: a folder"));
  EXPECT_THAT(error("--kernel twice=" + Kernel() + " --kernel twice=" + Kernel()), HasSubstr("twice is given twice"));
  EXPECT_THAT(error("--kernel twice=" + WriteScratch("bad.comp", "void vxla_element(uint i) {\n  nonsense;\n}\n")),
              HasSubstr("bad.comp:2: error: 'nonsense' : undeclared identifier"));
  EXPECT_THAT(error("--kernel twice=" + WriteScratch("bad.spv", "not SPIR-V")), HasSubstr("bad.spv: no SPIR-V module"));
  EXPECT_THAT(error("--custom-call twice=lib.so"),
              HasSubstr("--custom-call twice=lib.so: NAME=LIB.so:symbol is needed"));
  EXPECT_THAT(error("--custom-call twice=/nowhere/lib.so:f"), HasSubstr("/nowhere/lib.so: no library that opens: "));
  EXPECT_THAT(error("--custom-call twice=" + Kernel() + ":f"), HasSubstr("twice.comp: no library that opens: "));
  EXPECT_THAT(error("--custom-call twice=" + Library("nope")), HasSubstr("the library has no symbol nope"));
  EXPECT_THAT(error("--custom-call twice=" + Library("fails"), ", api_version=API_VERSION_STATUS_RETURNING"),
              HasSubstr("twice.hlo:5:3: custom-call b: twice failed: not today"));
  EXPECT_THAT(error("--custom-call twice=" + Library("throws")),
              HasSubstr("twice.hlo:5:3: custom-call b: twice threw an exception: out of patience"));
#ifdef __GLIBC__
  EXPECT_THAT(error("--custom-call twice=" + Library("data")), HasSubstr("data is data, and a function is needed"));
#endif
  const CommandResult unused =
      RunVxla("run " + Program() + " --kernel twice=" + Kernel() + " --custom-call thrice=" + Library("twice"));
  EXPECT_EQ(unused.exit_code, 0);
  EXPECT_THAT(unused.err, HasSubstr("--custom-call thrice: the program has no such custom-call"));
}

TEST(CustomCallCommandTest, TheExampleAgrees) {
  const CommandResult result = RunShell("VXLA=$VXLA " + std::string(SourceDir()) + "/examples/custom_kernel/run.sh");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("AGREE"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::custom_call_command_test
