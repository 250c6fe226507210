// Running windows (cumulative sums, products, maxima ...) on the device against the CPU reference.
#include <fmt/format.h>

#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace running_window_test {

struct Running {
  std::string type = "f32", operation = "add", init = "0";
};

std::string Reducer(const Running& r) {
  return fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {1}(a, b) }}\n", r.type,
                     r.operation);
}

// Along `axis` of an array of three dimensions.
std::string Program(const Running& r, std::vector<int64_t> sizes, size_t axis, bool reverse) {
  std::string size, pad;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t n = d == axis ? sizes[d] : 1;
    size += fmt::format("{}{}", d > 0 ? "x" : "", n);
    pad += fmt::format("{}{}_{}", d > 0 ? "x" : "", reverse ? 0 : n - 1, reverse ? n - 1 : 0);
  }
  return fmt::format(
      "{0}ENTRY e {{ x = {1}[{2}] parameter(0)  z = {1}[] constant({3})\n"
      "ROOT r = {1}[{2}] reduce-window(x, z), window={{size={4} pad={5}}}, to_apply=f }}",
      Reducer(r), r.type, fmt::join(sizes, ","), r.init, size, pad);
}

void Expect(const std::string& text, RunOptions options = {}) {
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunBoth(text, RandomArguments(*module), options);
}

TEST(RunningWindowTest, LengthsRanksAndAxesInBothDirections) {
  for (bool reverse : {false, true}) {
    for (int64_t n : {64, 65, 127, 1000, 1024, 4099}) {
      Expect(Program({"s32"}, {n}, 0, reverse));
      Expect(Program({}, {n}, 0, reverse));
    }
    for (size_t axis : {0, 1, 2}) {
      std::vector<int64_t> sizes = {2, 3, 5};
      sizes[axis] = 127;
      Expect(Program({"s32"}, sizes, axis, reverse));
      Expect(Program({}, sizes, axis, reverse));
    }
  }
}

TEST(RunningWindowTest, ElementTypesAndOperations) {
  for (bool reverse : {false, true}) {
    for (const char* type : {"s32", "u8", "u64", "bf16", "f16", "f32", "f64"})
      Expect(Program({type}, {2, 1000}, 1, reverse));
    Expect(Program({"c64", "add", "(0,0)"}, {2, 300}, 1, reverse));
    Expect(Program({"u32", "multiply", "1"}, {2, 300}, 1, reverse));
    Expect(Program({"bf16", "maximum", "-inf"}, {300, 2}, 0, reverse));
    Expect(Program({"f32", "minimum", "inf"}, {300, 2}, 0, reverse));
    Expect(Program({"s8", "maximum", "3"}, {300, 2}, 0, reverse));  // no identity, but folding it again changes nothing
    Expect(Program({"pred", "or", "false"}, {1, 300}, 1, reverse));
    Expect(Program({"u16", "xor", "0"}, {1, 300}, 1, reverse));
  }
}

TEST(RunningWindowTest, RowsAndColumnsOfAllKindsOfTiles) {
  for (bool reverse : {false, true}) {
    Expect(Program({}, {1, 40, 16}, 2, reverse));         // one tile a row
    Expect(Program({}, {1, 3, 2052}, 2, reverse));        // groups of four, a ragged tile, chunks
    Expect(Program({}, {1, 64, 8}, 1, reverse));          // columns four by four, in chunks
    Expect(Program({"s32"}, {2, 33, 1024}, 1, reverse));  // columns eight by eight, a ragged tile
  }
  Expect(Program({"bf16"}, {2, 33, 12}, 1, true));
  Expect(Program({"u8"}, {1, 2, 5000}, 2, false));
}

TEST(RunningWindowTest, TakeElementwiseNeighboursIntoTheirKernel) {
  RunOptions options;
  options.dispatches = 1;
  Expect(
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "ENTRY e { x = f32[20,1000] parameter(0)  z = f32[] constant(0)  y = f32[20,1000] multiply(x, x)\n"
      "w = f32[20,1000] reduce-window(y, z), window={size=1x1000 pad=0_0x999_0}, to_apply=f\n"
      "ROOT r = f32[20,1000] negate(w) }",
      options);
}

// Lanes share rows there, and hand on what they have.
TEST(RunningWindowTest, KernelsForGpus) {
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    for (bool reverse : {false, true}) {
      EXPECT_EQ(ExpectLoweredAgrees(Program({}, {1, 2, 100}, 2, reverse), mode, AsGpu(mode)), 1);
      EXPECT_EQ(ExpectLoweredAgrees(Program({"s64"}, {1, 1, 70000}, 2, reverse), mode, AsGpu(mode)), 2);
    }
    ExpectLoweredAgrees(Program({"s32"}, {3, 2000, 5}, 1, false), mode, AsGpu(mode));
    ExpectLoweredAgrees(Program({}, {600, 1, 1030}, 2, true), mode, AsGpu(mode));
  }
}

// Few long rows take one pass: tiles look back at the totals of those before them, and add up themselves what does not
// come in time (with no polls: all of it).
TEST(RunningWindowTest, OnePassForGpusWhoseWorkgroupsRunOn) {
  const BindingMode mode = ModesToRun().back();
  ASSERT_NE(DeviceClient(mode), nullptr);
  DeviceFacts facts = AsGpu(mode);
  facts.vendor_id = 0x10DE;
  for (const uint32_t polls : {1000u, 0u}) {  // lavapipe 22 stops all loops of a workgroup after 65,535 turns
    facts.look_back_polls = polls;
    SCOPED_TRACE(polls);
    for (bool reverse : {false, true}) {
      EXPECT_EQ(ExpectLoweredAgrees(Program({}, {1, 1, 150001}, 2, reverse), mode, facts), 2);
      EXPECT_EQ(ExpectLoweredAgrees(Program({"s32"}, {1, 3, 70000}, 2, reverse), mode, facts), 2);
    }
    EXPECT_EQ(ExpectLoweredAgrees(Program({"c64", "add", "(0,0)"}, {2, 40000}, 1, false), mode, facts), 2);
    EXPECT_EQ(ExpectLoweredAgrees(Program({"bf16"}, {1, 65536}, 1, false), mode, facts), 2);
    EXPECT_EQ(ExpectLoweredAgrees(Program({"pred", "or", "false"}, {1, 65536}, 1, false), mode, facts), 2);
  }
}

// More than 32 x 32 tiles: sums of blocks, and ends of spans of blocks, in the order of the tiles.
TEST(RunningWindowTest, OnePassOverManyTiles) {
  const BindingMode mode = ModesToRun().back();
  ASSERT_NE(DeviceClient(mode), nullptr);
  DeviceFacts facts = AsGpu(mode);
  facts.vendor_id = 0x10DE;
  facts.max_workgroup_invocations = 64;  // tiles of 512 elements
  constexpr int64_t kTiles = 32 * 32 + 32 + 3;
  facts.look_back_polls = 1000;
  for (bool reverse : {false, true}) {
    EXPECT_EQ(ExpectLoweredAgrees(Program({}, {1, 1, kTiles * 512 - 5}, 2, reverse), mode, facts), 2);
    EXPECT_EQ(ExpectLoweredAgrees(Program({"s32"}, {2, kTiles * 512}, 1, reverse), mode, facts), 2);
  }
  EXPECT_EQ(ExpectLoweredAgrees(Program({"c64", "add", "(0,0)"}, {1, kTiles * 512}, 1, false), mode, facts), 2);
  EXPECT_EQ(ExpectLoweredAgrees(Program({"u32", "multiply", "1"}, {1, kTiles * 512}, 1, false), mode, facts), 2);
  facts.look_back_polls = 0;
  EXPECT_EQ(ExpectLoweredAgrees(Program({"s32"}, {1, kTiles * 512}, 1, false), mode, facts), 2);
}

TEST(RunningWindowTest, SlidingWindowsOfManyElements) {
  const auto window = [](const Running& r, const char* sizes, const char* result, const char* window) {
    return fmt::format(
        "{0}ENTRY e {{ x = {1}[{2}] parameter(0)  z = {1}[] constant({3})\n"
        "ROOT r = {1}[{4}] reduce-window(x, z), window={{{5}}}, to_apply=f }}",
        Reducer(r), r.type, sizes, r.init, result, window);
  };
  Expect(window({}, "3001", "2902", "size=100"));
  Expect(window({"s32"}, "2,300", "2,300", "size=1x40 pad=0_0x20_19"));
  Expect(window({"s32"}, "400", "105", "size=100 stride=3 pad=5_7"));
  Expect(window({"bf16"}, "200", "169", "size=32"));
  Expect(window({"f32", "maximum", "-inf"}, "2,70,90", "2,31,16", "size=1x40x45 stride=1x1x3"));
  Expect(window({"u8"}, "100,3", "61,2", "size=40x2"));
  Expect(window({"s32"}, "50", "10", "size=40 pad=-1_0"));
  Expect(window({"s32"}, "50", "150", "size=200 pad=150_149"));
}

TEST(RunningWindowTest, AnInitialValueThatCountsIsFoldedAsOftenAsBefore) {
  for (bool reverse : {false, true}) {
    RunOptions options;
    options.dispatches = 1;
    Expect(Program({"s32", "add", "2"}, {200}, 0, reverse), options);
  }
}

TEST(RunningWindowTest, AnEmptyDimensionStaysEmpty) { Expect(Program({}, {100, 0}, 0, false)); }

// Maps composed one after another do not commute: blocks keep their order.
TEST(RunningWindowTest, ReducersThatDoNotCommuteOfTwoValues) {
  for (const char* pad : {"pad=0_0x298_0", "pad=0_0x0_298"}) {
    Expect(std::string(
               "f {\n  a = u32[] parameter(0)  p = u32[] parameter(1)  b = u32[] parameter(2)  q = u32[] parameter(3)\n"
               "  m = u32[] multiply(a, b)  t = u32[] multiply(b, p)  s = u32[] add(t, q)  ROOT r = (u32[], u32[]) "
               "tuple(m, s) }\n"
               "ENTRY e { x = u32[3,299] parameter(0)  y = u32[3,299] parameter(1)  i = u32[] constant(1)  z = u32[] "
               "constant(0)\n"
               "  ROOT r = (u32[3,299], u32[3,299]) reduce-window(x, y, i, z), window={size=1x299 ") +
           pad + "}, to_apply=f }");
  }
}

// As JAX writes cumlogsumexp.
TEST(RunningWindowTest, LogarithmsOfSumsOfExponentials) {
  Expect(R"(f { a = f32[] parameter(0)  b = f32[] parameter(1)  m = f32[] maximum(a, b)  d = f32[] subtract(a, b)
  n = pred[] compare(d, d), direction=NE  s = f32[] add(a, b)  v = f32[] abs(d)  g = f32[] negate(v)  e = f32[] exponential(g)
  l = f32[] log-plus-one(e)  t = f32[] add(m, l)  ROOT r = f32[] select(n, s, t) }
ENTRY e { x = f32[3,999] parameter(0)  z = f32[] constant(-inf)
  ROOT r = f32[3,999] reduce-window(x, z), window={size=1x999 pad=0_0x998_0}, to_apply=f })");
}

TEST(RunningWindowTest, InsideOfALoop) {
  Expect(Reducer({"s32"}) + R"(
c { s = (s32[], s32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)  ROOT r = pred[] compare(i, n), direction=LT }
b { s = (s32[], s32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = s32[100] get-tuple-element(s), index=1
  z = s32[] constant(0)  one = s32[] constant(1)  j = s32[] add(i, one)
  w = s32[100] reduce-window(x, z), window={size=100 pad=99_0}, to_apply=f  ROOT r = (s32[], s32[100]) tuple(j, w) }
ENTRY e { x = s32[100] parameter(0)  z = s32[] constant(0)  t = (s32[], s32[100]) tuple(z, x)
  w = (s32[], s32[100]) while(t), condition=c, body=b  ROOT r = s32[100] get-tuple-element(w), index=1 })");
}

}  // namespace running_window_test
}  // namespace VXLA_NAMESPACE::testing
