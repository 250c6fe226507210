// Which devices a collective joins: the four group modes, empty and iota groups, and what does not fit the run.
#include "core/devices/replica_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Collective {
 public:
  explicit Collective(const std::string& lines) {
    auto parsed = ParseHlo(
        "HloModule t\n\nadd { x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
        " ROOT s = f32[] add(x, y) }\n\nENTRY e {\n p = f32[12]{0} parameter(0)\n t = token[] after-all()\n" +
        lines + "\n}\n");
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    module_ = *std::move(parsed);
  }
  const Instruction& root() const { return *module_->entry()->root(); }
  const Module& module() const { return *module_; }
  IntList Group(const DeviceGrid& grid, int64_t device) const {
    const Result<IntList> group = GroupOf(root(), grid, device);
    EXPECT_TRUE(group.ok()) << group.status().message();
    return group.ok() ? *group : IntList();
  }
  std::string Error(const DeviceGrid& grid) const { return CheckCollectives(*module_, grid).message(); }

 private:
  std::unique_ptr<Module> module_;
};

const std::string kReduce = "ROOT r = f32[12]{0} all-reduce(p), to_apply=add, ";

TEST(ReplicaGroupsTest, WithoutChannelIdsAreReplicasWithinAPartition) {
  const Collective c(kReduce + "replica_groups={{2,0},{1,3}}");
  const DeviceGrid grid{4, 3};
  EXPECT_THAT(c.Group(grid, grid.device(0, 1)), ElementsAre(2 * 3 + 1, 0 * 3 + 1));
  EXPECT_THAT(c.Group(grid, grid.device(3, 2)), ElementsAre(1 * 3 + 2, 3 * 3 + 2));
}

TEST(ReplicaGroupsTest, AChannelBringsInAllPartitionsOfTheReplicas) {
  const Collective c(kReduce + "channel_id=1, replica_groups={{2,0},{1,3}}");
  EXPECT_THAT(c.Group({4, 2}, 1), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(c.Group({4, 2}, 7), ElementsAre(2, 3, 6, 7));
}

TEST(ReplicaGroupsTest, GlobalIdsAreDevices) {
  const Collective c(kReduce + "channel_id=1, use_global_device_ids=true, replica_groups={{5,0,3},{1,2,4}}");
  EXPECT_THAT(c.Group({2, 3}, 3), ElementsAre(5, 0, 3));
  EXPECT_THAT(c.Group({3, 2}, 4), ElementsAre(1, 2, 4));
}

TEST(ReplicaGroupsTest, OpsWithoutTheAttributeCountPartitions) {
  const DeviceGrid grid{2, 4};
  for (const char* text :
       {"ROOT r = f32[12]{0} all-to-all(p), channel_id=1, replica_groups={{3,1},{0,2}}, dimensions={0}",
        "ROOT r = f32[12]{0} collective-broadcast(p), channel_id=1, replica_groups={{3,1},{0,2}}"}) {
    const Collective c(text);
    EXPECT_THAT(c.Group(grid, grid.device(1, 1)), ElementsAre(4 + 3, 4 + 1)) << text;
    EXPECT_THAT(c.Group(grid, grid.device(0, 2)), ElementsAre(0, 2)) << text;
  }
}

TEST(ReplicaGroupsTest, EmptyGroupsAreOneOfAll) {
  EXPECT_THAT(Collective(kReduce + "replica_groups={}").Group({3, 2}, 1), ElementsAre(1, 3, 5));
  EXPECT_THAT(Collective(kReduce + "channel_id=1, replica_groups={}").Group({2, 2}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Collective(kReduce + "channel_id=1, use_global_device_ids=true, replica_groups={}").Group({1, 3}, 1),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(
      Collective("ROOT r = f32[12]{0} all-to-all(p), channel_id=1, replica_groups={}, dimensions={0}").Group({2, 2}, 2),
      ElementsAre(2, 3));
}

TEST(ReplicaGroupsTest, IotaGroupsCountThroughTheTransposedShape) {
  EXPECT_THAT(Collective(kReduce + "replica_groups=[2,4]<=[8]").Group({8, 1}, 5), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(Collective(kReduce + "replica_groups=[2,4]<=[4,2]T(1,0)").Group({8, 1}, 5), ElementsAre(1, 3, 5, 7));
  // Devices as [2,3,2], transposed to [2,2,3]: 0 2 4, 6 8 10, 1 3 5, 7 9 11.
  EXPECT_THAT(Collective(kReduce + "replica_groups=[4,3]<=[2,3,2]T(2,0,1)").Group({12, 1}, 8), ElementsAre(6, 8, 10));
}

TEST(ReplicaGroupsTest, ABroadcastLeavesDevicesOut) {
  EXPECT_THAT(Collective("ROOT r = f32[12]{0} collective-broadcast(p), replica_groups={{2,0}}").Group({3, 1}, 1),
              IsEmpty());
}

TEST(ReplicaGroupsTest, RejectsADeviceInNoGroup) {
  EXPECT_THAT(Collective(kReduce + "replica_groups={{2,0}}").Error({3, 1}),
              HasSubstr("all-reduce r: replica 1 is in none of the replica_groups"));
  EXPECT_EQ(Collective(kReduce + "replica_groups={{2,0},{1,3}}").Error({4, 5}), "");
}

TEST(ReplicaGroupsTest, RejectsIdsBeyondTheRun) {
  EXPECT_THAT(Collective(kReduce + "replica_groups={{0,1}}").Error({1, 8}),
              HasSubstr("all-reduce r: replica_groups name 1, but the run has 1 replica ("));
  EXPECT_THAT(Collective(kReduce + "channel_id=1, use_global_device_ids=true, replica_groups={{0,6}}").Error({2, 3}),
              HasSubstr("replica_groups name 6, but the run has 6 devices"));
  EXPECT_THAT(Collective("ROOT r = f32[12]{0} collective-permute(p), source_target_pairs={{0,1},{1,4}}").Error({4, 1}),
              HasSubstr("source_target_pairs name 4, but the run has 4 replicas"));
}

TEST(ReplicaGroupsTest, RejectsGlobalIdsWithoutAChannel) {
  EXPECT_THAT(Collective(kReduce + "use_global_device_ids=true, replica_groups={{0,1}}").Error({2, 1}),
              HasSubstr("use_global_device_ids without a channel_id"));
}

TEST(ReplicaGroupsTest, ErrorsNameThePlace) {
  const Status status = CheckCollectives(Collective(kReduce + "replica_groups={{0,1}}").module(), {1, 1});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.location().line, 10);
}

TEST(PartnersTest, PermutesGoAcrossReplicasOrWithAChannelAcrossPartitions) {
  const Collective replicas("ROOT r = f32[12]{0} collective-permute(p), source_target_pairs={{0,2},{2,1}}");
  const Collective partitions(
      "ROOT r = f32[12]{0} collective-permute(p), channel_id=3, source_target_pairs={{0,2},{2,1}}");
  const DeviceGrid grid{3, 3};
  const Partners a = *PartnersOf(replicas.root(), grid, grid.device(2, 1));
  EXPECT_EQ(a.source, grid.device(0, 1));
  EXPECT_EQ(a.target, grid.device(1, 1));
  const Partners b = *PartnersOf(partitions.root(), grid, grid.device(1, 0));
  EXPECT_EQ(b.source, std::nullopt);
  EXPECT_EQ(b.target, grid.device(1, 2));
}

TEST(PartnersTest, ReadsThePairsOfSends) {
  const Collective send(
      "ROOT s = (f32[12]{0}, u32[], token[]) send(p, t), channel_id=5, "
      "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}");
  EXPECT_EQ(PartnersOf(send.root(), {3, 1}, 1)->source, 0);
  EXPECT_EQ(PartnersOf(send.root(), {3, 1}, 1)->target, 2);
  EXPECT_FALSE(PartnersOf(send.root(), {3, 1}, 2)->target.has_value());
  const Collective odd(
      "ROOT s = (f32[12]{0}, u32[], token[]) send(p, t), channel_id=5, "
      "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1}}}");
  EXPECT_THAT(odd.Error({3, 1}), HasSubstr("is not a list of pairs"));
}

TEST(DeviceGridTest, NamesDevicesByWhatTellsThemApart) {
  EXPECT_EQ((DeviceGrid{4, 1}.Name(3)), "replica 3");
  EXPECT_EQ((DeviceGrid{1, 4}.Name(3)), "partition 3");
  EXPECT_EQ((DeviceGrid{2, 3}.Name(5)), "replica 1 partition 2");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
