#include "backend/cpu/reference/op_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_set>

#include "backend/cpu/reference/evaluator.h"
#include "core/data/float_formats.h"
#include "core/numerics/accuracy.h"
#include "core/numerics/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

bool HasRounding(ElementType type) { return IsFloating(type) || IsComplex(type); }

bool PicksOnly(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCompare:
    case Opcode::kSelect:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
    case Opcode::kCopy:
    case Opcode::kNegate:
    case Opcode::kAbs:
      return true;
    default:
      return !instruction.shape().IsArray() || !HasRounding(instruction.shape().element_type());
  }
}

// Only sums and products of the parameters `value` and `value` + `values` of a region are so, in either order.
ReducerKind KindOfResult(const Instruction& result, int64_t value, int64_t values) {
  if (result.opcode() == Opcode::kAdd || result.opcode() == Opcode::kMultiply) {
    const Instruction *a = result.operand(0), *b = result.operand(1);
    if (a->opcode() == Opcode::kParameter && b->opcode() == Opcode::kParameter &&
        std::minmax({a->parameter_number(), b->parameter_number()}) == std::pair(value, value + values))
      return result.opcode() == Opcode::kAdd ? ReducerKind::kSum : ReducerKind::kProduct;
  }
  std::vector<const Instruction*> pending{&result};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction* instruction = pending.back();
    pending.pop_back();
    if (!seen.insert(instruction).second) continue;
    if (!PicksOnly(*instruction)) return ReducerKind::kOther;
    pending.insert(pending.end(), instruction->operands().begin(), instruction->operands().end());
  }
  return ReducerKind::kExact;
}

}  // namespace

std::vector<ReducerKind> KindsOfReducer(const Computation& computation) {
  const Instruction& root = *computation.root();
  const int64_t values = static_cast<int64_t>(computation.parameters().size()) / 2;
  if (root.opcode() != Opcode::kTuple) return {KindOfResult(root, 0, values)};
  std::vector<ReducerKind> kinds;
  for (int k = 0; k < root.operand_count(); ++k) kinds.push_back(KindOfResult(*root.operand(k), k, values));
  return kinds;
}

namespace {

double LargestPart(std::complex<double> z) { return std::max(std::fabs(z.real()), std::fabs(z.imag())); }

// A function of each element's magnitude, with no imaginary part. Other types as they are.
template <typename Function>
Literal Formed(const Literal& literal, Function function, bool of_finite_parts = false) {
  const ElementType type = literal.shape().element_type();
  if (!literal.shape().IsArray() || !HasRounding(type)) return literal;
  const auto part = [&](double x) { return of_finite_parts && !std::isfinite(x) ? 0 : x; };
  Literal result = literal;
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsComplex(type)) {
      const std::complex<double> value = literal.GetComplex(i);
      result.SetComplex(i, {function(std::abs(std::complex<double>(part(value.real()), part(value.imag())))), 0});
    } else {
      result.SetDouble(i, function(std::fabs(part(literal.GetDouble(i)))));
    }
  }
  return result;
}

}  // namespace

Literal Magnitudes(const Literal& literal) {
  return Formed(literal, [](double x) { return x; });
}

double BoundOfLength(ElementType accumulator, int64_t length) {
  const AccumulationBound bound = AccumulationOf(accumulator, length);
  return std::min(bound.certain, bound.likely);
}

namespace {

class BoundMaker {
 public:
  BoundMaker(const Instruction& instruction, std::span<const Literal* const> operands, const Literal& expected,
             bool flushes)
      : instruction_(instruction), operands_(operands), leaves_(FlattenLiteral(expected)), flushes_(flushes) {}

  OpBound Make() {
    switch (instruction_.opcode()) {
      case Opcode::kDot:
        MakeSum({ReducerKind::kSum}, {DotSumType(instruction_)});
        break;
      case Opcode::kConvolution:
        MakeSum({ReducerKind::kSum}, {DotSumType(instruction_)});
        MarkHoles();
        break;
      case Opcode::kReduce:
      case Opcode::kReduceWindow:
        MakeReduction(FactsOfReducer(*instruction_.called(0)).types);
        break;
      case Opcode::kScatter:
        MakeReduction(TypesOfLeaves());
        break;
      case Opcode::kSelectAndScatter:
        MakeSelectAndScatter();
        break;
      case Opcode::kSort:
      case Opcode::kTopK:
        MakeFunction();
        break;
      case Opcode::kBatchNormInference:
      case Opcode::kBatchNormTraining:
      case Opcode::kBatchNormGrad:
        MakeBatchNorm();
        break;
      case Opcode::kFft:
        MakeFft();
        break;
      case Opcode::kTriangularSolve:
        MakeTriangularSolve();
        break;
      case Opcode::kRng:
        MakeDraw();
        break;
      case Opcode::kPower:
        IsComplex(instruction_.shape().element_type()) ? MakeComplexPower() : MakeFunction();
        break;
      case Opcode::kAtan2:
        IsComplex(instruction_.shape().element_type()) ? MakeComplexAngle() : MakeFunction();
        break;
      default:
        AccumulationLength(instruction_) > 0 || !instruction_.called().empty() ? MakeDefault() : MakeFunction();
    }
    return std::move(bound_);
  }

 private:
  Tolerance RoundingOf(const Literal& leaf) const {
    const ElementType type = leaf.shape().IsArray() ? leaf.shape().element_type() : ElementType::kToken;
    if (!HasRounding(type)) return {};
    const UlpBound bound =
        instruction_.shape().IsArray() ? AccuracyOf(instruction_) : AccuracyOf(instruction_.opcode(), type);
    Tolerance tolerance;
    tolerance.ulp = static_cast<double>(UlpBudget(bound));
    tolerance.atol = bound.absolute;
    tolerance.norm_ulp = bound.norm > 0 ? bound.norm + 0.5 : 0;
    return tolerance;
  }

  void MakeFunction() {
    for (const Literal* leaf : leaves_) bound_.leaves.push_back(RoundingOf(*leaf));
    const Tolerance& first = bound_.leaves.at(0);
    bound_.text = first.ulp == 0 && first.norm_ulp == 0 ? "equal" : fmt::format("{:g} ulp", first.ulp);
    if (first.norm_ulp > 0) bound_.text += fmt::format(" a part or {:g} of the absolute value", first.norm_ulp);
    if (first.atol > 0) bound_.text += fmt::format(" or {:.2g}", first.atol);
  }

  // The norm grows with w log z. A part may leave the range in one rounding and not in another where its angle is not
  // known well enough to say on which side of zero it lies, or which of it and the largest number is more.
  void MakeComplexPower() {
    MakeFunction();
    const Literal& leaf = *leaves_[0];
    const ElementType type = leaf.shape().element_type();
    const FloatFormat& format = FormatOf(RealPart(type));
    const double largest = std::log(MaxFinite(RealPart(type))),
                 least = std::log(2.0) * (-format.bias - format.mantissa_bits);
    const IntList sizes(leaf.shape().dimensions().begin(), leaf.shape().dimensions().end());
    Literal distance(Shape(ElementType::kF64, sizes)), may(Shape(ElementType::kPred, sizes));
    constexpr double kScale = 0x1p-64;
    bool grows = false, overflows = false;
    for (int64_t i = 0; i < leaf.element_count(); ++i) {
      const std::complex<double> z = operands_[0]->GetComplex(i), w = operands_[1]->GetComplex(i);
      const double factor = PowerNormFactor(z, w);
      if (factor == 1) continue;
      grows = true;
      // In f64, which has no more bits than c128, and scaled: it may be beyond the range.
      const std::complex<double> power = w * kScale * std::log(z);
      const double unit = 2 * UnitRoundoff(type), off = std::abs(power) * std::max(unit / 64, 0x1p-50);
      const bool vanishes = power.real() + off < least * kScale;
      // From a whole on nothing is known of the angle.
      const double size = std::min(std::abs(leaf.GetComplex(i)), MaxFinite(RealPart(type)));
      const double known = (factor + 0.5) * UnitInLastPlace(format, size);
      distance.SetDouble(i, factor * unit < 1 ? known : vanishes ? 0 : HUGE_VAL);
      const auto decided = [&](double part) {
        const double log_size = power.real() / kScale, error = off / kScale;
        return log_size + error + std::log(part + error) < largest ||
               (part > error && log_size - error + std::log(part - error) > largest);
      };
      const double angle = power.imag() / kScale;
      if (off < kScale ? decided(std::fabs(std::cos(angle))) && decided(std::fabs(std::sin(angle))) : vanishes)
        continue;
      may.SetInt(i, 1);
      overflows = true;
    }
    if (!grows) return;
    bound_.text += ", beyond |w log z| = 64 in proportion to that";
    bound_.leaves[0].magnitudes = Keep(std::move(distance));
    bound_.leaves[0].magnitude_factor = 1;
    if (overflows) bound_.leaves[0].may_overflow = Keep(std::move(may));
  }

  // -i log(p / sqrt(p q)) of p = x + i y and q = x - i y: next to the negative axis the root and the logarithm have
  // either sign.
  void MakeComplexAngle() {
    MakeFunction();
    const Literal& leaf = *leaves_[0];
    const ElementType type = leaf.shape().element_type();
    const double near = 16 * UnitRoundoff(type);
    const auto on_cut = [near](std::complex<double> z) { return z.real() < near && std::fabs(z.imag()) <= near; };
    Literal may(Shape(ElementType::kPred, {leaf.shape().dimensions().begin(), leaf.shape().dimensions().end()}));
    bool any = false;
    for (int64_t i = 0; i < leaf.element_count(); ++i) {
      // Neither a sum of the largest numbers leaves the range, nor is anything lost of the smallest.
      const auto scaled = [&](const Literal& operand) {
        const double larger =
            std::max(LargestPart(operands_[0]->GetComplex(i)), LargestPart(operands_[1]->GetComplex(i)));
        return operand.GetComplex(i) / larger;
      };
      const std::complex<double> y = scaled(*operands_[0]), x = scaled(*operands_[1]);
      const auto direction = [](std::complex<double> z) {
        const double size = LargestPart(z);
        return z / size / std::abs(z / size);
      };
      const std::complex<double> p = direction({x.real() - y.imag(), x.imag() + y.real()}),
                                 q = direction({x.real() + y.imag(), x.imag() - y.real()});
      if (!on_cut(p * q) && !on_cut(p / std::sqrt(p * q))) continue;
      may.SetInt(i, 1);
      any = true;
    }
    if (!any) return;
    bound_.text += ", next to the cuts whole half turns";
    bound_.leaves[0].half_turns = Keep(std::move(may));
  }

  // Box and Muller's transform is one of f64 whatever the result's type: in f64 its logarithm and cosine show, in units
  // of the number's distance from the mean, which is no larger than both together. Other draws are the same everywhere.
  void MakeDraw() {
    const bool wide = instruction_.shape().IsArray() && instruction_.shape().element_type() == ElementType::kF64;
    if (!wide || instruction_.attributes<RngAttributes>().distribution != RngDistribution::kNormal)
      return MakeFunction();
    // The root halves the logarithm's error. The root, two products and the sum round.
    const double units =
        AccuracyOf(Opcode::kLog, ElementType::kF64).ulp / 2 + AccuracyOf(Opcode::kCos, ElementType::kF64).ulp + 4 * 0.5;
    Tolerance tolerance;
    tolerance.rtol = 2 * units * UnitRoundoff(ElementType::kF64);
    tolerance.atol = tolerance.rtol * std::abs(operands_[0]->GetDouble(0));
    bound_.leaves.push_back(tolerance);
    bound_.text = fmt::format("{:g} units in the last place of the distance from the mean", units);
  }

  std::vector<ElementType> TypesOfLeaves() const {
    std::vector<ElementType> types;
    for (const Literal* leaf : leaves_) types.push_back(leaf->shape().element_type());
    return types;
  }

  Tolerance DefaultOf(const Literal& leaf) {
    bound_.known = false;
    return leaf.shape().IsArray() ? Tolerance::DefaultFor(leaf) : Tolerance{};
  }

  void MakeDefault() {
    for (const Literal* leaf : leaves_) bound_.leaves.push_back(DefaultOf(*leaf));
    bound_.text = "rtol and atol of whole programs";
  }

  // A region that keeps each result's values apart: sums among them are linear in the floating operands, so that the
  // same operation on magnitudes gives the sums of the terms' magnitudes.
  void MakeSum(const std::vector<ReducerKind>& kinds, const std::vector<ElementType>& accumulators,
               int first_magnitude = 0) {
    bool sums = false;
    for (size_t k = 0; k < leaves_.size(); ++k) {
      sums |= kinds[k] == ReducerKind::kSum && HasRounding(leaves_[k]->shape().element_type());
    }
    std::vector<const Literal*> sum_leaves;
    if (sums && !FindMagnitudes(first_magnitude)) return MakeDefault();
    if (sums) sum_leaves = FlattenLiteral(*magnitudes_);
    for (size_t k = 0; k < leaves_.size(); ++k) {
      const bool rounds = HasRounding(leaves_[k]->shape().element_type());
      std::string text = "equal";
      if (kinds[k] == ReducerKind::kOther) {
        bound_.leaves.push_back(DefaultOf(*leaves_[k]));
        text = "rtol and atol of whole programs";
      } else if (!rounds || kinds[k] == ReducerKind::kExact) {
        bound_.leaves.emplace_back();
      } else if (kinds[k] == ReducerKind::kSum) {
        bound_.leaves.push_back(SumOf(k, *sum_leaves[k], accumulators[k], &text));
      } else {
        bound_.leaves.push_back(ProductOf(k, accumulators[k], &text));
      }
      if (k == 0 || text != bound_.text) bound_.text += (k == 0 ? "" : "; ") + text;
    }
  }

  // A device may add up what is between the holes of a dilated input, so that an infinity or NaN of the kernel does not
  // meet their zeros, nor such of the padding. Where it meets any: more of it is met with ones there than without.
  void MarkHoles() {
    auto attributes = instruction_.attributes<ConvolutionAttributes>();
    if (leaves_.size() != 1 || !HasRounding(leaves_[0]->shape().element_type())) return;
    const auto of_sizes = [](const Shape& shape) {
      return Shape(ElementType::kF32, {shape.dimensions().begin(), shape.dimensions().end()});
    };
    Literal kernel(of_sizes(operands_[1]->shape()));
    bool any = false;
    for (int64_t i = 0; i < kernel.element_count(); ++i) {
      const bool finite = std::isfinite(std::abs(operands_[1]->GetComplex(i)));
      kernel.SetDouble(i, finite ? 0 : 1);
      any |= !finite;
    }
    IntList filled(operands_[0]->shape().dimensions().begin(), operands_[0]->shape().dimensions().end());
    bool has_holes = false;
    Window whole = attributes.window;
    for (size_t d = 0; d < whole.size(); ++d) {
      int64_t& size = filled[static_cast<size_t>(attributes.dim_labels->input_spatial[d])];
      has_holes |= whole[d].lhs_dilate > 1 && size > 1;
      size = (size == 0 ? 0 : (size - 1) * whole[d].lhs_dilate + 1) + std::max<int64_t>(whole[d].pad_low, 0) +
             std::max<int64_t>(whole[d].pad_high, 0);
      whole[d].pad_low = std::min<int64_t>(whole[d].pad_low, 0);
      whole[d].pad_high = std::min<int64_t>(whole[d].pad_high, 0);
      whole[d].lhs_dilate = 1;
    }
    if (!any || !has_holes) return;
    const Shape result = of_sizes(leaves_[0]->shape());
    const auto met = [&](const Shape& input, const Window& window) {
      Literal ones(input);
      for (int64_t i = 0; i < ones.element_count(); ++i) ones.SetDouble(i, 1);
      attributes.window = window;
      Module module("met");
      Computation* const entry = module.AddComputation("met");
      const Literal* const values[] = {&ones, &kernel};
      std::vector<Instruction*> parameters;
      for (const Literal* value : values) {
        ParameterAttributes parameter;
        parameter.number = std::ssize(parameters);
        parameters.push_back(entry->Add(Opcode::kParameter, value->shape(), {}, parameter));
      }
      entry->set_root(entry->Add(Opcode::kConvolution, result, parameters, attributes));
      module.set_entry(entry);
      return Evaluate(module, values);
    };
    const Window window = attributes.window;
    const Result<Literal> all = met(Shape(ElementType::kF32, filled), whole),
                          between = met(of_sizes(operands_[0]->shape()), window);
    if (!all.ok() || !between.ok()) return;
    Tolerance& tolerance = bound_.leaves[0];
    Literal may(Shape(ElementType::kPred, {result.dimensions().begin(), result.dimensions().end()}));
    for (int64_t i = 0; i < may.element_count(); ++i) {
      const bool overflows = tolerance.may_overflow != nullptr && tolerance.may_overflow->GetInt(i) != 0;
      may.SetInt(i, overflows || all->GetDouble(i) > between->GetDouble(i) ? 1 : 0);
    }
    tolerance.may_overflow = Keep(std::move(may));
    bound_.text += ", infinities of the kernel met by holes or not";
  }

  // No partial result of a transform exceeds the magnitudes of its line's elements added up, but for lengths with large
  // prime factors, which become convolutions of up to four times as many elements.
  void MakeFft() {
    MakeDefault();
    const Literal& operand = *operands_[0];
    const auto& fft = instruction_.attributes<FftAttributes>();
    const Shape &from = operand.shape(), &to = leaves_[0]->shape();
    const int64_t length = ElementCountOf(fft.fft_length);
    int64_t lines = 1;
    for (int d = 0; d < to.rank() - std::ssize(fft.fft_length); ++d) lines *= to.dimension(d);
    if (lines == 0 || from.ElementCount() == 0 || to.ElementCount() == 0) return;
    const int64_t in_line = from.ElementCount() / lines, out_line = to.ElementCount() / lines;
    Literal most(Shape(ElementType::kF64, {to.dimensions().begin(), to.dimensions().end()}));
    for (int64_t line = 0; line < lines; ++line) {
      double sum = 0;
      for (int64_t i = 0; i < in_line; ++i) {
        const double magnitude = std::abs(operand.GetComplex(line * in_line + i));
        if (std::isfinite(magnitude)) sum += 2 * magnitude;  // half of a real transform stands for the whole
      }
      for (int64_t i = 0; i < out_line; ++i) most.SetDouble(line * out_line + i, sum * 4 * static_cast<double>(length));
    }
    bound_.leaves[0].may_overflow = Overflows(most, 0, to.element_type());
  }

  // Of a solution with the matrix's elements off its diagonal as -|a| and the rest as |a| all terms have one sign: no
  // partial result of any order exceeds its elements, nor these times the diagonal. What is solved after an element
  // that leaves the range reads it.
  void MakeTriangularSolve() {
    MakeDefault();
    const auto& solve = instruction_.attributes<TriangularSolveAttributes>();
    Literal matrix = Magnitudes(*operands_[0]);
    const Literal right = Magnitudes(*operands_[1]);
    const Shape& shape = right.shape();
    const int64_t n = matrix.shape().dimension(matrix.shape().rank() - 1), rows = shape.dimension(shape.rank() - 2),
                  columns = shape.dimension(shape.rank() - 1);
    if (shape.ElementCount() == 0) return;
    for (int64_t i = 0; i < matrix.element_count(); ++i) {
      if (i / n % n == i % n) continue;
      if (IsComplex(matrix.shape().element_type())) {
        matrix.SetComplex(i, -matrix.GetComplex(i));
      } else {
        matrix.SetDouble(i, -matrix.GetDouble(i));
      }
    }
    const Literal* const pointers[] = {&matrix, &right};
    const Result<Literal> solution = EvaluateInstruction(instruction_, pointers);
    if (!solution.ok()) return;
    Literal most(Shape(ElementType::kF64, {shape.dimensions().begin(), shape.dimensions().end()}));
    for (int64_t i = 0; i < most.element_count(); ++i) {
      const int64_t row = solve.left_side ? i / columns % rows : i % columns;
      const double diagonal =
          solve.unit_diagonal ? 1 : std::abs(matrix.GetComplex(i / (rows * columns) * n * n + row * n + row));
      most.SetDouble(i, std::abs(solution->GetComplex(i)) * std::max(1.0, diagonal));
    }
    const double largest = MaxFinite(RealPart(shape.element_type())) / (1 + 0x1p-4);
    const bool lower = solve.lower == (solve.transpose_a == TransposeKind::kNoTranspose);
    const bool forward = lower == solve.left_side;
    const int64_t step = solve.left_side ? columns : 1, apart = solve.left_side ? 1 : columns;
    for (int64_t line = 0; line < most.element_count() / n; ++line) {
      const int64_t lines = solve.left_side ? columns : rows;
      const int64_t first = line / lines * rows * columns + line % lines * apart;
      bool left = false;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t at = first + (forward ? k : n - 1 - k) * step;
        left |= !(most.GetDouble(at) < largest);
        if (left) most.SetDouble(at, HUGE_VAL);
      }
    }
    bound_.leaves[0].may_overflow = Overflows(most, 0x1p-4, shape.element_type());
  }

  // Nothing is known of a feature one of whose partial results may leave the range that devices compute in: a deviation
  // that does takes the operand's share away.
  void MakeBatchNorm() {
    MakeDefault();
    const auto& attributes = instruction_.attributes<BatchNormAttributes>();
    const Shape& shape = operands_[0]->shape();
    const int64_t features = shape.dimension(static_cast<int>(attributes.feature_index));
    if (shape.ElementCount() == 0) return;
    int64_t inner = 1;
    for (int d = static_cast<int>(attributes.feature_index) + 1; d < shape.rank(); ++d) inner *= shape.dimension(d);
    const auto feature_of = [&](int64_t i) { return static_cast<size_t>(i / inner % features); };
    const auto most_of = [&](const Literal& literal) {
      std::vector<double> most(static_cast<size_t>(features));
      for (int64_t i = 0; i < literal.element_count(); ++i) {
        double& largest = most[literal.shape().rank() == 1 ? static_cast<size_t>(i) : feature_of(i)];
        const double x = std::fabs(literal.GetDouble(i));
        if (!(x <= largest)) largest = x;
      }
      return most;
    };
    const bool trains = instruction_.opcode() == Opcode::kBatchNormTraining;
    const bool derives = instruction_.opcode() == Opcode::kBatchNormGrad;
    const std::vector<double> x = most_of(*operands_[0]), scale = most_of(*operands_[1]),
                              third = most_of(*operands_[2]), slope = derives ? most_of(*operands_[4]) : third;
    const Literal& variances = trains ? *leaves_[2] : *operands_[3 + (derives ? 0 : 1)];
    const std::vector<double> mean = trains ? x : derives ? third : most_of(*operands_[3]);
    const ElementType type = shape.element_type();
    const double largest = MaxFinite(type == ElementType::kF64 ? type : ElementType::kF32) / (1 + 0x1p-4);
    const auto n = static_cast<double>(shape.ElementCount() / features);
    std::vector<bool> leaves_range(static_cast<size_t>(features));
    for (size_t f = 0; f < leaves_range.size(); ++f) {
      const double spread = variances.GetDouble(static_cast<int64_t>(f)) + attributes.epsilon;
      const double deviation = std::sqrt(spread), centered = x[f] + mean[f], factor = scale[f] / deviation;
      std::vector<double> partials = {centered, factor, centered * factor, centered / deviation};
      if (trains) partials.insert(partials.end(), {n * x[f], n * centered * centered});
      if (!derives) partials.insert(partials.end(), {centered * scale[f], centered * factor + third[f]});
      if (derives) {
        const double moment = n * slope[f] * centered, tilt = moment / spread;
        const double inner_sum = n * slope[f] + slope[f] + centered * tilt;
        partials.insert(partials.end(), {moment, moment / deviation, tilt, inner_sum, factor * inner_sum});
      }
      leaves_range[f] = !std::ranges::all_of(partials, [&](double partial) { return partial < largest; });
    }
    if (std::ranges::find(leaves_range, true) == leaves_range.end()) return;
    for (size_t k = 0; k < leaves_.size(); ++k) {
      const IntList sizes(leaves_[k]->shape().dimensions().begin(), leaves_[k]->shape().dimensions().end());
      Literal may(Shape(ElementType::kPred, sizes)), distance(Shape(ElementType::kF64, sizes));
      for (int64_t i = 0; i < may.element_count(); ++i) {
        if (!leaves_range[sizes.size() == 1 ? static_cast<size_t>(i) : feature_of(i)]) continue;
        may.SetInt(i, 1);
        distance.SetDouble(i, HUGE_VAL);
      }
      bound_.leaves[k].may_overflow = Keep(std::move(may));
      bound_.leaves[k].magnitudes = Keep(std::move(distance));
      bound_.leaves[k].magnitude_factor = 1;
    }
  }

  // The operation on its operands (from `first` on) in another form; null where that fails. Kept with the bound.
  const Literal* ValueOf(int first, const std::function<Literal(const Literal&)>& form) {
    std::vector<Literal> formed;
    std::vector<const Literal*> pointers(operands_.begin(), operands_.end());
    formed.reserve(operands_.size());
    for (size_t k = static_cast<size_t>(first); k < operands_.size(); ++k) {
      pointers[k] = &formed.emplace_back(form(*operands_[k]));
    }
    Result<Literal> value = EvaluateInstruction(instruction_, pointers);
    return value.ok() ? Keep(std::move(*value)) : nullptr;
  }

  const Literal* Keep(Literal literal) {
    return bound_.literals.emplace_back(std::make_shared<const Literal>(std::move(literal))).get();
  }

  // Of what is finite: an infinite term is infinite in any order, and NaN as one part of a complex number says nothing
  // of the other.
  bool FindMagnitudes(int first) {
    magnitudes_ = ValueOf(first, [](const Literal& operand) {
      return Formed(
          operand, [](double x) { return x; }, /*of_finite_parts=*/true);
    });
    return magnitudes_ != nullptr;
  }

  // Where the largest of all partial results, `most` as a magnitude, leaves a type's range when it is off by `error`.
  // Null: nowhere.
  const Literal* Overflows(const Literal& most, double error) {
    return Overflows(most, error, most.shape().element_type());
  }
  const Literal* Overflows(const Literal& most, double error, ElementType type) {
    const double largest = MaxFinite(RealPart(type)) / (1 + error);
    Literal may(Shape(ElementType::kPred, {most.shape().dimensions().begin(), most.shape().dimensions().end()}));
    bool any = false;
    for (int64_t i = 0; i < most.element_count(); ++i) {
      const bool within = std::abs(most.GetComplex(i)) < largest;  // NaN is not
      may.SetInt(i, within ? 0 : 1);
      any |= !within;
    }
    return any ? Keep(std::move(may)) : nullptr;
  }

  Tolerance SumOf(size_t k, const Literal& magnitudes, ElementType accumulator, std::string* text) {
    const Literal& leaf = *leaves_[k];
    const int64_t length = AccumulationLength(instruction_);
    Tolerance tolerance = RoundingOf(leaf);
    tolerance.ulp = std::max(tolerance.ulp, 1.0);
    // A unit of what the sum is rounded to, where that is narrower.
    if (const ElementType type = leaf.shape().element_type(), rounded = SumRoundedTo(instruction_); rounded != type)
      tolerance.ulp = std::max(tolerance.ulp, UnitRoundoff(rounded) / UnitRoundoff(type));
    tolerance.magnitude_factor = BoundOfLength(accumulator, length) + DotAlgorithmApart(instruction_);
    tolerance.magnitudes = &magnitudes;
    if (flushes_ && RealPart(accumulator) == ElementType::kF32) {
      // Each term and each partial sum may be a denormal.
      const double lost = 2 * static_cast<double>(length) * LeastStep(accumulator) / tolerance.magnitude_factor;
      tolerance.magnitudes = Keep(Formed(
          magnitudes, [&](double x) { return x + lost; }, /*of_finite_parts=*/false));
    }
    // Sums of narrow floats that reach further than their type leave it where they are rounded, in any order.
    const auto reach = [](ElementType type) { return FormatOf(RealPart(type)).bias; };
    const bool may_leave = reach(leaf.shape().element_type()) == reach(accumulator);
    if (may_leave) tolerance.may_overflow = Overflows(magnitudes, tolerance.magnitude_factor);
    *text = fmt::format("{:.2g} of the magnitudes of {} terms, then {} ulp", tolerance.magnitude_factor, length,
                        tolerance.ulp);
    return tolerance;
  }

  // `least`: the smallest partial products.
  bool StaysInPairs(const Literal& least, ElementType accumulator) const {
    if (IsComplex(accumulator) || leaves_.size() > 1) return false;
    const double smallest = accumulator == ElementType::kF64 ? 0x1p-900 : 0x1p-100;  // multiply_pair_f32 and _f64
    for (int64_t i = 0; i < least.element_count(); ++i) {
      if (!(least.GetDouble(i) >= smallest)) return false;
    }
    return true;
  }

  // Narrow products of few factors round at each step. Of all partial products the largest is that of the factors above
  // 1, the smallest that of those below; one that leaves the normal numbers is off by a unit of the smallest one, and
  // what else there is multiplies that. All roundings may go one way where factors are not multiplied in pairs of
  // floats (PairTypeOf): of complex numbers, of several values at once, and where a pair has no room for its remainder.
  Tolerance ProductOf(size_t k, ElementType accumulator, std::string* text) {
    const Literal& leaf = *leaves_[k];
    const int64_t length = AccumulationLength(instruction_);
    const ElementType type = leaf.shape().element_type();
    Tolerance tolerance = RoundingOf(leaf);
    tolerance.ulp = std::max(tolerance.ulp, 1.0);
    const Literal* large = ValueOf(0, [](const Literal& operand) {
      // With an infinite factor no order gives a number.
      return Formed(operand, [](double x) { return std::isfinite(x) ? std::max(x, 1.0) : 0; });
    });
    const Literal* small = ValueOf(
        0, [](const Literal& operand) { return Formed(operand, [](double x) { return x > 0 && x < 1 ? x : 1.0; }); });
    const bool in_pairs = small != nullptr && StaysInPairs(*FlattenLiteral(*small)[k], accumulator);
    const ElementType rounded = IsNarrowFloat(type) ? type : accumulator;
    tolerance.rtol = 2 * (in_pairs ? BoundOfLength(rounded, length) : AccumulationOf(rounded, length).certain);
    if (large != nullptr && small != nullptr) {
      const Literal &most = *FlattenLiteral(*large)[k], &least = *FlattenLiteral(*small)[k];
      tolerance.may_overflow = Overflows(WithLostInfinities(most, least, k), tolerance.rtol);
      tolerance.magnitudes = Underflows(most, least, tolerance.rtol);
      tolerance.magnitude_factor = static_cast<double>(length) * LeastStep(type);
    }
    *text = fmt::format("{:.2g} relative, of {} factors", tolerance.rtol, length);
    return tolerance;
  }

  // What a number is off by where it leaves the normal ones.
  double LeastStep(ElementType type) const {
    const FloatFormat& format = FormatOf(RealPart(type));
    return flushes_ ? std::ldexp(1.0, 1 - format.bias) : UnitInLastPlace(format, 0);
  }

  // An infinite factor gives an infinity, or NaN where what it meets has become 0 on the way; of complex numbers, whose
  // parts it turns to infinities and NaN, each order may give others.
  Literal WithLostInfinities(const Literal& most, const Literal& least, size_t k) {
    Literal largest = most;
    const Literal* infinite = ValueOf(
        0, [](const Literal& operand) { return Formed(operand, [](double x) { return std::isinf(x) ? x : 1.0; }); });
    if (infinite == nullptr) return largest;
    const Literal& met = *FlattenLiteral(*infinite)[k];
    const double smallest = LeastStep(least.shape().element_type());
    for (int64_t i = 0; i < largest.element_count(); ++i) {
      const bool complex = IsComplex(largest.shape().element_type());
      if (std::isfinite(std::abs(met.GetComplex(i)))) continue;
      if (complex) {
        largest.SetComplex(i, HUGE_VAL);
      } else if (least.GetDouble(i) <= smallest) {
        largest.SetDouble(i, HUGE_VAL);
      }
    }
    return largest;
  }

  void MakeReduction(const std::vector<ElementType>& accumulators) {
    const std::vector<ReducerKind> kinds = KindsOfReducer(*instruction_.called(0));
    if (kinds.size() != leaves_.size() || accumulators.size() != leaves_.size()) return MakeDefault();
    MakeSum(kinds, accumulators);
  }

  // What is selected depends on the operand's values as they are; the sources are added up where it points.
  void MakeSelectAndScatter() {
    const std::vector<ReducerKind> selects = KindsOfReducer(*instruction_.called(0)),
                                   scatters = KindsOfReducer(*instruction_.called(1));
    if (selects != std::vector{ReducerKind::kExact} || scatters.size() != 1) return MakeDefault();
    if (scatters[0] == ReducerKind::kProduct || scatters[0] == ReducerKind::kOther) return MakeDefault();
    MakeSum(scatters, {FactsOfReducer(*instruction_.called(1)).types.at(0)}, 1);
  }

  // `most` where `least` leaves the normal numbers of its type when it is off by `error`, else 0. Null: 0 everywhere.
  const Literal* Underflows(const Literal& most, const Literal& least, double error) {
    const double smallest = std::ldexp(1 + error, 1 - FormatOf(RealPart(least.shape().element_type())).bias);
    Literal where(Shape(ElementType::kF64, {most.shape().dimensions().begin(), most.shape().dimensions().end()}));
    bool any = false;
    for (int64_t i = 0; i < least.element_count(); ++i) {
      if (std::abs(least.GetComplex(i)) >= smallest) continue;
      const double largest = std::abs(most.GetComplex(i));
      where.SetDouble(i, std::isfinite(largest) ? largest : HUGE_VAL);
      any = true;
    }
    return any ? Keep(std::move(where)) : nullptr;
  }

  const Instruction& instruction_;
  std::span<const Literal* const> operands_;
  const std::vector<const Literal*> leaves_;
  const bool flushes_;
  const Literal* magnitudes_ = nullptr;
  OpBound bound_;
};

}  // namespace

OpBound BoundOf(const Instruction& instruction, std::span<const Literal* const> operands, const Literal& expected,
                bool flushes) {
  return BoundMaker(instruction, operands, expected, flushes).Make();
}

std::optional<OpBound> BoundOfProgram(const Module& module, std::span<const Literal* const> arguments,
                                      const Literal& expected, bool flushes) {
  const Instruction* only = nullptr;
  for (const auto& instruction : module.entry()->instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
      case Opcode::kConstant:
        continue;
      case Opcode::kCall:
      case Opcode::kConditional:
      case Opcode::kFusion:
      case Opcode::kMap:
      case Opcode::kTuple:
      case Opcode::kWhile:
        return std::nullopt;
      default:
        if (only != nullptr) return std::nullopt;
        only = instruction.get();
    }
  }
  if (only == nullptr || module.entry()->root() != only) return std::nullopt;
  std::vector<const Literal*> operands;
  for (const Instruction* operand : only->operands()) {
    const bool parameter = operand->opcode() == Opcode::kParameter;
    operands.push_back(parameter ? arguments[static_cast<size_t>(operand->parameter_number())] : &operand->literal());
  }
  return BoundOf(*only, operands, expected, flushes);
}

}  // namespace VXLA_NAMESPACE
