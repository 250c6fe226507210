// Buffers and runs as whoever waits for nothing uses them: transfers, promises, deletion, donation, errors in events.
#include "scheduler/runtime/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <thread>

#include "scheduler/runtime/client.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "scheduler/runtime/memory/host_array.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE {
namespace buffer_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vxla::testing::FakeDevice;
using vxla::testing::FakeDeviceOptions;
using vxla::testing::FakeEvaluate;
using vxla::testing::Parse;

// A door that threads wait at until it is opened.
class Gate {
 public:
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

Literal Vector(const std::vector<float>& values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}),
                                    std::span<const float>(values));
}
std::vector<float> Floats(const Literal& literal) {
  const auto data = literal.data<float>();
  return {data.begin(), data.end()};
}
std::vector<float> Floats(const DeviceBuffer& buffer) {
  const auto literal = buffer.ToLiteral();
  VXLA_CHECK(literal.ok(), literal.status().message());
  return Floats(*literal);
}

class BufferTest : public ::testing::TestWithParam<bool> {
 protected:
  BufferTest() { Open({}); }
  ~BufferTest() override {
    device_gate_.Open();
    host_gate_.Open();
  }
  void Open(const ClientOptions& client_options, FakeDeviceOptions options = {}) {
    client_.reset();
    options.host_visible = GetParam();
    device_ = std::make_shared<FakeDevice>(options);
    const auto evaluate = [this](const Instruction& instruction, std::span<const Literal* const> operands) {
      if (instruction.opcode() == Opcode::kCustomCall) {
        if (waits_on_host_) host_gate_.Wait();
        if (fails_on_host_) return Result<Literal>(Mismatch("the host step failed"));
      }
      return FakeEvaluate(instruction, operands);
    };
    client_ = std::make_unique<Client>(device_, evaluate, client_options);
  }
  // Nothing that is submitted from here on runs before the gate is open.
  void HoldDevice() {
    device_->before_submission_runs = [this](TimePoint) { device_gate_.Wait(); };
  }
  std::shared_ptr<Executable> Compile(const std::string& text) {
    auto executable = client_->Compile(*Parse(text));
    VXLA_CHECK(executable.ok(), executable.status().message());
    return *executable;
  }
  DeviceBuffer Upload(const std::vector<float>& values) { return (*client_->Upload(Vector(values)))[0]; }
  static Execution Execute(Executable& executable, const std::vector<Argument>& arguments) {
    auto execution = executable.Execute(arguments);
    VXLA_CHECK(execution.ok(), execution.status().message());
    return *execution;
  }

  Gate device_gate_, host_gate_;
  std::atomic<bool> waits_on_host_ = false, fails_on_host_ = false;
  std::shared_ptr<FakeDevice> device_;
  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Memory, BufferTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Mapped" : "Staged"; });

constexpr char kNegate[] = "HloModule m\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}";
// -sort(-x) + x, sorted by the host.
constexpr char kSorts[] = R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  n = f32[4] negate(x)
  s = f32[4] custom-call(n), custom_call_target="sort"
  ROOT m = f32[4] add(s, x)
})";
constexpr char kUpdate[] = R"(HloModule update, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  w = f32[4] parameter(0)
  g = f32[4] parameter(1)
  ROOT n = f32[4] subtract(w, g)
})";

TEST(HostArrayTest, ElementsAreCopiedBetweenAnyStrides) {
  const Shape shape(ElementType::kS16, {2, 3});
  const std::vector<int16_t> from{1, 2, 3, 4, 5, 6};
  const auto* const first = reinterpret_cast<const std::byte*>(from.data());
  const auto copy = [&](const std::byte* source, std::vector<int64_t> strides) {
    std::vector<int16_t> to(6);
    CopyElements(shape, source, strides, reinterpret_cast<std::byte*>(to.data()), {});
    return to;
  };
  EXPECT_THAT(copy(first, {}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(copy(first, {6, 2}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(copy(first, {2, 4}), ElementsAre(1, 3, 5, 2, 4, 6));         // column-major
  EXPECT_THAT(copy(first + 10, {-6, -2}), ElementsAre(6, 5, 4, 3, 2, 1));  // reversed
  EXPECT_THAT(copy(first + 2, {0, 2}), ElementsAre(2, 3, 4, 2, 3, 4));     // broadcast
  EXPECT_TRUE(IsDense(shape, std::vector<int64_t>{6, 2}));
  EXPECT_FALSE(IsDense(shape, std::vector<int64_t>{2, 4}));
  EXPECT_TRUE(IsDense(Shape(ElementType::kS16, {1, 3}), std::vector<int64_t>{77, 2}));
  EXPECT_TRUE(IsDense(Shape(ElementType::kS16, {0, 3}), std::vector<int64_t>{77, 78}));
  EXPECT_EQ(CheckStrides(shape, std::vector<int64_t>{2}).message(), "1 strides given for a s16[2,3]");
}

TEST_P(BufferTest, ArraysOfTheHostComeAndGoWithStrides) {
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  const auto* const data = reinterpret_cast<const std::byte*>(matrix.data());
  for (const auto lent : {Client::HostArray::Lent::kDuringCall, Client::HostArray::Lent::kUntilTransferred}) {
    auto made = client_->FromHost({data, Shape(ElementType::kF32, {3, 2}), {4, 12}, lent});
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(made->done.Await().ok());
    EXPECT_THAT(Floats(made->buffer), ElementsAre(1, 4, 2, 5, 3, 6));
    std::vector<float> out(6);
    auto* const to = reinterpret_cast<std::byte*>(out.data());
    EXPECT_TRUE(made->buffer.ToHost(to, std::vector<int64_t>{4, 12}).Await().ok());
    EXPECT_EQ(out, matrix);
    EXPECT_TRUE(made->buffer.ToHost(std::as_writable_bytes(std::span(out))).Await().ok());
    EXPECT_THAT(out, ElementsAre(1, 4, 2, 5, 3, 6));
    EXPECT_EQ(made->buffer.ToHost(std::as_writable_bytes(std::span(out).first(2))).Await().message(),
              "8 bytes given for a f32[3,2] of 24");
  }
  const auto empty = client_->FromHost({nullptr, Shape(ElementType::kF32, {0, 2}), {}});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->buffer.ToLiteral()->element_count(), 0);
}

TEST_P(BufferTest, ArraysOfTheHostBringTheirLiveSizes) {
  const std::vector<float> row{1, 2, 3};
  Client::HostArray array{reinterpret_cast<const std::byte*>(row.data()), Shape(ElementType::kF32, {3}), {}};
  array.live_sizes = {3};
  EXPECT_TRUE(client_->FromHost(array).ok());
  array.live_sizes = {2};
  EXPECT_EQ(client_->FromHost(array).status().message(), "live size 2 of dimension 0: f32[3] allows 3 to 3");
  array.shape.set_dynamic_dimension(0, true);
  const auto made = client_->FromHost(array);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(*made->buffer.LiveSizes(), ElementsAre(2));
  EXPECT_EQ(made->buffer.ToLiteral()->dynamic_size(0), 2);
  array.live_sizes = {};
  EXPECT_THAT(*client_->FromHost(array)->buffer.LiveSizes(), ElementsAre(3));
  array.live_sizes = {4};
  EXPECT_EQ(client_->FromHost(array).status().message(), "live size 4 of dimension 0: f32[<=3] allows 0 to 3");
  array.live_sizes = {1, 1};
  EXPECT_EQ(client_->FromHost(array).status().message(), "2 live sizes given for a f32[<=3]");
  array.shape = Shape(ElementType::kF32, {kUnboundedSize});
  EXPECT_THAT(client_->FromHost(array).status().message(), HasSubstr("an array of known sizes is wanted"));
}

// Behind the runs that were begun, before those that are begun afterwards.
TEST_P(BufferTest, ElementsAreReplacedBetweenRuns) {
  const auto negate = Compile(kNegate);
  const DeviceBuffer w = Upload({1, 2, 3, 4});
  HoldDevice();
  const Execution before = Execute(*negate, {w});
  const std::vector<float> next{5, 6, 7, 8};
  const Event written = w.Write(std::as_bytes(std::span(next)));
  EXPECT_FALSE(written.IsReady());
  const Execution after = Execute(*negate, {w});
  EXPECT_FALSE(after.IsReady());
  device_gate_.Open();
  EXPECT_TRUE(written.Await().ok());
  EXPECT_THAT(Floats(before.leaves[0]), ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(Floats(after.leaves[0]), ElementsAre(-5, -6, -7, -8));
  EXPECT_THAT(Floats(w), ElementsAre(5, 6, 7, 8));
  EXPECT_EQ(w.Write(std::as_bytes(std::span(next).first(1))).Await().message(), "4 bytes given for a f32[4] of 16");
  DeviceBuffer gone = w;
  gone.Delete();
  EXPECT_EQ(w.Write(std::as_bytes(std::span(next))).Await().message(), "the f32[4] has been deleted");
}

// What failed to be written can be written after all.
TEST_P(BufferTest, ElementsOfAFailedRunAreReplaced) {
  fails_on_host_ = true;
  const auto sorts = Compile(kSorts), negate = Compile(kNegate);
  const DeviceBuffer result = Execute(*sorts, {Upload({1, 2, 3, 4})}).leaves[0];
  EXPECT_FALSE(result.Wait().ok());
  const std::vector<float> next{5, 6, 7, 8};
  EXPECT_TRUE(result.Write(std::as_bytes(std::span(next))).Await().ok());
  EXPECT_THAT(Floats(Execute(*negate, {result}).leaves[0]), ElementsAre(-5, -6, -7, -8));
}

TEST_P(BufferTest, ARunLeavesAHeldBufferAlone) {
  const auto executable = Compile(kUpdate);
  const Literal g = Vector({1, 1, 1, 1});
  const DeviceBuffer w = Upload({5, 6, 7, 8});
  const auto hold = w.Hold();
  const Execution execution = Execute(*executable, {w, g});
  EXPECT_FALSE(w.IsDeleted());
  EXPECT_THAT(Floats(execution.leaves[0]), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(Floats(w), ElementsAre(5, 6, 7, 8));
}

TEST_P(BufferTest, ManyBytesAreTransferredByAnotherThread) {
  std::vector<float> many(100'000);
  std::iota(many.begin(), many.end(), 0.0F);
  const Client::HostArray array{reinterpret_cast<const std::byte*>(many.data()),
                                Shape(ElementType::kF32, {100'000}),
                                {},
                                Client::HostArray::Lent::kUntilTransferred};
  const auto kept = client_->FromHost(array);
  ASSERT_TRUE(kept.ok());
  std::promise<Status> told;
  kept->done.OnReady([&](const Status& status) { told.set_value(status); });
  EXPECT_TRUE(told.get_future().get().ok());
  const auto copied = client_->FromHost({array.data, array.shape, {}});
  ASSERT_TRUE(copied.ok());
  EXPECT_TRUE(copied->done.IsReady());
  const std::vector<float> before = many;
  many.assign(many.size(), -1.0F);
  for (const auto* made : {&*kept, &*copied}) {
    std::vector<float> out(many.size());
    EXPECT_TRUE(made->buffer.ToHost(std::as_writable_bytes(std::span(out))).Await().ok());
    EXPECT_EQ(out, before);
  }
}

TEST_P(BufferTest, AResultOnItsWayIsCopiedWhenItIsThere) {
  const auto executable = Compile(kNegate);
  const DeviceBuffer x = Upload({1, 2, 3, 4});
  const auto other_device = std::make_shared<FakeDevice>();
  Client other(other_device, FakeEvaluate);
  HoldDevice();
  const Execution execution = Execute(*executable, {x});
  const DeviceBuffer& y = execution.leaves[0];
  std::vector<float> out(4);
  const Event there = y.ToHost(std::as_writable_bytes(std::span(out)));
  const auto here = y.CopyTo(*client_), pinned = y.CopyTo(*client_, BufferMemory::kPinnedHost), far = y.CopyTo(other);
  for (const auto* copy : {&here, &pinned, &far}) {
    ASSERT_TRUE(copy->ok()) << copy->status().message();
    EXPECT_FALSE((*copy)->IsReady());
  }
  EXPECT_FALSE(there.IsReady());
  EXPECT_FALSE(execution.IsReady());
  device_gate_.Open();
  EXPECT_TRUE(there.Await().ok());
  EXPECT_THAT(out, ElementsAre(-1, -2, -3, -4));
  for (const auto* copy : {&here, &pinned, &far}) EXPECT_THAT(Floats(**copy), ElementsAre(-1, -2, -3, -4));
  EXPECT_EQ(y.memory_kind(), BufferMemory::kDevice);
  EXPECT_EQ(pinned->memory_kind(), BufferMemory::kPinnedHost);
  EXPECT_EQ(&far->memory()->device(), other_device.get());
  // Kernels use memory of the host's as they do the device's.
  EXPECT_THAT(Floats(Execute(*executable, {*pinned}).leaves[0]), ElementsAre(1, 2, 3, 4));
}

TEST_P(BufferTest, WhatIsDeletedInTheMiddleOfARunIsThereForTheRun) {
  const auto executable = Compile(kNegate);
  DeviceBuffer x = Upload({1, 2, 3, 4});
  const DeviceBuffer copy = x;
  const Buffer* const memory = &x.memory()->buffer();
  HoldDevice();
  const Execution execution = Execute(*executable, {x});
  EXPECT_FALSE(copy.IsDeleted());
  x.Delete();
  EXPECT_TRUE(copy.IsDeleted());
  EXPECT_EQ(copy.ToLiteral().status().message(), "the f32[4] has been deleted");
  EXPECT_EQ(copy.ToHost({}).Await().message(), "the f32[4] has been deleted");
  EXPECT_EQ(copy.CopyTo(*client_).status().message(), "the f32[4] has been deleted");
  EXPECT_EQ(executable->Execute(std::vector<Argument>{copy}).status().message(), "argument 0: the value was deleted");
  const DeviceBuffer other = Upload({0, 0, 0, 0});
  EXPECT_NE(&other.memory()->buffer(), memory);
  device_gate_.Open();
  EXPECT_THAT(Floats(execution.leaves[0]), ElementsAre(-1, -2, -3, -4));
  EXPECT_EQ(&Upload({0, 0, 0, 0}).memory()->buffer(), memory);  // free, though `copy` is still there
}

TEST_P(BufferTest, WhoeverHoldsABufferKeepsItsMemory) {
  const auto executable = Compile(kUpdate);
  const Literal g = Vector({1, 1, 1, 1});
  DeviceBuffer w = Upload({5, 6, 7, 8});
  auto hold = w.Hold();
  ASSERT_NE(hold, nullptr);
  hold = nullptr;
  const Execution execution = Execute(*executable, {w, g});
  EXPECT_TRUE(w.IsDeleted());
  EXPECT_EQ(w.Hold(), nullptr);
  DeviceBuffer result = execution.leaves[0];
  EXPECT_THAT(Floats(result), ElementsAre(4, 5, 6, 7));
  hold = result.Hold();
  const Buffer* const memory = &result.memory()->buffer();
  result.Delete();
  const DeviceBuffer other = Upload({0, 0, 0, 0});
  EXPECT_NE(&other.memory()->buffer(), memory);
  hold = nullptr;
  EXPECT_EQ(&Upload({0, 0, 0, 0}).memory()->buffer(), memory);
}

TEST_P(BufferTest, ARunWithHostStepsReturnsAtOnceAndSoDoThoseThatUseIt) {
  const auto sorts = Compile(kSorts), negate = Compile(kNegate), update = Compile(kUpdate);
  EXPECT_EQ(sorts->fallbacks().size(), 1u);
  waits_on_host_ = true;
  const DeviceBuffer x = Upload({1, 4, 2, 3}), ones = Upload({1, 1, 1, 1});
  const Execution first = Execute(*sorts, {x});                 // -3 1 0 2
  const Execution second = Execute(*sorts, {first.leaves[0]});  // -2-3 -1+1 0+0 3+2
  const Execution third = Execute(*negate, {second.leaves[0]});
  // Donated while runs that have not been submitted use them.
  const Execution fourth = Execute(*update, {x, ones});
  const Execution fifth = Execute(*update, {first.leaves[0], ones});
  Argument kept(second.leaves[0]);
  kept.keep = true;
  const Execution sixth = Execute(*update, {kept, ones});
  const auto copy = third.leaves[0].CopyTo(*client_);
  ASSERT_TRUE(copy.ok());
  std::vector<float> out(4);
  const Event there = second.leaves[0].ToHost(std::as_writable_bytes(std::span(out)));
  for (const Execution* execution : {&first, &second, &third, &fourth, &fifth, &sixth}) {
    EXPECT_FALSE(execution->IsReady());
    EXPECT_FALSE(execution->done.IsSubmitted());
    EXPECT_FALSE(execution->leaves[0].IsReady());
  }
  EXPECT_FALSE(there.IsReady());
  EXPECT_TRUE(x.IsDeleted());
  EXPECT_TRUE(first.leaves[0].IsDeleted());
  EXPECT_FALSE(second.leaves[0].IsDeleted());
  host_gate_.Open();
  EXPECT_THAT(Floats(second.leaves[0]), ElementsAre(-5, 0, 0, 5));
  EXPECT_THAT(Floats(third.leaves[0]), ElementsAre(5, 0, 0, -5));
  EXPECT_THAT(Floats(fourth.leaves[0]), ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(Floats(fifth.leaves[0]), ElementsAre(-4, 0, -1, 1));
  EXPECT_THAT(Floats(sixth.leaves[0]), ElementsAre(-6, -1, -1, 4));
  EXPECT_THAT(Floats(*copy), ElementsAre(5, 0, 0, -5));
  EXPECT_TRUE(there.Await().ok());
  EXPECT_THAT(out, ElementsAre(-5, 0, 0, 5));
}

TEST_P(BufferTest, TheErrorOfAHostStepTravelsInEvents) {
  const auto sorts = Compile(kSorts), negate = Compile(kNegate);
  waits_on_host_ = fails_on_host_ = true;
  const DeviceBuffer x = Upload({1, 4, 2, 3});
  DeviceBuffer used = Upload({1, 2, 3, 4});
  const Execution fails = Execute(*sorts, {used});
  const Execution follows = Execute(*negate, {fails.leaves[0]});
  const auto copy = fails.leaves[0].CopyTo(*client_);
  ASSERT_TRUE(copy.ok());
  used.Delete();
  std::promise<std::string> told;
  follows.done.OnReady([&](const Status& status) { told.set_value(status.message()); });
  host_gate_.Open();
  EXPECT_EQ(told.get_future().get(), "the host step failed");
  EXPECT_EQ(fails.Wait().code(), StatusCode::kMismatch);
  EXPECT_EQ(fails.leaves[0].ToLiteral().status().message(), "the host step failed");
  EXPECT_EQ(copy->Wait().message(), "the host step failed");
  EXPECT_EQ(negate->Execute(std::vector<Argument>{fails.leaves[0]}).status().message(), "the host step failed");
  fails_on_host_ = false;
  EXPECT_THAT(Floats(Execute(*sorts, {x}).leaves[0]), ElementsAre(-3, 1, 0, 2));
  EXPECT_THAT(Floats(Execute(*negate, {x}).leaves[0]), ElementsAre(-1, -4, -2, -3));
}

TEST_P(BufferTest, RunAndStatisticsWaitForTheHostsPart) {
  const auto sorts = Compile(kSorts);
  RunStatistics statistics;
  const DeviceBuffer x = Upload({1, 4, 2, 3});
  const auto execution = sorts->Execute(std::vector<Argument>{x}, &statistics);
  ASSERT_TRUE(execution.ok());
  EXPECT_TRUE(execution->done.IsSubmitted());
  EXPECT_EQ(statistics.downloaded_bytes, 16);  // the host's operand
  EXPECT_EQ(statistics.uploaded_bytes, 16);    // and what it made
  waits_on_host_ = true;
  const Execution before = Execute(*sorts, {x});
  auto opens = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(5ms);
    host_gate_.Open();
  });
  const Literal argument = Vector({1, 4, 2, 3});
  const auto result = sorts->Run(std::vector<const Literal*>{&argument}, &statistics);  // after the one before
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(before.IsReady());
  EXPECT_THAT(Floats(*result), ElementsAre(-3, 1, 0, 2));
  EXPECT_EQ(statistics.uploaded_bytes, 32);
  EXPECT_EQ(statistics.downloaded_bytes, 32);  // the result too
}

TEST_P(BufferTest, EverythingMayBeDroppedWhileARunWaitsForTheHost) {
  waits_on_host_ = true;
  std::promise<Status> told;
  {
    const auto sorts = Compile(kSorts);
    const Execution execution = Execute(*sorts, {Upload({1, 4, 2, 3})});
    execution.done.OnReady([&](const Status& status) { told.set_value(status); });
  }
  auto opens = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(5ms);
    host_gate_.Open();
  });
  client_.reset();  // waits for the host's part of runs, which may need what the caller has lent
  EXPECT_TRUE(told.get_future().get().ok());
}

TEST_P(BufferTest, RunsInFlightAreLimitedByBytes) {
  const auto executes = [&](Executable& executable, int count) {
    const DeviceBuffer x = Upload({1, 2, 3, 4});
    HoldDevice();
    std::atomic<int> begun = 0;
    auto all = std::async(std::launch::async, [&, x] {
      std::vector<Execution> executions;
      for (int i = 0; i < count; ++i) {
        executions.push_back(Execute(executable, {x}));
        ++begun;
      }
      return executions;
    });
    all.wait_for(30ms);
    const int at_once = begun;
    device_gate_.Open();
    for (const Execution& execution : all.get()) EXPECT_THAT(Floats(execution.leaves[0]), ElementsAre(-1, -2, -3, -4));
    return at_once;
  };
  EXPECT_EQ(executes(*Compile(kNegate), 20), 20);
}

TEST_P(BufferTest, ARunBeyondTheBytesInFlightWaits) {
  ClientOptions options;
  options.max_bytes_in_flight = 1;
  options.least_runs_in_flight = 2;
  Open(options);
  const auto executable = Compile(kNegate);
  const DeviceBuffer x = Upload({1, 2, 3, 4});
  HoldDevice();
  std::vector<Execution> executions;
  for (int i = 0; i < 2; ++i) executions.push_back(Execute(*executable, {x}));
  auto third = std::async(std::launch::async, [&] { return Execute(*executable, {x}); });
  EXPECT_EQ(third.wait_for(20ms), std::future_status::timeout);
  device_gate_.Open();
  EXPECT_THAT(Floats(third.get().leaves[0]), ElementsAre(-1, -2, -3, -4));
}

// For ThreadSanitizer: one program with host steps that all execute, wait for, copy, delete and drop.
TEST_P(BufferTest, ManyThreadsShareProgramsAndBuffers) {
  const auto sorts = Compile(kSorts), negate = Compile(kNegate);
  const DeviceBuffer shared = Upload({1, 4, 2, 3});
  std::vector<std::thread> threads;
  std::atomic<int> told = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        Execution first = Execute(*sorts, {shared});
        first.done.OnReady([&, held = first.leaves[0]](const Status&) mutable { held = {}, ++told; });
        Execution second = Execute(*negate, {first.leaves[0]});
        const auto copy = first.leaves[0].CopyTo(*client_);
        ASSERT_TRUE(copy.ok());
        if ((t + i) % 3 == 0) first.leaves[0].Delete();
        EXPECT_THAT(Floats(second.leaves[0]), ElementsAre(3, -1, 0, -2));
        EXPECT_THAT(Floats(*copy), ElementsAre(-3, 1, 0, 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  client_.reset();
  while (told != 60) std::this_thread::yield();  // buffers that callbacks hold outlive the client
}

}  // namespace buffer_test
}  // namespace VXLA_NAMESPACE
