// Dense matrices and the textbook algorithms on them, for any type of numbers: LU, Householder reflectors, Jacobi's
// methods. Independent of what devices run.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace VXLA_NAMESPACE::dense {

template <typename T>
struct RealOfType {
  using Type = T;
};
template <typename T>
struct RealOfType<std::complex<T>> {
  using Type = T;
};
template <typename T>
using RealOf = typename RealOfType<T>::Type;
template <typename T>
constexpr bool kComplex = !std::is_same_v<T, RealOf<T>>;

template <typename T>
T Conj(T x) {
  if constexpr (kComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}
template <typename T>
RealOf<T> Re(T x) {
  return std::real(x);
}
template <typename T>
RealOf<T> Square(T x) {
  return std::norm(x);
}
template <typename T>
bool IsFiniteNumber(T x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

// Row by row.
template <typename T>
struct Matrix {
  Matrix() = default;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), elements(static_cast<size_t>(r * c)) {}
  static Matrix Identity(int64_t r, int64_t c) {
    Matrix m(r, c);
    for (int64_t i = 0; i < std::min(r, c); ++i) m(i, i) = T(1);
    return m;
  }
  T& operator()(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * columns + j)]; }
  const T& operator()(int64_t i, int64_t j) const { return elements[static_cast<size_t>(i * columns + j)]; }
  Matrix Adjoint() const {
    Matrix m(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) m(j, i) = Conj((*this)(i, j));
    }
    return m;
  }
  bool IsFinite() const {
    return std::ranges::all_of(elements, [](T x) { return IsFiniteNumber(x); });
  }

  int64_t rows = 0, columns = 0;
  std::vector<T> elements;
};

template <typename T>
struct Lu {
  std::vector<int64_t> pivots;       // row that step i exchanges with row i
  std::vector<int64_t> permutation;  // row of A that is now row i
  int64_t info = 0;                  // the first pivot that is zero, from 1
};

// P A = L U in place: the pivot is the first of the largest |re| + |im|.
template <typename T>
Lu<T> FactorLu(Matrix<T>& a) {
  Lu<T> result;
  result.permutation.resize(static_cast<size_t>(a.rows));
  std::iota(result.permutation.begin(), result.permutation.end(), 0);
  const auto size = [](T x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); };
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.rows; ++i) {
      const auto here = size(a(i, k)), best = size(a(pivot, k));
      if (here > best || (std::isnan(best) && here > 0)) pivot = i;
    }
    result.pivots.push_back(pivot);
    for (int64_t j = 0; pivot != k && j < a.columns; ++j) std::swap(a(k, j), a(pivot, j));
    std::swap(result.permutation[static_cast<size_t>(k)], result.permutation[static_cast<size_t>(pivot)]);
    if (a(k, k) == T(0)) {
      if (result.info == 0) result.info = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < a.rows; ++i) {
      a(i, k) /= a(k, k);
      for (int64_t j = k + 1; j < a.columns; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return result;
}

// H = 1 - tau v v^H with H^H (alpha, x) = (beta, 0), v = (1, x / (alpha - beta)) and beta real: LAPACK's larfg.
template <typename T>
struct Reflector {
  T tau = T(0), beta = T(0);
  std::vector<T> v;  // after the 1
};
template <typename T>
Reflector<T> ReflectorOf(T alpha, std::vector<T> x) {
  RealOf<T> sum = 0;
  for (const T& e : x) sum += Square(e);
  if (sum == 0 && std::imag(alpha) == 0) return {T(0), alpha, std::move(x)};
  const RealOf<T> norm = std::sqrt(Square(alpha) + sum), beta = Re(alpha) < 0 ? norm : -norm;
  for (T& e : x) e /= alpha - T(beta);
  return {(T(beta) - alpha) / T(beta), T(beta), std::move(x)};
}

// Rows first, first + 1 ... of `a` in columns from..to: (1 - tau v v^H) times them.
template <typename T>
void ApplyLeft(Matrix<T>& a, T tau, const std::vector<T>& v, int64_t first, int64_t from, int64_t to) {
  // Row by row, as the elements lie.
  std::vector<T> sums;
  for (int64_t j = from; j < to; ++j) sums.push_back(a(first, j));
  for (size_t i = 0; i < v.size(); ++i) {
    for (int64_t j = from; j < to; ++j)
      sums[static_cast<size_t>(j - from)] += Conj(v[i]) * a(first + 1 + static_cast<int64_t>(i), j);
  }
  for (T& sum : sums) sum *= tau;
  for (int64_t j = from; j < to; ++j) a(first, j) -= sums[static_cast<size_t>(j - from)];
  for (size_t i = 0; i < v.size(); ++i) {
    for (int64_t j = from; j < to; ++j)
      a(first + 1 + static_cast<int64_t>(i), j) -= v[i] * sums[static_cast<size_t>(j - from)];
  }
}
// Columns first, first + 1 ... in rows from..to, times (1 - tau v v^H).
template <typename T>
void ApplyRight(Matrix<T>& a, T tau, const std::vector<T>& v, int64_t first, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i) {
    T sum = a(i, first);
    for (size_t j = 0; j < v.size(); ++j) sum += a(i, first + 1 + static_cast<int64_t>(j)) * v[j];
    sum *= tau;
    a(i, first) -= sum;
    for (size_t j = 0; j < v.size(); ++j) a(i, first + 1 + static_cast<int64_t>(j)) -= sum * Conj(v[j]);
  }
}

// The reflector of a(row.., column) down to row `last`, stored over it.
template <typename T>
Reflector<T> ReflectColumn(Matrix<T>& a, int64_t row, int64_t column, int64_t last) {
  std::vector<T> x;
  for (int64_t i = row + 1; i < last; ++i) x.push_back(a(i, column));
  Reflector<T> reflector = ReflectorOf(a(row, column), std::move(x));
  a(row, column) = reflector.beta;
  for (int64_t i = row + 1; i < last; ++i) a(i, column) = reflector.v[static_cast<size_t>(i - row - 1)];
  return reflector;
}

template <typename T>
void QrStep(Matrix<T>& a, int64_t k, std::vector<T>& taus) {
  const Reflector<T> reflector = ReflectColumn(a, k, k, a.rows);
  ApplyLeft(a, Conj(reflector.tau), reflector.v, k, k + 1, a.columns);
  taus.push_back(reflector.tau);
}

// A = Q R in place: R, and below it the reflectors whose taus are returned.
template <typename T>
std::vector<T> FactorQr(Matrix<T>& a) {
  std::vector<T> taus;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) QrStep(a, k, taus);
  return taus;
}

// The same with A's columns in an order in which R's diagonal does not grow (LAPACK's geqp3): of the remaining columns
// the longest comes next. columns[j]: not 0 if column j comes first; afterwards the column of A, from 1, that is j.
template <typename T>
std::vector<T> FactorPivotedQr(Matrix<T>& a, std::vector<int64_t>& columns) {
  int64_t fixed = 0;
  std::vector<int64_t> order(columns.size());
  std::iota(order.begin(), order.end(), 1);
  const auto exchange = [&](int64_t i, int64_t j) {
    for (int64_t r = 0; i != j && r < a.rows; ++r) std::swap(a(r, i), a(r, j));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  };
  for (int64_t j = 0; j < a.columns; ++j) {
    if (columns[static_cast<size_t>(j)] != 0) exchange(fixed++, j);
  }
  std::vector<T> taus;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    int64_t longest = k;
    RealOf<T> best = -1;
    for (int64_t j = k; k >= fixed && j < a.columns; ++j) {
      RealOf<T> sum = 0;
      for (int64_t i = k; i < a.rows; ++i) sum += Square(a(i, j));
      // Equal lengths that were rounded apart are still equal.
      if (sum > best * (1 + 16 * std::numeric_limits<RealOf<T>>::epsilon())) longest = j, best = sum;
    }
    exchange(k, longest);
    QrStep(a, k, taus);
  }
  columns = order;
  return taus;
}

// The vector below the 1 of reflector k, which stands below the diagonal of `a`.
template <typename T>
std::vector<T> ReflectorBelow(const Matrix<T>& a, int64_t k) {
  std::vector<T> v;
  for (int64_t i = k + 1; i < a.rows; ++i) v.push_back(a(i, k));
  return v;
}

// The first columns of Q = H1 H2 ... of reflectors below the diagonal of `a`.
template <typename T>
Matrix<T> HouseholderProduct(const Matrix<T>& a, const std::vector<T>& taus) {
  Matrix<T> q = Matrix<T>::Identity(a.rows, a.columns);
  for (auto k = static_cast<int64_t>(taus.size()) - 1; k >= 0; --k)
    ApplyLeft(q, taus[static_cast<size_t>(k)], ReflectorBelow(a, k), k, 0, q.columns);
  return q;
}

// c = Q c, Q^H c, c Q or c Q^H, one reflector after the other.
template <typename T>
void Reflect(const Matrix<T>& a, const std::vector<T>& taus, Matrix<T>& c, bool left, bool adjoint) {
  const auto count = static_cast<int64_t>(taus.size());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t k = left == adjoint ? n : count - 1 - n;
    const T tau = adjoint ? Conj(taus[static_cast<size_t>(k)]) : taus[static_cast<size_t>(k)];
    if (left) {
      ApplyLeft(c, tau, ReflectorBelow(a, k), k, 0, c.columns);
    } else {
      ApplyRight(c, tau, ReflectorBelow(a, k), k, 0, c.rows);
    }
  }
}

// A = Q H Q^H in place for rows low to high, from 0: H, and below its second diagonal the reflectors.
template <typename T>
std::vector<T> ReduceToHessenberg(Matrix<T>& a, int64_t low, int64_t high) {
  std::vector<T> taus(static_cast<size_t>(std::max<int64_t>(a.rows - 1, 0)), T(0));
  for (int64_t k = low; k + 1 < high; ++k) {
    const Reflector<T> reflector = ReflectColumn(a, k + 1, k, high);
    taus[static_cast<size_t>(k)] = reflector.tau;
    ApplyRight(a, reflector.tau, reflector.v, k + 1, 0, high);
    ApplyLeft(a, Conj(reflector.tau), reflector.v, k + 1, k + 1, a.columns);
  }
  return taus;
}

// The Hermitian matrix of which one triangle is stored.
template <typename T>
Matrix<T> Hermitian(const Matrix<T>& a, bool lower) {
  Matrix<T> whole = a;
  for (int64_t i = 0; i < a.rows; ++i) {
    whole(i, i) = T(Re(a(i, i)));
    for (int64_t j = 0; j < i; ++j) {
      if (lower) {
        whole(j, i) = Conj(a(i, j));
      } else {
        whole(i, j) = Conj(a(j, i));
      }
    }
  }
  return whole;
}

// What makes eigenvectors comparable: the first element of at least 0.3 of the largest magnitude becomes real and
// positive. The factor that a column is to be multiplied by.
template <typename T>
T PhaseOf(const Matrix<T>& vectors, int64_t column) {
  RealOf<T> largest = 0;
  for (int64_t i = 0; i < vectors.rows; ++i) largest = std::max(largest, std::abs(vectors(i, column)));
  for (int64_t i = 0; i < vectors.rows; ++i) {
    const T x = vectors(i, column);
    if (largest > 0 && std::abs(x) >= RealOf<T>(0.3) * largest) return Conj(x) / T(std::abs(x));
  }
  return T(1);
}

// A's eigenvalues ascending and its vectors, by Jacobi's rotations, row after row.
template <typename T>
struct Eigen {
  std::vector<RealOf<T>> values;
  Matrix<T> vectors;
};
template <typename T>
void RotateColumns(Matrix<T>& a, int64_t p, int64_t q, RealOf<T> c, RealOf<T> s, T phase) {
  for (int64_t i = 0; i < a.rows; ++i) {
    const T x = a(i, p), y = a(i, q) * Conj(phase);
    a(i, p) = T(c) * x - T(s) * y;
    a(i, q) = (T(s) * x + T(c) * y) * phase;
  }
}
template <typename R>
R TangentOf(R difference, R twice) {
  const R cotangent = difference / twice;
  return std::copysign(R(1), cotangent) / (std::abs(cotangent) + std::sqrt(1 + cotangent * cotangent));
}
template <typename T>
Eigen<T> EigenOfHermitian(Matrix<T> a) {
  using R = RealOf<T>;
  const int64_t n = a.rows;
  Matrix<T> v = Matrix<T>::Identity(n, n);
  for (int sweep = 0; sweep < 60; ++sweep) {
    R off = 0, all = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) (i == j ? all : off) += Square(a(i, j));
    }
    const R unit = std::numeric_limits<R>::epsilon() / 16;
    if (!(off > unit * unit * (all + off))) break;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const R size = std::abs(a(p, q));
        if (size == 0) continue;
        const R t = TangentOf(Re(a(q, q)) - Re(a(p, p)), 2 * size), c = 1 / std::sqrt(1 + t * t);
        const T phase = a(p, q) / T(size);
        RotateColumns(a, p, q, c, t * c, phase);
        RotateColumns(v, p, q, c, t * c, phase);
        // The rows follow as the columns' conjugates.
        for (int64_t j = 0; j < n; ++j) {
          const T x = a(p, j), y = a(q, j) * phase;
          a(p, j) = T(c) * x - T(t * c) * y;
          a(q, j) = (T(t * c) * x + T(c) * y) * Conj(phase);
        }
        a(p, q) = a(q, p) = T(0);
      }
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t i, int64_t j) { return Re(a(i, i)) < Re(a(j, j)); });
  Eigen<T> result{{}, Matrix<T>(n, n)};
  for (int64_t k = 0; k < n; ++k) {
    const int64_t from = order[static_cast<size_t>(k)];
    result.values.push_back(Re(a(from, from)));
    const T phase = PhaseOf(v, from);
    for (int64_t i = 0; i < n; ++i) result.vectors(i, k) = v(i, from) * phase;
  }
  return result;
}

// Orthonormal columns of which the first are those of `u` that are not zero: Householder's reflectors turn these into
// multiples of unit vectors, and the same unit vectors back into columns.
template <typename T>
Matrix<T> CompletedBasis(Matrix<T> u, int64_t count) {
  const std::vector<T> taus = FactorQr(u);
  Matrix<T> reflectors(u.rows, count);
  for (int64_t i = 0; i < u.rows; ++i) {
    for (int64_t j = 0; j < u.columns; ++j) reflectors(i, j) = u(i, j);
  }
  Matrix<T> q = HouseholderProduct(reflectors, taus);
  for (int64_t j = 0; j < u.columns; ++j) {
    for (int64_t i = 0; std::abs(u(j, j)) > RealOf<T>(0.5) && i < q.rows; ++i) q(i, j) *= u(j, j);
  }
  return q;
}

// A = U diag(values) V^H, values descending; U has `left` columns and V `right`.
template <typename T>
struct Svd {
  std::vector<RealOf<T>> values;
  Matrix<T> u, v;
};
// Hestenes' one-sided Jacobi method: columns are rotated until they are orthogonal.
template <typename T>
void Orthogonalize(Matrix<T>& w, Matrix<T>& v) {
  using R = RealOf<T>;
  for (int sweep = 0, rotated = 1; rotated != 0 && sweep < 60; ++sweep) {
    rotated = 0;
    for (int64_t p = 0; p < w.columns; ++p) {
      for (int64_t q = p + 1; q < w.columns; ++q) {
        R alpha = 0, beta = 0;
        T gamma(0);
        for (int64_t i = 0; i < w.rows; ++i) {
          alpha += Square(w(i, p)), beta += Square(w(i, q));
          gamma += Conj(w(i, p)) * w(i, q);
        }
        const R size = std::abs(gamma);
        if (!(size > 4 * std::numeric_limits<R>::epsilon() * std::sqrt(alpha) * std::sqrt(beta))) continue;
        ++rotated;
        const R t = TangentOf(beta - alpha, 2 * size), c = 1 / std::sqrt(1 + t * t);
        RotateColumns(w, p, q, c, t * c, gamma / T(size));
        RotateColumns(v, p, q, c, t * c, gamma / T(size));
      }
    }
  }
}
template <typename T>
Svd<T> SvdOf(const Matrix<T>& a, int64_t left, int64_t right) {
  if (a.rows < a.columns) {
    Svd<T> adjoint = SvdOf(a.Adjoint(), right, left);
    return {std::move(adjoint.values), std::move(adjoint.v), std::move(adjoint.u)};
  }
  using R = RealOf<T>;
  const int64_t n = a.columns;
  Matrix<T> w = a, rotations = Matrix<T>::Identity(n, n);
  Orthogonalize(w, rotations);
  std::vector<R> lengths;
  for (int64_t j = 0; j < n; ++j) {
    R sum = 0;
    for (int64_t i = 0; i < w.rows; ++i) sum += Square(w(i, j));
    lengths.push_back(std::sqrt(sum));
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](int64_t i, int64_t j) { return lengths[static_cast<size_t>(i)] > lengths[static_cast<size_t>(j)]; });
  Svd<T> result{{}, {}, Matrix<T>(n, right)};
  Matrix<T> directions(a.rows, n);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t from = order[static_cast<size_t>(k)];
    const R length = lengths[static_cast<size_t>(from)], longest = lengths[static_cast<size_t>(order[0])];
    const T phase = PhaseOf(rotations, from);
    for (int64_t i = 0; i < n && k < right; ++i) result.v(i, k) = rotations(i, from) * phase;
    result.values.push_back(length);
    // Shorter ones point nowhere: rounding of the longer ones' arithmetic.
    if (!(length > longest * static_cast<R>(n) * std::numeric_limits<R>::epsilon())) continue;
    for (int64_t i = 0; i < a.rows; ++i) directions(i, k) = w(i, from) * phase / T(length);
  }
  result.u = CompletedBasis(std::move(directions), left);
  return result;
}

// A tridiagonal system by elimination with the rows' exchanges (LAPACK's gtsv): the first three become the factor U,
// its second superdiagonal in `lower`. Returns the first pivot that is zero, from 1.
template <typename T>
int64_t SolveTridiagonal(std::vector<T>& lower, std::vector<T>& diagonal, std::vector<T>& upper, Matrix<T>& b) {
  const auto n = static_cast<int64_t>(diagonal.size());
  const auto size = [](T x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); };
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  for (int64_t k = 0; k + 1 < n; ++k) {
    T &l = lower[at(k)], &d = diagonal[at(k)], &u = upper[at(k)];
    if (l == T(0)) {
      if (d == T(0)) return k + 1;
      continue;
    }
    if (size(d) >= size(l)) {
      const T factor = l / d;
      diagonal[at(k + 1)] -= factor * u;
      for (int64_t j = 0; j < b.columns; ++j) b(k + 1, j) -= factor * b(k, j);
      l = T(0);
      continue;
    }
    const T factor = d / l;
    d = l;
    const T next = diagonal[at(k + 1)];
    diagonal[at(k + 1)] = u - factor * next;
    l = T(0);
    if (k + 2 < n) {
      l = upper[at(k + 1)];
      upper[at(k + 1)] = -factor * l;
    }
    u = next;
    for (int64_t j = 0; j < b.columns; ++j) {
      const T above = b(k, j);
      b(k, j) = b(k + 1, j);
      b(k + 1, j) = above - factor * b(k, j);
    }
  }
  if (n > 0 && diagonal[at(n - 1)] == T(0)) return n;
  for (int64_t j = 0; j < b.columns; ++j) {
    for (int64_t k = n - 1; k >= 0; --k) {
      if (k + 1 < n) b(k, j) -= upper[at(k)] * b(k + 1, j);
      if (k + 2 < n) b(k, j) -= lower[at(k)] * b(k + 2, j);
      b(k, j) /= diagonal[at(k)];
    }
  }
  return 0;
}

// A tridiagonal system whose pivots may be zero (jaxlib's tridiagonal_solve_perturbed, after LAPACK's lagtf and lagts):
// rows are chosen by pivots beside their rows' sums, and a pivot by which a quotient would overflow grows by `unit`
// times the largest element of U, or to the least that does not. The first of `lower` and the last of `upper` are
// unused.
template <typename T>
void SolvePerturbed(const std::vector<T>& lower, const std::vector<T>& diagonal, const std::vector<T>& upper,
                    Matrix<T>& b, double unit, double least) {
  using R = RealOf<T>;
  const auto n = static_cast<int64_t>(diagonal.size());
  if (n == 0) return;
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  std::vector<std::array<T, 3>> u(diagonal.size(), {T(0), T(0), T(0)});
  u[0] = {diagonal[0], n > 1 ? upper[0] : T(0), T(0)};
  R scale = std::abs(u[0][0]) + std::abs(u[0][1]), largest = std::max(std::abs(u[0][0]), std::abs(u[0][1]));
  for (int64_t k = 0; k + 1 < n; ++k) {
    std::array<T, 3>&row = u[at(k)], &next = u[at(k + 1)];
    const T l = lower[at(k + 1)], d = diagonal[at(k + 1)], right = k + 2 < n ? upper[at(k + 1)] : T(0);
    const R next_scale = std::abs(l) + std::abs(d) + std::abs(right);
    next = {d, right, T(0)};
    const bool stays = l == T(0) || (row[0] != T(0) && std::abs(l) / next_scale <= std::abs(row[0]) / scale);
    if (!stays) {
      const T factor = row[0] / l;
      next = {row[1] - factor * d, -factor * right, T(0)};
      row = {l, d, right};
      for (int64_t j = 0; j < b.columns; ++j) {
        const T above = b(k, j);
        b(k, j) = b(k + 1, j);
        b(k + 1, j) = above - factor * b(k, j);
      }
      scale = std::abs(next[0]) + std::abs(next[1]);
    } else {
      scale = next_scale;
      if (l != T(0)) {
        const T factor = l / row[0];
        next[0] -= factor * row[1];
        for (int64_t j = 0; j < b.columns; ++j) b(k + 1, j) -= factor * b(k, j);
      }
    }
    if (k + 2 < n) {
      for (const T& x : row) largest = std::max(largest, R(std::abs(x)));
    }
  }
  largest = std::max(largest, R(std::abs(u[at(n - 1)][0])));
  const R growth = std::max(largest * R(unit), R(least));
  for (int64_t k = n - 1; k >= 0; --k) {
    R size = 0;
    for (int64_t j = 0; j < b.columns; ++j) {
      if (k + 1 < n) b(k, j) -= u[at(k)][1] * b(k + 1, j);
      if (k + 2 < n) b(k, j) -= u[at(k)][2] * b(k + 2, j);
      size = std::max(size, R(std::abs(b(k, j))));
    }
    T pivot = u[at(k)][0];
    const R limit = std::min(size * R(least), R(1));
    const R more = std::max(growth, limit);
    if (pivot == T(0) || std::abs(pivot) < limit) pivot += std::real(pivot) < 0 ? -more : more;
    for (int64_t j = 0; j < b.columns; ++j) b(k, j) /= pivot;
  }
}

// A = Q T Q^H in place, T real and tridiagonal (LAPACK's sytd2, hetd2): reflectors beside T in the stored triangle.
template <typename T>
struct Tridiagonal {
  std::vector<RealOf<T>> diagonal, beside;
  std::vector<T> taus;
};
// A -= v w^H + w v^H where w = tau A v - (tau (tau A v)^H v / 2) v, in rows and columns first to last.
template <typename T>
void ReflectBothSides(Matrix<T>& a, T tau, const std::vector<T>& v, int64_t first) {
  const auto n = static_cast<int64_t>(v.size());
  std::vector<T> w(v.size(), T(0));
  T dot(0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) w[static_cast<size_t>(i)] += a(first + i, first + j) * v[static_cast<size_t>(j)];
    w[static_cast<size_t>(i)] *= tau;
    dot += Conj(w[static_cast<size_t>(i)]) * v[static_cast<size_t>(i)];
  }
  const T share = -tau * dot / T(2);
  for (int64_t i = 0; i < n; ++i) w[static_cast<size_t>(i)] += share * v[static_cast<size_t>(i)];
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const auto r = static_cast<size_t>(i), c = static_cast<size_t>(j);
      a(first + i, first + j) -= v[r] * Conj(w[c]) + w[r] * Conj(v[c]);
    }
  }
}
template <typename T>
Tridiagonal<T> ReduceToTridiagonal(Matrix<T>& stored, bool lower) {
  const int64_t n = stored.rows;
  Matrix<T> a = Hermitian(stored, lower);
  Tridiagonal<T> result;
  result.taus.resize(static_cast<size_t>(std::max<int64_t>(n - 1, 0)));
  for (int64_t step = 0; step + 1 < n; ++step) {
    // Lower: the column below the diagonal's element k; upper: the one above its element k + 1.
    const int64_t k = lower ? step : n - 2 - step, column = lower ? k : k + 1, pivot = lower ? k + 1 : k;
    std::vector<T> x;
    for (int64_t i = lower ? k + 2 : 0; i < (lower ? n : k); ++i) x.push_back(a(i, column));
    Reflector<T> reflector = ReflectorOf(a(pivot, column), std::move(x));
    for (size_t i = 0; i < reflector.v.size(); ++i)
      stored(static_cast<int64_t>(i) + (lower ? k + 2 : 0), column) = reflector.v[i];
    stored(pivot, column) = a(pivot, column) = reflector.beta;
    result.taus[static_cast<size_t>(k)] = reflector.tau;
    reflector.v.insert(lower ? reflector.v.begin() : reflector.v.end(), T(1));
    ReflectBothSides(a, reflector.tau, reflector.v, lower ? k + 1 : 0);
  }
  for (int64_t i = 0; i < n; ++i) {
    stored(i, i) = T(Re(a(i, i)));
    result.diagonal.push_back(Re(a(i, i)));
    if (i + 1 < n) result.beside.push_back(Re(lower ? stored(i + 1, i) : stored(i, i + 1)));
  }
  return result;
}

}  // namespace VXLA_NAMESPACE::dense
