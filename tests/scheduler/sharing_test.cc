// By which memory places exchange, by facts that a test makes up.
#include "scheduler/replicas/sharing.h"

#include <gtest/gtest.h>

#include <vector>

namespace VXLA_NAMESPACE {
namespace sharing_test {

DeviceFacts Facts(const char* name, uint8_t uuid, bool shares, uint64_t alignment) {
  DeviceFacts facts;
  facts.name = name;
  facts.device_uuid[0] = uuid;
  facts.shares_memory = shares;
  facts.host_pointer_alignment = alignment;
  return facts;
}

SharingWay Choose(std::vector<const DeviceFacts*> places) { return ChooseSharing(places); }

TEST(SharingTest, OnePhysicalDevicesLogicalDevicesOpenItsMemory) {
  const DeviceFacts a = Facts("a", 1, true, 4096), secret = Facts("a", 1, false, 4096), other = Facts("a", 2, true, 0);
  EXPECT_EQ(Choose({&a, &a, &a}), SharingWay::kExternalMemory);
  EXPECT_EQ(Choose({&secret, &secret}), SharingWay::kHostPointer);
  EXPECT_EQ(Choose({&a, &other}), SharingWay::kStaging);  // opaque handles are for one physical device
  DeviceFacts driver = a;
  driver.driver_uuid[3] = 1;
  EXPECT_EQ(Choose({&a, &driver}), SharingWay::kHostPointer);
}

TEST(SharingTest, DifferentDevicesTakePagesOfTheHost) {
  const DeviceFacts a = Facts("a", 1, true, 4096), b = Facts("b", 2, true, 65536), none = Facts("c", 3, true, 0);
  EXPECT_EQ(Choose({&a, &b}), SharingWay::kHostPointer);
  EXPECT_EQ(Choose({&a, &a, &b}), SharingWay::kHostPointer);
  EXPECT_EQ(Choose({&a, &b, &none}), SharingWay::kStaging);
}

TEST(SharingTest, TheReferenceAndAPlaceAloneShareNothing) {
  const DeviceFacts a = Facts("a", 1, true, 4096);
  EXPECT_EQ(Choose({&a, nullptr}), SharingWay::kStaging);
  EXPECT_EQ(Choose({&a}), SharingWay::kStaging);
  EXPECT_EQ(Choose({}), SharingWay::kStaging);
}

TellingWay Tell(SharingWay way, std::vector<const DeviceFacts*> places) { return ChooseTelling(way, places); }

TEST(SharingTest, LogicalDevicesTellOneAnotherBySemaphores) {
  using Signals = DeviceFacts::SharedSignals;
  DeviceFacts a = Facts("a", 1, true, 4096), in_turn = a, counting = a;
  in_turn.shares_signals = Signals::kInTurn;
  counting.shares_signals = Signals::kCounting;
  EXPECT_EQ(Tell(SharingWay::kExternalMemory, {&counting, &counting}), TellingWay::kCounting);
  EXPECT_EQ(Tell(SharingWay::kHostPointer, {&counting, &counting}), TellingWay::kCounting);
  EXPECT_EQ(Tell(SharingWay::kExternalMemory, {&in_turn, &in_turn, &in_turn}), TellingWay::kInTurn);
  EXPECT_EQ(Tell(SharingWay::kExternalMemory, {&a, &a}), TellingWay::kHost);
}

TEST(SharingTest, TheHostTellsDifferentDevicesAndThoseThatShareNothing) {
  DeviceFacts counting = Facts("a", 1, true, 4096);
  counting.shares_signals = DeviceFacts::SharedSignals::kCounting;
  DeviceFacts other = counting, driver = counting;
  other.device_uuid[0] = 2;
  driver.driver_uuid[3] = 1;
  EXPECT_EQ(Tell(SharingWay::kHostPointer, {&counting, &other}), TellingWay::kHost);
  EXPECT_EQ(Tell(SharingWay::kHostPointer, {&counting, &driver}), TellingWay::kHost);
  EXPECT_EQ(Tell(SharingWay::kStaging, {&counting, &counting}), TellingWay::kHost);
  EXPECT_EQ(Tell(SharingWay::kHostPointer, {&counting, nullptr}), TellingWay::kHost);
  EXPECT_EQ(Tell(SharingWay::kExternalMemory, {&counting}), TellingWay::kHost);
  EXPECT_EQ(ExchangeText("all-reduce r", SharingWay::kExternalMemory, TellingWay::kCounting),
            "all-reduce r: memory that both devices open, told by timeline semaphores of the devices");
  EXPECT_EQ(ExchangeText("all-reduce r", SharingWay::kStaging, TellingWay::kHost),
            "all-reduce r: downloads and uploads");
}

}  // namespace sharing_test
}  // namespace VXLA_NAMESPACE
