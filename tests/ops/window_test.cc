// Reduce-window and select-and-scatter on the device against the CPU reference.
#include <fmt/format.h>

#include "tests/support/gpu_client.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace window_test {

std::string Window(const std::string& type, const std::string& shape, const std::string& result,
                   const std::string& window, const std::string& operation = "add", const std::string& init = "0") {
  return fmt::format(
      "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {4}(a, b) }}\n"
      "ENTRY e {{ x = {0}[{1}] parameter(0)  z = {0}[] constant({5})\n"
      "ROOT r = {0}[{2}] reduce-window(x, z), window={{{3}}}, to_apply=f }}",
      type, shape, result, window, operation, init);
}

// `dispatches` -1: any number.
void ExpectBoth(const std::string& text, const Tolerance* tolerance = nullptr, int dispatches = 1) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.dispatches = dispatches;
  if (tolerance != nullptr) options.tolerance = *tolerance;
  RunBoth(text, RandomArguments(*module), options);
}

TEST(ReduceWindowTest, PoolingStridesAndDilations) {
  ExpectBoth(Window("f32", "2,12,12,3", "2,6,6,3", "size=1x2x2x1 stride=1x2x2x1", "maximum", "-inf"));
  ExpectBoth(Window("f32", "11,13", "12,4", "size=3x2 stride=1x3 pad=1_2x0_0 rhs_dilate=1x2"));
  ExpectBoth(Window("f32", "6,7", "11,13", "size=2x1 pad=0_1x0_0 lhs_dilate=2x2"));
  ExpectBoth(Window("f32", "5,9", "7,8", "size=3x2 pad=2_2x0_0"));
}

// The padding holds the initial value, which is folded in like any element.
TEST(ReduceWindowTest, PaddingIsTheInitialValue) {
  ExpectBoth(Window("f32", "20", "9", "size=4 stride=2 pad=-1_1", "add", "2"));
  ExpectBoth(Window("s32", "3", "7", "size=1 pad=2_2", "add", "5"));
  ExpectBoth(Window("f32", "0", "3", "size=2 pad=2_2", "add", "1"));
}

TEST(ReduceWindowTest, WindowsAsLongAsTheOperand) {
  const Tolerance tolerance{1e-5, 1e-4, 0};
  // Running windows: one kernel, or two where a row is cut into chunks, as software drivers' are. Windows of which
  // there are few stay as they are.
  ExpectBoth(Window("f32", "5,300", "5,300", "size=1x300 pad=0_0x299_0"), &tolerance, 1);
  ExpectBoth(Window("s32", "2000", "2000", "size=2000 pad=0_1999"), nullptr, HasSoftwareKernels() ? 2 : 1);
  ExpectBoth(Window("f32", "7,64,33", "7,2,1", "size=1x32x33 stride=1x32x1"), &tolerance);
}

TEST(ReduceWindowTest, ElementTypes) {
  for (const char* type : {"s8", "u16", "s64", "bf16", "f16", "f64", "c64"}) {
    SCOPED_TRACE(type);
    ExpectBoth(Window(type, "40", "19", "size=4 stride=2", "add", type[0] == 'c' ? "(0,0)" : "0"));
  }
  ExpectBoth(Window("pred", "41", "20", "size=3 stride=2", "or", "false"));
}

TEST(ReduceWindowTest, VariadicWithPositions) {
  ExpectBoth(R"(f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  keep = pred[] compare(a, b), direction=GE  v = f32[] select(keep, a, b)  k = s32[] select(keep, i, j)  ROOT t = (f32[], s32[]) tuple(v, k) }
ENTRY e { x = f32[31] parameter(0)  p = s32[31] iota(), iota_dimension=0  l = f32[] constant(-inf)  z = s32[] constant(-1)
  ROOT r = (f32[15], s32[15]) reduce-window(x, p, l, z), window={size=3 stride=2}, to_apply=f })");
}

TEST(ReduceWindowTest, ProducersAndEpilogue) {
  ExpectBoth(R"(f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[64] parameter(0)  y = f32[16] parameter(1)  z = f32[] constant(0)  q = f32[64] multiply(x, x)
  w = f32[16] reduce-window(q, z), window={size=4 stride=4}, to_apply=f  ROOT r = f32[16] add(w, y) })");
}

// Above the size from which neighbours that read the same elements are taken together, with channels last and not.
TEST(ReduceWindowTest, LargePooling) {
  ExpectBoth(
      Window("f32", "2,66,66,16", "2,33,33,16", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0", "maximum", "-inf"));
  ExpectBoth(Window("f32", "4,64,66", "4,62,64", "size=1x3x3"));
}

// Tiles that move along a dimension and keep what they see again.
TEST(ReduceWindowTest, LargeWindowsMove) {
  const std::string padded = "size=1x3x3x1 pad=0_0x1_1x1_1x0_0";
  for (const char* type : {"f32", "bf16", "s32", "u8", "f64"})
    ExpectBoth(Window(type, "2,60,64,8", "2,60,64,8", padded, "add", "3"));
  ExpectBoth(Window("f32", "2,40,64,8", "2,79,64,8", "size=1x3x3x1 pad=0_0x1_1x1_1x0_0 lhs_dilate=1x2x1x1", "maximum"));
  ExpectBoth(Window("f32", "2,60,64,8", "2,60,60,8", "size=1x3x3x1 pad=0_0x1_1x0_0x0_0 rhs_dilate=1x1x2x1", "minimum"));
  ExpectBoth(Window("f32", "2,40,42,80", "2,40,42,80", padded, "maximum", "-inf"));
  ExpectBoth(Window("f32", "2,7001,16", "2,7001,16", "size=1x7x1 pad=0_0x3_3x0_0", "maximum", "-inf"));
  ExpectBoth(R"(f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  keep = pred[] compare(a, b), direction=GE  v = f32[] select(keep, a, b)  k = s32[] select(keep, i, j)  ROOT t = (f32[], s32[]) tuple(v, k) }
ENTRY e { x = f32[2,60,64,8] parameter(0)  p = s32[2,60,64,8] iota(), iota_dimension=2  l = f32[] parameter(1)  z = s32[] constant(-1)
  n = f32[2,60,64,8] negate(x)
  ROOT r = (f32[2,60,64,8], s32[2,60,64,8]) reduce-window(n, p, l, z), window={size=1x3x3x1 pad=0_0x1_1x1_1x0_0}, to_apply=f })");
}

std::string SelectAndScatter(const std::string& type, const std::string& shape, const std::string& source,
                             const std::string& window, const std::string& scatter = "add",
                             const std::string& direction = "GE") {
  return fmt::format(
      "s {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = pred[] compare(a, b), direction={5} }}\n"
      "c {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {4}(a, b) }}\n"
      "ENTRY e {{ x = {0}[{1}] parameter(0)  y = {0}[{2}] parameter(1)  z = {0}[] parameter(2)\n"
      "ROOT r = {0}[{1}] select-and-scatter(x, y, z), window={{{3}}}, select=s, scatter=c }}",
      type, shape, source, window, scatter, direction);
}

// The specification's example.
TEST(SelectAndScatterTest, GivesTheNumbersOfTheSpecification) {
  const std::vector<float> operand{1, 5, 2, 5, 3, 6, 4, 4}, source{5, 6, 7, 8};
  const auto literal = [](std::vector<int64_t> sizes, const std::vector<float>& values) {
    return Literal::FromVector<float>(Shape(ElementType::kF32, std::move(sizes)), std::span<const float>(values));
  };
  const auto result =
      RunBoth(SelectAndScatter("f32", "4,2", "2,2", "size=3x1 stride=2x1 pad=0_1x0_0"),
              {literal({4, 2}, operand), literal({2, 2}, source), Literal::Scalar(ElementType::kF32, 0)});
  ASSERT_TRUE(result.has_value());
  const std::vector<double> expected{0, 0, 0, 0, 5, 14, 7, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(result->GetDouble(static_cast<int64_t>(i)), expected[i]) << i;
}

TEST(SelectAndScatterTest, WindowsThatOverlapThatLeaveGapsAndThatLieInThePadding) {
  ExpectBoth(SelectAndScatter("f32", "2,11,13,8", "2,5,6,8", "size=1x3x3x1 stride=1x2x2x1"), nullptr, 2);
  ExpectBoth(SelectAndScatter("f32", "9,10", "4,3", "size=2x2 stride=3x4 pad=2_0x0_1"), nullptr, 2);
  ExpectBoth(SelectAndScatter("f32", "7,8", "4,5", "size=2x2 pad=-1_-1x-2_0"), nullptr, 2);
  ExpectBoth(SelectAndScatter("f32", "40,12", "10,3", "size=13x4 stride=3x4"), nullptr, 2);
}

TEST(SelectAndScatterTest, ScalarsAndNothing) {
  ExpectBoth(SelectAndScatter("f32", "", "", ""), nullptr, -1);
  ExpectBoth(SelectAndScatter("f32", "5", "0", "size=7"), nullptr, 1);
  ExpectBoth(SelectAndScatter("f32", "0,3", "0,3", "size=1x1"), nullptr, 0);
}

// The order in which sources meet is the reference's, so a computation that depends on it gives the same.
TEST(SelectAndScatterTest, AnyComputationsAndTypes) {
  ExpectBoth(SelectAndScatter("s32", "9,9", "8,8", "size=2x2", "subtract", "LT"), nullptr, 2);
  ExpectBoth(SelectAndScatter("pred", "17", "8", "size=3 stride=2", "xor", "EQ"), nullptr, 2);
  for (const char* type : {"s8", "u64", "f64", "bf16"}) {
    ExpectBoth(SelectAndScatter(type, "19", "9", "size=3 stride=2", "multiply"), nullptr, 2);
  }
}

// As many results as GPUs take four at a time in other loops: here each invocation has a tile of its own.
TEST(ReduceWindowTest, LargePoolingsAreWholeOnGpus) {
  const auto module = ParseModule(
      "max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }\n"
      "ENTRY e { x = f32[4,128,128,64] parameter(0)  low = f32[] constant(-inf)\n"
      "ROOT r = f32[4,128,128,64] reduce-window(x, low), window={size=1x2x2x1 pad=0_0x1_0x1_0x0_0}, to_apply=max }");
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, 3);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  RunOptions exact;
  exact.tolerance = Tolerance{};
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto client = GpuClient(mode);
    ASSERT_NE(client, nullptr);
    ExpectOnGpu(*client, *module, arguments, exact, 1, *expected);
  }
}

}  // namespace window_test
}  // namespace VXLA_NAMESPACE::testing
