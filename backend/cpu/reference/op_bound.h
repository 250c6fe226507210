// OpBound: how far a device's value of one instruction may lie from the reference's, given equal operands: the table of
// core/accuracy.h for functions, and for sums a bound that grows with their length and with the magnitudes of their
// terms.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/instruction.h"
#include "core/literal_compare.h"
#include "core/module.h"

namespace vxla {

struct OpBound {
  std::vector<Tolerance> leaves;              // by leaf of the result
  std::shared_ptr<const Literal> magnitudes;  // what the tolerances point into
  std::string text;                           // "1 ulp", "1.2e-06 of the terms' magnitudes, rounded"
};

// `expected` is the reference's value. Where no bound is known (an algorithm as a whole, a reducer of unknown kind) it
// is the default of whole programs.
OpBound BoundOf(const Instruction& instruction, std::span<const Literal* const> operands, const Literal& expected);

// The same of a whole program that computes one instruction of its parameters and constants; nullopt: it computes more,
// or runs other computations.
std::optional<OpBound> BoundOfProgram(const Module& module, std::span<const Literal* const> arguments,
                                      const Literal& expected);

}  // namespace vxla
