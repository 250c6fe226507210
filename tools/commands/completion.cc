// vxla completion: what a shell needs to complete this command line, written from what CLI11 knows of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/files.h"

namespace VXLA_NAMESPACE {
namespace {

// What a value may be: words, a file, or anything.
std::vector<std::string> WordsOf(const CLI::App& app, const OptionFacts& option) {
  if (!option.choices.empty()) return option.choices;
  if (option.value == "DEVICE") return {"vulkan", "cpu", "gpu", "lavapipe"};
  if (option.value != "SUBCOMMAND") return {};
  std::vector<std::string> names;
  for (const CLI::App* sub : SubcommandsOf(*app.get_parent())) names.push_back(sub->get_name());
  return names;
}

bool IsFile(const OptionFacts& option) {
  constexpr std::string_view kFiles[] = {"FILE", "FOLDER", "IN", "OUT", "NAME"};
  return std::ranges::find(kFiles, option.value) != std::end(kFiles);
}

std::string Replaced(std::string text, const std::map<char, std::string>& replacements) {
  std::string out;
  for (const char c : text) {
    const auto it = replacements.find(c);
    out += it == replacements.end() ? std::string(1, c) : it->second;
  }
  return out;
}

// Inside '...' of a shell.
std::string Quoted(const std::string& text) { return "'" + Replaced(text, {{'\'', "'\\''"}}) + "'"; }

std::string Bash(const CLI::App& app) {
  std::vector<std::string> names;
  std::string values, words;
  for (const CLI::App* sub : SubcommandsOf(app)) {
    names.push_back(sub->get_name());
    std::vector<std::string> options, places;
    for (const OptionFacts& option : OptionFactsOf(*sub)) {
      const std::vector<std::string> choices = WordsOf(*sub, option);
      if (option.positional) {
        places.insert(places.end(), choices.begin(), choices.end());
        continue;
      }
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      std::vector<std::string> cases;
      for (const std::string& name : option.names) cases.push_back(fmt::format("'{} {}'", sub->get_name(), name));
      const std::string what = !choices.empty() ? fmt::format("words='{}'", fmt::join(choices, " "))
                               : IsFile(option) ? "files=yes"
                                                : "";
      values += fmt::format("    {}) {} ;;\n", fmt::join(cases, "|"), what.empty() ? ":" : what);
    }
    words += fmt::format("    {}) options='{}' places='{}' ;;\n", sub->get_name(), fmt::join(options, " "),
                         fmt::join(places, " "));
  }
  return fmt::format(R"(# bash completion for vxla, written by `vxla completion bash`.
_vxla() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words='' files='' options='' places=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "${{COMP_WORDS[1]}} $before" in
{}    *)
      if [[ $current == -* ]]; then words=$options; else words=$places; fi
      [ -n "$words" ] || files=yes ;;
  esac
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
  if [ -n "$files" ]; then
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$current"))
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _vxla vxla
)",
                     fmt::join(names, " "), words, values);
}

// A subcommand's arguments as zsh's _arguments takes them.
std::string ZshArguments(const CLI::App& sub) {
  auto plain = [](const std::string& text) {
    return Replaced(text, {{'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\n', " "}});
  };
  std::string text;
  for (const OptionFacts& option : OptionFactsOf(sub)) {
    const std::vector<std::string> choices = WordsOf(sub, option);
    const std::string action = !choices.empty() ? fmt::format("({})", fmt::join(choices, " "))
                               : IsFile(option) ? std::string("_files")
                                                : std::string(" ");
    if (option.positional) {
      const std::string place = option.repeated ? "*" : option.required ? "" : ":";
      text += fmt::format(" \\\n        {}", Quoted(fmt::format("{}:{}:{}", place, plain(option.names[0]), action)));
      continue;
    }
    for (const std::string& name : option.names) {
      std::string spec = fmt::format("{}{}[{}]", option.repeated ? "*" : "", name, plain(option.about));
      if (!option.value.empty()) spec += fmt::format(":{}:{}", plain(option.value), action);
      if (option.names.size() > 1) spec = fmt::format("({}){}", fmt::join(option.names, " "), spec);
      text += fmt::format(" \\\n        {}", Quoted(spec));
    }
  }
  return text;
}

std::string Zsh(const CLI::App& app) {
  std::string list, cases;
  for (const CLI::App* sub : SubcommandsOf(app)) {
    list += fmt::format("      {}\n", Quoted(fmt::format("{}:{}", sub->get_name(), sub->get_description())));
    cases += fmt::format("    {})\n      _arguments -S{} ;;\n", sub->get_name(), ZshArguments(*sub));
  }
  return fmt::format(R"(#compdef vxla
# zsh completion for vxla, written by `vxla completion zsh`.
_vxla() {{
  local -a subcommands
  if (( CURRENT == 2 )); then
    subcommands=(
{}    )
    _describe 'subcommand' subcommands
    return
  fi
  local subcommand=$words[2]
  shift words
  (( CURRENT-- ))
  case $subcommand in
{}  esac
}}
if [ "$funcstack[1]" = _vxla ]; then _vxla "$@"; else compdef _vxla vxla; fi
)",
                     list, cases);
}

std::string Fish(const CLI::App& app) {
  auto quoted = [](const std::string& text) {
    return "'" + Replaced(text, {{'\'', "\\'"}, {'\\', "\\\\"}, {'\n', " "}}) + "'";
  };
  std::string text = "# fish completion for vxla, written by `vxla completion fish`.\n";
  for (const CLI::App* sub : SubcommandsOf(app)) {
    text += fmt::format("complete -c vxla -f -n __fish_use_subcommand -a {} -d {}\n", sub->get_name(),
                        quoted(sub->get_description()));
    const std::string seen = fmt::format("complete -c vxla -n '__fish_seen_subcommand_from {}'", sub->get_name());
    for (const OptionFacts& option : OptionFactsOf(*sub)) {
      const std::vector<std::string> choices = WordsOf(*sub, option);
      if (option.positional) {
        if (!choices.empty()) text += fmt::format("{} -f -a '{}'\n", seen, fmt::join(choices, " "));
        continue;
      }
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string value = option.value.empty() ? ""
                                : !choices.empty()   ? fmt::format(" -x -a '{}'", fmt::join(choices, " "))
                                : IsFile(option)     ? " -r -F"
                                                     : " -x";
      text += fmt::format("{}{}{} -d {}\n", seen, names, value, quoted(option.about));
    }
  }
  return text;
}

}  // namespace

CommandBody AddCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(OneOf({"bash", "zsh", "fish"}));
  return [shell, &app](nlohmann::ordered_json&) {
    const CLI::App& vxla = *app.get_parent();
    return WriteText("-", *shell == "bash" ? Bash(vxla) : *shell == "zsh" ? Zsh(vxla) : Fish(vxla));
  };
}

}  // namespace VXLA_NAMESPACE
