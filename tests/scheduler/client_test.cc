#include "scheduler/runtime/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>

#include "backend/device.h"
#include "core/ir/module.h"
#include "scheduler/plan/plan.h"
#include "scheduler/runtime/compilation.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "tests/support/fake_device.h"
#include "tests/support/fake_plan.h"

namespace VXLA_NAMESPACE {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace vxla::testing;

Literal Vector(std::vector<float> values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}),
                                    std::span<const float>(values));
}
Literal Scalar(float value) { return Literal::Scalar(ElementType::kF32, value); }

std::vector<float> Floats(const Literal& literal) {
  const auto data = literal.data<float>();
  return {data.begin(), data.end()};
}

class ClientTest : public ::testing::TestWithParam<std::pair<BindingMode, bool>> {
 protected:
  ClientTest() {
    FakeDeviceOptions options;
    options.mode = GetParam().first;
    options.host_visible = GetParam().second;
    Open(options);
  }
  void Open(const FakeDeviceOptions& options, const ClientOptions& client_options = {}) {
    device_ = std::make_shared<FakeDevice>(options);
    client_ = std::make_unique<Client>(device_, FakeEvaluate, client_options);
  }
  std::shared_ptr<Executable> Compile(const std::string& text, const CompileOptions& options = {}) {
    auto executable = client_->Compile(*Parse(text), options);
    VXLA_CHECK(executable.ok(), executable.status().message());
    return *executable;
  }
  Literal Run(Executable& executable, const std::vector<Literal>& arguments, RunStatistics* statistics = nullptr) {
    std::vector<const Literal*> pointers;
    for (const Literal& argument : arguments) pointers.push_back(&argument);
    auto result = executable.Run(pointers, statistics);
    VXLA_CHECK(result.ok(), result.status().message());
    return *result;
  }
  std::shared_ptr<FakeDevice> device_;
  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(
    Modes, ClientTest,
    ::testing::Values(std::pair(BindingMode::kAddresses, true), std::pair(BindingMode::kAddresses, false),
                      std::pair(BindingMode::kDescriptors, true), std::pair(BindingMode::kDescriptors, false)),
    [](const auto& info) {
      return std::string(info.param.first == BindingMode::kAddresses ? "Addresses" : "Descriptors") +
             (info.param.second ? "Mapped" : "Staged");
    });

// tanh(x) * reverse(x) + 2x, in several dispatches with scratch in between.
constexpr char kChain[] = R"(HloModule chain
ENTRY main {
  x = f32[5] parameter(0)
  y = f32[5] parameter(1)
  r = f32[5] reverse(x), dimensions={0}
  m = f32[5] multiply(r, y)
  s = f32[5] reverse(m), dimensions={0}
  t = f32[5] add(s, x)
  ROOT out = (f32[5], f32[5]) tuple(t, m)
})";

std::vector<float> ChainSum(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> sum;
  for (int i = 0; i < 5; ++i) sum.push_back(x[i] * y[4 - i] + x[i]);
  return sum;
}

TEST_P(ClientTest, RunsAProgramOfSeveralDispatches) {
  auto executable = Compile(kChain);
  const std::vector<float> x{1, 2, 3, 4, 5}, y{7, 11, 13, 17, 19};
  const Literal result = Run(*executable, {Vector(x), Vector(y)});
  EXPECT_EQ(Floats(result.tuple_elements()[0]), ChainSum(x, y));
  EXPECT_EQ(Floats(result.tuple_elements()[1]), (std::vector<float>{35, 44, 39, 34, 19}));
  EXPECT_TRUE(executable->fallbacks().empty());
}

TEST_P(ClientTest, ASecondRunRecordsAllocatesAndCompilesNothing) {
  auto executable = Compile(kChain);
  RunStatistics first, second;
  Run(*executable, {Vector({1, 2, 3, 4, 5}), Vector({1, 1, 1, 1, 1})}, &first);
  EXPECT_EQ(first.recorded, executable->plan().dispatch_count());
  EXPECT_GT(first.allocated_bytes, 0);
  const int64_t allocated = device_->memory_statistics().cumulative_allocated_bytes;
  const std::vector<float> x{2, 3, 5, 7, 11}, y{1, 2, 3, 4, 5};
  const Literal result = Run(*executable, {Vector(x), Vector(y)}, &second);
  EXPECT_EQ(Floats(result.tuple_elements()[0]), ChainSum(x, y));
  EXPECT_EQ(second.recorded, 0);
  EXPECT_EQ(second.recorded_copies, 0);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.allocated_bytes, 0);
  EXPECT_EQ(device_->memory_statistics().cumulative_allocated_bytes, allocated);
}

// After each pass, and around each kernel.
TEST_P(ClientTest, ACompilationEndsWithTheStepThatIsRefused) {
  int steps = 0, kernels = 0;
  CompileOptions options;
  options.proceed = [&](const CallProgress& call) {
    ++steps;
    if (call.stage == CallProgress::Stage::kKernels) ++kernels;
    return OkStatus();
  };
  Compile(kChain, options);
  const int all = steps;
  EXPECT_GT(all, kernels);
  EXPECT_GT(kernels, 0);
  for (int last = 1; last <= all; ++last) {
    steps = 0;
    options.proceed = [&](const CallProgress&) { return ++steps < last ? OkStatus() : Cancelled("not wanted"); };
    const auto refused = client_->Compile(*Parse(kChain), options);
    EXPECT_EQ(refused.status().code(), StatusCode::kCancelled) << last;
  }
}

TEST_P(ClientTest, ProgramsAreCompiledInTheBackgroundOneAfterTheOther) {
  std::promise<void> go_on;
  const auto module = std::shared_ptr<const Module>(Parse(kChain));
  const auto compile = [&](const Proceed& proceed) {
    CompileOptions options;
    options.proceed = proceed;
    return client_->Compile(*module, options);
  };
  const auto first = client_->CompileInBackground([&](const Proceed& proceed) {
    go_on.get_future().wait();
    return compile(proceed);
  });
  const auto second = client_->CompileInBackground(compile), third = client_->CompileInBackground(compile);
  EXPECT_FALSE(second->progress().has_value());
  EXPECT_FALSE(first->done().IsReady());
  second->Cancel();
  EXPECT_FALSE(second->done().IsReady());
  go_on.set_value();
  EXPECT_EQ(second->Await().status().message(), "the compilation was cancelled");
  for (const auto& made : {first, third}) {
    const auto executable = made->Await();
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    made->Cancel();  // it is done
    EXPECT_TRUE(made->Await().ok());
    EXPECT_EQ(made->progress()->stage, CallProgress::Stage::kKernels);
    const Literal result = Run(**executable, {Vector({1, 2, 3, 4, 5}), Vector({1, 1, 1, 1, 1})});
    EXPECT_EQ(Floats(result.tuple_elements()[0]), ChainSum({1, 2, 3, 4, 5}, {1, 1, 1, 1, 1}));
  }
}

TEST_P(ClientTest, ProgressIsToldOfKernelsAndCopies) {
  std::map<CallProgress::Stage, size_t> calls;
  ClientOptions client_options;
  client_options.progress = [&](const CallProgress& call) {
    ++calls[call.stage];
    EXPECT_LE(call.done, call.total);
  };
  FakeDeviceOptions options;
  options.mode = GetParam().first;
  options.host_visible = GetParam().second;
  Open(options, client_options);
  auto executable = Compile(kChain);
  EXPECT_EQ(calls.size(), 1u);
  EXPECT_GT(calls[CallProgress::Stage::kKernels], 0u);
  Run(*executable, {Vector({1, 2, 3, 4, 5}), Vector({1, 1, 1, 1, 1})});
  EXPECT_EQ(calls[CallProgress::Stage::kUpload], 2u);
  EXPECT_EQ(calls[CallProgress::Stage::kRun], 1u);
  EXPECT_EQ(calls[CallProgress::Stage::kDownload], 1u);
  EXPECT_EQ(calls.count(CallProgress::Stage::kHostStep), 0u);
}

TEST_P(ClientTest, ReplaysWithBuffersThatMoved) {
  auto executable = Compile(kChain);
  std::vector<Execution> kept;
  const std::vector<float> y{1, 2, 3, 4, 5};
  for (float seed = 1; seed < 6; ++seed) {
    const std::vector<float> x{seed, 2 * seed, 3, 4, 5};
    const Literal x_value = Vector(x), y_value = Vector(y);
    RunStatistics statistics;
    auto execution = executable->Execute(std::vector<Argument>{x_value, y_value}, &statistics);
    ASSERT_TRUE(execution.ok()) << execution.status().message();
    ASSERT_TRUE(execution->Wait().ok());
    if (GetParam().first == BindingMode::kAddresses && seed > 1) {
      EXPECT_EQ(statistics.recorded, 0);
    }
    kept.push_back(*execution);
  }
  for (float seed = 1; seed < 6; ++seed) {
    const auto sum = kept[static_cast<size_t>(seed) - 1].leaves[0].ToLiteral();
    ASSERT_TRUE(sum.ok());
    EXPECT_EQ(Floats(*sum), ChainSum({seed, 2 * seed, 3, 4, 5}, y));
  }
}

TEST_P(ClientTest, SeveralRunsAreInFlight) {
  FakeDeviceOptions options;
  options.mode = GetParam().first;
  options.host_visible = GetParam().second;
  options.delay = std::chrono::milliseconds(20);
  Open(options);
  auto executable = Compile(kChain);
  const std::vector<float> y{1, 2, 3, 4, 5};
  std::vector<Execution> executions;
  for (float seed = 0; seed < 7; ++seed) {
    const Literal x_value = Vector({seed, 1, 2, 3, 4}), y_value = Vector(y);
    auto execution = executable->Execute(std::vector<Argument>{x_value, y_value});
    ASSERT_TRUE(execution.ok());
    if (seed == 0) {
      EXPECT_FALSE(execution->IsReady());
    }
    executions.push_back(*execution);
  }
  for (float seed = 0; seed < 7; ++seed) {
    const auto sum = executions[static_cast<size_t>(seed)].leaves[0].ToLiteral();
    ASSERT_TRUE(sum.ok());
    EXPECT_EQ(Floats(*sum), ChainSum({seed, 1, 2, 3, 4}, y));
  }
}

TEST_P(ClientTest, ThreadsShareAnExecutable) {
  auto executable = Compile(kChain);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::vector<float> x{static_cast<float>(t), static_cast<float>(i), 2, 3, 4}, y{1, 2, 3, 4, 5};
        const Literal result = Run(*executable, {Vector(x), Vector(y)});
        if (Floats(result.tuple_elements()[0]) != ChainSum(x, y)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ClientTest, AResultFeedsTheNextRunWithoutLeavingTheDevice) {
  auto executable = Compile(R"(HloModule step
ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  ROOT z = f32[3] add(x, y)
})");
  const Literal x = Vector({1, 2, 3}), y = Vector({10, 20, 30});
  auto value = executable->Execute(std::vector<Argument>{x, y});
  ASSERT_TRUE(value.ok());
  const int before = device_->transfers();
  for (int i = 0; i < 5; ++i) {
    value = executable->Execute(std::vector<Argument>{value->leaves[0], value->leaves[0]});
    ASSERT_TRUE(value.ok()) << value.status().message();
  }
  EXPECT_EQ(device_->transfers(), before);
  EXPECT_EQ(Floats(*value->ToLiteral()), (std::vector<float>{352, 704, 1056}));
}

TEST_P(ClientTest, RootMayBeAParameter) {
  auto executable = Compile("HloModule m\nENTRY main {\n  ROOT x = f32[3] parameter(0)\n}");
  const Literal x = Vector({1, 2, 3});
  EXPECT_EQ(Floats(Run(*executable, {x})), Floats(x));
}

TEST_P(ClientTest, RootMayBeAConstant) {
  auto executable = Compile("HloModule m\nENTRY main {\n  ROOT x = f32[3] constant({1, 2, 3})\n}");
  EXPECT_EQ(Floats(Run(*executable, {})), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Floats(Run(*executable, {})), (std::vector<float>{1, 2, 3}));
}

TEST_P(ClientTest, ResultsThatAreTheSameValueAreMemoryOfTheirOwn) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  unused = f32[7] parameter(1)
  c = f32[2] constant({8, 9})
  y = f32[3] negate(x)
  inner = (f32[3], f32[2]) tuple(y, c)
  ROOT r = (f32[3], (f32[3], f32[2]), f32[3], f32[3]) tuple(y, inner, x, x)
})");
  const Literal x = Vector({1, 2, 3}), unused = Vector({0, 0, 0, 0, 0, 0, 0});
  auto execution = executable->Execute(std::vector<Argument>{x, unused});
  ASSERT_TRUE(execution.ok());
  ASSERT_EQ(execution->leaves.size(), 5u);
  for (size_t a = 0; a < 5; ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(execution->leaves[a].memory(), execution->leaves[b].memory());
  }
  const auto result = execution->ToLiteral();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->shape().ToString(), "(f32[3], (f32[3], f32[2]), f32[3], f32[3])");
  EXPECT_THAT(Floats(result->tuple_elements()[1].tuple_elements()[0]), ElementsAre(-1, -2, -3));
  EXPECT_THAT(Floats(result->tuple_elements()[1].tuple_elements()[1]), ElementsAre(8, 9));
  EXPECT_THAT(Floats(result->tuple_elements()[3]), ElementsAre(1, 2, 3));
}

TEST_P(ClientTest, EmptyAndScalarArraysRun) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  e = f32[0,3] parameter(0)
  s = f32[] parameter(1)
  n = f32[0,3] negate(e)
  t = f32[] negate(s)
  ROOT r = (f32[0,3], f32[], f32[0,3]) tuple(n, t, e)
})");
  const Literal result = Run(*executable, {Literal(Shape(ElementType::kF32, {0, 3})), Scalar(2)});
  EXPECT_EQ(result.tuple_elements()[0].element_count(), 0);
  EXPECT_EQ(result.tuple_elements()[1].GetDouble(0), -2);
}

TEST_P(ClientTest, TupleParametersAreTakenAsOneLiteralOrAsLeaves) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  p = (f32[2], (f32[2], f32[])) parameter(0)
  a = f32[2] get-tuple-element(p), index=0
  q = (f32[2], f32[]) get-tuple-element(p), index=1
  b = f32[2] get-tuple-element(q), index=0
  ROOT c = f32[2] subtract(a, b)
})");
  const Literal argument = Literal::Tuple([] {
    std::vector<Literal> inner;
    inner.push_back(Vector({1, 2}));
    inner.push_back(Scalar(0));
    std::vector<Literal> outer;
    outer.push_back(Vector({5, 7}));
    outer.push_back(Literal::Tuple(std::move(inner)));
    return outer;
  }());
  EXPECT_THAT(Floats(Run(*executable, {argument})), ElementsAre(4, 5));
  auto leaves = client_->Upload(argument);
  ASSERT_TRUE(leaves.ok());
  auto execution = executable->Execute(std::vector<Argument>{Argument(*leaves)});
  ASSERT_TRUE(execution.ok()) << execution.status().message();
  EXPECT_THAT(Floats(*execution->ToLiteral()), ElementsAre(4, 5));
}

TEST_P(ClientTest, WhatTheDeviceRefusesRunsOnTheHost) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  n = f32[4] negate(x)
  s = f32[4] custom-call(n), custom_call_target="sort"
  ROOT m = f32[4] add(s, x)
})");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Floats(Run(*executable, {Vector({1, 4, 2, 3})})), ElementsAre(-3, 1, 0, 2));
  }
  ASSERT_EQ(executable->fallbacks().size(), 1u);
  EXPECT_EQ(executable->fallbacks()[0].opcode, "custom-call");
  EXPECT_EQ(executable->fallbacks()[0].reason, "no kernel for custom-call yet");
}

TEST_P(ClientTest, RequireGpuRefusesFallbacks) {
  CompileOptions options;
  options.require_gpu = true;
  const auto refused = client_->Compile(
      *Parse("HloModule m\nENTRY main {\n  x = f32[3] parameter(0)\n  ROOT y = f64[3] convert(x)\n}"), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kDeviceFailure);
  EXPECT_THAT(refused.status().message(), HasSubstr("no f64 on this device"));
}

TEST_P(ClientTest, ArgumentsThatDoNotFitAreNamed) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  x = f32[4,3] parameter(0)
  y = (f32[2], f32[2]) parameter(1)
  ROOT z = f32[4,3] negate(x)
})");
  const Literal x(Shape(ElementType::kF32, {4, 3})), wrong(Shape(ElementType::kF32, {3, 4}));
  const Literal y(Shape::Tuple({Shape(ElementType::kF32, {2}), Shape(ElementType::kF32, {2})}));
  EXPECT_EQ(executable->Run(std::vector<const Literal*>{&wrong, &y}).status().message(),
            "argument 0: f32[3,4] given, the program wants f32[4,3]");
  EXPECT_EQ(executable->Run(std::vector<const Literal*>{&x}).status().message(),
            "1 arguments given, the program wants 2");
  EXPECT_EQ(executable->Run(std::vector<const Literal*>{&x, &x}).status().message(),
            "argument 1: f32[4,3] given, the program wants (f32[2], f32[2])");
  const auto value = *client_->Upload(x);
  EXPECT_EQ(executable->Execute(std::vector<Argument>{value[0], value[0]}).status().message(),
            "argument 1: 1 device values given, the program wants (f32[2], f32[2])");
  EXPECT_EQ(executable->Execute(std::vector<Argument>{value[0], Argument({value[0], value[0]})}).status().message(),
            "argument 1, leaf 0: f32[4,3] given, the program wants f32[2]");
}

TEST_P(ClientTest, AShapeBeyondDeviceMemoryIsRefusedBeforeItRuns) {
  const auto refused = client_->Compile(
      *Parse("HloModule m\nENTRY main {\n  x = f32[1073741824] parameter(0)\n  ROOT y = f32[1073741824] negate(x)\n}"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            "buffer x needs 4294967296 bytes, and the device has 1073741824 bytes of memory");
}

TEST_P(ClientTest, MemoryThatIsIdleMakesRoomForWhatDoesNotFitBesideIt) {
  FakeDeviceOptions options;
  options.mode = GetParam().first;
  options.memory_bytes = 100'000;
  Open(options);
  const auto text = [](int n) {
    return fmt::format("HloModule m\nENTRY main {{\n  x = f32[{0}] parameter(0)\n  ROOT y = f32[{0}] negate(x)\n}}", n);
  };
  auto one = Compile(text(6000)), other = Compile(text(9000));
  Run(*one, {Literal(Shape(ElementType::kF32, {6000}))});
  Run(*other, {Literal(Shape(ElementType::kF32, {9000}))});
  Run(*one, {Literal(Shape(ElementType::kF32, {6000}))});
}

TEST_P(ClientTest, ProfilesEachDispatch) {
  CompileOptions options;
  options.profile = true;
  auto executable = Compile(kChain, options);
  RunStatistics statistics;
  Run(*executable, {Vector({1, 2, 3, 4, 5}), Vector({1, 1, 1, 1, 1})}, &statistics);
  ASSERT_EQ(static_cast<int>(statistics.steps.size()), executable->plan().dispatch_count());
  for (const StepTime& step : statistics.steps) {
    EXPECT_EQ(step.ms, 1.0);
    EXPECT_GE(step.bytes, 40);
  }
}

TEST_P(ClientTest, AFailedSubmissionIsReportedAndLeavesTheExecutableUsable) {
  auto executable = Compile(kChain);
  const Literal x = Vector({1, 2, 3, 4, 5});
  device_->fail_submit = true;
  EXPECT_EQ(executable->Run(std::vector<const Literal*>{&x, &x}).status().code(), StatusCode::kDeviceFailure);
  device_->fail_submit = false;
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(executable->Run(std::vector<const Literal*>{&x, &x}).ok());
}

TEST_P(ClientTest, OutlivesItsClient) {
  auto executable = Compile(kChain);
  client_.reset();
  auto execution = [&] {
    const Literal x = Vector({1, 2, 3, 4, 5});
    return *executable->Execute(std::vector<Argument>{x, x});
  }();
  executable.reset();
  EXPECT_TRUE(execution.ToLiteral().ok());
}

// Donation.

constexpr char kUpdate[] = R"(HloModule update, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  w = f32[4] parameter(0)
  g = f32[4] parameter(1)
  ROOT n = f32[4] subtract(w, g)
})";

TEST_P(ClientTest, ADonatedArgumentBecomesTheResultInPlace) {
  auto executable = Compile(kUpdate);
  const Literal g = Vector({1, 1, 1, 1});
  DeviceBuffer w = (*client_->Upload(Vector({10, 20, 30, 40})))[0];
  const Buffer* memory = &w.memory()->buffer();
  for (int i = 0; i < 3; ++i) {
    auto execution = executable->Execute(std::vector<Argument>{w, g});
    ASSERT_TRUE(execution.ok()) << execution.status().message();
    w = execution->leaves[0];
    EXPECT_EQ(&w.memory()->buffer(), memory);
  }
  EXPECT_THAT(Floats(*w.ToLiteral()), ElementsAre(7, 17, 27, 37));
}

TEST_P(ClientTest, ADonatedValueIsGone) {
  auto executable = Compile(kUpdate);
  const Literal g = Vector({1, 1, 1, 1});
  const DeviceBuffer w = (*client_->Upload(Vector({10, 20, 30, 40})))[0];
  ASSERT_TRUE(executable->Execute(std::vector<Argument>{w, g}).ok());
  EXPECT_EQ(executable->Execute(std::vector<Argument>{w, g}).status().message(),
            "argument 0: the value was donated to an earlier run");
  EXPECT_THAT(w.ToLiteral().status().message(), HasSubstr("has been donated"));
}

TEST_P(ClientTest, AKeptArgumentSurvivesDonation) {
  auto executable = Compile(kUpdate);
  const Literal g = Vector({1, 1, 1, 1});
  const DeviceBuffer w = (*client_->Upload(Vector({10, 20, 30, 40})))[0];
  Argument kept(w);
  kept.keep = true;
  for (int i = 0; i < 2; ++i) {
    auto execution = executable->Execute(std::vector<Argument>{kept, g});
    ASSERT_TRUE(execution.ok());
    EXPECT_THAT(Floats(*execution->ToLiteral()), ElementsAre(9, 19, 29, 39));
  }
  EXPECT_THAT(Floats(*w.ToLiteral()), ElementsAre(10, 20, 30, 40));
}

TEST_P(ClientTest, OneValueCannotBeDonatedAndReadTwice) {
  auto executable = Compile(kUpdate);
  const DeviceBuffer w = (*client_->Upload(Vector({10, 20, 30, 40})))[0];
  EXPECT_THAT(executable->Execute(std::vector<Argument>{w, w}).status().message(),
              HasSubstr("in use as another argument"));
  EXPECT_TRUE(w.ToLiteral().ok());
}

TEST_P(ClientTest, MustAliasIsHonouredEvenWhenTheParameterIsReadLate) {
  auto executable = Compile(R"(HloModule late, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {}, must-alias) }
ENTRY main {
  a = f32[3] parameter(0)
  b = f32[3] parameter(1)
  n = f32[3] reverse(b), dimensions={0}
  m = f32[3] reverse(a), dimensions={0}
  s = f32[3] add(n, a)
  ROOT r = (f32[3], f32[3], f32[3]) tuple(n, m, s)
})");
  const DeviceBuffer a = (*client_->Upload(Vector({1, 2, 3})))[0], b = (*client_->Upload(Vector({4, 5, 6})))[0];
  const Buffer *a_memory = &a.memory()->buffer(), *b_memory = &b.memory()->buffer();
  auto execution = executable->Execute(std::vector<Argument>{a, b});
  ASSERT_TRUE(execution.ok()) << execution.status().message();
  EXPECT_EQ(&execution->leaves[0].memory()->buffer(), a_memory);
  EXPECT_EQ(&execution->leaves[1].memory()->buffer(), b_memory);
  EXPECT_THAT(Floats(*execution->leaves[0].ToLiteral()), ElementsAre(6, 5, 4));
  EXPECT_THAT(Floats(*execution->leaves[1].ToLiteral()), ElementsAre(3, 2, 1));
  EXPECT_THAT(Floats(*execution->leaves[2].ToLiteral()), ElementsAre(7, 7, 7));
}

TEST_P(ClientTest, SwappedDonationsKeepTheirValues) {
  for (const char* kind : {"may-alias", "must-alias"}) {
    auto executable =
        Compile(fmt::format(R"(HloModule swap, input_output_alias={{ {{0}}: (0, {{}}, {0}), {{1}}: (1, {{}}, {0}) }}
ENTRY main {{
  a = f32[3] parameter(0)
  b = f32[3] parameter(1)
  ROOT r = (f32[3], f32[3]) tuple(b, a)
}})",
                            kind));
    const Literal result = Run(*executable, {Vector({1, 2, 3}), Vector({4, 5, 6})});
    EXPECT_THAT(Floats(result.tuple_elements()[0]), ElementsAre(4, 5, 6));
    EXPECT_THAT(Floats(result.tuple_elements()[1]), ElementsAre(1, 2, 3));
  }
}

TEST_P(ClientTest, ADonatedParameterMayPassThrough) {
  auto executable = Compile(R"(HloModule pass, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  a = f32[3] parameter(0)
  n = f32[3] negate(a)
  ROOT r = (f32[3], f32[3], f32[3]) tuple(a, n, a)
})");
  const Literal result = Run(*executable, {Vector({1, 2, 3})});
  EXPECT_THAT(Floats(result.tuple_elements()[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Floats(result.tuple_elements()[1]), ElementsAre(-1, -2, -3));
  EXPECT_THAT(Floats(result.tuple_elements()[2]), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace VXLA_NAMESPACE
