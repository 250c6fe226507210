// Devices that wait for each other in vain get a report instead of hanging; data sent between devices.
#include <fmt/format.h>

#include "tests/cpu/replica_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using enum ElementType;
using std::chrono::milliseconds;

const char kComputations[] = R"(
f { x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT s = s32[] add(x, y) }
meet { p = s32[] parameter(0)
  ROOT ar = s32[] all-reduce(p), channel_id=7, replica_groups={{0,1,2}}, use_global_device_ids=true, to_apply=f }
meet_too { p = s32[] parameter(0)
  ROOT br = s32[] all-reduce(p), channel_id=8, replica_groups={{0,1,2}}, use_global_device_ids=true, to_apply=f }
pass { p = s32[] parameter(0)
  ROOT n = s32[] negate(p) }
forever { p = s32[] parameter(0)
  ROOT r = pred[] constant(true) }
count { p = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(p, one) }
endless { p = s32[] parameter(0)
  ROOT w = s32[] while(p), condition=forever, body=count }
)";

// Replica `which` takes the second branch.
std::string Branching(int64_t which, const std::string& first, const std::string& second) {
  return Entry(fmt::format("p = s32[] parameter(0)\ni = u32[] replica-id()\nk = u32[] constant({})\n"
                           "c = pred[] compare(i, k), direction=NE\n"
                           "ROOT r = s32[] conditional(c, p, p), true_computation={}, false_computation={}",
                           which, first, second),
               kComputations);
}

const std::vector<std::vector<Literal>> kOne{{Ints(kS32, {}, {1})}};

TEST(DeadlockTest, AReplicaThatTakesAnotherBranchIsNamedAtOnce) {
  EvaluateOptions options;
  options.collective_timeout = std::chrono::hours(1);
  const auto r = TryRunReplicas(Branching(1, "meet", "pass"), {3, 1}, kOne, options);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().code(), StatusCode::kDeviceFailure);
  EXPECT_EQ(r.status().location().line, 8);
  EXPECT_EQ(r.status().message(),
            "deadlock: all-reduce ar (channel_id 7): replica 0 waits for replica 1; replica 1 has ended; "
            "replica 2 waits at all-reduce ar (channel_id 7) for replica 1");
  EXPECT_EQ(RefusalOfMerging(Branching(1, "meet", "pass"), {3, 1}).message(), r.status().message());
}

TEST(DeadlockTest, ReplicasAtDifferentCollectivesWaitForEachOther) {
  EXPECT_EQ(FailureOf(Branching(2, "meet", "meet_too"), {3, 1}, kOne),
            "deadlock: all-reduce ar (channel_id 7): replica 0 waits for replica 2; "
            "replica 1 waits at all-reduce ar (channel_id 7) for replica 2; "
            "replica 2 waits at all-reduce br (channel_id 8) for replica 0, replica 1");
  EXPECT_EQ(RefusalOfMerging(Branching(2, "meet", "meet_too"), {3, 1}).message(),
            FailureOf(Branching(2, "meet", "meet_too"), {3, 1}, kOne));
}

TEST(DeadlockTest, AnEndlessLoopRunsIntoTheTimeLimit) {
  EvaluateOptions options;
  options.collective_timeout = milliseconds(200);
  EXPECT_THAT(FailureOf(Branching(1, "meet", "endless"), {3, 1}, kOne, options),
              AllOf(StartsWith("deadlock: all-reduce ar (channel_id 7): replica "),
                    HasSubstr(" has waited 0.2 s for replica 1"), HasSubstr("replica 1 computes ")));
}

TEST(DeadlockTest, ALoopThatRunsMoreOftenOnOneReplica) {
  const std::string text = Entry(
      "n = s32[] parameter(0)\nROOT w = s32[] while(n), condition=more, body=step",
      std::string(kComputations) +
          "more { p = s32[] parameter(0)\n z = s32[] constant(0)\n ROOT r = pred[] compare(p, z), direction=GT }\n"
          "step { p = s32[] parameter(0)\n one = s32[] constant(1)\n a = s32[] all-reduce(one), replica_groups={}, "
          "to_apply=f\n"
          " q = s32[] subtract(p, one)\n ROOT r = s32[] add(q, q) }\n");
  EXPECT_THAT(FailureOf(text, {2, 1}, {{Ints(kS32, {}, {1})}, {Ints(kS32, {}, {2})}}),
              HasSubstr("deadlock: all-reduce a: replica 1 waits for replica 0; replica 0 has ended"));
}

TEST(DeadlockTest, AFailingDeviceStopsTheOthers) {
  const std::string text = Entry(
      "p = s32[] parameter(0)\ni = u32[] replica-id()\nk = u32[] constant(1)\n"
      "c = pred[] compare(i, k), direction=NE\n"
      "ROOT r = s32[] conditional(c, p, p), true_computation=meet, false_computation=bad",
      std::string(kComputations) +
          "bad { p = s32[] parameter(0)\n t = token[] after-all()\n i = (s32[], token[]) infeed(t)\n"
          " ROOT x = s32[] get-tuple-element(i), index=0 }\n");
  EXPECT_EQ(FailureOf(text, {3, 1}, kOne), "infeed i: the run has no infeed (EvaluateOptions::host, --infeed)");
}

TEST(DeadlockTest, ManyDevicesAreListedInPart) {
  const std::string text = Entry(
      "p = s32[] parameter(0)\ni = u32[] replica-id()\nk = u32[] constant(0)\n"
      "c = pred[] compare(i, k), direction=NE\n"
      "ROOT r = s32[] conditional(c, p, p), true_computation=all, false_computation=pass",
      std::string(kComputations) +
          "all { p = s32[] parameter(0)\n ROOT a = s32[] all-reduce(p), replica_groups={}, to_apply=f }\n");
  EXPECT_THAT(FailureOf(text, {40, 1}, kOne),
              AllOf(StartsWith("deadlock: all-reduce a: replica 1 waits for replica 0; replica 0 has ended; "),
                    HasSubstr("; and 23 more devices")));
}

// ---- one channel in several branches

// Replica 0 takes branch 0, the others branch 1.
std::string TwoBranches(const std::string& zero, const std::string& others, const std::string& more = {}) {
  return Entry(
      "p = s32[] parameter(0)\ni = u32[] replica-id()\nk = s32[] convert(i)\n"
      "ROOT r = s32[] conditional(k, p, p), branch_computations={zero, others}",
      std::string(kComputations) + more + "zero { p = s32[] parameter(0)\n" + zero +
          " }\nothers { p = s32[] parameter(0)\n" + others + " }\n");
}

const std::vector<std::vector<Literal>> kThree{{Ints(kS32, {}, {1})}, {Ints(kS32, {}, {20})}, {Ints(kS32, {}, {300})}};

std::vector<int64_t> ScalarsOf(const std::vector<Literal>& literals) {
  std::vector<int64_t> values;
  for (const Literal& literal : literals) values.push_back(literal.GetInt(0));
  return values;
}

TEST(ChannelTest, AllReducesOfOneChannelInTwoBranchesMeet) {
  for (const char* channel : {"channel_id=7, use_global_device_ids=true, ", "channel_id=7, ", ""}) {
    const std::string attributes = std::string(channel) + "replica_groups={{0,1,2}}, to_apply=";
    const auto r = RunReplicas(TwoBranches(" a = s32[] all-reduce(p), " + attributes + "f\n ROOT r = s32[] negate(a)",
                                           " ROOT b = s32[] all-reduce(p), " + attributes + "f"),
                               {3, 1}, kThree);
    EXPECT_THAT(ScalarsOf(r), ElementsAre(-321, 321, 321)) << channel;
  }
}

TEST(ChannelTest, AStartedAllReduceMeetsOneAtOnceAndReducersMayHaveOtherNames) {
  const auto r =
      RunReplicas(TwoBranches(" s = s32[] all-reduce-start(p), channel_id=7, replica_groups={}, to_apply=f\n ROOT r = "
                              "s32[] all-reduce-done(s)",
                              " ROOT b = s32[] all-reduce(p), channel_id=7, replica_groups={}, to_apply=g",
                              "g { y = s32[] parameter(0)\n z = s32[] parameter(1)\n ROOT w = s32[] add(y, z) }\n"),
                  {3, 1}, kThree);
  EXPECT_THAT(ScalarsOf(r), ElementsAre(321, 321, 321));
}

TEST(ChannelTest, EachMeetingOfAChannelIsTheNextOne) {
  const std::string twice =
      " a = s32[] all-reduce(p), channel_id=7, replica_groups={}, to_apply=f\n"
      " ROOT b = s32[] all-reduce(a), channel_id=7, replica_groups={}, to_apply=f";
  EXPECT_THAT(ScalarsOf(RunReplicas(TwoBranches(twice, twice), {3, 1}, kThree)), ElementsAre(963, 963, 963));
  EXPECT_THAT(
      FailureOf(TwoBranches(twice, " ROOT b = s32[] all-reduce(p), channel_id=7, replica_groups={}, to_apply=f"),
                {3, 1}, kThree),
      HasSubstr("deadlock: all-reduce b (channel_id 7): replica 0 waits for replica 1, replica 2"));
}

TEST(ChannelTest, AllGatherReduceScatterAllToAllAndBroadcastMeet) {
  auto meet = [](const std::string& op, const std::string& attributes) {
    auto branch = [&](const std::string& name) {
      return " v = s32[3] broadcast(p), dimensions={}\n " + name + " = " + op + "(v), replica_groups={{0,1,2}}, " +
             attributes + "\n z = s32[] constant(0)\n ROOT r = s32[] reduce(" + name +
             ", z), dimensions={0}, to_apply=f";
    };
    return ScalarsOf(RunReplicas(TwoBranches(branch("a"), branch("b")), {3, 1}, kThree));
  };
  EXPECT_THAT(meet("s32[9] all-gather", "dimensions={0}, channel_id=2, use_global_device_ids=true"),
              ElementsAre(963, 963, 963));
  EXPECT_THAT(meet("s32[1] reduce-scatter", "dimensions={0}, channel_id=2, use_global_device_ids=true, to_apply=f"),
              ElementsAre(321, 321, 321));
  EXPECT_THAT(meet("s32[3] all-to-all", "dimensions={0}"), ElementsAre(321, 321, 321));
  EXPECT_THAT(meet("s32[3] collective-broadcast", "metadata={}"), ElementsAre(3, 3, 3));
}

TEST(ChannelTest, PermutesAndSendsOfTwoBranchesMeet) {
  const std::string permute = " = s32[] collective-permute(p), source_target_pairs={{0,1},{1,2},{2,0}}";
  EXPECT_THAT(ScalarsOf(RunReplicas(TwoBranches(" ROOT a" + permute, " ROOT b" + permute), {3, 1}, kThree)),
              ElementsAre(300, 1, 20));
  auto exchange = [](const std::string& s, const std::string& r) {
    return fmt::format(
        " t = token[] after-all()\n {1} = (s32[], u32[], token[]) recv(t), channel_id=4, {2}\n"
        " {0} = (s32[], u32[], token[]) send(p, t), channel_id=4, {2}\n {0}d = token[] send-done({0}), channel_id=4\n"
        " {1}d = (s32[], token[]) recv-done({1}), channel_id=4\n ROOT x = s32[] get-tuple-element({1}d), index=0",
        s, r, "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}");
  };
  EXPECT_THAT(ScalarsOf(RunReplicas(TwoBranches(exchange("s", "r"), exchange("v", "w")), {3, 1}, kThree)),
              ElementsAre(300, 1, 20));
}

TEST(ChannelTest, RejectsMeetingsOfDifferentCollectives) {
  const std::string sum = " ROOT a = s32[] all-reduce(p), channel_id=7, replica_groups={}, to_apply=f";
  EXPECT_THAT(
      FailureOf(TwoBranches(sum, " ROOT b = s32[] all-reduce(p), channel_id=7, replica_groups={}, to_apply=h",
                            "h { y = s32[] parameter(0)\n z = s32[] parameter(1)\n ROOT w = s32[] multiply(y, z) }\n"),
                {2, 1}, kOne),
      HasSubstr(
          "all-reduce a (channel_id 7) of replica 0 meets all-reduce b (channel_id 7) of replica 1, whose to_apply "
          "differ"));
  EXPECT_THAT(
      FailureOf(TwoBranches(sum,
                            " v = s32[1] reshape(p)\n b = s32[1] all-reduce(v), channel_id=7, replica_groups={}, "
                            "to_apply=f\n ROOT r = s32[] reshape(b)"),
                {2, 1}, kOne),
      HasSubstr(" (channel_id 7) of replica 1, whose operands differ"));
  auto gather = [](int dimension) {
    return fmt::format(
        " v = s32[2,2] broadcast(p), dimensions={{}}\n g = s32[{},{}] all-gather(v), replica_groups={{}}, "
        "dimensions={{{}}}\n ROOT r = s32[] copy(p)",
        dimension == 0 ? 4 : 2, dimension == 0 ? 2 : 4, dimension);
  };
  EXPECT_THAT(FailureOf(TwoBranches(gather(0), gather(1)), {2, 1}, kOne),
              HasSubstr(" of replica 1, whose dimensions differ"));
  EXPECT_THAT(
      FailureOf(TwoBranches(" ROOT a = s32[] collective-permute(p), source_target_pairs={{0,1}}",
                            " v = s32[1] reshape(p)\n b = s32[1] collective-permute(v), source_target_pairs={{0,1}}\n"
                            " ROOT r = s32[] reshape(b)"),
                {2, 1}, kOne),
      HasSubstr("collective-permute b: replica 0 sends (s32[]), (s32[1]) needed"));
}

// A replica that goes through a loop that the other never enters.
TEST(DeadlockTest, ALoopThatOnlyOneReplicaEntersEndsWithAReport) {
  const std::string loop =
      "few { p = (s32[], s32[]) parameter(0)\n n = s32[] get-tuple-element(p), index=0\n z = s32[] constant(2)\n"
      " ROOT r = pred[] compare(n, z), direction=LT }\n"
      "step { p = (s32[], s32[]) parameter(0)\n n = s32[] get-tuple-element(p), index=0\n one = s32[] constant(1)\n"
      " m = s32[] add(n, one)\n x = s32[] get-tuple-element(p), index=1\n"
      " a = s32[] all-reduce(x), channel_id=9, replica_groups={}, to_apply=f\n ROOT r = (s32[], s32[]) tuple(m, a) }\n";
  const std::string text = TwoBranches(
      " t = (s32[], s32[]) tuple(p, p)\n w = (s32[], s32[]) while(t), condition=few, body=step\n"
      " ROOT r = s32[] get-tuple-element(w), index=1",
      " ROOT n = s32[] negate(p)", loop);
  EXPECT_EQ(FailureOf(text, {2, 1}, kOne),
            "deadlock: all-reduce a (channel_id 9): replica 0 waits for replica 1; replica 1 has ended");
  const auto module = ParseHlo(text);
  ASSERT_TRUE(module.ok());
  const auto merged = MergeDevices(**module, {2, 1}, {true});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  for (const int64_t start : {1, 5, 2}) {
    const Literal argument = Ints(kS32, {}, {start});
    const auto result = Evaluate(*merged->module, std::vector<const Literal*>{&argument}, {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    const auto leaves = LeavesByDevice(*merged, *result);
    EXPECT_EQ(leaves.ok(), start >= 2);  // it never enters it
    if (leaves.ok()) continue;
    EXPECT_EQ(leaves.status().code(), StatusCode::kDeviceFailure);
    EXPECT_EQ(leaves.status().message(),
              "deadlock: all-reduce a (channel_id 9): replica 0 waits for replica 1; replica 1 has taken another "
              "branch or left a loop");
  }
}

// ---- send and recv

const char kPairs[] = "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}";

TEST(SendTest, PairsSayWhoSendsToWhom) {
  const std::string text =
      Entry(fmt::format("p = s32[2] parameter(0)\nt = token[] after-all()\n"
                        "r = (s32[2], u32[], token[]) recv(t), channel_id=4, {0}\n"
                        "s = (s32[2], u32[], token[]) send(p, t), channel_id=4, {0}\n"
                        "sd = token[] send-done(s), channel_id=4\nrd = (s32[2], token[]) recv-done(r), channel_id=4\n"
                        "ROOT x = s32[2] get-tuple-element(rd), index=0",
                        kPairs));
  const auto r =
      RunReplicas(text, {3, 1}, {{Ints(kS32, {2}, {1, 2})}, {Ints(kS32, {2}, {3, 4})}, {Ints(kS32, {2}, {5, 6})}});
  EXPECT_THAT(Integers(r[0]), ElementsAre(0, 0));
  EXPECT_THAT(Integers(r[1]), ElementsAre(1, 2));
  EXPECT_THAT(Integers(r[2]), ElementsAre(3, 4));
}

TEST(SendTest, WithoutPairsADeviceReceivesItsOwnData) {
  const std::string text = Entry(
      "p = s32[] parameter(0)\nt = token[] after-all()\ns = (s32[], u32[], token[]) send(p, t), channel_id=4\n"
      "sd = token[] send-done(s), channel_id=4\nr = (s32[], u32[], token[]) recv(sd), channel_id=4\n"
      "rd = (s32[], token[]) recv-done(r), channel_id=4\nROOT x = s32[] get-tuple-element(rd), index=0");
  const auto r = RunReplicas(text, {2, 1}, {{Ints(kS32, {}, {5})}, {Ints(kS32, {}, {6})}});
  EXPECT_EQ(r[0].GetInt(0), 5);
  EXPECT_EQ(r[1].GetInt(0), 6);
}

const char kChannelComputations[] = R"(
give { p = s32[] parameter(0)
  t = token[] after-all()
  s = (s32[], u32[], token[]) send(p, t), channel_id=4
  sd = token[] send-done(s), channel_id=4
  two = s32[] constant(2)
  q = s32[] multiply(p, two)
  s2 = (s32[], u32[], token[]) send(q, sd), channel_id=4
  sd2 = token[] send-done(s2), channel_id=4
  ROOT r = s32[] add-dependency(p, sd2) }
take { p = s32[] parameter(0)
  t = token[] after-all()
  r1 = (s32[], u32[], token[]) recv(t), channel_id=4
  d1 = (s32[], token[]) recv-done(r1), channel_id=4
  t1 = token[] get-tuple-element(d1), index=1
  r2 = (s32[], u32[], token[]) recv(t1), channel_id=4
  d2 = (s32[], token[]) recv-done(r2), channel_id=4
  x = s32[] get-tuple-element(d1), index=0
  y = s32[] get-tuple-element(d2), index=0
  ROOT z = s32[] subtract(y, x) }
nothing { p = s32[] parameter(0)
  ROOT r = s32[] copy(p) }
)";

std::string Roles(const std::string& r0, const std::string& r1, const std::string& r2) {
  return Entry(fmt::format("p = s32[] parameter(0)\ni = u32[] replica-id()\nk = s32[] convert(i)\n"
                           "ROOT r = s32[] conditional(k, p, p, p), branch_computations={{{}, {}, {}}}",
                           r0, r1, r2),
               kChannelComputations);
}

TEST(SendTest, AChannelConnectsOneDeviceWithAnotherInOrder) {
  const auto r = RunReplicas(Roles("take", "nothing", "give"), {3, 1},
                             {{Ints(kS32, {}, {0})}, {Ints(kS32, {}, {1})}, {Ints(kS32, {}, {21})}});
  EXPECT_EQ(r[0].GetInt(0), 21);
  EXPECT_EQ(r[1].GetInt(0), 1);
}

TEST(SendTest, ASendThatNobodyTakesIsReported) {
  EXPECT_EQ(FailureOf(Roles("nothing", "give", "nothing"), {3, 1}, kOne),
            "deadlock: send s (channel_id 4): replica 1 has sent data that any device never took");
  const Status merged = RefusalOfMerging(Roles("nothing", "give", "nothing"), {3, 1});
  EXPECT_EQ(merged.code(), StatusCode::kDeviceFailure);
  EXPECT_EQ(merged.message(), "deadlock: send s (channel_id 4): replica 1 has sent data that any device never took");
}

TEST(SendTest, ARecvThatNobodyFeedsIsReported) {
  EXPECT_EQ(FailureOf(Roles("take", "nothing", "nothing"), {3, 1}, kOne),
            "deadlock: recv-done d1 (channel_id 4): replica 0 waits for any device; replica 1 has ended; replica 2 has "
            "ended");
  EXPECT_EQ(RefusalOfMerging(Roles("take", "nothing", "nothing"), {3, 1}).message(),
            FailureOf(Roles("take", "nothing", "nothing"), {3, 1}, kOne));
}

TEST(ChannelTest, DevicesThatComeWithOtherGroupsWaitForOneAnother) {
  const std::string text =
      TwoBranches(" ROOT a = s32[] all-reduce(p), channel_id=7, replica_groups={{0,1}}, to_apply=f",
                  " ROOT b = s32[] all-reduce(p), channel_id=7, replica_groups={{1,0}}, to_apply=f");
  const std::string expected =
      "deadlock: all-reduce a (channel_id 7): replica 0 waits for replica 1; replica 1 waits at all-reduce b "
      "(channel_id "
      "7) for replica 0";
  EXPECT_EQ(FailureOf(text, {2, 1}, kOne), expected);
  EXPECT_EQ(RefusalOfMerging(text, {2, 1}).message(), expected);
}

TEST(SendTest, DevicesThatAllReceiveAreNamed) {
  const std::string expected =
      "deadlock: recv-done d1 (channel_id 4): replica 0 waits for replica 1; replica 1 waits at recv-done d1 "
      "(channel_id 4) for replica 0; replica 2 has ended";
  EXPECT_EQ(FailureOf(Roles("take", "take", "nothing"), {3, 1}, kOne), expected);
  EXPECT_EQ(RefusalOfMerging(Roles("take", "take", "nothing"), {3, 1}).message(), expected);
}

TEST(SendTest, TwoSendersOnAChannelWithoutPairsAreAnError) {
  EXPECT_THAT(FailureOf(Roles("give", "take", "give"), {3, 1}, kOne),
              ::testing::AnyOf(HasSubstr("must tell which device sends to which"), HasSubstr("never took")));
}

TEST(SendTest, RejectsDataOfAnotherShape) {
  const std::string text = Entry(
      "p = s32[] parameter(0)\nt = token[] after-all()\ns = (s32[], u32[], token[]) send(p, t), channel_id=4\n"
      "sd = token[] send-done(s), channel_id=4\nr = (s32[2], u32[], token[]) recv(sd), channel_id=4\n"
      "rd = (s32[2], token[]) recv-done(r), channel_id=4\nROOT x = s32[2] get-tuple-element(rd), index=0");
  EXPECT_THAT(FailureOf(text, {1, 1}, kOne), HasSubstr("recv-done rd: channel 4 brought s32[], s32[2] needed"));
  EXPECT_EQ(RefusalOfMerging(text, {1, 1}).message(), "recv-done rd: channel 4 brought s32[], s32[2] needed");
}

TEST(CollectivePermuteTest, DataThatTheTargetNeverTakesIsReported) {
  const std::string text = Entry(
      "p = s32[] parameter(0)\ni = u32[] replica-id()\nk = s32[] convert(i)\n"
      "ROOT r = s32[] conditional(k, p, p), branch_computations={send, nothing}",
      std::string(kChannelComputations) +
          "send { p = s32[] parameter(0)\n ROOT c = s32[] collective-permute(p), source_target_pairs={{0,1}} }\n");
  EXPECT_EQ(FailureOf(text, {2, 1}, kOne),
            "deadlock: collective-permute c: replica 0 has sent data that replica 1 never took");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
