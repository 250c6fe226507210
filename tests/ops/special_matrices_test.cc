// Linear algebra of matrices that are not finite, vanish, are defective or badly scaled, on the device against the
// reference (which tests/cpu/special_matrices_test.cc measures).
#include "tests/support/special_matrices.h"

#include "core/library/library_calls.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace special_matrices_test {

using enum ElementType;

// Beside the largest number that the reference has there, in units of the type.
void ExpectNear(const Literal& actual, const Literal& expected, MatrixKind kind, double units) {
  const auto got = NumbersOf(actual, static_cast<int64_t>(kind)),
             wanted = NumbersOf(expected, static_cast<int64_t>(kind));
  double largest = 0;
  for (const auto& x : wanted) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_LE(std::abs(got[i] - wanted[i]), units * 0x1p-24 * largest)
        << "matrix " << static_cast<int>(kind) << " element " << i;
}

void Check(const SpecialCall& call) {
  const auto module = ParseModule(call.text);
  ASSERT_NE(module, nullptr);
  const auto expected = RunOnCpu(*module, call.arguments);
  const auto actual = RunOnDevice(ModesToRun().back(), *module, call.arguments);
  ASSERT_TRUE(expected && actual);
  const auto wanted = LeavesOf(*expected), got = LeavesOf(*actual);
  for (size_t r = 0; r < wanted.size(); ++r) {
    SCOPED_TRACE(fmt::format("result {}", r));
    for (const auto kind : {MatrixKind::kPlain, MatrixKind::kPlainToo}) ExpectNear(got[r], wanted[r], kind, 400);
    if (call.any_scale) {
      for (const auto kind : {MatrixKind::kHuge, MatrixKind::kTiny}) ExpectNear(got[r], wanted[r], kind, 400);
    }
    if (!call.all_nan) continue;
    for (const auto kind : {MatrixKind::kZero, MatrixKind::kDefective}) ExpectNear(got[r], wanted[r], kind, 400);
    const bool matrix_itself = call.name == "gesdd" && r == 0;
    for (const auto kind : {MatrixKind::kNan, MatrixKind::kInfinite}) {
      for (const auto& x : NumbersOf(got[r], static_cast<int64_t>(kind)))
        EXPECT_TRUE(IsNan(x) || x == static_cast<double>(kNotFiniteInfo) || matrix_itself) << x.real();
    }
  }
}

TEST(SpecialMatricesTest, DevicesAndTheReferenceAgree) {
  for (const auto& [type, n] : {std::pair(kF32, 5), std::pair(kC64, 3), std::pair(kF32, 1)}) {
    for (const SpecialCall& call : SpecialCalls(SpecialMatrices(type, n), /*host=*/false)) {
      SCOPED_TRACE(fmt::format("{} {} {}", call.name, ElementTypeName(type), n));
      Check(call);
    }
  }
}

}  // namespace special_matrices_test
}  // namespace VXLA_NAMESPACE::testing
