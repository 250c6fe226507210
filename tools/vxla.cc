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

#include "backend/vulkan/shader/shader_compiler.h"
#include "core/host/guarded.h"
#include "generated/vxla_build_info.h"
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
  const char* examples;  // of the help
};
constexpr Command kCommands[] = {
    {"run", "run a program and print or save its results", AddRun,
     "  vxla run program.hlo --args args.npz -o results.npz\n"
     "  vxla run program.mlir --seed 7 --fill full-range --device cpu\n"},
    {"diff", "compare a device's results with the CPU reference", AddDiff,
     "  vxla diff program.hlo --args args.npz\n"
     "  vxla diff program.hlo --fill special --bisect --report out.html\n"
     "  vxla diff program.hlo --device lavapipe --against swiftshader\n"
     "  vxla diff programs/*.hlo -j 4 --junit out.xml --expected-failures known.txt\n"},
    {"explain", "show the plan: fusions, kernels, buffers, barriers, what runs on the CPU", AddExplain,
     "  vxla explain program.hlo\n"
     "  vxla explain program.hlo --module --plan --dump-kernels glsl\n"},
    {"devices", "list the Vulkan devices and what they can do", AddDevices, "  vxla devices --json\n"},
    {"ops", "list the operations and where they run", AddOps, "  vxla ops --json\n"},
    {"check", "run programs that check themselves: files with check operations", AddCheck,
     "  vxla check tests/*.mlir --device all -q\n"},
    {"bench", "measure kernels and programs against peers", AddBench,
     "  vxla bench --list\n"
     "  vxla bench dot_1024 softmax --num-runs 30\n"
     "  vxla bench program.hlo --args args.npz --json\n"},
    {"convert", "read a program in one form and write it in another", AddConvert,
     "  vxla convert program.hlo program.mlir\n"
     "  vxla convert program.mlirbc - --to hlo\n"},
    {"compile", "compile a program into a file that runs without a compiler", AddCompile,
     "  vxla compile program.hlo -o program.vxla --target generic\n"},
    {"help", "show the options of a subcommand, or all of this as a manual page", AddHelp,
     "  vxla help diff\n"
     "  vxla help --man | man -l -\n"},
    {"completion", "write a shell's completion of this command line", AddCompletion,
     "  vxla completion bash > ~/.local/share/bash-completion/completions/vxla\n"},
};

// Parses and does what was asked for.
Status RunCommand(const std::vector<std::string>& words, Json& json) {
  VXLA_RETURN_IF_ERROR(CheckValuesFollow(words));
  CLI::App app{kSummary, "vxla"};
  app.set_version_flag("-v,--version", "vxla " VXLA_VERSION,
                       "print the version; with --json also what it was built with");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.footer(HelpFooter());
  app.formatter_fn(
      [](const CLI::App* shown, const std::string& name, CLI::AppFormatMode) { return HelpText(*shown, name); });
  std::map<CLI::App*, CommandBody> bodies;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.about)->footer("");
    bodies[sub] = command.add(*sub);
    const std::string about = sub->get_footer();
    sub->footer(fmt::format("{}{}Examples:\n{}", about, about.empty() ? "" : "\n\n", command.examples));
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" with code 0; everything else is the user's input.
    if (error.get_exit_code() != 0) return UsageError(app, words, error);
    app.exit(error);
    return OkStatus();
  }
  return bodies.at(app.get_subcommands().front())(json);
}

// What a report of a fault needs to know. The commit is null where there was no git when the build was configured.
Json VersionJson() {
  Json json = {{"version", VXLA_VERSION}, {"build_type", VXLA_BUILD_TYPE}};
#if defined(__clang__)
  json["compiler"] = "clang " __clang_version__;
#elif defined(__GNUC__)
  json["compiler"] = "gcc " __VERSION__;
#else
  json["compiler"] = "other";
#endif
  json["libraries"] = {
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"cli11", CLI11_VERSION},
      {"nlohmann_json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}};
  json["shader_compiler"] = vulkan::CompilerVersions();
  json["commit"] = nullptr;
  if (const std::string_view commit = VXLA_COMMIT; !commit.empty()) json["commit"] = commit;
  return json;
}

// One object on stdout, of a failure too; text that is not UTF-8 (a name in a program) is made so.
Status PrintJson(const Json& json) {
  return WriteText("-", json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool IsVersion(const std::string& word) { return word == "--version" || word == "-v"; }

}  // namespace

std::string VersionText() {
  constexpr std::string_view kCommit = VXLA_COMMIT;
  return fmt::format("{} ({}{})", VXLA_VERSION, kCommit.empty() ? "" : fmt::format("commit {}, ", kCommit),
                     *VXLA_BUILD_TYPE == '\0' ? "no build type" : VXLA_BUILD_TYPE);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool wants_json = std::ranges::find(words, "--json") != words.end();
  Json json;
  const bool version = words.size() == 2 && wants_json && (IsVersion(words[0]) || IsVersion(words[1]));
  Status status = version ? OkStatus() : Guarded([&] { return RunCommand(words, json); });
  if (version) json = VersionJson();
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
