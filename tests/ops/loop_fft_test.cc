// Fourier transforms inside loops that one workgroup runs.
#include <gmock/gmock.h>

#include "tests/support/device_test_support.h"
#include "tests/support/loop_text.h"

namespace VXLA_NAMESPACE::testing {
namespace loop_fft_test {

using loop_text::Loop;

void Check(const std::string& text, double tolerance) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.tolerance = {.rtol = tolerance, .atol = tolerance};
  options.dispatches = 1;
  RunBoth(text, RandomArguments(*module, 3), options);
}

// There, times y, and back.
std::string ComplexTransforms(const std::string& type, const std::string& shape, const std::string& length) {
  const std::string whole = type + shape;
  return Loop(whole, whole,
              fmt::format("  f = {0} fft(x), fft_type=FFT, fft_length={{{1}}}\n  h = {0} multiply(f, y)\n"
                          "  x2 = {0} fft(h), fft_type=IFFT, fft_length={{{1}}}\n  y2 = {0} negate(y)",
                          whole, length));
}
std::string RealTransforms(const std::string& real, const std::string& complex, const std::string& shape,
                           const std::string& half, const std::string& length) {
  return Loop(real + shape, complex + half,
              fmt::format("  f = {2} fft(x), fft_type=RFFT, fft_length={{{0}}}\n  h = {2} multiply(f, y)\n"
                          "  x2 = {1} fft(h), fft_type=IRFFT, fft_length={{{0}}}\n  y2 = {2} negate(y)",
                          length, real + shape, complex + half));
}

TEST(LoopFftTest, ComplexTransformsOfEveryKindOfLength) {
  for (const int length : {1, 2, 7, 12, 17, 30, 64, 1024})
    Check(ComplexTransforms("c64", fmt::format("[2,{}]", length), std::to_string(length)), 1e-4);
  for (const int length : {4, 19, 90})
    Check(ComplexTransforms("c128", fmt::format("[3,{}]", length), std::to_string(length)), 1e-11);
}

// 211 is added up, 521 is too long for that.
TEST(LoopFftTest, LengthsThatAreNoProductsOfRadices) {
  Check(ComplexTransforms("c64", "[211]", "211"), 1e-4);
  Check(RealTransforms("f32", "c64", "[422]", "[212]", "422"), 1e-4);
  Check(ComplexTransforms("c64", "[521]", "521"), 1e-4);
}

TEST(LoopFftTest, RealTransformsOfEveryKindOfLength) {
  for (const auto& [real, complex, tolerance] : {std::tuple{"f32", "c64", 1e-4}, std::tuple{"f64", "c128", 1e-11}}) {
    for (const int length : {1, 2, 5, 60}) {
      Check(RealTransforms(real, complex, fmt::format("[2,{}]", length), fmt::format("[2,{}]", length / 2 + 1),
                           std::to_string(length)),
            tolerance);
    }
  }
  Check(RealTransforms("f32", "c64", "[1024]", "[513]", "1024"), 1e-4);  // packed
}

TEST(LoopFftTest, SeveralAxes) {
  Check(ComplexTransforms("c64", "[2,6,8]", "6,8"), 1e-4);
  Check(ComplexTransforms("c128", "[3,4,5]", "3,4,5"), 1e-11);
  Check(RealTransforms("f32", "c64", "[2,9,12]", "[2,9,7]", "9,12"), 1e-4);
  Check(RealTransforms("f64", "c128", "[4,2,10]", "[4,2,6]", "4,2,10"), 1e-11);
}

// What a transform reads lies in registers.
TEST(LoopFftTest, ArraysOfOneElement) {
  Check(ComplexTransforms("c64", "[1]", "1"), 1e-5);
  Check(RealTransforms("f32", "c64", "[1]", "[1]", "1"), 1e-5);
}

// Three transforms back that are made at once, with other operations between them, and one that depends on them. 30
// values of c64 do not end where the next array may begin.
TEST(LoopFftTest, TransformsOfOneKindAreMadeAtOnce) {
  const auto body = [](const std::string& real, const std::string& complex) {
    return fmt::format(R"(  f = {1} fft(x), {3}
  a = {1} multiply(f, y)
  p = {0} fft(a), {2}
  b = {1} negate(f)
  q = {0} fft(b), {2}
  c = {1} subtract(a, b)
  w = {0} fft(c), {2}
  pq = {0} add(p, q)
  g = {1} fft(pq), {3}
  h = {1} add(g, y)
  t = {0} fft(h), {2}
  x2 = {0} subtract(t, w)
  y2 = {1} negate(y))",
                       real, complex, "fft_type=IRFFT, fft_length={6,8}", "fft_type=RFFT, fft_length={6,8}");
  };
  Check(Loop("f32[3,6,8]", "c64[3,6,5]", body("f32[3,6,8]", "c64[3,6,5]")), 1e-4);
  Check(Loop("f32[6,8]", "c64[6,5]", body("f32[6,8]", "c64[6,5]")), 1e-4);
}
TEST(LoopFftTest, ComplexTransformsAreMadeAtOnce) {
  for (const int length : {3, 12, 17, 64}) {
    const std::string shape = fmt::format("c64[2,{}]", length);
    Check(Loop(shape, shape,
               fmt::format("  a = {0} multiply(x, y)\n  b = {0} subtract(x, y)\n  c = {0} add(x, y)\n"
                           "  f = {0} fft(a), fft_type=IFFT, fft_length={{{1}}}\n"
                           "  g = {0} fft(b), fft_type=IFFT, fft_length={{{1}}}\n"
                           "  h = {0} fft(c), fft_type=IFFT, fft_length={{{1}}}\n"
                           "  x2 = {0} add(f, g)\n  y2 = {0} subtract(h, g)",
                           shape, length)),
          1e-4);
  }
}

// The heat equation until it is flat, which only the device knows when.
TEST(LoopFftTest, ASpectralStepUntilTheDataSaysSo) {
  const std::string text = R"(HloModule heat
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
condition {
  s = (f32[], f32[64]) parameter(0)
  high = f32[] get-tuple-element(s), index=0
  limit = f32[] constant(0.1)
  ROOT c = pred[] compare(high, limit), direction=GT
}
body {
  s = (f32[], f32[64]) parameter(0)
  u = f32[64] get-tuple-element(s), index=1
  spectrum = c64[33] fft(u), fft_type=RFFT, fft_length={64}
  decay = c64[] constant((0.5, 0))
  decays = c64[33] broadcast(decay), dimensions={}
  damped = c64[33] multiply(spectrum, decays)
  next = f32[64] fft(damped), fft_type=IRFFT, fft_length={64}
  sizes = f32[64] abs(next)
  none = f32[] constant(0)
  high = f32[] reduce(sizes, none), dimensions={0}, to_apply=max
  ROOT r = (f32[], f32[64]) tuple(high, next)
}
ENTRY main {
  u = f32[64] parameter(0)
  one = f32[] constant(1)
  start = (f32[], f32[64]) tuple(one, u)
  ROOT loop = (f32[], f32[64]) while(start), condition=condition, body=body
}
)";
  Check(text, 1e-4);
}

}  // namespace loop_fft_test
}  // namespace VXLA_NAMESPACE::testing
