// Fusion decides by structure: these programs are written in several ways and must come out as few kernels in each.
#include "core/passes/fuse/fusion.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/passes/base/fusion_rules.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr char kReducers[] = R"(
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
)";

std::unique_ptr<Module> Optimized(const std::string& text, const TargetInfo& target = {}) {
  Result<std::unique_ptr<Module>> module = ParseHlo(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  if (!module.ok()) return nullptr;
  const Status verified = Verify(**module);
  EXPECT_TRUE(verified.ok()) << verified.message();
  Result<std::unique_ptr<Module>> optimized = Optimize(**module, target);
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  if (!optimized.ok()) return nullptr;
  const Status still_valid = Verify(**optimized);
  EXPECT_TRUE(still_valid.ok()) << still_valid.message() << "\n" << PrintHlo(**optimized);
  return std::move(optimized).value();
}

std::map<FusionKind, int> Kinds(const Module& module) {
  std::map<FusionKind, int> kinds;
  for (const auto& i : module.entry()->instructions()) {
    if (i->opcode() == Opcode::kFusion) ++kinds[i->attributes<FusionAttributes>().kind];
    const bool known = i->opcode() == Opcode::kFusion || KindOf(i->opcode()) == OpcodeKind::kScheduled ||
                       KindOf(i->opcode()) == OpcodeKind::kAlias;
    EXPECT_TRUE(known) << i->name() << " stayed outside a fusion";
  }
  return kinds;
}

int FusionCount(const std::string& text, const TargetInfo& target = {}) {
  auto module = Optimized(text, target);
  if (module == nullptr) return -1;
  int count = 0;
  for (const auto& [kind, n] : Kinds(*module)) count += n;
  return count;
}

TEST(FusionTest, AChainOfTwentyElementwiseOpsWithBroadcastsIsOneKernel) {
  std::string text =
      "ENTRY e { x = f32[7,13] parameter(0)  row = f32[13] parameter(1)  s = f32[] parameter(2)\n"
      "v0 = f32[7,13] broadcast(row), dimensions={1}  w = f32[7,13] broadcast(s), dimensions={}\n";
  for (int k = 1; k <= 20; ++k) {
    const char* op = k % 4 == 0 ? "multiply" : k % 4 == 1 ? "add" : k % 4 == 2 ? "subtract" : "maximum";
    text += "v" + std::to_string(k) + " = f32[7,13] " + op + "(v" + std::to_string(k - 1) + ", " +
            (k % 3 == 0 ? "w" : "x") + ")\n";
  }
  auto module = Optimized(text + "ROOT t = f32[7,13] tanh(v20) }");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kLoop, 1)));
}

TEST(FusionTest, SoftmaxOverRowsIsOneRowProgram) {
  auto module = Optimized(std::string(kReducers) + R"(
ENTRY e {
  x = f32[32,100] parameter(0)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[32] reduce(x, lowest), dimensions={1}, to_apply=max
  mb = f32[32,100] broadcast(m), dimensions={0}
  s = f32[32,100] subtract(x, mb)
  p = f32[32,100] exponential(s)
  z = f32[32] reduce(p, zero), dimensions={1}, to_apply=add
  zb = f32[32,100] broadcast(z), dimensions={0}
  ROOT y = f32[32,100] divide(p, zb)
})");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kInput, 1)));
}

TEST(FusionTest, SoftmaxWithItsAxesShuffledIsAtMostTwoKernels) {
  EXPECT_LE(FusionCount(std::string(kReducers) + R"(
ENTRY e {
  x = f32[5,100,32] parameter(0)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  t = f32[32,5,100] transpose(x), dimensions={2,0,1}
  m = f32[32,5] reduce(t, lowest), dimensions={2}, to_apply=max
  m1 = f32[32,5,1] reshape(m)
  m2 = f32[32,5] reshape(m1)
  mb = f32[32,5,100] broadcast(m2), dimensions={0,1}
  s = f32[32,5,100] subtract(t, mb)
  p = f32[32,5,100] exponential(s)
  z = f32[32,5] reduce(p, zero), dimensions={2}, to_apply=add
  zb = f32[32,5,100] broadcast(z), dimensions={0,1}
  y = f32[32,5,100] divide(p, zb)
  ROOT back = f32[5,100,32] transpose(y), dimensions={1,2,0}
})"),
            2);
}

TEST(FusionTest, SoftmaxWhoseMaximumReadsATransposeIsAtMostTwoKernels) {
  EXPECT_LE(FusionCount(std::string(kReducers) + R"(
ENTRY e {
  x = f32[100,32] parameter(0)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  t = f32[32,100] transpose(x), dimensions={1,0}
  m = f32[32] reduce(t, lowest), dimensions={1}, to_apply=max
  mb = f32[100,32] broadcast(m), dimensions={1}
  s = f32[100,32] subtract(x, mb)
  p = f32[100,32] exponential(s)
  z = f32[32] reduce(p, zero), dimensions={0}, to_apply=add
  zb = f32[100,32] broadcast(z), dimensions={1}
  ROOT y = f32[100,32] divide(p, zb)
})"),
            2);
}

TEST(FusionTest, SoftmaxByReciprocalIsOneKernel) {
  EXPECT_EQ(FusionCount(std::string(kReducers) + R"(
ENTRY e {
  x = f32[100,32] parameter(0)
  lowest = f32[] constant(-inf)
  zero = f32[] constant(0)
  one = f32[] constant(1)
  m = f32[32] reduce(x, lowest), dimensions={0}, to_apply=max
  mb = f32[100,32] broadcast(m), dimensions={1}
  s = f32[100,32] subtract(x, mb)
  p = f32[100,32] exponential(s)
  z = f32[32] reduce(p, zero), dimensions={0}, to_apply=add
  ones = f32[32] broadcast(one), dimensions={}
  r = f32[32] divide(ones, z)
  rb = f32[100,32] broadcast(r), dimensions={1}
  ROOT y = f32[100,32] multiply(p, rb)
})"),
            1);
}

constexpr char kLayerNorm[] = R"(
ENTRY e {
  x = f32[2,64,48] parameter(0)  g = f32[48] parameter(1)  b = f32[48] parameter(2)
  zero = f32[] constant(0)  n = f32[] constant(48)  eps = f32[] constant(1e-5)
  sum = f32[2,64] reduce(x, zero), dimensions={2}, to_apply=add
  nb = f32[2,64] broadcast(n), dimensions={}
  mean = f32[2,64] divide(sum, nb)
  mb = f32[2,64,48] broadcast(mean), dimensions={0,1}
  c = f32[2,64,48] subtract(x, mb)
  sq = f32[2,64,48] multiply(c, c)
  ss = f32[2,64] reduce(sq, zero), dimensions={2}, to_apply=add
  var = f32[2,64] divide(ss, nb)
  eb = f32[2,64] broadcast(eps), dimensions={}
  ve = f32[2,64] add(var, eb)
  r = f32[2,64] rsqrt(ve)
  rb = f32[2,64,48] broadcast(r), dimensions={0,1}
  h = f32[2,64,48] multiply(c, rb)
  gb = f32[2,64,48] broadcast(g), dimensions={2}
  hg = f32[2,64,48] multiply(h, gb)
  bb = f32[2,64,48] broadcast(b), dimensions={2}
  ROOT y = f32[2,64,48] add(hg, bb)
})";

TEST(FusionTest, LayerNormIsOneRowProgram) { EXPECT_EQ(FusionCount(std::string(kReducers) + kLayerNorm), 1); }

TEST(FusionTest, AProducerOfALayerNormJoinsIt) {
  std::string text = kLayerNorm;
  text.replace(text.find("x = f32[2,64,48] parameter(0)"), 29,
               "x0 = f32[2,64,48] parameter(0)  x = f32[2,64,48] negate(x0)");
  EXPECT_EQ(FusionCount(std::string(kReducers) + text), 1);
}

TEST(FusionTest, DotTakesCheapProducersAndItsEpilogue) {
  auto module = Optimized(R"(
ENTRY e {
  a = bf16[31,64] parameter(0)  b = f32[64,48] parameter(1)  bias = f32[48] parameter(2)
  zero = f32[] constant(0)
  a32 = f32[31,64] convert(a)
  d = f32[31,48] dot(a32, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bb = f32[31,48] broadcast(bias), dimensions={1}
  s = f32[31,48] add(d, bb)
  z = f32[31,48] broadcast(zero), dimensions={}
  ROOT r = f32[31,48] maximum(s, z)
})");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kOutput, 1)));
}

TEST(FusionTest, TransposedDotBecomesTheDotOfExchangedOperands) {
  auto module = Optimized(R"(
ENTRY e {
  a = f32[3,31,64] parameter(0)  b = f32[3,48,64] parameter(1)  c = f32[3,48,31] parameter(2)
  d = f32[3,31,48] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  t = f32[3,48,31] transpose(d), dimensions={0,2,1}
  ROOT r = f32[3,48,31] add(t, c)
})");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kOutput, 1)));
}

TEST(FusionTest, WhatFollowsTheTransposeOfAnEpilogueIsOfTheProductsKernelOnGpus) {
  const std::string text = R"(
ENTRY e {
  a = f32[3,31,64] parameter(0)  b = f32[3,48,64] parameter(1)  c = f32[3,48,31] parameter(2)  bias = f32[3,48] parameter(3)
  d = f32[3,31,48] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  bb = f32[3,31,48] broadcast(bias), dimensions={0,2}  s = f32[3,31,48] add(d, bb)
  x = f32[3,31,48] tanh(s)  lo = f32[] constant(-0.5)  hi = f32[] constant(0.5)  y = f32[3,31,48] clamp(lo, x, hi)
  q = f32[3,31,48] multiply(y, y)
  t = f32[3,48,31] transpose(q), dimensions={0,2,1}
  ROOT r = f32[3,48,31] add(t, c)
})";
  TargetInfo gpu;
  gpu.cheap_dispatches = false;
  EXPECT_THAT(Kinds(*Optimized(text, gpu)), testing::ElementsAre(testing::Pair(FusionKind::kOutput, 1)));
  EXPECT_EQ(Kinds(*Optimized(text)).size(), 2u);
}

// Only the product is written: the row program that reads it squares it for itself.
TEST(FusionTest, TheSquaresOfAProductsRowsAreNoArray) {
  auto module = Optimized(std::string(kReducers) + R"(
ENTRY e {
  a = f32[310,64] parameter(0)  b = f32[64,480] parameter(1)  zero = f32[] constant(0)
  d = f32[310,480] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f32[310,480] multiply(d, d)  s = f32[310] reduce(q, zero), dimensions={1}, to_apply=add
  n = f32[310] rsqrt(s)  nb = f32[310,480] broadcast(n), dimensions={0}
  ROOT r = f32[310,480] multiply(d, nb)
})");
  EXPECT_THAT(Kinds(*module), testing::UnorderedElementsAre(testing::Pair(FusionKind::kOutput, 1),
                                                            testing::Pair(FusionKind::kInput, 1)));
  for (const auto& i : module->entry()->instructions()) EXPECT_FALSE(i->shape().IsTuple()) << i->name();
}

TEST(FusionTest, AnExpensiveProducerIsNotRepeatedForEveryRow) {
  EXPECT_EQ(FusionCount(R"(
ENTRY e {
  v = f32[512] parameter(0)  x = f32[512,512] parameter(1)
  t = f32[512] tanh(v)
  tb = f32[512,512] broadcast(t), dimensions={1}
  ROOT y = f32[512,512] add(x, tb)
})"),
            2);
}

TEST(FusionTest, AValueWithSeveralReadersOfOneShapeIsWrittenByTheKernelThatReadsIt) {
  auto module = Optimized(R"(
ENTRY e {
  x = f32[1000] parameter(0)  y = f32[1000] parameter(1)
  s = f32[1000] multiply(x, y)
  a = f32[1000] tanh(s)
  ROOT t = (f32[1000], f32[1000]) tuple(s, a)
})");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kLoop, 1)));
}

TEST(FusionTest, VariadicReduceUsedAsATupleIsTakenApart) {
  auto module = Optimized(R"(
arg { av = f32[] parameter(0) ai = s32[] parameter(1) bv = f32[] parameter(2) bi = s32[] parameter(3)
  gt = pred[] compare(av, bv), direction=GE
  v = f32[] select(gt, av, bv)  i = s32[] select(gt, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i) }
ENTRY e {
  x = f32[17,29] parameter(0)
  i = s32[17,29] iota(), iota_dimension=1
  lowest = f32[] constant(-inf)  zero = s32[] constant(0)
  ROOT r = (f32[17], s32[17]) reduce(x, i, lowest, zero), dimensions={1}, to_apply=arg
})");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kInput, 1)));
}

TEST(FusionTest, ALongSingleRowIsNotReadBackInOneProgram) {
  const int count = FusionCount(std::string(kReducers) + R"(
ENTRY e {
  x = f32[1000000] parameter(0)  zero = f32[] constant(0)
  s = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  b = f32[1000000] broadcast(s), dimensions={}
  ROOT y = f32[1000000] divide(x, b)
})");
  EXPECT_EQ(count, 2);
}

// 17 instructions, two of which are splat constants that every kernel has for itself.
TEST(FusionTest, AChainOfShiftedSumsIsCutBeforeItsIndicesMultiply) {
  // x + shift(x), twelve times: one kernel would compute the first sum at 2,048 indices for each element.
  std::string text = "ENTRY e { x0 = f32[4096] parameter(0)  z = f32[] constant(0)\n";
  for (int k = 0; k < 12; ++k) {
    const std::string n = std::to_string(k), size = std::to_string(4096 - (1 << k));
    text += "s" + n + " = f32[" + size + "] slice(x" + n + "), slice={[0:" + size + "]}\n";
    text += "p" + n + " = f32[4096] pad(s" + n + ", z), padding=" + std::to_string(1 << k) + "_0\n";
    text += std::string(k == 11 ? "ROOT " : "") + "x" + std::to_string(k + 1) + " = f32[4096] add(x" + n + ", p" + n +
            ")\n";
  }
  const int count = FusionCount("HloModule m\n" + text + "}\n");
  EXPECT_GE(count, 3);
  EXPECT_LE(count, 6);
}

TEST(FusionTest, WithoutFusionEachInstructionIsAKernel) {
  TargetInfo target;
  target.fusion = false;
  EXPECT_EQ(FusionCount(std::string(kReducers) + kLayerNorm, target), 15);
}

TEST(FusionTest, ReshapeOfAResultStaysAnAlias) {
  auto module = Optimized(R"(
ENTRY e { x = f32[6,4] parameter(0)  n = f32[6,4] negate(x)  r = f32[24] reshape(n)  ROOT t = (f32[6,4], f32[24]) tuple(n, r) })");
  int reshapes = 0;
  for (const auto& i : module->entry()->instructions()) reshapes += i->opcode() == Opcode::kReshape;
  EXPECT_EQ(reshapes, 1);
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kLoop, 1)));
}

TEST(RowSpaceTest, ReductionOfOneElementRowsBecomesElementwise) {
  auto module = Optimized(std::string(kReducers) + R"(
ENTRY e { x = f32[9,1] parameter(0)  zero = f32[] constant(0)  ROOT s = f32[9] reduce(x, zero), dimensions={1}, to_apply=add })");
  EXPECT_THAT(Kinds(*module), testing::ElementsAre(testing::Pair(FusionKind::kLoop, 1)));
}

TEST(FusionTest, SmallResultsSideBySideShareKernels) {
  constexpr int kCount = 10'000;
  std::string text = "ENTRY e {\np = f32[] parameter(0)\n", shapes, names;
  for (int i = 0; i < kCount; ++i) {
    const std::string n = std::to_string(i);
    text += "c" + n + " = f32[] constant(" + n + ")\na" + n + " = f32[] add(p, c" + n + ")\n";
    shapes += (i > 0 ? ", f32[]" : "f32[]");
    names += (i > 0 ? ", a" : "a") + n;
  }
  text += "ROOT t = (" + shapes + ") tuple(" + names + ")\n}\n";
  EXPECT_EQ(FusionCount(text), 40);  // of 256 buffers each
  TargetInfo few;
  few.max_fusion_buffers = few.max_joined_buffers = 9;
  EXPECT_EQ(FusionCount(text, few), kCount / 8);
}

// What a copied reshape reads in another kernel is a result of the first one.
TEST(FusionTest, SmallLoopsBindNoMoreThanTheyMay) {
  std::string text = "ENTRY e {\n", shapes, names;
  for (int k = 0; k < 12; ++k) {
    const std::string n = std::to_string(k);
    text += "p" + n + " = f32[2] parameter(" + n + ")\na" + n + " = f32[2] tanh(p" + n + ")\nr" + n +
            " = f32[1,2] reshape(a" + n + ")\nn" + n + " = f32[1,2] negate(r" + n + ")\nc" + n +
            " = f32[1,1] slice(r" + n + "), slice={[0:1], [0:1]}\n";
    shapes += k > 0 ? ", f32[1,2], f32[1,1]" : "f32[1,2], f32[1,1]";
    names += (k > 0 ? ", n" : "n") + n + ", c" + n;
  }
  TargetInfo few;
  few.max_fusion_buffers = few.max_joined_buffers = 10;
  auto module = Optimized(text + "ROOT t = (" + shapes + ") tuple(" + names + ")\n}\n", few);
  for (const auto& i : module->entry()->instructions()) {
    if (i->opcode() != Opcode::kFusion) continue;
    const size_t leaves = FlattenTuple(i->shape()).size();
    EXPECT_LE(i->operands().size() + leaves, 10U) << i->name();
  }
}

TEST(FusionTest, SmallResultsOfLargeValuesStayApart) {
  const std::string large = "f32[100000]";
  std::string text = "ENTRY e {\np = " + large + " parameter(0)\n";
  for (const char* n : {"0", "1"}) {
    const std::string s(n);
    text += "o" + s + " = " + large + " sort(p), dimensions={0}, to_apply=less" + s + "\n";
    text += "s" + s + " = f32[1] slice(o" + s + "), slice={[0:1]}\nr" + s + " = f32[1] negate(s" + s + ")\n";
  }
  const std::string less =
      "less0 { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n"
      "less1 { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GT }\n";
  auto module = Optimized(less + text + "ROOT t = (f32[1], f32[1]) tuple(r0, r1)\n}\n");
  int fusions = 0;
  for (const auto& i : module->entry()->instructions()) fusions += i->opcode() == Opcode::kFusion;
  EXPECT_EQ(fusions, 2);  // or both sorted arrays would have to live at once
}

TEST(FusionTest, KernelsKeepToTheDevicesBudgetOfOperations) {
  std::string text = "ENTRY e {\nv0 = c64[8] parameter(0)\nq = c64[8] parameter(1)\n";
  for (int i = 1; i <= 3600; ++i) {
    text += "v" + std::to_string(i) + " = c64[8] " + (i % 2 == 0 ? "multiply" : "divide") + "(v" +
            std::to_string(i - 1) + ", q)\n";
  }
  text += "ROOT r = c64[8] negate(v3600)\n}\n";
  TargetInfo target;
  target.max_kernel_operations = 1 << 12;
  auto module = Optimized(text, target);
  int fusions = 0;
  for (const auto& i : module->entry()->instructions()) {
    if (i->opcode() != Opcode::kFusion) continue;
    int64_t operations = 0;
    for (const auto& inner : i->called(0)->instructions()) {
      if (inner->opcode() != Opcode::kParameter) operations += ExpandedOperations(*inner, target);
    }
    EXPECT_LE(operations, target.max_kernel_operations);
    ++fusions;
  }
  EXPECT_GE(fusions, 1800 / 8);
  EXPECT_LE(fusions, 1800 / 6);
  target.max_kernel_operations = int64_t{1} << 40;
  EXPECT_LE(FusionCount(text, target), 3601 / 256 + 1);
}

TEST(FusionTest, EmulatedTypesAndFunctionsCountForWhatTheyExpandTo) {
  auto module = ParseHlo(R"(ENTRY e {
  p = f64[8] parameter(0)
  c = c64[8] parameter(1)
  s = f64[8] add(p, p)
  x = f64[8] exponential(p)
  d = c64[8] divide(c, c)
  ROOT t = (f64[8], f64[8], c64[8]) tuple(s, x, d)
})");
  ASSERT_TRUE(module.ok());
  auto operations = [&](const char* name, bool emulated) {
    TargetInfo target;
    target.emulates_f64 = emulated;
    for (const auto& i : (*module)->entry()->instructions()) {
      if (i->name() == name) return ExpandedOperations(*i, target);
    }
    return int64_t{-1};
  };
  EXPECT_EQ(operations("s", false), 1);
  EXPECT_GE(operations("s", true), 100);
  EXPECT_GE(operations("x", true), 5000);
  EXPECT_GE(operations("d", false), 400);
}

// abs(d) is computed by both kernels that read it, so the one that does not write d waits for the one that does: it
// cannot give that one v as well. (Found by a random program; the dead sum decides who reads d first.)
TEST(FusionTest, ACopiedReaderOfAKernelsResultWaitsForIt) {
  TargetInfo two_kernels;
  two_kernels.max_fusion_buffers = 5;
  EXPECT_EQ(FusionCount("both { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] multiply(a, b)\n"
                        "ROOT d = f32[] tanh(c) }\n"
                        "ENTRY e { p = f32[11] parameter(0)  v = f32[11] tanh(p)\n"
                        "w = f32[11] broadcast(v), dimensions={0}\n"
                        "d = f32[11] map(v, w), dimensions={0}, to_apply=both\n"
                        "unused = f32[11] reverse(d), dimensions={0}\n"
                        "q = f32[] parameter(1)  low = f32[11] broadcast(q), dimensions={}  a = f32[11] abs(d)\n"
                        "m = f32[11] maximum(a, low)  x = f32[11] divide(w, m)  r = f32[11] parameter(2)\n"
                        "b = f32[11] abs(m)  n = f32[11] maximum(b, r)  y = f32[11] divide(d, n)\n"
                        "s = f32[11] parameter(3)  t = f32[11] broadcast(y), dimensions={0}\n"
                        "z = f32[11] map(s, t), dimensions={0}, to_apply=both\n"
                        "ROOT root = (f32[11], f32[11]) tuple(z, x) }",
                        two_kernels),
            2);
}

// What replicas make of a sum that all of them read: s is computed once, and no kernel but one reads it.
TEST(FusionTest, LoopsThatReadOneValueWhereItIsComputedAreOne) {
  const auto text = [](const char* reader) {
    return fmt::format(
        "ENTRY e {{ x = f32[4096] parameter(0)  y = f32[4096] parameter(1)  z = f32[4096] parameter(2)\n"
        "t = f32[4096] tanh(x)  u = f32[4096] tanh(y)  r = f32[4096] add(t, u)  s = f32[4096] sine(r)\n"
        "a = f32[4096] subtract(s, x)  b = f32[4096] {}  c = f32[4096] multiply(s, z)\n"
        "ROOT o = (f32[4096], f32[4096], f32[4096]) tuple(a, b, c) }}",
        reader);
  };
  EXPECT_EQ(FusionCount(text("subtract(s, y)")), 1);
  EXPECT_EQ(FusionCount(text("reverse(s), dimensions={0}")), 2);
  TargetInfo narrow;
  narrow.max_fusion_buffers = 5;  // x, y, z and the three results are six
  EXPECT_EQ(FusionCount(text("subtract(s, y)"), narrow), 2);
}

// The second loop waits for a product besides, which waits for the first.
TEST(FusionTest, LoopsThatWaitForOthersBetweenThemStayApart) {
  EXPECT_EQ(FusionCount("ENTRY e { x = f32[64,64] parameter(0)  s = f32[64,64] sine(x)\n"
                        "d = f32[64,64] dot(s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                        "v = f32[64,64] transpose(d), dimensions={1,0}  w = f32[64,64] add(v, d)\n"
                        "k = f32[64,64] tanh(w)  l = f32[64,64] multiply(s, k)  c = f32[64,64] cosine(s)\n"
                        "ROOT o = (f32[64,64], f32[64,64]) tuple(l, c) }"),
            3);
}

// The second loop waits for the first alone: the products that it reads besides come before that. Which of them is met
// first does not matter.
TEST(FusionTest, WhatALoopReadsHasNoOrder) {
  for (const char* operands : {"b, c, s", "b, s, c", "s, b, c"}) {
    EXPECT_EQ(FusionCount(fmt::format(
                  "ENTRY e {{ x = f32[64,64] parameter(0)  y = f32[64,64] parameter(1)\n"
                  "b = f32[64,64] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                  "c = f32[64,64] dot(y, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                  "p = f32[64,64] reverse(b), dimensions={{0}}  q = f32[64,64] reverse(c), dimensions={{0}}\n"
                  "r = f32[64,64] add(p, q)  s = f32[64,64] sine(r)  t = f32[64,64] subtract(s, x)\n"
                  "u = f32[64,64] clamp({})  ROOT o = (f32[64,64], f32[64,64]) tuple(t, u) }}",
                  operands)),
              3)
        << operands;
  }
}

// The gradient of a product of many numbers: each level pads two halves into one array and reads the level above in
// both branches. All of it in one kernel was 60,000 lines.
TEST(FusionTest, BranchesOfPadsDoNotShareWhatTheyCompute) {
  std::string text =
      "ENTRY e { x = f32[1024] parameter(0)  z = f32[] constant(0)\nv0 = f32[1] slice(x), slice={[0:1]}\n";
  for (int64_t k = 1, size = 2; size <= 1024; ++k, size *= 2) {
    text += fmt::format(
        "w{0} = f32[{1}] slice(x), slice={{[0:{1}]}}  a{0} = f32[{1}] multiply(w{0}, v{2})  b{0} = f32[{1}] add(w{0}, "
        "v{2})\n"
        "p{0} = f32[{3}] pad(a{0}, z), padding=0_{1}  q{0} = f32[{3}] pad(b{0}, z), padding={1}_0\n"
        "{4}v{0} = f32[{3}] add(p{0}, q{0})\n",
        k, size / 2, k - 1, size, size == 1024 ? "ROOT " : "");
  }
  const auto module = Optimized(text + "}");
  ASSERT_NE(module, nullptr);
  int fusions = 0;
  for (const auto& i : module->entry()->instructions()) fusions += i->opcode() == Opcode::kFusion;
  EXPECT_GE(fusions, 2);
  EXPECT_LE(fusions, 5);
}

// JAX wraps negative indices before it looks them up.
constexpr char kLookup[] = R"(
ENTRY e { t = f32[1000,64] parameter(0)  i = s32[37] parameter(1)  w = f32[64,48] parameter(2)
  z = s32[] constant(0)  zs = s32[37] broadcast(z), dimensions={}  n = s32[] constant(1000)
  ns = s32[37] broadcast(n), dimensions={}  negative = pred[37] compare(i, zs), direction=LT
  up = s32[37] add(i, ns)  at = s32[37] select(negative, up, i)  start = s32[37,1] reshape(at)
  rows = f32[37,64] gather(t, start), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
)";

TEST(FusionTest, APlaceIsComputedWhereAProductLooksItUp) {
  EXPECT_EQ(FusionCount(std::string("HloModule m\n") + kLookup + R"(
  ROOT d = f32[37,48] dot(rows, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"),
            1);
}

TEST(FusionTest, APlaceIsComputedWhereAWindowLooksItUp) {
  EXPECT_EQ(FusionCount(std::string(kReducers) + kLookup + R"(  lowest = f32[] constant(-inf)
  ROOT m = f32[19,32] reduce-window(rows, lowest), window={size=3x3 stride=2x2 pad=1_1x1_0}, to_apply=max })"),
            1);
}

// A step of attention with a cache: both updates lie at one wrapped place.
TEST(FusionTest, AWrappedPlaceIsComputedByEachUpdateThere) {
  EXPECT_EQ(FusionCount(R"(HloModule m
ENTRY e { k = f32[2048,64] parameter(0)  v = f32[2048,64] parameter(1)  a = f32[1,64] parameter(2)
  b = f32[1,64] parameter(3)  i = s32[] parameter(4)  z = s32[] constant(0)  n = s32[] constant(2048)
  negative = pred[] compare(i, z), direction=LT  up = s32[] add(i, n)  at = s32[] select(negative, up, i)
  ks = f32[2048,64] dynamic-update-slice(k, a, at, z)  vs = f32[2048,64] dynamic-update-slice(v, b, at, z)
  ROOT t = (f32[2048,64], f32[2048,64]) tuple(ks, vs) })"),
            2);
}

// A slice that every kernel takes for itself is nobody's result, so thirty of them leave room for others.
TEST(FusionTest, CopiesOfSlicesTakeNoRoomForResults) {
  std::string text = "ENTRY e { x = f32[5100] parameter(0)  z = f32[] constant(0)\n";
  for (int k = 0; k < 30; ++k) {
    const std::string n = std::to_string(k), last = std::to_string(k - 1);
    text += "s" + n + " = f32[5000] slice(x), slice={[" + n + ":" + std::to_string(5000 + k) + "]}\n";
    text += "r" + n + " = f32[5000] reverse(s" + n + "), dimensions={0}\n";
    if (k == 0) continue;
    text += "a" + n + " = f32[5000] add(" + (k == 1 ? "s" : "a") + last + ", s" + n + ")\n";
    text += "b" + n + " = f32[5000] multiply(" + (k == 1 ? "r" : "b") + last + ", r" + n + ")\n";
  }
  text += "c = f32[] reduce(b29, z), dimensions={0}, to_apply=add\nROOT t = (f32[5000], f32[]) tuple(a29, c) }";
  EXPECT_EQ(FusionCount(kReducers + text), 2);
}

TEST(FusionTest, CropsAndSlicesOfSlicesAreOneSlice) {
  const auto module = Optimized(R"(HloModule m
ENTRY e { x = f32[20,7] parameter(0)  z = f32[] constant(0)
  crop = f32[17,7] pad(x, z), padding=-1_-2x0_0
  half = f32[8,7] slice(crop), slice={[1:16:2],[0:7]}
  some = f32[3,2] slice(half), slice={[2:8:2],[5:7]}
  ROOT n = f32[3,2] negate(some) })");
  ASSERT_NE(module, nullptr);
  const std::string text = PrintHlo(*module);
  EXPECT_THAT(text, testing::HasSubstr("slice={[6:15:4], [5:7:1]}")) << text;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr(" pad("))) << text;
}

}  // namespace
}  // namespace VXLA_NAMESPACE
