#include "tools/process.h"

#ifndef _WIN32
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
#endif

namespace VXLA_NAMESPACE {

#ifdef _WIN32
bool IsProgram(const std::string&) { return false; }

Result<bool> RunProcess(const std::vector<std::string>& command, const std::string&, const std::string&) {
  return Unsupported("{}: vxla runs no other programs on Windows", command[0]);
}
#else
bool IsProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

Result<bool> RunProcess(const std::vector<std::string>& command, const std::string& out, const std::string& err) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t process = 0;
  const int started = posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) return Unsupported("{} does not start (errno {})", command[0], started);
  int status = 0;
  return waitpid(process, &status, 0) == process && status == 0;
}
#endif

}  // namespace VXLA_NAMESPACE
