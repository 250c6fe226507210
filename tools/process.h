// Other programs, run by a command.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// Whether the file may be run by this user.
bool IsProgram(const std::string& path);
// Where a command is: itself where it names a folder, else the first one of its name on the PATH; kUnsupported without.
Result<std::string> FindProgram(const std::string& command);
// The path of this program; an error where the system does not tell.
Result<std::string> OwnProgram();

struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;          // that ended it, else 0
  std::string signal_name;
  bool timed_out = false;  // it was stopped, by the signal
  std::string out, err;    // what it wrote
  bool succeeded() const { return exit_code == 0 && signal == 0; }
};
// Runs command[0] with the other words and waits for its end, for so many seconds at most (0: for as long as it takes).
// An error where it does not start, and on Windows, where no command of vxla's runs others.
Result<ProcessEnd> RunProcess(const std::vector<std::string>& command, double most_seconds = 0);

}  // namespace VXLA_NAMESPACE
