// `vxla diff` of several programs, and what a CI system reads of it: JUnit XML, SARIF, the list of expected failures.
#include "tools/diff/diff_cases.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing::diff_cases_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

std::string Good() {
  return WriteScratch("cases_good.hlo", "ENTRY e { a = f32[5] parameter(0)  ROOT b = f32[5] negate(a) }");
}

// The kernel doubles, the function beside it triples: `b`, in line 3, is wrong.
std::string Wrong() {
  return WriteScratch("cases_wrong.hlo",
                      "ENTRY e {\n  a = f32[5] parameter(0)\n  b = f32[5] custom-call(a), custom_call_target=\"twice\"\n"
                      "  ROOT c = f32[5] negate(b)\n}");
}

std::string Broken() { return WriteScratch("cases_broken.hlo", "ENTRY e {\n  ROOT a = f32[5] add(x)\n}"); }

std::string Calls() {
  const std::string kernel = WriteScratch("cases.comp", "void vxla_element(uint i) { SET_OUT0(i, 2.0 * IN0(i)); }");
  return fmt::format(" --device lavapipe --kernel twice={} --custom-call twice={}:three_times", kernel,
                     VXLA_TEST_CUSTOM_CALLS);
}

CommandResult DiffAll(const std::string& options) {
  return RunVxla(fmt::format("diff {} {} {}{} {}", Good(), Wrong(), Broken(), Calls(), options));
}

TEST(DiffCasesTest, EachProgramHasALineAndAllHaveOne) {
  const CommandResult result = DiffAll("");
  EXPECT_EQ(result.exit_code, 2) << "the worst: a program that is none";
  EXPECT_THAT(result.out, HasSubstr("AGREE  " + Good() + ": bit for bit\n"));
  EXPECT_THAT(result.out, HasSubstr("DIFFER " + Wrong() + ": first in b (fault: algorithm); worst difference "));
  EXPECT_THAT(result.out, HasSubstr("FAIL   " + Broken() + ": " + Broken() + ":2:"));
  EXPECT_THAT(result.out, HasSubstr("       alone: vxla diff " + Wrong() + " --device lavapipe --kernel "));
  EXPECT_THAT(result.out, HasSubstr("\n3 comparisons: 1 agree, 1 differ, 1 fail\n"));
}

TEST(DiffCasesTest, SeveralAtATimeSayTheSame) {
  EXPECT_EQ(DiffAll("-j 3").out, DiffAll("").out);
}

TEST(DiffCasesTest, TheLineThatRepeatsAComparisonDoes) {
  const std::string out = DiffAll("").out;
  const size_t begin = out.find("alone: vxla ") + 12;
  const CommandResult alone = RunVxla(out.substr(begin, out.find('\n', begin) - begin));
  EXPECT_EQ(alone.exit_code, 1) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr(" differ, first in b (fault: algorithm)"));
}

TEST(DiffCasesTest, JsonHoldsEachVerdict) {
  const Json json = Json::parse(DiffAll("--json").out);
  EXPECT_EQ(json["verdict"], "failed");
  ASSERT_EQ(json["programs"].size(), 3u);
  EXPECT_EQ(json["programs"][0]["verdict"], "agree");
  EXPECT_EQ(json["programs"][1]["first_bad"], "b");
  EXPECT_EQ(json["programs"][1]["first_bad_where"], Wrong() + ":3:3");
  EXPECT_EQ(json["programs"][2]["error"]["code"], "invalid_argument");
}

TEST(DiffCasesTest, JUnitHasASuiteForTheDeviceAndACaseForEachProgram) {
  const std::string file = ScratchFolder() + "/cases.xml";
  EXPECT_EQ(DiffAll("--junit " + file).exit_code, 2);
  const std::string xml = ReadScratch(file);
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"vxla diff\" tests=\"3\""));
  EXPECT_THAT(xml, ContainsRegex("<testsuite name=\"llvmpipe [^\"]*\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("name=\"cases_good\""));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"algorithm\" message=\"first in b (fault: algorithm); "));
  EXPECT_THAT(xml, HasSubstr("<error type=\"invalid_argument\""));
  // A parser of XML reads it.
  const CommandResult parsed = RunShell("python3 -c \"import sys, xml.etree.ElementTree as e; "
                                        "print(len(e.parse(sys.argv[1]).getroot().findall('.//testcase')))\" " + file);
  EXPECT_EQ(parsed.out, "3\n") << parsed.err;
}

TEST(DiffCasesTest, SarifNamesTheLineOfTheFirstBadInstruction) {
  const std::string file = ScratchFolder() + "/cases.sarif";
  EXPECT_EQ(DiffAll("--sarif " + file).exit_code, 2);
  const Json run = Json::parse(ReadScratch(file))["runs"][0];
  ASSERT_EQ(run["results"].size(), 2u);
  const Json& wrong = run["results"][0];
  EXPECT_EQ(wrong["ruleId"], "algorithm");
  EXPECT_EQ(run["tool"]["driver"]["rules"][wrong["ruleIndex"].get<size_t>()]["id"], "algorithm");
  EXPECT_EQ(wrong["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
  EXPECT_EQ(run["results"][1]["ruleId"], "failure");
  EXPECT_EQ(run["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
}

TEST(DiffCasesTest, WhatIsExpectedIsNoFailure) {
  const std::string list = WriteScratch("cases_expected.txt",
                                        "# known\n\ncases_wr* differs llvmpipe  # issue 12\n*broken.hlo fails\n");
  const std::string junit = ScratchFolder() + "/expected.xml", sarif = ScratchFolder() + "/expected.sarif";
  const CommandResult result =
      DiffAll(fmt::format("--expected-failures {} --junit {} --sarif {}", list, junit, sarif));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr(" (as " + list + ":3 expects: issue 12)"));
  EXPECT_THAT(result.out, HasSubstr("; as expected: 2\n"));
  EXPECT_THAT(ReadScratch(junit), HasSubstr("failures=\"0\" errors=\"0\" skipped=\"2\""));
  const Json results = Json::parse(ReadScratch(sarif))["runs"][0]["results"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0]["suppressions"][0]["justification"].get<std::string>(), HasSubstr("issue 12"));
}

TEST(DiffCasesTest, WhatIsExpectedToDifferAndAgreesIsTold) {
  const std::string list = WriteScratch("cases_too_many.txt", "cases_good differs\ncases_wrong differs\n*broken fails\n");
  const std::string junit = ScratchFolder() + "/unexpected.xml";
  const CommandResult result = DiffAll(fmt::format("--expected-failures {} --junit {}", list, junit));
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.out, HasSubstr(" (against " + list + ":1: take the line out)"));
  EXPECT_THAT(ReadScratch(junit), HasSubstr("<failure type=\"unexpected agreement\""));
}

TEST(DiffCasesTest, ADifferenceWhereAFailureIsExpectedIsNone) {
  const std::string list = WriteScratch("cases_other.txt", "cases_wrong fails\n*broken differs\nnone_such differs\n");
  const CommandResult result = DiffAll("--expected-failures " + list);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, Not(HasSubstr("as expected")));
  EXPECT_THAT(result.err, HasSubstr(list + ":3: none_such: nothing that was compared is called so"));
}

TEST(DiffCasesTest, AnotherDevicesLineSpeaksOfNothing) {
  const std::string list = WriteScratch("cases_device.txt", "cases_wrong differs Radeon\n");
  EXPECT_EQ(RunVxla(fmt::format("diff {} {}{} --expected-failures {}", Good(), Wrong(), Calls(), list)).exit_code, 1);
}

TEST(DiffCasesTest, AListThatIsNoneIsRefused) {
  const std::string list = WriteScratch("cases_bad.txt", "good differs\nwrong sometimes\n");
  const CommandResult result = DiffAll("--expected-failures " + list);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(list + ":2: wrong 'sometimes': PROGRAM differs or PROGRAM fails is needed"));
  EXPECT_EQ(DiffAll("--expected-failures " + ScratchFolder() + "/none.txt").exit_code, 2);
}

TEST(DiffCasesTest, OneProgramHasThemToo) {
  const std::string list = WriteScratch("cases_one.txt", "cases_wrong differs # known\n"),
                    junit = ScratchFolder() + "/one.xml";
  const std::string command = "diff " + Wrong() + Calls() + " --junit " + junit;
  EXPECT_EQ(RunVxla(command).exit_code, 1);
  EXPECT_THAT(ReadScratch(junit), HasSubstr("<failure type=\"algorithm\""));
  EXPECT_EQ(RunVxla(command + " --expected-failures " + list).exit_code, 0);
  EXPECT_THAT(ReadScratch(junit), HasSubstr("<skipped type=\"expected\""));
  const CommandResult broken = RunVxla("diff " + Broken() + " --junit " + junit);
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr(":2:"));
  EXPECT_THAT(ReadScratch(junit), HasSubstr("<error type=\"invalid_argument\""));
}

TEST(DiffCasesTest, ACrashAndALoopWithoutEndTakeNoOtherProgramWithThem) {
  const std::string forever = WriteScratch("cases_forever.hlo",
                                           "step { s = s32[] parameter(0)  ROOT t = s32[] add(s, s) }\n"
                                           "more { s = s32[] parameter(0)  ROOT t = pred[] constant(true) }\n"
                                           "ENTRY e { a = s32[] parameter(0)  ROOT w = s32[] while(a), condition=more, "
                                           "body=step }");
  const CommandResult result = RunVxla(
      fmt::format("diff {} {} {} --device cpu --time-limit 3 -j 2 --custom-call twice={}:ends_the_process", Wrong(), forever,
                  Good(), VXLA_TEST_CUSTOM_CALLS));
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.out, HasSubstr("FAIL   " + Wrong() + ": ended by signal 11 ("));
  EXPECT_THAT(result.out, HasSubstr("FAIL   " + forever + ": no verdict within 3 s: stopped"));
  EXPECT_THAT(result.out, HasSubstr("AGREE  " + Good()));
}

TEST(DiffCasesTest, WhatIsOneProgramsIsRefusedForSeveral) {
  const auto said = [](const std::string& options) {
    const CommandResult result = RunVxla("diff " + Good() + " " + Wrong() + " " + options);
    EXPECT_EQ(result.exit_code, 2) << options;
    return result.err;
  };
  EXPECT_THAT(said("--args a.npz"), HasSubstr("--args: they are one program's, and 2 are given"));
  EXPECT_THAT(said("--against a.npz"), HasSubstr("--against a.npz: these are one program's results, and 2 are given"));
  EXPECT_THAT(said("-"), HasSubstr("-: standard input is one program, and 3 are given"));
  EXPECT_THAT(said("--time-limit -1"), HasSubstr("-1 is not a number from 0"));
  EXPECT_THAT(said("-j 0"), HasSubstr("0 is not a whole number from 1"));
  EXPECT_THAT(said("--junit /none/such.xml"), HasSubstr("/none"));
  EXPECT_THAT(said("--sarif " + Good()), HasSubstr(Good()));
}

TEST(DiffCasesTest, PatternsAreOfStarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesPattern("dot_*", "dot_f32"));
  EXPECT_TRUE(MatchesPattern("*_f?2*", "dot_f32"));
  EXPECT_TRUE(MatchesPattern("*a*b", "aabab"));
  EXPECT_TRUE(MatchesPattern("", ""));
  EXPECT_FALSE(MatchesPattern("dot", "dot_f32"));
  EXPECT_FALSE(MatchesPattern("?", ""));
  EXPECT_FALSE(MatchesPattern("*a*b", "aaba"));
}

TEST(DiffCasesTest, ThePageSaysWhatItIsMadeFromAndWhatToDo) {
  const std::string page = ScratchFolder() + "/cases.html", prefix = ScratchFolder() + "/cases_alone";
  EXPECT_EQ(RunVxla("diff " + Wrong() + Calls() + " --bisect --bisect-to " + prefix + " --report " + page).exit_code, 1);
  const std::string html = ReadScratch(page);
  EXPECT_THAT(html, HasSubstr("<h1>cases_wrong.hlo</h1>"));
  EXPECT_THAT(html, HasSubstr("See the instruction alone: <code>vxla diff " + prefix + ".hlo --args "));
  EXPECT_THAT(html, HasSubstr("<h2>What differs first: b</h2>"));
  EXPECT_THAT(html, HasSubstr("custom_call_target=&quot;twice&quot;"));
  EXPECT_THAT(html, HasSubstr("SET_OUT0(i, 2.0 * IN0(i))")) << "the kernel's GLSL";
  EXPECT_THAT(html, ContainsRegex("<th>vxla</th><td class=t>[0-9.]+ \\("));
  EXPECT_THAT(html, ContainsRegex("<th>its XXH3-128</th><td class=t>[0-9a-f]{32}</td>"));
  EXPECT_THAT(html, ContainsRegex("<th>arguments, XXH3-128</th><td class=t>[0-9a-f]{32}</td>"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing::diff_cases_test
