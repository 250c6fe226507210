// The errors of fft on the device beside those of FFTW. Every length: tests/fft_errors.
#include "tests/support/fft_errors.h"

namespace VXLA_NAMESPACE::testing {
namespace fft_accuracy_test {

using namespace fft_errors;

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

}  // namespace fft_accuracy_test
}  // namespace VXLA_NAMESPACE::testing
