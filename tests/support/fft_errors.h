// The errors of fft on the device beside those of FFTW in the same precision (FFTW_ESTIMATE), both against FFTW in long
// double.
#pragma once

#include <fftw3.h>
#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing::fft_errors {

enum class Kind : uint8_t { kFft, kIfft, kRfft, kIrfft };
constexpr Kind kKinds[] = {Kind::kFft, Kind::kIfft, Kind::kRfft, Kind::kIrfft};
inline const char* NameOf(Kind kind) {
  constexpr const char* kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return kNames[static_cast<size_t>(kind)];
}
inline bool Inverse(Kind kind) { return kind == Kind::kIfft || kind == Kind::kIrfft; }

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
inline std::vector<double> Inputs(const Work& work, uint64_t seed) {
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

inline std::string ProgramOf(const Work& work) {
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

inline Comparison Compare(const Work& work, int seeds) {
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

}  // namespace VXLA_NAMESPACE::testing::fft_errors
