// The live sizes of an instruction's operands, and what the op asks of them: which dimensions of its operands must
// agree.
#pragma once

#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {

struct LiveDimensions {
  std::vector<std::vector<int64_t>> sizes;  // by operand and dimension
  std::vector<std::vector<bool>> dynamic;   // the operand's value says so, whatever its size is

  explicit LiveDimensions(std::span<const Value> operands);
  bool AnyDynamic(int operand) const;
};

// Dimensions that an op pairs have one live size: dynamic ones must agree, static ones are cut to it (a constant as
// wide as the bound next to a dynamic array, as programs have it).
Status AgreeOnSizes(const Instruction& instruction, LiveDimensions& live);

}  // namespace VXLA_NAMESPACE
