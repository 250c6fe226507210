// Operations on floats of several types, as XLA takes them.
#include "core/passes/expand/repairs.h"

#include <gtest/gtest.h>

#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// The program with its operands converted.
std::string Unmixed(const std::string& text) {
  const auto module = ParseHlo(text);
  if (!module.ok()) return module.status().message();
  EXPECT_TRUE(UnmixPrecision(**module)) << text;
  return PrintHlo(**module);
}

TEST(MixedPrecisionTest, ElementwiseOperationsComputeInTheWidestType) {
  const Literal x = Array(ElementType::kBF16, {3}, {1, 2, 3}), y = Array(ElementType::kF32, {3}, {0.0009765625, 2, -3});
  EXPECT_EQ(Doubles(RunText(Unmixed("ENTRY e { x = bf16[3] parameter(0)\n y = f32[3] parameter(1)\n"
                                    " ROOT r = f32[3] add(x, y) }"),
                            {x, y})),
            (std::vector<double>{1.0009765625, 4, 0}));
  // Stated narrower than computed, and of two types of which neither holds the other.
  const Literal rounded =
      RunText(Unmixed("ENTRY e { x = bf16[3] parameter(0)\n y = f16[3] parameter(1)\n"
                      " s = bf16[3] subtract(x, y)\n p = pred[3] compare(x, y), direction=LT\n"
                      " ROOT r = bf16[3] select(p, y, s) }"),
              {x, Array(ElementType::kF16, {3}, {0.0009765625, 2.5, 3})});
  EXPECT_EQ(rounded.shape().element_type(), ElementType::kBF16);
  EXPECT_EQ(Doubles(rounded), (std::vector<double>{1, 2.5, 0}));
}

TEST(MixedPrecisionTest, ReductionsComputeInTheTypeOfTheirComputation) {
  const std::string add = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n";
  // 256 ones and a half do not add up in bf16.
  const Literal x = Array(ElementType::kBF16, {300}, std::vector<double>(300, 1));
  for (const std::string type : {"bf16", "f32"}) {
    const Literal sum = RunText(Unmixed(add + "ENTRY e { x = bf16[300] parameter(0)\n z = bf16[] constant(0)\n ROOT r = " +
                                        type + "[] reduce(x, z), dimensions={0}, to_apply=add }"),
                                {x});
    EXPECT_EQ(Doubles(sum), std::vector<double>{300}) << type;
  }
  const Literal windows = RunText(Unmixed(add + "ENTRY e { x = f32[4] parameter(0)\n z = f32[] constant(0.5)\n"
                                                " ROOT r = f16[2] reduce-window(x, z), window={size=2 stride=2}, "
                                                "to_apply=add }"),
                                  {Array(ElementType::kF32, {4}, {1, 2, 3, 4})});
  EXPECT_EQ(windows.shape().element_type(), ElementType::kF16);
  EXPECT_EQ(Doubles(windows), (std::vector<double>{3.5, 7.5}));
}

TEST(MixedPrecisionTest, SeveralResultsAreConvertedEach) {
  const Literal both = RunText(
      Unmixed("f { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n j = s32[] parameter(3)\n"
              " c = f32[] add(a, b)\n k = s32[] add(i, j)\n ROOT r = (f32[], s32[]) tuple(c, k) }\n"
              "ENTRY e { x = f32[2] parameter(0)\n n = s32[2] parameter(1)\n z = f32[] constant(0)\n"
              " i = s32[] constant(0)\n t = (bf16[], s32[]) reduce(x, n, z, i), dimensions={0}, to_apply=f\n"
              " ROOT s = bf16[] get-tuple-element(t), index=0 }"),
      {Array(ElementType::kF32, {2}, {1.5, 2}), Ints(ElementType::kS32, {2}, {3, 4})});
  EXPECT_EQ(Doubles(both), std::vector<double>{3.5});
}

TEST(MixedPrecisionTest, OneTypeStays) {
  const auto module = ParseHlo("ENTRY e { x = f32[3] parameter(0)\n y = pred[3] is-finite(x)\n"
                               " ROOT r = f32[3] select(y, x, x) }");
  ASSERT_TRUE(module.ok());
  EXPECT_FALSE(UnmixPrecision(**module));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
