// What the device does while the host evaluates an instruction.
#include "scheduler/graph/host_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/compile.h"
#include "scheduler/plan/plan_printer.h"
#include "scheduler/runtime/client.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE::host_overlap_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace vxla::testing;

Plan PlanWithin(const std::string& text, int64_t memory_bytes) {
  FakeDeviceOptions options;
  options.memory_bytes = memory_bytes;
  return PlanOf(text, options);
}
// The lines of the printed plan that say what runs.
std::string Order(const Plan& plan) {
  const std::string text = ToText(plan);
  std::string order;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t word = line.find_first_not_of(' ');
    if (word == std::string::npos) continue;
    line = line.substr(word);
    if (line.starts_with("gpu")) order += "| ";
    if (line.starts_with("dispatch")) order += line.substr(9, line.find(" kernel") - 9) + " ";
    if (line.starts_with("copy")) order += "copy ";
    if (line.starts_with("host"))
      order +=
          "| HOST " + line.substr(5, line.find(' ', 5) - 5) + " after" + line.substr(line.find("waits for") + 9) + " ";
    if (line.starts_with("while") || line.starts_with("end")) order += "| " + line.substr(0, line.find(" (")) + " ";
  }
  return order;
}

constexpr char kTwoSides[] = R"(HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  a = f32[100] negate(x)
  b = f32[100] tanh(x)
  h = f32[100] custom-call(b), custom_call_target="h"
  c = f32[100] tanh(a)
  d = f32[100] negate(h)
  ROOT r = f32[100] add(c, d)
})";

// What the host step needs comes first and by itself; what needs nothing of it runs beside it, wherever it stood.
TEST(HostOverlapTest, IndependentWorkIsSubmittedBeforeTheHostStep) {
  EXPECT_EQ(Order(PlanOf(kTwoSides)), "| b | a c | HOST h after b | d r ");
}

// So it does beside what places exchange, which only moves arrays, if it takes longer than a submission.
TEST(HostOverlapTest, WorkThatIsWorthItIsSubmittedBeforeAnExchange) {
  const std::string head =
                        "HloModule m\nENTRY e { v = f32[4] parameter(0)  w = f32[1024,1024] parameter(1)\n"
                        "x = f32[1000000] parameter(2)\n",
                    exchange = "h = f32[1000000] custom-call(b), custom_call_target=\"h\"\n";
  const auto order = [&](const std::string& beside) {
    const auto module = Parse(head + "b = f32[1000000] tanh(x)\n" + exchange + "d = f32[1000000] negate(h)\n" + beside);
    for (const auto& i : module->entry()->instructions()) {  // a name that no text may say
      if (i->opcode() != Opcode::kCustomCall) continue;
      i->mutable_attributes() = OwnCall(CallKind::kExchange, 1);
    }
    const Plan plan = PlanOf(*module);
    EXPECT_TRUE(plan.fallbacks.empty());
    return Order(plan);
  };
  EXPECT_EQ(order("p = f32[1024,1024] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                  "ROOT r = (f32[1000000], f32[1024,1024]) tuple(d, p) }"),
            "| b | p | HOST h after b | d ");
  EXPECT_EQ(order("p = f32[4] sine(v)\nROOT r = (f32[1000000], f32[4]) tuple(d, p) }"), "| b | HOST h after b | d p ");
}

TEST(HostOverlapTest, EachHostStepWaitsForItsOwn) {
  EXPECT_EQ(Order(PlanOf(R"(HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  a = f32[100] negate(x)
  h1 = f32[100] custom-call(a), custom_call_target="h"
  b = f32[100] tanh(a)
  h2 = f32[100] custom-call(b), custom_call_target="h"
  c = f32[100] tanh(h1)
  h3 = f32[100] custom-call(c), custom_call_target="h"
  d = f32[100] exponential(b)
  ROOT r = (f32[100], f32[100], f32[100]) tuple(d, h2, h3)
})")),
            "| a | b | d | HOST h1 after a | c | HOST h2 after b | HOST h3 after c ");
}

// An infeed waits for nothing, and an outfeed for its data.
TEST(HostOverlapTest, FeedsWaitForTheirDataOnly) {
  const Plan plan = PlanOf(R"(HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  t = token[] after-all()
  a = f32[100] negate(x)
  o = token[] outfeed(a, t), outfeed_shape=f32[100]
  i = (f32[100], token[]) infeed(o)
  v = f32[100] get-tuple-element(i), index=0
  b = f32[100] tanh(a)
  ROOT r = f32[100] add(b, v)
})");
  EXPECT_EQ(Order(plan), "| a | b | HOST o after a | HOST i after nothing | r ");
}

// Their memory is not what work in flight still uses: else the host would wait for it after all.
TEST(HostOverlapTest, ResultsOfTheHostShareNoMemoryWithWorkInFlight) {
  const Plan plan = PlanOf(R"(HloModule m
ENTRY e {
  x = f32[100] parameter(0)
  b = f32[100] tanh(x)
  a = f32[100] reverse(x), dimensions={0}
  c = f32[100] reverse(a), dimensions={0}
  h = f32[100] custom-call(b), custom_call_target="h"
  k = f32[100] tanh(c)
  d = f32[100] add(h, k)
  ROOT r = f32[100] negate(d)
})");
  EXPECT_THAT(Order(plan), HasSubstr("HOST h after b | d"));
}

// Whichever branch the host takes: waiting for one of them says nothing of the others.
TEST(HostOverlapTest, AHostStepWaitsForEachBranchThatMayHaveRun) {
  const Plan plan = PlanOf(R"(HloModule m
body { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  y = f32[100] get-tuple-element(s), index=1
       o = s32[] constant(1)  j = s32[] subtract(i, o)  z = f32[100] custom-call(y), custom_call_target="g"
       ROOT r = (s32[], f32[100]) tuple(j, z) }
cond { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  z = s32[] constant(0)
       ROOT c = pred[] compare(i, z), direction=GT }
first { s = (s32[], f32[100]) parameter(0)  x = f32[100] get-tuple-element(s), index=1  ROOT a = f32[100] tanh(x) }
second { s = (s32[], f32[100]) parameter(0)  w = (s32[], f32[100]) while(s), condition=cond, body=body
         ROOT b = f32[100] get-tuple-element(w), index=1 }
third { s = (s32[], f32[100]) parameter(0)  x = f32[100] get-tuple-element(s), index=1
        ROOT c = f32[100] reverse(x), dimensions={0} }
ENTRY e { i = s32[] parameter(0)  n = s32[] parameter(1)  x = f32[100] parameter(2)  s = (s32[], f32[100]) tuple(n, x)
  y = f32[100] conditional(i, s, s, s), branch_computations={first, second, third}
  ROOT h = f32[100] custom-call(y), custom_call_target="h" })");
  EXPECT_THAT(Order(plan), HasSubstr("HOST h after a, copy to y, c copy ")) << ToText(plan);
}

// Decisions stay where they are; a counted loop of the device's own work moves as one piece.
TEST(HostOverlapTest, LoopsAreFencesUnlessTheyRunAhead) {
  const std::string computations = R"(HloModule m
body { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  y = f32[100] get-tuple-element(s), index=1
       z = f32[100] tanh(y)  ROOT r = (s32[], f32[100]) tuple(i, z) }
cond { s = (s32[], f32[100]) parameter(0)  y = f32[100] get-tuple-element(s), index=1  ROOT c = pred[] custom-call(y), custom_call_target="go" }
ENTRY e {
  x = f32[100] parameter(0)
  n = s32[] parameter(1)
  b = f32[100] negate(x)
  h = f32[100] custom-call(b), custom_call_target="h"
  s = (s32[], f32[100]) tuple(n, x)
  w = (s32[], f32[100]) while(s), condition=cond, body=body)";
  const std::string rest = R"(
  y = f32[100] get-tuple-element(w), index=1
  k = f32[100] exponential(x)
  ROOT r = (f32[100], f32[100], f32[100]) tuple(h, y, k)
})";
  const std::string waiting = Order(PlanOf(computations + rest));
  EXPECT_THAT(waiting, HasSubstr("HOST h after b | while w"));
  EXPECT_GT(waiting.find("k "), waiting.find("end w"));
  const std::string counted = Order(PlanOf(computations + ", frontend_attributes={vxla=\"trip_count=5\"}" + rest));
  EXPECT_LT(counted.find("while w"), counted.find("HOST h after b")) << counted;
}

// Early work lives long; where that is too much for the device, it waits for its turn.
TEST(HostOverlapTest, LittleMemoryKeepsTheProgramsOrder) {
  const std::string text = R"(HloModule m
ENTRY e {
  x = f32[1000] parameter(0)
  b = f32[] constant(1)
  h = f32[] custom-call(b), custom_call_target="h"
  i = f32[1000] custom-call(h), custom_call_target="i"
  c = f32[1000] reverse(x), dimensions={0}
  d = f32[1000] reverse(c), dimensions={0}
  f = f32[1000] reverse(d), dimensions={0}
  ROOT r = f32[1000] add(i, f)
})";
  const Plan wide = PlanOf(text);
  EXPECT_THAT(Order(wide), Not(::testing::StartsWith("| HOST")));
  const Plan narrow = PlanWithin(text, wide.peak_bytes - 1);
  EXPECT_LT(narrow.peak_bytes, wide.peak_bytes);
  EXPECT_THAT(Order(narrow), ::testing::StartsWith("| HOST h"));
}

// The device does not begin the independent work before the host step has run: were the step to wait for that work,
// nothing would ever go on.
TEST(HostOverlapTest, TheHostStepRunsWhileTheDeviceIsBusy) {
  for (const BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    FakeDeviceOptions options;
    options.mode = mode;
    const auto device = std::make_shared<FakeDevice>(options);
    std::mutex mutex;
    std::condition_variable changed;
    bool host_ran = false, gave_up = false;
    device->before_submission_runs = [&](TimePoint point) {
      if (point.value != 2) return;  // 1: what the host step needs; 2: what it does not
      std::unique_lock lock(mutex);
      gave_up = !changed.wait_for(lock, std::chrono::seconds(60), [&] { return host_ran; });
    };
    Client client(device, [&](const Instruction& i, std::span<const Literal* const> operands) -> Result<Literal> {
      if (i.opcode() != Opcode::kCustomCall) return FakeEvaluate(i, operands);
      Literal doubled = *operands[0];
      for (float& value : doubled.mutable_data<float>()) value *= 2;
      std::lock_guard lock(mutex);
      host_ran = true;
      changed.notify_all();
      return doubled;
    });
    const auto executable = client.Compile(*Parse(kTwoSides));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    Literal x(Shape(ElementType::kF32, {100}));
    for (float& value : x.mutable_data<float>()) value = 0.5f;
    const Literal* arguments[] = {&x};
    const auto result = (*executable)->Run(arguments);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_FALSE(gave_up);
    EXPECT_NEAR(result->GetDouble(7), std::tanh(-0.5) - 2 * std::tanh(0.5), 1e-6);
    host_ran = true;
    for (int run = 0; run < 3; ++run) {
      const auto again = (*executable)->Run(arguments);
      EXPECT_TRUE(again.ok() && *again == *result);
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::host_overlap_test
