// sort and topk on the device: the reference's order to the bit, ties included.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace sort_test {

using enum ElementType;

// Few distinct values (many if `spread`), so that ties are common; floats with both zeros, infinities and, if asked,
// NaNs of both signs.
Literal Keys(const Shape& shape, uint32_t seed, bool nans = false, bool spread = false) {
  std::mt19937 engine(seed);
  Literal x(shape);
  const ElementType type = shape.element_type();
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const double specials[] = {0.0, -0.0, kInf, -kInf, kNan, -kNan};
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const int64_t value = spread ? static_cast<int64_t>(engine()) - (int64_t{1} << 31)
                                 : static_cast<int64_t>(engine() % 11) - (IsUnsigned(type) ? 0 : 5);
    if (IsComplex(type)) {
      x.SetComplex(i, {static_cast<double>(value), static_cast<double>(engine() % 3)});
    } else if (!IsFloating(type)) {
      x.SetInt(i, type == kPred ? (value & 1) : value);
    } else {
      x.SetDouble(i, engine() % 3 == 0 ? specials[engine() % (nans ? 6 : 4)] : static_cast<double>(value));
      // Not every type has a zero, signs and infinities.
      if (!nans && std::isnan(x.GetDouble(i))) x.SetDouble(i, 1);
    }
  }
  return x;
}

Shape PositionShape(const Shape& shape) { return Shape(kS32, {shape.dimensions().begin(), shape.dimensions().end()}); }

Literal Positions(const Shape& shape) {
  Literal positions(PositionShape(shape));
  for (int64_t i = 0; i < positions.element_count(); ++i) positions.SetInt(i, i);
  return positions;
}

RunOptions Exact() {
  RunOptions options;
  options.tolerance = Tolerance{};
  return options;
}

std::string Compare(ElementType type, const std::string& rest) {
  return fmt::format(
      "f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)\n"
      "ROOT r = pred[] compare(a, b), {1} }}\n",
      ElementTypeName(type), rest);
}

// Keys and their positions, sorted together: an order of ties that is not the reference's shows.
void CheckArgsort(const Shape& shape, int dimension, const std::string& comparator, bool nans = false,
                  bool spread = false) {
  SCOPED_TRACE(fmt::format("{} along {} {}", shape.ToString(), dimension, comparator));
  const Literal keys = Keys(shape, 3, nans, spread), positions = Positions(shape);
  RunBoth(fmt::format("{0}ENTRY e {{ k = {1} parameter(0)  p = {2} parameter(1)\n"
                      "ROOT r = ({1}, {2}) sort(k, p), dimensions={{{3}}}, is_stable=true, to_apply=f }}",
                      comparator, shape.ToString(), positions.shape().ToString(), dimension),
          {keys, positions}, Exact());
}

TEST(SortTest, EveryTypeInBothOrders) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type) || IsComplex(type)) continue;
    const std::string direction = t % 2 == 0 ? "direction=LT" : "direction=GT";
    CheckArgsort(Shape(type, {3, 53}), 1, Compare(type, direction));
  }
  for (const ElementType type : {kF32, kF16, kF64, kF8E5M2}) {
    CheckArgsort(Shape(type, {3, 53}), 1, Compare(type, "direction=LT, type=TOTALORDER"), true);
  }
}

TEST(SortTest, EveryShapeAndDimension) {
  const std::string less = Compare(kF32, "direction=LT");
  for (const auto& [sizes, dimension] : std::vector<std::pair<std::vector<int64_t>, int>>{{{1}, 0},
                                                                                          {{7}, 0},
                                                                                          {{0}, 0},
                                                                                          {{3, 0, 5}, 0},
                                                                                          {{5, 1}, 1},
                                                                                          {{3, 41, 5}, 0},
                                                                                          {{3, 41, 5}, 1},
                                                                                          {{2, 1, 3, 2, 5, 3}, 4},
                                                                                          {{1021}, 0},
                                                                                          {{67, 5}, 1},
                                                                                          {{300, 19, 2}, 0}}) {
    CheckArgsort(Shape(kF32, sizes), dimension, less);
  }
}

// Tiles that do not hold a row are merged, and rows of 2^14 keys are sorted by their digits on software drivers.
TEST(SortTest, LongRows) {
  CheckArgsort(Shape(kF32, {2, 7001}), 1, Compare(kF32, "direction=GT"));
  CheckArgsort(Shape(kS32, {5003, 2}), 0, Compare(kS32, "direction=LT"), false, true);
  CheckArgsort(Shape(kS32, {2, 16411}), 1, Compare(kS32, "direction=LT"), false, true);
  CheckArgsort(Shape(kF32, {16411}), 0, Compare(kF32, "direction=GT, type=TOTALORDER"), true);
  CheckArgsort(Shape(kBF16, {16411, 2}), 0, Compare(kBF16, "direction=LT"));
  CheckArgsort(Shape(kS64, {32801}), 0, Compare(kS64, "direction=GT"), false, true);
}

TEST(SortTest, OneOperandMovesAsItIs) {
  for (const Shape& shape : {Shape(kU8, {20011}), Shape(kF16, {20011}), Shape(kU32, {3, 777}), Shape(kPred, {301})}) {
    const std::string type(ElementTypeName(shape.element_type()));
    RunBoth(fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)\n ROOT r = pred[] compare(b, a), "
                        "direction=LT }}\n ENTRY e {{ k = {1} parameter(0)\n ROOT r = {1} sort(k), dimensions={{{2}}}, "
                        "to_apply=f }}",
                        type, shape.ToString(), shape.rank() - 1),
            {Keys(shape, 5, false, shape.element_type() == kU32)}, Exact());
  }
}

// As JAX writes it: both zeros are one key, and all NaNs are one, the greatest.
TEST(SortTest, OrderOfJax) {
  const std::string comparator = R"(f { a = f32[] parameter(0)  b = f32[] parameter(1)
  c = s32[] parameter(2)  d = s32[] parameter(3)
  z = f32[] constant(0)  n = f32[] constant(nan)
  a0 = pred[] compare(a, z), direction=EQ  a1 = f32[] select(a0, z, a)
  a2 = pred[] compare(a, a), direction=NE  a3 = f32[] select(a2, n, a1)
  b0 = pred[] compare(b, z), direction=EQ  b1 = f32[] select(b0, z, b)
  b2 = pred[] compare(b, b), direction=NE  b3 = f32[] select(b2, n, b1)
  ROOT r = pred[] compare(a3, b3), direction=LT, type=TOTALORDER }
)";
  for (const int64_t size : {331, 16411}) CheckArgsort(Shape(kF32, {size}), 0, comparator, true);
}

// Sorts (s32 keys, f32 keys, c64 values) and expects what the reference gives.
void CheckThree(int64_t size, const std::string& comparator, bool same = true) {
  SCOPED_TRACE(fmt::format("{} {}", size, comparator));
  const Shape a(kS32, {size}), b(kF32, {size}), c(kC64, {size});
  const std::string text = fmt::format(
      "f {{ a = s32[] parameter(0)  b = s32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)\n"
      "v = c64[] parameter(4)  w = c64[] parameter(5)\n {1} }}\n"
      "ENTRY e {{ a = s32[{0}] parameter(0)  b = f32[{0}] parameter(1)  c = c64[{0}] parameter(2)\n"
      "ROOT r = (s32[{0}], f32[{0}], c64[{0}]) sort(a, b, c), dimensions={{0}}, to_apply=f }}",
      size, comparator);
  const std::vector<Literal> arguments = {Keys(a, 7), Keys(b, 8), Keys(c, 9)};
  if (same) {
    RunBoth(text, arguments, Exact());
    return;
  }
  const auto module = ParseModule(text);
  ASSERT_NE(module, nullptr);
  for (const BindingMode mode : ModesToRun()) {
    const std::optional<Literal> result = RunOnDevice(mode, *module, arguments);
    ASSERT_TRUE(result.has_value());
    std::vector<std::array<double, 4>> want, got;
    for (int64_t i = 0; i < size; ++i) {
      const auto row = [i](const Literal& x, const Literal& y, const Literal& z) {
        return std::array{static_cast<double>(x.GetInt(i)), y.GetDouble(i), z.GetComplex(i).real(),
                          z.GetComplex(i).imag()};
      };
      want.push_back(row(arguments[0], arguments[1], arguments[2]));
      got.push_back(row(result->tuple_elements()[0], result->tuple_elements()[1], result->tuple_elements()[2]));
    }
    std::ranges::sort(want);
    std::ranges::sort(got);
    EXPECT_EQ(got, want);
  }
}

TEST(SortTest, SeveralKeys) {
  // By a descending, then by c ascending; as a selection, and by three keys.
  CheckThree(2503, R"(gt = pred[] compare(a, b), direction=GT  eq = pred[] compare(a, b), direction=EQ
    lt = pred[] compare(c, d), direction=LT  both = pred[] and(lt, eq)  ROOT r = pred[] or(gt, both))");
  CheckThree(67, R"(gt = pred[] compare(a, b), direction=GT  eq = pred[] compare(b, a), direction=EQ
    lt = pred[] compare(c, d), direction=LT  ROOT r = pred[] select(eq, lt, gt))");
  CheckThree(67, R"(x = f32[] real(v)  y = f32[] real(w)  i = f32[] imag(v)  j = f32[] imag(w)
    l1 = pred[] compare(a, b), direction=LT  e1 = pred[] compare(a, b), direction=EQ
    l2 = pred[] compare(x, y), direction=LT  e2 = pred[] compare(x, y), direction=EQ
    l3 = pred[] compare(i, j), direction=LT  n3 = pred[] and(e2, l3)  o2 = pred[] or(l2, n3)
    n2 = pred[] and(e1, o2)  ROOT r = pred[] or(l1, n2))");
}

TEST(SortTest, ComparatorsThatHaveNoKeys) {
  // An order that no key is seen of; ties turned round; and values of both sides mixed.
  CheckThree(2503, R"(x = s32[] subtract(a, b)  z = s32[] constant(0)  ROOT r = pred[] compare(x, z), direction=GT)");
  CheckThree(2503, "ROOT r = pred[] compare(a, b), direction=GE");
  CheckThree(67, "ROOT r = pred[] constant(false)");
}

TEST(SortTest, ComparatorsThatAreNoOrderGivePermutations) {
  CheckThree(2503, "ROOT r = pred[] compare(a, b), direction=NE", false);
  CheckThree(2503, R"(x = s32[] multiply(a, b)  y = f32[] convert(x)  z = f32[] multiply(y, c)
    ROOT r = pred[] compare(z, d), direction=LT)",
             false);
}

TEST(TopKTest, ValuesAndPositions) {
  struct Case {
    Shape shape;
    int64_t k;
    bool largest;
  };
  for (const Case& c :
       {Case{Shape(kF32, {3, 61}), 7, true}, Case{Shape(kF32, {3, 61}), 61, false},
        Case{Shape(kF32, {2, 5, 6}), 0, true}, Case{Shape(kBF16, {1, 20011}), 100, true},
        Case{Shape(kS8, {4, 9001}), 3, false}, Case{Shape(kU64, {2, 77}), 5, true}, Case{Shape(kF64, {3000}), 1, true},
        Case{Shape(kPred, {0, 5}), 3, true}, Case{Shape(kF32, {2, 33000}), 20000, true}}) {
    Shape values = c.shape;
    values.set_dimension(values.rank() - 1, c.k);
    const std::string v = values.ToString(), p = PositionShape(values).ToString();
    SCOPED_TRACE(fmt::format("{} {} {}", c.shape.ToString(), c.k, c.largest));
    RunBoth(fmt::format("ENTRY e {{ x = {} parameter(0)  ROOT r = ({}, {}) topk(x), k={}, largest={} }}",
                        c.shape.ToString(), v, p, c.k, c.largest),
            {Keys(c.shape, 4, true)}, Exact());
  }
}

}  // namespace sort_test
}  // namespace VXLA_NAMESPACE::testing
