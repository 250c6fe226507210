// Argument blocks where the host writes into no device memory: of programs of many steps they are brought over.
#include <gmock/gmock.h>

#include "scheduler/runtime/commands/recording.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace argument_blocks_test {

// Steps that depend on each other, one dispatch each, behind a loop of some that the host goes round. Its end: the
// device's to know, or counted.
enum class End { kOfData, kCounted };
std::string Steps(End end) {
  return std::string(R"(HloModule steps
go { p = (s32[], f32[1009], f32[1009]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)
ROOT r = pred[] compare(i, n), direction=LT }
step { p = (s32[], f32[1009], f32[1009]) parameter(0)  i = s32[] get-tuple-element(p), index=0
a = f32[1009] get-tuple-element(p), index=1  b = f32[1009] get-tuple-element(p), index=2  one = s32[] constant(1)
j = s32[] add(i, one)  c = f32[1009] add(a, b)  d = f32[1009] multiply(c, b)  e = f32[1009] subtract(d, a)
f = f32[1009] maximum(e, b)  ROOT t = (s32[], f32[1009], f32[1009]) tuple(j, f, b) }
ENTRY e { first = s32[] parameter(0)  zero = s32[] constant(0)  x = f32[1009] parameter(1)  y = f32[1009] parameter(2)
t = (s32[], f32[1009], f32[1009]) tuple()") +
         (end == End::kOfData ? "first" : "zero") + R"(, x, y)
w = (s32[], f32[1009], f32[1009]) while(t), condition=go, body=step  a = f32[1009] get-tuple-element(w), index=1
b = f32[1009] add(a, y)  c = f32[1009] multiply(b, x)  d = f32[1009] subtract(c, y)  ROOT f = f32[1009] minimum(d, x) }
)";
}

class ArgumentBlocksTest : public ::testing::TestWithParam<BindingMode> {
 protected:
  void SetUp() override {
    vulkan::OpenOptions options = TestOptions(GetParam());
    options.pretend = vulkan::PretendedMemory::kInvisible;
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    EXPECT_TRUE((*device)->facts().arguments_over_bus);
    client_ = MakeTestClient(*device);
  }

  void Compile(End end) {
    module_ = ParseModule(Steps(end));
    ASSERT_NE(module_, nullptr);
    CompileOptions compile;
    compile.fusion = compile.loop_kernels = false;
    auto made = client_->Compile(*module_, compile);
    ASSERT_TRUE(made.ok()) << made.status().message();
    executable_ = *std::move(made);
    ASSERT_GE(executable_->plan().dispatch_count(), 8);
  }

  std::vector<Literal> Values(uint32_t seed) const {
    std::vector<Literal> values = RandomArguments(*module_, seed);
    values[0] = Literal::ScalarInt(ElementType::kS32, seed % 3);
    return values;
  }
  Literal Expected(const std::vector<Literal>& values) const {
    auto expected = RunOnCpu(*module_, values);
    EXPECT_TRUE(expected);
    return expected ? *expected : Literal();
  }

  std::unique_ptr<Client> client_;
  std::unique_ptr<Module> module_;
  std::shared_ptr<Executable> executable_;
};

// Results that are kept, so that each run has others; several runs in flight.
TEST_P(ArgumentBlocksTest, AreThoseOfEachRun) {
  Compile(End::kOfData);
  std::vector<Execution> executions;
  for (uint32_t run = 0; run < 6; ++run) {
    const std::vector<Literal> values = Values(run);
    std::vector<Argument> arguments;
    for (const Literal& value : values) arguments.emplace_back(*client_->Upload(value));
    auto execution = executable_->Execute(arguments);
    ASSERT_TRUE(execution.ok()) << execution.status().message();
    executions.push_back(*std::move(execution));
  }
  for (uint32_t run = 0; run < 6; ++run) {
    const auto result = executions[run].leaves[0].ToLiteral();
    ASSERT_TRUE(result.ok()) << result.status().message();
    ExpectAgreement(*result, Expected(Values(run)), {.tolerance = Tolerance{}}, "a run");
  }
}

TEST_P(ArgumentBlocksTest, AreBroughtByACallersCommandBufferToo) {
  Compile(End::kCounted);
  Device& device = client_->device();
  const std::vector<Literal> values = Values(3), others = Values(5);
  std::vector<BoundBuffer> arguments, other_arguments, results;
  std::vector<DeviceBuffer> kept;
  const auto bind = [&](const std::vector<DeviceBuffer>& leaves, std::vector<BoundBuffer>& bound) {
    for (const DeviceBuffer& value : leaves) {
      bound.push_back({&value.memory()->buffer(), value.memory()->number()});
      kept.push_back(value);
    }
  };
  for (const Literal& value : values) bind(*client_->Upload(value), arguments);
  for (const Literal& value : others) bind(*client_->Upload(value), other_arguments);
  const auto memory = client_->Upload(values[1]);
  bind(*memory, results);
  auto recording = Recording::Create(executable_, {});
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  auto commands = device.CreateCommandBuffer(0);
  ASSERT_TRUE(commands.ok());
  const auto record = [&] {
    ASSERT_TRUE((*commands)->Begin().ok());
    ASSERT_TRUE((*recording)->Record(**commands).ok());
    ASSERT_TRUE((*commands)->End().ok());
  };
  const auto run = [&](const std::vector<Literal>& of) {
    const auto done = device.Submit(**commands, {});
    ASSERT_TRUE(done.ok()) << done.status().message();
    ASSERT_TRUE(device.Wait(*done).ok());
    const auto actual = (*memory)[0].ToLiteral();
    ASSERT_TRUE(actual.ok()) << actual.status().message();
    ExpectAgreement(*actual, Expected(of), {.tolerance = Tolerance{}}, "recorded");
  };
  (*recording)->Bind(arguments, results);
  record();
  run(values);
  // Bound again: under addresses what was recorded runs with the new ones, unless it copies an argument.
  (*recording)->Bind(other_arguments, results);
  if (GetParam() == BindingMode::kDescriptors || NeedsOf(executable_->plan()).copies_arguments) record();
  run(others);
}

INSTANTIATE_TEST_SUITE_P(Bindings, ArgumentBlocksTest,
                         ::testing::Values(BindingMode::kAddresses, BindingMode::kDescriptors), [](const auto& info) {
                           return info.param == BindingMode::kAddresses ? "Addresses" : "Descriptors";
                         });

}  // namespace argument_blocks_test
}  // namespace VXLA_NAMESPACE::testing
