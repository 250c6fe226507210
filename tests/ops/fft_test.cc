// fft on the device: against the CPU reference over kinds, lengths, axes and types. fft_accuracy_test.cc: beside FFTW.
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <optional>

#include "tests/support/device_test_support.h"
#include "tests/support/lowered_run.h"

namespace VXLA_NAMESPACE::testing {
namespace fft_test {

using enum ElementType;
using Complex = std::complex<double>;

// `dims` in the time domain; the last `axes` of them are transformed.
struct FftCase {
  std::string kind;
  IntList dims;
  int axes;
};

std::string ShapeText(std::string_view type, const IntList& dims) {
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

std::string Program(const FftCase& c, bool wide) {
  const bool from_real = c.kind == "RFFT", to_real = c.kind == "IRFFT";
  const std::string complex = wide ? "c128" : "c64", real = wide ? "f64" : "f32";
  IntList half = c.dims;
  half.back() = half.back() == 0 ? 0 : half.back() / 2 + 1;
  const IntList lengths(c.dims.end() - c.axes, c.dims.end());
  return fmt::format("ENTRY e {{ x = {} parameter(0)  ROOT y = {} fft(x), fft_type={}, fft_length={{{}}} }}",
                     ShapeText(from_real ? real : complex, to_real ? half : c.dims),
                     ShapeText(to_real ? real : complex, from_real ? half : c.dims), c.kind, fmt::join(lengths, ","));
}

std::vector<Complex> Values(const Literal& literal) {
  std::vector<Complex> values;
  for (int64_t i = 0; i < literal.element_count(); ++i) values.push_back(literal.GetComplex(i));
  return values;
}

// The 2-norm of the error relative to that of the exact result.
double RelativeError(const std::vector<Complex>& got, const std::vector<Complex>& exact) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    error += std::norm(got.at(i) - exact[i]);
    norm += std::norm(exact[i]);
  }
  return norm == 0 ? std::sqrt(error) : std::sqrt(error / norm);
}

// Errors of roundings on the way grow with the root of the number of passes; what a chirp transform adds is a factor.
void Check(const FftCase& c, bool wide, std::optional<BindingMode> mode = std::nullopt) {
  const std::string text = Program(c, wide);
  SCOPED_TRACE(text);
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> arguments = RandomArguments(*module, 3);
  const auto expected = RunOnCpu(*module, arguments);
  ASSERT_TRUE(expected.has_value());
  double points = 2;
  for (int k = 0; k < c.axes; ++k) points *= static_cast<double>(c.dims[c.dims.size() - 1 - static_cast<size_t>(k)]);
  const double unit = wide ? 0x1p-53 : 0x1p-24;
  // Cases take the ways to bind in turns: what costs is compiling the kernels.
  const std::vector<BindingMode> modes = ModesToRun();
  if (!mode) mode = modes[static_cast<size_t>(c.dims.back()) % modes.size()];
  const auto actual = RunOnDevice(*mode, *module, arguments);
  ASSERT_TRUE(actual.has_value());
  EXPECT_EQ(actual->shape().ToString(), expected->shape().ToString());
  EXPECT_LE(RelativeError(Values(*actual), Values(*expected)), 2 * unit * std::sqrt(std::log2(points + 2)));
}

TEST(FftTest, LengthsOfSmallFactors) {
  for (const int64_t n : {1, 2, 3, 39, 360}) Check({"FFT", {2, n}, 1}, false);
  Check({"IFFT", {3, 210}, 1}, false);
}

// Sums of two results at a time, of values with twiddles too, and the chirp.
TEST(FftTest, LengthsOfPrimeFactorsBeyondButterflies) {
  for (const int64_t n : {61, 17 * 12, 17 * 19, 173, 179}) Check({n % 2 == 0 ? "IFFT" : "FFT", {2, n}, 1}, false);
  Check({"IFFT", {2, 181}, 1}, false);
  for (const std::string kind : {"RFFT", "IRFFT"}) Check({kind, {3, 4, 23}, 2}, true);
}

TEST(FftTest, RealValuesBothWays) {
  for (const int64_t n : {1, 2, 15, 30, 67, 642, 179}) {
    Check({"RFFT", {3, n}, 1}, false);
    Check({"IRFFT", {3, n}, 1}, false);
  }
}

// A pass around one butterfly would cost more than half of its points save.
TEST(FftTest, FewRealValuesAreOneButterfly) {
  for (const int64_t n : {2, 6, 14, 16}) {
    RunOptions options;
    options.tolerance = Tolerance{.rtol = 1e-5, .atol = 1e-5};
    options.dispatches = 1;
    RunBoth(Program({"RFFT", {5, n}, 1}, false), {RandomLiteral(Shape(ElementType::kF32, {5, n}), 3)}, options);
    RunBoth(Program({"IRFFT", {5, n}, 1}, false), {RandomLiteral(Shape(ElementType::kC64, {5, n / 2 + 1}), 3)},
            options);
  }
}

TEST(FftTest, TheSumOfRealValuesIsReal) {
  const auto module = ParseModule(Program({"RFFT", {179}, 1}, false));
  ASSERT_NE(module, nullptr);
  const auto actual = RunOnDevice(BindingMode::kDescriptors, *module, RandomArguments(*module, 3));
  ASSERT_TRUE(actual.has_value());
  EXPECT_EQ(actual->GetComplex(0).imag(), 0);
}

TEST(FftTest, SeveralAxes) {
  for (const std::string kind : {"FFT", "IFFT", "RFFT", "IRFFT"}) Check({kind, {3, 4, 10}, 3}, false);
  Check({"FFT", {2, 67, 3}, 2}, false);
  Check({"IRFFT", {1, 5, 1}, 3}, false);
  Check({"FFT", {1, 1}, 2}, false);
  Check({"RFFT", {2, 3, 2, 2, 4, 10}, 2}, false);
}

TEST(FftTest, F64) {
  Check({"FFT", {2, 20}, 1}, true);
  Check({"IFFT", {2, 67}, 1}, true);
  Check({"RFFT", {2, 6}, 1}, true);
  Check({"IRFFT", {2, 6}, 1}, true);
}

// Where a software driver's invocations make neighbouring butterflies by wide loads.
TEST(FftTest, ManyLines) {
  Check({"FFT", {41, 1024}, 1}, false);
  Check({"FFT", {20011, 4}, 1}, false);
}

// Enough of them for a subgroup of lavapipe to hold each.
TEST(FftTest, LinesThatASubgroupHolds) {
  const std::vector<BindingMode> modes = ModesToRun();
  for (const BindingMode mode : modes) {
    Check({"FFT", {33, 4096}, 1}, false, mode);
    Check({"IFFT", {513, 256}, 1}, false, mode);  // 4 columns
  }
  Check({"IFFT", {86, 1536}, 1}, false, modes.front());  // 24 columns
  Check({"RFFT", {257, 1024}, 1}, false, modes.back());  // 8 columns
  Check({"FFT", {171, 768}, 1}, false, modes.back());    // 12 columns
}

// Through shared memory, as on a GPU.
TEST(FftTest, StagesInSharedMemory) {
  struct GpuCase {
    FftCase fft;
    int steps;
    uint32_t shared_bytes = 16384;
    bool wide = false;
  };
  const GpuCase cases[] = {
      {{"IFFT", {3, 256}, 1}, 1},          // one line a workgroup
      {{"FFT", {37, 60}, 1}, 1},           // several, the last workgroup not full, butterflies to spare
      {{"FFT", {2, 20, 5}, 2}, 2},         // neighbouring lines of a strided axis
      {{"IRFFT", {1, 1024}, 1}, 2, 2048},  // two passes with twiddles between
      {{"RFFT", {2, 179}, 1}, 2},          // a chirp
      {{"RFFT", {3, 640}, 1}, 1},          // no pass for the other half
      {{"FFT", {2, 48}, 1}, 1, 16384, true},
  };
  const std::vector<BindingMode> modes = ModesToRun();
  for (size_t i = 0; i < std::size(cases); ++i) {
    const BindingMode mode = modes[i % modes.size()];
    DeviceFacts facts = AsGpu(mode);
    if (cases[i].wide && !facts.float64) continue;
    facts.max_shared_bytes = cases[i].shared_bytes;
    // Twiddles as quarter turns and rests, and products in fused additions (right on any device, if not rounded once).
    for (const bool fused : {false, true}) {
      facts.fused_multiply_add = fused;
      EXPECT_EQ(ExpectLoweredAgrees(Program(cases[i].fft, cases[i].wide), mode, facts), cases[i].steps);
    }
  }
}

TEST(FftTest, NothingToTransform) {
  for (const std::string kind : {"FFT", "IFFT", "RFFT", "IRFFT"}) {
    Check({kind, {0, 6}, 1}, false);
    Check({kind, {3, 0}, 1}, false);
  }
}

TEST(FftTest, TransformsOfOneLengthShareATable) {
  const auto module = ParseModule(
      "ENTRY e { x = c64[2,67] parameter(0)  y = c64[2,67] fft(x), fft_type=FFT, fft_length={67}\n"
      "z = c64[2,67] multiply(y, y)  ROOT w = c64[2,67] fft(z), fft_type=IFFT, fft_length={67} }");
  ASSERT_NE(module, nullptr);
  const auto executable = DeviceClient(BindingMode::kDescriptors)->Compile(*module);
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ((*executable)->plan().constants.size(), 1u);
}

}  // namespace fft_test
}  // namespace VXLA_NAMESPACE::testing
