#include "backend/vulkan/lower/fft/fft_tables.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

using Complex = std::complex<double>;
// Of as many digits as the machine has, so that roundings to double are all but right, and sums of a table lose
// nothing.
using Wide = std::complex<long double>;

// exp(-2 pi i k / n), 0 <= k < n: eighths of a turn and a rest, mirrored where their number is odd, so that no angle
// exceeds pi / 4.
Wide WideRoot(int64_t k, int64_t n) {
  const int64_t eighths = 8 * k / n, rest = 8 * k % n, part = eighths % 2 == 0 ? rest : n - rest;
  const long double angle =
      std::numbers::pi_v<long double> / 4 * static_cast<long double>(part) / static_cast<long double>(n);
  long double cosine = std::cos(angle), sine = std::sin(angle);
  if (eighths % 2 != 0) std::swap(cosine, sine);
  for (int64_t quarter = eighths / 2; quarter > 0; --quarter) sine = std::exchange(cosine, -sine);
  return {cosine, -sine};
}

// The forward transform of a length with small factors; root k of its own length is roots[k * stride].
void TransformOnHost(std::vector<Wide>& x, const std::vector<Wide>& roots, int64_t stride) {
  const auto n = static_cast<int64_t>(x.size());
  if (n <= 1) return;
  int64_t radix = 2;
  while (n % radix != 0) ++radix;
  const int64_t part_size = n / radix;
  std::vector<std::vector<Wide>> parts(static_cast<size_t>(radix));
  auto root = [&](int64_t k) { return roots[static_cast<size_t>(k * stride)]; };
  for (int64_t j = 0; j < radix; ++j) {
    std::vector<Wide>& part = parts[static_cast<size_t>(j)];
    part.reserve(static_cast<size_t>(part_size));
    for (int64_t i = j; i < n; i += radix) part.push_back(x[static_cast<size_t>(i)]);
    TransformOnHost(part, roots, stride * radix);
    for (int64_t k = 1; j > 0 && k < part_size; ++k) part[static_cast<size_t>(k)] *= root(j * k);
  }
  for (int64_t k = 0; k < part_size; ++k) {
    for (int64_t s = 0; s < radix; ++s) {
      Wide sum = parts[0][static_cast<size_t>(k)];
      for (int64_t j = 1; j < radix; ++j)
        sum += parts[static_cast<size_t>(j)][static_cast<size_t>(k)] * root(j * s % radix * part_size);
      x[static_cast<size_t>(s * part_size + k)] = sum;
    }
  }
}

// exp(-pi i k k / n): k^2 modulo 2 n, or large k would lose the angle. k < n < 2^31.
Complex Chirp(int64_t k, int64_t n) { return UnitRoot(k * k % (2 * n), 2 * n); }

std::vector<Complex> ChirpSpectrum(int64_t n, int64_t size) {
  std::vector<Wide> x(static_cast<size_t>(size)), roots;
  for (int64_t k = 0; k < n; ++k) {
    const Wide value = std::conj(WideRoot(k * k % (2 * n), 2 * n)) / static_cast<long double>(size);
    x[static_cast<size_t>(k)] = value;
    if (k > 0) x[static_cast<size_t>(size - k)] = value;
  }
  for (int64_t k = 0; k < size; ++k) roots.push_back(WideRoot(k, size));
  TransformOnHost(x, roots, 1);
  return {x.begin(), x.end()};
}

}  // namespace

Complex UnitRoot(int64_t k, int64_t n) { return Complex(WideRoot(k, n)); }

Complex UnitRootLessOne(int64_t k, int64_t n) {
  const Wide half = WideRoot(k, 2 * n);  // cos - 1 = -2 sin^2 of half the angle
  return Complex(Wide(-2 * half.imag() * half.imag(), 2 * half.real() * half.imag()));
}

TurnedRoot NearestQuarter(int64_t k, int64_t n) {
  const int64_t quarters = (8 * k + n) / (2 * n), rest = 4 * k - quarters * n;  // of a turn / (4 n)
  Complex less = UnitRootLessOne(std::abs(rest), 4 * n);
  if (rest < 0) less = std::conj(less);
  return {quarters % 4, less};
}

int64_t FftTable::count() const {
  switch (kind) {
    case Kind::kRoots:
    case Kind::kChirp:
      return a;
    case Kind::kButterfly:
    case Kind::kLessOne:
      return a * b;
    case Kind::kCoarse:
      return CeilDivide(a, b);
    default:
      return b;
  }
}

std::vector<TurnedRoot> FftTable::MakeTurned() const {
  std::vector<TurnedRoot> roots;
  for (int64_t e = 0; e < count(); ++e)
    roots.push_back(kind == Kind::kButterfly ? NearestQuarter((e / b) * (e % b), a * b) : NearestQuarter(e, a));
  return roots;
}

std::vector<Complex> FftTable::Make() const {
  if (kind == Kind::kSpectrum) return ChirpSpectrum(a, b);
  std::vector<Complex> values;
  values.reserve(static_cast<size_t>(count()));
  for (int64_t e = 0; e < count(); ++e) {
    const int64_t product = (e / b) * (e % b);
    values.push_back(kind == Kind::kButterfly ? UnitRoot(product, a * b)
                     : kind == Kind::kLessOne ? UnitRootLessOne(product, a * b)
                     : kind == Kind::kCoarse  ? UnitRoot(e * b, a)
                     : kind == Kind::kFine    ? UnitRootLessOne(e, a)
                     : kind == Kind::kChirp   ? Chirp(e, a)
                                              : UnitRoot(e, a));
  }
  return values;
}

void FftTables::Want(const FftTable& table) {
  // Groups of four elements are whole.
  if (offsets_.emplace(table, count_).second) count_ += 4 * CeilDivide(table.count(), 4);
}

std::vector<uint32_t> FftTables::Words() const {
  const bool single = type_ == ElementType::kC64;
  std::vector<uint32_t> words(static_cast<size_t>(size_bytes() / 4));
  for (const auto& [table, offset] : offsets_) {
    auto at = words.begin() + offset * StorageBytes(type_) / 4;
    // The highest two bits are `high`.
    auto put = [&](double value, int64_t high = 0) {
      const auto bits = std::bit_cast<uint64_t>(value);
      if (!single) *at++ = static_cast<uint32_t>(bits);
      const uint32_t last =
          single ? std::bit_cast<uint32_t>(static_cast<float>(value)) : static_cast<uint32_t>(bits >> 32);
      *at++ = last | static_cast<uint32_t>(high) << 30;
    };
    if (table.turned) {
      for (const TurnedRoot& root : table.MakeTurned()) {
        put(std::abs(root.rest.real()), root.quarters);
        put(root.rest.imag());
      }
    } else {
      for (const Complex root : table.Make()) {
        put(root.real());
        put(root.imag());
      }
    }
  }
  return words;
}

}  // namespace VXLA_NAMESPACE::vulkan
