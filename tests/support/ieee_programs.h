// Programs about signed zeros, subnormal numbers, infinities and NaN, with the results that IEEE 754 and the op's
// specification give them: the same for the reference, for shader math and for every device.
#pragma once

#include <string>
#include <vector>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE::testing {

struct IeeeProgram {
  std::string name;  // "f32 compare", for messages
  std::string text;
  std::vector<Literal> arguments;
  Literal expected;  // a tuple
  double ulp = 0;    // how far numbers may be off; zeros and their signs, infinities and NaN never
  double least = 0;  // numbers below may be zeros of their sign
};

// Every floating type that has arithmetic.
std::vector<ElementType> FloatTypes();

// Every pair of special numbers of the type: compare in all directions and both orders, maximum, minimum, clamp,
// select, sign, abs, negate, is-finite.
IeeeProgram ComparisonsOf(ElementType type);
// Minimum and maximum of rows, and the place of the maximum by a comparing reducer.
IeeeProgram ReductionsOf(ElementType type);
// A stable sort by < and one by the total order.
IeeeProgram SortsOf(ElementType type);
// Complex functions at signed zeros and subnormal numbers; type: kC64 or kC128.
std::vector<IeeeProgram> ComplexFunctionsOf(ElementType type);
// reduce-precision of special and random numbers to every format up to the type's own.
IeeeProgram ReducedPrecisionOf(ElementType type);

// "" or the first result that is not as expected.
std::string FirstUnexpected(const IeeeProgram& program, const Literal& actual);

}  // namespace VXLA_NAMESPACE::testing
