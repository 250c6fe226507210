// HLO text out: what XLA prints in its short form (no '%', no operand shapes), which ParseHlo reads back to an equal
// module.
#pragma once

#include <string>

#include "core/module.h"

namespace VXLA_NAMESPACE {

std::string PrintHlo(const Module& module);
// One line for messages: no ROOT, long constants shortened to {...}.
std::string PrintInstruction(const Instruction& instruction);
// ", dimensions={0}, to_apply=add, ..."; empty if there is nothing to say.
std::string PrintAttributes(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
