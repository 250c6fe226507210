// Heavy work on arrays whose live sizes data decide runs at the bound that fits best
// (core/passes/sizes/dynamic_padder.h).
#include <gmock/gmock.h>

#include <map>

#include "core/passes/base/expansion.h"
#include "core/passes/base/verifier.h"
#include "core/passes/sizes/dynamic_padder.h"
#include "core/sizes/live_sizes.h"
#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"
#include "tests/support/live_programs.h"

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr char kFamilies[] = R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
count {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}
up {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}
up_of_two {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT
}
ENTRY e {
  k = s32[8] parameter(0)
  t = f32[8192,8] parameter(1)
  w = f32[8,8] parameter(2)
  x = f32[8192] parameter(3)
  i = s32[8192] parameter(4)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  before = f32[8192,8] sine(t)
  m = f32[<=8192,8] set-dimension-size(before, n), dimensions={0}
  d = f32[<=8192] set-dimension-size(x, n), dimensions={0}
  j = s32[<=8192] set-dimension-size(i, n), dimensions={0}
  sorted = f32[<=8192] sort(d), dimensions={0}, to_apply=up
  product = f32[<=8192,8] dot(m, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  gram = f32[8,8] dot(m, m), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  added = f32[8,8] scatter(w, j, m), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  windows = f32[<=8192,8] reduce-window(m, zero), window={size=3x1 pad=1_1x0_0}, to_apply=sum
  columns = f32[8] reduce(m, zero), dimensions={0}, to_apply=sum
  all = f32[] reduce(m, zero), dimensions={0,1}, to_apply=sum
  turned = f32[8,<=8192] transpose(m), dimensions={1,0}
  tanh = f32[8,<=8192] tanh(turned)
  twice = f32[<=16384,8] concatenate(m, m), dimensions={0}
  running = f32[<=8192,8] reduce-window(m, zero), window={size=8192x1 pad=8191_0x0_0}, to_apply=sum
  waves = c64[<=8192,5] fft(m), fft_type=RFFT, fft_length={8}
  power = f32[<=8192,5] abs(waves)
  places = s32[8192] iota(), iota_dimension=0
  alive = s32[<=8192] set-dimension-size(places, n), dimensions={0}
  order = (f32[<=8192], s32[<=8192]) sort(d, alive), dimensions={0}, is_stable=true, to_apply=up_of_two
  at = s32[<=8192] get-tuple-element(order), index=1
  picked = f32[<=8192,8] gather(before, at), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
  ROOT r = (f32[<=8192], f32[<=8192,8], f32[8,8], f32[8,8], f32[<=8192,8], f32[8], f32[], f32[8,<=8192], f32[<=16384,8], f32[<=8192,8], f32[<=8192,5], f32[<=8192,8]) tuple(sorted, product, gram, added, windows, columns, all, tanh, twice, running, power, picked)
})";

// Sizes on both sides of the bounds that are made (128, 1024, 8192).
TEST(LiveBucketsTest, EveryFamilyRunsAtTheBoundThatFits) {
  for (const int64_t live : {0, 1, 100, 128, 129, 1024, 1025, 8192}) {
    SCOPED_TRACE(live);
    Literal sizes(Shape(ElementType::kS32, {8}));
    sizes.SetInt(2, live);
    Literal rows(Shape(ElementType::kS32, {8192}));
    for (int64_t k = 0; k < 8192; ++k) rows.SetInt(k, k * 5 % 8);
    RunBoth(kFamilies, {sizes, RandomLiteral(Shape(ElementType::kF32, {8192, 8}), 1),
                        RandomLiteral(Shape(ElementType::kF32, {8, 8}), 2),
                        RandomLiteral(Shape(ElementType::kF32, {8192}), 3), rows});
  }
}

// A running sum whose initial value comes from outside of a branch would be a window for each element.
TEST(LiveBucketsTest, ConstantsGoIntoTheBranches) {
  for (BindingMode mode : ModesToRun()) {
    auto executable = DeviceClient(mode)->Compile(*ParseModule(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  t = f32[1048576,8] parameter(0)
  n = s32[1] parameter(1)
  s = s32[] reshape(n)
  two = s32[] constant(2)
  most = s32[] multiply(s, two)
  zero = f32[] constant(0)
  m = f32[<=1048576,8] set-dimension-size(t, most), dimensions={0}
  ROOT r = f32[<=1048576,8] reduce-window(m, zero), window={size=1048576x1 pad=1048575_0x0_0}, to_apply=sum
})"));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_THAT((*executable)->fallbacks(), ::testing::IsEmpty());
    int running = 0;
    for (const Step& step : (*executable)->plan().steps)
      running += step.kernel.algorithm == "reduce/running.comp" ? 1 : 0;
    EXPECT_GE(running, 4);
  }
}

// In a loop that the device ends and in a branch that it chooses; the bound is another one in each trip.
TEST(LiveBucketsTest, LoopsAndBranchesOfTheDevice) {
  const std::string text = std::string(kFamilies).substr(0, std::string(kFamilies).find("ENTRY")) + R"(more {
  s = (f32[40000], f32[40000,2], s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=2
  limit = s32[] constant(3)
  ROOT r = pred[] compare(n, limit), direction=GT
}
ordered {
  v = f32[<=40000] parameter(0)
  o = f32[<=40000] sort(v), dimensions={0}, to_apply=up
  low = f32[] constant(0)
  ROOT r = f32[<=40000] reduce-window(o, low), window={size=5 pad=2_2}, to_apply=sum
}
turned {
  v = f32[<=40000] parameter(0)
  ROOT r = f32[<=40000] reverse(v), dimensions={0}
}
fewer {
  s = (f32[40000], f32[40000,2], s32[], f32[]) parameter(0)
  v = f32[40000] get-tuple-element(s), index=0
  t = f32[40000,2] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  last = f32[] get-tuple-element(s), index=3
  five = s32[] constant(5)
  m = s32[] divide(n, five)
  part = f32[<=40000] set-dimension-size(v, m), dimensions={0}
  one = s32[] constant(1)
  odd = s32[] and(m, one)
  chosen = f32[<=40000] conditional(odd, part, part), branch_computations={ordered, turned}
  total = f32[] reduce(chosen, last), dimensions={0}, to_apply=sum
  pairs = f32[<=40000,2] set-dimension-size(t, m), dimensions={0}
  w = f32[2,2] constant({{1, 2}, {3, 4}})
  product = f32[<=40000,2] dot(pairs, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  largest = f32[] reduce(product, total), dimensions={0,1}, to_apply=sum
  ROOT r = (f32[40000], f32[40000,2], s32[], f32[]) tuple(v, t, m, largest)
}
ENTRY e {
  v = f32[40000] parameter(0)
  t = f32[40000,2] parameter(1)
  k = s32[8] parameter(2)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  s = (f32[40000], f32[40000,2], s32[], f32[]) tuple(v, t, n, zero)
  l = (f32[40000], f32[40000,2], s32[], f32[]) while(s), condition=more, body=fewer
  ROOT r = f32[] get-tuple-element(l), index=3
})";
  Literal sizes(Shape(ElementType::kS32, {8}));
  for (const int64_t live : {199999, 4000, 3}) {
    sizes.SetInt(1, live);
    RunBoth(text, {RandomLiteral(Shape(ElementType::kF32, {40000}), 1),
                   RandomLiteral(Shape(ElementType::kF32, {40000, 2}), 2), sizes});
  }
}

// What a loop carries in its state brings its size along.
TEST(LiveBucketsTest, StatesOfLoopsRunAtTheBoundThatFits) {
  const std::string text = std::string(kFamilies).substr(0, std::string(kFamilies).find("ENTRY")) + R"(more {
  s = (f32[<=65536], s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=1
  limit = s32[] constant(10)
  ROOT r = pred[] compare(n, limit), direction=GT
}
half {
  s = (f32[<=65536], s32[], f32[]) parameter(0)
  v = f32[<=65536] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  t = f32[] get-tuple-element(s), index=2
  zero = f32[] constant(0)
  o = f32[<=65536] sort(v), dimensions={0}, to_apply=up
  w = f32[<=65536] reduce-window(o, zero), window={size=3 pad=1_1}, to_apply=sum
  two = s32[] constant(2)
  m = s32[] divide(n, two)
  h = f32[<=65536] set-dimension-size(w, m), dimensions={0}
  u = f32[] reduce(h, t), dimensions={0}, to_apply=sum
  ROOT r = (f32[<=65536], s32[], f32[]) tuple(h, m, u)
}
ENTRY e {
  x = f32[65536] parameter(0)
  k = s32[8] parameter(1)
  none = s32[] constant(0)
  zero = f32[] constant(0)
  n = s32[] reduce(k, none), dimensions={0}, to_apply=count
  v = f32[<=65536] set-dimension-size(x, n), dimensions={0}
  s = (f32[<=65536], s32[], f32[]) tuple(v, n, zero)
  ROOT r = (f32[<=65536], s32[], f32[]) while(s), condition=more, body=half
})";
  const auto module = ParseModule(text);
  const size_t before = module->computations().size();
  BoundLiveWork(*module);
  EXPECT_GE(module->computations().size(), before + 4);
  ASSERT_TRUE(Verify(*module).ok()) << Verify(*module).message();
  Literal sizes(Shape(ElementType::kS32, {8}));
  for (const int64_t live : {65536, 9000, 300, 7}) {
    sizes.SetInt(1, live);
    RunBoth(text, {RandomLiteral(Shape(ElementType::kF32, {65536}), 1), sizes});
  }
}

// Arguments of programs for all live sizes (bundles, recordings) bring their sizes along.
TEST(LiveBucketsTest, ArgumentsRunAtTheBoundThatFits) {
  const std::string text = std::string(kFamilies).substr(0, std::string(kFamilies).find("ENTRY")) + R"(ENTRY e {
  x = f32[<=40000] parameter(0)
  y = f32[<=5000,8] parameter(1)
  w = f32[8,4] parameter(2)
  s = f32[<=40000] sort(x), dimensions={0}, to_apply=up
  p = f32[<=5000,4] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[8,8] dot(y, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT r = (f32[<=40000], f32[<=5000,4], f32[8,8]) tuple(s, p, g)
})";
  const auto module = ParseModule(text);
  const std::unique_ptr<Module> bounded = module->Clone();
  BoundLiveWork(*bounded);
  EXPECT_GE(bounded->computations().size(), module->computations().size() + 5);
  ASSERT_TRUE(Verify(*bounded).ok()) << Verify(*bounded).message();
  using Sizes = std::pair<int64_t, int64_t>;
  for (const auto& [sorted, rows] : {Sizes{0, 5000}, Sizes{1, 0}, Sizes{700, 1}, Sizes{5001, 640}, Sizes{40000, 641}}) {
    SCOPED_TRACE(sorted);
    const std::vector<Literal> exact = {RandomLiteral(Shape(ElementType::kF32, {sorted}), 1),
                                        RandomLiteral(Shape(ElementType::kF32, {rows, 8}), 2),
                                        RandomLiteral(Shape(ElementType::kF32, {8, 4}), 3)};
    const std::vector<Literal> arguments = PoisonedArguments(*module, exact);
    const auto want = RunOnCpu(*module, arguments), value = RunOnCpu(*bounded, arguments);
    ASSERT_TRUE(want.has_value() && value.has_value());
    ExpectAgreement(CutToLiveSizes(*value), CutToLiveSizes(*want), {}, "at smaller bounds");
    for (BindingMode mode : ModesToRun()) {
      CompileOptions options;
      options.sizes_on_device = true;
      auto executable = DeviceClient(mode)->Compile(*module, options);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      const std::vector<const Literal*> pointers = {&arguments[0], &arguments[1], &arguments[2]};
      const auto result = (*executable)->Run(pointers);
      ASSERT_TRUE(result.ok()) << result.status().message();
      ExpectAgreement(CutToLiveSizes(*result), CutToLiveSizes(*want), {}, "on the device");
    }
  }
}

// Live sizes of arguments that are alike become one value that data decide.
void LetDataDecideSizes(Module& module, const std::vector<Literal>& arguments) {
  Computation& entry = *module.entry();
  std::map<std::pair<int64_t, int64_t>, Instruction*> sizes;
  for (size_t k = 0; k < arguments.size(); ++k) {
    Instruction* const parameter = entry.parameter(static_cast<int64_t>(k));
    if (!parameter->shape().IsArray() || !parameter->shape().IsDynamic()) continue;
    const std::vector<Instruction*> users(parameter->users().begin(), parameter->users().end());
    Instruction* const root = entry.root();
    Expansion at(entry, *parameter);
    Instruction *whole = parameter, *cut = nullptr;
    for (int d = 0; d < parameter->shape().rank(); ++d) {
      if (!parameter->shape().is_dynamic_dimension(d)) continue;
      Instruction*& size = sizes[{parameter->shape().dimension(d), arguments[k].dynamic_size(d)}];
      if (size == nullptr) size = at.LiveSize(parameter, d);
      whole = at.AtBound(whole, d);
    }
    cut = whole;
    for (int d = 0; d < parameter->shape().rank(); ++d) {
      if (!parameter->shape().is_dynamic_dimension(d)) continue;
      cut = at.WithLiveSize(cut, d, sizes.at({parameter->shape().dimension(d), arguments[k].dynamic_size(d)}));
    }
    entry.set_root(root == parameter ? cut : root);
    for (Instruction* const user : users) user->ReplaceOperand(parameter, cut);
  }
  entry.SortTopologically();
}

// Whatever the operation, a smaller bound changes no result.
TEST(LiveBucketsTest, EachOpcodeGivesTheSameAtSmallerBounds) {
  int64_t bounded_programs = 0;
  for (const LiveProgram& program : LivePrograms()) {
    SCOPED_TRACE(program.opcode + "\n" + program.text.substr(program.text.find("ENTRY")));
    const auto exact = ParseModule(ExactText(program, 1));
    const auto module = ParseModule(BoundedText(program, 1));
    ASSERT_TRUE(exact != nullptr && module != nullptr);
    const std::vector<Literal> arguments = PoisonedArguments(*module, ExactArguments(*exact, 3));
    const auto want = RunOnCpu(*module, arguments);
    ASSERT_TRUE(want.has_value());
    LetDataDecideSizes(*module, arguments);
    for (int64_t shrink : {2, 3}) {
      const std::unique_ptr<Module> bounded = module->Clone();
      BoundLiveWork(*bounded, {0, 2, 1, shrink, 1, true});
      ASSERT_TRUE(Verify(*bounded).ok()) << Verify(*bounded).message();
      const auto added = bounded->computations().size() - module->computations().size();
      bounded_programs += added > 0 ? 1 : 0;
      const auto value = RunOnCpu(*bounded, arguments);
      ASSERT_TRUE(value.has_value());
      ExpectAgreement(CutToLiveSizes(*value), CutToLiveSizes(*want), {}, "at smaller bounds");
    }
  }
  EXPECT_GT(bounded_programs, 100);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
