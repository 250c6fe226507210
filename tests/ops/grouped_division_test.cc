// Text that GPUs run and software drivers do not: divisions of neighbours that share the code for operands out of the
// ordinary have the bits of the reference, and functions that branch around what is rare those that they have without.
#include <cstring>
#include <random>

#include "tests/support/gpu_client.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE {
namespace {

using namespace vxla::testing;

// Numbers of any exponent, with zeros, denormals, infinities and NaN among them.
Literal AnyNumbers(const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  constexpr uint32_t kSpecial[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000,
                                   0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000};
  Literal literal(shape);
  auto* words = reinterpret_cast<uint32_t*>(literal.mutable_bytes().data());
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    const uint32_t choice = random() % 16;
    // Most lie in the middle, so that groups have some of each kind.
    const uint32_t middle = (random() & 0x807fffffu) | ((96 + random() % 64) << 23);
    words[i] = choice == 0 ? kSpecial[random() % std::size(kSpecial)] : choice == 1 ? random() : middle;
  }
  return literal;
}

// NaN is the one that the integers give.
void ExpectQuotients(const std::string& text, const std::vector<Literal>& arguments) {
  const auto module = ParseModule(text);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected);
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    vulkan::OpenOptions options = TestOptions(mode);
    options.emulate.gpu = options.emulate.division = true;
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    const auto client = MakeTestClient(*device);
    const auto result = RunOnClient(*client, *module, arguments);
    ASSERT_TRUE(result.has_value());
    const auto* got = reinterpret_cast<const uint32_t*>(result->bytes().data());
    const auto* want = reinterpret_cast<const uint32_t*>(expected->bytes().data());
    int differing = 0;
    const bool flushes = client->device().facts().quirks.flushes_f32_denormals;
    for (int64_t i = 0; i < result->shape().ElementCount(); ++i) {
      const auto nan = [](uint32_t word) { return (word & 0x7fffffffu) > 0x7f800000u; };
      const bool denormal = (want[i] & 0x7f800000u) == 0;
      if (got[i] == want[i] || (got[i] == 0x7fc00000u && nan(want[i])) || (flushes && denormal)) continue;
      if (++differing < 5) ADD_FAILURE() << i << std::hex << ": " << got[i] << ", not " << want[i];
    }
  }
}

TEST(GroupedDivisionTest, LoopsGiveTheReferencesBits) {
  const Shape shape(ElementType::kF32, {1 << 20});
  ExpectQuotients(
      "ENTRY e { a = f32[1048576] parameter(0)  b = f32[1048576] parameter(1)\n"
      "  ROOT r = f32[1048576] divide(a, b) }",
      [&] {
        std::vector<Literal> arguments;
        for (const uint32_t seed : {1, 2}) arguments.push_back(AnyNumbers(shape, seed));
        return arguments;
      }());
}

TEST(GroupedDivisionTest, RootsGiveTheReferencesBits) {
  const Shape shape(ElementType::kF32, {1 << 20});
  for (const char* function : {"sqrt", "rsqrt"}) {
    SCOPED_TRACE(function);
    std::vector<Literal> arguments;
    arguments.push_back(AnyNumbers(shape, 8));
    ExpectQuotients(fmt::format("ENTRY e {{ a = f32[1048576] parameter(0)  ROOT r = f32[1048576] {}(a) }}", function),
                    arguments);
  }
}

// Rows whose greatest element is an ordinary number, a large or a small one; zeros and denormals in each.
TEST(GroupedDivisionTest, RowsGiveTheReferencesBits) {
  Literal rows = AnyNumbers(Shape(ElementType::kF32, {300, 1024}), 3);
  auto* words = reinterpret_cast<uint32_t*>(rows.mutable_bytes().data());
  constexpr uint32_t kGreatest[] = {0x3f800000, 0x7f000000, 0x00400000, 0x41234567};
  for (uint32_t i = 0; i < 300 * 1024; ++i) {
    const uint32_t greatest = kGreatest[i / 1024 % 4];
    if ((words[i] & 0x7fffffffu) > greatest) words[i] = (words[i] & 0x80000000u) | (greatest - words[i] % 4096);
  }
  std::vector<Literal> arguments;
  arguments.push_back(std::move(rows));
  ExpectQuotients(R"(
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
ENTRY e { a = f32[300,1024] parameter(0)  z = f32[] constant(0)
  m = f32[300] reduce(a, z), dimensions={1}, to_apply=max  b = f32[300,1024] broadcast(m), dimensions={0}
  ROOT r = f32[300,1024] divide(a, b) })",
                  std::move(arguments));
}

// Results that are normal numbers, denormals, zeros and infinities.
TEST(GroupedDivisionTest, FunctionsHaveTheBitsOfSoftwareDrivers) {
  const Shape shape(ElementType::kF32, {1 << 19});
  std::vector<Literal> arguments;
  arguments.push_back(AnyNumbers(shape, 5));
  std::mt19937 random(6);
  auto numbers = arguments[0].mutable_data<float>();
  for (size_t i = 0; i < numbers.size(); i += 2) numbers[i] = std::uniform_real_distribution<float>(-120, 120)(random);
  for (const char* function : {"exponential", "logistic", "exponential-minus-one", "tanh", "sinh", "cosh", "erf"}) {
    SCOPED_TRACE(function);
    const auto module = ParseModule(
        fmt::format("ENTRY e {{ a = f32[{0}] parameter(0)  ROOT r = f32[{0}] {1}(a) }}", numbers.size(), function));
    const BindingMode mode = BindingMode::kDescriptors;
    const auto plain = RunOnDevice(mode, *module, arguments);
    const auto client = GpuClient(mode);
    ASSERT_TRUE(plain.has_value() && client != nullptr);
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const auto result = (*executable)->Run(std::vector<const Literal*>{&arguments[0]});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(Compare(*result, *plain, Tolerance{}).differing, 0);
  }
}

// f16 and bf16 that are rounded as they are packed into words: numbers of every bit pattern, NaN among them.
TEST(GroupedDivisionTest, NarrowFloatsAreRoundedAsTheyArePacked) {
  for (const char* type : {"f16", "bf16"}) {
    for (const char* operation : {"add", "multiply"}) {
      SCOPED_TRACE(fmt::format("{} {}", operation, type));
      const auto module =
          ParseModule(fmt::format("ENTRY e {{ a = {0}[1048576] parameter(0)  b = {0}[1048576] parameter(1)\n"
                                  "  ROOT r = {0}[1048576] {1}(a, b) }}",
                                  type, operation));
      std::vector<Literal> arguments;
      std::mt19937 random(7);
      for (int k = 0; k < 2; ++k) {
        Literal& literal = arguments.emplace_back(module->entry()->parameter(k)->shape());
        auto* words = reinterpret_cast<uint32_t*>(literal.mutable_bytes().data());
        for (size_t i = 0; i < literal.bytes().size() / 4; ++i) words[i] = static_cast<uint32_t>(random());
      }
      const auto expected = RunOnCpu(*module, arguments);
      ASSERT_TRUE(expected);
      for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
        const auto client = GpuClient(mode);
        ASSERT_NE(client, nullptr);
        ExpectOnGpu(*client, *module, arguments, {}, 1, *expected);
      }
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE
