#include "picture.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace {

uint8_t Encoded(float x) {
  x = std::clamp(x, 0.0f, 1.0f);
  x = x <= 0.0031308f ? 12.92f * x : 1.055f * std::pow(x, 1 / 2.4f) - 0.055f;
  return static_cast<uint8_t>(std::lround(255 * x));
}

template <typename Value>
Picture FromTexels(uint32_t size, int channels, Value&& value) {
  Picture picture{size, {}};
  for (uint32_t i = 0; i < size * size; ++i) {
    for (int c = 0; c < 3; ++c) picture.bytes.push_back(value(i * channels + c));
  }
  return picture;
}

}  // namespace

float FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  const float digits = static_cast<float>(exponent != 0 ? fraction + 1024 : fraction);
  return sign * std::ldexp(digits, std::max(exponent, 1) - 25);
}

Picture FromHalves(const uint16_t* texels, uint32_t size) {
  return FromTexels(size, 4, [&](uint32_t i) { return Encoded(FromHalf(texels[i])); });
}
Picture FromFloats(const float* values, uint32_t size) {
  return FromTexels(size, 3, [&](uint32_t i) { return Encoded(values[i]); });
}
Picture FromBytes(const uint8_t* texels, uint32_t size) {
  return FromTexels(size, 4, [&](uint32_t i) { return texels[i]; });
}

double Psnr(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.bytes.size(); ++i) sum += std::pow(double{1} * a.bytes[i] - b.bytes[i], 2);
  return sum == 0 ? INFINITY : 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.bytes.size()) / sum);
}

void WriteHalves(const Picture& left, const Picture& right, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << "P6\n" << left.size << ' ' << left.size << "\n255\n";
  for (uint32_t i = 0; i < left.size * left.size; ++i) {
    const Picture& picture = i % left.size < left.size / 2 ? left : right;
    file.write(reinterpret_cast<const char*>(&picture.bytes[3 * i]), 3);
  }
  if (!file.flush()) throw std::runtime_error(path + ": it cannot be written");
}
