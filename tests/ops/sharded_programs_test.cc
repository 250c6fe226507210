// Random programs of whole arrays with random shardings, on the devices of one physical device, of two, and of the
// processes of a job.
#include <cstdlib>
#include <numeric>

#include "core/host/hash.h"
#include "tests/support/replica_runs.h"
#include "tests/support/sharded_runs.h"
#include "tests/support/socket_ranks.h"

namespace VXLA_NAMESPACE::testing {
namespace {

void ExpectAgreesOnDevices(const ShardedRun& run) {
  RunOptions judged;
  judged.leaf_tolerances = run.tolerances();
  ExpectArgumentsAgree(*run.module, run.grid, run.pointers(), /*equal=*/0, /*at_places=*/false, judged);
}

TEST(ShardedProgramsDeviceTest, RandomProgramsAgreeWithTheReference) { RunShardedPrograms(12, ExpectAgreesOnDevices); }

// Of several devices' tiles one value that has no elements: a kernel that reads it has nothing to read.
TEST(ShardedProgramsDeviceTest, GatheredTilesWithoutElementsAreWritten) {
  ShardedRun run;
  const Status made = MakeShardedRun(801398, run);
  ASSERT_TRUE(made.ok()) << made.message();
  ExpectAgreesOnDevices(run);
}

TEST(ShardedProgramsPlacesTest, TwoDriversTogetherAgreeWithTheReference) {
  const std::vector<std::string> places = TwoDrivers();
  if (places.size() < 2) GTEST_SKIP() << "there are no two drivers";
  RunShardedPrograms(2, [&](const ShardedRun& run) {
    const auto expected = EvaluateReplicated(*run.module, run.grid, run.pointers());
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    RunOptions judged;
    judged.leaf_tolerances = run.tolerances();
    ExpectPlacesAgree(*run.module, run.grid, run.pointers(), places, *expected, {}, judged);
  });
}

// Of a job of processes that VXLA_COORDINATOR, VXLA_RANKS and VXLA_RANK tell of, this one; else null.
std::shared_ptr<Connections> JobOfProcesses() {
  const char *const coordinator = std::getenv("VXLA_COORDINATOR"), *const ranks = std::getenv("VXLA_RANKS"),
                    *const rank = std::getenv("VXLA_RANK");
  if (coordinator == nullptr || ranks == nullptr || rank == nullptr) return nullptr;
  const JobRank self{std::atoi(rank), std::atoi(ranks)};
  auto opened = Connections::Open(self, TellThrough(coordinator, self, kRankTimeout), kRankTimeout);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return opened.ok() ? *std::move(opened) : nullptr;
}

// On the reference in each: tests/pjrt/processes_test.py has Vulkan devices. Ranks are threads, or processes that are
// started with the three variables.
TEST(ShardedProgramsPlacesTest, RanksOfAJobGiveWhatOneDeviceGives) {
  const std::shared_ptr<Connections> job = JobOfProcesses();
  RunShardedPrograms(6, [&](const ShardedRun& run) {
    std::optional<Literal> stacked;
    const auto run_rank = [&](ProcessGroup& group) {
      JobMembership member{&group, {kRankTimeout, nullptr}, {}};
      member.options.device = "cpu";
      member.order = MemberOrder::kInARow;
      auto placed = PlacedExecutable::CompileInJob(*run.module, run.grid, run.pointers(), member, {});
      ASSERT_TRUE(placed.ok()) << placed.status().message();
      auto result = placed->RunInJob(run.pointers());
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->has_value(), group.rank() == 0);
      if (result->has_value()) stacked = std::move(**result);
    };
    if (job != nullptr) {
      std::vector<int64_t> all(static_cast<size_t>(job->self().ranks));
      std::iota(all.begin(), all.end(), 0);
      run_rank(*job->Group(all, HashText(run.text)));
      if (job->self().rank > 0) return;
    } else {
      RunRanks(std::min<int64_t>(4, run.grid.count()), [&](const std::shared_ptr<Connections>& connections) {
        const auto group = connections->All();
        run_rank(*group);
        group->Finish();
      });
    }
    ASSERT_TRUE(stacked.has_value());
    std::vector<std::vector<Literal>> rows(run.expected.size());
    std::vector<std::vector<const Literal*>> leaves(run.expected.size());
    for (size_t d = 0; d < rows.size(); ++d) {
      rows[d].reserve(run.expected[d].size());
      for (size_t k = 0; k < run.expected[d].size(); ++k) {
        Literal row(run.expected[d][k].shape());
        const std::span<const std::byte> all = FlattenLiteral(*stacked)[k]->bytes();
        const size_t size = row.bytes().size();
        ASSERT_EQ(all.size(), size * rows.size());
        std::ranges::copy(all.subspan(d * size, size), row.mutable_bytes().begin());
        leaves[d].push_back(&rows[d].emplace_back(std::move(row)));
      }
    }
    ExpectResultsOf(run, leaves);
    // The same bits as of threads that meet one another: the reference adds up alike.
    const auto together = EvaluateReplicated(*run.module, run.grid, run.pointers());
    ASSERT_TRUE(together.ok()) << together.status().message();
    for (size_t d = 0; d < leaves.size(); ++d) {
      const auto want = FlattenLiteral((*together)[d]);
      for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(*leaves[d][k] == *want[k]) << "result " << k << " of " << d;
    }
  });
}

// Runs a program of integers on the reference's four devices: the bits of one device, whatever devices exchange.
template <typename State>
void ExpectBitsOfOneDevice(const std::string& program, const DeviceMesh& mesh, State state, ShardedRun& run) {
  SCOPED_TRACE(program);
  const Status made = PartitionRun(program, mesh, 47, state, run);
  ASSERT_TRUE(made.ok()) << made.message();
  SCOPED_TRACE(run.text);
  run.errors = {0};
  const auto results = EvaluateReplicated(*run.module, run.grid, run.pointers());
  ASSERT_TRUE(results.ok()) << results.status().message();
  std::vector<std::vector<const Literal*>> leaves;
  for (const Literal& result : *results) leaves.push_back(FlattenLiteral(result));
  ExpectResultsOf(run, leaves);
}

ArraySharding Along(const DeviceMesh& mesh, const Shape& shape, int dimension) {
  ArraySharding sharding;
  sharding.mesh = std::make_shared<const DeviceMesh>(mesh);
  sharding.dimensions.resize(static_cast<size_t>(shape.rank()));
  if (dimension >= 0) sharding.dimensions[static_cast<size_t>(dimension)].axes = {{"x"}};
  return sharding;
}

TEST(ShardedProgramsTest, ReversedAlongADividedDimensionIsAsOnOneDevice) {
  const DeviceMesh mesh{{{"x", 4}}, {}};
  for (const int size : {0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}) {
    ShardedRun run;
    const auto state = [&](const Module& module) {
      StatedShardings stated;
      stated.mesh = std::make_shared<const DeviceMesh>(mesh);
      for (const auto& instruction : module.entry()->instructions()) {
        if (instruction->opcode() == Opcode::kCopy)
          stated.constraints.emplace(instruction.get(), Along(mesh, instruction->shape(), 1));
      }
      return stated;
    };
    ExpectBitsOfOneDevice(
        fmt::format("HloModule m\nENTRY e {{\n  a = s32[3,{0}] parameter(0)\n  c = s32[3,{0}] copy(a)\n  "
                    "r = s32[3,{0}] reverse(c), dimensions={{0,1}}\n  ROOT d = s32[3,{0}] copy(r)\n}}",
                    size),
        mesh, state, run);
    EXPECT_EQ(run.text.find("collective-permute(") == std::string::npos, size == 0) << run.text;
    EXPECT_EQ(run.text.find("all-gather(a"), std::string::npos) << run.text;
  }
}

// Windows of any kind along a divided dimension of integers: what devices exchange for them, or gather, changes no bit.
TEST(ShardedProgramsTest, WindowsAlongADividedDimensionAreThoseOfOneDevice) {
  const DeviceMesh mesh{{{"x", 4}}, {}};
  int gathered = 0;
  const auto run_one = [&](const std::string& program, int operand_dimension, int result_dimension) {
    ShardedRun run;
    const auto state = [&](const Module& module) {
      StatedShardings stated;
      stated.mesh = std::make_shared<const DeviceMesh>(mesh);
      for (const Instruction* parameter : module.entry()->parameters()) {
        const bool is_first = parameter->parameter_number() == 0;
        stated.parameters.push_back(Along(mesh, parameter->shape(), is_first ? operand_dimension : -1));
      }
      const Shape& result = module.entry()->root()->shape();
      const bool is_even = result.dimension(result_dimension) % 4 == 0;
      stated.results.push_back(Along(mesh, result, is_even ? result_dimension : -1));
      return stated;
    };
    ExpectBitsOfOneDevice(program, mesh, state, run);
    gathered += run.text.find("all-gather(a)") != std::string::npos ? 1 : 0;
  };
  struct Window {
    int64_t size = 1, stride = 1, low = 0, high = 0, every = 1, apart = 1;
  };
  const Window windows[] = {{3},
                            {3, 2},
                            {3, 2, 1, 1},
                            {2, 3, 0, 2},
                            {3, 1, 2, 0, 1, 2},
                            {4, 2, -1, 3},
                            {3, 1, 1, 1, 2},
                            {3, 2, 2, 1, 2, 2},
                            {2, 1, 3, 3, 3},
                            {3, 3, 1, 1, 2},
                            {3, 1, -1, 1, 2},
                            {12, 1, 11, 0}};
  for (const int64_t size : {16, 20}) {
    for (const Window& w : windows) {
      const int64_t places = (size - 1) * w.every + 1 + w.low + w.high;
      const int64_t results = (places - (w.size - 1) * w.apart - 1) / w.stride + 1;
      const auto window = [&](std::string_view other) {
        const bool two = !other.empty();
        return fmt::format("{{size={}{} stride={}{} pad={}_{}{} lhs_dilate={}{} rhs_dilate={}{}}}", w.size, other,
                           w.stride, other, w.low, w.high, two ? "x0_0" : "", w.every, other, w.apart, other);
      };
      run_one(fmt::format("HloModule m\nc {{\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n  ROOT r = s32[] "
                          "add(x, y)\n}}\nENTRY e {{\n  a = s32[{},2] parameter(0)\n  i = s32[] constant(5)\n  ROOT w "
                          "= s32[{},2] reduce-window(a, i), window={}, to_apply=c\n}}",
                          size, results, window("x1")),
              0, 0);
      run_one(
          fmt::format("HloModule m\nENTRY e {{\n  a = s32[1,{},2] parameter(0)\n  k = s32[{},2,3] parameter(1)\n  ROOT "
                      "w = s32[1,3,{}] convolution(a, k), window={}, dim_labels=b0f_0io->bf0\n}}",
                      size, w.size, results, window("")),
          1, 2);
    }
  }
  EXPECT_GT(gathered, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
