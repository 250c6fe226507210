#include "backend/vulkan/lower/fft/fft_butterfly.h"

#include <fmt/format.h>

#include <numbers>
#include <numeric>

#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/lower/fft/fft_tables.h"

namespace VXLA_NAMESPACE::vulkan {

namespace {

// (-i)^quarters times.
ComplexText Turned(ComplexText a, int64_t quarters) {
  for (; quarters > 0; --quarters) a = {a.im, Negated(a.re)};
  return a;
}

}  // namespace

RealText ButterflyWriter::Local(const std::string& value) {
  RealText local{fmt::format("r{}", next_local_++)};
  Line("{} {} = {};", CarrierType(real_), local.name, value);
  return local;
}

std::string ButterflyWriter::DifferenceText(const std::string& a, const std::string& b) const {
  return real_ == ElementType::kF64 ? fmt::format("subtract_f64({}, {})", a, b) : fmt::format("{} - {}", a, b);
}

RealText ButterflyWriter::WithoutFactor(const RealText& a) {
  if (a.factor.empty()) return a;
  RealText product = Local(ProductText(real_, a.name, a.factor));
  product.negative = a.negative;
  return product;
}

RealText ButterflyWriter::Add(const RealText& a, const RealText& b) {
  if (a.zero()) return b;
  if (b.zero()) return a;
  if (a.factor != b.factor) {
    return a.factor.empty() ? MultiplyAdd({b.name, b.negative}, {b.factor}, a)
                            : MultiplyAdd({a.name, a.negative}, {a.factor}, b);
  }
  RealText sum;
  if (a.negative == b.negative) {
    sum = Local(vulkan::SumText(real_, a.name, b.name));
    sum.negative = a.negative;
  } else {
    sum = Local(a.negative ? DifferenceText(b.name, a.name) : DifferenceText(a.name, b.name));
  }
  sum.factor = a.factor;
  return sum;
}

RealText ButterflyWriter::Subtract(const RealText& a, const RealText& b) { return Add(a, Negated(b)); }

RealText ButterflyWriter::Multiply(const RealText& a, const RealText& b) {
  if (a.zero() || b.zero()) return {};
  const RealText x = WithoutFactor(a), y = WithoutFactor(b);
  RealText product = Local(ProductText(real_, x.name, y.name));
  product.negative = x.negative != y.negative;
  return product;
}

RealText ButterflyWriter::MultiplyAdd(const RealText& a, const RealText& b, const RealText& c) {
  if (!fuses_ || a.zero() || b.zero() || c.zero()) return Add(Multiply(a, b), c);
  const RealText x = WithoutFactor(a), y = WithoutFactor(b), z = WithoutFactor(c);
  const bool minus = x.negative != y.negative;
  RealText sum = Local(fmt::format("fma({}{}, {}, {}{})", minus && !z.negative ? "-" : "", x.name, y.name,
                                   z.negative && !minus ? "-" : "", z.name));
  sum.negative = minus && z.negative;
  return sum;
}

RealText ButterflyWriter::Constant(double value) const {
  const auto single = static_cast<float>(value);
  const void* bytes = real_ == ElementType::kF64 ? static_cast<const void*>(&value) : &single;
  return {ConstantText(real_, bytes)};
}

// In pairs, which rounds less than one after the other.
ComplexText ButterflyWriter::Sum(std::vector<ComplexText> terms) {
  for (size_t apart = 1; apart < terms.size(); apart *= 2) {
    for (size_t i = 0; i + apart < terms.size(); i += 2 * apart) terms[i] = Add(terms[i], terms[i + apart]);
  }
  return terms[0];
}

ComplexText ButterflyWriter::Multiply(const ComplexText& a, const ComplexText& b) {
  return {MultiplyAdd(a.re, b.re, Negated(Multiply(a.im, b.im))), MultiplyAdd(a.re, b.im, Multiply(a.im, b.re))};
}

ComplexText ButterflyWriter::MultiplyAdd(const ComplexText& a, const ComplexText& b, const ComplexText& c) {
  if (!fuses_) return Add(Multiply(a, b), c);
  return {MultiplyAdd(Negated(a.im), b.im, MultiplyAdd(a.re, b.re, c.re)),
          MultiplyAdd(a.im, b.re, MultiplyAdd(a.re, b.im, c.im))};
}

ComplexText ButterflyWriter::TimesRoot(const ComplexText& a, int64_t k, int64_t n) {
  k %= n;
  if (8 * k % n != 0) {
    if (!turns_) {
      const std::complex<double> root = UnitRoot(k, n);
      return Multiply(a, {Constant(root.real()), Constant(root.imag())});
    }
    const TurnedRoot root = NearestQuarter(k, n);
    return MultiplyOnePlus(Turned(a, root.quarters), {Constant(root.rest.real()), Constant(root.rest.imag())});
  }
  const int64_t eighths = 8 * k / n;
  const ComplexText result = Turned(a, eighths / 2);
  if (eighths % 2 == 0) return result;
  const RealText half = Constant(std::numbers::sqrt2 / 2);
  RealText sum = Add(result.re, result.im), difference = Subtract(result.im, result.re);
  if (!fuses_ || !sum.factor.empty() || !difference.factor.empty())
    return {Multiply(sum, half), Multiply(difference, half)};
  if (!sum.zero()) sum.factor = half.name;
  if (!difference.zero()) difference.factor = half.name;
  return {sum, difference};
}

// An odd n: with s_j = x_j + x_(n-j) and d_j = x_j - x_(n-j), result k is x_0 + sum of s_j cos - i times the sum
// of d_j sin of 2 pi j k / n, and result n - k has the sum's other sign.
std::vector<ComplexText> ButterflyWriter::TransformOdd(const std::vector<ComplexText>& x) {
  const auto n = static_cast<int64_t>(x.size());
  const int64_t half = (n - 1) / 2;
  std::vector<ComplexText> sums, differences, terms{x[0]}, results(x.size());
  for (int64_t j = 1; j <= half; ++j) {
    const ComplexText &a = x[static_cast<size_t>(j)], &b = x[static_cast<size_t>(n - j)];
    sums.push_back(Add(a, b));
    differences.push_back(Subtract(a, b));
    terms.push_back(sums.back());
  }
  results[0] = Sum(terms);
  // One more product: fused, it joins the last term.
  auto add = [this](std::vector<ComplexText>& to, const ComplexText& a, double factor) {
    const RealText constant = Constant(factor);
    if (fuses_ && !to.empty()) {
      to.back() = {MultiplyAdd(a.re, constant, to.back().re), MultiplyAdd(a.im, constant, to.back().im)};
    } else {
      to.push_back({Multiply(a.re, constant), Multiply(a.im, constant)});
    }
  };
  for (int64_t k = 1; k <= half; ++k) {
    std::vector<ComplexText> even{x[0]}, odd;
    for (int64_t j = 1; j <= half; ++j) {
      const ComplexText& sum = sums[static_cast<size_t>(j - 1)];
      if (j * k % n == 0) {
        even.push_back(sum);
        continue;
      }
      const std::complex<double> root = UnitRoot(j * k % n, n);
      add(even, sum, root.real());
      add(odd, differences[static_cast<size_t>(j - 1)], -root.imag());
    }
    const ComplexText from_sums = Sum(even), turned = Turned(Sum(odd), 1);
    results[static_cast<size_t>(k)] = Add(from_sums, turned);
    results[static_cast<size_t>(n - k)] = Subtract(from_sums, turned);
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
  // Nine so take no more products than by threes, and round less; fifteen, which round less too, more.
  if (rows == n || n == 9 || (n == 15 && turns_)) return TransformOdd(x);
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
  const std::string value = a.factor.empty() ? a.name : ProductText(real_, a.name, a.factor);
  if (!a.negative) return value;
  if (real_ == ElementType::kF64) return fmt::format("negate_f64({})", value);
  return a.factor.empty() ? "-" + value : fmt::format("-({})", value);
}

std::string ButterflyWriter::Text(const ComplexText& a) const {
  return fmt::format("{}({}, {})", real_ == ElementType::kF64 ? "complex_f64" : "vec2", Text(a.re), Text(a.im));
}

}  // namespace VXLA_NAMESPACE::vulkan
