// What is known of a reducer by its text.
#include "core/numerics/reducer_facts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

bool Commutes(const std::string& body) {
  const auto module = ParseHlo("HloModule m\nf {\n" + body + "}\nENTRY e { ROOT z = f32[] constant(0) }\n");
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() && FactsOfReducer(*(*module)->computations().front()).commutes;
}

TEST(ReducerFactsTest, KnowsWhatCommutesByItsText) {
  const std::string one = "a = f32[] parameter(0)\nb = f32[] parameter(1)\n";
  for (const char* op : {"add", "multiply", "maximum", "minimum"}) {
    EXPECT_TRUE(Commutes(one + "ROOT r = f32[] " + op + "(a, b)\n")) << op;
    EXPECT_TRUE(Commutes(one + "ROOT r = f32[] " + op + "(b, a)\n")) << op;
  }
  EXPECT_TRUE(
      Commutes("a = bf16[] parameter(0)\nb = bf16[] parameter(1)\nx = f32[] convert(a)\ny = f32[] convert(b)\n"
               "s = f32[] add(x, y)\nROOT r = bf16[] convert(s)\n"));
  EXPECT_TRUE(Commutes(one + "x = f32[] multiply(a, a)\ny = f32[] multiply(b, b)\nROOT r = f32[] add(x, y)\n"));
  const std::string two = one + "c = f32[] parameter(2)\nd = f32[] parameter(3)\n";
  EXPECT_TRUE(Commutes(two + "s = f32[] add(a, c)\nm = f32[] maximum(d, b)\nROOT r = (f32[], f32[]) tuple(s, m)\n"));
}

TEST(ReducerFactsTest, TakesTheRestForReducersThatDoNot) {
  const std::string one = "a = f32[] parameter(0)\nb = f32[] parameter(1)\n";
  EXPECT_FALSE(Commutes(one + "ROOT r = f32[] subtract(a, b)\n"));
  EXPECT_FALSE(Commutes(one + "ROOT r = f32[] copy(a)\n"));
  EXPECT_FALSE(Commutes(one + "x = f32[] negate(a)\nROOT r = f32[] add(x, b)\n"));
  EXPECT_FALSE(Commutes(one + "p = pred[] compare(a, b), direction=GE\nROOT r = f32[] select(p, a, b)\n"));
  const std::string two = one + "c = f32[] parameter(2)\nd = f32[] parameter(3)\n";
  EXPECT_FALSE(Commutes(two + "s = f32[] add(a, b)\nm = f32[] add(c, d)\nROOT r = (f32[], f32[]) tuple(s, m)\n"));
}

TEST(ReducerFactsTest, AnswersSoonForLongReducers) {
  // Each step has two orders to try and both fail at the leaves: 2^60 comparisons without a limit.
  std::string body = "a = f32[] parameter(0)\nb = f32[] parameter(1)\nx0 = f32[] subtract(a, b)\n";
  for (int i = 0; i < 60; ++i) body += fmt::format("x{} = f32[] add(x{}, x{})\n", i + 1, i, i);
  EXPECT_FALSE(Commutes(body + "ROOT r = f32[] add(x60, a)\n"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
