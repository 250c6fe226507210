// What HLO has and StableHLO has not, written in other operations.
#include <gmock/gmock.h>

#include <set>

#include "core/devices/replica_groups.h"
#include "core/ir/module_edits.h"
#include "core/passes/expand/expanders.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/mlir/mlir_test_support.h"
#include "tests/text/opcode_programs.h"

namespace VXLA_NAMESPACE {
namespace stablehlo_forms_test {

constexpr std::string_view kComputations = R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
negated { x = f32[4] parameter(0) ROOT y = f32[4] negate(x) }
running { x = f32[2] parameter(0) c = f32[2] parameter(1) s = f32[2] add(x, c) ROOT t = (f32[2], f32[2]) tuple(s, s) }
turned { x = f32[2,3]{0,1} parameter(0) ROOT y = f32[3,2]{1,0} bitcast(x) }
)";

// The results of a program on the reference; and that they stay what they are as text and as bytecode, without
// operations that are not StableHLO's.
std::string Converted(std::string_view body, const std::vector<Literal>& arguments) {
  const std::string text = fmt::format("{}ENTRY main {{\n{}\n}}", kComputations, body);
  const Result<std::unique_ptr<Module>> module = ParseHlo(text);
  if (!module.ok()) return Place(module.status());
  const std::string result = ResultOf(**module, arguments);
  for (const ChloForms chlo : {ChloForms::kKept, ChloForms::kExpanded}) {
    const Result<std::unique_ptr<Module>> forms = WithStablehloForms(**module, chlo);
    if (!forms.ok()) return forms.status().message();
    const Result<std::string> printed = mlir::PrintStablehlo(**forms);
    if (!printed.ok()) return printed.status().message();
    EXPECT_EQ(printed->find("\"chlo.") == std::string::npos,
              chlo == ChloForms::kExpanded || body.find("ragged") == body.npos)
        << *printed;
    const Result<std::unique_ptr<Module>> again = ReadStablehlo(*printed);
    EXPECT_TRUE(again.ok()) << Place(again.status()) << "\n" << *printed;
    EXPECT_EQ(again.ok() ? ResultOf(**again, arguments) : "", result) << *printed;
    const Result<mlir::Program> program = mlir::ParseMlir(*printed);
    const Result<std::string> bytecode =
        program.ok() ? mlir::WriteBytecode(*program, mlir::kDefaultVhlo) : program.status();
    EXPECT_EQ(bytecode.ok(), chlo == ChloForms::kExpanded || body.find("ragged") == body.npos)
        << bytecode.status().message();
  }
  return result;
}

Literal Floats(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.ElementCount()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 1;
  return Literal::FromVector<float>(shape, values);
}

TEST(StablehloFormsTest, StartsAndDonesAreWhatTheyDo) {
  EXPECT_EQ(Converted(R"(p = f32[4] parameter(0)
as = ((f32[4]), f32[4], s32[]) async-start(p), calls=negated
au = ((f32[4]), f32[4], s32[]) async-update(as)
ad = f32[4] async-done(au)
cs = (f32[4], f32[4], u32[]) copy-start(ad)
cd = f32[4] copy-done(cs)
ars = f32[4] all-reduce-start(cd), to_apply=add, replica_groups={}
ard = f32[4] all-reduce-done(ars)
ags = (f32[4], f32[4]) all-gather-start(ard), dimensions={0}, replica_groups={{0}}
agd = f32[4] all-gather-done(ags)
cps = (f32[4], f32[4], u32[], u32[]) collective-permute-start(agd), source_target_pairs={{0,0}}
ROOT cpd = f32[4] collective-permute-done(cps))",
                      {Floats(Shape(ElementType::kF32, {4}))}),
            "{1, -0, -1, -2}");
}

// The group of each device of two replicas with three partitions, in its order.
std::string GroupsOf(const Module& module) {
  const DeviceGrid grid{2, 3};
  std::string groups;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!std::holds_alternative<CollectiveAttributes>(instruction->attributes())) continue;
      for (int64_t device = 0; device < grid.count(); ++device) {
        const Result<IntList> group = GroupOf(*instruction, grid, device);
        groups += group.ok() ? fmt::format("[{}]", JoinInts(*group)) : group.status().message();
      }
    }
  }
  return groups;
}

// HLO takes replicas with all their partitions replica by replica, StableHLO partition by partition: the text of the
// one says the other's order in words that it has.
TEST(StablehloFormsTest, GroupsKeepTheirOrderInEachModeFromHloToStablehloAndBack) {
  const std::string modes[] = {"replica_groups={{1,0}}", "channel_id=1, replica_groups={{2,0,1}}",
                               "channel_id=1, replica_groups={{1,0}}", "channel_id=1, replica_groups={}",
                               "channel_id=1, use_global_device_ids=true, replica_groups={{4,0,2},{1,5,3}}"};
  const std::string operations[] = {"f32[{1}] all-gather(p), dimensions={{0}}", "f32[12] all-reduce(p), to_apply=add",
                                    "f32[{2}] reduce-scatter(p), dimensions={{0}}, to_apply=add",
                                    "f32[12] all-to-all(p), dimensions={{0}}", "f32[12] collective-broadcast(p)"};
  for (size_t mode = 0; mode < std::size(modes); ++mode) {
    for (size_t k = 0; k < std::size(operations); ++k) {
      // all-to-all and collective-broadcast count partitions where the others count replicas.
      const bool of_partitions = k >= 3;
      if (of_partitions ? mode >= 2 : mode == 1) continue;
      const int64_t members = mode == 0 ? 2 : mode == 2 || mode == 3 ? 6 : 3;
      const std::string text = fmt::format(
          "HloModule m, replica_count=2, num_partitions=3\nadd {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c "
          "= "
          "f32[] add(a, b) }}\nENTRY main {{ p = f32[12] parameter(0)\nROOT r = {}, {}\n}}",
          fmt::format(fmt::runtime(operations[k]), 0, 12 * members, 12 / members), modes[mode]);
      SCOPED_TRACE(text);
      const Result<std::unique_ptr<Module>> module = ParseHlo(text);
      ASSERT_TRUE(module.ok()) << Place(module.status());
      const std::string groups = GroupsOf(**module);
      const Result<std::string> printed = mlir::PrintStablehlo(**module);
      ASSERT_TRUE(printed.ok()) << printed.status().message();
      const Result<std::unique_ptr<Module>> again = ReadStablehlo(*printed);
      ASSERT_TRUE(again.ok()) << Place(again.status()) << *printed;
      EXPECT_EQ(GroupsOf(**again), groups) << *printed;
      const Result<std::unique_ptr<Module>> hlo = ParseHlo(PrintHlo(**again));
      ASSERT_TRUE(hlo.ok()) << Place(hlo.status());
      EXPECT_EQ(GroupsOf(**hlo), groups);
    }
  }
}

std::string PrintedAgain(std::string_view text) {
  const Result<std::unique_ptr<Module>> module = ReadStablehlo(text);
  if (!module.ok()) return Place(module.status());
  RemoveDeadCode(**module);  // constants that were attributes
  const Result<std::string> printed = mlir::PrintStablehlo(**module);
  return printed.ok() ? *printed : printed.status().message();
}

// Text and bytecode of a program of every opcode are read as they were printed.
TEST(StablehloFormsTest, EveryOpcodeIsReadAsItIsPrinted) {
  std::set<std::string> without;
  for (const std::string& text : OpcodePrograms()) {
    SCOPED_TRACE(text);
    const Result<std::unique_ptr<Module>> module = ParseHlo(text);
    ASSERT_TRUE(module.ok()) << Place(module.status());
    for (const ChloForms chlo : {ChloForms::kKept, ChloForms::kExpanded}) {
      const Result<std::unique_ptr<Module>> forms = WithStablehloForms(**module, chlo);
      const Result<std::string> printed = forms.ok() ? mlir::PrintStablehlo(**forms) : forms.status();
      if (!printed.ok()) {
        EXPECT_EQ(printed.status().code(), StatusCode::kUnsupported) << printed.status().message();
        without.insert(std::string(OpcodeText((*module)->entry()->root()->opcode())));
        continue;
      }
      const std::string live = PrintedAgain(*printed);
      EXPECT_EQ(PrintedAgain(live), live);
      if (chlo == ChloForms::kKept) continue;
      const Result<mlir::Program> program = mlir::ParseMlir(*printed);
      ASSERT_TRUE(program.ok()) << Place(program.status());
      const Result<std::string> bytecode = mlir::WriteBytecode(*program, mlir::kNewestVhlo);
      ASSERT_TRUE(bytecode.ok()) << bytecode.status().message();
      EXPECT_EQ(PrintedAgain(*bytecode), live);
    }
  }
  // Smallest elements; a collective-permute in place; custom calls with a window.
  EXPECT_THAT(without, ::testing::ElementsAre("collective-permute-done", "custom-call", "dynamic-reshape",
                                              "ragged-all-to-all", "rng-get-and-update-state", "shuffle", "topk"));
}

// What StableHLO orders by partitions stays so on the way through HLO text.
TEST(StablehloFormsTest, AnOrderByPartitionsSurvivesHlo) {
  const Result<std::unique_ptr<Module>> module = ReadStablehlo(R"(
module @m attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 2 : i32} {
func.func @main(%x: tensor<4xf32>) -> tensor<24xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<24xf32>
  return %0 : tensor<24xf32>
}
})");
  ASSERT_TRUE(module.ok()) << Place(module.status());
  EXPECT_THAT(GroupsOf(**module), ::testing::StartsWith("[3,0,4,1,5,2]"));
  const Result<std::unique_ptr<Module>> hlo = ParseHlo(PrintHlo(**module));
  ASSERT_TRUE(hlo.ok()) << Place(hlo.status());
  const Result<std::string> printed = mlir::PrintStablehlo(**hlo);
  ASSERT_TRUE(printed.ok()) << printed.status().message();
  EXPECT_THAT(*printed, ::testing::Not(::testing::HasSubstr("use_global_device_ids")));
  const Result<std::unique_ptr<Module>> again = ReadStablehlo(*printed);
  ASSERT_TRUE(again.ok()) << Place(again.status());
  EXPECT_EQ(GroupsOf(**again), GroupsOf(**module));
}

// Each operand goes to one member of a group; StableHLO's all_to_all splits each of its operands.
TEST(StablehloFormsTest, OperandsOfAnAllToAllAreItsBlocks) {
  const Result<std::unique_ptr<Module>> module = ParseHlo(R"(HloModule m, replica_count=2
ENTRY main {
  a = f32[3] parameter(0)
  b = f32[3] parameter(1)
  ROOT t = (f32[3], f32[3]) all-to-all(a, b), replica_groups={{0,1}}
})");
  ASSERT_TRUE(module.ok()) << Place(module.status());
  EXPECT_THAT(mlir::PrintStablehlo(**module).status().message(), testing::HasSubstr("each goes to one member"));
  const Result<std::unique_ptr<Module>> forms = WithStablehloForms(**module, ChloForms::kKept);
  ASSERT_TRUE(forms.ok());
  const Result<std::string> printed = mlir::PrintStablehlo(**forms);
  ASSERT_TRUE(printed.ok()) << printed.status().message();
  EXPECT_THAT(*printed, testing::HasSubstr("split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : "
                                           "i64}> : (tensor<2x3xf32>) -> (tensor<2x3xf32>)"));
  EXPECT_TRUE(ReadStablehlo(*printed).ok()) << *printed;
}

TEST(StablehloFormsTest, ScansAndRaggedProductsAreThoseOfChloOrExpanded) {
  EXPECT_EQ(Converted(R"(m = f32[3,2] parameter(0)
z = f32[2] constant({0, 1})
sc = (f32[3,2], f32[2]) scan(m, z), dimensions={0}, num_carries=1, to_apply=running
s = f32[3,2] get-tuple-element(sc), index=0
g = f32[2,2,1] constant({{{1},{0}},{{0},{1}}})
sizes = s32[2] constant({1, 2})
ROOT d = f32[3,1] ragged-dot(s, g, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0})",
                      {Floats(Shape(ElementType::kF32, {3, 2}))}),
            "{ {-1}, {3}, {7} }");
}

TEST(StablehloFormsTest, BitcastsAndStochasticConversionsAreOtherOperations) {
  EXPECT_EQ(Converted(R"(m = f32[2,3]{0,1} parameter(0)
f = f32[3,2]{1,0} fusion(m), kind=kLoop, calls=turned
b = s32[6] bitcast(f)
r = u32[3,2] constant({{0, 4294967295}, {0, 0}, {0, 0}})
c = bf16[3,2] stochastic-convert(f, r)
ROOT t = (f32[3,2], s32[6], bf16[3,2]) tuple(f, b, c))",
                      {Floats(Shape(ElementType::kF32, {2, 3}))}),
            "({ {-1, 2}, {0, 3}, {1, 4} }, {-1082130432, 1073741824, 0, 1077936128, 1065353216, 1082130432}, { {-1, "
            "2}, {0, 3}, {1, 4} })");
}

}  // namespace stablehlo_forms_test
}  // namespace VXLA_NAMESPACE
