// Kernels as they are chosen for families of GPUs (--emulate gcn, rdna2, ...), on a software driver against the
// reference: tiles and strips of products, shares of rows and columns, chunks of running sums, sorts, turned loops,
// attention, matrix units stood in for.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/gpu_client.h"

namespace VXLA_NAMESPACE::testing {
namespace {

constexpr char kProgram[] = R"(HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }
ENTRY e {
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  wide = f32[300,260] parameter(0)
  tall = f32[260,132] parameter(1)
  bias = f32[132] parameter(2)
  product = f32[300,132] dot(wide, tall), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  biases = f32[300,132] broadcast(bias), dimensions={1}
  shifted = f32[300,132] add(product, biases)
  bent = f32[300,132] tanh(shifted)
  turned = f32[132,300] transpose(bent), dimensions={1,0}
  long = f32[17,20000] parameter(3)
  narrow = f32[20000,24] parameter(4)
  shares = f32[17,24] dot(long, narrow), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  halves = f16[68,72] parameter(5)
  other_halves = f16[72,40] parameter(6)
  of_halves = f16[68,40] dot(halves, other_halves), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bytes = s8[68,80] parameter(7)
  other_bytes = s8[80,40] parameter(8)
  of_bytes = s32[68,40] dot(bytes, other_bytes), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  image = f32[2,17,19,8] parameter(9)
  kernel = f32[3,3,8,20] parameter(10)
  convolved = f32[2,17,19,20] convolution(image, kernel), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  largest = f32[17] reduce(long, low), dimensions={1}, to_apply=max
  largest_each = f32[17,20000] broadcast(largest), dimensions={0}
  below = f32[17,20000] subtract(long, largest_each)
  weights = f32[17,20000] exponential(below)
  totals = f32[17] reduce(weights, zero), dimensions={1}, to_apply=sum
  totals_each = f32[17,20000] broadcast(totals), dimensions={0}
  softmax = f32[17,20000] divide(weights, totals_each)
  columns = f32[24] reduce(narrow, zero), dimensions={0}, to_apply=sum
  squares = f32[17,20000] multiply(long, long)
  all = f32[] reduce(squares, zero), dimensions={0,1}, to_apply=sum
  running = f32[17,20000] reduce-window(long, zero), window={size=1x20000 pad=0_0x19999_0}, to_apply=sum
  sorted = f32[17,20000] sort(long), dimensions={1}, to_apply=lt
  flipped = f32[260,300] transpose(wide), dimensions={1,0}
  brief = bf16[524288] parameter(11)
  doubled = bf16[524288] add(brief, brief)
  ROOT t = (f32[132,300], f32[17,24], f16[68,40], s32[68,40], f32[2,17,19,20], f32[17,20000], f32[24], f32[], f32[17,20000], f32[17,20000], f32[260,300], bf16[524288])
    tuple(turned, shares, of_halves, of_bytes, convolved, softmax, columns, all, running, sorted, flipped, doubled)
})";

// Causal, of 4 heads.
std::string Attention(const std::string& type) {
  std::string text = R"(HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
ENTRY e {
  q = T[4,136,64] parameter(0)
  k = T[4,136,64] parameter(1)
  v = T[4,136,64] parameter(2)
  a = T[4,136,136] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  w = f32[4,136,136] convert(a)
  n = f32[] constant(0.125)
  nb = f32[4,136,136] broadcast(n), dimensions={}
  x = f32[4,136,136] multiply(w, nb)
  row = s32[136,136] iota(), iota_dimension=0
  key = s32[136,136] iota(), iota_dimension=1
  c = pred[136,136] compare(row, key), direction=GE
  cb = pred[4,136,136] broadcast(c), dimensions={1,2}
  h = f32[] constant(-1e9)
  hb = f32[4,136,136] broadcast(h), dimensions={}
  xm = f32[4,136,136] select(cb, x, hb)
  i = f32[] constant(-inf)
  o = f32[] constant(0)
  m = f32[4,136] reduce(xm, i), dimensions={2}, to_apply=max
  mb = f32[4,136,136] broadcast(m), dimensions={0,1}
  y = f32[4,136,136] subtract(xm, mb)
  z = f32[4,136,136] exponential(y)
  l = f32[4,136] reduce(z, o), dimensions={2}, to_apply=sum
  lb = f32[4,136,136] broadcast(l), dimensions={0,1}
  f = f32[4,136,136] divide(z, lb)
  p = T[4,136,136] convert(f)
  ROOT r = T[4,136,64] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
})";
  for (size_t at = text.find("T["); at != text.npos; at = text.find("T[", at + 1)) text.replace(at, 1, type);
  return text;
}

class GpuFamiliesTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    vulkan::OpenOptions options = TestOptions(BindingMode::kDescriptors);
    options.emulate = *vulkan::ParseEmulation(std::string(GetParam()) + ",matrices");
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    client_ = MakeTestClient(*device);
  }
  // `of_first`: of the first result.
  void ExpectAgreement(const std::string& text, int most, const Tolerance& of_first) {
    const auto module = ParseModule(text);
    ASSERT_NE(module, nullptr);
    const std::vector<Literal> arguments = RandomArguments(*module, 7);
    const auto expected = RunOnCpu(*module, arguments);
    ASSERT_TRUE(expected.has_value());
    RunOptions options;
    for (const Literal* leaf : FlattenLiteral(*expected))
      options.leaf_tolerances.push_back(Tolerance::DefaultFor(*leaf));
    options.leaf_tolerances[0] = of_first;
    ExpectOnGpu(*client_, *module, arguments, options, most, *expected);
  }
  std::unique_ptr<Client> client_;
};

// A sum of 260 products of some magnitude, of which little may be left.
TEST_P(GpuFamiliesTest, EveryKindOfKernelAgrees) { ExpectAgreement(kProgram, 60, {.rtol = 1e-5, .atol = 1e-4}); }

TEST_P(GpuFamiliesTest, AttentionIsOneKernel) {
  ExpectAgreement(Attention("f32"), 1, {.rtol = 1e-5, .atol = 1e-5});
  // Scores and weights are rounded before either product.
  ExpectAgreement(Attention("f16"), 1, {.rtol = 2e-2, .atol = 2e-2});
}

// Kernels that hold much in shared memory. A pipeline that took more than the limits of the family would be refused
// (CheckWorkgroup, CheckShared, KernelLayouts).
constexpr char kHeld[] = R"(HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
lt { a = u32[] parameter(0)  b = u32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
     ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = c64[3,1000] parameter(0)
  spectrum = c64[3,1000] fft(x), fft_type=FFT, fft_length={1000}
  keys = u32[3,5000] parameter(1)
  places = s32[3,5000] iota(), iota_dimension=1
  sorted = (u32[3,5000], s32[3,5000]) sort(keys, places), dimensions={1}, to_apply=lt, is_stable=true
  order = s32[3,5000] get-tuple-element(sorted), index=1
  square = f32[40,40] parameter(2)
  turned = f32[40,40] transpose(square), dimensions={1,0}
  product = f32[40,40] dot(square, turned), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  row = s32[40,40] iota(), iota_dimension=0
  column = s32[40,40] iota(), iota_dimension=1
  diagonal = pred[40,40] compare(row, column), direction=EQ
  eight = f32[] constant(40)
  eights = f32[40,40] broadcast(eight), dimensions={}
  zero = f32[] constant(0)
  zeros = f32[40,40] broadcast(zero), dimensions={}
  weight = f32[40,40] select(diagonal, eights, zeros)
  definite = f32[40,40] add(product, weight)
  factor = f32[40,40] cholesky(definite), lower=true
  base = f32[17,300] parameter(3)
  at = s32[33,1] parameter(4)
  rows = f32[33,300] parameter(5)
  scattered = f32[17,300] scatter(base, at, rows), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  ROOT t = (c64[3,1000], s32[3,5000], f32[40,40], f32[17,300]) tuple(spectrum, order, factor, scattered)
})";

std::unique_ptr<Client> MobileClient(BindingMode mode) {
  vulkan::OpenOptions options = TestOptions(mode);
  options.emulate = *vulkan::ParseEmulation("mobile");
  auto device = OpenTestDevice(options);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? MakeTestClient(*device) : nullptr;
}

TEST(MobileTest, KernelsKeepToTheLeastLimits) {
  const auto module = ParseModule(kHeld);
  ASSERT_NE(module, nullptr);
  const std::unique_ptr<Client> client = MobileClient(BindingMode::kAddresses);
  ASSERT_NE(client, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, 7);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  ExpectOnGpu(*client, *module, arguments, {}, 60, *expected);
}

TEST(MobileTest, WhatTakesMoreBuffersThanAKernelMayBindIsDoneWithout) {
  const auto module = ParseModule(kHeld);
  ASSERT_NE(module, nullptr);
  const std::unique_ptr<Client> client = MobileClient(BindingMode::kDescriptors);
  ASSERT_NE(client, nullptr);
  auto executable = client->Compile(*module);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ASSERT_FALSE((*executable)->fallbacks().empty());
  EXPECT_EQ((*executable)->fallbacks()[0].reason, "sorted needs 10 storage buffers, more than this device's 8");
}

std::unique_ptr<Client> SameBitsClient(BindingMode mode, const std::string& emulate) {
  vulkan::OpenOptions options = TestOptions(mode);
  options.emulate = *vulkan::ParseEmulation(emulate);
  options.same_bits = true;
  auto device = OpenTestDevice(options);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? MakeTestClient(*device) : nullptr;
}

// Shares of sums, tiles and rounding are those of one device, whatever the device, its kernels or its features.
TEST(SameBitsOptionTest, EveryDeviceGivesTheBitsOfAnother) {
  const auto module = ParseModule(kProgram);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, 7);
  std::vector<const Literal*> pointers;
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  std::optional<Literal> first;
  for (const BindingMode mode : {BindingMode::kDescriptors, BindingMode::kAddresses}) {
    for (const char* emulate : {"", "rdna3,matrices", "nvidia,division", "mobile", "subgroups,i64,narrow"}) {
      SCOPED_TRACE(emulate);
      const std::unique_ptr<Client> client = SameBitsClient(mode, emulate);
      ASSERT_NE(client, nullptr);
      auto executable = client->Compile(*module);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      auto value = (*executable)->Run(pointers);
      ASSERT_TRUE(value.ok()) << value.status().message();
      if (!first) {
        first = std::move(*value);
        continue;
      }
      const auto got = FlattenLiteral(*value), wanted = FlattenLiteral(*first);
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(Compare(*got[k], *wanted[k], Tolerance{}).differing, 0) << "result " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(As, GpuFamiliesTest,
                         ::testing::Values("gcn", "rdna3", "nvidia", "intel", "apple", "adreno", "mali", "mobile"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
