// Random programs of whole arrays with random shardings give on several devices what they give on one.
#include "tests/support/sharded_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

TEST(ShardedProgramsTest, RandomProgramsAgreeWithOneDevice) {
  RunShardedPrograms(100, [](const ShardedRun& run) {
    const auto results = EvaluateReplicated(*run.module, run.grid, run.pointers());
    ASSERT_TRUE(results.ok()) << results.status().message();
    std::vector<std::vector<const Literal*>> leaves;
    for (const Literal& result : *results) leaves.push_back(FlattenLiteral(result));
    ExpectResultsOf(run, leaves);
  });
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
