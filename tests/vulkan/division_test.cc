// The division probe: what its answers mean, and when it is asked.
#include "backend/vulkan/device/probes/division.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "backend/vulkan/device/probes/probe_text.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "tests/support/element_kernel.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using enum DeviceFacts::Division;

constexpr size_t kDoublesAt = size_t{4} * kDivisionSingles;

DeviceFacts WithDoubles() {
  DeviceFacts facts;
  facts.float64 = true;
  return facts;
}

// What a correctly rounding device writes.
template <typename T>
void AppendCorrect(std::span<const uint32_t> operands, uint32_t count, std::vector<uint32_t>& words) {
  for (uint32_t i = 0; i < count; ++i) {
    T pair[2];
    std::memcpy(pair, operands.data() + i * sizeof(pair) / 4, sizeof(pair));
    const T correct[] = {pair[0] / pair[1], 1 / pair[1], pair[0] / 3, std::sqrt(pair[0])};
    const size_t at = words.size();
    words.resize(at + sizeof(correct) / 4);
    std::memcpy(words.data() + at, correct, sizeof(correct));
  }
}
std::vector<uint32_t> CorrectDivisions() {
  const std::vector<uint32_t> operands = DivisionOperands();
  std::vector<uint32_t> words;
  AppendCorrect<float>(operands, kDivisionSingles, words);
  AppendCorrect<double>(std::span(operands).subspan(2 * kDivisionSingles), kDivisionDoubles, words);
  return words;
}

// The first answer after `from` whose exponent says that it is a normal number.
size_t NormalAfter(const std::vector<uint32_t>& answer, size_t from) {
  while ((answer[from] >> 23 & 0xff) == 0 || (answer[from] >> 23 & 0xff) == 0xff) ++from;
  return from;
}

TEST(JudgeDivisionTest, CorrectAnswersAreNative) {
  const DivisionFacts division = JudgeDivision(CorrectDivisions(), WithDoubles());
  EXPECT_EQ(division.f32, kNative);
  EXPECT_EQ(division.f64, kNative);
  EXPECT_EQ(JudgeDivision(CorrectDivisions(), DeviceFacts()).f64, kUnmeasured) << "there is no f64";
}

TEST(JudgeDivisionTest, OneBitOffIsCorrectedInThatType) {
  std::vector<uint32_t> answer = CorrectDivisions();
  answer[NormalAfter(answer, 1000)] ^= 1;
  EXPECT_EQ(JudgeDivision(answer, WithDoubles()).f32, kCorrected);
  EXPECT_EQ(JudgeDivision(answer, WithDoubles()).f64, kNative);
  answer = CorrectDivisions();
  answer[kDoublesAt] ^= 1;  // the low word of the first quotient of f64
  EXPECT_EQ(JudgeDivision(answer, WithDoubles()).f32, kNative);
  EXPECT_EQ(JudgeDivision(answer, WithDoubles()).f64, kCorrected);
}

TEST(JudgeDivisionTest, DevicesThatFlushDenormalsAreNotBlamedForThem) {
  std::vector<uint32_t> answer = CorrectDivisions();
  for (size_t i = 0; i < kDoublesAt; ++i) {
    if ((answer[i] & 0x7f800000u) == 0) answer[i] &= 0x80000000u;
  }
  DeviceFacts facts;
  EXPECT_EQ(JudgeDivision(answer, facts).f32, kCorrected) << "its sums keep denormals";
  facts.quirks.flushes_f32_denormals = true;
  EXPECT_EQ(JudgeDivision(answer, facts).f32, kNative);
}

// Of each of the four answers, many tell a device apart that takes the reciprocal and multiplies.
TEST(JudgeDivisionTest, OperandsTellReciprocalsFromQuotients) {
  const std::vector<uint32_t> operands = DivisionOperands();
  ASSERT_EQ(operands.size(), size_t{2} * kDivisionSingles + size_t{4} * kDivisionDoubles);
  int quotients = 0, thirds = 0, denormals = 0;
  for (uint32_t i = 0; i < kDivisionSingles; ++i) {
    const float a = std::bit_cast<float>(operands[2 * i]), b = std::bit_cast<float>(operands[2 * i + 1]),
                third = 1.0f / 3;
    const float inverse = 1 / b;
    quotients += std::isfinite(inverse) && a * inverse != a / b;
    thirds += a * third != a / 3;
    denormals += a / b != 0 && std::fabs(a / b) < std::numeric_limits<float>::min();
  }
  EXPECT_GT(quotients, 3000);
  EXPECT_GT(thirds, 1000);
  EXPECT_GT(denormals, 1000);
}

TEST(DivisionProbeTest, CompilesWithAndWithoutF64) {
  for (const DeviceFacts& facts : {DeviceFacts(), WithDoubles()}) {
    const auto words = CompileGlsl(ProbeText(ProbeSubject::kDivision, facts), "probe", {});
    EXPECT_TRUE(words.ok()) << words.status().message();
  }
}

class DivisionTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(All, DivisionTest, ::testing::ValuesIn(DeviceCases()), CaseName);

KernelKey KernelOf(const std::string& value) { return ElementKernel({"f32"}, "STORE(0, f32, i, " + value + ");"); }

std::unique_ptr<Device> OpenWithShaders(int index, OpenOptions options) {
  DeviceHooks hooks;
  hooks.source = [](const KernelKey& key, const DeviceFacts& facts, BindingMode mode) {
    return AssembleShader(key, facts, mode);
  };
  auto device = OpenDeviceWith(index, options, hooks);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return device.ok() ? std::move(*device) : nullptr;
}

TEST_P(DivisionTest, IsMeasuredOnceWhenTheDeviceIsOpened) {
  TemporaryFolder folder;
  OpenOptions options = Options();
  options.cache_dir = folder.path();
  const auto first = OpenWithShaders(GetParam().index, options);
  ASSERT_NE(first, nullptr);
  EXPECT_GT(first->memory_statistics().cumulative_allocated_bytes, 0);
  EXPECT_NE(first->facts().division_f32, kUnmeasured);
  EXPECT_EQ(first->facts().division_f64 == kUnmeasured, !first->facts().float64);
  const auto text = first->KernelSource(GetParam().mode, KernelOf("divide_f32(LOAD(0, f32, i), 3.0f)"));
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(first->facts().division_f32 == kCorrected, text->find("FN F corrected_divide_f32(") != text->npos);
  // The verdict is kept.
  const auto second = OpenWithShaders(GetParam().index, options);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->memory_statistics().cumulative_allocated_bytes, 0);
  EXPECT_EQ(second->facts().division_f32, first->facts().division_f32);
}

TEST_P(DivisionTest, IsCorrectedOnDemandWithoutAsking) {
  TemporaryFolder folder;
  OpenOptions options = Options();
  options.cache_dir = folder.path();
  options.emulate.division = true;
  { const auto first = OpenWithShaders(GetParam().index, options); }
  const auto device = OpenWithShaders(GetParam().index, options);
  ASSERT_NE(device, nullptr);
  const auto text = device->KernelSource(GetParam().mode, KernelOf("divide_f32(LOAD(0, f32, i), 3.0f)"));
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("FN F corrected_divide_f32("), text->npos);
  EXPECT_EQ(device->memory_statistics().cumulative_allocated_bytes, 0);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
