// Arrays that live in part, through device memory: in both binding modes what the CPU reference gives, which is what
// the program at exactly the live sizes gives, whatever the padding holds.
#include "core/sizes/live_sizes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/passes/base/pipeline.h"
#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"
#include "tests/support/live_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using ::testing::HasSubstr;

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

// An array without elements has the sizes of its other dimensions all the same.
TEST(LiveSizesTest, EmptyArraysHaveSizes) {
  const auto result = RunBoth(R"(HloModule m
ENTRY e {
  p = f16[0,8] parameter(0)
  n = s32[] parameter(1)
  m = s32[] add(n, n)
  ROOT r = f16[0,<=8] set-dimension-size(p, m), dimensions={1}
})",
                              {Literal(Shape(ElementType::kF16, {0, 8})), Literal::ScalarInt(ElementType::kS32, 3)});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->dynamic_size(1), 6);
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

// The size that a round leaves is a value like others: nothing of the loop is the host's.
TEST(LiveSizesTest, LoopsKeepTheirLiveStateOnTheDevice) {
  const std::vector<Literal> arguments{Counting(4, 5), RandomLiteral(Shape(ElementType::kF32, {64}), 1)};
  const auto result = RunBoth(kLoop, arguments);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), 2);
  EXPECT_EQ(result->tuple_elements()[2].GetDouble(0), 9);  // 1 + 2 + 3, then 1 + 2
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
    const auto result = RunBoth(kBranches, arguments);
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
      {RandomLiteral(Shape(ElementType::kF32, {5}), 1), Literal::ScalarInt(ElementType::kPred, true)});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->shape().ToString(), "((f32[<=5], f32[5]), f32[<=5])");
}

constexpr char kKeepPositive[] = R"(HloModule m
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
up {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GT
}
total {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  p = f32[<=8] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[<=8] broadcast(zero), dimensions={}
  live = s32[] get-dimension-size(p), dimensions={0}
  as_many = f32[<=8] set-dimension-size(zeros, live), dimensions={0}
  positive = pred[<=8] compare(p, as_many), direction=GT
  ones = s32[<=8] convert(positive)
  none = s32[] constant(0)
  count = s32[] reduce(ones, none), dimensions={0}, to_apply=sum
  sorted = f32[<=8] sort(p), dimensions={0}, to_apply=up
  kept = f32[<=8] set-dimension-size(sorted, count), dimensions={0}
  mean = f32[] reduce(kept, zero), dimensions={0}, to_apply=total
  ROOT r = (f32[<=8], f32[]) tuple(kept, mean)
})";

// The count is computed by kernels and read back, the rest is compiled for it.
TEST(LiveSizesTest, SizesThatDataDecideNeedNoHostStep) {
  for (const int64_t live : {0, 3, 8}) {
    Literal p = Counting(live, 8);
    if (live > 0) p.SetDouble(0, -1);
    const auto result = RunBoth(kKeepPositive, {p});
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), std::max<int64_t>(live - 1, 0));
  }
}

// What is sorted along with them is static, also where its result is stated to be dynamic; data decide the size here.
TEST(LiveSizesTest, AStaticArraySortedBesideDynamicOnesLivesWhole) {
  constexpr char kText[] = R"(HloModule m
less { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { p = f32[8] parameter(0)  q = s32[8] iota(), iota_dimension=0  n = s32[] parameter(1)
  m = s32[] add(n, n)
  d = f32[<=8] set-dimension-size(p, m), dimensions={0}
  ROOT r = (f32[<=8], s32[<=8]) sort(d, q), dimensions={0}, to_apply=less
})";
  const auto result =
      RunBoth(kText, {RandomLiteral(Shape(ElementType::kF32, {8}), 1), Literal::ScalarInt(ElementType::kS32, 2)});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), 4);
  EXPECT_EQ(result->tuple_elements()[1].dynamic_size(0), 8);
}

// Sizes that no trip changes: the state is static, and the loop as any other.
TEST(LiveSizesTest, LoopsOfOneSizeRunInKernels) {
  const auto result = RunBoth(R"(HloModule m
more {
  s = (f32[<=5], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  v = f32[<=5] get-tuple-element(s), index=0
  n = s32[] get-dimension-size(v), dimensions={0}
  ROOT r = pred[] compare(i, n), direction=LT
}
shift {
  s = (f32[<=5], s32[]) parameter(0)
  v = f32[<=5] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  w = f32[<=5] reverse(v), dimensions={0}
  u = f32[<=5] add(v, w)
  ROOT r = (f32[<=5], s32[]) tuple(u, next)
}
ENTRY e {
  p = f32[<=5] parameter(0)
  z = s32[] constant(0)
  s = (f32[<=5], s32[]) tuple(p, z)
  ROOT l = (f32[<=5], s32[]) while(s), condition=more, body=shift
})",
                              {Counting(3, 5)});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->tuple_elements()[0].dynamic_size(0), 3);
  EXPECT_EQ(result->tuple_elements()[0].GetDouble(2), 16);  // 1, 2, 3 -> 4, 4, 4 -> 8 -> 16
}

// A result goes on as an argument, its sizes with it; the same sizes again are a replay.
TEST(LiveSizesTest, ValuesKeepTheirSizesOnTheDevice) {
  const auto module = ParseModule(R"(HloModule m
ENTRY e {
  p = f32[<=8] parameter(0)
  n = f32[<=8] negate(p)
  ROOT c = f32[<=16] concatenate(p, n), dimensions={0}
})");
  const auto sum = ParseModule(R"(HloModule m
total {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  p = f32[<=16] parameter(0)
  m = f32[<=16] multiply(p, p)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(m, z), dimensions={0}, to_apply=total
})");
  ASSERT_TRUE(module != nullptr && sum != nullptr);
  for (BindingMode mode : ModesToRun()) {
    auto first = DeviceClient(mode)->Compile(*module), second = DeviceClient(mode)->Compile(*sum);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_TRUE((*first)->depends_on_sizes());
    for (int run = 0; run < 3; ++run) {
      const Literal p = Counting(3, 8);
      auto pair = (*first)->Execute(std::vector<Argument>{p});
      ASSERT_TRUE(pair.ok()) << pair.status().message();
      EXPECT_EQ(*pair->leaves.at(0).LiveSizes(), std::vector<int64_t>{6});
      RunStatistics statistics;
      auto value = (*second)->Execute(std::vector<Argument>{pair->leaves.at(0)}, &statistics);
      ASSERT_TRUE(value.ok()) << value.status().message();
      EXPECT_EQ(value->ToLiteral()->GetDouble(0), 28);
      if (run == 2) {
        EXPECT_EQ(statistics.recorded, 0);
      }
    }
  }
}

TEST(LiveSizesTest, SizesThatDoNotGoTogetherAreNamed) {
  const auto module = ParseModule(R"(HloModule m
ENTRY e {
  p = f32[<=8] parameter(0)
  q = f32[<=8] parameter(1)
  ROOT both = f32[<=8] add(p, q)
})");
  ASSERT_TRUE(module != nullptr);
  const Literal three = Counting(3, 8), four = Counting(4, 8);
  for (BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*module);
    ASSERT_TRUE(executable.ok());
    const auto value = (*executable)->Run(std::vector<const Literal*>{&three, &four});
    ASSERT_FALSE(value.ok());
    EXPECT_EQ(value.status().message(),
              "add: dimension 0 of operand 0 has the live size 3, dimension 0 of operand 1 has 4");
    EXPECT_EQ(value.status().location().line, 5);
  }
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

// The program for all live sizes at once, which runs where sizes change while it runs: arrays at their bounds, and
// sizes as values (core/passes/sizes/dynamic_padder.h).
std::shared_ptr<Executable> CompileForAllSizes(BindingMode mode, const Module& module) {
  auto optimized = Optimize(module, TargetInfo{});
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  if (!optimized.ok()) return nullptr;
  CompileOptions options;
  options.optimized = true;
  auto executable = DeviceClient(mode)->Compile(**optimized, options);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  return executable.ok() ? *executable : nullptr;
}

// But for a random state whose size is data, and rows that devices exchange.
TEST(LiveSizesTest, EachOpcodeTakesAllLiveSizes) {
  size_t number = 0;
  for (const LiveProgram& program : LivePrograms()) {
    const std::optional<Opcode> opcode = ParseOpcode(program.opcode);
    ASSERT_TRUE(opcode.has_value());
    // Elementwise operations have one rule.
    if (IsElementwise(*opcode) && *opcode != Opcode::kAdd && *opcode != Opcode::kClamp) continue;
    SCOPED_TRACE(program.opcode + "\n" + program.text.substr(program.text.find("ENTRY")));
    const auto exact = ParseModule(ExactText(program, 1));
    const auto bounded = ParseModule(BoundedText(program, 1));
    ASSERT_TRUE(exact != nullptr && bounded != nullptr);
    const std::vector<Literal> arguments = PoisonedArguments(*bounded, ExactArguments(*exact, 3));
    const auto want = RunOnCpu(*bounded, arguments);
    ASSERT_TRUE(want.has_value());
    std::vector<const Literal*> pointers;
    for (const Literal& argument : arguments) pointers.push_back(&argument);
    const bool stays = BelongsToHost(program.opcode) || program.opcode == "rng-bit-generator";
    // Programs in turn, because kernels of both modes take twice as long to compile.
    const std::vector<BindingMode> modes = ModesToRun();
    const auto executable = CompileForAllSizes(modes[number++ % modes.size()], *bounded);
    ASSERT_TRUE(executable != nullptr);
    for (const Fallback& fallback : executable->fallbacks()) {
      EXPECT_TRUE(stays) << fallback.opcode << ": " << fallback.reason;
    }
    const auto value = executable->Run(pointers);
    ASSERT_TRUE(value.ok()) << value.status().message();
    ExpectAgreement(CutToLiveSizes(*value), CutToLiveSizes(*want), {}, "for all live sizes");
  }
}

// What the device says, without help of the host.
std::string FailureOn(const std::string& text, const std::vector<Literal>& arguments) {
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  const auto module = ParseModule(text);
  std::string message;
  for (BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*module);
    EXPECT_TRUE(executable.ok());
    if (!executable.ok()) return "";
    EXPECT_THAT((*executable)->fallbacks(), ::testing::IsEmpty());
    const auto value = (*executable)->Run(pointers);
    EXPECT_FALSE(value.ok());
    if (!value.ok()) message = value.status().message();
    const auto for_all = CompileForAllSizes(mode, *module);
    if (for_all == nullptr) return "";
    EXPECT_THAT(for_all->Run(pointers).status().message(), HasSubstr(message));
  }
  return message;
}

TEST(LiveSizesTest, SizesThatDoNotAgreeAreRefused) {
  EXPECT_THAT(FailureOn(R"(HloModule m
ENTRY e {
  p = f32[<=5] parameter(0)
  q = f32[<=5] parameter(1)
  ROOT r = f32[<=5] add(p, q)
})",
                        {Counting(4, 5), Counting(3, 5)}),
              HasSubstr("add: dimension 0 of operand 0 has the live size 4, dimension 0 of operand 1 has 3"));
  EXPECT_THAT(FailureOn(R"(HloModule m
ENTRY e {
  p = f32[<=6] parameter(0)
  ROOT r = f32[<=3,2] reshape(p)
})",
                        {Counting(5, 6)}),
              HasSubstr("reshape: 5 live elements of f32[<=6] do not fill f32[<=3,2]"));
}

// Found in the third round of a loop, said at the end.
TEST(LiveSizesTest, SizesThatDoNotAgreeInALoopAreRefused) {
  EXPECT_THAT(FailureOn(R"(HloModule m
more {
  s = (s32[], f32[<=5], f32[<=5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT r = pred[] compare(i, n), direction=LT
}
step {
  s = (s32[], f32[<=5], f32[<=5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[<=5] get-tuple-element(s), index=1
  w = f32[<=5] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  two = s32[] constant(2)
  a = f32[<=5] add(v, w)
  last = pred[] compare(i, two), direction=EQ
  n = s32[] get-dimension-size(v), dimensions={0}
  m = s32[] subtract(n, one)
  size = s32[] select(last, m, n)
  b = f32[<=5] set-dimension-size(a, size), dimensions={0}
  ROOT r = (s32[], f32[<=5], f32[<=5]) tuple(next, b, w)
}
ENTRY e {
  p = f32[<=5] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[<=5], f32[<=5]) tuple(z, p, p)
  l = (s32[], f32[<=5], f32[<=5]) while(s), condition=more, body=step
  ROOT r = f32[<=5] get-tuple-element(l), index=1
})",
                        {Counting(4, 5)}),
              HasSubstr("add: dimension 0 of operand 0 has the live size 3, dimension 0 of operand 1 has 4"));
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
