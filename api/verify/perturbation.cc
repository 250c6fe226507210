#include "api/verify/perturbation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "api/verify/diff_side.h"
#include "backend/cpu/reference/arithmetic/parallel.h"
#include "backend/cpu/reference/arithmetic/wide_literal.h"
#include "backend/cpu/reference/op_bound.h"
#include "core/data/float_formats.h"
#include "core/host/hash.h"
#include "core/host/ranges.h"
#include "core/library/library_calls.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

bool Rounds(ElementType type) { return IsFloating(type) || IsComplex(type); }

Shape Widened(const Shape& shape) {
  Shape wide = shape;
  wide.set_element_type(WideType(shape.element_type()));
  if (!shape.IsTuple()) return wide;
  return Shape::Tuple(Transformed(shape.tuple_elements(), Widened));
}

// Real numbers of an array of f64 or c128: real and imaginary parts one after another.
std::span<double> Parts(Literal& wide) {
  return {reinterpret_cast<double*>(wide.mutable_bytes().data()), wide.mutable_bytes().size() / sizeof(double)};
}
std::span<const double> Parts(const Literal& wide) {
  return {reinterpret_cast<const double*>(wide.bytes().data()), wide.bytes().size() / sizeof(double)};
}

uint64_t Mix(uint64_t x) { return SplitMix(x + kSplitMixStep); }

// Uniform in (-1, 1), by its number.
double Draw(uint64_t key, uint64_t number) {
  return (static_cast<double>(Mix(key + number) >> 11) + 0.5) * 0x1p-52 - 1;
}

// Below a power of two values lie half as far apart, so that an exact one stays where it is.
double UnitTowards(const FloatFormat& format, double value, double direction) {
  int exponent = 0;
  const bool power = std::fabs(std::frexp(value, &exponent)) == 0.5;
  return power && direction * value < 0 ? UnitInLastPlace(format, value) / 2 : UnitInLastPlace(format, value);
}

constexpr int64_t kGrain = 1 << 14;

// How far a result may be off its exact value.
struct Noise {
  double units = 0.5;             // in the last place of each part
  double norm_units = 0;          // of complex numbers: in the last place of the absolute value
  double absolute = 0;            // instead of units, where it is more
  double relative = 0;            // beside units, of the part
  std::vector<double> amplitude;  // beside units, by element; empty: none
  std::vector<double> residual;   // exact value minus the wide one, by part; empty: none known
};

// Exact values (in f64) as values of `type`, moved.
Literal MoveAndRound(const Literal& wide, ElementType type, const Noise& noise, uint64_t key, int threads) {
  Literal moved = wide;
  const std::span<double> parts = Parts(moved);
  const int step = IsComplex(type) ? 2 : 1;
  const FloatFormat& format = FormatOf(RealPart(type));
  const auto move = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* element = parts.data() + i * step;
      const double beside =
          (noise.amplitude.empty() ? 0 : noise.amplitude[i]) +
          (noise.norm_units > 0 ? noise.norm_units * UnitInLastPlace(format, std::hypot(element[0], element[step - 1]))
                                : 0);
      for (int p = 0; p < step; ++p) {
        const double value = element[p];
        if (!std::isfinite(value) || !std::isfinite(beside) || (value == 0 && beside == 0)) continue;
        const auto part = static_cast<size_t>(i * step + p);
        const double draw = Draw(key, part);
        const double reach = std::max(noise.units * UnitTowards(format, value, draw), noise.absolute) + beside +
                             noise.relative * std::fabs(value);
        const double residual = noise.residual.empty() ? 0 : noise.residual[part];
        const double after = value + (residual + reach * draw);
        // What only rounds keeps its sign: an exponential that underflows does not become negative.
        element[p] = beside == 0 && noise.absolute == 0 && after * value < 0 ? std::copysign(0.0, value) : after;
      }
    }
  };
  ParallelFor(moved.element_count(), kGrain, threads, move);
  return NarrowLiteral(moved, type);
}

// What a correctly rounded operation on f64 has rounded away, where that is known without a wider type.
std::vector<double> ResidualsOf(const Instruction& instruction, std::span<const Literal* const> operands,
                                const Literal& result) {
  std::vector<double> residuals;
  if (instruction.shape().element_type() != ElementType::kF64) return residuals;
  const std::span<const double> value = Parts(result);
  const auto operand = [&](size_t k) { return operands[k]->data<double>(); };
  const auto fill = [&](auto residual) {
    residuals.resize(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      const double r = residual(i, value[i]);
      residuals[i] = std::isfinite(r) ? r : 0;
    }
  };
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kAdd || opcode == Opcode::kSubtract) {
    const double sign = opcode == Opcode::kAdd ? 1 : -1;
    fill([a = operand(0), b = operand(1), sign](size_t i, double sum) {  // Knuth's TwoSum
      const double y = sign * b[i], kept = sum - a[i];
      return (a[i] - (sum - kept)) + (y - kept);
    });
  } else if (opcode == Opcode::kMultiply) {
    fill([a = operand(0), b = operand(1)](size_t i, double product) { return std::fma(a[i], b[i], -product); });
  } else if (opcode == Opcode::kDivide) {
    fill([a = operand(0), b = operand(1)](size_t i, double q) { return std::fma(-q, b[i], a[i]) / b[i]; });
  } else if (opcode == Opcode::kSqrt) {
    fill([a = operand(0)](size_t i, double root) { return root == 0 ? 0 : std::fma(-root, root, a[i]) / (2 * root); });
  }
  return residuals;
}

// All terms are multiples of one power of two and few enough of it: every order of them gives the exact sum.
bool ExactInAnyOrder(const Instruction& instruction, std::span<const Literal* const> operands, int64_t length,
                     ElementType accumulator) {
  const bool products = instruction.opcode() == Opcode::kDot || instruction.opcode() == Opcode::kConvolution;
  double largest = products ? 1 : 0;
  int lowest = products ? 0 : std::numeric_limits<int>::max();
  for (const Literal* operand : operands) {
    if (!Rounds(operand->shape().element_type())) continue;
    double most = 0;
    int least = std::numeric_limits<int>::max();
    const Literal wide = WidenLiteral(*operand);
    for (const double x : Parts(wide)) {
      if (x == 0) continue;
      if (!std::isfinite(x)) return false;
      int exponent = 0;
      const auto mantissa = static_cast<uint64_t>(std::ldexp(std::fabs(std::frexp(x, &exponent)), 53));
      most = std::max(most, std::fabs(x));
      least = std::min(least, exponent - 53 + std::countr_zero(mantissa));
    }
    if (most == 0) continue;
    largest = products ? largest * most : std::max(largest, most);
    lowest = products ? lowest + least : std::min(lowest, least);
  }
  if (largest == 0 || lowest == std::numeric_limits<int>::max()) return true;
  const double limit = std::ldexp(1.0, FormatOf(RealPart(accumulator)).mantissa_bits + 1);
  return static_cast<double>(length + 1) * 2 * largest <= limit * std::ldexp(1.0, lowest);
}

}  // namespace

// An instruction with its floats widened to f64: its value is exact beside the original's, and what it adds up is
// linear in what is put in.
struct Perturbation::Twin {
  std::unique_ptr<Module> module;
  const Instruction* instruction = nullptr;

  explicit Twin(const Instruction& original) : module(std::make_unique<Module>("wide")) {
    Computation* entry = module->AddComputation("wide");
    std::vector<Instruction*> operands;
    for (const Instruction* operand : original.operands()) {
      const ParameterAttributes number{std::ssize(operands)};
      operands.push_back(entry->Add(Opcode::kParameter, Widened(operand->shape()), {}, number));
    }
    auto wide = original.CloneWith(std::move(operands), Widened(original.shape()), Called(original));
    if (auto* const call = std::get_if<CustomCallAttributes>(&wide->mutable_attributes()); call != nullptr)
      call->custom_call_target = WidestTarget(call->custom_call_target);
    instruction = entry->Add(std::move(wide));
  }

  std::vector<Computation*> Called(const Instruction& original) {
    return Transformed(original.called(),
                       [&](const Computation* computation) { return WidenComputation(*computation); });
  }

  Computation* WidenComputation(const Computation& original) {
    std::vector<std::pair<const Instruction*, std::vector<Computation*>>> inner;
    for (const auto& each : original.instructions()) inner.emplace_back(each.get(), Called(*each));
    Computation* copy = module->AddComputation(original.name());
    std::unordered_map<const Instruction*, Instruction*> copies;
    for (auto& [each, called] : inner) {
      auto operands = Transformed(each->operands(), [&](const Instruction* operand) { return copies.at(operand); });
      auto wide = each->CloneWith(std::move(operands), Widened(each->shape()), std::move(called));
      if (each->opcode() == Opcode::kConstant && each->shape().IsArray()) {
        wide->mutable_attributes() = ConstantAttributes{std::make_shared<const Literal>(WidenLiteral(each->literal()))};
      }
      copies[each] = copy->Add(std::move(wide));
    }
    copy->set_root(copies.at(original.root()));
    return copy;
  }

  // Each operand widened and changed by `change(parts, parts of an element, operand's number)`.
  Result<Literal> Evaluate(InstructionEvaluator& evaluator, std::span<const Literal* const> operands,
                           auto change) const {
    std::vector<Literal> wide;
    wide.reserve(operands.size());
    std::vector<const Literal*> pointers;
    for (size_t k = 0; k < operands.size(); ++k) {
      const ElementType type = operands[k]->shape().element_type();
      pointers.push_back(&wide.emplace_back(WidenLiteral(*operands[k])));
      if (Rounds(type)) change(Parts(wide.back()), IsComplex(type) ? 2 : 1, k);
    }
    return evaluator.Evaluate(*instruction, pointers);
  }
  Result<Literal> Evaluate(InstructionEvaluator& evaluator, std::span<const Literal* const> operands) const {
    return Evaluate(evaluator, operands, [](std::span<double>, int, size_t) {});
  }
};

namespace {

void TakeMagnitudes(std::span<double> parts, int step) {
  for (size_t i = 0; i < parts.size(); i += static_cast<size_t>(step)) {
    if (step == 2) parts[i] = std::hypot(parts[i], parts[i + 1]);
    if (step == 2) parts[i + 1] = 0;
    parts[i] = std::fabs(parts[i]);
  }
}

void TakeSquares(std::span<double> parts, int step) {
  TakeMagnitudes(parts, step);
  for (double& part : parts) part *= part;
}

std::vector<ReducerKind> KindsOf(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
      return KindsOfReducer(*instruction.called(0));
    case Opcode::kSelectAndScatter:
      return KindsOfReducer(*instruction.called(1));
    default:
      return {ReducerKind::kSum};
  }
}

ElementType AccumulatorOf(const Instruction& instruction, size_t leaf, ElementType type) {
  switch (instruction.opcode()) {
    case Opcode::kDot:
    case Opcode::kConvolution:
      return DotSumType(instruction.operand(0)->shape().element_type(), instruction.operand(1)->shape().element_type(),
                        type);
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return FactsOfReducer(*instruction.called(0)).types.at(leaf);
    default:
      return type;
  }
}

bool AnyLeafRounds(const Shape& shape) {
  return std::ranges::any_of(FlattenTuple(shape), [](const Shape* leaf) { return Rounds(leaf->element_type()); });
}

Literal Assemble(const Instruction& instruction, std::vector<Literal> leaves) {
  return instruction.shape().IsTuple() ? Literal::Tuple(std::move(leaves)) : std::move(leaves[0]);
}

// How many roundings an element of an operand goes through on its way to the result, as a random walk adds them up.
double WalkOf(const Instruction& instruction) {
  const auto length = static_cast<double>(AccumulationLength(instruction));
  if (IsAnyOf(instruction.opcode(), Opcode::kCholesky, Opcode::kTriangularSolve) || IsLinearAlgebraCall(instruction))
    return 2 * std::sqrt(length + 1);
  double operations = 1;
  for (const Computation* computation : instruction.called())
    operations += static_cast<double>(computation->instructions().size());
  return 2 * std::sqrt(1 + operations * std::log2(2 + length));
}

// The numbers of a matrix of an operand, where an algorithm's backward error is small beside the matrix as a whole and
// not beside each of its elements; 0: it is.
int64_t MatrixParts(const Instruction& instruction, int operand) {
  const Shape& shape = instruction.operand(operand)->shape();
  if (!IsLinearAlgebraCall(instruction) || shape.rank() < 2 || !Rounds(shape.element_type())) return 0;
  const int64_t elements = shape.dimension(shape.rank() - 1) * shape.dimension(shape.rank() - 2);
  return elements * (IsComplex(shape.element_type()) ? 2 : 1);
}

std::vector<double> RootMeanSquares(std::span<const double> parts, int64_t matrix) {
  std::vector<double> sizes;
  for (size_t begin = 0; matrix > 0 && begin < parts.size(); begin += static_cast<size_t>(matrix)) {
    double sum = 0;
    for (const double part : parts.subspan(begin, static_cast<size_t>(matrix))) sum += part * part;
    sizes.push_back(std::sqrt(sum / static_cast<double>(matrix)));
  }
  return sizes;
}

}  // namespace

Perturbation::Perturbation(PerturbationOptions options)
    : options_(std::move(options)), evaluator_(std::make_unique<InstructionEvaluator>(options_.evaluate)) {
  EvaluateOptions plain = options_.evaluate;
  plain.plain_f64_products = true;
  plain_ = std::make_unique<InstructionEvaluator>(std::move(plain));
}
Perturbation::~Perturbation() = default;

Perturbation::Way Perturbation::WayOf(const Instruction& instruction) {
  if (!AnyLeafRounds(instruction.shape())) return Way::kNone;
  switch (instruction.opcode()) {
    case Opcode::kCustomCall:
      return IsLinearAlgebraCall(instruction) ? Way::kOperands : Way::kNone;
    case Opcode::kDot:
    case Opcode::kConvolution:
      return Way::kSum;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSelectAndScatter: {
      const std::vector<ReducerKind> kinds = KindsOf(instruction);
      if (Contains(kinds, ReducerKind::kOther)) return Way::kOperands;
      const bool exact = std::ranges::all_of(kinds, [](ReducerKind kind) { return kind == ReducerKind::kExact; });
      return exact ? Way::kNone : Way::kSum;
    }
    default:
      break;
  }
  using enum Opcode;
  if (IsAnyOf(instruction.opcode(), kMap, kFft, kCholesky, kTriangularSolve, kRaggedDot, kScaledDot, kBatchNormGrad,
              kBatchNormInference, kBatchNormTraining))
    return Way::kOperands;
  if (!IsElementwise(instruction.opcode()) || !instruction.shape().IsArray()) return Way::kNone;
  const UlpBound bound = AccuracyOf(instruction);
  return bound.ulp > 0 || bound.norm > 0 ? Way::kFunction : Way::kNone;
}

const Perturbation::Twin& Perturbation::TwinOf(const Instruction& instruction) {
  std::unique_ptr<Twin>& twin = twins_[&instruction];
  if (twin == nullptr) twin = std::make_unique<Twin>(instruction);
  return *twin;
}

namespace {

// A draw between -1 and 1 as what is left of a number beyond the range: some number, NaN or an infinity.
double PartBeyond(double draw) {
  if (std::fabs(draw) < 0.5) return 1;
  if (draw < 0) return std::numeric_limits<double>::quiet_NaN();
  return draw < 0.75 ? HUGE_VAL : -HUGE_VAL;
}

// What is no larger than what it may be off by may as well be lost.
void Underflown(const Tolerance& bound, uint64_t key, Literal* product) {
  for (int64_t i = 0; bound.magnitudes != nullptr && i < product->element_count(); ++i) {
    const double most = bound.magnitude_factor * std::abs(bound.magnitudes->GetComplex(i));
    const auto draw = [&](uint64_t number) { return Draw(key, 3 * static_cast<uint64_t>(i) + number); };
    const std::complex<double> value = product->GetComplex(i);
    const bool is_lost = std::abs(value) <= most && draw(2) < 0;
    const auto moved = [&](double part, uint64_t number) { return is_lost ? part * 0 : part + most * draw(number); };
    if (IsComplex(product->shape().element_type())) {
      product->SetComplex(i, {moved(value.real(), 0), moved(value.imag(), 1)});
    } else {
      product->SetDouble(i, moved(value.real(), 0));
    }
  }
}

// Where a partial result overflows in some order: a number (any, if the value is none), an infinity or NaN, as it
// falls, each part of a complex number by itself. Where an angle may be off by half turns: some of them. And what a
// product is off by once a partial one has left the normal numbers.
Literal Overflown(const Instruction& instruction, std::span<const Literal* const> operands, Literal moved, uint64_t key,
                  const std::vector<ReducerKind>& kinds = {}) {
  const OpBound bound = BoundOf(instruction, operands, moved);
  std::vector<Literal> leaves;
  const auto values = FlattenLiteral(moved);
  for (size_t k = 0; k < values.size(); ++k) {
    Literal leaf = *values[k];
    const Literal* may = bound.leaves[k].may_overflow;
    const Literal* turns = bound.leaves[k].half_turns;
    const bool is_complex = IsComplex(leaf.shape().element_type());
    const auto draw_of = [&](int64_t i, int part) { return Draw(key + Mix(2 * k + part), static_cast<uint64_t>(i)); };
    for (int64_t i = 0; turns != nullptr && i < leaf.element_count(); ++i) {
      if (turns->GetInt(i) == 0) continue;
      const double turn = std::round(2.49 * draw_of(i, 0)) * 3.141592653589793;
      leaf.SetComplex(i, leaf.GetComplex(i) + turn);
    }
    if (k < kinds.size() && kinds[k] == ReducerKind::kProduct) Underflown(bound.leaves[k], key + Mix(k), &leaf);
    for (int64_t i = 0; may != nullptr && i < leaf.element_count(); ++i) {
      if (may->GetInt(i) == 0) continue;
      const std::complex<double> value = leaf.GetComplex(i);
      const bool is_number = std::isfinite(value.real()) && std::isfinite(value.imag());
      if (std::fabs(draw_of(i, 0)) < 0.5 && is_number) continue;
      if (is_complex) {
        leaf.SetComplex(i, {PartBeyond(draw_of(i, 0)), PartBeyond(draw_of(i, 1))});
      } else {
        leaf.SetDouble(i, PartBeyond(draw_of(i, 0)));
      }
    }
    leaves.push_back(std::move(leaf));
  }
  return Assemble(instruction, std::move(leaves));
}

}  // namespace

Result<Literal> Perturbation::MoveFunction(const Instruction& instruction, std::span<const Literal* const> operands,
                                           uint64_t key) {
  const ElementType type = instruction.shape().element_type();
  const UlpBound bound = AccuracyOf(instruction);
  VXLA_ASSIGN_OR_RETURN(const Literal wide, TwinOf(instruction).Evaluate(*evaluator_, operands));
  Noise noise;
  noise.units = bound.ulp;
  noise.norm_units = bound.norm;
  noise.absolute = bound.absolute;
  noise.residual = ResidualsOf(instruction, operands, wide);
  const bool is_power = instruction.opcode() == Opcode::kPower;
  if (!IsComplex(type) || !(is_power || instruction.opcode() == Opcode::kAtan2))
    return MoveAndRound(wide, type, noise, key, options_.evaluate.threads);
  // The norm is one of the table's times a factor by element; where the angle is not known it may be any, and a result
  // that vanishes lies in any quadrant.
  const double whole = 1 / (2 * UnitRoundoff(type));
  noise.amplitude.resize(static_cast<size_t>(wide.element_count()));
  std::vector<int64_t> vanished;
  for (int64_t i = 0; is_power && i < wide.element_count(); ++i) {
    const double factor = PowerNormFactor(operands[0]->GetComplex(i), operands[1]->GetComplex(i));
    const double size = std::abs(wide.GetComplex(i)), unit = UnitInLastPlace(FormatOf(RealPart(type)), size);
    noise.amplitude[i] = std::min((std::min(factor, whole) - 1) * noise.norm_units * unit, 2 * size + unit);
    if (factor >= whole && size == 0) vanished.push_back(i);
  }
  Literal moved = MoveAndRound(wide, type, noise, key, options_.evaluate.threads);
  for (const int64_t i : vanished) {
    const auto zero = [&](uint64_t part) { return std::copysign(0.0, Draw(key, 2 * static_cast<uint64_t>(i) + part)); };
    moved.SetComplex(i, {zero(0), zero(1)});
  }
  return Overflown(instruction, operands, std::move(moved), key);
}

// Partial sums of terms in an order that does not depend on them walk from zero to the sum: their squares are
// k/n (k/n S^2 + (1 - k/n) Q) at step k, S the sum and Q the sum of the terms' squares, and each addition rounds by
// half a unit of its partial sum. Added up over n steps that is n (S^2 / 3 + Q / 6) u^2.
Result<Literal> Perturbation::MoveSum(const Instruction& instruction, std::span<const Literal* const> operands,
                                      uint64_t key) {
  const Twin& twin = TwinOf(instruction);
  const bool wide = std::ranges::any_of(FlattenTuple(instruction.shape()), [](const Shape* leaf) {
    return leaf->IsArray() && RealPart(leaf->element_type()) == ElementType::kF64;
  });
  VXLA_ASSIGN_OR_RETURN(const Literal sums, twin.Evaluate(wide ? *evaluator_ : *plain_, operands));
  const bool selects = instruction.opcode() == Opcode::kSelectAndScatter;
  VXLA_ASSIGN_OR_RETURN(const Literal reach,
                        twin.Evaluate(*plain_, operands, [&](std::span<double> parts, int step, size_t operand) {
                          if (selects && operand == 0) return;
                          options_.any_order ? TakeMagnitudes(parts, step) : TakeSquares(parts, step);
                        }));
  const auto sum_leaves = FlattenLiteral(sums), reach_leaves = FlattenLiteral(reach);
  const auto shapes = FlattenTuple(instruction.shape());
  const std::vector<ReducerKind> kinds = KindsOf(instruction);
  const int64_t length = AccumulationLength(instruction);
  std::vector<Literal> leaves;
  bool may_overflow = false;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const ElementType type = shapes[k]->element_type();
    if (!Rounds(type)) {
      leaves.push_back(*sum_leaves[k]);
      continue;
    }
    // At least the magnitudes' sum, by its squares.
    const double of_squares = options_.any_order ? 1 : std::sqrt(static_cast<double>(length));
    may_overflow |= kinds[k] == ReducerKind::kProduct;
    may_overflow |= kinds[k] == ReducerKind::kSum && std::ranges::any_of(Parts(*reach_leaves[k]), [&](double reach) {
                      const double magnitude = of_squares * (options_.any_order ? reach : std::sqrt(reach));
                      return !(magnitude < MaxFinite(RealPart(type)));
                    });
    const ElementType accumulator = AccumulatorOf(instruction, k, type);
    const double unit = UnitRoundoff(accumulator);
    Noise noise;
    if (kinds[k] == ReducerKind::kExact) noise.units = 0;
    if (kinds[k] == ReducerKind::kProduct) noise.relative = 2 * unit * std::sqrt(static_cast<double>(length) + 1);
    const double apart = DotAlgorithmApart(instruction);
    if (kinds[k] == ReducerKind::kSum && (apart > 0 || !ExactInAnyOrder(instruction, operands, length, accumulator))) {
      const std::span<const double> sum = Parts(*sum_leaves[k]), other = Parts(*reach_leaves[k]);
      const size_t step = IsComplex(type) ? 2 : 1;
      const double walk = apart + 4 * unit * std::sqrt((static_cast<double>(length) + 1) / 6);
      const double bound = apart + BoundOfLength(accumulator, length);
      noise.amplitude.resize(sum.size() / step);
      for (size_t i = 0; i < noise.amplitude.size(); ++i) {
        const double total = step == 2 ? std::hypot(sum[2 * i], sum[2 * i + 1]) : sum[i];
        noise.amplitude[i] = options_.any_order ? bound * std::fabs(other[i * step])
                                                : walk * std::sqrt(2 * total * total + other[i * step]);
      }
    }
    leaves.push_back(MoveAndRound(*sum_leaves[k], type, noise, key + Mix(k), options_.evaluate.threads));
  }
  Literal moved = Assemble(instruction, std::move(leaves));
  return may_overflow ? Overflown(instruction, operands, std::move(moved), key, kinds) : std::move(moved);
}

// An algorithm or a custom combiner: rounding on the way is taken for a change of what went in, as backward error
// analysis does.
Result<Literal> Perturbation::MoveOperands(const Instruction& instruction, std::span<const Literal* const> operands,
                                           uint64_t key) {
  const double walk = WalkOf(instruction);
  const auto shapes = FlattenTuple(instruction.shape());
  double unit = UnitRoundoff(ElementType::kF64);
  for (const Shape* shape : shapes) {
    if (Rounds(shape->element_type()) && RealPart(shape->element_type()) != ElementType::kF64)
      unit = UnitRoundoff(ElementType::kF32);
  }
  VXLA_ASSIGN_OR_RETURN(
      const Literal wide,
      TwinOf(instruction).Evaluate(*evaluator_, operands, [&](std::span<double> parts, int, size_t operand) {
        const uint64_t operand_key = key + Mix(operand + 1);
        const int64_t matrix = MatrixParts(instruction, static_cast<int>(operand));
        const std::vector<double> sizes = RootMeanSquares(parts, matrix);
        ParallelFor(std::ssize(parts), kGrain, options_.evaluate.threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            double& part = parts[i];
            const double size = matrix > 0 ? sizes[i / matrix] : part;
            part += walk * unit * size * Draw(operand_key, static_cast<uint64_t>(i));
          }
        });
      }));
  const auto wide_leaves = FlattenLiteral(wide);
  std::vector<Literal> leaves;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const ElementType type = shapes[k]->element_type();
    leaves.push_back(Rounds(type) ? MoveAndRound(*wide_leaves[k], type, {}, key + Mix(k), options_.evaluate.threads)
                                  : *wide_leaves[k]);
  }
  return Assemble(instruction, std::move(leaves));
}

std::optional<Result<Literal>> Perturbation::Move(const Instruction& instruction,
                                                  std::span<const Literal* const> operands) {
  const Way way = WayOf(instruction);
  const bool flushes = options_.flush && MayFlush(instruction);
  if (way == Way::kNone && !flushes) return std::nullopt;
  std::vector<std::shared_ptr<const Literal>> flushed;
  std::vector<const Literal*> given(operands.begin(), operands.end());
  for (size_t k = 0; flushes && k < given.size(); ++k) {
    if (!MayFlushOperand(instruction, k)) continue;
    flushed.push_back(options_.flush(*given[k]));
    if (flushed.back() != nullptr) given[k] = flushed.back().get();
  }
  const uint64_t key = Mix(seed_ ^ Mix(++moves_));
  Result<Literal> moved = way == Way::kFunction   ? MoveFunction(instruction, given, key)
                          : way == Way::kSum      ? MoveSum(instruction, given, key)
                          : way == Way::kOperands ? MoveOperands(instruction, given, key)
                                                  : evaluator_->Evaluate(instruction, given);
  // What has no wide form stays as it is.
  if (!moved.ok() && way != Way::kNone) moved = evaluator_->Evaluate(instruction, given);
  if (!moved.ok() || !flushes) return moved;
  const std::shared_ptr<const Literal> zeros = options_.flush(*moved);
  return zeros != nullptr ? Result<Literal>(*zeros) : std::move(moved);
}

Result<Literal> Perturbation::Run(const Module& module, std::span<const Literal* const> arguments, uint64_t seed) {
  seed_ = Mix(seed);
  moves_ = 0;
  EvaluateOptions options = options_.evaluate;
  options.replace = [this](const Instruction& instruction, std::span<const Literal* const> operands) {
    return Move(instruction, operands);
  };
  return Evaluate(module, arguments, options);
}

Result<Literal> Perturbation::RunInstruction(const Instruction& instruction, std::span<const Literal* const> operands,
                                             uint64_t seed) {
  seed_ = Mix(seed);
  moves_ = 0;
  if (auto moved = Move(instruction, operands)) return std::move(*moved);
  return evaluator_->Evaluate(instruction, operands);
}

}  // namespace VXLA_NAMESPACE
