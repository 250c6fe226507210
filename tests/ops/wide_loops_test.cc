// Large loops of narrow types, as GPUs run them: groups that fill 16 bytes, beside tensors of wider types.
#include <cstring>
#include <random>

#include "tests/support/gpu_client.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE {
namespace {

using namespace vxla::testing;

// Any bits: NaNs, infinities and denormals among them.
Literal AnyBits(const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  Literal literal(shape);
  for (std::byte& byte : literal.mutable_bytes()) byte = static_cast<std::byte>(random());
  return literal;
}

uint32_t BitsAt(const Literal& literal, int64_t i) {
  const int bytes = StorageBytes(literal.shape().element_type());
  uint32_t bits = 0;
  std::memcpy(&bits, literal.bytes().data() + i * bytes, static_cast<size_t>(bytes));
  return bits;
}
uint32_t InfinityOf(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  return type == ElementType::kF16 ? 0x7c00u : type == ElementType::kBF16 ? 0x7f80u : 0x7f800000u;
}
uint32_t Magnitude(const Literal& literal, uint32_t bits) {
  return bits & ~(1u << (8 * StorageBytes(literal.shape().element_type()) - 1));
}
bool IsNan(const Literal& literal, uint32_t bits) { return Magnitude(literal, bits) > InfinityOf(literal); }
bool IsDenormal(const Literal& literal, uint32_t bits) {
  return IsFloating(literal.shape().element_type()) && (bits & InfinityOf(literal)) == 0;
}

void ZeroDenormals(Literal& literal) {
  const int bytes = StorageBytes(literal.shape().element_type());
  for (int64_t i = 0; i < literal.shape().ElementCount(); ++i) {
    if (IsDenormal(literal, BitsAt(literal, i))) std::memset(literal.mutable_bytes().data() + i * bytes, 0, bytes);
  }
}

void ExpectTheReferencesBits(const std::string& text) {
  const auto module = ParseModule(text);
  const auto any_device = OpenTestDevice(TestOptions(BindingMode::kDescriptors));
  ASSERT_TRUE(any_device.ok()) << any_device.status().message();
  const bool flushes = (*any_device)->facts().quirks.flushes_f32_denormals;
  std::vector<Literal> arguments;
  std::vector<const Literal*> pointers;
  for (const Instruction* parameter : module->entry()->parameters()) {
    arguments.push_back(AnyBits(parameter->shape(), static_cast<uint32_t>(arguments.size()) + 1));
    if (flushes) ZeroDenormals(arguments.back());
  }
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected);
  for (const Literal& argument : arguments) pointers.push_back(&argument);
  for (BindingMode mode : {BindingMode::kAddresses, BindingMode::kDescriptors}) {
    vulkan::OpenOptions options = TestOptions(mode);
    options.emulate.gpu = true;
    auto device = OpenTestDevice(options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    const auto client = MakeTestClient(*device);
    const auto executable = client->Compile(*module);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const auto result = (*executable)->Run(pointers);
    ASSERT_TRUE(result.ok()) << result.status().message();
    int differing = 0;
    for (int64_t i = 0; i < expected->shape().ElementCount(); ++i) {
      const uint32_t got = BitsAt(*result, i), want = BitsAt(*expected, i);
      if (got == want || (IsNan(*result, got) && IsNan(*expected, want)) || (flushes && IsDenormal(*expected, want)))
        continue;
      if (++differing < 5) ADD_FAILURE() << text << "\n" << i << std::hex << ": " << got << ", not " << want;
    }
  }
}

// A chain of f16, whose scalar operand lies across.
TEST(WideLoopsTest, ChainsOfF16) {
  ExpectTheReferencesBits(R"(
ENTRY e { a = f16[2097152] parameter(0)  b = f16[2097152] parameter(1)  s = f16[] parameter(2)
  sb = f16[2097152] broadcast(s), dimensions={}  m = f16[2097152] multiply(a, b)  n = f16[2097152] subtract(m, sb)
  ROOT r = f16[2097152] add(n, a) })");
}

TEST(WideLoopsTest, Bf16BesideBytes) {
  ExpectTheReferencesBits(R"(
ENTRY e { a = bf16[2097152] parameter(0)  b = bf16[2097152] parameter(1)  u = u8[2097152] parameter(2)
  m = bf16[2097152] multiply(a, b)  w = bf16[2097152] convert(u)  ROOT n = bf16[2097152] add(m, w) })");
}

TEST(WideLoopsTest, ConversionsToAndFromF32) {
  ExpectTheReferencesBits("ENTRY e { a = f16[2097152] parameter(0)  ROOT r = f32[2097152] convert(a) }");
  ExpectTheReferencesBits("ENTRY e { a = f32[2097152] parameter(0)  ROOT r = f16[2097152] convert(a) }");
}

TEST(WideLoopsTest, SixteenBytesAtATime) {
  ExpectTheReferencesBits(R"(
ENTRY e { a = s8[4194304] parameter(0)  b = s8[4194304] parameter(1)  ROOT r = s8[4194304] add(a, b) })");
  ExpectTheReferencesBits(R"(
ENTRY e { a = u8[4194304] parameter(0)  b = u8[4194304] parameter(1)
  ROOT r = pred[4194304] compare(a, b), direction=LT })");
}

// A count that is a multiple of the group and of no workgroup's share.
TEST(WideLoopsTest, TheLastWorkgroupIsNotWhole) {
  ExpectTheReferencesBits(R"(
ENTRY e { a = bf16[2097160] parameter(0)  b = bf16[2097160] parameter(1)  ROOT r = bf16[2097160] add(a, b) })");
}

// Turns of a loop in one workgroup go by fours: drivers that wrote all of them out spilled registers.
TEST(WideLoopsTest, LoopsOfManyTurnsInOneWorkgroup) {
  ExpectTheReferencesBits(R"(
goes { p = (s32[], s32[65536], s32[65536]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
body { p = (s32[], s32[65536], s32[65536]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  a = s32[65536] get-tuple-element(p), index=1  b = s32[65536] get-tuple-element(p), index=2  one = s32[] constant(1)
  j = s32[] add(i, one)  s = s32[65536] add(a, b)  m = s32[65536] multiply(a, b)
  ROOT r = (s32[], s32[65536], s32[65536]) tuple(j, s, m) }
ENTRY e { a = s32[65536] parameter(0)  b = s32[65536] parameter(1)  z = s32[] constant(0)
  t = (s32[], s32[65536], s32[65536]) tuple(z, a, b)
  w = (s32[], s32[65536], s32[65536]) while(t), condition=goes, body=body  x = s32[65536] get-tuple-element(w), index=1
  y = s32[65536] get-tuple-element(w), index=2  ROOT r = s32[65536] subtract(x, y) })");
}

}  // namespace
}  // namespace VXLA_NAMESPACE
