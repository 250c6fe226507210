// Eigenvalues and Schur forms of general matrices, by the machine's LAPACK (Fortran's interface) where it has one.
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "backend/cpu/reference/arithmetic/dense_matrix.h"
#include "backend/cpu/reference/library/lapack_errors.h"
#include "backend/cpu/reference/library/lapack_library.h"
#include "backend/cpu/reference/library/library_calls.h"

namespace VXLA_NAMESPACE {
namespace {

using ComplexFloat = std::complex<float>;
using ComplexDouble = std::complex<double>;

// The two routines for a type of numbers, as Fortran has them; null where there is no LAPACK.
template <typename T>
struct Routines {
  using Real = T;
  using Geev = void (*)(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, const int*,
                        T*, const int*, int*);
  using Gees = void (*)(const char*, const char*, void*, const int*, T*, const int*, int*, T*, T*, T*, const int*, T*,
                        const int*, int*, int*);
};
template <typename R>
struct Routines<std::complex<R>> {
  using Real = R;
  using T = std::complex<R>;
  using Geev = void (*)(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,
                        const int*, R*, int*);
  using Gees = void (*)(const char*, const char*, void*, const int*, T*, const int*, int*, T*, T*, const int*, T*,
                        const int*, R*, int*, int*);
};
template <typename T>
constexpr bool kReal = std::is_same_v<T, typename Routines<T>::Real>;

template <typename T>
std::string NameOf(const char* routine) {
  constexpr bool kSingle = std::is_same_v<typename Routines<T>::Real, float>;
  return (kReal<T> ? (kSingle ? "s" : "d") : (kSingle ? "c" : "z")) + std::string(routine);
}
template <typename T>
typename Routines<T>::Geev Geev() {
  static const auto routine = reinterpret_cast<typename Routines<T>::Geev>(LapackRoutine(NameOf<T>("geev_")));
  return routine;
}
template <typename T>
typename Routines<T>::Gees Gees() {
  static const auto routine = reinterpret_cast<typename Routines<T>::Gees>(LapackRoutine(NameOf<T>("gees_")));
  return routine;
}
template <typename... T>
bool HasAll() {
  return ((Geev<T>() != nullptr && Gees<T>() != nullptr) && ...);
}

// A matrix column by column, as LAPACK has it.
template <typename T>
std::vector<T> ColumnsOf(const Literal& literal, int64_t b, int64_t n) {
  const T* const from = literal.data<T>().data() + b * n * n;
  std::vector<T> columns(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n * n; ++i) columns[static_cast<size_t>(i % n * n + i / n)] = from[i];
  return columns;
}
template <typename T>
void StoreColumns(const std::vector<T>& columns, Literal& literal, int64_t b, int64_t n) {
  T* const to = literal.mutable_data<T>().data() + b * n * n;
  for (int64_t i = 0; i < n * n; ++i) to[i] = columns[static_cast<size_t>(i % n * n + i / n)];
}

// A power of two by which the matrix, finite, is divided so that LAPACK takes it as it is. LAPACK itself brings others
// into that range, but not where a complex magnitude overflows, and OpenBLAS 0.3's does not bring the eigenvalues back.
template <typename T>
int ExponentBeyondRange(const std::vector<T>& a) {
  using Real = typename Routines<T>::Real;
  using Limits = std::numeric_limits<Real>;
  Real largest = 0;
  for (const T& x : a) largest = std::max({largest, std::abs(std::real(x)), std::abs(std::imag(x))});
  if (largest == 0) return 0;
  // From sqrt(tiny) / epsilon to its inverse, with a unit for the magnitude of a complex number.
  constexpr int kMost = (1 - Limits::min_exponent) / 2 - Limits::digits;
  const int exponent = std::ilogb(largest);
  return exponent > kMost ? exponent - kMost : exponent < -kMost ? exponent + kMost : 0;
}
template <typename T>
void ScaleByPower(std::vector<T>& numbers, int exponent) {
  if (exponent == 0) return;
  for (T& x : numbers) {
    if constexpr (kReal<T>) {
      x = std::ldexp(x, exponent);
    } else {
      x = T(std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent));
    }
  }
}

// One matrix: what LAPACK gives, and how it is called.
template <typename T>
struct OneMatrix {
  using Real = typename Routines<T>::Real;

  explicit OneMatrix(int64_t size)
      : n(static_cast<int>(size)),
        values(size),
        imaginary(size),
        left(size * size),
        right(size * size),
        real_work(static_cast<size_t>(2 * size)) {}

  // Asks for the work space, then calls. LAPACK is given numbers alone: of others it ends the process, or its loops do
  // not end.
  void Run(const std::function<void(T* work, const int* length)>& call) {
    if (n == 0) return;
    if (!std::ranges::all_of(a, dense::IsFiniteNumber<T>)) return Refuse(kNotFiniteInfo);
    const int exponent = ExponentBeyondRange(a);
    ScaleByPower(a, -exponent);
    const LapackErrors errors;
    T wanted{};
    int length = -1;
    call(&wanted, &length);
    length = std::max(1, static_cast<int>(std::real(wanted)));
    std::vector<T> work(static_cast<size_t>(length));
    call(work.data(), &length);
    if (errors.argument() != 0) return Refuse(-errors.argument());
    for (std::vector<T>* scaled : {&a, &values, &imaginary}) ScaleByPower(*scaled, exponent);
  }
  void Refuse(int because) {
    constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
    for (std::vector<T>* result : {&a, &values, &imaginary, &left, &right}) {
      if constexpr (kReal<T>) {
        std::ranges::fill(*result, kNan);
      } else {
        std::ranges::fill(*result, T(kNan, kNan));
      }
    }
    info = because;
  }
  void Eigenvalues(bool left_wanted, bool right_wanted) {
    const char jobs[2] = {left_wanted ? 'V' : 'N', right_wanted ? 'V' : 'N'};
    Run([&](T* work, const int* length) {
      if constexpr (kReal<T>) {
        Geev<T>()(&jobs[0], &jobs[1], &n, a.data(), &n, values.data(), imaginary.data(), left.data(), &n, right.data(),
                  &n, work, length, &info);
      } else {
        Geev<T>()(&jobs[0], &jobs[1], &n, a.data(), &n, values.data(), left.data(), &n, right.data(), &n, work, length,
                  real_work.data(), &info);
      }
    });
  }
  void SchurForm(bool vectors_wanted) {
    const char job = vectors_wanted ? 'V' : 'N', sort = 'N';
    Run([&](T* work, const int* length) {
      if constexpr (kReal<T>) {
        Gees<T>()(&job, &sort, nullptr, &n, a.data(), &n, &selected, values.data(), imaginary.data(), left.data(), &n,
                  work, length, nullptr, &info);
      } else {
        Gees<T>()(&job, &sort, nullptr, &n, a.data(), &n, &selected, values.data(), left.data(), &n, work, length,
                  real_work.data(), nullptr, &info);
      }
    });
  }

  const int n;
  std::vector<T> a, values, imaginary, left, right;
  std::vector<Real> real_work;
  int info = 0, selected = 0;
};

// LAPACK packs the vectors of conjugate values as their real and imaginary parts.
template <typename T>
auto Unpacked(const OneMatrix<T>& one, const std::vector<T>& packed) {
  using Real = typename Routines<T>::Real;
  if constexpr (!kReal<T>) {
    return packed;
  } else {
    constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
    if (one.info < 0) return std::vector<std::complex<Real>>(packed.size(), {kNan, kNan});
    std::vector<std::complex<Real>> vectors(packed.begin(), packed.end());
    const auto n = static_cast<size_t>(one.n);
    for (size_t j = 0; j + 1 < n; ++j) {
      if (one.imaginary[j] == 0) continue;
      for (size_t i = 0; i < n; ++i) {
        const std::complex<Real> value(packed[j * n + i], packed[(j + 1) * n + i]);
        vectors[j * n + i] = value;
        vectors[(j + 1) * n + i] = std::conj(value);
      }
      ++j;
    }
    return vectors;
  }
}

template <typename T>
void StoreValues(const OneMatrix<T>& one, std::vector<Literal>& results, size_t first, int64_t b) {
  const auto n = static_cast<int64_t>(one.n);
  std::ranges::copy(one.values, results[first].mutable_data<T>().begin() + b * n);
  if constexpr (kReal<T>) std::ranges::copy(one.imaginary, results[first + 1].mutable_data<T>().begin() + b * n);
}

template <typename T>
void Evaluate(const LibraryCall& call, const Literal& a, std::vector<Literal>& results, int64_t b, int64_t n) {
  OneMatrix<T> one(n);
  one.a = ColumnsOf<T>(a, b, n);
  if (call.routine == LibraryRoutine::kEig) {
    one.Eigenvalues(call.left_vectors, call.vectors);
    StoreValues(one, results, 0, b);
    const size_t next = kReal<T> ? 2 : 1;
    if (call.left_vectors) StoreColumns(Unpacked(one, one.left), results[next], b, n);
    if (call.vectors) StoreColumns(Unpacked(one, one.right), results[next + 1], b, n);
    results[next + 2].SetInt(b, one.info);
    return;
  }
  one.SchurForm(call.vectors);
  StoreColumns(one.a, results[0], b, n);
  if (call.vectors) StoreColumns(one.left, results[1], b, n);
  StoreValues(one, results, 2, b);
  const size_t next = kReal<T> ? 4 : 3;
  results[next].SetInt(b, one.selected);
  results[next + 1].SetInt(b, one.info);
}

}  // namespace

bool HasLapack() { return HasAll<float, double, ComplexFloat, ComplexDouble>(); }

void EvalByLapack(const EvalContext& context, const LibraryCall& call, const Literal& a, Literal& result) {
  const Shape& shape = a.shape();
  const int64_t n = shape.dimension(shape.rank() - 1);
  int64_t batch = 1;
  for (int d = 0; d < shape.rank() - 2; ++d) batch *= shape.dimension(d);
  std::vector<Literal>& results = result.mutable_tuple_elements();
  context.For(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      switch (shape.element_type()) {
        case ElementType::kF32:
          Evaluate<float>(call, a, results, b, n);
          break;
        case ElementType::kF64:
          Evaluate<double>(call, a, results, b, n);
          break;
        case ElementType::kC64:
          Evaluate<ComplexFloat>(call, a, results, b, n);
          break;
        default:
          Evaluate<ComplexDouble>(call, a, results, b, n);
      }
    }
  });
}

}  // namespace VXLA_NAMESPACE
