// The probes: what their answers mean, and what they say about the devices here.
#include "backend/vulkan/device/probes/quirks.h"

#include <gmock/gmock.h>

#include "backend/vulkan/device/probes/embedded_probes.h"
#include "backend/vulkan/device/probes/probe_text.h"
#include "backend/vulkan/device/vulkan_device.h"
#include "backend/vulkan/drivers/known_faults.h"
#include "backend/vulkan/shader/shader_compiler.h"
#include "backend/vulkan/spirv/spirv_words.h"
#include "tests/vulkan/vulkan_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

DeviceFacts AllFeatures() {
  DeviceFacts facts;
  facts.name = "Fake";
  facts.float16 = facts.float64 = true;
  return facts;
}

ProbeAnswer GoodAnswer() {
  ProbeAnswer answer = {};
  answer[kSingleLoop] = kLoopIterations;
  answer[kNestedLoops] = kNestedIterations * kNestedIterations;
  answer[kNarrowedFloat16] = answer[kNarrowedHidden] = 0x3dccc000;
  answer[kHalfNan] = kFunctionNan;
  answer[kDenormal32] = answer[kDenormal32Times1] = answer[kDenormal32Sum] = 5;
  answer[kDenormal32Fused] = 2 * kDenormalBits;
  answer[kDenormal32FusedSum] = 0x00400000 + kDenormalBits;
  answer[kDenormal16] = 1;
  answer[kDenormal64Low] = 1;
  answer[kSumInteger] = 1;
  answer[kQuotient] = 142857;
  answer[kFusedRest] = kTwoToMinus24;
  answer[kNans] = kEveryNan;
  answer[kSumFloat] = answer[kProductFloat] = 0x3e99999a;
  return answer;
}

TEST(DiagnoseTest, AGoodDeviceHasNoQuirks) {
  const auto quirks = Diagnose(GoodAnswer(), AllFeatures());
  ASSERT_TRUE(quirks.ok()) << quirks.status().message();
  EXPECT_EQ(quirks->loop_iteration_limit, 0u);
  EXPECT_FALSE(quirks->flushes_f32_denormals || quirks->flushes_f16_denormals || quirks->flushes_f64_denormals);
  EXPECT_THAT(quirks->notes, IsEmpty());
}

TEST(DiagnoseTest, WhatIsKnownOfTheDriverIsKeptAndNoted) {
  DeviceFacts facts = AllFeatures();
  facts.quirks.loads_where_off = true;
  const auto quirks = Diagnose(GoodAnswer(), facts);
  ASSERT_TRUE(quirks.ok()) << quirks.status().message();
  EXPECT_TRUE(quirks->loads_where_off);
  EXPECT_THAT(quirks->notes, ElementsAre(HasSubstr("read once more after their last turn")));
}

// Lavapipe after Mesa 22, also when it runs a GPU's kernels. The one of Mesa 22 is only slow at addresses.
TEST(BindingModesTest, WhoLoadsWhereLanesAreOffIsBoundByDescriptorsFirst) {
  const auto modes = [](const char* driver, const char* version, bool as_gpu) {
    DeviceFacts facts;
    facts.kind = DeviceFacts::Kind::kSoftware;
    facts.driver = driver;
    facts.driver_version = version;
    facts.buffer_addresses = facts.int64 = true;
    NoteKnownFaults(facts);
    OpenOptions options;
    options.emulate.gpu = as_gpu;
    return BindingModesFor(facts, options);
  };
  const std::vector<BindingMode> both = {BindingMode::kDescriptors, BindingMode::kAddresses};
  const std::vector<BindingMode> addresses = {BindingMode::kAddresses};
  for (const bool as_gpu : {false, true}) EXPECT_EQ(modes("llvmpipe", "Mesa 26.2.6-1 (LLVM 22.1.8)", as_gpu), both);
  EXPECT_EQ(modes("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)", false), both);
  EXPECT_EQ(modes("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)", true), addresses);
  EXPECT_EQ(modes("SwiftShader driver", "5.0.0", false), addresses);
}

TEST(DiagnoseTest, EachFaultIsSeenAndNoted) {
  const auto with = [](ProbeWord word, uint32_t value) {
    ProbeAnswer answer = GoodAnswer();
    answer[word] = value;
    return *Diagnose(answer, AllFeatures());
  };
  EXPECT_EQ(with(kSingleLoop, 65535).loop_iteration_limit, 65535u);
  EXPECT_TRUE(with(kFusedRest, 0).unfused_multiply_add);
  EXPECT_FALSE(with(kSumInteger, 1).unfused_multiply_add);
  EXPECT_TRUE(with(kNans, 0).loses_nan);
  EXPECT_TRUE(with(kNans, kEveryNan | 8).loses_nan);
  EXPECT_FALSE(with(kNans, kEveryNan).loses_nan);
  EXPECT_EQ(with(kNestedLoops, 65027).loop_iteration_limit, 65027u);
  EXPECT_EQ(with(kSingleLoop, 0).loop_iteration_limit, 1u);
  constexpr const char* kFolds = "conversions to a narrower float and back are treated as the identity";
  EXPECT_THAT(with(kNarrowedFloat16, kUnevenBits).notes, ElementsAre(kFolds));
  EXPECT_THAT(with(kNarrowedDouble, 1).notes, ElementsAre(kFolds));
  for (ProbeWord word : {kDenormal32, kDenormal32Times1, kDenormal32Sum}) {
    EXPECT_TRUE(with(word, 0).flushes_f32_denormals);
  }
  for (ProbeWord word : {kDenormal32Fused, kDenormal32FusedSum}) {
    EXPECT_TRUE(with(word, 0).flushes_fused_denormals);
    EXPECT_FALSE(with(word, 0).flushes_f32_denormals);
    EXPECT_THAT(with(word, 0).notes, ElementsAre(HasSubstr("multiply-adds")));
  }
  EXPECT_TRUE(with(kDenormal16, 0).flushes_f16_denormals);
  EXPECT_TRUE(with(kWrongHalves, 1).inexact_f16);
  EXPECT_TRUE(with(kNarrowedFloat16, kUnevenBits).folds_f16);
  EXPECT_FALSE(with(kNarrowedFloat16, kUnevenBits).inexact_f16);
  EXPECT_TRUE(with(kNarrowedHidden, kUnevenBits).inexact_f16);
  EXPECT_FALSE(with(kNarrowedDouble, 1).inexact_f16);
  // NVIDIA's.
  EXPECT_TRUE(with(kHalfNan, 0x7fff).other_f16_nan);
  EXPECT_FALSE(with(kHalfNan, 0x7fff).inexact_f16);
  EXPECT_FALSE(with(kHalfNan, kFunctionNan).other_f16_nan);
  EXPECT_TRUE(with(kDenormal64Low, 0).flushes_f64_denormals);
  EXPECT_EQ(with(kSingleLoop, 65535).notes.size(), 1u);
  EXPECT_THAT(with(kSingleLoop, 65535).notes[0], HasSubstr("stop silently after 65535 iterations"));
}

TEST(DiagnoseTest, AnF64ThatFlushesDenormalsIsEmulated) {
  DeviceFacts facts = AllFeatures();
  ApplyQuirks(*Diagnose(GoodAnswer(), facts), facts);
  EXPECT_TRUE(facts.float64);
  ProbeAnswer answer = GoodAnswer();
  answer[kDenormal64Low] = 0;
  ApplyQuirks(*Diagnose(answer, facts), facts);
  EXPECT_FALSE(facts.float64);
  EXPECT_TRUE(facts.quirks.flushes_f64_denormals);
  EXPECT_THAT(facts.quirks.notes, Contains(HasSubstr("f64 is emulated")));
}

TEST(DiagnoseTest, MissingTypesHaveNoFaults) {
  DeviceFacts facts;
  ProbeAnswer answer = GoodAnswer();
  answer[kDenormal16] = answer[kDenormal64Low] = 0;
  const auto quirks = Diagnose(answer, facts);
  ASSERT_TRUE(quirks.ok());
  EXPECT_FALSE(quirks->flushes_f16_denormals || quirks->flushes_f64_denormals);
}

TEST(DiagnoseTest, ADeviceThatCannotAddIsRefused) {
  ProbeAnswer answer = GoodAnswer();
  answer[kQuotient] = 142856;
  const Status status = Diagnose(answer, AllFeatures()).status();
  EXPECT_EQ(status.code(), StatusCode::kDeviceFailure);
  EXPECT_THAT(status.message(), HasSubstr("computes wrongly: probe Quotient gave 0x22e08, 0x22e09 is right"));
  answer = GoodAnswer();
  answer[kSumFloat] += 2;
  EXPECT_FALSE(Diagnose(answer, AllFeatures()).ok());
  answer[kSumFloat] -= 3;  // another rounding direction
  EXPECT_TRUE(Diagnose(answer, AllFeatures()).ok());
}

TEST(ProbeTextTest, CompilesForEverySetOfFeatures) {
  for (int set = 0; set < 8; ++set) {
    DeviceFacts facts;
    facts.float16 = set & 1;
    facts.float64 = set & 2;
    facts.signed_zero_inf_nan_preserve_16 = facts.signed_zero_inf_nan_preserve_32 = set & 4;
    facts.signed_zero_inf_nan_preserve_64 = set & 4;
    const auto words = CompileGlsl(ProbeText(ProbeSubject::kQuirks, facts), "probe", {(set & 1) != 0});
    EXPECT_TRUE(words.ok()) << words.status().message();
  }
}

TEST(EmbeddedProbeTest, ModulesHaveTheModesOfTheDeviceOnly) {
  const ProbeModules modules = ModulesOf(EmbeddedProbes());
  const auto modes = [&](const DeviceFacts& facts) {
    std::vector<std::pair<uint32_t, uint32_t>> found;
    for (const spirv::Instruction& instruction : spirv::Read(*modules.get({ProbeSubject::kQuirks}, facts))) {
      if (instruction.op() == 16 && instruction.words[2] >= 4459 && instruction.words[2] <= 4462)
        found.emplace_back(instruction.words[2], instruction.words[3]);
      if (instruction.op() == spirv::OpCapability && instruction.words[1] >= 4464 && instruction.words[1] <= 4467)
        found.emplace_back(instruction.words[1], 0);
    }
    return found;
  };
  DeviceFacts facts;
  EXPECT_THAT(modes(facts), IsEmpty());
  facts.float16 = facts.denorm_preserve_16 = facts.rounding_rte_32 = facts.signed_zero_inf_nan_preserve_64 = true;
  EXPECT_THAT(modes(facts),
              ::testing::UnorderedElementsAre(std::pair(4459, 16), std::pair(4462, 32), std::pair(4464, 0),
                                              std::pair(4466, 0), std::pair(4467, 0)));
  const auto identity = [&](const DeviceFacts& of) { return modules.identity({ProbeSubject::kQuirks}, of); };
  EXPECT_NE(identity(facts), identity({}));
  EXPECT_EQ(identity(facts), identity(facts));
}

class QuirksTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(All, QuirksTest, ::testing::ValuesIn(DeviceCases()), CaseName);

// In a library without the compiler.
TEST_P(QuirksTest, EmbeddedProbesFindWhatCompiledOnesFind) {
  OpenOptions options = Options();
  options.cache = false;
  const auto compiled = OpenDeviceWith(GetParam().index, options, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const auto embedded = OpenDevice(GetParam().index, options, WithProbes(ModulesOf(EmbeddedProbes())));
  ASSERT_TRUE(embedded.ok()) << embedded.status().message();
  const DeviceFacts *const wanted = &(*compiled)->facts(), *const found = &(*embedded)->facts();
  EXPECT_TRUE(found->probed);
  EXPECT_EQ(found->quirks.notes, wanted->quirks.notes);
  EXPECT_EQ(found->quirks.loop_iteration_limit, wanted->quirks.loop_iteration_limit);
  EXPECT_EQ(found->fused_multiply_add, wanted->fused_multiply_add);
  EXPECT_EQ(found->native_f16, wanted->native_f16);
  EXPECT_NE(found->division_f32, DeviceFacts::Division::kUnmeasured);
  EXPECT_EQ(found->division_f32, wanted->division_f32);
  EXPECT_EQ(found->division_f64, wanted->division_f64);
}

// Of what stands in for units, too.
TEST_P(QuirksTest, EmbeddedProbesAskMatrixUnits) {
  OpenOptions options = Options();
  options.cache = false;
  options.emulate = *ParseEmulation("gpu,matrices");
  const auto compiled = OpenDeviceWith(GetParam().index, options, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const auto embedded = OpenDevice(GetParam().index, options, WithProbes(ModulesOf(EmbeddedProbes())));
  ASSERT_TRUE(embedded.ok()) << embedded.status().message();
  const std::vector<MatrixShape>&wanted = (*compiled)->facts().matrices, &found = (*embedded)->facts().matrices;
  ASSERT_EQ(found, wanted);
  ASSERT_FALSE(found.empty());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].rounding, wanted[i].rounding);
  EXPECT_NE(found[0].rounding, MatrixRounding::kUnmeasured);
}

// The shapes of GPUs have modules; one that none has is left as the driver lists it.
TEST(EmbeddedProbesTest, HaveTheShapesOfGpus) {
  const ProbeModules modules = ModulesOf(EmbeddedProbes());
  DeviceFacts facts;
  facts.float16 = facts.spirv_1_6 = true;
  for (const uint32_t lanes : {8u, 16u, 32u, 64u}) {
    facts.matrix_lanes = lanes;
    const MatrixShape square;
    ASSERT_NE(modules.identity({ProbeSubject::kMatrices, square}, facts), "");
    EXPECT_GT(modules.get({ProbeSubject::kMatrices, square}, facts)->size(), 100u);
  }
  EXPECT_EQ(modules.identity({ProbeSubject::kMatrices, {ElementType::kF16, ElementType::kF32, 48, 48, 48}}, facts), "");
}

// An independent look at the device: a loop of our own, in the mode under test, must count as far as the quirk says.
TEST_P(QuirksTest, TheLoopLimitIsWhatAKernelMeets) {
  const auto device = Open();
  ASSERT_NE(device, nullptr);
  KernelKey key = ScaleKernel(GetParam().mode);
  key.generated = KernelPrelude(GetParam().mode, 2, 3) +
                  "void main() {\n  uint n = 0u, x = 1u;\n"
                  "  for (uint i = 0u; i < PARAM(0); i += PARAM(1)) { x = x * 5u + i; n += PARAM(1); }\n"
                  "  STORE(1, 0, n);\n  STORE(0, 0, x);\n}\n";
  const auto kernel = GetKernel(*device, key);
  const auto a = MakeBuffer(*device, Iota(4)), b = MakeBuffer(*device, Iota(4));
  const std::vector<BufferRange> buffers = {Whole(a), Whole(b)};
  const uint32_t limit = device->facts().quirks.loop_iteration_limit;
  const uint32_t wanted = limit == 0 ? 200'000 : limit + 1000;
  const auto arguments = MakeArguments(*device, buffers, {wanted, 1, 0});
  auto commands = *device->CreateCommandBuffer(0);
  VXLA_ASSERT_OK(commands->Begin());
  VXLA_ASSERT_OK(commands->Dispatch(*kernel, Whole(arguments), buffers, {1, 1, 1}));
  VXLA_ASSERT_OK(commands->End());
  RunAndWait(*device, *commands);
  EXPECT_EQ(ReadBuffer<uint32_t>(*device, *b)[0], limit == 0 ? wanted : limit);
  const DeviceFacts::Quirks& quirks = device->facts().quirks;
  if (limit != 0 || quirks.flushes_f32_denormals || quirks.flushes_f16_denormals || quirks.flushes_f64_denormals) {
    EXPECT_THAT(quirks.notes, Not(IsEmpty()));
  }
}

TEST_P(QuirksTest, AnswersAreKeptOnDisk) {
  TemporaryFolder folder;
  OpenOptions options = Options();
  options.cache_dir = folder.path();
  const auto first = Open(options);
  ASSERT_NE(first, nullptr);
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path() + "/kernels"), {});
  EXPECT_GE(files, 1);
  const auto second = Open(options);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->memory_statistics().cumulative_allocated_bytes, 0);  // the probe did not run
  EXPECT_EQ(second->facts().quirks.notes, first->facts().quirks.notes);
  options.probe = false;
  EXPECT_THAT(Open(options)->facts().quirks.notes, IsEmpty());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
