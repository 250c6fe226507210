// The matrix product under dot and convolution: packed panels of four rows and four columns, accumulators wider than
// the result (f32 and narrower in double, f64 and c128 compensated, integers modulo 2^64), one summation order whatever
// the threads.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "backend/cpu/reference/arithmetic/block.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE {

inline constexpr int64_t kPanel = 4;  // rows of A, columns of B

// Elements that are packed as they are and whose products are summed with compensation
// (backend/cpu/reference/arithmetic/twofold.h).
struct Compensated {
  double value;
};
struct CompensatedComplex {
  std::complex<double> value;
};

// What an element of a panel is to LoadAs.
template <typename T>
struct PackedType {
  using Value = T;
};
template <>
struct PackedType<Compensated> {
  using Value = double;
};
template <>
struct PackedType<CompensatedComplex> {
  using Value = std::complex<double>;
};
template <typename T>
void LoadPacked(const Literal& literal, int64_t at, int64_t n, T* out) {
  using Value = typename PackedType<T>::Value;
  static_assert(sizeof(T) == sizeof(Value));
  LoadAs<Value>(literal, at, n, reinterpret_cast<Value*>(out));
}

// What products of these types are summed in.
enum class Accumulator : uint8_t { kUint64, kDouble, kCompensated, kComplex, kCompensatedComplex };
// `plain`: f64 as narrower types are summed, without compensation.
Accumulator AccumulatorFor(ElementType lhs, ElementType rhs, ElementType result, bool plain = false);

// Calls f with a value of the packed elements' C++ type.
template <typename F>
void VisitAccumulator(Accumulator accumulator, F&& f) {
  switch (accumulator) {
    case Accumulator::kUint64:
      return f(uint64_t{});
    case Accumulator::kDouble:
      return f(double{});
    case Accumulator::kCompensated:
      return f(Compensated{});
    case Accumulator::kComplex:
      return f(std::complex<double>{});
    case Accumulator::kCompensatedComplex:
      return f(CompensatedComplex{});
  }
}

inline int64_t PanelCount(int64_t size) { return CeilDivide(size, kPanel); }

// One row (of A, or column of B) of k values into its place of a panel.
template <typename T>
void PackRow(const T* row, int64_t k, int64_t lane, T* panel) {
  for (int64_t i = 0; i < k; ++i) panel[i * kPanel + lane] = row[i];
}

template <typename T>
inline void MultiplyAdd(T& sum, T a, T b) {
  sum += a * b;
}
// The plain complex product, without the recovery of infinities that operator* does.
template <typename T>
inline void MultiplyAdd(std::complex<T>& sum, std::complex<T> a, std::complex<T> b) {
  sum += std::complex<T>(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

// tile (4 x 4, rows `stride` apart) = panel of A times panel of B.
template <typename T>
void MultiplyPanels(const T* a, const T* b, int64_t k, T* tile, int64_t stride) {
  T sum[kPanel][kPanel] = {};
  for (int64_t i = 0; i < k; ++i, a += kPanel, b += kPanel) {
    for (int r = 0; r < kPanel; ++r) {
      for (int c = 0; c < kPanel; ++c) MultiplyAdd(sum[r][c], a[r], b[c]);
    }
  }
  for (int r = 0; r < kPanel; ++r) std::copy_n(sum[r], kPanel, tile + r * stride);
}
void MultiplyPanels(const double* a, const double* b, int64_t k, double* tile, int64_t stride);
void MultiplyPanels(const Compensated* a, const Compensated* b, int64_t k, Compensated* tile, int64_t stride);
void MultiplyPanels(const CompensatedComplex* a, const CompensatedComplex* b, int64_t k, CompensatedComplex* tile,
                    int64_t stride);

// n sums rounded to the type, n elements stored.
void StoreSums(ElementType type, const uint64_t* sums, int64_t n, std::byte* target);
void StoreSums(ElementType type, const double* sums, int64_t n, std::byte* target);
void StoreSums(ElementType type, const Compensated* sums, int64_t n, std::byte* target);
void StoreSums(ElementType type, const std::complex<double>* sums, int64_t n, std::byte* target);
void StoreSums(ElementType type, const CompensatedComplex* sums, int64_t n, std::byte* target);

// Rows of A in one block, so that a block of panels stays in the second-level cache.
template <typename T>
int64_t RowsPerBlock(int64_t k) {
  const int64_t rows = (int64_t{256} << 10) / (static_cast<int64_t>(sizeof(T)) * std::max<int64_t>(k, 1));
  return std::clamp<int64_t>(rows / kPanel * kPanel, 2 * kPanel, 16 * kPanel);
}

// C[rows, columns] = A B for packed panels of both; row r of C begins at element first + r * stride of the result.
template <typename T>
void MultiplyBlock(const T* a, int64_t rows, const T* b, int64_t columns, int64_t k, Literal& result, int64_t first,
                   int64_t stride) {
  const ElementType type = result.shape().element_type();
  constexpr int64_t kColumns = 128;
  std::vector<T> tile(static_cast<size_t>(PanelCount(rows) * kPanel * kColumns));
  for (int64_t c0 = 0; c0 < columns; c0 += kColumns) {
    const int64_t width = std::min(kColumns, columns - c0);
    for (int64_t c = 0; c < width; c += kPanel) {
      for (int64_t r = 0; r < rows; r += kPanel) {
        MultiplyPanels(a + r * k, b + (c0 + c) * k, k, tile.data() + r * kColumns + c, kColumns);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      StoreSums(type, tile.data() + r * kColumns, width, ElementsAt(result, first + r * stride + c0, width));
    }
  }
}

}  // namespace VXLA_NAMESPACE
