// Fft against FFTW, Cholesky and triangular-solve against Eigen, batch normalisation against its formulas.
#include <fftw3.h>

#include <cmath>
#include <complex>
#include <eigen3/Eigen/Dense>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace linalg_test {

using enum ElementType;
using Complex = std::complex<double>;

Literal Fft(const Literal& x, const std::string& type, const std::vector<int64_t>& length, const Shape& out) {
  return RunText(Entry("p = " + Text(x.shape()) + " parameter(0)\nROOT r = " + Text(out) + " fft(p), fft_type=" + type +
                       ", fft_length={" + JoinInts(length) + "}"),
                 {x});
}

// FFTW's transform of one array, over all its axes.
std::vector<Complex> Fftw(const Literal& x, const std::vector<int64_t>& sizes, int sign) {
  std::vector<Complex> values(static_cast<size_t>(x.element_count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = x.GetComplex(static_cast<int64_t>(i));
  std::vector<int> n(sizes.begin(), sizes.end());
  auto* data = reinterpret_cast<fftw_complex*>(values.data());
  fftw_plan plan = fftw_plan_dft(static_cast<int>(n.size()), n.data(), data, data, sign, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  return values;
}

TEST(FftTest, EveryLengthMatchesFftw) {
  for (int64_t n : {1, 2, 3, 5, 7, 8, 12, 31, 32, 33, 37, 64, 97, 100, 257, 1000, 1024, 1009, 4099}) {
    for (ElementType type : {kC64, kC128}) {
      const Literal x = Random(type, {n}, static_cast<uint32_t>(n));
      const Literal y = Fft(x, "FFT", {n}, x.shape()), z = Fft(x, "IFFT", {n}, x.shape());
      const std::vector<Complex> forward = Fftw(x, {n}, FFTW_FORWARD), backward = Fftw(x, {n}, FFTW_BACKWARD);
      const double tolerance = (type == kC64 ? 1e-7 : 4e-15) * std::sqrt(static_cast<double>(n)) * 4;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_LT(std::abs(y.GetComplex(i) - forward[static_cast<size_t>(i)]), tolerance) << n;
        ASSERT_LT(std::abs(z.GetComplex(i) * static_cast<double>(n) - backward[static_cast<size_t>(i)]), tolerance)
            << n;
      }
    }
  }
}

TEST(FftTest, ThreeAxesAndBatches) {
  const std::vector<int64_t> sizes = {2, 3, 5, 7};
  const Literal x = Random(kC128, sizes, 3);
  const Literal y = Fft(x, "FFT", {3, 5, 7}, x.shape());
  for (int64_t b = 0; b < 2; ++b) {
    Literal one(Shape(kC128, {105}));
    for (int64_t i = 0; i < 105; ++i) one.SetComplex(i, x.GetComplex(b * 105 + i));
    const std::vector<Complex> want = Fftw(one, {3, 5, 7}, FFTW_FORWARD);
    for (int64_t i = 0; i < 105; ++i)
      ASSERT_LT(std::abs(y.GetComplex(b * 105 + i) - want[static_cast<size_t>(i)]), 1e-13);
  }
}

TEST(FftTest, RealTransformsAndBack) {
  for (int64_t n : {1, 2, 6, 7, 64, 101}) {
    const Literal x = Random(kF64, {3, n}, 4);
    const int64_t half = n / 2 + 1;
    const Literal y = Fft(x, "RFFT", {n}, Shape(kC128, {3, half}));
    Literal row(Shape(kC128, {n}));
    for (int64_t i = 0; i < n; ++i) row.SetComplex(i, x.GetDouble(2 * n + i));
    const std::vector<Complex> want = Fftw(row, {n}, FFTW_FORWARD);
    for (int64_t i = 0; i < half; ++i)
      ASSERT_LT(std::abs(y.GetComplex(2 * half + i) - want[static_cast<size_t>(i)]), 1e-13) << n;
    const Literal back = Fft(y, "IRFFT", {n}, x.shape());
    for (int64_t i = 0; i < 3 * n; ++i) ASSERT_NEAR(back.GetDouble(i), x.GetDouble(i), 1e-14) << n;
  }
  const Literal x = Random(kF32, {4, 6}, 5);
  const Literal back = Fft(Fft(x, "RFFT", {4, 6}, Shape(kC64, {4, 4})), "IRFFT", {4, 6}, x.shape());
  for (int64_t i = 0; i < 24; ++i) EXPECT_NEAR(back.GetDouble(i), x.GetDouble(i), 1e-6);
}

using Matrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix MatrixOf(const Literal& x, int64_t batch, int64_t rows, int64_t columns) {
  Matrix m(rows, columns);
  for (int64_t i = 0; i < rows * columns; ++i) m.data()[i] = x.GetComplex(batch * rows * columns + i);
  return m;
}

// Positive definite matrices [batch, n, n]; the triangle that is not read holds NaN.
Literal PositiveDefinite(ElementType type, int64_t batch, int64_t n, bool lower) {
  const Literal x = Random(type, {batch, n, n}, 6);
  Literal result(x.shape());
  for (int64_t b = 0; b < batch; ++b) {
    const Matrix m = MatrixOf(x, b, n, n);
    const Matrix a = m * m.adjoint() + Matrix::Identity(n, n);
    for (int64_t i = 0; i < n * n; ++i) {
      const bool read = lower ? i % n <= i / n : i % n >= i / n;
      result.SetComplex(b * n * n + i, read ? a.data()[i] : Complex(kNan, IsComplex(type) ? kNan : 0));
    }
  }
  return result;
}

TEST(CholeskyTest, MultipliesBackAndReadsOneTriangle) {
  for (ElementType type : {kF32, kF64, kC64, kC128}) {
    for (const bool lower : {true, false}) {
      const int64_t n = 13;
      const Literal a = PositiveDefinite(type, 2, n, lower);
      const Literal y = RunText(Entry("p = " + Text(a.shape()) + " parameter(0)\nROOT r = " + Text(a.shape()) +
                                      " cholesky(p), lower=" + (lower ? "true" : "false")),
                                {a});
      const double tolerance = RealPart(type) == kF32 ? 1e-5 : 1e-13;
      for (int64_t b = 0; b < 2; ++b) {
        const Matrix factor = MatrixOf(y, b, n, n);
        const Matrix back = lower ? Matrix(factor * factor.adjoint()) : Matrix(factor.adjoint() * factor);
        for (int64_t i = 0; i < n * n; ++i) {
          const bool read = lower ? i % n <= i / n : i % n >= i / n;
          if (read) {
            ASSERT_LT(std::abs(back.data()[i] - a.GetComplex(b * n * n + i)), tolerance) << ElementTypeName(type);
          } else {
            ASSERT_EQ(factor.data()[i], Complex(0));
          }
        }
      }
    }
  }
}

TEST(CholeskyTest, GivesNanWhereTheMatrixIsNotPositive) {
  const Literal y = RunText(Entry("p = f32[2,2] parameter(0)\nROOT r = f32[2,2] cholesky(p), lower=true"),
                            {Array(kF32, {2, 2}, {1, 0, 2, 1})});
  EXPECT_THAT(Doubles(y), SameDoubles({1, 0, 2, kNan}));
}

TEST(TriangularSolveTest, EveryVariantSolvesItsEquation) {
  const int64_t n = 7, columns = 5;
  for (ElementType type : {kF32, kF64, kC64, kC128}) {
    const double tolerance = RealPart(type) == kF32 ? 1e-4 : 1e-12;
    for (int variant = 0; variant < 24; ++variant) {
      const bool left = variant & 1, lower = variant & 2, unit = variant & 4;
      const int transpose = variant / 8;
      Literal a = Random(type, {2, n, n}, 7);
      for (int64_t i = 0; i < 2 * n; ++i) a.SetComplex(i / n * n * n + i % n * (n + 1), a.GetComplex(i) * 0.1 + 2.0);
      const Literal b = Random(type, {2, left ? n : columns, left ? columns : n}, 8);
      const char* names[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
      const Literal x =
          RunText(Entry("a = " + Text(a.shape()) + " parameter(0)\nb = " + Text(b.shape()) +
                        " parameter(1)\nROOT r = " + Text(b.shape()) + " triangular-solve(a, b), left_side=" +
                        (left ? "true" : "false") + ", lower=" + (lower ? "true" : "false") +
                        ", unit_diagonal=" + (unit ? "true" : "false") + ", transpose_a=" + names[transpose]),
                  {a, b});
      for (int64_t batch = 0; batch < 2; ++batch) {
        Matrix m = MatrixOf(a, batch, n, n);
        if (unit) m.diagonal().setOnes();
        Matrix t = lower ? Matrix(m.triangularView<Eigen::Lower>()) : Matrix(m.triangularView<Eigen::Upper>());
        if (transpose == 1) t = Matrix(t.transpose());
        if (transpose == 2) t = Matrix(t.adjoint());
        const Matrix solution = MatrixOf(x, batch, left ? n : columns, left ? columns : n);
        const Matrix back = left ? Matrix(t * solution) : Matrix(solution * t);
        const Matrix want = MatrixOf(b, batch, left ? n : columns, left ? columns : n);
        ASSERT_LT((back - want).cwiseAbs().maxCoeff(), tolerance * (1 + solution.cwiseAbs().maxCoeff()))
            << variant << ElementTypeName(type);
      }
    }
  }
}

TEST(BatchNormTest, TrainingThenInferenceAgreeAndTheGradientIsTheSlope) {
  const std::vector<int64_t> sizes = {4, 3, 5};
  const Literal x = Random(kF64, sizes, 1), scale = Array(kF64, {3}, {1, 2, -0.5}),
                offset = Array(kF64, {3}, {0, 1, 2});
  const auto train = [&](const Literal& input) {
    return RunText(
        Entry("x = f64[4,3,5] parameter(0)\ns = f64[3] parameter(1)\no = f64[3] parameter(2)\n"
              "ROOT r = (f64[4,3,5], f64[3], f64[3]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=1"),
        {input, scale, offset});
  };
  const Literal y = train(x);
  const Literal again = RunText(
      Entry("x = f64[4,3,5] parameter(0)\ns = f64[3] parameter(1)\no = f64[3] parameter(2)\nm = f64[3] parameter(3)\n"
            "v = f64[3] parameter(4)\nROOT r = f64[4,3,5] batch-norm-inference(x, s, o, m, v), epsilon=0.001, "
            "feature_index=1"),
      {x, scale, offset, y.tuple_elements()[1], y.tuple_elements()[2]});
  for (int64_t i = 0; i < 60; ++i) EXPECT_NEAR(again.GetDouble(i), y.tuple_elements()[0].GetDouble(i), 1e-14);
  const Literal dy = Random(kF64, sizes, 2);
  const Literal g = RunText(
      Entry("x = f64[4,3,5] parameter(0)\ns = f64[3] parameter(1)\nm = f64[3] parameter(2)\nv = f64[3] parameter(3)\n"
            "d = f64[4,3,5] parameter(4)\nROOT r = (f64[4,3,5], f64[3], f64[3]) batch-norm-grad(x, s, m, v, d), "
            "epsilon=0.001, feature_index=1"),
      {x, scale, y.tuple_elements()[1], y.tuple_elements()[2], dy});
  for (int64_t i = 0; i < 60; i += 7) {
    double slope = 0;
    for (const double step : {1e-5, -1e-5}) {
      Literal moved = x;
      moved.SetDouble(i, x.GetDouble(i) + step);
      const Literal out = train(moved);
      for (int64_t k = 0; k < 60; ++k) slope += out.tuple_elements()[0].GetDouble(k) * dy.GetDouble(k) / (2 * step);
    }
    EXPECT_NEAR(g.tuple_elements()[0].GetDouble(i), slope, 1e-7) << i;
  }
  double sum = 0;
  for (int64_t b = 0; b < 4; ++b) {
    for (int64_t i = 0; i < 5; ++i) sum += dy.GetDouble((b * 3 + 1) * 5 + i);
  }
  EXPECT_NEAR(g.tuple_elements()[2].GetDouble(1), sum, 1e-13);
}

}  // namespace linalg_test
}  // namespace VXLA_NAMESPACE::testing
