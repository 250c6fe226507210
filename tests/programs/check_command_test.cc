// vxla check as a user meets it: what passes, what is said of what does not, and the files of tests/mlir/check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/command_test_support.h"
#include "tests/support/source_dir.h"

namespace VXLA_NAMESPACE::testing::check_command_test {
namespace {

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
  ExpectAllPass("all", {"specification", "operations", "quantized", "reducers", "sizes", "parallel"});
}

TEST(CheckCommandTest, FormsBlocksAndRejectionsPassOnTheReference) {
  ExpectAllPass("cpu", {"forms", "blocks", "rejections"});
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::check_command_test
