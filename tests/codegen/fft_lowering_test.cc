// What a Fourier transform becomes on made-up devices, and the tables that it reads.
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "backend/vulkan/lower/fft_shape.h"
#include "backend/vulkan/lower/fft_tables.h"
#include "tests/codegen/codegen_test_support.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = FftTable::Kind;

DeviceFacts Gpu() {
  DeviceFacts facts = FullFacts();
  facts.kind = DeviceFacts::Kind::kDiscrete;
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
  facts.kind = DeviceFacts::Kind::kSoftware;
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
  facts.subgroup_size = 4;
  EXPECT_FALSE(holds(facts, work));
}

TEST(FftShapeTest, PrimesBeyondSumsAreConvolved) {
  EXPECT_FALSE(ShapeOf(61).chirp);
  const FftShape shape = ShapeOf(67);
  EXPECT_TRUE(shape.chirp);
  EXPECT_GE(shape.points, 2 * 67 - 1);
}

// Every factor of every length finds its pass.
TEST(FftShapeTest, RadicesMultiplyToThePoints) {
  for (int64_t length = 1; length <= 1200; ++length) {
    for (const bool software : {true, false}) {
      for (const bool in_pairs : {true, false}) {
        DeviceFacts facts = Gpu();
        if (software) facts.kind = DeviceFacts::Kind::kSoftware;
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
