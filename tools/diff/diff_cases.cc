#include "tools/diff/diff_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>

#include "core/host/hash.h"
#include "tools/files.h"
#include "tools/vxla.h"

namespace VXLA_NAMESPACE {
namespace {

using Json = nlohmann::ordered_json;

bool HoldsInAnyCase(std::string_view text, std::string_view part) {
  return part.empty() || !std::ranges::search(text, part, [](unsigned char a, unsigned char b) {
            return std::tolower(a) == std::tolower(b);
          }).empty();
}

std::string_view WithoutExtension(std::string_view path) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  return dot == std::string_view::npos || dot == 0 || (slash != std::string_view::npos && dot < slash + 2)
             ? path
             : path.substr(0, dot);
}

std::string_view LastPart(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<ExpectedFailure> ExpectedFailureOf(std::string_view line, const std::string& place) {
  ExpectedFailure expected;
  expected.place = place;
  const size_t comment = line.find('#');
  if (comment != std::string_view::npos) {
    std::string_view why = line.substr(comment + 1);
    why.remove_prefix(std::min(why.find_first_not_of(" \t"), why.size()));
    expected.why = why;
  }
  std::istringstream words{std::string(line.substr(0, comment))};
  std::string outcome, device;
  words >> expected.program >> outcome;
  if (expected.program.empty()) return expected;
  if (outcome != "differs" && outcome != "fails") {
    return InvalidArgument("{}: {} '{}': PROGRAM differs or PROGRAM fails is needed, then a part of a device's name",
                           place, expected.program, outcome);
  }
  expected.fails = outcome == "fails";
  while (words >> device) expected.device += (expected.device.empty() ? "" : " ") + device;
  return expected;
}

std::string StringOf(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// What is not UTF-8 (a name in a program) is made so.
std::string ValidUtf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

// Text between tags and in attributes' quotes. Characters that XML has no form for are replaced.
std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\n') {
      escaped += "&#10;";
    } else {
      escaped += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
    }
  }
  return escaped;
}

struct CaseCounts {
  size_t agree = 0, differ = 0, fail = 0, expected = 0, unexpected = 0;
};

CaseCounts CountsOf(const std::vector<const DiffCase*>& cases) {
  CaseCounts counts;
  for (const DiffCase* one : cases) {
    counts.agree += one->agrees();
    counts.fail += one->failed();
    counts.differ += !one->agrees() && !one->failed();
    counts.expected += one->as_expected();
    counts.unexpected += one->unexpectedly_agrees();
  }
  return counts;
}

std::string UnexpectedText(const DiffCase& one) {
  return fmt::format("agrees, and {} says that it {}: take the line out", one.expected->place,
                     one.expected->fails ? "fails" : "differs");
}

std::string WhyText(const DiffCase& one) {
  const std::string& why = one.expected->why;
  return fmt::format("as {} expects{}{}", one.expected->place, why.empty() ? "" : ": ", why);
}

// What the parts of a verdict say, a line each.
std::string DetailsText(const DiffCase& one) {
  std::string text = one.Text() + "\n";
  if (const auto results = one.json.find("results"); results != one.json.end()) {
    for (const Json& result : *results) {
      if (result.value("agrees", true)) continue;
      text += fmt::format("result_{}: {} of {} elements differ, {} outside the tolerance\n", result["index"].dump(),
                          result["differing"].dump(), result["elements"].dump(), result["count"].dump());
    }
  }
  return text + one.command + "\n";
}

std::string CaseXml(const DiffCase& one) {
  std::string xml =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" time=\"{:.3f}\"", EscapeXml(one.device),
                  EscapeXml(WithoutExtension(LastPart(one.program))), EscapeXml(one.program), one.seconds);
  const std::string fault = StringOf(one.json, "fault");
  if (one.as_expected()) {
    xml += fmt::format(">\n      <skipped type=\"expected\" message=\"{}: {}\"/>", EscapeXml(WhyText(one)),
                       EscapeXml(one.Text()));
  } else if (one.unexpectedly_agrees()) {
    xml += fmt::format(">\n      <failure type=\"unexpected agreement\" message=\"{}\"/>",
                       EscapeXml(UnexpectedText(one)));
  } else if (one.failed()) {
    xml += fmt::format(">\n      <error type=\"{}\" message=\"{}\">{}</error>",
                       EscapeXml(StringOf(one.json["error"], "code")), EscapeXml(one.Text()),
                       EscapeXml(DetailsText(one)));
  } else if (!one.agrees()) {
    xml += fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>",
                       EscapeXml(fault.empty() ? "difference" : fault), EscapeXml(one.Text()),
                       EscapeXml(DetailsText(one)));
  } else {
    return xml + "/>\n";
  }
  return xml + "\n    </testcase>\n";
}

std::string SuiteXml(const std::string& device, const std::vector<const DiffCase*>& cases) {
  const CaseCounts counts = CountsOf(cases);
  double seconds = 0;
  size_t errors = 0;
  std::string opened = device, xml;
  for (const DiffCase* one : cases) {
    seconds += one->seconds;
    errors += one->failed() && !one->as_expected();
    if (const std::string name = StringOf(one->json, "device"); opened == device && !name.empty()) opened = name;
    xml += CaseXml(*one);
  }
  const size_t failures = static_cast<size_t>(std::ranges::count_if(
      cases, [](const DiffCase* one) { return !one->passes() && !(one->failed() && !one->as_expected()); }));
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n"
      "    <properties>\n      <property name=\"device\" value=\"{}\"/>\n      <property name=\"vxla\" value=\"{}\"/>\n"
      "    </properties>\n{}  </testsuite>\n",
      EscapeXml(opened), cases.size(), failures, errors, counts.expected, seconds, EscapeXml(device),
      EscapeXml(VersionText()), xml);
}

// What SARIF calls a rule.
struct Rule {
  const char* id;
  const char* about;
};
constexpr Rule kRules[] = {
    {"driver", "The device's bits are not those of the shaders' arithmetic compiled for the CPU"},
    {"algorithm", "The shaders' arithmetic itself leaves the operation's bound"},
    {"order", "A combiner cannot be shown to associate, so that the order of its elements decides"},
    {"rounding", "The program makes rounding errors grow beyond the stated tolerance"},
    {"overflow", "Partial results may leave the range of their type in one order of the terms and not in another"},
    {"expected file", "The reference gives other values than the file of expected results too"},
    {"other device", "The first device agrees with the reference, the second one does not"},
    {"difference", "The results differ, and it is not known whose fault that is"},
    {"failure", "There is no verdict: the program, the device or the machine failed"},
    {"unexpected agreement", "The results agree, and the list of expected failures says otherwise"}};

std::string RuleOf(const DiffCase& one) {
  if (one.unexpectedly_agrees()) return "unexpected agreement";
  if (one.failed()) return "failure";
  const std::string fault = StringOf(one.json, "fault");
  const bool known = std::ranges::any_of(kRules, [&](const Rule& rule) { return fault == rule.id; });
  return known ? fault : "difference";
}

// Of a path: what a URI keeps as it is, the rest by its bytes.
std::string UriOf(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// "file:12:3" -> its numbers.
SourceLocation LocationIn(std::string_view place) {
  SourceLocation location;
  const size_t column = place.rfind(':');
  const size_t line = column == std::string_view::npos ? column : place.rfind(':', column - 1);
  if (line == std::string_view::npos) return location;
  std::from_chars(place.data() + line + 1, place.data() + column, location.line);
  std::from_chars(place.data() + column + 1, place.data() + place.size(), location.column);
  return location;
}

Json SarifResult(const DiffCase& one) {
  const std::string rule = RuleOf(one);
  const std::string text = one.unexpectedly_agrees() ? UnexpectedText(one) : one.Text();
  Json place = {{"artifactLocation", {{"uri", UriOf(one.program)}}}};
  const std::string where =
      one.failed() ? StringOf(one.json["error"], "where") : StringOf(one.json, "first_bad_where");
  if (const SourceLocation at = LocationIn(where); at.line > 0) {
    place["region"] = {{"startLine", at.line}};
    if (at.column > 0) place["region"]["startColumn"] = at.column;
  }
  const std::string key = fmt::format("{}\n{}\n{}\n{}", one.program, one.device, rule, StringOf(one.json, "first_bad"));
  Json result = {{"ruleId", rule},
                 {"ruleIndex", std::ranges::find(kRules, rule, &Rule::id) - std::begin(kRules)},
                 {"level", rule == "rounding" || rule == "order" ? "warning" : "error"},
                 {"message", {{"text", fmt::format("{}: {} (repeat it: {})", one.device, text, one.command)}}},
                 {"locations", Json::array({{{"physicalLocation", std::move(place)}}})},
                 {"partialFingerprints", {{"vxlaDiff/v1", HashText(key).Hex()}}}};
  if (one.as_expected())
    result["suppressions"] = Json::array({{{"kind", "external"}, {"justification", WhyText(one)}}});
  return result;
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  // Where the last `*` stands, and what it has taken.
  size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool Speaks(const ExpectedFailure& line, const DiffCase& one) {
  const std::string_view path = one.program;
  const bool of_program = std::ranges::any_of(
      std::vector<std::string_view>{path, LastPart(path), WithoutExtension(path), WithoutExtension(LastPart(path))},
      [&](std::string_view name) { return MatchesPattern(line.program, name); });
  return of_program && (HoldsInAnyCase(one.device, line.device) ||
                        HoldsInAnyCase(StringOf(one.json, "device"), line.device));
}

void Expect(DiffCase& one, const std::vector<ExpectedFailure>& expected) {
  const auto line = std::ranges::find_if(expected, [&](const ExpectedFailure& each) { return Speaks(each, one); });
  if (line != expected.end()) one.expected = *line;
}

Result<std::vector<ExpectedFailure>> ReadExpectedFailures(const std::string& path) {
  VXLA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<ExpectedFailure> all;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    VXLA_ASSIGN_OR_RETURN(ExpectedFailure one, ExpectedFailureOf(line, fmt::format("{}:{}", path, ++number)));
    if (!one.program.empty()) all.push_back(std::move(one));
  }
  return all;
}

std::string DiffCase::Text() const {
  if (failed()) return StringOf(json["error"], "message");
  std::string text;
  if (!agrees()) {
    const std::string fault = StringOf(json, "fault");
    text = fmt::format("first in {}{}; ", StringOf(json, "first_bad"),
                       fault.empty() ? "" : fmt::format(" (fault: {})", fault));
  }
  return text + StringOf(json, "worst");
}

int DiffCase::exit_code() const {
  if (passes()) return 0;
  return failed() ? json["error"].value("exit_code", 3) : 1;
}

std::string CountsText(const std::vector<DiffCase>& cases) {
  std::vector<const DiffCase*> all;
  for (const DiffCase& one : cases) all.push_back(&one);
  const CaseCounts counts = CountsOf(all);
  std::string text = fmt::format("{} {}: {} agree, {} differ, {} fail", cases.size(),
                                 cases.size() == 1 ? "comparison" : "comparisons", counts.agree, counts.differ,
                                 counts.fail);
  if (counts.expected > 0) text += fmt::format("; as expected: {}", counts.expected);
  if (counts.unexpected > 0) text += fmt::format("; agree against expectation: {}", counts.unexpected);
  return text;
}

Status StatusOf(const std::vector<DiffCase>& cases) {
  int worst = 0;
  for (const DiffCase& one : cases) worst = std::max(worst, one.exit_code());
  if (worst == 0) return OkStatus();
  // Each was told in its line.
  return Status(worst == 1   ? StatusCode::kMismatch
                : worst == 2 ? StatusCode::kInvalidArgument
                             : StatusCode::kDeviceFailure,
                "");
}

std::string JUnitXml(const std::vector<DiffCase>& cases) {
  std::vector<std::string> devices;
  std::map<std::string, std::vector<const DiffCase*>> by_device;
  double seconds = 0;
  for (const DiffCase& one : cases) {
    if (!by_device.contains(one.device)) devices.push_back(one.device);
    by_device[one.device].push_back(&one);
    seconds += one.seconds;
  }
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"vxla diff\" tests=\"{}\" time=\"{:.3f}\">\n",
      cases.size(), seconds);
  for (const std::string& device : devices) xml += SuiteXml(device, by_device[device]);
  return ValidUtf8(xml + "</testsuites>\n");
}

Json SarifJson(const std::vector<DiffCase>& cases) {
  Json rules = Json::array(), results = Json::array();
  for (const Rule& rule : kRules) rules.push_back({{"id", rule.id}, {"shortDescription", {{"text", rule.about}}}});
  for (const DiffCase& one : cases) {
    if (!one.agrees() || one.unexpectedly_agrees()) results.push_back(SarifResult(one));
  }
  Json run = {{"tool", {{"driver", {{"name", "vxla"}, {"version", VersionText()}, {"rules", std::move(rules)}}}}},
              {"columnKind", "unicodeCodePoints"},
              {"results", std::move(results)}};
  return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({std::move(run)})}};
}

}  // namespace VXLA_NAMESPACE
