// vxla check as a user meets it: what passes, what is said of what does not, and the files of tests/mlir/check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::testing::check_command_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMixed[] = R"(func.func @good() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  check.expect_eq_const %1, dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_almost_eq_const %1, dense<2.5>, tolerance = 1.5 : tensor<2xf32>
  check.expect_close %1, %1, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%1, %1) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  "check.expect_eq"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
func.func @bad() {
  %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[2, 4], [7, 8]]> : tensor<2x2xi32>
  return
}
func.func @takes(%a: tensor<2xf32>) { return }
func.func private @helper() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}
func.func @calls() {
  %0 = call @helper() : () -> tensor<i32>
  check.expect_eq_const %0, dense<1> : tensor<i32>
  return
}
// -----
func.func @far() {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.constant dense<1.0000005> : tensor<f32>
  check.expect_close %0, %1, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<f32>, tensor<f32>
  return
}
// -----
func.func @nearer_than_it_should_be() {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  check.expect_close %0, %0, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<f32>, tensor<f32>
  return
}
// -----
// expected-error@+1 {{anything}}
func.func @taken() { return }
// -----
func.func @unread( {
)";

TEST(CheckCommandTest, SaysOfEachFunctionWhetherItPassedAndWhyNot) {
  const std::string file = WriteScratch("mixed.mlir", kMixed);
  const CommandResult check = RunVxla("check --device cpu -j 2 " + file);
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out, HasSubstr("mixed.mlir:1: @good: passed\n"));
  EXPECT_THAT(check.out, HasSubstr("mixed.mlir:11: @bad: failed: check.expect_eq_const at 14:3: [1,0] is 6, want 7"));
  EXPECT_THAT(check.out, HasSubstr("; 1 of 4 elements differ\n"));
  EXPECT_THAT(check.out, HasSubstr("mixed.mlir:17: @takes: skipped: it takes 1 arguments\n"));
  EXPECT_THAT(check.out, Not(HasSubstr("@helper")));
  EXPECT_THAT(check.out, HasSubstr("@calls: passed\n"));
  EXPECT_THAT(check.out, HasSubstr("[] is 1, want 1.0000005 (4 ulp off, 3 allowed); 1 of 1 elements differ\n"));
  EXPECT_THAT(check.out, HasSubstr("1 of 1 elements are closer than 1 ulp\n"));
  EXPECT_THAT(check.out,
              HasSubstr("section 4: failed: line 42: an error was expected, the program was taken: anything"));
  EXPECT_THAT(check.out, HasSubstr("section 5: failed: 44:20: "));
  EXPECT_THAT(check.out, EndsWith("\n2 passed, 5 failed, 1 skipped\n"));
  EXPECT_THAT(check.err, HasSubstr("vxla: error: checks failed: 5\n"));
}

TEST(CheckCommandTest, JsonHoldsEveryVerdict) {
  const CommandResult check = RunVxla("check --json --device cpu " + WriteScratch("mixed.mlir", kMixed));
  EXPECT_EQ(check.exit_code, 1);
  const nlohmann::json json = nlohmann::json::parse(check.out);
  EXPECT_EQ(json["passed"], 2);
  EXPECT_EQ(json["failed"], 5);
  EXPECT_EQ(json["skipped"], 1);
  ASSERT_EQ(json["functions"].size(), 8u);
  EXPECT_EQ(json["functions"][1]["function"], "bad");
  EXPECT_EQ(json["functions"][1]["section"], 1);
  EXPECT_EQ(json["functions"][1]["verdict"], "failed");
  EXPECT_THAT(json["functions"][1]["reason"].get<std::string>(), HasSubstr("[1,0] is 6, want 7"));
}

TEST(CheckCommandTest, AFileThatCannotBeReadIsAnErrorOfTheInput) {
  EXPECT_EQ(RunVxla("check /no/such/file.mlir --device cpu").exit_code, 2);
  EXPECT_EQ(RunVxla("check").exit_code, 2);
}

void ExpectAllPass(const std::string& device, const std::vector<std::string>& names) {
  std::string files;
  for (const std::string& name : names) files += " " + std::string(SourceDir()) + "/tests/mlir/check/" + name + ".mlir";
  const CommandResult check = RunVxla("check -q --device " + device + files);
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  EXPECT_THAT(check.out, EndsWith(" passed, 0 failed, 0 skipped\n"));
}

TEST(CheckCommandTest, TheExamplesOfTheSpecificationAndProgramsOfSeveralDevicesPassOnEveryDriver) {
  ExpectAllPass("all", {"specification", "operations", "arithmetic", "quantized", "reducers", "sizes", "parallel"});
}

TEST(CheckCommandTest, EachCollectiveUnderEachStrategyPassesOnEveryDriver) { ExpectAllPass("all", {"collectives"}); }

TEST(CheckCommandTest, ChecksThatAreValuesTransfersAndConversionsPassOnEveryDriver) {
  ExpectAllPass("all", {"observations", "transfers", "conversions"});
}

// A check of what is wrong, wherever it stands, and what the run goes on with.
constexpr char kWrongInside[] = R"(func.func private @inner(%a: tensor<2xi32>) -> tensor<i1> {
  %w = stablehlo.constant dense<[1, 9]> : tensor<2xi32>
  %0 = stablehlo.custom_call @check.eq(%a, %w) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @called() -> tensor<i1> {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = call @inner(%a) : (tensor<2xi32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @in_a_loop() {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.while(%i = %c0) : tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.add %i, %c1 : tensor<i32>
    %m = stablehlo.minimum %i, %c1 : tensor<i32>
    check.expect_eq %m, %i : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  func.return
}
func.func @in_a_branch() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.custom_call @check.eq(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  %1 = "stablehlo.if"(%0) ({
    check.expect_eq_const %a, dense<[1, 3]> : tensor<2xi32>
    stablehlo.return %a : tensor<2xi32>
  }, {
    stablehlo.return %a : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  func.return
}
func.func @program(%x: tensor<i32>) -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  interpreter.print %x : tensor<i32>
  check.expect_eq %x, %one : tensor<i32>
  return %x : tensor<i32>
}
func.func @on_a_device() {
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %2 = stablehlo.constant dense<2> : tensor<i32>
  %r:2 = "interpreter.run_parallel"(%1, %2) {programs = [[@program, @program]]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  func.return
}
func.func @too_many_trips() {
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %2 = interpreter.probe %1, probe_id = "p" : tensor<i32>
  check.expect_serialized_eq %2, probe_id = "p", iter = 1 : tensor<i32>
  func.return
}
)";

TEST(CheckCommandTest, AWrongValueFailsInsideFunctionsLoopsBranchesAndPrograms) {
  const CommandResult check = RunVxla("check --device all " + WriteScratch("inside.mlir", kWrongInside));
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out, HasSubstr("@called on cpu: failed: check.eq at 3:8: [1] is 2, want 9"));
  EXPECT_THAT(check.out, HasSubstr("@in_a_loop on cpu: failed: check.expect_eq at 22:5: [] is 1, want 2"));
  EXPECT_THAT(check.out, HasSubstr("@in_a_branch on cpu: failed: check.expect_eq_const at 31:5: [1] is 2, want 3"));
  EXPECT_THAT(check.out,
              HasSubstr("@on_a_device on cpu: failed: partition 1: check.expect_eq at 41:3: [] is 2, want 1"));
  EXPECT_THAT(check.out, HasSubstr("@too_many_trips on cpu: failed: check.expect_serialized_eq at 53:3: probe 'p' has "
                                   "kept 1 values, iteration 1 is none of them"));
  EXPECT_THAT(check.out, HasSubstr("\n0 passed, "));
  EXPECT_THAT(check.err, HasSubstr("note: @on_a_device: partition 0: %x = 1\n"
                                   "vxla: note: @on_a_device: partition 1: %x = 2\n"));
}

TEST(CheckCommandTest, ARegionThatIsAppliedElementByElementChecksNothing) {
  const std::string text = R"(func.func @f() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = "stablehlo.map"(%a) ({
    ^bb0(%x: tensor<i32>):
      check.expect_eq %x, %x : tensor<i32>
      stablehlo.return %x : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}
)";
  const CommandResult check = RunVxla("check --device cpu " + WriteScratch("element.mlir", text));
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out, HasSubstr("5:7: check.expect_eq: stands in a region that is applied element by element"));
}

TEST(CheckCommandTest, ASectionOfCommentsAloneIsNoFailure) {
  const CommandResult check = RunVxla(
      "check --device cpu " + WriteScratch("empty.mlir", "// nothing\n\n// -----\nfunc.func @f() { return }\n"));
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_THAT(check.out, EndsWith("1 passed, 0 failed, 0 skipped\n"));
}

TEST(CheckCommandTest, InfeedsThatGiveTooLittleOrTheWrongThingAreErrors) {
  const auto checked = [](const std::string& infeed) {
    const std::string text = R"(func.func @takes() -> tensor<2xi32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a, %u = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  %b, %v = "stablehlo.infeed"(%u) : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  return %b : tensor<2xi32>
}
func.func private @one() -> tensor<2xi32> {
  %0 = stablehlo.constant dense<1> : tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func private @other() -> tensor<3xi32> {
  %0 = stablehlo.constant dense<1> : tensor<3xi32>
  return %0 : tensor<3xi32>
}
func.func @main() {
  %r = "interpreter.run_parallel"() {infeed = [)" +
                             infeed + R"(], programs = [[@takes]]} : () -> tensor<2xi32>
  func.return
}
)";
    return RunVxla("check --device cpu " + WriteScratch("feeds.mlir", text)).out;
  };
  EXPECT_THAT(checked("@one, @one"), HasSubstr("@main: passed"));
  EXPECT_THAT(checked("@one"), HasSubstr("infeed: all 1 items are taken"));
  EXPECT_THAT(checked("@one, @other"), AllOf(HasSubstr("infeed: item 1 is "), HasSubstr("s32[3]")));
  EXPECT_THAT(checked(""), HasSubstr("functions needed"));
}

TEST(CheckCommandTest, FormsBlocksAndRejectionsPassOnTheReference) {
  ExpectAllPass("cpu", {"forms", "blocks", "rejections"});
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::check_command_test
