// The probe of matrix units: what answers mean, and what comes of them.
#include "backend/vulkan/device/probes/matrix_probe.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "backend/vulkan/device/plan/device_plan.h"
#include "backend/vulkan/device/probes/group_probe.h"
#include "backend/vulkan/device/probes/probe_text.h"
#include "backend/vulkan/shader/module_compiler.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/shader/shader_source.h"
#include "backend/vulkan/spirv/matrix_types.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using enum ElementType;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;

const MatrixShape kHalves{kF16, kF32}, kBrains{kBF16, kF32, 16, 8, 8}, kE4M3{kF8E4M3FN, kF32},
    kE5M2{kF8E5M2, kF32, 16, 8, 32}, kSigned{kS8, kS32, 16, 8, 32}, kBytes{kU8, kU32};

std::vector<MatrixShape> GroupForms() {
  std::vector<MatrixShape> forms;
  for (const MatrixShape& form : GroupMatrixForms()) {
    for (const auto& [term, sum] :
         {std::pair(kF16, kF32), {kBF16, kF32}, {kF8E4M3FN, kF32}, {kF8E5M2, kF32}, {kS8, kS32}, {kU8, kU32}}) {
      forms.push_back(form);
      forms.back().term = term;
      forms.back().sum = sum;
    }
  }
  return forms;
}

// What exact units that round (cut, or flush denormal terms) at the end write.
void AppendSums(const MatrixProduct& product, MatrixRounding rounding, bool flushes, std::vector<uint32_t>& answer) {
  for (uint32_t row = 0; row < product.shape.rows; ++row) {
    for (uint32_t column = 0; column < product.shape.columns; ++column) {
      const MatrixProduct::Exact exact = product.SumAt(row, column, flushes);
      auto sum = static_cast<float>(exact.sum);
      if (rounding == MatrixRounding::kCut && std::abs(sum) > std::abs(exact.sum)) sum = std::nextafter(sum, 0.0f);
      answer.push_back(IsFloating(product.shape.sum) ? std::bit_cast<uint32_t>(sum) : exact.integer);
    }
  }
}

std::vector<uint32_t> Answers(const MatrixShape& shape, MatrixRounding rounding, bool flushes) {
  std::vector<uint32_t> answer;
  for (const MatrixProduct& trial : MatrixTrials(shape)) AppendSums(trial, rounding, flushes, answer);
  return answer;
}

// The sums row by row, then those that a layout stores, of 16-bit terms in pairs.
std::vector<uint32_t> GroupAnswer(const MatrixShape& form, MatrixRounding rounding) {
  std::vector<uint32_t> answer;
  AppendSums(GroupProduct(form), rounding, false, answer);
  const size_t count = answer.size(), step = IsOfHalves(form) ? 2 : 1;
  for (size_t i = 0; i < count; i += step) {
    const uint32_t low = StoredBits(form, answer[i]);
    answer.push_back(step == 1 ? low : low | StoredBits(form, answer[i + 1]) << 16);
  }
  return answer;
}

TEST(JudgeMatricesTest, RoundingIsSeen) {
  for (const MatrixShape& shape : {kHalves, kBrains, kE4M3, kE5M2}) {
    for (const MatrixRounding rounding : {MatrixRounding::kNearest, MatrixRounding::kCut}) {
      for (const bool flushes : {false, true}) {
        const MatrixVerdict verdict = JudgeMatrices(Answers(shape, rounding, flushes), MatrixTrials(shape));
        EXPECT_EQ(verdict, (MatrixVerdict{rounding, flushes, false}));
      }
    }
  }
}

TEST(JudgeMatricesTest, IntegersAreExactOrWrong) {
  for (const MatrixShape& shape : {kSigned, kBytes}) {
    std::vector<uint32_t> answer = Answers(shape, MatrixRounding::kUnmeasured, false);
    EXPECT_EQ(JudgeMatrices(answer, MatrixTrials(shape)), MatrixVerdict());
    answer.back() ^= 1;
    EXPECT_TRUE(JudgeMatrices(answer, MatrixTrials(shape)).wrong);
  }
}

TEST(JudgeMatricesTest, SumsBeyondTheBoundAreWrong) {
  std::vector<uint32_t> answer = Answers(kHalves, MatrixRounding::kNearest, false);
  answer.back() += 3;
  EXPECT_FALSE(JudgeMatrices(answer, MatrixTrials(kHalves)).wrong);
  answer.back() += 1u << 12;
  EXPECT_TRUE(JudgeMatrices(answer, MatrixTrials(kHalves)).wrong);
  answer.back() = 0x7fc00000;
  EXPECT_TRUE(JudgeMatrices(answer, MatrixTrials(kHalves)).wrong);
}

// As tensor cores of f8 are said to add: in 14 bits. Or without infinities, or without NaN.
TEST(JudgeMatricesTest, F8UnitsThatKeepFewBitsOrNoSpecialsAreWrong) {
  for (const MatrixShape& shape : {kE4M3, kE5M2}) {
    const std::vector<uint32_t> right = Answers(shape, MatrixRounding::kCut, false);
    const auto judged = [&](auto changed) {
      std::vector<uint32_t> answer = right;
      for (uint32_t& bits : answer) bits = changed(bits);
      return JudgeMatrices(answer, MatrixTrials(shape)).wrong;
    };
    const auto is = [](uint32_t bits, uint32_t least, uint32_t most) {
      return (bits & 0x7fffffffu) >= least && (bits & 0x7fffffffu) <= most;
    };
    EXPECT_FALSE(judged([](uint32_t bits) { return bits; }));
    EXPECT_FALSE(judged([&](uint32_t bits) { return is(bits, 0x7f800001u, 0x7fffffffu) ? 0xffc12345u : bits; }));
    EXPECT_TRUE(judged([&](uint32_t bits) { return is(bits, 0, 0x7f800000u) ? bits & ~0x3ffu : bits; }));
    EXPECT_TRUE(judged([&](uint32_t bits) { return is(bits, 0x7f800001u, 0x7fffffffu) ? 0x43f00000u : bits; }));
    if (shape.term != kF8E5M2) continue;
    EXPECT_TRUE(judged([&](uint32_t bits) { return is(bits, 0x7f800000u, 0x7f800000u) ? 0x7f7fffffu : bits; }));
    EXPECT_TRUE(judged([&](uint32_t bits) { return is(bits, 0x7f800000u, 0x7f800000u) ? bits ^ 0x80000000u : bits; }));
  }
}

TEST(JudgeMatricesTest, UnitsThatAreWrongOrFlushF16OrF8AreNotUsed) {
  DeviceFacts facts;
  facts.matrices = {kHalves, kBrains, kE5M2, kSigned};
  NoteMatrices(std::vector<MatrixVerdict>{{MatrixRounding::kNearest, true, false},
                                          {MatrixRounding::kCut, true, false},
                                          {MatrixRounding::kCut, true, false},
                                          {MatrixRounding::kUnmeasured, false, true}},
               facts.matrices, facts.quirks.notes);
  EXPECT_EQ(facts.matrices, std::vector{kBrains});
  EXPECT_EQ(facts.matrices[0].rounding, MatrixRounding::kCut);
  EXPECT_THAT(facts.quirks.notes,
              ElementsAre("matrix units of f16 in 16x16x16 flush denormals to zero: they are not used",
                          "matrix units of bf16 in 16x8x8 flush denormals to zero",
                          "matrix units of f8e5m2 in 16x8x32 flush denormals to zero: they are not used",
                          "matrix units of s8 in 16x8x32 give wrong sums, or none: they are not used"));
}

// Of real units, too: every shape's text compiles.
TEST(MatrixProbeTest, TextsCompile) {
  DeviceFacts facts;
  facts.matrix_lanes = 32;
  facts.spirv_1_6 = facts.float16 = true;
  for (const bool stand_in : {false, true}) {
    facts.matrices_stand_in = stand_in;
    for (const MatrixShape& shape : {kHalves, kBrains, kE4M3, kE5M2, kSigned, kBytes}) {
      const auto words = CompileGlsl(MatrixProbeText(shape, facts), "probe/matrices", {true});
      EXPECT_TRUE(words.ok()) << words.status().message();
    }
  }
  facts.matrices_stand_in = false;
  facts.storage16 = facts.storage8 = true;
  for (const MatrixShape& form : GroupForms()) {
    const auto words = CompiledProbes().get({ProbeSubject::kMatrices, form}, facts);
    EXPECT_TRUE(words.ok()) << words.status().message();
  }
}

TEST(MatrixProbeTest, TheStandInRoundsToNearestAndKeepsDenormals) {
  OpenOptions options;
  options.cache = false;
  options.emulate.gpu = options.emulate.matrices = true;
  const TestDevice device = OpenForTest(options);
  ASSERT_NE(device, nullptr);
  const DeviceFacts& facts = device->facts();
  ASSERT_EQ(facts.matrices.size(), 7u);
  for (const MatrixShape& shape : facts.matrices) {
    EXPECT_EQ(shape.rounding, IsFloating(shape.sum) ? MatrixRounding::kNearest : MatrixRounding::kUnmeasured);
  }
}

TEST(JudgeGroupTest, RoundingAndFaultsAreSeen) {
  for (const MatrixShape& form : GroupForms()) {
    if (form.invocations != 128) continue;
    const bool floats = IsFloating(form.sum);
    for (const MatrixRounding rounding : {MatrixRounding::kNearest, MatrixRounding::kCut}) {
      std::vector<uint32_t> answer = GroupAnswer(form, rounding);
      ASSERT_EQ(answer.size(), GroupAnswerWords(form));
      const MatrixRounding found = floats ? rounding : MatrixRounding::kUnmeasured;
      EXPECT_EQ(JudgeGroup(answer, form), (MatrixVerdict{found, false, false}));
      answer.back() ^= 1u << 20;  // of what the layout stored
      EXPECT_TRUE(JudgeGroup(answer, form).wrong);
      answer.back() ^= 1u << 20;
      answer[GroupProbeShape(form).rows * GroupProbeShape(form).columns - 1] ^= 1u << 22;
      EXPECT_TRUE(JudgeGroup(answer, form).wrong);
    }
  }
}

// The kernel itself, by plain code, in small forms, for each type and way that operands lie; one that is broken leaves
// the device without the form.
TEST(MatrixProbeTest, TheStandInOfWorkgroupsIsRightAndAFaultIsSeen) {
  OpenOptions options;
  options.cache = false;
  options.emulate = *ParseEmulation("nvidia,matrices");
  DeviceHooks hooks = AllHooks();
  bool breaks = false;
  hooks.probes.get = [&](const ProbeSubject& of, const DeviceFacts& facts) {
    KernelKey key = GroupProbeKey(of.shape, facts);
    if (breaks) key.generated += "#undef RHS_STRIDE\n#define RHS_STRIDE (STEP_COUNT - 8u)\n";
    const auto text = AssembleShader(key, facts, BindingMode::kDescriptors);
    auto words = ShadercCompiler().compile(key, *text, ModuleTarget(facts, BindingMode::kDescriptors));
    EXPECT_TRUE(words.ok()) << words.status().message();
    return words;
  };
  std::vector<MatrixShape> forms = {{kF16, kF32, 32, 32, 16, 64},    {kBF16, kF32, 64, 32, 16, 128},
                                    {kBF16, kF32, 8, 256, 16, 128},  {kF8E4M3FN, kF32, 64, 16, 32, 64},
                                    {kF8E5M2, kF32, 16, 32, 32, 64}, {kS8, kS32, 64, 16, 32, 64},
                                    {kU8, kU32, 16, 32, 32, 64}};
  std::vector<MatrixShape> kept;
  std::vector<std::string> notes;
  hooks.probe = [&](const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts) {
    facts.group_matrices = forms;
    const Status status = ProbeMatrices(tools, disk, facts, &DeviceFacts::group_matrices);
    kept = facts.group_matrices;
    notes = facts.quirks.notes;
    return status;
  };
  ASSERT_TRUE(OpenDevice(0, options, hooks).ok());
  EXPECT_EQ(kept, forms);
  EXPECT_THAT(notes, Each(EndsWith("flush denormals to zero")));  // as SwiftShader does
  for (const MatrixShape& form : kept)
    EXPECT_EQ(form.rounding, IsFloating(form.sum) ? MatrixRounding::kNearest : MatrixRounding::kUnmeasured);
  breaks = true;
  forms.resize(1);
  ASSERT_TRUE(OpenDevice(0, options, hooks).ok());
  EXPECT_THAT(kept, ElementsAre());
  EXPECT_THAT(
      notes,
      ElementsAre("matrix units of f16 in 32x32x16 by 64 invocations give wrong sums, or none: they are not used"));
}

// A driver that ends the process over a form: what is on the disk meanwhile leaves the next one without it.
TEST(MatrixProbeTest, AFormThatEndedAProcessIsNotAskedAgain) {
  TemporaryFolder before, during;
  OpenOptions options;
  options.emulate = *ParseEmulation("nvidia,matrices");
  options.cache_dir = before.path();
  DeviceHooks hooks = AllHooks();
  const MatrixShape form = {kS8, kS32, 64, 16, 32, 64};
  int asked = 0;
  hooks.probes.get = [&](const ProbeSubject& of, const DeviceFacts& facts) -> Result<std::vector<uint32_t>> {
    ++asked;
    std::filesystem::copy(before.path(), during.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    const KernelKey key = GroupProbeKey(of.shape, facts);
    VXLA_ASSIGN_OR_RETURN(const std::string text, AssembleShader(key, facts, BindingMode::kDescriptors));
    return ShadercCompiler().compile(key, text, ModuleTarget(facts, BindingMode::kDescriptors));
  };
  std::vector<MatrixShape> kept;
  hooks.probe = [&](const ProbeTools& tools, DiskCache& disk, DeviceFacts& facts) {
    facts.group_matrices = {form};
    const Status status = ProbeMatrices(tools, disk, facts, &DeviceFacts::group_matrices);
    kept = facts.group_matrices;
    return status;
  };
  ASSERT_TRUE(OpenDevice(0, options, hooks).ok());
  EXPECT_THAT(kept, ElementsAre(form));
  ASSERT_TRUE(OpenDevice(0, options, hooks).ok());
  EXPECT_THAT(kept, ElementsAre(form));
  EXPECT_EQ(asked, 1);
  options.cache_dir = during.path();
  ASSERT_TRUE(OpenDevice(0, options, hooks).ok());
  EXPECT_THAT(kept, ElementsAre());
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
