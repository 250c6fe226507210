// Which queues are opened, by families that a test makes up.
#include "backend/vulkan/device/plan/queue_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace VXLA_NAMESPACE::vulkan {
namespace queue_plan_test {

using ::testing::ElementsAre;

constexpr VkQueueFlags kGraphics = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
constexpr VkQueueFlags kCompute = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
constexpr VkQueueFlags kCopies = VK_QUEUE_TRANSFER_BIT;

using Families = std::vector<VkQueueFamilyProperties>;

VkQueueFamilyProperties Family(VkQueueFlags flags, uint32_t count, uint32_t timestamp_bits = 64) {
  VkQueueFamilyProperties family = {};
  family.queueFlags = flags;
  family.queueCount = count;
  family.timestampValidBits = timestamp_bits;
  return family;
}

// "c0.0 c2.0 t1.0": computes or copies, family, number in it.
std::string Plan(const Families& families, int most = kMostQueues, bool emulated = false) {
  std::string text;
  for (const QueueFacts& queue : PlanQueues(families, *ChooseQueueFamily(families), most, emulated))
    text += fmt::format("{}{}{}.{}", text.empty() ? "" : " ", queue.computes ? "c" : "t", queue.family, queue.index);
  return text;
}

TEST(QueuePlanTest, OneQueueStaysOne) { EXPECT_EQ(Plan({Family(kGraphics, 1)}), "c0.0"); }

// As AMD, NVIDIA and Intel have them.
TEST(QueuePlanTest, OtherFamiliesComputeFirstAndTheEngineForCopiesCopies) {
  EXPECT_EQ(Plan({Family(kGraphics, 1), Family(kCompute, 4), Family(kCopies, 2)}), "c0.0 c1.0 c1.1 c1.2 t2.0");
  EXPECT_EQ(Plan({Family(kGraphics, 16), Family(kCopies, 2), Family(kCompute, 8)}), "c0.0 c2.0 c2.1 c2.2 t1.0");
  EXPECT_EQ(Plan({Family(kGraphics, 1), Family(kCompute, 1), Family(kCopies, 1)}), "c0.0 c1.0 t2.0");
}

// What drivers list, with their engines for video and optical flow, some of which copy too.
TEST(QueuePlanTest, FamiliesOfRealDrivers) {
  constexpr VkQueueFlags kSparse = VK_QUEUE_SPARSE_BINDING_BIT, kDecode = VK_QUEUE_VIDEO_DECODE_BIT_KHR,
                         kEncode = 0x40 /* VK_QUEUE_VIDEO_ENCODE_BIT_KHR */,
                         kOpticalFlow = 0x100 /* VK_QUEUE_OPTICAL_FLOW_BIT_NV */;
  // AMD: RADV; RADV with video, and none for copies; the drivers of AMD itself, of older and of newer units.
  EXPECT_EQ(Plan({Family(kGraphics | kSparse, 1), Family(kCompute | kSparse, 4), Family(kSparse, 1)}),
            "c0.0 c1.0 c1.1 c1.2 t1.3");
  EXPECT_EQ(Plan({Family(kGraphics, 1), Family(kCompute, 4), Family(kDecode | kCopies, 1), Family(kEncode, 1)}),
            "c0.0 c1.0 c1.1 c1.2 t1.3");
  EXPECT_EQ(Plan({Family(kGraphics | kSparse, 1), Family(kCompute | kSparse, 8), Family(kCopies | kSparse, 2)}),
            "c0.0 c1.0 c1.1 c1.2 t2.0");
  EXPECT_EQ(Plan({Family(kGraphics, 1), Family(kCompute, 2), Family(kCopies, 2), Family(kDecode | kCopies, 1),
                  Family(kEncode | kCopies, 1)}),
            "c0.0 c1.0 c1.1 t2.0");
  // NVIDIA.
  EXPECT_EQ(Plan({Family(kGraphics | kSparse, 16), Family(kCopies | kSparse, 2), Family(kCompute | kSparse, 8),
                  Family(kCopies | kSparse | kDecode, 1), Family(kCopies | kSparse | kEncode, 1),
                  Family(kCopies | kSparse | kOpticalFlow, 1)}),
            "c0.0 c2.0 c2.1 c2.2 t1.0");
  // Intel: integrated, with video, and discrete with an engine for each.
  EXPECT_EQ(Plan({Family(kGraphics, 1, 36)}), "c0.0");
  EXPECT_EQ(Plan({Family(kGraphics, 1, 36), Family(kDecode | kCopies, 1, 36)}), "c0.0");
  EXPECT_EQ(Plan({Family(kGraphics, 1, 36), Family(kCompute, 1, 36), Family(kCopies, 1, 36)}), "c0.0 c1.0 t2.0");
  // Apple through MoltenVK: four families of one queue that do everything, or one thing each where that is asked for.
  EXPECT_EQ(Plan({Family(kGraphics, 1), Family(kGraphics, 1), Family(kGraphics, 1), Family(kGraphics, 1)}),
            "c0.0 c1.0 c2.0 t3.0");
  EXPECT_EQ(
      Plan({Family(kGraphics, 1), Family(VK_QUEUE_GRAPHICS_BIT | kCopies, 1), Family(kCompute, 1), Family(kCopies, 1)}),
      "c0.0 c2.0 t3.0");
  // Phones: Mali with two, Adreno with one or three, PowerVR with two.
  EXPECT_EQ(Plan({Family(kGraphics, 2)}), "c0.0 c0.1");
  EXPECT_EQ(Plan({Family(kGraphics | VK_QUEUE_PROTECTED_BIT, 3, 48)}), "c0.0 c0.1 t0.2");
  EXPECT_EQ(Plan({Family(kGraphics, 1, 0), Family(kCompute, 1, 0)}), "c0.0 c1.0");
}

TEST(QueuePlanTest, AQueueThatIsLeftCopiesWhereNoFamilyDoesNothingElse) {
  EXPECT_EQ(Plan({Family(kGraphics, 8)}), "c0.0 c0.1 c0.2 c0.3 t0.4");
  EXPECT_EQ(Plan({Family(kGraphics, 2)}), "c0.0 c0.1");
  EXPECT_EQ(Plan({Family(kGraphics, 3)}, 2), "c0.0 t0.1");
}

TEST(QueuePlanTest, QueuesWithoutTheMainOnesTimestampsAreLeft) {
  EXPECT_EQ(Plan({Family(kGraphics, 1), Family(kCompute, 4, 0)}), "c0.0");
  EXPECT_EQ(Plan({Family(kGraphics, 1, 0), Family(kCompute, 1, 0)}), "c0.0 c1.0");
}

TEST(QueuePlanTest, NoMoreThanAreWanted) {
  const Families families = {Family(kGraphics, 1), Family(kCompute, 4), Family(kCopies, 2)};
  EXPECT_EQ(Plan(families, 1), "c0.0");
  EXPECT_EQ(Plan(families, 2), "c0.0 t2.0");
  EXPECT_EQ(Plan(families, 3), "c0.0 c1.0 t2.0");
}

TEST(QueuePlanTest, TheFirstQueueStandsForAll) {
  EXPECT_EQ(Plan({Family(kGraphics, 1)}, kMostQueues, true), "c0.0 c0.0 c0.0 c0.0 t0.0");
  EXPECT_EQ(Plan({Family(kGraphics, 1)}, 1, true), "c0.0");
}

std::string Lent(const Families& families, const std::vector<LentQueue>& lent, bool emulated = false) {
  const auto queues = PlanLentQueues(families, lent, emulated);
  if (!queues.ok()) return queues.status().message();
  std::string text;
  for (const QueueFacts& queue : *queues)
    text += fmt::format("{}{}{}.{}", text.empty() ? "" : " ", queue.computes ? "c" : "t", queue.family, queue.index);
  return text;
}

TEST(QueuePlanTest, AHostsQueuesComputeInTheirOrderAndTheOneForCopiesComesLast) {
  const Families families = {Family(kGraphics, 2), Family(kCompute, 4), Family(kCopies, 2)};
  EXPECT_EQ(Lent(families, {{0}}), "c0.0");
  EXPECT_EQ(Lent(families, {{1}, {2}, {0}, {1}}), "c1.0 c0.2 c1.3 t2.1");
  EXPECT_EQ(Lent(families, {{0}, {1, true}}), "c0.0 t1.1");
  EXPECT_EQ(Lent(families, {{1}}, true), "c1.0 c1.0 c1.0 c1.0 t1.0");
  EXPECT_EQ(Lent(families, {{1}, {0}}, true), "c1.0 c0.1");
}

TEST(QueuePlanTest, AHostsQueuesAreRefusedByName) {
  const Families families = {Family(kGraphics, 1), Family(kCopies, 2), Family(VK_QUEUE_SPARSE_BINDING_BIT, 1)};
  EXPECT_EQ(Lent(families, {{1}}), "queue family 1 runs no compute");
  EXPECT_EQ(Lent(families, {{3}}), "queue family 3: there are 3");
  EXPECT_EQ(Lent(families, {{0}, {0}}), "queue 1: queue family 0 has 1, and all of them were given before");
  EXPECT_EQ(Lent(families, {{0}, {2}}), "queue 1: queue family 2 runs neither compute nor copies");
  EXPECT_EQ(Lent(families, {{0}, {1}, {1}}), "queue 2: queue 1 is for copies already");
  EXPECT_EQ(Lent(families, std::vector<LentQueue>(6)), "6 queues: vxla uses at most 5");
}

TEST(QueuePlanTest, FamiliesAreNamedOnce) {
  const QueueFacts queues[] = {{true, 2, 0}, {true, 0, 0}, {true, 2, 1}, {false, 1, 0}};
  EXPECT_THAT(FamiliesOf(queues), ElementsAre(0, 1, 2));
}

}  // namespace queue_plan_test
}  // namespace VXLA_NAMESPACE::vulkan
