// What is made for sizes is kept, made once at a time, and dropped where there is too much of it.
#include "scheduler/runtime/programs/size_dependent.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace VXLA_NAMESPACE {
namespace {

using Numbers = MadeForSizes<int64_t>;

TEST(MadeForSizesTest, WhatWasAskedForLongestAgoGoes) {
  Numbers numbers(2);
  int made = 0;
  const auto ask = [&](int64_t size) {
    const Numbers::Outcome outcome = numbers.Get({size}, [&]() -> Numbers::Outcome {
      ++made;
      return std::make_shared<const int64_t>(size * size);
    });
    EXPECT_EQ(**outcome, size * size);
    return made;
  };
  EXPECT_EQ(ask(3), 1);
  EXPECT_EQ(ask(4), 2);
  EXPECT_EQ(ask(3), 2);  // known
  EXPECT_EQ(ask(5), 3);  // 4 goes
  EXPECT_EQ(ask(3), 3);
  EXPECT_EQ(ask(5), 3);
  EXPECT_EQ(ask(4), 4);
}

TEST(MadeForSizesTest, WhatFailsIsMadeAgain) {
  Numbers numbers;
  const auto fail = []() -> Numbers::Outcome { return Unsupported("no"); };
  EXPECT_EQ(numbers.Get({1}, fail).status().message(), "no");
  EXPECT_THROW(numbers.Get({1}, []() -> Numbers::Outcome { throw std::runtime_error("none"); }), std::runtime_error);
  const Numbers::Outcome made =
      numbers.Get({1}, []() -> Numbers::Outcome { return std::make_shared<const int64_t>(7); });
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(**made, 7);
}

TEST(MadeForSizesTest, OneThreadMakesWhatSeveralAskFor) {
  Numbers numbers;
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int64_t size = 0; size < 50; ++size) {
        const Numbers::Outcome outcome = numbers.Get({size}, [&]() -> Numbers::Outcome {
          ++made;
          std::this_thread::yield();
          return std::make_shared<const int64_t>(size);
        });
        EXPECT_EQ(**outcome, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 50);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
