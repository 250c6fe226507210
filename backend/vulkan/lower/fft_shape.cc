#include "backend/vulkan/lower/fft_shape.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace VXLA_NAMESPACE::vulkan {
namespace {

// The largest prime radix of a butterfly, and of a pass that adds up each result: beyond it the chirp transform, four
// times as much memory traffic and some 250 operations a point, is less work. (FFTW adds up primes to 173.)
constexpr int64_t kLargestPrime = 13, kLargestDirect = 61;

using Radices = std::vector<int64_t>;

// Fewest passes, then the smallest radices; empty for 1 and if a factor is larger than any radix.
const Radices& SplitInto(int64_t n, int64_t largest, std::map<int64_t, Radices>& known) {
  const auto [at, fresh] = known.try_emplace(n);
  Radices& best = at->second;
  if (!fresh || n == 1) return best;
  for (int64_t radix = std::min(largest, n); radix >= 2; --radix) {
    if (n % radix != 0) continue;
    Radices rest = SplitInto(n / radix, largest, known);
    if (rest.empty() && n != radix) continue;
    rest.insert(rest.begin(), radix);
    const auto cost = [](const Radices& r) { return std::pair(r.size(), std::accumulate(r.begin(), r.end(), 0L)); };
    if (best.empty() || cost(rest) < cost(best)) best = std::move(rest);
  }
  std::ranges::sort(best, std::greater());
  return best;
}

Radices Split(int64_t n, int64_t largest) {
  std::map<int64_t, Radices> known;
  return SplitInto(n, largest, known);
}

bool IsPrime(int64_t n) {
  int64_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  return p * p > n;
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

}  // namespace

FftShape TuneFft(const DeviceFacts& facts, const FftWork& work) {
  const int64_t length = work.length;
  const bool in_pairs = work.in_pairs;
  // The values of a butterfly stay in registers: 16 of c64, 8 of c128. In pairs a result of radix r is r products, so
  // fours cost as little as twos and more than that is waste. Lavapipe compiles a large butterfly for half a second.
  const bool small = facts.is_software() && work.elements < (int64_t{1} << 15);
  const int64_t largest = in_pairs ? 5 : small || work.type == ElementType::kC128 ? 8 : 16;
  FftShape shape;
  shape.points = length;
  int64_t rest = std::max<int64_t>(length, 1);
  // Primes that no butterfly takes.
  Radices direct = in_pairs ? TakePrimes(rest, 7, kLargestDirect) : TakePrimes(rest, kLargestPrime + 1, kLargestDirect);
  Radices primes = in_pairs ? Radices() : TakePrimes(rest, largest + 1, kLargestPrime);
  Radices split = Split(rest, largest);
  if (rest > 1 && split.empty()) {
    shape.chirp = true;
    shape.points = ConvolutionSize(length, largest);
    direct = primes = {};
    split = Split(shape.points, largest);
    if (in_pairs) std::swap(direct, split);
  }
  for (int64_t radix : direct) shape.passes.push_back({radix, true});
  for (int64_t radix : primes) shape.passes.push_back({radix, false});
  for (int64_t radix : split) shape.passes.push_back({radix, in_pairs});
  if (shape.passes.empty()) shape.passes.push_back({1, false});
  return shape;
}

}  // namespace VXLA_NAMESPACE::vulkan
