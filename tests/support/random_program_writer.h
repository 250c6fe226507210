// What a random program is written with: its values, what each is at most and how wrong it may be, its text, and the
// elementwise operations. random_programs.cc adds the other families.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/random_programs.h"

namespace VXLA_NAMESPACE::testing::random_programs {

using Sizes = std::vector<int64_t>;

enum class Kind { kFloat, kInteger, kPred, kComplex };
struct Type {
  std::string_view name;
  Kind kind;
  double rounding;   // of one operation, relative; twice the unit, as both sides round
  double range = 0;  // of an integer: its largest size
  bool is_unsigned() const { return name[0] == 'u'; }
};
inline constexpr Type kF32{"f32", Kind::kFloat, 0x1p-23}, kBf16{"bf16", Kind::kFloat, 0x1p-7},
    kF16{"f16", Kind::kFloat, 0x1p-10}, kF64{"f64", Kind::kFloat, 0x1p-48}, kS32{"s32", Kind::kInteger, 0, 0x1p31},
    kS4{"s4", Kind::kInteger, 0, 8}, kS8{"s8", Kind::kInteger, 0, 128}, kS16{"s16", Kind::kInteger, 0, 0x1p15},
    kS64{"s64", Kind::kInteger, 0, 0x1p63}, kU4{"u4", Kind::kInteger, 0, 15}, kU8{"u8", Kind::kInteger, 0, 255},
    kU16{"u16", Kind::kInteger, 0, 65535}, kU32{"u32", Kind::kInteger, 0, 0x1p32},
    kU64{"u64", Kind::kInteger, 0, 0x1p64}, kPred{"pred", Kind::kPred, 0}, kC64{"c64", Kind::kComplex, 0x1p-22};

// A value of the program: what it is at most, and how far two right implementations may be apart.
struct Value {
  std::string name;
  const Type* type = nullptr;
  Sizes sizes;
  double most = 0, error = 0;
  bool used = false;

  int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
  bool is_float() const { return type->kind == Kind::kFloat; }
  bool is_exact() const { return error == 0; }
  bool is_narrow() const { return type == &kBf16 || type == &kF16; }
};

inline constexpr double kLargest = 200;  // larger floats go through tanh before anything else

inline std::string ShapeText(const Type& type, const Sizes& sizes) {
  return fmt::format("{}[{}]", type.name, fmt::join(sizes, ","));
}

class ProgramWriter {
 protected:
  ProgramWriter(uint64_t seed, const RandomProgramOptions& options)
      : options_(options), random_(static_cast<uint32_t>(seed * 2654435761u + 12345u)) {}

  // ---- choices
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  bool OneIn(int n) { return Below(n) == 0; }

  const Type& RandomType() {
    const Type* types[] = {&kF32, &kF32, &kF32, &kF32, &kF32, &kBf16, &kF16, &kS32, &kS32, &kU8, &kPred};
    if (options_.wide_types && OneIn(15)) return OneIn(2) ? kF64 : kC64;
    return OneIn(4) ? RandomIntegerType() : *types[Below(11)];
  }
  const Type& RandomIntegerType() {
    const Type* types[] = {&kS4, &kU4, &kS8, &kU8, &kS16, &kU16, &kS32, &kU32, &kS64, &kU64};
    return *types[Below(options_.wide_types ? 10 : 8)];
  }

  Sizes RandomSizes() {
    const int64_t sizes[] = {1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 11, 13};
    Sizes result(static_cast<size_t>(OneIn(10) ? 0 : 1 + Below(4)));
    int64_t count = 1;
    for (int64_t& size : result) {
      const int64_t even[] = {1, 2, 3, 4, 4, 4, 6, 8, 8, 8, 8, 12, 16};
      size = options_.even_sizes ? even[Below(13)] : sizes[Below(13)];
      while (count * size > 600) size = (size + 1) / 2;
      count *= size;
    }
    if (!result.empty() && OneIn(40)) result[static_cast<size_t>(Below(static_cast<int>(result.size())))] = 0;
    if (OneIn(12)) result = OneIn(2) ? Sizes{16, 64} : Sizes{4, 8, 32};
    return result;
  }

  // Other sizes for as many elements.
  Sizes SizesOf(int64_t count) {
    Sizes sizes(static_cast<size_t>(1 + Below(4)), 1);
    auto any = [&]() -> int64_t& { return sizes[static_cast<size_t>(Below(static_cast<int>(sizes.size())))]; };
    if (count == 0) {
      for (int64_t& size : sizes) size = 1 + Below(4);
      any() = 0;
      return sizes;
    }
    for (int64_t prime = 2; count > 1;) {
      if (count % prime == 0) {
        any() *= prime;
        count /= prime;
      } else {
        ++prime;
      }
    }
    return sizes;
  }

  // What its error leaves some meaning.
  static bool IsMeaningful(const Value& v) {
    return v.error <= (v.is_narrow() ? 0.1 : 0.01) * std::clamp(v.most, 1.0, 100.0);
  }
  // Later values are more likely to be it, and arrays more than single elements.
  template <typename Wanted>
  std::optional<size_t> Pick(Wanted&& wanted) {
    std::vector<size_t> arrays, fit;
    for (size_t i = 0; i < values_.size(); ++i) {
      const Value& v = values_[i];
      if (!IsMeaningful(v) || !wanted(v)) continue;
      fit.push_back(i);
      if (v.count() != 1) arrays.push_back(i);
    }
    if (!arrays.empty() && !OneIn(6)) fit = arrays;
    if (fit.empty()) return std::nullopt;
    const int last = std::min<int>(3, static_cast<int>(fit.size()));
    return OneIn(3) ? fit[static_cast<size_t>(Below(static_cast<int>(fit.size())))]
                    : fit[fit.size() - 1 - static_cast<size_t>(Below(last))];
  }
  Value PickAny() {
    return Take(*Pick([](const Value&) { return true; }));
  }

  // ---- text
  Value Take(size_t i) {
    values_[i].used = true;
    return values_[i];
  }

  // Adds a line; `operation` names its operands.
  Value Add(const Type& type, const Sizes& sizes, double most, double error, const std::string& operation) {
    Value value{fmt::format("v{}", next_++), &type, sizes, most, error};
    if (type.kind == Kind::kInteger) value.most = std::min(most, type.range);
    text_ += fmt::format("  {} = {} {}\n", value.name, ShapeText(type, sizes), operation);
    values_.push_back(value);
    return value;
  }
  Value Taken(const Value& value) {
    for (Value& v : values_) v.used |= v.name == value.name;
    return value;
  }
  Value AddMap(const Value& of, const Sizes& sizes, const std::string& operation) {
    Taken(of);
    return Add(*of.type, sizes, of.most, of.error, operation);
  }

  Value AddParameter(const Type& type, const Sizes& sizes) {
    const double most = type.kind == Kind::kFloat     ? 7
                        : type.kind == Kind::kComplex ? 10
                        : type.kind == Kind::kPred    ? 1
                                                      : type.range;
    return Add(type, sizes, most, 0, fmt::format("parameter({})", parameters_++));
  }
  Value AddScalar(const Type& type, int number) {
    const std::string text = type.kind == Kind::kPred      ? (number != 0 ? "true" : "false")
                             : type.kind == Kind::kComplex ? fmt::format("({}, 0)", number)
                                                           : std::to_string(number);
    return Add(type, {}, std::abs(number), 0, "constant(" + text + ")");
  }
  Value AddSplat(const Type& type, const Sizes& sizes, int number) {
    const Value scalar = AddScalar(type, number);
    return sizes.empty() ? Taken(scalar) : AddMap(scalar, sizes, "broadcast(" + scalar.name + "), dimensions={}");
  }

  // A value of this type and these sizes.
  Value Matching(const Type& type, const Sizes& sizes) {
    const auto same = Pick([&](const Value& v) { return v.type == &type && v.sizes == sizes; });
    if (same && !OneIn(4)) return Take(*same);
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    const auto other = Pick([&](const Value& v) { return v.type == &type && v.sizes != sizes && v.count() == count; });
    if (other && OneIn(2)) return Reshape(Take(*other), sizes);
    const auto smaller = Pick([&](const Value& v) {
      return v.type == &type && v.sizes.size() == 1 && std::ranges::find(sizes, v.sizes[0]) != sizes.end();
    });
    if (smaller && OneIn(2)) {
      const Value v = Take(*smaller);
      const auto d = std::ranges::find(sizes, v.sizes[0]) - sizes.begin();
      return AddMap(v, sizes, fmt::format("broadcast({}), dimensions={{{}}}", v.name, d));
    }
    if (parameters_ < 6) return Taken(AddParameter(type, sizes));
    return Taken(AddSplat(type, sizes, 1 + Below(3)));
  }

  Value Reshape(const Value& v, const Sizes& sizes) { return AddMap(v, sizes, "reshape(" + v.name + ")"); }

  // ---- arithmetic
  Value Unary(const Value& v, std::string_view op, double most, double slope, double relative) {
    Taken(v);
    const double added = relative * v.type->rounding * std::max(1.0, most);
    return Add(*v.type, v.sizes, most, v.error * slope + added, fmt::format("{}({})", op, v.name));
  }
  Value Tanh(const Value& v) { return Unary(v, "tanh", 1, 1, 8); }
  // Floats that are small enough for what follows.
  Value Bounded(const Value& v, double most) {
    if (v.most <= most) return v;
    if (v.is_float()) return Tanh(v);
    if (v.type->kind == Kind::kComplex) {
      Taken(v);
      const Value re = Add(kF32, v.sizes, v.most, v.error, "real(" + v.name + ")"), small = Tanh(re);
      Taken(small);
      return Add(kC64, v.sizes, 2, 2 * small.error, fmt::format("complex({0}, {0})", small.name));
    }
    return v;  // integers wrap round, the same everywhere
  }
  // Integers from 0 to 7, for indices and for what becomes a small float.
  Value Small(const Value& v) {
    const Value seven = AddSplat(*v.type, v.sizes, 7);
    return Taken(Binary("and", v, seven, 7, 0));
  }
  Value Binary(std::string_view op, const Value& a, const Value& b, double most, double error) {
    Taken(a), Taken(b);
    return Add(*a.type, a.sizes, most, error, fmt::format("{}({}, {})", op, a.name, b.name));
  }
  Value Arithmetic(std::string_view op, const Value& a, const Value& b) {
    const bool rounds = a.type->kind == Kind::kFloat || a.type->kind == Kind::kComplex;
    const bool exact = a.is_exact() && b.is_exact() && a.type->kind != Kind::kComplex;
    const double most = op == "multiply"                     ? a.most * b.most
                        : op == "maximum" || op == "minimum" ? std::max(a.most, b.most)
                                                             : a.most + b.most;
    const double error = op == "multiply" ? a.error * b.most + b.error * a.most : a.error + b.error;
    return Binary(op, a, b, most, exact || !rounds ? 0 : error + a.type->rounding * most);
  }

  void AddUnary() {
    const Value v = Bounded(PickAny(), kLargest);
    if (v.type->kind == Kind::kInteger) {
      const char* ops[] = {"negate", "abs", "not", "popcnt", "count-leading-zeros", "sign"};
      std::string_view op = ops[Below(6)];
      if (v.type->is_unsigned() && (op == "abs" || op == "negate" || op == "sign")) op = "not";
      Unary(v, op, v.type->range, 0, 0);
    } else if (v.type->kind == Kind::kPred) {
      Unary(v, "not", 1, 0, 0);
    } else if (v.type->kind == Kind::kComplex) {
      if (OneIn(2)) return void(Unary(v, "negate", v.most, 1, 0));
      Taken(v);
      Add(kF32, v.sizes, v.most, v.error, fmt::format("{}({})", OneIn(2) ? "real" : "imag", v.name));
    } else if (v.is_exact() && OneIn(4)) {
      const char* ops[] = {"floor", "ceil", "round-nearest-even", "round-nearest-afz", "sign"};
      Unary(v, ops[Below(5)], v.most + 1, 0, 0);
    } else {
      AddFunction(v);
    }
  }
  void AddFunction(const Value& v) {
    switch (Below(v.type == &kF64 ? 3 : 11)) {  // functions of emulated f64 are long
      case 0:
        return void(Unary(v, "negate", v.most, 1, 0));
      case 1:
        return void(Unary(v, "abs", v.most, 1, 0));
      case 2:
        return void(Unary(Arithmetic("add", Unary(v, "abs", v.most, 1, 0), AddSplat(*v.type, v.sizes, 1)), "sqrt",
                          std::sqrt(v.most + 1), 0.5, 4));
      case 3:
        return void(Tanh(v));
      case 4:
        return void(Unary(v, "logistic", 1, 0.25, 8));
      case 5: {
        const Value small = Bounded(v, 4);
        return void(Unary(small, "exponential", std::exp(small.most), std::exp(small.most), 8));
      }
      case 6:
        return void(Unary(Bounded(v, 10), "sine", 1, 1, 16));
      case 7:
        return void(Unary(Bounded(v, 10), "cosine", 1, 1, 16));
      case 8:
        return void(Unary(Unary(v, "abs", v.most, 1, 0), "log-plus-one", std::log1p(v.most), 1, 8));
      case 9:
        return void(Unary(v, "atan", 1.6, 1, 8));
      default:
        return void(Unary(v, "erf", 1, 1.2, 16));
    }
  }

  void AddBinary() {
    const Value a = Bounded(PickAny(), kLargest), b = Bounded(Matching(*a.type, a.sizes), kLargest);
    if (a.type->kind == Kind::kPred) {
      const char* ops[] = {"and", "or", "xor"};
      return void(Binary(ops[Below(3)], a, b, 1, 0));
    }
    if (a.type->kind == Kind::kInteger && OneIn(2)) {
      const char* ops[] = {"and",       "or",         "xor",
                           "maximum",   "minimum",    "divide",
                           "remainder", "shift-left", "shift-right-logical",
                           "power",     "multiply",   "shift-right-arithmetic"};
      return void(Binary(ops[Below(12)], a, b, a.type->range, 0));
    }
    const char* ops[] = {"add", "subtract", "multiply", "maximum", "minimum"};
    Arithmetic(ops[Below(a.type->kind == Kind::kComplex ? 3 : 5)], a, b);
  }

  // The division of a float by something of at least 1.
  void AddQuotient() {
    const auto i = Pick([](const Value& v) { return v.is_float() && v.type != &kF64; });
    if (!i) return;
    const Value a = Bounded(Take(*i), kLargest), b = Bounded(Matching(*a.type, a.sizes), kLargest);
    const Value one = AddSplat(*a.type, a.sizes, 1);
    const Value d = Arithmetic("maximum", Unary(b, "abs", b.most, 1, 0), one);
    Binary("divide", a, d, a.most, a.error + a.most * d.error + 2 * a.type->rounding * a.most);
  }

  // Comparisons and conversions to integers of exact values alone: elsewhere a rounding error decides.
  void AddCompareAndSelect() {
    const auto i = Pick([](const Value& v) { return v.is_exact() && v.type->kind != Kind::kComplex; });
    if (!i) return;
    const Value a = Take(*i);
    Value b = Matching(*a.type, a.sizes);
    if (!b.is_exact()) b = AddSplat(*a.type, a.sizes, 1);
    Taken(b);
    const char* directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const Value chosen =
        Add(kPred, a.sizes, 1, 0, fmt::format("compare({}, {}), direction={}", a.name, b.name, directions[Below(6)]));
    const auto j = Pick([&](const Value& v) { return v.sizes == a.sizes; });
    const Value x = Take(*j), y = Matching(*x.type, x.sizes);
    Taken(chosen);
    Add(*x.type, x.sizes, std::max(x.most, y.most), std::max(x.error, y.error),
        fmt::format("select({}, {}, {})", chosen.name, x.name, y.name));
  }

  void AddConvert() {
    Value v = PickAny();
    const Type& to = RandomType();
    if (v.type->kind == Kind::kComplex || &to == v.type) return;
    const bool to_integer = to.kind == Kind::kInteger || to.kind == Kind::kPred;
    if (v.is_float() && to_integer && (!v.is_exact() || v.most > 100)) return;
    if (v.is_float() && to.is_unsigned()) v = Unary(v, "abs", v.most, 1, 0);
    v = Bounded(v, 1000);
    if (v.type->kind == Kind::kInteger && !to_integer && OneIn(2)) v = Small(v);
    Taken(v);
    if (v.type->range > 0 && to.range > 0 && v.type->name.substr(1) == to.name.substr(1) && OneIn(2))
      return void(Add(to, v.sizes, to.range, 0, "bitcast-convert(" + v.name + ")"));
    Add(to, v.sizes, to.kind == Kind::kPred ? 1 : v.most, v.error + (v.is_exact() ? 0 : to.rounding * v.most),
        "convert(" + v.name + ")");
  }

  const RandomProgramOptions options_;
  std::mt19937 random_;
  std::vector<Value> values_;
  std::string computations_, text_;
  int next_ = 0, parameters_ = 0;
};

}  // namespace VXLA_NAMESPACE::testing::random_programs
