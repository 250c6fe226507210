// Memory that is lent to a device: kept as long as the device uses it, and handed to no other run.
#include "scheduler/runtime/memory/buffer_pool.h"

#include <gtest/gtest.h>

#include <future>

#include "tests/support/fake_device.h"

namespace VXLA_NAMESPACE {
namespace buffer_pool_test {

TEST(BufferPoolTest, LentMemoryStaysWhileTheDeviceUsesItAndNoLonger) {
  const auto device = std::make_shared<testing::FakeDevice>();
  std::promise<void> gate;
  device->before_submission_runs = [&](TimePoint) { gate.get_future().wait(); };
  const auto pool = std::make_shared<BufferPool>(device, /*poison=*/false);
  const auto lend = [&](std::weak_ptr<Buffer>& watched) {
    auto buffer = device->Allocate(256, MemoryKind::kDevice);
    watched = *buffer;
    return pool->Lend(std::move(*buffer), 16, {});
  };
  std::weak_ptr<Buffer> used, idle, next;
  std::shared_ptr<DeviceMemory> memory = lend(used);
  auto commands = device->CreateCommandBuffer(0);
  ASSERT_TRUE((*commands)->Begin().ok() && (*commands)->End().ok());
  const auto submitted = device->Submit(**commands, {});
  ASSERT_TRUE(submitted.ok());
  memory->NoteUse(*submitted);
  memory.reset();
  EXPECT_FALSE(used.expired());
  lend(idle);  // nobody used it
  EXPECT_TRUE(idle.expired());
  int64_t allocated_bytes = 0;
  const auto taken = pool->Take(16, BufferPool::Writer::kDevice, allocated_bytes);
  ASSERT_TRUE(taken.ok());
  EXPECT_NE(&(*taken)->buffer(), used.lock().get());
  gate.set_value();
  ASSERT_TRUE(device->Wait(*submitted).ok());
  lend(next);
  EXPECT_TRUE(used.expired());
}

}  // namespace buffer_pool_test
}  // namespace VXLA_NAMESPACE
