// What a person at a terminal meets: progress, colours, closed pipes, help, completions, the manual page, failures as
// JSON.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace terminal_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kSubcommands[] = "run diff explain devices ops check bench convert compile help completion";
constexpr char kEscape[] = "\x1b";

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string AddProgram() {
  return WriteScratch("terminal_add.hlo", "ENTRY e { a = f32[3] parameter(0)  ROOT c = f32[3] add(a, a) }");
}

// Instructions that take the reference a tenth of a second and more.
std::string SlowProgram(int length) {
  std::string text = "ENTRY slow { v0 = f32[400000] parameter(0)\n";
  for (int k = 1; k <= length; ++k)
    text += fmt::format("{}v{} = f32[400000] tan(v{})\n", k == length ? "ROOT " : "", k, k - 1);
  return WriteScratch("slow.hlo", text + "}");
}

std::string TwoArrays(const std::string& name, const std::vector<std::vector<int64_t>>& shapes) {
  std::string files;
  for (size_t k = 0; k < shapes.size(); ++k) {
    int64_t count = 1;
    for (int64_t size : shapes[k]) count *= size;
    const std::vector<float> values(static_cast<size_t>(count), 1.0f);
    files += " " + WriteScratch(fmt::format("{}_{}.npy", name, k), NpyF32(shapes[k], values));
  }
  return files;
}

TEST(TerminalTest, TheReferenceShowsWhichInstructionItIsAt) {
  const std::string command = "\"$VXLA\" run " + SlowProgram(60) + " --device cpu -o " + ScratchFolder() + "/slow.npz";
  const CommandResult shown = RunOnTerminal(command);
  EXPECT_EQ(shown.exit_code, 0) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr(" of 61 on the CPU: v"));
  // Nothing of it stays: the line is erased before the notes and at the end.
  EXPECT_THAT(shown.out, HasSubstr("\r\x1b[K"));
  const size_t last = shown.out.rfind(" on the CPU: v");
  EXPECT_NE(shown.out.find("\r\x1b[K", last), std::string::npos);
}

TEST(TerminalTest, KernelsAreCountedWhileTheyCompile) {
  // Kernels of a tenth of a second and more: a function of double precision each.
  std::string program = "ENTRY e {\n  p = c128[100] parameter(0)\n", types, names;
  for (const char* function : {"sine", "cosine", "tan", "exponential", "log", "tanh", "logistic", "sqrt", "rsqrt"}) {
    program += fmt::format("  v_{0} = c128[100] {0}(p)\n", function);
    types += std::string(types.empty() ? "" : ", ") + "c128[100]";
    names += fmt::format("{}v_{}", names.empty() ? "" : ", ", function);
  }
  const std::string file = WriteScratch("kernels.hlo", program + "  ROOT t = (" + types + ") tuple(" + names + ")\n}");
  const CommandResult shown =
      RunOnTerminal("\"$VXLA\" run " + file + " --no-fusion --no-cache -o " + ScratchFolder() + "/kernels.npz");
  EXPECT_EQ(shown.exit_code, 0) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("compiling kernels: "));
  EXPECT_THAT(shown.out, HasSubstr(" of 9"));
}

TEST(TerminalTest, IsolationCountsItsInstructions) {
  const CommandResult shown = RunOnTerminal("\"$VXLA\" diff " + SlowProgram(6) + " --isolate --no-cache");
  EXPECT_EQ(shown.exit_code, 0) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("instruction "));
  EXPECT_THAT(shown.out, HasSubstr("\x1b[1;32mAGREE\x1b[0m"));
}

TEST(TerminalTest, WithoutATerminalThereIsNeitherProgressNorColour) {
  const CommandResult result = RunVxla("diff " + SlowProgram(6) + " --isolate");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, Not(HasSubstr(kEscape)));
  EXPECT_THAT(result.err, Not(HasSubstr("on the CPU:")));
  EXPECT_THAT(result.out, HasSubstr("AGREE: "));
}

TEST(TerminalTest, ErrorsAreRedUnlessNoColorIsSet) {
  const std::string command = "\"$VXLA\" run nosuch.hlo";
  EXPECT_THAT(RunOnTerminal(command).out, HasSubstr("\x1b[1;31mvxla: error:\x1b[0m nosuch.hlo: "));
  EXPECT_THAT(RunOnTerminal("NO_COLOR=1 " + command).out, StartsWith("vxla: error: nosuch.hlo: "));
  EXPECT_THAT(RunOnTerminal("NO_COLOR= " + command).out, HasSubstr("\x1b[1;31m"));
  EXPECT_THAT(RunOnTerminal("TERM=dumb " + command).out, StartsWith("vxla: error: nosuch.hlo: "));
}

TEST(TerminalTest, NoColorKeepsProgressAndADumbTerminalHasNone) {
  const std::string command = "\"$VXLA\" run " + SlowProgram(60) + " --device cpu -o " + ScratchFolder() + "/slow.npz";
  const CommandResult plain = RunOnTerminal("NO_COLOR=1 " + command);
  EXPECT_THAT(plain.out, HasSubstr(" on the CPU: v"));
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b[1;")));
  const CommandResult dumb = RunOnTerminal("TERM=dumb " + command);
  EXPECT_EQ(dumb.exit_code, 0) << dumb.out;
  EXPECT_THAT(dumb.out, Not(HasSubstr(kEscape)));
  EXPECT_THAT(dumb.out, HasSubstr("1 seeded"));
}

TEST(TerminalTest, ALineOfProgressIsNotWiderThanTheTerminal) {
  const CommandResult shown = RunOnTerminal(
      "\"$VXLA\" run " + SlowProgram(60) + " --device cpu -o " + ScratchFolder() + "/slow.npz", /*columns=*/20);
  size_t lines = 0;
  for (size_t at = shown.out.find("\r\x1b[K"); at != std::string::npos; ++lines) {
    const size_t begin = at + 4;
    at = shown.out.find("\r\x1b[K", begin);
    const std::string line = shown.out.substr(begin, at == std::string::npos ? at : at - begin);
    EXPECT_LT(line.substr(0, line.find('\n')).size(), line.find("vxla: ") == std::string::npos ? 20u : 200u) << line;
  }
  EXPECT_GT(lines, 1u);
}

TEST(TerminalTest, AnInterruptErasesTheLineAndExitsWith130) {
  // The terminal sends the interrupt to the command that runs in it.
  const CommandResult shown =
      RunOnTerminal("\"$VXLA\" run " + SlowProgram(4000) + " --device cpu", /*columns=*/80, /*interrupt=*/true);
  EXPECT_EQ(shown.exit_code, 130) << shown.out;
  EXPECT_THAT(shown.out, ::testing::EndsWith("\r\x1b[K"));
}

TEST(PipeTest, AReaderThatGoesAwayIsNoError) {
  // More than a pipe holds, so that the writer meets its end.
  const std::string program = WriteScratch("many.hlo", "ENTRY e { ROOT c = f32[40,30,7] iota(), iota_dimension=0 }");
  for (const std::string& command : std::vector<std::string>{"ops --json", "run " + program + " --device cpu"}) {
    const CommandResult result = RunShell("\"$VXLA\" " + command + " | (exec 0<&-; sleep 0.3); exit ${PIPESTATUS[0]}");
    EXPECT_THAT(result.exit_code, AnyOf(0, 141)) << command;
    EXPECT_EQ(result.err, "") << command;
  }
  const CommandResult first = RunShell("\"$VXLA\" ops | head -1; exit ${PIPESTATUS[0]}");
  EXPECT_THAT(first.exit_code, AnyOf(0, 141));
  EXPECT_EQ(first.out, "| builder | HLO | StableHLO | CPU | Vulkan | types |\n");
  EXPECT_EQ(first.err, "");
  // Whoever started it may have switched the signal off.
  const CommandResult ignored = RunShell("trap '' PIPE; \"$VXLA\" ops --json | (exec 0<&-; sleep 0.3)");
  EXPECT_EQ(ignored.err, "");
}

TEST(PipeTest, AFullDiskBehindStandardOutputIsAnError) {
  for (const std::string& command : std::vector<std::string>{"ops", "devices", "diff " + AddProgram()}) {
    const CommandResult result = RunShell("\"$VXLA\" " + command + " >/dev/full");
    EXPECT_EQ(result.exit_code, 3) << command;
    EXPECT_THAT(result.err, HasSubstr("standard output: cannot be written: No space left on device")) << command;
  }
}

TEST(HelpTest, HelpOfASubcommandIsItsOwn) {
  for (const std::string& name : Words(kSubcommands)) {
    const CommandResult help = RunVxla("help " + name);
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_EQ(help.out, RunVxla(name + " --help").out) << name;
    EXPECT_THAT(help.out, HasSubstr("Usage: vxla " + name)) << name;
  }
  const CommandResult all = RunVxla("help");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.out, RunVxla("--help").out);
  for (const std::string& name : Words(kSubcommands)) EXPECT_THAT(all.out, HasSubstr("\n  " + name + " ")) << name;
  EXPECT_THAT(all.out, HasSubstr("Exit codes:"));
}

TEST(HelpTest, TheVersionHasAShortName) {
  EXPECT_EQ(RunVxla("-v").out, RunVxla("--version").out);
  EXPECT_THAT(RunVxla("-v").out, StartsWith("vxla "));
}

TEST(HelpTest, LinesAreOfAtMost100ColumnsInGroupsWithAnExampleAtTheEnd) {
  for (const std::string& name : Words(kSubcommands + std::string(" vxla"))) {
    const std::string help = RunVxla(name == "vxla" ? "--help" : "help " + name).out;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << name << ": " << line;
    EXPECT_THAT(help, HasSubstr("\nExamples:\n  vxla ")) << name;
    for (const char* raw : {"(1x)", "Excludes:", "TEXT:", "UINT", "INT:", "{core+sync}"})
      EXPECT_THAT(help, Not(HasSubstr(raw))) << name;
  }
  for (const char* group : {"Arguments:", "Device:", "Compilation:", "Several devices:", "Runs and results:"})
    EXPECT_THAT(RunVxla("run --help").out, HasSubstr(std::string("\n") + group + "\n  -")) << group;
}

// The parser's own sentences name its types and speak of arguments that were not expected.
TEST(HelpTest, WhatIsWrongWithALineIsSaidInWordsOfTheCommand) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"run a.hlo b.hlo", "vxla run takes FILE and options: 'b.hlo' is too much"},
      {"devices x y", "vxla devices takes nothing but options: 'x' is too much"},
      {"run", "FILE is required; vxla run --help shows an example"},
      {"run a.hlo --seed", "--seed: a value must follow"},
      {"run a.hlo --seed 1 --seed 2", "--seed: is given more than once"},
      {"run a.hlo --bindings adresses",
       "--bindings: 'adresses' is none of auto, addresses, descriptors; did you mean addresses?"},
      {"run a.hlo --fill full", "--fill: 'full' is none of small, full-range, special"},
      {"run a.hlo --device cpu --devices 0", "--device and --devices cannot be given together"},
      {"compile a.hlo -o a.vxla --seed x", "--seed: x is not a whole number from 0 to 18446744073709551615"},
      {"run a.hlo -d cpu", "vxla run has no option -d; vxla run --help lists them"},
      {"run a.hlo -v", "vxla run has no option -v; vxla run --help lists them"},
  };
  for (const auto& [words, message] : cases) {
    const CommandResult result = RunVxla(words);
    EXPECT_EQ(result.exit_code, 2) << words;
    EXPECT_EQ(result.err, "vxla: error: " + message + "\n") << words;
  }
}

TEST(HelpTest, TheVersionAsJsonSaysWhatItWasBuiltWith) {
  const auto json = nlohmann::json::parse(RunVxla("--version --json").out);
  EXPECT_EQ("vxla " + json["version"].get<std::string>() + "\n", RunVxla("--version").out);
  EXPECT_FALSE(json["compiler"].get<std::string>().empty());
  for (const char* library : {"fmt", "cli11", "nlohmann_json"}) EXPECT_TRUE(json["libraries"].contains(library));
  EXPECT_TRUE(json["commit"].is_null() || json["commit"].get<std::string>().size() >= 40u);
  EXPECT_TRUE(json["build_type"].is_string());
  EXPECT_THAT(json["shader_compiler"].get<std::string>(), StartsWith("shaderc spv"));
  EXPECT_EQ(RunVxla("-v --json").out, RunVxla("--version --json").out);
}

TEST(HelpTest, AnUnknownWordNamesTheNearest) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"rnu a.hlo", "vxla has no subcommand rnu; did you mean run?"},
      {"devcies", "vxla has no subcommand devcies; did you mean devices?"},
      {"help explian", "vxla has no subcommand explian; did you mean explain?"},
      {"frobnicate", "vxla has no subcommand frobnicate; it has run, diff, explain"},
      {"run a.hlo --devise cpu", "vxla run has no option --devise; did you mean --device?"},
      {"run a.hlo --devise=cpu", "vxla run has no option --devise; did you mean --device?"},
      {"diff a.hlo --isolat", "vxla diff has no option --isolat; did you mean --isolate?"},
      {"run a.hlo --frobnicate", "vxla run has no option --frobnicate; vxla run --help lists them"},
      {"--verison", "vxla has no option --verison; did you mean --version?"},
      {"--device cpu run a.hlo", "--device: the option goes behind the subcommand, as in vxla run --device"},
      {"", "a subcommand is needed; vxla help lists them"},
  };
  for (const auto& [words, message] : cases) {
    const CommandResult result = RunVxla(words);
    EXPECT_EQ(result.exit_code, 2) << words;
    EXPECT_THAT(result.err, StartsWith("vxla: error: " + message)) << words;
    EXPECT_EQ(result.out, "") << words;
  }
}

// What bash offers for the last of these words.
std::string Offered(const std::string& words) {
  const CommandResult result = RunShell("source <(\"$VXLA\" completion bash)\nCOMP_WORDS=(" + words +
                                        ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_vxla\necho \"${COMPREPLY[@]}\"");
  EXPECT_EQ(result.err, "") << words;
  return result.out;
}

TEST(CompletionTest, BashOffersSubcommandsOptionsAndValues) {
  EXPECT_EQ(Offered("vxla di"), "diff\n");
  EXPECT_EQ(Offered("vxla run --bi"), "--bindings\n");
  EXPECT_EQ(Offered("vxla run --bindings ''"), "auto addresses descriptors\n");
  EXPECT_EQ(Offered("vxla run --device c"), "cpu\n");
  EXPECT_EQ(Offered("vxla help ex"), "explain\n");
  EXPECT_EQ(Offered("vxla completion ''"), "bash zsh fish\n");
  EXPECT_EQ(Offered("vxla diff --seed ''"), "\n");
  const std::string program = AddProgram();
  EXPECT_EQ(Offered("vxla run " + program.substr(0, program.size() - 4)), program + "\n");
  EXPECT_EQ(Offered("vxla run f.hlo --args " + program.substr(0, program.size() - 4)), program + "\n");
}

// Every option of the help stands in every shell's script.
TEST(CompletionTest, EachShellKnowsEachOption) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const CommandResult script = RunVxla("completion " + shell);
    ASSERT_EQ(script.exit_code, 0) << script.err;
    size_t options = 0;
    for (const std::string& name : Words(kSubcommands)) {
      EXPECT_THAT(script.out, HasSubstr(name)) << shell;
      for (std::string word : Words(RunVxla("help " + name).out)) {
        if (!word.starts_with("--")) continue;
        word = word.substr(2, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", 2) - 2);
        EXPECT_THAT(script.out, HasSubstr((shell == "fish" ? "-l " : "--") + word)) << shell << " " << name;
        ++options;
      }
    }
    EXPECT_GT(options, 60u);
  }
}

TEST(CompletionTest, TheShellsReadTheirScripts) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = WriteScratch("completion." + shell, RunVxla("completion " + shell).out);
    const CommandResult result = RunShell(shell + " -n " + script);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
  const CommandResult offered =
      RunShell("fish -c 'source " + ScratchFolder() + "/completion.fish; complete -C \"vxla run --bind\"'");
  EXPECT_THAT(offered.out, StartsWith("--bindings\t")) << offered.err;
  const CommandResult values =
      RunShell("fish -c 'source " + ScratchFolder() + "/completion.fish; complete -C \"vxla run --bindings d\"'");
  EXPECT_THAT(values.out, StartsWith("descriptors")) << values.err;
}

TEST(CompletionTest, AnUnknownShellIsNamed) {
  const CommandResult result = RunVxla("completion tcsh");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("SHELL: 'tcsh' is none of bash, zsh, fish"));
}

TEST(ManualTest, ThePageHasEachSubcommandAndOptionAndNoWarning) {
  const CommandResult page = RunShell(
      "\"$VXLA\" help --man | MANWIDTH=200 groff -man -Tutf8 -wall -rLL=190n -P-c -P-b -P-u -P-o; exit "
      "${PIPESTATUS[0]}");
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_EQ(page.err, "");
  for (const char* title : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SUBCOMMANDS", "EXIT STATUS", "ENVIRONMENT"})
    EXPECT_THAT(page.out, HasSubstr(std::string("\n") + title + "\n")) << title;
  for (const std::string& name : Words(kSubcommands)) {
    EXPECT_THAT(page.out, HasSubstr("vxla " + name)) << name;
    for (std::string word : Words(RunVxla("help " + name).out)) {
      if (!word.starts_with("--")) continue;
      word = word.substr(0, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", 2));
      EXPECT_THAT(page.out, HasSubstr(word)) << name;
    }
  }
}

TEST(ManualTest, InstallPutsCommandManualAndCompletionsInPlace) {
  const std::string prefix = ScratchFolder() + "/installed";
  const CommandResult result = RunShell("cmake --install '" VXLA_BUILD_DIR "' --component command --prefix " + prefix);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"bin/vxla", "share/man/man1/vxla.1", "share/bash-completion/completions/vxla",
                           "share/zsh/site-functions/_vxla", "share/fish/vendor_completions.d/vxla.fish"}) {
    ASSERT_TRUE(std::filesystem::exists(prefix + "/" + file)) << file;
    EXPECT_GT(std::filesystem::file_size(prefix + "/" + file), 100u) << file;
  }
}

TEST(JsonErrorTest, EverySubcommandThatReportsNamesItsFailure) {
  const std::string bad =
      WriteScratch("json_bad.hlo", "ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] nosuchop(a)\n}");
  const std::string none = "VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent VK_ADD_DRIVER_FILES= ";
  struct Case {
    std::string words, environment, code, message, where;
    int exit_code;
  };
  const std::vector<Case> cases = {
      {"run " + bad, "", "invalid_argument", "nosuchop", bad + ":3:19", 2},
      {"diff " + bad, "", "invalid_argument", "nosuchop", bad + ":3:19", 2},
      {"explain " + bad, "", "invalid_argument", "nosuchop", bad + ":3:19", 2},
      {"bench " + bad, "", "invalid_argument", "nosuchop", bad + ":3:19", 2},
      {"run nosuch.hlo", "", "invalid_argument", "nosuch.hlo: cannot be read", "", 2},
      {"run " + AddProgram(), none, "device_failure", "Vulkan", "", 3},
      {"explain " + AddProgram(), none, "device_failure", "Vulkan", "", 3},
      {"devices", none, "device_failure", "Vulkan", "", 3},
      {"diff " + AddProgram() + " --device all", none, "device_failure", "Vulkan", "", 3},
      {"run", "", "invalid_argument", "FILE is required", "", 2},
      {"run " + AddProgram() + " --bindings sideways", "", "invalid_argument", "sideways", "", 2},
      {"ops --frobnicate", "", "invalid_argument", "--frobnicate", "", 2},
      {"devcies", "", "invalid_argument", "did you mean devices?", "", 2},
      {"bench nosuch", "", "invalid_argument", "neither a file nor one of", "", 2},
  };
  for (const Case& c : cases) {
    const CommandResult result = RunVxla(c.words + " --json", c.environment);
    EXPECT_EQ(result.exit_code, c.exit_code) << c.words;
    EXPECT_THAT(result.err, StartsWith("vxla: error: ")) << c.words;
    const auto json = nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object() && json.contains("error")) << c.words << ": " << result.out;
    EXPECT_EQ(json["error"]["code"], c.code) << c.words;
    EXPECT_EQ(json["error"]["exit_code"], c.exit_code) << c.words;
    EXPECT_THAT(json["error"]["message"].get<std::string>(), HasSubstr(c.message)) << c.words;
    EXPECT_EQ(json["error"]["where"], c.where.empty() ? nlohmann::json() : nlohmann::json(c.where)) << c.words;
  }
}

TEST(JsonErrorTest, AVerdictIsNoError) {
  const std::string out = ScratchFolder() + "/json_verdict.npz";
  ASSERT_EQ(RunVxla("run " + AddProgram() + " --device cpu --seed 1 -o " + out).exit_code, 0);
  const CommandResult result = RunVxla("diff " + AddProgram() + " --seed 2 --json --against " + out);
  EXPECT_EQ(result.exit_code, 1);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["verdict"], "differ");
  EXPECT_FALSE(json.contains("error"));
}

TEST(JsonErrorTest, BytesThatAreNoTextDoNotSpoilTheObject) {
  const std::string program = WriteScratch("bytes.hlo", "ENTRY e { a\xff\xfe = f32[2] parameter(0) }");
  const CommandResult result = RunVxla("run " + program + " --json");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(nlohmann::json::parse(result.out)["error"]["message"].is_string());
}

TEST(ArgumentsTest, SeededArgumentsAreOneLine) {
  std::string program = "ENTRY e {\n";
  for (int k = 0; k < 15; ++k) program += fmt::format("  p{0} = f32[2] parameter({0})\n", k);
  const std::string file = WriteScratch("fifteen.hlo", program + "  ROOT r = f32[2] add(p0, p14)\n}");
  const CommandResult all = RunVxla("run " + file + " --device cpu --seed 4");
  EXPECT_EQ(all.err, "vxla: note: arguments: 15 seeded (seed 4)\n");
  const std::string files = TwoArrays("three", {{2}, {2}, {2}});
  const CommandResult some = RunVxla("run " + file + " --device cpu --args" + files);
  EXPECT_EQ(some.err, "vxla: note: arguments: 12 seeded (seed 0), 3 from 3 files\n");
}

TEST(ArgumentsTest, ArgumentsThatJaxDroppedAreNamed) {
  const std::string program = WriteScratch(
      "dropped.hlo",
      "ENTRY e { a = f32[2] parameter(0)  b = f32[3] parameter(1)  ROOT t = (f32[2], f32[3]) tuple(a, b) }");
  const std::string arrays = TwoArrays("dropped", {{2}, {5}, {3}, {7}});
  const CommandResult fitting = RunVxla("run " + program + " --device cpu --args" + arrays);
  EXPECT_EQ(fitting.exit_code, 2);
  EXPECT_THAT(fitting.err,
              HasSubstr("4 arrays given, the program takes 2; arg_0, arg_2 fit in this order. jax.jit leaves "
                        "out arguments that a function does not use: lower jax.jit(f, keep_unused=True)"));
  const CommandResult other = RunVxla("run " + program + " --device cpu --args" + TwoArrays("other", {{4}, {5}, {6}}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err,
              HasSubstr("arg_2: no parameter wants it: 3 arrays given, the program takes 2. jax.jit leaves"));
}

TEST(ArgumentsTest, ResultsInStorageTypesSaySo) {
  const std::string program =
      WriteScratch("narrow.hlo",
                   "ENTRY e { a = bf16[2] constant({1, 2})  b = f32[] constant(3)  c = s4[2] constant({-1, 2})\n"
                   "ROOT t = (bf16[2], f32[], s4[2]) tuple(a, b, c) }");
  const std::string out = ScratchFolder() + "/narrow.npz";
  const CommandResult saved = RunVxla("run " + program + " --device cpu --json -o " + out);
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_THAT(saved.err,
              HasSubstr("result_0 (bf16 as uint16), result_2 (s4 as uint8); result_N__dtype names the type"));
  const auto results = nlohmann::json::parse(saved.out)["results"];
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0]["stored_as"], "uint16");
  EXPECT_FALSE(results[1].contains("stored_as"));
  EXPECT_EQ(results[2]["shape"], "s4[2]");
  const CommandResult printed = RunVxla("run " + program + " --device cpu");
  EXPECT_THAT(printed.out, StartsWith("result_0: bf16[2]\n[1. 2.]\n"));
}

}  // namespace terminal_test
}  // namespace VXLA_NAMESPACE::testing
