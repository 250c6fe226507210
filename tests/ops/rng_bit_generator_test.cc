// rng-bit-generator on the device: the reference's bits, for every type, shape and algorithm.
#include <fmt/format.h>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace rng_bit_generator_test {

using enum ElementType;

Literal State(int words, uint64_t seed) {
  Literal state(Shape(kU64, {words}));
  // The second word and, of three, the third carry over: the counter passes 2^32 and 2^64.
  const uint64_t values[] = {seed * 0x9E3779B97F4A7C15u, 0xFFFFFFFFFFFFFFF9u, 0x00000000FFFFFFFFu, 7};
  for (int i = 0; i < words; ++i) state.SetInt(i, static_cast<int64_t>(values[i]));
  return state;
}

void Check(const std::string& shape, const std::string& algorithm, int words) {
  SCOPED_TRACE(fmt::format("{} {} u64[{}]", shape, algorithm, words));
  RunOptions exact;
  exact.tolerance = Tolerance{};
  RunBoth(fmt::format("ENTRY e {{ s = u64[{0}] parameter(0)\n"
                      "ROOT r = (u64[{0}], {1}) rng-bit-generator(s), algorithm={2} }}",
                      words, shape, algorithm),
          {State(words, 3)}, exact);
}

class RngBitGeneratorTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RngBitGeneratorTest, EveryType) {
  const int words = GetParam() == "rng_three_fry" ? 2 : 3;
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type) || IsComplex(type) || type == kPred || !HasIntegerOfItsWidth(type)) continue;
    Check(fmt::format("{}[6,5]", ElementTypeName(type)), GetParam(), words);
  }
}

TEST_P(RngBitGeneratorTest, EveryShape) {
  for (const std::string shape :
       {"u32[1]", "u32[7]", "u32[0]", "u32[3,0,5]", "u32[3,5,7]", "u32[5,3]", "u32[3,4,5]", "u64[3,5,7]",
        "u32[2,1,3,1,5,3]", "u16[1021]", "f32[70001]", "s64[4099]", "u64[1]", "u32[]", "u8[]", "f64[]"}) {
    Check(shape, GetParam(), 2);
  }
}

TEST_P(RngBitGeneratorTest, EveryState) {
  const int most = GetParam() == "rng_three_fry" ? 2 : GetParam() == "rng_philox" ? 3 : 4;
  for (int words = 2; words <= most; ++words) Check("u32[9,3]", GetParam(), words);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, RngBitGeneratorTest,
                         ::testing::Values("rng_three_fry", "rng_philox", "rng_default"),
                         [](const auto& info) { return info.param; });

// The counter goes on from call to call, in a loop too.
TEST(RngBitGeneratorLoopTest, TheStateGoesRound) {
  for (const std::string algorithm : {"rng_three_fry", "rng_philox"}) {
    RunOptions exact;
    exact.tolerance = Tolerance{};
    RunBoth(fmt::format(R"(body {{ t = (s32[], u64[2], u32[5]) parameter(0)  i = s32[] get-tuple-element(t), index=0
  s = u64[2] get-tuple-element(t), index=1  x = u32[5] get-tuple-element(t), index=2  one = s32[] constant(1)
  j = s32[] add(i, one)  r = (u64[2], u32[5]) rng-bit-generator(s), algorithm={}
  n = u64[2] get-tuple-element(r), index=0  b = u32[5] get-tuple-element(r), index=1  y = u32[5] xor(x, b)
  ROOT o = (s32[], u64[2], u32[5]) tuple(j, n, y) }}
more {{ t = (s32[], u64[2], u32[5]) parameter(0)  i = s32[] get-tuple-element(t), index=0  n = s32[] constant(6)
  ROOT l = pred[] compare(i, n), direction=LT }}
ENTRY e {{ s = u64[2] parameter(0)  x = u32[5] parameter(1)  z = s32[] constant(0)
  t = (s32[], u64[2], u32[5]) tuple(z, s, x)  ROOT w = (s32[], u64[2], u32[5]) while(t), condition=more, body=body }})",
                        algorithm),
            {State(2, 5), RandomLiteral(Shape(kU32, {5}), 2)}, exact);
  }
}

}  // namespace rng_bit_generator_test
}  // namespace VXLA_NAMESPACE::testing
