// Programs whose sizes come with their arguments: made once for each choice of sizes, parsed once for all of them; and
// threads that change sizes, read results, and let go of runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "core/mlir/importer/dynamic_program.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/client.h"
#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE {
namespace {

using namespace vxla::testing;

constexpr std::string_view kSum = R"(
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %y : tensor<?xf32>
  return %0 : tensor<?xf32>
})";

std::unique_ptr<Module> ReadSum() {
  auto module = mlir::ParseStablehlo(kSum);
  VXLA_CHECK(module.ok(), module.status().message());
  return *std::move(module);
}

Literal Filled(int64_t size, float value) {
  Literal literal(Shape(ElementType::kF32, {size}));
  std::ranges::fill(literal.mutable_data<float>(), value);
  return literal;
}

bool Holds(const Literal& literal, int64_t size, float value) {
  const auto data = literal.data<float>();
  return std::ssize(data) == size && std::ranges::all_of(data, [&](float element) { return element == value; });
}

std::shared_ptr<Executable> CompileSum(Client& client, const CompileOptions& options = {}) {
  auto executable = client.Compile(*ReadSum(), options);
  VXLA_CHECK(executable.ok(), executable.status().message());
  return *executable;
}

TEST(SizedTest, CopiesOfAModuleShareWhatWasParsed) {
  std::unique_ptr<Module> module = ReadSum();
  ASSERT_TRUE(mlir::IsDynamicProgram(*module));
  const mlir::DynamicProgram program = mlir::DynamicProgram::Of(*module);
  const std::unique_ptr<Module> copy = module->Clone();
  EXPECT_EQ(&mlir::DynamicProgram::Of(*copy).program(), &program.program());
  module.reset();
  EXPECT_EQ(program.source(), kSum);
  EXPECT_EQ(program.parameters().size(), 2u);
  // The module says the program's types, and holds no text.
  int64_t bytes = 0;
  for (const auto& instruction : copy->entry()->instructions()) {
    if (instruction->opcode() == Opcode::kConstant) bytes += instruction->shape().SizeBytes();
  }
  EXPECT_EQ(bytes, 0);
}

TEST(SizedTest, EachSizeIsMadeOnce) {
  Client client(std::make_shared<FakeDevice>(FakeDeviceOptions()), FakeEvaluate);
  int made = 0;  // passes that have run
  CompileOptions options;
  options.after_pass = [&](const PassRun&, const Module&) {
    ++made;
    return OkStatus();
  };
  const std::shared_ptr<Executable> sum = CompileSum(client, options);
  EXPECT_EQ(made, 0);  // before a run there are no sizes
  EXPECT_TRUE(sum->plan().steps.empty());
  const auto run = [&](int64_t size) {
    const Literal x = Filled(size, 2), y = Filled(size, 3);
    const Literal* const arguments[] = {&x, &y};
    const Result<Literal> result = sum->Run(arguments);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(Holds(*result, size, 5));
  };
  run(4);
  const int once = made;
  EXPECT_GT(once, 0);
  EXPECT_FALSE(sum->plan().steps.empty());
  run(4);
  EXPECT_EQ(made, once);
  run(5);
  EXPECT_GT(made, once);
}

TEST(SizedTest, ArgumentsThatDoNotFitAreNamed) {
  Client client(std::make_shared<FakeDevice>(FakeDeviceOptions()), FakeEvaluate);
  const std::shared_ptr<Executable> sum = CompileSum(client);
  const Literal x = Filled(4, 2);
  const Literal* const one[] = {&x};
  const Status few = sum->Run(one).status();
  EXPECT_EQ(few.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(few.message(), "1 arguments given, the program wants 2");
}

// For ThreadSanitizer: executables are made and forgotten while others run, callbacks hold the last of what they tell
// of.
TEST(SizedTest, ThreadsChangeSizesReadAndLetGo) {
  constexpr int kThreads = 8, kRounds = 60, kSizes = 300;  // more than are kept
  auto client = std::make_unique<Client>(std::make_shared<FakeDevice>(FakeDeviceOptions()), FakeEvaluate);
  std::shared_ptr<Executable> sum = CompileSum(*client);
  std::atomic<int> wrong = 0, told = 0, asked = 0;
  const auto work = [&, sum](int number) {
    for (int round = 0; round < kRounds; ++round) {
      const int64_t size = 1 + (number * 37 + round * 11) % kSizes;
      const auto value = static_cast<float>(number + round);
      const Literal x = Filled(size, value), y = Filled(size, 1);
      auto execution = sum->Execute(std::vector<Argument>{Argument(x), Argument(y)});
      if (!execution.ok()) {
        ++wrong;
      } else if (round % 3 == 0) {
        wrong += !Holds(*execution->ToLiteral(), size, value + 1);
      } else if (round % 3 == 1) {
        ++asked;
        const Event done = execution->done;
        done.OnReady(
            [&told, &wrong, last = std::make_shared<Execution>(*std::move(execution))](const Status& status) mutable {
              wrong += !status.ok() || !last->leaves[0].IsReady();
              last.reset();
              ++told;
            });
      }  // else nobody waits
      wrong += sum->plan().steps.empty();
    }
  };
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
  sum.reset();  // the threads hold it
  for (std::thread& thread : threads) thread.join();
  client.reset();
  while (told != asked) std::this_thread::yield();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE
