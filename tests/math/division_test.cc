// Division and square root in integers (what kernels do where the device's own are not correctly rounded) against the
// processor's own, and the same from guesses as bad as devices may give.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <glm/vec2.hpp>
#include <random>

#include "tests/math/shader_words.h"
#include "tests/math/ulp.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace VXLA_NAMESPACE {
namespace {

// The text once more, with guesses that are up to kGuessUnits units off: Vulkan allows 2.5 for a quotient, and for a
// root, that is 1 / (1 / sqrt) there, not quite 5.
namespace rough {

constexpr int kGuessUnits = 5;

using namespace shader_words;
using f64_t = double;
using u64_t = uvec2;
using i64_t = uvec2;
using D = double;
float quotient_guess_f32(float a, float b) { return Spoilt(a / b, kGuessUnits); }
float root_guess_f32(float a) { return Spoilt(std::sqrt(a), kGuessUnits); }

#define VXLA_OWN_GUESSES
#define VXLA_CORRECT_F32
#define VXLA_EMULATE_I64
// clang-format off
// NOLINTBEGIN(bugprone-suspicious-include)
#include "shaders/include/math/prelude.glsl"
#include "shaders/include/math/select.glsl"
#include "shaders/include/math/f32.glsl"
#include "shaders/include/math/wide_int.glsl"
#include "shaders/include/math/soft_double.glsl"
// NOLINTEND
// clang-format on
#undef VXLA_OWN_GUESSES
#undef VXLA_CORRECT_F32
#undef VXLA_EMULATE_I64

}  // namespace rough

namespace sm = shader_math;

template <typename T>
bool Same(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
}

glm::uvec2 Unpack(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}
double Pack(glm::uvec2 words) { return std::bit_cast<double>(uint64_t{words.y} << 32 | words.x); }

// Points of every kind, half of the pairs with quotients next to a tie, or roots.
template <typename T>
class Operands {
 public:
  explicit Operands(uint64_t seed) : as_(seed), bs_(seed + 1), random_(seed + 2) {}
  std::pair<T, T> Next() {
    const uint64_t r = random_();
    if (r % 4 != 0) return {as_.Next(), r % 4 == 1 ? std::bit_cast<T>(static_cast<Bits>(random_())) : bs_.Next()};
    const T unit = std::numeric_limits<T>::epsilon(), j = static_cast<T>(r >> 8 & 4095),
            k = static_cast<T>(r >> 20 & 4095);
    const int low = std::numeric_limits<T>::min_exponent, shift = static_cast<int>(r >> 32 & 15);
    switch (r >> 2 & 3) {
      case 0:
        return {1 + j * unit, 1 - (k + T(0.5)) * unit};
      case 1:
        return {1 + (2 * j + 1) * unit, 4 - k * unit};
      case 2:  // a denormal quotient of few bits: ties
        return {std::ldexp(1 + j * 1024 * unit, low + shift), std::ldexp(T(1 + (r >> 40 & 15)), 10)};
      default:
        return {std::ldexp(j, low - std::numeric_limits<T>::digits), std::ldexp(k + 1, -shift)};
    }
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Points<T> as_, bs_;
  std::mt19937_64 random_;
};

int64_t Count(int64_t usual) { return std::getenv("VXLA_TEST_LONG") != nullptr ? 100 * usual : usual; }

template <typename T>
void ExpectCorrect(T (*divide)(T, T), T (*root)(T), int64_t count) {
  auto check = [&](T a, T b) {
    if (!Same(divide(a, b), a / b)) ADD_FAILURE() << a << " / " << b << " = " << a / b << ", not " << divide(a, b);
    if (!Same(root(a), std::sqrt(a))) ADD_FAILURE() << "sqrt " << a << " = " << std::sqrt(a) << ", not " << root(a);
  };
  const std::vector<T> special = SpecialValues<T>();
  for (T a : special) {
    for (T b : special) check(a, b);
  }
  Operands<T> operands(17);
  for (int64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const auto [a, b] = operands.Next();
    check(a, b);
  }
}

TEST(CorrectedDivisionTest, OfF32IsTheProcessorsOwn) {
  ExpectCorrect<float>(sm::corrected_divide_f32, sm::corrected_sqrt_f32, Count(1000000));
}

TEST(CorrectedDivisionTest, OfF64IsTheProcessorsOwn) {
  ExpectCorrect<double>([](double a, double b) { return Pack(sm::quotient_words(Unpack(a), Unpack(b))); },
                        [](double a) { return Pack(sm::sqrt_words(Unpack(a))); }, Count(1000000));
}

// What no integers are needed for has the same bits everywhere, those of the one NaN too.
TEST(CorrectedDivisionTest, SpecialValuesOfF32HaveTheirBits) {
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  const auto expected = [&](float x) { return std::isnan(x) ? 0x7fc00000u : bits(x); };
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> values = SpecialValues<float>();
  for (const uint32_t word : {0x7f800001u, 0x7fffffffu, 0x7fc12345u}) values.push_back(std::bit_cast<float>(word));
  for (const float x : {0.0f, inf, std::bit_cast<float>(1u), 1e-40f, 1e-30f, 1.5f, 1e30f, 3.4e38f}) values.push_back(x);
  for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  for (const float a : values) {
    EXPECT_EQ(bits(sm::corrected_sqrt_f32(a)), expected(std::sqrt(a))) << a;
    EXPECT_EQ(bits(rough::sqrt_plain_f32(a)), expected(std::sqrt(a))) << a;
    for (const float b : values) {
      EXPECT_EQ(bits(sm::corrected_divide_f32(a, b)), expected(a / b)) << a << " / " << b;
      EXPECT_EQ(bits(rough::divide_f32(a, b)), expected(a / b)) << a << " / " << b;
    }
  }
}

TEST(CorrectedDivisionTest, StandsBadGuessesOfF32) {
  ExpectCorrect<float>(rough::divide_f32, rough::sqrt_plain_f32, Count(1000000));
}

// Without a fused multiply-add, of finite numbers over normal ones: a quotient that is not normal gives a zero.
TEST(CorrectedDivisionTest, OfTheMiddleStandsBadGuessesOfF32) {
  Operands<float> operands(19);
  int64_t compared = 0;
  for (int64_t i = 0; i < Count(1000000) && !HasFailure(); ++i) {
    const auto [a, b] = operands.Next();
    const float q = a / b;
    if (!std::isnormal(b) || !std::isfinite(a) || !std::isfinite(q)) continue;
    ++compared;
    const float given = rough::divide_middle_f32(a, b);
    const bool zero = !std::isnormal(a) || std::fabs(double{a} / b) < std::numeric_limits<float>::min();
    if (zero ? given != 0 : !Same(given, q)) ADD_FAILURE() << a << " / " << b << " = " << q << ", not " << given;
  }
  EXPECT_GT(compared, Count(200000));
}

TEST(CorrectedDivisionTest, StandsBadGuessesOfF64) {
  ExpectCorrect<double>([](double a, double b) { return Pack(rough::quotient_words(Unpack(a), Unpack(b))); },
                        [](double a) { return Pack(rough::sqrt_words(Unpack(a))); }, Count(1000000));
}

TEST(CorrectedDivisionTest, EmulatedIntegersStandBadGuesses) {
  std::mt19937_64 random(23);
  for (int64_t i = 0; i < Count(1000000) && !HasFailure(); ++i) {
    const uint64_t a = i % 2 == 0 ? random() >> random() % 64 : ~(random() >> random() % 64);
    const uint64_t b = std::max<uint64_t>(1, i % 3 == 0 ? ~(random() >> random() % 64) : random() >> random() % 64);
    glm::uvec2 rest;
    const glm::uvec2 q = rough::quotient_u64({static_cast<uint32_t>(a), static_cast<uint32_t>(a >> 32)},
                                             {static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32)}, rest);
    EXPECT_EQ((uint64_t{q.y} << 32 | q.x), a / b) << a << " / " << b;
    EXPECT_EQ((uint64_t{rest.y} << 32 | rest.x), a % b) << a << " % " << b;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
