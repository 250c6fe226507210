// The choice of the way to run: together as long as the data allow it, apart from then on, and once apart to say what
// was wrong; in a job as all of its processes agree.
#include "scheduler/runtime/programs/choose.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace VXLA_NAMESPACE {
namespace {

using How = Attempt::How;

// Ends as it is told; its launches have as many devices as runs before.
class FakeTogether : public DevicesTogether {
 public:
  explicit FakeTogether(std::vector<How> ends) : ends_(std::move(ends)) {}
  const Executable& executable() const override { VXLA_CHECK(false, "nothing is compiled"); }
  Attempt Try(ArgumentLists, RunStatistics*) override {
    const size_t run = runs++;
    const How how = ends_[std::min(run, ends_.size() - 1)];
    if (how == How::kDone) return {how, OkStatus(), {std::vector<Execution>(1)}};
    return {how, Mismatch("together: {}", static_cast<int>(how)), {}};
  }
  std::atomic<size_t> runs = 0;

 private:
  const std::vector<How> ends_;
};

class FakeApart : public Program {
 public:
  FakeApart(std::atomic<int>& runs, Status status)
      : Program(DeviceAssignment::OnOne({2, 1})), runs_(runs), status_(std::move(status)) {}
  const Executable& executable() const override { VXLA_CHECK(false, "nothing is compiled"); }
  Result<Launch> Execute(ArgumentLists, RunStatistics*) override {
    ++runs_;
    if (!status_.ok()) return status_;
    return Launch{std::vector<Execution>(2)};
  }

 private:
  std::atomic<int>& runs_;
  const Status status_;
};

// What the other processes of a job say.
class FakeJob : public Job {
 public:
  FakeJob(bool from_first_run, How together, std::vector<std::string>& calls)
      : from_first_run_(from_first_run), together_(together), calls_(calls) {}
  Result<bool> RunsApart() override {
    calls_.emplace_back("begin");
    return from_first_run_;
  }
  Result<How> Agree(const Attempt& here) override {
    calls_.emplace_back("agree");
    return here.how == How::kFailed ? How::kFailed : together_;
  }
  void Leave() override { calls_.emplace_back("leave"); }

 private:
  const bool from_first_run_;
  const How together_;
  std::vector<std::string>& calls_;
};

class ChooseTest : public ::testing::Test {
 protected:
  MakeApart Apart(Status status = OkStatus(), bool made = true) {
    return [this, status, made](const Status& why) -> Result<std::unique_ptr<Program>> {
      reasons.push_back(std::string(why.message()));
      if (!made) return Unsupported("none apart");
      return std::unique_ptr<Program>(std::make_unique<FakeApart>(apart_runs, status));
    };
  }
  std::unique_ptr<Program> InRuns(std::vector<How> ends, MakeApart apart) {
    together = std::make_shared<FakeTogether>(std::move(ends));
    return ChooseInRuns(DeviceAssignment::OnOne({2, 1}), together, std::move(apart));
  }
  std::unique_ptr<Program> InJob(How here, bool from_first_run, How all, MakeApart apart) {
    together = std::make_shared<FakeTogether>(std::vector{here});
    return ChooseInJob(DeviceAssignment::OnOne({2, 1}), together, nullptr, std::move(apart),
                       std::make_unique<FakeJob>(from_first_run, all, calls));
  }
  // How many devices gave something, or the error.
  static std::string Run(Program& program) {
    const Result<Launch> launch = program.Execute({});
    return launch.ok() ? std::to_string(launch->by_device.size()) : std::string(launch.status().message());
  }

  std::shared_ptr<FakeTogether> together;
  std::atomic<int> apart_runs = 0;
  std::vector<std::string> reasons, calls;
};

TEST_F(ChooseTest, DevicesThatPartStayApart) {
  const auto program = InRuns({How::kDone, How::kParted, How::kDone}, Apart());
  EXPECT_EQ(Run(*program), "1");
  EXPECT_EQ(Run(*program), "2");
  EXPECT_EQ(Run(*program), "2");
  EXPECT_EQ(together->runs, 2u);
  EXPECT_EQ(apart_runs, 2);
  EXPECT_EQ(reasons, std::vector<std::string>{"together: 2"});
}

TEST_F(ChooseTest, WrongDataAreSaidByOneRunApart) {
  const auto program = InRuns({How::kWrong, How::kWrong, How::kDone}, Apart(Mismatch("said better")));
  EXPECT_EQ(Run(*program), "said better");
  EXPECT_EQ(Run(*program), "said better");
  EXPECT_EQ(Run(*program), "1");  // the devices still run together
  EXPECT_EQ(apart_runs, 2);
  EXPECT_EQ(Run(*InRuns({How::kWrong}, Apart())), "together: 3");  // apart, nothing was wrong
}

TEST_F(ChooseTest, FailuresAndWhatCannotRunApartAreTold) {
  EXPECT_EQ(Run(*InRuns({How::kFailed}, Apart())), "together: 1");
  EXPECT_EQ(Run(*InRuns({How::kParted}, MakeApart())), "together: 2");
  EXPECT_EQ(Run(*InRuns({How::kWrong}, MakeApart())), "together: 3");
  EXPECT_EQ(apart_runs, 0);
  EXPECT_EQ(Run(*InRuns({How::kParted}, Apart(OkStatus(), /*made=*/false))), "none apart");
}

TEST_F(ChooseTest, TheProcessesOfAJobRunAlike) {
  const std::vector<std::string> met = {"begin", "agree"}, left = {"begin", "agree", "leave"};
  EXPECT_EQ(Run(*InJob(How::kDone, false, How::kDone, Apart())), "1");
  EXPECT_EQ(std::exchange(calls, {}), met);
  EXPECT_EQ(Run(*InJob(How::kDone, false, How::kParted, Apart())), "2");  // another one has parted
  EXPECT_EQ(std::exchange(calls, {}), met);
  EXPECT_EQ(Run(*InJob(How::kDone, false, How::kWrong, Apart())), "1");  // this one has its results
  EXPECT_EQ(std::exchange(calls, {}), met);
  EXPECT_EQ(Run(*InJob(How::kWrong, false, How::kWrong, Apart())), "together: 3");
  EXPECT_EQ(std::exchange(calls, {}), left);
  EXPECT_EQ(Run(*InJob(How::kFailed, false, How::kDone, Apart())), "together: 1");
  EXPECT_EQ(std::exchange(calls, {}), met);
  EXPECT_EQ(Run(*InJob(How::kDone, true, How::kDone, Apart())), "2");  // from the first run on
  EXPECT_EQ(std::exchange(calls, {}), std::vector<std::string>{"begin"});
  EXPECT_EQ(Run(*InJob(How::kDone, true, How::kDone, Apart(OkStatus(), /*made=*/false))), "none apart");
  EXPECT_EQ(std::exchange(calls, {}), (std::vector<std::string>{"begin", "leave"}));
}

// For ThreadSanitizer: some runs are together while others find that the devices part.
TEST_F(ChooseTest, ThreadsMayRunAtOnce) {
  std::atomic<int> runs = 0, wrong = 0;
  together = std::make_shared<FakeTogether>(std::vector<How>{How::kDone, How::kDone, How::kParted});
  const auto program =
      ChooseInRuns(DeviceAssignment::OnOne({2, 1}), together, [&](const Status&) -> Result<std::unique_ptr<Program>> {
        return std::unique_ptr<Program>(std::make_unique<FakeApart>(runs, OkStatus()));
      });
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run) wrong += !program->Execute({}).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runs, 8 * 50 - 2);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
