// Stacks of matrices of which some are not finite, vanish, are defective or badly scaled, and each call of linear
// algebra that takes one.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "core/data/literal.h"
#include "tests/support/library_call_text.h"

namespace VXLA_NAMESPACE::testing {

enum class MatrixKind {
  kPlain,  // first and last: what stands beside the others keeps its results
  kNan,
  kInfinite,
  kZero,
  kDefective,
  kHuge,  // 1e30 in single, 1e300 in double precision
  kTiny,
  kMixed,  // both in one
  kPlainToo,
};
inline constexpr int64_t kMatrixKinds = 9;

inline double Unscaled(int64_t b, int64_t i, int64_t j) {
  // Well spread, and with a large diagonal: of distinct eigenvalues and positive definite by either triangle.
  const auto number = static_cast<double>((b * 31 + i * 7 + j * 13 + i * j * 5) % 23) / 23 - 0.5;
  return i == j ? 4 + 1.5 * static_cast<double>(i) + number : number;
}

// Matrix b is of kind b, or, for comparison, all are plain.
inline Literal SpecialMatrices(ElementType type, int64_t n, bool plain = false) {
  const bool single = type == ElementType::kF32 || type == ElementType::kC64;
  const int power = single ? 99 : 996;
  Literal a(Shape(type, {kMatrixKinds, n, n}));
  for (int64_t b = 0; b < kMatrixKinds; ++b) {
    const auto kind = plain ? MatrixKind::kPlain : static_cast<MatrixKind>(b);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        std::complex<double> x = {Unscaled(b, i, j), IsComplex(type) && i != j ? Unscaled(b, j + 1, i + 3) / 8 : 0};
        if (kind == MatrixKind::kZero) x = 0;
        if (kind == MatrixKind::kDefective) x = i == j || i + 1 == j ? 1 : 0;
        if (kind == MatrixKind::kHuge) x = {std::ldexp(x.real(), power), std::ldexp(x.imag(), power)};
        if (kind == MatrixKind::kTiny) x = {std::ldexp(x.real(), -power), std::ldexp(x.imag(), -power)};
        if (kind == MatrixKind::kMixed) x = std::ldexp(1, (i + j) % 3 == 0 ? power : (i + j) % 3 == 1 ? 0 : -power);
        // In the triangle below, on the diagonal of a single element.
        if (kind == MatrixKind::kNan && i == n - 1 && j == 0) x = std::numeric_limits<double>::quiet_NaN();
        if (kind == MatrixKind::kInfinite && i == n - 1 && j == 0) x = -std::numeric_limits<double>::infinity();
        a.SetComplex(b * n * n + i * n + j, x);
      }
    }
  }
  return a;
}

struct SpecialCall {
  std::string name, text;
  std::vector<Literal> arguments;
  // What is not finite gives NaN everywhere and kNotFiniteInfo.
  bool all_nan = false;
  // Its numbers go up and down with the matrix's, without overflow or loss.
  bool any_scale = true;
};

// `host`: those that devices leave to it.
inline std::vector<SpecialCall> SpecialCalls(const Literal& matrices, bool host) {
  const ElementType type = matrices.shape().element_type();
  const int64_t n = matrices.shape().dimension(1);
  const bool complex = IsComplex(type);
  const ElementType real = complex ? RealPart(type) : type, s32 = ElementType::kS32;
  const ElementType wide = real == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128;
  const int64_t k = kMatrixKinds;
  const TypedArray a{type, {k, n, n}}, vector{type, {k, n}}, values{real, {k, n}}, beside{real, {k, n - 1}};
  const TypedArray taus{type, {k, n - 1}}, info{s32, {k}}, columns{s32, {k, n}}, wide_square{wide, {k, n, n}};
  Literal ones(Shape(type, {k, n, n})), halves(Shape(type, {k, n})), zeros(Shape(s32, {k, n}));
  for (int64_t i = 0; i < ones.element_count(); ++i) ones.SetComplex(i, 1);
  for (int64_t i = 0; i < halves.element_count(); ++i) halves.SetComplex(i, 0.5);
  std::array<Literal, 3> diagonals = {halves, halves, halves};  // below, on and above
  for (int64_t b = 0; b < k; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t d = -1; d <= 1; ++d) {
        const int64_t j = i + d;
        const std::complex<double> x = j < 0 || j >= n ? 0 : matrices.GetComplex(b * n * n + i * n + j);
        diagonals[static_cast<size_t>(d + 1)].SetComplex(b * n + i, x);
      }
    }
  }
  const std::vector<Literal> alone = {matrices};
  const std::vector<Literal> bands = {diagonals[0], diagonals[1], diagonals[2], ones};
  const std::string lower = "uplo = 76 : ui8";
  if (host) {
    std::vector<TypedArray> of_values(complex ? 1 : 2, vector), eig = of_values, schur = {a, a};
    eig.insert(eig.end(), {wide_square, wide_square, info});
    schur.insert(schur.end(), of_values.begin(), of_values.end());
    schur.insert(schur.end(), {info, info});
    const std::string low_high = fmt::format("high = {} : i32, low = 1 : i32", n);
    return {
        {"geev", LapackProgram("geev", {a}, eig, "compute_left = 86 : ui8, compute_right = 86 : ui8"), alone, true},
        {"gees", LapackProgram("gees", {a}, schur, "mode = 86 : ui8, sort = 78 : ui8"), alone, true},
        {"geqp3", LapackProgram("geqp3", {a, columns}, {a, columns, vector}), {matrices, zeros}},
        {"gehrd", LapackProgram("gehrd", {a}, {a, taus, info}, low_high), alone},
        {"sytrd", LapackProgram(complex ? "hetrd" : "sytrd", {a}, {a, values, beside, taus, info}, lower), alone},
    };
  }
  return {
      {"potrf", LapackProgram("potrf", {a}, {a, info}, lower), alone},
      {"trsm",
       LapackProgram("trsm", {a, a}, {a}, "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, " + lower),
       {matrices, ones}},
      {"getrf", LapackProgram("getrf", {a}, {a, columns, info}), alone},
      {"geqrf", LapackProgram("geqrf", {a}, {a, vector}), alone},
      {"orgqr", LapackProgram(complex ? "ungqr" : "orgqr", {a, vector}, {a}), {matrices, halves}, false, false},
      {"ormqr",
       LapackProgram(complex ? "unmqr" : "ormqr", {a, vector, a}, {a}, "left = true, transpose = false"),
       {matrices, halves, ones},
       false,
       false},
      {"syevd", LapackProgram(complex ? "heevd" : "syevd", {a}, {a, values, info}, "mode = 86 : ui8, " + lower), alone,
       true},
      {"gesdd", LapackProgram("gesdd", {a}, {a, values, a, a, info}, "mode = 65 : ui8"), alone, true},
      {"gtsv", LapackProgram("gtsv", {vector, vector, vector, a}, {vector, vector, vector, a, info}), bands},
      {"tridiagonal_solve_perturbed", PerturbedSolveText(type, {k, n}, n), bands},
  };
}

// The numbers that a result has for matrix b.
inline std::vector<std::complex<double>> NumbersOf(const Literal& result, int64_t b) {
  const int64_t count = result.element_count() / kMatrixKinds;
  std::vector<std::complex<double>> numbers;
  for (int64_t i = b * count; i < (b + 1) * count; ++i) {
    const bool integer = IsInteger(result.shape().element_type());
    numbers.push_back(integer ? static_cast<double>(result.GetInt(i)) : result.GetComplex(i));
  }
  return numbers;
}
inline std::vector<Literal> LeavesOf(const Literal& result) {
  return result.shape().IsTuple() ? result.tuple_elements() : std::vector<Literal>{result};
}
inline bool IsNan(std::complex<double> x) { return std::isnan(x.real()) || std::isnan(x.imag()); }

}  // namespace VXLA_NAMESPACE::testing
