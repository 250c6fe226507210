// What StableHLO says of how arrays lie on devices, in all of its forms, and what a device runs.
#include <gmock/gmock.h>

#include "core/text/hlo_printer.h"
#include "tests/mlir/mlir_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMeshes =
    "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n  sdy.mesh @flat = <[\"a\"=8]>\n  sdy.mesh @sixes = <[\"p\"=3, "
    "\"q\"=2]>\n";

std::string Program(int partitions, const std::string& functions) {
  return fmt::format("module @m attributes {{mhlo.num_partitions = {} : i32}} {{\n{}{}\n}}", partitions, kMeshes,
                     functions);
}

// The program of a device, or the message.
std::string DeviceText(const std::string& functions, int partitions = 8) {
  const auto module = mlir::ParseStablehlo(Program(partitions, functions));
  return module.ok() ? PrintHlo(**module) : module.status().message();
}

// A function of one array %a, which lies so.
std::string Of(const std::string& sharding, const std::string& type, const std::string& body) {
  return "  func.func @main(%a: " + type + " {sdy.sharding = #sdy.sharding<" + sharding + ">}) -> " + type + " {\n" +
         body + "\n  }";
}

TEST(ShardingsTest, PartsOfAxesAreReadAndLieAsTheAxisDoes) {
  const std::string negate = "    %0 = stablehlo.negate %a : tensor<16xf32>\n    return %0 : tensor<16xf32>";
  const auto parameters = [&](const std::string& sharding) {
    const auto program = mlir::ParsePartitioned(Program(8, Of(sharding, "tensor<16xf32>", negate)));
    EXPECT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(program->results, std::vector<Sharding>(1));  // of which nothing is said: no part of an axis
    return program.ok() ? program->parameters : std::vector<Sharding>();
  };
  EXPECT_EQ(parameters("@mesh, [{\"y\":(1)2}]"), (std::vector<Sharding>{{{2}, 1, {0, 1, 4, 5, 2, 3, 6, 7}}}));
  EXPECT_EQ(parameters("@mesh, [{\"y\":(2)2, \"x\"}]"), (std::vector<Sharding>{{{4}, 1, {0, 2, 4, 6, 1, 3, 5, 7}}}));
  EXPECT_EQ(parameters("@mesh, [{\"y\":(1)2, ?}p1], replicated={\"y\":(2)2}"),
            (std::vector<Sharding>{{{2}, 1, {0, 1, 4, 5, 2, 3, 6, 7}}}));
}

// An array that nothing else ties to another one lies as its group does.
TEST(ShardingsTest, ArraysOfAGroupLieAlike) {
  const auto grouped = [](const std::string& group) {
    return Of("@mesh, [{\"y\"}]", "tensor<16xf32>",
              "    %i = stablehlo.iota dim = 0 : tensor<16xf32>\n    %r = stablehlo.reverse %i, dims = [0] : "
              "tensor<16xf32>\n" +
                  group +
                  "    %0 = stablehlo.sine %r : tensor<16xf32>\n    %s = stablehlo.reverse %0, dims = [0] : "
                  "tensor<16xf32>\n" +
                  "    return %s : tensor<16xf32>");
  };
  const std::string together =
      "    sdy.sharding_group %a group_id=3 : tensor<16xf32>\n    sdy.sharding_group %r group_id=3 : tensor<16xf32>\n";
  EXPECT_THAT(DeviceText(grouped("")), HasSubstr("f32[16] sine("));
  EXPECT_THAT(DeviceText(grouped(together)), HasSubstr("f32[4] sine("));
  EXPECT_EQ(
      DeviceText(grouped("    sdy.sharding_group %a group_id=3 : tensor<16xf32>\n    %w = stablehlo.iota dim = 0 : "
                         "tensor<8xf32>\n    sdy.sharding_group %w group_id=3 : tensor<8xf32>\n")),
      "sdy.sharding_group: group 3 has f32[16] and f32[8]: one group's arrays have one shape");
  EXPECT_EQ(DeviceText(grouped("    sdy.sharding_group %a group_id=x : tensor<16xf32>\n")),
            "expected the group's number, found x");
}

// Who asks is told, also of an array in a loop and of a constant; the question is no part of the program.
TEST(ShardingsTest, QuestionsAreAnswered) {
  const auto program = [](const std::string& body) {
    return mlir::ParsePartitioned(
        "module @m attributes {mhlo.num_partitions = 4 : i32} {\n  sdy.mesh @four = <[\"x\"=4]>\n"
        "  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@four, [{\"x\"}]>}) -> tensor<8xf32> {\n" +
        body + "  }\n}");
  };
  const std::string asks =
      "stablehlo.custom_call @InspectSharding(%s) {backend_config = \"%w\", has_side_effect = true} : (tensor<8xf32>) -> "
      "tensor<8xf32>\n";
  const auto ask = [&](const std::string& array, const std::string& asker) {
    std::string text = asks;
    text.replace(text.find("%s"), 2, array);
    return text.replace(text.find("%w"), 2, asker);
  };
  const auto made = program(
      "    %n = stablehlo.constant dense<0> : tensor<i32>\n    %t = stablehlo.constant dense<3> : tensor<i32>\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %r:2 = stablehlo.while(%i = %n, %v = %a) : tensor<i32>, tensor<8xf32> cond {\n"
      "      %c = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      stablehlo.return %c : tensor<i1>\n    } do {\n"
      "      %s = stablehlo.sine %v : tensor<8xf32>\n      %shown = " +
      ask("%s", "loop") +
      "      %j = stablehlo.add %i, %one : tensor<i32>\n"
      "      stablehlo.return %j, %shown : tensor<i32>, tensor<8xf32>\n    }\n"
      "    %k = stablehlo.constant dense<1.0> : tensor<8xf32>\n    %shown = " +
      ask("%k", "constant") + "    return %r#1 : tensor<8xf32>\n");
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(made->answers.size(), 2u);
  EXPECT_EQ(made->answers[0].asker, "loop");
  EXPECT_EQ(made->answers[0].sharding, (Sharding{{4}, 1, {0, 1, 2, 3}}));
  EXPECT_EQ(made->answers[1].asker, "constant");
  EXPECT_FALSE(made->answers[1].sharding.is_cut());
  EXPECT_THAT(PrintHlo(*made->module), Not(HasSubstr("InspectSharding")));
  EXPECT_THAT(program("    stablehlo.custom_call @InspectSharding(%a, %a) : (tensor<8xf32>, tensor<8xf32>) -> ()\n"
                      "    return %a : tensor<8xf32>\n")
                  .status()
                  .message(),
              HasSubstr("operand"));
}

// A routine does one matrix after the other; of one matrix each device needs all.
TEST(ShardingsTest, LinearAlgebraIsDividedByItsBatch) {
  const auto eigh = [](const std::string& sharding) {
    return DeviceText("  func.func @main(%a: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, " + sharding +
                      ">}) -> tensor<8x4xf32> {\n    %r:2 = stablehlo.custom_call @Eigh(%a) {backend_config = "
                      "\"1,1,100,1e-6\", operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>], result_layouts = [dense<[2, "
                      "1, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<8x4x4xf32>) -> "
                      "(tensor<8x4x4xf32>, tensor<8x4xf32>)\n    return %r#1 : tensor<8x4xf32>\n  }");
  };
  EXPECT_THAT(eigh("[{\"y\"}, {}, {}]"), HasSubstr("(f32[2,4,4]{2,1,0}, f32[2,4]{1,0}) custom-call(a)"));
  EXPECT_THAT(eigh("[{\"y\"}, {}, {}]"), Not(HasSubstr("all-gather")));
  EXPECT_THAT(eigh("[{}, {\"y\"}, {}]"), HasSubstr("all-gather"));
  // Of a call of the user's nothing is known.
  EXPECT_THAT(DeviceText(Of("@mesh, [{\"y\"}]", "tensor<16xf32>",
                            "    %r = stablehlo.custom_call @own(%a) : (tensor<16xf32>) -> tensor<16xf32>\n    return %r : "
                            "tensor<16xf32>")),
              HasSubstr("f32[16] custom-call(all-gather"));
}

// Both meshes cut the devices into halves, quarters and eighths in the same order.
TEST(ShardingsTest, MeshesThatCutInTheSameWayGoTogether) {
  const std::string text = DeviceText(Of("@mesh, [{\"x\", \"y\"}, {}]", "tensor<16x8xf32>",
                                         R"(    %0 = sdy.sharding_constraint %a <@flat, [{"a"}, {}]> : tensor<16x8xf32>
    %1 = sdy.sharding_constraint %0 <@flat, [{"a":(1)2}, {}]> : tensor<16x8xf32>
    return %1 : tensor<16x8xf32>)"));
  EXPECT_THAT(text, HasSubstr("all-gather(a), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}"));
}

// Thirds and sixths are no part of eighths, so a mesh of 2 and 3 and one of 3 and 2 have nothing in common.
TEST(ShardingsTest, MeshesThatCutInAnotherWayMeetInWholeArrays) {
  const std::string module =
      "module @m attributes {mhlo.num_partitions = 6 : i32} {\n  sdy.mesh @six = <[\"p\"=3, "
      "\"q\"=2]>\n  sdy.mesh @other = <[\"r\"=2, \"s\"=3]>\n";
  const auto program = mlir::ParsePartitioned(
      module +
      "  func.func @main(%a: tensor<6xf32> {sdy.sharding = #sdy.sharding<@six, [{\"p\"}]>}) -> "
      "(tensor<6xf32> {sdy.sharding = #sdy.sharding<@other, [{\"s\"}]>}) {\n    return %a : tensor<6xf32>\n  "
      "}\n}");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->results, (std::vector<Sharding>{{{3}, 1, {0, 3, 1, 4, 2, 5}}}));
  EXPECT_THAT(PrintHlo(*program->module), HasSubstr("all-gather(a), channel_id=1, replica_groups={{0,2,4},{1,3,5}}"));
}

TEST(ShardingsTest, ResultsLieAsWhatTheyAreMadeOf) {
  const std::string text = DeviceText(
      R"(  func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<4x16xf32> {
    %0 = call @product(%a, %b) : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x4xf32>) -> tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
  func.func private @product(%a: tensor<16x8xf32>, %b: tensor<8x4xf32>) -> tensor<16x4xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  })");
  EXPECT_THAT(text, HasSubstr("= f32[8,1] dot("));
  EXPECT_THAT(text, HasSubstr("ROOT transpose = f32[1,8] transpose"));
  EXPECT_THAT(text, Not(HasSubstr("all-")));
}

// What is written for one place of x is cut further by y, which it does not name.
TEST(ShardingsTest, ManualComputationsOfSomeAxesLeaveTheOthers) {
  const std::string text = DeviceText(Of(
      "@mesh, [{\"x\"}, {\"y\"}]", "tensor<4x8xf32>",
      R"(    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<2x8xf32>) {
      %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x8xf32>) -> tensor<2x8xf32>
      sdy.return %1 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>)"));
  EXPECT_THAT(text, HasSubstr("f32[2,2] all-reduce(a)"));
  EXPECT_THAT(text, Not(HasSubstr("all-gather")));
}

// Its own axes cut an operand only as it says, however that lies before.
TEST(ShardingsTest, ManualAxesCutNothingThatIsNotSaid) {
  const std::string text = DeviceText(
      Of("@mesh, [{\"x\"}, {\"y\"}]", "tensor<4x8xf32>",
         R"(    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>]
             manual_axes={"x"} (%b: tensor<4x8xf32>) {
      %1 = stablehlo.negate %b : tensor<4x8xf32>
      sdy.return %1 : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>)"));
  EXPECT_THAT(text, HasSubstr("= f32[4,2] negate("));
}

// An inner one of the axis that the outer one leaves; the second one takes what the first one gives.
TEST(ShardingsTest, ManualComputationsNestAndFollowOneAnother) {
  const std::string inner =
      R"(sdy.manual_computation(%b) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%c: tensor<2x2xf32>) {
        %2 = stablehlo.negate %c : tensor<2x2xf32>
        sdy.return %2 : tensor<2x2xf32>
      } : (tensor<2x8xf32>) -> tensor<2x8xf32>)";
  const std::string text = DeviceText(Of(
      "@mesh, [{\"x\"}, {}]", "tensor<4x8xf32>",
      R"(    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x8xf32>) {
      %1 = )" +
          inner + R"(
      sdy.return %1 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"x", "y"} (%d: tensor<4x2xf32>) {
      %4 = stablehlo.abs %d : tensor<4x2xf32>
      sdy.return %4 : tensor<4x2xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>)"));
  EXPECT_THAT(text, HasSubstr("= f32[2,2] negate("));
  EXPECT_THAT(text, HasSubstr("= f32[4,2] abs("));
}

// XLA's older partitioner: strings, and calls around what is written for one device.
TEST(ShardingsTest, OlderShardingsAreRead) {
  const std::string text = DeviceText(
      R"(  func.func @main(%a: tensor<16x4xf32> {mhlo.sharding = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"}) -> (tensor<16x4xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}) {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[8,1]0,1,2,3,4,5,6,7}"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<16x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.reverse %1, dims = [0] : tensor<2x4xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<2x4xf32>) -> tensor<16x4xf32>
    return %4 : tensor<16x4xf32>
  })");
  EXPECT_THAT(text, HasSubstr("a = f32[4,4] parameter(0), sharding={devices=[4,1,2]<=[2,4]T(1,0) "));
  EXPECT_THAT(text, HasSubstr("= f32[2,4] reverse("));
  EXPECT_THAT(text, HasSubstr("all-to-all"));
}

TEST(ShardingsTest, OperationsSayHowTheirResultsLie) {
  const std::string text = DeviceText(
      R"(  func.func @main(%a: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y":(2)2}]>]>} : tensor<16x8xf32>
    %1 = stablehlo.abs %0 {mhlo.sharding = "{devices=[8,1]<=[8]}"} : tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  })");
  EXPECT_THAT(text, HasSubstr("= f32[8,4] negate("));
  EXPECT_THAT(text, HasSubstr("= f32[2,8] "));
}

// What nothing cuts is checked as well.
TEST(ShardingsTest, DevicesOfAMeshAreDifferentOnes) {
  const std::string text = mlir::ParseStablehlo(
                               "module @m attributes {mhlo.num_partitions = 2 : i32} {\n  sdy.mesh @bad = "
                               "<[\"x\"=2], device_ids=[7, 7]>\n  func.func @main(%a: tensor<4xf32> {sdy.sharding = "
                               "#sdy.sharding<@bad, [{}]>}) -> tensor<4xf32> {\n    return %a : tensor<4xf32>\n  }\n}")
                               .status()
                               .message();
  EXPECT_THAT(text, HasSubstr("device_ids (7,7) must be 2 different devices"));
}

TEST(ShardingsTest, LoopsAndBranchesRunOnTiles) {
  const std::string text = DeviceText(Of("@mesh, [{\"x\"}, {\"y\"}]", "tensor<4x8xf32>",
                                         R"(    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<5> : tensor<i32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<4x8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %o : tensor<i32>
      %w = stablehlo.negate %v : tensor<4x8xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<4x8xf32>
    }
    return %0#1 : tensor<4x8xf32>)"));
  EXPECT_THAT(text, HasSubstr("(s32[], f32[2,2]) while("));
  EXPECT_THAT(text, Not(HasSubstr("all-gather")));
}

TEST(ShardingsTest, ShardingsThatContradictAreNamedWithBothSides) {
  const std::string both =
      "  func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>, mhlo.sharding = "
      "\"{devices=[4,2]<=[8] last_tile_dim_replicate}\"}) -> tensor<16xf32> {\n    return %a : tensor<16xf32>\n  }";
  EXPECT_THAT(DeviceText(both), HasSubstr("argument 0 is [{\"x\"}] by sdy.sharding and {devices=[4,2]<=[8] "
                                          "last_tile_dim_replicate} by mhlo.sharding"));
  const auto manual = [](const std::string& in, const std::string& argument, const std::string& axes) {
    return DeviceText(Of("@mesh, [{}, {}]", "tensor<4x8xf32>",
                         "    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, " + in +
                             ">] out_shardings=[<@mesh, [{}, {}]>] manual_axes={" + axes + "} (%b: tensor<" + argument +
                             ">) {\n      sdy.return %b : tensor<" + argument +
                             ">\n    } : (tensor<4x8xf32>) -> tensor<4x8xf32>\n    return %0 : tensor<4x8xf32>"));
  };
  EXPECT_THAT(manual("[{\"x\"}, {}]", "4x8xf32", "\"x\""),
              HasSubstr("argument 0 is tensor<4x8xf32>, operand 0 of tensor<4x8xf32> is tensor<2x8xf32> on a device"));
  EXPECT_THAT(manual("[{}, {}]", "4x4xf32", "\"x\""), HasSubstr("argument 0 is tensor<4x4xf32>"));
  EXPECT_THAT(manual("[{\"y\", \"x\"}, {}]", "2x8xf32", "\"x\""),
              HasSubstr("[{\"y\", \"x\"}, {}] of tensor<4x8xf32>: an axis that is not manual stands before \"x\""));
  EXPECT_THAT(manual("[{\"x\"}, {}]", "2x8xf32", "\"x\""),
              HasSubstr("result 0 is tensor<4x8xf32>, which is tensor<4x8xf32> on a device; its body returns "
                        "tensor<2x8xf32>"));
}

TEST(ShardingsTest, TilesThatAreStatedOtherwiseThanTheirShardingSaysAreNamed) {
  const auto boundary = [](const std::string& of_value, const std::string& target, const std::string& type) {
    return DeviceText(
        "  func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {\n    %0 = stablehlo.custom_call @Sharding(%a) "
        "{mhlo.sharding = \"{devices=[8]<=[8]}\"} : (tensor<16xf32>) -> tensor<16xf32>\n    %1 = "
        "stablehlo.custom_call @" +
        target + "(%0) {mhlo.sharding = \"" + of_value + "\"} : (tensor<16xf32>) -> " + type +
        "\n    return %a : tensor<16xf32>\n  }");
  };
  EXPECT_THAT(boundary("{manual}", "SPMDFullToShardShape", "tensor<4xf32>"),
              HasSubstr("tensor<16xf32> is tensor<2xf32> on a device by its sharding"));
  EXPECT_THAT(boundary("{manual}", "SPMDFullToShardShape", "tensor<4xf32>"),
              HasSubstr("it is stated as tensor<4xf32>"));
  EXPECT_THAT(boundary("{devices=[8]<=[8]}", "SPMDShardToFullShape", "tensor<64xf32>"),
              HasSubstr("tensor<64xf32> is tensor<8xf32> on a device by its sharding"));
}

TEST(ShardingsTest, PartsThatAreNoneAndPrioritiesThatAreNoneAreNamed) {
  const auto error = [](const std::string& sharding) {
    return DeviceText(Of(sharding, "tensor<16xf32>", "    return %a : tensor<16xf32>"));
  };
  EXPECT_THAT(error("@mesh, [{\"y\":(3)2}]"), HasSubstr("\"y\":(3)2 is no part of \"y\"=4"));
  EXPECT_THAT(error("@mesh, [{\"y\":(1)2, \"y\":(1)2}]"), HasSubstr("parts of axis \"y\" overlap"));
  EXPECT_THAT(error("@mesh, [{\"y\":(1)0}]"), HasSubstr("no part of axis \"y\""));
  EXPECT_THAT(error("@mesh, [{\"y\"}q1]"), HasSubstr("expected a priority (p0), found q1"));
  EXPECT_THAT(error("@mesh, [{\"y\"}p]"), HasSubstr("expected a priority (p0), found p"));
  EXPECT_THAT(error("@mesh, [{\"x\"}], replicated={\"x\"}"), HasSubstr("parts of axis \"x\" overlap"));
  EXPECT_THAT(error("@sixes, [{\"q\"}]"), HasSubstr("a mesh of 6 devices in a program of 8 partitions"));
}

TEST(ShardingsTest, OlderShardingsThatAreNoneAreNamed) {
  const auto error = [](const std::string& sharding) {
    return DeviceText("  func.func @main(%a: tensor<16x3xf32> {mhlo.sharding = \"" + sharding +
                      "\"}) -> tensor<16x3xf32> {\n    return %a : tensor<16x3xf32>\n  }");
  };
  EXPECT_THAT(error("devices"), HasSubstr("the sharding 'devices': '{' is missing"));
  EXPECT_THAT(error("{devices=[2,1]<=[8]}"), HasSubstr("[2,1] tiles for the devices 0,1,2,3,4,5,6,7"));
  EXPECT_THAT(error("{devices=[8,1]0,1,2,3,4,5,6,6}"), HasSubstr("[8,1] tiles for the devices 0,1,2,3,4,5,6,6"));
  EXPECT_THAT(error("{devices=[8]<=[8]}"), HasSubstr("1 dimensions of an array of 2"));
  EXPECT_THAT(error("{devices=[8,1]<=[2,4]T(0,0)}"), HasSubstr("T(0,0) is no order of 2 dimensions"));
  EXPECT_THAT(error("{devices=[2,1]<=[2]}"), HasSubstr("a mesh of 2 devices in a program of 8 partitions"));
  EXPECT_THAT(error("{devices=[1,8]<=[8]}"), HasSubstr("dimension 1 of f32[16,3] is not 8 equal parts"));
  EXPECT_THAT(error("{devices=[9000000,9000000]<=[8]}"), HasSubstr("1048576 devices"));
  EXPECT_THAT(error("{devices=[2,1,4]<=[8] last_tile_dims={manual}}"),
              HasSubstr("last_tile_dims of other kinds than 'replicated'"));
  EXPECT_THAT(error("{devices=[8,1]<=[8]} x"), HasSubstr("at its end"));
  EXPECT_THAT(error("{maximal device=8}"), HasSubstr("device 8 of 8"));
  EXPECT_THAT(error("{maximal}"), HasSubstr("device=N is missing at '}'"));
  EXPECT_THAT(DeviceText("  func.func @main(%a: tensor<2xf32> {mhlo.sharding = 3 : i32}) -> tensor<2xf32> {\n"
                         "    return %a : tensor<2xf32>\n  }"),
              HasSubstr("mhlo.sharding: 3 : i32 is no string"));
}

TEST(ShardingsTest, MeshesThatAreNoneAreNamed) {
  const auto error = [](const std::string& mesh, const std::string& sharding) {
    return DeviceText(mesh + Of(sharding, "tensor<16xf32>", "    return %a : tensor<16xf32>"));
  };
  EXPECT_THAT(error("  sdy.mesh @mesh = <[\"x\"=8]>\n", "@mesh, [{\"x\"}]"),
              HasSubstr("the module has two meshes '@mesh'"));
  EXPECT_THAT(error("  sdy.mesh @none = <[]>\n", "@none, [{\"x\"}]"), HasSubstr("the mesh has no axis \"x\""));
  EXPECT_THAT(error("  sdy.mesh @ids = <[\"x\"=8], device_ids=[0, 1, 2, 3, 4, 5, 6, 9]>\n", "@ids, [{\"x\"}]"),
              HasSubstr("the mesh has device 9, the program has devices 0 to 7"));
}

TEST(ShardingsTest, ManualComputationsThatContradictAreNamed) {
  const auto error = [](const std::string& lists, const std::string& body) {
    return DeviceText("  func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {\n    %0 = sdy.manual_computation(%a) " +
                      lists + " (%p: tensor<8xf32>) {\n" + body +
                      "    } : (tensor<16xf32>) -> tensor<16xf32>\n    return %0 : tensor<16xf32>\n  }");
  };
  const std::string x = "<@mesh, [{\"x\"}]>", of_x = "in_shardings=[" + x + "] out_shardings=[" + x + "] manual_axes={";
  const std::string returns = "      sdy.return %p : tensor<8xf32>\n";
  EXPECT_THAT(error("in_shardings=[] out_shardings=[" + x + "] manual_axes={\"x\"}", returns),
              HasSubstr("in_shardings: 0 for 1 arrays"));
  EXPECT_THAT(error("in_shardings=[" + x + "] out_shardings=[] manual_axes={\"x\"}", returns),
              HasSubstr("out_shardings: 0 for 1 arrays"));
  EXPECT_THAT(error(of_x + "\"w\"}", returns), HasSubstr("manual_axes: the mesh has no axis \"w\""));
  EXPECT_THAT(error(of_x + "\"x\"}", "      %q = sdy.sharding_constraint %p " + x +
                                         " : tensor<8xf32>\n      sdy.return %q : tensor<8xf32>\n"),
              HasSubstr("axis \"x\" is manual here"));
  const std::string whole = "<@mesh, [{}]>";
  EXPECT_THAT(error(of_x + "\"x\"}", "      %q = sdy.manual_computation(%p) in_shardings=[" + whole +
                                         "] out_shardings=[" + whole +
                                         "] manual_axes={\"x\"} (%r: tensor<8xf32>) {\n        sdy.return %r : "
                                         "tensor<8xf32>\n      } : (tensor<8xf32>) -> tensor<8xf32>\n      sdy.return "
                                         "%q : tensor<8xf32>\n"),
              HasSubstr("manual_axes: axis \"x\" is manual around it already"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
