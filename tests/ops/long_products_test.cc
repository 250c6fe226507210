// Products of many factors on the device against the CPU reference: near 1 a plain product loses the same at each step.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "core/data/float_formats.h"
#include "tests/support/device_test_support.h"

namespace VXLA_NAMESPACE::testing {
namespace long_products_test {

constexpr int64_t kFactors = 20011;

struct Factors {
  std::string name;
  std::vector<double> values;
};

std::vector<double> Filled(const std::function<double(int64_t)>& factor) {
  std::vector<double> values;
  for (int64_t i = 0; i < kFactors; ++i) values.push_back(factor(i));
  return values;
}

// `unit`: the distance from 1 to the next number.
std::vector<Factors> NearOne(double unit) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Factors> all;
  for (const double k : {1.0, 2.0, 3.0, 5.0, 16.0, -0.5, -1.0, -3.5}) {
    all.push_back({fmt::format("1 and {} units", k), Filled([&](int64_t) { return 1 + k * unit; })});
  }
  for (const double near : {1e-4, 1e-3}) {
    all.push_back({fmt::format("1 + {} x", near), Filled([&](int64_t) { return 1 + near * normal(random); })});
    all.push_back({fmt::format("1 + {} |x|", near), Filled([&](int64_t) { return 1 + near * uniform(random); })});
  }
  all.push_back({"x and 1 / x", Filled([&](int64_t i) { return i % 2 == 0 ? 3 : 1.0 / 3; })});
  all.push_back({"negative", Filled([&](int64_t) { return -1 - 2 * unit * uniform(random); })});
  all.push_back({"first small", Filled([&](int64_t i) { return i == 0 ? 1e-28 : 1 + 3 * unit; })});
  all.push_back({"first large", Filled([&](int64_t i) { return i == 0 ? 1e30 : 1 + 3 * unit; })});
  return all;
}

// A value at one place, ones and twos in turn elsewhere.
std::vector<Factors> Special() {
  std::vector<Factors> all;
  const auto with = [&](const std::string& name, const std::vector<std::pair<int64_t, double>>& special) {
    all.push_back({name, Filled([&](int64_t i) {
                     for (const auto& [at, value] : special) {
                       if (at == i) return value;
                     }
                     return i % 2 == 0 ? 2 : 0.5;
                   })});
  };
  constexpr int64_t kMiddle = kFactors / 2;
  with("exact powers of two", {});
  with("zero", {{kMiddle, 0.0}});
  with("minus zero", {{kMiddle, -0.0}});
  with("minus zeros", {{3, -0.0}, {kMiddle, -0.0}, {kFactors - 5, -1.0}});
  with("infinity", {{kMiddle, INFINITY}});
  with("minus infinity", {{kMiddle, -INFINITY}});
  with("NaN", {{kMiddle, NAN}});
  with("infinity times zero", {{7, INFINITY}, {kMiddle, 0.0}});
  with("zero times infinity", {{7, -0.0}, {kMiddle, INFINITY}});
  return all;
}

Literal Of(ElementType type, const std::vector<Factors>& rows, size_t first, size_t count) {
  Literal literal(Shape(type, {static_cast<int64_t>(count), kFactors}));
  for (size_t r = 0; r < count; ++r) {
    for (int64_t i = 0; i < kFactors; ++i)
      literal.SetDouble(static_cast<int64_t>(r) * kFactors + i, rows[first + r].values[static_cast<size_t>(i)]);
  }
  return literal;
}

std::string Reducer(const std::string& type) {
  return fmt::format("f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] multiply(a, b) }}\n", type);
}

std::string Reduce(const std::string& type, size_t rows) {
  return Reducer(type) + fmt::format(
                             "ENTRY e {{ x = {0}[{1},{2}] parameter(0)  z = {0}[] constant(1)\n"
                             "ROOT r = {0}[{1}] reduce(x, z), dimensions={{1}}, to_apply=f }}",
                             type, rows, kFactors);
}

std::string Columns(const std::string& type, size_t rows) {
  return Reducer(type) + fmt::format(
                             "ENTRY e {{ x = {0}[{2},{1}] parameter(0)  z = {0}[] constant(1)\n"
                             "ROOT r = {0}[{1}] reduce(x, z), dimensions={{0}}, to_apply=f }}",
                             type, rows, kFactors);
}

std::string Running(const std::string& type, size_t rows, bool reverse) {
  return Reducer(type) + fmt::format(
                             "ENTRY e {{ x = {0}[{1},{2}] parameter(0)  z = {0}[] constant(1)\n"
                             "ROOT r = {0}[{1},{2}] reduce-window(x, z), window={{size=1x{2} pad=0_0x{3}}}, "
                             "to_apply=f }}",
                             type, rows, kFactors,
                             reverse ? fmt::format("0_{}", kFactors - 1) : fmt::format("{}_0", kFactors - 1));
}

std::string Window(const std::string& type, size_t rows) {
  return Reducer(type) + fmt::format(
                             "ENTRY e {{ x = {0}[{1},{2}] parameter(0)  z = {0}[] constant(1)\n"
                             "ROOT r = {0}[{1},5] reduce-window(x, z), window={{size=1x4003 stride=1x4002}}, "
                             "to_apply=f }}",
                             type, rows, kFactors);
}

void ExpectEveryWay(ElementType type, const std::vector<Factors>& all) {
  const std::string name(ElementTypeName(type));
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(name + ": " + all[i].name);
    const std::vector<Literal> row = {Of(type, all, i, 1)};
    RunBoth(Reduce(name, 1), row);
    RunBoth(Running(name, 1, false), row);
    RunBoth(Running(name, 1, true), row);
    RunBoth(Window(name, 1), row);
  }
}

TEST(LongProductsTest, FactorsNearOne) {
  ExpectEveryWay(ElementType::kF32, NearOne(0x1p-23));
  ExpectEveryWay(ElementType::kF64, NearOne(0x1p-52));
}

TEST(LongProductsTest, NarrowFactorsNearOneRoundOnce) { ExpectEveryWay(ElementType::kBF16, NearOne(0x1p-7)); }

// Rows side by side, as rows and as columns.
TEST(LongProductsTest, ManyRowsAndColumns) {
  std::vector<Factors> all = NearOne(0x1p-23), special = Special();
  all.insert(all.end(), special.begin(), special.end());
  const Literal rows = Of(ElementType::kF32, all, 0, all.size());
  Literal columns(Shape(ElementType::kF32, {kFactors, static_cast<int64_t>(all.size())}));
  for (int64_t i = 0; i < kFactors; ++i) {
    for (int64_t r = 0; r < static_cast<int64_t>(all.size()); ++r)
      columns.SetDouble(i * static_cast<int64_t>(all.size()) + r, rows.GetDouble(r * kFactors + i));
  }
  RunBoth(Reduce("f32", all.size()), {rows});
  RunBoth(Columns("f32", all.size()), {columns});
  RunBoth(Running("f32", all.size(), false), {rows});
}

TEST(LongProductsTest, SpecialValuesAreThoseOfPlainProducts) {
  ExpectEveryWay(ElementType::kF32, Special());
  ExpectEveryWay(ElementType::kF64, Special());
}

}  // namespace long_products_test
}  // namespace VXLA_NAMESPACE::testing
