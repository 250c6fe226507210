// Device memory: sub-allocation, reuse, limits, poison, staging.
#include <gmock/gmock.h>

#include <cmath>
#include <thread>

#include "core/data/float_formats.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class MemoryTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(All, MemoryTest, ::testing::ValuesIn(DeviceCases()), CaseName);

TEST_P(MemoryTest, SmallBuffersShareDriverAllocations) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const int64_t before = device->memory_statistics().allocation_count;
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (int i = 0; i < 300; ++i) {
    auto buffer = device->Allocate(1000 + i, MemoryKind::kDevice);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    if (GetParam().mode == BindingMode::kAddresses) {
      EXPECT_EQ((*buffer)->device_address() % 256, 0u);
    }
    buffers.push_back(*buffer);
  }
  EXPECT_LE(device->memory_statistics().allocation_count - before, 1);
}

TEST_P(MemoryTest, BuffersDoNotOverlap) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (uint32_t i = 0; i < 40; ++i) buffers.push_back(MakeBuffer(*device, std::vector<uint32_t>(1 + i * 37, i)));
  for (uint32_t i = 0; i < 40; i += 2) buffers[i] = nullptr;
  for (uint32_t i = 0; i < 40; i += 2) buffers[i] = MakeBuffer(*device, std::vector<uint32_t>(1 + (i * 91) % 700, i));
  for (uint32_t i = 0; i < 40; ++i) EXPECT_THAT(ReadBuffer<uint32_t>(*device, *buffers[i]), Each(i));
}

TEST_P(MemoryTest, FreedMemoryIsUsedAgain) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  constexpr int64_t kLarge = int64_t{96} << 20;
  auto warm = device->Allocate(kLarge, MemoryKind::kDevice);
  ASSERT_TRUE(warm.ok()) << warm.status().message();
  *warm = nullptr;
  const MemoryStatistics before = device->memory_statistics();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(device->Allocate(kLarge, MemoryKind::kDevice).ok());
  const MemoryStatistics after = device->memory_statistics();
  EXPECT_EQ(after.allocation_count, before.allocation_count);
  EXPECT_EQ(after.used_bytes, before.used_bytes);
  EXPECT_EQ(after.cumulative_allocated_bytes, before.cumulative_allocated_bytes + 10 * kLarge);
  EXPECT_GE(after.peak_used_bytes, kLarge);
}

TEST_P(MemoryTest, EmptyBuffersHaveAPlace) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto buffer = device->Allocate(0, MemoryKind::kDevice);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->size_bytes(), 0);
  if (GetParam().mode == BindingMode::kAddresses) {
    EXPECT_NE((*buffer)->device_address(), 0u);
  }
  EXPECT_TRUE(device->Upload({}, **buffer, 0).ok());
  std::byte one[1] = {};
  EXPECT_THAT(device->Upload(one, **buffer, 0).message(),
              HasSubstr("upload: bytes 0 to 1 lie outside a buffer of 0 bytes"));
}

TEST_P(MemoryTest, RefusesBuffersOverTheLimits) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  const auto limit = static_cast<int64_t>(device->facts().max_allocation_bytes);
  const Status status = device->Allocate(limit + 1, MemoryKind::kDevice).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr(fmt::format("a buffer of {} bytes exceeds the limit", limit + 1)));
  EXPECT_THAT(status.message(), HasSubstr(fmt::format("{} bytes for one allocation", limit)));
  EXPECT_EQ(device->Allocate(INT64_MAX, MemoryKind::kDevice).status().code(), StatusCode::kResourceExhausted);
}

// Software drivers would hand out more than there is, so this is as if they had little.
TEST_P(MemoryTest, RefusesMoreThanTheMemoryHolds) {
  constexpr int64_t kEach = 24 << 20;
  OpenOptions options = Options();
  options.memory_limit_bytes = (uint64_t{64} << 20) - 4096;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->facts().memory_bytes, options.memory_limit_bytes);
  std::vector<std::shared_ptr<Buffer>> buffers;
  Status status;
  while (status.ok() && buffers.size() < 3) {
    auto buffer = device->Allocate(kEach, MemoryKind::kDevice);
    if (buffer.ok()) {
      buffers.push_back(*buffer);
    } else {
      status = buffer.status();
    }
  }
  EXPECT_EQ(buffers.size(), 2u);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr(fmt::format("{} bytes do not fit into memory heap 0 (device-local) of {}: ",
                                                      kEach, device->facts().name)));
  EXPECT_THAT(status.message(), HasSubstr("bytes are left"));
  buffers.clear();
  EXPECT_TRUE(device->Allocate(kEach, MemoryKind::kDevice).ok());
}

TEST_P(MemoryTest, ManyThreadsAllocate) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 50; ++i) {
        const std::vector<uint32_t> values(1 + (i * 53 + t) % 997, i * 4 + t);
        const auto buffer = MakeBuffer(*device, values);
        if (ReadBuffer<uint32_t>(*device, *buffer) != values) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(MemoryTest, PoisonFillsFreshAndReusedMemory) {
  for (const PretendedMemory pretend : {PretendedMemory::kNone, PretendedMemory::kInvisible}) {
    OpenOptions options = Options();
    options.poison = true;
    options.pretend = pretend;
    const auto device = Open(options);
    ASSERT_NE(device, nullptr);
    for (int round = 0; round < 2; ++round) {
      auto buffer = device->Allocate(4 * 1013, MemoryKind::kDevice);
      ASSERT_TRUE(buffer.ok()) << buffer.status().message();
      const std::vector<uint32_t> words = ReadBuffer<uint32_t>(*device, **buffer);
      EXPECT_THAT(words, Each(kPoisonWord));
      const std::vector<uint32_t> ones(1013, 1);
      ASSERT_TRUE(device->Upload(std::as_bytes(std::span(ones)), **buffer, 0).ok());
    }
  }
}

TEST(PoisonTest, TheEnvironmentAsksForItToo) {
  setenv("VXLA_POISON", "1", 1);
  const auto device = OpenForTest();
  unsetenv("VXLA_POISON");
  ASSERT_NE(device, nullptr);
  auto buffer = device->Allocate(64, MemoryKind::kDevice);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  EXPECT_THAT(ReadBuffer<uint32_t>(*device, **buffer), Each(kPoisonWord));
}

TEST(PoisonTest, IsNoNumberInAnyFloat) {
  float single;
  double wide;
  const uint64_t two = uint64_t{kPoisonWord} << 32 | kPoisonWord;
  std::memcpy(&single, &kPoisonWord, 4);
  std::memcpy(&wide, &two, 8);
  EXPECT_TRUE(std::isnan(single));
  EXPECT_TRUE(std::isnan(wide));
  EXPECT_EQ(kPoisonWord & 0x7c00, 0x7c00u);  // f16: exponent all ones, and a fraction
  EXPECT_NE(kPoisonWord & 0x03ff, 0u);
  EXPECT_EQ(kPoisonWord & 0x7f80, 0x7f80u);  // bf16
  EXPECT_NE(kPoisonWord & 0x007f, 0u);
}

TEST_P(MemoryTest, StagingCarriesLargeAndOddTransfers) {
  OpenOptions options = Options();
  options.pretend = PretendedMemory::kInvisible;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(RunScale(*device, Iota(1009), 3, 5).back(), 1008u * 3 + 5);
  // Three chunks and a bit, so that both staging buffers are used again.
  std::vector<std::byte> bytes((size_t{25} << 20) + 13);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 7);
  auto buffer = device->Allocate(static_cast<int64_t>(bytes.size()) + 3, MemoryKind::kDevice);
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  EXPECT_EQ((*buffer)->mapped(), nullptr);
  VXLA_ASSERT_OK(device->Upload(bytes, **buffer, 3));
  std::vector<std::byte> back(bytes.size());
  VXLA_ASSERT_OK(device->Download(**buffer, 3, back));
  EXPECT_TRUE(back == bytes);
  const MemoryStatistics before = device->memory_statistics();
  VXLA_ASSERT_OK(device->Download(**buffer, 1003, std::span(back).first(7)));
  EXPECT_EQ(back[0], bytes[1000]);
  EXPECT_EQ(device->memory_statistics().cumulative_allocated_bytes, before.cumulative_allocated_bytes);
}

// Memory that the host sees and reads slowly: written in place, read through cached memory unless it is little.
TEST_P(MemoryTest, UncachedMemoryIsWrittenInPlaceAndReadThroughStaging) {
  OpenOptions options = Options();
  options.pretend = PretendedMemory::kUncached;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(RunScale(*device, Iota(10'007), 3, 5).back(), 10'006u * 3 + 5);
  const auto buffer = MakeBuffer(*device, Iota(1 << 16));
  EXPECT_NE(buffer->mapped(), nullptr);
  uint32_t word = 0;
  std::memcpy(&word, buffer->mapped() + 4 * 1009, sizeof(word));
  EXPECT_EQ(word, 1009u);
  // Bytes that change behind the staged copies' back are seen by the next ones: nothing is kept.
  std::memcpy(buffer->mapped() + 4 * 1009, "four", 4);
  const std::vector<uint32_t> back = ReadBuffer<uint32_t>(*device, *buffer);
  EXPECT_EQ(std::memcmp(&back[1009], "four", 4), 0);
  EXPECT_EQ(back[1 << 15], 1u << 15);
}

TEST_P(MemoryTest, OnlyLargeReadsOfUncachedMemoryAreStaged) {
  for (const PretendedMemory pretend : {PretendedMemory::kNone, PretendedMemory::kUncached}) {
    OpenOptions options = Options();
    options.pretend = pretend;
    const auto device = Open(options);
    ASSERT_NE(device, nullptr);
    const auto buffer = MakeBuffer(*device, Iota(1 << 16));
    const auto staging = [&](size_t bytes) {
      std::vector<std::byte> target(bytes);
      const int64_t before = device->memory_statistics().cumulative_allocated_bytes;
      EXPECT_TRUE(device->Download(*buffer, 0, target).ok());
      return device->memory_statistics().cumulative_allocated_bytes - before;
    };
    EXPECT_EQ(staging(4096), 0);
    if (pretend == PretendedMemory::kUncached) {
      EXPECT_GT(staging(4097), 0);
    } else if (device->facts().is_software()) {  // a GPU's own memory may be uncached, or unseen
      EXPECT_EQ(staging(1 << 18), 0);
    }
  }
}

TEST_P(MemoryTest, ArgumentsAreAlwaysMapped) {
  for (const PretendedMemory pretend :
       {PretendedMemory::kNone, PretendedMemory::kInvisible, PretendedMemory::kUncached}) {
    OpenOptions options = Options();
    options.pretend = pretend;
    const auto device = Open(options);
    ASSERT_NE(device, nullptr);
    const auto block = device->Allocate(64, MemoryKind::kArguments);
    ASSERT_TRUE(block.ok()) << block.status().message();
    EXPECT_NE((*block)->mapped(), nullptr);
  }
}

TEST_P(MemoryTest, ThreadsShareTheStagingBuffer) {
  OpenOptions options = Options();
  options.pretend = PretendedMemory::kInvisible;
  const auto device = Open(options);
  ASSERT_NE(device, nullptr);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 10; ++i) {
        const std::vector<uint32_t> values(1000 + i, i * 3 + t);
        const auto buffer = MakeBuffer(*device, values);
        if (ReadBuffer<uint32_t>(*device, *buffer) != values) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
