// What leaves a loop before it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/passes/base/control_flow.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {
namespace loop_hoisting_test {

struct Dots {
  int before = 0, inside = 0;
};

// The products of the optimized program, before its loop and in it.
Dots DotsOf(const std::string& text) {
  auto module = ParseHlo(text);
  VXLA_CHECK(module.ok(), module.status().message());
  auto optimized = Optimize(**module, {});
  VXLA_CHECK(optimized.ok(), optimized.status().message());
  const Status verified = Verify(**optimized);
  EXPECT_TRUE(verified.ok()) << verified.message() << PrintHlo(**optimized);
  Dots dots;
  const auto count = [](const Computation& computation) {
    int found = 0;
    for (const auto& i : computation.instructions()) {
      found += i->opcode() == Opcode::kDot;
      if (i->opcode() != Opcode::kFusion) continue;
      for (const auto& inner : i->called(0)->instructions()) found += inner->opcode() == Opcode::kDot;
    }
    return found;
  };
  for (const Computation* computation : ControlComputations(**optimized))
    (computation == (*optimized)->entry() ? dots.before : dots.inside) += count(*computation);
  return dots;
}

// h = x[i] @ w + h @ u, `trips` times; `dot` is the product with x[i].
std::string Network(int trips, const std::string& dot, const std::string& index = "i") {
  std::string text = R"(HloModule m
body {
  s = (s32[], f32[4,8], f32[12,4,8], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[4,8] get-tuple-element(s), index=1
  x = f32[12,4,8] get-tuple-element(s), index=2
  w = f32[8,8] get-tuple-element(s), index=3
  u = f32[8,8] get-tuple-element(s), index=4
  zero = s32[] constant(0)  one = s32[] constant(1)  last = s32[] constant(11)
  next = s32[] add(i, one)  back = s32[] subtract(last, i)
  slice = f32[1,4,8] dynamic-slice(x, INDEX, zero, zero), dynamic_slice_sizes={1,4,8}
  xt = f32[4,8] reshape(slice)
  a = f32[4,8] DOT
  b = f32[4,8] dot(h, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[4,8] add(a, b)
  ROOT r = (s32[], f32[4,8], f32[12,4,8], f32[8,8], f32[8,8]) tuple(next, y, x, w, u)
}
condition {
  s = (s32[], f32[4,8], f32[12,4,8], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(TRIPS)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  h = f32[4,8] parameter(0)  x = f32[12,4,8] parameter(1)  w = f32[8,8] parameter(2)  u = f32[8,8] parameter(3)
  zero = s32[] constant(0)
  s = (s32[], f32[4,8], f32[12,4,8], f32[8,8], f32[8,8]) tuple(zero, h, x, w, u)
  loop = (s32[], f32[4,8], f32[12,4,8], f32[8,8], f32[8,8]) while(s), condition=condition, body=body
  ROOT y = f32[4,8] get-tuple-element(loop), index=1
})";
  const auto put = [&](const std::string& name, const std::string& value) {
    text.replace(text.find(name), name.size(), value);
  };
  put("INDEX", index);
  put("DOT", dot);
  put("TRIPS", std::to_string(trips));
  return text;
}

constexpr char kSliceTimesW[] = "dot(xt, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}";

void ExpectDots(const std::string& text, int before, int inside) {
  const Dots dots = DotsOf(text);
  EXPECT_EQ(dots.before, before) << text;
  EXPECT_EQ(dots.inside, inside) << text;
}

TEST(LoopHoistingTest, AProductOfSlicesIsOneProductBeforeTheLoop) {
  ExpectDots(Network(12, kSliceTimesW), 1, 1);
  ExpectDots(Network(12, kSliceTimesW, "back"), 1, 1);
  ExpectDots(Network(6, kSliceTimesW), 1, 1);
}

TEST(LoopHoistingTest, ALoopThatLeavesOutMostSlicesComputesItsOwn) { ExpectDots(Network(5, kSliceTimesW), 0, 2); }

TEST(LoopHoistingTest, AProductOfWhatTheLoopHandsOnIsComputedOnce) {
  const std::string invariant =
      "add(xt, xt)\n  v = f32[8,8] dot(w, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  std::string text = Network(12, invariant);
  const std::string read = "dot(h, u)";
  text.replace(text.find(read), read.size(), "dot(h, v)");
  ExpectDots(text, 1, 1);
}

// In the entry, and in the loop.
using Sorts = std::pair<int64_t, int64_t>;
Sorts SortsOf(const Module& module) {
  Sorts sorts;
  for (const Computation* computation : ControlComputations(module)) {
    (computation == module.entry() ? sorts.first : sorts.second) +=
        std::ranges::count_if(computation->instructions(), [](const auto& i) { return i->opcode() == Opcode::kSort; });
  }
  return sorts;
}

// The numbers of u's rows in the order of their first elements; rows of w in that order.
TEST(LoopHoistingTest, ASortOfWhatTheLoopHandsOnLeavesIt) {
  std::string text =
      Network(12,
              "add(xt, xt)\n  first = f32[8,1] slice(u), slice={[0:8], [0:1]}  keys = f32[8] reshape(first)\n"
              "  number = s32[8] iota(), iota_dimension=0\n"
              "  sorted = (f32[8], s32[8]) sort(keys, number), dimensions={0}, is_stable=true, to_apply=less\n"
              "  order = s32[8] get-tuple-element(sorted), index=1\n"
              "  v = f32[8,8] gather(w, order), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,8}");
  text.replace(text.find("body {"), 0,
               "less { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)\n"
               "  ROOT l = pred[] compare(a, b), direction=LT }\n");
  const std::string read = "dot(h, u)";
  text.replace(text.find(read), read.size(), "dot(h, v)");
  auto module = ParseHlo(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  const auto optimized = Optimize(**module, {});
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  const Status verified = Verify(**optimized);
  EXPECT_TRUE(verified.ok()) << verified.message();
  EXPECT_EQ(SortsOf(**optimized), (Sorts{1, 0})) << PrintHlo(**optimized);
}

// Scatters of the same indices share the order of their updates, whatever these are, and indices that the loop hands on
// are sorted before it.
TEST(LoopHoistingTest, TheOrderOfUpdatesLeavesTheLoopOnce) {
  auto module = ParseHlo(R"(HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
halves { a = bf16[] parameter(0)  b = bf16[] parameter(1)  ROOT c = bf16[] add(a, b) }
body {
  s = (s32[], f32[5], bf16[5,3], s32[70]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  x = f32[5] get-tuple-element(s), index=1
  y = bf16[5,3] get-tuple-element(s), index=2  at = s32[70] get-tuple-element(s), index=3
  one = s32[] constant(1)  next = s32[] add(i, one)  t = f32[] convert(i)  u = f32[70] broadcast(t), dimensions={}
  x2 = f32[5] scatter(x, at, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=sum
  v = f32[70,3] broadcast(t), dimensions={}  w = bf16[70,3] convert(v)
  y2 = bf16[5,3] scatter(y, at, w), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
    index_vector_dim=1, to_apply=halves
  ROOT r = (s32[], f32[5], bf16[5,3], s32[70]) tuple(next, x2, y2, at)
}
condition {
  s = (s32[], f32[5], bf16[5,3], s32[70]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[5] parameter(0)  y = bf16[5,3] parameter(1)  at = s32[70] parameter(2)  zero = s32[] constant(0)
  s = (s32[], f32[5], bf16[5,3], s32[70]) tuple(zero, x, y, at)
  ROOT loop = (s32[], f32[5], bf16[5,3], s32[70]) while(s), condition=condition, body=body
})");
  ASSERT_TRUE(module.ok()) << module.status().message();
  const auto optimized = Optimize(**module, {});
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_EQ(SortsOf(**optimized), (Sorts{1, 0})) << PrintHlo(**optimized);
}

// v = tanh(u) and, made of it, t = exp(v) leave the loop though both are read in it.
TEST(LoopHoistingTest, FunctionsOfWhatTheLoopHandsOnAreComputedOnce) {
  std::string text = Network(12, "add(xt, xt)\n  v = f32[8,8] tanh(u)\n  t = f32[8,8] exponential(v)");
  const auto put = [&](const std::string& read, const std::string& instead) {
    text.replace(text.find(read), read.size(), instead);
  };
  put("dot(h, u)", "dot(h, v)");
  put("add(a, b)", "dot(b, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  auto module = ParseHlo(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  const auto optimized = Optimize(**module, {});
  ASSERT_TRUE(optimized.ok()) << optimized.status().message();
  for (const Computation* computation : ControlComputations(**optimized)) {
    int functions = 0;
    const auto count = [&](const Computation& of) {
      for (const auto& i : of.instructions()) functions += i->opcode() == Opcode::kTanh || i->opcode() == Opcode::kExp;
    };
    count(*computation);
    for (const auto& i : computation->instructions()) {
      if (i->opcode() == Opcode::kFusion) count(*i->called(0));
    }
    EXPECT_EQ(functions, computation == (*optimized)->entry() ? 2 : 0) << PrintHlo(**optimized);
  }
}

TEST(LoopHoistingTest, WhatDependsOnTheStateStays) {
  ExpectDots(Network(12, "dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"), 0, 2);
}

}  // namespace loop_hoisting_test
}  // namespace VXLA_NAMESPACE
