// Pictures in host memory: texels to sRGB bytes, how far two pictures are apart, a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Picture {
  uint32_t size = 0;           // width and height
  std::vector<uint8_t> bytes;  // red, green, blue, sRGB
};

float FromHalf(uint16_t bits);
// Of a picture of four channels of f16, or of three of f32; linear.
Picture FromHalves(const uint16_t* texels, uint32_t size);
Picture FromFloats(const float* values, uint32_t size);
// Of R8G8B8A8 with sRGB bytes.
Picture FromBytes(const uint8_t* texels, uint32_t size);

// Peak signal to noise ratio in dB over all bytes.
double Psnr(const Picture& a, const Picture& b);
// The left half of one, the right half of the other, as PPM.
void WriteHalves(const Picture& left, const Picture& right, const std::string& path);
