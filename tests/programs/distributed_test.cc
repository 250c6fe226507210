// Programs whose devices are processes of a job, over sockets and by MPI: the bits of one process, and what is said
// when something is amiss.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/command_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace distributed_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// In place of the sum in a turn of a loop, for ranks of KilledRank: the sum, of a function that ends rank 1 in its
// tenth turn.
constexpr char kEndsRank1[] = "custom-call(s3), custom_call_target=\"ends_rank_1\"";

// A loop that adds up over all replicas, passes on to the next one and gathers; `trips` times. `sum`: what becomes of a
// turn's sum, s3.
std::string Program(int replicas, int trips, const std::string& sum = "copy(s3)") {
  std::string next;
  for (int r = 0; r < replicas; ++r) next += fmt::format("{}{{{},{}}}", r == 0 ? "" : ",", r, (r + 1) % replicas);
  return WriteScratch(
      fmt::format("distributed_{}_{}.hlo", replicas, trips),
      fmt::format("HloModule m, replica_count={0}\n"
                  "sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}\n"
                  "body {{ s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
                  "  x = f32[3] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)\n"
                  "  s3 = f32[3] all-reduce(x), replica_groups={{}}, to_apply=sum  t = f32[3] {5}\n"
                  "  p = f32[3] collective-permute(x), source_target_pairs={{{1}}}\n"
                  "  h = f32[] constant({2})  hs = f32[3] broadcast(h), dimensions={{}}\n"
                  "  m = f32[3] multiply(t, hs)  y = f32[3] subtract(m, p)\n"
                  "  ROOT r = (s32[], f32[3]) tuple(j, y) }}\n"
                  "more {{ s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0\n"
                  "  n = s32[] constant({3})  ROOT l = pred[] compare(i, n), direction=LT }}\n"
                  "ENTRY e {{ x = f32[3] parameter(0)  w = f32[2] parameter(1)  z = s32[] constant(0)\n"
                  "  s = (s32[], f32[3]) tuple(z, x)\n"
                  "  l = (s32[], f32[3]) while(s), condition=more, body=body\n"
                  "  y = f32[3] get-tuple-element(l), index=1\n"
                  "  g = f32[{4}] all-gather(y), dimensions={{0}}, replica_groups={{}}  i = u32[] replica-id()\n"
                  "  ROOT r = (f32[{4}], f32[3], u32[], f32[2]) tuple(g, y, i, w) }}\n",
                  replicas, next, 1.0 / replicas, trips, 3 * replicas, sum));
}

// Nobody listens there, and no connection of others gets it meanwhile: systems give these ports from 32768 on.
int FreePort() {
  static int next = 10000 + static_cast<int>(getpid()) * 31 % 20000;
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  do {
    address.sin_port = htons(static_cast<uint16_t>(next++));
  } while (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0);
  close(socket);
  return ntohs(address.sin_port);
}

// A process for each of these arguments. The exit code is the first one's.
std::string Job(const std::vector<std::string>& ranks) {
  std::string script = fmt::format("export VXLA_COORDINATOR=127.0.0.1:{} VXLA_RANKS={}\n", FreePort(), ranks.size());
  for (size_t rank = 1; rank < ranks.size(); ++rank)
    script += fmt::format("VXLA_RANK={} \"$VXLA\" run --distributed {} &\n", rank, ranks[rank]);
  return script + fmt::format("VXLA_RANK=0 \"$VXLA\" run --distributed {}; first=$?; wait; exit $first", ranks[0]);
}
std::string Job(int ranks, const std::string& arguments) {
  return Job(std::vector<std::string>(static_cast<size_t>(ranks), arguments));
}

TEST(DistributedTest, RanksGiveTheBitsOfOneProcess) {
  for (const int replicas : {2, 5}) {
    const std::string program = Program(replicas, 3);
    const CommandResult one = RunVxla("run " + program + " --device llvmpipe");
    ASSERT_EQ(one.exit_code, 0) << one.err;
    for (const int ranks : {2, 4}) {  // more ranks than devices: the others have nothing to do
      const CommandResult job = RunShell(Job(ranks, program + " --num-runs 2 --check-same --device llvmpipe"));
      EXPECT_EQ(job.exit_code, 0) << job.err;
      EXPECT_EQ(job.out, one.out) << ranks << " ranks";
      EXPECT_EQ(job.err, one.err + "vxla: note: 2 runs gave the same bits\n");
    }
  }
}

// A hundred steps of gradient descent, each replica on data of its own: the weights, and whether all hold the same
// bits.
constexpr char kTraining[] = R"(HloModule m, replica_count=4
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
both { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(a, b) }
body { s = (s32[], f32[5], f32[16,5], f32[16]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  w = f32[5] get-tuple-element(s), index=1  x = f32[16,5] get-tuple-element(s), index=2
  y = f32[16] get-tuple-element(s), index=3  one = s32[] constant(1)  j = s32[] add(i, one)
  p = f32[16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  t = f32[16] tanh(p)  e = f32[16] subtract(t, y)
  g = f32[5] dot(e, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[5] all-reduce(g), channel_id=1, replica_groups={}, to_apply=sum
  rate = f32[] constant(0.003)  rates = f32[5] broadcast(rate), dimensions={}  d = f32[5] multiply(all, rates)
  v = f32[5] subtract(w, d)  ROOT r = (s32[], f32[5], f32[16,5], f32[16]) tuple(j, v, x, y) }
more { s = (s32[], f32[5], f32[16,5], f32[16]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100)  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[16,5] parameter(0)  y = f32[16] parameter(1)  z = s32[] constant(0)  f = f32[] constant(0)
  w = f32[5] broadcast(f), dimensions={}  s = (s32[], f32[5], f32[16,5], f32[16]) tuple(z, w, x, y)
  l = (s32[], f32[5], f32[16,5], f32[16]) while(s), condition=more, body=body  v = f32[5] get-tuple-element(l), index=1
  row = f32[1,5] reshape(v)  g = f32[4,5] all-gather(row), dimensions={0}, replica_groups={}
  own = f32[4,5] broadcast(v), dimensions={1}  same = pred[4,5] compare(g, own), direction=EQ
  true = pred[] constant(true)  q = pred[] reduce(same, true), dimensions={0,1}, to_apply=both
  ROOT all = (f32[5], pred[]) tuple(v, q) }
)";

TEST(DistributedTest, ReplicasThatTrainStayTheSame) {
  const std::string program = WriteScratch("training.hlo", kTraining);
  const std::string out = ScratchFolder() + "/trained.npz", saved = program + " -o " + out;
  for (const std::string& run :
       {"\"$VXLA\" run " + saved + " --device llvmpipe", "\"$VXLA\" run " + saved + " --devices llvmpipe,llvmpipe",
        Job(2, saved + " --device llvmpipe")}) {
    const CommandResult trained = RunShell("rm -f " + out + "; " + run);
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    // The reference's replicas give the same, and all theirs are equal.
    const CommandResult diff = RunVxla("diff " + program + " --device cpu --against " + out);
    EXPECT_EQ(diff.exit_code, 0) << run << diff.out;
  }
  EXPECT_THAT(RunVxla("run " + program + " --device cpu").out, HasSubstr("result_1: pred[4]\n[True True True True]\n"));
}

TEST(DistributedTest, DevicesOfRanksMayDiffer) {
  const std::string program = Program(4, 2);
  const std::string run = program + " --json -o " + ScratchFolder();
  const CommandResult job =
      RunShell(Job({run + "/first.npz --device llvmpipe", run + "/second.npz --device SwiftShader"}));
  ASSERT_EQ(job.exit_code, 0) << job.err;
  EXPECT_NE(access((ScratchFolder() + "/second.npz").c_str(), F_OK), 0);
  EXPECT_THAT(job.out, AllOf(HasSubstr("\"rank\": 0"), HasSubstr("\"ranks\": 2"), Not(HasSubstr("\"rank\": 1"))));
  EXPECT_EQ(RunVxla("diff " + program + " --device llvmpipe --against " + ScratchFolder() + "/first.npz").exit_code, 0);
}

TEST(DistributedTest, WhatRanksDoNotShareIsFoundBeforeTheyExchange) {
  const auto two = [&](const std::string& first, const std::string& second) {
    return RunShell(Job({first + " --collective-timeout 20", second + " --collective-timeout 20"}));
  };
  const std::string program = Program(2, 1) + " --device cpu", other = Program(2, 2) + " --device cpu";
  const CommandResult programs = two(program, other);
  EXPECT_EQ(programs.exit_code, 2) << programs.err;
  EXPECT_THAT(programs.err, HasSubstr("all ranks run one program: the program of rank 1 differs from rank 0's"));
  const CommandResult data = two(program, program + " --seed 7");
  EXPECT_EQ(data.exit_code, 2) << data.err;
  EXPECT_THAT(data.err, HasSubstr("the data of rank 1 differs from rank 0's (this is rank 0)"));
  const CommandResult device = two(program, Program(2, 1) + " --device nosuch");
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_THAT(device.err, AllOf(HasSubstr("vxla: error: no device is named like 'nosuch'"),
                                HasSubstr("vxla: error: rank 1 did not start: no device is named like 'nosuch'")));
  const std::string gone = ScratchFolder() + "/gone.hlo";
  const CommandResult file = two(program, gone + " --device cpu");
  EXPECT_EQ(file.exit_code, 2) << file.err;
  EXPECT_THAT(file.err, AllOf(HasSubstr("vxla: error: " + gone), HasSubstr("vxla: error: rank 1 did not start: " + gone)));
  const CommandResult flags = two(program, program + " --check-same");
  EXPECT_EQ(flags.exit_code, 2);
  EXPECT_THAT(flags.err, HasSubstr("vxla: error: rank 1 did not start: --check-same compares runs"));
  const CommandResult feeds = RunShell(Job(1, program + " --infeed x.npz"));
  EXPECT_EQ(feeds.exit_code, 2);
  EXPECT_THAT(feeds.err, HasSubstr("vxla: error: --distributed: --infeed is for one process"));
}

TEST(DistributedTest, RanksThatContradictEachOtherOrDoNotComeAreNamed) {
  const std::string run = "\"$VXLA\" run --distributed --device cpu " + Program(2, 1);
  const auto ends = [&](const std::string& script, const std::string& says) {
    const CommandResult ended = RunShell(script);
    EXPECT_NE(ended.exit_code, 0);
    EXPECT_THAT(ended.err, HasSubstr(says));
  };
  ends(run + " --rank 1", "--rank and --ranks: --coordinator HOST:PORT says where the processes meet");
  ends(run + " --coordinator localhost:1", "--coordinator localhost:1: --ranks says how many processes there are");
  ends(run + " --coordinator localhost:1 --ranks 2 --rank 2", "rank 2 of 2 ranks: they count from 0");
  ends(run + " --coordinator localhost --ranks 2 --rank 0", "coordinator 'localhost': HOST:PORT is wanted");
  const std::string at = fmt::format(" --coordinator 127.0.0.1:{}", FreePort());
  ends(run + at + " --ranks 3 --rank 0 --collective-timeout 1",
       "rank 0 waits at " + at.substr(15) + " for ranks 1, 2, which have not come in 1000 ms");
  ends(run + at + " --ranks 3 --rank 2 --collective-timeout 1",
       "rank 2 waits for rank 0, which has not come to " + at.substr(15) + " in 1000 ms");
  const std::string others = run + at + " --ranks 3 --collective-timeout 20 --rank ";
  for (const auto& [wrong, says] : {std::pair("--ranks 2 --rank 1", "rank 1 is one of 2 ranks, and rank 0 one of 3"),
                                    std::pair("--ranks 3 --rank 2", "two processes say that they are rank 2 of 3")}) {
    const CommandResult ended = RunShell(others + "0 & " + others + "2 & sleep 0.3; " + run + at +
                                         " --collective-timeout 20 " + wrong + "; wait");
    // All of them say so, but for one that may not have come yet.
    const size_t first = ended.err.find(says);
    EXPECT_NE(first, std::string::npos) << ended.err;
    EXPECT_NE(ended.err.find(says, first + 1), std::string::npos) << ended.err;
  }
}

// What runs a program whose rank 1 ends in its tenth turn.
std::string Ends(const std::string& options, const std::string& program) {
  return fmt::format("{} --custom-call ends_rank_1={}:ends_rank_1 {}", options, VXLA_TEST_CUSTOM_CALLS, program);
}

TEST(DistributedTest, ARankThatIsKilledIsReportedByAllOthers) {
  const CommandResult late =
      RunShell(Job(3, Ends("--device cpu --collective-timeout 60", Program(3, 100'000'000, kEndsRank1))));
  EXPECT_EQ(late.exit_code, 3);
  for (const int rank : {0, 2}) {
    EXPECT_THAT(late.err,
                ::testing::ContainsRegex(fmt::format("place {0} .rank {0}: replica {0}. waits for place [0-2] "
                                                     ".rank [0-2]: replica [0-2]., which has ended",
                                                     rank)));
  }
  EXPECT_THAT(late.err, HasSubstr("waits for place 1 (rank 1: replica 1), which has ended"));
}

// Two loops in which all replicas meet, as often together, by counters that data set.
std::string ApartProgram(const std::string& sum = "copy(s3)") {
  return WriteScratch("apart.hlo", R"(HloModule m, replica_count=4
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1  o = s32[] constant(1)  j = s32[] add(i, o)
  s3 = f32[3] all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum
  t = f32[3] )" + sum + R"(  h = f32[3] tanh(t)
  ROOT r = (s32[], f32[3]) tuple(j, h) }
more { s = (s32[], f32[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[3] parameter(0)  d = u32[] replica-id()  z = s32[] convert(d)  s = (s32[], f32[3]) tuple(z, x)
  w = (s32[], f32[3]) while(s), condition=more, body=body  y = f32[3] get-tuple-element(w), index=1
  c = f32[3] cosine(y)  m = s32[] negate(z)  u = (s32[], f32[3]) tuple(m, c)
  v = (s32[], f32[3]) while(u), condition=more, body=body  ROOT r = f32[3] get-tuple-element(v), index=1 }
)");
}

TEST(DistributedTest, ReplicasOfRanksRunApart) {
  const std::string program = ApartProgram();
  const CommandResult one = RunVxla("run " + program + " --device llvmpipe");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  for (const int ranks : {2, 3}) {
    const CommandResult job = RunShell(Job(ranks, program + " --num-runs 3 --check-same --device llvmpipe"));
    EXPECT_EQ(job.exit_code, 0) << job.err;
    EXPECT_EQ(job.out, one.out) << ranks << " ranks";
  }
  const CommandResult reference = RunShell(Job(2, program + " --device cpu"));
  EXPECT_EQ(reference.exit_code, 2) << reference.err;
  EXPECT_THAT(reference.err,
              HasSubstr("the devices of a job run apart on Vulkan devices alone, and a rank has the reference"));
}

// Rank 1 has replica 2, and is killed at some run of very many, on its way through the first loop.
TEST(DistributedTest, ARankThatIsKilledWhileReplicasRunApartIsReported) {
  const CommandResult late =
      RunShell(Job(3, Ends("--device llvmpipe --collective-timeout 60 --num-runs 1000000", ApartProgram(kEndsRank1))));
  EXPECT_EQ(late.exit_code, 3);
  EXPECT_THAT(late.err, ::testing::ContainsRegex("rank 1 has ended|waits for (place 1 .rank 1: replica 2.|rank 1), "
                                                 "which has ended|replica [013] waits for replica 2"));
}

#ifdef VXLA_MPIRUN

CommandResult RunByMpi(const std::string& arguments) {
  return RunShell(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none "
      "OMPI_MCA_rmaps_base_oversubscribe=1 " VXLA_MPIRUN " -n 3 \"$VXLA\" run --distributed " +
      arguments);
}

TEST(DistributedTest, RanksOfMpiGiveTheBitsOfOneProcess) {
  const std::string program = Program(5, 3);
  const CommandResult one = RunVxla("run " + program + " --device llvmpipe");
  const CommandResult job = RunByMpi(program + " --device llvmpipe");
  EXPECT_EQ(job.exit_code, 0) << job.err;
  EXPECT_EQ(job.out, one.out);
}

TEST(DistributedTest, WhenALauncherEndsTheJobThoseWhoWaitSaySo) {
  const CommandResult ended =
      RunByMpi(Ends("--device cpu --collective-timeout 60", Program(3, 100'000'000, kEndsRank1)));
  EXPECT_EQ(ended.exit_code, 137);  // the killed rank's
  EXPECT_THAT(ended.err, ::testing::ContainsRegex(
                             "deadlock: (all-reduce s3|collective-permute p): place [02] .rank [02]: replica [02]. "
                             "waits for place [0-2] .rank [0-2]: replica [0-2]., which has not come before the "
                             "launcher ended the job"));
}

TEST(DistributedTest, WithoutALauncherOneProcessHasAllDevices) {
  const std::string program = Program(2, 1);
  const CommandResult one = RunVxla("run " + program + " --device cpu");
  const CommandResult job = RunShell("\"$VXLA\" run --distributed --device cpu " + program);
  EXPECT_EQ(job.exit_code, 0) << job.err;
  EXPECT_EQ(job.out, one.out);
}

#endif  // VXLA_MPIRUN

}  // namespace distributed_test
}  // namespace VXLA_NAMESPACE::testing
