// Independent chains of operations side by side.
#include "scheduler/graph/operation_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "core/text/hlo_printer.h"
#include "scheduler/memory/copy_elision.h"
#include "scheduler/plan/plan_printer.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE::operation_order_test {
namespace {

using namespace vxla::testing;

struct Chains {
  std::vector<std::string> ends;
  std::vector<std::vector<std::string>> lines;  // by chain
};

// Chain c: c_1 = tanh(p), c_2 = tanh(c_1) ...
Chains MakeChains(int count, int length) {
  Chains chains;
  for (int c = 0; c < count; ++c) {
    std::vector<std::string>& lines = chains.lines.emplace_back();
    for (int i = 1; i <= length; ++i) {
      const std::string from = i == 1 ? "p" : fmt::format("c{}_{}", c, i - 1);
      lines.push_back(fmt::format("  c{}_{} = f32[64] tanh({})\n", c, i, from));
    }
    chains.ends.push_back(fmt::format("c{}_{}", c, length));
  }
  return chains;
}

std::string Program(const std::string& body, const std::vector<std::string>& results) {
  std::string shapes, names;
  for (const std::string& result : results) {
    shapes += (shapes.empty() ? "" : ", ") + std::string("f32[64]");
    names += (names.empty() ? "" : ", ") + result;
  }
  return "HloModule m\nENTRY e {\n  p = f32[64] parameter(0)\n" + body + "  ROOT r = (" + shapes + ") tuple(" + names +
         ")\n}";
}

// Some order of the lines of all chains that keeps each chain's own.
std::string Interleaved(const Chains& chains, std::mt19937& random) {
  std::vector<size_t> turns, next(chains.lines.size());
  for (size_t c = 0; c < chains.lines.size(); ++c) turns.insert(turns.end(), chains.lines[c].size(), c);
  std::ranges::shuffle(turns, random);
  std::string text;
  for (const size_t c : turns) text += chains.lines[c][next[c]++];
  return text;
}

TEST(OperationOrderTest, TwoChainsShareABarrierHoweverTheyAreWritten) {
  const std::string a = "  a = f32[64] tanh(p)\n", b = "  b = f32[64] tanh(a)\n", c = "  c = f32[64] negate(p)\n",
                    d = "  d = f32[64] negate(c)\n";
  for (const std::string& text : {a + b + c + d, c + d + a + b, a + c + b + d, a + c + d + b, c + a + b + d}) {
    const Plan plan = PlanOf(Program(text, {"b", "d"}));
    EXPECT_EQ(plan.barrier_count(), 1) << ToText(plan);
    EXPECT_EQ(plan.peak_bytes, plan.lower_bound_bytes);
  }
}

TEST(OperationOrderTest, ChainsOfOneLengthNeedTheBarriersOfOne) {
  std::mt19937 random(3);
  const Chains chains = MakeChains(8, 5);
  for (int round = 0; round < 20; ++round) {
    const Plan plan = PlanOf(Program(Interleaved(chains, random), chains.ends));
    EXPECT_EQ(plan.barrier_count(), 4) << ToText(plan);
  }
}

// b reads a, and may not come beside it; c has time until e, and stays where it was written.
TEST(OperationOrderTest, WhatHasTimeStaysBesideItsNeighbours) {
  const std::string text =
      ToText(PlanOf(Program("  a = f32[64] tanh(p)\n  b = f32[64] tanh(a)\n  c = f32[64] negate(p)\n"
                            "  d = f32[64] tanh(b)\n  e = f32[64] add(d, c)\n",
                            {"e"})));
  const size_t b = text.find("dispatch b"), c = text.find("dispatch c"), d = text.find("dispatch d");
  EXPECT_TRUE(b < c && c < d) << text;
}

// Ten towers of large values, each of which is gone before the next one begins: side by side they would all be there at
// once.
TEST(OperationOrderTest, MemoryDoesNotGrowByWhatTowersWouldTakeSideBySide) {
  constexpr int64_t kLarge = int64_t{64} * 65000 * 4, kSharing = int64_t{32} << 20;
  std::string text;
  std::vector<std::string> ends;
  for (int c = 0; c < 10; ++c) {
    text += fmt::format(
        "  b{0} = f32[64,65000] broadcast(p), dimensions={{0}}\n  n{0} = f32[64,65000] negate(b{0})\n"
        "  s{0} = f32[64,1] slice(n{0}), slice={{[0:64], [{0}:{1}]}}\n  e{0} = f32[64] reshape(s{0})\n",
        c, c + 1);
    ends.push_back(fmt::format("e{}", c));
  }
  const Plan plan = PlanOf(Program(text, ends));
  EXPECT_GE(plan.peak_bytes, 2 * kLarge);
  EXPECT_LE(plan.peak_bytes, 2 * kLarge + 12 * 256 + kSharing) << ToText(plan);
}

// A program of `count` instructions of one shape over earlier ones.
std::string RandomBody(std::mt19937& random, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto pick = [&] {
      // Mostly near, so that there are chains.
      const int reach = random() % 4 == 0 ? i : std::min(i, 3);
      return reach == 0 ? std::string("p") : fmt::format("v{}", i - 1 - static_cast<int>(random() % reach));
    };
    text += random() % 3 == 0 ? fmt::format("  v{} = f32[64] add({}, {})\n", i, pick(), pick())
                              : fmt::format("  v{} = f32[64] tanh({})\n", i, pick());
  }
  return text;
}

using Place = std::pair<const Instruction*, int>;  // the how-manieth operation of it
std::vector<Place> PlacesOf(const StepGraph& graph) {
  std::map<const Instruction*, int> seen;
  std::vector<Place> places;
  for (const Operation& operation : graph.operations)
    places.emplace_back(operation.instruction, seen[operation.instruction]++);
  return places;
}

bool Conflicts(const Operation& a, const Operation& b) {
  for (const Binding& x : a.uses) {
    for (const Binding& y : b.uses) {
      const bool both = x.slice.buffer == y.slice.buffer &&
                        x.slice.offset_bytes < y.slice.offset_bytes + y.slice.size_bytes &&
                        y.slice.offset_bytes < x.slice.offset_bytes + x.slice.size_bytes;
      if (both && (x.access != Access::kRead || y.access != Access::kRead)) return true;
    }
  }
  return false;
}

TEST(OperationOrderTest, WhateverTouchesTheSameBytesKeepsItsOrder) {
  std::mt19937 random(5);
  FakeLowering lowering(std::make_shared<KernelRegistry>());
  int changed = 0, before = 0, after = 0;
  for (int round = 0; round < 60; ++round) {
    const int count = 4 + static_cast<int>(random() % 40);
    const auto module = Parse(Program(RandomBody(random, count), {fmt::format("v{}", count - 1), "v0", "v1", "v2"}));
    auto graph = BuildStepGraph(*module, lowering, {});
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ElideCopies(*graph);
    StepGraph ordered = *graph;
    const auto shares = ShareBarriers(ordered);
    ASSERT_TRUE(shares.ok()) << shares.status().message();
    changed += *shares;
    before += WavesOf(*graph).back();
    after += WavesOf(ordered).back();
    EXPECT_LE(WavesOf(ordered).back(), WavesOf(*graph).back());
    std::map<Place, size_t> place;
    const std::vector<Place> places = PlacesOf(*graph), now = PlacesOf(ordered);
    for (size_t i = 0; i < now.size(); ++i) place[now[i]] = i;
    ASSERT_EQ(place.size(), places.size());
    for (size_t j = 0; j < places.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        if (!Conflicts(graph->operations[i], graph->operations[j])) continue;
        ASSERT_LT(place.at(places[i]), place.at(places[j])) << PrintHlo(*module);
      }
    }
  }
  EXPECT_GT(changed, 10);
  EXPECT_LT(after, before);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::operation_order_test
