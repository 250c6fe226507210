// OpBound: how far a device's value of one instruction may lie from the reference's, given equal operands: the table of
// core/numerics/accuracy.h for functions, and for sums a bound that grows with their length and with the magnitudes of
// their terms.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/instruction.h"
#include "core/ir/module.h"
#include "core/numerics/literal_compare.h"

namespace VXLA_NAMESPACE {

struct OpBound {
  std::vector<Tolerance> leaves;                         // by leaf of the result
  std::vector<std::shared_ptr<const Literal>> literals;  // what the tolerances point into
  std::string text;                                      // "1 ulp", "1.2e-06 of the terms' magnitudes, rounded"
  bool known = true;  // false: of some leaf none is known, and it has the default of whole programs
};

// What a region does with one of its values: picks among values, adds it up, multiplies it, or something else.
enum class ReducerKind : uint8_t { kExact, kSum, kProduct, kOther };
// By result of the region: values k and k + n of its 2 n parameters are combined into result k.
std::vector<ReducerKind> KindsOfReducer(const Computation& computation);

// The error of a sum of `length` terms relative to the sum of their magnitudes (AccumulationOf): the smaller of what is
// certain and what is likely.
double BoundOfLength(ElementType accumulator, int64_t length);

// |x|; of complex numbers with no imaginary part. Other types as they are.
Literal Magnitudes(const Literal& literal);

// `expected` is the reference's value. Where no bound is known (an algorithm as a whole, a reducer of unknown kind) it
// is the default of whole programs: its conditioning tells more (api/verify/conditioning.h). `flushes`: the device takes
// denormals for zeros.
OpBound BoundOf(const Instruction& instruction, std::span<const Literal* const> operands, const Literal& expected,
                bool flushes = false);

// The same of a whole program that computes one instruction of its parameters and constants; nullopt: it computes more,
// or runs other computations.
std::optional<OpBound> BoundOfProgram(const Module& module, std::span<const Literal* const> arguments,
                                      const Literal& expected, bool flushes = false);

}  // namespace VXLA_NAMESPACE
