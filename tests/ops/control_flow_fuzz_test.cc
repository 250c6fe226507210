// Random loops in loops in branches: whatever shares a buffer, moves or stays, the values are the CPU reference's.
#include <random>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// A state of two counters and `kArrays` arrays of kArray. Few kernels differ, so that most come from the cache.
constexpr int kArrays = 4;
constexpr char kArray[] = "f32[5]";
constexpr char kState[] = "(s32[], f32[5], f32[5], f32[5], f32[5])";

class ProgramWriter {
 public:
  explicit ProgramWriter(uint32_t seed) : random_(seed) {}

  std::string Program() {
    const std::string body = Region(2);
    std::string entry = "ENTRY main {\n";
    std::string operands = "zero";
    for (int k = 0; k < kArrays; ++k) entry += fmt::format("  p{0} = {1} parameter({0})\n", k, kArray);
    entry += "  zero = s32[] constant(0)\n";
    for (int k = 0; k < kArrays; ++k)
      operands += fmt::format(", p{}", Pick(kArrays));  // the same value may start several
    entry +=
        fmt::format("  s = {} tuple({})\n  ROOT r = {} call(s), to_apply={}\n}}\n", kState, operands, kState, body);
    return "HloModule fuzz\nless { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), "
           "direction=LT }\nsum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n" +
           computations_ + entry;
  }

 private:
  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  std::string Name(const std::string& stem) { return fmt::format("{}{}", stem, next_++); }

  // The name of a computation from state to state.
  std::string Region(int depth) {
    const std::string name = Name("region");
    std::vector<std::string> values;
    std::string text =
        fmt::format("{} {{\n  s = {} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n", name, kState);
    for (int k = 0; k < kArrays; ++k) {
      values.push_back(Name("v"));
      text += fmt::format("  {} = {} get-tuple-element(s), index={}\n", values.back(), kArray, k + 1);
    }
    std::string count = "i";
    for (int n = 1 + Pick(5); n > 0; --n) text += Statement(depth, count, values);
    std::string operands = count;
    for (int k = 0; k < kArrays; ++k) {
      // Handed on, moved to another place, or new.
      const int choice = Pick(4);
      operands += ", " + (choice == 0   ? values[static_cast<size_t>(k)]
                          : choice == 1 ? values[static_cast<size_t>(Pick(kArrays))]
                                        : values[static_cast<size_t>(Pick(static_cast<int>(values.size())))]);
    }
    text += fmt::format("  ROOT r = {} tuple({})\n}}\n", kState, operands);
    computations_ += text;
    return name;
  }

  std::string Statement(int depth, std::string& count, std::vector<std::string>& values) {
    const auto any = [&] { return values[static_cast<size_t>(Pick(static_cast<int>(values.size())))]; };
    const std::string a = any(), b = any(), v = Name("v");
    switch (Pick(depth > 0 ? 9 : 6)) {
      case 0:
        values.push_back(v);
        return fmt::format("  {} = {} subtract({}, {})\n", v, kArray, a, b);
      case 1:
        values.push_back(v);
        return fmt::format("  {} = {} maximum({}, {})\n", v, kArray, a, b);
      case 2:
        values.push_back(v);
        return fmt::format("  {} = {} reverse({}), dimensions={{0}}\n", v, kArray, a);
      case 3:
        values.push_back(v);
        return fmt::format("  {} = {} sort({}), dimensions={{0}}, to_apply=less\n", v, kArray, a);
      case 4: {
        values.push_back(v);
        return fmt::format("  k{0} = {1} constant({{1, -2, 3, -4, 5}})\n  {0} = {1} minimum({2}, k{0})\n", v, kArray,
                           a);
      }
      case 5: {
        values.push_back(v);
        return fmt::format(
            "  k{0} = f32[] constant(7)\n  {0} = {1} scatter({2}, i, k{0}), to_apply=sum, update_window_dims={{}}, "
            "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=0\n",
            v, kArray, a);
      }
      case 6:
        return Branch(depth, count, values);
      default:
        return Loop(depth, count, values);
    }
  }

  std::string TupleOf(const std::string& name, const std::string& count, std::vector<std::string>& values) {
    std::string operands = count;
    for (int k = 0; k < kArrays; ++k)
      operands += ", " + values[static_cast<size_t>(Pick(static_cast<int>(values.size())))];
    return fmt::format("  {} = {} tuple({})\n", name, kState, operands);
  }

  std::string TakeApart(const std::string& result, std::string& count, std::vector<std::string>& values) {
    count = Name("i");
    std::string text = fmt::format("  {} = s32[] get-tuple-element({}), index=0\n", count, result);
    for (int k = 0; k < kArrays; ++k) {
      if (Pick(3) == 0) continue;
      values.push_back(Name("v"));
      text += fmt::format("  {} = {} get-tuple-element({}), index={}\n", values.back(), kArray, result, k + 1);
    }
    return text;
  }

  std::string Branch(int depth, std::string& count, std::vector<std::string>& values) {
    const std::string result = Name("b"), one = Region(depth - 1), two = Pick(4) == 0 ? one : Region(depth - 1);
    std::string text = TupleOf("t" + result, count, values) + TupleOf("u" + result, count, values);
    text += fmt::format(
        "  m{0} = s32[] constant(1)\n  n{0} = s32[] and({1}, m{0})\n  {0} = {2} conditional(n{0}, t{0}, u{0}), "
        "branch_computations={{{3}, {4}}}\n",
        result, count, kState, one, two);
    return text + TakeApart(result, count, values);
  }

  // Counted loops restart the counter; the others go on until it reaches a number that depends on where it was.
  std::string Loop(int depth, std::string& count, std::vector<std::string>& values) {
    const std::string result = Name("w"), inner = Region(depth - 1);
    const bool counted = Pick(2) == 0;
    const int iterations = Pick(4);
    computations_ += fmt::format(
        "step_{0} {{\n  s = {1} parameter(0)\n  j = s32[] get-tuple-element(s), index=0\n  o = s32[] constant(1)\n  "
        "next = s32[] add(j, o)\n"
        "  d = {1} call(s), to_apply={2}\n",
        result, kState, inner);
    std::string operands = "next";
    for (int k = 0; k < kArrays; ++k) {
      computations_ += fmt::format("  e{0} = {1} get-tuple-element(d), index={2}\n", k, kArray, k + 1);
      operands += fmt::format(", e{}", k);
    }
    computations_ += fmt::format("  ROOT r = {} tuple({})\n}}\n", kState, operands);
    computations_ += fmt::format("until_{0} {{\n  s = {1} parameter(0)\n  j = s32[] get-tuple-element(s), index=0\n",
                                 result, kState);
    if (!counted) computations_ += "  seven = s32[] constant(7)\n  k = s32[] remainder(j, seven)\n";
    computations_ += fmt::format("  n = s32[] constant({0})\n  ROOT c = pred[] compare({1}, n), direction=LT\n}}\n",
                                 counted ? iterations : iterations + 1, counted ? "j" : "k");
    std::string start = count;
    std::string text;
    if (counted) {
      start = "z" + result;
      text = fmt::format("  {} = s32[] constant(0)\n", start);
    }
    text += TupleOf("t" + result, start, values);
    text += fmt::format("  {0} = {1} while(t{0}), condition=until_{0}, body=step_{0}\n", result, kState);
    return text + TakeApart(result, count, values);
  }

  std::mt19937 random_;
  int next_ = 0;
  std::string computations_;
};

class ControlFlowFuzzTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ControlFlowFuzzTest, ::testing::Range(0, 12));

TEST_P(ControlFlowFuzzTest, AgreesWithTheReference) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    const std::string text = ProgramWriter(static_cast<uint32_t>(GetParam()) * 5 + seed).Program();
    SCOPED_TRACE(text);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    RunOptions options;
    options.allow_fallbacks = true;
    options.tolerance = Tolerance{};
    options.loop_kernels = seed % 2 == 0;
    RunBoth(text, RandomArguments(*module, seed), options);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
