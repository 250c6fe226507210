// A program that is compiled anew for the sizes that its arguments come with.
#pragma once

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

// What is made for sizes, by their key. Of more than `most` the one that was asked for longest ago goes; whoever asks
// for what another thread is making waits for that.
template <typename Made>
class MadeForSizes {
 public:
  using Key = std::vector<int64_t>;
  using Outcome = Result<std::shared_ptr<const Made>>;
  explicit MadeForSizes(size_t most = 256) : most_(most) {}

  // `make` gives an Outcome. What fails is made again for who asks again.
  Outcome Get(const Key& key, auto&& make) {
    std::promise<Outcome> promise;
    std::unique_lock lock(mutex_);
    const uint64_t now = ++clock_;
    auto [known, fresh] = made_.try_emplace(key);
    known->second.asked = now;
    if (!fresh) {
      const std::shared_future<Outcome> outcome = known->second.outcome;
      lock.unlock();
      return outcome.get();
    }
    known->second.outcome = promise.get_future().share();
    if (made_.size() > most_) {
      made_.erase(std::ranges::min_element(made_, {}, [](const auto& entry) { return entry.second.asked; }));
    }
    lock.unlock();
    try {
      Outcome outcome = make();
      if (!outcome.ok()) Forget(key);
      promise.set_value(outcome);
      return outcome;
    } catch (...) {
      Forget(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  struct Entry {
    std::shared_future<Outcome> outcome;
    uint64_t asked = 0;
  };
  void Forget(const Key& key) {
    const std::lock_guard lock(mutex_);
    made_.erase(key);
  }

  const size_t most_;
  std::mutex mutex_;
  uint64_t clock_ = 0;
  std::map<Key, Entry> made_;
};

class SizeDependent {
 public:
  virtual ~SizeDependent() = default;

  // For whoever looks at plans; null: nothing has run that could be looked at.
  virtual const Executable* shown() const = 0;
  virtual Result<Execution> Execute(const Device& device, std::span<const Argument> arguments,
                                    const ExecuteOptions& options) = 0;
  virtual Result<StaticProgram> ProgramFor(const Device& device, std::span<const Argument> arguments) = 0;
};

}  // namespace VXLA_NAMESPACE
