// The subcommands: each adds itself to the app; its body is called with what was parsed. What --json prints goes into
// `json`, and the caller prints it; without --json the body prints its results itself.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "core/status.h"

namespace VXLA_NAMESPACE {

using CommandBody = std::function<Status(nlohmann::ordered_json& json)>;

CommandBody AddRun(CLI::App& app);
CommandBody AddCompile(CLI::App& app);
CommandBody AddDiff(CLI::App& app);
CommandBody AddExplain(CLI::App& app);
CommandBody AddDevices(CLI::App& app);
CommandBody AddOps(CLI::App& app);
CommandBody AddCheck(CLI::App& app);
CommandBody AddBench(CLI::App& app);
CommandBody AddConvert(CLI::App& app);
CommandBody AddHelp(CLI::App& app);
CommandBody AddCompletion(CLI::App& app);

}  // namespace VXLA_NAMESPACE
