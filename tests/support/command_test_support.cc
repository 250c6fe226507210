#include "tests/support/command_test_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace vxla::testing {
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

}  // namespace vxla::testing
