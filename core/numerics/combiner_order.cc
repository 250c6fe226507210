#include "core/numerics/combiner_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <unordered_map>
#include <vector>

#include "core/data/literal.h"
#include "core/host/ranges.h"
#include "core/ir/module.h"
#include "core/numerics/integer_type.h"

namespace VXLA_NAMESPACE {
namespace {

using Complex = std::complex<double>;

// A scalar as exactly as a double, two of them, or 64 bits of an integer hold it; rounding to narrower floats is left
// out.
struct Sample {
  Complex real = 0;      // of floats and complex numbers; may be infinite
  int64_t integer = 0;   // of integers and pred: within the type
  bool defined = false;  // else: nothing is said of it, as of NaN, 1.0 / 0 and what is made of them
};

bool IsFiniteSample(Complex x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }
Sample RealSample(Complex x) { return {.real = x, .defined = !std::isnan(x.real()) && !std::isnan(x.imag())}; }

Sample IntegerSample(ElementType type, int64_t value) {
  return {.integer = IntegerType(type).Wrapped(static_cast<uint64_t>(value)), .defined = true};
}

bool IsRealOrComplex(ElementType type) { return IsFloating(type) || IsComplex(type); }

Sample SampleOf(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  return IsRealOrComplex(type) ? RealSample(literal.GetComplex(0)) : IntegerSample(type, literal.GetInt(0));
}

// Functions of real numbers, and of complex ones too; nothing is said of the others.
struct Function {
  Opcode opcode;
  double (*of_real)(double);
  Complex (*of_complex)(Complex) = nullptr;
};
constexpr Function OfReals(Opcode opcode, double (*function)(double)) { return {opcode, function}; }
constexpr Function OfBoth(Opcode opcode, auto function) { return {opcode, function, function}; }
constexpr Function kFunctions[] = {
    OfReals(Opcode::kCeil, [](double x) { return std::ceil(x); }),
    OfReals(Opcode::kFloor, [](double x) { return std::floor(x); }),
    OfReals(Opcode::kRoundNearestAfz, [](double x) { return std::round(x); }),
    OfReals(Opcode::kRoundNearestEven, [](double x) { return std::nearbyint(x); }),
    OfReals(Opcode::kSign, [](double x) { return x > 0   ? 1.0
                                                 : x < 0 ? -1.0
                                                         : x; }),
    OfReals(Opcode::kCbrt, [](double x) { return std::cbrt(x); }),
    OfReals(Opcode::kExpm1, [](double x) { return std::expm1(x); }),
    OfReals(Opcode::kLog1p, [](double x) { return std::log1p(x); }),
    OfReals(Opcode::kErf, [](double x) { return std::erf(x); }),
    OfReals(Opcode::kErfc, [](double x) { return std::erfc(x); }),
    OfReals(Opcode::kReducePrecision, [](double x) { return x; }),
    OfBoth(Opcode::kNegate, [](auto x) { return -x; }),
    OfBoth(Opcode::kExp, [](auto x) { return std::exp(x); }),
    OfBoth(Opcode::kLog, [](auto x) { return std::log(x); }),
    OfBoth(Opcode::kLogistic, [](auto x) { return decltype(x)(1) / (decltype(x)(1) + std::exp(-x)); }),
    OfBoth(Opcode::kSqrt, [](auto x) { return std::sqrt(x); }),
    OfBoth(Opcode::kRsqrt, [](auto x) { return decltype(x)(1) / std::sqrt(x); }),
    OfBoth(Opcode::kSin, [](auto x) { return std::sin(x); }),
    OfBoth(Opcode::kCos, [](auto x) { return std::cos(x); }),
    OfBoth(Opcode::kTan, [](auto x) { return std::tan(x); }),
    OfBoth(Opcode::kAsin, [](auto x) { return std::asin(x); }),
    OfBoth(Opcode::kAcos, [](auto x) { return std::acos(x); }),
    OfBoth(Opcode::kAtan, [](auto x) { return std::atan(x); }),
    OfBoth(Opcode::kSinh, [](auto x) { return std::sinh(x); }),
    OfBoth(Opcode::kCosh, [](auto x) { return std::cosh(x); }),
    OfBoth(Opcode::kTanh, [](auto x) { return std::tanh(x); }),
    OfBoth(Opcode::kAsinh, [](auto x) { return std::asinh(x); }),
    OfBoth(Opcode::kAcosh, [](auto x) { return std::acosh(x); }),
    OfBoth(Opcode::kAtanh, [](auto x) { return std::atanh(x); }),
    OfBoth(Opcode::kCopy, [](auto x) { return x; }),
};

Sample UnaryOfReals(const Instruction& i, Complex x) {
  const ElementType from = i.operand(0)->shape().element_type(), to = i.shape().element_type();
  switch (i.opcode()) {
    case Opcode::kAbs:
      return RealSample(std::abs(x));
    case Opcode::kReal:
      return RealSample(x.real());
    case Opcode::kImag:
      return RealSample(x.imag());
    case Opcode::kIsFinite:
      return IntegerSample(to, IsFiniteSample(x));
    case Opcode::kConvert:
      if (IsRealOrComplex(to)) return RealSample(IsComplex(to) ? x : x.real());
      if (to == ElementType::kPred) return IntegerSample(to, x != 0.0);
      return std::abs(x.real()) < 0x1p31 ? IntegerSample(to, static_cast<int64_t>(x.real())) : Sample{};
    default:
      break;
  }
  const auto function = std::ranges::find(kFunctions, i.opcode(), &Function::opcode);
  if (function == std::end(kFunctions) || (IsComplex(from) && function->of_complex == nullptr)) return {};
  return RealSample(IsComplex(from) ? function->of_complex(x) : function->of_real(x.real()));
}

Sample UnaryOfIntegers(const Instruction& i, int64_t x) {
  const ElementType to = i.shape().element_type();
  switch (i.opcode()) {
    case Opcode::kCopy:
      return IntegerSample(to, x);
    case Opcode::kConvert:
      if (IsRealOrComplex(to)) return RealSample(static_cast<double>(x));
      return IntegerSample(to, to == ElementType::kPred ? x != 0 : x);
    case Opcode::kAbs:
      return IntegerSample(to, IsSigned(to) && x < 0 ? -x : x);
    case Opcode::kNegate:
      return IntegerSample(to, -x);
    case Opcode::kNot:
      return IntegerSample(to, ~x);
    case Opcode::kSign:
      return IntegerSample(to, IsSigned(to) && x < 0 ? -1 : x != 0);
    default:
      return {};
  }
}

Sample BinaryOfReals(const Instruction& i, Complex a, Complex b) {
  const bool complex = IsComplex(i.operand(0)->shape().element_type());
  switch (i.opcode()) {
    case Opcode::kAdd:
      return RealSample(a + b);
    case Opcode::kSubtract:
      return RealSample(a - b);
    case Opcode::kMultiply:
      return RealSample(a * b);
    case Opcode::kDivide:
      return b == 0.0 ? Sample{} : RealSample(a / b);
    case Opcode::kPower:
      return RealSample(complex ? std::pow(a, b) : std::pow(a.real(), b.real()));
    case Opcode::kComplex:
      return RealSample({a.real(), b.real()});
    default:
      break;
  }
  if (complex) return {};
  const double x = a.real(), y = b.real();
  switch (i.opcode()) {
    case Opcode::kRemainder:
      return y == 0 ? Sample{} : RealSample(std::fmod(x, y));
    case Opcode::kAtan2:
      return RealSample(std::atan2(x, y));
    case Opcode::kMaximum:
      return RealSample(std::max(x, y));
    case Opcode::kMinimum:
      return RealSample(std::min(x, y));
    default:
      return {};
  }
}

Sample ComparedSamples(const Instruction& i, const Sample& a, const Sample& b) {
  const ElementType type = i.operand(0)->shape().element_type();
  const auto direction = i.attributes<CompareAttributes>().direction;
  const auto result = [](bool holds) { return IntegerSample(ElementType::kPred, holds); };
  if (IsComplex(type)) {
    if (direction == ComparisonDirection::kEq) return result(a.real == b.real);
    return direction == ComparisonDirection::kNe ? result(a.real != b.real) : Sample{};
  }
  if (IsFloating(type)) return result(Holds(direction, a.real.real(), b.real.real()));
  return result(IntegerType(type).Compares(direction, a.integer, b.integer));
}

Sample Clamped(ElementType type, const std::vector<Sample>& operands) {
  const auto less = [type](const Sample& a, const Sample& b) {
    if (IsFloating(type)) return a.real.real() < b.real.real();
    return IntegerType(type).Compares(ComparisonDirection::kLt, a.integer, b.integer);
  };
  if (IsComplex(type)) return {};
  const Sample& low = less(operands[1], operands[0]) ? operands[0] : operands[1];
  return less(operands[2], low) ? operands[2] : low;
}

Sample EvaluatedSample(const Instruction& i, const std::vector<Sample>& operands) {
  if (i.opcode() == Opcode::kConstant) {
    return i.shape().IsScalar() && i.known_literal() != nullptr ? SampleOf(i.literal()) : Sample{};
  }
  if (operands.empty() || !i.called().empty() || !i.shape().IsScalar()) return {};
  // What is not chosen need not be defined.
  if (i.opcode() == Opcode::kSelect) return operands[0].defined ? operands[operands[0].integer != 0 ? 1 : 2] : Sample{};
  if (!std::ranges::all_of(operands, &Sample::defined)) return {};
  const bool real = IsRealOrComplex(i.operand(0)->shape().element_type());
  if (operands.size() == 1) return real ? UnaryOfReals(i, operands[0].real) : UnaryOfIntegers(i, operands[0].integer);
  if (i.opcode() == Opcode::kCompare) return ComparedSamples(i, operands[0], operands[1]);
  if (i.opcode() == Opcode::kClamp) return Clamped(i.shape().element_type(), operands);
  if (operands.size() != 2) return {};
  if (real) return BinaryOfReals(i, operands[0].real, operands[1].real);
  const ElementType type = i.shape().element_type();
  const auto number = IntegerType(type).Computed(i.opcode(), operands[0].integer, operands[1].integer);
  return number ? IntegerSample(type, *number) : Sample{};
}

using SampleTuple = std::vector<Sample>;

// The combiner as a list of steps, so that it can be asked often.
class Combiner {
 public:
  explicit Combiner(const Computation& computation) : count_(computation.parameters().size() / 2) {
    std::unordered_map<const Instruction*, size_t> place;
    for (const auto& i : computation.instructions()) {
      Step step{i.get(), {}};
      for (const Instruction* operand : i->operands()) step.operands.push_back(place.at(operand));
      place[i.get()] = steps_.size();
      steps_.push_back(std::move(step));
    }
    const Instruction& root = *computation.root();
    if (root.opcode() != Opcode::kTuple) {
      results_.push_back(place.at(&root));
    } else {
      for (const Instruction* result : root.operands()) results_.push_back(place.at(result));
    }
  }

  SampleTuple operator()(const SampleTuple& a, const SampleTuple& b) const {
    std::vector<Sample> values(steps_.size());
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Instruction& i = *steps_[s].instruction;
      if (i.opcode() == Opcode::kParameter) {
        const auto number = static_cast<size_t>(i.parameter_number());
        values[s] = number < count_ ? a[number] : b[number - count_];
        continue;
      }
      if (i.opcode() == Opcode::kTuple) continue;
      values[s] = EvaluatedSample(i, Transformed(steps_[s].operands, [&](size_t o) { return values[o]; }));
    }
    SampleTuple results;
    for (size_t r : results_) results.push_back(values[r]);
    return results;
  }

 private:
  struct Step {
    const Instruction* instruction;
    std::vector<size_t> operands;
  };
  const size_t count_;
  std::vector<Step> steps_;
  std::vector<size_t> results_;
};

// Arguments whose sums, products and quotients doubles hold well, of both signs; not so large that functions overflow.
constexpr std::array kReals{1.5, -0.75, 2.25, 0.5, 3.0, -2.0, 0.25, 1.25};
constexpr std::array<int64_t, 12> kIntegers{3, 1, 2, 100, 7, -3, 5, 13, 4, -20, 6, 0};

class SampleDraws {
 public:
  // Reals are drawn apart from each other, so that a tie is no rule.
  Sample Next(ElementType type) {
    const auto draw = [&](size_t count) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      return static_cast<size_t>(state_ >> 33) % count;
    };
    if (type == ElementType::kPred) return IntegerSample(type, static_cast<int64_t>(draw(2)));
    if (!IsRealOrComplex(type)) return IntegerSample(type, kIntegers[draw(kIntegers.size())]);
    const double real = kReals[draw(kReals.size())];
    return RealSample({real, IsComplex(type) ? kReals[draw(kReals.size())] : 0});
  }

 private:
  uint64_t state_ = 41;
};

// Farther apart than the rounding of doubles explains, even where it grows.
bool LieApart(ElementType type, const Sample& a, const Sample& b, double scale) {
  if (!a.defined || !b.defined) return false;
  if (!IsRealOrComplex(type)) return a.integer != b.integer;
  if (!IsFiniteSample(a.real) || !IsFiniteSample(b.real)) return false;
  const double apart = std::abs(a.real - b.real);
  return apart > 1e-3 * std::max(std::abs(a.real), std::abs(b.real)) && apart > 1e-6 * scale;
}

bool DiffersByGrouping(const Combiner& f, const std::vector<ElementType>& types, const SampleTuple& a,
                       const SampleTuple& b, const SampleTuple& c) {
  const SampleTuple left = f(f(a, b), c), right = f(a, f(b, c));
  double scale = 0;
  for (const SampleTuple* x : {&a, &b, &c}) {
    for (const Sample& number : *x) scale = std::max(scale, std::abs(number.real));
  }
  for (size_t k = 0; k < types.size(); ++k) {
    if (LieApart(types[k], left[k], right[k], scale)) return true;
  }
  return false;
}

// Another value of the same number: what rounds, or copies.
const Instruction* Unwrapped(const Instruction* i) {
  const auto float_like = [](const Instruction& value) { return IsFloating(value.shape().element_type()); };
  while (i->opcode() == Opcode::kCopy ||
         (i->opcode() == Opcode::kConvert && float_like(*i) && float_like(*i->operand(0)))) {
    i = i->operand(0);
  }
  return i;
}

// Result k is an associative operation of values k of both sides, or one of these.
bool IsShown(const Computation& combiner, const Instruction& result, size_t k, size_t count) {
  const auto is = [&](const Instruction* value, size_t number) {
    value = Unwrapped(value);
    return value->opcode() == Opcode::kParameter && value->parameter_number() == static_cast<int64_t>(number) &&
           value->shape().element_type() == combiner.parameter(k)->shape().element_type();
  };
  const Instruction* root = Unwrapped(&result);
  if (is(root, k) || is(root, count + k)) return true;
  if (root->operand_count() != 2 || !Has(root->opcode(), Trait::kAssociates)) return false;
  const Instruction *a = root->operand(0), *b = root->operand(1);
  return (is(a, k) && is(b, count + k)) || (is(b, k) && is(a, count + k));
}

bool AllAreShown(const Computation& combiner, size_t count) {
  const Instruction& root = *combiner.root();
  if (root.opcode() != Opcode::kTuple) return count == 1 && IsShown(combiner, root, 0, 1);
  if (root.operand_count() != static_cast<int>(count)) return false;
  for (size_t k = 0; k < count; ++k) {
    if (!IsShown(combiner, *root.operand(k), k, count)) return false;
  }
  return true;
}

// All eight cases of three of a type of two values; none: some case is not defined.
std::optional<bool> AssociatesOnPred(const Combiner& f) {
  const auto pred = [](int value) { return SampleTuple{IntegerSample(ElementType::kPred, value)}; };
  for (int c = 0; c < 8; ++c) {
    const SampleTuple x = pred(c & 1), y = pred(c >> 1 & 1), z = pred(c >> 2);
    const SampleTuple left = f(f(x, y), z), right = f(x, f(y, z));
    if (!left[0].defined || !right[0].defined) return std::nullopt;
    if (left[0].integer != right[0].integer) return false;
  }
  return true;
}

}  // namespace

CombinerOrder OrderOf(const Computation& combiner) {
  // Longer ones are not evaluated for this.
  constexpr size_t kMostInstructions = 512;
  constexpr int kSamples = 64;
  const size_t count = combiner.parameters().size() / 2;
  const auto scalar = [](const Instruction* i) { return i->shape().IsScalar(); };
  if (count == 0 || combiner.parameters().size() % 2 != 0 || !std::ranges::all_of(combiner.parameters(), scalar))
    return CombinerOrder::kUnknown;
  if (AllAreShown(combiner, count)) return CombinerOrder::kAny;
  const size_t results = FlattenTuple(combiner.root()->shape()).size();
  if (results != count || combiner.instructions().size() > kMostInstructions) return CombinerOrder::kUnknown;
  const Combiner f(combiner);
  std::vector<ElementType> types;
  for (size_t k = 0; k < count; ++k) types.push_back(combiner.parameter(k)->shape().element_type());
  if (types == std::vector{ElementType::kPred}) {
    const std::optional<bool> associates = AssociatesOnPred(f);
    if (!associates) return CombinerOrder::kUnknown;
    return *associates ? CombinerOrder::kAny : CombinerOrder::kInOrder;
  }
  SampleDraws samples;
  const auto sample = [&] {
    SampleTuple numbers;
    for (ElementType type : types) numbers.push_back(samples.Next(type));
    return numbers;
  };
  for (int s = 0; s < kSamples; ++s) {
    const SampleTuple a = sample(), b = sample(), c = sample();
    if (DiffersByGrouping(f, types, a, b, c)) return CombinerOrder::kInOrder;
  }
  return CombinerOrder::kUnknown;
}

}  // namespace VXLA_NAMESPACE
