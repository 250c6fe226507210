// Which dimensions of an instruction's operands have one live size.
#pragma once

#include <vector>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

struct OperandDimension {
  int operand;
  int64_t dimension;
};

// In each group dynamic dimensions must agree, and static ones are cut to them.
std::vector<std::vector<OperandDimension>> PairedDimensions(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
