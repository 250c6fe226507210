// Several replicas and partitions on one device (core/passes/devices/device_merger.h), against the reference's, which
// are threads that meet. The collectives' details are tests/cpu/collectives_test.cc's, which merges what it runs too.
#include "api/replicas.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/devices.h"
#include "api/placed_replicas.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/device_merger.h"
#include "tests/support/device_test_support.h"
#include "tests/support/merged_results.h"
#include "tests/support/replica_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

const char kSum[] = "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

TEST(ReplicasTest, AllReducesOfEveryKindOfGroup) {
  for (const char* groups : {"replica_groups={}", "replica_groups={{0,2},{1,3}}", "replica_groups={{3,1,0},{2}}"}) {
    ExpectReplicasAgree(fmt::format("{}ENTRY e {{ x = f32[5,7] parameter(0)  n = f32[5,7] negate(x)  r = f32[5,7] "
                                    "all-reduce(n), {}, to_apply=sum  ROOT t = f32[5,7] tanh(r) }}",
                                    kSum, groups),
                        {4, 1});
  }
  for (const char* attributes : {"channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true",
                                 "channel_id=1, replica_groups={{0},{1}}", "replica_groups={{0,1}}"}) {
    ExpectReplicasAgree(fmt::format("{}ENTRY e {{ x = f32[33] parameter(0)  ROOT r = f32[33] all-reduce(x), {}, "
                                    "to_apply=sum }}",
                                    kSum, attributes),
                        {2, 2});
  }
}

TEST(ReplicasTest, EveryTypeAndReducer) {
  for (const char* type : {"s8", "u16", "s32", "u64", "f16", "bf16", "f32", "f64", "c64"}) {
    ExpectReplicasAgree(fmt::format(R"(f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] add(a, b) }}
ENTRY e {{ x = {0}[2,3] parameter(0)  y = {0}[] parameter(1)
  ROOT r = ({0}[2,3], {0}[]) all-reduce(x, y), replica_groups={{}}, to_apply=f }})",
                                    type),
                        {3, 1});
  }
  ExpectReplicasAgree(
      R"(f { a = f32[] parameter(0)  b = f32[] parameter(1)  m = f32[] maximum(a, b)  n = f32[] minimum(a, b)
  h = f32[] constant(0.5)  p = f32[] multiply(n, h)  ROOT r = f32[] subtract(m, p) }
ENTRY e { x = f32[6] parameter(0)  ROOT r = f32[6] all-reduce(x), replica_groups={}, to_apply=f })",
      {2, 1});
}

TEST(ReplicasTest, ExchangesOfArrays) {
  ExpectReplicasAgree(std::string(kSum) + R"(ENTRY e { x = f32[4,6] parameter(0)
  g = f32[4,24] all-gather(x), replica_groups={}, dimensions={1}
  s = f32[1,6] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=sum
  a = f32[4,6] all-to-all(x), replica_groups={}, dimensions={0}
  b = f32[4,6] collective-broadcast(x), replica_groups={{2,0,1}}
  p = f32[4,6] collective-permute(x), source_target_pairs={{0,1},{1,3},{3,0}}
  i = u32[] replica-id()
  ROOT r = (f32[4,24], f32[1,6], f32[4,6], f32[4,6], f32[4,6], u32[]) tuple(g, s, a, b, p, i) })",
                      {4, 1});
  ExpectReplicasAgree(R"(ENTRY e { x = f32[3] parameter(0)  y = f32[3] parameter(1)
  t = (f32[3], f32[3]) all-to-all(x, y), replica_groups={{0,1}}
  s = (f32[3], f32[6]) all-gather-start(x), replica_groups={{1,0}}, dimensions={0}
  d = f32[6] all-gather-done(s)
  k = token[] after-all()
  n = (f32[3], u32[], token[]) send(y, k), channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  v = (f32[3], u32[], token[]) recv(k), channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  nd = token[] send-done(n), channel_id=3
  vd = (f32[3], token[]) recv-done(v), channel_id=3
  w = f32[3] get-tuple-element(vd), index=0
  ROOT r = ((f32[3], f32[3]), f32[6], f32[3]) tuple(t, d, w) })",
                      {2, 1});
}

// What makes a reduction's operand, the reduction, and what each replica does with it and with values of its own.
TEST(ReplicasTest, AReductionWithWhatIsAroundItIsOneKernel) {
  const std::string text = std::string(kSum) + R"(ENTRY e { g = f32[4099] parameter(0)  w = f32[4099] parameter(1)
  t = f32[4099] tanh(g)  r = f32[4099] all-reduce(t), replica_groups={}, to_apply=sum  e = f32[4099] sine(r)
  m = f32[4099] multiply(e, g)  ROOT n = f32[4099] subtract(w, m) })";
  for (const int64_t replicas : {2, 3}) {
    const auto merged = MergeDevices(*ParseModule(text), {replicas, 1}, {false, false});
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    const auto client = DeviceClient(BindingMode::kDescriptors);
    const auto executable = client->Compile(*merged->module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ((*executable)->plan().steps.size(), 1) << replicas;
    ExpectReplicasAgree(text, {replicas, 1});
  }
}

// Steps of gradient descent on a mean over the replicas: one loop, whose weights are one value, or as many equal ones
// as there are devices.
TEST(ReplicasTest, TrainingLoopsKeepWeightsEqual) {
  const std::string text = std::string(kSum) + R"(body { s = (s32[], f32[8], f32[16,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  w = f32[8] get-tuple-element(s), index=1  x = f32[16,8] get-tuple-element(s), index=2
  y = f32[16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[8] dot(y, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  r = f32[8] all-reduce(g), replica_groups={}, to_apply=sum
  c = f32[] constant(0.001)  b = f32[8] broadcast(c), dimensions={}  d = f32[8] multiply(r, b)  n = f32[8] subtract(w, d)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT t = (s32[], f32[8], f32[16,8]) tuple(j, n, x) }
cond { s = (s32[], f32[8], f32[16,8]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(100)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { w = f32[8] parameter(0)  x = f32[16,8] parameter(1)  z = s32[] constant(0)
  s = (s32[], f32[8], f32[16,8]) tuple(z, w, x)
  l = (s32[], f32[8], f32[16,8]) while(s), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(l), index=1 })";
  ExpectReplicasAgree(text, {4, 1}, /*shared=*/1);
  ExpectReplicasAgree(text, {4, 1}, /*shared=*/0, /*equal=*/1);
}

// The collective is in a loop that all leave together, because what decides comes out of it.
TEST(ReplicasTest, LoopsThatDataEnd) {
  ExpectReplicasAgree(
      std::string(kSum) + R"(body { s = (f32[], f32[4]) parameter(0)  x = f32[4] get-tuple-element(s), index=1
  h = f32[] constant(0.5)  b = f32[4] broadcast(h), dimensions={}  y = f32[4] multiply(x, b)  q = f32[4] multiply(y, y)
  z = f32[] constant(0)  m = f32[] reduce(q, z), dimensions={0}, to_apply=sum
  n = f32[] all-reduce(m), replica_groups={}, to_apply=sum
  ROOT t = (f32[], f32[4]) tuple(n, y) }
cond { s = (f32[], f32[4]) parameter(0)  n = f32[] get-tuple-element(s), index=0  e = f32[] constant(0.001)
  ROOT p = pred[] compare(n, e), direction=GT }
ENTRY e { x = f32[4] parameter(0)  o = f32[] constant(1)  s = (f32[], f32[4]) tuple(o, x)
  ROOT l = (f32[], f32[4]) while(s), condition=cond, body=body })",
      {3, 1});
}

// Each of them as often, or the way, that its own data say.
TEST(ReplicasTest, LoopsAndBranchesOfTheirOwn) {
  ExpectReplicasAgree(R"(body { s = (u32[], s32[3]) parameter(0)  i = u32[] get-tuple-element(s), index=0
  x = s32[3] get-tuple-element(s), index=1  o = u32[] constant(1)  j = u32[] add(i, o)  r = u32[] replica-id()
  c = s32[] convert(r)  b = s32[3] broadcast(c), dimensions={}  y = s32[3] add(x, b)  ROOT t = (u32[], s32[3]) tuple(j, y) }
cond { s = (u32[], s32[3]) parameter(0)  i = u32[] get-tuple-element(s), index=0  r = u32[] replica-id()
  ROOT p = pred[] compare(i, r), direction=LE }
even { x = s32[3] parameter(0)  r = u32[] replica-id()  c = s32[] convert(r)  b = s32[3] broadcast(c), dimensions={}
  ROOT n = s32[3] subtract(x, b) }
odd { x = s32[3] parameter(0)  ROOT n = s32[3] negate(x) }
ENTRY e { x = s32[3] parameter(0)  z = u32[] constant(0)  s = (u32[], s32[3]) tuple(z, x)
  l = (u32[], s32[3]) while(s), condition=cond, body=body  y = s32[3] get-tuple-element(l), index=1
  r = u32[] replica-id()  t = u32[] constant(2)  m = u32[] remainder(r, t)  p = pred[] compare(m, z), direction=EQ
  c = s32[3] conditional(p, y, y), true_computation=even, false_computation=odd
  ROOT q = ((u32[], s32[3]), s32[3]) tuple(l, c) })",
                      {3, 1});
}

TEST(ReplicasTest, RandomNumbersOfEachDevice) {
  ExpectReplicasAgree(R"(body { s = (u32[], s32[5]) parameter(0)  i = u32[] get-tuple-element(s), index=0
  x = s32[5] get-tuple-element(s), index=1  l = s32[] constant(-1000)  h = s32[] constant(1000)
  n = s32[5] rng(l, h), distribution=rng_uniform  y = s32[5] add(x, n)  o = u32[] constant(1)  j = u32[] add(i, o)
  ROOT t = (u32[], s32[5]) tuple(j, y) }
cond { s = (u32[], s32[5]) parameter(0)  i = u32[] get-tuple-element(s), index=0  r = u32[] partition-id()
  ROOT p = pred[] compare(i, r), direction=LE }
ENTRY e { x = s32[5] parameter(0)  a = u64[2] rng-get-and-update-state(), delta=3  z = u32[] constant(0)
  s = (u32[], s32[5]) tuple(z, x)  w = (u32[], s32[5]) while(s), condition=cond, body=body
  b = u64[2] rng-get-and-update-state(), delta=1  ROOT r = (u64[2], (u32[], s32[5]), u64[2]) tuple(a, w, b) })",
                      {2, 2});
}

TEST(ReplicasTest, RowsThatDataSend) {
  ExpectReplicasAgree(R"(ENTRY e { x = f32[4,3] parameter(0)  y = f32[7,3] parameter(1)  i = u32[] replica-id()
  me = s32[] convert(i)  m = s32[2] broadcast(me), dimensions={}  f = s32[2] constant({1, 2})  n = s32[2] constant({2, 1})
  t = s32[2] multiply(n, m)  two = s32[2] constant({2, 2})  g = s32[2] subtract(two, m)
  ROOT r = f32[7,3] ragged-all-to-all(x, y, f, n, t, g), replica_groups={{0,1}} })",
                      {2, 1});
}

TEST(ReplicasTest, SlicesAtPlacesOfEachDevice) {
  ExpectReplicasAgree(R"(ENTRY e { x = f32[4,6] parameter(0)  y = f32[5,6] parameter(1)  i = u32[] replica-id()
  me = s32[] convert(i)  o = s32[] constant(1)  s = (s32[], s32[]) tuple(me, o)  t = (s32[], s32[]) tuple(o, me)
  p = f32[5,6] collective-permute(x, y, s, t), source_target_pairs={{0,1},{1,2}}, slice_sizes={{2,3}}
  a = (f32[4,6], f32[5,6]) collective-permute-start(x, p, t, s), source_target_pairs={{2,2},{0,1}}, slice_sizes={{1,4}}
  ROOT d = f32[5,6] collective-permute-done(a) })",
                      {3, 1});
}

// The devices of a group go one way, which follows from their numbers; others have no part in it.
TEST(ReplicasTest, GroupsThatPart) {
  ExpectReplicasAgree(std::string(kSum) + R"(first { x = f32[3] parameter(0)
  ROOT r = f32[3] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum }
second { x = f32[3] parameter(0)  r = f32[3] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum  ROOT n = f32[3] negate(r) }
body { s = (s32[], s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] get-tuple-element(s), index=1
  x = f32[3] get-tuple-element(s), index=2  o = s32[] constant(1)  j = s32[] add(i, o)
  r = f32[3] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum  h = f32[3] tanh(r)
  ROOT t = (s32[], s32[], f32[3]) tuple(j, n, h) }
cond { s = (s32[], s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[3] parameter(0)  k = s32[4] constant({3, 3, 5, 5})  z = s32[] constant(0)  i = u32[] replica-id()
  q = s32[1] dynamic-slice(k, i), dynamic_slice_sizes={1}  n = s32[] reshape(q)  b = s32[] constant(4)
  p = pred[] compare(n, b), direction=LT
  c = f32[3] conditional(p, x, x), true_computation=first, false_computation=second
  s = (s32[], s32[], f32[3]) tuple(z, n, c)  w = (s32[], s32[], f32[3]) while(s), condition=cond, body=body
  ROOT r = f32[3] get-tuple-element(w), index=2 })",
                      {4, 1});
}

// A loop with a mean inside, as long as LIMIT says: nobody knows before that all devices say the same.
std::string LoopOf(const std::string& limit) {
  return std::string(kSum) + R"(body { s = (s32[], s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  x = f32[3] get-tuple-element(s), index=2  o = s32[] constant(1)
  j = s32[] add(i, o)  r = f32[3] all-reduce(x), replica_groups={}, to_apply=sum  h = f32[3] tanh(r)
  ROOT t = (s32[], s32[], f32[3]) tuple(j, n, h) }
cond { s = (s32[], s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  ROOT p = pred[] compare(i, n), direction=LT }
yes { x = f32[3] parameter(0)  ROOT r = f32[3] all-reduce(x), channel_id=9, replica_groups={}, to_apply=sum }
no { x = f32[3] parameter(0)  ROOT n = f32[3] negate(x) }
ENTRY e { x = f32[3] parameter(0)  a = s32[] parameter(1)  z = s32[] constant(0)  m = s32[] multiply(a, z)
  l = s32[] constant(3)  n = s32[] add()" +
         limit + R"(, l)  s = (s32[], s32[], f32[3]) tuple(z, n, x)
  w = (s32[], s32[], f32[3]) while(s), condition=cond, body=body  y = f32[3] get-tuple-element(w), index=2
  p = pred[] compare(n, z), direction=GT
  ROOT c = f32[3] conditional(p, y, y), true_computation=yes, false_computation=no })";
}

TEST(ReplicasTest, DevicesThatMeetGoTogether) { ExpectReplicasAgree(LoopOf("m"), {2, 1}); }

// Branches that come to the same meetings, by data and by the device's number, and in loops.
std::string MeetingsInBranches(const std::string& selector) {
  return std::string(kSum) + R"(
first { x = f32[3] parameter(0)  y = f32[3] tanh(x)  a = f32[3] all-reduce(y), replica_groups={}, to_apply=sum
  o = f32[3] add(a, y)  s = (f32[3], f32[9]) all-gather-start(o), replica_groups={}, dimensions={0}
  g = f32[9] all-gather-done(s)  c = f32[3] slice(g), slice={[3:6]}  ROOT n = f32[3] add(c, y) }
second { x = f32[3] parameter(0)  y = f32[3] negate(x)  a = f32[3] all-reduce(y), replica_groups={}, to_apply=sum
  s = (f32[3], f32[9]) all-gather-start(x), replica_groups={}, dimensions={0}
  g = f32[9] all-gather-done(s)  ROOT c = f32[3] slice(g), slice={[1:4]} }
third { x = f32[3] parameter(0)  a = f32[3] all-reduce(x), replica_groups={}, to_apply=sum
  s = (f32[3], f32[9]) all-gather-start(a), replica_groups={}, dimensions={0}  ROOT r = f32[3] tanh(a) }
body { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[3] get-tuple-element(s), index=1
  u = u32[] replica-id()  me = s32[] convert(u)  f = f32[1] slice(x), slice={[0:1]}  q = f32[] reshape(f)
  z = f32[] constant(0)  p = pred[] compare(q, z), direction=GT  d = s32[] convert(p)  )" +
         selector + R"(
  c = f32[3] conditional(w, x, x, x), branch_computations={first, second, third}  o = s32[] constant(1)
  j = s32[] add(i, o)  ROOT t = (s32[], f32[3]) tuple(j, c) }
cond { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[3] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[3]) tuple(z, x)
  ROOT l = (s32[], f32[3]) while(s), condition=cond, body=body })";
}

TEST(ReplicasTest, DevicesMeetFromDifferentBranches) {
  for (const char* selector :
       {"w = s32[] copy(d)", "w = s32[] copy(me)", "w = s32[] add(me, d)", "w = s32[] add(me, i)"}) {
    SCOPED_TRACE(selector);
    ExpectReplicasAgree(MeetingsInBranches(selector), {3, 1});
  }
}

// Other meetings than the other branch has: who waits in vain is reported, as on the reference.
TEST(ReplicasTest, BranchesWithOtherMeetingsAreReported) {
  const auto module = ParseModule(std::string(kSum) + R"(
first { x = f32[3] parameter(0)  ROOT a = f32[3] all-reduce(x), replica_groups={}, to_apply=sum }
second { x = f32[3] parameter(0)  ROOT a = f32[3] all-reduce(x), replica_groups={{0,1}}, channel_id=7, to_apply=sum }
ENTRY e { x = f32[3] parameter(0)  i = u32[] replica-id()  z = u32[] constant(0)  p = pred[] compare(i, z), direction=EQ
  ROOT c = f32[3] conditional(p, x, x), true_computation=first, false_computation=second })");
  ASSERT_NE(module, nullptr);
  const auto merged = MergeDevices(*module, {2, 1}, {false});
  EXPECT_EQ(merged.status().code(), StatusCode::kDeviceFailure);
  EXPECT_THAT(merged.status().message(),
              ::testing::StartsWith("deadlock: all-reduce a: replica 0 waits for replica 1"));
}

// What each branch has of its own meets what the others have: a sender and a receiver, an exchange before the branch's
// other work and one behind it, one more inside of another branch.
TEST(ReplicasTest, BranchesByReplicaIdMeetThatHaveNotTheSameMeetings) {
  const std::string head =
      "ENTRY e { x = f32[5] parameter(0)  i = u32[] replica-id()  "
      "k = s32[] convert(i)  ROOT r = f32[5] conditional(k, x, x, x), "
      "branch_computations={zero, one, two} }\n";
  const std::string pairs = "channel_id=4, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}";
  const std::string send = "s = (f32[5], u32[], token[]) send(y, t), " + pairs + "  u = token[] send-done(s)\n",
                    receive = "t = token[] after-all()  v = (f32[5], u32[], token[]) recv(t), " + pairs +
                              "  d = (f32[5], token[]) recv-done(v)  z = f32[5] get-tuple-element(d), index=0\n",
                    sum =
                        "all-reduce(y), channel_id=7, replica_groups={{0,1,2}}, use_global_device_ids=true, "
                        "to_apply=sum";
  ExpectReplicasAgree(std::string(kSum) +
                          "zero { x = f32[5] parameter(0)  t = token[] after-all()  y = f32[5] tanh(x)  " + send +
                          "ROOT r = f32[5] negate(y) }\none { x = f32[5] parameter(0)  " + receive +
                          "y = f32[5] add(x, z)  " + send + "ROOT r = f32[5] copy(y) }\n" +
                          "two { x = f32[5] parameter(0)  " + receive + "ROOT r = f32[5] multiply(z, x) }\n" + head,
                      {3, 1});
  const std::string inner =
      "inner { y = f32[5] parameter(0)  a = f32[5] " + sum + "  ROOT n = f32[5] exponential(a) }\n";
  ExpectReplicasAgree(kSum + inner + "zero { y = f32[5] parameter(0)  a = f32[5] " + sum +
                          "  ROOT r = f32[5] sine(a) }\n" +
                          "one { x = f32[5] parameter(0)  y = f32[5] cosine(x)  s = f32[5] all-reduce-start(y), "
                          "channel_id=7, replica_groups={}, to_apply=sum  n = f32[5] negate(y)  "
                          "d = f32[5] all-reduce-done(s)  ROOT r = f32[5] add(d, n) }\n"
                          "two { x = f32[5] parameter(0)  i = u32[] replica-id()  k = s32[] convert(i)  "
                          "ROOT r = f32[5] conditional(k, x, x), branch_computations={inner, inner} }\n" +
                          head,
                      {3, 1});
}

TEST(ReplicasTest, DevicesThatPartBeforeTheyMeetAreADeadlock) {
  const auto module = ParseModule(LoopOf("a"));
  ASSERT_NE(module, nullptr);
  const auto merged = MergeDevices(*module, {2, 1}, {true, false});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  for (const int64_t second : {1, 5}) {
    const Literal x = RandomLiteral(Shape(ElementType::kF32, {3}), 0),
                  limits[] = {Literal::ScalarInt(ElementType::kS32, 2), Literal::ScalarInt(ElementType::kS32, second)};
    const Literal* pointers[] = {&x, &limits[0], &limits[1]};
    const auto result = Evaluate(*merged->module, pointers);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const auto leaves = LeavesByDevice(*merged, *result);
    EXPECT_EQ(leaves.status().code(), StatusCode::kDeviceFailure);
    EXPECT_EQ(
        leaves.status().message(),
        "deadlock: while w: replica 0, replica 1 go different ways, and all-reduce r inside waits for all of them");
  }
}

TEST(ReplicasTest, AnExecutableRunsAgainAfterADeadlock) {
  const auto module = ParseModule(LoopOf("a"));
  ASSERT_NE(module, nullptr);
  const auto merged = MergeDevices(*module, {2, 1}, {true, false});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {3}), 0);
  for (const BindingMode mode : ModesToRun()) {
    const auto executable = DeviceClient(mode)->Compile(*merged->module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const int64_t second : {2, 1, 2, 5, 2}) {
      SCOPED_TRACE(second);
      const Literal limits[] = {Literal::ScalarInt(ElementType::kS32, 2),
                                Literal::ScalarInt(ElementType::kS32, second)};
      const std::vector<const Literal*> pointers[] = {{&x, &limits[0]}, {&x, &limits[1]}};
      const auto result = (*executable)->Run(std::vector<const Literal*>{&x, &limits[0], &limits[1]});
      ASSERT_TRUE(result.ok()) << result.status().message();
      const auto leaves = LeavesByDevice(*merged, *result);
      ASSERT_EQ(leaves.ok(), second == 2);
      if (!leaves.ok()) {
        EXPECT_EQ(leaves.status().code(), StatusCode::kDeviceFailure);
        continue;
      }
      const auto expected = EvaluateReplicated(*module, {2, 1}, pointers);
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      for (size_t d = 0; d < 2; ++d) ExpectAgreement(*(*leaves)[d][0], (*expected)[d], {}, "result");
    }
  }
}

// By the device's own run of each replica, which says who went where.
TEST(ReplicasTest, TheReportOfADeadlockNamesWhoWaitsForWhom) {
  const auto module = ParseModule(LoopOf("a"));
  ASSERT_NE(module, nullptr);
  const auto client = OpenClient(DefaultDevice());
  ASSERT_TRUE(client.ok()) << client.status().message();
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {3}), 0);
  const Literal two = Literal::ScalarInt(ElementType::kS32, 2), five = Literal::ScalarInt(ElementType::kS32, 5);
  const Pointers same{{&x, &two}, {&x, &two}}, differ{{&x, &two}, {&x, &five}};
  auto executable = ReplicatedExecutable::Compile(**client, *module, {2, 1}, differ);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (const Pointers* arguments : {&same, &differ, &same}) {
    const auto result = executable->Run(*arguments);
    ASSERT_EQ(result.ok(), arguments == &same) << result.status().message();
    if (result.ok()) continue;
    EXPECT_EQ(
        result.status().message(),
        "deadlock: all-reduce r (channel_id 9): replica 0 waits for replica 1; replica 1 waits at all-reduce r for "
        "replica 0");
  }
}

// Loops and branches whose devices all stand at one place, by what their data say.
TEST(ReplicasTest, OtherPlacesHaveNoPartInGroupsOfOne) {
  std::string text = LoopOf("m");
  for (size_t at = text.find("replica_groups={}"); at != text.npos; at = text.find("replica_groups={}", at + 1)) {
    text.replace(at, 17, "replica_groups={{0,1},{2,3}}");
  }
  ExpectReplicasAgree(text, {4, 1});
}

// What data decide is asked of all places, so that they go one way; who waits for whom is said when one does not come.
TEST(ReplicasTest, PlacesThatPartAreADeadlock) {
  const auto module = ParseModule(LoopOf("a"));
  ASSERT_NE(module, nullptr);
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {3}), 0);
  const Literal two = Literal::ScalarInt(ElementType::kS32, 2), five = Literal::ScalarInt(ElementType::kS32, 5);
  EvaluateOptions options;
  options.collective_timeout = std::chrono::seconds(60);
  const Pointers same{{&x, &two}, {&x, &two}};
  auto placed =
      PlacedExecutable::Compile(*module, {2, 1}, Pointers{{&x, &two}, {&x, &five}}, {"cpu", "cpu"}, {}, options);
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  for (const Literal* second : {&two, &five, &two}) {
    const auto result = placed->Run(Pointers{{&x, &two}, {&x, second}});
    ASSERT_EQ(result.ok(), second == &two);
    if (result.ok()) continue;
    EXPECT_EQ(result.status().code(), StatusCode::kDeviceFailure);
    EXPECT_EQ(
        result.status().message(),
        "deadlock: all-reduce r (channel_id 9): replica 0 waits for replica 1; replica 1 waits at all-reduce r for "
        "replica 0");
  }
}

TEST(ReplicasTest, OverTwoPhysicalDevices) {
  if (std::getenv("VXLA_TEST_DEVICE") != nullptr) GTEST_SKIP() << "one of them is this device: once is enough";
  const std::vector<std::string> places = TwoDrivers();
  if (places.size() < 2) GTEST_SKIP() << "only one device is there, two are wanted";
  const auto module = ParseModule(std::string(kSum) + R"(body { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  x = f32[4] get-tuple-element(s), index=1  o = s32[] constant(1)
  j = s32[] add(i, o)  r = f32[4] all-reduce(x), replica_groups={{0,3},{1,2}}, to_apply=sum
  p = f32[4] collective-permute(r), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}  h = f32[4] tanh(p)
  ROOT t = (s32[], f32[4]) tuple(j, h) }
cond { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[4] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[4]) tuple(z, x)
  w = (s32[], f32[4]) while(s), condition=cond, body=body  y = f32[4] get-tuple-element(w), index=1
  g = f32[16] all-gather(y), replica_groups={}, dimensions={0}  d = f32[2,8] reshape(g)
  ROOT r = (f32[4], f32[2,8]) tuple(y, d) })");
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments;
  Pointers pointers;
  for (uint64_t d = 0; d < 4; ++d) arguments.push_back(RandomLiteral(Shape(ElementType::kF32, {4}), d));
  for (const Literal& argument : arguments) pointers.push_back({&argument});
  const auto expected = EvaluateReplicated(*module, {4, 1}, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ExpectPlacesAgree(*module, {4, 1}, pointers, places, *expected);
  for (const SharingWay way : {SharingWay::kHostPointer, SharingWay::kStaging})
    ExpectPlacesAgree(*module, {4, 1}, pointers, places, *expected, {way});
  for (const std::string& place : places) {
    for (const SharingWay way : {SharingWay::kExternalMemory, SharingWay::kHostPointer, SharingWay::kStaging})
      ExpectPlacesAgree(*module, {4, 1}, pointers, {place, place, place}, *expected, {way});
  }
}

// SwiftShader signals a submission's semaphores one after another: what one device tells another must be signalled
// before the host sees that the submission has ended, and frees it.
TEST(ReplicasTest, SemaphoresBetweenDevicesAreFreedWhenAllAreSignalled) {
  const auto module = ParseModule(std::string(kSum) + R"(ENTRY e { x = f32[4] parameter(0)
  r = f32[4] all-reduce(x), replica_groups={}, to_apply=sum  g = f32[16] all-gather(r), replica_groups={}, dimensions={0}
  ROOT t = (f32[4], f32[16]) tuple(r, g) })");
  ASSERT_NE(module, nullptr);
  std::vector<Literal> arguments;
  Pointers pointers;
  for (uint64_t d = 0; d < 4; ++d) arguments.push_back(RandomLiteral(Shape(ElementType::kF32, {4}), d));
  for (const Literal& argument : arguments) pointers.push_back({&argument});
  for (int i = 0; i < 12; ++i) {
    auto placed = PlacedExecutable::Compile(*module, {4, 1}, pointers, {"0", "0", "0", "0"}, DefaultDevice(), {});
    ASSERT_TRUE(placed.ok()) << placed.status().message();
    const auto result = placed->Run(pointers);
    ASSERT_TRUE(result.ok()) << result.status().message();
  }
}

// Places reduce what is their own before they share it: the same sums in the same order as at one place.
TEST(ReplicasTest, ReductionsOverPlacesHaveTheBitsOfOne) {
  for (const char* type : {"f32", "bf16", "f16", "s8", "c64"}) {
    const auto module = ParseModule(fmt::format(
        R"(sum {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] add(a, b) }}
odd {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  m = {0}[] multiply(a, b)  ROOT r = {0}[] add(m, b) }}
ENTRY e {{ x = {0}[5] parameter(0)  y = {0}[2,307] parameter(1)
  a = ({0}[5], {0}[2,307]) all-reduce(x, y), replica_groups={{}}, to_apply=sum
  b = {0}[5] all-reduce(x), replica_groups={{{{0,1,2,3,6}},{{4,7,5}}}}, to_apply=odd
  s = {0}[5] all-reduce-start(x), replica_groups={{{{7,6,5,4}},{{0,1,3,2}}}}, to_apply=sum
  c = {0}[5] all-reduce-done(s)
  ROOT r = (({0}[5], {0}[2,307]), {0}[5], {0}[5]) tuple(a, b, c) }})",
        type));
    ASSERT_NE(module, nullptr);
    std::vector<std::vector<Literal>> arguments;
    Pointers pointers;
    for (uint64_t d = 0; d < 8; ++d) arguments.push_back(RandomArguments(*module, d));
    for (const auto& own : arguments) pointers.push_back({&own[0], &own[1]});
    std::optional<Literal> expected;
    using enum ReductionForm;
    for (const int places : {1, 2, 3, 4, 8}) {
      for (const ReductionForm form :
           places == 3 ? std::vector{kWhole, kParts} : std::vector{places == 1 ? kWhole : kParts}) {
        auto placed = PlacedExecutable::Compile(*module, {8, 1}, pointers,
                                                std::vector<std::string>(static_cast<size_t>(places), "0"),
                                                DefaultDevice(), {}, {}, {{}, form});
        ASSERT_TRUE(placed.ok()) << placed.status().message();
        for (int run = 0; run < 2; ++run) {
          auto result = placed->Run(pointers);
          ASSERT_TRUE(result.ok()) << result.status().message();
          if (!expected) expected = *result;
          EXPECT_TRUE(*result == *expected) << type << " over " << places << ReductionFormText(form);
        }
      }
    }
  }
}

// Both neighbours' edges in a loop that is one kernel: a text that repeats for each element of a group has 128
// branches, which SwiftShader compiles for minutes.
TEST(ReplicasTest, EightThatExchangeEdgesInALoop) {
  const std::string text = R"(
cond { p = (s32[], f32[8,16]) parameter(0)  i = s32[] get-tuple-element(p), index=0  z = s32[] constant(5)
  ROOT r = pred[] compare(i, z), direction=LT }
body { p = (s32[], f32[8,16]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  x = f32[8,16] get-tuple-element(p), index=1  o = s32[] constant(1)  j = s32[] add(i, o)
  last = f32[1,16] slice(x), slice={[7:8], [0:16]}  first = f32[1,16] slice(x), slice={[0:1], [0:16]}
  above = f32[1,16] collective-permute(last), source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}
  below = f32[1,16] collective-permute(first), source_target_pairs={{1,0},{2,1},{3,2},{4,3},{5,4},{6,5},{7,6},{0,7}}
  e = f32[10,16] concatenate(above, x, below), dimensions={0}
  u = f32[8,16] slice(e), slice={[0:8], [0:16]}  d = f32[8,16] slice(e), slice={[2:10], [0:16]}
  s = f32[8,16] add(u, d)  y = f32[8,16] subtract(s, x)  ROOT t = (s32[], f32[8,16]) tuple(j, y) }
ENTRY e { x = f32[8,16] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[8,16]) tuple(z, x)
  w = (s32[], f32[8,16]) while(s), condition=cond, body=body  ROOT y = f32[8,16] get-tuple-element(w), index=1 })";
  const auto merged = MergeDevices(*ParseModule(text), {8, 1}, {false});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const auto client = DeviceClient(BindingMode::kDescriptors);
  const auto executable = client->Compile(*merged->module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  for (const KernelKey& kernel : (*executable)->plan().kernels) {
    int branches = 0;
    for (size_t at = 0; (at = kernel.generated.find("if (", at)) != std::string::npos; ++at) ++branches;
    EXPECT_LE(branches, 40) << kernel.algorithm;
  }
  ExpectReplicasAgree(text, {8, 1});
}

TEST(ReplicasTest, ManyThatMoveArrays) {
  ExpectReplicasAgree(
      "ENTRY e { x = f32[64,3] parameter(0)  n = f32[64,3] negate(x)  ROOT r = f32[64,3] all-to-all(n), "
      "dimensions={0}, "
      "replica_groups={} }",
      {64, 1});
  ExpectReplicasAgree(R"(ENTRY e { x = f32[16,3] parameter(0)  o = f32[16,3] parameter(1)
  a = s32[16] iota(), iota_dimension=0  one = s32[] constant(1)  ones = s32[16] broadcast(one), dimensions={}
  i = u32[] replica-id()  s = s32[] convert(i)  at = s32[16] broadcast(s), dimensions={}
  ROOT r = f32[16,3] ragged-all-to-all(x, o, a, ones, at, ones), replica_groups={} })",
                      {16, 1});
}

TEST(ReplicasTest, SixtyFourOfThem) {
  ExpectReplicasAgree(
      std::string(kSum) + R"(ENTRY e { x = f32[3] parameter(0)  i = u32[] replica-id()  c = f32[] convert(i)
  b = f32[3] broadcast(c), dimensions={}  y = f32[3] add(x, b)
  ROOT r = f32[3] all-reduce(y), replica_groups=[8,8]<=[64], to_apply=sum })",
      {64, 1});
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
