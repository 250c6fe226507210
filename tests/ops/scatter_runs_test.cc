// Scatters of loops in which their indices stay the same: the runs of equal places are found before, once.
#include <fmt/format.h>

#include <map>

#include "core/passes/base/pipeline.h"
#include "core/text/hlo_printer.h"
#include "scheduler/plan/plan.h"
#include "scheduler/plan/plan_printer.h"
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

const std::vector<std::string> kNames{"first", "second", "counts", "largest", "rest"};

// Scatters of the same indices. In a loop of so many trips as its last parameter says, or one of them by itself.
std::unique_ptr<Module> Program(const RunCase& c, const std::string& type, const std::string& alone) {
  const std::string array = type + c.operand;
  // By itself into more places, so that sums take their updates in order (ExpandScatters); batches are f64.
  const size_t first = c.operand.find_first_of(",]");
  const bool pads = !alone.empty() && c.name != "Batches";
  const std::string large = pads ? fmt::format("{}[40000{}", type, c.operand.substr(first)) : array;
  const auto scatter = [&](const std::string& name, const std::string& operands, const std::string& combiner) {
    return fmt::format("{} = {} scatter({}), {}, to_apply={}\n", name, large, operands, c.attributes, combiner);
  };
  const std::string constants = fmt::format(
      "zero = {0}[] constant(0)  one = {0}[] constant(1)  zeros = {1} broadcast(zero), dimensions={{}}\n"
      "ones = {0}{2} broadcast(one), dimensions={{}}  nothing = {0}{2} broadcast(zero), dimensions={{}}\n",
      type, array, c.updates);
  const auto scatters = [&](bool in_loop) {
    const auto of = [&](const std::string& name) { return in_loop ? "of_" + name : std::string("q"); };
    std::map<std::string, std::string> texts;
    texts["first"] = scatter("first", of("first") + ", i, u", "sum");
    texts["second"] = scatter("second", "zeros, i, v", "sum");
    texts["counts"] = scatter("counts", "zeros, i, ones", "sum");
    texts["largest"] = scatter("largest", of("largest") + ", i, v", "most");
    texts["rest"] = scatter("rest", of("rest") + ", i, v", "less");
    return texts;
  };
  const std::string parameters =
      fmt::format("p = {} parameter(0)  i = s32{} parameter(1)  u = {}{} parameter(2)  limit = s32[] parameter(3)\n",
                  array, c.indices, type, c.updates);
  if (!alone.empty()) {
    const int64_t size = std::stoll(c.operand.substr(1));
    std::string padding = fmt::format("0_{}", 40000 - size), slice = fmt::format("[0:{}]", size);
    for (size_t at = first; c.operand[at] == ','; at = c.operand.find_first_of(",]", at + 1)) {
      padding += "x0_0";
      slice += fmt::format(", [0:{}]", std::stoll(c.operand.substr(at + 1)));
    }
    const std::string made = pads ? "pad(p, zero), padding=" + padding : "copy(p)";
    const std::string taken = pads ? fmt::format("slice({}), slice={{{}}}", alone, slice) : "copy(" + alone + ")";
    return ParseModule(Combiners(type) + "ENTRY e { " + parameters + constants +
                       fmt::format("q = {} {}  v = {}{} subtract(nothing, u)\n", large, made, type, c.updates) +
                       scatters(false)[alone] + fmt::format("ROOT r = {} {} }}", array, taken));
  }
  std::string state = fmt::format("(s32[], s32[], s32{}, {}{}", c.indices, type, c.updates), read, text, results;
  for (size_t k = 0; k < kNames.size(); ++k) {
    state += ", " + array;
    read += fmt::format("of_{} = {} get-tuple-element(s), index={}\n", kNames[k], array, 4 + k);
    text += scatters(true)[kNames[k]];
    results += fmt::format("r{0} = {1} get-tuple-element(w), index={2}\n", k, array, 4 + k);
  }
  state += ")";
  const std::string own = fmt::format(
      "s = {0} parameter(0)  n = s32[] get-tuple-element(s), index=0  limit = s32[] get-tuple-element(s), index=1\n",
      state);
  // u from 0 in the first trip on.
  const std::string body = fmt::format(
      "body {{ {0} i = s32{1} get-tuple-element(s), index=2  u = {2}{3} get-tuple-element(s), index=3\n{4}{5}"
      "trip = {2}[] convert(n)  trips = {2}{3} broadcast(trip), dimensions={{}}  v = {2}{3} subtract(trips, u)\n{6}"
      "step = s32[] constant(1)  next = s32[] add(n, step)\n"
      "ROOT t = {7} tuple(next, limit, i, u, first, second, counts, largest, rest) }}\n",
      own, c.indices, type, c.updates, read, constants, text, state);
  return ParseModule(Combiners(type) + body + "condition { " + own +
                     "ROOT l = pred[] compare(n, limit), direction=LT }\nENTRY e { " + parameters +
                     fmt::format("z = s32[] constant(0)  t = {0} tuple(z, limit, i, u, p, p, p, p, p)\n"
                                 "w = {0} while(t), condition=condition, body=body\n{1}"
                                 "ROOT r = ({2}, {2}, {2}, {2}, {2}) tuple(r0, r1, r2, r3, r4) }}",
                                 state, results, array));
}

std::vector<Literal> ArgumentsOf(const RunCase& c, const Module& module, uint64_t seed, Fill fill = Fill::kFullRange) {
  std::vector<Literal> arguments = RandomArguments(module, seed, fill);
  arguments[1] = Indices(arguments[1].shape(), c.low, c.count, seed);
  arguments[3] = Literal::ScalarInt(kS32, 1);
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

// In one trip they have the bits that those which round have outside of a loop, where nothing is shared, and the
// reference's within their bounds; in three trips these.
TEST_P(ScatterRunsTest, AsOutsideOfALoop) {
  const RunCase& c = GetParam();
  const std::unique_ptr<Client> gpu = GpuClient(BindingMode::kAddresses);
  ASSERT_NE(gpu, nullptr);
  for (const ElementType type : c.types) {
    for (const Fill fill : {Fill::kFullRange, Fill::kSpecial}) {
      if (fill == Fill::kSpecial && type != kF32) continue;
      SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(type), fill == Fill::kSpecial ? "special" : ""));
      const std::string name(ElementTypeName(type));
      const auto together = Program(c, name, "");
      ASSERT_NE(together, nullptr);
      std::vector<Literal> arguments = ArgumentsOf(c, *together, 3, fill);
      for (Client* client : {DeviceClient(ModesToRun()[0]), gpu.get()}) {
        const auto executable = client->Compile(*together);
        ASSERT_TRUE(executable.ok()) << executable.status().message();
        EXPECT_EQ(SortsIn(ToText((*executable)->plan())), 1);
        for (const int64_t trips : {3, 1}) {
          arguments[3] = Literal::ScalarInt(kS32, trips);
          const auto all = RunOnClient(*client, *together, arguments);
          const auto expected = RunOnCpu(*together, arguments);
          ASSERT_TRUE(all.has_value() && expected.has_value());
          const RunOptions options = IsInteger(type) ? Exactly() : RunOptions{};
          // Where numbers overflow, the order decides.
          if (fill == Fill::kFullRange) ExpectAgreement(*all, *expected, options, "together");
          for (size_t k = 0; trips == 1 && k < kNames.size(); k += 4) {
            const auto alone = RunOnClient(*client, *Program(c, name, kNames[k]), arguments);
            ASSERT_TRUE(alone.has_value());
            EXPECT_EQ(Compare(*FlattenLiteral(*alone)[0], *FlattenLiteral(*all)[k], Tolerance{}).differing, 0)
                << kNames[k];
          }
        }
      }
    }
  }
}

// What the passes make of them is a program that the reference understands.
TEST_P(ScatterRunsTest, TheReferenceRunsWhatPassesMake) {
  const RunCase& c = GetParam();
  const auto module = Program(c, "s32", "");
  ASSERT_NE(module, nullptr);
  TargetInfo target;
  target.accesses_by_lane = false;
  const auto optimized = Optimize(*module, target);
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_NE(PrintHlo(**optimized).find("run_starts=true"), std::string::npos);
  std::vector<Literal> arguments = ArgumentsOf(c, *module, 7);
  arguments[3] = Literal::ScalarInt(kS32, 3);
  const auto expected = RunOnCpu(*module, arguments), value = RunOnCpu(**optimized, arguments);
  ASSERT_TRUE(expected.has_value() && value.has_value());
  ExpectAgreement(*value, *expected, Exactly(), "optimized");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScatterRunsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace scatter_runs_test
}  // namespace VXLA_NAMESPACE::testing
