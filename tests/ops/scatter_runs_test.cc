// Scatters of the same indices, and those of loops whose indices stay: the runs of equal places are found once.
#include <fmt/format.h>

#include "core/passes/base/pipeline.h"
#include "core/text/hlo_printer.h"
#include "scheduler/plan.h"
#include "scheduler/plan_printer.h"
#include "tests/support/device_test_support.h"
#include "tests/support/gpu_client.h"
#include "tests/support/index_arguments.h"

namespace VXLA_NAMESPACE::testing {
namespace scatter_runs_test {

using enum ElementType;

struct RunCase {
  std::string name, operand, indices, updates, attributes;
  int64_t low, count;  // of the indices
  std::vector<ElementType> types;
};

// Software drivers look for runs where these are of 32 updates on average; more than 4,096 windows are in parts.
const RunCase kCases[] = {
    {"Elements",
     "[12]",
     "[600]",
     "[600]",
     "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
     -2,
     17,
     {kF32, kS8}},
    {"Rows",
     "[11,8]",
     "[500]",
     "[500,8]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
     -2,
     15,
     {kBF16, kS64}},
    {"Pairs",
     "[4,3,5]",
     "[700,2]",
     "[700,3]",
     "update_window_dims={1}, inserted_window_dims={0,2}, scatter_dims_to_operand_dims={2,0}, index_vector_dim=1",
     -1,
     6,
     {kF32}},
    {"Batches",
     "[4,3,2]",
     "[200,4,1]",
     "[200,4,2]",
     "update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={1}, index_vector_dim=2",
     -1,
     6,
     {kF64}},
    {"VectorsInTheMiddle",
     "[3,2]",
     "[5,2,80]",
     "[5,80]",
     "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1",
     -1,
     5,
     {kS32}},
    {"InParts",
     "[7,3]",
     "[9001]",
     "[9001,3]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
     -1,
     9,
     {kF32}},
    {"OneRun",
     "[1]",
     "[4100]",
     "[4100]",
     "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
     0,
     1,
     {kBF16}},
    {"AllOutside",
     "[2,4]",
     "[4200]",
     "[4200,4]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
     2,
     5,
     {kF32}},
    {"PartsOfManyPlaces",
     "[140,4]",
     "[4500]",
     "[4500,4]",
     "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
     -3,
     150,
     {kF32, kU16}},
};

class ScatterRunsTest : public ::testing::TestWithParam<RunCase> {};

constexpr std::string_view kSum = "add(a, b)", kMost = "maximum(a, b)", kLess = "subtract(a, b)";

std::string Combiners(const std::string& type) {
  std::string text;
  for (const auto& [name, operation] : {std::pair("sum", kSum), {"most", kMost}, {"less", kLess}}) {
    text += fmt::format("{0} {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  ROOT c = {1}[] {2} }}\n", name, type,
                        operation);
  }
  return text;
}

// `results` are names of the scatters below, all of the same indices.
std::unique_ptr<Module> Program(const RunCase& c, const std::string& type, const std::vector<std::string>& results) {
  std::string text =
      Combiners(type) + fmt::format(
                            "ENTRY e {{ p = {0}{1} parameter(0)  i = s32{2} parameter(1)  u = {0}{3} parameter(2)\n"
                            "v = {0}{3} negate(u)  zero = {0}[] constant(0)  one = {0}[] constant(1)\n"
                            "zeros = {0}{1} broadcast(zero), dimensions={{}}  ones = {0}{3} broadcast(one), "
                            "dimensions={{}}\n",
                            type, c.operand, c.indices, c.updates);
  std::string tuple, types;
  const auto add = [&](const std::string& name, const std::string& operands, const std::string& combiner) {
    if (std::ranges::find(results, name) == results.end()) return;
    text += fmt::format("{} = {}{} scatter({}), {}, to_apply={}\n", name, type, c.operand, operands, c.attributes,
                        combiner);
    tuple += (tuple.empty() ? "" : ", ") + name;
    types += fmt::format("{}{}{}", types.empty() ? "" : ", ", type, c.operand);
  };
  add("first", "p, i, u", "sum");
  add("second", "zeros, i, v", "sum");
  add("counts", "zeros, i, ones", "sum");
  add("largest", "p, i, u", "most");
  add("rest", "p, i, v", "less");
  return ParseModule(text + fmt::format("ROOT t = ({}) tuple({}) }}", types, tuple));
}

std::vector<Literal> ArgumentsOf(const RunCase& c, const Module& module, uint64_t seed, Fill fill = Fill::kFullRange) {
  std::vector<Literal> arguments = RandomArguments(module, seed, fill);
  arguments[1] = Indices(arguments[1].shape(), c.low, c.count, seed);
  return arguments;
}

int64_t SortsIn(const std::string& plan) {
  int64_t sorts = 0;
  for (size_t at = plan.find("(sort)"); at != std::string::npos; at = plan.find("(sort)", at + 1)) {
    const std::string line = plan.substr(at, plan.find('\n', at) - at);
    sorts += line.find("merge") == std::string::npos;
  }
  return sorts;
}

void ExpectSameBits(const Literal& a, const Literal& b, const std::string& what) {
  const auto left = FlattenLiteral(a), right = FlattenLiteral(b);
  ASSERT_EQ(left.size(), right.size());
  for (size_t k = 0; k < left.size(); ++k)
    EXPECT_EQ(Compare(*left[k], *right[k], Tolerance{}).differing, 0) << what << ", result " << k;
}

// Together they have the bits that those which round have alone, where nothing is shared; and the reference's, within
// their bounds.
TEST_P(ScatterRunsTest, TogetherAsEachAlone) {
  const RunCase& c = GetParam();
  const std::vector<std::string> names{"first", "second", "counts", "largest", "rest"};
  const std::unique_ptr<Client> gpu = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(gpu, nullptr);
  for (const ElementType type : c.types) {
    for (const Fill fill : {Fill::kFullRange, Fill::kSpecial}) {
      if (fill == Fill::kSpecial && type != kF32) continue;
      SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(type), fill == Fill::kSpecial ? "special" : ""));
      const std::string name(ElementTypeName(type));
      const auto together = Program(c, name, names);
      ASSERT_NE(together, nullptr);
      const std::vector<Literal> arguments = ArgumentsOf(c, *together, 3, fill);
      const auto expected = RunOnCpu(*together, arguments);
      ASSERT_TRUE(expected.has_value());
      for (Client* client : {DeviceClient(ModesToRun()[0]), gpu.get()}) {
        const auto executable = client->Compile(*together);
        ASSERT_TRUE(executable.ok()) << executable.status().message();
        EXPECT_EQ(SortsIn(ToText((*executable)->plan())), 1);
        const auto all = RunOnClient(*client, *together, arguments);
        ASSERT_TRUE(all.has_value());
        const RunOptions options = IsInteger(type) ? Exactly() : RunOptions{};
        // Where numbers overflow, the order decides.
        if (fill == Fill::kFullRange) ExpectAgreement(*all, *expected, options, "together");
        for (const size_t k : {0, 4}) {
          const auto alone = RunOnClient(*client, *Program(c, name, {names[k]}), arguments);
          ASSERT_TRUE(alone.has_value());
          EXPECT_EQ(Compare(*FlattenLiteral(*alone)[0], *FlattenLiteral(*all)[k], Tolerance{}).differing, 0)
              << names[k];
        }
      }
    }
  }
}

TEST_P(ScatterRunsTest, StayInALoop) {
  const RunCase& c = GetParam();
  const std::string text =
      Combiners("f32") +
      fmt::format(
          "body {{ s = (s32[], f32{0}, s32{1}, f32{2}) parameter(0)  n = s32[] get-tuple-element(s), index=0\n"
          "p = f32{0} get-tuple-element(s), index=1  i = s32{1} get-tuple-element(s), index=2\n"
          "u = f32{2} get-tuple-element(s), index=3  one = s32[] constant(1)  next = s32[] add(n, one)\n"
          "f = f32[] convert(n)  spread = f32{2} broadcast(f), dimensions={{}}  v = f32{2} multiply(u, spread)\n"
          "q = f32{0} scatter(p, i, v), {3}, to_apply=sum  half = f32[] constant(0.5)\n"
          "halves = f32{0} broadcast(half), dimensions={{}}  r = f32{0} multiply(q, halves)\n"
          "ROOT t = (s32[], f32{0}, s32{1}, f32{2}) tuple(next, r, i, u) }}\n"
          "condition {{ s = (s32[], f32{0}, s32{1}, f32{2}) parameter(0)  n = s32[] get-tuple-element(s), index=0\n"
          "m = s32[] constant(12)  ROOT l = pred[] compare(n, m), direction=LT }}\n"
          "ENTRY e {{ p = f32{0} parameter(0)  i = s32{1} parameter(1)  u = f32{2} parameter(2)  z = s32[] "
          "constant(0)\n"
          "t = (s32[], f32{0}, s32{1}, f32{2}) tuple(z, p, i, u)\n"
          "w = (s32[], f32{0}, s32{1}, f32{2}) while(t), condition=condition, body=body\n"
          "ROOT r = f32{0} get-tuple-element(w), index=1 }}",
          c.operand, c.indices, c.updates, c.attributes);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = ArgumentsOf(c, *module, 5);
  for (const bool loop_kernels : {true, false}) {
    RunOptions options;
    options.loop_kernels = loop_kernels;
    RunBoth(text, arguments, options);
  }
  const auto optimized = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_EQ(SortsIn(ToText((*optimized)->plan())), 1);
}

// What the passes make of them is a program that the reference understands.
TEST_P(ScatterRunsTest, TheReferenceRunsWhatPassesMake) {
  const RunCase& c = GetParam();
  const auto module = Program(c, "s32", {"first", "counts", "largest", "rest"});
  ASSERT_NE(module, nullptr);
  TargetInfo target;
  target.accesses_by_lane = false;
  const auto optimized = Optimize(*module, target);
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_NE(PrintHlo(**optimized).find("run_starts=true"), std::string::npos);
  const std::vector<Literal> arguments = ArgumentsOf(c, *module, 7);
  const auto expected = RunOnCpu(*module, arguments), value = RunOnCpu(**optimized, arguments);
  ASSERT_TRUE(expected.has_value() && value.has_value());
  ExpectAgreement(*value, *expected, Exactly(), "optimized");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScatterRunsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace scatter_runs_test
}  // namespace VXLA_NAMESPACE::testing
