// What the command line is made of, as CLI11 knows it: help, and what is said about words that it does not know.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

inline constexpr char kSummary[] =
    "vxla runs XLA programs on GPUs through Vulkan and compares the results with a CPU reference";

// Headings of the help, under which options stand in the order in which they are added; those without one come last.
inline constexpr char kArgumentOptions[] = "Arguments", kDeviceOptions[] = "Device", kCompileOptions[] = "Compilation",
                      kReplicaOptions[] = "Several devices", kRunOptions[] = "Runs and results",
                      kJudgeOptions[] = "Comparison", kShownOptions[] = "What is shown";

// Exit codes, environment and examples: what `vxla --help` ends with and the manual page too.
struct HelpSection {
  const char* title;
  std::vector<std::pair<const char*, const char*>> entries;  // a term and what it means
};
const std::vector<HelpSection>& HelpSections();
std::string HelpFooter();

// The subcommands in their order.
std::vector<const CLI::App*> SubcommandsOf(const CLI::App& app);
// One option or positional of a subcommand.
struct OptionFacts {
  std::vector<std::string> names;    // "-o", "--output"; of a positional its one name
  std::string value;                 // "FILE"; empty for a flag
  std::string fallback;              // the default, where there is one to name
  std::string group;                 // its heading
  std::vector<std::string> choices;  // what the value is one of, where that is known
  std::string about;
  bool positional = false, required = false, repeated = false;
};
std::vector<OptionFacts> OptionFactsOf(const CLI::App& app);

// What --help prints, `name` being "vxla run": options by groups, lines of at most 100 columns.
std::string HelpText(const CLI::App& app, const std::string& name);

// The candidate with the fewest edits (a letter more, less, another one, or two swapped), if these are few; else empty.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// What is wrong with a command line that did not parse: a word that nothing knows, with the nearest one that there is;
// else what the parser found, in our words.
Status UsageError(const CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error);
Status UnknownSubcommand(const CLI::App& app, const std::string& word);
// An error where a word ends with its `=`, as `--output=`: the parser takes the next word for the value.
Status CheckValuesFollow(const std::vector<std::string>& words);

// Checks of an option's number. CLI11's own wrap -1 and 2^64 to other numbers, take NaN, and name a bound by 300
// digits.
CLI::Validator WholeNumber(uint64_t least, uint64_t most);
CLI::Validator NumberFromZero(double most);
// A check of an option that names a file to write: '' is what a script's empty variable becomes, and no file; a folder
// that is missing is told before anything runs.
CLI::Validator FileToWrite();
// A check of an option that takes one of some words.
CLI::Validator OneOf(const std::vector<std::string>& words);

}  // namespace VXLA_NAMESPACE
