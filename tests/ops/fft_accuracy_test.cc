// The errors of fft on the device beside those of FFTW in the same precision (FFTW_ESTIMATE), both against FFTW in long
// double.
#include <fftw3.h>
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <random>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace fft_accuracy_test {

enum class Kind : uint8_t { kFft, kIfft, kRfft, kIrfft };
constexpr Kind kKinds[] = {Kind::kFft, Kind::kIfft, Kind::kRfft, Kind::kIrfft};
const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return kNames[static_cast<size_t>(kind)];
}
bool Inverse(Kind kind) { return kind == Kind::kIfft || kind == Kind::kIrfft; }

// Transforms of `rows` lines of n values in the time domain, over both axes if there are several rows.
struct Work {
  Kind kind = Kind::kFft;
  int lines = 1, n = 1;
  bool wide = false;
  int rows = 1;
  int64_t half() const { return n / 2 + 1; }
  // Real numbers of input and output.
  int64_t inputs() const {
    return lines * rows * (kind == Kind::kRfft ? int64_t{n} : kind == Kind::kIrfft ? 2 * half() : int64_t{2} * n);
  }
  int64_t outputs() const {
    return lines * rows * (kind == Kind::kIrfft ? int64_t{n} : kind == Kind::kRfft ? 2 * half() : int64_t{2} * n);
  }
};

// FFTW's names in one precision.
template <typename Real>
struct Fftw;
#define VXLA_FFTW(real, prefix)                              \
  template <>                                                \
  struct Fftw<real> {                                        \
    using Complex = prefix##_complex;                        \
    static constexpr auto kDft = prefix##_plan_many_dft;     \
    static constexpr auto kR2c = prefix##_plan_many_dft_r2c; \
    static constexpr auto kC2r = prefix##_plan_many_dft_c2r; \
    static constexpr auto kExecute = prefix##_execute;       \
    static constexpr auto kDestroy = prefix##_destroy_plan;  \
  };
VXLA_FFTW(float, fftwf)
VXLA_FFTW(double, fftw)
VXLA_FFTW(long double, fftwl)
#undef VXLA_FFTW

// `x`, parts of complex values side by side, transformed by FFTW in `Real`; backward times the rounded 1 / n.
template <typename Real>
std::vector<long double> ByFftw(const Work& work, const std::vector<double>& x) {
  using F = Fftw<Real>;
  std::vector<Real> in(x.begin(), x.end()), out(static_cast<size_t>(work.outputs()));
  auto* complex_in = reinterpret_cast<typename F::Complex*>(in.data());
  auto* complex_out = reinterpret_cast<typename F::Complex*>(out.data());
  const int sizes[] = {work.rows, work.n}, rank = work.rows > 1 ? 2 : 1, *n = sizes + 2 - rank;
  const int whole = work.rows * work.n, half = work.rows * static_cast<int>(work.half());
  const auto plan =
      work.kind == Kind::kRfft
          ? F::kR2c(rank, n, work.lines, in.data(), nullptr, 1, whole, complex_out, nullptr, 1, half, FFTW_ESTIMATE)
      : work.kind == Kind::kIrfft
          ? F::kC2r(rank, n, work.lines, complex_in, nullptr, 1, half, out.data(), nullptr, 1, whole, FFTW_ESTIMATE)
          : F::kDft(rank, n, work.lines, complex_in, nullptr, 1, whole, complex_out, nullptr, 1, whole,
                    Inverse(work.kind) ? FFTW_BACKWARD : FFTW_FORWARD, FFTW_ESTIMATE);
  F::kExecute(plan);
  F::kDestroy(plan);
  if (Inverse(work.kind)) {
    for (Real& value : out) value *= static_cast<Real>(1) / static_cast<Real>(whole);
  }
  return {out.begin(), out.end()};
}

// Normal values, or uniform ones of (-1, 1); the imaginary parts that an inverse real transform ignores are zero.
std::vector<double> Inputs(const Work& work, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(static_cast<size_t>(work.inputs()));
  for (double& value : x) {
    value = seed % 2 == 0 ? normal(engine) : uniform(engine);
    if (!work.wide) value = static_cast<float>(value);
  }
  if (work.kind == Kind::kIrfft) {
    for (int64_t line = 0; line < work.lines; ++line) {
      x[static_cast<size_t>(2 * line * work.half() + 1)] = 0;
      if (work.n % 2 == 0) x[static_cast<size_t>(2 * (line + 1) * work.half() - 1)] = 0;
    }
  }
  return x;
}

std::string ProgramOf(const Work& work) {
  const char *real = work.wide ? "f64" : "f32", *complex = work.wide ? "c128" : "c64";
  const std::string rows = work.rows > 1 ? fmt::format("{},", work.rows) : "";
  const auto shape = [&](bool is_real, int64_t size) {
    return fmt::format("{}[{},{}{}]", is_real ? real : complex, work.lines, rows, size);
  };
  return fmt::format("ENTRY e {{ x = {} parameter(0)  ROOT y = {} fft(x), fft_type={}, fft_length={{{}{}}} }}",
                     shape(work.kind == Kind::kRfft, work.kind == Kind::kIrfft ? work.half() : work.n),
                     shape(work.kind == Kind::kIrfft, work.kind == Kind::kRfft ? work.half() : work.n),
                     NameOf(work.kind), rows, work.n);
}

// Sums over lines and seeds.
struct Errors {
  long double squares = 0, norm = 0, largest = 0;
  void Add(const std::vector<long double>& got, const std::vector<long double>& exact) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const long double error = got[i] - exact[i];
      squares += error * error;
      norm += exact[i] * exact[i];
      largest = std::max(largest, std::fabs(error));
    }
  }
  double relative() const { return static_cast<double>(std::sqrt(squares / norm)); }
};
struct Comparison {
  Errors own, fftws;
  double rms_ratio() const { return own.relative() / fftws.relative(); }
  double largest_ratio() const { return static_cast<double>(own.largest / fftws.largest); }
};

Comparison Compare(const Work& work, int seeds) {
  Comparison result;
  const auto module = ParseModule(ProgramOf(work));
  Client* client = DeviceClient(ModesToRun().front());
  if (module == nullptr || client == nullptr) return result;
  auto executable = client->Compile(*module);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  for (int seed = 0; executable.ok() && seed < seeds; ++seed) {
    const std::vector<double> x = Inputs(work, static_cast<uint64_t>(seed));
    Literal argument(module->entry()->parameter(0)->shape());
    const bool complex = work.kind != Kind::kRfft;
    for (int64_t i = 0; i < argument.element_count(); ++i) {
      const auto at = static_cast<size_t>(complex ? 2 * i : i);
      complex ? argument.SetComplex(i, {x[at], x[at + 1]}) : argument.SetDouble(i, x[at]);
    }
    const Literal* pointer = &argument;
    const auto value = (*executable)->Run(std::span(&pointer, 1));
    EXPECT_TRUE(value.ok()) << value.status().message();
    if (!value.ok()) break;
    std::vector<long double> got;
    for (int64_t i = 0; i < value->element_count(); ++i) {
      const std::complex<double> element = value->GetComplex(i);
      got.push_back(element.real());
      if (work.kind != Kind::kIrfft) got.push_back(element.imag());
    }
    const std::vector<long double> exact = ByFftw<long double>(work, x);
    result.own.Add(got, exact);
    result.fftws.Add(work.wide ? ByFftw<double>(work, x) : ByFftw<float>(work, x), exact);
  }
  return result;
}

// Normal and uniform values in turns; `most` leaves room for what so few values tell, 1 % to 2 %.
void ExpectNoLargerThanFftws(const Work& work, double most = 1.03) {
  const Comparison c = Compare(work, std::max(2, (1 << 15) / (work.lines * work.n)));
  const double unit = work.wide ? 0x1p-53 : 0x1p-24;
  EXPECT_LE(c.rms_ratio(), most) << ProgramOf(work) << ": " << c.own.relative() / unit << " units, FFTW "
                                 << c.fftws.relative() / unit;
}

// Of each way to make a transform: one butterfly, sums, two passes and more, the chirp, packed real values.
TEST(FftAccuracyTest, ErrorsAreNoLargerThanFftws) {
  Client* client = DeviceClient(ModesToRun().front());
  ASSERT_NE(client, nullptr);
  for (const bool wide : {false, true}) {
    // Emulated, no butterfly has more than five points: up to 1.11 times FFTW's error (docs/benchmarks/index.md).
    if (wide && !client->device().facts().float64) continue;
    for (const Kind kind : kKinds) {
      for (const int n : {20, 48, 67, 400, 1009, 2048}) ExpectNoLargerThanFftws({kind, std::max(1, 4096 / n), n, wide});
    }
  }
}

// Enough lines for subgroups of lavapipe to hold them.
TEST(FftAccuracyTest, ErrorsOfManyLinesAreNoLargerThanFftws) {
  for (const int n : {256, 768, 1024, 4096}) ExpectNoLargerThanFftws({Kind::kFft, (1 << 17) / n + 1, n});
}

// Butterflies of coprime factors, which round the same whatever their number: so many values tell 1 %.
TEST(FftAccuracyTest, ErrorsOfShortLinesAreNoLargerThanFftws) {
  for (const int n : {6, 10, 12, 14, 15}) ExpectNoLargerThanFftws({Kind::kFft, (1 << 17) / n, n}, 1.02);
}

// VXLA_FFT_LENGTHS="1-600,1000" VXLA_FFT_TYPES=c64 VXLA_FFT_VALUES=65536 VXLA_FFT_LINES=1 VXLA_FFT_ROWS=1: prints a
// line for each kind and length. (A half spectrum of several rows would have to be symmetric in its first column.)
TEST(FftAccuracySweep, DISABLED_Lengths) {
  const auto setting = [](const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : otherwise);
  };
  const std::string lengths = setting("VXLA_FFT_LENGTHS", "1-64"), types = setting("VXLA_FFT_TYPES", "c64,c128");
  const int values = std::stoi(setting("VXLA_FFT_VALUES", "65536")), lines = std::stoi(setting("VXLA_FFT_LINES", "0")),
            rows = std::stoi(setting("VXLA_FFT_ROWS", "1"));
  for (size_t at = 0; at < lengths.size();) {
    const size_t end = std::min(lengths.find(',', at), lengths.size());
    const std::string range = lengths.substr(at, end - at);
    const size_t dash = range.find('-');
    const int first = std::stoi(range), last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    for (int n = first; n <= last; ++n) {
      for (const bool wide : {false, true}) {
        if (types.find(wide ? "c128" : "c64") == std::string::npos) continue;
        for (const Kind kind : kKinds) {
          const int at_once = lines > 0 ? lines : std::max(1, 4096 / (rows * n));
          if (rows > 1 && kind == Kind::kIrfft) continue;
          const Comparison c = Compare({kind, at_once, n, wide, rows}, std::max(2, values / (at_once * rows * n)));
          const double unit = wide ? 0x1p-53 : 0x1p-24;
          fmt::print("FFTERR {} {} {} rms {:.3f} max {:.3f} own {:.3f} fftw {:.3f}\n", wide ? "c128" : "c64",
                     NameOf(kind), n, c.rms_ratio(), c.largest_ratio(), c.own.relative() / unit,
                     c.fftws.relative() / unit);
        }
      }
    }
    at = end + 1;
  }
}

}  // namespace fft_accuracy_test
}  // namespace VXLA_NAMESPACE::testing
