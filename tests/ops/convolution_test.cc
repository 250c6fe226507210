// Convolutions on the device against numbers worked out by hand and against the CPU reference.
#include <fmt/format.h>

#include <cmath>

#include "scheduler/plan/plan.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace convolution_test {

std::string Convolution(const std::string& input, const std::string& kernel, const std::string& result,
                        const std::string& attributes) {
  return fmt::format("ENTRY e {{ x = {} parameter(0)  w = {} parameter(1)  ROOT r = {} convolution(x, w), {} }}", input,
                     kernel, result, attributes);
}

void ExpectBoth(const std::string& text, int dispatches = -1) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.dispatches = dispatches;
  RunBoth(text, RandomArguments(*module), options);
}

Literal Floats(std::vector<int64_t> sizes, const std::vector<float>& values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, std::move(sizes)), std::span<const float>(values));
}

void ExpectNumbers(const std::string& attributes, const std::vector<float>& numbers) {
  SCOPED_TRACE(attributes);
  const auto count = static_cast<int64_t>(numbers.size());
  const auto result = RunBoth(Convolution("f32[1,4,1]", "f32[2,1,1]", fmt::format("f32[1,{},1]", count), attributes),
                              {Floats({1, 4, 1}, {1, 2, 3, 4}), Floats({2, 1, 1}, {1, 10})});
  ASSERT_TRUE(result.has_value());
  for (int64_t i = 0; i < count; ++i) EXPECT_EQ(result->GetDouble(i), numbers[static_cast<size_t>(i)]) << i;
}

TEST(ConvolutionTest, AttributesGiveTheNumbersWorkedOutByHand) {
  const std::string labels = "dim_labels=b0f_0io->b0f";
  ExpectNumbers("window={size=2}, " + labels, {21, 32, 43});
  ExpectNumbers("window={size=2 rhs_reversal=1}, " + labels, {12, 23, 34});
  ExpectNumbers("window={size=2 stride=2 pad=1_1}, " + labels, {10, 32, 4});
  ExpectNumbers("window={size=2 pad=-1_0}, " + labels, {32, 43});
  ExpectNumbers("window={size=2 lhs_dilate=2}, " + labels, {1, 20, 2, 30, 3, 40});
  ExpectNumbers("window={size=2 rhs_dilate=3}, " + labels, {41});
}

// The padding is a zero of the operand, and takes part in the sum.
TEST(ConvolutionTest, PaddingTimesInfinityIsNan) {
  const auto result =
      RunBoth(Convolution("f32[1,4,1]", "f32[2,1,1]", "f32[1,4,1]", "window={size=2 pad=1_0}, dim_labels=b0f_0io->b0f"),
              {Floats({1, 4, 1}, {1, 2, 3, 4}), Floats({2, 1, 1}, {INFINITY, 1})});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(std::isnan(result->GetDouble(0)));
  EXPECT_EQ(result->GetDouble(1), INFINITY);
}

TEST(ConvolutionTest, EveryOrderOfDimensions) {
  const std::string window = "window={size=3x2 stride=1x2 pad=1_1x0_1}, ";
  ExpectBoth(Convolution("f32[3,8,7,9]", "f32[12,8,3,2]", "f32[3,12,7,5]", window + "dim_labels=bf01_oi01->bf01"), 1);
  ExpectBoth(Convolution("f32[8,7,3,9]", "f32[8,2,12,3]", "f32[5,12,7,3]", window + "dim_labels=f0b1_i1o0->1f0b"), 1);
}

TEST(ConvolutionTest, NoSpatialDimensionsAndThree) {
  ExpectBoth(Convolution("f32[5,8]", "f32[8,12]", "f32[5,12]", "dim_labels=bf_io->bf"), 1);
  ExpectBoth(Convolution("f32[1,4,5,6,3]", "f32[2,3,2,3,5]", "f32[1,3,3,6,5]",
                         "window={size=2x3x2 stride=1x2x1 pad=0_0x1_1x1_0}, dim_labels=b012f_012io->b012f"),
             1);
}

TEST(ConvolutionTest, NothingToAddAndNothingToGive) {
  ExpectBoth(Convolution("f32[2,5,0]", "f32[3,0,4]", "f32[2,3,4]", "window={size=3}, dim_labels=b0f_0io->b0f"));
  ExpectBoth(Convolution("f32[2,0,3]", "f32[2,3,4]", "f32[2,1,4]", "window={size=2 pad=1_1}, dim_labels=b0f_0io->b0f"));
  ExpectBoth(Convolution("f32[0,5,3]", "f32[2,3,4]", "f32[0,4,4]", "window={size=2}, dim_labels=b0f_0io->b0f"), 0);
  ExpectBoth(Convolution("f32[1,1,1]", "f32[1,1,1]", "f32[1,1,1]", "window={size=1}, dim_labels=b0f_0io->b0f"));
}

// What JAX makes of the gradients of a strided convolution.
TEST(ConvolutionTest, BothGradients) {
  ExpectBoth(Convolution("f32[2,4,4,8]", "f32[3,3,12,8]", "f32[2,8,8,12]",
                         "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f"),
             1);
  ExpectBoth(Convolution("f32[4,8,8,12]", "f32[4,4,4,8]", "f32[3,3,12,8]",
                         "window={size=4x4 pad=0_1x0_1 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf"),
             1);
  ExpectBoth(Convolution("f32[4,9,8]", "f32[4,9,8]", "f32[3,2,8]",
                         "window={size=9 pad=1_1}, dim_labels=f0b_i0o->0bf, batch_group_count=4"));
}

TEST(ConvolutionTest, GroupsOfFeaturesAndOfImages) {
  ExpectBoth(Convolution("f32[2,6,7,8]", "f32[3,3,4,10]", "f32[2,6,7,10]",
                         "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=2"),
             1);
  ExpectBoth(Convolution("f32[6,9,4]", "f32[3,4,12]", "f32[3,7,12]",
                         "window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=2"),
             1);
  // Depthwise: one feature each way, and three for one.
  ExpectBoth(Convolution("f32[2,7,9,8]", "f32[3,3,1,8]", "f32[2,7,9,8]",
                         "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=8"),
             1);
  ExpectBoth(Convolution("f32[2,5,7,4]", "f32[12,1,3,3]", "f32[2,12,3,3]",
                         "window={size=3x3 stride=2x1}, dim_labels=b10f_oi01->bf10, feature_group_count=4"),
             1);
}

// Tiles of results that share what they read: above the size from which neighbours are taken together.
TEST(ConvolutionTest, LargeDepthwise) {
  ExpectBoth(Convolution("f32[2,32,36,16]", "f32[3,3,1,16]", "f32[2,32,36,16]",
                         "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16"),
             1);
}

// Tiles that move along a dimension and keep what they see again, of each shape of window that can.
TEST(ConvolutionTest, LargeDepthwiseWindowsMove) {
  const auto depthwise = [](const std::string& type, const std::string& size, const std::string& window, int positions,
                            const std::string& result, const std::string& sum = "") {
    const std::string spatial = positions == 1 ? "0" : positions == 2 ? "01" : "012";
    return Convolution(fmt::format("{}[{}]", type, size), window.substr(0, window.find(';')),
                       fmt::format("{}[{}]", sum.empty() ? type : sum, result),
                       fmt::format("{}, dim_labels=b{}f_{}io->b{}f, feature_group_count=8",
                                   window.substr(window.find(';') + 1), spatial, spatial, spatial));
  };
  // Strides, dilations, reversed windows, and paddings of either sign.
  ExpectBoth(depthwise("f32", "2,80,80,8", "f32[3,3,1,8];window={size=3x3 stride=2x1 pad=0_1x1_1}", 2, "2,40,80,8"), 1);
  ExpectBoth(depthwise("f32", "2,80,80,8", "f32[3,3,1,8];window={size=3x3 stride=1x2 pad=1_1x-2_3}", 2, "2,80,40,8"),
             1);
  ExpectBoth(
      depthwise("f32", "2,60,64,8", "f32[3,4,1,8];window={size=3x4 pad=1_1x2_1 rhs_reversal=1x1}", 2, "2,60,64,8"), 1);
  ExpectBoth(depthwise("f32", "2,60,64,8", "f32[3,5,1,8];window={size=3x5 stride=1x2 pad=2_2x4_3 rhs_dilate=2x2}", 2,
                       "2,60,32,8"),
             1);
  ExpectBoth(depthwise("f32", "2,30,40,8", "f32[3,5,1,8];window={size=3x5 pad=2_1x4_1 lhs_dilate=2x2}", 2, "2,60,80,8"),
             1);
  // A prime number of places, three features for one, five and seven taps, one dimension and three.
  ExpectBoth(depthwise("f32", "3,53,61,8", "f32[3,3,1,24];window={size=3x3 pad=1_1x1_1}", 2, "3,53,61,24"), 1);
  ExpectBoth(depthwise("f32", "2,40,40,8", "f32[5,5,1,8];window={size=5x5 pad=2_2x2_2}", 2, "2,40,40,8"), 1);
  ExpectBoth(depthwise("f32", "2,60,60,8", "f32[7,7,1,8];window={size=7x7 pad=3_3x3_3}", 2, "2,60,60,8"), 1);
  ExpectBoth(depthwise("f32", "16,2000,8", "f32[5,1,8];window={size=5 pad=2_2}", 1, "16,2000,8"), 1);
  ExpectBoth(depthwise("f32", "2,16,17,18,8", "f32[3,3,3,1,8];window={size=3x3x3 pad=1_1x1_1x1_1}", 3, "2,16,17,18,8"),
             1);
  for (const char* type : {"bf16", "c64"})
    ExpectBoth(
        depthwise(type, "2,60,64,8", fmt::format("{}[3,3,1,8];window={{size=3x3 pad=1_1x1_1}}", type), 2, "2,60,64,8"));
  ExpectBoth(depthwise("s8", "2,60,64,8", "s8[3,3,1,8];window={size=3x3 pad=1_1x1_1}", 2, "2,60,64,8", "s32"), 1);
  // So many features that an invocation takes two groups of them.
  ExpectBoth(Convolution("f32[2,40,42,80]", "f32[3,3,1,80]", "f32[2,40,42,80]",
                         "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=80"),
             1);
  // Features before positions; groups of two features.
  ExpectBoth(Convolution("f32[4,16,40,48]", "f32[16,1,3,3]", "f32[4,16,40,48]",
                         "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=16"),
             1);
  ExpectBoth(Convolution("f32[2,64,40,16]", "f32[3,3,2,16]", "f32[2,64,40,16]",
                         "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=8"),
             1);
}

TEST(ConvolutionTest, MovingWindowsTakeProducersAndEpilogues) {
  ExpectBoth(R"(ENTRY e { x = f32[2,40,48,16] parameter(0)  w = f32[3,3,1,16] parameter(1)  b = f32[16] parameter(2)
  y = f32[2,40,48,16] parameter(3)  n = f32[2,40,48,16] negate(x)
  c = f32[2,40,48,16] convolution(n, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16
  bb = f32[2,40,48,16] broadcast(b), dimensions={3}  s = f32[2,40,48,16] add(c, bb)  a = f32[2,40,48,16] add(s, y)
  z = f32[] constant(0)  zs = f32[2,40,48,16] broadcast(z), dimensions={}  ROOT r = f32[2,40,48,16] maximum(a, zs) })",
             1);
}

// There a tile moves where enough of them keep the device busy.
TEST(ConvolutionTest, MovingWindowsOnGpus) {
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    DeviceFacts facts = AsGpu(mode);
    facts.busy_workgroups = 4;
    ExpectLoweredAgrees(
        Convolution("f32[2,60,62,16]", "f32[3,3,1,16]", "f32[2,60,62,16]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16"),
        mode, facts);
  }
}

TEST(ConvolutionTest, EveryElementType) {
  const std::string attributes = "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f";
  // Of few features each result is a sum of its own; others are tiles.
  for (const char* type : {"pred", "s16", "u64", "f64", "c64"}) {
    ExpectBoth(Convolution(fmt::format("{}[2,6,4]", type), fmt::format("{}[3,4,3]", type),
                           fmt::format("{}[2,6,3]", type), attributes));
  }
  ExpectBoth(Convolution("bf16[2,6,4]", "bf16[3,4,5]", "bf16[2,6,5]", attributes));
  ExpectBoth(Convolution("s8[2,6,4]", "s8[3,4,5]", "s32[2,6,5]", attributes));
}

TEST(ConvolutionTest, ProducersBiasActivationAndResidualAreOneDispatch) {
  ExpectBoth(R"(ENTRY e { x = f32[2,6,7,8] parameter(0)  w = f32[3,3,8,12] parameter(1)  b = f32[12] parameter(2)
  y = f32[2,6,7,12] parameter(3)  n = f32[2,6,7,8] negate(x)
  c = f32[2,6,7,12] convolution(n, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  bb = f32[2,6,7,12] broadcast(b), dimensions={3}  s = f32[2,6,7,12] add(c, bb)  a = f32[2,6,7,12] add(s, y)
  z = f32[] constant(0)  zs = f32[2,6,7,12] broadcast(z), dimensions={}  ROOT r = f32[2,6,7,12] maximum(a, zs) })",
             1);
}

// Results whose neighbours come from different images, positions and features.
TEST(ConvolutionTest, EpilogueBehindAReshape) {
  ExpectBoth(R"(ENTRY e { x = f32[3,5,7,4] parameter(0)  w = f32[2,2,4,6] parameter(1)  b = f32[36,12] parameter(2)
  c = f32[4,3,6,6] convolution(x, w), window={size=2x2}, dim_labels=b01f_01io->0bf1  s = f32[36,12] reshape(c)
  a = f32[36,12] add(s, b)  ROOT r = f32[432] reshape(a) })",
             1);
}

int64_t FlopOf(const std::string& text) {
  auto executable = DeviceClient(BindingMode::kAddresses)->Compile(*ParseModule(text));
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  int64_t flop = 0;
  for (const Step& step : (*executable)->plan().steps) flop += step.flop;
  return flop;
}

// Strided convolutions' input gradients and transposed convolutions: between two elements lies nothing to multiply.
TEST(ConvolutionTest, HolesOfTheInputAreSkipped) {
  const std::string labels = "dim_labels=b01f_01io->b01f";
  const std::string square = Convolution("f32[2,9,9,8]", "f32[3,3,8,16]", "f32[2,18,18,16]",
                                         "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2}, " + labels);
  EXPECT_EQ(FlopOf(square), 2 * (2 * 18 * 18 * 16) * (2 * 2 * 8));
  ExpectBoth(square, 1);
  for (const char* window :
       {"size=3x3 pad=1_2x1_2 lhs_dilate=2x2", "size=4x4 pad=2_2x3_1 lhs_dilate=2x2",
        "size=2x5 pad=1_1x3_2 lhs_dilate=2x2", "size=3x3 pad=-2_5x0_3 lhs_dilate=2x2",
        "size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x0", "size=3x3 pad=2_1x5_6 lhs_dilate=2x1"})
    ExpectBoth(
        Convolution("f32[2,9,9,8]",
                    "f32[" + std::string(window).substr(5, 1) + "," + std::string(window).substr(7, 1) + ",8,16]",
                    "f32[2,18,18,16]", fmt::format("window={{{}}}, ", window) + labels),
        1);
  for (int pad : {0, 1, 2, 3}) {
    ExpectBoth(Convolution("f32[2,5,7,9]", "f32[6,5,4,5]", "f32[2,6,21,36]",
                           fmt::format("window={{size=4x5 pad={}_{}x{}_{} lhs_dilate=3x4}}, dim_labels=bf01_oi01->bf01",
                                       pad, 5 - pad, pad, 7 - pad)));
  }
  ExpectBoth(Convolution("f32[2,9,9,8]", "f32[3,3,4,16]", "f32[2,18,18,16]",
                         "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2}, feature_group_count=2, " + labels));
  ExpectBoth(Convolution("f32[4,9,9,8]", "f32[3,3,8,16]", "f32[2,18,18,16]",
                         "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2}, batch_group_count=2, " + labels));
  ExpectBoth(Convolution("s8[2,9,9,8]", "s8[3,3,8,16]", "s32[2,18,18,16]",
                         "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2}, " + labels));
}

// What is left over of a period, few positions, strides and spread kernels: every tap is asked.
TEST(ConvolutionTest, HolesThatStay) {
  const std::string labels = "dim_labels=b01f_01io->b01f";
  for (const auto& [window, sizes] : {std::pair("size=3x3 pad=2_2x2_1 lhs_dilate=2x2", "19,18"),
                                      std::pair("size=3x3 pad=2_1x2_1 lhs_dilate=2x2 stride=3x1", "6,18"),
                                      std::pair("size=3x3 pad=3_2x2_1 lhs_dilate=2x2 rhs_dilate=2x1", "18,18")}) {
    ExpectBoth(Convolution("f32[2,9,9,8]", "f32[3,3,8,16]", fmt::format("f32[2,{},16]", sizes),
                           fmt::format("window={{{}}}, ", window) + labels));
  }
}

// The kernels for GPUs on whatever device there is.
TEST(ConvolutionTest, TiledKernelAgrees) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    const DeviceFacts facts = AsGpu(mode);
    ExpectLoweredAgrees(Convolution("f32[2,9,11,5]", "f32[3,3,5,19]", "f32[2,5,11,19]",
                                    "window={size=3x3 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"),
                        mode, facts);
    ExpectLoweredAgrees(Convolution("f32[2,6,9,11]", "f32[12,3,3,3]", "f32[2,12,17,11]",
                                    "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x1}, dim_labels=bf01_oi01->bf01, "
                                    "feature_group_count=2"),
                        mode, facts);
    ExpectLoweredAgrees(Convolution("f32[2,9,11,5]", "f32[3,4,5,19]", "f32[2,18,22,19]",
                                    "window={size=3x4 pad=2_1x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f"),
                        mode, facts);
  }
}

TEST(ConvolutionTest, RejectsPositionsBeyondTheRangeOfIndices) {
  const auto module =
      ParseModule(Convolution("f32[1,2,1]", "f32[1,1,1]", "f32[1,2,1]",
                              "window={size=1 stride=2147483648 lhs_dilate=2147483648}, dim_labels=b0f_0io->b0f"));
  ASSERT_NE(module, nullptr);
  CompileOptions strict;
  strict.require_gpu = true;
  const auto refused = DeviceClient(BindingMode::kAddresses)->Compile(*module, strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(
      refused.status().message().find("convolution: dimension 0 spans 2147483650 positions and the window 1 taps, "
                                      "more than the 2147483647 that a kernel can index"),
      std::string::npos)
      << refused.status().message();
}

}  // namespace convolution_test
}  // namespace VXLA_NAMESPACE::testing
