// A device that does without its features (--emulate) gives the bits that it gives with them, and packed elements keep
// their neighbours.
#include <gtest/gtest.h>

#include <map>

#include "backend/cpu/reference/evaluator.h"
#include "backend/device.h"
#include "backend/vulkan/device/open.h"
#include "core/ir/module.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

std::string FeaturesOf(const Emulation& e) {
  return fmt::format("{}{}{}{}{}{}", e.i64 ? "i64 " : "", e.f64 ? "f64 " : "", e.f16 ? "f16 " : "",
                     e.narrow ? "narrow " : "", e.subgroups ? "subgroups " : "", e.division ? "division" : "");
}

// The test device without the features, besides those that it does without anyway (VXLA_TEST_EMULATE), opened once.
Client* EmulatingClient(BindingMode mode, const std::string& names) {
  static auto* clients = new std::map<std::pair<BindingMode, std::string>, std::unique_ptr<Client>>;
  std::unique_ptr<Client>& client = (*clients)[{mode, names}];
  if (client != nullptr) return client.get();
  vulkan::OpenOptions options = TestOptions(mode);
  options.cache = false;
  const char* anyway = std::getenv("VXLA_TEST_EMULATE");
  const bool some = anyway != nullptr && *anyway != '\0';
  const auto emulation = vulkan::ParseEmulation(some ? fmt::format("{},{}", anyway, names) : names);
  EXPECT_TRUE(emulation.ok()) << emulation.status().message();
  options.emulate = *emulation;
  auto device = OpenTestDevice(options);
  EXPECT_TRUE(device.ok()) << FeaturesOf(options.emulate) << device.status().message();
  if (!device.ok()) return nullptr;
  client =
      std::make_unique<Client>(*device, [](const Instruction& instruction, std::span<const Literal* const> operands) {
        return EvaluateInstruction(instruction, operands);
      });
  return client.get();
}

std::optional<Literal> RunEmulating(BindingMode mode, const std::string& names, const Module& module,
                                    const std::vector<Literal>& arguments) {
  Client* client = EmulatingClient(mode, names);
  return client == nullptr ? std::nullopt : RunOnClient(*client, module, arguments);
}

class EmulationTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Client *with = DeviceClient(BindingMode::kAddresses),
           *without = EmulatingClient(BindingMode::kAddresses, GetParam());
    ASSERT_TRUE(with != nullptr && without != nullptr);
    const auto features = [](const DeviceFacts& f) {
      return std::tuple(f.int64, f.float64, f.float16, f.storage16, f.storage8, f.subgroup_shuffle, f.division_f32);
    };
    const DeviceFacts& facts = with->device().facts();
    if (features(facts) == features(without->device().facts()))
      GTEST_SKIP() << facts.name << " lacks " << GetParam() << " itself: the other tests run without it";
  }

  // Bit for bit what the device gives with its features.
  void ExpectSameBits(const std::string& hlo) {
    const auto module = ParseModule(hlo);
    ASSERT_NE(module, nullptr);
    const std::vector<Literal> arguments = RandomArguments(*module, 3);
    for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
      const auto with = RunOnDevice(mode, *module, arguments),
                 without = RunEmulating(mode, GetParam(), *module, arguments);
      ASSERT_TRUE(with.has_value() && without.has_value());
      const Comparison comparison = Compare(*without, *with, Tolerance{});
      EXPECT_EQ(comparison.differing, 0) << GetParam() << ": " << comparison.differing << " of " << comparison.elements
                                         << " differ in\n"
                                         << hlo;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Each, EmulationTest, ::testing::Values("i64", "f64", "f16", "narrow", "subgroups", "division"),
                         [](const auto& info) { return std::string(info.param); });

std::string Sum(const std::string& type, const std::string& size, const std::string& dimensions,
                const std::string& result) {
  return fmt::format(
      "HloModule m\nf {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] add(a, b) }}\nENTRY main {{\n"
      "  x = {0}[{1}] parameter(0)\n  z = {0}[] constant({4})\n  ROOT r = {0}[{3}] reduce(x, z), dimensions={{{2}}}, "
      "to_apply=f\n}}\n",
      type, size, dimensions, result, type[0] == 'c' ? "(0, 0)" : "0");
}

TEST_P(EmulationTest, SumsHaveTheSameBits) {
  ExpectSameBits(Sum("f32", "1048576", "0", ""));  // shares by subgroup
  ExpectSameBits(Sum("f32", "1000003", "0", ""));
  ExpectSameBits(Sum("f32", "67,1013", "1", "67"));
  ExpectSameBits(Sum("f32", "512,67", "0", "67"));
  ExpectSameBits(Sum("c64", "5,4096", "1", "5"));
  ExpectSameBits(Sum("bf16", "5,4099", "1", "5"));
  ExpectSameBits(Sum("s64", "5,4099", "1", "5"));
  ExpectSameBits(Sum("s8", "67,101", "1", "67"));
}

TEST_P(EmulationTest, ProductsHaveTheSameBits) {
  const auto dot = [](const std::string& type, int rows, int k, int columns) {
    return fmt::format(
        "HloModule m\nENTRY main {{\n  a = {0}[{1},{2}] parameter(0)\n  b = {0}[{2},{3}] parameter(1)\n"
        "  ROOT r = {0}[{1},{3}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n",
        type, rows, k, columns);
  };
  ExpectSameBits(dot("f32", 64, 512, 64));
  ExpectSameBits(dot("f32", 16, 30000, 24));
  ExpectSameBits(dot("f16", 37, 129, 19));
  ExpectSameBits(dot("s8", 12, 64, 20));
}

TEST_P(EmulationTest, ElementwiseProgramsHaveTheSameBits) {
  for (const char* type : {"f64", "c128", "s64", "u64", "f16", "bf16", "s16", "u8", "s4", "f8e4m3fn", "f32"}) {
    ExpectSameBits(
        fmt::format("HloModule m\nENTRY main {{\n  a = {0}[3,37] parameter(0)\n  b = {0}[3,37] parameter(1)\n"
                    "  s = {0}[3,37] subtract(a, b)\n  m = {0}[3,37] multiply(s, a)\n  d = {0}[3,37] divide(m, b)\n"
                    "  t = {0}[37,3] transpose(d), dimensions={{1,0}}\n  ROOT r = {0}[37,3] add(t, t)\n}}\n",
                    type));
  }
}

TEST_P(EmulationTest, DivisionsAndRootsHaveTheSameBits) {
  for (const char* type : {"f32", "f64", "c64", "f16"}) {
    ExpectSameBits(fmt::format(
        "HloModule m\nENTRY main {{\n  a = {0}[5,2003] parameter(0)\n  b = {0}[5,2003] parameter(1)\n"
        "  d = {0}[5,2003] divide(a, b)\n  s = {0}[5,2003] sqrt(d)\n  r = {0}[5,2003] rsqrt(b)\n"
        "  l = {0}[5,2003] logistic(a)\n  c = {0}[5,2003] cbrt(b)\n"
        "  ROOT t = ({0}[5,2003], {0}[5,2003], {0}[5,2003], {0}[5,2003], {0}[5,2003]) tuple(d, s, r, l, c)\n}}\n",
        type));
  }
}

// A device of Vulkan 1.1 without synchronization2: modules of SPIR-V 1.3, barriers and submissions of Vulkan 1.0. A
// sort has many dispatches, the f64 emulated functions, the f16 its conversions.
TEST(OlderVulkanTest, GivesTheSameBits) {
  const char* const program =
      "HloModule m\nless { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT "
      "}\n"
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\nENTRY main {\n"
      "  x = f32[64,129] parameter(0)\n  w = f32[129,33] parameter(1)\n  d = f64[5,37] parameter(2)\n"
      "  s = f32[64,129] sort(x), dimensions={1}, to_apply=less\n"
      "  p = f32[64,33] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  h = f16[64,33] convert(p)\n  z = f32[] constant(0)\n  t = f32[64] reduce(p, z), dimensions={1}, to_apply=sum\n"
      "  q = f64[5,37] divide(d, d)\n  r = f64[5,37] sqrt(q)\n"
      "  ROOT all = (f16[64,33], f32[64], f64[5,37]) tuple(h, t, r)\n}\n";
  const auto module = ParseModule(program);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, 3);
  const std::string names = "vulkan1.1,synchronization2";
  Client* const older = EmulatingClient(BindingMode::kDescriptors, names);
  ASSERT_NE(older, nullptr);
  EXPECT_EQ(older->device().facts().api_version >> 12, (1u << 22 | 1u << 12) >> 12);
  EXPECT_FALSE(older->device().facts().spirv_1_6);
  for (BindingMode mode : {BindingMode::kDescriptors, BindingMode::kAddresses}) {
    // SwiftShader has no VK_KHR_buffer_device_address.
    if (mode == BindingMode::kAddresses && !older->device().facts().buffer_addresses) continue;
    const auto with = RunOnDevice(mode, *module, arguments), without = RunEmulating(mode, names, *module, arguments);
    ASSERT_TRUE(with.has_value() && without.has_value());
    EXPECT_EQ(Compare(*without, *with, Tolerance{}).differing, 0);
  }
}

// Words that several invocations write parts of, at every length modulo a word.
TEST(PackedElementsTest, KeepTheirNeighbours) {
  for (const char* type : {"pred", "s8", "u4", "bf16", "f8e5m2"}) {
    for (int size : {1, 2, 3, 5, 7, 64, 65, 66, 67, 1021}) {
      const std::string hlo = fmt::format(
          "HloModule m\nENTRY main {{\n  a = {0}[{1}] parameter(0)\n  b = {0}[{1}] parameter(1)\n  p = pred[{1}] "
          "compare(a, b), direction=LT\n"
          "  s = {0}[{1}] select(p, b, a)\n  r = {0}[{1}] reverse(s), dimensions={{0}}\n  ROOT t = ({0}[{1}], "
          "{0}[{1}], pred[{1}]) tuple(s, r, p)\n}}\n",
          type, size);
      const auto module = ParseModule(hlo);
      ASSERT_NE(module, nullptr);
      const std::vector<Literal> arguments = RandomArguments(*module, static_cast<uint64_t>(size));
      const auto expected = RunOnCpu(*module, arguments);
      ASSERT_TRUE(expected.has_value());
      for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
        const auto actual = RunEmulating(mode, "narrow", *module, arguments);
        ASSERT_TRUE(actual.has_value());
        RunOptions exact;
        exact.tolerance = Tolerance{};
        ExpectAgreement(*actual, *expected, exact, fmt::format("{}[{}]", type, size));
      }
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
