// Regions of scalars that hold arrays and loops, as HLO text states them.
#include <gtest/gtest.h>

#include "core/passes/base/verifier.h"
#include "core/passes/expand/expanders.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// The program with scalars in its regions.
std::string Scalarized(const std::string& text) {
  const auto module = ParseHlo(text);
  if (!module.ok()) return module.status().message();
  if (const Status status = Verify(**module); !status.ok()) return status.message();
  EXPECT_TRUE(ScalarizeRegions(**module)) << text;
  return PrintHlo(**module);
}

// 0 to 5 by what `lines` make `ka` and `kb` of a and b.
std::vector<int64_t> SortedBy(const std::string& lines, const std::string& computations = {}) {
  const std::string comparator = computations + "less { a = s32[] parameter(0)\n b = s32[] parameter(1)\n" + lines +
                                 "\n ROOT p = pred[] compare(ka, kb), direction=LT }\n";
  return Integers(RunText(Scalarized(Entry("x = s32[6] parameter(0)\n ROOT r = s32[6] sort(x), dimensions={0}, "
                                           "is_stable=true, to_apply=less",
                                           comparator)),
                          {Ints(ElementType::kS32, {6}, {0, 1, 2, 3, 4, 5})}));
}

TEST(ScalarRegionsTest, TablesThatValuesIndex) {
  EXPECT_EQ(SortedBy(R"(
  table = s32[6] constant({3, 9, 1, 7, 5, 8})
  wa = s32[1] dynamic-slice(table, a), dynamic_slice_sizes={1}
  ka = s32[] reshape(wa)
  wb = s32[1] dynamic-slice(table, b), dynamic_slice_sizes={1}
  kb = s32[] reshape(wb))"),
            (std::vector<int64_t>{2, 0, 4, 3, 5, 1}));
}

TEST(ScalarRegionsTest, UpdatesAtIndicesThatArePartlyOutOfRange) {
  // The keys are one place of a table after an update at the value.
  const auto keys = [](const std::string& update, const std::string& place) {
    std::string lines = " table = s32[4] constant({50, 10, 40, 20})\n one = s32[1] constant({" + update + "})";
    for (const std::string of : {"a", "b"}) {
      lines += "\n u" + of + " = s32[4] dynamic-update-slice(table, one, " + of + ")\n f" + of + " = s32[1] slice(u" +
               of + "), slice={" + place + "}\n k" + of + " = s32[] reshape(f" + of + ")";
    }
    return lines;
  };
  EXPECT_EQ(SortedBy(keys("60", "[0:1]")), (std::vector<int64_t>{1, 2, 3, 4, 5, 0}));
  // The start is clamped: 4 and 5 write where 3 does.
  EXPECT_EQ(SortedBy(keys("15", "[3:4]")), (std::vector<int64_t>{3, 4, 5, 0, 1, 2}));
}

TEST(ScalarRegionsTest, ScattersLeaveOutWhatIsOutOfRange) {
  // Index 9 writes nowhere; both of index 1 add to what `a` put there: -a + 3 + 4.
  const std::string sum = "sum { l = s32[] parameter(0)\n r = s32[] parameter(1)\n ROOT s = s32[] add(l, r) }\n";
  const auto key = [](const std::string& of, const std::string& to) {
    std::string lines = R"(
  nX = s32[] negate(X)
  mX = s32[3] broadcast(nX), dimensions={}
  sX = s32[3] scatter(mX, at, add), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=sum
  wX = s32[1] slice(sX), slice={[1:2]}
  kX = s32[] reshape(wX))";
    for (size_t at; (at = lines.find(of)) != std::string::npos;) lines.replace(at, 1, to);
    return lines;
  };
  EXPECT_EQ(SortedBy(" at = s32[3,1] constant({{1},{9},{1}})\n add = s32[3] constant({3, 500, 4})" + key("X", "a") +
                         key("X", "b"),
                     sum),
            (std::vector<int64_t>{5, 4, 3, 2, 1, 0}));
}

TEST(ScalarRegionsTest, ScattersOfSeveralArrays) {
  // The second result at 0 is its own update less what the first held.
  const std::string both =
      "both { l = s32[] parameter(0)\n m = s32[] parameter(1)\n p = s32[] parameter(2)\n"
      " q = s32[] parameter(3)\n d = s32[] subtract(q, l)\n"
      " ROOT t = (s32[], s32[]) tuple(p, d) }\n";
  EXPECT_EQ(SortedBy(R"(
  at = s32[1,1] constant({{0}})
  u = s32[1] constant({7})
  va = s32[2] broadcast(a), dimensions={}
  ta = (s32[2], s32[2]) scatter(va, va, at, u, u), update_window_dims={}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both
  ra = s32[2] get-tuple-element(ta), index=1
  wa = s32[1] slice(ra), slice={[0:1]}
  ka = s32[] reshape(wa)
  seven = s32[] constant(7)
  kb = s32[] subtract(seven, b))",
                     both),
            (std::vector<int64_t>{5, 4, 3, 2, 1, 0}));
}

TEST(ScalarRegionsTest, LoopsThatConstantsCount) {
  // Three rounds of x = 5 x + 1 modulo 6 on a carried array of two.
  const std::string loop = R"(
more { s = (s32[], s32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  five = s32[2] constant({5, 1})
  m = s32[2] multiply(x, five)
  ones = s32[2] constant({1, 1})
  y = s32[2] add(m, ones)
  six = s32[2] constant({6, 600})
  z = s32[2] remainder(y, six)
  ROOT r = (s32[], s32[2]) tuple(j, z) }
)";
  EXPECT_EQ(SortedBy(R"(
  zero = s32[] constant(0)
  va = s32[2] broadcast(a), dimensions={}
  ia = (s32[], s32[2]) tuple(zero, va)
  la = (s32[], s32[2]) while(ia), condition=more, body=body
  ra = s32[2] get-tuple-element(la), index=1
  wa = s32[1] slice(ra), slice={[0:1]}
  ka = s32[] reshape(wa)
  vb = s32[2] broadcast(b), dimensions={}
  ib = (s32[], s32[2]) tuple(zero, vb)
  lb = (s32[], s32[2]) while(ib), condition=more, body=body
  rb = s32[2] get-tuple-element(lb), index=1
  wb = s32[1] slice(rb), slice={[0:1]}
  kb = s32[] reshape(wb))",
                     loop),
            (std::vector<int64_t>{1, 0, 5, 4, 3, 2}));
}

TEST(ScalarRegionsTest, SumsInAReducer) {
  const Literal r = RunText(
      Scalarized(Entry(
          "x = s32[2,3] parameter(0)\n z = s32[] constant(0)\n ROOT r = s32[2] reduce(x, z), dimensions={1}, "
          "to_apply=f",
          "add { l = s32[] parameter(0)\n r = s32[] parameter(1)\n ROOT s = s32[] add(l, r) }\n"
          "f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n one = s32[1] reshape(a)\n two = s32[1] reshape(b)\n"
          " both = s32[2] concatenate(one, two), dimensions={0}\n z = s32[] constant(0)\n"
          " ROOT r = s32[] reduce(both, z), dimensions={0}, to_apply=add }\n")),
      {Ints(ElementType::kS32, {2, 3}, {1, 2, 3, 10, 20, 30})});
  EXPECT_EQ(Integers(r), (std::vector<int64_t>{6, 60}));
}

TEST(ScalarRegionsTest, ScalarsStay) {
  const auto module = ParseHlo(
      Entry("x = f32[3] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f",
            "f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"));
  ASSERT_TRUE(module.ok() && Verify(**module).ok());
  EXPECT_FALSE(ScalarizeRegions(**module));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
