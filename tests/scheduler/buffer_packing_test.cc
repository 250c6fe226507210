#include "scheduler/memory/buffer_packing.h"

#include <gtest/gtest.h>

#include <random>

namespace VXLA_NAMESPACE {
namespace {

void ExpectNoOverlap(const std::vector<Lifetime>& lifetimes, const Packing& packing, int64_t alignment,
                     int64_t max_block) {
  for (size_t a = 0; a < lifetimes.size(); ++a) {
    const auto& place = packing.places[a];
    ASSERT_EQ(place.offset_bytes % alignment, 0);
    ASSERT_LE(place.offset_bytes + lifetimes[a].size_bytes, packing.block_bytes.at(place.block));
    for (size_t b = 0; b < a; ++b) {
      if (packing.places[b].block != place.block) continue;
      const bool together = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      const bool apart = place.offset_bytes + lifetimes[a].size_bytes <= packing.places[b].offset_bytes ||
                         packing.places[b].offset_bytes + lifetimes[b].size_bytes <= place.offset_bytes;
      ASSERT_TRUE(!together || apart) << a << " and " << b;
    }
  }
  for (int64_t bytes : packing.block_bytes) ASSERT_LE(bytes, max_block);
}

// What a program gives: each operation writes one value and reads a few of the recent ones.
std::vector<Lifetime> RandomProgram(std::mt19937& random, int operations, bool skewed) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < operations; ++i) {
    int64_t size = 4 * (1 + random() % 5000);
    if (skewed && random() % 4 == 0) size *= 100;
    int last = std::min<int>(operations - 1, i + 1 + random() % 4);
    if (random() % 8 == 0)
      last = std::min<int>(operations - 1, i + 1 + random() % operations);  // kept for the backward pass
    lifetimes.push_back({i, last, size});
  }
  return lifetimes;
}

TEST(PackTest, BuffersThatLiveTogetherNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const auto lifetimes = RandomProgram(random, 1 + random() % 80, round % 2 == 0);
    ExpectNoOverlap(lifetimes, Pack(lifetimes, 256, int64_t{1} << 40), 256, int64_t{1} << 40);
  }
}

TEST(PackTest, StaysWithinTenPercentOfTheLowerBound) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const auto lifetimes = RandomProgram(random, 5 + random() % 150, round % 2 == 0);
    const int64_t bound = PackingLowerBound(lifetimes, 256);
    EXPECT_LE(Pack(lifetimes, 256, int64_t{1} << 40).total_bytes(), bound + bound / 10) << "round " << round;
  }
}

TEST(PackTest, AForwardAndABackwardPassPackTightly) {
  // Value i of n is read again at operation 2n - i: a stack.
  std::vector<Lifetime> lifetimes;
  const int n = 50;
  for (int i = 0; i < n; ++i) lifetimes.push_back({i, 2 * n - i, 1024 * (1 + i % 7)});
  for (int i = n; i < 2 * n; ++i) lifetimes.push_back({i, i + 1, 512 * (1 + i % 5)});
  const int64_t bound = PackingLowerBound(lifetimes, 256);
  EXPECT_LE(Pack(lifetimes, 256, int64_t{1} << 40).total_bytes(), bound + bound / 10);
}

TEST(PackTest, DisjointLifetimesShareOnePlace) {
  const std::vector<Lifetime> lifetimes{{0, 1, 1000}, {2, 3, 1000}, {4, 9, 900}};
  const Packing packing = Pack(lifetimes, 256, int64_t{1} << 40);
  EXPECT_EQ(packing.total_bytes(), 1024);
  for (const auto& place : packing.places) EXPECT_EQ(place.offset_bytes, 0);
}

TEST(PackTest, ChainsOfTwoBuffersPingPong) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 20; ++i) lifetimes.push_back({i, i + 1, 4096});
  EXPECT_EQ(Pack(lifetimes, 256, int64_t{1} << 40).total_bytes(), 8192);
}

TEST(PackTest, OpensAnotherBlockWhereOneIsFull) {
  const std::vector<Lifetime> lifetimes{{0, 2, 600}, {0, 2, 600}, {0, 2, 600}, {1, 2, 100}};
  const Packing packing = Pack(lifetimes, 256, 1024);
  ExpectNoOverlap(lifetimes, packing, 256, 1024);
  EXPECT_EQ(packing.block_bytes.size(), 3u);
}

TEST(PackTest, NothingNeedsNothing) {
  EXPECT_EQ(Pack({}, 256, 1024).total_bytes(), 0);
  EXPECT_EQ(PackingLowerBound({}, 256), 0);
}

TEST(PackTest, ThousandsOfBuffersTakeLessThanASecond) {
  std::mt19937 random(3);
  const auto lifetimes = RandomProgram(random, 3000, true);
  const int64_t bound = PackingLowerBound(lifetimes, 256);
  EXPECT_LE(Pack(lifetimes, 256, int64_t{1} << 40).total_bytes(), bound + bound / 10);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
