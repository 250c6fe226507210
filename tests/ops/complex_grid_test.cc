// Complex functions on a device at every pair of special and ordinary components: the bits of the shader math on the
// CPU, which tests/cpu/complex_grid_test.cc holds against MPFR and Annex G. VXLA_TEST_LONG=1: c128 where a device has
// no f64 too, whose kernels take it seconds each.
#include "tests/support/complex_grid.h"

#include "backend/cpu/twin/shader_evaluator.h"
#include "core/mlir/importer.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace complex_grid_test {

using enum ElementType;

void ExpectBitsOfShaderMath(std::string_view op, ElementType type, const std::vector<Literal>& arguments) {
  SCOPED_TRACE(fmt::format("{} {}", op, ElementTypeName(type)));
  const Client* client = DeviceClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  auto module =
      mlir::ParseStablehlo(ComplexProgram(op, type, arguments[0].element_count(), static_cast<int>(arguments.size())));
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  const auto expected = EvaluateAsShaders(**module, pointers, {});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto actual = RunOnDevice(BindingMode::kDescriptors, **module, arguments);
  ASSERT_TRUE(actual.has_value());
  Tolerance tolerance;
  // Products and sums on the way are the device's own.
  if (type == kC64 && client->device().facts().quirks.flushes_f32_denormals)
    tolerance.atol = std::numeric_limits<float>::min();
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
    ExpectBitsOfShaderMath(op, type, arguments);
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
