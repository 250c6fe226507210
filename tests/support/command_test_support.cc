#include "tests/support/command_test_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace VXLA_NAMESPACE::testing {
namespace {

class Scratch {
 public:
  Scratch() {
    path_ = (std::filesystem::temp_directory_path() / fmt::format("vxla_test_{}", getpid())).string();
    std::filesystem::create_directories(path_);
  }
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

const std::string& ScratchFolder() {
  static const Scratch scratch;
  return scratch.path();
}

std::string WriteScratch(const std::string& name, std::string_view content) {
  const std::string path = ScratchFolder() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string ReadScratch(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

CommandResult RunShell(const std::string& command) {
  const std::string out = ScratchFolder() + "/stdout", err = ScratchFolder() + "/stderr";
  const std::string script =
      WriteScratch("command.sh", fmt::format("VXLA='{}'\nexport XDG_CACHE_HOME=${{XDG_CACHE_HOME-{}/cache}}\n{}\n",
                                             VXLA_BINARY, ScratchFolder(), command));
  const int status =
      std::system(fmt::format("unset XDG_CACHE_HOME; bash '{}' >'{}' 2>'{}' </dev/null", script, out, err).c_str());
  CommandResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadScratch(out);
  result.err = ReadScratch(err);
  return result;
}

CommandResult RunOnTerminal(const std::string& command, int columns, bool interrupt) {
  const std::string script = WriteScratch(
      "terminal.sh", fmt::format("export VXLA='{}' XDG_CACHE_HOME='{}/cache' TERM=xterm\nunset NO_COLOR\n{}\n",
                                 VXLA_BINARY, ScratchFolder(), command));
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    execlp("bash", "bash", script.c_str(), nullptr);
    _exit(127);
  }
  CommandResult result;
  if (child < 0) return result;
  char bytes[4096];
  // A closed terminal reads as an error (EIO).
  for (ssize_t count; (count = read(terminal, bytes, sizeof bytes)) > 0;) {
    result.out.append(bytes, static_cast<size_t>(count));
    constexpr char kCtrlC = 3;
    if (interrupt && result.out.find("instruction ") != std::string::npos) {
      interrupt = false;
      if (write(terminal, &kCtrlC, 1) != 1) break;
    }
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // What the terminal makes of a line's end.
  for (size_t at; (at = result.out.find("\r\n")) != std::string::npos;) result.out.erase(at, 1);
  return result;
}

CommandResult RunVxla(const std::string& arguments, const std::string& environment) {
  return RunShell(fmt::format("env {} \"$VXLA\" {}", environment, arguments));
}

std::string NpyF32(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  std::string dims;
  for (int64_t size : shape) dims += fmt::format("{},", size);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", dims);
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

}  // namespace VXLA_NAMESPACE::testing
