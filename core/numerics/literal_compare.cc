#include "core/numerics/literal_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/data/float_formats.h"
#include "core/ir/attributes.h"
#include "core/sizes/live_sizes.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kWorstKept = 5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct PartDifference {
  double ulp = 0, abs = 0, rel = 0;
  bool same = true, agrees = true, nan = false, infinity = false;
};

// What an element may be off by beside ulps.
double Allowance(const Tolerance& tolerance, int64_t i) {
  if (tolerance.magnitudes == nullptr) return 0;
  return tolerance.magnitude_factor * std::abs(tolerance.magnitudes->GetComplex(i));
}

PartDifference ComparePart(ElementType type, double actual, double expected, const Tolerance& tolerance,
                           double allowance) {
  PartDifference d;
  const bool actual_nan = std::isnan(actual), expected_nan = std::isnan(expected);
  if (actual_nan && expected_nan) return d;
  if (actual == expected && std::signbit(actual) == std::signbit(expected)) return d;
  d.same = false;
  if (actual_nan != expected_nan || std::isinf(actual) || std::isinf(expected)) {
    d.nan = actual_nan != expected_nan;
    d.infinity = !d.nan && actual != expected;
    d.agrees = actual == expected;
    d.ulp = d.abs = d.rel = d.agrees ? 0 : kInfinity;
    return d;
  }
  d.abs = std::fabs(actual - expected);
  d.rel = d.abs == 0 ? 0 : expected == 0 ? kInfinity : d.abs / std::fabs(expected);
  d.ulp = UlpDistance(type, actual, expected);
  d.agrees = d.ulp <= tolerance.ulp || d.abs <= tolerance.atol + tolerance.rtol * std::fabs(expected) ||
             std::max(std::fabs(actual), std::fabs(expected)) <= tolerance.least;
  // Both together: the sum is off by its own error and then rounded.
  if (!d.agrees && allowance > 0) d.agrees = d.abs - tolerance.ulp * (d.abs / d.ulp) <= allowance;
  return d;
}

bool IsFinite(std::complex<double> z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

PartDifference CompareComplex(ElementType type, std::complex<double> a, std::complex<double> e,
                              const Tolerance& tolerance, double allowance) {
  const PartDifference re = ComparePart(type, a.real(), e.real(), tolerance, allowance);
  const PartDifference im = ComparePart(type, a.imag(), e.imag(), tolerance, allowance);
  PartDifference d{std::max(re.ulp, im.ulp), std::max(re.abs, im.abs), std::max(re.rel, im.rel),  re.same && im.same,
                   re.agrees && im.agrees,   re.nan || im.nan,         re.infinity || im.infinity};
  // A part may be small beside the number; what counts is the distance between the numbers. Infinities that are the
  // same are no distance apart, and beside one the other part is small whatever it is.
  const double apart = std::hypot(re.abs, im.abs);
  d.agrees |= std::isfinite(apart) && apart <= tolerance.atol + tolerance.rtol * std::abs(e);
  if (!d.agrees && tolerance.norm_ulp > 0 && std::isfinite(apart))
    d.agrees = UlpDistance(type, std::abs(e) + apart, std::abs(e)) <= tolerance.norm_ulp;
  return d;
}

// Half turns apart, within the tolerance of half a turn.
bool AgreesTurned(ElementType type, std::complex<double> a, std::complex<double> e, const Tolerance& tolerance,
                  double allowance) {
  constexpr double kHalfTurn = 3.141592653589793;
  const double turns = std::round((a.real() - e.real()) / kHalfTurn);
  const std::complex<double> turned(e.real() + turns * kHalfTurn, e.imag());
  if (turns == 0 || std::fabs(turns) > 2) return false;
  const double rounded = tolerance.norm_ulp * UnitInLastPlace(FormatOf(type), kHalfTurn);
  return CompareComplex(type, a, turned, tolerance, std::max(allowance, rounded)).agrees;
}

bool Holds(const Literal* where, int64_t i) { return where != nullptr && where->GetInt(i) != 0; }

PartDifference CompareElement(const Literal& actual, const Literal& expected, int64_t i, const Tolerance& tolerance) {
  if (Holds(tolerance.may_overflow, i) && (!IsFinite(actual.GetComplex(i)) || !IsFinite(expected.GetComplex(i)))) {
    PartDifference d;
    d.same = false;
    return d;
  }
  const ElementType type = expected.shape().element_type();
  const double allowance = IsFloating(type) || IsComplex(type) ? Allowance(tolerance, i) : 0;
  if (IsFloating(type)) return ComparePart(type, actual.GetDouble(i), expected.GetDouble(i), tolerance, allowance);
  if (IsComplex(type)) {
    const std::complex<double> a = actual.GetComplex(i), e = expected.GetComplex(i);
    PartDifference d = CompareComplex(RealPart(type), a, e, tolerance, allowance);
    if (!d.agrees && Holds(tolerance.half_turns, i)) d.agrees = AgreesTurned(RealPart(type), a, e, tolerance, allowance);
    return d;
  }
  const int64_t a = actual.GetInt(i), e = expected.GetInt(i);
  PartDifference d;
  d.same = d.agrees = a == e;
  if (d.same) return d;
  d.abs = d.ulp =
      IsUnsigned(type)
          ? std::fabs(static_cast<double>(static_cast<uint64_t>(a)) - static_cast<double>(static_cast<uint64_t>(e)))
          : std::fabs(static_cast<double>(a) - static_cast<double>(e));
  d.rel = e == 0 ? kInfinity : d.abs / std::fabs(static_cast<double>(e));
  return d;
}

// Which elements the maxima are of.
struct WorstElements {
  int64_t ulp = -1, abs = -1, rel = -1;
};

void Raise(double value, int64_t i, double& most, int64_t& at) {
  if (!std::isfinite(value) || value <= most) return;
  most = value;
  at = i;
}

ElementDifference Describe(const PartDifference& d, const Literal& actual, const Literal& expected, int64_t i) {
  return {
      i,    IndexToString(expected.shape(), i), ElementToString(actual, i), ElementToString(expected, i), d.ulp, d.abs,
      d.rel};
}

void Record(Comparison& c, WorstElements& at, const PartDifference& d, const Literal& actual, const Literal& expected,
            int64_t i) {
  if (d.same) return;
  ++c.differing;
  c.nan_mismatches += d.nan;
  c.infinity_mismatches += d.infinity;
  Raise(d.ulp, i, c.max_ulp, at.ulp);
  Raise(d.abs, i, c.max_abs, at.abs);
  Raise(d.rel, i, c.max_rel, at.rel);
  ++c.buckets[std::ranges::upper_bound(kRelativeBuckets, d.rel) - kRelativeBuckets.begin()];
  if (d.agrees) return;
  ++c.mismatches;
  auto worse = [](const ElementDifference& x, const ElementDifference& y) { return x.abs > y.abs; };
  if (c.worst.size() == kWorstKept && !(d.abs > c.worst.back().abs)) return;
  const ElementDifference element = Describe(d, actual, expected, i);
  c.worst.insert(std::ranges::upper_bound(c.worst, element, worse), element);
  if (c.worst.size() > kWorstKept) c.worst.pop_back();
}

}  // namespace

double UlpDistance(ElementType type, double actual, double expected) {
  if (actual == expected) return 0;
  if (std::isnan(actual) || std::isnan(expected) || std::isinf(expected) || std::isinf(actual)) return kInfinity;
  return std::fabs(actual - expected) / UnitInLastPlace(FormatOf(type), expected);
}

bool Agrees(const Literal& actual, const Literal& expected, int64_t i, const Tolerance& tolerance) {
  return CompareElement(actual, expected, i, tolerance).agrees;
}

Tolerance Tolerance::DefaultFor(const Literal& expected) {
  const ElementType type = expected.shape().element_type();
  if (!IsFloating(type) && !IsComplex(type)) return {};
  double largest = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const std::complex<double> value = expected.GetComplex(i);
    for (double part : {value.real(), value.imag()}) {
      if (std::isfinite(part)) largest = std::max(largest, std::fabs(part));
    }
  }
  const int bits = FormatOf(RealPart(type)).mantissa_bits;
  if (bits >= 23) return {1e-5, 1e-6 * largest, 0};
  // Fewer bits: as many of their own units, but no more than two.
  const double scale = std::ldexp(1.0, 23 - bits), two_units = std::ldexp(2.0, -bits);
  return {std::min(1e-5 * scale, two_units), std::min(1e-6 * scale, two_units) * largest, 0};
}

std::string IndexToString(const Shape& shape, int64_t index) {
  IntList multi(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    multi[d] = index % shape.dimension(d);
    index /= shape.dimension(d);
  }
  return JoinInts(multi);
}

std::string ElementToString(const Literal& literal, int64_t i) {
  const ElementType type = literal.shape().element_type();
  auto real = [&](double value) {
    return BitWidth(RealPart(type)) > 32 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  };
  if (type == ElementType::kPred) return literal.GetInt(i) != 0 ? "true" : "false";
  if (IsUnsigned(type)) return fmt::format("{}", static_cast<uint64_t>(literal.GetInt(i)));
  if (IsSigned(type)) return fmt::format("{}", literal.GetInt(i));
  if (IsComplex(type)) {
    const std::complex<double> value = literal.GetComplex(i);
    return fmt::format("({}, {})", real(value.real()), real(value.imag()));
  }
  return real(literal.GetDouble(i));
}

Comparison Compare(const Literal& actual, const Literal& expected, const Tolerance& tolerance) {
  Comparison comparison;
  comparison.shapes_match = Compatible(actual.shape(), expected.shape());
  comparison.elements = expected.element_count();
  if (!comparison.shapes_match) {
    comparison.shapes = fmt::format("{}, want {}", actual.shape().ToString(), expected.shape().ToString());
    return comparison;
  }
  if (actual.is_dynamic() || expected.is_dynamic()) {  // padding is no part of a value
    Tolerance cut = tolerance;
    std::array<Literal, 3> literals;
    size_t count = 0;
    for (const Literal** literal : {&cut.magnitudes, &cut.may_overflow, &cut.half_turns}) {
      if (*literal == nullptr) continue;
      literals[count] = CutToLiveSizes(**literal);
      *literal = &literals[count++];
    }
    return Compare(CutToLiveSizes(actual), CutToLiveSizes(expected), cut);
  }
  // Most elements of most comparisons are the same bits, which say nothing.
  const std::byte *left = actual.bytes().data(), *right = expected.bytes().data();
  const auto bytes = static_cast<size_t>(StorageBytes(expected.shape().element_type()));
  WorstElements worst;
  for (int64_t i = 0; i < comparison.elements; ++i) {
    const size_t at = static_cast<size_t>(i) * bytes;
    if (std::memcmp(left + at, right + at, bytes) == 0) continue;
    Record(comparison, worst, CompareElement(actual, expected, i, tolerance), actual, expected, i);
  }
  const auto described = [&](int64_t i) -> std::optional<ElementDifference> {
    if (i < 0) return std::nullopt;
    return Describe(CompareElement(actual, expected, i, tolerance), actual, expected, i);
  };
  comparison.worst_ulp = described(worst.ulp);
  comparison.worst_abs = described(worst.abs);
  comparison.worst_rel = described(worst.rel);
  return comparison;
}

}  // namespace VXLA_NAMESPACE
