// Jobs whose processes are threads of this one: what MPI does between them, without MPI, so that ThreadSanitizer sees
// all of it. tests/programs/distributed_test.cc has the processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "api/placed_replicas.h"
#include "api/replicas.h"
#include "backend/cpu/reference/evaluator.h"
#include "scheduler/replicas/remote_devices.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace job_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Pointers = std::vector<std::vector<const Literal*>>;

// What is on its way between the ranks.
struct Post {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int64_t, int64_t, int>, std::deque<std::vector<std::byte>>> sent;  // from, to, tag
};

class ThreadGroup : public ProcessGroup {
 public:
  ThreadGroup(Post& post, int64_t rank, int64_t size) : post_(post), rank_(rank), size_(size) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  std::string Move(std::span<Message> messages, const std::function<bool()>& goes_on) override {
    {
      const std::lock_guard lock(post_.mutex);
      for (Message& m : messages) {
        if (!m.sends) continue;
        post_.sent[{rank_, m.peer, m.tag}].emplace_back(m.bytes, m.bytes + m.size);
        m.done = true;
      }
    }
    post_.changed.notify_all();
    while (!Receive(messages)) {
      if (!goes_on()) break;
    }
    return "";
  }
  bool HasArrived(int64_t peer, int tag) override {
    const std::lock_guard lock(post_.mutex);
    return !post_.sent[{peer, rank_, tag}].empty();
  }
  void Finish() override {}

 private:
  bool Receive(std::span<Message> messages) {
    std::unique_lock lock(post_.mutex);
    const auto take = [&] {
      for (Message& m : messages) {
        if (m.done || m.sends) continue;
        auto& queue = post_.sent[{m.peer, rank_, m.tag}];
        if (queue.empty()) continue;
        std::ranges::copy(queue.front(), m.bytes);
        queue.pop_front();
        m.done = true;
      }
      return std::ranges::all_of(messages, &Message::done);
    };
    return post_.changed.wait_for(lock, std::chrono::milliseconds(1), take);
  }
  Post& post_;
  const int64_t rank_, size_;
};

constexpr char kProgram[] = R"(sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[4] get-tuple-element(s), index=1
  o = s32[] constant(1)  j = s32[] add(i, o)  r = f32[4] all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum
  p = f32[4] collective-permute(r), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}  h = f32[4] tanh(p)
  ROOT t = (s32[], f32[4]) tuple(j, h) }
cond { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(9)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[4] parameter(0)  z = s32[] constant(0)  s = (s32[], f32[4]) tuple(z, x)
  w = (s32[], f32[4]) while(s), condition=cond, body=body  ROOT y = f32[4] get-tuple-element(w), index=1 })";

DeviceOptions DeviceNamed(const std::string& device) {
  DeviceOptions options;
  options.device = device;
  if (const char* validate = std::getenv("VXLA_TEST_VALIDATE")) options.validate = validate;
  if (const char* emulate = std::getenv("VXLA_TEST_EMULATE")) options.emulate = emulate;
  return options;
}

// One rank: meets the others, compiles and runs its place on `device`.
Result<std::optional<Literal>> RunRank(Post& post, int64_t rank, int64_t ranks, const std::string& device,
                                       const Pointers& arguments, uint64_t program, const std::string& text = kProgram,
                                       const PlaceChoices& choices = {}) {
  ThreadGroup group(post, rank, ranks);
  const JobWaits waits{std::chrono::seconds(60), nullptr};
  const auto module = ParseModule(text);
  VXLA_RETURN_IF_ERROR(MeetOthers(group, OkStatus(), {{"program", {program, 0}}}, waits));
  VXLA_ASSIGN_OR_RETURN(
      auto placed, PlacedExecutable::CompileInJob(*module, {4, 1}, arguments, {&group, waits, DeviceNamed(device)}, {},
                                                  {}, choices));
  return placed.RunInJob(arguments);
}

class JobTest : public ::testing::Test {
 protected:
  JobTest() {
    for (uint64_t d = 0; d < 4; ++d) values_.push_back(RandomLiteral(Shape(ElementType::kF32, {4}), d));
    for (const Literal& value : values_) arguments_.push_back({&value});
  }
  // What each rank gives; `programs`: what each believes to run.
  std::vector<Result<std::optional<Literal>>> RunJob(const std::string& device, const std::vector<uint64_t>& programs,
                                                     const std::string& text = kProgram,
                                                     const PlaceChoices& choices = {}) {
    Post post;
    const auto ranks = static_cast<int64_t>(programs.size());
    std::vector<Result<std::optional<Literal>>> results(programs.size(), Internal("not run"));
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto r = static_cast<size_t>(rank);
        results[r] = RunRank(post, rank, ranks, device, arguments_, programs[r], text, choices);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  std::vector<Literal> values_;
  Pointers arguments_;
};

TEST_F(JobTest, RanksGiveTheBitsOfOnePlace) {
  for (const char* device : {"cpu", "vulkan"}) {
    auto one = PlacedExecutable::Compile(*ParseModule(kProgram), {4, 1}, arguments_,
                                         {std::string(device) == "cpu" ? "cpu" : "0"}, DeviceNamed(device), {});
    ASSERT_TRUE(one.ok()) << one.status().message();
    const auto expected = one->Run(arguments_);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    for (const size_t ranks : {2, 3, 4, 5}) {
      for (const ReductionForm form : {ReductionForm::kWhole, ReductionForm::kParts}) {
        SCOPED_TRACE(fmt::format("{} ranks on {}, {}", ranks, device, ReductionFormText(form)));
        const auto results = RunJob(device, std::vector<uint64_t>(ranks, 1), kProgram, {{}, form});
        for (size_t rank = 0; rank < ranks; ++rank) {
          ASSERT_TRUE(results[rank].ok()) << results[rank].status().message();
          EXPECT_EQ(results[rank]->has_value(), rank == 0);
        }
        EXPECT_TRUE(**results[0] == *expected);
      }
    }
  }
}

// What lives is the same on all devices here: they stand in one array with a leading axis.
TEST_F(JobTest, ResultsWithDynamicDimensionsComeFromOtherRanks) {
  const std::string text = R"(sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[4] parameter(0)  n = s32[] constant(3)  y = f32[<=4] set-dimension-size(x, n), dimensions={0}
  r = f32[<=4] all-reduce(y), channel_id=7, replica_groups={}, to_apply=sum  t = f32[<=4] tanh(y)
  ROOT q = (f32[<=4], f32[4], f32[<=4]) tuple(r, x, t) })";
  const auto expected = RunReplicated(*ParseModule(text), {4, 1}, arguments_, {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (const char* device : {"cpu", "vulkan"}) {
    for (const size_t ranks : {2, 4}) {
      SCOPED_TRACE(fmt::format("{} ranks on {}", ranks, device));
      const auto results = RunJob(device, std::vector<uint64_t>(ranks, 1), text);
      for (const auto& result : results) ASSERT_TRUE(result.ok()) << result.status().message();
      const auto got = FlattenLiteral(**results[0]), want = FlattenLiteral(*expected);
      for (size_t k = 0; k < want.size(); ++k) {
        EXPECT_EQ(got[k]->shape().ToString(), want[k]->shape().ToString());
        ExpectAgreement(*got[k], *want[k], {}, fmt::format("leaf {}", k));
      }
    }
  }
}

// Loops in which all meet, by counters that `start` sets.
std::string TwoLoops(const std::string& starts) {
  return R"(sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[4] get-tuple-element(s), index=1
  o = s32[] constant(1)  j = s32[] add(i, o)  r = f32[4] all-reduce(x), channel_id=7, replica_groups={}, to_apply=sum
  h = f32[4] tanh(r)  ROOT t = (s32[], f32[4]) tuple(j, h) }
cond { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(4)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[4] parameter(0)  d = u32[] replica-id()
)" + starts +
         R"(
  s = (s32[], f32[4]) tuple(z, x)  w = (s32[], f32[4]) while(s), condition=cond, body=body
  y = f32[4] get-tuple-element(w), index=1  m = s32[] negate(z)  c = f32[4] cosine(y)  u = (s32[], f32[4]) tuple(m, c)
  v = (s32[], f32[4]) while(u), condition=cond, body=body  q = f32[4] get-tuple-element(v), index=1
  f = f32[] convert(d)  b = f32[4] broadcast(f), dimensions={}  ROOT r = f32[4] add(q, b) })";
}

// Counters that follow from the devices' numbers, and such that data decide, which only a run shows.
const std::string kFromNumbers = "  z = s32[] convert(d)";
const std::string kFromData = R"(  e = f32[1] slice(x), slice={[0:1]}  g = f32[] reshape(e)  k = f32[] constant(0.25)
  a = f32[] multiply(g, k)  z = s32[] convert(a))";

TEST_F(JobTest, DevicesRunApartAndMeetAtTheFirstRank) {
  for (size_t d = 0; d < values_.size(); ++d) values_[d].mutable_data<float>()[0] = static_cast<float>(d) * 4 - 6;
  // A send that some make, by their data; groups of halves; a state of each device.
  const std::string sends = R"(yes { x = f32[4] parameter(0)  t = token[] after-all()
  c = (f32[4], u32[], token[]) send(x, t), channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{3,2}}"}
  sd = token[] send-done(c), channel_id=3  ROOT n = f32[4] negate(x) }
no { x = f32[4] parameter(0)  t = token[] after-all()
  c = (f32[4], u32[], token[]) recv(t), channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{3,2}}"}
  rd = (f32[4], token[]) recv-done(c), channel_id=3  ROOT n = f32[4] get-tuple-element(rd), index=0 }
most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
ENTRY e { x = f32[4] parameter(0)  e = f32[1] slice(x), slice={[0:1]}  g = f32[] reshape(e)  a = f32[] abs(g)
  l = f32[] constant(4)  p = pred[] compare(a, l), direction=GT
  y = f32[4] conditional(p, x, x), true_computation=yes, false_computation=no
  h = f32[8] all-gather(y), dimensions={0}, replica_groups={{0,3},{1,2}}
  m = f32[4] all-reduce(y), replica_groups=[2,2]<=[4], to_apply=most
  n = f32[1] reduce-scatter(y), dimensions={0}, replica_groups={}, to_apply=most
  ROOT r = (f32[8], f32[4], f32[1]) tuple(h, m, n) })";
  for (const std::string& text : {TwoLoops(kFromNumbers), TwoLoops(kFromData), sends}) {
    const auto expected = RunReplicated(*ParseModule(text), {4, 1}, arguments_, {});
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    for (const size_t ranks : {2, 3, 5}) {
      SCOPED_TRACE(fmt::format("{} ranks: {}", ranks, text));
      const auto results = RunJob("vulkan", std::vector<uint64_t>(ranks, 1), text);
      for (size_t rank = 0; rank < ranks; ++rank) {
        ASSERT_TRUE(results[rank].ok()) << results[rank].status().message();
        EXPECT_EQ(results[rank]->has_value(), rank == 0);
      }
      const auto got = FlattenLiteral(**results[0]), want = FlattenLiteral(*expected);
      for (size_t k = 0; k < want.size(); ++k) ExpectAgreement(*got[k], *want[k], {}, fmt::format("leaf {}", k));
    }
  }
}

TEST_F(JobTest, ADeviceThatNeverComesIsReportedByAllRanks) {
  for (size_t d = 0; d < values_.size(); ++d) values_[d].mutable_data<float>()[0] = static_cast<float>(d) * 4 - 6;
  for (const std::string& starts : {kFromNumbers, kFromData}) {
    std::string text = TwoLoops(starts);
    text.replace(text.find("negate(z)"), 9, "copy(z)");
    const auto expected = RunReplicated(*ParseModule(text), {4, 1}, arguments_, {});
    ASSERT_FALSE(expected.ok());
    for (const auto& result : RunJob("vulkan", {1, 1}, text)) {
      EXPECT_EQ(result.status().code(), StatusCode::kDeviceFailure) << result.status().message();
      EXPECT_THAT(
          result.status().message(),
          AllOf(HasSubstr("deadlock: all-reduce r (channel_id 7): replica 0 waits for"), HasSubstr("has ended")));
    }
  }
}

// A loop that data leave at other times: no device can go on, and all ranks say who waits for whom. Then they run
// again.
TEST_F(JobTest, ADeadlockOfDevicesThatDataPartIsReportedByAllRanks) {
  const std::string program = kProgram;
  const auto constant = program.find("z = s32[] constant(0)");
  const std::string text = program.substr(0, constant) + kFromData.substr(2) + program.substr(constant + 21);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const Pointers alike(4, {&values_[0]}), &parted = arguments_;
  for (size_t d = 0; d < values_.size(); ++d) values_[d].mutable_data<float>()[0] = static_cast<float>(d) * 4;
  const auto expected = RunReplicated(*module, {4, 1}, alike, {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (const int64_t ranks : {2, 4}) {
    Post post;
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        ThreadGroup group(post, rank, ranks);
        const JobWaits waits{std::chrono::seconds(60), nullptr};
        auto placed = PlacedExecutable::CompileInJob(*module, {4, 1}, arguments_,
                                                     {&group, waits, DeviceNamed("vulkan")}, {}, {}, {});
        ASSERT_TRUE(placed.ok()) << placed.status().message();
        for (const Pointers* given : {&parted, &alike, &parted}) {
          const auto result = placed->RunInJob(*given);
          if (given == &alike) {
            ASSERT_TRUE(result.ok()) << result.status().message();
            if (*result) ExpectAgreement(**result, *expected, {}, "alike");
            continue;
          }
          EXPECT_EQ(result.status().code(), StatusCode::kDeviceFailure) << result.status().message();
          EXPECT_THAT(result.status().message(),
                      AllOf(HasSubstr("deadlock: all-reduce r (channel_id 7): replica 0 waits for replica"),
                            HasSubstr("; replica 3 has ended")));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// The reference does not meet others in this way, and every rank says so.
TEST_F(JobTest, DevicesRunApartOnVulkanDevicesAlone) {
  for (const auto& result : RunJob("cpu", {1, 1}, TwoLoops(kFromNumbers))) {
    EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
    EXPECT_THAT(
        result.status().message(),
        AllOf(HasSubstr("all-reduce r (channel_id 7) inside waits for all of them"),
              HasSubstr("the devices of a job run apart on Vulkan devices alone, and a rank has the reference")));
  }
}

TEST_F(JobTest, RanksWithOtherProgramsAreNamedByAll) {
  for (const auto& result : RunJob("cpu", {1, 1, 2}))
    EXPECT_THAT(result.status().message(), HasSubstr("the program of rank 2 differs from rank 0's"));
}

TEST_F(JobTest, ARankThatEndsIsReportedByThoseWhoWait) {
  Post post;
  const std::vector<Shape> byte = {Shape(ElementType::kU8)};
  const PlaceExchange exchange{1, "all-reduce r (channel_id 7)", {0, 1}, {byte, byte}, {{{1, 0, 0}}, {{0, 0, 0}}}};
  std::array<uint8_t, 4> bytes{};
  const void* const own[] = {&bytes[0]};
  void* const received[] = {&bytes[1]};
  const std::vector<std::string> names = {"rank 0: replica 0", "rank 1: replica 1"};
  ThreadGroup first(post, 0, 2), second(post, 1, 2);
  std::thread other([&] {
    GroupTransport transport(second, names, {});
    const void* const its[] = {&bytes[2]};
    void* const theirs[] = {&bytes[3]};
    EXPECT_TRUE(transport.ExchangeArrays(exchange, 1, its, theirs).ok());
    transport.Leave(1);
  });
  GroupTransport transport(first, names, {});
  EXPECT_TRUE(transport.ExchangeArrays(exchange, 0, own, received).ok());
  EXPECT_EQ(transport.ExchangeArrays(exchange, 0, own, received).message(),
            "deadlock: all-reduce r (channel_id 7): place 0 (rank 0: replica 0) waits for place 1 (rank 1: replica 1), "
            "which has ended");
  other.join();
}

// A rank that is gone without a word, and one that says that it leaves, while the first one serves its device: `run`
// says what the first one knows.
TEST_F(JobTest, ADeviceWhoseRankIsGoneEndsTheRunOfTheFirst) {
  const JobWaits waits{std::chrono::milliseconds(50), nullptr};
  JobRun run;
  Status failure;
  run.failure = [&] { return failure; };
  run.is_finished = [] { return true; };
  run.call = [](int64_t, std::span<const std::byte>) -> Result<Literal> { return Internal("nobody asks"); };
  Post post;
  ThreadGroup first(post, 0, 2), second(post, 1, 2);
  EXPECT_EQ(ServeDevice(first, 1, 3, waits, run).message(), "rank 1 has not come in 50 ms");
  GroupTransport(second, {"rank 0", "rank 1"}, {}).Leave(1);
  run.is_finished = [] { return false; };  // one that computes has its time
  EXPECT_EQ(ServeDevice(first, 1, 3, waits, run).message(), "rank 1 has ended");
  // What has failed meanwhile is said to whom asks next.
  failure = DeviceFailure("replica 0 has failed");
  EXPECT_EQ(ServeDevice(first, 1, 3, waits, run).message(), "replica 0 has failed");
  const Literal x = Literal::ScalarInt(ElementType::kS32, 1);
  const Literal* const operands[] = {&x};
  EXPECT_EQ(RemoteDevice(second, 3, waits).Call(0, operands, x.shape(), "all-reduce a: replica 3").status().message(),
            "replica 0 has failed");
}

TEST_F(JobTest, LiteralsGoBetweenRanksWithWhatLives) {
  Literal live(Shape(ElementType::kBF16, {3, 5}));
  Shape shape = live.shape();
  shape.set_dynamic_dimension(1, true);
  live = Literal(shape);
  live.set_dynamic_size(1, 2);
  std::vector<Literal> leaves{live, Literal(Shape::Token()), RandomLiteral(Shape(ElementType::kC64, {}), 1)};
  const Shape tuple = Shape::Tuple({shape, Shape::Token(), leaves[2].shape()});
  const Literal sent = UnflattenLiteral(tuple, leaves);
  std::vector<std::byte> bytes;
  PackLiteral(sent, bytes);
  std::span<const std::byte> left(bytes);
  const auto received = UnpackLiteral(tuple, left);
  ASSERT_TRUE(received.ok()) << received.status().message();
  EXPECT_TRUE(*received == sent);
  EXPECT_TRUE(left.empty());
  // Less than a literal, and one of larger sizes.
  left = std::span(bytes).first(bytes.size() - 1);
  EXPECT_EQ(UnpackLiteral(tuple, left).status().code(), StatusCode::kInternal);
  left = bytes;
  EXPECT_EQ(UnpackLiteral(Shape(ElementType::kBF16, {2, 5}), left).status().code(), StatusCode::kInternal);
}

}  // namespace job_test
}  // namespace VXLA_NAMESPACE::testing
