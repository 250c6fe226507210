// The passes of a Fourier transform: a pure decision. Each axis is made as passes of Stockham's autosort algorithm,
// which writes what it reads in the order of the next pass, so that nothing is ever put in order. After passes of
// radices r1, r2 .. the array holds, for L = r1 r2
// .., at q L + k the result k of the L points that begin at q and lie n / L apart. A pass of radix R makes
//   b[(m R + s) L + k] = sum over j of w(R)^(j s) w(L R)^(j k) a[(j M + m) L + k],   M = n / (L R), l = m L + k
// for each m, k: a butterfly of values n / R apart at l. Backward transforms are forward ones of values whose parts are
// swapped. What else an op wants is done where a pass loads or stores: real values, half spectra, the chirp.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "backend/vulkan/lower/fft/fft_shape.h"
#include "backend/vulkan/lower/fft/fft_tables.h"
#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

// What a pass reads: `size` values on each line.
struct PassInput {
  ElementType type = ElementType::kC64;
  int64_t size = 1;
  // The first half of a spectrum whose second half is its conjugate: as it stands, or as the spectrum of half as many
  // complex values whose parts are neighbours of the real ones.
  enum class Spectrum : uint8_t { kWhole, kHermitian, kPacked } spectrum = Spectrum::kWhole;
  bool swap = false;
  bool chirp = false;  // times the chirp, and zeros beyond
};

// What it writes: swapped, times a table, swapped, divided; the first `size` values of each line.
struct PassOutput {
  ElementType type = ElementType::kC64;
  int64_t size = 1;
  bool swap_first = false, swap_last = false;
  std::optional<FftTable> factors = {};
  int64_t divisor = 1;
  bool real_at_zero = false;  // result 0 is a sum of real values, whatever roundings say
};

// 1 / n as a factor and a rest: x / n is y + y * rest for y = x * factor. A rounded 1 / n alone would be wrong by the
// same in all results; so the factor is a power of two, by which products are exact, unless the rounding is small
// beside what a product with the rest rounds.
struct Reciprocal {
  Reciprocal(int64_t n, bool single) {
    const double count = static_cast<double>(n), power = std::exp2(std::round(std::log2(count)));
    const double rounded = single ? static_cast<double>(static_cast<float>(1 / count)) : 1 / count;
    const double wrong = std::fma(rounded, count, -1.0) * (single ? 0x1p24 : 0x1p53),
                 by_power = (power - count) / count;
    const bool exact = std::abs(wrong) < 0.35 * std::abs(by_power);
    factor = exact ? rounded : 1 / power;
    rest = exact ? 0 : by_power;
  }
  double factor, rest;
};

struct FftJob {
  FftPass pass;
  // No pass but the end of a transform of real values that were taken for half as many complex ones: result k from the
  // values k and length - k.
  bool untangles = false;
  int64_t before = 1;  // L
  int64_t points = 1;  // n
  int64_t length = 1;  // of the transform, or of the chirp
  int64_t outer = 1, inner = 1;
  int64_t whole_table = int64_t{1} << 16;  // twiddles of more points come from two tables
  bool turned = false;                     // tables of twiddles are
  int64_t width = 1;                       // neighbouring butterflies that an invocation makes
  PassInput in;
  PassOutput out;

  int64_t stride() const { return points / pass.radix; }
  // A direct pass that makes results s and radix - s together, of sums and differences of values.
  bool symmetric() const { return pass.direct && before == 1 && pass.radix % 2 == 1; }
  // Butterflies, or results of a direct pass or pairs of them.
  int64_t units() const {
    if (untangles) return outer * (length / 2 + 1);
    if (symmetric()) return outer * inner * stride() * (pass.radix / 2 + 1);
    return outer * inner * (pass.direct ? points : stride() / width);
  }
  int64_t in_elements() const { return outer * inner * in.size; }
  int64_t out_elements() const { return outer * inner * out.size; }
  // The twiddles of the pass, one table or two; and of its stages.
  std::vector<FftTable> Twiddles() const;
  std::vector<FftTable> StageTwiddles() const;
  // The roots of twice the length that packed real values take.
  std::vector<FftTable> PackedRoots() const;
  // w(around)^e for e < count, where that is many, comes from two tables.
  static std::vector<FftTable> TwoTables(int64_t around);
};

// The passes of an instruction, and what they need.
struct FftPlan {
  ElementType complex = ElementType::kC64;
  std::vector<FftJob> jobs;
  FftTables tables{ElementType::kC64};
  // Products are added without a rounding of their own (docs/reference/numerics.md).
  bool fuses = false;
  int64_t flop = 0;

  // Elements of the largest array that one pass hands to the next.
  int64_t most_between() const;
  // Where each pass writes, so that the last writes the result: -1 there, else scratch 0 or 1, which is written in
  // turns with the result's memory if what lies between passes fits in there, else with the other scratch.
  std::vector<int> PlacesOfPasses(bool in_result) const;
};

// `one_workgroup`: its lanes make one pass after the other, whose values lie in memory.
FftPlan PlanFft(const LowerContext& context, const FusionDescription& body, bool one_workgroup = false);

}  // namespace VXLA_NAMESPACE::vulkan
