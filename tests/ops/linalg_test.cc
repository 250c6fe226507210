// cholesky and triangular-solve on the device against the CPU reference.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tests/support/gpu_client.h"

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

TEST(CholeskyTest, KnownFactor) {
  Literal a(Shape(ElementType::kF64, {3, 3}));
  const double values[] = {4, 12, -16, 12, 37, -43, -16, -43, 98}, factor[] = {2, 0, 0, 6, 1, 0, -8, 5, 3};
  for (int64_t i = 0; i < 9; ++i) a.SetDouble(i, values[i]);
  const auto module = ParseModule("ENTRY e { a = f64[3,3] parameter(0)  ROOT l = f64[3,3] cholesky(a), lower=true }");
  for (const BindingMode mode : ModesToRun()) {
    const auto l = RunOnDevice(mode, *module, {a});
    ASSERT_TRUE(l.has_value());
    for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(l->GetDouble(i), factor[i]) << i;
  }
}

TEST(CholeskyTest, SmallAndEmptyMatrices) {
  for (const std::string shape : {"f32[0,0]", "f32[1,1]", "f32[3,0,0]", "f32[0,5,5]", "f32[7,7]", "f32[2,3,2,2]"})
    CheckCholesky(shape, true);
  CheckCholesky("f32[1,1]", false);
  CheckCholesky("f32[37,5,5]", true);
}

TEST(CholeskyTest, Blocks) { CheckCholesky("f32[2,101,101]", false); }

TEST(CholeskyTest, EveryType) {
  for (const std::string type : {"f64", "c64", "c128", "f16", "bf16", "f8e5m2"}) CheckCholesky(type + "[9,9]", true);
  CheckCholesky("c64[41,41]", false);
}

// A pivot that is not positive makes NaN of what depends on it, and of nothing else; so does an infinity beside it.
TEST(CholeskyTest, WhatIsNotPositiveSpreads) {
  Literal a = Matrices(Shape(ElementType::kF32, {72, 72}), Kind::kPositive, true, false, 3);
  const std::string text = "ENTRY e { a = f32[72,72] parameter(0)  ROOT l = f32[72,72] cholesky(a), lower=true }";
  a.SetDouble(70 * 72 + 40, std::numeric_limits<double>::infinity());
  RunBoth(text, {a});
  a.SetDouble(35 * 72 + 35, -1);
  const auto l = RunBoth(text, {a});
  ASSERT_TRUE(l.has_value());
  EXPECT_TRUE(std::isfinite(l->GetDouble(71 * 72 + 34)));
  EXPECT_TRUE(std::isnan(l->GetDouble(71 * 72 + 35)));
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
  CheckSolve("f32[136,136]", "f32[136,40]", {true, true, false, "NO_TRANSPOSE"});
  CheckSolve("f32[2,131,131]", "f32[2,3,131]", {false, true, true, "TRANSPOSE"});
}

TEST(TriangularSolveTest, ManySidesOneSideAndNone) {
  const SolveCase plain{true, true, false, "NO_TRANSPOSE"};
  for (const std::string b : {"f32[13,1]", "f32[13,0]", "f32[13,1021]"}) CheckSolve("f32[13,13]", b, plain);
  CheckSolve("f32[1,1]", "f32[1,1]", plain);
  CheckSolve("f32[0,0]", "f32[0,3]", plain);
  CheckSolve("f32[200,200]", "f32[200,1]", plain);
  CheckSolve("f32[2,2,3,3]", "f32[2,2,3,4]", plain);
}

TEST(TriangularSolveTest, DividesByZeroAsNumbersDo) {
  Literal a = Matrices(Shape(ElementType::kF32, {5, 5}), Kind::kTriangular, true, false, 4);
  a.SetDouble(2 * 5 + 2, 0);
  RunBoth(
      "ENTRY e { a = f32[5,5] parameter(0)\n b = f32[5,2] parameter(1)\n ROOT x = f32[5,2] triangular-solve(a, b), "
      "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE }",
      {a, RandomLiteral(Shape(ElementType::kF32, {5, 2}), 5)});
}

TEST(TriangularSolveTest, EveryType) {
  for (const std::string type : {"f64", "f16", "bf16", "f8e4m3fn"})
    CheckSolve(type + "[6,6]", type + "[6,5]", {true, false, false, "NO_TRANSPOSE"});
  // Its division, which takes seconds to compile where f64 is emulated, is the elementwise operation's.
  CheckSolve("c128[6,6]", "c128[6,5]", {true, false, true, "NO_TRANSPOSE"});
}

// GPUs hold a corner's rows and a block's right-hand sides in shared memory: other kernels, of the same order and so
// the same bits as one block of software drivers'.
void ExpectGpusBits(const std::string& text, const std::vector<Literal>& arguments) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  for (const BindingMode mode : ModesToRun()) {
    const auto plain = RunOnDevice(mode, *module, arguments);
    const auto client = GpuClient(mode);
    ASSERT_TRUE(plain.has_value() && client != nullptr);
    ExpectOnGpu(*client, *module, arguments, {}, 1, *expected);
    const auto result = RunOnClient(*client, *module, arguments);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(Compare(*result, *plain, Tolerance{}).differing, 0);
  }
}

TEST(CholeskyTest, CornersOfGpusHaveTheBitsOfSoftwareDrivers) {
  for (const bool lower : {true, false}) {
    for (const std::string shape : {"f32[32,32]", "f32[29,29]", "f32[3,18,18]", "f32[37,5,5]", "f32[1,1]"}) {
      ExpectGpusBits(
          fmt::format("ENTRY e {{ a = {0} parameter(0)\n ROOT l = {0} cholesky(a), lower={1} }}", shape, lower),
          {Matrices(ShapeOf(shape), Kind::kPositive, lower, false, 3)});
    }
  }
}

TEST(TriangularSolveTest, HeldSidesOfGpusHaveTheBitsOfSoftwareDrivers) {
  const auto check = [](const std::string& a, const std::string& b, const SolveCase& c) {
    ExpectGpusBits(
        fmt::format("ENTRY e {{ a = {0} parameter(0)\n b = {1} parameter(1)\n ROOT x = {1} triangular-solve(a, b), "
                    "left_side={2}, lower={3}, unit_diagonal={4}, transpose_a={5} }}",
                    a, b, c.left, c.lower, c.unit, c.transpose),
        {Matrices(ShapeOf(a), Kind::kTriangular, c.lower, c.unit, 4), RandomLiteral(ShapeOf(b), 5)});
  };
  for (const bool left : {true, false}) {
    for (const bool lower : {true, false}) {
      for (const bool unit : {true, false}) {
        for (const char* transpose : {"NO_TRANSPOSE", "TRANSPOSE"})
          check("f32[2,37,37]", left ? "f32[2,37,70]" : "f32[2,70,37]", {left, lower, unit, transpose});
      }
    }
  }
  check("c64[18,18]", "c64[18,70]", {true, false, false, "ADJOINT"});
  check("f64[18,18]", "f64[3,18]", {false, true, false, "NO_TRANSPOSE"});
  check("f32[16,16]", "f32[16,1]", {true, true, false, "NO_TRANSPOSE"});
}

// Several corners and substitutions, the last ones not whole.
TEST(CholeskyTest, BlocksOfGpus) {
  for (const bool lower : {true, false}) {
    for (const std::string shape : {"f32[150,150]", "f64[70,70]", "c64[70,70]"}) {
      const auto module = ParseModule(
          fmt::format("ENTRY e {{ a = {0} parameter(0)\n ROOT l = {0} cholesky(a), lower={1} }}", shape, lower));
      const std::vector<Literal> arguments{Matrices(ShapeOf(shape), Kind::kPositive, lower, false, 3)};
      const auto expected = RunOnCpu(*module, arguments);
      const auto client = GpuClient(ModesToRun().back());
      ASSERT_TRUE(expected.has_value() && client != nullptr);
      ExpectOnGpu(*client, *module, arguments, {}, 7, *expected);
    }
  }
}

}  // namespace linalg_test
}  // namespace VXLA_NAMESPACE::testing
