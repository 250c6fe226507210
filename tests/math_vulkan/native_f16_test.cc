// The device's own conversions of f16 (DeviceFacts::native_f16), forced wherever it has float16, against the integers
// of the same functions: equal bits, those of NaNs too.
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "backend/cpu/twin/shader_math.h"
#include "backend/vulkan/codegen/passes/pack_halves.h"
#include "backend/vulkan/shader/shader_source.h"
#include "tests/math_vulkan/function_kernel.h"
#include "tests/support/statements.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class NativeF16Test : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { Open(/*as_nvidia=*/false); }

  // With NVIDIA's faults, or as they stand for them.
  void Open(bool as_nvidia) {
    DeviceHooks hooks;
    hooks.source = [as_nvidia](const KernelKey& key, const DeviceFacts& facts, BindingMode mode) {
      DeviceFacts native = facts;
      native.native_f16 = true;
      native.quirks.other_f16_nan |= as_nvidia;
      native.quirks.folds_f16 |= as_nvidia;
      return AssembleShader(key, native, mode);
    };
    OpenOptions options;
    options.cache_dir = SharedCacheFolder();
    auto opened = OpenDeviceWith(GetParam(), options, hooks);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device_ = std::move(opened).value();
    if (!device_->facts().float16) GTEST_SKIP() << device_->facts().name << " has no float16";
  }

  // `text`: a function of words in GLSL, or the start of calls within each other, `function`: the same in C++.
  template <typename Function>
  void Check(const std::string& text, const std::vector<uint32_t>& operands, Function&& function) {
    const auto got = ApplyOnDevice<uint32_t>(*device_, text, {"u32", "u32"}, operands.size(), operands);
    ASSERT_EQ(got.size(), operands.size());
    size_t wrong = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const uint32_t want = function(operands[i]);
      if (got[i] == want || wrong++ > 2) continue;
      ADD_FAILURE() << fmt::format("{} of {:#x} is {:#x}, {:#x} in C++", text, operands[i], got[i], want);
    }
    EXPECT_EQ(wrong, 0u) << text;
  }

  // Every f16 as f32, what lies half-way to the next, the neighbours of both, and NaNs.
  static std::vector<uint32_t> Singles() {
    std::vector<uint32_t> words;
    for (uint32_t bits = 0; bits < 0x10000; bits += 1) {
      const uint32_t exact = std::bit_cast<uint32_t>(shader_math::decode_f16(bits));
      const bool small = (bits & 0x7c00u) == 0;
      const uint32_t half =
          small
              ? std::bit_cast<uint32_t>(shader_math::decode_f16(bits) + ((bits & 0x8000u) != 0 ? -0x1p-25f : 0x1p-25f))
              : exact + 0x1000u;
      for (const uint32_t word : {exact, half, half - 1, half + 1}) words.push_back(word);
    }
    return words;
  }

  std::unique_ptr<Device> device_;
};
INSTANTIATE_TEST_SUITE_P(All, NativeF16Test, testing::ValuesIn(DeviceIndices()), DeviceTestName);

TEST_P(NativeF16Test, EveryEncodingIsReadAsTheIntegersReadIt) {
  std::vector<uint32_t> words(0x10000);
  for (uint32_t bits = 0; bits < words.size(); ++bits) words[bits] = bits;
  Check("floatBitsToUint(decode_f16", words,
        [](uint32_t bits) { return std::bit_cast<uint32_t>(shader_math::decode_f16(bits)); });
}

TEST_P(NativeF16Test, TiesNeighboursAndNaNsAreWrittenAsTheIntegersWriteThem) {
  Check("encode_f16(uintBitsToFloat", Singles(),
        [](uint32_t word) { return shader_math::encode_f16(std::bit_cast<float>(word)); });
}

TEST_P(NativeF16Test, RoundingGivesTheSameWhereTheDeviceDoesNotFoldIt) {
  if (!device_->facts().native_f16)
    GTEST_SKIP() << device_->facts().name
                 << " has no exact conversions of f16: its probe found them inexact or folded away";
  Check("floatBitsToUint(round_f16(uintBitsToFloat", Singles(),
        [](uint32_t word) { return std::bit_cast<uint32_t>(shader_math::round_f16(std::bit_cast<float>(word))); });
}

// NVIDIA's driver drops conversions and their way back, and makes another NaN: what is rounded and packed is the same.
TEST_P(NativeF16Test, FoldedConversionsAndAnotherNanArePutRight) {
  Open(/*as_nvidia=*/true);
  Check("encode_rounded_pair_f16(1.0f, round_f16(uintBitsToFloat", Singles(), [](uint32_t word) {
    return shader_math::encode_rounded_pair_f16(1.0f, shader_math::round_f16(std::bit_cast<float>(word)));
  });
  if (!device_->facts().quirks.inexact_f16) {
    Check("floatBitsToUint(round_f16(uintBitsToFloat", Singles(),
          [](uint32_t word) { return std::bit_cast<uint32_t>(shader_math::round_f16(std::bit_cast<float>(word))); });
  }
  EXPECT_EQ(shader_math::canonical_nans_f16(0x7fff7fffu), 0x7e007e00u);
  Check("canonical_nans_f16", {0x7fff7fffu, 0xffff3c00u, 0x7c00fc00u, 0xfc01fc00u},
        [](uint32_t word) { return shader_math::canonical_nans_f16(word); });
}

// What backend/vulkan/codegen/passes/pack_halves.h makes of a product, a difference and a sum of pairs.
TEST_P(NativeF16Test, PairsAreComputedAsTheirHalvesAre) {
  if (device_->facts().quirks.flushes_f16_denormals)
    GTEST_SKIP() << device_->facts().name << " flushes f16 denormals to zero";
  Code code = "\n";
  code.Add(statements::Local("w", {"LOAD(0, u32, i)"}, "uint"));
  code.Add(statements::Local("u", {"LOAD(1, u32, i)"}, "uint"));
  for (const auto& [low, high, word] : {std::array{"a", "b", "w"}, std::array{"c", "d", "u"}}) {
    code.Add(statements::Local(low, statements::Call(MadeBy::kHalfOfAnyNan, {word}), "float"));
    code.Add(statements::Local(high, statements::Call(MadeBy::kUpperHalfOfAnyNan, {word}), "float"));
  }
  const auto rounded = [&](const char* name, MadeBy by, const char* a, const char* b) {
    code.Add(statements::Float(name, statements::Call(by, {a, b}, ElementType::kF16)));
  };
  rounded("m", MadeBy::kMultiply, "a", "c");
  rounded("n", MadeBy::kMultiply, "b", "d");
  rounded("p", MadeBy::kSubtract, "m", "c");
  rounded("q", MadeBy::kSubtract, "n", "d");
  rounded("x", MadeBy::kAdd, "p", "a");
  rounded("y", MadeBy::kAdd, "q", "b");
  code.Add(statements::StorePairs(2, {{ElementType::kF16, "x", "y"}}));
  const std::string text = PackHalves(code).Print();
  ASSERT_NE(text.find("f16vec2"), std::string::npos);
  const KernelKey key = ElementKernel({"u32", "u32", "u32"}, text, 16);
  std::vector<uint32_t> left(1 << 16), right(left.size());
  for (uint32_t i = 0; i < left.size(); ++i) {
    left[i] = i | ((i * 40503u) << 16);  // every f16, beside others of every magnitude
    right[i] = i * 2654435761u;
  }
  const auto kernel = GetKernel(*device_, key);
  ASSERT_NE(kernel, nullptr);
  const std::vector<std::shared_ptr<Buffer>> owned = {MakeBuffer(*device_, left), MakeBuffer(*device_, right),
                                                      MakeBuffer(*device_, std::vector<uint32_t>(left.size()))};
  std::vector<BufferRange> buffers;
  for (const auto& buffer : owned) buffers.push_back(Whole(buffer));
  const auto arguments = MakeArguments(*device_, buffers, {static_cast<uint32_t>(left.size())});
  auto commands = *device_->CreateCommandBuffer(0);
  ASSERT_TRUE(commands->Begin().ok());
  ASSERT_TRUE(commands->Dispatch(*kernel, Whole(arguments), buffers, {64, 1, 1}).ok());
  ASSERT_TRUE(commands->End().ok());
  RunAndWait(*device_, *commands);
  const auto got = ReadBuffer<uint32_t>(*device_, *owned.back());
  const auto half = [](uint32_t a_bits, uint32_t b_bits) {
    const float a = shader_math::decode_f16(a_bits), b = shader_math::decode_f16(b_bits);
    const float difference = shader_math::round_f16(shader_math::round_f16(a * b) - b);
    return shader_math::encode_f16(shader_math::round_f16(difference + a));
  };
  size_t wrong = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const uint32_t want = half(left[i] & 0xffffu, right[i] & 0xffffu) | (half(left[i] >> 16, right[i] >> 16) << 16);
    if (got[i] == want || wrong++ > 2) continue;
    ADD_FAILURE() << fmt::format("{:#x} and {:#x} give {:#x}, {:#x} in C++", left[i], right[i], got[i], want);
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
