// Reductions and row programs on the device against the CPU reference.
#include <fmt/format.h>

#include <cmath>
#include <regex>
#include <string>

#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace {

std::string Reducer(const std::string& type, const std::string& operation = "add") {
  return fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {1}(a, b) }}\n", type,
                     operation);
}

std::string Reduce(const std::string& type, const std::string& shape, const std::string& dimensions,
                   const std::string& result, const std::string& operation = "add", const std::string& init = "0") {
  return Reducer(type, operation) + fmt::format(
                                        "ENTRY e {{ x = {0}[{1}] parameter(0)  z = {0}[] constant({4})\n"
                                        "ROOT r = {0}[{2}] reduce(x, z), dimensions={{{3}}}, to_apply=f }}",
                                        type, shape, result, dimensions, init);
}

// (value, position) of the largest, the first of equals.
std::string ArgMax(const std::string& shape, int dimension, const std::string& result) {
  return fmt::format(
      R"(f {{ a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  greater = pred[] compare(a, b), direction=GT   equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT    tie = pred[] and(equal, before)   keep = pred[] or(greater, tie)
  v = f32[] select(keep, a, b)  k = s32[] select(keep, i, j)  ROOT t = (f32[], s32[]) tuple(v, k) }}
ENTRY e {{ x = f32[{0}] parameter(0)  p = s32[{0}] iota(), iota_dimension={1}  l = f32[] constant(-inf)  z = s32[] constant(0)
  ROOT r = (f32[{2}], s32[{2}]) reduce(x, p, l, z), dimensions={{{1}}}, to_apply=f }})",
      shape, dimension, result);
}

std::string Softmax(int64_t rows, int64_t columns, int axis) {
  const int64_t kept = axis == 1 ? rows : columns;
  return fmt::format(R"(max {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
ENTRY e {{ x = f32[{0},{1}] parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[{2}] reduce(x, low), dimensions={{{3}}}, to_apply=max    mb = f32[{0},{1}] broadcast(m), dimensions={{{4}}}
  d = f32[{0},{1}] subtract(x, mb)  p = f32[{0},{1}] exponential(d)
  s = f32[{2}] reduce(p, zero), dimensions={{{3}}}, to_apply=sum   sb = f32[{0},{1}] broadcast(s), dimensions={{{4}}}
  ROOT y = f32[{0},{1}] divide(p, sb) }})",
                     rows, columns, kept, axis, 1 - axis);
}

std::string LayerNorm(int64_t rows, int64_t columns) {
  return fmt::format(R"(sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
ENTRY e {{ x = f32[{0},{1}] parameter(0)  g = f32[{1}] parameter(1)  zero = f32[] constant(0)
  n = f32[] constant({1})  nb = f32[{0}] broadcast(n), dimensions={{}}
  eps = f32[] constant(1e-5)  epsb = f32[{0}] broadcast(eps), dimensions={{}}
  s = f32[{0}] reduce(x, zero), dimensions={{1}}, to_apply=sum    mean = f32[{0}] divide(s, nb)
  mb = f32[{0},{1}] broadcast(mean), dimensions={{0}}             d = f32[{0},{1}] subtract(x, mb)
  sq = f32[{0},{1}] multiply(d, d)  v = f32[{0}] reduce(sq, zero), dimensions={{1}}, to_apply=sum
  var = f32[{0}] divide(v, nb)  ve = f32[{0}] add(var, epsb)  r = f32[{0}] rsqrt(ve)
  rb = f32[{0},{1}] broadcast(r), dimensions={{0}}  y = f32[{0},{1}] multiply(d, rb)
  gb = f32[{0},{1}] broadcast(g), dimensions={{1}}  o = f32[{0},{1}] multiply(y, gb)
  ROOT t = (f32[{0},{1}], f32[{0}]) tuple(o, mean) }})",
                     rows, columns);
}

void ExpectBoth(const std::string& text, int dispatches = -1) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.dispatches = dispatches;
  RunBoth(text, RandomArguments(*module), options);
}

TEST(ReduceTest, AnyDimensions) {
  ExpectBoth(Reduce("f32", "", "", ""));
  ExpectBoth(Reduce("f32", "7", "0", ""), 1);
  ExpectBoth(Reduce("f32", "5,4", "", "5,4"));
  ExpectBoth(Reduce("f32", "13,17,29", "1", "13,29"), 1);
  ExpectBoth(Reduce("f32", "13,17,8", "2,0", "17"), 1);
  ExpectBoth(Reduce("f32", "2,3,5,2,3,4", "1,3,4", "2,5,4"), 1);
}

TEST(ReduceTest, SeveralArraysOverNoDimensions) {
  for (const char* shape : {"", "3", "0"}) {
    std::string text = ArgMax(shape, 0, shape);
    const size_t iota = text.find("iota(), iota_dimension=0"), dimensions = text.find("dimensions={0}");
    text.replace(dimensions, 14, "dimensions={}");
    text.replace(iota, 24, "parameter(1)");
    ExpectBoth(text);
  }
}

TEST(ReduceTest, EmptyRowsGiveTheInitialValueAndEmptyResultsNothing) {
  ExpectBoth(Reduce("f32", "5,0", "1", "5", "add", "3"));
  ExpectBoth(Reduce("f32", "0,5", "1", "0"), 0);
  ExpectBoth(ArgMax("4,0", 1, "4"));
}

TEST(ReduceTest, InitialValueCountsOnce) {
  ExpectBoth(Reduce("f32", "300,41", "1", "300", "add", "5"));
  ExpectBoth(Reduce("s32", "4099", "0", "", "add", "1000"));
  ExpectBoth(Reduce("f32", "37,1021", "0", "1021", "multiply", "-2"));
}

TEST(ReduceTest, EveryElementType) {
  for (const char* type :
       {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "bf16", "f16", "f32", "f64", "c64", "c128", "f8e4m3fn"}) {
    SCOPED_TRACE(type);
    ExpectBoth(Reduce(type, "11,67", "1", "11", "add", type[0] == 'c' ? "(0,0)" : "0"));
  }
  ExpectBoth(Reduce("pred", "11,67", "1", "11", "and", "true"));
  ExpectBoth(Reduce("pred", "11,67", "0", "67", "or", "false"));
  ExpectBoth(Reduce("u64", "11,67", "1", "11", "minimum", "18446744073709551615"));
  ExpectBoth(Reduce("s8", "11,67", "1", "11", "maximum", "-128"));
  ExpectBoth(Reduce("c64", "11,6", "1", "11", "multiply", "(1,0)"));
}

// Infinities, NaN, zeros of both signs, subnormal numbers and extremes of integers, in rows and in columns.
TEST(ReduceTest, ExtremesOfEveryType) {
  for (const std::string type : {"s4", "u4", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f8e5m2", "f8e4m3fn",
                                 "bf16", "f16", "f32", "f64"}) {
    SCOPED_TRACE(type);
    const bool floating = IsFloating(*ParseElementType(type));
    std::vector<std::string> operations = {"maximum", "minimum"};
    if (!floating) operations.insert(operations.end(), {"add", "multiply", "and", "or", "xor"});
    std::string reducers, body, results, shapes;
    for (const std::string& operation : operations) {
      reducers += fmt::format("{0}s {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  ROOT r = {1}[] {0}(a, b) }}\n",
                              operation, type);
      body += fmt::format("  {0}_rows = {1}[5] reduce(x, z), dimensions={{1}}, to_apply={0}s\n", operation, type);
      body += fmt::format("  {0}_columns = {1}[203] reduce(x, z), dimensions={{0}}, to_apply={0}s\n", operation, type);
      results += fmt::format("{0}{1}_rows, {1}_columns", results.empty() ? "" : ", ", operation);
      shapes += fmt::format("{0}{1}[5], {1}[203]", shapes.empty() ? "" : ", ", type);
    }
    const Shape shape(*ParseElementType(type), {5, 203});
    RunBoth(fmt::format("{}ENTRY e {{ x = {}[5,203] parameter(0)  z = {}[] constant(1)\n{}  ROOT r = ({}) tuple({}) }}",
                        reducers, type, type, body, shapes, results),
            {RandomLiteral(shape, 3, Fill::kSpecial)});
  }
}

// A bf16 accumulator would stop at 256.
TEST(ReduceTest, NarrowSumsAccumulateWide) {
  const Literal ones =
      Literal::FromVector<uint16_t>(Shape(ElementType::kBF16, {5000}), std::vector<uint16_t>(5000, 0x3F80));
  const auto sum = RunBoth(Reduce("bf16", "5000", "0", ""), {ones});
  ASSERT_TRUE(sum.has_value());
  EXPECT_NEAR(sum->GetDouble(0), 5000, 16);
}

TEST(ReduceTest, InfinitiesAndNan) {
  const float inf = INFINITY;
  const Literal x = Literal::FromVector<float>(
      Shape(ElementType::kF32, {4, 3}), std::vector<float>{1, inf, 2, -inf, inf, 0, 5, NAN, 7, -inf, -inf, -inf});
  RunBoth(Reduce("f32", "4,3", "1", "4"), {x});
  RunBoth(Reduce("f32", "4,3", "1", "4", "maximum", "-inf"), {x});
  RunBoth(Reduce("f32", "4,3", "0", "3", "minimum", "inf"), {x});
}

TEST(ReduceTest, LongRowsAreShared) {
  ExpectBoth(Reduce("f32", "1000003", "0", ""), 2);
  ExpectBoth(Reduce("f32", "3,70001", "1", "3"));
  ExpectBoth(Reduce("s64", "70001,3", "0", "3"));
  ExpectBoth(ArgMax("300007", 0, ""));
  // Shares by subgroup, side by side.
  ExpectBoth(Reduce("f32", "2,262144", "1", "2"), 2);
  ExpectBoth(Reduce("s64", "3,131072", "1", "3"));  // no shuffles of 64-bit values: lanes join in shared memory
  ExpectBoth(ArgMax("131072", 0, ""), 2);
}

TEST(ReduceTest, ManyShortRows) { ExpectBoth(Reduce("f32", "100003,7", "1", "100003"), 1); }

TEST(ReduceTest, SumOfSixteenMillionIsAccurate) {
  constexpr int64_t kCount = 1 << 24;
  Literal x(Shape(ElementType::kF32, {kCount}));
  double sum = 0;
  uint64_t state = 1;
  for (float& value : x.mutable_data<float>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(state >> 40) * 0x1p-24f;
    sum += value;
  }
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    const auto module = ParseModule(Reduce("f32", "16777216", "0", ""));
    const auto result = RunOnDevice(mode, *module, {x});
    ASSERT_TRUE(result.has_value());
    EXPECT_NEAR(result->GetDouble(0) / sum, 1, 1e-6);
  }
}

// Large factors first: one by one they overflow, lanes that take turns have some of both.
TEST(ReduceTest, ProductsThatOverflowInOneOrderOnly) {
  struct Case {
    ElementType type;
    int64_t count;
  };
  for (const auto& [type, count] :
       {Case{ElementType::kC64, 1031}, Case{ElementType::kF32, 4099}, Case{ElementType::kF8E4M3, 2145}}) {
    Literal factors(Shape(type, {count}));
    for (int64_t i = 0; i < count; ++i) {
      const double factor = 2 * i < count ? 4 : 0.25;
      IsComplex(type) ? factors.SetComplex(i, factor) : factors.SetDouble(i, factor);
    }
    RunBoth(fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] multiply(a, b) }}\n"
                        "ENTRY e {{ x = {0}[{1}] parameter(0)  z = {0}[] parameter(1)  ROOT r = {0}[] reduce(x, z), "
                        "dimensions={{0}}, to_apply=f }}",
                        ElementTypeName(type), count),
            {factors, Literal::Scalar(type, 1)});
  }
}

// x -> p x + q, one map after the other: associative, but no two of these commute.
constexpr char kCompose[] = R"(compose {
  p0 = u32[] parameter(0)  q0 = u32[] parameter(1)  p1 = u32[] parameter(2)  q1 = u32[] parameter(3)
  p = u32[] multiply(p0, p1)  t = u32[] multiply(p1, q0)  q = u32[] add(t, q1)  ROOT r = (u32[], u32[]) tuple(p, q) }
)";

std::string ComposeMaps(const std::string& shape, const std::string& kept, int dimension) {
  return kCompose + fmt::format(R"(ENTRY e {{ a = u32[{0}] parameter(0)  q = u32[{0}] parameter(1)
  i = u32[{0}] iota(), iota_dimension={2}  one = u32[] constant(1)  ones = u32[{0}] broadcast(one), dimensions={{}}
  n = u32[{0}] add(a, i)  p = u32[{0}] or(n, ones)
  zero = u32[] constant(0)
  ROOT r = (u32[{1}], u32[{1}]) reduce(p, q, one, zero), dimensions={{{2}}}, to_apply=compose }})",
                                shape, kept, dimension);
}

TEST(ReduceTest, ReducersThatDoNotCommuteSeeTheElementsInOrder) {
  for (const std::string columns : {"3", "37", "64", "1009", "4096", "300007"}) {
    ExpectBoth(ComposeMaps("1," + columns, "1", 1));
    ExpectBoth(ComposeMaps(columns + ",1", "1", 0));
  }
  for (const std::string rows : {"5", "67", "256"}) {
    ExpectBoth(ComposeMaps(rows + ",513", rows, 1));
    ExpectBoth(ComposeMaps("513," + rows, rows, 0));
  }
  ExpectBoth(std::string(kCompose) + R"(ENTRY e { a = u32[5,301] parameter(0)  q = u32[5,301] parameter(1)
    i = u32[] constant(1)  z = u32[] constant(0)  ROOT r = (u32[5,59], u32[5,59]) reduce-window(a, q, i, z),
      window={size=1x11 stride=1x5}, to_apply=compose })");
}

// As JAX writes it: of two NaNs the first operand's position is taken, whatever the positions are.
TEST(ReduceTest, ArgMaxTakesTheFirstOfSeveralNans) {
  const std::string text = R"(f {
  a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  greater = pred[] compare(a, b), direction=GT   nan = pred[] compare(a, a), direction=NE
  pick = pred[] or(greater, nan)
  equal = pred[] compare(a, b), direction=EQ     before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)                keep = pred[] or(pick, tie)
  v = f32[] select(pick, a, b)  k = s32[] select(keep, i, j)  ROOT t = (f32[], s32[]) tuple(v, k) }
ENTRY e { x = f32[2,257] parameter(0)  p = s32[2,257] iota(), iota_dimension=1
  l = f32[] constant(-inf)  z = s32[] constant(0)
  m = (f32[2], s32[2]) reduce(x, p, l, z), dimensions={1}, to_apply=f  ROOT r = s32[2] get-tuple-element(m), index=1 })";
  Literal x{Shape(ElementType::kF32, {2, 257})};
  for (int64_t i : {70, 10, 257 + 130, 257 + 20, 257 + 65}) x.mutable_data<float>()[static_cast<size_t>(i)] = NAN;
  std::vector<Literal> arguments;
  arguments.push_back(std::move(x));
  const std::optional<Literal> result = RunBoth(text, arguments);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->GetInt(0), 10);
  EXPECT_EQ(result->GetInt(1), 20);
}

TEST(ReduceTest, GeneralComputation) {
  ExpectBoth(
      "f { a = f32[] parameter(0)  b = f32[] parameter(1)  h = f32[] constant(0.5)  s = f32[] subtract(a, b)\n"
      "t = f32[] abs(s)  u = f32[] add(a, b)  v = f32[] add(u, t)  ROOT r = f32[] multiply(v, h) }\n"
      "ENTRY e { x = f32[64,509] parameter(0)  z = f32[] parameter(1)\n"
      "ROOT r = f32[64] reduce(x, z), dimensions={1}, to_apply=f }");
  ExpectBoth(ArgMax("37,1013", 1, "37"));
  ExpectBoth(ArgMax("101,40", 0, "40"));
}

TEST(RowProgramTest, SoftmaxAndLayerNormAreOneDispatch) {
  ExpectBoth(Softmax(37, 101, 1), 1);
  // GPUs share such columns out: a pair of kernels a pass, the second of which joins the shares of the first.
  ExpectBoth(Softmax(300, 52, 0), HasSoftwareKernels() ? 1 : 3);
  ExpectBoth(Softmax(1000, 10, 1), 1);
  ExpectBoth(LayerNorm(64, 96), 1);
}

// Softmax of x - w * max as one fusion with three results.
std::string FusedSoftmax(int64_t rows, int64_t columns) {
  return fmt::format(R"(max {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
body {{ x = f32[{0},{1}] parameter(0)  w = f32[{0}] parameter(1)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[{0}] reduce(x, low), dimensions={{1}}, to_apply=max  n = f32[{0}] multiply(m, w)
  mb = f32[{0},{1}] broadcast(n), dimensions={{0}}  d = f32[{0},{1}] subtract(x, mb)  p = f32[{0},{1}] exponential(d)
  s = f32[{0}] reduce(p, zero), dimensions={{1}}, to_apply=sum  sb = f32[{0},{1}] broadcast(s), dimensions={{0}}
  y = f32[{0},{1}] divide(p, sb)  ROOT t = (f32[{0},{1}], f32[{0}], f32[{0},{1}]) tuple(y, s, p) }}
ENTRY e {{ x = f32[{0},{1}] parameter(0)  w = f32[{0}] parameter(1)
  ROOT f = (f32[{0},{1}], f32[{0}], f32[{0},{1}]) fusion(x, w), kind=kInput, calls=body }})",
                     rows, columns);
}

// Two passes of two kernels, results of the first read by the second, then the elements. GPUs' second kernel joins the
// shares of the first itself; what the second pass makes is a result too, so a kernel of its own joins that.
TEST(RowProgramTest, FewLongRowsTakeAPairOfKernelsAPass) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    EXPECT_EQ(ExpectLoweredAgrees(FusedSoftmax(3, 70001), mode, DeviceClient(mode)->device().facts()),
              HasSoftwareKernels() ? 5 : 4);
    EXPECT_EQ(ExpectLoweredAgrees(FusedSoftmax(3, 70001), mode, AsGpu(mode)), 4);
  }
}

std::string WithWords(std::string text, const std::string& rows, const std::string& type) {
  text = std::regex_replace(text, std::regex("ROWS"), rows);
  return std::regex_replace(text, std::regex("TYPE"), type);
}

// Columns in 30 shares, and in 2: a batch norm of f32, of f16 in f32, and the place of the largest element, with
// initial values that count.
TEST(RowProgramTest, GpuKernelsJoinTheSharesOfThePassBefore) {
  const std::string norm = R"(sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
body { x = TYPE[ROWS,24] parameter(0)  w = f32[ROWS,24] convert(x)  z = f32[] constant(7)  n = f32[] constant(ROWS)
  nb = f32[24] broadcast(n), dimensions={}  s = f32[24] reduce(w, z), dimensions={0}, to_apply=sum  m = f32[24] divide(s, nb)
  mb = f32[ROWS,24] broadcast(m), dimensions={1}  d = f32[ROWS,24] subtract(w, mb)  q = f32[ROWS,24] multiply(d, d)
  t = f32[24] reduce(q, z), dimensions={0}, to_apply=sum  v = f32[24] divide(t, nb)  r = f32[24] rsqrt(v)
  rb = f32[ROWS,24] broadcast(r), dimensions={1}  y = f32[ROWS,24] multiply(d, rb)  ROOT c = TYPE[ROWS,24] convert(y) }
ENTRY e { x = TYPE[ROWS,24] parameter(0)  ROOT f = TYPE[ROWS,24] fusion(x), kind=kInput, calls=body })";
  const std::string largest =
      R"(max { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GE  v = f32[] select(g, a, b)  k = s32[] select(g, i, j)  ROOT t = (f32[], s32[]) tuple(v, k) }
body { x = f32[ROWS,24] parameter(0)  p = s32[ROWS,24] iota(), iota_dimension=0  l = f32[] constant(0.25)  o = s32[] constant(-1)
  r = (f32[24], s32[24]) reduce(x, p, l, o), dimensions={0}, to_apply=max  v = f32[24] get-tuple-element(r), index=0
  i = s32[24] get-tuple-element(r), index=1  f = f32[24] convert(i)  vb = f32[ROWS,24] broadcast(v), dimensions={1}
  fb = f32[ROWS,24] broadcast(f), dimensions={1}  d = f32[ROWS,24] subtract(x, vb)  ROOT y = f32[ROWS,24] multiply(d, fb) }
ENTRY e { x = f32[ROWS,24] parameter(0)  ROOT f = f32[ROWS,24] fusion(x), kind=kInput, calls=body })";
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    for (const char* rows : {"1920", "128"}) {
      for (const char* type : {"f32", "f16"}) {
        SCOPED_TRACE(fmt::format("{} {}", type, rows));
        EXPECT_EQ(ExpectLoweredAgrees(WithWords(norm, rows, type), mode, AsGpu(mode)), 3);
      }
      EXPECT_EQ(ExpectLoweredAgrees(WithWords(largest, rows, "f32"), mode, AsGpu(mode)), 2);
    }
  }
}

// Rows of pairs that lie apart: of a group of elements that a lane has, the first two alone are neighbours.
TEST(RowProgramTest, NeighboursEndInsideAGroup) {
  for (const std::string sizes : {"2,3,2", "4,5,2", "2,7,6"}) {
    const std::string rows = sizes.substr(2, 1);
    const std::string text = fmt::format(
        R"(max {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
sum {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
body {{ x = f32[{0}] parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[{1}] reduce(x, low), dimensions={{0,2}}, to_apply=max  mb = f32[{0}] broadcast(m), dimensions={{1}}
  d = f32[{0}] subtract(x, mb)  p = f32[{0}] exponential(d)
  s = f32[{1}] reduce(p, zero), dimensions={{0,2}}, to_apply=sum  sb = f32[{0}] broadcast(s), dimensions={{1}}
  ROOT y = f32[{0}] divide(p, sb) }}
ENTRY e {{ x = f32[{0}] parameter(0)  ROOT f = f32[{0}] fusion(x), kind=kInput, calls=body }})",
        sizes, rows);
    for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
      ASSERT_NE(DeviceClient(mode), nullptr);
      ExpectLoweredAgrees(text, mode, DeviceClient(mode)->device().facts());
      ExpectLoweredAgrees(text, mode, AsGpu(mode));
    }
  }
}

// Rows that stay in registers from pass to pass: large ones on software drivers, any on GPUs.
TEST(RowProgramTest, HeldRowsAgree) {
  ExpectBoth(Softmax(2048, 512, 1), 1);
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    EXPECT_EQ(ExpectLoweredAgrees(FusedSoftmax(7, 128), mode, AsGpu(mode)), 1);
    EXPECT_EQ(ExpectLoweredAgrees(FusedSoftmax(5, 768), mode, AsGpu(mode)), 1);
  }
}

// The kernels for GPUs, on whatever device there is: other lanes, joins through shared memory, other shares.
TEST(RowProgramTest, GpuShapesAgree) {
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    ASSERT_NE(DeviceClient(mode), nullptr);
    DeviceFacts facts = AsGpu(mode);
    for (bool shuffle : {facts.subgroup_shuffle, false}) {  // a device that does without has no kernels with them
      facts.subgroup_shuffle = shuffle;
      ExpectLoweredAgrees(Reduce("f32", "19,1000", "1", "19"), mode, facts);
      ExpectLoweredAgrees(Reduce("s64", "19,1003", "1", "19"), mode, facts);
      ExpectLoweredAgrees(Reduce("f32", "500000", "0", ""), mode, facts);
      ExpectLoweredAgrees(Reduce("f32", "3000,30", "0", "30"), mode, facts);
      ExpectLoweredAgrees(
          "f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] atan2(a, b) }\n"
          "ENTRY e { x = f32[3,1] parameter(0)  z = f32[] constant(1)  ROOT r = f32[3] reduce(x, z), dimensions={1}, "
          "to_apply=f }",
          mode, facts);
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
