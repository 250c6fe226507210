// Combiners that do not associate: folded from the left, initial value first, on the device and on the reference.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numeric>

#include "tests/support/gpu_client.h"
#include "tests/support/lowered_run.h"
#include "tests/support/replica_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace combiner_order_test {

using enum ElementType;

// `body` ends in a ROOT and has a, what was folded so far, and b, an element.
std::string Combiner(const std::string& type, const std::string& body) {
  return fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  {1} }}\n", type, body);
}
std::string Operation(const std::string& type, const std::string& operation, bool exchanged = false) {
  return Combiner(type, fmt::format("ROOT r = {}[] {}({})", type, operation, exchanged ? "b, a" : "a, b"));
}

std::string Reduce(const std::string& combiner, const std::string& type, const std::string& shape,
                   const std::string& dimensions, const std::string& result) {
  return combiner + fmt::format(
                        "ENTRY e {{ x = {0}[{1}] parameter(0)  z = {0}[] parameter(1)\n"
                        "ROOT r = {0}[{2}] reduce(x, z), dimensions={{{3}}}, to_apply=f }}",
                        type, shape, result, dimensions);
}

std::string Window(const std::string& combiner, const std::string& type, const std::string& shape,
                   const std::string& window, const std::string& result) {
  return combiner + fmt::format(
                        "ENTRY e {{ x = {0}[{1}] parameter(0)  z = {0}[] parameter(1)\n"
                        "ROOT r = {0}[{2}] reduce-window(x, z), window={{{3}}}, to_apply=f }}",
                        type, shape, result, window);
}

// Both devices' ways to bind against the reference, bit by bit unless a function rounds otherwise.
void ExpectBoth(const std::string& text, bool exact = true, uint64_t seed = 0) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  if (exact) options.tolerance = Tolerance{};
  RunBoth(text, RandomArguments(*module, seed), options);
}

std::vector<int32_t> Counted(int64_t count) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>((i * 7919 + 13) % 251) - 120;
  return values;
}

// What a loop of C++ gives, on the device and on the reference.
template <typename T>
void ExpectNumbers(const std::string& text, std::vector<Literal> arguments, const Shape& shape,
                   const std::vector<T>& wanted) {
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const Literal expected = Literal::FromVector<T>(shape, wanted);
  RunOptions exact;
  exact.tolerance = Tolerance{};
  const auto reference = RunOnCpu(*module, arguments);
  ASSERT_TRUE(reference);
  ExpectAgreement(*reference, expected, exact, "reference: " + text);
  RunBoth(text, arguments, exact);
}

TEST(CombinerOrderDeviceTest, SevenElementsAreTakenOffOneAfterTheOther) {
  const std::vector<int32_t> x{100, 3, -7, 50, 2, 9, 31};
  const auto arguments = [&] {
    std::vector<Literal> values;
    values.push_back(Literal::FromVector<int32_t>(Shape(kS32, {7}), x));
    values.push_back(Literal::ScalarInt(kS32, 1000));
    return values;
  };
  int32_t taken = 1000, turned = 1000, divided = 1000, alternating = 1000;
  for (const int32_t v : x) {
    taken -= v;
    turned = v - turned;
    divided /= v;
    alternating = alternating - 2 * v;
  }
  const Shape scalar(kS32);
  ExpectNumbers<int32_t>(Reduce(Operation("s32", "subtract"), "s32", "7", "0", ""), arguments(), scalar, {taken});
  ExpectNumbers<int32_t>(Reduce(Operation("s32", "subtract", true), "s32", "7", "0", ""), arguments(), scalar,
                         {turned});
  ExpectNumbers<int32_t>(Reduce(Operation("s32", "divide"), "s32", "7", "0", ""), arguments(), scalar, {divided});
  const std::string twice =
      Combiner("s32", "c = s32[] constant(2)  d = s32[] multiply(c, b)  ROOT r = s32[] subtract(a, d)");
  ExpectNumbers<int32_t>(Reduce(twice, "s32", "7", "0", ""), arguments(), scalar, {alternating});
}

TEST(CombinerOrderDeviceTest, WindowsTakeTheirElementsInOrder) {
  const std::vector<float> x{1.5f, -2.25f, 3, 0.125f, 7, -0.5f, 2, 9};
  std::vector<float> wanted;
  for (size_t i = 0; i + 3 <= x.size(); ++i) {
    float folded = 0.75f;
    for (size_t t = 0; t < 3; ++t) folded = x[i + t] - folded;
    wanted.push_back(folded);
  }
  std::vector<Literal> arguments;
  arguments.push_back(Literal::FromVector<float>(Shape(kF32, {8}), x));
  arguments.push_back(Literal::Scalar(kF32, 0.75));
  ExpectNumbers<float>(Window(Operation("f32", "subtract", true), "f32", "8", "size=3", "6"), std::move(arguments),
                       Shape(kF32, {6}), wanted);
}

// As XLA does: initial values lie in the padding and are folded where they lie.
TEST(CombinerOrderDeviceTest, PaddingTakesPartWhereItLies) {
  const std::vector<int32_t> x{5, 11, -3};
  std::vector<int32_t> wanted;
  for (int i = -2; i <= 2; ++i) {
    int32_t folded = 4;
    for (int t = 0; t < 3; ++t) folded -= i + t < 0 || i + t > 2 ? 4 : x[static_cast<size_t>(i + t)];
    wanted.push_back(folded);
  }
  std::vector<Literal> arguments;
  arguments.push_back(Literal::FromVector<int32_t>(Shape(kS32, {3}), x));
  arguments.push_back(Literal::ScalarInt(kS32, 4));
  ExpectNumbers<int32_t>(Window(Operation("s32", "subtract"), "s32", "3", "size=3 pad=2_2", "5"), std::move(arguments),
                         Shape(kS32, {5}), wanted);
}

// Several dispatches where loops or the time of one are limited.
TEST(CombinerOrderDeviceTest, LongRowsGoOnFromDispatchToDispatch) {
  constexpr int64_t kLength = 100'003, kRows = 3;
  const std::vector<int32_t> x = Counted(kRows * kLength);
  std::vector<int32_t> by_row, whole{17};
  for (int64_t row = 0; row < kRows; ++row) {
    uint32_t folded = 17;
    for (int64_t i = 0; i < kLength; ++i)
      folded = static_cast<uint32_t>(x[static_cast<size_t>(row * kLength + i)]) * 3 - folded;
    by_row.push_back(static_cast<int32_t>(folded));
  }
  for (const int32_t v : x)
    whole[0] = static_cast<int32_t>(static_cast<uint32_t>(v) * 3 - static_cast<uint32_t>(whole[0]));
  const std::string f =
      Combiner("s32", "c = s32[] constant(3)  d = s32[] multiply(c, b)  ROOT r = s32[] subtract(d, a)");
  const auto arguments = [&](std::vector<int64_t> sizes) {
    std::vector<Literal> values;
    values.push_back(Literal::FromVector<int32_t>(Shape(kS32, std::move(sizes)), x));
    values.push_back(Literal::ScalarInt(kS32, 17));
    return values;
  };
  ExpectNumbers<int32_t>(Reduce(f, "s32", "3,100003", "1", "3"), arguments({3, kLength}), Shape(kS32, {3}), by_row);
  ExpectNumbers<int32_t>(Reduce(f, "s32", "3,100003", "0,1", ""), arguments({3, kLength}), Shape(kS32), whole);
  ExpectNumbers<int32_t>(Reduce(f, "s32", "300009", "0", ""), arguments({3 * kLength}), Shape(kS32), whole);
  ExpectBoth(Reduce(Operation("f32", "subtract"), "f32", "100003,8", "0", "8"));
  ExpectBoth(Reduce(Operation("u8", "subtract", true), "u8", "70001,3", "0", "3"));
}

TEST(CombinerOrderDeviceTest, EveryOperationInEveryTypeAndBothOrders) {
  for (const bool exchanged : {false, true}) {
    for (const char* type : {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "s4", "u4", "s2", "u2"}) {
      for (const char* operation : {"subtract", "divide", "remainder", "power", "shift-left", "shift-right-arithmetic",
                                    "shift-right-logical"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", type, operation, exchanged));
        ExpectBoth(Reduce(Operation(type, operation, exchanged), type, "5,7", "1", "5"));
      }
    }
    for (const char* type : {"f32", "f16", "bf16", "f64", "f8e4m3fn", "f8e5m2", "c64", "c128"}) {
      SCOPED_TRACE(fmt::format("{} {}", type, exchanged));
      ExpectBoth(Reduce(Operation(type, "subtract", exchanged), type, "5,7", "1", "5"));
      if (type[0] != 'c') ExpectBoth(Reduce(Operation(type, "remainder", exchanged), type, "5,7", "1", "5"));
      for (const char* operation : {"divide", "power", "atan2"}) {
        if (type[0] == 'c' && std::string(operation) == "atan2") continue;
        // A power of a power of complex numbers may have an angle of 1e24, of which no digit is known.
        const bool angles = type[0] == 'c' && std::string(operation) == "power";
        ExpectBoth(Reduce(Operation(type, operation, exchanged), type, angles ? "5,2" : "5,4", "1", "5"), false);
      }
    }
    ExpectBoth(
        Reduce(Combiner("pred", fmt::format("ROOT r = pred[] compare({}), direction=LT", exchanged ? "b, a" : "a, b")),
               "pred", "11,9", "1", "11"));
  }
}

// A sum so written would round once: each step rounds to the type that the text states.
TEST(CombinerOrderDeviceTest, NarrowFloatsRoundAtEachStep) {
  const std::vector<uint16_t> ones(300, 0x3F80);
  std::vector<Literal> arguments;
  arguments.push_back(Literal::FromVector<uint16_t>(Shape(kBF16, {300}), ones));
  arguments.push_back(Literal::Scalar(kBF16, 0));
  // -256 less 1 is -257, which bf16 rounds to -256.
  ExpectNumbers<uint16_t>(Reduce(Operation("bf16", "subtract"), "bf16", "300", "0", ""), std::move(arguments),
                          Shape(kBF16), {0xC380});
}

TEST(CombinerOrderDeviceTest, AnyDimensionsOfAnyShape) {
  const std::string f = Operation("f32", "subtract", true);
  ExpectBoth(Reduce(f, "f32", "", "", ""));
  ExpectBoth(Reduce(f, "f32", "5,4", "", "5,4"));
  ExpectBoth(Reduce(f, "f32", "13,17,29", "1", "13,29"));
  ExpectBoth(Reduce(f, "f32", "13,17,8", "2,0", "17"));
  ExpectBoth(Reduce(f, "f32", "13,17,8", "0,2", "17"));
  ExpectBoth(Reduce(f, "f32", "2,3,5,2,3,4", "1,3,4", "2,5,4"));
  ExpectBoth(Reduce(f, "f32", "37,1024", "0", "1024"));
  ExpectBoth(Reduce(f, "f32", "1031,7", "1", "1031"));
  ExpectBoth(Reduce(f, "f32", "5,0", "1", "5"));
  ExpectBoth(Reduce(f, "f32", "0,5", "1", "0"));
}

TEST(CombinerOrderDeviceTest, WindowsWithPaddingStridesAndDilations) {
  const std::string f = Operation("f32", "subtract");
  ExpectBoth(Window(f, "f32", "3,5", "size=1x2", "3,4"));
  ExpectBoth(Window(f, "f32", "2,12,12,3", "size=1x2x2x1 stride=1x2x2x1", "2,6,6,3"));
  ExpectBoth(Window(f, "f32", "11,13", "size=3x2 stride=1x3 pad=1_2x0_0 rhs_dilate=1x2", "12,4"));
  ExpectBoth(Window(f, "f32", "6,7", "size=2x1 pad=0_1x0_0 lhs_dilate=2x2", "11,13"));
  ExpectBoth(Window(f, "f32", "20", "size=4 stride=2 pad=-1_1", "9"));
  ExpectBoth(Window(f, "f32", "0", "size=2 pad=2_2", "3"));
  // Tiles that are written out, and such as move.
  ExpectBoth(Window(f, "f32", "4,64,66", "size=1x3x3", "4,62,64"));
  ExpectBoth(Window(f, "f32", "2,66,66,16", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0", "2,33,33,16"));
  // As long as a dimension: no running window, from either end; and one longer than a loop may be.
  ExpectBoth(Window(Operation("s32", "subtract"), "s32", "300", "size=300 pad=299_0", "300"));
  ExpectBoth(Window(f, "f32", "5,300", "size=1x300 pad=0_0x0_299", "5,300"));
  ExpectBoth(Window(Operation("s32", "subtract", true), "s32", "66001", "size=66000", "2"));
}

// 0.5 a + b leaves the initial value 0 before an element as it is, so that the reference may walk along the elements.
TEST(CombinerOrderDeviceTest, ALeakySumRunsAlongTheElements) {
  const std::string f = Combiner("f32", "h = f32[] constant(0.5)  d = f32[] multiply(h, a)  ROOT r = f32[] add(d, b)");
  for (const char* pad : {"63_0", "0_63"}) {
    const std::string window = fmt::format("size=64 pad={}", pad);
    std::string text = Window(f, "f32", "64", window, "64");
    text.replace(text.find("z = f32[] parameter(1)"), 22, "z = f32[] constant(0)");
    ExpectBoth(text);
  }
}

TEST(CombinerOrderDeviceTest, SeveralValuesTogether) {
  const std::string f =
      "f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)\n"
      "d = f32[] subtract(b, a)  k = s32[] maximum(i, j)  m = s32[] subtract(k, i)  ROOT t = (f32[], s32[]) tuple(d, "
      "m) }\n";
  ExpectBoth(f +
             "ENTRY e { x = f32[31,20] parameter(0)  p = s32[31,20] parameter(1)  u = f32[] parameter(2)  v = s32[] "
             "parameter(3)\n"
             "ROOT r = (f32[31], s32[31]) reduce(x, p, u, v), dimensions={1}, to_apply=f }");
  ExpectBoth(
      f +
      "ENTRY e { x = f32[31] parameter(0)  p = s32[31] parameter(1)  u = f32[] parameter(2)  v = s32[] parameter(3)\n"
      "ROOT r = (f32[15], s32[15]) reduce-window(x, p, u, v), window={size=3 stride=2}, to_apply=f }");
}

// Beside a sum of the same rows, with what is computed before and after, and with rows that are read again.
TEST(CombinerOrderDeviceTest, FusionsKeepTheOrder) {
  const std::string sum = "s { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n";
  ExpectBoth(
      Operation("f32", "subtract") + sum +
          "ENTRY e { x = f32[37,64] parameter(0)  z = f32[] parameter(1)  q = f32[37,64] negate(x)\n"
          "d = f32[37] reduce(q, z), dimensions={1}, to_apply=f  t = f32[37] reduce(q, z), dimensions={1}, to_apply=s\n"
          "db = f32[37,64] broadcast(d), dimensions={0}  y = f32[37,64] subtract(q, db)\n"
          "w = f32[37] reduce(y, z), dimensions={1}, to_apply=f\n"
          "ROOT r = (f32[37], f32[37], f32[37,64], f32[37]) tuple(d, t, y, w) }",
      false);
  ExpectBoth(Operation("f32", "subtract", true) +
                 "ENTRY e { x = f32[64,48] parameter(0)  k = f32[48,32] parameter(1)  z = f32[] parameter(2)\n"
                 "p = f32[64,32] dot(x, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                 "ROOT d = f32[64] reduce(p, z), dimensions={1}, to_apply=f }",
             false);
}

// A reduce that looked through a transpose took the elements as they lay before it.
TEST(CombinerOrderDeviceTest, TransposedElementsAreFoldedInTheOrderOfTheTransposedArray) {
  for (const char* dimensions : {"0,1", "0,1,2", "1,2"}) {
    const int64_t kept = dimensions[0] == '1' ? 7 : 5;
    const std::string result = std::string(dimensions) == "0,1,2" ? "" : std::to_string(kept);
    ExpectBoth(Operation("s32", "subtract", true) +
               fmt::format("ENTRY e {{ x = s32[3,5,7] parameter(0)  z = s32[] parameter(1)\n"
                           "t = s32[7,3,5] transpose(x), dimensions={{2,0,1}}\n"
                           "ROOT r = s32[{}] reduce(t, z), dimensions={{{}}}, to_apply=f }}",
                           result, dimensions));
  }
}

// The initial value may be a result that the same kernel computes.
TEST(CombinerOrderDeviceTest, InitialValuesAreComputed) {
  ExpectBoth(Operation("f32", "subtract") +
             "ENTRY e { x = f32[5,40] parameter(0)  y = f32[] parameter(1)  z = f32[] negate(y)\n"
             "d = f32[5] reduce(x, z), dimensions={1}, to_apply=f  w = f32[] reduce(d, z), dimensions={0}, to_apply=f\n"
             "ROOT r = f32[40] reduce(x, w), dimensions={0}, to_apply=f }");
}

TEST(CombinerOrderDeviceTest, InsideLoops) {
  const std::string text =
      Operation("s32", "subtract", true) +
      "c { s = (s32[], s32[12,33]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)\n"
      "ROOT l = pred[] compare(i, n), direction=LT }\n"
      "b { s = (s32[], s32[12,33]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = s32[12,33] "
      "get-tuple-element(s), index=1\n"
      "one = s32[] constant(1)  k = s32[] add(i, one)  d = s32[12] reduce(x, i), dimensions={1}, to_apply=f\n"
      "e = s32[12,33] broadcast(d), dimensions={0}  y = s32[12,33] add(x, e)  w = s32[12,33] reduce-window(y, k), "
      "window={size=1x3 pad=0_0x1_1}, to_apply=f  ROOT t = (s32[], s32[12,33]) tuple(k, w) }\n"
      "ENTRY e { x = s32[12,33] parameter(0)  z = s32[] constant(0)  s = (s32[], s32[12,33]) tuple(z, x)\n"
      "ROOT w = (s32[], s32[12,33]) while(s), condition=c, body=b }";
  ExpectBoth(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const auto arguments = RandomArguments(*module);
  RunOptions apart;
  apart.tolerance = Tolerance{};
  apart.loop_kernels = false;
  for (const BindingMode mode : ModesToRun()) {
    const auto result = RunOnDevice(mode, *module, arguments, apart), expected = RunOnCpu(*module, arguments);
    ASSERT_TRUE(result && expected);
    ExpectAgreement(*result, *expected, apart, text);
  }
}

// What compilation chooses for GPUs alone.
TEST(CombinerOrderDeviceTest, ADeviceTakenForAGpuFoldsInOrder) {
  for (const BindingMode mode : ModesToRun()) {
    const auto client = GpuClient(mode);
    ASSERT_NE(client, nullptr);
    for (const std::string& text : {Reduce(Operation("f32", "subtract", true), "f32", "5,4099", "1", "5"),
                                    Reduce(Operation("f32", "subtract"), "f32", "513,64", "0", "64"),
                                    Reduce(Operation("s32", "subtract", true), "s32", "200003", "0", ""),
                                    Window(Operation("f32", "subtract"), "f32", "4,64,66", "size=1x3x3", "4,62,64")}) {
      const auto module = ParseModule(text);
      ASSERT_NE(module, nullptr);
      const auto arguments = RandomArguments(*module);
      const auto result = RunOnClient(*client, *module, arguments), expected = RunOnCpu(*module, arguments);
      ASSERT_TRUE(result && expected);
      RunOptions exact;
      exact.tolerance = Tolerance{};
      ExpectAgreement(*result, *expected, exact, text);
    }
  }
}

TEST(CombinerOrderDeviceTest, SelectAndScatterTakesSourcesInTheirOrder) {
  for (const bool exchanged : {false, true}) {
    ExpectBoth(fmt::format(
        "g {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}\n{}"
        "ENTRY e {{ x = f32[6,9] parameter(0)  y = f32[5,7] parameter(1)  z = f32[] parameter(2)\n"
        "ROOT r = f32[6,9] select-and-scatter(x, y, z), window={{size=2x3}}, select=g, scatter=f }}",
        Operation("f32", "subtract", exchanged)));
  }
}

TEST(CombinerOrderDeviceTest, ReplicasAreFoldedByTheirNumbers) {
  for (const bool exchanged : {false, true}) {
    const std::string f = Operation("s32", "subtract", exchanged);
    ExpectReplicasAgree(
        f + "ENTRY e { x = s32[6] parameter(0)  ROOT r = s32[6] all-reduce(x), replica_groups={}, to_apply=f }",
        {5, 1});
    ExpectReplicasAgree(f + "ENTRY e { x = s32[8] parameter(0)  ROOT r = s32[2] reduce-scatter(x), replica_groups={}, "
                            "dimensions={0}, to_apply=f }",
                        {4, 1});
  }
  ExpectReplicasAgree(
      Combiner("f32", "c = f32[] constant(2)  d = f32[] multiply(c, b)  ROOT r = f32[] subtract(a, d)") +
          "ENTRY e { x = f32[6] parameter(0)  ROOT r = f32[6] all-reduce(x), replica_groups={{3,1,0},{2}}, to_apply=f "
          "}",
      {4, 1});
}

}  // namespace combiner_order_test
}  // namespace VXLA_NAMESPACE::testing
