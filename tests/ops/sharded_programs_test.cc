// Random programs of whole arrays with random shardings, on the devices of one physical device, of two, and of the
// processes of a job.
#include "tests/support/replica_runs.h"
#include "tests/support/sharded_runs.h"
#include "tests/support/socket_ranks.h"

namespace VXLA_NAMESPACE::testing {
namespace {

TEST(ShardedProgramsDeviceTest, RandomProgramsAgreeWithTheReference) {
  RunShardedPrograms(12, [](const ShardedRun& run) {
    ExpectArgumentsAgree(*run.module, run.grid, run.pointers(), /*equal=*/0, /*at_places=*/false);
  });
}

TEST(ShardedProgramsPlacesTest, TwoDriversTogetherAgreeWithTheReference) {
  const std::vector<std::string> places = TwoDrivers();
  if (places.size() < 2) GTEST_SKIP() << "there are no two drivers";
  RunShardedPrograms(2, [&](const ShardedRun& run) {
    const auto expected = EvaluateReplicated(*run.module, run.grid, run.pointers());
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ExpectPlacesAgree(*run.module, run.grid, run.pointers(), places, *expected);
  });
}

// On the reference in each: tests/pjrt/processes_test.py has Vulkan devices.
TEST(ShardedProgramsPlacesTest, RanksOfAJobGiveWhatOneDeviceGives) {
  RunShardedPrograms(6, [](const ShardedRun& run) {
    std::optional<Literal> stacked;
    RunRanks(std::min<int64_t>(4, run.grid.count()), [&](const std::shared_ptr<Connections>& connections) {
      const auto group = connections->All();
      DeviceOptions reference;
      reference.device = "cpu";
      auto placed = PlacedExecutable::CompileInJob(*run.module, run.grid, run.pointers(),
                                                   {group.get(), {kRankTimeout, nullptr}, reference}, {});
      ASSERT_TRUE(placed.ok()) << placed.status().message();
      auto result = placed->RunInJob(run.pointers());
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->has_value(), group->rank() == 0);
      if (result->has_value()) stacked = std::move(**result);
      group->Finish();
    });
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
  });
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
