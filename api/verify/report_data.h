// What the pictures of a comparison show: how many elements lie how far apart, and where.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/data/literal.h"

namespace VXLA_NAMESPACE {

// Units in the last place of the expected value (the worse part of complex numbers), or for integers their difference;
// infinite across NaN and infinity.
double ElementDistance(const Literal& actual, const Literal& expected, int64_t index);

// Elements by distance: bucket 0 is equal, then up to 1/2, 1, 2, 4 ... 2^30, more, and last what is NaN or infinite on
// one side.
struct DistanceHistogram {
  static constexpr int kPowers = 32;
  std::array<int64_t, kPowers + 3> counts{};
  int64_t total = 0;
  size_t last() const;                      // the last bucket that is not empty
  static std::string Label(size_t bucket);  // "equal", "≤ 0.5", "≤ 2^20", "more", "NaN, inf"
};
DistanceHistogram HistogramOf(const Literal& actual, const Literal& expected);

// An array as rows of its last dimension, shrunk to at most 48 rows of 64 cells; a cell is the worst distance of the
// elements under it.
struct HeatMap {
  int64_t rows = 0, columns = 0;              // of cells
  int64_t array_rows = 0, array_columns = 0;  // of elements
  std::vector<double> worst;                  // row-major; empty: the array is
  double at(int64_t row, int64_t column) const { return worst[row * columns + column]; }
};
HeatMap HeatMapOf(const Literal& actual, const Literal& expected);

}  // namespace VXLA_NAMESPACE
