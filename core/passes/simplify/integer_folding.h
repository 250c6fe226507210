// Integers that are known before a program runs.
#pragma once

#include <optional>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// The value of an instruction of one element, an integer or a truth value, that constants decide.
std::optional<int64_t> KnownInteger(const Instruction& instruction);

// Integers and truth values of one element that follow from constants become constants: what a short loop that is
// written out reads from its tables and makes of its counter. Constants of one element are part of a kernel's text,
// tables are memory. Returns whether there was one.
bool FoldIntegers(Module& module);

}  // namespace VXLA_NAMESPACE
