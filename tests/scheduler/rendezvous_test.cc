// Devices of one run that meet, whatever they exchange: payloads, channels, and reports of who waits for whom.
#include "scheduler/replicas/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace rendezvous_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Module> Collectives() {
  auto module = ParseHlo(R"(sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[] parameter(0)  r = f32[] all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum
  ROOT q = f32[] all-reduce(r), channel_id=8, replica_groups={}, to_apply=sum })");
  EXPECT_TRUE(module.ok()) << module.status().message();
  return *std::move(module);
}

// The payloads are strings, which nobody but `combine` looks at.
TEST(RendezvousTest, TheLastDeviceToComeCombinesForAll) {
  const auto module = Collectives();
  const Instruction& at = *module->entry()->root();
  Rendezvous rendezvous({3, 1}, std::chrono::seconds(60));
  std::vector<std::string> got(3);
  const auto run = [&](int64_t device) {
    for (int round = 0; round < 100; ++round) {
      const auto result =
          rendezvous.Meet(at, device, IntList{2, 0, 1}, std::make_shared<std::string>(std::to_string(device)),
                          [](std::span<const Rendezvous::Payload> given) -> Result<std::vector<Rendezvous::Payload>> {
                            std::string all;
                            for (const auto& payload : given) all += *static_cast<std::string*>(payload.get());
                            std::vector<Rendezvous::Payload> results;
                            for (size_t m = 0; m < given.size(); ++m)
                              results.push_back(std::make_shared<std::string>(all));
                            return results;
                          });
      ASSERT_TRUE(result.ok()) << result.status().message();
      got[static_cast<size_t>(device)] = *static_cast<std::string*>(result->get());
    }
    rendezvous.Finish(device);
  };
  std::thread first([&] { run(0); }), second([&] { run(1); });
  run(2);
  first.join();
  second.join();
  EXPECT_THAT(got, ElementsAre("201", "201", "201"));
  EXPECT_TRUE(rendezvous.Outcome().ok());
}

TEST(DeadlockReportTest, NamesTheInstructionWhereEachDeviceWaits) {
  const auto module = Collectives();
  const Instruction& q = *module->entry()->root();
  const Instruction& r = *q.operand(0);
  using State = DeviceSituation::State;
  const DeviceSituation situations[] = {{State::kWaiting, &r, {1, 2}},
                                        {State::kWaiting, &q, {0}},
                                        {State::kEnded, &q, {}},
                                        {State::kRunning, &r, {}},
                                        {}};
  const auto of = [&](int64_t device) { return situations[device]; };
  const Status at_once = DeadlockReport({5, 1}, {0, 1, 2, 3, 4}, 0, std::nullopt, of);
  EXPECT_EQ(at_once.code(), StatusCode::kDeviceFailure);
  EXPECT_EQ(at_once.message(),
            "deadlock: all-reduce r (channel_id 7): replica 0 waits for replica 1, replica 2; replica 1 waits at "
            "all-reduce q (channel_id 8) for replica 0; replica 2 has ended; replica 3 computes all-reduce r "
            "(channel_id 7); replica 4 has not started");
  EXPECT_THAT(DeadlockReport({1, 5}, {0, 1, 2, 3, 4}, 1, std::chrono::milliseconds(1500), of).message(),
              HasSubstr("deadlock: all-reduce q (channel_id 8): partition 1 has waited 1.5 s for partition 0; "));
}

TEST(ChannelsTest, WithoutPairsADevicesOwnDataComeFirst) {
  const auto module = Collectives();
  const Instruction& at = *module->entry()->root();
  Channels channels({3, 1});
  const auto sent_by = [](int64_t source) { return ChannelPath{Opcode::kSend, 4, source, ChannelPath::kAnyTarget}; };
  EXPECT_FALSE(channels.PathTo(1, 4).has_value());
  channels.Put(at, sent_by(2), Literal::ScalarInt(ElementType::kS32, 20));
  channels.Put(at, sent_by(1), Literal::ScalarInt(ElementType::kS32, 10));
  EXPECT_EQ(channels.PathTo(1, 4)->source, 1);
  EXPECT_EQ(channels.Take(sent_by(1)).GetInt(0), 10);
  EXPECT_EQ(channels.PathTo(1, 4)->source, 2);
  EXPECT_TRUE(channels.Connect(at, 1, sent_by(2)).ok());
  EXPECT_THAT(channels.Connect(at, 0, sent_by(2)).message(),
              HasSubstr("the channel connects replica 2 with replica 1 and replica 2 with replica 0"));
  EXPECT_EQ(channels.Untaken().message(),
            "deadlock: all-reduce q (channel_id 8): replica 2 has sent data that any device never took");
  EXPECT_EQ(channels.Take(sent_by(2)).GetInt(0), 20);
  EXPECT_TRUE(channels.Untaken().ok());
}

}  // namespace rendezvous_test
}  // namespace VXLA_NAMESPACE
