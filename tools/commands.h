// The subcommands: each adds itself to the app; `run` is called with what was parsed and gives the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace vxla {

using CommandBody = std::function<int()>;

CommandBody AddRun(CLI::App& app);
CommandBody AddDiff(CLI::App& app);
CommandBody AddExplain(CLI::App& app);
CommandBody AddDevices(CLI::App& app);
CommandBody AddOps(CLI::App& app);
CommandBody AddBench(CLI::App& app);
CommandBody AddConvert(CLI::App& app);

}  // namespace vxla
