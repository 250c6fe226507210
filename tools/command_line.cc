#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "tools/files.h"

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
        {"VK_DRIVER_FILES, VK_ADD_DRIVER_FILES", "Vulkan drivers that the loader takes instead, or too"},
        {"VXLA_NO_PROBES", "1: open a device without running probe kernels, which find a driver's faults"},
        {"VXLA_LAPACK", "the library for the linear algebra that runs on the CPU"},
        {"VXLA_DEVICES", "the devices that JAX sees: a number, or a list with repeats"},
        {"VXLA_PJRT_LIBRARY", "the plugin that JAX loads instead of the wheel's"},
        {"VXLA_POISON", "1: memory that nothing has written yet holds a pattern, so that reading it shows"},
        {"LP_NUM_THREADS", "lavapipe's threads: 0 is the fastest for many small kernels"},
        {"PATH", "where vxla bench looks for IREE's programs and for Python"}}},
      {"Examples",
       {{"vxla run program.hlo --args args.npz -o results.npz", "run on the best Vulkan device and save the results"},
        {"vxla diff program.hlo --args args.npz", "compare that device with the CPU reference"},
        {"vxla diff program.hlo --bisect --report out.html", "find the first instruction that is wrong"}}},
  };
  return sections;
}

namespace {

constexpr size_t kColumns = 100;
constexpr char kOtherOptions[] = "Options";  // as the parser calls them

// Words of the text in lines that end before kColumns, each but the first behind `indent` spaces; the first one begins
// at column `at`.
std::string Wrapped(std::string_view text, size_t at, size_t indent) {
  std::string out;
  bool first = true;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return out;
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (!first && at + 1 + word.size() > kColumns) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    first = false;
  }
}

// "  --seed N     of the arguments ...", the text in a column of its own.
std::string Entry(const std::string& head, std::string_view text, size_t column) {
  std::string line = "  " + head;
  if (text.empty()) return line + "\n";
  const bool fits = line.size() + 2 <= column;
  line += fits ? std::string(column - line.size(), ' ') : "\n" + std::string(column, ' ');
  return line + Wrapped(text, column, column) + "\n";
}

// Paragraphs are wrapped; lines that begin with spaces stay.
std::string WrappedText(const std::string& text) {
  std::string out, paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) out += Wrapped(paragraph, 0, 0) + "\n";
    paragraph.clear();
  };
  for (const std::string& line : CLI::detail::split(text, '\n')) {
    if (!line.empty() && line[0] != ' ') {
      paragraph += line + " ";
      continue;
    }
    flush();
    out += line + "\n";
  }
  flush();
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

// "-o, --output FILE ..."
std::string HeadOf(const OptionFacts& option) {
  std::string head = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.positional && !option.value.empty())
    head += " " + (option.choices.empty() ? option.value : fmt::format("{}", fmt::join(option.choices, "|")));
  return head + (option.repeated ? " ..." : "");
}

constexpr size_t kTextColumn = 28;

std::string EntryOf(const OptionFacts& option) {
  const std::string fallback = option.fallback.empty() ? "" : fmt::format(" (default: {})", option.fallback);
  return Entry(HeadOf(option), option.about + fallback, kTextColumn);
}

}  // namespace

std::string HelpFooter() {
  std::string text;
  for (const HelpSection& section : HelpSections()) {
    text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", section.title);
    for (const auto& [term, meaning] : section.entries) text += Entry(term, meaning, kTextColumn);
  }
  return text;
}

std::string HelpText(const CLI::App& app, const std::string& name) {
  const std::vector<OptionFacts> all = OptionFactsOf(app);
  const std::vector<const CLI::App*> subcommands = SubcommandsOf(app);
  std::string places, options;
  for (const OptionFacts& option : all) {
    if (option.positional) places += (option.required ? " " : " [") + HeadOf(option) + (option.required ? "" : "]");
  }
  std::string text = WrappedText(app.get_description()) +
                     fmt::format("\nUsage: {} [OPTIONS]{}\n", name, subcommands.empty() ? places : " SUBCOMMAND");
  if (!places.empty()) text += "\n";
  std::vector<std::string> groups;
  for (const OptionFacts& option : all) {
    if (option.positional) {
      text += EntryOf(option);
    } else if (option.group != kOtherOptions && std::ranges::find(groups, option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  groups.push_back(kOtherOptions);
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group != kOtherOptions || groups.size() == 1 ? group : "Other options");
    for (const OptionFacts& option : all) {
      if (!option.positional && option.group == group) text += EntryOf(option);
    }
  }
  if (!subcommands.empty()) text += "\nSubcommands:\n";
  for (const CLI::App* sub : subcommands) text += Entry(sub->get_name(), sub->get_description(), 14);
  const std::string footer = app.get_footer();
  return footer.empty() ? text : text + "\n" + WrappedText(footer);
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
    facts.group = option->get_group();
    facts.fallback = option->get_default_str();
    // A list's is in brackets.
    if (facts.fallback.starts_with('[') && facts.fallback.ends_with(']'))
      facts.fallback = facts.fallback.substr(1, facts.fallback.size() - 2);
    if (facts.positional) facts.names = {option->get_name(true)};
    facts.about = option->get_description();
    facts.required = option->get_required();
    facts.repeated = option->get_items_expected_max() > 1;
    if (option->get_items_expected_max() == 0) continue;
    // "FILE", "NAME=LIB:SYMBOL", "TEXT:{auto,addresses}": the type's name, then the words of OneOf.
    const std::string type = option->get_type_name();
    facts.value = type.substr(0, type.find(":{"));
    if (facts.value.empty()) facts.value = facts.names.front();  // of a positional
    const size_t open = type.find('{'), close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) continue;
    facts.choices = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
  }
  return all;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // Of a single letter every other one is near.
  if (word.starts_with("-") && word.size() <= 2) return "";
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

namespace {

// "vxla run takes FILE and options: 'x' is too much".
Status TooManyWords(const CLI::App& sub, const std::string& word) {
  std::string takes;
  for (const OptionFacts& facts : OptionFactsOf(sub)) {
    if (facts.positional) takes += facts.names.front() + (facts.repeated ? " ... " : " ");
  }
  return InvalidArgument("vxla {} takes {}options: '{}' is too much", sub.get_name(),
                         takes.empty() ? "nothing but " : takes + "and ", word);
}

// The parser's sentences are about its own business, not the user's.
Status InOurWords(const CLI::App& sub, const std::vector<std::string>& words, const CLI::ParseError& error) {
  const std::string said = error.what();
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const std::string option = said.substr(0, said.find_first_of(": "));
  if (kind == CLI::ExitCodes::ExtrasError) {
    // It lists them from the last to the first.
    const auto extra = std::ranges::find_if(words, [&](const std::string& word) { return said.ends_with(" " + word); });
    return TooManyWords(sub, extra == words.end() ? "" : *extra);
  }
  if (kind == CLI::ExitCodes::RequiredError)
    return InvalidArgument("{}; vxla {} --help shows an example", said, sub.get_name());
  if (kind == CLI::ExitCodes::ExcludesError) {
    const size_t between = said.find(" excludes ");
    if (between != std::string::npos)
      return InvalidArgument("{} and {} cannot be given together", option, said.substr(between + 10));
  }
  if (kind == CLI::ExitCodes::ArgumentMismatch) {
    const bool twice = said.find("At Most") != std::string::npos || said.find("received 2") != std::string::npos;
    return InvalidArgument("{}: {}", option, twice ? "is given more than once" : "a value must follow");
  }
  if (kind == CLI::ExitCodes::ConversionError) {
    const size_t name = said.find("--"), equals = said.find(" = ");
    if (name < equals && equals != std::string::npos) {
      return InvalidArgument("{}: '{}' is no value of it", said.substr(name, equals - name), said.substr(equals + 3));
    }
  }
  return InvalidArgument("{}", said);
}

}  // namespace

Status UsageError(const CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error) {
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
  return InOurWords(*sub, words, error);
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
      [](const std::string& text) {
        if (text.empty()) return std::string("'' names no file");
        const Status status = CheckWritable(text);
        return status.ok() ? std::string() : status.message();
      },
      "");
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](const std::string& text) {
        if (std::ranges::find(words, text) != words.end()) return std::string();
        return fmt::format("'{}' is none of {}{}", text, fmt::join(words, ", "), DidYouMean(Nearest(text, words)));
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
}

}  // namespace VXLA_NAMESPACE
