// The passes keep the meaning of programs: each program gives the same values before and after Optimize, with fusion
// and without, on the CPU reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/reference/evaluator.h"
#include "core/ir/module.h"
#include "core/numerics/literal_compare.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr char kReducers[] =
    "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
    "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";

// Values that differ from element to element and are exact in every type that the programs use.
Literal Counting(const Shape& shape, int salt) {
  Literal literal(shape);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const int64_t value = (i * 7 + salt * 5 + 3) % 23 - 9;
    if (IsFloating(shape.element_type())) {
      literal.SetDouble(i, static_cast<double>(value) / 4);
    } else if (IsComplex(shape.element_type())) {
      literal.SetComplex(i, {static_cast<double>(value) / 4, static_cast<double>((value * 3) % 7)});
    } else {
      literal.SetInt(i, value);
    }
  }
  return literal;
}

void ExpectSameValues(const Module& before, const Module& after, const std::string& label) {
  std::vector<Literal> arguments;
  std::vector<const Literal*> pointers;
  for (const Instruction* p : before.entry()->parameters())
    arguments.push_back(Counting(p->shape(), static_cast<int>(p->parameter_number())));
  for (const Literal& a : arguments) pointers.push_back(&a);
  const Result<Literal> expected = Evaluate(before, pointers), actual = Evaluate(after, pointers);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ASSERT_TRUE(actual.ok()) << label << ": " << actual.status().message() << "\n" << PrintHlo(after);
  const auto want = FlattenLiteral(*expected), got = FlattenLiteral(*actual);
  ASSERT_EQ(want.size(), got.size());
  for (size_t k = 0; k < want.size(); ++k) {
    const Comparison c = Compare(*got[k], *want[k], Tolerance{1e-6, 1e-7, 4});
    EXPECT_TRUE(c.agrees()) << label << ": result " << k << ": " << c.mismatches << " of " << c.elements
                            << " differ, at " << (c.worst.empty() ? "" : c.worst[0].where) << "\n"
                            << PrintHlo(after);
  }
}

void ExpectKept(const std::string& text) {
  Result<std::unique_ptr<Module>> module = ParseHlo(text);
  ASSERT_TRUE(module.ok()) << module.status().message();
  ASSERT_TRUE(Verify(**module).ok()) << Verify(**module).message();
  for (bool fusion : {true, false}) {
    TargetInfo target;
    target.fusion = fusion;
    Result<std::unique_ptr<Module>> optimized = Optimize(**module, target);
    ASSERT_TRUE(optimized.ok()) << optimized.status().message();
    ASSERT_TRUE(Verify(**optimized).ok()) << Verify(**optimized).message();
    ExpectSameValues(**module, **optimized, fusion ? "fused" : "single");
  }
}

TEST(OptimizeTest, KeepsSoftmaxWithShuffledAxes) {
  ExpectKept(std::string(kReducers) + R"(
ENTRY e { x = f32[5,7,3] parameter(0)  lowest = f32[] constant(-inf)  zero = f32[] constant(0)
  t = f32[3,5,7] transpose(x), dimensions={2,0,1}
  m = f32[3,5] reduce(t, lowest), dimensions={2}, to_apply=max
  mb = f32[3,5,7] broadcast(m), dimensions={0,1}
  p = f32[3,5,7] subtract(t, mb)  q = f32[3,5,7] exponential(p)
  z = f32[3,5] reduce(q, zero), dimensions={2}, to_apply=add
  zb = f32[3,5,7] broadcast(z), dimensions={0,1}
  y = f32[3,5,7] divide(q, zb)
  ROOT b = f32[5,7,3] transpose(y), dimensions={1,2,0} })");
}

TEST(OptimizeTest, KeepsRowAndColumnReductionsOfSharedInputs) {
  ExpectKept(std::string(kReducers) + R"(
ENTRY e { x = f32[11,13] parameter(0)  zero = f32[] constant(0)
  s = f32[11,13] multiply(x, x)  t = f32[13,11] transpose(s), dimensions={1,0}
  a = f32[11] reduce(x, zero), dimensions={1}, to_apply=add
  b = f32[11] reduce(s, zero), dimensions={1}, to_apply=add
  c = f32[13] reduce(t, zero), dimensions={1}, to_apply=add
  ab = f32[11] add(a, b)  abb = f32[11,13] broadcast(ab), dimensions={0}
  cb = f32[11,13] broadcast(c), dimensions={1}
  y = f32[11,13] add(abb, cb)  z = f32[11,13] add(y, s)
  ROOT r = (f32[11], f32[13], f32[11,13], f32[11,13]) tuple(ab, c, z, s) })");
}

TEST(OptimizeTest, KeepsTransposedDotsAndTheirEpilogues) {
  ExpectKept(R"(
ENTRY e { a = f32[2,5,7] parameter(0)  b = f32[2,3,7] parameter(1)  c = f32[2,3,5] parameter(2)
  d = f32[2,5,3] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  t = f32[2,3,5] transpose(d), dimensions={0,2,1}
  s = f32[2,3,5] add(t, c)  n = f32[2,3,5] negate(s)
  ROOT r = (f32[2,3,5], f32[2,3,5]) tuple(s, n) })");
}

TEST(OptimizeTest, KeepsCallsMapsAndFusionsOfTheInput) {
  ExpectKept(R"(
half { v = f32[] parameter(0)  w = f32[] parameter(1)  h = f32[] constant(0.5)  s = f32[] add(v, w)  ROOT m = f32[] multiply(s, h) }
inner { p = f32[6] parameter(0)  q = f32[6] parameter(1)  ROOT m = f32[6] map(p, q), dimensions={0}, to_apply=half }
fused { p = f32[6] parameter(0)  n = f32[6] negate(p)  e = f32[6] exponential(n)  ROOT t = (f32[6], f32[6]) tuple(n, e) }
ENTRY e { x = f32[6] parameter(0)  y = f32[6] parameter(1)
  c = f32[6] call(x, y), to_apply=inner
  f = (f32[6], f32[6]) fusion(c), kind=kLoop, calls=fused
  a = f32[6] get-tuple-element(f), index=0  b = f32[6] get-tuple-element(f), index=1
  o = (f32[6], f32[6]) opt-barrier(f)
  d = f32[6] get-tuple-element(o), index=1
  ROOT r = (f32[6], f32[6], f32[6]) tuple(a, b, d) })");
}

TEST(OptimizeTest, KeepsBitcastsThatFollowLayouts) {
  ExpectKept(R"(
ENTRY e { x = f32[3,4]{0,1} parameter(0)
  b = f32[12]{0} bitcast(x)
  c = f32[2,6]{0,1} bitcast(b)
  i = s32[4,3]{1,0} bitcast(x)
  ROOT r = (f32[12]{0}, f32[2,6]{0,1}, s32[4,3]{1,0}) tuple(b, c, i) })");
}

TEST(OptimizeTest, KeepsReductionsOfSingleElementsWithTheirInitialValue) {
  ExpectKept(std::string(kReducers) + R"(
ENTRY e { x = f32[4,1,5] parameter(0)  init = f32[] parameter(1)
  a = f32[4,5] reduce(x, init), dimensions={1}, to_apply=add
  none = f32[4,1,5] reduce(x, init), dimensions={}, to_apply=max
  ROOT r = (f32[4,5], f32[4,1,5]) tuple(a, none) })");
}

TEST(OptimizeTest, KeepsVariadicReductionsUsedAsTuples) {
  ExpectKept(R"(
arg { av = f32[] parameter(0)  ai = s32[] parameter(1)  bv = f32[] parameter(2)  bi = s32[] parameter(3)
  gt = pred[] compare(av, bv), direction=GE  v = f32[] select(gt, av, bv)  i = s32[] select(gt, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i) }
ENTRY e { x = f32[7,9] parameter(0)  i = s32[7,9] iota(), iota_dimension=1  lowest = f32[] constant(-inf)  zero = s32[] constant(0)
  r = (f32[7], s32[7]) reduce(x, i, lowest, zero), dimensions={1}, to_apply=arg
  v = f32[7] get-tuple-element(r), index=0  n = f32[7] negate(v)
  ROOT t = ((f32[7], s32[7]), f32[7]) tuple(r, n) })");
}

TEST(OptimizeTest, KeepsIndexMapsInLongChains) {
  ExpectKept(R"(
ENTRY e { x = s32[6,10] parameter(0)  zero = s32[] constant(-1)
  s = s32[4,5] slice(x), slice={[1:5], [0:10:2]}
  r = s32[4,5] reverse(s), dimensions={1}
  p = s32[7,11] pad(r, zero), padding=1_2x-1_3_1
  q = s32[11,7] transpose(p), dimensions={1,0}
  f = s32[77] reshape(q)
  u = s32[3] parameter(1)
  c = s32[80] concatenate(f, u), dimensions={0}
  ROOT t = (s32[80], s32[11,7]) tuple(c, q) })");
}

TEST(OptimizeTest, KeepsCropsAndSlicesOfSlices) {
  ExpectKept(R"(HloModule m
ENTRY e { x = f32[20,7] parameter(0)  z = f32[] constant(9)
  crop = f32[17,6] pad(x, z), padding=-1_-2x0_-1
  half = f32[8,6] slice(crop), slice={[1:16:2],[0:6]}
  some = f32[3,2] slice(half), slice={[2:8:2],[3:6:2]}
  one = f32[1,2] slice(some), slice={[2:3:9223372036854775807],[0:2]}
  same = f32[1,1] slice(one), slice={[0:1],[1:2:1]}
  none = f32[0,2] slice(some), slice={[3:3:9223372036854775807],[0:2]}
  less = f32[0,1] slice(none), slice={[0:0],[1:2]}
  gone = f32[0,7] pad(x, z), padding=-11_-9x0_0
  wide = f32[2,2] pad(some, z), padding=-2_1x0_0
  apart = f32[3,2] pad(some, z), padding=-1_-1_1x0_0
  ROOT t = (f32[3,2], f32[1,1], f32[0,1], f32[0,7], f32[2,2], f32[3,2]) tuple(some, same, less, gone, wide, apart) })");
}

TEST(OptimizeTest, KeepsEmptyArraysAndScalars) {
  ExpectKept(std::string(kReducers) + R"(
ENTRY e { x = f32[0,5] parameter(0)  s = f32[] parameter(1)  zero = f32[] constant(2)
  a = f32[5] reduce(x, zero), dimensions={0}, to_apply=add
  b = f32[0] reduce(x, zero), dimensions={1}, to_apply=add
  n = f32[] negate(s)  w = f32[0,5] negate(x)
  ROOT t = (f32[5], f32[0], f32[], f32[0,5]) tuple(a, b, n, w) })");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
