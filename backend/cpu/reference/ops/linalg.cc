// Cholesky and triangular-solve, in accumulators wider than the type. The triangle that the attributes do not name is
// never read; Cholesky writes zeros there.
#include <algorithm>
#include <cmath>

#include "backend/cpu/reference/arithmetic/dense_matrix.h"
#include "backend/cpu/reference/arithmetic/gemm.h"
#include "backend/cpu/reference/arithmetic/twofold.h"
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

using dense::Conj;
using dense::Re;

// A number minus products of two, for each of the accumulators.
template <typename T>
class Remainder {
 public:
  explicit Remainder(T start) : rest_(start) {}
  void Subtract(T a, T b) { MultiplyAdd(rest_, -a, b); }
  T Value() const { return rest_; }

 private:
  T rest_;
};
template <>
class Remainder<Compensated> {
 public:
  explicit Remainder(double start) : rest_{start, 0} {}
  void Subtract(double a, double b) { AddProduct(rest_, Halves<double>(-a), Halves<double>(b)); }
  double Value() const { return Rounded(rest_); }

 private:
  TwofoldSum<double> rest_;
};
template <>
class Remainder<CompensatedComplex> {
 public:
  explicit Remainder(ComplexDouble start) : real_(start.real()), imag_(start.imag()) {}
  void Subtract(ComplexDouble a, ComplexDouble b) {
    real_.Subtract(a.real(), b.real());
    real_.Subtract(-a.imag(), b.imag());
    imag_.Subtract(a.real(), b.imag());
    imag_.Subtract(a.imag(), b.real());
  }
  ComplexDouble Value() const { return {real_.Value(), imag_.Value()}; }

 private:
  Remainder<Compensated> real_, imag_;
};

// A = L L^H in place, row by row; at(i, j) for i >= j names an element of L. The root of a number that is not positive
// is NaN, and spreads.
template <typename T, typename At>
void CholeskyOf(int64_t n, At at) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      Remainder<T> rest(at(i, j));
      for (int64_t k = 0; k < j; ++k) rest.Subtract(at(i, k), Conj(at(j, k)));
      if (i == j) {
        at(i, i) = std::sqrt(Re(rest.Value()));
      } else {
        at(i, j) = rest.Value() / Re(at(j, j));
      }
    }
  }
}

template <typename T>
Literal Cholesky(const EvalContext& context, const Literal& operand, bool lower) {
  const Shape& shape = operand.shape();
  const ElementType type = shape.element_type();
  const int64_t n = shape.dimension(shape.rank() - 1);
  Literal result(shape);
  const int64_t batch = n == 0 ? 0 : operand.element_count() / (n * n);
  using V = typename PackedType<T>::Value;
  context.For(batch, 1, [&](int64_t begin, int64_t end) {
    std::vector<V> a(static_cast<size_t>(n * n));
    for (int64_t b = begin; b < end; ++b) {
      LoadAs<V>(operand, b * n * n, n * n, a.data());
      if (lower) {
        CholeskyOf<T>(n, [&](int64_t i, int64_t j) -> V& { return a[static_cast<size_t>(i * n + j)]; });
      } else {
        // U = L^H of the conjugate problem: with rows and columns exchanged the upper triangle is conj(A)'s lower one.
        CholeskyOf<T>(n, [&](int64_t i, int64_t j) -> V& { return a[static_cast<size_t>(j * n + i)]; });
      }
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          if (lower ? j > i : j < i) a[static_cast<size_t>(i * n + j)] = V{};
        }
      }
      StoreSums(type, a.data(), n * n, ElementsAt(result, b * n * n, n * n));
    }
  });
  return result;
}

// The matrix of a triangular solve: element (i, j) of op(A), or of its transpose for solves from the right.
template <typename T>
struct TriangularMatrix {
  using V = typename PackedType<T>::Value;
  const V* a;
  int64_t n;
  bool transposed, conjugated, lower, unit_diagonal;

  V At(int64_t i, int64_t j) const {
    const V value = transposed ? a[j * n + i] : a[i * n + j];
    return conjugated ? Conj(value) : value;
  }
};

// Solves M x = b for one right-hand side in place.
template <typename T>
void SolveColumn(const TriangularMatrix<T>& m, typename PackedType<T>::Value* x, int64_t stride) {
  for (int64_t step = 0; step < m.n; ++step) {
    const int64_t i = m.lower ? step : m.n - 1 - step;
    const int64_t first = m.lower ? 0 : i + 1, last = m.lower ? i : m.n;
    Remainder<T> rest(x[i * stride]);
    for (int64_t k = first; k < last; ++k) rest.Subtract(m.At(i, k), x[k * stride]);
    x[i * stride] = rest.Value();
    if (!m.unit_diagonal) x[i * stride] /= m.At(i, i);
  }
}

template <typename T>
Literal TriangularSolve(const EvalContext& context, const TriangularSolveAttributes& attributes, const Literal& a,
                        const Literal& b) {
  using V = typename PackedType<T>::Value;
  const Shape& shape = b.shape();
  const ElementType type = shape.element_type();
  const int64_t rows = shape.dimension(shape.rank() - 2), columns = shape.dimension(shape.rank() - 1);
  const int64_t n = attributes.left_side ? rows : columns, solves = attributes.left_side ? columns : rows;
  Literal result(shape);
  const bool a_transposed = attributes.transpose_a != TransposeKind::kNoTranspose;
  const bool lower_after = attributes.lower != a_transposed;
  const int64_t batch = b.element_count() == 0 ? 0 : b.element_count() / (rows * columns);
  for (int64_t i = 0; i < batch; ++i) {
    std::vector<V> matrix(static_cast<size_t>(n * n)), x(static_cast<size_t>(rows * columns));
    LoadAs<V>(a, i * n * n, n * n, matrix.data());
    LoadAs<V>(b, i * rows * columns, rows * columns, x.data());
    // x op(A) = b from the right is op(A)^T x^T = b^T.
    const TriangularMatrix<T> m{matrix.data(),
                                n,
                                a_transposed == attributes.left_side,
                                attributes.transpose_a == TransposeKind::kAdjoint,
                                lower_after == attributes.left_side,
                                attributes.unit_diagonal};
    const int64_t stride = attributes.left_side ? columns : 1, step = attributes.left_side ? 1 : columns;
    context.For(solves, std::max<int64_t>(1, 1024 / (n + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) SolveColumn(m, x.data() + s * step, stride);
    });
    StoreSums(type, x.data(), rows * columns, ElementsAt(result, i * rows * columns, rows * columns));
  }
  return result;
}

// Calls f with the accumulator type; false for types without division.
template <typename F>
bool VisitField(ElementType type, F&& f) {
  if (!IsFloating(type) && !IsComplex(type)) return false;
  VisitAccumulator(AccumulatorFor(type, type, type), [&]<typename T>(T zero) {
    if constexpr (!std::is_same_v<T, uint64_t>) f(zero);
  });
  return true;
}

}  // namespace

EvalResult EvalCholesky(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result;
  const bool lower = instruction.attributes<CholeskyAttributes>().lower;
  const bool defined = VisitField(operands[0].shape().element_type(),
                                  [&]<typename T>(T) { result = Cholesky<T>(context, operands[0].literal(), lower); });
  if (!defined) return Unsupported("cholesky: not defined for {}", operands[0].shape().ToString());
  return std::move(result).Reshaped(instruction.shape());
}

EvalResult EvalTriangularSolve(EvalContext& context, const Instruction& instruction, std::span<Value> operands) {
  Literal result;
  const auto& attributes = instruction.attributes<TriangularSolveAttributes>();
  const bool defined = VisitField(operands[0].shape().element_type(), [&]<typename T>(T) {
    result = TriangularSolve<T>(context, attributes, operands[0].literal(), operands[1].literal());
  });
  if (!defined) return Unsupported("triangular-solve: not defined for {}", operands[0].shape().ToString());
  return std::move(result).Reshaped(instruction.shape());
}

}  // namespace VXLA_NAMESPACE
