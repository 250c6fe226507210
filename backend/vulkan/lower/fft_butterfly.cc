#include "backend/vulkan/lower/fft_butterfly.h"

#include <fmt/format.h>

#include <numbers>
#include <numeric>

#include "backend/vulkan/codegen/carriers.h"
#include "backend/vulkan/lower/fft_tables.h"

namespace VXLA_NAMESPACE::vulkan {

RealText ButterflyWriter::Local(const std::string& value) {
  RealText local{fmt::format("r{}", next_local_++)};
  Line(fmt::format("{} {} = {};", CarrierType(real_), local.name, value));
  return local;
}

std::string ButterflyWriter::DifferenceText(const std::string& a, const std::string& b) const {
  return real_ == ElementType::kF64 ? fmt::format("subtract_f64({}, {})", a, b) : fmt::format("{} - {}", a, b);
}

RealText ButterflyWriter::Add(const RealText& a, const RealText& b) {
  if (a.zero()) return b;
  if (b.zero()) return a;
  if (a.negative == b.negative) {
    RealText sum = Local(vulkan::SumText(real_, a.name, b.name));
    sum.negative = a.negative;
    return sum;
  }
  return a.negative ? Local(DifferenceText(b.name, a.name)) : Local(DifferenceText(a.name, b.name));
}

RealText ButterflyWriter::Subtract(const RealText& a, const RealText& b) { return Add(a, Negated(b)); }

RealText ButterflyWriter::Multiply(const RealText& a, const RealText& b) {
  if (a.zero() || b.zero()) return {};
  RealText product = Local(ProductText(real_, a.name, b.name));
  product.negative = a.negative != b.negative;
  return product;
}

RealText ButterflyWriter::Constant(double value) const {
  const auto single = static_cast<float>(value);
  const void* bytes = real_ == ElementType::kF64 ? static_cast<const void*>(&value) : &single;
  return {ConstantText(real_, bytes)};
}

ComplexText ButterflyWriter::Multiply(const ComplexText& a, const ComplexText& b) {
  const RealText re = Subtract(Multiply(a.re, b.re), Multiply(a.im, b.im));
  return {re, Add(Multiply(a.re, b.im), Multiply(a.im, b.re))};
}

ComplexText ButterflyWriter::TimesRoot(const ComplexText& a, int64_t k, int64_t n) {
  k %= n;
  if (8 * k % n != 0) {
    const std::complex<double> root = UnitRoot(k, n);
    return Multiply(a, {Constant(root.real()), Constant(root.imag())});
  }
  const int64_t eighths = 8 * k / n;
  ComplexText result = a;
  for (int64_t quarter = eighths / 2; quarter > 0; --quarter) result = {result.im, Negated(result.re)};
  if (eighths % 2 == 0) return result;
  const RealText half = Constant(std::numbers::sqrt2 / 2);
  const RealText sum = Add(result.re, result.im), difference = Subtract(result.im, result.re);
  return {Multiply(sum, half), Multiply(difference, half)};
}

// An odd prime p: with s_j = x_j + x_(p-j) and d_j = x_j - x_(p-j), result k is x_0 + sum of s_j cos - i times the sum
// of d_j sin of 2 pi j k / p, and result p - k has the sum's other sign.
std::vector<ComplexText> ButterflyWriter::TransformPrime(const std::vector<ComplexText>& x) {
  const auto p = static_cast<int64_t>(x.size());
  const int64_t half = (p - 1) / 2;
  std::vector<ComplexText> sums, differences, results(x.size());
  results[0] = x[0];
  for (int64_t j = 1; j <= half; ++j) {
    const ComplexText &a = x[static_cast<size_t>(j)], &b = x[static_cast<size_t>(p - j)];
    sums.push_back(Add(a, b));
    differences.push_back(Subtract(a, b));
    results[0] = Add(results[0], sums.back());
  }
  auto times = [this](const ComplexText& a, double factor) {
    const RealText constant = Constant(factor);
    return ComplexText{Multiply(a.re, constant), Multiply(a.im, constant)};
  };
  for (int64_t k = 1; k <= half; ++k) {
    ComplexText even = x[0], odd;
    for (int64_t j = 1; j <= half; ++j) {
      const std::complex<double> root = UnitRoot(j * k % p, p);
      even = Add(even, times(sums[static_cast<size_t>(j - 1)], root.real()));
      odd = Add(odd, times(differences[static_cast<size_t>(j - 1)], -root.imag()));
    }
    const ComplexText turned{odd.im, Negated(odd.re)};  // -i times
    results[static_cast<size_t>(k)] = Add(even, turned);
    results[static_cast<size_t>(p - k)] = Subtract(even, turned);
  }
  return results;
}

// I. J. Good, 1958: two axes that no twiddles stand between, which would round once more. Point a columns + b rows is
// place (a, b); result k is place (k mod rows, k mod columns).
std::vector<ComplexText> ButterflyWriter::TransformCoprime(const std::vector<ComplexText>& x, size_t rows,
                                                           size_t columns) {
  const size_t n = x.size();
  std::vector<std::vector<ComplexText>> across(rows, std::vector<ComplexText>(columns));
  for (size_t b = 0; b < columns; ++b) {
    std::vector<ComplexText> row;
    for (size_t a = 0; a < rows; ++a) row.push_back(x[(a * columns + b * rows) % n]);
    row = Transform(row);
    for (size_t r = 0; r < rows; ++r) across[r][b] = row[r];
  }
  for (std::vector<ComplexText>& line : across) line = Transform(line);
  std::vector<ComplexText> results(n);
  for (size_t k = 0; k < n; ++k) results[k] = across[k % rows][k % columns];
  return results;
}

std::vector<ComplexText> ButterflyWriter::Transform(const std::vector<ComplexText>& x) {
  const size_t n = x.size();
  if (n == 1) return x;
  if (n == 2) return {Add(x[0], x[1]), Subtract(x[0], x[1])};
  size_t rows = n % 4 == 0 && n > 4 ? 4 : 2;
  while (rows < n && n % rows != 0) ++rows;
  if (rows == n) return TransformPrime(x);
  if (std::gcd(rows, n / rows) == 1) return TransformCoprime(x, rows, n / rows);
  // Rows of the points columns * j + c, twiddles, then across: result r + rows * s.
  const size_t columns = n / rows;
  std::vector<std::vector<ComplexText>> across(rows, std::vector<ComplexText>(columns));
  for (size_t c = 0; c < columns; ++c) {
    std::vector<ComplexText> row;
    for (size_t j = 0; j < rows; ++j) row.push_back(x[columns * j + c]);
    row = Transform(row);
    for (size_t r = 0; r < rows; ++r)
      across[r][c] = TimesRoot(row[r], static_cast<int64_t>(r * c), static_cast<int64_t>(n));
  }
  std::vector<ComplexText> results(n);
  for (size_t r = 0; r < rows; ++r) {
    const std::vector<ComplexText> transformed = Transform(across[r]);
    for (size_t s = 0; s < columns; ++s) results[r + rows * s] = transformed[s];
  }
  return results;
}

std::string ButterflyWriter::Text(const RealText& a) const {
  if (a.zero()) return ZeroText(real_);
  if (!a.negative) return a.name;
  return real_ == ElementType::kF64 ? fmt::format("negate_f64({})", a.name) : "-" + a.name;
}

std::string ButterflyWriter::Text(const ComplexText& a) const {
  return fmt::format("{}({}, {})", real_ == ElementType::kF64 ? "complex_f64" : "vec2", Text(a.re), Text(a.im));
}

}  // namespace VXLA_NAMESPACE::vulkan
