// The device as the scheduler uses it: kernels, commands and the timeline; on each device present, in both binding
// modes.
#include <gmock/gmock.h>

#include <cmath>
#include <thread>

#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(All, DeviceTest, ::testing::ValuesIn(DeviceCases()), CaseName);

class DescriptorDeviceTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(All, DescriptorDeviceTest, ::testing::ValuesIn(DeviceCases({BindingMode::kDescriptors})),
                         CaseName);

std::vector<uint32_t> Scaled(std::vector<uint32_t> values, uint32_t factor, uint32_t summand) {
  for (uint32_t& value : values) value = value * factor + summand;
  return values;
}

// VXLA_TEST_DRIVERS (tools/test.sh sets it) names what the tests are to run on: a driver that is missing is a failure.
TEST(DriversTest, EveryExpectedDriverIsPresent) {
  const char* wanted = std::getenv("VXLA_TEST_DRIVERS");
  const auto devices = ListDevices();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  for (std::string_view names = wanted != nullptr ? wanted : ""; !names.empty();) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const auto found = ChooseDevice(*devices, name);
    EXPECT_TRUE(found.ok()) << found.status().message();
  }
}

TEST_P(DeviceTest, RunsAKernel) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  for (size_t count : {1, 63, 1009}) EXPECT_EQ(RunScale(*device, Iota(count), 3, 5), Scaled(Iota(count), 3, 5));
  EXPECT_EQ(RunScale(*device, {}, 3, 5), std::vector<uint32_t>());
}

TEST_P(DeviceTest, FactsAreOfTheEnabledDevice) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const DeviceFacts& facts = device->facts();
  EXPECT_EQ(device->binding_mode(), GetParam().mode);
  EXPECT_FALSE(facts.name.empty());
  EXPECT_GE(facts.max_workgroup_invocations, 128u);
  EXPECT_GE(facts.hardware_threads, 1);
  EXPECT_GT(facts.memory_bytes, 0u);
  EXPECT_TRUE(facts.buffer_addresses || GetParam().mode == BindingMode::kDescriptors);
}

// A kernel's result is the next one's input, with barriers; recorded once and submitted many times.
TEST_P(DeviceTest, ReplaysDependentDispatches) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto a = MakeBuffer(*device, Iota(257)), b = MakeBuffer(*device, Iota(257));
  const std::vector<BufferRange> there = {Whole(a), Whole(b)}, back = {Whole(b), Whole(a)};
  const auto add = MakeArguments(*device, there, {257, 1, 1}), twice = MakeArguments(*device, back, {257, 2, 0});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  for (int i = 0; i < 3; ++i) {
    VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(add), there, {5, 1, 1}));
    commands->Barrier();
    VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(twice), back, {5, 1, 1}));
    commands->Barrier();
  }
  VXLA_ASSERT_OK(commands->End());
  const auto before = device->memory_statistics();
  std::vector<uint32_t> expected = Iota(257);
  TimePoint last;
  for (int run = 0; run < 4; ++run) {
    const auto value = device->Submit(*commands, last);
    ASSERT_TRUE(value.ok()) << value.status().message();
    VXLA_ASSERT_OK(device->Wait(*value));
    EXPECT_GT(value->value, last.value);
    EXPECT_TRUE(device->IsDone(*value));
    last = *value;
    for (uint32_t& x : expected) x = (((x + 1) * 2 + 1) * 2 + 1) * 2;
  }
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *a), expected);
  EXPECT_EQ(device->memory_statistics().cumulative_allocated_bytes, before.cumulative_allocated_bytes);
}

TEST_P(DeviceTest, BindsPartsOfABuffer) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto all = MakeBuffer(*device, Iota(256));
  // 16 words at word 64 become those at word 128.
  const std::vector<BufferRange> buffers = {{all.get(), 256, 64}, {all.get(), 512, 64}};
  const auto arguments = MakeArguments(*device, buffers, {16, 10, 0});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), buffers, {1, 1, 1}));
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  std::vector<uint32_t> expected = Iota(256);
  for (uint32_t i = 0; i < 16; ++i) expected[128 + i] = (64 + i) * 10;
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *all), expected);
}

TEST_P(DeviceTest, ADispatchInPartsIsTheWholeOne) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto a = MakeBuffer(*device, Iota(300)), b = MakeBuffer(*device, std::vector<uint32_t>(300, 9));
  const std::vector<BufferRange> buffers = {Whole(a), Whole(b)};
  const auto arguments = MakeArguments(*device, buffers, {300, 3, 1});
  const auto whole = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode, 64, /*in_parts=*/true));
  ASSERT_TRUE(whole != nullptr && kernel != nullptr);
  std::vector<uint32_t> expected(300, 9);
  const auto dispatch = [&](GroupRange range, uint32_t begin, uint32_t end) {
    auto commands = *device->CreateCommandBuffer(0);
    VXLA_ASSERT_OK(commands->Begin());
    EXPECT_THAT(commands->Dispatch(*whole, Whole(arguments), buffers, {{1, 1, 1}, 1}).message(),
                HasSubstr("it begins at group 1, and its pipeline was not made for that"));
    VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), buffers, range));
    VXLA_ASSERT_OK(commands->End());
    RunAndWait(*device, *commands);
    for (uint32_t i = begin; i < end; ++i) expected[i] = 3 * i + 1;
    EXPECT_EQ(ReadBuffer<uint32_t>(*device, *b), expected);
  };
  dispatch({{2, 1, 1}, 3}, 192, 300);
  dispatch({{1, 1, 1}, 0}, 0, 64);
  dispatch({{2, 1, 1}, 1}, 64, 192);
}

TEST_P(DeviceTest, CopiesAndFills) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto a = MakeBuffer(*device, Iota(101)), b = MakeBuffer(*device, std::vector<uint32_t>(101, 9));
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  commands->BeginLabel("copies");
  commands->Fill({b.get(), 0, 40}, 0xabcd1234);
  commands->Fill({b.get(), 4, 0}, 1);
  commands->Copy({a.get(), 4, 20}, {b.get(), 60, 20});
  commands->Copy({a.get(), 0, 0}, {b.get(), 0, 0});
  commands->EndLabel();
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  std::vector<uint32_t> expected(101, 9);
  for (int i = 0; i < 10; ++i) expected[i] = 0xabcd1234;
  for (uint32_t i = 0; i < 5; ++i) expected[15 + i] = 1 + i;
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *b), expected);
}

// The one queue of a software driver stands for all of them.
TEST_P(DeviceTest, QueuesWaitForOneAnother) {
  OpenOptions options = Options();
  options.emulate.queues = true;
  options.pretend = PretendedMemory::kInvisible;  // so that there are copies
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  ASSERT_EQ(device->facts().compute_queues(), kMostQueues - 1);
  ASSERT_EQ(device->facts().transfer_queue(), kMostQueues - 1);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto a = MakeBuffer(*device, Iota(257)), b = MakeBuffer(*device, Iota(257));
  const std::vector<BufferRange> there = {Whole(a), Whole(b)}, back = {Whole(b), Whole(a)};
  const auto add = MakeArguments(*device, there, {257, 1, 1}), twice = MakeArguments(*device, back, {257, 2, 0});
  std::vector<std::unique_ptr<CommandBuffer>> commands;
  std::vector<uint32_t> expected = Iota(257);
  Moment last;
  for (int i = 0; i < 8; ++i) {
    auto& step = commands.emplace_back(*device->CreateCommandBuffer(0, i % device->facts().compute_queues()));
    VXLA_ASSERT_OK(step->Begin());
    VXLA_ASSERT_OK(step->Dispatch(*kernel, Whole(i % 2 == 0 ? add : twice), i % 2 == 0 ? there : back, {5, 1, 1}));
    VXLA_ASSERT_OK(step->End());
    const auto point = device->Submit(*step, last);
    VXLA_ASSERT_OK(point.status());
    EXPECT_EQ(point->queue, i % device->facts().compute_queues());
    last = *point;
    for (uint32_t& x : expected) x = i % 2 == 0 ? x + 1 : x * 2;
  }
  std::vector<uint32_t> values(257);
  VXLA_ASSERT_OK(device->Download(*a, 0, std::as_writable_bytes(std::span(values)), last));
  EXPECT_EQ(values, expected);
  EXPECT_TRUE(device->IsDone(last));
  EXPECT_THAT(device->Wait(TimePoint{2, 99}).message(), HasSubstr("wait for 99 of queue 2, but only 2 was"));
}

TEST_P(DeviceTest, ReportsBadRecordings) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto a = MakeBuffer(*device, Iota(64));
  auto commands = *device->CreateCommandBuffer(1);
  EXPECT_THAT(commands->End().message(), HasSubstr("not being recorded"));
  EXPECT_THAT(device->Submit(*commands, {}).status().message(), HasSubstr("did not end well"));
  const auto ends_with = [&](auto record) {
    EXPECT_TRUE(commands->Begin().ok());
    record();
    return commands->End().message();
  };
  EXPECT_THAT(ends_with([&] { commands->Copy({a.get(), 0, 8}, {a.get(), 16, 4}); }), HasSubstr("copy of 8 bytes to 4"));
  EXPECT_THAT(ends_with([&] { commands->Copy({a.get(), 0, 8}, {a.get(), 4, 8}); }), HasSubstr("overlapping"));
  EXPECT_THAT(ends_with([&] {
                commands->Copy({a.get(), 252, 8}, {a.get(), 0, 8});
              }),
              HasSubstr("copy source: bytes 252 to 260 lie outside a buffer of 256 bytes"));
  EXPECT_THAT(ends_with([&] { commands->Fill({a.get(), 2, 4}, 0); }), HasSubstr("words of 4 bytes"));
  EXPECT_THAT(ends_with([&] { commands->WriteTimestamp(1); }), HasSubstr("timestamp 1 of 1"));
  EXPECT_THAT(device->Submit(*commands, {}).status().message(), HasSubstr("did not end well"));
  EXPECT_EQ(ends_with([] {}), "");
  EXPECT_THAT(device->Submit(*commands, TimePoint{0, 1u << 20}).status().message(), HasSubstr("would never start"));
  EXPECT_THAT(device->Wait(TimePoint{0, 1u << 20}).message(), HasSubstr("wait for 1048576"));
}

TEST_P(DeviceTest, RefusesDispatchesOverLimits) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto a = MakeBuffer(*device, Iota(64));
  const std::vector<BufferRange> buffers = {Whole(a), Whole(a)};
  const auto arguments = MakeArguments(*device, buffers, {0, 0, 0});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  const uint32_t most = device->facts().max_group_count[1];
  if (most < UINT32_MAX) {
    EXPECT_THAT(commands->Dispatch(*kernel, Whole(arguments), buffers, {1, most + 1, 1}).message(),
                HasSubstr("groups along y exceed the limit"));
  }
  EXPECT_TRUE(commands->Dispatch(*kernel, Whole(arguments), buffers, {0, 1, 1}).ok());
  if (GetParam().mode == BindingMode::kDescriptors) {
    EXPECT_THAT(commands->Dispatch(*kernel, Whole(arguments), std::span(buffers).first(1), {1, 1, 1}).message(),
                HasSubstr("1 buffers given, its key says 2"));
    const std::vector<BufferRange> odd = {Whole(a), {a.get(), 1, 4}};
    EXPECT_THAT(commands->Dispatch(*kernel, Whole(arguments), odd, {1, 1, 1}).message(), HasSubstr("the alignment is"));
    const std::vector<BufferRange> outside = {Whole(a), {a.get(), 0, 260}};
    EXPECT_THAT(commands->Dispatch(*kernel, Whole(arguments), outside, {1, 1, 1}).message(), HasSubstr("lie outside"));
    const std::vector<BufferRange> empty = {Whole(a), {nullptr, 0, 0}};
    VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), empty, {1, 1, 1}));
  }
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
}

TEST_P(DescriptorDeviceTest, RangesOverTheLimitAreRefused) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto limit = static_cast<int64_t>(device->facts().max_storage_range_bytes);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto large = device->Allocate(limit + 4, MemoryKind::kDevice);
  if (limit + 4 > static_cast<int64_t>(device->facts().max_allocation_bytes)) {  // then there is no buffer so large
    EXPECT_EQ(large.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(large.status().message(), HasSubstr("exceeds the limit of"));
    return;
  }
  ASSERT_TRUE(large.ok()) << large.status().message();
  const std::vector<BufferRange> buffers = {Whole(*large), Whole(*large)};
  const auto arguments = MakeArguments(*device, buffers, {0, 0, 0});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  const Status status = commands->Dispatch(*kernel, Whole(arguments), buffers, {1, 1, 1});
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("--bindings=addresses has none"));
  VXLA_ASSERT_OK(commands->End());
}

// Robust access: what lies outside a buffer is neither a crash nor another buffer's memory.
TEST_P(DescriptorDeviceTest, AccessesFarOutsideABufferHarmNothing) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  KernelKey key = ScaleKernel(GetParam().mode);
  key.generated = KernelPrelude(GetParam().mode, 2, 3) +
                  "void main() {\n  uint i = PARAM(0) + gl_LocalInvocationIndex * PARAM(1);\n"
                  "  STORE(1, i, LOAD(0, i) + PARAM(2));\n}\n";
  const auto kernel = GetKernel(*device, key);
  const auto a = MakeBuffer(*device, Iota(64)), b = MakeBuffer(*device, Iota(64));
  const std::vector<BufferRange> buffers = {Whole(a), Whole(b)};
  // 64 places in the second gibibyte, which no buffer of this test reaches.
  const auto arguments = MakeArguments(*device, buffers, {1u << 28, 1u << 21, 7});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), buffers, {1, 1, 1}));
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *a), Iota(64));
  EXPECT_EQ(RunScale(*device, Iota(64), 3, 5), Scaled(Iota(64), 3, 5));
}

// More sets than one descriptor pool has.
TEST_P(DeviceTest, RecordsThousandsOfDispatches) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto a = MakeBuffer(*device, std::vector<uint32_t>(1, 0));
  const std::vector<BufferRange> buffers = {Whole(a), Whole(a)};
  const auto arguments = MakeArguments(*device, buffers, {1, 1, 1});
  auto commands = *device->CreateCommandBuffer(0);
  for (int round = 0; round < 2; ++round) {
    VXLA_ASSERT_OK(commands->Begin());
    for (int i = 0; i < 1500; ++i) {
      VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), buffers, {1, 1, 1}));
      commands->Barrier();
    }
    VXLA_ASSERT_OK(commands->End());
    RunAndWait(*device, *commands);
  }
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *a), std::vector<uint32_t>(1, 3000));
}

TEST_P(DeviceTest, TimestampsGrow) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  if (device->facts().timestamp_period_ns == 0) GTEST_SKIP() << device->facts().name << " lacks timestamps";
  const auto a = MakeBuffer(*device, std::vector<uint32_t>(1 << 20, 0));
  auto commands = *device->CreateCommandBuffer(3);
  VXLA_ASSERT_OK(commands->Begin());
  commands->WriteTimestamp(0);
  commands->Fill(Whole(a), 1);
  commands->Barrier();
  commands->WriteTimestamp(1);
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  const auto times = commands->Timestamps();
  ASSERT_TRUE(times.ok()) << times.status().message();
  ASSERT_EQ(times->size(), 3u);
  EXPECT_GT((*times)[1] - (*times)[0], 0.0);
  EXPECT_LT((*times)[1] - (*times)[0], 5e9);
  EXPECT_EQ((*times)[2], 0.0);  // never written
}

TEST_P(DeviceTest, ManyThreadsSubmit) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  std::vector<std::vector<uint32_t>> results(4);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<uint32_t> values = Iota(131 + t);
      for (uint32_t i = 0; i < 8; ++i) values = RunScale(*device, values, 3, t);
      results[t] = values;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t t = 0; t < results.size(); ++t) {
    std::vector<uint32_t> expected = Iota(131 + t);
    for (int i = 0; i < 8; ++i) expected = Scaled(expected, 3, t);
    EXPECT_EQ(results[t], expected) << t;
  }
}

TEST_P(DeviceTest, ALostDeviceStaysLost) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  VXLA_ASSERT_OK(commands->End());
  EXPECT_FALSE(device->context().Check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit2").ok());
  for (int i = 0; i < 2; ++i) {
    const Status submitted = device->Submit(*commands, {}).status();
    EXPECT_EQ(submitted.code(), StatusCode::kDeviceFailure);
    EXPECT_THAT(submitted.message(), HasSubstr("was lost; open it again"));
  }
  EXPECT_THAT(device->Wait({}).message(), HasSubstr("was lost"));
  EXPECT_THAT(device->Allocate(4, MemoryKind::kDevice).status().message(), HasSubstr("was lost"));
  EXPECT_THAT(device->CreateCommandBuffer(0).status().message(), HasSubstr("was lost"));
}

TEST_P(DeviceTest, BuffersAndKernelsOutliveTheDevice) {
  auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto kernel = GetKernel(*device, ScaleKernel(GetParam().mode));
  const auto buffer = MakeBuffer(*device, Iota(16));
  auto commands = *device->CreateCommandBuffer(0);
  device.reset();
  EXPECT_EQ(buffer->size_bytes(), 64);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
