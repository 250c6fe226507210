// FFT of any length over up to three innermost axes: powers of two by radix 2, other lengths by Bluestein's chirp
// transform. c64 runs in double, c128 in two doubles: results are the exact ones rounded once, but for a few in a
// million.
#include <algorithm>
#include <cmath>

#include "backend/cpu/reference/arithmetic/block.h"
#include "backend/cpu/reference/arithmetic/double_double.h"
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

// A complex number of doubles or double-doubles.
template <typename T>
struct C {
  T re{}, im{};
};
template <typename T>
C<T> operator+(C<T> a, C<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename T>
C<T> operator-(C<T> a, C<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename T>
C<T> operator*(C<T> a, C<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <typename T>
C<T> Conjugate(C<T> a) {
  return {a.re, -a.im};
}

double TimesPowerOfTwo(double x, int exponent) { return std::ldexp(x, exponent); }

// exp(-2 pi i k / n), rounded from twice double.
template <typename T>
C<T> Root(int64_t k, int64_t n) {
  const CosineSine t = OfTurn(k, n);
  return {static_cast<T>(t.cosine), static_cast<T>(-t.sine)};
}

// The forward transform of one length, with its tables.
template <typename T>
class Transform {
 public:
  explicit Transform(int64_t n) : n_(n) {
    if (n <= 1) return;
    if ((n & (n - 1)) == 0) {
      MakeRoots(n);
    } else if (n > kDirect) {
      MakeChirp();
    } else {
      for (int64_t k = 0; k < n; ++k) roots_.push_back(Root<T>(k, n));
    }
  }

  void Forward(std::vector<C<T>>& x) const {
    if (n_ <= 1) return;
    const int exponent = ExtremeExponent(x);
    Scale(x, -exponent);
    ForwardInRange(x);
    Scale(x, exponent);
  }
  // With the factor 1/n.
  void Backward(std::vector<C<T>>& x) const {
    for (C<T>& value : x) value = Conjugate(value);
    Forward(x);
    const T n = static_cast<double>(n_);
    for (C<T>& value : x) value = {value.re / n, -value.im / n};
  }

 private:
  static constexpr int64_t kDirect = 32;

  // Values so large or small that sums or products on the way would overflow, or errors vanish, are brought near 1 by
  // this power of two.
  static int ExtremeExponent(const std::vector<C<T>>& x) {
    double largest = 0;
    for (const C<T>& value : x) {
      largest = std::max({largest, std::fabs(static_cast<double>(value.re)), std::fabs(static_cast<double>(value.im))});
    }
    const bool extreme = std::isfinite(largest) && largest > 0 && (largest > 0x1p500 || largest < 0x1p-500);
    return extreme ? std::ilogb(largest) : 0;
  }
  static void Scale(std::vector<C<T>>& x, int exponent) {
    if (exponent == 0) return;
    for (C<T>& value : x) value = {TimesPowerOfTwo(value.re, exponent), TimesPowerOfTwo(value.im, exponent)};
  }

  void ForwardInRange(std::vector<C<T>>& x) const {
    if (!chirp_.empty()) {
      Bluestein(x);
    } else if ((n_ & (n_ - 1)) == 0) {
      RadixTwo(x);
    } else {
      Direct(x);
    }
  }

  void MakeRoots(int64_t size) {
    for (int64_t k = 0; k < size / 2; ++k) roots_.push_back(Root<T>(k, size));
  }

  void MakeChirp() {
    padded_ = 1;
    while (padded_ < 2 * n_ - 1) padded_ *= 2;
    MakeRoots(padded_);
    // exp(-i pi k^2 / n): k^2 modulo 2n, or large k would lose the angle.
    for (int64_t k = 0; k < n_; ++k)
      chirp_.push_back(Root<T>(static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n_)), 2 * n_));
    kernel_.assign(static_cast<size_t>(padded_), C<T>{});
    for (int64_t k = 0; k < n_; ++k) {
      kernel_[static_cast<size_t>(k)] = Conjugate(chirp_[static_cast<size_t>(k)]);
      if (k > 0) kernel_[static_cast<size_t>(padded_ - k)] = Conjugate(chirp_[static_cast<size_t>(k)]);
    }
    RadixTwo(kernel_);
  }

  void Direct(std::vector<C<T>>& x) const {
    std::vector<C<T>> out(x.size());
    for (int64_t k = 0; k < n_; ++k) {
      C<T> sum{};
      for (int64_t j = 0; j < n_; ++j) sum = sum + x[static_cast<size_t>(j)] * roots_[static_cast<size_t>(j * k % n_)];
      out[static_cast<size_t>(k)] = sum;
    }
    x.swap(out);
  }

  // In place; roots_ belong to the length of x.
  void RadixTwo(std::vector<C<T>>& x) const {
    const size_t n = x.size();
    for (size_t i = 1, j = 0; i < n; ++i) {
      size_t bit = n >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (size_t length = 2; length <= n; length *= 2) {
      const size_t step = n / length;
      for (size_t begin = 0; begin < n; begin += length) {
        for (size_t k = 0; k < length / 2; ++k) {
          const C<T> a = x[begin + k], b = x[begin + k + length / 2] * roots_[k * step];
          x[begin + k] = a + b;
          x[begin + k + length / 2] = a - b;
        }
      }
    }
  }

  void Bluestein(std::vector<C<T>>& x) const {
    std::vector<C<T>> work(static_cast<size_t>(padded_));
    for (size_t k = 0; k < x.size(); ++k) work[k] = x[k] * chirp_[k];
    RadixTwo(work);
    // Convolution by products; the inverse transform by conjugates.
    for (size_t k = 0; k < work.size(); ++k) work[k] = Conjugate(work[k] * kernel_[k]);
    RadixTwo(work);
    const T scale = 1 / static_cast<double>(padded_);  // a power of two
    for (size_t k = 0; k < x.size(); ++k) x[k] = Conjugate(C<T>{work[k].re * scale, work[k].im * scale}) * chirp_[k];
  }

  int64_t n_, padded_ = 0;
  std::vector<C<T>> roots_, chirp_, kernel_;
};

// An array of complex numbers that axes are transformed in, one after the other.
template <typename T>
struct Grid {
  std::vector<int64_t> sizes;
  std::vector<C<T>> values;
};

// Replaces axis by the transform of its lines: `lines` maps a line of in_size values to one of out_size.
template <typename T, typename F>
Grid<T> TransformAxis(const EvalContext& context, const Grid<T>& grid, size_t axis, int64_t out_size,
                      F&& line_function) {
  Grid<T> out{grid.sizes, {}};
  out.sizes[axis] = out_size;
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < grid.sizes.size(); ++d) {
    if (d < axis) outer *= grid.sizes[d];
    if (d > axis) inner *= grid.sizes[d];
  }
  const int64_t in_size = grid.sizes[axis];
  out.values.resize(static_cast<size_t>(outer * inner * out_size));
  context.For(
      outer * inner, std::max<int64_t>(1, 4096 / std::max<int64_t>(in_size, 1)), [&](int64_t begin, int64_t end) {
        std::vector<C<T>> line;
        for (int64_t l = begin; l < end; ++l) {
          const int64_t from = l / inner * in_size * inner + l % inner, to = l / inner * out_size * inner + l % inner;
          line.resize(static_cast<size_t>(in_size));
          for (int64_t i = 0; i < in_size; ++i)
            line[static_cast<size_t>(i)] = grid.values[static_cast<size_t>(from + i * inner)];
          line_function(line);
          for (int64_t i = 0; i < out_size; ++i)
            out.values[static_cast<size_t>(to + i * inner)] = line[static_cast<size_t>(i)];
        }
      });
  return out;
}

template <typename T>
Literal Run(const EvalContext& context, const FftAttributes& a, const Literal& operand, const Shape& shape) {
  Grid<T> grid{{operand.shape().dimensions().begin(), operand.shape().dimensions().end()}, {}};
  grid.values.reserve(static_cast<size_t>(operand.element_count()));
  std::vector<ComplexDouble> elements(static_cast<size_t>(operand.element_count()));
  LoadAs<ComplexDouble>(operand, 0, operand.element_count(), elements.data());
  for (const ComplexDouble x : elements) grid.values.push_back({x.real(), x.imag()});
  const size_t axes = a.fft_length.size(), first = grid.sizes.size() - axes;
  const bool inverse = a.fft_type == FftType::kIfft || a.fft_type == FftType::kIrfft;
  // The real axis (the last) goes first in the forward direction and last in the inverse one.
  for (size_t i = 0; i < axes; ++i) {
    const size_t axis = inverse ? first + i : first + axes - 1 - i;
    const int64_t n = a.fft_length[axis - first];
    const bool last = axis + 1 == grid.sizes.size();
    const Transform<T> transform(n);
    if (last && a.fft_type == FftType::kIrfft) {
      grid = TransformAxis(context, grid, axis, n, [&](std::vector<C<T>>& line) {
        // The half spectrum is completed by symmetry; the imaginary parts at 0 and at n/2 count for nothing.
        const int64_t half = n / 2;
        line.resize(static_cast<size_t>(n));
        line[0].im = 0;
        if (n % 2 == 0) line[static_cast<size_t>(half)].im = 0;
        for (int64_t k = half + 1; k < n; ++k)
          line[static_cast<size_t>(k)] = Conjugate(line[static_cast<size_t>(n - k)]);
        transform.Backward(line);
      });
      continue;
    }
    const int64_t out_size = last && a.fft_type == FftType::kRfft ? n / 2 + 1 : n;
    grid = TransformAxis(context, grid, axis, out_size, [&](std::vector<C<T>>& line) {
      inverse ? transform.Backward(line) : transform.Forward(line);
    });
  }
  Literal result = Literal::Uninitialized(shape);
  const int64_t count = result.element_count();
  for (int64_t at = 0; at < count; at += kBlockSize) {
    Block block;
    const int64_t n = std::min<int64_t>(kBlockSize, count - at);
    for (int64_t i = 0; i < n; ++i) {
      const C<T>& value = grid.values[static_cast<size_t>(at + i)];
      if (IsComplex(shape.element_type())) {
        block.as<ComplexDouble>()[i] = {static_cast<double>(value.re), static_cast<double>(value.im)};
      } else {
        block.as<double>()[i] = static_cast<double>(value.re);
      }
    }
    StoreBlock(block.bytes, n, result, at);
  }
  return result;
}

}  // namespace

EvalResult EvalFft(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  const auto& attributes = instruction.attributes<FftAttributes>();
  const Literal& operand = operands[0].literal();
  if (instruction.shape().ElementCount() == 0) return Literal(instruction.shape());
  if (operand.element_count() == 0) {
    return InvalidArgument("fft: {} has no elements to make {} of", operand.shape().ToString(),
                           instruction.shape().ToString());
  }
  const bool wide = RealPart(operand.shape().element_type()) == ElementType::kF64;
  if (wide) return Run<DoubleDouble>(context, attributes, operand, instruction.shape());
  return Run<double>(context, attributes, operand, instruction.shape());
}

}  // namespace VXLA_NAMESPACE
