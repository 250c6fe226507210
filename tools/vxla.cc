// The subcommands, and what all of them share: help, failures, JSON, the exit code.
#include "tools/vxla.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "core/guarded.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/messages.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

struct Command {
  const char* name;
  const char* about;
  CommandBody (*add)(CLI::App&);
};
constexpr Command kCommands[] = {
    {"run", "run a program and print or save its results", AddRun},
    {"diff", "compare a device's results with the CPU reference", AddDiff},
    {"explain", "show the plan: fusions, kernels, buffers, barriers, what runs on the CPU", AddExplain},
    {"devices", "list the Vulkan devices and what they can do", AddDevices},
    {"ops", "list the operations and where they run", AddOps},
    {"check", "run programs that check themselves: files with check operations", AddCheck},
    {"bench", "measure kernels and programs against peers", AddBench},
    {"convert", "read a program in one form and write it in another", AddConvert},
    {"compile", "compile a program into a file that runs without a compiler", AddCompile},
    {"help", "show the options of a subcommand, or all of this as a manual page", AddHelp},
    {"completion", "write a shell's completion of this command line", AddCompletion},
};

// Parses and does what was asked for.
Status RunCommand(const std::vector<std::string>& words, Json& json) {
  VXLA_RETURN_IF_ERROR(CheckValuesFollow(words));
  CLI::App app{kSummary, "vxla"};
  app.set_version_flag("-v,--version", "vxla " VXLA_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.footer(HelpFooter());
  std::map<CLI::App*, CommandBody> bodies;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.about)->footer("");
    bodies[sub] = command.add(*sub);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" with code 0; everything else is the user's input.
    if (error.get_exit_code() != 0) return UsageError(app, words, error.what());
    app.exit(error);
    return OkStatus();
  }
  return bodies.at(app.get_subcommands().front())(json);
}

// One object on stdout, of a failure too; text that is not UTF-8 (a name in a program) is made so.
Status PrintJson(const Json& json) {
  return WriteText("-", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace

int Main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool wants_json = std::ranges::find(words, "--json") != words.end();
  Json json;
  Status status = Guarded([&] { return RunCommand(words, json); });
  Progress("");
  // A mismatch is what the object says already; any other failure is named, beside what there is.
  const bool said = json.is_object() && status.code() == StatusCode::kMismatch;
  if (wants_json && !status.ok() && !said) {
    if (json.is_object()) {
      json.update(ErrorJson(status));
    } else {
      json = ErrorJson(status);
    }
  }
  const Status printed = wants_json && !json.is_null() ? PrintJson(json) : OkStatus();
  if (status.ok()) status = printed;
  // Whatever else happened, the results are lost.
  errno = 0;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (lost && status.code() != StatusCode::kResourceExhausted) {
    status = ResourceExhausted("standard output: cannot be written{}",
                               errno != 0 ? fmt::format(": {}", std::strerror(errno)) : "");  // else: an earlier write
  }
  return Report(status);
}

}  // namespace VXLA_NAMESPACE
