// The live sizes of an instruction's operands, and what the op asks of them: which dimensions of its operands must
// agree.
#pragma once

#include <cstdint>
#include <vector>

#include "core/instruction.h"

namespace VXLA_NAMESPACE {

struct LiveDimensions {
  std::vector<std::vector<int64_t>> sizes;  // by operand and dimension
  std::vector<std::vector<bool>> dynamic;   // the operand's value says so, whatever its size is

  // The next operand: what its value says of itself. No sizes of what is no array.
  void Add(const Shape& shape, std::vector<int64_t> live);
};

// Dimensions that an op pairs have one live size: dynamic ones must agree, static ones are cut to it (a constant as
// wide as the bound next to a dynamic array, as programs have it).
Status AgreeOnSizes(const Instruction& instruction, LiveDimensions& live);

}  // namespace VXLA_NAMESPACE
