// Numbers of texts by the C library are those of std::from_chars, which a standard library may lack.
#include "core/host/real_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <limits>
#include <random>
#include <string>

namespace VXLA_NAMESPACE {
namespace {

template <typename T>
void ExpectAlike(const std::string& text) {
  T by_library = -7, by_strtod = -7;
  const char* const end = text.data() + text.size();
  const auto wanted = RealFromChars(text.data(), end, by_library);
  const auto got = RealByStrtod(text.data(), end, by_strtod);
  EXPECT_EQ(got.ec, wanted.ec) << text;
  EXPECT_EQ(got.ptr - text.data(), wanted.ptr - text.data()) << text;
  if (by_library == by_library) {
    EXPECT_EQ(by_strtod, by_library) << text;
    EXPECT_EQ(std::signbit(by_strtod), std::signbit(by_library)) << text;
  } else {
    EXPECT_NE(by_strtod, by_strtod) << text;
  }
}

TEST(RealTextTest, NumbersByTheCLibraryAreThoseOfFromChars) {
  for (const char* text :
       {"0", "-0", "1", "-1.5", "1e3", "1e", "1e+", "1e-2x", "1.", ".5", "-.5e-1,", ".", "-", "", "+1", " 1", "x", "0x10", "1_000", "inf", "-inf",
        "infinity", "nan", "-nan", "1e400", "-1e400", "1e-400", "0e999", "0.000", "1e38", "1e39", "3.4028235e38", "1e-45", "1e-46", "4.9e-324",
        "2e-324", "9007199254740993", "0.1000000000000000055511151231257827"}) {
    ExpectAlike<float>(text);
    ExpectAlike<double>(text);
  }
}

TEST(RealTextTest, RandomNumbersAreReadAlike) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (value != value) continue;
    char buffer[64];
    const auto printed = std::to_chars(buffer, buffer + sizeof buffer, value);
    ExpectAlike<double>(std::string(buffer, printed.ptr));
    ExpectAlike<float>(std::string(buffer, printed.ptr));
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
