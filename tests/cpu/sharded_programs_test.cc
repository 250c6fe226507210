// Random programs of whole arrays with random shardings give on several devices what they give on one.
#include "tests/support/joined_products.h"
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

TEST(ShardedProgramsTest, JoinedProductsAgreeWithOneDevice) {
  const auto mesh = std::make_shared<const DeviceMesh>(DeviceMesh{{{"x", 2}, {"y", 4}}, {}});
  for (const JoinedProduct& product : JoinedProducts()) {
    SCOPED_TRACE(product.name);
    const auto said = [&](const Module&) {
      StatedShardings stated;
      stated.mesh = mesh;
      for (const std::string& each : product.parameters) stated.parameters.emplace_back(Said(mesh, each));
      for (const std::string& each : product.results) stated.results.emplace_back(Said(mesh, each));
      return stated;
    };
    ShardedRun run;
    const Status made = PartitionRun("HloModule m\n" + product.text, *mesh, 7, said, run);
    ASSERT_TRUE(made.ok()) << made.message();
    SCOPED_TRACE(run.text);
    run.errors.assign(product.results.size(), 0);
    const auto results = EvaluateReplicated(*run.module, run.grid, run.pointers());
    ASSERT_TRUE(results.ok()) << results.status().message();
    std::vector<std::vector<const Literal*>> leaves;
    for (const Literal& result : *results) leaves.push_back(FlattenLiteral(result));
    ExpectResultsOf(run, leaves);
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
