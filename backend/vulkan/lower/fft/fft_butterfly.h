// Butterflies: the discrete Fourier transform of a few points as straight GLSL text over locals. The roots are
// constants of the text, exact to the type; multiplications by 1, -1, i and -i, negations and zeros cost nothing.
#pragma once

#include <string>
#include <vector>

#include "backend/vulkan/codegen/statements/statement.h"
#include "core/data/element_type.h"

namespace VXLA_NAMESPACE::vulkan {

// A real value: a local of the text or its negative, times a constant that a fused addition is to take along if it is
// named; without a name it is zero.
struct RealText {
  std::string name;
  bool negative = false;
  std::string factor = {};
  bool zero() const { return name.empty(); }
};
inline RealText Negated(RealText a) {
  a.negative = !a.negative && !a.zero();
  return a;
}
struct ComplexText {
  RealText re, im;
  // i times the conjugate: the forward transform of swapped values is the backward transform, swapped.
  ComplexText Swapped() const { return {im, re}; }
};

// GLSL: (-i)^quarters times a complex value of f32, the quarters being the two highest bits of a word.
constexpr const char* kTurned = R"(vec2 turned(uint bits, vec2 value) {
  uvec2 words = floatBitsToUint((bits & 0x40000000u) != 0u ? value.yx : value);
  return uintBitsToFloat(words ^ (uvec2(bits, bits ^ (bits << 1)) & 0x80000000u));
}
)";

class ButterflyWriter : public CodeWriter {
 public:
  // `real`: f32 or f64. 64-bit arithmetic is calls, so that it may be emulated, but for fused multiply-adds, which
  // take a product without a rounding of its own if `fuses`. `turns`: roots inside are taken as NearestQuarter has
  // them, which costs two additions and rounds less.
  ButterflyWriter(ElementType real, bool fuses, bool turns) : real_(real), fuses_(fuses), turns_(turns) {}

  using CodeWriter::Add;
  RealText Add(const RealText& a, const RealText& b);
  RealText Subtract(const RealText& a, const RealText& b);
  RealText Multiply(const RealText& a, const RealText& b);
  // a b + c.
  RealText MultiplyAdd(const RealText& a, const RealText& b, const RealText& c);
  // a factor (1 + rest).
  RealText Scaled(const RealText& a, const RealText& factor, const RealText& rest) {
    const RealText scaled = Multiply(a, factor);
    return MultiplyAdd(scaled, rest, scaled);
  }
  RealText Constant(double value) const;
  ComplexText Add(const ComplexText& a, const ComplexText& b) { return {Add(a.re, b.re), Add(a.im, b.im)}; }
  ComplexText Subtract(const ComplexText& a, const ComplexText& b) {
    return {Subtract(a.re, b.re), Subtract(a.im, b.im)};
  }
  ComplexText Sum(std::vector<ComplexText> terms);
  ComplexText Multiply(const ComplexText& a, const ComplexText& b);
  ComplexText MultiplyAdd(const ComplexText& a, const ComplexText& b, const ComplexText& c);
  // a (1 + rest).
  ComplexText MultiplyOnePlus(const ComplexText& a, const ComplexText& rest) { return Add(a, Multiply(a, rest)); }
  // Times exp(-2 pi i k / n).
  ComplexText TimesRoot(const ComplexText& a, int64_t k, int64_t n);
  // The forward transform, in natural order.
  std::vector<ComplexText> Transform(const std::vector<ComplexText>& x);

  // The parts of a local of the complex carrier type.
  static ComplexText PartsOf(const std::string& name) { return {{name + ".x"}, {name + ".y"}}; }
  // A real or complex value as an expression of its carrier.
  std::string Text(const RealText& a) const;
  std::string Text(const ComplexText& a) const;

 private:
  RealText Local(const std::string& value);
  RealText WithoutFactor(const RealText& a);
  std::string DifferenceText(const std::string& a, const std::string& b) const;
  std::vector<ComplexText> TransformOdd(const std::vector<ComplexText>& x);
  std::vector<ComplexText> TransformCoprime(const std::vector<ComplexText>& x, size_t rows, size_t columns);

  ElementType real_;
  bool fuses_, turns_;
  int next_local_ = 0;
};

}  // namespace VXLA_NAMESPACE::vulkan
