// What a Fourier transform becomes on made-up devices, and the tables that it reads.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "backend/vulkan/device/plan/pretend.h"
#include "backend/vulkan/drivers/software/software_driver.h"
#include "backend/vulkan/lower/fft/fft_plan.h"
#include "backend/vulkan/lower/fft/fft_shape.h"
#include "backend/vulkan/lower/fft/fft_tables.h"
#include "core/passes/base/pipeline.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = FftTable::Kind;

DeviceFacts Gpu() {
  DeviceFacts facts = FullFacts();
  PretendGpu(facts);
  facts.max_shared_bytes = 49152;
  facts.max_workgroup_invocations = 1024;
  facts.max_workgroup_size = {1024, 1024, 64};
  return facts;
}

FftShape ShapeOf(int64_t length, bool strided = false) {
  return TuneFft(Gpu(), {length, 64, strided, ElementType::kC64, false});
}

TEST(FftShapeTest, AWorkgroupOfAGpuTransformsWhatItsSharedMemoryHolds) {
  const FftShape shape = ShapeOf(4096);
  ASSERT_EQ(shape.passes.size(), 1u);
  EXPECT_THAT(shape.passes[0].stages, ElementsAre(16, 16, 16));
  EXPECT_EQ(shape.passes[0].lanes, 256);
  EXPECT_TRUE(shape.passes[0].padded);
}

TEST(FftShapeTest, LongLinesAreTwoPassesOfNeighbouringTransforms) {
  const FftShape shape = ShapeOf(1 << 18);
  ASSERT_EQ(shape.passes.size(), 2u);
  EXPECT_EQ(shape.passes[0].radix * shape.passes[1].radix, 1 << 18);
  EXPECT_EQ(shape.passes[0].transforms, 8);
}

// Where it is worth a large kernel, and the driver has what that takes.
TEST(FftShapeTest, ASubgroupOfLavapipeHoldsALine) {
  DeviceFacts facts = Gpu();
  NoteSoftwareCosts(facts);
  facts.subgroup_shuffle = true;
  facts.subgroup_size = 8;
  const FftWork work = {.length = 4096, .lines = 64, .plain = true};
  const auto holds = [](const DeviceFacts& on, const FftWork& lines) {
    return TuneFft(on, lines).passes[0].by_subgroup;
  };
  EXPECT_TRUE(holds(facts, work));
  EXPECT_TRUE(holds(facts, {.length = 256, .lines = 512, .plain = true}));
  EXPECT_TRUE(holds(facts, {.length = 512 * 7, .lines = 64, .plain = true}));
  EXPECT_TRUE(holds(facts, {.length = 768, .lines = 256, .plain = true}));
  EXPECT_FALSE(holds(Gpu(), work));
  EXPECT_FALSE(holds(facts, {.length = 4096, .lines = 64}));
  EXPECT_FALSE(holds(facts, {.length = 4096, .lines = 31, .plain = true}));
  EXPECT_FALSE(holds(facts, {.length = 8192, .lines = 64, .plain = true}));
  EXPECT_FALSE(holds(facts, {.length = 4000, .lines = 64, .plain = true}));
  EXPECT_FALSE(holds(facts, {.length = 4096, .lines = 64, .strided = true, .plain = true}));
  DeviceFacts small = facts;
  small.max_shared_bytes = 4096 * 8 - 1;
  EXPECT_FALSE(holds(small, work));
  EXPECT_TRUE(holds(small, {.length = 2048, .lines = 64, .plain = true}));
  facts.subgroup_size = 4;
  EXPECT_FALSE(holds(facts, work));
}

TEST(FftShapeTest, ALineWithoutLoopsReadsNoTables) {
  FftJob job;
  job.pass.by_subgroup = true;
  job.points = 512;
  EXPECT_TRUE(job.StageTwiddles().empty());
  job.points = 768;
  EXPECT_EQ(job.StageTwiddles().size(), 2u);
}

TEST(FftShapeTest, PrimesBeyondSumsAreConvolved) {
  EXPECT_FALSE(ShapeOf(173).chirp);
  EXPECT_TRUE(TuneFft(Gpu(), {.length = 173, .lines = 100}).chirp);
  EXPECT_FALSE(TuneFft(Gpu(), {.length = 173, .lines = 100, .real = true}).chirp);
  const FftShape shape = ShapeOf(179);
  EXPECT_TRUE(shape.chirp);
  EXPECT_GE(shape.points, 2 * 179 - 1);
}

// Where products round on their own: radices without twiddles inside, and few twiddles between.
TEST(FftShapeTest, SoftwareDriversTakeTheRadicesThatRoundLeast) {
  DeviceFacts facts = Gpu();
  NoteSoftwareCosts(facts);
  const auto radices = [&](int64_t length) {
    std::vector<int64_t> result;
    for (const FftPass& pass : TuneFft(facts, {.length = length, .lines = 3}).passes) result.push_back(pass.radix);
    return result;
  };
  EXPECT_THAT(radices(20), ElementsAre(20));
  EXPECT_THAT(radices(48), ElementsAre(12, 4));
  EXPECT_THAT(radices(56), ElementsAre(14, 4));
  EXPECT_THAT(radices(64), ElementsAre(16, 4));
  EXPECT_THAT(radices(4096), ElementsAre(16, 16, 16));
}

// Every factor of every length finds its pass.
TEST(FftShapeTest, RadicesMultiplyToThePoints) {
  for (int64_t length = 1; length <= 1200; ++length) {
    for (const bool software : {true, false}) {
      for (const bool in_pairs : {true, false}) {
        DeviceFacts facts = Gpu();
        if (software) NoteSoftwareCosts(facts);
        const FftShape shape = TuneFft(facts, {length, 100, false, ElementType::kC128, in_pairs});
        int64_t points = 1;
        for (const FftPass& pass : shape.passes) points *= pass.radix;
        ASSERT_EQ(points, shape.points) << length;
        ASSERT_TRUE(shape.chirp || points == length) << length;
      }
    }
  }
}

// Against the C library's long double, which has eleven bits more here.
TEST(FftTablesTest, RootsAreRightToAnUlp) {
  double worst = 0;
  for (const int64_t n : {3, 8, 1009, 4096, 1000003}) {
    for (int64_t k = 0; k < n; k += 1 + n / 500) {
      const long double angle = 2 * std::numbers::pi_v<long double> * k / n;
      const std::complex<double> root = UnitRoot(k, n), less = UnitRootLessOne(k, n);
      worst = std::max(worst, static_cast<double>(std::fabs(root.real() - std::cos(angle))));
      worst = std::max(worst, static_cast<double>(std::fabs(root.imag() + std::sin(angle))));
      const long double half = std::sin(angle / 2), exact = -2 * half * half;
      EXPECT_LE(std::fabs(less.real() - exact), 0x1p-51 * std::fabs(exact));
    }
  }
  EXPECT_LE(worst, 0.52 * 0x1p-52);
}

// Of each root: an eighth of a turn at most, and the product of turns and 1 + rest.
TEST(FftTablesTest, RootsAreQuarterTurnsAndRests) {
  for (const int64_t n : {1, 2, 3, 8, 16, 1009, 4096}) {
    for (int64_t k = 0; k < n; ++k) {
      const TurnedRoot root = NearestQuarter(k, n);
      ASSERT_TRUE(root.quarters >= 0 && root.quarters < 4) << k << " of " << n;
      EXPECT_LE(std::abs(root.rest), 0.7654);
      std::complex<double> value = 1.0 + root.rest;
      for (int64_t quarter = 0; quarter < root.quarters; ++quarter) value *= std::complex<double>(0, -1);
      EXPECT_LE(std::abs(value - UnitRoot(k, n)), 0x1p-52) << k << " of " << n;
    }
  }
}

// The quarters take the two highest bits of the real part's magnitude.
TEST(FftTablesTest, TurnedTablesKeepQuartersInFreeBits) {
  const FftTable table{Kind::kButterfly, 4, 4, true};
  for (const ElementType type : {ElementType::kC64, ElementType::kC128}) {
    FftTables tables(type);
    tables.Want(table);
    const std::vector<uint32_t> words = tables.Words();
    const size_t each = type == ElementType::kC64 ? 2 : 4;
    ASSERT_EQ(words.size(), 16 * each);
    for (size_t e = 0; e < 16; ++e) {
      const TurnedRoot root = NearestQuarter(static_cast<int64_t>(e / 4 * (e % 4)), 16);
      const uint32_t high = words[each * e + each / 2 - 1];
      EXPECT_EQ(high >> 30, root.quarters) << e;
      const double real = type == ElementType::kC64
                              ? std::bit_cast<float>(high & 0x3fffffff)
                              : std::bit_cast<double>(uint64_t{high & 0x3fffffff} << 32 | words[each * e]);
      EXPECT_NEAR(-real, root.rest.real(), type == ElementType::kC64 ? 0x1p-25 : 0) << e;
    }
  }
}

// 1 / n to two bits more than the type has, by two products at most.
TEST(FftTablesTest, ReciprocalsAreNotRounded) {
  for (const bool single : {true, false}) {
    for (int64_t n = 1; n < 3000; ++n) {
      const Reciprocal scale(n, single);
      const long double rest = single ? static_cast<float>(scale.rest) : scale.rest;
      const long double wrong = static_cast<long double>(scale.factor) * (1 + rest) * n - 1;
      EXPECT_LE(std::fabs(wrong), (single ? 0x1p-24 : 0x1p-53) * 0.36) << n;
      EXPECT_LT(std::fabs(scale.rest), 0.42) << n;
    }
  }
}

// The chirp's convolution kernel gives the transform of an impulse, which is constant.
TEST(FftTablesTest, TheSpectrumIsTheChirpsTransform) {
  constexpr int64_t kLength = 7, kPoints = 16;
  const auto spectrum = FftTable{Kind::kSpectrum, kLength, kPoints}.Make(),
             chirp = FftTable{Kind::kChirp, kLength}.Make();
  for (int64_t k = 0; k < kLength; ++k) {
    std::complex<double> value = 0;
    for (int64_t e = 0; e < kPoints; ++e)
      value += spectrum[static_cast<size_t>(e)] * std::conj(UnitRoot(e * k % kPoints, kPoints));
    EXPECT_LE(std::abs(value - std::conj(chirp[static_cast<size_t>(k)])), 1e-15);
  }
}

// 64-bit words of shuffled halves lie on lavapipe's stack for each lane that stores one.
TEST(FftLoweringTest, LavapipeStoresWordsThatAreJoinedByShifts) {
  DeviceFacts facts = Gpu();
  NoteSoftwareCosts(facts);
  facts.subgroup_shuffle = true;
  facts.subgroup_size = 8;
  const auto steps = [&](const char* shape, int length) {
    return LowerRoot(fmt::format("ENTRY e {{ x = c64[{0},{1}] parameter(0)  ROOT y = c64[{0},{1}] fft(x), "
                                 "fft_type=FFT, fft_length={{{1}}} }}",
                                 shape, length),
                     facts);
  };
  for (const std::vector<Step>& lowered : {steps("64", 4096), steps("4", 65536)}) {
    for (const Step& step : lowered) {
      const std::string& text = step.kernel.generated;
      EXPECT_EQ(Count(text, "packUint2x32(") - Count(text, "unpackUint2x32("), 0) << text;
      EXPECT_EQ(Count(text, "STORE(1, f32x4"), 0) << text;
      EXPECT_GE(Count(text, "STORE(1, u64x4"), 1) << text;
      EXPECT_GE(Count(text, "JOINED("), 4 * Count(text, "STORE(1, u64x4")) << text;
    }
  }
}

// Three transforms of one kind, of which another operation stands between two, and a fourth that reads one of them.
TEST(FftLoweringTest, ALoopHasTheTextOfTransformsThatAreMadeAtOnceOnce) {
  const auto loop = [](const std::string& third) {
    return fmt::format(R"(condition {{
  s = (s32[], c64[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}}
body {{
  s = (s32[], c64[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = c64[64] get-tuple-element(s), index=1
  a = c64[64] negate(x)
  f = c64[64] fft(a), fft_type=FFT, fft_length={{64}}
  b = c64[64] multiply(x, x)
  g = c64[64] fft(b), fft_type=FFT, fft_length={{64}}
  c = c64[64] multiply({}, b)
  h = c64[64] fft(c), fft_type=FFT, fft_length={{64}}
  fg = c64[64] multiply(f, g)
  y = c64[64] multiply(fg, h)
  ROOT r = (s32[], c64[64]) tuple(next, y)
}}
ENTRY main {{
  x = c64[64] parameter(0)
  i = s32[] constant(0)
  start = (s32[], c64[64]) tuple(i, x)
  ROOT loop = (s32[], c64[64]) while(start), condition=condition, body=body
}}
)",
                       third);
  };
  const auto butterflies = [&](const std::string& third) {
    const auto module = Optimize(*Parse(loop(third)), {});
    PlainBuffers buffers;
    const DeviceFacts facts = Gpu();
    auto lowered = MakeLowering(facts, BindingMode::kAddresses)->LowerLoop(*(*module)->entry()->root(), buffers);
    EXPECT_TRUE(lowered.ok()) << lowered.status().message();
    return lowered.ok() ? Count(Compiled(lowered->steps.at(0), facts), "uint first = ") : 0;
  };
  EXPECT_EQ(butterflies("a"), 2);  // passes of radix 8
  EXPECT_EQ(butterflies("g"), 4);
}

TEST(FftLoweringTest, RefusesWhatADescriptorCannotReach) {
  DeviceFacts facts = FullFacts();
  facts.max_storage_range_bytes = 4000;
  const auto module =
      Parse("ENTRY e { x = c64[251] parameter(0)  ROOT y = c64[251] fft(x), fft_type=FFT, fft_length={251} }");
  const auto lowering = MakeLowering(facts, BindingMode::kDescriptors);
  EXPECT_THAT(lowering->CanLower(*module->entry()->root()).message(),
              HasSubstr("more than this device's storage-buffer range of 4000"));
  EXPECT_TRUE(MakeLowering(facts, BindingMode::kAddresses)->CanLower(*module->entry()->root()).ok());
}

}  // namespace
}  // namespace VXLA_NAMESPACE::vulkan
