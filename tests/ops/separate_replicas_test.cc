// Devices that come to their meetings by ways that only a run shows (api/separate_replicas.h), against the reference's:
// the same results, or the same report.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "api/devices.h"
#include "api/replicas.h"
#include "core/passes/devices/device_separation.h"
#include "core/text/hlo_printer.h"
#include "scheduler/replicas/feed_queues.h"
#include "tests/support/replica_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace separate_replicas_test {

using ::testing::HasSubstr;

const char kSum[] = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

// Arguments by parameter, each by device, which outlive the pointers.
Pointers ByDevice(const std::vector<std::vector<Literal>>& arguments) {
  Pointers pointers(arguments[0].size());
  for (const auto& parameter : arguments) {
    for (size_t d = 0; d < parameter.size(); ++d) pointers[d].push_back(&parameter[d]);
  }
  return pointers;
}

std::vector<Literal> Numbers(std::initializer_list<int> numbers) {
  std::vector<Literal> literals;
  for (const int number : numbers) literals.push_back(Literal::ScalarInt(ElementType::kS32, number));
  return literals;
}

std::vector<Literal> Arrays(const Shape& shape, int64_t devices) {
  std::vector<Literal> literals;
  for (int64_t d = 0; d < devices; ++d) literals.push_back(RandomLiteral(shape, static_cast<uint64_t>(d) + 1));
  return literals;
}

void ExpectSameOutcome(const Result<Literal>& actual, const Result<Literal>& expected) {
  ASSERT_EQ(actual.ok(), expected.ok()) << (actual.ok() ? expected : actual).status().message();
  if (!expected.ok()) {
    EXPECT_EQ(actual.status().code(), expected.status().code()) << actual.status().message();
    return;
  }
  const auto got = FlattenLiteral(*actual), want = FlattenLiteral(*expected);
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) ExpectAgreement(*got[k], *want[k], {}, fmt::format("leaf {}", k));
}

// On the suite's device and over places.
void ExpectAsReference(const std::string& text, const DeviceGrid& grid, const Pointers& arguments,
                       EvaluateOptions options = {}) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  options.collective_timeout = std::chrono::seconds(60);
  const auto expected = RunReplicated(*module, grid, arguments, options);
  for (const BindingMode mode : ModesToRun()) {
    DeviceOptions device = DefaultDevice();
    device.bindings = mode == BindingMode::kAddresses ? "addresses" : "descriptors";
    const auto client = OpenClient(device, options);
    ASSERT_TRUE(client.ok()) << client.status().message();
    auto executable = ReplicatedExecutable::Compile(**client, *module, grid, arguments, {}, options);
    if (!executable.ok()) {
      EXPECT_FALSE(expected.ok()) << executable.status().message();
      EXPECT_EQ(executable.status().code(), expected.status().code()) << executable.status().message();
      continue;
    }
    for (int run = 0; run < 2; ++run) ExpectSameOutcome(executable->Run(arguments), expected);
  }
  auto placed = PlacedExecutable::Compile(*module, grid, arguments, {"0", "cpu"}, DefaultDevice(), options);
  if (placed.ok()) ExpectSameOutcome(placed->Run(arguments), expected);
  if (!placed.ok()) {
    EXPECT_EQ(placed.status().code(), expected.status().code()) << placed.status().message();
  }
}

const char kLoop[] = R"(
cond { p = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  z = s32[] constant(0)
  ROOT r = pred[] compare(i, z), direction=GT }
body { p = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  x = f32[4] get-tuple-element(p), index=1
  o = s32[] constant(1)  j = s32[] subtract(i, o)  y = f32[4] all-reduce(x), replica_groups={}, to_apply=sum
  t = f32[4] tanh(y)  ROOT s = (s32[], f32[4]) tuple(j, t) }
)";

// One device meets the other from another loop, as often in all.
TEST(SeparateReplicasTest, DevicesMeetFromDifferentLoops) {
  const std::string text = std::string(kSum) + kLoop + R"(ENTRY e { n = s32[] parameter(0)  k = s32[] parameter(1)
  x = f32[4] parameter(2)  s = (s32[], f32[4]) tuple(n, x)  w = (s32[], f32[4]) while(s), condition=cond, body=body
  y = f32[4] get-tuple-element(w), index=1  c = f32[4] cosine(y)  u = (s32[], f32[4]) tuple(k, c)
  v = (s32[], f32[4]) while(u), condition=cond, body=body  z = f32[4] get-tuple-element(v), index=1
  i = u32[] replica-id()  f = f32[] convert(i)  b = f32[4] broadcast(f), dimensions={}  ROOT r = f32[4] add(z, b) })";
  const Shape shape(ElementType::kF32, {4});
  ExpectAsReference(text, {2, 1}, ByDevice({Numbers({3, 1}), Numbers({2, 4}), Arrays(shape, 2)}));
  // One too few.
  ExpectAsReference(text, {2, 1}, ByDevice({Numbers({3, 1}), Numbers({2, 5}), Arrays(shape, 2)}));
}

// What one run shows does not hold the next one back.
TEST(SeparateReplicasTest, RunsGoOnAfterDevicesHaveParted) {
  const auto module = ParseModule(std::string(kSum) + kLoop + R"(ENTRY e { n = s32[] parameter(0)
  x = f32[4] parameter(1)  s = (s32[], f32[4]) tuple(n, x)  w = (s32[], f32[4]) while(s), condition=cond, body=body
  y = f32[4] get-tuple-element(w), index=1  ROOT r = f32[4] all-reduce(y), replica_groups={}, to_apply=sum })");
  ASSERT_NE(module, nullptr);
  const auto client = OpenClient(DefaultDevice());
  ASSERT_TRUE(client.ok()) << client.status().message();
  const auto x = Arrays(Shape(ElementType::kF32, {4}), 2);
  const auto same = Numbers({2, 2}), differ = Numbers({2, 3});
  const Pointers alike{{&same[0], &x[0]}, {&same[1], &x[1]}}, apart{{&differ[0], &x[0]}, {&differ[1], &x[1]}};
  auto executable = ReplicatedExecutable::Compile(**client, *module, {2, 1}, alike);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (const Pointers* arguments : {&alike, &apart, &alike}) {
    const auto result = executable->Run(*arguments);
    ExpectSameOutcome(result, RunReplicated(*module, {2, 1}, *arguments, {}));
    if (result.ok()) continue;
    EXPECT_EQ(result.status().message(), "deadlock: all-reduce r: replica 1 waits for replica 0; replica 0 has ended");
  }
}

// In one iteration the one device, in the next one the other: the n-th time of each is one meeting.
TEST(SeparateReplicasTest, BranchesMeetInDifferentIterations) {
  const std::string text = std::string(kSum) + R"(
yes { x = f32[4] parameter(0)  a = f32[4] all-reduce(x), replica_groups={}, to_apply=sum  ROOT r = f32[4] sine(a) }
no { x = f32[4] parameter(0)  ROOT r = f32[4] negate(x) }
cond { p = (s32[], s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0  z = s32[] constant(4)
  ROOT r = pred[] compare(i, z), direction=LT }
body { p = (s32[], s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  k = s32[] get-tuple-element(p), index=1  x = f32[4] get-tuple-element(p), index=2  o = s32[] constant(1)
  j = s32[] add(i, o)  m = s32[] and(i, o)  q = pred[] compare(m, k), direction=EQ
  c = f32[4] conditional(q, x, x), true_computation=yes, false_computation=no
  ROOT s = (s32[], s32[], f32[4]) tuple(j, k, c) }
ENTRY e { k = s32[] parameter(0)  x = f32[4] parameter(1)  z = s32[] constant(0)
  s = (s32[], s32[], f32[4]) tuple(z, k, x)  ROOT w = (s32[], s32[], f32[4]) while(s), condition=cond, body=body })";
  ExpectAsReference(text, {2, 1}, ByDevice({Numbers({0, 1}), Arrays(Shape(ElementType::kF32, {4}), 2)}));
}

// Feeds are not asked twice: such a program runs apart from the start.
TEST(SeparateReplicasTest, FeedsAreTakenOnce) {
  const std::string text = std::string(kSum) + kLoop + R"(ENTRY e { n = s32[] parameter(0)  x = f32[4] parameter(1)
  t = token[] after-all()  i = (f32[4], token[]) infeed(t)  y = f32[4] get-tuple-element(i), index=0
  u = token[] get-tuple-element(i), index=1  a = f32[4] add(x, y)
  s = (s32[], f32[4]) tuple(n, a)  w = (s32[], f32[4]) while(s), condition=cond, body=body
  z = f32[4] get-tuple-element(w), index=1  v = token[] outfeed(z, u), outfeed_shape=f32[4]
  l = s32[] constant(5)  m = s32[] subtract(l, n)  p = (s32[], f32[4]) tuple(m, z)
  ROOT q = (s32[], f32[4]) while(p), condition=cond, body=body })";
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  EXPECT_TRUE(TalksToHost(*module));
  const Shape shape(ElementType::kF32, {4});
  const std::vector<std::vector<Literal>> values{Numbers({1, 4}), Arrays(shape, 2)};
  const Pointers arguments = ByDevice(values);
  std::vector<Literal> told[2];
  std::vector<Result<Literal>> outcomes;
  for (const bool on_device : {false, true}) {
    EvaluateOptions options;
    std::mutex mutex;
    std::vector<Literal>& outfed = told[on_device ? 1 : 0];
    outfed.resize(2);
    int asked = 0;
    options.host.infeed = [&](int64_t device, const Shape& of) -> Result<Literal> {
      const std::lock_guard lock(mutex);
      ++asked;
      return RandomLiteral(of, static_cast<uint64_t>(device) + 7);
    };
    options.host.outfeed = [&](int64_t device, Literal value) {
      const std::lock_guard lock(mutex);
      outfed[static_cast<size_t>(device)] = std::move(value);
      return OkStatus();
    };
    if (on_device) {
      const auto client = OpenClient(DefaultDevice(), options);
      ASSERT_TRUE(client.ok()) << client.status().message();
      auto executable = ReplicatedExecutable::Compile(**client, *module, {2, 1}, arguments, {}, options);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      outcomes.push_back(executable->Run(arguments));
    } else {
      outcomes.push_back(RunReplicated(*module, {2, 1}, arguments, options));
    }
    EXPECT_EQ(asked, 2);
  }
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].status().message();
  ExpectSameOutcome(outcomes[1], outcomes[0]);
  for (size_t d = 0; d < 2; ++d) ExpectAgreement(told[1][d], told[0][d], {}, "outfeed");
}

// What is wrong with a ragged-all-to-all's lists is found beside it, and said in the reference's words.
TEST(SeparateReplicasTest, RowsThatDoNotFitAreSaid) {
  const auto module =
      ParseModule(R"(ENTRY e { i = f32[4,2] parameter(0)  o = f32[5,2] parameter(1)  a = s64[2] parameter(2)
  b = s64[2] parameter(3)  c = s64[2] parameter(4)  d = s64[2] parameter(5)
  ROOT r = f32[5,2] ragged-all-to-all(i, o, a, b, c, d), replica_groups={{1,0}} })");
  ASSERT_NE(module, nullptr);
  const auto lists = [](std::initializer_list<int> of_0, std::initializer_list<int> of_1) {
    std::vector<Literal> literals;
    for (const auto& numbers : {of_0, of_1}) {
      Literal& list = literals.emplace_back(Shape(ElementType::kS64, {2}));
      for (int64_t k = 0; const int number : numbers) list.SetInt(k++, number);
    }
    return literals;
  };
  const auto input = Arrays(Shape(ElementType::kF32, {4, 2}), 2), output = Arrays(Shape(ElementType::kF32, {5, 2}), 2);
  // Entry 0 is about replica 1.
  const std::vector<std::vector<Literal>> right{
      input, output, lists({1, 0}, {3, 0}), lists({3, 1}, {1, 2}), lists({2, 0}, {4, 0}), lists({2, 1}, {1, 3})};
  for (const std::vector<std::string>& places : {std::vector<std::string>{"0"}, {"0", "cpu"}}) {
    const auto run = [&](size_t operand, const std::vector<Literal>& wrong) {
      auto values = right;
      values[operand] = wrong;
      const Pointers arguments = ByDevice(values);
      auto executable = PlacedExecutable::Compile(*module, {2, 1}, arguments, places, DefaultDevice(), {});
      Result<Literal> result = executable.ok() ? executable->Run(arguments) : executable.status();
      ExpectSameOutcome(result, RunReplicated(*module, {2, 1}, arguments, {}));
      return result.ok() ? "" : result.status().message();
    };
    EXPECT_EQ(run(2, right[2]), "");
    EXPECT_EQ(run(5, lists({2, 1}, {1, 2})), "ragged-all-to-all r: member 1 sends 3 rows to member 0, which expects 2");
    EXPECT_EQ(run(4, lists({3, 0}, {4, 0})),
              "ragged-all-to-all r: 3 rows from 1 of f32[4,2] to 3 of f32[5,2] do not fit");
    EXPECT_EQ(run(2, lists({2, 0}, {3, 0})),
              "ragged-all-to-all r: 3 rows from 2 of f32[4,2] to 2 of f32[5,2] do not fit");
    EXPECT_EQ(run(2, lists({1, 0}, {-1, 0})),
              "ragged-all-to-all r: 1 rows from -1 of f32[4,2] to 4 of f32[5,2] do not fit");
  }
}

// Devices that meet by branches which data decide, where one program of both is impossible.
std::string Apart(const std::string& array) {
  std::string text = R"(sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
yes { x = ARRAY parameter(0)  ROOT a = ARRAY all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum }
no { x = ARRAY parameter(0)  ROOT r = ARRAY negate(x) }
one { x = ARRAY parameter(0)  ROOT r = ARRAY all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum }
ENTRY e { k = s32[] parameter(0)  y = f32[4] parameter(1)  n = s32[] constant(3)  x = ARRAY MADE
  z = s32[] constant(0)  p = pred[] compare(k, z), direction=EQ
  i = u32[] replica-id()  u = u32[] constant(0)  q = pred[] compare(i, u), direction=EQ
  c = ARRAY conditional(p, x, x), true_computation=yes, false_computation=no
  ROOT d = ARRAY conditional(q, c, c), true_computation=no, false_computation=one })";
  const std::string made = array == "f32[4]" ? "copy(y)" : "set-dimension-size(y, n), dimensions={0}";
  for (const auto& [word, value] : {std::pair<std::string, std::string>("ARRAY", array), {"MADE", made}}) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word))
      text.replace(at, word.size(), value);
  }
  return text;
}

// What goes through the host there is moved, and the devices add it up: nothing runs on the CPU. Live sizes are the
// reference's.
TEST(SeparateReplicasTest, NothingButMovingIsLeftToTheHost) {
  const auto client = OpenClient(DefaultDevice());
  ASSERT_TRUE(client.ok()) << client.status().message();
  const std::vector<std::vector<Literal>> values{Numbers({0, 1}), Arrays(Shape(ElementType::kF32, {4}), 2)};
  const Pointers arguments = ByDevice(values);
  CompileOptions options;
  options.require_gpu = true;
  const auto module = ParseModule(Apart("f32[4]"));
  ASSERT_NE(module, nullptr);
  auto executable = ReplicatedExecutable::Compile(**client, *module, {2, 1}, arguments, options);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ExpectSameOutcome(executable->Run(arguments), RunReplicated(*module, {2, 1}, arguments, {}));
  ExpectAsReference(Apart("f32[4]"), {2, 1}, arguments);
  ExpectAsReference(Apart("f32[<=4]"), {2, 1}, arguments);
  const auto dynamic = ParseModule(Apart("f32[<=4]"));
  ASSERT_NE(dynamic, nullptr);
  auto refused = ReplicatedExecutable::Compile(**client, *dynamic, {2, 1}, arguments, options);
  Status status = refused.status();
  if (refused.ok()) status = refused->Run(arguments).status();
  EXPECT_THAT(status.message(), HasSubstr("--require-gpu: custom-call"));
}

// A profile and a timeline have all devices' dispatches, by name.
TEST(SeparateReplicasTest, AProfileNamesTheDevices) {
  const auto client = OpenClient(DefaultDevice());
  ASSERT_TRUE(client.ok()) << client.status().message();
  const std::vector<std::vector<Literal>> values{Numbers({0, 1}), Arrays(Shape(ElementType::kF32, {4}), 2)};
  const Pointers arguments = ByDevice(values);
  CompileOptions options;
  options.profile = true;
  const auto module = ParseModule(Apart("f32[4]"));
  ASSERT_NE(module, nullptr);
  auto executable = ReplicatedExecutable::Compile(**client, *module, {2, 1}, arguments, options);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  RunStatistics statistics;
  const auto result = executable->Run(arguments, &statistics);
  ASSERT_TRUE(result.ok()) << result.status().message();
  for (const std::string name : {"replica 0: ", "replica 1: "}) {
    const auto is_its = [&](const std::string& text) { return text.starts_with(name); };
    EXPECT_TRUE(std::ranges::any_of(statistics.steps, is_its, &StepTime::name)) << name;
    EXPECT_TRUE(std::ranges::any_of(statistics.spans, is_its, &RunSpan::on_host)) << name;
  }
  for (const RunSpan& span : statistics.spans) EXPECT_LT(span.step, std::ssize(statistics.steps));
  EXPECT_TRUE(std::ranges::is_sorted(statistics.spans, {}, &RunSpan::begin_ms));
}

// A run whose data part the devices does not change what later runs, and those of one program, give to the last bit.
TEST(SeparateReplicasTest, ReductionsHaveTheBitsOfOneProgram) {
  for (const char* type : {"f32", "bf16", "s8"}) {
    const std::string text = fmt::format(
        R"(sum {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] add(a, b) }}
odd {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  m = {0}[] multiply(a, b)  ROOT r = {0}[] add(m, b) }}
cond {{ p = (s32[], {0}[8,3]) parameter(0)  i = s32[] get-tuple-element(p), index=0  z = s32[] constant(0)
  ROOT r = pred[] compare(i, z), direction=GT }}
body {{ p = (s32[], {0}[8,3]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  x = {0}[8,3] get-tuple-element(p), index=1  o = s32[] constant(1)  j = s32[] subtract(i, o)
  y = ({0}[8,3], {0}[8,3]) all-reduce(x, x), replica_groups={{}}, to_apply=sum
  a = {0}[8,3] get-tuple-element(y), index=0  b = {0}[4,3] reduce-scatter(x), replica_groups={{{{0,1}},{{3,2}}}},
  dimensions={{0}}, to_apply=odd  g = {0}[8,3] concatenate(b, b), dimensions={{0}}
  c = {0}[8,3] collective-reduce(g), replica_groups={{{{3,0,1,2}}}}, to_apply=sum  t = {0}[8,3] subtract(a, c)
  ROOT s = (s32[], {0}[8,3]) tuple(j, t) }}
ENTRY e {{ n = s32[] parameter(0)  x = {0}[8,3] parameter(1)  k = s32[] parameter(2)  s = (s32[], {0}[8,3]) tuple(n, x)
  w = (s32[], {0}[8,3]) while(s), condition=cond, body=body  y = {0}[8,3] get-tuple-element(w), index=1
  u = (s32[], {0}[8,3]) tuple(k, y)  ROOT v = (s32[], {0}[8,3]) while(u), condition=cond, body=body }})",
        type);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    const auto client = OpenClient(DefaultDevice());
    ASSERT_TRUE(client.ok()) << client.status().message();
    const auto x = Arrays(module->entry()->parameter(1)->shape(), 4);
    const std::vector<std::vector<Literal>> alike{Numbers({2, 2, 2, 2}), x, Numbers({1, 1, 1, 1})};
    const std::vector<std::vector<Literal>> apart{Numbers({2, 1, 2, 3}), x, Numbers({1, 2, 1, 0})};
    auto executable = ReplicatedExecutable::Compile(**client, *module, {4, 1}, ByDevice(alike));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const auto before = executable->Run(ByDevice(alike));
    ASSERT_TRUE(before.ok()) << before.status().message();
    const auto parted = executable->Run(ByDevice(apart));
    ASSERT_TRUE(parted.ok()) << parted.status().message();
    const auto after = executable->Run(ByDevice(alike));
    ASSERT_TRUE(after.ok()) << after.status().message();
    EXPECT_TRUE(*before == *after) << type;
    // They have met as often all the same.
    EXPECT_TRUE(*FlattenLiteral(*parted)[1] == *FlattenLiteral(*before)[1]) << type;
  }
}

// Programs by chance: collectives of all kinds in loops and branches that data decide.
class Author {
 public:
  explicit Author(uint32_t seed) : random_(seed) {}

  std::string Program() {
    const std::string main = Block("ENTRY e", "", 3, true);
    return kSum + functions_ + main;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  static constexpr const char* kState = "(f32[4], s32[], s32[], s32[])";

  // A computation of the state (x, and three numbers of the device's).
  std::string Block(const std::string& name, const std::string& rest, int depth, bool entry) {
    std::string text = name + " { ";
    if (entry) {
      text += "x0 = f32[4] parameter(0)  k0 = s32[] parameter(1)  k1 = s32[] parameter(2)  k2 = s32[] parameter(3)\n";
    } else {
      text += fmt::format("p = {} parameter(0)  x0 = f32[4] get-tuple-element(p), index=0\n", kState);
      for (int k = 0; k < 3; ++k) text += fmt::format("  k{} = s32[] get-tuple-element(p), index={}\n", k, k + 1);
    }
    int x = 0;
    for (int statements = 1 + Below(3); statements > 0; --statements) {
      text += Statement(x, depth);
      ++x;
    }
    text += fmt::format("  {}ROOT r = {} tuple(x{}, {}k1, k2) }}\n", rest, kState, x, rest.empty() ? "k0, " : "less, ");
    return text;
  }

  std::string Statement(int x, int depth) {
    const std::string from = fmt::format("x{}", x), to = fmt::format("x{}", x + 1);
    const int choice = Below(depth > 0 ? 12 : 8);
    const std::string groups = Below(2) == 0 ? "replica_groups={}" : "replica_groups={{0,1},{2,3}}";
    const int members = groups == "replica_groups={}" ? 4 : 2;
    switch (choice) {
      case 0:
        return fmt::format("  {} = f32[4] sine({})\n", to, from);
      case 1:
      case 2:
        return fmt::format("  {0}a = f32[4] all-reduce({1}), {2}, to_apply=sum  {0} = f32[4] tanh({0}a)\n", to, from,
                           groups);
      case 3:
        return fmt::format("  {} = f32[4] collective-permute({}), source_target_pairs={{{{0,1}},{{1,0}},{{2,3}}}}\n",
                           to, from);
      case 4:
        return fmt::format(
            "  {0}s = (f32[4], f32[{2}]) all-gather-start({1}), {3}, dimensions={{0}}  {0}g = f32[{2}] "
            "all-gather-done({0}s)  {0} = f32[4] slice({0}g), slice={{[2:6]}}\n",
            to, from, 4 * members, groups);
      case 5:
        return fmt::format("  {} = f32[4] all-to-all({}), {}, dimensions={{0}}\n", to, from, groups);
      case 6:
        return fmt::format(
            "  {0}s = f32[{2}] reduce-scatter({1}), {3}, dimensions={{0}}, to_apply=sum  {0}z = f32[] constant(0.5)  "
            "{0} = "
            "f32[4] pad({0}s, {0}z), padding=0_{4}\n",
            to, from, 4 / members, groups, 4 - 4 / members);
      case 7:
        return fmt::format(
            "  {0}i = u32[] replica-id()  {0}f = f32[] convert({0}i)  {0}b = f32[4] broadcast({0}f), dimensions={{}}  "
            "{0} "
            "= f32[4] add({1}, {0}b)\n",
            to, from);
      case 8:
      case 9: {
        const int number = ++count_;
        const std::string body = Block(fmt::format("body{}", number),
                                       "one = s32[] constant(1)  less = s32[] subtract(k0, one)  ", depth - 1, false);
        functions_ += body;
        functions_ += fmt::format(
            "cond{} {{ p = {} parameter(0)  k = s32[] get-tuple-element(p), index=1  z = s32[] constant(0)  ROOT c = "
            "pred[] compare(k, z), direction=GT }}\n",
            number, kState);
        return fmt::format(
            "  {0}p = {2} tuple({1}, k{3}, k1, k2)  {0}w = {2} while({0}p), condition=cond{4}, body=body{4}  {0} = "
            "f32[4] "
            "get-tuple-element({0}w), index=0\n",
            to, from, kState, Below(3), number);
      }
      default: {
        const int number = ++count_;
        const std::string yes = Block(fmt::format("yes{}", number), "", depth - 1, false);
        const std::string no = Block(fmt::format("no{}", number), "", depth - 1, false);
        functions_ += yes + no;
        return fmt::format(
            "  {0}c = s32[] constant(1)  {0}q = pred[] compare(k{3}, {0}c), direction=GT  {0}p = {2} tuple({1}, k0, "
            "k1, "
            "k2)  {0}w = {2} conditional({0}q, {0}p, {0}p), true_computation=yes{4}, false_computation=no{4}  {0} = "
            "f32[4] get-tuple-element({0}w), index=0\n",
            to, from, kState, Below(3), number);
      }
    }
  }

  std::mt19937 random_;
  std::string functions_;
  int count_ = 0;
};

TEST(SeparateReplicasTest, ProgramsByChance) {
  const char* const more = std::getenv("VXLA_TEST_PROGRAMS");
  const uint32_t count = more == nullptr ? 8 : static_cast<uint32_t>(std::atoi(more));
  for (uint32_t seed = 1; seed <= count && !HasFatalFailure(); ++seed) {
    const std::string text = Author(seed).Program();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    std::mt19937 random(seed);
    std::vector<std::vector<Literal>> arguments{Arrays(Shape(ElementType::kF32, {4}), 4)};
    for (int k = 0; k < 3; ++k) {
      const int first = static_cast<int>(random() % 4), second = static_cast<int>(random() % 4);
      // The same for all, for pairs, or swapped between two numbers.
      arguments.push_back(seed % 3 == 0   ? Numbers({first, first, first, first})
                          : seed % 3 == 1 ? Numbers({first, first, second, second})
                                          : Numbers({first, second, second, first}));
    }
    ExpectAsReference(text, {4, 1}, ByDevice(arguments));
  }
}

}  // namespace separate_replicas_test
}  // namespace VXLA_NAMESPACE::testing
