// What stays on devices between runs: buffers with their events, and the results of several devices.
#include <gmock/gmock.h>

#include <future>
#include <numeric>

#include "api/devices.h"
#include "api/replicas.h"
#include "scheduler/runtime/memory/buffer_pool.h"
#include "tests/support/device_test_support.h"
#include "tests/support/replica_runs.h"

namespace VXLA_NAMESPACE::testing {
namespace runtime_test {

// A step of training: each replica's gradient of |x w - 1|^2, their sum, and the new weights, which all have.
constexpr char kTraining[] = R"(HloModule train
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY step {
  w = f32[17] parameter(0)
  x = f32[5,17] parameter(1)
  y = f32[5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  one = f32[] constant(1)
  ones = f32[5] broadcast(one), dimensions={}
  d = f32[5] subtract(y, ones)
  g = f32[17] dot(d, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[17] all-reduce(g), replica_groups={}, to_apply=add
  rate = f32[] constant(0.001)
  rates = f32[17] broadcast(rate), dimensions={}
  u = f32[17] multiply(all, rates)
  n = f32[17] subtract(w, u)
  ROOT r = (f32[17], f32[5]) tuple(n, d)
})";

TEST(ReplicaResultsTest, AHundredStepsOfTrainingBringNothingToTheHost) {
  const auto module = ParseModule(kTraining);
  ASSERT_NE(module, nullptr);
  constexpr size_t kReplicas = 4;
  const auto client = OpenClient(DefaultDevice());
  ASSERT_TRUE(client.ok()) << client.status().message();
  std::vector<Literal> weights, data;
  for (size_t d = 0; d < kReplicas; ++d) {
    weights.push_back(RandomLiteral(Shape(ElementType::kF32, {17}), 7));
    data.push_back(RandomLiteral(Shape(ElementType::kF32, {5, 17}), static_cast<uint32_t>(d)));
  }
  Pointers pointers;
  std::vector<std::vector<Argument>> arguments(kReplicas);
  for (size_t d = 0; d < kReplicas; ++d) {
    pointers.push_back({&weights[d], &data[d]});
    for (const Literal* literal : pointers[d]) arguments[d].emplace_back((*(*client)->Upload(*literal))[0]);
  }
  auto executable = ReplicatedExecutable::Compile(**client, *module, {kReplicas, 1}, pointers);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ(executable->program().assignment().grid.count(), 4);
  RunStatistics all;
  for (int step = 0; step < 100; ++step) {
    RunStatistics statistics;
    auto launch = executable->program().Execute(arguments, &statistics);
    ASSERT_TRUE(launch.ok()) << launch.status().message();
    ASSERT_EQ(launch->by_device.size(), kReplicas);
    for (size_t d = 0; d < kReplicas; ++d) arguments[d][0] = launch->by_device[d].leaves[0];
    all.downloaded_bytes += statistics.downloaded_bytes;
    all.uploaded_bytes += statistics.uploaded_bytes;
    if (step == 99) {
      EXPECT_TRUE(launch->Done().Await().ok());
    }
  }
  EXPECT_EQ(all.downloaded_bytes, 0);
  EXPECT_EQ(all.uploaded_bytes, 0);
  // The same by way of the host.
  for (int step = 0; step < 100; ++step) {
    RunStatistics statistics;
    const auto result = executable->Run(pointers, &statistics);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(statistics.uploaded_bytes, 4 * kReplicas * (17 + 5 * 17));
    EXPECT_EQ(statistics.downloaded_bytes, 4 * kReplicas * (17 + 5));
    const auto stacked = result->tuple_elements()[0].data<float>();
    for (size_t d = 0; d < kReplicas; ++d)
      std::copy_n(stacked.begin() + static_cast<ptrdiff_t>(17 * d), 17, weights[d].mutable_data<float>().begin());
  }
  for (size_t d = 0; d < kReplicas; ++d) {
    const auto kept = arguments[d][0].leaves[0].ToLiteral();
    ASSERT_TRUE(kept.ok()) << kept.status().message();
    ExpectAgreement(*kept, weights[d], {.tolerance = Tolerance{}}, "weights");
  }
}

class BuffersOnDeviceTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Client> Open() {
    auto client = OpenClient(DefaultDevice());
    VXLA_CHECK(client.ok(), client.status().message());
    return *std::move(client);
  }
};

TEST_F(BuffersOnDeviceTest, ArraysComeAndGoWithStrides) {
  const auto client = Open();
  const std::vector<int16_t> matrix{1, 2, 3, 4, 5, 6};
  const auto* const last = reinterpret_cast<const std::byte*>(matrix.data() + 5);
  const auto made = client->FromHost({last, Shape(ElementType::kS16, {3, 2}), {-2, -6}});  // transposed, from behind
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<int16_t> out(6);
  EXPECT_TRUE(made->buffer.ToHost(std::as_writable_bytes(std::span(out))).Await().ok());
  EXPECT_THAT(out, ::testing::ElementsAre(6, 3, 5, 2, 4, 1));
  auto* const to = reinterpret_cast<std::byte*>(out.data() + 5);
  EXPECT_TRUE(made->buffer.ToHost(to, std::vector<int64_t>{-2, -6}).Await().ok());
  EXPECT_EQ(out, matrix);
}

TEST_F(BuffersOnDeviceTest, LargeArraysGoBetweenHostMemoriesAndDrivers) {
  const auto client = Open();
  std::vector<uint32_t> many(1 << 20);
  std::iota(many.begin(), many.end(), 0U);
  const Shape shape(ElementType::kU32, {1 << 20});
  auto made = client->FromHost(
      {reinterpret_cast<const std::byte*>(many.data()), shape, {}, Client::HostArray::Lent::kUntilTransferred});
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<DeviceBuffer> copies{made->buffer};
  const auto copy = [&](Client& target, BufferMemory memory) {
    auto copied = copies.back().CopyTo(target, memory);
    ASSERT_TRUE(copied.ok()) << copied.status().message();
    EXPECT_EQ(copied->memory_kind(), memory);
    copies.push_back(*std::move(copied));
  };
  std::vector<std::unique_ptr<Client>> others;
  for (const std::string& driver : TwoDrivers()) {
    DeviceOptions options = DefaultDevice();
    options.device = driver;
    auto other = OpenClient(options);
    ASSERT_TRUE(other.ok()) << other.status().message();
    copy(**other, BufferMemory::kDevice);
    copy(**other, BufferMemory::kPinnedHost);
    others.push_back(*std::move(other));
  }
  copy(*client, BufferMemory::kDevice);
  // A program in the middle, whose argument is on its way.
  const auto module =
      ParseModule("HloModule m\nENTRY main {\n  x = u32[1048576] parameter(0)\n  ROOT y = u32[1048576] add(x, x)\n}");
  const auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const auto execution = (*executable)->Execute(std::vector<Argument>{copies.back()});
  ASSERT_TRUE(execution.ok()) << execution.status().message();
  for (DeviceBuffer& each : copies) each.Delete();
  std::vector<uint32_t> out(many.size());
  std::promise<Status> told;
  execution->leaves[0].ToHost(std::as_writable_bytes(std::span(out))).OnReady([&](const Status& status) {
    told.set_value(status);
  });
  const Status status = told.get_future().get();
  ASSERT_TRUE(status.ok()) << status.message();
  for (uint32_t& value : many) value *= 2;
  EXPECT_TRUE(out == many);
}

}  // namespace runtime_test
}  // namespace VXLA_NAMESPACE::testing
