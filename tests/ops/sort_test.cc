// sort and topk on the device: the reference's order to the bit, ties included.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "tests/support/lowered_run.h"

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

// Sorts by a key of each type and then by the next, so that each decides ties of the one before, together with the
// positions: up or down, in the default order or the total one.
void CheckKeys(const std::vector<ElementType>& types, bool up, bool total) {
  std::string parameters, operands, shapes, arguments, compares, order;
  std::vector<Literal> values;
  const int count = static_cast<int>(types.size());
  for (int k = 0; k < count; ++k) {
    const std::string_view type = ElementTypeName(types[static_cast<size_t>(k)]);
    const std::string by = total ? ", type=TOTALORDER" : "";
    parameters += fmt::format("a{0} = {1}[] parameter({2})  b{0} = {1}[] parameter({3})\n", k, type, 2 * k, 2 * k + 1);
    operands += fmt::format("k{0} = {1}[3,53] parameter({0})\n", k, type);
    shapes += fmt::format("{}[3,53], ", type);
    arguments += fmt::format("k{}, ", k);
    compares += fmt::format("{3}l{0} = pred[] compare(a{0}, b{0}), direction={1}{2}\n", k, up ? "LT" : "GT", by,
                            count == 1 ? "ROOT " : "");
    compares += fmt::format("e{0} = pred[] compare(a{0}, b{0}), direction=EQ{1}\n", k, by);
    values.push_back(Keys(Shape(types[static_cast<size_t>(k)], {3, 53}), static_cast<uint32_t>(k), total));
  }
  for (int k = count - 2; k >= 0; --k) {
    order += fmt::format("n{0} = pred[] and(e{0}, {1}{2})  {3}o{0} = pred[] or(l{0}, n{0})\n", k,
                         k + 2 < count ? 'o' : 'l', k + 1, k == 0 ? "ROOT " : "");
  }
  values.push_back(Positions(Shape(kF32, {3, 53})));
  RunBoth(fmt::format("f {{ {0} a = s32[] parameter({1})  b = s32[] parameter({2})\n {3} {4} }}\n"
                      "ENTRY e {{ {5} p = s32[3,53] parameter({6})\n"
                      "ROOT r = ({7}s32[3,53]) sort({8}p), dimensions={{1}}, to_apply=f }}",
                      parameters, 2 * count, 2 * count + 1, compares, order, operands, count, shapes, arguments),
          values, Exact());
}

TEST(SortTest, EveryTypeInBothOrders) {
  std::vector<ElementType> types;
  int64_t bits = 0;
  bool up = false;
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type) || IsComplex(type)) continue;
    types.push_back(type);
    bits += std::max(BitWidth(type), 32);
    if (bits < 96 && t + 1 < kElementTypeCount) continue;
    CheckKeys(std::exchange(types, {}), up, false);
    bits = 0;
    up = !up;
  }
  if (!types.empty()) CheckKeys(types, up, false);
  CheckKeys({kF16, kF32, kF64}, true, true);
}

// Infinities, NaN, zeros of both signs, subnormal numbers and extremes of integers, in the total order.
TEST(SortTest, ExtremesOfEveryType) {
  std::string comparators, body, results, shapes;
  std::vector<Literal> arguments;
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type) || IsComplex(type)) continue;
    const size_t n = arguments.size();
    const std::string_view name = ElementTypeName(type);
    comparators += fmt::format(
        "f{0} {{ a = {1}[] parameter(0)  b = {1}[] parameter(1)  ROOT r = pred[] compare(a, b), direction={2}{3} }}\n",
        n, name, n % 2 == 0 ? "LT" : "GT", IsFloating(type) ? ", type=TOTALORDER" : "");
    body += fmt::format(
        "x{0} = {1}[3,67] parameter({0})\ny{0} = {1}[3,67] sort(x{0}), dimensions={{1}}, to_apply=f{0}\n", n, name);
    results += fmt::format("{}y{}", n == 0 ? "" : ", ", n);
    shapes += fmt::format("{}{}[3,67]", n == 0 ? "" : ", ", name);
    arguments.push_back(RandomLiteral(Shape(type, {3, 67}), n, Fill::kSpecial));
  }
  RunBoth(fmt::format("{}ENTRY e {{ {}ROOT r = ({}) tuple({}) }}", comparators, body, shapes, results), arguments,
          Exact());
}

TEST(SortTest, EveryShapeAndDimension) {
  const std::string less = Compare(kF32, "direction=LT");
  const std::vector<std::pair<std::vector<int64_t>, int>> cases = {
      {{1}, 0}, {{3, 0, 5}, 0}, {{5, 1}, 1}, {{3, 41, 5}, 1}, {{2, 1, 3, 2, 5, 3}, 4}, {{1021}, 0}, {{300, 19, 2}, 0}};
  for (const auto& [sizes, dimension] : cases) {
    CheckArgsort(Shape(kF32, sizes), dimension, less);
  }
}

// Tiles that do not hold a row are merged, and rows of 2^14 keys are sorted by their digits on software drivers.
TEST(SortTest, LongRows) {
  CheckArgsort(Shape(kS32, {5003, 2}), 0, Compare(kS32, "direction=LT"), false, true);
  CheckArgsort(Shape(kS32, {2, 16411}), 1, Compare(kS32, "direction=LT"), false, true);
  CheckArgsort(Shape(kBF16, {16411, 2}), 0, Compare(kBF16, "direction=LT"));
  CheckArgsort(Shape(kS64, {32801}), 0, Compare(kS64, "direction=GT"), false, true);
}

TEST(SortTest, OneOperandMovesAsItIs) {
  // The second is large enough for runs in registers.
  for (const Shape& shape : {Shape(kF16, {20011}), Shape(kU8, {4100, 17})}) {
    const std::string type(ElementTypeName(shape.element_type()));
    RunBoth(fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)\n ROOT r = pred[] compare(b, a), "
                        "direction=LT }}\n ENTRY e {{ k = {1} parameter(0)\n ROOT r = {1} sort(k), dimensions={{{2}}}, "
                        "to_apply=f }}",
                        type, shape.ToString(), shape.rank() - 1),
            {Keys(shape, 5)}, Exact());
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
  CheckArgsort(Shape(kF32, {16411}), 0, comparator, true);
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

// As XLA's simplifier writes bitcast-convert of scalars.
TEST(SortTest, ComparatorsThatReadBits) {
  CheckArgsort(Shape(kF32, {2, 67}), 1,
               "f { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)\n"
               "x = s32[] bitcast(a)  y = s32[] bitcast(b)  ROOT r = pred[] compare(x, y), direction=LT }\n");
}

TEST(SortTest, ComparatorsThatAreNoOrderGivePermutations) {
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
  for (const Case& c : {Case{Shape(kU64, {3, 61}), 7, true}, Case{Shape(kF32, {3, 61}), 61, false},
                        Case{Shape(kF32, {2, 5, 6}), 0, true}, Case{Shape(kBF16, {1, 20011}), 100, true},
                        Case{Shape(kS8, {4, 9001}), 3, false}, Case{Shape(kPred, {0, 5}), 3, true},
                        Case{Shape(kF32, {2, 33000}), 20000, true}}) {
    Shape values = c.shape;
    values.set_dimension(values.rank() - 1, c.k);
    const std::string v = values.ToString(), p = PositionShape(values).ToString();
    SCOPED_TRACE(fmt::format("{} {} {}", c.shape.ToString(), c.k, c.largest));
    RunBoth(fmt::format("ENTRY e {{ x = {} parameter(0)  ROOT r = ({}, {}) topk(x), k={}, largest={} }}",
                        c.shape.ToString(), v, p, c.k, c.largest),
            {Keys(c.shape, 4, true)}, Exact());
  }
}

// The last one's key is found digit by digit: no pass moves the row. Also of rows without order or of one value only,
// of keys of one and two words, and with more kept than a tile sorts.
TEST(TopKTest, DigitsOfLongRows) {
  const BindingMode mode = ModesToRun().back();
  ASSERT_NE(DeviceClient(mode), nullptr);
  struct Case {
    Shape shape;
    int64_t k;
    bool largest, nans, spread;
  };
  for (const Case& c :
       {Case{Shape(kF32, {3, 30011}), 3000, true, true, true}, Case{Shape(kF32, {1, 70000}), 40, false, false, true},
        Case{Shape(kF16, {2, 33333}), 500, true, true, true}, Case{Shape(kBF16, {1, 20011}), 17, false, true, false},
        Case{Shape(kS8, {2, 40001}), 5000, true, false, true}, Case{Shape(kPred, {2, 40000}), 5000, true, false, false},
        Case{Shape(kU16, {1, 16384}), 2048, false, false, true}, Case{Shape(kS64, {2, 33333}), 4000, true, false, true},
        Case{Shape(kF64, {1, 50001}), 6000, false, true, true},
        Case{Shape(kU32, {1, 300007}), 30000, true, false, true}}) {
    Shape values = c.shape;
    values.set_dimension(values.rank() - 1, c.k);
    const std::string text =
        fmt::format("ENTRY e {{ x = {} parameter(0)  ROOT r = ({}, {}) topk(x), k={}, largest={} }}",
                    c.shape.ToString(), values.ToString(), PositionShape(values).ToString(), c.k, c.largest);
    SCOPED_TRACE(text);
    RunBoth(text, {Keys(c.shape, 4, c.nans, c.spread)}, Exact());
  }
  for (const char* type : {"f32", "s64", "f16"}) {
    SCOPED_TRACE(type);
    const std::string text = fmt::format(
        "ENTRY e {{ x = {0}[2,140001] parameter(0)  ROOT r = ({0}[2,900], s32[2,900]) topk(x), k=900 }}", type);
    // Counts are set to zero; a digit is counted in one step; then three, and at least one that sorts.
    const int digits = std::string_view(type) == "s64" ? 6 : std::string_view(type) == "f32" ? 3 : 2;
    EXPECT_EQ(ExpectLoweredAgrees(text, mode, AsGpu(mode)), 1 + digits + 3);
    EXPECT_GE(ExpectLoweredAgrees(text, mode, DeviceClient(mode)->device().facts()), 1 + digits + 3);
  }
}

// GPUs read tiles neighbour by neighbour, sort runs in registers, and merge in small units.
TEST(SortTest, KernelsForGpusAgree) {
  const BindingMode mode = ModesToRun().back();
  ASSERT_NE(DeviceClient(mode), nullptr);
  const DeviceFacts facts = AsGpu(mode);
  const int steps = ExpectLoweredAgrees(
      "f { a = s32[] parameter(0)  b = s32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)\n"
      "ROOT r = pred[] compare(a, b), direction=LT }\n"
      "ENTRY e { x = s32[17,4099] parameter(0)  y = f32[17,4099] parameter(1)\n"
      "ROOT r = (s32[17,4099], f32[17,4099]) sort(x, y), dimensions={1}, to_apply=f }",
      mode, facts);
  EXPECT_GT(steps, 1);
  ExpectLoweredAgrees("ENTRY e { x = f32[2,9001] parameter(0)  ROOT r = (f32[2,20], s32[2,20]) topk(x), k=20 }", mode,
                      facts);
}

// Digits of long rows are sorted tile by tile; a GPU's subgroups rank them.
TEST(SortTest, RadixTilesForGpusAgree) {
  const BindingMode mode = ModesToRun().back();
  ASSERT_NE(DeviceClient(mode), nullptr);
  const DeviceFacts facts = AsGpu(mode);
  struct Case {
    const char *type, *compare;
    std::array<int64_t, 2> sizes;
    int dimension;
    bool positions;
  };
  for (const Case& c :
       {Case{"f32", "direction=LT, type=TOTALORDER", {1, 100003}, 1, true},
        Case{"s32", "direction=GT", {2, 70001}, 1, false}, Case{"u8", "direction=LT", {66067, 2}, 0, true},
        Case{"f16", "direction=LT", {2, 70001}, 1, false}, Case{"s64", "direction=LT", {1, 600011}, 1, true}}) {
    const std::string sizes = fmt::format("[{},{}]", c.sizes[0], c.sizes[1]);
    SCOPED_TRACE(c.type + sizes);
    const std::string keys = c.type + sizes, positions = "s32" + sizes;
    const std::string shape = c.positions ? fmt::format("({}, {})", keys, positions) : keys;
    const int steps = ExpectLoweredAgrees(
        fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  {1}\n"
                    "ROOT r = pred[] compare(a, b), {2} }}\n"
                    "ENTRY e {{ x = {3} parameter(0)  {4}\n"
                    "ROOT r = {5} sort(x{6}), dimensions={{{7}}}, is_stable=true, to_apply=f }}",
                    c.type, c.positions ? "c = s32[] parameter(2)  d = s32[] parameter(3)" : "", c.compare, keys,
                    c.positions ? fmt::format("p = {} parameter(1)", positions) : "", shape, c.positions ? ", p" : "",
                    c.dimension),
        mode, facts);
    const int phases = facts.subgroup_shuffle ? 3 : 1;  // merges would be 7, 8 or 11 steps
    EXPECT_EQ(steps % phases, 0);
  }
}

}  // namespace sort_test
}  // namespace VXLA_NAMESPACE::testing
