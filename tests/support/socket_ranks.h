// Processes of a job over sockets, as threads of one process.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/replicas/sockets/socket_group.h"

namespace VXLA_NAMESPACE::testing {

inline constexpr std::chrono::milliseconds kRankTimeout{60000};

// The threads' texts, once all are there.
class RankTexts {
 public:
  explicit RankTexts(size_t count) : texts_(count) {}
  TellAll Of(int64_t rank) {
    return [this, rank](const std::string& own) -> Result<std::vector<std::string>> {
      std::unique_lock lock(mutex_);
      texts_[static_cast<size_t>(rank)] = own;
      ++there_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return there_ == texts_.size(); });
      return texts_;
    };
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t there_ = 0;
  std::vector<std::string> texts_;
};

// A thread for each rank of a job. options: of Connections::Open.
template <typename... Options>
void RunRanks(int64_t ranks, const std::function<void(const std::shared_ptr<Connections>&)>& run, Options... options) {
  RankTexts texts(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto opened = Connections::Open({rank, ranks}, texts.Of(rank), kRankTimeout, options...);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      run(*opened);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace VXLA_NAMESPACE::testing
