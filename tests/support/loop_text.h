// Programs of one loop over two arrays, for tests of what a workgroup runs in it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing::loop_text {

// Three trips over an array x (and y beside it, which the body may change); `body` makes "x2" and "y2" of them.
inline std::string Loop(const std::string& x, const std::string& y, const std::string& body,
                        const std::string& functions = "") {
  return fmt::format(R"(HloModule units
{0}
condition {{
  s = (s32[], {1}, {2}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}}
body {{
  s = (s32[], {1}, {2}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = {1} get-tuple-element(s), index=1
  y = {2} get-tuple-element(s), index=2
{3}
  ROOT r = (s32[], {1}, {2}) tuple(next, x2, y2)
}}
ENTRY main {{
  x = {1} parameter(0)
  y = {2} parameter(1)
  i = s32[] constant(0)
  start = (s32[], {1}, {2}) tuple(i, x, y)
  ROOT loop = (s32[], {1}, {2}) while(start), condition=condition, body=body
}}
)",
                     functions, x, y, body);
}

}  // namespace VXLA_NAMESPACE::testing::loop_text
