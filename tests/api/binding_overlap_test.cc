// Which bindings lie over one another.
#include "api/binding_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace VXLA_NAMESPACE {
namespace binding_overlap_test {

using ::testing::Eq;
using ::testing::Optional;
using ::testing::Pair;

constexpr bool kReads = false, kWrites = true;

auto Found(std::vector<BoundSpan> spans) { return FindOverlap(spans); }

TEST(BindingOverlapTest, WhatIsOnlyReadMayOverlap) {
  EXPECT_EQ(Found({{1, 0, 32, 0, kReads}, {1, 16, 48, 1, kReads}, {1, 48, 64, 2, kWrites}}), std::nullopt);
}

TEST(BindingOverlapTest, WhatIsWrittenOverlapsNothing) {
  EXPECT_THAT(Found({{1, 0, 32, 0, kReads}, {1, 16, 48, 1, kWrites}}), Optional(Pair(Eq(0u), Eq(1u))));
  EXPECT_THAT(Found({{1, 0, 32, 3, kWrites}, {1, 0, 32, 2, kReads}}), Optional(Pair(Eq(2u), Eq(3u))));
  // One that began long before, with others between.
  EXPECT_THAT(Found({{1, 0, 99, 0, kWrites}, {1, 200, 300, 1, kWrites}, {1, 96, 112, 2, kReads}}),
              Optional(Pair(Eq(0u), Eq(2u))));
}

TEST(BindingOverlapTest, BuffersAreApartAndEmptyOnesNowhere) {
  EXPECT_EQ(Found({{1, 0, 32, 0, kReads}, {2, 0, 32, 1, kWrites}, {1, 32, 64, 2, kWrites}, {1, 8, 8, 3, kWrites}}),
            std::nullopt);
}

TEST(BindingOverlapTest, FindsWhatAllPairsWouldFind) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<BoundSpan> spans(1 + random() % 6);
    for (uint32_t i = 0; i < spans.size(); ++i) {
      const uint64_t begin = random() % 12;
      spans[i] = {random() % 2, begin, begin + random() % 5, i, random() % 3 == 0};
    }
    bool overlaps = false;
    for (const BoundSpan& a : spans) {
      for (const BoundSpan& b : spans) {
        overlaps |= a.leaf < b.leaf && a.space == b.space && (a.written || b.written) && a.begin < b.end &&
                    b.begin < a.end && a.begin < a.end && b.begin < b.end;
      }
    }
    EXPECT_EQ(Found(spans).has_value(), overlaps) << "round " << round;
  }
}

}  // namespace binding_overlap_test
}  // namespace VXLA_NAMESPACE
