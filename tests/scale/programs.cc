#include "tests/scale/programs.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr const char* kAdd = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

using Out = std::back_insert_iterator<std::string>;

// "(f32[8], f32[8]) tuple(v1, v2)"
void Tuple(std::string& text, const std::string& shape, const std::vector<std::string>& names) {
  const std::vector<std::string> shapes(names.size(), shape);
  fmt::format_to(Out(text), "ROOT t = ({}) tuple({})\n}}\n", fmt::join(shapes, ", "), fmt::join(names, ", "));
}

std::string Chain(int n) {
  std::string text = "ENTRY e {\nv0 = f32[64] parameter(0)\nq = f32[64] parameter(1)\n";
  const char* ops[] = {"add", "multiply", "maximum", "subtract"};
  for (int i = 1; i < n; ++i) fmt::format_to(Out(text), "v{} = f32[64] {}(v{}, q)\n", i, ops[i % 4], i - 1);
  return text + fmt::format("ROOT r = f32[64] tanh(v{})\n}}\n", n - 1);
}

// One value that thousands read, each reader a result.
std::string FanOut(int n) {
  std::string text = "ENTRY e {\np = f32[8] parameter(0)\nhub = f32[8] exponential(p)\n";
  std::vector<std::string> names;
  for (int i = 0; i < n / 3; ++i) {
    fmt::format_to(Out(text), "c{0} = f32[] constant({0})\nb{0} = f32[8] broadcast(c{0}), dimensions={{}}\n", i);
    fmt::format_to(Out(text), "v{0} = f32[8] multiply(hub, b{0})\n", i);
    names.push_back(fmt::format("v{}", i));
  }
  Tuple(text, "f32[8]", names);
  return text;
}

std::string Independent(int n) {
  const int count = n / 3;
  std::string text = fmt::format("ENTRY e {{\np = f32[{}] parameter(0)\nq = f32[] parameter(1)\n", count);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    fmt::format_to(Out(text), "s{0} = f32[1] slice(p), slice={{[{0}:{1}]}}\nr{0} = f32[] reshape(s{0})\n", i, i + 1);
    fmt::format_to(Out(text), "a{0} = f32[] add(r{0}, q)\n", i);
    names.push_back(fmt::format("a{}", i));
  }
  Tuple(text, "f32[]", names);
  return text;
}

std::string Layers(int n) {
  std::string text = "ENTRY e {\nx0 = f32[32,32] parameter(0)\nw = f32[32,32] parameter(1)\nb = f32[32] parameter(2)\n";
  for (int i = 0; i < n / 5; ++i) {
    fmt::format_to(Out(text),
                   "d{0} = f32[32,32] dot(x{0}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n", i);
    fmt::format_to(Out(text), "bb{0} = f32[32,32] broadcast(b), dimensions={{1}}\ns{0} = f32[32,32] add(d{0}, bb{0})\n",
                   i);
    fmt::format_to(Out(text), "t{0} = f32[32,32] tanh(s{0})\nx{1} = f32[32,32] add(t{0}, x{0})\n", i, i + 1);
  }
  return text + fmt::format("ROOT r = f32[32,32] negate(x{})\n}}\n", n / 5);
}

std::string Ladder(int n) {
  std::string text = "ENTRY e {\na0 = f32[256] parameter(0)\nb0 = f32[256] parameter(1)\n";
  for (int i = 0; i < n / 2; ++i) {
    fmt::format_to(Out(text), "a{1} = f32[256] add(a{0}, b{0})\nb{1} = f32[256] multiply(a{0}, b{0})\n", i, i + 1);
  }
  return text + fmt::format("ROOT r = f32[256] subtract(a{0}, b{0})\n}}\n", n / 2);
}

std::string Reduces(int n) {
  std::string text = std::string(kAdd) + "ENTRY e {\np = f32[16,64] parameter(0)\nzero = f32[] constant(0)\n";
  std::vector<std::string> names;
  for (int i = 0; i < n / 4; ++i) {
    fmt::format_to(Out(text), "c{0} = f32[] constant({0})\nb{0} = f32[16,64] broadcast(c{0}), dimensions={{}}\n", i);
    fmt::format_to(Out(text), "m{0} = f32[16,64] multiply(p, b{0})\n", i);
    fmt::format_to(Out(text), "s{0} = f32[16] reduce(m{0}, zero), dimensions={{1}}, to_apply=add\n", i);
    names.push_back(fmt::format("s{}", i));
  }
  Tuple(text, "f32[16]", names);
  return text;
}

// Loops one behind another, as a program has after unrolling an outer one.
std::string Loops(int n) {
  std::string text, calls;
  const int count = n / 14;
  for (int i = 0; i < count; ++i) {
    fmt::format_to(Out(text), "c{0} {{ s = (s32[], f32[64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
                   i);
    fmt::format_to(Out(text), " n = s32[] constant({})\n ROOT l = pred[] compare(i, n), direction=LT }}\n", 3 + i % 5);
    fmt::format_to(Out(text), "b{0} {{ s = (s32[], f32[64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
                   i);
    text += " x = f32[64] get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n";
    text += " y = f32[64] cosine(x)\n ROOT t = (s32[], f32[64]) tuple(j, y) }\n";
    fmt::format_to(Out(calls), "t{0} = (s32[], f32[64]) tuple(zero, x{0})\n", i);
    fmt::format_to(Out(calls), "w{0} = (s32[], f32[64]) while(t{0}), condition=c{0}, body=b{0}\n", i);
    fmt::format_to(Out(calls), "x{1} = f32[64] get-tuple-element(w{0}), index=1\n", i, i + 1);
  }
  text += "ENTRY e {\nx0 = f32[64] parameter(0)\nzero = s32[] constant(0)\n" + calls;
  return text + fmt::format("ROOT r = f32[64] negate(x{})\n}}\n", count);
}

std::string Ordered(int n) {
  std::string text = "ENTRY e {\nv0 = f32[64] parameter(0)\nu0 = f32[64] parameter(1)\n";
  for (int i = 1; i < n / 2; ++i) {
    fmt::format_to(Out(text), "v{0} = f32[64] cosine(v{1})", i, i - 1);
    if (i > 1) fmt::format_to(Out(text), ", control-predecessors={{u{}}}", i - 1);
    fmt::format_to(Out(text), "\nu{0} = f32[64] negate(u{1}), control-predecessors={{v{0}}}\n", i, i - 1);
  }
  return text + fmt::format("ROOT r = f32[64] add(v{0}, u{0})\n}}\n", n / 2 - 1);
}

}  // namespace

const std::vector<LargeProgram>& LargePrograms() {
  static const std::vector<LargeProgram> programs = {
      {"chain", Chain},     {"fan-out", FanOut}, {"independent", Independent}, {"layers", Layers}, {"ladder", Ladder},
      {"reduces", Reduces}, {"loops", Loops},    {"ordered", Ordered}};
  return programs;
}

}  // namespace VXLA_NAMESPACE::testing
