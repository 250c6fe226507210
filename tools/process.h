// Programs of others, run by a command.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// Whether the file may be run by this user.
bool IsProgram(const std::string& path);

// Runs command[0] with the other words, waits, and has its output in two files. Whether it ended with 0; an error where it does not
// start, and on Windows, where no command of vxla's runs others.
Result<bool> RunProcess(const std::vector<std::string>& command, const std::string& out, const std::string& err);

}  // namespace VXLA_NAMESPACE
