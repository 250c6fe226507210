// No op sees padding: each one over arrays that live in part, padding poisoned, gives the bits of the same program at
// exactly the live sizes. And what live sizes mean between devices, to the host and to custom calls.
#include "core/sizes/live_sizes.h"

#include <set>

#include "backend/cpu/reference/library/custom_call.h"
#include "scheduler/replicas/feed_queues.h"
#include "tests/cpu/replica_test_support.h"
#include "tests/support/live_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace live_sizes_test {

using enum ElementType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LiveProgramTest, EveryOpcodeHasAProgramOrAReason) {
  const std::map<std::string, std::string> without = OpcodesWithoutLiveSizes();
  std::set<std::string> covered;
  for (const LiveProgram& program : LivePrograms()) covered.insert(program.opcode);
  for (int i = 0; i < OpcodeCount(); ++i) {
    const std::string name(FactsOf(static_cast<Opcode>(i)).hlo_text);
    EXPECT_NE(covered.contains(name), without.contains(name)) << name;
  }
}

bool HasLiveOperand(const Instruction& instruction) {
  return std::ranges::any_of(instruction.operands(),
                             [](const Instruction* operand) { return operand->shape().IsDynamic(); });
}

TEST(LiveProgramTest, EveryProgramGivesItsOpcodeALiveOperand) {
  for (const LiveProgram& program : LivePrograms()) {
    const auto module = ParseHlo(BoundedText(program, 1));
    ASSERT_TRUE(module.ok()) << program.opcode << ": " << module.status().message();
    const auto& instructions = (*module)->entry()->instructions();
    EXPECT_TRUE(std::ranges::any_of(instructions, [&](const auto& i) {
      return OpcodeText(i->opcode()) == program.opcode && HasLiveOperand(*i);
    })) << program.opcode;
  }
}

TEST(LiveProgramTest, EachGivesTheBitsOfTheProgramAtExactlyTheLiveSizes) {
  constexpr int64_t kDevices = 2;
  for (const LiveProgram& program : LivePrograms()) {
    SCOPED_TRACE(program.opcode + "\n" + program.text.substr(program.text.find("ENTRY")));
    const std::string bounded_text = BoundedText(program, kDevices), exact_text = ExactText(program, kDevices);
    const auto bounded = ParseHlo(bounded_text), exact = ParseHlo(exact_text);
    ASSERT_TRUE(bounded.ok() && exact.ok());
    std::vector<std::vector<Literal>> exact_arguments, poisoned_arguments;
    for (uint64_t device = 0; device < kDevices; ++device) {
      exact_arguments.push_back(ExactArguments(**exact, device));
      poisoned_arguments.push_back(PoisonedArguments(**bounded, exact_arguments.back()));
    }
    const std::vector<Literal> want = RunReplicas(exact_text, {kDevices, 1}, exact_arguments);
    const std::vector<Literal> got = RunReplicas(bounded_text, {kDevices, 1}, poisoned_arguments);
    for (size_t device = 0; device < want.size(); ++device) {
      EXPECT_TRUE(CutToLiveSizes(got[device]) == CutToLiveSizes(want[device])) << "device " << device;
    }
  }
}

constexpr char kSum[] = "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n";

Literal Counting(const std::vector<int64_t>& sizes, double first = 1) {
  std::vector<double> values;
  for (int64_t i = 0; i < CountOf(sizes); ++i) values.push_back(first + static_cast<double>(i));
  return Array(kF32, sizes, values);
}

// What lives on each device, of a program whose devices get arrays of different sizes under one bound.
std::vector<Literal> RunLive(const std::string& lines, const std::vector<std::vector<Literal>>& arguments) {
  std::vector<Literal> live;
  for (const Literal& result :
       RunReplicas(Entry(lines, kSum), {static_cast<int64_t>(arguments.size()), 1}, arguments)) {
    live.push_back(CutToLiveSizes(result));
  }
  return live;
}

std::string LiveFailureOf(const std::string& lines, const std::vector<std::vector<Literal>>& arguments) {
  return FailureOf(Entry(lines, kSum), {static_cast<int64_t>(arguments.size()), 1}, arguments);
}

TEST(LiveCollectiveTest, AllGatherPutsLivePartsOneAfterTheOther) {
  const std::vector<Literal> r =
      RunLive("p = f32[<=4,2] parameter(0)\n ROOT r = f32[<=8,2] all-gather(p), replica_groups={}, dimensions={0}",
              {{Counting({3, 2})}, {Counting({1, 2}, 10)}});
  for (const Literal& literal : r) EXPECT_THAT(Doubles(literal), ElementsAre(1, 2, 3, 4, 5, 6, 10, 11));
  EXPECT_EQ(Text(r[0].shape()), "f32[4,2]");
}

TEST(LiveCollectiveTest, AllGatherAgreesOutsideOfItsDimension) {
  EXPECT_THAT(
      LiveFailureOf(
          "p = f32[<=4,2] parameter(0)\n ROOT r = f32[<=4,4] all-gather(p), replica_groups={}, dimensions={1}",
          {{Counting({3, 2})}, {Counting({1, 2})}}),
      HasSubstr("all-gather r: dimension 0 of operand 0 has the live size 3 on member 0 of the group, 1 on member 1"));
}

TEST(LiveCollectiveTest, ReductionsNeedOneLiveSize) {
  for (const std::string op : {"all-reduce", "collective-reduce"}) {
    const std::string lines =
        "p = f32[<=4] parameter(0)\n ROOT r = f32[<=4] " + op + "(p), replica_groups={}, to_apply=sum";
    const std::vector<Literal> r = RunLive(lines, {{Counting({3})}, {Counting({3}, 10)}});
    EXPECT_THAT(Doubles(r[0]), ElementsAre(11, 13, 15)) << op;
    EXPECT_EQ(r[1].element_count(), 3) << op;
    EXPECT_THAT(
        LiveFailureOf(lines, {{Counting({3})}, {Counting({2})}}),
        HasSubstr(op + " r: dimension 0 of operand 0 has the live size 3 on member 0 of the group, 2 on member 1"));
  }
}

TEST(LiveCollectiveTest, ReduceScatterSplitsWhatLives) {
  const std::string lines =
      "p = f32[<=6] parameter(0)\n ROOT r = f32[<=3] reduce-scatter(p), replica_groups={}, dimensions={0}, "
      "to_apply=sum";
  const std::vector<Literal> r = RunLive(lines, {{Counting({4})}, {Counting({4}, 10)}});
  EXPECT_THAT(Doubles(r[0]), ElementsAre(11, 13));
  EXPECT_THAT(Doubles(r[1]), ElementsAre(15, 17));
  EXPECT_THAT(LiveFailureOf(lines, {{Counting({3})}, {Counting({3})}}),
              HasSubstr("reduce-scatter r: f32[3] to f32[<=3]: dimension 0 does not fit groups of 2"));
}

TEST(LiveCollectiveTest, AllToAllSplitsWhatLives) {
  const std::string lines =
      "p = f32[<=6] parameter(0)\n ROOT r = f32[<=6] all-to-all(p), replica_groups={}, dimensions={0}";
  const std::vector<Literal> r = RunLive(lines, {{Counting({4})}, {Counting({2}, 10)}});
  EXPECT_THAT(Doubles(r[0]), ElementsAre(1, 2, 10));
  EXPECT_THAT(Doubles(r[1]), ElementsAre(3, 4, 11));
  EXPECT_THAT(LiveFailureOf(lines, {{Counting({4})}, {Counting({3})}}),
              HasSubstr("all-to-all r: f32[3] to f32[<=6]: dimension 0 does not fit groups of 2"));
}

TEST(LiveCollectiveTest, AllToAllOfATupleKeepsEachOperandsSize) {
  const std::vector<Literal> r = RunLive(
      "p = f32[<=4] parameter(0)\n q = f32[<=4] parameter(1)\n ROOT r = (f32[<=4], f32[<=4]) all-to-all(p, q), "
      "replica_groups={}",
      {{Counting({1}), Counting({2}, 20)}, {Counting({3}, 30), Counting({4}, 40)}});
  EXPECT_THAT(Doubles(r[0].tuple_elements()[0]), ElementsAre(1));
  EXPECT_THAT(Doubles(r[0].tuple_elements()[1]), ElementsAre(30, 31, 32));
  EXPECT_THAT(Doubles(r[1].tuple_elements()[0]), ElementsAre(20, 21));
  EXPECT_THAT(Doubles(r[1].tuple_elements()[1]), ElementsAre(40, 41, 42, 43));
}

// The sender's size comes along; who gets nothing has as many zeros as it had elements.
TEST(LiveCollectiveTest, PermuteAndBroadcastBringTheSendersSize) {
  const std::vector<std::vector<Literal>> arguments = {{Counting({3})}, {Counting({1}, 10)}};
  const std::vector<Literal> moved = RunLive(
      "p = f32[<=4] parameter(0)\n ROOT r = f32[<=4] collective-permute(p), source_target_pairs={{0,1}}", arguments);
  EXPECT_THAT(Doubles(moved[0]), ElementsAre(0, 0, 0));
  EXPECT_THAT(Doubles(moved[1]), ElementsAre(1, 2, 3));
  const std::vector<Literal> started = RunLive(
      "p = f32[<=4] parameter(0)\n s = (f32[<=4], f32[<=4]) collective-permute-start(p), "
      "source_target_pairs={{0,1},{1,0}}\n"
      " ROOT r = f32[<=4] collective-permute-done(s)",
      arguments);
  EXPECT_THAT(Doubles(started[0]), ElementsAre(10));
  EXPECT_THAT(Doubles(started[1]), ElementsAre(1, 2, 3));
  const std::vector<Literal> shown = RunLive(
      "p = f32[<=4] parameter(0)\n ROOT r = f32[<=4] collective-broadcast(p), replica_groups={{1,0}}", arguments);
  for (const Literal& literal : shown) EXPECT_THAT(Doubles(literal), ElementsAre(10));
  const std::vector<Literal> alone =
      RunLive("p = f32[<=4] parameter(0)\n ROOT r = f32[<=4] collective-broadcast(p), replica_groups={{1}}", arguments);
  EXPECT_THAT(Doubles(alone[0]), ElementsAre(0, 0, 0));
}

TEST(LiveCollectiveTest, RaggedRowsMustLive) {
  const std::string lines =
      "a = f32[<=5,2] parameter(0)\n o = f32[<=5,2] parameter(1)\n z = s32[1] constant({0})\n n = s32[1] parameter(2)\n"
      " ROOT r = f32[<=5,2] ragged-all-to-all(a, o, z, n, z, n), replica_groups={}";
  auto run = [&](int64_t rows) {
    return std::vector<std::vector<Literal>>{{Counting({3, 2}), Counting({4, 2}, 20), Ints(kS32, {1}, {rows})}};
  };
  EXPECT_THAT(Doubles(RunLive(lines, run(2))[0]), ElementsAre(1, 2, 3, 4, 24, 25, 26, 27));
  EXPECT_THAT(LiveFailureOf(lines, run(4)),
              HasSubstr("ragged-all-to-all r: 4 rows from 0 of f32[3,2] to 0 of f32[4,2] do not fit"));
}

TEST(LiveTransferTest, ChannelsBringTheSize) {
  const std::string send =
      "p = f32[<=4] parameter(0)\n t = token[] after-all()\n"
      " s = (f32[<=4], u32[], token[]) send(p, t), channel_id=1\n u = token[] send-done(s), channel_id=1\n";
  EXPECT_EQ(Text(RunLive(send + " v = (f32[<=4], u32[], token[]) recv(u), channel_id=1\n"
                                " ROOT w = (f32[<=4], token[]) recv-done(v), channel_id=1",
                         {{Counting({3})}})[0]
                     .shape()),
            "(f32[3], token[])");
  EXPECT_THAT(LiveFailureOf(send + " v = (f32[4], u32[], token[]) recv(u), channel_id=1\n"
                                   " ROOT w = (f32[4], token[]) recv-done(v), channel_id=1",
                            {{Counting({3})}}),
              HasSubstr("recv-done w: channel 1 brought f32[3], f32[4] needed"));
}

TEST(LiveTransferTest, FeedsTakeAndGiveTheLiveSize) {
  FeedQueues queues(1);
  queues.PushInfeed(0, Counting({3, 2}));
  EvaluateOptions options;
  options.host = queues.transfers();
  const std::string text = Entry(
      "t = token[] after-all()\n i = (f32[<=4,2], token[]) infeed(t)\n v = f32[<=4,2] get-tuple-element(i), index=0\n"
      " u = token[] get-tuple-element(i), index=1\n n = f32[<=4,2] negate(v)\n"
      " ROOT o = token[] outfeed(n, u), outfeed_shape=f32[<=4,2]");
  ASSERT_TRUE(TryRun(text, {}, options).ok());
  const Result<Literal> sent = queues.PopOutfeed(0);
  ASSERT_TRUE(sent.ok());
  EXPECT_EQ(Text(CutToLiveSizes(*sent).shape()), "f32[3,2]");
  EXPECT_THAT(Doubles(CutToLiveSizes(*sent)), ElementsAre(-1, -2, -3, -4, -5, -6));
  queues.PushInfeed(0, Counting({5, 2}));
  EXPECT_THAT(TryRun(text, {}, options).status().message(),
              HasSubstr("infeed i: the host gave f32[5,2], f32[<=4,2] needed"));
}

TEST(LiveTransferTest, HostsSendAndReceiveTheLiveSize) {
  EvaluateOptions options;
  Literal given;
  options.host.send_to_host = [&](int64_t, int64_t, Literal value) {
    given = std::move(value);
    return OkStatus();
  };
  options.host.recv_from_host = [&](int64_t, int64_t, const Shape&) -> Result<Literal> { return Counting({2}, 7); };
  const Literal r = RunText(Entry("p = f32[<=4] parameter(0)\n t = token[] after-all()\n"
                                  " s = (f32[<=4], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true\n"
                                  " u = token[] send-done(s), channel_id=1, is_host_transfer=true\n"
                                  " v = (f32[<=5], u32[], token[]) recv(u), channel_id=2, is_host_transfer=true\n"
                                  " w = (f32[<=5], token[]) recv-done(v), channel_id=2, is_host_transfer=true\n"
                                  " ROOT r = f32[<=5] get-tuple-element(w), index=0"),
                            {Counting({3})}, options);
  EXPECT_THAT(Doubles(CutToLiveSizes(given)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Doubles(CutToLiveSizes(r)), ElementsAre(7, 8));
}

// Room for 6 floats, then two sizes: keeps every other row of [<=3,2].
void EveryOtherRow(void* out, const void** in) {
  int32_t sizes[2];
  std::memcpy(sizes, static_cast<const std::byte*>(in[0]) + 24, 8);
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<float*>(out);
  for (int32_t i = 0; i < sizes[0]; i += 2)
    std::memcpy(to + i / 2 * sizes[1], from + i * sizes[1], 4 * static_cast<size_t>(sizes[1]));
  sizes[0] = (sizes[0] + 1) / 2;
  std::memcpy(static_cast<std::byte*>(out) + 24, sizes, 8);
}

TEST(LiveTransferTest, CustomCallsSeeSizesBehindTheElements) {
  CustomCallRegistry registry;
  registry.Register("every_other_row", &EveryOtherRow);
  registry.Register("too_many", [](void* out, const void**) {
    const int32_t sizes[2] = {4, 2};
    std::memcpy(static_cast<std::byte*>(out) + 24, sizes, 8);
  });
  EvaluateOptions options;
  options.custom_calls = &registry;
  auto entry = [](const std::string& target) {
    return Entry("p = f32[<=3,2] parameter(0)\n ROOT r = f32[<=3,2] custom-call(p), custom_call_target=\"" + target +
                 "\"");
  };
  const Literal r = CutToLiveSizes(RunText(entry("every_other_row"), {Counting({3, 2})}, options));
  EXPECT_EQ(Text(r.shape()), "f32[2,2]");
  EXPECT_THAT(Doubles(r), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(TryRun(entry("too_many"), {Counting({3, 2})}, options).status().message(),
              HasSubstr("custom-call r: too_many gave dimension 0 of f32[<=3,2] the live size 4"));
}

}  // namespace live_sizes_test
}  // namespace VXLA_NAMESPACE::testing
