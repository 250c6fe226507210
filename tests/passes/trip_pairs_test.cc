// Loops that go two trips at a time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/passes/base/control_flow.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace trip_pairs_test {

// The next x and y are `nx` and `ny` of the body.
std::string Loop(int trips, const std::string& body) {
  return fmt::format(R"(HloModule m
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
body {{ s = (s32[], f32[64], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1  y = f32[64,64] get-tuple-element(s), index=2  one = s32[] constant(1)
  j = s32[] add(i, one)  none = f32[] constant(0)
  {}
  ROOT r = (s32[], f32[64], f32[64,64]) tuple(j, nx, ny) }}
condition {{ s = (s32[], f32[64], f32[64,64]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({})  ROOT c = pred[] compare(i, n), direction=LT }}
ENTRY e {{ x = f32[64] parameter(0)  y = f32[64,64] parameter(1)  zero = s32[] constant(0)
  s = (s32[], f32[64], f32[64,64]) tuple(zero, x, y)
  ROOT w = (s32[], f32[64], f32[64,64]) while(s), condition=condition, body=body }}
)",
                     body, trips);
}

// How many trips its loop has in the end; -1: it is not known.
int64_t TripsOf(const std::string& text, bool pairs = true) {
  auto module = ParseHlo(text);
  VXLA_CHECK(module.ok(), module.status().message());
  TargetInfo target;
  target.pairs_trips = pairs;
  const auto optimized = Optimize(**module, target);
  VXLA_CHECK(optimized.ok(), optimized.status().message());
  const Status verified = Verify(**optimized);
  EXPECT_TRUE(verified.ok()) << verified.message();
  for (const auto& i : (*optimized)->entry()->instructions()) {
    if (i->opcode() == Opcode::kWhile) return i->notes().trip_count.value_or(-1);
  }
  return 0;
}

constexpr char kReversed[] = "nx = f32[64] reverse(x), dimensions={0}  ny = f32[64,64] negate(y)";
constexpr char kProduct[] =
    "nx = f32[64] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ny = f32[64,64] negate(y)";

TEST(TripPairsTest, AreOfLoopsThatWriteWhatTheyReadElsewhere) {
  EXPECT_EQ(TripsOf(Loop(32, kReversed)), 16);
  EXPECT_EQ(TripsOf(Loop(1000, kProduct)), 500);
  EXPECT_EQ(TripsOf(Loop(18,
                         "b = f32[64,64] broadcast(x), dimensions={1}  p = f32[64,64] multiply(y, b)\n"
                         "nx = f32[64] reduce(p, none), dimensions={1}, to_apply=add  ny = f32[64,64] negate(y)")),
            9);
  // (x, y) -> (x + y, x).
  std::string handed = Loop(32, "nx = f32[64] add(x, y)");
  for (size_t at; (at = handed.find("f32[64,64]")) != handed.npos;) handed.replace(at, 10, "f32[64]");
  handed.replace(handed.find("nx, ny)"), 7, "nx, x)");
  EXPECT_EQ(TripsOf(handed), 16);
  EXPECT_EQ(TripsOf(Loop(32, kReversed), false), 32);
}

TEST(TripPairsTest, AreNotOfLoopsThatNeedNone) {
  // Each element at its own place; an update in the array's place; what a kernel has left in memory between.
  EXPECT_EQ(TripsOf(Loop(32, "nx = f32[64] tanh(x)  ny = f32[64,64] negate(y)")), 32);
  EXPECT_EQ(TripsOf(Loop(32,
                         "row = f32[1,64] reshape(x)  z = s32[] constant(0)\n"
                         "ny = f32[64,64] dynamic-update-slice(y, row, i, z)  nx = f32[64] negate(x)")),
            32);
  EXPECT_EQ(TripsOf(Loop(32,
                         "d = f32[64] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                         "v = f32[64] reverse(d), dimensions={0}  nx = f32[64] add(x, v)  ny = f32[64,64] negate(y)")),
            32);
  // Reads of what it does not change.
  EXPECT_EQ(TripsOf(Loop(32,
                         "t = f32[64,64] transpose(y), dimensions={1,0}\n"
                         "q = f32[64] reduce(t, none), dimensions={0}, to_apply=add  nx = f32[64] add(x, q)\n"
                         "ny = f32[64,64] copy(y)")),
            32);
}

TEST(TripPairsTest, AskForAnEvenKnownNumberOfShortTrips) {
  EXPECT_EQ(TripsOf(Loop(33, kReversed)), 33);
  EXPECT_EQ(TripsOf(Loop(16, kReversed)), 16);
  std::string longer = "a0 = f32[64] reverse(x), dimensions={0}\n";
  for (int k = 0; k < 70; ++k)
    longer += fmt::format("a{} = f32[64] {}(a{})\n", k + 1, k % 2 == 0 ? "sine" : "cosine", k);
  EXPECT_EQ(TripsOf(Loop(32, longer + "nx = f32[64] negate(a70)  ny = f32[64,64] negate(y)")), 32);
  std::string by_data = Loop(32, kReversed);
  by_data.replace(by_data.find("n = s32[] constant(32)"), 22,
                  "x = f32[64] get-tuple-element(s), index=1  f = f32[1] slice(x), "
                  "slice={[0:1]}  g = f32[] reshape(f)  n = s32[] convert(g)");
  EXPECT_EQ(TripsOf(by_data), -1);
}

// Counters of several additions count them all, of none nothing.
TEST(TripPairsTest, TripsAreCountedOverSeveralSteps) {
  std::string text =
      Loop(33,
           "k = s32[] add(one, j)  l = s32[] subtract(k, one)  two = s32[] constant(2)  m = s32[] add(l, two)\n"
           "nx = f32[64] negate(x)  ny = f32[64,64] negate(y)");
  text.replace(text.find("tuple(j, nx"), 7, "tuple(m");
  const auto module = ParseHlo(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(StaticTripCount(*(*module)->entry()->root()), 11);
  std::string still = Loop(33, "nx = f32[64] negate(x)  ny = f32[64,64] negate(y)");
  still.replace(still.find("tuple(j, nx"), 7, "tuple(i");
  const auto endless = ParseHlo(still);
  ASSERT_TRUE(endless.ok()) << endless.status().message();
  EXPECT_EQ(StaticTripCount(*(*endless)->entry()->root()), std::nullopt);
}

}  // namespace trip_pairs_test
}  // namespace VXLA_NAMESPACE
