#include "tests/support/ieee_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/data/float_formats.h"
#include "core/numerics/literal_compare.h"

namespace VXLA_NAMESPACE::testing {
namespace {

using enum ElementType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Literal Floats(ElementType type, const std::vector<double>& values) {
  Literal literal(Shape(type, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) literal.SetDouble(static_cast<int64_t>(i), values[i]);
  return literal;
}

Literal Integers(ElementType type, const std::vector<int64_t>& values) {
  Literal literal(Shape(type, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) literal.SetInt(static_cast<int64_t>(i), values[i]);
  return literal;
}

double LeastNormal(ElementType type) { return std::ldexp(1.0, 1 - FormatOf(type).bias); }
double LeastSubnormal(ElementType type) { return std::ldexp(LeastNormal(type), -FormatOf(type).mantissa_bits); }

// As the type has them, each encoding once. Types without infinity, NaN or -0 have others in their place.
std::vector<double> SpecialNumbers(ElementType type) {
  const double least = LeastSubnormal(type), normal = LeastNormal(type);
  std::vector<double> numbers;
  std::set<std::vector<std::byte>> seen;
  for (const double magnitude :
       {0.0, least, 3 * least, normal - least, normal, 1.0, MaxFinite(type), kInfinity, kNan}) {
    for (const double number : {magnitude, -magnitude}) {
      const Literal one = Floats(type, {number});
      if (seen.insert({one.bytes().begin(), one.bytes().end()}).second) numbers.push_back(one.GetDouble(0));
    }
  }
  return numbers;
}

std::vector<double> WithoutNan(std::vector<double> numbers) {
  std::erase_if(numbers, [](double x) { return std::isnan(x); });
  return numbers;
}

int64_t TotalOrder(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

// IEEE 754's maximum and minimum: NaN from either side, -0 below +0.
double Maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  return TotalOrder(a) > TotalOrder(b) ? a : b;
}
double Minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  return TotalOrder(a) < TotalOrder(b) ? a : b;
}
double Sign(double a) { return std::isnan(a) || a == 0 ? a : std::copysign(1.0, a); }

// Lines, results and their shapes of an entry computation.
class Writer {
 public:
  void Line(const std::string& line) { lines_ += "  " + line + "\n"; }
  // "name = shape op(...)"; the result's expected value.
  void Result(const std::string& name, const std::string& operation, Literal expected) {
    const std::string shape = expected.shape().ToString();
    Line(fmt::format("{} = {} {}", name, shape, operation));
    Root(name, shape, std::move(expected));
  }
  void Root(const std::string& name, const std::string& shape, Literal expected) {
    names_ += (names_.empty() ? "" : ", ") + name;
    shapes_ += (shapes_.empty() ? "" : ", ") + shape;
    expected_.push_back(std::move(expected));
  }
  IeeeProgram Finish(std::string name, const std::string& computations, std::vector<Literal> arguments) {
    IeeeProgram program;
    program.name = std::move(name);
    program.text = fmt::format("HloModule m\n{}ENTRY e {{\n{}  ROOT t = ({}) tuple({})\n}}\n", computations, lines_,
                               shapes_, names_);
    program.arguments = std::move(arguments);
    program.expected = Literal::Tuple(std::move(expected_));
    return program;
  }

 private:
  std::string lines_, names_, shapes_;
  std::vector<Literal> expected_;
};

std::string Named(ElementType type, const char* what) { return fmt::format("{} {}", ElementTypeName(type), what); }

}  // namespace

std::vector<ElementType> FloatTypes() {
  std::vector<ElementType> types;
  for (int t = 0; t < kElementTypeCount; ++t) {
    if (IsFloating(static_cast<ElementType>(t))) types.push_back(static_cast<ElementType>(t));
  }
  return types;
}

IeeeProgram ComparisonsOf(ElementType type) {
  const std::vector<double> numbers = SpecialNumbers(type);
  const size_t count = numbers.size();
  std::vector<double> a, b, c;
  std::vector<int64_t> p;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      a.push_back(numbers[i]);
      b.push_back(numbers[j]);
      c.push_back(numbers[(7 * i + 3 * j + 1) % count]);
      p.push_back((i + j) % 2 != 0);
    }
  }
  const size_t n = a.size();
  Writer writer;
  const std::string shape = fmt::format("{}[{}]", ElementTypeName(type), n);
  for (const char* parameter : {"a = {} parameter(0)", "b = {} parameter(1)", "c = {} parameter(2)"})
    writer.Line(fmt::format(fmt::runtime(parameter), shape));
  writer.Line(fmt::format("p = pred[{}] parameter(3)", n));
  const auto floats = [&](const char* name, const std::string& operation, auto&& value) {
    std::vector<double> values;
    for (size_t i = 0; i < n; ++i) values.push_back(value(i));
    writer.Result(name, operation, Floats(type, values));
  };
  const auto preds = [&](const std::string& name, const std::string& operation, auto&& value) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < n; ++i) values.push_back(value(i));
    writer.Result(name, operation, Integers(kPred, values));
  };
  const auto compare = [&](const char* direction, auto&& holds) {
    preds(fmt::format("plain_{}", direction), fmt::format("compare(a, b), direction={}", direction),
          [&](size_t i) { return holds(a[i], b[i]); });
    preds(fmt::format("total_{}", direction), fmt::format("compare(a, b), direction={}, type=TOTALORDER", direction),
          [&](size_t i) { return holds(TotalOrder(a[i]), TotalOrder(b[i])); });
  };
  compare("EQ", [](auto x, auto y) { return x == y; });
  compare("NE", [](auto x, auto y) { return x != y; });
  compare("GE", [](auto x, auto y) { return x >= y; });
  compare("GT", [](auto x, auto y) { return x > y; });
  compare("LE", [](auto x, auto y) { return x <= y; });
  compare("LT", [](auto x, auto y) { return x < y; });
  preds("finite", "is-finite(a)", [&](size_t i) { return std::isfinite(a[i]); });
  floats("max", "maximum(a, b)", [&](size_t i) { return Maximum(a[i], b[i]); });
  floats("min", "minimum(a, b)", [&](size_t i) { return Minimum(a[i], b[i]); });
  floats("clamped", "clamp(a, b, c)", [&](size_t i) { return Minimum(Maximum(a[i], b[i]), c[i]); });
  floats("chosen", "select(p, a, b)", [&](size_t i) { return p[i] != 0 ? a[i] : b[i]; });
  floats("sign", "sign(a)", [&](size_t i) { return Sign(a[i]); });
  floats("size", "abs(a)", [&](size_t i) { return std::fabs(a[i]); });
  floats("minus", "negate(a)", [&](size_t i) { return -a[i]; });
  return writer.Finish(Named(type, "comparisons"), "",
                       {Floats(type, a), Floats(type, b), Floats(type, c), Integers(kPred, p)});
}

IeeeProgram ReductionsOf(ElementType type) {
  const std::vector<double> numbers = WithoutNan(SpecialNumbers(type));
  std::vector<double> values, maxima, minima;
  std::vector<double> best;
  std::vector<int64_t> places;
  const double lowest = *std::ranges::min_element(numbers), highest = *std::ranges::max_element(numbers);
  for (const double x : numbers) {
    for (const double y : numbers) {
      values.insert(values.end(), {x, y, x});
      maxima.push_back(Maximum(x, y));
      minima.push_back(Minimum(x, y));
      places.push_back(y > x ? 1 : 0);
      best.push_back(y > x ? y : x);
    }
  }
  const std::string_view t = ElementTypeName(type);
  const int64_t rows = static_cast<int64_t>(maxima.size());
  const std::string computations =
      fmt::format(R"(greater {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] maximum(a, b) }}
smaller {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] minimum(a, b) }}
place {{
  av = {0}[] parameter(0)  ai = s32[] parameter(1)  bv = {0}[] parameter(2)  bi = s32[] parameter(3)
  more = pred[] compare(av, bv), direction=GT  same = pred[] compare(av, bv), direction=EQ
  before = pred[] compare(ai, bi), direction=LT  tie = pred[] and(same, before)  left = pred[] or(more, tie)
  v = {0}[] select(left, av, bv)  i = s32[] select(left, ai, bi)
  ROOT r = ({0}[], s32[]) tuple(v, i)
}}
)",
                  t);
  Writer writer;
  writer.Line(fmt::format("x = {}[{},3] parameter(0)", t, rows));
  writer.Line(fmt::format("low = {}[] parameter(1)", t));
  writer.Line(fmt::format("high = {}[] parameter(2)", t));
  writer.Line(fmt::format("i = s32[{},3] iota(), iota_dimension=1", rows));
  writer.Line("none = s32[] constant(3)");
  writer.Result("max", "reduce(x, low), dimensions={1}, to_apply=greater", Floats(type, maxima));
  writer.Result("min", "reduce(x, high), dimensions={1}, to_apply=smaller", Floats(type, minima));
  writer.Line(
      fmt::format("p = ({0}[{1}], s32[{1}]) reduce(x, i, low, none), dimensions={{1}}, to_apply=place", t, rows));
  writer.Result("best", "get-tuple-element(p), index=0", Floats(type, best));
  writer.Result("at", "get-tuple-element(p), index=1", Integers(kS32, places));
  Literal x = Floats(type, values);
  return writer.Finish(
      Named(type, "reductions"), computations,
      {std::move(x).Reshaped(Shape(type, {rows, 3})), Literal::Scalar(type, lowest), Literal::Scalar(type, highest)});
}

IeeeProgram SortsOf(ElementType type) {
  // Each number twice, far apart, so that order among equals shows.
  const auto shuffled = [](std::vector<double> numbers) {
    std::vector<double> twice;
    for (size_t i = 0; i < 2 * numbers.size(); ++i) twice.push_back(numbers[i * 5 % numbers.size()]);
    return twice;
  };
  Writer writer;
  std::vector<Literal> arguments;
  std::string computations;
  const auto add = [&](const char* order, const std::vector<double>& numbers, auto&& less) {
    const std::string_view t = ElementTypeName(type);
    const std::string name = fmt::format("by_{}", arguments.size());
    std::vector<int64_t> places(numbers.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, [&](int64_t i, int64_t j) {
      return less(numbers[static_cast<size_t>(i)], numbers[static_cast<size_t>(j)]);
    });
    std::vector<double> sorted;
    for (const int64_t i : places) sorted.push_back(numbers[static_cast<size_t>(i)]);
    computations += fmt::format(
        "{} {{ a = {}[] parameter(0)  b = {}[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)\n"
        "  ROOT r = pred[] compare(a, b), direction=LT{} }}\n",
        name, t, t, order);
    const size_t n = numbers.size();
    writer.Line(fmt::format("x{0} = {1}[{2}] parameter({0})", arguments.size(), t, n));
    writer.Line(fmt::format("i{} = s32[{}] iota(), iota_dimension=0", arguments.size(), n));
    writer.Line(
        fmt::format("s{0} = ({1}[{2}], s32[{2}]) sort(x{0}, i{0}), dimensions={{0}}, is_stable=true, to_apply={3}",
                    arguments.size(), t, n, name));
    writer.Result(fmt::format("v{}", arguments.size()),
                  fmt::format("get-tuple-element(s{}), index=0", arguments.size()), Floats(type, sorted));
    writer.Result(fmt::format("p{}", arguments.size()),
                  fmt::format("get-tuple-element(s{}), index=1", arguments.size()), Integers(kS32, places));
    arguments.push_back(Floats(type, numbers));
  };
  add("", shuffled(WithoutNan(SpecialNumbers(type))), [](double a, double b) { return a < b; });
  add(", type=TOTALORDER", shuffled(SpecialNumbers(type)),
      [](double a, double b) { return TotalOrder(a) < TotalOrder(b); });
  return writer.Finish(Named(type, "sorts"), computations, std::move(arguments));
}

namespace {

struct ComplexCase {
  const char* op;
  std::complex<double> operand, result;
};

// d: a subnormal number whose root is a number too.
std::vector<ComplexCase> ComplexCases(double d) {
  using C = std::complex<double>;
  const double root = std::sqrt(d), log = std::log(d), pi = 3.141592653589793;
  std::vector<ComplexCase> cases = {
      {"negate", C(0.0, -d), C(-0.0, d)},
      {"abs", C(-d, -0.0), C(d)},
      {"abs", C(0.0, -d), C(d)},
      {"abs", C(3 * d, -4 * d), C(5 * d)},
      {"sign", C(d, 0.0), C(1.0, 0.0)},
      {"sign", C(-d, -0.0), C(-1.0, -0.0)},
      {"sign", C(0.0, -d), C(0.0, -1.0)},
      {"sign", C(-0.0, 0.0), C(0.0, 0.0)},
      {"sign", C(3 * d, -4 * d), C(0.6, -0.8)},
      {"sqrt", C(-0.0, 0.0), C(0.0, 0.0)},
      {"sqrt", C(-0.0, -0.0), C(0.0, -0.0)},
      {"sqrt", C(-1.0, -0.0), C(0.0, -1.0)},
      {"sqrt", C(1.0, -0.0), C(1.0, -0.0)},
      {"sqrt", C(d, -0.0), C(root, -0.0)},
      {"sqrt", C(-d, 0.0), C(0.0, root)},
      {"sqrt", C(-d, -0.0), C(0.0, -root)},
      {"rsqrt", C(d, 0.0), C(1 / root, -0.0)},
      {"log", C(0.0, -0.0), C(-kInfinity, -0.0)},
      {"log", C(-0.0, 0.0), C(-kInfinity, pi)},
      {"log", C(-0.0, -0.0), C(-kInfinity, -pi)},
      {"log", C(-1.0, -0.0), C(0.0, -pi)},
      {"log", C(d, -0.0), C(log, -0.0)},
      {"log", C(-d, -0.0), C(log, -pi)},
      {"log", C(0.0, d), C(log, pi / 2)},
      {"log", C(d, -d), C(log + std::log(2.0) / 2, -pi / 4)},
      {"exponential", C(0.0, -0.0), C(1.0, -0.0)},
      {"exponential", C(-0.0, d), C(1.0, d)},
      {"log-plus-one", C(0.0, -0.0), C(0.0, -0.0)},
      {"log-plus-one", C(0.0, -d), C(0.0, -d)},
      {"exponential-minus-one", C(d, -0.0), C(d, -0.0)},
      {"cbrt", C(-0.0, -0.0), C(-0.0, -0.0)},
  };
  // Odd and close to the identity.
  for (const char* op : {"sine", "tan", "sinh", "tanh", "asin", "asinh", "atan", "atanh"}) {
    for (const C z : {C(0.0, -0.0), C(-0.0, 0.0), C(d, -0.0), C(-0.0, d), C(-d, d)}) cases.push_back({op, z, z});
  }
  return cases;
}

}  // namespace

std::vector<IeeeProgram> ComplexFunctionsOf(ElementType type) {
  const ElementType real = RealPart(type);
  const double d = std::ldexp(LeastSubnormal(real), FormatOf(real).mantissa_bits % 2 == 0 ? 2 : 3);
  std::vector<IeeeProgram> programs;
  const std::vector<ComplexCase> cases = ComplexCases(d);
  for (size_t begin = 0; begin < cases.size();) {
    size_t end = begin;
    while (end < cases.size() && std::string_view(cases[end].op) == cases[begin].op) ++end;
    const int64_t n = static_cast<int64_t>(end - begin);
    const bool to_real = std::string_view(cases[begin].op) == "abs";
    Literal operand(Shape(type, {n})), expected(Shape(to_real ? real : type, {n}));
    for (int64_t i = 0; i < n; ++i) {
      const ComplexCase& c = cases[begin + static_cast<size_t>(i)];
      operand.SetComplex(i, c.operand);
      to_real ? expected.SetDouble(i, c.result.real()) : expected.SetComplex(i, c.result);
    }
    Writer writer;
    writer.Line(fmt::format("z = {} parameter(0)", operand.shape().ToString()));
    writer.Result("r", fmt::format("{}(z)", cases[begin].op), std::move(expected));
    programs.push_back(writer.Finish(Named(type, cases[begin].op), "", {std::move(operand)}));
    programs.back().ulp = 4;
    begin = end;
  }
  return programs;
}

namespace {

// The value of the type's number x, by the words of the specification: among the numbers whose lower mantissa bits are
// zero the nearest, of two the one whose last kept bit is 0; then infinity above the exponents, zero below.
double Reduced(ElementType type, double x, int exponent_bits, int mantissa_bits) {
  const FloatFormat& f = FormatOf(type);
  if (std::isnan(x)) return mantissa_bits > 0 ? x : kInfinity;
  if (std::isinf(x) || x == 0) return x;
  const double size = std::fabs(x);
  const int exponent = std::max(std::ilogb(size), 1 - f.bias);
  double r = size;
  if (mantissa_bits < f.mantissa_bits) {
    const double unit = std::ldexp(1.0, exponent - mantissa_bits), below = std::floor(size / unit) * unit;
    const double rest = size - below;
    // The field of the kept bits: with none of them in the mantissa it is the exponent's last bit.
    const bool subnormal = size < LeastNormal(type);
    const int64_t field = mantissa_bits > 0 ? static_cast<int64_t>(below / unit) : (subnormal ? 0 : exponent + f.bias);
    const bool up = rest > unit / 2 || (rest == unit / 2 && field % 2 != 0);
    r = up ? below + unit : below;
  }
  if (f.specials == FloatSpecials::kExponent) r = size;
  if (r > MaxFinite(type)) r = kInfinity;
  if (exponent_bits < f.exponent_bits && std::isfinite(r)) {
    const int reduced_bias = (1 << (exponent_bits - 1)) - 1;
    if (r != 0 && std::ilogb(r) > reduced_bias) r = kInfinity;
    if (r != 0 && r < LeastNormal(type)) r = 0;
    if (r != 0 && std::isfinite(r) && std::ilogb(r) <= -reduced_bias) r = 0;
  }
  return std::copysign(r, x);
}

}  // namespace

IeeeProgram ReducedPrecisionOf(ElementType type) {
  const FloatFormat& f = FormatOf(type);
  std::vector<double> numbers = SpecialNumbers(type);
  uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    // Exponents over the whole range, with few and with many bits of mantissa.
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int span = (1 << f.exponent_bits) - 2;
    const int exponent = static_cast<int>((state >> 33) % static_cast<uint64_t>(span)) - f.bias - (i % 3 == 0 ? 2 : 0);
    const double mantissa = 1 + static_cast<double>(state >> (i % 2 == 0 ? 12 : 61) & ((1u << 20) - 1)) *
                                    std::ldexp(1.0, i % 2 == 0 ? -20 : -3);
    numbers.push_back(Floats(type, {std::ldexp(i % 4 < 2 ? mantissa : -mantissa, exponent)}).GetDouble(0));
  }
  Writer writer;
  writer.Line(fmt::format("x = {}[{}] parameter(0)", ElementTypeName(type), numbers.size()));
  for (const int exponent_bits : std::set<int>{1, 3, f.exponent_bits - 1, f.exponent_bits, 40}) {
    for (const int mantissa_bits : std::set<int>{0, 1, std::max(0, f.mantissa_bits - 1), f.mantissa_bits, 60}) {
      std::vector<double> values;
      for (const double x : numbers) values.push_back(Reduced(type, x, exponent_bits, mantissa_bits));
      writer.Result(
          fmt::format("e{}m{}", exponent_bits, mantissa_bits),
          fmt::format("reduce-precision(x), exponent_bits={}, mantissa_bits={}", exponent_bits, mantissa_bits),
          Floats(type, values));
    }
  }
  return writer.Finish(Named(type, "reduced precision"), "", {Floats(type, numbers)});
}

std::string FirstUnexpected(const IeeeProgram& program, const Literal& actual) {
  const auto got = FlattenLiteral(actual), want = FlattenLiteral(program.expected);
  if (got.size() != want.size()) return fmt::format("{}: {} results, not {}", program.name, got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    Tolerance tolerance;
    tolerance.ulp = program.ulp;
    const Comparison comparison = Compare(*got[k], *want[k], tolerance);
    if (comparison.differing == 0) continue;
    for (int64_t i = 0; i < want[k]->element_count(); ++i) {
      const std::string a = ElementToString(*got[k], i), b = ElementToString(*want[k], i);
      if (a == b) continue;
      // Numbers may be off by their tolerance, zeros not.
      const ElementType type = want[k]->shape().element_type();
      const auto same = [&](double x, double y) {
        if (x == 0 && std::fabs(y) < program.least) y = std::copysign(0.0, y);
        if (x == 0 || y == 0 || program.ulp == 0)
          return (std::isnan(x) && std::isnan(y)) || std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
        return UlpDistance(RealPart(type), x, y) <= program.ulp;
      };
      if (IsFloating(type) || IsComplex(type)) {
        const std::complex<double> x = got[k]->GetComplex(i), y = want[k]->GetComplex(i);
        if (same(x.real(), y.real()) && same(x.imag(), y.imag())) continue;
      }
      std::string at = fmt::format("{}: result {}[{}] is {}, not {}; operands", program.name, k, i, a, b);
      for (const Literal& argument : program.arguments) {
        if (i < argument.element_count()) at += " " + ElementToString(argument, i);
      }
      return at;
    }
  }
  return "";
}

}  // namespace VXLA_NAMESPACE::testing
