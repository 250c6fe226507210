// Programs on several devices as a user meets them: stacked and shared arrays, feeds, deadlocks, what does not fit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command_test_support.h"
#include "tools/numpy_file.h"

namespace VXLA_NAMESPACE::testing {
namespace replicas_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSum[] =
    "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[2] parameter(0)  i = u32[] replica-id()  p = u32[] partition-id()\n"
    "s = f32[2] all-reduce(x), channel_id=1, replica_groups={}, to_apply=sum\n"
    "ROOT r = (f32[2], u32[], u32[]) tuple(s, i, p) }";

std::string SumProgram() { return WriteScratch("replicated_sum.hlo", kSum); }

void ExpectError(const CommandResult& result, int exit_code, const std::string& message) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, HasSubstr("vxla: error: "));
  EXPECT_THAT(result.err, HasSubstr(message));
}

Literal F32(const std::vector<int64_t>& dimensions, const std::vector<float>& values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, dimensions), values);
}

std::string Npz(const std::string& name, const std::string& prefix, const std::vector<Literal>& literals) {
  std::vector<const Literal*> pointers;
  for (const Literal& literal : literals) pointers.push_back(&literal);
  const std::string path = ScratchFolder() + "/" + name;
  EXPECT_TRUE(WriteNpz(path, prefix, pointers).ok());
  return path;
}

TEST(ReplicasCommandTest, StackedArraysAreDealtOutReplicaMajor) {
  const std::string x = WriteScratch("stacked.npy", NpyF32({4, 2}, {1, 2, 10, 20, 100, 200, 1000, 2000}));
  const CommandResult r = RunVxla("run " + SumProgram() + " --device cpu --replicas 2 --partitions 2 --args " + x);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out,
            "result_0: f32[4,2]\n[[1111. 2222.]\n [1111. 2222.]\n [1111. 2222.]\n [1111. 2222.]]\n"
            "result_1: u32[4]\n[0 0 1 1]\nresult_2: u32[4]\n[0 1 0 1]\n");
}

// Of a program of whole arrays arguments and results are whole, whatever runs it.
TEST(ReplicasCommandTest, ShardedProgramsTakeAndGiveWholeArrays) {
  const std::string program = WriteScratch("sharded.mlir", R"(module @m {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})");
  std::vector<float> values(16);
  for (size_t i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  const std::string a = WriteScratch("whole.npy", NpyF32({4, 4}, values));
  for (const char* devices :
       {" --device cpu --partitions 4", " --devices 4", " --devices cpu,cpu,cpu,cpu --partitions 4", ""}) {
    const CommandResult r = RunVxla("run " + program + devices + " --args " + a);
    EXPECT_EQ(r.exit_code, 0) << devices << r.err;
    EXPECT_EQ(r.out, "result_0: f32[4]\n[ 6. 22. 38. 54.]\n") << devices;
  }
  const CommandResult explained = RunVxla("explain " + program + " --devices 4 --shardings");
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("a = f32[4,4] parameter [{\"x\"}, {\"y\"}]: f32[2,2] each\n"));
  EXPECT_THAT(explained.out, HasSubstr("all-reduce: 1, 8 bytes sent by each device\n"));
  EXPECT_THAT(explained.out, HasSubstr("memory of each device: 16 bytes of arguments, 8 of results\n"));
  ExpectError(RunVxla("run " + program + " --partitions 3 --args " + a), 2,
              "a mesh of 4 devices in a program of 3 partitions");
  ExpectError(RunVxla("run " + program + " --devices 5000 --args " + a), 2,
              "--devices 5000: 4096 logical devices at most");
  ExpectError(RunVxla("run " + SumProgram() + " --replicas 2 --devices 4"), 2,
              "--devices 4: the program runs on 2 devices");
}

TEST(ReplicasCommandTest, AnArrayWithoutTheAxisGoesToAll) {
  const std::string x = WriteScratch("one.npy", NpyF32({2}, {1, 2}));
  const CommandResult r = RunVxla("run " + SumProgram() + " --device cpu --replicas 3 --args " + x);
  EXPECT_THAT(r.out, HasSubstr("result_0: f32[3,2]\n[[3. 6.]\n [3. 6.]\n [3. 6.]]\n"));
}

TEST(ReplicasCommandTest, OneDeviceAndSeveralAreNotBothNamed) {
  for (const char* command : {"run ", "diff ", "explain "}) {
    ExpectError(RunVxla(command + SumProgram() + " --replicas 2 --device cpu --devices llvmpipe,llvmpipe"), 2,
                "--device and --devices cannot be given together");
  }
}

TEST(ReplicasCommandTest, OneDeviceHasNoAxis) {
  const std::string x = WriteScratch("one.npy", NpyF32({2}, {1, 2}));
  EXPECT_THAT(RunVxla("run " + SumProgram() + " --device cpu --args " + x).out,
              HasSubstr("result_0: f32[2]\n[1. 2.]\n"));
}

TEST(ReplicasCommandTest, MissingArgumentsDifferFromDeviceToDevice) {
  const std::string program = WriteScratch("copy.hlo", "ENTRY e { x = f32[2] parameter(0)  ROOT r = f32[2] copy(x) }");
  const CommandResult r = RunVxla("run " + program + " --device cpu --replicas 2");
  EXPECT_THAT(r.err, HasSubstr("arguments: 1 seeded (seed 0, one for each of 2 devices)"));
  const size_t line = r.out.find("[["), next = r.out.find("\n ", line);
  EXPECT_NE(r.out.substr(line + 2, next - line - 2), r.out.substr(next + 3, r.out.find("]]") - next - 3));
}

TEST(ReplicasCommandTest, TheProgramSaysHowManyDevicesItNeeds) {
  const std::string program = WriteScratch("four.hlo", std::string("HloModule m, num_partitions=4\n") + kSum);
  const std::string x = WriteScratch("one.npy", NpyF32({2}, {1, 2}));
  const CommandResult r = RunVxla("run " + program + " --device cpu --json --args " + x);
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(nlohmann::json::parse(r.out)["partitions"], 4);
  ExpectError(RunVxla("run " + program + " --device cpu --partitions 3"), 2,
              "--partitions 3: the program says num_partitions=4");
}

TEST(ReplicasCommandTest, RejectsWhatDoesNotFit) {
  const std::string x = WriteScratch("three.npy", NpyF32({3, 2}, {1, 2, 3, 4, 5, 6}));
  ExpectError(RunVxla("run " + SumProgram() + " --device cpu --replicas 2 --args " + x), 2,
              "arg_0: a leading axis of 3, 2 devices (replicas times partitions)");
  ExpectError(RunVxla("run " + SumProgram() + " --device cpu --replicas 100 --partitions 100"), 2,
              "exceed the limit of 4096 devices");
  ExpectError(RunVxla("run " + SumProgram() + " --device cpu --replicas -2"), 2,
              "--replicas: -2 is not a whole number from 1 to ");
  for (const char* option : {"--replicas", "--partitions"})
    ExpectError(RunVxla("run " + SumProgram() + " --device cpu " + option + " 0"), 2,
                "0 is not a whole number from 1 to ");
  ExpectError(RunVxla("diff " + SumProgram() + " --replicas 2 --against vulkan:0"), 2,
              "--against vulkan:0: a program of 2 replicas and 1 partitions is compared with the CPU reference");
}

TEST(ReplicasCommandTest, AVulkanDeviceStandsForAllOfThem) {
  const std::string x = WriteScratch("stacked.npy", NpyF32({4, 2}, {1, 2, 10, 20, 100, 200, 1000, 2000}));
  const std::string flags = " --replicas 2 --partitions 2 --require-gpu";
  const CommandResult r = RunVxla("run " + SumProgram() + flags + " --args " + x);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out,
            "result_0: f32[4,2]\n[[1111. 2222.]\n [1111. 2222.]\n [1111. 2222.]\n [1111. 2222.]]\n"
            "result_1: u32[4]\n[0 0 1 1]\nresult_2: u32[4]\n[0 1 0 1]\n");
  const CommandResult diff = RunVxla("diff " + SumProgram() + flags + " --args " + x);
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("(2 x 2 devices)"));
  EXPECT_THAT(RunVxla("explain " + SumProgram() + " --replicas 2 --plan").out, HasSubstr("dispatch fusion (add)"));
}

TEST(ReplicasCommandTest, DevicesAreSpreadOverPlaces) {
  const std::string x = WriteScratch("stacked.npy", NpyF32({4, 2}, {1, 2, 10, 20, 100, 200, 1000, 2000}));
  const std::string program = SumProgram() + " --replicas 2 --partitions 2 --args " + x;
  for (const char* places : {"cpu,0", "0,0", "cpu,cpu,0,cpu,cpu"}) {
    const CommandResult r = RunVxla(fmt::format("run {} --devices {} --num-runs 2 --check-same", program, places));
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(r.out, RunVxla("run " + program + " --device cpu").out) << places;
  }
  EXPECT_THAT(RunVxla("diff " + program + " --devices 0,cpu").out, HasSubstr("AGREE: "));
  EXPECT_THAT(RunVxla("explain " + program + " --devices 0,0,0").out,
              HasSubstr("place 0, 0: replica 0 partition 0, replica 0 partition 1\nplace 1, 0: replica 1 partition 0\n"
                        "place 2, 0: replica 1 partition 1\n"));
  EXPECT_THAT(RunVxla("explain " + program + " --emulate queues --queues 3 --device llvmpipe").out,
              HasSubstr("place 0, llvmpipe: replica 0 partition 0 on queue 0, replica 0 partition 1 on queue 1, "
                        "replica 1 partition 0 on queue 0, replica 1 partition 1 on queue 1\n"));
  EXPECT_THAT(RunVxla("explain " + program + " --devices all").out, HasSubstr("place 0, vulkan:0: replica 0"));
  ExpectError(RunVxla("run " + program + " --devices 0,99"), 2, "99");
  ExpectError(RunVxla("run " + program + " --devices 0,cpu --profile"), 2, "--devices: --profile looks at one device");
}

TEST(ReplicasCommandTest, ADeadlockIsAFailureOfTheRun) {
  const std::string program =
      WriteScratch("deadlock.hlo",
                   "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
                   "yes { p = f32[] parameter(0)  ROOT ar = f32[] all-reduce(p), channel_id=3, replica_groups={},\n"
                   "  use_global_device_ids=true, to_apply=sum }\n"
                   "no { p = f32[] parameter(0)  ROOT n = f32[] negate(p) }\n"
                   "ENTRY e { x = f32[] parameter(0)  i = u32[] replica-id()  k = s32[] convert(i)\n"
                   "ROOT c = f32[] conditional(k, x, x), branch_computations={yes, no} }");
  for (const char* where : {"--device cpu", "--device llvmpipe", "--devices cpu,llvmpipe"}) {
    const CommandResult r = RunVxla("run " + program + " --replicas 2 " + where);
    ExpectError(r, 3, "deadlock: all-reduce ar (channel_id 3): replica 0 waits for replica 1; replica 1 has ended");
    EXPECT_THAT(r.err, HasSubstr("deadlock.hlo:2:"));
  }
}

TEST(ReplicasCommandTest, BeforeAVulkanRunTheReportNamesChannelAndWhoIsMissing) {
  const std::string program = WriteScratch("waits.hlo",
                                           "ENTRY e { k = token[] after-all()\n"
                                           "v = (f32[2], u32[], token[]) recv(k), channel_id=3, "
                                           "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}\n"
                                           "ROOT d = (f32[2], token[]) recv-done(v), channel_id=3 }");
  const CommandResult r = RunVxla("run " + program + " --replicas 2");
  ExpectError(r, 3, "deadlock: recv-done d (channel_id 3): replica 1 waits for replica 0; replica 0 has ended");
  EXPECT_THAT(r.err, HasSubstr("waits.hlo:3:"));
}

TEST(ReplicasCommandTest, AnEndlessLoopEndsWithTheTimeout) {
  const std::string program =
      WriteScratch("endless.hlo",
                   "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
                   "yes { p = f32[] parameter(0)  ROOT ar = f32[] all-reduce(p), replica_groups={}, to_apply=sum }\n"
                   "on { p = f32[] parameter(0)  ROOT t = pred[] constant(true) }\n"
                   "body { p = f32[] parameter(0)  ROOT n = f32[] negate(p) }\n"
                   "loop { p = f32[] parameter(0)  ROOT w = f32[] while(p), condition=on, body=body }\n"
                   "ENTRY e { x = f32[] parameter(0)  i = u32[] replica-id()  k = s32[] convert(i)\n"
                   "ROOT c = f32[] conditional(k, x, x), branch_computations={yes, loop} }");
  ExpectError(RunVxla("run " + program + " --device cpu --replicas 2 --collective-timeout 0.3"), 3,
              "deadlock: all-reduce ar: replica 0 has waited 0.3 s for replica 1; replica 1 computes ");
}

TEST(ReplicasCommandTest, DiffComparesStackedResultsWithAFile) {
  const std::string x = WriteScratch("stacked.npy", NpyF32({4, 2}, {1, 2, 10, 20, 100, 200, 1000, 2000}));
  const std::string saved = ScratchFolder() + "/sums.npz";
  const std::string common = SumProgram() + " --device cpu --replicas 4 --args " + x;
  ASSERT_EQ(RunVxla("run " + common + " -o " + saved).exit_code, 0);
  const CommandResult same = RunVxla("diff " + common + " --against " + saved);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("AGREE"));
  EXPECT_EQ(RunVxla("diff " + common).exit_code, 0);
  const std::string other = WriteScratch("other.npy", NpyF32({2}, {1, 2}));
  const CommandResult differ =
      RunVxla("diff " + SumProgram() + " --device cpu --replicas 4 --args " + other + " --against " + saved);
  EXPECT_EQ(differ.exit_code, 1);
  EXPECT_THAT(differ.out, HasSubstr("DIFFER"));
}

constexpr char kFeeds[] =
    "ENTRY e { t = token[] after-all()  a = (f32[2], token[]) infeed(t)  x = f32[2] get-tuple-element(a), index=0\n"
    "u = token[] get-tuple-element(a), index=1  b = ((f32[2], f32[]), token[]) infeed(u)\n"
    "v = token[] get-tuple-element(b), index=1  c = (f32[2], f32[]) get-tuple-element(b), index=0\n"
    "y = f32[2] get-tuple-element(c), index=0  n = f32[2] negate(x)  o = token[] outfeed(n, v)\n"
    "q = (f32[2], f32[2]) tuple(x, y)  p = token[] outfeed(q, o)  ROOT r = f32[2] add(x, y) }";

TEST(FeedsCommandTest, ItemsComeFromAFileAndGoToAnother) {
  const std::string program = WriteScratch("feeds.hlo", kFeeds), out = ScratchFolder() + "/out.npz";
  const std::string in = Npz("in.npz", "infeed", {F32({2, 2}, {1, 2, 3, 4}), F32({2}, {10, 20}), F32({}, {7})});
  for (const char* device : {"--device cpu", "--device vulkan", "--devices 0,cpu", "--devices 0,0"}) {
    const CommandResult r =
        RunVxla(fmt::format("run {} {} --replicas 2 --infeed {} --outfeed {}", program, device, in, out));
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(r.out, "result_0: f32[2,2]\n[[11. 22.]\n [13. 24.]]\n");
    const auto file = NpzFile::Open(out);
    ASSERT_TRUE(file.ok());
    ASSERT_EQ((*file)->names().size(), 3u);
    EXPECT_TRUE(*ToLiteral(*(*file)->Read("outfeed_0"), "", "outfeed_0") == F32({2, 2}, {-1, -2, -3, -4}));
    EXPECT_TRUE(*ToLiteral(*(*file)->Read("outfeed_2"), "", "outfeed_2") == F32({2, 2}, {10, 20, 10, 20}));
  }
}

TEST(FeedsCommandTest, ItemsHaveTheirLiveSize) {
  const std::string program = WriteScratch(
      "live_feeds.hlo",
      "ENTRY e { t = token[] after-all()  a = (f32[<=5], token[]) infeed(t)  x = f32[<=5] get-tuple-element(a), "
      "index=0\n"
      "u = token[] get-tuple-element(a), index=1  n = f32[<=5] negate(x)  ROOT o = token[] outfeed(n, u) }");
  const std::string in = Npz("live_in.npz", "infeed", {F32({2, 3}, {1, 2, 3, 4, 5, 6})}),
                    out = ScratchFolder() + "/live_out.npz";
  const CommandResult r = RunVxla("run " + program + " --device cpu --replicas 2 --infeed " + in + " --outfeed " + out);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const auto file = NpzFile::Open(out);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(*ToLiteral(*(*file)->Read("outfeed_0"), "", "outfeed_0") == F32({2, 3}, {-1, -2, -3, -4, -5, -6}));
}

TEST(FeedsCommandTest, SaysWhatIsMissing) {
  const std::string program = WriteScratch("feeds.hlo", kFeeds);
  ExpectError(RunVxla("run " + program + " --device cpu"), 2, "infeed a: the run has no infeed");
  const std::string short_one = Npz("short.npz", "infeed", {F32({2}, {1, 2}), F32({2}, {10, 20})});
  ExpectError(RunVxla("run " + program + " --device cpu --infeed " + short_one), 2,
              "has no infeed_2, which must be f32[]");
  const std::string wrong = Npz("wrong.npz", "infeed", {F32({3}, {1, 2, 3})});
  ExpectError(RunVxla("run " + program + " --device cpu --infeed " + wrong), 2, "infeed_0");
  EXPECT_FALSE(std::filesystem::exists(ScratchFolder() + "/never.npz"));
  ExpectError(
      RunVxla("run " + program + " --device cpu --infeed " + wrong + " --outfeed " + ScratchFolder() + "/never.npz"), 2,
      "infeed_0");
  EXPECT_FALSE(std::filesystem::exists(ScratchFolder() + "/never.npz"));
}

TEST(CustomCallCommandTest, AnUnknownTargetIsAnInputError) {
  const std::string program =
      WriteScratch("custom.hlo", "ENTRY e { ROOT r = f32[] custom-call(), custom_call_target=\"mine\" }");
  ExpectError(RunVxla("run " + program + " --device cpu"), 2,
              program + ":1:16: custom-call r: no function is registered for \"mine\"");
}

}  // namespace replicas_test
}  // namespace VXLA_NAMESPACE::testing
