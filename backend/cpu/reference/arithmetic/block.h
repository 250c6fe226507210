// Blocks: runs of elements held in their carrier type (core/data/element_type.h): int64_t, uint64_t, double or
// std::complex<double>. Every op's loop runs on carriers; loading widens, storing wraps integers and rounds floats
// once.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

inline constexpr int kBlockSize = 512;
using ComplexDouble = std::complex<double>;

// A carrier array of any kind, kBlockSize long.
struct alignas(64) Block {
  std::byte bytes[kBlockSize * sizeof(ComplexDouble)];
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
};

int64_t CarrierBytes(ElementType type);

// Ascends with the total order: negative NaN < -inf < ... < -0 < +0 < ... < +inf < NaN.
inline int64_t TotalOrderKey(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

// Where elements [at, at + n) of a literal lie. CHECKs that the literal has them: index maps are worked out from
// attributes, and a map that leads astray must not read or write other memory.
const std::byte* ElementsAt(const Literal& literal, int64_t at, int64_t n);
std::byte* ElementsAt(Literal& literal, int64_t at, int64_t n);

// Elements [from, from + n) of one literal to `to` of another of the type.
void CopyRun(const Literal& source, int64_t from, Literal& target, int64_t to, int64_t n);

// n contiguous elements in storage <-> carriers.
void LoadElements(ElementType type, const std::byte* source, int64_t n, void* carriers);
void StoreElements(ElementType type, const void* carriers, int64_t n, std::byte* target);
// n <= kBlockSize elements at these offsets, each CHECKed.
void GatherElements(const Literal& source, const int64_t* offsets, int64_t n, void* carriers);
void ScatterElements(const void* carriers, const int64_t* offsets, int64_t n, Literal& target);
// n <= kBlockSize elements from `at`, `stride` elements apart; both ends CHECKed.
void LoadStrided(const Literal& source, int64_t at, int64_t stride, int64_t n, void* carriers);
// What storing and loading again would give.
void RoundElements(ElementType type, void* carriers, int64_t n);

// Loads real or integer elements of any type as T, by value (T: double, int64_t, uint64_t or ComplexDouble). u64 beyond
// 2^63 and complex to real follow C++'s conversions.
template <typename T>
void LoadAs(ElementType type, const std::byte* source, int64_t n, T* out);
template <typename T>
void LoadAs(const Literal& literal, int64_t at, int64_t n, T* out) {
  LoadAs<T>(literal.shape().element_type(), ElementsAt(literal, at, n), n, out);
}

inline void LoadBlock(const Literal& literal, int64_t at, int64_t n, void* carriers) {
  LoadElements(literal.shape().element_type(), ElementsAt(literal, at, n), n, carriers);
}
inline void StoreBlock(const void* carriers, int64_t n, Literal& literal, int64_t at) {
  StoreElements(literal.shape().element_type(), carriers, n, ElementsAt(literal, at, n));
}

// Fills n carriers with the element at `at`.
void LoadSplat(const Literal& literal, int64_t at, int64_t n, void* carriers);

}  // namespace VXLA_NAMESPACE
