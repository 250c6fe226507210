// For tests of the command as a user meets it: runs the built program in a process of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace VXLA_NAMESPACE::testing {

struct CommandResult {
  int exit_code = -1;
  std::string out, err;
};

// Runs `vxla <arguments>` through the shell, with the cache in a folder of this test process; `environment` goes before
// it
// ("NAME=value").
CommandResult RunVxla(const std::string& arguments, const std::string& environment = "");
// The same for any shell command; "$VXLA" is the program.
CommandResult RunShell(const std::string& command);

// The same on a terminal of its own (both streams, in `out`) with so many columns. `interrupt`: Ctrl-C is typed once it
// shows progress.
CommandResult RunOnTerminal(const std::string& command, int columns = 80, bool interrupt = false);

// A folder for this test process, removed at its end.
const std::string& ScratchFolder();
// Writes a file there and returns its path.
std::string WriteScratch(const std::string& name, std::string_view content);
std::string ReadScratch(const std::string& path);

// An .npy file of f32 values.
std::string NpyF32(const std::vector<int64_t>& shape, const std::vector<float>& values);

}  // namespace VXLA_NAMESPACE::testing
