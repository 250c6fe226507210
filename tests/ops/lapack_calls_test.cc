// LAPACK's calls and XLA's own expanders on the device against the reference (which tests/cpu/library_calls_test.cc
// measures by JAX's numbers and by properties).
#include <cmath>
#include <limits>

#include "core/library/library_calls.h"
#include "tests/support/device_test_support.h"
#include "tests/support/library_call_text.h"

namespace VXLA_NAMESPACE::testing {
namespace lapack_calls_test {

using enum ElementType;
using Sizes = std::vector<int64_t>;

ElementType RealOf(ElementType type) { return IsComplex(type) ? RealPart(type) : type; }

// Rounding grows with the matrix's size, by a constant of its conditioning: random matrices of these seeds.
RunOptions Judged(ElementType type, int64_t n, double condition = 200) {
  const double unit = RealOf(type) == kF32 ? 0x1p-24 : 0x1p-53;
  RunOptions options;
  options.tolerance = Tolerance{};
  options.tolerance->atol = condition * unit * static_cast<double>(n + 4);
  options.tolerance->rtol = options.tolerance->atol;
  return options;
}

// The programs are made of operations that have their own tests in both binding modes: one is enough here.
std::optional<Literal> RunInOneMode(const std::string& text, const std::vector<Literal>& arguments,
                                    const RunOptions& options) {
  const auto module = ParseModule(text);
  if (module == nullptr) return std::nullopt;
  auto expected = RunOnCpu(*module, arguments);
  const auto actual = RunOnDevice(ModesToRun().back(), *module, arguments, options);
  if (expected && actual) ExpectAgreement(*actual, *expected, options, "the device");
  return expected;
}

Sizes BatchOf(const Sizes& sizes) { return {sizes.begin(), sizes.end() - 2}; }

std::string LuText(ElementType type, const Sizes& sizes) {
  const int64_t least = std::min(sizes[sizes.size() - 2], sizes.back());
  return LapackProgram("getrf", {{type, sizes}},
                       {{type, sizes}, {kS32, WithSizes(BatchOf(sizes), {least})}, {kS32, BatchOf(sizes)}});
}
void CheckLu(ElementType type, const Sizes& sizes) {
  SCOPED_TRACE(Shape(type, sizes).ToString());
  RunInOneMode(LuText(type, sizes), {RandomLiteral(Shape(type, sizes), 3)},
               Judged(type, std::max(sizes.back(), sizes[0])));
}

TEST(LapackCallTest, LuInOnePanel) { CheckLu(kC64, {3, 5, 4}); }
TEST(LapackCallTest, LuInBlocks) { CheckLu(kF32, {2, 83, 61}); }
TEST(LapackCallTest, LuOfWideMatrices) { CheckLu(kF32, {3, 5}); }
TEST(LapackCallTest, LuOfEmptyMatrices) {
  for (const Sizes& sizes : {Sizes{3, 0}, Sizes{0, 3}, Sizes{0, 4, 4}}) {
    RunOptions options;
    options.allow_fallbacks = true;  // there is nothing to compute
    RunBoth(LuText(kF32, sizes), {RandomLiteral(Shape(kF32, sizes), 3)}, options);
  }
}
TEST(LapackCallTest, SingularMatricesTellTheirPivot) {
  Literal a(Shape(kF32, {2, 50, 50}));
  for (int64_t i = 0; i < 50; ++i) a.SetDouble(i * 50 + i, i == 37 ? 0 : 2), a.SetDouble(2500 + i * 50 + i, 1);
  a.SetDouble(49, std::numeric_limits<double>::quiet_NaN());  // changes its column only
  const auto lu = RunInOneMode(LuText(kF32, {2, 50, 50}), {a}, Judged(kF32, 50));
  ASSERT_TRUE(lu.has_value());
  EXPECT_EQ(lu->tuple_element(2).GetInt(0), 38);
  EXPECT_EQ(lu->tuple_element(2).GetInt(1), 0);
}

std::string QrText(ElementType type, const Sizes& sizes) {
  const int64_t least = std::min(sizes[sizes.size() - 2], sizes.back());
  return LapackProgram("geqrf", {{type, sizes}}, {{type, sizes}, {type, WithSizes(BatchOf(sizes), {least})}});
}
void CheckQr(ElementType type, const Sizes& sizes) {
  SCOPED_TRACE(Shape(type, sizes).ToString());
  RunInOneMode(QrText(type, sizes), {RandomLiteral(Shape(type, sizes), 4)},
               Judged(type, std::max(sizes.back(), sizes[0])));
}

TEST(LapackCallTest, QrInBlocks) { CheckQr(kF32, {83, 61}); }
TEST(LapackCallTest, QrOfWideMatrices) { CheckQr(kC64, {3, 5}); }
// Their squares overflow and vanish.
TEST(LapackCallTest, QrOfHugeAndTinyNumbers) {
  Literal a = RandomLiteral(Shape(kF32, {2, 6, 3}), 5);
  for (int64_t i = 0; i < 36; ++i) a.SetDouble(i, std::ldexp(a.GetDouble(i), i < 18 ? 100 : -100));
  RunOptions options = Judged(kF32, 6);
  options.tolerance->atol = 0;
  RunInOneMode(QrText(kF32, {2, 6, 3}), {a}, options);
}

TEST(LapackCallTest, HouseholderProducts) {
  for (const auto& [type, rows, columns, count] : {std::tuple(kC64, 5, 3, 3), std::tuple(kF32, 70, 60, 55)}) {
    Literal taus(Shape(type, {2, count}));
    const Literal some = RandomLiteral(taus.shape(), 7);
    for (int64_t i = 0; i < 2 * count; ++i) taus.SetComplex(i, some.GetComplex(i) / static_cast<double>(rows));
    RunInOneMode(LapackProgram(IsComplex(type) ? "ungqr" : "orgqr", {{type, {2, rows, columns}}, {type, {2, count}}},
                               {{type, {2, rows, columns}}}),
                 {RandomLiteral(Shape(type, {2, rows, columns}), 6), taus}, Judged(type, rows, 2000));
  }
}

// In one block and in several, from both sides, of fewer reflectors than columns, of none.
TEST(LapackCallTest, ReflectorsOnEitherSide) {
  for (const auto& [type, rows, columns, count, other] :
       {std::tuple(kC64, 5, 7, 3, 4), std::tuple(kF32, 70, 60, 55, 9), std::tuple(kF32, 4, 3, 0, 2)}) {
    Literal taus(Shape(type, {2, count}));
    const Literal some = RandomLiteral(taus.shape(), 7);
    for (int64_t i = 0; i < 2 * count; ++i) taus.SetComplex(i, some.GetComplex(i) / static_cast<double>(rows));
    for (const bool left : {true, false}) {
      const Sizes sizes = left ? Sizes{2, rows, other} : Sizes{2, other, rows};
      for (const bool adjoint : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} {}", ElementTypeName(type), left, adjoint));
        RunInOneMode(LapackProgram(IsComplex(type) ? "unmqr" : "ormqr",
                                   {{type, {2, rows, columns}}, {type, {2, count}}, {type, sizes}}, {{type, sizes}},
                                   fmt::format("left = {}, transpose = {}", left, adjoint)),
                     {RandomLiteral(Shape(type, {2, rows, columns}), 6), taus, RandomLiteral(Shape(type, sizes), 5)},
                     Judged(type, rows, 2000));
      }
    }
  }
}

std::string EighText(ElementType type, const Sizes& sizes, bool lower) {
  Sizes vector = sizes;
  vector.pop_back();
  return LapackProgram(IsComplex(type) ? "heevd" : "syevd", {{type, sizes}},
                       {{type, sizes}, {RealOf(type), vector}, {kS32, BatchOf(sizes)}},
                       fmt::format("mode = 86 : ui8, uplo = {} : ui8", lower ? 76 : 85));
}

TEST(LapackCallTest, EigenvaluesOfComplexMatrices) {
  RunInOneMode(EighText(kC64, {2, 5, 5}, false), {RandomLiteral(Shape(kC64, {2, 5, 5}), 8)}, Judged(kC64, 5));
}
// Random, large, small, diagonal, not finite.
TEST(LapackCallTest, EigenvaluesOfMatricesOfEveryKind) {
  Literal a = RandomLiteral(Shape(kF32, {5, 4, 4}), 9);
  for (int64_t i = 0; i < 16; ++i) {
    a.SetDouble(16 + i, std::ldexp(a.GetDouble(16 + i), 90));
    a.SetDouble(32 + i, std::ldexp(a.GetDouble(32 + i), -110));
    a.SetDouble(48 + i, i % 5 == 0 ? static_cast<double>(10 - i) : 0);
  }
  a.SetDouble(64 + 4, std::numeric_limits<double>::quiet_NaN());
  RunOptions options = Judged(kF32, 4);
  options.leaf_tolerances = {*options.tolerance, *options.tolerance, Tolerance{}};
  options.leaf_tolerances[1].atol = 0;  // the matrices' sizes are far apart
  RunInOneMode(EighText(kF32, {5, 4, 4}, true), {a}, options);
}

std::string TridiagonalText(ElementType type, const Sizes& vector, int64_t columns) {
  Sizes b = vector;
  b.push_back(columns);
  return LapackProgram("gtsv", {{type, vector}, {type, vector}, {type, vector}, {type, b}},
                       {{type, vector}, {type, vector}, {type, vector}, {type, b}, {kS32, {vector[0]}}});
}

// Diagonals that are left alone, exchanged, and both.
TEST(LapackCallTest, TridiagonalSystemsExchangeRows) {
  for (const auto& [type, n] : {std::pair(kF32, 13), std::pair(kC64, 7), std::pair(kF64, 2), std::pair(kF32, 1)}) {
    SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(type), n));
    Literal lower = RandomLiteral(Shape(type, {3, n}), 21), diagonal = RandomLiteral(Shape(type, {3, n}), 22);
    for (int64_t i = 0; i < n; ++i) {
      diagonal.SetComplex(i, diagonal.GetComplex(i) + 5.0);
      lower.SetComplex(n + i, lower.GetComplex(n + i) + 5.0);
    }
    RunInOneMode(TridiagonalText(type, {3, n}, 2),
                 {lower, diagonal, RandomLiteral(Shape(type, {3, n}), 23), RandomLiteral(Shape(type, {3, n, 2}), 24)},
                 Judged(type, n, 2000));
  }
}
// As far as the elimination came: in the middle, at the end.
TEST(LapackCallTest, SingularTridiagonalSystemsTellTheirPivot) {
  Literal lower(Shape(kF32, {3, 5})), diagonal(Shape(kF32, {3, 5})), upper(Shape(kF32, {3, 5})),
      b(Shape(kF32, {3, 5, 1}));
  for (int64_t i = 0; i < 15; ++i) {
    lower.SetDouble(i, i % 5 < 2 ? 1 : 0), diagonal.SetDouble(i, 3), upper.SetDouble(i, 1), b.SetDouble(i, 1 + i);
  }
  diagonal.SetDouble(5 + 2, 0), lower.SetDouble(5 + 2, 0), diagonal.SetDouble(10 + 4, 0);
  const auto solved = RunInOneMode(TridiagonalText(kF32, {3, 5}, 1), {lower, diagonal, upper, b}, Judged(kF32, 5));
  ASSERT_TRUE(solved.has_value());
  EXPECT_EQ(solved->tuple_element(4).GetInt(0), 0);
  EXPECT_EQ(solved->tuple_element(4).GetInt(1), 3);
  EXPECT_EQ(solved->tuple_element(4).GetInt(2), 5);
}

// Systems that have a solution, rows exchanged and not, and such of small integers that have none: there both eliminate
// without rounding, and the pivots that they make larger are the same ones.
TEST(LapackCallTest, PerturbedTridiagonalSystems) {
  for (const auto& [type, n] : {std::pair(kF32, 13), std::pair(kC64, 7), std::pair(kF64, 2), std::pair(kF32, 1)}) {
    SCOPED_TRACE(fmt::format("{} {}", ElementTypeName(type), n));
    Literal lower = RandomLiteral(Shape(type, {3, n}), 21), diagonal = RandomLiteral(Shape(type, {3, n}), 22);
    Literal upper = RandomLiteral(Shape(type, {3, n}), 23);
    for (int64_t i = 0; i < n; ++i) {
      diagonal.SetComplex(i, diagonal.GetComplex(i) + 5.0);
      lower.SetComplex(n + i, lower.GetComplex(n + i) + 5.0);
      lower.SetComplex(2 * n + i, i % 2), upper.SetComplex(2 * n + i, i % 2 == 0);
      diagonal.SetComplex(2 * n + i, i % 3 == 2 ? 0 : -1);
    }
    RunInOneMode(PerturbedSolveText(type, {3, n}, 2),
                 {lower, diagonal, upper, RandomLiteral(Shape(type, {3, n, 2}), 24)}, Judged(type, n, 2000));
  }
  // Quotients that a unit of the largest element would let overflow.
  RunInOneMode(PerturbedSolveText(kF32, {3}, 1),
               {Literal(Shape(kF32, {3})), Literal(Shape(kF32, {3})), Literal(Shape(kF32, {3})),
                RandomLiteral(Shape(kF32, {3, 1}), 5)},
               Judged(kF32, 3));
}

TEST(LapackCallTest, CholeskyAndSolvesAreTheOperations) {
  Literal a = RandomLiteral(Shape(kF32, {2, 3, 3}), 9);
  for (int64_t i = 0; i < 18; ++i) a.SetDouble(i, i % 9 % 4 == 0 ? (i == 13 ? -1 : 9) : a.GetDouble(i));
  for (const int uplo : {76, 85}) {
    const auto factor = RunInOneMode(LapackProgram("potrf", {{kF32, {2, 3, 3}}}, {{kF32, {2, 3, 3}}, {kS32, {2}}},
                                                   fmt::format("uplo = {} : ui8", uplo)),
                                     {a}, Judged(kF32, 3));
    ASSERT_TRUE(factor.has_value());
    EXPECT_EQ(factor->tuple_element(1).GetInt(0), 0);
    EXPECT_EQ(factor->tuple_element(1).GetInt(1), 2);
  }
  RunInOneMode(LapackProgram("trsm", {{kC64, {3, 3}}, {kC64, {2, 3}}}, {{kC64, {2, 3}}},
                             "diag = 85 : ui8, side = 82 : ui8, trans_x = 67 : ui8, uplo = 76 : ui8"),
               {RandomLiteral(Shape(kC64, {3, 3}), 1), RandomLiteral(Shape(kC64, {2, 3}), 2)}, Judged(kC64, 3));
}

std::string SvdText(ElementType type, const Sizes& sizes, int mode, bool all) {
  const int64_t rows = sizes[sizes.size() - 2], columns = sizes.back(), least = std::min(rows, columns);
  const Sizes batch = BatchOf(sizes);
  return LapackProgram("gesdd", {{type, sizes}},
                       {{type, sizes},
                        {RealOf(type), WithSizes(batch, {least})},
                        {type, WithSizes(batch, {rows, all ? rows : least})},
                        {type, WithSizes(batch, {all ? columns : least, columns})},
                        {kS32, batch}},
                       fmt::format("mode = {} : ui8", mode));
}

TEST(LapackCallTest, SingularValuesOfWideComplexMatrices) {
  RunInOneMode(SvdText(kC64, {3, 5}, 'S', false), {RandomLiteral(Shape(kC64, {3, 5}), 3)}, Judged(kC64, 6));
}
TEST(LapackCallTest, SingularValuesAlone) {
  // Vectors that are not asked for have either size.
  for (const bool all : {false, true})
    RunInOneMode(SvdText(kF32, {4, 3}, 'N', all), {RandomLiteral(Shape(kF32, {4, 3}), 3)}, Judged(kF32, 6));
}
// Random, with a column of zeros (which has no direction: the basis is completed in one way everywhere), not finite.
TEST(LapackCallTest, SingularVectorsOfMatricesOfEveryKind) {
  Literal a = RandomLiteral(Shape(kF32, {3, 5, 3}), 4);
  for (int64_t i = 1; i < 15; i += 3) a.SetDouble(15 + i, 0);
  a.SetDouble(30, std::numeric_limits<double>::quiet_NaN());
  RunInOneMode(SvdText(kF32, {3, 5, 3}, 'A', true), {a}, Judged(kF32, 5));
}

// What has no program of its own runs on the host in the middle of a plan.
TEST(LapackCallTest, HessenbergFormsAreAHostStep) {
  RunOptions options;
  options.allow_fallbacks = true;
  RunReport report;
  options.report = &report;
  RunBoth(
      "ENTRY e { a = f32[4,4] parameter(0)\n b = f32[4,4] negate(a)\n"
      " h = (f32[4,4]{0,1}, f32[3], s32[]) custom-call(b), custom_call_target=\"lapack_sgehrd_ffi\", "
      "operand_layout_constraints={f32[4,4]{0,1}}, api_version=API_VERSION_TYPED_FFI, "
      "backend_config={high = 4 : i32, low = 1 : i32}\n"
      " v = f32[4,4] get-tuple-element(h), index=0\n ROOT w = f32[4,4] multiply(v, v) }",
      {RandomLiteral(Shape(kF32, {4, 4}), 3)}, options);
  EXPECT_EQ(report.fallbacks.size(), 1u);
}

// In a loop's body, and two calls of one kind.
TEST(LapackCallTest, CallsInLoops) {
  RunBoth(
      "more { s = (s32[], f32[3,3]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(4)\n"
      " ROOT c = pred[] compare(i, n), direction=LT }\n"
      "step { s = (s32[], f32[3,3]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n o = s32[] constant(1)\n"
      " j = s32[] add(i, o)\n a = f32[3,3] get-tuple-element(s), index=1\n"
      " q = (f32[3,3], f32[3]) custom-call(a), custom_call_target=\"Qr\"\n r = f32[3,3] get-tuple-element(q), index=0\n"
      " t = f32[3] get-tuple-element(q), index=1\n"
      " p = f32[3,3] custom-call(r, t), custom_call_target=\"ProductOfElementaryHouseholderReflectors\"\n"
      " b = f32[3,3] add(p, a)\n ROOT n = (s32[], f32[3,3]) tuple(j, b) }\n"
      "ENTRY e { z = s32[] constant(0)\n a = f32[3,3] parameter(0)\n s = (s32[], f32[3,3]) tuple(z, a)\n"
      " w = (s32[], f32[3,3]) while(s), condition=more, body=step\n ROOT r = f32[3,3] get-tuple-element(w), index=1 }",
      {RandomLiteral(Shape(kF32, {3, 3}), 3)}, Judged(kF32, 3, 2000));
}

// Rows of 0 to 6 values, the last values of no row.
TEST(LapackCallTest, SparseProducts) {
  constexpr int64_t kRows = 700, kValues = 2200, kColumns = 90;
  Literal starts(Shape(kS32, {kRows + 1})), columns(Shape(kS32, {kValues}));
  for (int64_t r = 0; r < kRows; ++r) starts.SetInt(r + 1, starts.GetInt(r) + r * 5 % 7);
  for (int64_t k = 0; k < kValues; ++k) columns.SetInt(k, k * 37 % kColumns);
  ASSERT_LT(starts.GetInt(kRows), kValues);
  for (const auto& [type, columns_of] : {std::pair{kF32, 5}, std::pair{kF32, 0}, std::pair{kC64, 2}}) {
    const std::string behind = columns_of > 0 ? fmt::format(",{}]", columns_of) : "]";
    const std::string dense = fmt::format("[{}{}", kColumns, behind), result = fmt::format("[{}{}", kRows, behind);
    const std::string text =
        SparseProductText(std::string(ElementTypeName(type)), "s32", kValues, dense, kRows, result);
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    std::vector<Literal> arguments = RandomArguments(*module, 3);
    arguments[1] = starts;
    arguments[2] = columns;
    RunInOneMode(text, arguments, Judged(type, 8));
  }
}

TEST(LapackCallTest, TopKByComparatorAndByValue) {
  const Literal a = RandomLiteral(Shape(kF32, {3, 20}), 3);
  RunInOneMode(
      "ENTRY e { a = f32[3,20] parameter(0)\n ROOT r = (f32[3,4], s32[3,4]) custom-call(a), "
      "custom_call_target=\"TopK\" }",
      {a}, {});
  RunInOneMode(
      "more { a = f32[] parameter(0)\n b = f32[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
      " ROOT c = pred[] compare(a, b), direction=GT }\n"
      "ENTRY e { a = f32[3,20] parameter(0)\n i = s32[3,20] iota(), iota_dimension=1\n z = f32[] constant(-inf)\n"
      " m = s32[] constant(-1)\n ROOT r = (f32[3,4], s32[3,4]) custom-call(a, i, z, m), "
      "custom_call_target=\"ApproxTopK\", called_computations={more}, "
      "backend_config={\"reduction_dim\": 1, \"top_k\": 4} }",
      {a}, {});
}

}  // namespace lapack_calls_test
}  // namespace VXLA_NAMESPACE::testing
