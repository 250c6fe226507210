#include "tests/infer/constraint_test_support.h"

#include <sstream>
#include <vector>

#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr std::string_view kComputations = R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
lt { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=LT }
neg { x = f32[] parameter(0)
  ROOT r = f32[] negate(x) }
finite { x = f32[] parameter(0)
  ROOT r = pred[] is-finite(x) }
pair { x = f32[] parameter(0)
  ROOT r = (f32[], f32[]) tuple(x, x) }
both { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = (f32[], f32[]) tuple(x, y) }
lt2 { x = f32[] parameter(0)
  y = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(x, y), direction=LT }
four { x = f32[4] parameter(0)
  ROOT r = f32[4] negate(x) }
go_on { x = f32[4] parameter(0)
  ROOT r = pred[] constant(false) }
shrink { x = f32[4] parameter(0)
  n = s32[] constant(3)
  ROOT r = f32[<=4] set-dimension-size(x, n), dimensions={0} }
step { x = f32[3] parameter(0)
  c = f32[3] parameter(1)
  s = f32[3] add(x, c)
  ROOT r = (f32[3], f32[3]) tuple(s, s) }
widen { x = f32[] parameter(0)
  c = f32[] parameter(1)
  b = f32[2] broadcast(c), dimensions={}
  ROOT r = (f32[], f32[2]) tuple(x, b) }
ENTRY e {
)";

struct Row {
  std::string program, message;
};

std::vector<Row> ReadRows(std::string_view text) {
  std::vector<Row> rows;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    if (line.starts_with("! ")) {
      rows.back().message = line.substr(2);
    } else if (line.starts_with("  ")) {
      rows.back().program += line.substr(1);
    } else {
      rows.push_back({line.substr(line.find(':') + 1), {}});
    }
  }
  return rows;
}

// " x=f32[2]; y=s32[2] => add(x, y)" as a module.
std::string ModuleOf(const std::string& program) {
  std::string text(kComputations);
  const size_t arrow = program.find("=> ");
  std::istringstream parameters(program.substr(0, arrow));
  int number = 0;
  for (std::string parameter; std::getline(parameters, parameter, ';');) {
    const size_t begin = parameter.find_first_not_of(' '), equals = parameter.find('=');
    if (equals == std::string::npos) continue;
    const size_t end = parameter.find_last_not_of(' ') + 1;
    text += parameter.substr(begin, equals - begin) + " = " + parameter.substr(equals + 1, end - equals - 1) +
            " parameter(" + std::to_string(number++) + ")\n";
  }
  return text + "ROOT r = " + program.substr(arrow + 3) + "\n}\n";
}

std::string RefusalOf(const std::string& text) {
  const auto module = ParseHlo(text);
  if (!module.ok()) return module.status().message();
  const Status status = Verify(**module);
  return status.ok() ? "(accepted)" : status.message().substr(0, status.message().rfind(" (in "));
}

}  // namespace

void ExpectRefusals(std::string_view text) {
  const std::vector<Row> rows = ReadRows(text);
  EXPECT_GT(rows.size(), 10u);
  for (const Row& row : rows) EXPECT_EQ(RefusalOf(ModuleOf(row.program)), row.message) << row.program;
}

}  // namespace VXLA_NAMESPACE
