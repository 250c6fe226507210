// Functions of f16 on a device at every encoding: correctly rounded, so equal to the CPU reference bit for bit.
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

TEST(F16FunctionsTest, AreCorrectlyRoundedAtEveryEncoding) {
  const char* const kOps[] = {"exponential", "exponential-minus-one",
                              "log",         "log-plus-one",
                              "logistic",    "sine",
                              "cosine",      "tan",
                              "tanh",        "sinh",
                              "cosh",        "asinh",
                              "acosh",       "atanh",
                              "asin",        "acos",
                              "atan",        "erf",
                              "erfc",        "erf-inv",
                              "lgamma",      "digamma",
                              "cbrt",        "rsqrt",
                              "sqrt"};
  std::string
      text = "HloModule m\nENTRY e {\n  b = u16[65536] iota(), iota_dimension=0\n  x = f16[65536] bitcast-convert(b)\n",
      shapes, names;
  for (const char* op : kOps) {
    std::string name(op);
    std::ranges::replace(name, '-', '_');
    text += fmt::format("  {}.1 = f16[65536] {}(x)\n", name, op);
    shapes += (shapes.empty() ? "" : ", ") + std::string("f16[65536]");
    names += (names.empty() ? "" : ", ") + name + ".1";
  }
  RunOptions exact;
  exact.tolerance = Tolerance{};
  RunBoth(text + fmt::format("  ROOT r = ({}) tuple({})\n}}\n", shapes, names), {}, exact);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
