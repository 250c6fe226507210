// Linear algebra of matrices that are not finite, vanish, are defective or badly scaled, on the reference.
#include "tests/support/special_matrices.h"

#ifdef __ELF__
#include <unistd.h>
#endif

#include "backend/cpu/reference/library/lapack_errors.h"
#include "backend/cpu/reference/library/lapack_library.h"
#include "backend/cpu/reference/library/library_calls.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace special_matrices_test {

using enum ElementType;

constexpr ElementType kTypes[] = {kF32, kF64, kC64, kC128};

std::vector<SpecialCall> CallsOf(const Literal& matrices) {
  std::vector<SpecialCall> calls = SpecialCalls(matrices, /*host=*/false);
  for (SpecialCall& call : SpecialCalls(matrices, /*host=*/true)) {
    if (HasLapack() || (call.name != "geev" && call.name != "gees")) calls.push_back(std::move(call));
  }
  return calls;
}

bool Same(const std::vector<std::complex<double>>& x, const std::vector<std::complex<double>>& y) {
  return std::ranges::equal(x, y, [](auto a, auto b) { return a == b || (IsNan(a) && IsNan(b)); });
}

// Nothing ends the process or runs on, and the matrices beside them keep their results.
TEST(SpecialMatricesTest, NeighboursKeepTheirResults) {
  for (const ElementType type : kTypes) {
    for (const int64_t n : {1, 3, 6}) {
      const auto calls = CallsOf(SpecialMatrices(type, n)), plain = CallsOf(SpecialMatrices(type, n, true));
      for (size_t c = 0; c < calls.size(); ++c) {
        SCOPED_TRACE(fmt::format("{} {} {}", calls[c].name, ElementTypeName(type), n));
        const auto results = LeavesOf(RunText(calls[c].text, calls[c].arguments));
        const auto wanted = LeavesOf(RunText(plain[c].text, plain[c].arguments));
        ASSERT_EQ(results.size(), wanted.size());
        for (size_t r = 0; r < results.size(); ++r) {
          for (const auto b : {MatrixKind::kPlain, MatrixKind::kPlainToo}) {
            const auto k = static_cast<int64_t>(b);
            EXPECT_TRUE(Same(NumbersOf(results[r], k), NumbersOf(wanted[r], k))) << "result " << r;
          }
        }
      }
    }
  }
}

// As JAX's programs expect, which put NaN in the place of all results where info is not 0.
TEST(SpecialMatricesTest, WhatIsNotFiniteHasNanForValuesAndTellsInInfo) {
  for (const ElementType type : kTypes) {
    for (const int64_t n : {1, 4}) {
      for (const SpecialCall& call : CallsOf(SpecialMatrices(type, n))) {
        if (!call.all_nan) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", call.name, ElementTypeName(type), n));
        const auto results = LeavesOf(RunText(call.text, call.arguments));
        for (const auto kind : {MatrixKind::kNan, MatrixKind::kInfinite}) {
          const auto b = static_cast<int64_t>(kind);
          for (size_t r = 0; r + 1 < results.size(); ++r) {
            if (results[r].shape().element_type() == kS32) continue;  // gees selects none
            const bool matrix_itself = call.name == "gesdd" && r == 0;
            for (const auto& x : NumbersOf(results[r], b)) EXPECT_TRUE(IsNan(x) || matrix_itself) << "result " << r;
          }
          EXPECT_EQ(results.back().GetInt(b), -4);
        }
        EXPECT_EQ(results.back().GetInt(static_cast<int64_t>(MatrixKind::kPlain)), 0);
        EXPECT_EQ(results.back().GetInt(static_cast<int64_t>(MatrixKind::kZero)), 0);
        EXPECT_EQ(results.back().GetInt(static_cast<int64_t>(MatrixKind::kDefective)), 0);
      }
    }
  }
}

// Eigenvalues and singular values of 2^k A are 2^k times A's.
TEST(SpecialMatricesTest, ValuesGoUpAndDownWithTheMatrix) {
  for (const ElementType type : kTypes) {
    const bool single = type == kF32 || type == kC64;
    const int power = single ? 99 : 996;
    const auto calls = CallsOf(SpecialMatrices(type, 4)), plain = CallsOf(SpecialMatrices(type, 4, true));
    for (size_t c = 0; c < calls.size(); ++c) {
      if (!calls[c].all_nan) continue;
      SCOPED_TRACE(fmt::format("{} {}", calls[c].name, ElementTypeName(type)));
      const size_t where = calls[c].name == "geev" ? 0 : calls[c].name == "gees" ? 2 : 1;
      const auto values = LeavesOf(RunText(calls[c].text, calls[c].arguments))[where];
      const auto unscaled = LeavesOf(RunText(plain[c].text, plain[c].arguments))[where];
      const auto sorted = [](std::vector<std::complex<double>> x, int exponent) {
        for (auto& v : x) v = {std::ldexp(v.real(), exponent), std::ldexp(v.imag(), exponent)};
        std::ranges::sort(x, {}, [](const auto& v) { return std::pair(v.real(), v.imag()); });
        return x;
      };
      for (const auto& [kind, exponent] : {std::pair(MatrixKind::kHuge, -power), std::pair(MatrixKind::kTiny, power)}) {
        const auto b = static_cast<int64_t>(kind);
        const auto got = sorted(NumbersOf(values, b), exponent), wanted = sorted(NumbersOf(unscaled, b), 0);
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_LE(std::abs(got[i] - wanted[i]), (single ? 0x1p-18 : 0x1p-46) * std::abs(wanted[i])) << i;
      }
    }
  }
}

// The largest numbers that there are, whose magnitude as complex ones overflows.
TEST(SpecialMatricesTest, EigenvaluesOfTheLargestNumbers) {
  ASSERT_TRUE(HasLapack());  // tools/install_deps.sh
  const auto largest = static_cast<double>(std::numeric_limits<float>::max());
  Literal a(Shape(kC64, {2, 2}));
  a.SetComplex(0, {largest / 2, largest / 2}), a.SetComplex(3, {largest, largest});
  const auto results = LeavesOf(
      RunText(LapackProgram("geev", {{kC64, {2, 2}}}, {{kC64, {2}}, {kC64, {2, 2}}, {kC64, {2, 2}}, {kS32, {}}},
                            "compute_left = 78 : ui8, compute_right = 78 : ui8"),
              {a}));
  EXPECT_LE(std::abs(results[0].GetComplex(0) - a.GetComplex(0)), 0x1p-20 * largest);
  EXPECT_LE(std::abs(results[0].GetComplex(1) - a.GetComplex(3)), 0x1p-20 * largest);
  EXPECT_EQ(results[3].GetInt(0), 0);
}

TEST(SpecialMatricesTest, NoMatricesAndEmptyOnes) {
  for (const ElementType type : kTypes) {
    const bool complex = IsComplex(type);
    const ElementType wide = type == kF32 || type == kC64 ? kC64 : kC128;
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{0, 3, 3}, {2, 0, 0}, {0, 0}}) {
      const std::vector<int64_t> batch(sizes.begin(), sizes.end() - 2), vector(sizes.begin(), sizes.end() - 1);
      std::vector<TypedArray> results(complex ? 1 : 2, TypedArray{type, vector});
      results.insert(results.end(), {{wide, sizes}, {wide, sizes}, {kS32, batch}});
      const auto status =
          TryRun(LapackProgram("geev", {{type, sizes}}, results, "compute_left = 86 : ui8, compute_right = 78 : ui8"),
                 {Literal(Shape(type, sizes))})
              .status();
      EXPECT_TRUE(status.ok() || !HasLapack()) << status.message();
    }
  }
}

#ifdef __ELF__
// A call of LAPACK's that refuses its first argument.
int BadCall() {
  void* const symbol = LapackRoutine("dgeev_");
  using Geev = void (*)(const char*, const char*, const int*, double*, const int*, double*, double*, double*,
                        const int*, double*, const int*, double*, const int*, int*);
  const int n = 1, length = 8;
  double a = 1, values[2], vectors[2], work[8];
  int info = 0;
  reinterpret_cast<Geev>(symbol)("X", "N", &n, &a, &n, &values[0], &values[1], &vectors[0], &n, &vectors[1], &n, work,
                                 &length, &info);
  return info;
}

TEST(LapackErrorsTest, ARefusedArgumentOfOursIsNoted) {
  ASSERT_NE(LapackRoutine("dgeev_"), nullptr);  // tools/install_deps.sh
  const LapackErrors outer;
  {
    const LapackErrors errors;
    EXPECT_EQ(BadCall(), -1);
    EXPECT_EQ(errors.argument(), 1);
  }
  EXPECT_EQ(outer.argument(), 0);
}

// Other users of LAPACK in the process have the XERBLA that they would have without vxla: it prints, on standard
// output.
TEST(LapackErrorsTest, CallsOfOthersReachTheirOwnXerbla) {
  ASSERT_NE(LapackRoutine("dgeev_"), nullptr);  // tools/install_deps.sh
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        BadCall();
        std::_Exit(0);  // OpenBLAS's comes back
      },
      ::testing::ExitedWithCode(0), "DGEEV");
}
#endif

}  // namespace special_matrices_test
}  // namespace VXLA_NAMESPACE::testing
