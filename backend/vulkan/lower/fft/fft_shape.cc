#include "backend/vulkan/lower/fft/fft_shape.h"

#include <algorithm>
#include <map>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The largest prime radix of a butterfly.
constexpr int64_t kLargestPrime = 13;

using Radices = std::vector<int64_t>;

// Which of as many radices are better: the smallest, or those that round least, by the share of values that are
// multiplied by a twiddle between them or inside a butterfly (eight and sixteen points; others are of coprime factors
// or small, and have none).
enum class Better : uint8_t { kSmall, kExact };

double CostOf(const Radices& radices, Better better) {
  double cost = 0, before = 1;
  for (const int64_t radix : radices) {
    const auto r = static_cast<double>(radix);
    cost += better == Better::kSmall ? r : (1 - 1 / r) * (1 - 1 / before) + (radix == 16 ? 0.5 : radix == 8 ? 0.25 : 0);
    before *= r;
  }
  return cost;
}

// Fewest passes, then the least cost; empty for 1 and if a factor is larger than any radix.
const Radices& SplitInto(int64_t n, int64_t largest, Better better, std::map<int64_t, Radices>& known) {
  const auto [at, fresh] = known.try_emplace(n);
  Radices& best = at->second;
  if (!fresh || n == 1) return best;
  for (int64_t radix = std::min(largest, n); radix >= 2; --radix) {
    if (n % radix != 0) continue;
    Radices rest = SplitInto(n / radix, largest, better, known);
    if (rest.empty() && n != radix) continue;
    rest.insert(rest.begin(), radix);
    const auto cost = [&](const Radices& r) { return std::pair(r.size(), CostOf(r, better)); };
    if (best.empty() || cost(rest) < cost(best)) best = std::move(rest);
  }
  std::ranges::sort(best, std::greater());
  return best;
}

Radices Split(int64_t n, int64_t largest, Better better = Better::kSmall) {
  std::map<int64_t, Radices> known;
  return SplitInto(n, largest, better, known);
}

bool IsPrime(int64_t n) {
  int64_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  return p * p > n;
}

// The largest prime of a pass that adds up each result. Beyond it the chirp transform, four times as much memory
// traffic and some 250 operations a point, is less work, and where that counts rounds no more than FFTW, which adds up
// primes to 173; of real values sums are half the work and round less.
int64_t LargestDirect(const FftWork& work) {
  // So short, the dozen passes of a chirp are longer than the sums, as text too (211 points: lavapipe compiles 5 s).
  if (work.one_workgroup) return 512;
  return work.real || work.length * work.lines < (int64_t{1} << 14) ? 173 : 61;
}

// Takes the prime factors between two bounds out of n.
Radices TakePrimes(int64_t& n, int64_t from, int64_t to) {
  Radices primes;
  for (int64_t p = from; p <= to; ++p) {
    for (; IsPrime(p) && n % p == 0; n /= p) primes.push_back(p);
  }
  return primes;
}

// The size of the convolution of a chirp transform that costs least: points by passes.
int64_t ConvolutionSize(int64_t length, int64_t largest) {
  const int64_t least = 2 * length - 1;
  int64_t best = 0, best_cost = 0;
  for (int64_t fives = 1; fives <= 25; fives *= 5) {
    for (int64_t odd = fives; odd <= 9 * fives; odd *= 3) {
      int64_t size = odd;
      while (size < least) size *= 2;
      const int64_t cost = size * static_cast<int64_t>(2 + Split(size, largest).size());
      if (best == 0 || cost < best_cost) best = size, best_cost = cost;
    }
  }
  return best;
}

// A pass over `size` points as stages, if it is more than a butterfly.
FftPass StagedPass(const DeviceFacts& facts, int64_t size, int64_t units, int64_t side_by_side, int64_t bytes,
                   int64_t largest) {
  FftPass pass{size};
  int64_t rest = size;
  pass.stages = TakePrimes(rest, largest + 1, kLargestPrime);
  for (int64_t radix : Split(rest, largest)) pass.stages.push_back(radix);
  if (pass.stages.size() < 2) {
    pass.stages.clear();
    return pass;
  }
  const int64_t most = std::min(facts.max_workgroup_invocations, facts.max_workgroup_size[0]);
  const int64_t shared = facts.max_shared_bytes;
  pass.lanes = std::min(most, size / *std::ranges::max_element(pass.stages));
  // As many as stand side by side in memory, or fill two subgroups.
  pass.transforms = std::max(side_by_side, 64 / pass.lanes);
  pass.transforms = std::min({pass.transforms, most / pass.lanes, shared / (size * bytes), units});
  pass.transforms = std::max<int64_t>(pass.transforms, 1);
  pass.padded = pass.transforms * (size + size / 16) * bytes <= shared;
  return pass;
}

// Passes through shared memory, as for GPUs: lines that a workgroup holds are one pass. Of others a workgroup takes
// neighbours, so that what it reads and writes lies in runs of 64 bytes.
void StagedPasses(const DeviceFacts& facts, const FftWork& work, int64_t points, int64_t largest, FftShape* shape) {
  const int64_t bytes = StorageBytes(work.type), run = 64 / bytes;
  const int64_t most = std::min<int64_t>(facts.max_shared_bytes / bytes, 4096);
  const bool whole = !work.strided && shape->passes.empty() && points <= most;
  if (points == 1) return;
  const int64_t total = work.lines * shape->points;
  for (int64_t size : whole ? Radices{points} : Split(points, std::max<int64_t>(most / run, kLargestPrime + 3)))
    shape->passes.push_back(StagedPass(facts, size, total / size, whole ? 1 : run, bytes, largest));
}

// Whether a subgroup shall hold a line, in shared memory. Lavapipe, one core, 64 lines of 4096: 1.1 ms, three passes
// over memory 3.1.
bool SubgroupHolds(const DeviceFacts& facts, const FftWork& work) {
  return facts.costs.subgroups_in_turn && facts.int64 && facts.subgroup_shuffle && facts.subgroup_size == 8 &&
         work.plain && !work.strided && work.type == ElementType::kC64 &&
         (work.length == 256 || work.length == 768 || work.length % 512 == 0) && work.length <= 4096 &&
         work.length * 8 <= facts.max_shared_bytes && work.length * work.lines >= (int64_t{1} << 17);
}

// The largest radix of a butterfly, whose values stay in registers where there are any: 16 of c64, 8 of c128. In pairs
// a result of radix r is r products, so fours cost as little as twos and more than that is waste.
int64_t LargestRadix(const DeviceFacts& facts, const FftWork& work) {
  constexpr int64_t kMostAlone = 20;  // 18 and 20 points round less as one butterfly than as two passes
  if (work.in_pairs) return 5;
  // Many lanes share the registers of a whole loop, and lavapipe compiles 1024 points there and back in 1.5 s (3.1 with
  // sixteens).
  if (work.one_workgroup) return 8;
  if (work.length <= kMostAlone) return kMostAlone;
  return work.type == ElementType::kC128 && !facts.costs.subgroups_in_turn ? 8 : 16;
}

}  // namespace

FftShape TuneFft(const DeviceFacts& facts, const FftWork& work) {
  const int64_t length = work.length, largest = LargestRadix(facts, work);
  const bool in_pairs = work.in_pairs;
  FftShape shape;
  shape.points = length;
  if (!work.one_workgroup && SubgroupHolds(facts, work)) {
    shape.passes.push_back({length});
    shape.passes[0].by_subgroup = true;
    return shape;
  }
  int64_t rest = std::max<int64_t>(length, 1);
  // Primes that no butterfly takes.
  Radices direct = TakePrimes(rest, in_pairs ? 7 : kLargestPrime + 1, LargestDirect(work));
  Radices primes = in_pairs ? Radices() : TakePrimes(rest, largest + 1, kLargestPrime);
  // (Products round there before they are added.)
  const Better better = facts.costs.plain_arithmetic && !in_pairs ? Better::kExact : Better::kSmall;
  Radices split = Split(rest, largest, better);
  if (rest > 1 && split.empty()) {
    shape.chirp = true;
    shape.points = ConvolutionSize(length, largest);
    direct = primes = {};
    split = Split(shape.points, largest, better);
    if (in_pairs) std::swap(direct, split);
  }
  for (int64_t radix : direct) shape.passes.push_back({radix, true});
  if (!facts.costs.subgroups_in_turn && !in_pairs && !work.one_workgroup) {
    for (int64_t radix : primes) rest *= radix;
    StagedPasses(facts, work, shape.chirp ? shape.points : rest, largest, &shape);
  } else {
    for (int64_t radix : primes) shape.passes.push_back({radix, false});
    for (int64_t radix : split) shape.passes.push_back({radix, in_pairs});
  }
  if (shape.passes.empty()) shape.passes.push_back({1, false});
  return shape;
}

}  // namespace VXLA_NAMESPACE::vulkan
