#include "api/verify/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/numerics/literal_compare.h"

namespace VXLA_NAMESPACE {

double ElementDistance(const Literal& actual, const Literal& expected, int64_t i) {
  const ElementType type = expected.shape().element_type();
  if (!IsFloating(type) && !IsComplex(type)) {
    const int64_t a = actual.GetInt(i), e = expected.GetInt(i);
    return a == e ? 0 : std::max(1.0, std::fabs(static_cast<double>(a) - static_cast<double>(e)));
  }
  auto part = [&](double a, double e) {
    return std::isnan(a) && std::isnan(e) ? 0 : UlpDistance(RealPart(type), a, e);
  };
  const std::complex<double> a = actual.GetComplex(i), e = expected.GetComplex(i);
  return std::max(part(a.real(), e.real()), part(a.imag(), e.imag()));
}

size_t DistanceHistogram::last() const {
  size_t last = 0;
  for (size_t b = 0; b < counts.size(); ++b) last = counts[b] > 0 ? b : last;
  return last;
}

std::string DistanceHistogram::Label(size_t bucket) {
  if (bucket == 0) return "equal";
  if (bucket == static_cast<size_t>(kPowers) + 2) return "NaN, inf";
  if (bucket == static_cast<size_t>(kPowers) + 1) return "more";
  if (bucket > 15) return fmt::format("≤ 2^{}", bucket - 2);
  return bucket == 1 ? "≤ 0.5" : fmt::format("≤ {}", int64_t{1} << (bucket - 2));
}

DistanceHistogram HistogramOf(const Literal& actual, const Literal& expected) {
  DistanceHistogram histogram;
  histogram.total = expected.element_count();
  for (int64_t i = 0; i < histogram.total; ++i) {
    const double distance = ElementDistance(actual, expected, i);
    if (distance == 0) {
      ++histogram.counts[0];
    } else if (!std::isfinite(distance)) {
      ++histogram.counts.back();
    } else {
      const int power = static_cast<int>(std::ceil(std::log2(distance)));
      ++histogram.counts[std::clamp(power + 2, 1, DistanceHistogram::kPowers + 1)];
    }
  }
  return histogram;
}

HeatMap HeatMapOf(const Literal& actual, const Literal& expected) {
  HeatMap map;
  const Shape& shape = expected.shape();
  const int64_t count = expected.element_count();
  if (count == 0) return map;
  map.array_columns = shape.rank() == 0 ? 1 : shape.dimension(shape.rank() - 1);
  map.array_rows = count / map.array_columns;
  map.columns = std::min<int64_t>(map.array_columns, 64);
  map.rows = std::min<int64_t>(map.array_rows, 48);
  map.worst.assign(static_cast<size_t>(map.rows * map.columns), 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / map.array_columns * map.rows / map.array_rows;
    const int64_t column = i % map.array_columns * map.columns / map.array_columns;
    double& cell = map.worst[row * map.columns + column];
    cell = std::max(cell, ElementDistance(actual, expected, i));
  }
  return map;
}

}  // namespace VXLA_NAMESPACE
