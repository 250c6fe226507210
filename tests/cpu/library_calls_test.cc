// LAPACK's calls and XLA's own expanders on the reference: numbers from JAX 0.10.2, properties in long double.
#include <algorithm>
#include <eigen3/Eigen/Dense>
#include <functional>

#include "core/ir/module.h"
#include "core/text/hlo_parser.h"
#include "tests/cpu/cpu_test_support.h"
#include "tests/support/library_call_text.h"

namespace VXLA_NAMESPACE::testing {
namespace library_calls_test {

using enum ElementType;
using Sizes = std::vector<int64_t>;
using Wide = std::complex<long double>;
using WideMatrix = Eigen::Matrix<Wide, Eigen::Dynamic, Eigen::Dynamic>;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr ElementType kTypes[] = {kF32, kF64, kC64, kC128};
ElementType RealOf(ElementType type) { return IsComplex(type) ? RealPart(type) : type; }
double UnitOf(ElementType type) { return RealOf(type) == kF32 ? 0x1p-23 : 0x1p-52; }

// Matrix b of a stack.
WideMatrix At(const Literal& x, int64_t b) {
  const Shape& shape = x.shape();
  const int64_t rows = shape.dimension(shape.rank() - 2), columns = shape.dimension(shape.rank() - 1);
  WideMatrix m(rows, columns);
  for (int64_t i = 0; i < rows * columns; ++i) m(i / columns, i % columns) = Wide(x.GetComplex(b * rows * columns + i));
  return m;
}
WideMatrix Diagonal(const Literal& values, int64_t b, int64_t rows, int64_t columns) {
  const int64_t n = values.shape().dimension(values.shape().rank() - 1);
  WideMatrix m = WideMatrix::Zero(rows, columns);
  for (int64_t i = 0; i < n; ++i) m(i, i) = Wide(values.GetComplex(b * n + i));
  return m;
}
void ExpectNear(const WideMatrix& a, const WideMatrix& b, double tolerance) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  if (a.size() == 0) return;
  EXPECT_LE(static_cast<double>((a - b).cwiseAbs().maxCoeff()), tolerance);
}
void ExpectUnitary(const WideMatrix& u, double tolerance) {
  ExpectNear(u.adjoint() * u, WideMatrix::Identity(u.cols(), u.cols()), tolerance);
}
void ExpectNumbers(const Literal& x, const std::vector<double>& wanted) {
  EXPECT_THAT(Doubles(x), Pointwise(DoubleNear(1e-13), wanted));
}

std::vector<Literal> Results(const std::string& text, const std::vector<Literal>& arguments) {
  return RunText(text, arguments).tuple_elements();
}

TEST(LibraryCallTest, NumbersOfJax) {
  const auto qr = Results(LapackProgram("geqrf", {{kF64, {3, 2}}}, {{kF64, {3, 2}}, {kF64, {2}}}),
                          {Array(kF64, {3, 2}, {1, 2, 3, 4, 5, 7})});
  ExpectNumbers(qr[0], {-5.916079783099616, -8.282511696339462, 0.4337717455676132, 0.632455532033676,
                        0.7229529092793553, 0.39696565406256445});
  ExpectNumbers(qr[1], {1.1690308509457032, 1.72773977620305});
  const auto pivoted =
      Results(LapackProgram("geqp3", {{kF64, {2, 3}}, {kS32, {3}}}, {{kF64, {2, 3}}, {kS32, {3}}, {kF64, {2}}}),
              {Array(kF64, {2, 3}, {1, 2, 9, 3, 4, 1}), Ints(kS32, {3}, {0, 0, 0})});
  ExpectNumbers(pivoted[0], {-9.055385138137417, -2.4294935736466243, -1.3251783128981587, 0.05538513813741663,
                             3.7546718865447826, 2.87121967794601});
  EXPECT_EQ(Integers(pivoted[1]), (Sizes{3, 2, 1}));
  const auto hessenberg = Results(LapackProgram("gehrd", {{kF64, {3, 3}}}, {{kF64, {3, 3}}, {kF64, {2}}, {kS32, {}}},
                                                "high = 3 : i32, low = 1 : i32"),
                                  {Array(kF64, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 10})});
  ExpectNumbers(hessenberg[0], {1, -3.597007303087045, -0.24806946917841666, -8.06225774829855, 14.8, 2.4,
                                0.5803225354712214, 0.4, 0.2});
  ExpectNumbers(hessenberg[1], {1.4961389383568338, 0});
  const auto tridiagonal =
      Results(LapackProgram("sytrd", {{kF64, {3, 3}}},
                            {{kF64, {3, 3}}, {kF64, {3}}, {kF64, {2}}, {kF64, {2}}, {kS32, {}}}, "uplo = 76 : ui8"),
              {Array(kF64, {3, 3}, {4, 1, 2, 1, 3, 0, 2, 0, 5})});
  ExpectNumbers(tridiagonal[0], {4, 1, 2, -2.23606797749979, 4.6, 0, 0.6180339887498948, -0.8, 3.4});
  ExpectNumbers(tridiagonal[1], {4, 4.6, 3.4});
  ExpectNumbers(tridiagonal[2], {-2.23606797749979, -0.8});
  ExpectNumbers(tridiagonal[3], {1.4472135954999579, 0});
}

TEST(LibraryCallTest, LuOfEveryType) {
  for (const ElementType type : kTypes) {
    for (const Sizes& sizes : {Sizes{3, 7, 4}, Sizes{2, 2, 4, 7}, Sizes{1, 1}, Sizes{3, 0}, Sizes{0, 5, 5}}) {
      const Literal a = Random(type, sizes, 7);
      const int64_t rows = sizes[sizes.size() - 2], columns = sizes.back(), least = std::min(rows, columns);
      const Sizes batch(sizes.begin(), sizes.end() - 2);
      const auto lu = Results(
          LapackProgram("getrf", {{type, sizes}}, {{type, sizes}, {kS32, WithSizes(batch, {least})}, {kS32, batch}}),
          {a});
      for (int64_t b = 0; b < CountOf(batch); ++b) {
        const WideMatrix factors = At(lu[0], b);
        const WideMatrix l = factors.leftCols(least).triangularView<Eigen::UnitLower>();
        const WideMatrix u = factors.topRows(least).triangularView<Eigen::Upper>();
        WideMatrix moved = At(a, b);
        for (int64_t i = 0; i < least; ++i) moved.row(i).swap(moved.row(lu[1].GetInt(b * least + i) - 1));
        ExpectNear(l * u, moved, 64 * UnitOf(type));
        EXPECT_EQ(lu[2].GetInt(b), 0);
      }
    }
  }
}

TEST(LibraryCallTest, SingularMatricesTellTheirPivot) {
  const auto lu = Results(LapackProgram("getrf", {{kF32, {2, 3, 3}}}, {{kF32, {2, 3, 3}}, {kS32, {2, 3}}, {kS32, {2}}}),
                          {Array(kF32, {2, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1})});
  EXPECT_EQ(Integers(lu[2]), (Sizes{2, 0}));
  const auto factor =
      Results(LapackProgram("potrf", {{kF32, {2, 2, 2}}}, {{kF32, {2, 2, 2}}, {kS32, {2}}}, "uplo = 76 : ui8"),
              {Array(kF32, {2, 2, 2}, {4, 9, 2, 5, 4, 9, 4, 3})});
  EXPECT_EQ(Integers(factor[1]), (Sizes{0, 2}));
  EXPECT_EQ(Doubles(factor[0])[1], 9);  // the triangle that is not named stays
}

TEST(LibraryCallTest, QrAndItsProductOfEveryType) {
  for (const ElementType type : kTypes) {
    for (const Sizes& sizes : {Sizes{3, 7, 4}, Sizes{4, 7}, Sizes{5, 1}, Sizes{1, 1}, Sizes{0, 3}, Sizes{3, 0}}) {
      const Literal a = Random(type, sizes, 8);
      const int64_t rows = sizes[sizes.size() - 2], columns = sizes.back(), least = std::min(rows, columns);
      const Sizes batch(sizes.begin(), sizes.end() - 2);
      const auto qr =
          Results(LapackProgram("geqrf", {{type, sizes}}, {{type, sizes}, {type, WithSizes(batch, {least})}}), {a});
      Literal reflectors(Shape(type, WithSizes(batch, {rows, least})));
      for (int64_t i = 0; i < reflectors.element_count(); ++i)
        reflectors.SetComplex(i, qr[0].GetComplex(i / std::max<int64_t>(least, 1) * columns + i % least));
      const Literal q =
          RunText(LapackProgram(IsComplex(type) ? "ungqr" : "orgqr",
                                {{type, WithSizes(batch, {rows, least})}, {type, WithSizes(batch, {least})}},
                                {{type, WithSizes(batch, {rows, least})}}),
                  {reflectors, qr[1]});
      for (int64_t b = 0; b < CountOf(batch); ++b) {
        const WideMatrix r = At(qr[0], b).topRows(least).triangularView<Eigen::Upper>();
        ExpectNear(At(q, b) * r, At(a, b), 64 * UnitOf(type));
        ExpectUnitary(At(q, b), 16 * UnitOf(type));
      }
    }
  }
}

// Against Q itself, which is made of the reflectors with further columns of zeros.
TEST(LibraryCallTest, ReflectorsOnEitherSideOfEveryType) {
  for (const ElementType type : kTypes) {
    const Literal a = Random(type, {2, 5, 3}, 18);
    const auto qr = Results(LapackProgram("geqrf", {{type, {2, 5, 3}}}, {{type, {2, 5, 3}}, {type, {2, 3}}}), {a});
    Literal wide(Shape(type, {2, 5, 5}));
    for (int64_t i = 0; i < 30; ++i) wide.SetComplex(i / 3 * 5 + i % 3, qr[0].GetComplex(i));
    const std::string name = IsComplex(type) ? "unmqr" : "ormqr";
    const Literal q = RunText(
        LapackProgram(IsComplex(type) ? "ungqr" : "orgqr", {{type, {2, 5, 5}}, {type, {2, 3}}}, {{type, {2, 5, 5}}}),
        {wide, qr[1]});
    for (const bool left : {true, false}) {
      const Sizes sizes = left ? Sizes{2, 5, 4} : Sizes{2, 4, 5};
      const Literal c = Random(type, sizes, 19);
      for (const bool adjoint : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} {}", ElementTypeName(type), left, adjoint));
        const Literal product =
            RunText(LapackProgram(name, {{type, {2, 5, 3}}, {type, {2, 3}}, {type, sizes}}, {{type, sizes}},
                                  fmt::format("left = {}, transpose = {}", left, adjoint)),
                    {qr[0], qr[1], c});
        for (int64_t b = 0; b < 2; ++b) {
          const WideMatrix factor = adjoint ? WideMatrix(At(q, b).adjoint()) : At(q, b);
          ExpectNear(At(product, b), left ? WideMatrix(factor * At(c, b)) : WideMatrix(At(c, b) * factor),
                     64 * UnitOf(type));
        }
      }
    }
  }
}

TEST(LibraryCallTest, EigenvaluesOfHermitianMatrices) {
  for (const ElementType type : kTypes) {
    for (const char* uplo : {"76", "85"}) {
      const Literal a = Random(type, {3, 6, 6}, 9);
      const auto eigen = Results(LapackProgram(IsComplex(type) ? "heevd" : "syevd", {{type, {3, 6, 6}}},
                                               {{type, {3, 6, 6}}, {RealOf(type), {3, 6}}, {kS32, {3}}},
                                               fmt::format("mode = 86 : ui8, uplo = {} : ui8", uplo)),
                                 {a});
      for (int64_t b = 0; b < 3; ++b) {
        WideMatrix whole = At(a, b);
        for (int64_t i = 0; i < 6; ++i) {
          whole(i, i) = whole(i, i).real();
          for (int64_t j = 0; j < i; ++j)
            *uplo == '7' ? whole(j, i) = std::conj(whole(i, j)) : whole(i, j) = std::conj(whole(j, i));
        }
        const WideMatrix v = At(eigen[0], b);
        ExpectNear(whole * v, v * Diagonal(eigen[1], b, 6, 6), 64 * UnitOf(type));
        ExpectUnitary(v, 16 * UnitOf(type));
        for (int64_t i = 0; i + 1 < 6; ++i) EXPECT_LE(eigen[1].GetDouble(b * 6 + i), eigen[1].GetDouble(b * 6 + i + 1));
      }
    }
  }
}

// The first element of at least 0.3 of the largest magnitude is real and positive.
TEST(LibraryCallTest, EigenvectorsHaveAPhase) {
  const auto eigen = Results(
      "ENTRY e { a = c64[2,2] parameter(0)\n ROOT r = (c64[2,2], f32[2]) custom-call(a), "
      "custom_call_target=\"Eigh\", backend_config=\"1,1,100,1e-6\" }",
      {[] {
        Literal a(Shape(kC64, {2, 2}));
        a.SetComplex(0, 2), a.SetComplex(2, {0, 1}), a.SetComplex(3, 2);
        return a;
      }()});
  ExpectNear(At(eigen[0], 0),
             (WideMatrix(2, 2) << Wide(1), Wide(1), Wide(0, -1), Wide(0, 1)).finished() / std::sqrt(Wide(2)), 1e-6);
  EXPECT_THAT(Doubles(eigen[1]), Pointwise(DoubleNear(1e-6), std::vector<double>{1, 3}));
}

TEST(LibraryCallTest, SingularValuesOfEveryForm) {
  for (const ElementType type : kTypes) {
    for (const Sizes& size : {Sizes{6, 4}, Sizes{4, 6}, Sizes{5, 5}, Sizes{1, 3}, Sizes{0, 3}, Sizes{3, 0}}) {
      for (const bool all : {true, false}) {
        const int64_t m = size[0], n = size[1], k = std::min(m, n), u_columns = all ? m : k, v_rows = all ? n : k;
        const Literal a = Random(type, {2, m, n}, 10);
        const auto svd = Results(LapackProgram("gesdd", {{type, {2, m, n}}},
                                               {{type, {2, m, n}},
                                                {RealOf(type), {2, k}},
                                                {type, {2, m, u_columns}},
                                                {type, {2, v_rows, n}},
                                                {kS32, {2}}},
                                               fmt::format("mode = {} : ui8", all ? 65 : 83)),
                                 {a});
        for (int64_t b = 0; b < 2; ++b) {
          const WideMatrix u = At(svd[2], b), v = At(svd[3], b);
          ExpectNear(u * Diagonal(svd[1], b, u_columns, v_rows) * v, At(a, b), 64 * UnitOf(type));
          ExpectUnitary(u, 32 * UnitOf(type));
          ExpectUnitary(v.adjoint(), 32 * UnitOf(type));
        }
      }
    }
  }
  // Without vectors their arrays are stated thin or full, whatever the caller asked for.
  for (const int64_t u_columns : {2, 3}) {
    const auto values =
        Results(LapackProgram("gesdd", {{kF64, {3, 2}}},
                              {{kF64, {3, 2}}, {kF64, {2}}, {kF64, {3, u_columns}}, {kF64, {2, 2}}, {kS32, {}}},
                              "mode = 78 : ui8"),
                {Array(kF64, {3, 2}, {3, 0, 0, 4, 0, 0})});
    ExpectNumbers(values[1], {4, 3});
  }
  // Of rank 1: the other columns are some basis.
  const auto svd = Results(
      LapackProgram("gesdd", {{kF64, {3, 3}}},
                    {{kF64, {3, 3}}, {kF64, {3}}, {kF64, {3, 3}}, {kF64, {3, 3}}, {kS32, {}}}, "mode = 65 : ui8"),
      {Array(kF64, {3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1})});
  ExpectNumbers(svd[1], {3, 0, 0});
  ExpectUnitary(At(svd[2], 0), 1e-14);
}

TEST(LibraryCallTest, GeneralEigenvaluesAndSchurForms) {
  for (const ElementType type : kTypes) {
    const bool complex = IsComplex(type);
    const ElementType wide = RealOf(type) == kF32 ? kC64 : kC128;
    const Literal a = Random(type, {2, 5, 5}, 11);
    std::vector<TypedArray> results(complex ? 1 : 2, TypedArray{type, {2, 5}});
    const size_t next = results.size();
    std::vector<TypedArray> eig = results, schur{{type, {2, 5, 5}}, {type, {2, 5, 5}}};
    eig.insert(eig.end(), {{wide, {2, 5, 5}}, {wide, {2, 5, 5}}, {kS32, {2}}});
    schur.insert(schur.end(), results.begin(), results.end());
    schur.insert(schur.end(), {{kS32, {2}}, {kS32, {2}}});
    const std::string eig_text =
        LapackProgram("geev", {{type, {2, 5, 5}}}, eig, "compute_left = 86 : ui8, compute_right = 86 : ui8");
    const auto module = TryRun(eig_text, {a});
    if (!module.ok()) {  // a machine without LAPACK
      EXPECT_THAT(module.status().message(), HasSubstr("this machine has none"));
      continue;
    }
    const auto values = Results(eig_text, {a});
    const auto form =
        Results(LapackProgram("gees", {{type, {2, 5, 5}}}, schur, "mode = 86 : ui8, sort = 78 : ui8"), {a});
    for (int64_t b = 0; b < 2; ++b) {
      WideMatrix w = Diagonal(values[0], b, 5, 5);
      if (!complex) w += Wide(0, 1) * Diagonal(values[1], b, 5, 5);
      const WideMatrix left = At(values[next], b), right = At(values[next + 1], b);
      ExpectNear(At(a, b) * right, right * w, 128 * UnitOf(type));
      ExpectNear(left.adjoint() * At(a, b), w * left.adjoint(), 128 * UnitOf(type));
      const WideMatrix z = At(form[1], b);
      ExpectNear(z * At(form[0], b) * z.adjoint(), At(a, b), 128 * UnitOf(type));
    }
  }
}

// Whether a call's result solves random systems, in which rows are exchanged.
void ExpectTridiagonalSolution(ElementType type, const std::function<Literal(const std::vector<Literal>&)>& solve) {
  SCOPED_TRACE(ElementTypeName(type));
  const Literal lower = Random(type, {2, 6}, 12), upper = Random(type, {2, 6}, 14), b = Random(type, {2, 6, 3}, 15);
  Literal diagonal = Random(type, {2, 6}, 13);
  diagonal.SetComplex(0, 0);
  const Literal solved = solve({lower, diagonal, upper, b});
  for (int64_t k = 0; k < 2; ++k) {
    WideMatrix t = Diagonal(diagonal, k, 6, 6);
    for (int64_t i = 0; i + 1 < 6; ++i) {
      t(i + 1, i) = Wide(lower.GetComplex(k * 6 + i + 1));
      t(i, i + 1) = Wide(upper.GetComplex(k * 6 + i));
    }
    const WideMatrix x = At(solved, k);
    ExpectNear(t * x, At(b, k), 64 * UnitOf(type) * static_cast<double>(1 + x.cwiseAbs().maxCoeff()));
  }
}

TEST(LibraryCallTest, TridiagonalSystemsExchangeRows) {
  for (const ElementType type : kTypes) {
    const std::string text =
        LapackProgram("gtsv", {{type, {2, 6}}, {type, {2, 6}}, {type, {2, 6}}, {type, {2, 6, 3}}},
                      {{type, {2, 6}}, {type, {2, 6}}, {type, {2, 6}}, {type, {2, 6, 3}}, {kS32, {2}}});
    ExpectTridiagonalSolution(type, [&](const std::vector<Literal>& of) { return Results(text, of)[3]; });
  }
}

TEST(LibraryCallTest, PerturbedTridiagonalSystems) {
  for (const ElementType type : kTypes) {
    const std::string text = PerturbedSolveText(type, {2, 6}, 3);
    ExpectTridiagonalSolution(type, [&](const std::vector<Literal>& of) { return RunText(text, of); });
  }
  // A zero on the diagonal stands for a unit of the type times the largest element.
  const Literal singular =
      RunText(PerturbedSolveText(kF32, {4}, 1), {Array(kF32, {4}, {0, 0, 0, 0}), Array(kF32, {4}, {2, 0, -8, 4}),
                                                 Array(kF32, {4}, {0, 0, 0, 0}), Array(kF32, {4, 1}, {1, 3, 2, 1})});
  EXPECT_EQ(Doubles(singular), (std::vector<double>{0.5, 3 / (4 * 0x1p-23), -0.25, 0.25}));
  // [1 2; 2 4] shows to be singular in its second row. JAX has the same numbers.
  const Literal eliminated = RunText(
      PerturbedSolveText(kF64, {2}, 1),
      {Array(kF64, {2}, {0, 2}), Array(kF64, {2}, {1, 4}), Array(kF64, {2}, {2, 0}), Array(kF64, {2, 1}, {1, 3})});
  EXPECT_EQ(Doubles(eliminated), (std::vector<double>{1 - 2 / (2 * 0x1p-52), 1 / (2 * 0x1p-52)}));
}

TEST(LibraryCallTest, WhatIsNotFiniteSpreads) {
  const auto eigen = Results(LapackProgram("syevd", {{kF32, {2, 2}}}, {{kF32, {2, 2}}, {kF32, {2}}, {kS32, {}}},
                                           "mode = 86 : ui8, uplo = 76 : ui8"),
                             {Array(kF32, {2, 2}, {1, 0, kNan, 1})});
  for (const double x : Doubles(eigen[0])) EXPECT_TRUE(std::isnan(x));
  for (const double x : Doubles(eigen[1])) EXPECT_TRUE(std::isnan(x));
}

TEST(LibraryCallTest, XlasOwnNames) {
  const Literal a = Array(kF64, {3, 2}, {1, 2, 3, 4, 5, 7});
  const auto lu = Results(
      "ENTRY e { a = f64[3,2] parameter(0)\n ROOT r = (f64[3,2], s32[2], s32[3]) custom-call(a), "
      "custom_call_target=\"LuDecomposition\" }",
      {a});
  EXPECT_EQ(Integers(lu[1]), (Sizes{2, 2}));
  EXPECT_EQ(Integers(lu[2]), (Sizes{2, 0, 1}));
  const auto top = Results(
      "ENTRY e { a = f64[3,2] parameter(0)\n ROOT r = (f64[3,1], s32[3,1]) custom-call(a), "
      "custom_call_target=\"TopK\" }",
      {a});
  EXPECT_EQ(Doubles(top[0]), (std::vector<double>{2, 4, 7}));
  const auto approximate = Results(
      "less { a = f64[] parameter(0)\n b = f64[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
      " ROOT c = pred[] compare(a, b), direction=LT }\n"
      "ENTRY e { a = f64[3,2] parameter(0)\n i = s32[3,2] iota(), iota_dimension=0\n z = f64[] constant(inf)\n"
      " m = s32[] constant(-1)\n ROOT r = (f64[2,2], s32[2,2]) custom-call(a, i, z, m), "
      "custom_call_target=\"ApproxTopK\", called_computations={less}, "
      "backend_config={\"reduction_dim\": 0, \"top_k\": 2} }",
      {a});
  EXPECT_EQ(Doubles(approximate[0]), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(Integers(approximate[1]), (Sizes{0, 0, 1, 1}));
  EXPECT_EQ(RunText("ENTRY e { a = f64[3,2] parameter(0)\n ROOT r = f64[3,2] custom-call(a), "
                    "custom_call_target=\"Sharding\" }",
                    {a}),
            a);
}

// A scale for each block of the last dimension (XLA's block_scaling_rewriter.h).
TEST(LibraryCallTest, BlocksWithScales) {
  const ElementType kNarrow = ElementType::kF8E4M3FN;
  const Literal a = Array(kNarrow, {2, 4}, {1, 2, 3, 4, -1, 0.5, 2, 8}), b = Array(kNarrow, {1, 4}, {1, 1, 2, 2});
  const Literal of_a = Array(kF32, {2, 2}, {1, 10, 2, 0.5}), of_b = Array(kF32, {1, 2}, {1, 4});
  const auto wide = RunText(
      "ENTRY e { a = f8e4m3fn[2,4] parameter(0)\n s = f32[2,2] parameter(1)\n ROOT r = f32[2,4] custom-call(a, s), "
      "custom_call_target=\"__op$dequantize\" }",
      {a, of_a});
  EXPECT_EQ(Doubles(wide), (std::vector<double>{1, 2, 30, 40, -2, 1, 1, 4}));
  const std::string dot =
      "ENTRY e { a = f8e4m3fn[2,4] parameter(0)\n b = f8e4m3fn[1,4] parameter(1)\n s = f32[2,2] parameter(2)\n"
      " t = f32[1,2] parameter(3)\n g = f32[] constant(0.5)\n ROOT r = f32[2,1] custom-call(a, b, s";
  EXPECT_EQ(Doubles(RunText(dot + "), custom_call_target=\"__op$block_scaled_dot\" }", {a, b, of_a, of_b})),
            (std::vector<double>{143, 9}));
  EXPECT_EQ(Doubles(RunText(dot + ", t, g), custom_call_target=\"__op$block_scaled_dot\" }", {a, b, of_a, of_b})),
            (std::vector<double>{281.5, 19.5}));
  // A stated block size leaves scales over; batches stand before.
  EXPECT_EQ(Doubles(RunText("ENTRY e { a = bf16[2,1,2] parameter(0)\n s = bf16[2,1,3] parameter(1)\n"
                            " ROOT r = f32[2,1,1] custom-call(a, a, s), custom_call_target=\"__op$block_scaled_dot\", "
                            "backend_config={\"block_scaled_dot_backend_config\":{block_size:2}} }",
                            {Array(ElementType::kBF16, {2, 1, 2}, {1, 2, 3, 4}),
                             Array(ElementType::kBF16, {2, 1, 3}, {2, 7, 7, 3, 7, 7})})),
            (std::vector<double>{10, 75}));
  const auto narrow = Results(
      "ENTRY e { x = f32[1,4] parameter(0)\n ROOT r = (f8e4m3fn[1,4], f32[1,2]) custom-call(x), "
      "custom_call_target=\"__op$quantize\" }",
      {Array(kF32, {1, 4}, {-512, 256, 1, 0.5})});
  EXPECT_EQ(Doubles(narrow[1]), (std::vector<double>{2, 1.0 / 256}));
  EXPECT_EQ(Doubles(narrow[0]), (std::vector<double>{-256, 128, 256, 128}));
}

Literal NumbersOf(ElementType type, const Sizes& sizes, const std::vector<double>& values) {
  Literal array{Shape(type, {sizes.begin(), sizes.end()})};
  for (size_t k = 0; k < values.size(); ++k) {
    const auto i = static_cast<int64_t>(k);
    if (IsComplex(type))
      array.SetComplex(i, values[k]);
    else if (IsInteger(type))
      array.SetInt(i, static_cast<int64_t>(values[k]));
    else
      array.SetDouble(i, values[k]);
  }
  return array;
}

// [[0,1,0,2],[0,0,0,0],[3,0,4,0]], whose fifth value is of no row, as BCSR matrices with room to spare have it.
TEST(LibraryCallTest, SparseProducts) {
  for (const ElementType type : {kF32, kF64, kC64, kC128, kS32, kS64}) {
    for (const ElementType index : {kS32, kS64}) {
      const std::string name(ElementTypeName(type)), of_index(ElementTypeName(index));
      const Literal a = NumbersOf(type, {5}, {1, 2, 3, 4, 9}), starts = NumbersOf(index, {4}, {0, 2, 2, 4});
      const Literal columns = NumbersOf(index, {5}, {1, 3, 0, 2, 4});
      EXPECT_EQ(RunText(SparseProductText(name, of_index, 5, "[4]", 3, "[3]"),
                        {a, starts, columns, NumbersOf(type, {4}, {1, 2, 3, 4})}),
                NumbersOf(type, {3}, {10, 0, 15}));
      EXPECT_EQ(RunText(SparseProductText(name, of_index, 5, "[4,2]", 3, "[3,2]"),
                        {a, starts, columns, NumbersOf(type, {4, 2}, {1, -1, 2, -2, 3, -3, 4, 5})}),
                NumbersOf(type, {3, 2}, {10, 8, 0, 0, 15, -15}));
    }
  }
  const Literal none = NumbersOf(kS32, {4}, {0, 0, 0, 0});
  EXPECT_EQ(RunText(SparseProductText("f32", "s32", 0, "[4]", 3, "[3]"),
                    {Literal(Shape(kF32, {0})), none, Literal(Shape(kS32, {0})), Array(kF32, {4}, {1, 2, 3, 4})}),
            Array(kF32, {3}, {0, 0, 0}));
}

// A caller's function of the same name is called instead.
TEST(LibraryCallTest, RegisteredFunctionsComeFirst) {
  CustomCallRegistry registry;
  registry.Register("Sharding", [](void* out, const void**) { *static_cast<float*>(out) = 7; });
  EvaluateOptions options;
  options.custom_calls = &registry;
  const Literal x =
      RunText("ENTRY e { a = f32[] parameter(0)\n ROOT r = f32[] custom-call(a), custom_call_target=\"Sharding\" }",
              {Array(kF32, {}, {1})}, options);
  EXPECT_EQ(Doubles(x), std::vector<double>{7});
}

void ExpectRefused(const std::string& text, const std::string& message,
                   StatusCode code = StatusCode::kInvalidArgument) {
  const auto parsed = ParseHlo(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Status status = CheckCustomCalls(**parsed, nullptr);
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.message(), message);
}

TEST(LibraryCallTest, RejectsPerturbedSystemsThatDoNotFit) {
  ExpectRefused(
      "ENTRY e { l = f32[3] parameter(0)\n d = f32[4] parameter(1)\n b = f32[4,2] parameter(2)\n ROOT r = f32[4,2] "
      "custom-call(l, d, d, b), custom_call_target=\"tridiagonal_solve_perturbed_ffi\" }",
      "custom-call r: tridiagonal_solve_perturbed_ffi: operand 0 is f32[3], f32[4] expected for f32[4,2]");
  ExpectRefused(
      "ENTRY e { d = f32[4] parameter(0)\n b = f32[4,2] parameter(1)\n ROOT r = f32[4] "
      "custom-call(d, d, d, b), custom_call_target=\"tridiagonal_solve_perturbed_ffi\" }",
      "custom-call r: tridiagonal_solve_perturbed_ffi: the result is f32[4], f32[4,2] expected for f32[4,2]");
  std::string text = PerturbedSolveText(kF32, {4}, 2);
  text.replace(text.rfind("f32[4,2]{0,1}"), 13, "f32[4,2]{1,0}");
  ExpectRefused(
      text,
      "custom-call r: tridiagonal_solve_perturbed_ffi: operand 3 is f32[4,2]{1,0}; JAX has matrices column by "
      "column (minor to major 0,1)",
      StatusCode::kUnsupported);
}

TEST(LibraryCallTest, RejectsSparseProductsThatDoNotFit) {
  const std::string head = "custom-call r: cpu_csr_sparse_dense_ffi: ";
  ExpectRefused(SparseProductText("f32", "s32", 5, "[4,2]", 3, "[4,2]"),
                head + "the result is f32[4,2], f32[3,2] expected for f32[5]");
  ExpectRefused(SparseProductText("f32", "u32", 5, "[4]", 3, "[3]"),
                head + "operand 1 is u32[4], where rows begin and the last one ends, s32 or s64, expected");
  ExpectRefused(SparseProductText("f32", "s32", 5, "[4,2,1]", 3, "[3,2,1]"),
                head + "operand 3 is f32[4,2,1], a vector or a matrix of static sizes expected");
  ExpectRefused(SparseProductText("pred", "s32", 5, "[4]", 3, "[3]"), head + "operand 0 is pred[5], numbers expected");
}

TEST(LibraryCallTest, RejectsScalesThatDoNotFit) {
  const auto call = [](std::string_view target, std::string_view result, std::string_view b, std::string_view scales) {
    return fmt::format(
        "ENTRY e {{ a = bf16[4,6] parameter(0)\n b = {} parameter(1)\n s = {} parameter(2)\n ROOT r = {} "
        "custom-call({}), custom_call_target=\"{}\" }}",
        b, scales, result, target == "__op$quantize" ? "a" : "a, b, s", target);
  };
  ExpectRefused(call("__op$block_scaled_dot", "f32[4,5]", "bf16[5,6]", "bf16[4,4]"),
                "custom-call r: __op$block_scaled_dot: bf16[4,4] are no scales of equal blocks of bf16[4,6]");
  ExpectRefused(call("__op$block_scaled_dot", "f32[4,5]", "bf16[5,7]", "bf16[4,2]"),
                "custom-call r: __op$block_scaled_dot: operands 0 and 1 are bf16[4,6] and bf16[5,7], [batch,] rows and "
                "equal columns expected");
  ExpectRefused(call("__op$block_scaled_dot", "f32[5,4]", "bf16[5,6]", "bf16[4,2]"),
                "custom-call r: __op$block_scaled_dot: the result is f32[5,4], f32[4,5] expected for bf16[4,6]");
  ExpectRefused(call("__op$dequantize", "f32[4,6]", "bf16[5,6]", "bf16[4,2]"),
                "custom-call r: __op$dequantize: 3 operands, 2 expected");
  ExpectRefused(call("__op$quantize", "f8e5m2[4,6]", "bf16[5,6]", "bf16[4,2]"),
                "custom-call r: __op$quantize: the result is f8e5m2[4,6], values and scales expected");
}

TEST(LibraryCallTest, RejectsFormsThatDoNotFit) {
  ExpectRefused(LapackProgram("getrf", {{kF32, {4, 3}}}, {{kF32, {4, 3}}, {kS32, {4}}, {kS32, {}}}),
                "custom-call r: lapack_sgetrf_ffi: result 1 is s32[4], s32[3] expected for f32[4,3]");
  ExpectRefused(LapackProgram("potrf", {{kF32, {4, 3}}}, {{kF32, {4, 3}}, {kS32, {}}}, "uplo = 76 : ui8"),
                "custom-call r: lapack_spotrf_ffi: operand 0 is f32[4,3], square matrices expected");
  ExpectRefused(LapackProgram("potrf", {{kF32, {3, 3}}}, {{kF32, {3, 3}}, {kS32, {}}}, "uplo = 77 : ui8"),
                "custom-call r: lapack_spotrf_ffi: uplo is 77, one of \"LU\" expected");
  ExpectRefused(LapackProgram("syevd", {{kF32, {3, 3}}}, {{kF32, {3, 3}}, {kF32, {3}}, {kS32, {}}}),
                "custom-call r: lapack_ssyevd_ffi: backend_config {} states no mode");
  ExpectRefused(LapackProgram("getrf", {{kF32, {4}}}, {{kF32, {4}}}),
                "custom-call r: lapack_sgetrf_ffi: operand 0 is f32[4], matrices of static sizes expected");
  ExpectRefused(LapackProgram("orgqr", {{kF32, {3, 4}}, {kF32, {3}}}, {{kF32, {3, 4}}}),
                "custom-call r: lapack_sorgqr_ffi: 3 taus of f32[3,4]: no more than columns, and no more columns than "
                "rows expected");
  const auto reflected = [](const Sizes& c, const std::string& config) {
    return LapackProgram("ormqr", {{kF32, {3, 4}}, {kF32, {2}}, {kF32, c}}, {{kF32, c}}, config);
  };
  ExpectRefused(reflected({3, 2}, "left = true"),
                "custom-call r: lapack_sormqr_ffi: backend_config {left = true} states no transpose (true or false)");
  ExpectRefused(reflected({3, 2}, "left = false, transpose = true"),
                "custom-call r: lapack_sormqr_ffi: operand 2 is f32[3,2], f32[3,3] expected for f32[3,4]");
  ExpectRefused(LapackProgram("ormqr", {{kF32, {3, 4}}, {kF32, {4}}, {kF32, {3, 2}}}, {{kF32, {3, 2}}},
                              "left = true, transpose = true"),
                "custom-call r: lapack_sormqr_ffi: 4 taus of f32[3,4]: no more than rows and columns expected");
  ExpectRefused(
      "ENTRY e { a = f64[3,3] parameter(0)\n ROOT r = (f64[3,3], s32[3], s32[]) custom-call(a), "
      "custom_call_target=\"lapack_sgetrf_ffi\" }",
      "custom-call r: lapack_sgetrf_ffi: operand 0 is f64[3,3], elements of f32 expected");
  ExpectRefused(
      "ENTRY e { a = f32[3,3] parameter(0)\n ROOT r = (f32[3,3], s32[3], s32[]) custom-call(a), "
      "custom_call_target=\"lapack_sgetrf_ffi\", operand_layout_constraints={f32[3,3]{1,0}} }",
      "custom-call r: lapack_sgetrf_ffi: operand 0 is f32[3,3]{1,0}; JAX has matrices column by column (minor "
      "to major 0,1)",
      StatusCode::kUnsupported);
  ExpectRefused(
      "ENTRY e { a = f32[3,3] parameter(0)\n ROOT r = f32[3] custom-call(a), custom_call_target=\"Sharding\" }",
      "custom-call r: Sharding: the result is f32[3], f32[3,3] expected");
}

}  // namespace library_calls_test
}  // namespace VXLA_NAMESPACE::testing
