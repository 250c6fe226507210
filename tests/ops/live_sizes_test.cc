// Arrays that live in part, through device memory: in both binding modes the bits of the CPU reference, which are those
// of the program at exactly the live sizes, whatever the padding holds.
#include "core/live_sizes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "scheduler/plan.h"
#include "tests/support/device_test_support.h"
#include "tests/support/live_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

RunOptions HostAllowed() {
  RunOptions options;
  options.allow_fallbacks = true;
  options.tolerance = Tolerance{};
  return options;
}

bool BelongsToHost(const std::string& opcode) {
  return opcode == "custom-call" || opcode.find("infeed") == 0 || opcode.find("outfeed") == 0 ||
         opcode.find("send") == 0 || opcode.find("recv") == 0;
}

TEST(LiveSizesTest, EachOpcodeGivesTheProgramAtExactlyTheLiveSizes) {
  for (const LiveProgram& program : LivePrograms()) {
    SCOPED_TRACE(program.opcode + "\n" + program.text.substr(program.text.find("ENTRY")));
    const auto exact = ParseModule(ExactText(program, 1));
    const auto bounded = ParseModule(BoundedText(program, 1));
    ASSERT_TRUE(exact != nullptr && bounded != nullptr);
    const std::vector<Literal> arguments = ExactArguments(*exact, 3);
    const auto want = RunOnCpu(*exact, arguments);
    RunOptions options;
    options.allow_fallbacks = BelongsToHost(program.opcode);
    const auto got = RunBoth(BoundedText(program, 1), PoisonedArguments(*bounded, arguments), options);
    ASSERT_TRUE(want.has_value() && got.has_value());
    ExpectAgreement(CutToLiveSizes(*got), CutToLiveSizes(*want), options, "the program at exactly the live sizes");
  }
}

// 1, 2, 3 ... under a bound, NaN behind them.
Literal Counting(int64_t live, int64_t bound) {
  Shape shape(ElementType::kF32, {bound});
  shape.set_dynamic_dimension(0, true);
  Literal literal(shape);
  for (int64_t i = 0; i < bound; ++i) literal.SetDouble(i, i < live ? static_cast<double>(i + 1) : NAN);
  literal.set_dynamic_size(0, live);
  return literal;
}

// Whatever the type and the rank, where the sizes begin is a matter of the bytes before them.
TEST(LiveSizesTest, KernelsReadAndSetSizes) {
  for (const char* type : {"pred", "s4", "u8", "bf16", "f32", "s64", "c128"}) {
    SCOPED_TRACE(type);
    const std::string text = fmt::format(R"(HloModule m
ENTRY e {{
  p = {0}[<=5,3,<=7] parameter(0)
  two = s32[] constant(2)
  n = s32[] get-dimension-size(p), dimensions={{2}}
  k = s32[] get-dimension-size(p), dimensions={{1}}
  s = {0}[<=5,3,<=7] set-dimension-size(p, two), dimensions={{0}}
  m = s32[] get-dimension-size(s), dimensions={{0}}
  t = {0}[<=5,3,<=7] set-dimension-size(s, m), dimensions={{2}}
  whole = s32[] constant(5)
  u = {0}[5,3,<=7] set-dimension-size(t, whole), dimensions={{0}}
  ROOT r = (s32[], s32[], s32[], {0}[<=5,3,<=7], {0}[<=5,3,<=7], {0}[5,3,<=7]) tuple(n, k, m, s, t, u)
}})",
                                         type);
    const auto module = ParseModule(text);
    ASSERT_TRUE(module != nullptr);
    const Shape& bounded = module->entry()->parameter(0)->shape();
    const Literal dense = RandomLiteral(Shape(bounded.element_type(), {3, 3, 4}), 1);
    RunOptions exact;
    exact.tolerance = Tolerance{};
    RunBoth(text, {PadToBounds(dense, bounded)}, exact);
  }
}

// Whose size comes from the values is checked by the host, with both numbers in the message.
TEST(LiveSizesTest, SizesOutOfRangeAreRefused) {
  constexpr char kText[] = R"(HloModule m
ENTRY e {
  p = f32[<=5] parameter(0)
  n = s32[] parameter(1)
  ROOT r = f32[<=5] set-dimension-size(p, n), dimensions={0}
})";
  const Literal array = Counting(4, 5), size = Literal::ScalarInt(ElementType::kS32, 6);
  for (BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*ParseModule(kText));
    ASSERT_TRUE(executable.ok());
    const auto value = (*executable)->Run(std::vector<const Literal*>{&array, &size});
    ASSERT_FALSE(value.ok());
    EXPECT_THAT(value.status().message(), HasSubstr("size 6 is not in 0 to 5, the bound of dimension 0 of f32[<=5]"));
  }
}

constexpr char kLoop[] = R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
more {
  s = (f32[<=5], f32[64], f32[]) parameter(0)
  v = f32[<=5] get-tuple-element(s), index=0
  n = s32[] get-dimension-size(v), dimensions={0}
  two = s32[] constant(2)
  ROOT r = pred[] compare(n, two), direction=GT
}
drop_one {
  s = (f32[<=5], f32[64], f32[]) parameter(0)
  v = f32[<=5] get-tuple-element(s), index=0
  w = f32[64] get-tuple-element(s), index=1
  t = f32[] get-tuple-element(s), index=2
  n = s32[] get-dimension-size(v), dimensions={0}
  one = s32[] constant(1)
  m = s32[] subtract(n, one)
  less = f32[<=5] set-dimension-size(v, m), dimensions={0}
  total = f32[] reduce(less, t), dimensions={0}, to_apply=sum
  b = f32[64] broadcast(total), dimensions={}
  x = f32[64] multiply(w, b)
  ROOT r = (f32[<=5], f32[64], f32[]) tuple(less, x, total)
}
ENTRY e {
  p = f32[<=5] parameter(0)
  q = f32[64] parameter(1)
  z = f32[] constant(0)
  s = (f32[<=5], f32[64], f32[]) tuple(p, q, z)
  ROOT l = (f32[<=5], f32[64], f32[]) while(s), condition=more, body=drop_one
})";

// The loop's state keeps its live size from round to round on the device; what is static of the body runs there.
TEST(LiveSizesTest, LoopsKeepTheirLiveStateOnTheDevice) {
  const std::vector<Literal> arguments{Counting(4, 5), RandomLiteral(Shape(ElementType::kF32, {64}), 1)};
  const auto result = RunBoth(kLoop, arguments, HostAllowed());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), 2);
  EXPECT_EQ(result->tuple_elements()[2].GetDouble(0), 9);  // 1 + 2 + 3, then 1 + 2
  const auto module = ParseModule(kLoop);
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    auto executable = DeviceClient(mode)->Compile(*module);
    ASSERT_TRUE(executable.ok());
    EXPECT_GT((*executable)->plan().dispatch_count(), 0);
    EXPECT_THAT((*executable)->fallbacks(), ::testing::Not(Contains(Field(&Fallback::opcode, "while"))));
    EXPECT_THAT((*executable)->fallbacks(), Contains(Field(&Fallback::instruction, "drop_one/less")));
  }
}

constexpr char kBranches[] = R"(HloModule m
front {
  s = (f32[<=5], f32[64]) parameter(0)
  v = f32[<=5] get-tuple-element(s), index=0
  w = f32[64] get-tuple-element(s), index=1
  n = f32[64] negate(w)
  two = s32[] constant(2)
  f = f32[<=5] set-dimension-size(v, two), dimensions={0}
  ROOT r = (f32[<=5], f32[64]) tuple(f, n)
}
back {
  s = (f32[<=5], f32[64]) parameter(0)
  v = f32[<=5] get-tuple-element(s), index=0
  w = f32[64] get-tuple-element(s), index=1
  b = f32[<=5] reverse(v), dimensions={0}
  x = f32[64] multiply(w, w)
  ROOT r = (f32[<=5], f32[64]) tuple(b, x)
}
ENTRY e {
  p = f32[<=5] parameter(0)
  q = f32[64] parameter(1)
  c = pred[] parameter(2)
  s = (f32[<=5], f32[64]) tuple(p, q)
  ROOT r = (f32[<=5], f32[64]) conditional(c, s, s), true_computation=front, false_computation=back
})";

TEST(LiveSizesTest, BranchesGiveTheirOwnLiveSizes) {
  for (bool front : {true, false}) {
    const std::vector<Literal> arguments{Counting(4, 5), RandomLiteral(Shape(ElementType::kF32, {64}), 1),
                                         Literal::ScalarInt(ElementType::kPred, front)};
    const auto result = RunBoth(kBranches, arguments, HostAllowed());
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), front ? 2 : 4);
    EXPECT_EQ(result->tuple_elements()[0].GetDouble(0), front ? 1 : 4);
  }
  auto executable = DeviceClient(BindingMode::kAddresses)->Compile(*ParseModule(kBranches));
  ASSERT_TRUE(executable.ok());
  EXPECT_GT((*executable)->plan().dispatch_count(), 0);
}

// A tuple that is stated dynamic where its operand is static: the device's memory gets live sizes behind it.
TEST(LiveSizesTest, ValuesTakeTheFlagsThatAreStated) {
  const auto result = RunBoth(
      R"(HloModule m
grow {
  s = f32[<=5] parameter(0)
  ROOT r = f32[<=5] negate(s)
}
keep {
  s = f32[<=5] parameter(0)
  ROOT r = f32[<=5] copy(s)
}
ENTRY e {
  p = f32[5] parameter(0)
  c = pred[] parameter(1)
  t = (f32[<=5], f32[5]) tuple(p, p)
  g = f32[<=5] get-tuple-element(t), index=0
  n = f32[<=5] conditional(c, p, g), true_computation=grow, false_computation=keep
  ROOT r = ((f32[<=5], f32[5]), f32[<=5]) tuple(t, n)
})",
      {RandomLiteral(Shape(ElementType::kF32, {5}), 1), Literal::ScalarInt(ElementType::kPred, true)}, HostAllowed());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->shape().ToString(), "((f32[<=5], f32[5]), f32[<=5])");
}

// At their sizes programs are fused as any others: the sum, and what follows it.
TEST(LiveSizesTest, ProgramsAreFused) {
  RunOptions options;
  options.dispatches = 2;
  RunBoth(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  p = f32[<=5] parameter(0)
  q = f32[64] parameter(1)
  z = f32[] constant(0)
  t = f32[] reduce(p, z), dimensions={0}, to_apply=sum
  b = f32[64] broadcast(t), dimensions={}
  m = f32[64] multiply(q, b)
  ROOT r = f32[64] negate(m)
})",
          {Counting(3, 5), RandomLiteral(Shape(ElementType::kF32, {64}), 1)}, options);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
