// scan: carries and outputs in order, backwards, several of each, slices of any rank.
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace scan_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ElementType;

const char kSum[] =
    "f { x = f32[] parameter(0)\n c = f32[] parameter(1)\n s = f32[] add(x, c)\n ROOT r = (f32[], f32[]) tuple(s, s) "
    "}\n";

TEST(ScanTest, RunningSumsForwardsAndBackwards) {
  const std::vector<Literal> p{Array(kF32, {5}, {1, 2, 3, 4, 5})};
  const Literal r = RunText(Entry("p = f32[5] parameter(0)\nz = f32[] constant(100)\n"
                                  "ROOT r = (f32[5], f32[]) scan(p, z), dimensions={0}, num_carries=1, to_apply=f",
                                  kSum),
                            p);
  EXPECT_THAT(Doubles(r.tuple_elements()[0]), ElementsAre(101, 103, 106, 110, 115));
  EXPECT_THAT(Doubles(r.tuple_elements()[1]), ElementsAre(115));
  const Literal b =
      RunText(Entry("p = f32[5] parameter(0)\nz = f32[] constant(0)\n"
                    "ROOT r = (f32[5], f32[]) scan(p, z), dimensions={0}, is_reverse=true, num_carries=1, to_apply=f",
                    kSum),
              p);
  EXPECT_THAT(Doubles(b.tuple_elements()[0]), ElementsAre(15, 14, 12, 9, 5));
}

// Inputs and outputs of other ranks beside it: each is cut along the same dimension number.
TEST(ScanTest, SlicesAlongTheMiddleOfSeveralArrays) {
  const std::string f =
      "f { x = s32[2,3] parameter(0)\n w = s32[2] parameter(1)\n c = s32[2,3] parameter(2)\n n = s32[] parameter(3)\n"
      " ws = s32[2,3] broadcast(w), dimensions={0}\n y = s32[2,3] multiply(x, ws)\n d = s32[2,3] add(c, y)\n"
      " one = s32[] constant(1)\n m = s32[] add(n, one)\n ROOT r = (s32[2,3], s32[2,3], s32[]) tuple(d, d, m) }\n";
  const Literal x = Random(kS32, {2, 4, 3}, 5), w = Random(kS32, {2, 4}, 6);
  const Literal r = RunText(
      Entry("x = s32[2,4,3] parameter(0)\nw = s32[2,4] parameter(1)\nz = s32[] constant(0)\nc = s32[2,3] broadcast(z), "
            "dimensions={}\n"
            "ROOT r = (s32[2,4,3], s32[2,3], s32[]) scan(x, w, c, z), dimensions={1}, num_carries=2, to_apply=f",
            f),
      {x, w});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      uint64_t sum = 0;  // wraps round
      for (int64_t j = 0; j < 4; ++j) {
        sum += static_cast<uint64_t>(x.GetInt((i * 4 + j) * 3 + k) * w.GetInt(i * 4 + j));
        EXPECT_EQ(r.tuple_elements()[0].GetInt((i * 4 + j) * 3 + k), static_cast<int32_t>(sum));
      }
      EXPECT_EQ(r.tuple_elements()[1].GetInt(i * 3 + k), static_cast<int32_t>(sum));
    }
  }
  EXPECT_EQ(r.tuple_elements()[2].GetInt(0), 4);
}

TEST(ScanTest, EmptyScansKeepTheCarry) {
  const Literal r = RunText(Entry("p = f32[0] parameter(0)\nz = f32[] constant(7)\n"
                                  "ROOT r = (f32[0], f32[]) scan(p, z), dimensions={0}, num_carries=1, to_apply=f",
                                  kSum),
                            {Literal(Shape(kF32, {0}))});
  EXPECT_EQ(Text(r.tuple_elements()[0].shape()), "f32[0]");
  EXPECT_THAT(Doubles(r.tuple_elements()[1]), ElementsAre(7));
}

TEST(ScanTest, RejectsAComputationThatDoesNotFit) {
  const std::string f =
      "f { x = f32[2] parameter(0)\n c = f32[2] parameter(1)\n s = f32[2] add(x, c)\n ROOT r = (f32[2], f32[2]) "
      "tuple(s, s) }\n";
  EXPECT_THAT(TryRun(Entry("p = f32[5] parameter(0)\nz = f32[2] constant({0, 0})\n"
                           "ROOT r = (f32[5], f32[2]) scan(p, z), dimensions={0}, num_carries=1, to_apply=f",
                           f),
                     {Random(kF32, {5}, 1)})
                  .status()
                  .message(),
              HasSubstr("is no slice of f32[5] along dimension 0"));
}

}  // namespace scan_test
}  // namespace VXLA_NAMESPACE::testing
