#include "tools/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#ifndef _WIN32
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

extern char** environ;
#endif

namespace VXLA_NAMESPACE {

Result<std::string> OwnProgram() {
  std::error_code failed;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return Unsupported("this system does not tell a program its own path (/proc/self/exe)");
  return own.string();
}

Result<std::string> FindProgram(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    if (IsProgram(command)) return command;
    return Unsupported("{}: no program that can be run", command);
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string each; std::getline(folders, each, ':');) {
    const std::string file = fmt::format("{}/{}", each, command);
    if (!each.empty() && IsProgram(file)) return file;
  }
  return Unsupported("no {} on the PATH", command);
}

#ifdef _WIN32
bool IsProgram(const std::string&) { return false; }

Result<ProcessEnd> RunProcess(const std::vector<std::string>& command, double) {
  return Unsupported("{}: vxla runs no other programs on Windows", command[0]);
}
#else
bool IsProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

namespace {

// A file without a name, for what a process writes.
class Capture {
 public:
  Capture() : file_(std::tmpfile()) {}
  Capture(const Capture&) = delete;
  ~Capture() {
    if (file_ != nullptr) std::fclose(file_);
  }
  bool ok() const { return file_ != nullptr; }
  int descriptor() const { return fileno(file_); }
  std::string Text() const {
    std::string text;
    char buffer[1 << 14];
    std::rewind(file_);
    while (const size_t count = std::fread(buffer, 1, sizeof buffer, file_)) text.append(buffer, count);
    return text;
  }

 private:
  std::FILE* file_;
};

using Clock = std::chrono::steady_clock;

// Its wait status. A process that is over the limit is killed.
int WaitFor(pid_t process, double most_seconds, bool& timed_out) {
  const Clock::time_point begin = Clock::now();
  int status = 0;
  if (most_seconds <= 0) {
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    return status;
  }
  std::chrono::microseconds pause{200};
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() - begin > std::chrono::duration<double>(most_seconds)) {
      timed_out = true;
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return status;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
  return status;
}

}  // namespace

Result<ProcessEnd> RunProcess(const std::vector<std::string>& command, double most_seconds) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Capture out, err;
  if (!out.ok() || !err.ok()) return ResourceExhausted("{}: no temporary file for its output", command[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  pid_t process = 0;
  const int started = posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) return Unsupported("{} does not start (errno {})", command[0], started);
  ProcessEnd end;
  const int status = WaitFor(process, most_seconds, end.timed_out);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.signal_name = strsignal(end.signal);
  }
  end.out = out.Text();
  end.err = err.Text();
  return end;
}
#endif

}  // namespace VXLA_NAMESPACE
