// What a user's GLSL says of itself, read from its text before anything is compiled.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE::vulkan {

struct UserGlsl {
  bool whole = false;       // it has a #version: a shader of its own
  bool by_element = false;  // it defines vxla_element
  bool has_main = false;
  // The text without its #extension lines and its layout of the workgroup's size, every line at its place.
  std::string text, extensions;
  std::optional<std::array<std::string, 3>> local_size;  // as written: "#pragma vxla local_size(8, 8)" or GLSL's layout
  std::vector<std::string> groups;                       // "#pragma vxla groups(ceil(n / 64))"
  std::vector<std::string> shape;                        // "#pragma vxla shape(OUT0_DIM0 == IN0_DIM0)"
  std::vector<std::string> functions;                    // the names of those that it defines
};

// kInvalidArgument: a #pragma vxla that is none.
Result<UserGlsl> ReadUserGlsl(std::string_view text);

// A line of CustomKernel::rules, or what follows "#pragma vxla".
Status ReadRule(std::string_view said, UserGlsl& glsl);

// "a, max(b, c)" at its outer commas.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace VXLA_NAMESPACE::vulkan
