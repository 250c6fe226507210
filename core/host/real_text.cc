#include "core/host/real_text.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>
#include <type_traits>
#include <version>

#if !defined(_WIN32)
#include <clocale>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace VXLA_NAMESPACE {
namespace {

// Digits with a point, an exponent, or a word of letters: as much as std::from_chars may look at.
std::string NumberAt(const char* begin, const char* end) {
  const char* at = begin;
  if (at != end && *at == '-') ++at;
  const auto is_digit = [&](const char* c) { return c != end && '0' <= *c && *c <= '9'; };
  const auto is_letter = [&](const char* c) {
    return c != end && (('a' <= *c && *c <= 'z') || ('A' <= *c && *c <= 'Z'));
  };
  if (is_letter(at)) {
    // "inf", "infinity", "nan": a hexadecimal number begins with a digit.
    while (is_letter(at)) ++at;
    return std::string(begin, at);
  }
  while (is_digit(at)) ++at;
  if (at != end && *at == '.') ++at;
  while (is_digit(at)) ++at;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* exponent = at + 1;
    if (exponent != end && (*exponent == '-' || *exponent == '+')) ++exponent;
    if (is_digit(exponent)) at = exponent;
    while (is_digit(at)) ++at;
  }
  return std::string(begin, at);
}

// In the "C" locale, whatever the host program's is.
template <typename T>
T Strtod(const char* text, char** stop) {
#if defined(_WIN32)
  static const _locale_t c = _create_locale(LC_ALL, "C");
  if constexpr (std::is_same_v<T, float>) {
    return _strtof_l(text, stop, c);
  } else {
    return _strtod_l(text, stop, c);
  }
#else
  static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
  if constexpr (std::is_same_v<T, float>) {
    return strtof_l(text, stop, c);
  } else {
    return strtod_l(text, stop, c);
  }
#endif
}

template <typename T>
std::from_chars_result ByStrtod(const char* begin, const char* end, T& value) {
  const std::string text = NumberAt(begin, end);
  char* stop = nullptr;
  const T read = Strtod<T>(text.c_str(), &stop);
  const char* const after = begin + (stop - text.c_str());
  if (after == begin) return {begin, std::errc::invalid_argument};
  // Too large is an infinity that the text does not name; too small a zero whose digits are none.
  const bool names_infinity = text.find_first_of("iI") != std::string::npos;
  const size_t digits_end = text.find_first_of("eE");
  const bool has_digits = text.substr(0, digits_end).find_first_of("123456789") != std::string::npos;
  if ((std::isinf(read) && !names_infinity) || (read == 0 && has_digits))
    return {after, std::errc::result_out_of_range};
  value = read;
  return {after, std::errc()};
}

std::from_chars_result ByTheLibrary(const char* begin, const char* end, auto& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(begin, end, value);
#else
  return ByStrtod(begin, end, value);
#endif
}

}  // namespace

std::from_chars_result RealFromChars(const char* begin, const char* end, float& value) {
  return ByTheLibrary(begin, end, value);
}
std::from_chars_result RealFromChars(const char* begin, const char* end, double& value) {
  return ByTheLibrary(begin, end, value);
}
std::from_chars_result RealByStrtod(const char* begin, const char* end, float& value) {
  return ByStrtod(begin, end, value);
}
std::from_chars_result RealByStrtod(const char* begin, const char* end, double& value) {
  return ByStrtod(begin, end, value);
}

}  // namespace VXLA_NAMESPACE
