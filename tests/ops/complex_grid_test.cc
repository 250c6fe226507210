// Complex functions on a device at every pair of special and ordinary components: the bits of the shader math on the
// CPU, which tests/cpu/complex_grid_test.cc holds against MPFR and Annex G. VXLA_TEST_LONG=1: c128 where a device has
// no f64 too, whose kernels take it seconds each.
#include "tests/support/complex_grid.h"

#include "backend/cpu/reference/evaluator.h"
#include "backend/cpu/twin/shader_evaluator.h"
#include "core/mlir/importer/importer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace complex_grid_test {

using enum ElementType;

// Finite parts other than 0 no smaller than `least` and no larger than `largest`, for devices whose arithmetic flushes
// subnormal numbers: there of two parts further apart than the range of normal numbers the smaller one may count as 0.
Literal Within(const Literal& numbers, double least, double largest) {
  const auto part = [&](double x) {
    return x == 0 || !std::isfinite(x) ? x : std::copysign(std::clamp(std::fabs(x), least, largest), x);
  };
  Literal result = numbers;
  for (int64_t i = 0; i < numbers.element_count(); ++i) {
    const std::complex<double> z = numbers.GetComplex(i);
    result.SetComplex(i, {part(z.real()), part(z.imag())});
  }
  return result;
}

void ExpectBitsOfShaderMath(std::string_view op, ElementType type, std::vector<Literal> arguments) {
  SCOPED_TRACE(fmt::format("{} {}", op, ElementTypeName(type)));
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  auto module =
      mlir::ParseStablehlo(ComplexProgram(op, type, arguments[0].element_count(), static_cast<int>(arguments.size())));
  ASSERT_TRUE(module.ok()) << module.status().message();
  Tolerance tolerance;
  if (type == kC64 && client->device().facts().quirks.flushes_f32_denormals) {
    using Limits = std::numeric_limits<float>;
    const bool pairs = arguments.size() > 1;
    for (Literal& argument : arguments)
      argument = Within(argument, pairs ? 0x1p-40 : Limits::min(), pairs ? 0x1p40 : Limits::max());
    tolerance.atol = 4 * Limits::min();  // products on the way may be subnormal still
  }
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  // What picks one of its operands is no function of the shader math.
  const bool picks = op == "stablehlo.maximum" || op == "stablehlo.minimum";
  const auto expected = picks ? Evaluate(**module, pointers) : EvaluateAsShaders(**module, pointers, {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto actual = RunOnDevice(BindingMode::kDescriptors, **module, arguments);
  ASSERT_TRUE(actual.has_value());
  ExpectAgreement(*actual, *expected, {.tolerance = tolerance}, std::string(op));
}

void ExpectAll(std::string_view op, bool pairs) {
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  for (const ElementType type : {kC64, kC128}) {
    if (type == kC128 && !client->device().facts().float64 && std::getenv("VXLA_TEST_LONG") == nullptr) continue;
    std::vector<Literal> arguments;
    if (pairs) {
      arguments = ComplexPairs(type);
    } else {
      arguments.push_back(ComplexArray(type, ComplexGrid(type)));
    }
    ExpectBitsOfShaderMath(op, type, std::move(arguments));
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param.substr(info.param.find('.') + 1)) + (info.param.starts_with("chlo") ? "OfChlo" : "");
}

class ComplexGridTest : public ::testing::TestWithParam<std::string_view> {};
TEST_P(ComplexGridTest, EachPairOfComponentsGivesTheBitsOfShaderMath) { ExpectAll(GetParam(), false); }
INSTANTIATE_TEST_SUITE_P(Unary, ComplexGridTest, ::testing::ValuesIn(kComplexUnary), NameOf);
INSTANTIATE_TEST_SUITE_P(ToReal, ComplexGridTest, ::testing::ValuesIn(kComplexToReal), NameOf);

class ComplexPairsGridTest : public ::testing::TestWithParam<std::string_view> {};
TEST_P(ComplexPairsGridTest, EachPairOfNumbersGivesTheBitsOfShaderMath) { ExpectAll(GetParam(), true); }
INSTANTIATE_TEST_SUITE_P(All, ComplexPairsGridTest, ::testing::ValuesIn(kComplexBinary), NameOf);

}  // namespace complex_grid_test
}  // namespace VXLA_NAMESPACE::testing
