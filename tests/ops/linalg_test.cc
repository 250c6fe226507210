// cholesky and triangular-solve on the device against the CPU reference.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace linalg_test {

using Complex = std::complex<double>;

// Matrices [..., n, n] without near neighbours among the singular: B B^H / n + 1, or, for a solve, a triangle of random
// numbers with a larger diagonal. The triangle that must not be read holds NaN.
enum class Kind { kPositive, kTriangular };
Literal Matrices(const Shape& shape, Kind kind, bool lower, bool unit, uint64_t seed) {
  const Literal random = RandomLiteral(shape, seed);
  Literal result(shape);
  const int64_t n = shape.dimension(shape.rank() - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t m = 0; n > 0 && m < shape.ElementCount() / (n * n); ++m) {
    auto at = [&](int64_t i, int64_t j) { return random.GetComplex((m * n + i) * n + j); };
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Complex value = at(i, j) / std::sqrt(static_cast<double>(n));
        if (kind == Kind::kPositive) {
          value = i == j ? 1 : 0;
          for (int64_t k = 0; k < n; ++k) value += at(i, k) * std::conj(at(j, k)) / static_cast<double>(n);
        } else if (i == j) {
          value = unit ? nan : value + 2.0;
        }
        if (lower ? j > i : j < i) value = {nan, nan};
        const int64_t index = (m * n + i) * n + j;
        if (IsComplex(shape.element_type())) {
          result.SetComplex(index, value);
        } else {
          result.SetDouble(index, value.real());
        }
      }
    }
  }
  return result;
}

Shape ShapeOf(const std::string& text) {
  return ParseModule(fmt::format("ENTRY e {{ ROOT p = {} parameter(0) }}", text))->entry()->root()->shape();
}

void CheckCholesky(const std::string& shape, bool lower) {
  SCOPED_TRACE(fmt::format("{} lower={}", shape, lower));
  RunBoth(fmt::format("ENTRY e {{ a = {0} parameter(0)\n ROOT l = {0} cholesky(a), lower={1} }}", shape, lower),
          {Matrices(ShapeOf(shape), Kind::kPositive, lower, false, 3)});
}

TEST(CholeskyTest, SmallAndEmptyMatrices) {
  for (const std::string shape : {"f32[0,0]", "f32[1,1]", "f32[3,0,0]", "f32[0,5,5]", "f32[7,7]", "f32[2,3,2,2]"})
    CheckCholesky(shape, true);
  CheckCholesky("f32[1,1]", false);
}

TEST(CholeskyTest, BothTriangles) {
  for (const bool lower : {true, false}) {
    CheckCholesky("f32[37,37]", lower);
    CheckCholesky("f32[5,64,64]", lower);
  }
}

TEST(CholeskyTest, Blocks) {
  CheckCholesky("f32[2,65,65]", true);
  CheckCholesky("f32[131,131]", true);
  CheckCholesky("f32[200,200]", false);
}

TEST(CholeskyTest, EveryType) {
  for (const std::string type : {"f64", "c64", "c128", "f16", "bf16", "f8e5m2"}) {
    for (const bool lower : {true, false}) CheckCholesky(type + "[9,9]", lower);
  }
}

TEST(CholeskyTest, WideTypesInBlocks) {
  CheckCholesky("f64[70,70]", true);
  CheckCholesky("c64[70,70]", false);
}

struct SolveCase {
  bool left, lower, unit;
  std::string transpose;
};

void CheckSolve(const std::string& a, const std::string& b, const SolveCase& c) {
  SCOPED_TRACE(fmt::format("{} {} left={} lower={} unit={} {}", a, b, c.left, c.lower, c.unit, c.transpose));
  RunBoth(fmt::format("ENTRY e {{ a = {0} parameter(0)\n b = {1} parameter(1)\n ROOT x = {1} triangular-solve(a, b), "
                      "left_side={2}, lower={3}, unit_diagonal={4}, transpose_a={5} }}",
                      a, b, c.left, c.lower, c.unit, c.transpose),
          {Matrices(ShapeOf(a), Kind::kTriangular, c.lower, c.unit, 4), RandomLiteral(ShapeOf(b), 5)});
}

TEST(TriangularSolveTest, EveryFlag) {
  for (const bool left : {true, false}) {
    for (const bool lower : {true, false}) {
      for (const bool unit : {true, false}) {
        for (const std::string transpose : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
          CheckSolve("c64[2,5,5]", left ? "c64[2,5,3]" : "c64[2,3,5]", {left, lower, unit, transpose});
        }
      }
    }
  }
}

TEST(TriangularSolveTest, Blocks) {
  for (const bool left : {true, false}) {
    for (const bool lower : {true, false}) {
      for (const std::string transpose : {"NO_TRANSPOSE", "TRANSPOSE"}) {
        CheckSolve("f32[150,150]", left ? "f32[150,40]" : "f32[40,150]", {left, lower, false, transpose});
      }
    }
  }
}

TEST(TriangularSolveTest, ManySidesOneSideAndNone) {
  const SolveCase plain{true, true, false, "NO_TRANSPOSE"};
  for (const std::string b : {"f32[13,1]", "f32[13,0]", "f32[13,1021]"}) CheckSolve("f32[13,13]", b, plain);
  CheckSolve("f32[1,1]", "f32[1,1]", plain);
  CheckSolve("f32[0,0]", "f32[0,3]", plain);
  CheckSolve("f32[200,200]", "f32[200,1]", plain);
  CheckSolve("f32[2,2,3,3]", "f32[2,2,3,4]", plain);
}

TEST(TriangularSolveTest, EveryType) {
  for (const std::string type : {"f64", "c128", "f16", "bf16", "f8e4m3fn"})
    CheckSolve(type + "[6,6]", type + "[6,5]", {true, false, false, "NO_TRANSPOSE"});
}

}  // namespace linalg_test
}  // namespace VXLA_NAMESPACE::testing
