// Random programs of whole arrays with random shardings, on the devices of one physical device.
#include "tests/support/replica_runs.h"
#include "tests/support/sharded_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

TEST(ShardedProgramsDeviceTest, RandomProgramsAgreeWithTheReference) {
  RunShardedPrograms(12, [](const ShardedRun& run) {
    ExpectArgumentsAgree(*run.module, run.grid, run.pointers(), /*equal=*/0, /*at_places=*/false);
  });
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
