// Events: of a device's moments, of promises, of several; who is called, and on which thread.
#include "scheduler/runtime/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "scheduler/runtime/memory/event_waiter.h"
#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE {
namespace event_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A device whose submissions, numbered from 1 on each queue, wait until the test lets them go on.
class EventTest : public ::testing::Test {
 protected:
  explicit EventTest(int queues = 1) : device_(std::make_shared<testing::FakeDevice>(Options(queues))) {
    device_->before_submission_runs = [this](TimePoint point) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return point.value <= open_[static_cast<size_t>(point.queue)]; });
    };
    waiter_ = std::make_shared<EventWaiter>(device_);
  }
  ~EventTest() override {
    for (int queue = 0; queue < kMostQueues; ++queue) Open(queue, UINT64_MAX);
    waiter_.reset();
  }
  static testing::FakeDeviceOptions Options(int queues) {
    testing::FakeDeviceOptions options;
    options.compute_queues = queues;
    return options;
  }
  void Open(int queue, uint64_t value) {
    {
      const std::lock_guard lock(mutex_);
      open_[static_cast<size_t>(queue)] = value;
    }
    changed_.notify_all();
  }
  TimePoint Submit(int queue = 0) {
    auto commands = device_->CreateCommandBuffer(0, queue);
    VXLA_CHECK((*commands)->Begin().ok() && (*commands)->End().ok(), "a command buffer");
    const auto point = device_->Submit(**commands, {});
    VXLA_CHECK(point.ok(), point.status().message());
    commands_.push_back(std::move(*commands));
    return *point;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<uint64_t, kMostQueues> open_{};
  std::vector<std::unique_ptr<CommandBuffer>> commands_;
  std::shared_ptr<testing::FakeDevice> device_;
  std::shared_ptr<EventWaiter> waiter_;
};

TEST_F(EventTest, TheDefaultHasHappenedAndAnErrorHasFailed) {
  const Event well, failed(DeviceFailure("gone")), of_nothing(waiter_, Moment());
  for (const Event* event : {&well, &failed, &of_nothing}) {
    EXPECT_TRUE(event->IsReady());
    EXPECT_TRUE(event->IsSubmitted());
    EXPECT_TRUE(event->AwaitUntil({}));
    Status told = Internal("nobody called");
    event->OnReady([&](const Status& status) { told = status; });
    EXPECT_EQ(told.code(), event->Await().code());
  }
  EXPECT_TRUE(well.Await().ok());
  EXPECT_TRUE(of_nothing.Await().ok());
  EXPECT_EQ(failed.Await().message(), "gone");
  EXPECT_EQ(failed.AwaitSubmission().status().message(), "gone");
}

TEST_F(EventTest, AMomentOfADeviceIsWaitedForAndCalledFromAnotherThread) {
  const Event event(waiter_, Submit());
  EXPECT_FALSE(event.IsReady());
  EXPECT_TRUE(event.IsSubmitted());
  EXPECT_FALSE(event.AwaitUntil({}));
  const auto begin = Clock::now();
  EXPECT_FALSE(event.AwaitUntil(begin + 5ms));
  EXPECT_GE(Clock::now() - begin, 5ms);
  std::promise<std::thread::id> told;
  event.OnReady([&](const Status& status) {
    EXPECT_TRUE(status.ok());
    told.set_value(std::this_thread::get_id());
  });
  Open(0, 1);
  EXPECT_NE(told.get_future().get(), std::this_thread::get_id());
  EXPECT_TRUE(event.Await().ok());
  EXPECT_TRUE(event.IsReady());
}

TEST_F(EventTest, CallbacksComeInTheOrderOfMoments) {
  const Event first(waiter_, Submit()), second(waiter_, Submit()), third(waiter_, Submit());
  std::vector<int> order;
  std::promise<void> done;
  third.OnReady([&](const Status&) { order.push_back(3), done.set_value(); });
  second.OnReady([&](const Status&) { order.push_back(2); });
  first.OnReady([&](const Status&) { order.push_back(1); });
  first.OnReady([&](const Status&) { order.push_back(11); });
  Open(0, 1);
  EXPECT_TRUE(first.Await().ok());
  Open(0, 2);
  EXPECT_TRUE(second.Await().ok());
  Open(0, 3);
  done.get_future().get();
  EXPECT_THAT(order, ::testing::ElementsAre(1, 11, 2, 3));
}

TEST_F(EventTest, APromiseIsKeptWithAStatusOrWithWorkThatWasSubmitted) {
  Promise fails, submits;
  const Event failed = fails.event(), submitted = submits.event();
  EXPECT_FALSE(failed.IsReady());
  EXPECT_FALSE(failed.IsSubmitted());
  EXPECT_FALSE(failed.AwaitUntil(Clock::now() + 2ms));
  std::vector<std::string> told;
  std::promise<void> done;
  failed.OnReady([&](const Status& status) { told.push_back(status.message()); });
  submitted.OnReady([&](const Status& status) { told.push_back(status.message()), done.set_value(); });
  std::thread keeper([&] { fails.Keep(Mismatch("a host step failed")); });
  EXPECT_EQ(failed.Await().message(), "a host step failed");
  keeper.join();
  const TimePoint point = Submit();
  submits.Keep(waiter_, point);
  EXPECT_TRUE(submitted.IsSubmitted());
  EXPECT_FALSE(submitted.IsReady());
  EXPECT_EQ(submitted.AwaitSubmission()->at(0), point.value);
  Open(0, 1);
  EXPECT_TRUE(submitted.Await().ok());
  done.get_future().get();
  EXPECT_THAT(told, ::testing::ElementsAre("a host step failed", ""));
}

TEST_F(EventTest, APromiseThatNobodyKeepsFails) {
  Event event;
  {
    const Promise promise;
    event = promise.event();
  }
  EXPECT_EQ(event.Await().code(), StatusCode::kAborted);
}

TEST_F(EventTest, SeveralEventsAreReadyWhenAllAreAndTellTheFirstError) {
  Promise one, other;
  const std::vector<Event> events{Event(), Event(waiter_, Submit()), one.event(), other.event()};
  const Event all = Event::AllOf(events);
  EXPECT_TRUE(Event::AllOf({}).IsReady());
  other.Keep(InvalidArgument("the first"));
  one.Keep(Internal("the second"));
  EXPECT_FALSE(all.IsReady());
  Open(0, 1);
  EXPECT_EQ(all.Await().message(), "the first");
}

TEST_F(EventTest, ALostDeviceIsReadyWithItsError) {
  const Event event(waiter_, Submit());
  std::promise<std::string> told;
  event.OnReady([&](const Status& status) { told.set_value(status.message()); });
  device_->fail_waits = true;
  EXPECT_EQ(told.get_future().get(), "the device is lost");
  EXPECT_TRUE(event.IsReady());
}

TEST_F(EventTest, ACallbackMayDropTheLastOfTheEventAndOfItsWaiter) {
  auto event = std::make_unique<Event>(waiter_, Submit());
  std::promise<void> done;
  event->OnReady([&event, &done, waiter = std::move(waiter_)](const Status&) mutable {
    event.reset();
    waiter.reset();
    done.set_value();
  });
  Open(0, 1);
  done.get_future().get();
}

TEST_F(EventTest, AWaiterThatGoesCallsWhatIsDue) {
  bool called = false;
  Event(waiter_, Submit()).OnReady([&](const Status&) { called = true; });
  Open(0, 1);
  waiter_.reset();
  EXPECT_TRUE(called);
}

class TwoQueuesEventTest : public EventTest {
 protected:
  TwoQueuesEventTest() : EventTest(2) {}
};

TEST_F(TwoQueuesEventTest, AQueueThatIsSlowHoldsNobodyElseUp) {
  const Event slow(waiter_, Submit(0)), quick(waiter_, Submit(1));
  std::promise<void> slow_told, quick_told;
  slow.OnReady([&](const Status&) { slow_told.set_value(); });
  quick.OnReady([&](const Status&) { quick_told.set_value(); });
  Open(1, 1);
  quick_told.get_future().get();
  EXPECT_FALSE(slow.IsReady());
  Open(0, 1);
  slow_told.get_future().get();
}

// For ThreadSanitizer: events that are made, asked, awaited, called back and dropped by all at once.
TEST(EventStressTest, ManyThreadsShareEventsAndPromises) {
  const auto device = std::make_shared<testing::FakeDevice>(testing::FakeDeviceOptions{.compute_queues = 2});
  auto waiter = std::make_shared<EventWaiter>(device);
  constexpr int kThreads = 6, kRounds = 120;
  std::atomic<int> called = 0, failed = 0;
  std::mutex mutex;
  std::vector<Event> shared(16);
  const auto work = [&](int number) {
    std::mt19937 random(static_cast<uint32_t>(number));
    std::vector<std::unique_ptr<CommandBuffer>> commands;
    const auto submit = [&] {
      commands.push_back(*device->CreateCommandBuffer(0, static_cast<int>(random() % 2)));
      (void)commands.back()->Begin();
      (void)commands.back()->End();
      return *device->Submit(*commands.back(), {});
    };
    for (int round = 0; round < kRounds; ++round) {
      Promise promise;
      std::vector<Event> some{promise.event(), Event(waiter, submit())};
      {
        const std::lock_guard lock(mutex);
        some.push_back(shared[random() % shared.size()]);
        shared[random() % shared.size()] = promise.event();
      }
      for (Event& event : some) event.OnReady([&, held = event](const Status&) mutable { held = {}, ++called; });
      if (random() % 3 == 0) {
        promise.Keep(Internal("on purpose"));
        ++failed;
      } else {
        promise.Keep(waiter, submit());
      }
      const Event all = Event::AllOf(some);
      (void)all.IsReady();
      if (random() % 4 == 0) (void)all.AwaitUntil(Clock::now() + 100us);
      if (random() % 4 == 0) (void)all.Await();
    }
    Moment last;
    for (int queue = 0; queue < 2; ++queue) {
      commands.push_back(*device->CreateCommandBuffer(0, queue));
      (void)commands.back()->Begin();
      (void)commands.back()->End();
      last.Join(*device->Submit(*commands.back(), {}));
    }
    EXPECT_TRUE(device->Wait(last).ok());
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  shared.clear();
  // Events that callbacks hold keep the waiter: its thread goes with the last of them.
  waiter.reset();
  while (called != 3 * kThreads * kRounds) std::this_thread::yield();
  EXPECT_GT(failed, 0);
}

}  // namespace event_test
}  // namespace VXLA_NAMESPACE
