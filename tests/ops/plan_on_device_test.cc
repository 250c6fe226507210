// Plans on a real device: replay, values that stay, donation, host segments, several runs at once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

#include "scheduler/plan/plan.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

class PlanOnDeviceTest : public ::testing::TestWithParam<BindingMode> {
 protected:
  void SetUp() override {
    client_ = DeviceClient(GetParam());
    ASSERT_NE(client_, nullptr);
  }
  std::shared_ptr<Executable> Compile(const std::string& text, const CompileOptions& options = {}) {
    const auto module = ParseModule(text);
    auto executable = client_->Compile(*module, options);
    VXLA_CHECK(executable.ok(), executable.status().message());
    return *executable;
  }
  Client* client_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Modes, PlanOnDeviceTest, ::testing::Values(BindingMode::kAddresses, BindingMode::kDescriptors),
                         [](const auto& info) {
                           return info.param == BindingMode::kAddresses ? "Addresses" : "Descriptors";
                         });

Literal Vector(std::vector<float> values) {
  return Literal::FromVector<float>(Shape(ElementType::kF32, {static_cast<int64_t>(values.size())}),
                                    std::span<const float>(values));
}
std::vector<float> Floats(const Literal& literal) {
  const auto data = literal.data<float>();
  return {data.begin(), data.end()};
}

constexpr char kTwoReverses[] = R"(HloModule two
ENTRY main {
  x = f32[1009] parameter(0)
  y = f32[1009] parameter(1)
  a = f32[1009] add(x, y)
  s = f32[1009] sort(a), dimensions={0}, to_apply=less
  r = f32[1009] reverse(s), dimensions={0}
  ROOT out = (f32[1009], f32[1009], f32[1009], f32[1009]) tuple(r, x, r, a)
}
)";

TEST(PlanAgainstCpuTest, ResultsOfEveryOriginAgree) {
  const std::string text = std::string(kTwoReverses)
                               .insert(std::string("HloModule two\n").size(),
                                       "less { p = f32[] parameter(0) q = f32[] parameter(1) "
                                       "ROOT c = pred[] compare(p, q), direction=LT }\n");
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  RunOptions options;
  options.allow_fallbacks = true;
  options.tolerance = Tolerance{};
  RunBoth(text, RandomArguments(*module), options);
}

TEST(PlanAgainstCpuTest, ConstantsParametersAndEmptyArraysAreResults) {
  RunOptions options;
  options.tolerance = Tolerance{};
  RunBoth(R"(HloModule m
ENTRY main {
  x = f32[7] parameter(0)
  e = f32[0,3] parameter(1)
  s = s32[] parameter(2)
  c = s32[2,2] constant({{1, 2}, {3, 4}})
  n = f32[0,3] negate(e)
  t = s32[] add(s, s)
  inner = (f32[7], f32[0,3]) tuple(x, e)
  ROOT r = (f32[7], s32[2,2], f32[0,3], s32[], s32[], (f32[7], f32[0,3])) tuple(x, c, n, t, s, inner)
})",
          {Vector({1, 2, 3, 4, 5, 6, 7}), Literal(Shape(ElementType::kF32, {0, 3})),
           Literal::ScalarInt(ElementType::kS32, 21)},
          options);
}

TEST_P(PlanOnDeviceTest, ASecondRunRecordsAllocatesAndCompilesNothing) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  x = f32[513] parameter(0)
  y = f32[513] parameter(1)
  r = f32[513] reverse(x), dimensions={0}
  m = f32[513] multiply(r, y)
  ROOT out = (f32[513], f32[513]) tuple(m, x)
})");
  for (int run = 0; run < 3; ++run) {
    const Literal x = RandomLiteral(Shape(ElementType::kF32, {513}), run), y = RandomLiteral(x.shape(), 10 + run);
    RunStatistics statistics;
    const int64_t before = client_->device().memory_statistics().cumulative_allocated_bytes;
    const auto result = executable->Run(std::vector<const Literal*>{&x, &y}, &statistics);
    ASSERT_TRUE(result.ok()) << result.status().message();
    for (int i = 0; i < 513; ++i) {
      ASSERT_EQ(result->tuple_elements()[0].data<float>()[i], x.data<float>()[512 - i] * y.data<float>()[i]);
    }
    if (run == 0) {
      EXPECT_EQ(statistics.recorded, executable->plan().dispatch_count());
      continue;
    }
    // Descriptor sets name buffers, but a run takes the buffers of the one before.
    EXPECT_EQ(statistics.recorded, 0);
    EXPECT_EQ(statistics.recorded_copies, 0);
    EXPECT_EQ(statistics.compiled, 0);
    EXPECT_EQ(statistics.allocated_bytes, 0);
    EXPECT_EQ(client_->device().memory_statistics().cumulative_allocated_bytes, before);
  }
}

TEST(PlanBindingsTest, ProgramsBeyondADescriptorsRangeTakeAddresses) {
  const auto device = OpenTestDevice({});
  ASSERT_TRUE(device.ok()) << device.status().message();
  const DeviceFacts& facts = (*device)->facts();
  if (!facts.buffer_addresses) GTEST_SKIP() << facts.name << " lacks bufferDeviceAddress";
  const auto range = static_cast<int64_t>(facts.max_storage_range_bytes);
  Client client(*device, nullptr);
  const auto small = ParseModule("HloModule m ENTRY e { x = u8[16] parameter(0) ROOT r = u8[16] not(x) }");
  const auto compiled = client.Compile(*small);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ((*compiled)->plan().bindings, (*device)->binding_mode());
  const auto large =
      ParseModule(fmt::format("HloModule m ENTRY e {{ x = u8[{0}] parameter(0) ROOT r = u8[{0}] not(x) }}", range + 1));
  const auto fallen_back = client.Compile(*large);
  if (static_cast<uint64_t>(range) >= facts.max_allocation_bytes) {  // then no buffer is so large
    EXPECT_EQ(fallen_back.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(
        fallen_back.status().message(),
        ::testing::HasSubstr(fmt::format("buffer x needs {} bytes, and the device allocates {} bytes at a time at most",
                                         range + 1, facts.max_allocation_bytes)));
    return;
  }
  ASSERT_TRUE(fallen_back.ok()) << fallen_back.status().message();
  EXPECT_EQ((*fallen_back)->plan().bindings, BindingMode::kAddresses);
  const Literal zeros(Shape(ElementType::kU8, {range + 1}));
  const Literal* arguments[] = {&zeros};
  const auto result = (*fallen_back)->Run(arguments);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->bytes().front(), std::byte{0xFF});
  EXPECT_EQ(result->bytes().back(), std::byte{0xFF});
}

TEST_P(PlanOnDeviceTest, DonatedWeightsAreUpdatedInPlace) {
  auto executable = Compile(R"(HloModule update, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  w = f32[1009] parameter(0)
  g = f32[1009] parameter(1)
  ROOT n = f32[1009] subtract(w, g)
})");
  Literal ones(Shape(ElementType::kF32, {1009})), start(ones.shape());
  for (int i = 0; i < 1009; ++i) {
    ones.SetDouble(i, 1);
    start.SetDouble(i, i);
  }
  DeviceBuffer w = (*client_->Upload(start))[0];
  for (int i = 0; i < 10; ++i) {
    auto execution = executable->Execute(std::vector<Argument>{w, ones});
    ASSERT_TRUE(execution.ok()) << execution.status().message();
    w = execution->leaves[0];
  }
  const auto values = Floats(*w.ToLiteral());
  for (int i = 0; i < 1009; ++i) ASSERT_EQ(values[i], i - 10);
}

TEST_P(PlanOnDeviceTest, RunsInFlightAndThreadsDoNotDisturbEachOther) {
  auto executable = Compile(R"(HloModule m
ENTRY main {
  x = f32[4099] parameter(0)
  r = f32[4099] reverse(x), dimensions={0}
  a = f32[4099] add(r, x)
  b = f32[4099] reverse(a), dimensions={0}
  ROOT c = f32[4099] add(b, x)
})");
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    std::vector<std::pair<Literal, Execution>> runs;
    for (int i = 0; i < 8; ++i) {
      Literal x = RandomLiteral(Shape(ElementType::kF32, {4099}), 100 * thread + i);
      auto execution = executable->Execute(std::vector<Argument>{x});
      if (!execution.ok()) {
        ++wrong;
        return;
      }
      runs.emplace_back(std::move(x), *execution);
    }
    for (const auto& [x, execution] : runs) {
      const auto result = execution.ToLiteral();
      for (int i = 0; i < 4099; ++i) {
        const float want = (x.data<float>()[i] + x.data<float>()[4098 - i]) + x.data<float>()[i];
        if (!result.ok() || result->data<float>()[i] != want) {
          ++wrong;
          break;
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(PlanOnDeviceTest, ProfileHasATimeForEachDispatch) {
  CompileOptions options;
  options.profile = true;
  auto executable = Compile(
      "HloModule m\nENTRY main {\n  x = f32[1000003] parameter(0)\n  ROOT y = f32[1000003] negate(x)\n}", options);
  const Literal x = RandomLiteral(Shape(ElementType::kF32, {1000003}), 1);
  RunStatistics statistics;
  ASSERT_TRUE(executable->Run(std::vector<const Literal*>{&x}, &statistics).ok());
  ASSERT_EQ(statistics.steps.size(), 1u);
  EXPECT_GT(statistics.steps[0].ms, 0);
  EXPECT_LT(statistics.steps[0].ms, statistics.ms + 1);
  EXPECT_EQ(statistics.steps[0].bytes, 2 * 4 * 1000003);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
