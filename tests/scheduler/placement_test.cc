// Where devices of a run go, and what places that wait for one another are told.
#include "scheduler/replicas/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "scheduler/replicas/transport.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::ElementsAre;

TEST(PlacementTest, NeighboursStandTogetherAsEvenlyAsItGoes) {
  EXPECT_THAT(PlaceDevices(4, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(PlaceDevices(4, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(PlaceDevices(5, 2), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(PlaceDevices(4, 3), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(PlaceDevices(3, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(PlaceDevices(2, 5), ElementsAre(0, 1));
  EXPECT_EQ(PlaceDevices(64, 3).back(), 2);
}

TEST(PlacementTest, DevicesOfAPlaceTakeItsQueuesInTurn) {
  const std::string names[] = {"a", "b"};
  const int64_t queues[] = {2, 1};
  EXPECT_EQ(PlacementText({5, 1}, PlaceDevices(5, 2), names, queues),
            "place 0, a: replica 0 on queue 0, replica 1 on queue 1, replica 2 on queue 0\n"
            "place 1, b: replica 3, replica 4\n");
}

TEST(PlacementTest, TextNamesEachPlacesDevices) {
  const std::string names[] = {"a", "b", "c"};
  EXPECT_EQ(PlacementText({3, 1}, PlaceDevices(3, 2), std::span(names, 2)),
            "place 0, a: replica 0, replica 1\nplace 1, b: replica 2\n");
  EXPECT_EQ(PlacementText({1, 2}, PlaceDevices(2, 3), names), "place 0, a: partition 0\nplace 1, b: partition 1\n");
  const int64_t queues[] = {2, 1};
  EXPECT_EQ(PlacementText({3, 1}, PlaceDevices(3, 2), std::span(names, 2), queues),
            "place 0, a: replica 0 on queue 0, replica 1 on queue 1\nplace 1, b: replica 2\n");
}

TEST(PlacementTest, TitlesNameThemInReports) {
  const std::string names[] = {"a", "b"};
  EXPECT_THAT(PlaceTitles({3, 1}, PlaceDevices(3, 2), names), ElementsAre("a: replica 0, replica 1", "b: replica 2"));
}

PlaceExchange Between(std::vector<int64_t> places) {
  PlaceExchange exchange;
  exchange.number = 1;
  exchange.what = "all-reduce r (channel_id 7)";
  exchange.places = std::move(places);
  return exchange;
}

TEST(LocalTransportTest, PlacesGetWhatTheOthersPostEachTime) {
  LocalTransport transport({"a", "b", "c"}, std::chrono::seconds(60));
  const PlaceExchange exchange = Between({0, 2});
  const auto run = [&](int64_t place) {
    for (int round = 0; round < 100; ++round) {
      const auto all = transport.Exchange(exchange, place, {std::byte(place), std::byte(round)});
      ASSERT_TRUE(all.ok()) << all.status().message();
      EXPECT_EQ((*all)[1], nullptr);
      for (const size_t from : {0, 2}) EXPECT_THAT(*(*all)[from], ElementsAre(std::byte(from), std::byte(round)));
    }
  };
  std::thread other([&] { run(2); });
  run(0);
  other.join();
}

TEST(LocalTransportTest, SaysWhoIsWaitedFor) {
  LocalTransport transport({"a", "b"}, std::chrono::milliseconds(10));
  EXPECT_EQ(transport.Exchange(Between({0, 1}), 0, {}).status().message(),
            "deadlock: all-reduce r (channel_id 7): place 0 (a) waits for place 1 (b), which has not come in 10 ms");
  LocalTransport patient({"a", "b"}, std::chrono::milliseconds(0));
  std::thread other([&] { patient.Leave(1); });
  EXPECT_EQ(patient.Exchange(Between({0, 1}), 0, {}).status().message(),
            "deadlock: all-reduce r (channel_id 7): place 0 (a) waits for place 1 (b), which has ended");
  other.join();
}

}  // namespace
}  // namespace VXLA_NAMESPACE
