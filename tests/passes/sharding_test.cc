// Propagation of shardings, the programs of devices that follow, and what they exchange.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/passes/base/verifier.h"
#include "core/passes/sharding/exchange_cost.h"
#include "core/passes/sharding/partitioner.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/support/joined_products.h"

namespace VXLA_NAMESPACE {
namespace sharding_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;

struct Sharded {
  std::unique_ptr<Module> module;
  StatedShardings stated;
  int64_t devices = 1;

  // Parameters by number, results by leaf, copies by name; "-": nothing is said.
  Sharded(const std::string& body, const std::vector<std::string>& parameters,
          const std::vector<std::string>& results = {},
          const std::vector<std::pair<std::string, std::string>>& constraints = {},
          std::vector<MeshAxis> axes = {{"x", 2}, {"y", 4}}) {
    auto parsed = ParseHlo("HloModule m\n" + body);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    module = *std::move(parsed);
    auto mesh = std::make_shared<const DeviceMesh>(DeviceMesh{std::move(axes), {}});
    devices = MeshAtoms(*mesh).devices();
    stated.mesh = mesh;
    for (const std::string& said : parameters)
      stated.parameters.push_back(said == "-" ? std::nullopt : std::optional(Said(mesh, said)));
    for (const std::string& said : results)
      stated.results.push_back(said == "-" ? std::nullopt : std::optional(Said(mesh, said)));
    for (const auto& instruction : module->entry()->instructions()) {
      for (const auto& [name, said] : constraints) {
        if (instruction->name() == name) stated.constraints.emplace(instruction.get(), Said(mesh, said));
      }
    }
  }

  // How the instruction lies.
  std::string Of(const std::string& name) const {
    StatedShardings listed = stated;
    listed.lists_arrays = true;
    const auto made = Partition(*module, listed);
    EXPECT_TRUE(made.ok()) << made.status().message();
    const std::string& text = made->arrays;
    const size_t at = ("\n" + text).find("\n" + name + " = ");
    if (at == std::string::npos) return "(none)";
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const size_t from = line.find(" [") + 1;
    return line.substr(from, line.rfind(": ") - from);
  }
  // What a device runs.
  std::string Device() const {
    auto made = Partition(*module, stated);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return {};
    made->module->mutable_attributes().num_partitions = devices;
    const Status valid = Verify(*made->module);
    EXPECT_TRUE(valid.ok()) << valid.message();
    return PrintHlo(*made->module) + ExchangeText(*made->module);
  }
};

// ---- propagation

TEST(PropagationTest, ShardingsGoThroughDimensionsThatGoTogether) {
  const Sharded s(R"(ENTRY e {
  a = f32[8,16] parameter(0)
  t = f32[16,8] transpose(a), dimensions={1,0}
  b = f32[16,8,4] broadcast(t), dimensions={0,1}
  r = f32[128,4] reshape(b)
  ROOT n = f32[128,4] negate(r)
})",
                  {"x|y"});
  EXPECT_EQ(s.Of("t"), "[{y}, {x}]");
  EXPECT_EQ(s.Of("b"), "[{y}, {x}, {}]");
  EXPECT_EQ(s.Of("n"), "[{y, 4 parts of 8: x}, {}]");  // 8 columns behind each of a device's 4 rows
}

TEST(PropagationTest, ItGoesBackToWhatIsNotSaid) {
  const Sharded s("ENTRY e {\n  a = f32[8,16] parameter(0)\n  n = f32[8,16] negate(a)\n  ROOT m = f32[8,16] abs(n)\n}",
                  {"-"}, {"|y"});
  EXPECT_EQ(s.Of("a"), "[{}, {y}]");
  EXPECT_EQ(s.Of("n"), "[{}, {y}]");
}

TEST(PropagationTest, ClosedDimensionsStayAndOpenOnesTakeMore) {
  const std::string body =
      "ENTRY e {\n  a = f32[8,16] parameter(0)\n  b = f32[8,16] parameter(1)\n  ROOT c = f32[8,16] add(a, b)\n}";
  EXPECT_EQ(Sharded(body, {"x|y", "|"}).Of("b"), "[{}, {}]");
  EXPECT_EQ(Sharded(body, {"x|y", "?|"}).Of("b"), "[{x}, {}]");
  EXPECT_EQ(Sharded(body, {"x|y", "?|?"}).Of("b"), "[{x}, {y}]");
  EXPECT_EQ(Sharded(body, {"x y|", "x?|"}).Of("b"), "[{x, y}, {}]");
  EXPECT_EQ(Sharded(body, {"x|y", "|"}).Of("c"), "[{x}, {y}]");
}

// What is said with a smaller priority is there first.
TEST(PropagationTest, PrioritiesDecideConflicts) {
  const std::string body =
      "ENTRY e {\n  a = f32[8,8] parameter(0)\n  b = f32[8,8] parameter(1)\n  ROOT c = f32[8,8] add(a, b)\n}";
  EXPECT_EQ(Sharded(body, {"xp0|", "yp1|"}).Of("c"), "[{x}, {}]");
  EXPECT_EQ(Sharded(body, {"xp1|", "yp0|"}).Of("c"), "[{y}, {}]");
  EXPECT_EQ(Sharded(body, {"xp2|", "|xp1"}).Of("c"), "[{}, {x}]");
}

TEST(PropagationTest, ReplicatedAxesCutNothing) {
  Sharded s("ENTRY e {\n  a = f32[8,8] parameter(0)\n  b = f32[8,8] parameter(1)\n  ROOT c = f32[8,8] add(a, b)\n}",
            {"x|y", "?|?"});
  s.stated.parameters[1]->replicated.push_back({"x"});
  EXPECT_EQ(s.Of("b"), "[{}, {y}]");
}

TEST(PropagationTest, OnlyWhatDividesIsTaken) {
  const Sharded s(
      "ENTRY e {\n  a = f32[8,6] parameter(0)\n  r = f32[48] reshape(a)\n  t = f32[6,8] transpose(a), "
      "dimensions={1,0}\n  s = f32[6,4] slice(t), slice={[0:6], [0:4]}\n  ROOT z = (f32[48], f32[6,4]) tuple(r, "
      "s)\n}",
      {"y|x"});
  EXPECT_EQ(s.Of("r"), "[{y, 2 parts of 6: x}]");
  EXPECT_EQ(s.Of("t"), "[{x}, {y}]");
  EXPECT_EQ(s.Of("s"), "[{x}, {y}]");  // what stays of a dimension is cut as all of it was
}

// JAX cannot name a part of an axis.
TEST(PropagationTest, ArgumentsAndResultsTakeWholeAxes) {
  const std::string text = "ENTRY e {\n  a = f32[8,16] parameter(0)\n  ROOT r = f32[8,2,8] reshape(a)\n}";
  EXPECT_EQ(Sharded(text, {"x|y"}).Of("r"), "[{x}, {y:(1)2}, {y:(2)2}]");
  EXPECT_EQ(Sharded(text, {"x|y"}).Of("result 0"), "[{x}, {}, {}]");
}

TEST(PropagationTest, LoopsAndBranchesHoldWhatGoesIntoThem) {
  const Sharded s(R"(c { p = (s32[], f32[8,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
b { p = (s32[], f32[8,4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[8,4] get-tuple-element(p), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  w = f32[8,4] negate(v)
  ROOT t = (s32[], f32[8,4]) tuple(j, w) }
ENTRY e {
  a = f32[8,4] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[8,4]) tuple(z, a)
  l = (s32[], f32[8,4]) while(t), condition=c, body=b
  ROOT v = f32[8,4] get-tuple-element(l), index=1
})",
                  {"x|y"});
  EXPECT_EQ(s.Of("l#1"), "[{x}, {y}]");
  const std::string device = s.Device();
  EXPECT_THAT(device, HasSubstr("w = f32[4,1] negate"));
  EXPECT_THAT(device, HasSubstr("no exchanges"));
}

// ---- the programs of devices

std::string DotOf(const std::string& lhs, const std::string& rhs, const std::string& result, int depth = 8) {
  return Sharded(
             fmt::format(
                 "ENTRY e {{\n  a = f32[16,{0}] parameter(0)\n  b = f32[{0},32] parameter(1)\n  ROOT d = f32[16,32] "
                 "dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}",
                 depth),
             {lhs, rhs}, {result})
      .Device();
}

TEST(PartitionTest, ProductsBesideDividedDimensionsExchangeNothing) {
  const std::string text = DotOf("x|", "|y", "x|y");
  EXPECT_THAT(text, HasSubstr("f32[8,8] dot("));
  EXPECT_THAT(text, HasSubstr("no exchanges"));
}

TEST(PartitionTest, ProductsOverDividedDimensionsAreSummed) {
  EXPECT_THAT(DotOf("|y", "y|", "|"), HasSubstr("f32[16,32] all-reduce(d)"));
  EXPECT_THAT(DotOf("|y", "y|", "y|", 64), HasSubstr("f32[4,32] reduce-scatter(d)"));
  EXPECT_THAT(DotOf("|y", "y|", "y|", 8), HasSubstr("f32[8,32] all-gather(b)"));  // that is less to send
  EXPECT_THAT(DotOf("x|y", "y|", "x|"), HasSubstr("f32[8,32] all-reduce(d)"));
}

// The rows go on where they are: weights that lie along the same axis come together.
TEST(PartitionTest, WeightsAreGatheredWhereRowsAreDivided) {
  const std::string text = DotOf("y|", "y|", "y|");
  EXPECT_THAT(text, HasSubstr("f32[8,32] all-gather(b)"));
  EXPECT_THAT(text, HasSubstr("f32[4,32] dot("));
}

// Tokens along the axis of the weights: either may have its way, and what is smaller moves.
TEST(PartitionTest, WhatIsSaidFirstIsWhatSendsLess) {
  const auto layers = [](int rows, const std::vector<std::string>& results) {
    return Sharded(
        fmt::format("ENTRY e {{\n  a = f32[{0},16] parameter(0)\n  b = f32[16,32] parameter(1)\n"
                    "  c = f32[32,16] parameter(2)\n"
                    "  p = f32[{0},32] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                    "  ROOT q = f32[{0},16] dot(p, c), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}",
                    rows),
        {"y|", "y|", "y|"}, results);
  };
  EXPECT_EQ(layers(256, {}).Of("p"), "[{y}, {}]");
  EXPECT_THAT(layers(256, {}).Device(), AllOf(HasSubstr("all-gather: 2, 3072 bytes"), Not(HasSubstr("all-to-all"))));
  EXPECT_EQ(layers(4, {"|"}).Of("p"), "[{}, {y}]");
}

// Of products with three weights the slopes of one array, as of attention.
TEST(PartitionTest, SumsThatAreAddedAreOneSum) {
  const auto sums = [](const std::string& root) {
    std::string text = "ENTRY e {\n  r = f32[8,4] parameter(0)\n";
    for (int i = 0; i < 3; ++i) {
      text += fmt::format(
          "  a{0} = f32[8,16] parameter({1})\n  b{0} = f32[16,4] parameter({2})\n  p{0} = f32[8,4] dot(a{0}, "
          "b{0}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
          i, 1 + 2 * i, 2 + 2 * i);
    }
    return Sharded(text + "  s = f32[8,4] add(p0, r)\n  t = f32[8,4] add(s, p1)\n  u = f32[8,4] add(p2, t)\n" + root +
                       "\n}",
                   {"|", "|y", "y|", "|y", "y|", "|y", "y|"})
        .Device();
  };
  EXPECT_THAT(sums("  ROOT n = f32[8,4] negate(u)"), HasSubstr("all-reduce: 1, 192 bytes"));
  // What others want too is there alone.
  EXPECT_THAT(sums("  ROOT n = (f32[8,4], f32[8,4]) tuple(u, p1)"), HasSubstr("all-reduce: 2, 384 bytes"));
}

TEST(PartitionTest, EqualExchangesHappenOnce) {
  const std::string text =
      Sharded(
          "ENTRY e {\n  a = f32[16,8] parameter(0)\n  n = f32[16,8] negate(a)\n  m = f32[16,8] "
          "negate(a)\n  c = f32[16,8] copy(n)\n  d = f32[16,8] copy(m)\n  s = f32[16,8] sine(c)\n  "
          "ROOT r = f32[16,8] add(s, d)\n}",
          {"y|"}, {"|"}, {{"c", "|"}, {"d", "|"}})
          .Device();
  EXPECT_THAT(text, AllOf(HasSubstr("all-gather: 1, 384 bytes"), HasSubstr("add(s, all-gather)")));
}

TEST(PartitionTest, ReversedTilesChangePlaces) {
  const auto reversed = [](int size, const std::string& said) {
    return Sharded(fmt::format("ENTRY e {{\n  a = f32[{0},8] parameter(0)\n  c = f32[{0},8] copy(a)\n  r = f32[{0},8] "
                               "reverse(c), dimensions={{0,1}}\n  ROOT d = f32[{0},8] copy(r)\n}}",
                               size),
                   {"-"}, {"-"}, {{"c", said}, {"d", said}})
        .Device();
  };
  EXPECT_THAT(reversed(16, "y|"), HasSubstr("collective-permute: 1, 128 bytes"));
  EXPECT_THAT(reversed(16, "y|x"), HasSubstr("collective-permute: 2, 128 bytes"));
  // Of 3, 3, 3 and 1: two of one tile and one of another.
  EXPECT_THAT(reversed(10, "y|"),
              AllOf(HasSubstr("collective-permute: 2, 96 bytes"), HasSubstr("f32[3,8] concatenate(")));
}

TEST(PartitionTest, WhatIsReversedAndWantedWholeIsGatheredOnly) {
  const std::string text = Sharded(
                               "ENTRY e {\n  a = f32[16,8] parameter(0)\n  ROOT r = f32[16,8] reverse(a), "
                               "dimensions={0}\n}",
                               {"y|"}, {"|"})
                               .Device();
  EXPECT_THAT(text, AllOf(HasSubstr("all-gather: 1, 384 bytes"), Not(HasSubstr("collective-permute"))));
}

// JAX wants arguments and results to lie as it says, whatever their sizes; nothing else is cut where there is nothing.
TEST(PartitionTest, OnlyWhatIsSaidCutsADimensionWithoutElements) {
  const Sharded empty("ENTRY e {\n  a = f32[0,8] parameter(0)\n  ROOT b = f32[0,8] negate(a)\n}", {"x|y"}, {"x|y"});
  EXPECT_EQ(empty.Of("a"), "[{x}, {y}]");
  EXPECT_EQ(empty.Of("b"), "[{}, {y}]");
  EXPECT_EQ(empty.Of("result 0"), "[{x}, {y}]");
  EXPECT_THAT(empty.Device(), HasSubstr("no exchanges"));
  const Sharded reversed("ENTRY e {\n  a = f32[0] parameter(0)\n  ROOT b = f32[0] reverse(a), dimensions={0}\n}", {"xy"},
                         {"x"});
  EXPECT_THAT(reversed.Device(), Not(HasSubstr("collective-permute")));
}

// Where heads are no prefix of what a product computes, weights change places, and nothing else does.
TEST(PartitionTest, PartsOfJoinedProductsLieByHead) {
  for (const testing::JoinedProduct& product : testing::JoinedProducts()) {
    SCOPED_TRACE(product.name);
    const Sharded sharded(product.text, product.parameters, product.results);
    const std::string text = sharded.Device();
    EXPECT_THAT(text, Not(HasSubstr("all-gather")));
    EXPECT_THAT(text, Not(HasSubstr("all-to-all")));
    EXPECT_THAT(text, HasSubstr(product.exchanges));
    if (product.name.starts_with("attention")) {
      EXPECT_THAT(text, HasSubstr("\nall-reduce: 1, 4608 bytes"));
    }
  }
}

std::string CopyOf(const std::string& from, const std::string& to) {
  return Sharded("ENTRY e {\n  a = f32[16,8] parameter(0)\n  ROOT c = f32[16,8] copy(a)\n}", {from}, {to}).Device();
}

TEST(PartitionTest, ReshardingTakesTheCollectiveThatMovesLeast) {
  EXPECT_THAT(CopyOf("|", "x|"), HasSubstr("no exchanges"));
  EXPECT_THAT(CopyOf("y|", "y x|"), HasSubstr("no exchanges"));
  EXPECT_THAT(CopyOf("x y|", "x|"), HasSubstr("all-gather: 1, 192 bytes"));
  EXPECT_THAT(CopyOf("y|", "|y"), HasSubstr("all-to-all: 1, 96 bytes"));
  EXPECT_THAT(CopyOf("x|y", "y|x"), HasSubstr("all-gather: 1, 64 bytes"));
  EXPECT_THAT(CopyOf("x|y", "y|x"), HasSubstr("all-to-all: 1, 96 bytes"));
  EXPECT_THAT(CopyOf("x y|", "y|"), HasSubstr("collective-permute: 1, 64 bytes"));
  EXPECT_THAT(CopyOf("x y|", "y x|"), HasSubstr("collective-permute: 1, 64 bytes"));
}

TEST(PartitionTest, ReductionsJoinWhatDevicesHave) {
  const auto reduce = [](const std::string& operation, const std::string& first, const std::string& type = "f32") {
    return Sharded(fmt::format(
                       "c {{ a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT r = {0}[] {1}(a, b) }}\nENTRY e "
                       "{{\n  a = {0}[16,8] parameter(0)\n  i = {0}[] {2}\n  ROOT r = {0}[8] reduce(a, i), "
                       "dimensions={{0}}, to_apply=c\n}}",
                       type, operation, first),
                   {"y|x", "-"}, {"x"})
        .Device();
  };
  EXPECT_THAT(reduce("add", "constant(0)"), HasSubstr("ROOT all-reduce = f32[4] all-reduce(r)"));
  // What the reduction begins with counts once.
  const std::string from_five = reduce("add", "constant(5)");
  EXPECT_THAT(from_five, HasSubstr("constant(-0)"));
  EXPECT_THAT(from_five, HasSubstr("ROOT add = f32[4] add("));
  EXPECT_THAT(reduce("maximum", "parameter(1)", "s32"), HasSubstr("constant(-2147483648)"));
  EXPECT_THAT(reduce("maximum", "constant(-inf)"), HasSubstr("to_apply=maximum"));
  // Of devices that subtract nothing is known to join.
  EXPECT_THAT(reduce("subtract", "constant(0)"), HasSubstr("all-gather"));
}

// Of a table that lies in parts each device takes its rows. What is small beside what is taken of it is gathered.
TEST(PartitionTest, RowsAreTakenWhereTheyLie) {
  const auto rows = [](int table) {
    return Sharded(
               fmt::format("ENTRY e {{\n  a = f32[{},2] parameter(0)\n  i = s32[8] parameter(1)\n  ROOT g = f32[8,2] "
                           "gather(a, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
                           "index_vector_dim=1, slice_sizes={{1,2}}\n}}",
                           table),
               {"y|", "|"}, {"|"})
        .Device();
  };
  EXPECT_THAT(rows(64), HasSubstr("f32[8,2] all-reduce(select)"));
  EXPECT_THAT(rows(64), Not(HasSubstr("all-gather")));
  EXPECT_THAT(rows(8), HasSubstr("f32[8,2] all-gather(a)"));
}

TEST(PartitionTest, WindowsAndSlicesInStepsStayOnTheirDevices) {
  const Sharded s(R"(c { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
ENTRY e {
  a = f32[16,8] parameter(0)
  i = f32[] constant(-inf)
  w = f32[8,4] reduce-window(a, i), window={size=2x2 stride=2x2}, to_apply=c
  s = f32[4,4] slice(w), slice={[1:8:2], [0:4]}
  ROOT t = (f32[8,4], f32[4,4]) tuple(w, s)
})",
                  {"y|x"});
  EXPECT_EQ(s.Of("w"), "[{y}, {x}]");
  EXPECT_EQ(s.Of("s"), "[{y}, {x}]");
  EXPECT_THAT(s.Device(), HasSubstr("f32[1,2] slice(w), slice={[1:2:2], [0:2:1]}"));
  EXPECT_THAT(s.Device(), HasSubstr("no exchanges"));
}

// Parts of a dimension take what they need of the tiles beside them. What lies farther is gathered in larger tiles.
TEST(PartitionTest, PartsOfADimensionReachIntoTheTilesBesideThem) {
  const auto of = [](const std::string& operation, const std::string& result) {
    return Sharded(
               "ENTRY e {\n  a = f32[16] parameter(0)\n  z = f32[] constant(1)\n  b = f32[2] parameter(1)\n  k = f32[" +
                   result + "] " + operation + "\n  ROOT n = f32[" + result + "] negate(k)\n}",
               {"y", "-"})
        .Device();
  };
  const std::string last = of("slice(a), slice={[1:16]}", "15");
  EXPECT_THAT(last, HasSubstr("f32[1] collective-permute(slice)"));
  EXPECT_THAT(last, HasSubstr("f32[4] slice(concatenate), slice={[1:5]}"));
  EXPECT_THAT(of("slice(a), slice={[0:15]}", "15"), Not(HasSubstr("permute")));
  EXPECT_THAT(of("slice(a), slice={[3:15:3]}", "4"), HasSubstr("slice={[0:3:3]}"));
  const std::string padded = of("pad(a, z), padding=2_2", "20");
  EXPECT_THAT(padded, HasSubstr("f32[1] collective-permute"));
  EXPECT_THAT(padded, HasSubstr("constant({2, 0, 0, 0, 2, 0, 0, 0})"));  // elements of the padding in each tile
  EXPECT_THAT(padded, HasSubstr("constant({5, 5, 5, 3, 5, 5, 5, 3})"));
  EXPECT_THAT(of("concatenate(b, a), dimensions={0}", "18"), HasSubstr("f32[1] collective-permute"));
  EXPECT_THAT(of("slice(a), slice={[0:8]}", "8"), HasSubstr("f32[8] all-gather(a)"));
}

TEST(PartitionTest, WindowsOfConvolutionsReachIntoTheTilesBesideThem) {
  const std::string text = Sharded(
                               "ENTRY e {\n  a = f32[1,16,2] parameter(0)\n  k = f32[4,2,3] parameter(1)\n  ROOT c = "
                               "f32[1,16,3] convolution(a, k), window={size=4 pad=1_2}, dim_labels=b0f_0io->b0f\n}",
                               {"|y|", "||"})
                               .Device();
  EXPECT_THAT(text, HasSubstr("f32[1,1,2] collective-permute"));
  EXPECT_THAT(text, HasSubstr("f32[1,7,2] concatenate("));
  EXPECT_THAT(text, HasSubstr("f32[1,4,3] convolution(concatenate, k), window={size=4}"));
  EXPECT_THAT(text, HasSubstr("collective-permute: 2, 24 bytes"));
}

// Beyond the ends of the array windows have what they begin with, which tiles in the middle do not.
TEST(PartitionTest, WindowsOfReductionsReachIntoTheTilesBesideThem) {
  const Sharded s(R"(c { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
ENTRY e {
  a = f32[16,8] parameter(0)
  i = f32[] constant(-inf)
  w = f32[16,8] reduce-window(a, i), window={size=3x1 pad=1_1x0_0}, to_apply=c
  v = f32[8,8] reduce-window(w, i), window={size=3x1 stride=2x1 pad=0_1x0_0}, to_apply=c
  ROOT u = f32[8,8] reduce-window(v, i), window={size=8x1 pad=7_0x0_0}, to_apply=c
})",
                  {"y|x"});
  EXPECT_EQ(s.Of("w"), "[{y}, {x}]");
  EXPECT_EQ(s.Of("v"), "[{y}, {x}]");
  const std::string text = s.Device();
  EXPECT_THAT(text, HasSubstr("f32[1,4] collective-permute("));
  EXPECT_THAT(text, HasSubstr("f32[6,4] concatenate("));
  EXPECT_THAT(text, HasSubstr("constant({1, 0, 0, 0, 1, 0, 0, 0})"));  // elements before the array
  EXPECT_THAT(text, HasSubstr("f32[4,4] reduce-window(select.1, i), window={size=3x1}"));
  EXPECT_THAT(text, HasSubstr("f32[5,4] concatenate("));
  EXPECT_THAT(text, HasSubstr("window={size=3x1 stride=2x1}"));
  EXPECT_THAT(text, HasSubstr("f32[4,4] all-gather(v)"));  // farther than the next tile: in larger ones
  EXPECT_THAT(text, HasSubstr("f32[4,4] reduce-window(select.3, i), window={size=8x1}"));
}

// Ten rows are tiles of three, of which the last one is filled up. What is given and what comes out has equal tiles.
TEST(PartitionTest, TilesOfADimensionThatIsNotDividedAreFilledUp) {
  const Sharded s(R"(c { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
ENTRY e {
  a = f32[10,8] parameter(0)
  k = f32[10,8] copy(a)
  n = f32[10,8] exponential(k)
  i = f32[] constant(-inf)
  m = f32[8] reduce(n, i), dimensions={0}, to_apply=c
  d = f32[8,8] dot(n, n), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  w = f32[10,8] reduce-window(n, i), window={size=3x1 pad=1_1x0_0}, to_apply=c
  ROOT t = (f32[10,8], f32[8], f32[8,8]) tuple(w, m, d)
})",
                  {"-"}, {"-", "-", "-"}, {{"k", "y|"}});
  EXPECT_EQ(s.Of("a"), "[{}, {}]");
  EXPECT_EQ(s.Of("n"), "[{y}, {}]");
  EXPECT_EQ(s.Of("w"), "[{y}, {}]");
  const std::string text = s.Device();
  EXPECT_THAT(text, HasSubstr("f32[3,8] exponential("));
  EXPECT_THAT(text, HasSubstr("constant({3, 3, 3, 1, 3, 3, 3, 1})"));  // elements of the array in each tile
  EXPECT_THAT(text, HasSubstr("f32[8] reduce(select"));
  EXPECT_THAT(text, HasSubstr("f32[8,8] dot(select"));
  EXPECT_THAT(text, HasSubstr("f32[5,8] concatenate("));
  EXPECT_THAT(text, HasSubstr("f32[10,8] slice(all-gather)"));
  // Three devices of four would have nothing.
  EXPECT_EQ(Sharded("ENTRY e {\n  a = f32[1] parameter(0)\n  k = f32[1] copy(a)\n  ROOT n = f32[1] negate(k)\n}", {"-"},
                    {}, {{"k", "y"}})
                .Of("n"),
            "[{}]");
}

TEST(PartitionTest, NumbersOfPlacesAreCountedFromTheDevicesTile) {
  const std::string text =
      Sharded(
          "ENTRY e {\n  a = s32[16,8] iota(), iota_dimension=0\n  b = s32[16,8] parameter(0)\n  ROOT c "
          "= s32[16,8] add(a, b)\n}",
          {"y|x"})
          .Device();
  EXPECT_THAT(text, HasSubstr("s32[4,4] iota(), iota_dimension=0"));
  EXPECT_THAT(text, HasSubstr("constant({0, 4, 8, 12, 0, 4, 8, 12})"));
}

TEST(PartitionTest, WhatTellsWhereAValueLiesLeavesItsTilesAlone) {
  for (const char* target : {"LayoutConstraint", "annotate_device_placement", "Pin"}) {
    const std::string text = Sharded(std::string("ENTRY e {\n  a = f32[16,8] parameter(0)\n  ROOT c = f32[16,8] "
                                                 "custom-call(a), custom_call_target=\"") +
                                         target + "\"\n}",
                                     {"x|y"}, {"x|y"})
                                 .Device();
    EXPECT_THAT(text, HasSubstr("no exchanges")) << target;
  }
}

TEST(PartitionTest, WhatHasNoRuleIsGivenItsOperandsWhole) {
  const std::string text = Sharded(
                               "ENTRY e {\n  a = u64[8] parameter(0)\n  r = (u64[8], u32[16]) rng-bit-generator(a), "
                               "algorithm=rng_default\n  ROOT b = u32[16] get-tuple-element(r), index=1\n}",
                               {"x"}, {"y"})
                               .Device();
  EXPECT_THAT(text, HasSubstr("(u64[8], u32[16]) rng-bit-generator(all-gather)"));
  EXPECT_THAT(text, HasSubstr("ROOT dynamic-slice.1 = u32[4] dynamic-slice("));
}

// What begins a sum is added on the first of the devices.
TEST(PartitionTest, AddendsThatAreWantedAreNotJoined) {
  const std::string sum = "s { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n";
  const std::string reduced =
      Sharded(sum +
                  "ENTRY e {\n  a = f32[8,16] parameter(0)\n  z = f32[] constant(5)\n  r = f32[16] reduce(a, z), "
                  "dimensions={0}, to_apply=s\n  ROOT c = f32[16] copy(r)\n}",
              {"x|"}, {"+x"}, {{"c", "+x"}})
          .Device();
  EXPECT_THAT(reduced, AllOf(HasSubstr("no exchanges"), HasSubstr("select(")));
  const std::string scattered =
      Sharded(sum +
                  "ENTRY e {\n  o = f32[16] parameter(0)\n  i = s32[8,1] parameter(1)\n  u = f32[8] parameter(2)\n"
                  "  r = f32[16] scatter(o, i, u), update_window_dims={}, inserted_window_dims={0}, "
                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=s\n  ROOT c = f32[16] copy(r)\n}",
              {"", "x|", "x"}, {"+x"}, {{"c", "+x"}})
          .Device();
  EXPECT_THAT(scattered, HasSubstr("no exchanges"));
}

TEST(PartitionTest, ATileAmongZerosIsAnAddend) {
  const std::string text = Sharded("ENTRY e {\n  a = f32[8,16] parameter(0)\n  ROOT c = f32[8,16] copy(a)\n}", {"x|y"},
                                   {"|y+x"}, {{"c", "|y+x"}})
                               .Device();
  EXPECT_THAT(text, AllOf(HasSubstr("no exchanges"), HasSubstr("f32[8,4] dynamic-update-slice(")));
}

// Tokens go to the devices of their experts and come back: what a program by hand does with two all-to-alls.
TEST(PartitionTest, ExpertsAreGivenTheirTokensByAllToAll) {
  constexpr int64_t kExperts = 4, kGroups = 4, kCapacity = 8, kWidth = 16;
  const Sharded s(R"(ENTRY e {
  x = f32[4,32,16] parameter(0)
  goes = f32[4,32,4,8] parameter(1)
  up = f32[4,16,64] parameter(2)
  down = f32[4,64,16] parameter(3)
  given = f32[4,4,8,16] dot(goes, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  tokens = f32[4,4,8,16] transpose(given), dimensions={1,0,2,3}
  h = f32[4,4,8,64] dot(tokens, up), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
  z = f32[] constant(0)
  zs = f32[4,4,8,64] broadcast(z), dimensions={}
  r = f32[4,4,8,64] maximum(h, zs)
  o = f32[4,4,8,16] dot(r, down), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
  back = f32[4,4,8,16] transpose(o), dimensions={1,0,2,3}
  ROOT y = f32[4,32,16] dot(goes, back), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2,3}, rhs_contracting_dims={1,2}
})",
                  {"y||", "y|||", "y||", "y||"}, {"y||"}, {}, {{"y", kExperts}});
  const int64_t tokens = kExperts * kGroups / kExperts * kCapacity * kWidth * 4;  // bytes that a device gives
  const std::string text = s.Device();
  EXPECT_THAT(text, HasSubstr(fmt::format("all-to-all: 2, {} bytes", 2 * tokens * (kExperts - 1) / kExperts)));
  for (const char* other : {"all-gather", "all-reduce", "reduce-scatter", "collective-permute"})
    EXPECT_THAT(text, Not(HasSubstr(other)));
}

TEST(PartitionTest, ExchangesInLoopsCountAsOftenAsTheyRun) {
  const std::string loop = R"(c { p = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
b { p = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[8,8] get-tuple-element(p), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  w = f32[8,8] dot(v, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[8,8]) tuple(j, w) }
ENTRY e {
  a = f32[8,8] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[8,8]) tuple(z, a)
  l = (s32[], f32[8,8]) while(t), condition=c, body=b
  ROOT v = f32[8,8] get-tuple-element(l), index=1
})";
  EXPECT_THAT(Sharded(loop, {"x|"}).Device(), HasSubstr("all-gather: 3, 384 bytes"));
}

TEST(PartitionTest, MemoryOfADeviceIsThatOfItsTiles) {
  EXPECT_THAT(CopyOf("x|y", "x|y"), HasSubstr("memory of each device: 64 bytes of arguments, 64 of results"));
}

}  // namespace sharding_test
}  // namespace VXLA_NAMESPACE
