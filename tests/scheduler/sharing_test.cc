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

}  // namespace sharing_test
}  // namespace VXLA_NAMESPACE
