// Programs: from text or bytecode to a checked module, and places in front of messages.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/cpu/reference/library/custom_call.h"
#include "core/ir/module.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// HLO text, StableHLO text or a portable artifact of it, told apart by what they begin with, read and verified.
// Messages about text begin with `name`:line:column (line:column without a name). kInvalidArgument: no such program.
// kUnsupported: what StableHLO can say but this build cannot do.
Result<std::unique_ptr<Module>> ParseProgram(std::string_view text, const std::string& name = {});

// A program that leaves sizes open, with bounds for these: "b=1024,0.1=16" (core/mlir/importer/bounded_program.h).
// kInvalidArgument: another form, no such size, one without a bound, what does not hold at the bounds.
Result<std::unique_ptr<Module>> WithSizeBounds(const Module& module, std::string_view bounds);

// Every op can be evaluated somewhere, custom calls by a function or a kernel of the registry (null: it is empty); else
// kUnsupported that names the op and its place.
Status CheckRunnable(const Module& module, const std::string& name = {}, const CustomCallRegistry* registry = nullptr);

// A failure that knows its place in the program: "name:line:column: ...". Others stay as they are, and so does one that
// begins with its place already.
Status AtPlace(const Status& status, const std::string& name);

}  // namespace VXLA_NAMESPACE
