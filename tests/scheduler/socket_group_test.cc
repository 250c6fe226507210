// Processes of a job over TCP, as threads of this one: what they move, whom they name.
// tests/programs/distributed_test.cc has the processes.
#include "scheduler/replicas/sockets/socket_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

#include "scheduler/replicas/group_transport.h"
#include "scheduler/replicas/sockets/sockets.h"
#include "tests/support/socket_ranks.h"

namespace VXLA_NAMESPACE {
namespace socket_group_test {

using ::testing::HasSubstr;
using Message = ProcessGroup::Message;
constexpr std::chrono::milliseconds kTimeout = testing::kRankTimeout;

std::vector<std::byte> Bytes(size_t size, int64_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

// Of more than sockets hold, all at once, and of nothing; under two tags, which are asked for in the other order.
TEST(SocketGroupTest, EachGivesEachItsOwnWhateverTheSize) {
  testing::RunRanks(3, [](const std::shared_ptr<Connections>& connections) {
    const auto group = connections->All();
    for (const size_t size : {size_t{0}, size_t{1}, size_t{5} << 20}) {
      std::vector<std::vector<std::byte>> given, got;
      for (int64_t peer = 0; peer < 3; ++peer) {
        given.push_back(Bytes(size, group->rank() * 3 + peer));
        got.push_back(Bytes(size, 99));
        got.push_back(Bytes(1, 99));
      }
      std::vector<Message> sent, received;
      std::byte one{1};
      for (int64_t peer = 0; peer < 3; ++peer) {
        if (peer == group->rank()) continue;
        const auto p = static_cast<size_t>(peer);
        sent.push_back({peer, 5, true, given[p].data(), size});
        sent.push_back({peer, 6, true, &one, 1});
        received.push_back({peer, 6, false, got[2 * p + 1].data(), 1});
        received.push_back({peer, 5, false, got[2 * p].data(), size});
      }
      EXPECT_EQ(group->Move(sent, [] { return true; }), "");
      EXPECT_EQ(group->Move(received, [] { return true; }), "");
      for (int64_t peer = 0; peer < 3; ++peer) {
        if (peer == group->rank()) continue;
        EXPECT_EQ(got[2 * static_cast<size_t>(peer)], Bytes(size, peer * 3 + group->rank()));
        EXPECT_EQ(got[2 * static_cast<size_t>(peer) + 1], std::vector{one});
      }
    }
    group->Finish();
  });
}

// Two groups of ranks 0 and 2 under one name, and one of all, whose messages have the same tag.
TEST(SocketGroupTest, GroupsExchangeNothingWithOneAnother) {
  testing::RunRanks(3, [](const std::shared_ptr<Connections>& connections) {
    const JobWaits waits{kTimeout, nullptr};
    const auto all = connections->All();
    const auto give = [&](ProcessGroup& group, std::byte own) {
      auto gathered = Gather(group, "test", {own}, GatherAt::kAll, waits);
      EXPECT_TRUE(gathered.ok()) << gathered.status().message();
      std::vector<int> values;
      for (const auto& of_rank : *gathered) values.push_back(std::to_integer<int>(of_rank[0]));
      return values;
    };
    const int64_t self = connections->self().rank;
    if (self != 1) {
      const auto first = connections->Group({2, 0}, {1, 1}), second = connections->Group({2, 0}, {1, 1});
      EXPECT_EQ(first->rank(), self == 2 ? 0 : 1);
      const auto begin = static_cast<std::byte>(10 * self);
      EXPECT_EQ(give(*first, begin), (std::vector{20, 0}));
      EXPECT_EQ(give(*second, begin | std::byte{1}), (std::vector{21, 1}));
    }
    EXPECT_EQ(give(*all, static_cast<std::byte>(self)), (std::vector{0, 1, 2}));
    all->Finish();
  });
}

// Of what nobody asks for only so much comes, the rest when somebody asks. What keeps others from coming is an error.
TEST(SocketGroupTest, WhatNobodyAsksForWaitsUpToALimit) {
  constexpr size_t kSize = size_t{1} << 20, kMany = 64;  // more than sockets hold
  std::atomic<bool> all_sent = false;
  testing::RunRanks(
      2,
      [&](const std::shared_ptr<Connections>& connections) {
        const auto group = connections->All();
        const auto has_other = [&] { return group->Ended().empty(); };
        std::vector<std::byte> bytes = Bytes(kSize, group->rank());
        if (group->rank() == 0) {
          for (int turn = 0; turn < 2; ++turn) {
            std::vector<Message> sent(kMany, Message{1, 5, true, bytes.data(), kSize});
            EXPECT_EQ(group->Move(sent, has_other), "");
            all_sent = true;
          }
          return;
        }
        EXPECT_EQ(group->Move({}, has_other), "");  // it is there from now on
        while (!group->HasArrived(0, 5) && has_other()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_FALSE(all_sent);
        std::vector<Message> received(kMany, Message{0, 5, false, bytes.data(), kSize});
        EXPECT_EQ(group->Move(received, has_other), "");
        EXPECT_EQ(bytes, Bytes(kSize, 0));
        Message other{0, 6, false, bytes.data(), 1};
        EXPECT_THAT(group->Move({&other, 1}, has_other),
                    HasSubstr("bytes that rank 1 has not asked for, of 8000 that may wait"));
      },
      uint64_t{1000});
}

// Rank 2 is gone. Rank 0 waits for it, rank 1 for rank 0, which leaves then.
TEST(SocketGroupTest, OneThatEndsIsNamedByAll) {
  std::latch told(1);
  testing::RunRanks(3, [&](const std::shared_ptr<Connections>& connections) {
    if (connections->self().rank == 2) return;
    const auto group = connections->All();
    const std::vector<Shape> byte = {Shape(ElementType::kU8)};
    const bool is_first = group->rank() == 0;
    const int64_t other = is_first ? 2 : 0;
    PlaceExchange exchange{1, "all-reduce r", {0, 1, 2}, {byte, byte, byte}, {{}, {}, {}}};
    exchange.takes[static_cast<size_t>(group->rank())] = {{other, 0, 0}};
    uint8_t given = 1, got = 0;
    const void* const own[] = {&given};
    void* const received[] = {&got};
    GroupTransport transport(*group, {"rank 0", "rank 1", "rank 2"}, {kTimeout, nullptr});
    const Status missed = transport.ExchangeArrays(exchange, group->rank(), own, received);
    transport.Leave(group->rank());
    EXPECT_THAT(missed.message(), HasSubstr(is_first ? "waits for place 2 (rank 2), which has ended"
                                                     : "waits for place 0 (rank 0), which has ended"));
    if (is_first) {
      told.wait();  // it stays until the other one has heard that it leaves
      return;
    }
    EXPECT_THAT(missed.message(), HasSubstr("has ended; so has rank 2"));
    told.count_down();
  });
}

// Another program that connects to a process's port is not taken for one of the job.
TEST(SocketGroupTest, WhoIsNotOfTheJobIsNotHeard) {
  testing::RankTexts texts(2);
  sockets::Socket stranger;
  const TellAll tell = [&](const std::string& own) {
    // "machine token port address ...": somebody finds the port before the second process comes.
    std::vector<std::string> words;
    for (size_t begin = 0; begin < own.size();) {
      const size_t end = std::min(own.find(' ', begin), own.size());
      words.push_back(own.substr(begin, end - begin));
      begin = end + 1;
    }
    sockets::Addresses addresses;
    std::string why = sockets::Resolve("localhost", words.at(2), 0, addresses);
    const sockets::Deadline soon = sockets::After(kTimeout);
    stranger = sockets::ConnectTo(addresses, soon, why);
    EXPECT_TRUE(sockets::SendAll(stranger, std::string(24, 'x'), soon));
    return texts.Of(0)(own);
  };
  std::thread second([&] {
    const auto opened = Connections::Open({1, 2}, texts.Of(1), kTimeout);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    std::byte one{7};
    Message message{0, 3, true, &one, 1};
    EXPECT_EQ((*opened)->All()->Move({&message, 1}, [] { return true; }), "");
    (*opened)->All()->Finish();
  });
  const auto opened = Connections::Open({0, 2}, tell, kTimeout);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::byte got{};
  Message message{1, 3, false, &got, 1};
  EXPECT_EQ((*opened)->All()->Move({&message, 1}, [] { return true; }), "");
  EXPECT_EQ(got, std::byte{7});
  (*opened)->All()->Finish();
  second.join();
}

TEST(SocketGroupTest, RanksAndAddressesAreChecked) {
  const auto open = [](JobRank self, const std::string& coordinator) {
    return Connections::Open(self, TellThrough(coordinator, self, kTimeout), kTimeout).status().message();
  };
  EXPECT_EQ(open({2, 2}, "localhost:1"), "rank 2 of 2 ranks: they count from 0");
  EXPECT_EQ(open({0, 2}, "localhost"),
            "coordinator 'localhost': HOST:PORT is wanted, the address at which rank 0 listens");
  EXPECT_THAT(open({1, 2}, "no.such.host.invalid:77"), HasSubstr("coordinator 'no.such.host.invalid:77': "));
  EXPECT_THAT(open({0, 2}, "203.0.113.1:77"), HasSubstr("coordinator '203.0.113.1:77': rank 0 cannot listen there"));
}

}  // namespace socket_group_test
}  // namespace VXLA_NAMESPACE
