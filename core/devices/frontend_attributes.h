// Frontend attributes: what passes say of an instruction to later ones, which HLO text keeps.
#pragma once

#include <string_view>

#include "core/instruction.h"

namespace VXLA_NAMESPACE {

// Of an instruction with effects that a program of whole arrays runs once, though each of its devices runs the program:
// its operands are the same on all of them.
inline constexpr std::string_view kRunsOnce = "_vxla_once=\"true\"";

// name="value"
void AddFrontendAttribute(Instruction& instruction, std::string_view attribute);
bool HasFrontendAttribute(const Instruction& instruction, std::string_view attribute);

}  // namespace VXLA_NAMESPACE
