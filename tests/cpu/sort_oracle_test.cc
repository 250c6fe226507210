// Sort against std::stable_sort: every dimension, several arrays at once, comparators with NaN, both zeros and the
// total order, ties. The arrays carry their own positions, so an unstable or inconsistent permutation shows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "tests/cpu/cpu_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;
using Sizes = std::vector<int64_t>;

// The order that sorting one line of a key (and a second key) must give.
std::vector<int64_t> StableOrder(int64_t n, const std::function<bool(int64_t, int64_t)>& less) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

// Few distinct values, so that ties are common; floats with both zeros, infinities and NaNs of both signs if asked.
Literal Keys(ElementType type, const Sizes& sizes, uint32_t seed, bool special) {
  std::mt19937 engine(seed);
  Literal x(Shape(type, sizes));
  const double specials[] = {0.0, -0.0, kInf, -kInf, kNan, -kNan};
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t value = static_cast<int64_t>(engine() % 11) - (IsUnsigned(type) || type == kPred ? 0 : 5);
    if (!IsFloating(type)) {
      x.SetInt(i, type == kPred ? value % 2 : value);
    } else {
      x.SetDouble(i, special && engine() % 3 == 0 ? specials[engine() % 6] : static_cast<double>(value));
    }
  }
  return x;
}

double KeyAt(const Literal& x, int64_t i) {
  return IsFloating(x.shape().element_type()) ? x.GetDouble(i) : static_cast<double>(x.GetInt(i));
}

int64_t TotalOrder(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

struct SortCase {
  ElementType type;
  Sizes sizes;
  int64_t dimension;
  std::string direction;  // LT or GT
  bool total_order = false;
};

void CheckSort(const SortCase& c) {
  const Literal keys = Keys(c.type, c.sizes, 3, c.total_order);
  Literal positions(Shape(kS32, c.sizes));
  for (int64_t i = 0; i < positions.element_count(); ++i) positions.SetInt(i, i);
  const std::string t(ElementTypeName(c.type)), k = Text(keys.shape()), p = Text(positions.shape());
  const std::string text =
      Entry("k = " + k + " parameter(0)\np = " + p + " parameter(1)\nROOT r = (" + k + ", " + p +
                ") sort(k, p), dimensions={" + std::to_string(c.dimension) + "}, is_stable=true, to_apply=cmp",
            "cmp {\n a = " + t + "[] parameter(0)\n b = " + t + "[] parameter(1)\n c = s32[] parameter(2)\n" +
                " d = s32[] parameter(3)\n ROOT r = pred[] compare(a, b), direction=" + c.direction +
                (c.total_order ? ", type=TOTALORDER" : "") + "\n}\n");
  const Literal r = RunText(text, {keys, positions});
  const int64_t n = c.sizes[static_cast<size_t>(c.dimension)];
  const int64_t stride = RowMajorStrides(c.sizes)[static_cast<size_t>(c.dimension)];
  for (int64_t line = 0; n > 0 && line < keys.element_count() / n; ++line) {
    const int64_t base = line / stride * stride * n + line % stride;
    const std::vector<int64_t> order = StableOrder(n, [&](int64_t i, int64_t j) {
      const double a = KeyAt(keys, base + i * stride), b = KeyAt(keys, base + j * stride);
      if (c.total_order) return c.direction == "LT" ? TotalOrder(a) < TotalOrder(b) : TotalOrder(a) > TotalOrder(b);
      return c.direction == "LT" ? a < b : a > b;
    });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t from = base + order[static_cast<size_t>(i)] * stride;
      ASSERT_EQ(r.tuple_elements()[1].GetInt(base + i * stride), from) << text << " line " << line << " at " << i;
      const double got = KeyAt(r.tuple_elements()[0], base + i * stride), want = KeyAt(keys, from);
      ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want)) << text;
    }
  }
}

TEST(StableSortTest, EveryTypeDimensionAndDirection) {
  for (ElementType type :
       {kPred, kS4, kU4, kS8, kU8, kS16, kU16, kS32, kU32, kS64, kU64, kF8E5M2, kF16, kBF16, kF32, kF64}) {
    for (const std::string direction : {"LT", "GT"}) {
      CheckSort({type, {101}, 0, direction});
      for (int64_t d = 0; d < 3; ++d) CheckSort({type, {5, 13, 7}, d, direction});
    }
  }
}

TEST(StableSortTest, TotalOrderWithNanAndZerosOfBothSigns) {
  for (ElementType type : {kF16, kBF16, kF32, kF64}) {
    for (const std::string direction : {"LT", "GT"}) {
      CheckSort({type, {503}, 0, direction, true});
      CheckSort({type, {17, 3, 19}, 1, direction, true});
      CheckSort({type, {17, 3, 19}, 2, direction, true});
    }
  }
}

TEST(StableSortTest, EmptySingleAndLongLines) {
  CheckSort({kF32, {0}, 0, "LT"});
  CheckSort({kF32, {3, 0, 2}, 1, "LT"});
  CheckSort({kF32, {3, 0, 2}, 0, "LT"});
  CheckSort({kF32, {4, 1, 2}, 1, "GT"});
  CheckSort({kF32, {20011}, 0, "LT"});
  CheckSort({kS8, {20011}, 0, "GT"});
}

// Two keys: the first ascending, NaN last, the second descending; a third array goes along.
TEST(StableSortTest, LexicographicComparatorOfTwoKeys) {
  const Sizes sizes = {7, 211};
  const Literal x = Keys(kF32, sizes, 5, true), y = Keys(kS16, sizes, 6, false);
  Literal z(Shape(kU64, sizes));
  for (int64_t i = 0; i < z.element_count(); ++i) z.SetInt(i, i);
  const std::string comparator =
      "cmp {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s16[] parameter(2)\n d = s16[] parameter(3)\n"
      " e = u64[] parameter(4)\n f = u64[] parameter(5)\n"
      " an = pred[] compare(a, a), direction=NE\n bn = pred[] compare(b, b), direction=NE\n"
      " nan_differs = pred[] xor(an, bn)\n both_nan = pred[] and(an, bn)\n"
      " lt = pred[] compare(a, b), direction=LT\n eq = pred[] compare(a, b), direction=EQ\n"
      " tie = pred[] or(eq, both_nan)\n gt = pred[] compare(c, d), direction=GT\n"
      " ordered = pred[] select(tie, gt, lt)\n ROOT r = pred[] select(nan_differs, bn, ordered)\n}\n";
  const Literal r =
      RunText(Entry("x = f32[7,211] parameter(0)\ny = s16[7,211] parameter(1)\nz = u64[7,211] parameter(2)\n"
                    "ROOT r = (f32[7,211], s16[7,211], u64[7,211]) sort(x, y, z), dimensions={1}, to_apply=cmp",
                    comparator),
              {x, y, z});
  for (int64_t line = 0; line < 7; ++line) {
    const std::vector<int64_t> order = StableOrder(211, [&](int64_t i, int64_t j) {
      const double a = x.GetDouble(line * 211 + i), b = x.GetDouble(line * 211 + j);
      if (std::isnan(a) != std::isnan(b)) return std::isnan(b);
      if (a == b || std::isnan(a)) return y.GetInt(line * 211 + i) > y.GetInt(line * 211 + j);
      return a < b;
    });
    for (int64_t i = 0; i < 211; ++i) {
      ASSERT_EQ(r.tuple_elements()[2].GetInt(line * 211 + i), line * 211 + order[static_cast<size_t>(i)])
          << line << " " << i;
    }
  }
}

TEST(TopKOracleTest, TheFirstOfASortedLine) {
  for (ElementType type : {kS8, kU32, kS64, kU64, kBF16, kF32, kF64}) {
    for (const bool largest : {true, false}) {
      for (int64_t k : {0, 1, 5, 37}) {
        const Literal x = Keys(type, {3, 37}, 8, true);
        const std::string t(ElementTypeName(type));
        const std::string values = Text(Shape(type, {3, k})), positions = Text(Shape(kS32, {3, k}));
        const Literal r =
            RunText(Entry("x = " + Text(x.shape()) + " parameter(0)\nROOT r = (" + values + ", " + positions +
                          ") topk(x), k=" + std::to_string(k) + ", largest=" + (largest ? "true" : "false")),
                    {x});
        for (int64_t line = 0; line < 3; ++line) {
          const std::vector<int64_t> order = StableOrder(37, [&](int64_t i, int64_t j) {
            const int64_t a = TotalOrder(KeyAt(x, line * 37 + i)), b = TotalOrder(KeyAt(x, line * 37 + j));
            return largest ? a > b : a < b;
          });
          for (int64_t i = 0; i < k; ++i) {
            ASSERT_EQ(r.tuple_elements()[1].GetInt(line * k + i), order[static_cast<size_t>(i)])
                << ElementTypeName(type);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
