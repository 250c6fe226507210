// Places that exchange through memory that all see, on devices that are made up: told by the host, by signals that go
// in turn, and by signals that count.
#include "scheduler/replicas/shared_exchange.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr int64_t kPlaces = 3;

// Place p posts an array of its own and one that is always the same, and receives the others' in their order.
PlaceExchange AllGather() {
  PlaceExchange exchange;
  exchange.number = 1;
  exchange.what = "all-gather g";
  const Shape word(ElementType::kS32, {1});
  for (int64_t p = 0; p < kPlaces; ++p) {
    exchange.places.push_back(p);
    exchange.posted.push_back({word, word});
    int64_t results = 0;
    auto& takes = exchange.takes.emplace_back();
    for (int64_t from = 0; from < kPlaces; ++from) {
      for (int64_t which = 0; from != p && which < 2; ++which) takes.push_back({from, which, results++});
    }
  }
  return exchange;
}

class SharedExchangeTest : public ::testing::TestWithParam<TellingWay> {
 protected:
  SharedExchangeTest() {
    FakeDeviceOptions options;
    options.signals_count = GetParam() == TellingWay::kCounting;
    for (int64_t p = 0; p < kPlaces; ++p) {
      options.delay = std::chrono::microseconds(p == 0 ? 900 : 100 * p);  // some are late
      devices_.push_back(std::make_unique<FakeDevice>(options));
      pointers_.push_back(devices_.back().get());
    }
    auto made = SharedExchange::Create(AllGather(), SharingWay::kExternalMemory, GetParam(), pointers_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    shared_ = std::move(*made);
  }

  // So many meetings of one place; what it has received that is not what was posted, or an error.
  std::string Meet(int64_t place, int meetings, LocalTransport& transport, int run) {
    FakeDevice& device = *devices_[static_cast<size_t>(place)];
    const Literal always =
        Literal::FromVector<int32_t>(Shape(ElementType::kS32, {1}), std::vector{static_cast<int32_t>(-place)});
    const PlaceExchange exchange = AllGather();
    const auto& takes = exchange.takes[static_cast<size_t>(place)];
    auto memory = device.Allocate(int64_t{4} * static_cast<int64_t>(meetings) * 16, MemoryKind::kDevice);
    if (!memory.ok()) return memory.status().message();
    in_use_[static_cast<size_t>(place)].push_back(*memory);
    auto* const words = reinterpret_cast<int32_t*>((*memory)->mapped());
    for (int m = 0; m < meetings; ++m) words[m * 16] = Posted(place, m, run);
    Moment last;
    for (int m = 0; m < meetings; ++m) {
      const auto at = [&](int word) { return BufferRange{memory->get(), int64_t{4} * (m * 16 + word), 4}; };
      DeviceStep step;
      step.operands = {{at(0), nullptr}, {{}, &always}};
      for (int k = 0; k < static_cast<int>(takes.size()); ++k) step.results.push_back(at(1 + k));
      const Status status = shared_->Run(exchange, place, step, transport);
      if (!status.ok()) return status.message();
      last.Join(step.finished);
    }
    if (!device.Wait(last).ok()) return "the device does not end";
    for (int m = 0; m < meetings; ++m) {
      for (size_t k = 0; k < takes.size(); ++k) {
        const PlaceExchange::Piece& piece = takes[k];
        const int32_t want = piece.which == 0 ? Posted(piece.place, m, run) : static_cast<int32_t>(-piece.place);
        if (words[m * 16 + 1 + static_cast<int>(k)] != want) return fmt::format("meeting {} of place {}", m, place);
      }
    }
    return "";
  }
  static int32_t Posted(int64_t place, int meeting, int run) {
    return static_cast<int32_t>(10000 * (run + 1) + 100 * (meeting + 1) + place);
  }

  std::vector<std::string> RunAll(const std::vector<int>& meetings, int run) {
    LocalTransport transport({"a", "b", "c"}, std::chrono::seconds(30));
    EXPECT_TRUE(shared_->Rewind().ok());
    std::vector<std::string> faults(kPlaces);
    std::vector<std::thread> threads;
    for (size_t p = 0; p < kPlaces; ++p) {
      threads.emplace_back([&, p] {
        faults[p] = Meet(static_cast<int64_t>(p), meetings[p], transport, run);
        transport.Leave(static_cast<int64_t>(p));
      });
    }
    for (std::thread& thread : threads) thread.join();
    return faults;
  }

  std::vector<std::unique_ptr<FakeDevice>> devices_;
  std::vector<Device*> pointers_;
  std::array<std::vector<std::shared_ptr<Buffer>>, kPlaces> in_use_;  // by places that gave up, perhaps
  std::unique_ptr<SharedExchange> shared_;
};

TEST_P(SharedExchangeTest, EachMeetingBringsWhatWasPostedThere) {
  for (int run = 0; run < 3; ++run) EXPECT_EQ(RunAll({7, 7, 7}, run), std::vector<std::string>(kPlaces)) << run;
}

TEST_P(SharedExchangeTest, ARunAfterOneThatAPlaceLeftBeginsAfresh) {
  for (const int left_after : {0, 1, 2, 3}) {
    const auto faults = RunAll({5, left_after, 5}, 0);
    EXPECT_NE(faults[0].find("which has ended"), std::string::npos) << faults[0];
    EXPECT_EQ(RunAll({6, 6, 6}, 1), std::vector<std::string>(kPlaces)) << left_after;
  }
}

INSTANTIATE_TEST_SUITE_P(, SharedExchangeTest,
                         ::testing::Values(TellingWay::kHost, TellingWay::kInTurn, TellingWay::kCounting),
                         [](const auto& info) {
                           return info.param == TellingWay::kHost     ? "Host"
                                  : info.param == TellingWay::kInTurn ? "InTurn"
                                                                      : "Counting";
                         });

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
