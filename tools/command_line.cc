#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace VXLA_NAMESPACE {
namespace {

// Edits that turn one word into the other; two neighbours swapped are one edit (the optimal string alignment distance).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const size_t changed = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({changed, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

// "--bindings" of "--bindings=auto", "-o" of "-oout.npz"; empty if the word is no option.
std::string OptionName(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return "";
  if (word[1] == '-') return word.substr(0, word.find('='));
  return std::isalpha(static_cast<unsigned char>(word[1])) != 0 ? word.substr(0, 2) : "";
}

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

Status UnknownOption(const CLI::App& app, const CLI::App& sub, const std::string& option) {
  const bool before = &app == &sub;
  if (before) {
    for (const CLI::App* other : SubcommandsOf(app)) {
      if (other->get_option_no_throw(option) == nullptr) continue;
      return InvalidArgument("{}: the option goes behind the subcommand, as in vxla {} {}", option, other->get_name(),
                             option);
    }
  }
  std::vector<std::string> known;
  for (const OptionFacts& facts : OptionFactsOf(sub)) {
    if (!facts.positional) known.insert(known.end(), facts.names.begin(), facts.names.end());
  }
  const std::string nearest = Nearest(option, known);
  const std::string command = before ? "vxla" : "vxla " + sub.get_name();
  return InvalidArgument("{} has no option {}{}", command, option,
                         nearest.empty() ? fmt::format("; {} --help lists them", command) : DidYouMean(nearest));
}

}  // namespace

const std::vector<HelpSection>& HelpSections() {
  static const std::vector<HelpSection> sections = {
      {"Exit codes",
       {{"0", "it did what was asked, and results agree"},
        {"1", "it ran, and results differ, or a loop took more than --max-loop-iterations"},
        {"2", "the input is wrong or asks for what is not supported: text, arguments, files, options"},
        {"3", "the device or the machine failed: no device, out of memory, disk full, --require-gpu not met"},
        {"130", "interrupted"},
        {"141", "the reader of a pipe went away (the shell's number for SIGPIPE)"}}},
      {"Environment",
       {{"NO_COLOR", "set to anything: no colours on a terminal"},
        {"TERM", "dumb: neither colours nor progress"},
        {"XDG_CACHE_HOME", "where compiled kernels are kept; default: ~/.cache"},
        {"VK_DRIVER_FILES, VK_ADD_DRIVER_FILES", "Vulkan drivers that the loader takes instead, or too"}}},
      {"Examples",
       {{"vxla run program.hlo --args args.npz -o results.npz", "run on the best Vulkan device and save the results"},
        {"vxla diff program.hlo --args args.npz", "compare that device with the CPU reference"},
        {"vxla diff program.hlo --bisect --report out.html", "find the first instruction that is wrong"}}},
  };
  return sections;
}

std::string HelpFooter() {
  std::string text;
  for (const HelpSection& section : HelpSections()) {
    text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", section.title);
    size_t width = 0;
    for (const auto& [term, meaning] : section.entries) width = std::max(width, std::string_view(term).size());
    for (const auto& [term, meaning] : section.entries) text += fmt::format("  {:<{}}  {}\n", term, width, meaning);
  }
  return text;
}

std::vector<const CLI::App*> SubcommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
}

std::vector<OptionFacts> OptionFactsOf(const CLI::App& app) {
  std::vector<OptionFacts> all;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    OptionFacts& facts = all.emplace_back();
    for (const std::string& name : option->get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) facts.names.push_back("--" + name);
    facts.positional = option->get_positional();
    if (facts.positional) facts.names = {option->get_name(true)};
    facts.about = option->get_description();
    facts.required = option->get_required();
    facts.repeated = option->get_items_expected_max() > 1;
    if (option->get_items_expected_max() == 0) continue;
    // "FILE", "TEXT:{auto,addresses}", "INT:INT in [1 - 100]": the type's name, then what its checks say.
    const std::string type = option->get_type_name();
    facts.value = type.substr(0, type.find(':'));
    if (facts.value.empty()) facts.value = facts.names.front();  // of a positional
    const size_t open = type.find('{'), close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) continue;
    facts.choices = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
  }
  return all;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // A third of the letters may be wrong: "--devise" is --device, "--x" is nothing.
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance >= least || distance >= candidate.size()) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

Status UnknownSubcommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* sub : SubcommandsOf(app)) known.push_back(sub->get_name());
  const std::string nearest = Nearest(word, known);
  return InvalidArgument("vxla has no subcommand {}{}", word,
                         nearest.empty() ? fmt::format("; it has {}", fmt::join(known, ", ")) : DidYouMean(nearest));
}

Status UsageError(const CLI::App& app, const std::vector<std::string>& words, const std::string& parser_message) {
  const CLI::App* sub = &app;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (const std::string option = OptionName(word); !option.empty()) {
      if (sub->get_option_no_throw(option) == nullptr) return UnknownOption(app, *sub, option);
    } else if (sub == &app) {
      const auto subcommands = SubcommandsOf(app);
      const auto named = std::ranges::find(subcommands, word, [](const CLI::App* s) { return s->get_name(); });
      if (named == subcommands.end()) return UnknownSubcommand(app, word);
      sub = *named;
    }
  }
  if (sub == &app) return InvalidArgument("a subcommand is needed; vxla help lists them");
  return InvalidArgument("{}", parser_message);
}

Status CheckValuesFollow(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return InvalidArgument("{} has no value behind its '='", word);
  }
  return OkStatus();
}

CLI::Validator WholeNumber(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && least <= value && value <= most) return std::string();
        return fmt::format("{} is not a whole number from {} to {}", text.empty() ? "''" : text, least, most);
      },
      "");
}

CLI::Validator NumberFromZero(double most) {
  return CLI::Validator(
      [most](const std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && 0 <= value && value <= most) return std::string();
        return fmt::format("{} is not a number from 0 to {}", text.empty() ? "''" : text, most);
      },
      "");
}

CLI::Validator FileToWrite() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("'' names no file") : std::string(); }, "");
}

}  // namespace VXLA_NAMESPACE
