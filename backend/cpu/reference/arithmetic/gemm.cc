#include "backend/cpu/reference/arithmetic/gemm.h"

#include "backend/cpu/reference/arithmetic/twofold.h"

namespace VXLA_NAMESPACE {
namespace {

using Pair = double __attribute__((vector_size(16)));

Pair LoadPair(const double* at) { return Pair{at[0], at[1]}; }

}  // namespace

Accumulator AccumulatorFor(ElementType lhs, ElementType rhs, ElementType result, bool plain) {
  auto any = [&](auto&& is) { return is(lhs) || is(rhs) || is(result); };
  if (any(IsComplex)) {
    const bool wide = any([](ElementType t) { return RealPart(t) == ElementType::kF64; });
    return wide && !plain ? Accumulator::kCompensatedComplex : Accumulator::kComplex;
  }
  if (!plain && any([](ElementType t) { return t == ElementType::kF64; })) return Accumulator::kCompensated;
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

// Two rows at a time: their sums and errors fill the registers.
void MultiplyPanels(const Compensated* a, const Compensated* b, int64_t k, Compensated* tile, int64_t stride) {
  for (int row = 0; row < kPanel; row += 2) {
    TwofoldSum<Pair> s00, s01, s10, s11;
    const double* left = &a[row].value;
    const double* right = &b->value;
    for (int64_t i = 0; i < k; ++i, left += kPanel, right += kPanel) {
      const Halves<Pair> b0(LoadPair(right)), b1(LoadPair(right + 2));
      const Halves<Pair> a0(Pair{left[0], left[0]}), a1(Pair{left[1], left[1]});
      AddProduct(s00, a0, b0);
      AddProduct(s01, a0, b1);
      AddProduct(s10, a1, b0);
      AddProduct(s11, a1, b1);
    }
    const TwofoldSum<Pair>* sums[2][2] = {{&s00, &s01}, {&s10, &s11}};
    for (int r = 0; r < 2; ++r) {
      for (int c = 0; c < kPanel; ++c) {
        const TwofoldSum<Pair>& s = *sums[r][c / 2];
        tile[(row + r) * stride + c].value = Rounded(s.sum[c % 2], s.error[c % 2]);
      }
    }
  }
}

// The lanes of a pair are the real and the imaginary part: a b = (a.re, a.re) (b.re, b.im) + (-a.im, a.im) (b.im,
// b.re).
void MultiplyPanels(const CompensatedComplex* a, const CompensatedComplex* b, int64_t k, CompensatedComplex* tile,
                    int64_t stride) {
  for (int row = 0; row < kPanel; ++row) {
    TwofoldSum<Pair> sums[kPanel];
    for (int64_t i = 0; i < k; ++i) {
      const std::complex<double> left = a[i * kPanel + row].value;
      const Halves<Pair> real(Pair{left.real(), left.real()}), imag(Pair{-left.imag(), left.imag()});
      for (int c = 0; c < kPanel; ++c) {
        const std::complex<double> right = b[i * kPanel + c].value;
        AddProduct(sums[c], real, Halves<Pair>(Pair{right.real(), right.imag()}));
        AddProduct(sums[c], imag, Halves<Pair>(Pair{right.imag(), right.real()}));
      }
    }
    for (int c = 0; c < kPanel; ++c) {
      tile[row * stride + c].value = {Rounded(sums[c].sum[0], sums[c].error[0]),
                                      Rounded(sums[c].sum[1], sums[c].error[1])};
    }
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

void StoreSums(ElementType type, const Compensated* sums, int64_t n, std::byte* target) {
  StoreElements(type, sums, n, target);
}
void StoreSums(ElementType type, const CompensatedComplex* sums, int64_t n, std::byte* target) {
  StoreElements(type, sums, n, target);
}

}  // namespace VXLA_NAMESPACE
