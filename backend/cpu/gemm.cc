#include "backend/cpu/gemm.h"

namespace vxla {
namespace {

using Pair = double __attribute__((vector_size(16)));

Pair LoadPair(const double* at) { return Pair{at[0], at[1]}; }

}  // namespace

Accumulator AccumulatorFor(ElementType lhs, ElementType rhs, ElementType result) {
  auto any = [&](auto&& is) { return is(lhs) || is(rhs) || is(result); };
  if (any(IsComplex)) {
    const bool wide = any([](ElementType t) { return RealPart(t) == ElementType::kF64; });
    return wide ? Accumulator::kLongComplex : Accumulator::kComplex;
  }
  if (any([](ElementType t) { return t == ElementType::kF64; })) return Accumulator::kLongDouble;
  return any(IsFloating) ? Accumulator::kDouble : Accumulator::kUint64;
}

// Eight two-lane accumulators stay in registers; the products of two floats are exact in double.
void MultiplyPanels(const double* a, const double* b, int64_t k, double* tile, int64_t stride) {
  Pair s00{}, s01{}, s10{}, s11{}, s20{}, s21{}, s30{}, s31{};
  for (int64_t i = 0; i < k; ++i, a += kPanel, b += kPanel) {
    const Pair b0 = LoadPair(b), b1 = LoadPair(b + 2);
    const Pair a0{a[0], a[0]}, a1{a[1], a[1]}, a2{a[2], a[2]}, a3{a[3], a[3]};
    s00 += a0 * b0;
    s01 += a0 * b1;
    s10 += a1 * b0;
    s11 += a1 * b1;
    s20 += a2 * b0;
    s21 += a2 * b1;
    s30 += a3 * b0;
    s31 += a3 * b1;
  }
  const Pair sums[kPanel][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};
  for (int r = 0; r < kPanel; ++r) {
    for (int c = 0; c < kPanel; ++c) tile[r * stride + c] = sums[r][c / 2][c % 2];
  }
}

void StoreSums(ElementType type, const uint64_t* sums, int64_t n, std::byte* target) {
  StoreElements(type, sums, n, target);
}
void StoreSums(ElementType type, const double* sums, int64_t n, std::byte* target) {
  StoreElements(type, sums, n, target);
}
void StoreSums(ElementType type, const std::complex<double>* sums, int64_t n, std::byte* target) {
  StoreElements(type, sums, n, target);
}

void StoreSums(ElementType type, const long double* sums, int64_t n, std::byte* target) {
  for (int64_t at = 0; at < n; at += kBlockSize) {
    Block block;
    const int64_t count = std::min<int64_t>(kBlockSize, n - at);
    for (int64_t i = 0; i < count; ++i) block.as<double>()[i] = static_cast<double>(sums[at + i]);
    StoreElements(type, block.bytes, count, target + at * StorageBytes(type));
  }
}

void StoreSums(ElementType type, const std::complex<long double>* sums, int64_t n, std::byte* target) {
  for (int64_t at = 0; at < n; at += kBlockSize) {
    Block block;
    const int64_t count = std::min<int64_t>(kBlockSize, n - at);
    for (int64_t i = 0; i < count; ++i) block.as<Complex>()[i] = Complex(sums[at + i]);
    StoreElements(type, block.bytes, count, target + at * StorageBytes(type));
  }
}

}  // namespace vxla
