// Verify: whether a module is a valid program. Nothing after it checks again.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Checks every stated shape against InferShape (layouts do not count; a dimension may be stated dynamic that need not
// be, but none static that takes a live size), operand and called computation counts and signatures, element types,
// parameter numbers, roots, order and control predecessors, and the header's entry_computation_layout,
// input_output_alias and buffer_donor. The first error is returned; it names the instruction and its computation and
// carries its SourceLocation.
Status Verify(const Module& module);

// "f32[2] %sum = add(%a, %b)": an instruction in short, for messages.
std::string Summary(const Instruction& instruction);

}  // namespace VXLA_NAMESPACE
