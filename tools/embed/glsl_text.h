// GLSL as text, for the tools that read shaders/include: lines, identifiers, files in the words of one type, and the
// variants of a text that devices without a 64-bit type get.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace VXLA_NAMESPACE::embed {

bool IsIdentifierPart(char c);
// Takes the first line off; its end is not part of it.
std::string_view TakeLine(std::string_view& text);
// Calls `visit` with every identifier of a text, comments left out.
void ForEachIdentifier(std::string_view text, const std::function<void(std::string_view)>& visit);

// A file's text by its path below shaders/.
using ReadFile = std::function<std::string(const std::string& path)>;
// A file that includes another one under macros (c64.glsl, c128.glsl: complex.glsl in the words of one type) with that
// text in place and the macros replaced: #define NAME text, and #define NAME(x) x##suffix.
std::string Instantiated(const std::string& text, const ReadFile& read);

// The literals of f64_t (1.5lf, and a minus in front) as words: types64.glsl.
std::string WithWordsForDoubles(std::string_view text);
// Polynomials ("p = horner_f64(p, z, uvec2(...));" line after line) as loops over their coefficients: an emulated step
// is 250 instructions, and drivers' compilers take long for them.
std::string WithLoopsForPolynomials(std::string_view text);
// Without its empty lines and comment lines.
std::string WithoutComments(std::string_view text);

}  // namespace VXLA_NAMESPACE::embed
