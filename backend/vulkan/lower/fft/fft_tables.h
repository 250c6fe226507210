// Tables of roots of unity that the kernels of a Fourier transform read: made on the host in double, once per plan.
#pragma once

#include <compare>
#include <complex>
#include <cstdint>
#include <map>
#include <vector>

#include "backend/lowering.h"

namespace VXLA_NAMESPACE::vulkan {

// exp(-2 pi i k / n) for 0 <= k < n < 2^59, each part within 0.501 ulp of double where long double has 64 bits (within
// 1.5 where it is double), and the same less 1, of which small parts keep their digits.
std::complex<double> UnitRoot(int64_t k, int64_t n);
std::complex<double> UnitRootLessOne(int64_t k, int64_t n);

// The same root as (-i)^quarters (1 + rest), where rest is of an eighth of a turn at most: x + x * rest rounds less
// than the product with the root, for the products that it adds are small.
struct TurnedRoot {
  int64_t quarters;
  std::complex<double> rest;
};
TurnedRoot NearestQuarter(int64_t k, int64_t n);

// What a table holds, w(n) being exp(-2 pi i / n).
struct FftTable {
  enum class Kind : uint8_t {
    kRoots,       // w(a)^e for e < a
    kFirstRoots,  // w(a)^e for e < b
    kButterfly,   // w(a b)^(j k) at j b + k for j < a, k < b: the twiddles of a butterfly of a points
    kLessOne,     // the same less 1
    kCoarse,      // w(a)^(e b) for e b < a
    kFine,        // w(a)^e - 1 for e < b: w(a)^(e b + f) is coarse + coarse * fine, right to an ulp
    kChirp,       // exp(-pi i e e / a) for e < a
    kSpectrum,    // the transform over b points of the conjugate chirp of a, wrapped round, divided by b
  };
  Kind kind = Kind::kRoots;
  int64_t a = 1, b = 1;
  // Roots as NearestQuarter has them (kFirstRoots, kButterfly): minus the rest's real part, with the quarters in the
  // two highest bits, which are free as it lies between 0 and 0.3; and its imaginary part.
  bool turned = false;
  int64_t count() const;
  std::vector<std::complex<double>> Make() const;
  std::vector<TurnedRoot> MakeTurned() const;
  friend auto operator<=>(const FftTable&, const FftTable&) = default;
};

// The tables of one instruction as one buffer of c64 or c128 elements.
class FftTables {
 public:
  explicit FftTables(ElementType type) : type_(type) {}
  void Want(const FftTable& table);
  // Of all that is wanted.
  int64_t count() const { return count_; }
  int64_t size_bytes() const { return count_ * StorageBytes(type_); }
  // The element at which a table begins.
  int64_t OffsetOf(const FftTable& table) const { return offsets_.at(table); }
  std::vector<uint32_t> Words() const;

 private:
  ElementType type_;
  int64_t count_ = 0;
  std::map<FftTable, int64_t> offsets_;
};

}  // namespace VXLA_NAMESPACE::vulkan
