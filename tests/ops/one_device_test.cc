// Starts and dones, and exchanges between devices, in a run of one device: nothing of them runs on the host.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace one_device_test {

struct AloneCase {
  std::string name;
  std::string entry;  // the instructions between `a`, which is f32[4], and the root z
  std::string result = "f32[4]";
};

const AloneCase kCases[] = {
    {"AllReduceOfSeveral",
     "t = (f32[4], f32[4]) all-reduce(a, p), replica_groups={}, to_apply=add\n u = f32[4] get-tuple-element(t), "
     "index=0\n"
     "v = f32[4] get-tuple-element(t), index=1\n z = f32[4] subtract(u, v)"},
    {"AllReduceStart",
     "s = (f32[4], f32[4]) all-reduce-start(a, p), replica_groups={{0}}, to_apply=add\n"
     "d = (f32[4], f32[4]) all-reduce-done(s)\n u = f32[4] get-tuple-element(d), index=1\n z = f32[4] add(u, a)"},
    {"AllGatherStartOfSeveral",
     "s = ((f32[4], f32[4]), (f32[4], f32[4])) all-gather-start(a, p), replica_groups={}, dimensions={0}\n"
     "d = (f32[4], f32[4]) all-gather-done(s)\n u = f32[4] get-tuple-element(d), index=0\n z = f32[4] multiply(u, p)"},
    {"AllToAllOfTuples",
     "t = (f32[4]) all-to-all(a), replica_groups={{0}}\n u = f32[4] get-tuple-element(t), index=0\n z = f32[4] "
     "negate(u)"},
    {"AllToAll", "u = f32[4] all-to-all(a), replica_groups={}, dimensions={0}\n z = f32[4] negate(u)"},
    {"ReduceScatter",
     "u = f32[4] reduce-scatter(a), replica_groups={{0}}, dimensions={0}, to_apply=add\n z = f32[4] negate(u)"},
    {"BroadcastInAGroup", "u = f32[4] collective-broadcast(a), replica_groups={{0}}\n z = f32[4] negate(u)"},
    {"RaggedRowsToItself",
     "i = s32[2] constant({1, 0})\n n = s32[2] constant({2, 1})\n o = s32[2] constant({0, 1})\n"
     "u = f32[4] ragged-all-to-all(a, p, i, n, o, n), replica_groups={{0}}\n z = f32[4] negate(u)"},
    {"PermuteToItself", "u = f32[4] collective-permute(a), source_target_pairs={{0,0}}\n z = f32[4] negate(u)"},
    {"PermuteOfNobody", "u = f32[4] collective-permute(a), source_target_pairs={}\n z = f32[4] add(u, p)"},
    {"PermuteStart",
     "s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(a), source_target_pairs={{0,0}}\n"
     "d = f32[4] collective-permute-done(s)\n c = u32[] get-tuple-element(s), index=2\n f = f32[] convert(c)\n"
     "g = f32[4] broadcast(f), dimensions={}\n z = f32[4] add(d, g)"},
    {"CopyStart",
     "s = (f32[4], f32[4], u32[]) copy-start(a)\n d = f32[4] copy-done(s)\n o = f32[4] get-tuple-element(s), index=1\n"
     "z = f32[4] add(d, o)"},
    {"AsyncChain",
     "s = ((f32[4], f32[4]), f32[4], s32[]) async-start(a, p), calls=both\n u = ((f32[4], f32[4]), f32[4], s32[]) "
     "async-update(s)\n z = f32[4] async-done(u)"},
    {"AsyncCollective",
     "s = ((f32[4]), f32[4]) async-start(a), calls=scatter\n d = f32[4] async-done(s)\n z = f32[4] negate(d)"},
    {"Identities",
     "r = u32[] replica-id()\n q = u32[] partition-id()\n n = u32[] add(r, q)\n f = f32[] convert(n)\n"
     "g = f32[4] broadcast(f), dimensions={}\n z = f32[4] add(a, g)"},
    {"ControlEdges",
     "e = f32[4] exponential(p)\n u = f32[4] all-reduce(a), replica_groups={}, to_apply=add, "
     "control-predecessors={e}\n z = f32[4] subtract(u, e), control-predecessors={u}"},
    {"Tokens",
     "k = token[] after-all()\n l = token[] after-all(k)\n d = f32[4] add-dependency(a, l)\n z = f32[4] domain(d), "
     "domain={kind=\"sharding\", entry={replicated}, exit={manual}}"},
};

std::string TextOf(const std::string& entry) {
  return fmt::format(R"(add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
both {{ a = f32[4] parameter(0)  b = f32[4] parameter(1)  ROOT r = f32[4] multiply(a, b) }}
scatter {{ a = f32[4] parameter(0)  ROOT r = f32[4] reduce-scatter(a), replica_groups={{}}, dimensions={{0}}, to_apply=add }}
ENTRY e {{ p = f32[4] parameter(0)
a = f32[4] negate(p)
{}
ROOT root = (f32[4], f32[4]) tuple(z, a) }})",
                     entry);
}

class OneDeviceTest : public ::testing::TestWithParam<AloneCase> {};

TEST_P(OneDeviceTest, NeedsNoHost) {
  const std::string text = TextOf(GetParam().entry);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunBoth(text, RandomArguments(*module, 11));
  RunOptions unfused;
  unfused.fusion = false;
  RunBoth(text, RandomArguments(*module, 11), unfused);
}

INSTANTIATE_TEST_SUITE_P(Forms, OneDeviceTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// A loop's body exchanges too.
TEST(OneDeviceLoopTest, InABody) {
  const std::string text = R"(add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body { s = (s32[], f32[5]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[5] get-tuple-element(s), index=1
  one = s32[] constant(1)  j = s32[] add(i, one)  y = f32[5] all-reduce(x), replica_groups={}, to_apply=add
  w = f32[5] cosine(y)  ROOT t = (s32[], f32[5]) tuple(j, w) }
more { s = (s32[], f32[5]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[5] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[5]) tuple(z, x)
  ROOT w = (s32[], f32[5]) while(s), condition=more, body=body })";
  RunBoth(text, RandomArguments(*ParseModule(text), 3));
}

// What needs a second device is refused as the reference refuses it, not answered.
TEST(OneDeviceErrorTest, AGroupOfTwo) {
  const auto module = ParseModule(TextOf("z = f32[4] all-reduce(a), replica_groups={{0,1}}, to_apply=add"));
  ASSERT_NE(module, nullptr);
  auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const std::vector<Literal> arguments = RandomArguments(*module, 1);
  const Result<Literal> result = (*executable)->Run(std::vector<const Literal*>{&arguments[0]});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status().message(),
            "all-reduce z: replica_groups name 1, but the run has 1 replica (--replicas, --partitions)");
}

}  // namespace one_device_test
}  // namespace VXLA_NAMESPACE::testing
