// Dot, cholesky and triangular-solve against Eigen; random forms of dot against plain loops.
#include <algorithm>
#include <cmath>
#include <eigen3/Eigen/Dense>
#include <random>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace linalg_oracle_test {

using enum ElementType;
using Sizes = std::vector<int64_t>;
using Complex = std::complex<long double>;
using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix MatrixOf(const Literal& x, int64_t batch, int64_t rows, int64_t columns) {
  Matrix m(rows, columns);
  for (int64_t i = 0; i < rows * columns; ++i) m.data()[i] = Complex(x.GetComplex(batch * rows * columns + i));
  return m;
}

double UnitOf(ElementType type) { return RealPart(type) == kF32 ? 0x1p-24 : 0x1p-53; }

// All batch, contracting and free dimensions at random places.
struct DotForm {
  Sizes lhs, rhs, out;                                           // sizes
  Sizes lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;  // dimensions
};

DotForm RandomForm(std::mt19937& engine) {
  DotForm form;
  const int64_t batch = engine() % 3, contracting = engine() % 3, lhs_free = engine() % 3, rhs_free = engine() % 3;
  auto place = [&](int64_t free) {
    Sizes order(static_cast<size_t>(batch + contracting + free));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::shuffle(order.begin(), order.end(), engine);
    return order;
  };
  const Sizes left = place(lhs_free), right = place(rhs_free);
  form.lhs.resize(left.size()), form.rhs.resize(right.size());
  for (int64_t i = 0; i < batch + contracting; ++i) {
    const size_t k = static_cast<size_t>(i);
    const int64_t size = 1 + static_cast<int64_t>(engine() % 5);
    form.lhs[static_cast<size_t>(left[k])] = form.rhs[static_cast<size_t>(right[k])] = size;
    (i < batch ? form.lhs_batch : form.lhs_contracting).push_back(left[k]);
    (i < batch ? form.rhs_batch : form.rhs_contracting).push_back(right[k]);
    if (i < batch) form.out.push_back(size);
  }
  for (size_t k = static_cast<size_t>(batch + contracting); k < left.size(); ++k)
    form.lhs[static_cast<size_t>(left[k])] = 1 + engine() % 5;
  for (size_t k = static_cast<size_t>(batch + contracting); k < right.size(); ++k)
    form.rhs[static_cast<size_t>(right[k])] = 1 + engine() % 5;
  for (const auto& [sizes, batches, contractings] : {std::tie(form.lhs, form.lhs_batch, form.lhs_contracting),
                                                     std::tie(form.rhs, form.rhs_batch, form.rhs_contracting)}) {
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t dim = static_cast<int64_t>(d);
      if (std::ranges::find(batches, dim) == batches.end() &&
          std::ranges::find(contractings, dim) == contractings.end()) {
        form.out.push_back(sizes[d]);
      }
    }
  }
  return form;
}

// The multi-index of an operand for batch and free indices (in result order) and contracting ones.
Sizes OperandIndex(const Sizes& sizes, const Sizes& batch_dims, const Sizes& contracting_dims, const Sizes& out,
                   size_t first_free, const Sizes& contracting) {
  Sizes index(sizes.size(), -1);
  for (size_t i = 0; i < batch_dims.size(); ++i) index[static_cast<size_t>(batch_dims[i])] = out[i];
  for (size_t i = 0; i < contracting.size(); ++i) index[static_cast<size_t>(contracting_dims[i])] = contracting[i];
  for (int64_t& i : index) {
    if (i < 0) i = out[first_free++];
  }
  return index;
}

void CheckForm(const DotForm& f, ElementType type) {
  const Literal a = Random(type, f.lhs, 1), b = Random(type, f.rhs, 2);
  const std::string text =
      Entry("a = " + Text(a.shape()) + " parameter(0)\nb = " + Text(b.shape()) +
            " parameter(1)\nROOT r = " + Text(Shape(type, f.out)) + " dot(a, b), lhs_batch_dims={" +
            JoinInts(f.lhs_batch) + "}, rhs_batch_dims={" + JoinInts(f.rhs_batch) + "}, lhs_contracting_dims={" +
            JoinInts(f.lhs_contracting) + "}, rhs_contracting_dims={" + JoinInts(f.rhs_contracting) + "}");
  const Literal c = RunText(text, {a, b});
  ASSERT_EQ(c.element_count(), CountOf(f.out)) << text;
  Sizes contracted;
  for (int64_t d : f.lhs_contracting) contracted.push_back(f.lhs[static_cast<size_t>(d)]);
  const size_t lhs_free = f.lhs.size() - f.lhs_batch.size() - f.lhs_contracting.size();
  for (int64_t i = 0; i < c.element_count(); ++i) {
    const Sizes out = IndexOf(i, f.out);
    Complex sum = 0;
    long double magnitude = 0;
    for (int64_t k = 0; k < CountOf(contracted); ++k) {
      const Sizes at = IndexOf(k, contracted);
      const Sizes x = OperandIndex(f.lhs, f.lhs_batch, f.lhs_contracting, out, f.lhs_batch.size(), at);
      const Sizes y = OperandIndex(f.rhs, f.rhs_batch, f.rhs_contracting, out, f.lhs_batch.size() + lhs_free, at);
      const Complex p = Complex(a.GetComplex(PositionOf(x, f.lhs))) * Complex(b.GetComplex(PositionOf(y, f.rhs)));
      sum += p, magnitude += std::abs(p);
    }
    const long double error = std::abs(Complex(c.GetComplex(i)) - sum);
    ASSERT_LE(error, UnitOf(type) * 1.01L * std::abs(sum) + 0x1p-60L * magnitude) << text << " at " << i;
  }
}

TEST(DotOracleTest, RandomFormsOfEveryRank) {
  std::mt19937 engine(11);
  const ElementType types[] = {kF32, kF64, kC64, kC128};
  for (int round = 0; round < 200; ++round) CheckForm(RandomForm(engine), types[round % 4]);
}

// a[m,k] . b[k,n], each of them transposed or not.
void CheckMatrices(ElementType type, int64_t m, int64_t k, int64_t n) {
  for (int variant = 0; variant < 4; ++variant) {
    const bool lhs_first = variant & 1, rhs_second = variant & 2;
    const Literal a = Random(type, lhs_first ? Sizes{k, m} : Sizes{m, k}, 3);
    const Literal b = Random(type, rhs_second ? Sizes{n, k} : Sizes{k, n}, 4);
    const Literal c =
        RunText(Entry("a = " + Text(a.shape()) + " parameter(0)\nb = " + Text(b.shape()) +
                      " parameter(1)\nROOT r = " + Text(Shape(type, {m, n})) + " dot(a, b), lhs_contracting_dims={" +
                      (lhs_first ? "0" : "1") + "}, rhs_contracting_dims={" + (rhs_second ? "1" : "0") + "}"),
                {a, b});
    Matrix x = MatrixOf(a, 0, a.shape().dimension(0), a.shape().dimension(1));
    Matrix y = MatrixOf(b, 0, b.shape().dimension(0), b.shape().dimension(1));
    if (lhs_first) x = Matrix(x.transpose());
    if (rhs_second) y = Matrix(y.transpose());
    const Matrix want = x * y;
    for (int64_t i = 0; i < m * n; ++i) {
      ASSERT_LE(std::abs(Complex(c.GetComplex(i)) - want.data()[i]),
                UnitOf(type) * 1.01L * std::abs(want.data()[i]) + 0x1p-58L)
          << ElementTypeName(type) << " " << variant << " " << i;
    }
  }
}

TEST(DotOracleTest, LargeMatricesOfEveryTypeAndTranspose) {
  for (ElementType type : {kF32, kF64, kC64, kC128}) CheckMatrices(type, 67, 131, 139);
}

TEST(DotOracleTest, MatricesOfSeveralTiles) { CheckMatrices(kF32, 9, 513, 1031); }

// Hermitian and positive definite; NaN in the triangle that nobody may read.
Literal PositiveDefinite(ElementType type, int64_t batch, int64_t n, bool lower) {
  const Literal x = Random(type, {batch, n, n}, static_cast<uint32_t>(n));
  Literal result(x.shape());
  for (int64_t b = 0; b < batch; ++b) {
    const Matrix m = MatrixOf(x, b, n, n);
    const Matrix a = m * m.adjoint() + Matrix::Identity(n, n) * Complex(static_cast<long double>(n));
    for (int64_t i = 0; i < n * n; ++i) {
      const bool read = lower ? i % n <= i / n : i % n >= i / n;
      std::complex<double> value(a.data()[i]);
      if (i % (n + 1) == 0) value = value.real();
      result.SetComplex(b * n * n + i, read ? value : std::complex<double>(kNan, IsComplex(type) ? kNan : 0));
    }
  }
  return result;
}

Matrix Symmetric(Matrix m, bool lower) {
  for (int64_t i = 0; i < m.rows(); ++i) {
    for (int64_t j = 0; j < i; ++j) (lower ? m(j, i) : m(i, j)) = std::conj(lower ? m(i, j) : m(j, i));
  }
  return m;
}

TEST(CholeskyOracleTest, MatchesEigensFactor) {
  for (ElementType type : {kF32, kF64, kC64, kC128}) {
    for (int64_t n : {1, 2, 5, 16, 37}) {
      for (const bool lower : {true, false}) {
        const int64_t batch = 3;
        const Literal a = PositiveDefinite(type, batch, n, lower);
        const Shape shape(type, {1, batch, n, n});
        const Literal y = RunText(Entry("p = " + Text(shape) + " parameter(0)\nROOT r = " + Text(shape) +
                                        " cholesky(p), lower=" + (lower ? "true" : "false")),
                                  {a.Reshaped(shape)});
        for (int64_t b = 0; b < batch; ++b) {
          const Matrix whole = Symmetric(MatrixOf(a, b, n, n), lower);
          const Eigen::LLT<Matrix> factor(whole);
          const Matrix l = factor.matrixL();
          const Matrix want = lower ? l : Matrix(l.adjoint());
          const Matrix got = MatrixOf(y, b, n, n);
          const long double bound = 64 * UnitOf(type) * want.cwiseAbs().maxCoeff();
          ASSERT_LE((got - want).cwiseAbs().maxCoeff(), bound) << ElementTypeName(type) << n << lower;
        }
      }
    }
  }
}

TEST(CholeskyOracleTest, EmptyMatricesAndBatches) {
  for (const char* shape : {"f32[0,0]", "f64[2,0,0]", "c64[0,3,3]"}) {
    const Literal empty =
        RunText(Entry(std::string("p = ") + shape + " parameter(0)\nROOT r = " + shape + " cholesky(p), lower=true"),
                {Literal(shape[0] == 'c'   ? Shape(kC64, {0, 3, 3})
                         : shape[1] == '3' ? Shape(kF32, {0, 0})
                                           : Shape(kF64, {2, 0, 0}))});
    EXPECT_EQ(empty.element_count(), 0);
  }
}

// A triangle with a strong diagonal; NaN wherever the solve may not look: the other triangle, and a unit diagonal.
Literal Triangle(ElementType type, int64_t batch, int64_t n, bool lower, bool unit) {
  Literal a = Random(type, {batch, n, n}, 9);
  for (int64_t at = 0; at < a.element_count(); ++at) {
    const int64_t i = at / n % n, j = at % n;
    const bool masked = i == j ? unit : lower ? j > i : j < i;
    if (masked) a.SetComplex(at, {kNan, IsComplex(type) ? kNan : 0});
    if (!masked && i == j) a.SetComplex(at, a.GetComplex(at) * 0.25 + 2.0);
    if (!masked && i != j) a.SetComplex(at, a.GetComplex(at) / static_cast<double>(n));
  }
  return a;
}

void CheckSolve(ElementType type, int64_t n, int64_t others, bool left, bool lower, bool unit, int transpose) {
  const char* names[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  const int64_t batch = 2, rows = left ? n : others, columns = left ? others : n;
  const Literal a = Triangle(type, batch, n, lower, unit), b = Random(type, {batch, rows, columns}, 10);
  const std::string text = Entry("a = " + Text(a.shape()) + " parameter(0)\nb = " + Text(b.shape()) +
                                 " parameter(1)\nROOT r = " + Text(b.shape()) + " triangular-solve(a, b), left_side=" +
                                 (left ? "true" : "false") + ", lower=" + (lower ? "true" : "false") +
                                 ", unit_diagonal=" + (unit ? "true" : "false") + ", transpose_a=" + names[transpose]);
  const Literal x = RunText(text, {a, b});
  ASSERT_EQ(x.shape(), b.shape());
  if (b.element_count() == 0) return;  // Eigen's solver takes the address of a first element
  for (int64_t k = 0; k < batch; ++k) {
    Matrix t = MatrixOf(a, k, n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (i == j && unit) t(i, j) = 1;
        if (i != j && (lower ? j > i : j < i)) t(i, j) = 0;
      }
    }
    if (transpose == 1) t = Matrix(t.transpose());
    if (transpose == 2) t = Matrix(t.adjoint());
    const Matrix rhs = MatrixOf(b, k, rows, columns);
    const bool now_lower = lower == (transpose == 0);
    Matrix want(rows, columns);
    if (left) {
      want = now_lower ? Matrix(t.triangularView<Eigen::Lower>().solve(rhs))
                       : Matrix(t.triangularView<Eigen::Upper>().solve(rhs));
    } else {
      const Matrix tt = t.transpose(), bt = rhs.transpose();
      want = (now_lower ? Matrix(tt.triangularView<Eigen::Upper>().solve(bt))
                        : Matrix(tt.triangularView<Eigen::Lower>().solve(bt)))
                 .transpose();
    }
    const Matrix got = MatrixOf(x, k, rows, columns);
    ASSERT_LE((got - want).cwiseAbs().maxCoeff(), 64 * UnitOf(type) * (1 + want.cwiseAbs().maxCoeff())) << text;
  }
}

TEST(TriangularSolveOracleTest, EverySideTriangleTransposeAndDiagonal) {
  for (ElementType type : {kF32, kF64, kC64, kC128}) {
    for (int variant = 0; variant < 24; ++variant) {
      for (const auto& [n, others] : {std::pair<int64_t, int64_t>{1, 1}, {2, 3}, {13, 5}, {5, 0}, {37, 2}}) {
        CheckSolve(type, n, others, variant & 1, variant & 2, variant & 4, variant / 8);
      }
    }
  }
}

TEST(TriangularSolveOracleTest, EmptyMatrices) {
  const Literal r = RunText(Entry("a = f32[2,0,0] parameter(0)\nb = f32[2,0,3] parameter(1)\n"
                                  "ROOT r = f32[2,0,3] triangular-solve(a, b), left_side=true, lower=true, "
                                  "unit_diagonal=false, transpose_a=NO_TRANSPOSE"),
                            {Literal(Shape(kF32, {2, 0, 0})), Literal(Shape(kF32, {2, 0, 3}))});
  EXPECT_EQ(r.element_count(), 0);
}

TEST(TriangularSolveOracleTest, AZeroPivotGivesInfinityOrNan) {
  const Literal r = RunText(Entry("a = f32[2,2] parameter(0)\nb = f32[2,1] parameter(1)\n"
                                  "ROOT r = f32[2,1] triangular-solve(a, b), left_side=true, lower=true, "
                                  "unit_diagonal=false, transpose_a=NO_TRANSPOSE"),
                            {Array(kF32, {2, 2}, {1, 0, 1, 0}), Array(kF32, {2, 1}, {1, 3})});
  EXPECT_THAT(Doubles(r), SameDoubles({1, kInf}));
}

}  // namespace linalg_oracle_test
}  // namespace VXLA_NAMESPACE::testing
