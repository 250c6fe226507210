// One program or more for each opcode over arrays that live in part, and the same programs at exactly the live sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/data/literal.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE::testing {

struct LiveProgram {
  std::string opcode;  // HLO text
  std::string
      text;  // "$7|4": a bound of 7 of which 4 live; "#7|4": 7 there, 4 in the exact program; "2d": twice the devices
};

std::vector<LiveProgram> LivePrograms();
// Opcodes without a program, and why, or where their test is.
std::map<std::string, std::string> OpcodesWithoutLiveSizes();

std::string BoundedText(const LiveProgram& program, int64_t devices);
std::string ExactText(const LiveProgram& program, int64_t devices);

// Values for the parameters of the exact program, and the same under the bounds of the other one, with padding that
// would show in any result: NaN, the largest integers.
std::vector<Literal> ExactArguments(const Module& exact, uint64_t seed);
std::vector<Literal> PoisonedArguments(const Module& bounded, const std::vector<Literal>& exact);

}  // namespace VXLA_NAMESPACE::testing
