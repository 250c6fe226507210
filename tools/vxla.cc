// The command `vxla`: runs, compares and explains XLA programs on Vulkan devices and on the CPU reference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <new>

#include "core/check.h"
#include "tools/commands.h"
#include "tools/session.h"
#include "tools/terminal.h"

namespace vxla {
namespace {

int Main(int argc, char** argv) {
  CLI::App app{"vxla runs XLA programs on any GPU that speaks Vulkan and proves each result against a CPU reference"};
  app.set_version_flag("--version", "vxla " VXLA_VERSION);
  app.require_subcommand(1);
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
      {"bench", "measure kernels and programs against peers", AddBench},
      {"convert", "read a program in one form and write it in another", AddConvert},
  };
  std::map<CLI::App*, CommandBody> bodies;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.about);
    bodies[sub] = command.add(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" with code 0; everything else is the user's input.
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "vxla: error: {}\n", error.what());
    return 2;
  }
  return bodies.at(app.get_subcommands().front())();
}

}  // namespace
}  // namespace vxla

int main(int argc, char** argv) {
  vxla::ExitOnInterrupt();
  vxla::ReportFailedWrites();
  try {
    return vxla::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return vxla::Report(vxla::ResourceExhausted("out of host memory"));
  } catch (const std::exception& error) {
    return vxla::Report(vxla::Internal("{}", error.what()));
  }
}
