// Programs over several places that cannot go on: each ends with a report that says which replica waits at what for
// whom, and the process goes on to run others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/placed_replicas.h"
#include "backend/cpu/reference/evaluator.h"
#include "scheduler/replicas/feed_queues.h"
#include "tests/support/device_test_support.h"
#include "tests/support/faulty_loader.h"
#include "tests/support/replica_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace replica_faults_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const char kSum[] = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

Literal F32(const std::vector<int64_t>& dimensions, const std::vector<float>& values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, dimensions), values);
}

EvaluateOptions WithinAMinute() {
  EvaluateOptions options;
  options.collective_timeout = std::chrono::seconds(60);
  return options;
}

// ---- a device is lost

TEST(ReplicaFaultsTest, OneDeviceOfTwoIsLostAndOthersRunAgain) {
  if (std::getenv("VXLA_TEST_DEVICE") != nullptr) GTEST_SKIP() << "it opens both drivers itself: once is enough";
  const FaultyLoader loader;
  ASSERT_TRUE(loader.open()) << FaultyLoader::Path();
  const auto module = ParseModule(std::string(kSum) + R"(body { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  x = f32[4] get-tuple-element(s), index=1  o = s32[] constant(1)
  j = s32[] add(i, o)  r = f32[4] all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum  h = f32[4] tanh(r)
  ROOT t = (s32[], f32[4]) tuple(j, h) }
cond { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(50)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[4] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[4]) tuple(z, x)
  w = (s32[], f32[4]) while(s), condition=cond, body=body  ROOT y = f32[4] get-tuple-element(w), index=1 })");
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments;
  for (uint64_t d = 0; d < 4; ++d) arguments.push_back(RandomLiteral(Shape(ElementType::kF32, {4}), d));
  Pointers pointers;
  for (const Literal& argument : arguments) pointers.push_back({&argument});
  DeviceOptions options;
  options.loader_path = FaultyLoader::Path();
  const std::vector<std::string> two = TwoDrivers();
  if (two.size() < 2) GTEST_SKIP() << "only one device is there, two are wanted";
  std::optional<Literal> expected;
  // The second of them, twice, may have semaphores that both see.
  for (const auto& [places, way] : {std::pair(two, SharingWay::kStaging),
                                    {two, SharingWay::kHostPointer},
                                    {{two[1], two[1]}, SharingWay::kExternalMemory}}) {
    const auto compile = [&, &places = places](SharingWay by) {
      return PlacedExecutable::Compile(*module, {4, 1}, pointers, places, options, WithinAMinute(), {}, {by});
    };
    for (const int64_t lost : {0, 1}) {
      for (const int64_t submissions : {0, 3, 40}) {
        SCOPED_TRACE(fmt::format("{}, place {} after {} submissions", SharingText(way), lost, submissions));
        loader.FailAt(-1);
        auto placed = compile(way);
        ASSERT_TRUE(placed.ok()) << placed.status().message();
        const auto before = placed->Run(pointers);
        ASSERT_TRUE(before.ok()) << before.status().message();
        if (!expected) expected = *before;
        EXPECT_TRUE(*before == *expected);  // and what was lost before harms nothing
        ASSERT_TRUE(loader.LoseDevice(lost, submissions));
        const auto result = placed->Run(pointers);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.status().code(), StatusCode::kDeviceFailure);
        const std::vector<std::string> replicas = {"replica 0, replica 1", "replica 2, replica 3"};
        const auto other = static_cast<size_t>(1 - lost), gone = static_cast<size_t>(lost);
        EXPECT_THAT(
            result.status().message(),
            AllOf(HasSubstr("was lost"), HasSubstr(fmt::format("; that was place {} (", lost)),
                  HasSubstr("all-reduce r (channel_id 7): place "), HasSubstr(": " + replicas[other] + ") waits"),
                  HasSubstr(": " + replicas[gone] + "), which has ended")));
        // The device stays lost, and says so at once.
        EXPECT_THAT(placed->Run(pointers).status().message(), HasSubstr("was lost; open it again"));
      }
    }
  }
}

// The same while devices run apart, each in a loop of its own.
TEST(ReplicaFaultsTest, ADeviceThatIsLostWhileDevicesRunApartIsNamed) {
  if (std::getenv("VXLA_TEST_DEVICE") != nullptr) GTEST_SKIP() << "it opens both drivers itself: once is enough";
  const FaultyLoader loader;
  ASSERT_TRUE(loader.open()) << FaultyLoader::Path();
  const auto module = ParseModule(std::string(kSum) + R"(body { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  x = f32[4] get-tuple-element(s), index=1  o = s32[] constant(1)
  j = s32[] subtract(i, o)  r = f32[4] all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum  h = f32[4] tanh(r)
  ROOT t = (s32[], f32[4]) tuple(j, h) }
cond { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(0)
  ROOT p = pred[] compare(i, n), direction=GT }
ENTRY e { n = s32[] parameter(0)  k = s32[] parameter(1)  x = f32[4] parameter(2)  s = (s32[], f32[4]) tuple(n, x)
  w = (s32[], f32[4]) while(s), condition=cond, body=body  y = f32[4] get-tuple-element(w), index=1
  u = (s32[], f32[4]) tuple(k, y)  v = (s32[], f32[4]) while(u), condition=cond, body=body
  ROOT z = f32[4] get-tuple-element(v), index=1 })");
  ASSERT_NE(module, nullptr);
  const Literal ten = Literal::ScalarInt(ElementType::kS32, 10), forty = Literal::ScalarInt(ElementType::kS32, 40);
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {4}), 1);
  const Pointers pointers{{&ten, &forty, &x}, {&forty, &ten, &x}};
  DeviceOptions options;
  options.loader_path = FaultyLoader::Path();
  const std::vector<std::string> two = TwoDrivers();
  if (two.size() < 2) GTEST_SKIP() << "only one device is there, two are wanted";
  for (const int64_t lost : {0, 1}) {
    loader.FailAt(-1);
    auto placed = PlacedExecutable::Compile(*module, {2, 1}, pointers, two, options, WithinAMinute());
    ASSERT_TRUE(placed.ok()) << placed.status().message();
    const auto before = placed->Run(pointers);
    ASSERT_TRUE(before.ok()) << before.status().message();
    ASSERT_TRUE(loader.LoseDevice(2 + lost, 20));  // opened after those of one program, which the first run gave up
    const auto result = placed->Run(pointers);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::kDeviceFailure);
    EXPECT_THAT(result.status().message(),
                AllOf(HasSubstr("was lost"), HasSubstr(fmt::format("; that was replica {}", lost)),
                      HasSubstr("all-reduce r (channel_id 7)")));
    EXPECT_THAT(placed->Run(pointers).status().message(), HasSubstr("was lost; open it again"));
  }
}

// ---- what the programs themselves do wrong, over places of the reference and of a device

// What compiling or running it over places says.
std::string FailureOver(const std::string& text, const DeviceGrid& grid, const std::vector<std::string>& places) {
  const auto module = ParseModule(text);
  if (module == nullptr) return "";
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->entry()->parameters()) arguments.push_back(Literal(parameter->shape()));
  Pointers pointers(static_cast<size_t>(grid.count()));
  for (auto& of_device : pointers) {
    for (const Literal& argument : arguments) of_device.push_back(&argument);
  }
  auto placed = PlacedExecutable::Compile(*module, grid, pointers, places, DefaultDevice(), WithinAMinute());
  if (!placed.ok()) return placed.status().message();
  const auto result = placed->Run(pointers);
  return result.ok() ? "no failure" : result.status().message();
}

struct Wrong {
  const char* name;
  std::string text;
  std::string message;
};

std::string Pairs(const char* pairs) {
  return fmt::format("frontend_attributes={{_xla_send_recv_source_target_pairs={}}}", pairs);
}

std::vector<Wrong> Programs() {
  const std::string branches = std::string(kSum) + R"(yes { p = f32[] parameter(0)
  ROOT ar = f32[] all-reduce(p), channel_id=3, replica_groups={}, to_apply=sum }
no { p = f32[] parameter(0)  ROOT n = f32[] negate(p) }
ENTRY e { x = f32[] parameter(0)  i = u32[] replica-id()  k = s32[] convert(i)
  ROOT c = f32[] conditional(k, x, x), branch_computations={yes, no} })";
  return {
      {"AReplicaThatTakesAnotherBranch", branches,
       "deadlock: all-reduce ar (channel_id 3): replica 0 waits for replica 1; replica 1 has ended"},
      {"ARecvWithoutSend",
       fmt::format("ENTRY e {{ k = token[] after-all()\nv = (f32[2], u32[], token[]) recv(k), channel_id=4, {}\n"
                   "ROOT d = (f32[2], token[]) recv-done(v), channel_id=4 }}",
                   Pairs("{{0,1}}")),
       "deadlock: recv-done d (channel_id 4): replica 1 waits for replica 0; replica 0 has ended"},
      {"ASendWithoutRecv",
       fmt::format("ENTRY e {{ x = f32[2] parameter(0)  k = token[] after-all()\n"
                   "s = (f32[2], u32[], token[]) send(x, k), channel_id=4, {}\n"
                   "ROOT d = token[] send-done(s), channel_id=4 }}",
                   Pairs("{{0,1}}")),
       "deadlock: send s (channel_id 4): replica 0 has sent data that replica 1 never took"},
      {"ACycleOfSendsAndRecvs",
       fmt::format(R"(ENTRY e {{ x = f32[2] parameter(0)  k = token[] after-all()
  v = (f32[2], u32[], token[]) recv(k), channel_id=5, {0}  vd = (f32[2], token[]) recv-done(v), channel_id=5
  y = f32[2] get-tuple-element(vd), index=0  t = token[] get-tuple-element(vd), index=1
  s = (f32[2], u32[], token[]) send(y, t), channel_id=5, {0}
  ROOT d = token[] send-done(s), channel_id=5 }})",
                   Pairs("{{0,1},{1,0}}")),
       "deadlock: recv-done vd (channel_id 5): replica 0 waits for replica 1; "
       "replica 1 waits at recv-done vd (channel_id 5) for replica 0"},
      {"ReplicasThatMeetInOtherOrders", std::string(kSum) + R"(ab { p = f32[] parameter(0)
  a = f32[] all-reduce(p), channel_id=1, replica_groups={}, to_apply=sum
  ROOT b = f32[] all-reduce(a), channel_id=2, replica_groups={}, to_apply=sum }
ba { p = f32[] parameter(0)  c = f32[] all-reduce(p), channel_id=2, replica_groups={}, to_apply=sum
  ROOT d = f32[] all-reduce(c), channel_id=1, replica_groups={}, to_apply=sum }
ENTRY e { x = f32[] parameter(0)  i = u32[] replica-id()  k = s32[] convert(i)
  ROOT c = f32[] conditional(k, x, x), branch_computations={ab, ba} })",
       "deadlock: all-reduce a (channel_id 1): replica 0 waits for replica 1; replica 1 waits at all-reduce c "
       "(channel_id 2) for replica 0"},
      {"AGroupWithoutAReplica", std::string(kSum) + R"(ENTRY e { x = f32[] parameter(0)
  ROOT r = f32[] all-reduce(x), replica_groups={{0}}, to_apply=sum })",
       "all-reduce r: "},
      {"AGroupWithTooManyReplicas", std::string(kSum) + R"(ENTRY e { x = f32[] parameter(0)
  ROOT r = f32[] all-reduce(x), replica_groups={{0,1,2}}, to_apply=sum })",
       "all-reduce r: "},
  };
}

TEST(ReplicaFaultsTest, WrongProgramsSayOverPlacesWhoWaitsForWhom) {
  for (const Wrong& wrong : Programs()) {
    for (const std::vector<std::string>& places : {std::vector<std::string>{"cpu", "cpu"}, {"cpu", "0"}, {"0", "0"}}) {
      EXPECT_THAT(FailureOver(wrong.text, {2, 1}, places), HasSubstr(wrong.message))
          << wrong.name << " over " << fmt::format("{}", fmt::join(places, ","));
    }
  }
}

// ---- each replica's feeds, wherever it stands

TEST(ReplicaFeedsTest, EachReplicaHasItsOwnQueuesOverPlaces) {
  const auto module = ParseModule(std::string(kSum) + R"(ENTRY e { t = token[] after-all()
  a = (f32[2], token[]) infeed(t)  x = f32[2] get-tuple-element(a), index=0  u = token[] get-tuple-element(a), index=1
  s = f32[2] all-reduce(x), replica_groups={}, to_apply=sum  q = (f32[2], f32[2]) tuple(x, s)
  o = token[] outfeed(q, u)  b = (f32[2], token[]) infeed(o)  y = f32[2] get-tuple-element(b), index=0
  ROOT r = f32[2] add(s, y) })");
  ASSERT_NE(module, nullptr);
  for (const std::vector<std::string>& places :
       {std::vector<std::string>{"cpu", "cpu"}, {"cpu", "0"}, {"0", "0"}, {"0", "cpu", "0"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(places, ",")));
    FeedQueues feeds(3);
    EvaluateOptions options = WithinAMinute();
    options.host = feeds.transfers();
    const Pointers none(3);
    auto placed = PlacedExecutable::Compile(*module, {3, 1}, none, places, DefaultDevice(), options);
    ASSERT_TRUE(placed.ok()) << placed.status().message();
    for (int run = 0; run < 2; ++run) {
      for (int64_t d = 0; d < 3; ++d) {
        const auto base = static_cast<float>(d + 1);
        feeds.PushInfeed(d, F32({2}, {base, 10 * base}));
        feeds.PushInfeed(d, F32({2}, {100 * base, 0}));
      }
      const auto result = placed->Run(none);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_TRUE(*result == F32({3, 2}, {106, 60, 206, 60, 306, 60}));
      for (int64_t d = 0; d < 3; ++d) {
        const auto item = feeds.PopOutfeed(d);
        ASSERT_TRUE(item.ok()) << item.status().message();
        const auto base = static_cast<float>(d + 1);
        EXPECT_TRUE(item->tuple_elements()[0] == F32({2}, {base, 10 * base}));
        EXPECT_TRUE(item->tuple_elements()[1] == F32({2}, {6, 60}));
        EXPECT_EQ(feeds.InfeedLeft(d) + feeds.OutfeedSize(d), 0);
      }
    }
    // An empty queue ends the run, and the next one begins afresh.
    feeds.PushInfeed(0, Literal(Shape(ElementType::kF32, {2})));
    feeds.PushInfeed(1, Literal(Shape(ElementType::kF32, {2})));
    EXPECT_THAT(placed->Run(none).status().message(),
                AllOf(HasSubstr("the infeed queue of device 2 is empty after 4 items; f32[2] wanted; that was place "),
                      HasSubstr(": replica 2); deadlock: all-reduce s: place 0 (")));
  }
}

}  // namespace replica_faults_test
}  // namespace VXLA_NAMESPACE::testing
