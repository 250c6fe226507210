// The thread pool: every index once, fixed pieces, nesting, callers side by side, exceptions.
#include "backend/cpu/reference/arithmetic/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

TEST(ParallelForTest, CoversEveryIndexOnceInPiecesThatDoNotDependOnThreads) {
  for (int threads : {0, 1, 2, 7}) {
    for (int64_t count : {0, 1, 10, 1009}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      std::atomic<bool> aligned{true};
      ParallelFor(count, 10, threads, [&](int64_t begin, int64_t end) {
        if (begin % 10 != 0 || (end != count && end != begin + 10)) aligned = false;
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      EXPECT_TRUE(aligned);
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ParallelForTest, NestedCallsFinish) {
  std::atomic<int64_t> total{0};
  ParallelFor(20, 1, 0,
              [&](int64_t, int64_t) { ParallelFor(100, 7, 0, [&](int64_t b, int64_t e) { total += e - b; }); });
  EXPECT_EQ(total, 2000);
}

TEST(ParallelForTest, SeveralCallersShareThePool) {
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        ParallelFor(50, 3, 0, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 200 * 50);
}

TEST(ParallelForTest, ThrowsWhatAPieceThrows) {
  auto run = [](int threads) {
    ParallelFor(100, 1, threads, [](int64_t begin, int64_t) {
      if (begin == 57) throw std::runtime_error("piece 57");
    });
  };
  EXPECT_THROW(run(0), std::runtime_error);
  EXPECT_THROW(run(1), std::runtime_error);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
