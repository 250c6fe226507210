// Constants of StableHLO text, bit by bit.
#include <bit>

#include "tests/mlir/mlir_test_support.h"

namespace VXLA_NAMESPACE {
namespace {

// The literal of `dense<elements> : type`.
std::string Bits(std::string_view elements, std::string_view type) {
  const auto module = ReadStablehlo(
      fmt::format("func.func @main() -> {} {{\n %0 = stablehlo.constant dense<{}> : {}\n return %0 : {}\n}}", type,
                  elements, type, type));
  if (!module.ok()) return Place(module.status());
  const Result<Literal> value = Evaluate(**module, {});
  if (!value.ok()) return value.status().message();
  std::string out;
  for (const std::byte b : value->bytes()) out += fmt::format("{:02x}", std::to_integer<int>(b));
  return out;
}

TEST(StablehloConstantTest, EveryElementTypeReadsItsBits) {
  EXPECT_EQ(Bits("[true, false]", "tensor<2xi1>"), "0100");
  EXPECT_EQ(Bits("[-8, 7]", "tensor<2xi4>"), "f807");
  EXPECT_EQ(Bits("[15, 0]", "tensor<2xui4>"), "0f00");
  EXPECT_EQ(Bits("[-2, 1]", "tensor<2xi2>"), "fe01");
  EXPECT_EQ(Bits("-128", "tensor<i8>"), "80");
  EXPECT_EQ(Bits("255", "tensor<ui8>"), "ff");
  EXPECT_EQ(Bits("-9223372036854775808", "tensor<i64>"), "0000000000000080");
  EXPECT_EQ(Bits("18446744073709551615", "tensor<ui64>"), "ffffffffffffffff");
  EXPECT_EQ(Bits("[1.5, -2.0]", "tensor<2xbf16>"), "c03f00c0");
  EXPECT_EQ(Bits("6.5504e4", "tensor<f16>"), "ff7b");
  EXPECT_EQ(Bits("4.480000e+02", "tensor<f8E4M3FN>"), "7e");
  EXPECT_EQ(Bits("-7.5", "tensor<f6E2M3FN>"), "3f");
  EXPECT_EQ(Bits("0.0625", "tensor<f6E3M2FN>"), "01");
  EXPECT_EQ(Bits("0x7C", "tensor<f8E5M2>"), "7c");
  EXPECT_EQ(Bits("0x7FC00001", "tensor<f32>"), "0100c07f");
  EXPECT_EQ(Bits("-0.000000e+00", "tensor<f32>"), "00000080");
  EXPECT_EQ(Bits("1.401298E-45", "tensor<f32>"), "01000000");
  EXPECT_EQ(Bits("0xFFF0000000000000", "tensor<f64>"), "000000000000f0ff");
  EXPECT_EQ(Bits("(1.0,-2.0)", "tensor<complex<f32>>"), "0000803f000000c0");
  EXPECT_EQ(Bits("[(0x7F800000,0.0), (0.0,1.0)]", "tensor<2xcomplex<f32>>"), "0000807f00000000000000000000803f");
}

TEST(StablehloConstantTest, BlobsSplatsAndEmptyArrays) {
  EXPECT_EQ(Bits("\"0x0000803F00000040\"", "tensor<2xf32>"), "0000803f00000040");
  EXPECT_EQ(Bits("\"0x0000803F\"", "tensor<3xf32>"), "0000803f0000803f0000803f");
  EXPECT_EQ(Bits("\"0x010001\"", "tensor<3xi1>"), "010001");
  EXPECT_EQ(Bits("\"0x0FF8\"", "tensor<2xi4>"), "fff8");
  EXPECT_EQ(Bits("2", "tensor<2x2xi16>"), "0200020002000200");
  EXPECT_EQ(Bits("", "tensor<0x3xf32>"), "");
  EXPECT_EQ(Bits("[[1], [2]]", "tensor<2x1xi8>"), "0102");
}

TEST(StablehloConstantTest, LargeSplatsStayOneValue) {
  const auto module = ReadStablehlo(
      "func.func @main() -> tensor<1048576x1048576xf32> {\n %0 = stablehlo.constant dense<1.0> : "
      "tensor<1048576x1048576xf32>\n return %0 : tensor<1048576x1048576xf32>\n}");
  ASSERT_TRUE(module.ok()) << Place(module.status());
  EXPECT_EQ((*module)->entry()->root()->opcode(), Opcode::kBroadcast);
}

TEST(StablehloConstantTest, ResourcesStandAtTheEnd) {
  EXPECT_EQ(RunStablehlo(R"(
func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F000000C0"
    }
  }
#-}
)"),
            "{1, -2}");
}

TEST(StablehloConstantTest, RejectsWhatDoesNotFit) {
  EXPECT_EQ(Bits("[1.0, 2.0]", "tensor<3xf32>"), "2:42: dense: 2 elements in dimension 0 of f32[3], expected 3");
  EXPECT_EQ(Bits("[1.0, 2.0]", "tensor<1xf32>"), "2:37: dense: more than 1 elements in dimension 0 of f32[1]");
  EXPECT_EQ(Bits("[[1], 2]", "tensor<2x1xi32>"), "2:38: dense: expected '[', found 2]");
  EXPECT_EQ(Bits("300", "tensor<i8>"), "2:32: dense: 300 is out of range for s8");
  EXPECT_EQ(Bits("true", "tensor<f32>"), "2:32: dense: true for f32");
  EXPECT_EQ(Bits("\"0x000080\"", "tensor<f32>"), "2:32: 3 bytes for tensor<f32>, which has 4");
  EXPECT_EQ(Bits("\"0x00008G3F\"", "tensor<f32>"), "2:32: character 8 of the hexadecimal string is no digit");
  EXPECT_EQ(Bits("[1]", "tensor<1000000000000xi32>"),
            "2:32: dense: fewer elements than the 1000000000000 of s32[1000000000000]");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
