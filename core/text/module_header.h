// The part of HLO text before the first computation: the HloModule line and the stack-frame tables.
#pragma once

#include "core/ir/module.h"
#include "core/text/lexer.h"

namespace VXLA_NAMESPACE {

// At HloModule; leaves the first token after the line current.
Status ParseModuleHeader(Lexer& lexer, Module& module);
// FileNames, FunctionNames, FileLocations and StackFrames, each optional, kept as text.
Status ParseStackFrames(Lexer& lexer, Module& module);
// Whether the entry has the parameters and the result that entry_computation_layout states.
Status CheckEntryLayout(const Module& module, SourceLocation location);

// Both parts, with the lines' ends.
void AppendModuleHeader(std::string& out, const Module& module);

}  // namespace VXLA_NAMESPACE
