// vxla help: a subcommand's options, or everything as a manual page; both from what CLI11 knows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

// Text that troff prints as it stands: no escapes, no control lines, hyphens that are minus signs.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool line_begins = out.empty() || out.back() == '\n';
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

// "\fB\-o\fR, \fB\-\-output\fR \fIFILE\fR"
std::string OptionHead(const OptionFacts& option) {
  std::string head;
  for (const std::string& name : option.names) {
    const char* font = option.positional ? "I" : "B";
    head += fmt::format("{}\\f{}{}\\fR", head.empty() ? "" : ", ", font, Roff(name));
  }
  if (option.positional || option.value.empty()) return head + (option.repeated ? " ..." : "");
  const std::string value = option.choices.empty()
                                ? fmt::format("\\fI{}\\fR", Roff(option.value))
                                : fmt::format("\\fB{}\\fR", Roff(fmt::format("{}", fmt::join(option.choices, "|"))));
  return fmt::format("{} {}{}", head, value, option.repeated ? " ..." : "");
}

std::string OptionsText(const CLI::App& app) {
  std::string text;
  for (const OptionFacts& option : OptionFactsOf(app)) {
    if (app.get_parent() != nullptr && option.names.back() == "--help") continue;  // said of vxla itself
    const std::string fallback = option.fallback.empty() ? "" : fmt::format(" (default: {})", option.fallback);
    text += fmt::format(".TP\n{}\n{}\n", OptionHead(option), Roff(option.about + fallback));
  }
  return text;
}

// "\fBvxla run\fR [\fIoptions\fR] \fIFILE\fR"
std::string SynopsisOf(const CLI::App& sub) {
  std::string text = fmt::format("\\fBvxla {}\\fR [\\fIoptions\\fR]", sub.get_name());
  for (const OptionFacts& option : OptionFactsOf(sub)) {
    if (!option.positional) continue;
    const std::string name = fmt::format("\\fI{}\\fR{}", Roff(option.names[0]), option.repeated ? " ..." : "");
    text += option.required ? " " + name : fmt::format(" [{}]", name);
  }
  return text;
}

std::string ManualPage(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH VXLA 1 \"\" \"vxla {0}\" \"User Commands\"\n.SH NAME\nvxla \\- run XLA programs through Vulkan and compare "
      "them with a CPU reference\n.SH SYNOPSIS\n",
      VXLA_VERSION);
  for (const CLI::App* sub : SubcommandsOf(app)) text += SynopsisOf(*sub) + "\n.br\n";
  text += fmt::format(".SH DESCRIPTION\n{}.\n.SH OPTIONS\n{}.SH SUBCOMMANDS\n", Roff(kSummary), OptionsText(app));
  for (const CLI::App* sub : SubcommandsOf(app)) {
    text += fmt::format(".SS vxla {}\n{}.\n{}", sub->get_name(), Roff(sub->get_description()), OptionsText(*sub));
    if (const std::string footer = sub->get_footer(); !footer.empty()) text += fmt::format(".PP\n{}\n", Roff(footer));
  }
  for (const HelpSection& section : HelpSections()) {
    const std::string_view title = section.title;
    text += fmt::format(".SH \"{}\"\n", title == "Exit codes" ? "EXIT STATUS" : Upper(title));
    for (const auto& [term, meaning] : section.entries)
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Roff(term), Roff(meaning));
  }
  return text;
}

// In a cell of a table: no bar ends it.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string Capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string OptionCell(const OptionFacts& option) {
  std::string value = option.positional || option.value.empty() ? ""
                      : option.choices.empty()                  ? " " + option.value
                                                                : fmt::format(" {}", fmt::join(option.choices, "|"));
  return Cell(fmt::format("`{}{}{}`", fmt::join(option.names, "`, `"), value, option.repeated ? " ..." : ""));
}

std::string TableOf(const std::vector<OptionFacts>& options, const std::string& group) {
  std::string rows;
  for (const OptionFacts& option : options) {
    if (option.group != group || option.names.back() == "--help") continue;
    const std::string fallback = option.fallback.empty() ? "" : fmt::format(" (default: `{}`)", option.fallback);
    rows += fmt::format("| {} | {}{} |\n", OptionCell(option), Cell(option.about), Cell(fallback));
  }
  return rows.empty() ? "" : fmt::format("\n| {} | |\n|---|---|\n{}", group, rows);
}

// What docs/reference/cli.md holds between its marks: every subcommand, exit codes, the environment.
std::string MarkdownPage(const CLI::App& app) {
  std::string text;
  for (const CLI::App* sub : SubcommandsOf(app)) {
    const std::vector<OptionFacts> options = OptionFactsOf(*sub);
    std::string places;
    std::vector<std::string> groups;
    for (const OptionFacts& option : options) {
      if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
      if (!option.positional) continue;
      const std::string name = option.names[0] + (option.repeated ? " ..." : "");
      places += option.required ? " " + name : fmt::format(" [{}]", name);
    }
    text += fmt::format("## vxla {0}\n\n{1}. `vxla {0} [options]{2}`\n", sub->get_name(), Capital(sub->get_description()),
                        places);
    for (const std::string& group : groups) text += TableOf(options, group);
    text += fmt::format("\n```\n{}```\n\n", sub->get_footer());
  }
  for (const HelpSection& section : HelpSections()) {
    text += fmt::format("## {0}\n\n| {0} | |\n|---|---|\n", section.title);
    for (const auto& [term, meaning] : section.entries) text += fmt::format("| `{}` | {} |\n", Cell(term), Cell(meaning));
    text += "\n";
  }
  return text;
}

struct HelpFlags {
  std::string subcommand;
  bool manual = false, markdown = false;
};

Status Help(const CLI::App& app, const HelpFlags& flags) {
  if (flags.manual) return WriteText("-", ManualPage(app));
  if (flags.markdown) return WriteText("-", MarkdownPage(app));
  const CLI::App* shown = &app;
  if (!flags.subcommand.empty()) {
    const auto subcommands = SubcommandsOf(app);
    const auto it =
        std::ranges::find(subcommands, flags.subcommand, [](const CLI::App* sub) { return sub->get_name(); });
    if (it == subcommands.end()) return UnknownSubcommand(app, flags.subcommand);
    shown = *it;
  }
  const std::string name = shown == &app ? "vxla" : "vxla " + shown->get_name();
  return WriteText("-", HelpText(*shown, name));
}

}  // namespace

CommandBody AddHelp(CLI::App& app) {
  auto flags = std::make_shared<HelpFlags>();
  app.add_option("SUBCOMMAND", flags->subcommand, "whose options to show; without one, the subcommands")->type_name("");
  app.add_flag("--man", flags->manual, "everything as a manual page, in troff's man macros");
  app.add_flag("--markdown", flags->markdown, "everything as Markdown: the page docs/reference/cli.md")->excludes("--man");
  return [flags, &app](nlohmann::ordered_json&) { return Help(*app.get_parent(), *flags); };
}

}  // namespace VXLA_NAMESPACE
