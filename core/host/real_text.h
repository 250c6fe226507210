// Floating-point numbers of texts: std::from_chars where the standard library has it for them (libc++ has it since 20),
// else the C library's strtod, which rounds alike.
#pragma once

#include <charconv>

namespace VXLA_NAMESPACE {

// As std::from_chars in its general format: no blanks before the number, no '+', no hexadecimal; "inf" and "nan" are
// read. The value stays where there is no number (invalid_argument) or it is out of range.
std::from_chars_result RealFromChars(const char* begin, const char* end, float& value);
std::from_chars_result RealFromChars(const char* begin, const char* end, double& value);

// The same through the C library, whatever the standard library has.
std::from_chars_result RealByStrtod(const char* begin, const char* end, float& value);
std::from_chars_result RealByStrtod(const char* begin, const char* end, double& value);

}  // namespace VXLA_NAMESPACE
