// The verdicts of `vxla diff` on programs, as a CI system takes them: beside a list of failures that are expected, and as
// JUnit XML and SARIF.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace VXLA_NAMESPACE {

// A line of such a list: PROGRAM differs|fails [DEVICE].
struct ExpectedFailure {
  std::string program;  // a pattern of the file's name, with or without folders and its extension
  bool fails = false;   // there is no verdict: an error, a crash, too long a run; else the results differ
  std::string device;   // a part of the device's name in any case; empty: each
  std::string why;      // the line's comment
  std::string place;    // FILE:LINE
};
Result<std::vector<ExpectedFailure>> ReadExpectedFailures(const std::string& path);

// Whether the text is what the pattern says: `*` is any text, `?` any character.
bool MatchesPattern(std::string_view pattern, std::string_view text);

struct DiffCase {
  std::string program, device;  // as they were named
  nlohmann::ordered_json json;  // as `vxla diff --json` prints it
  double seconds = 0;
  std::string command;                      // that repeats it
  std::optional<ExpectedFailure> expected;  // the line of the list that speaks of it

  bool agrees() const { return !failed() && json.value("verdict", "") == "agree"; }
  bool failed() const { return json.contains("error"); }
  bool as_expected() const { return expected && !agrees() && expected->fails == failed(); }
  // The list says that it does not agree, and it does.
  bool unexpectedly_agrees() const { return expected && agrees(); }
  bool passes() const { return as_expected() || (agrees() && !expected); }
  // What is to be said in a line: how far results are apart, the first bad instruction with its fault, or the error.
  std::string Text() const;
  int exit_code() const;
};

// Whether the line speaks of the case, by its program and the device as it was named or is called.
bool Speaks(const ExpectedFailure& line, const DiffCase& one);
// Gives the case its line of the list, the first that speaks of it.
void Expect(DiffCase& one, const std::vector<ExpectedFailure>& expected);

// "62 programs: 60 agree, 1 differs, 1 fails; 1 as expected"; and what the exit code says of all.
std::string CountsText(const std::vector<DiffCase>& cases);
Status StatusOf(const std::vector<DiffCase>& cases);

// A test suite for each device, a test case for each program; what fails as expected is skipped.
std::string JUnitXml(const std::vector<DiffCase>& cases);
// SARIF 2.1.0: a result for each case that does not agree, at the line of the first bad instruction; what fails as
// expected is suppressed.
nlohmann::ordered_json SarifJson(const std::vector<DiffCase>& cases);

}  // namespace VXLA_NAMESPACE
