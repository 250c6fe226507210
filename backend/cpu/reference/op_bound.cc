#include "backend/cpu/reference/op_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/reference/evaluator.h"
#include "core/accuracy.h"
#include "core/reducer_facts.h"

namespace vxla {
namespace {

bool HasRounding(ElementType type) { return IsFloating(type) || IsComplex(type); }

// |x|; of complex numbers with no imaginary part. Other types as they are.
Literal Magnitudes(const Literal& literal) {
  const ElementType type = literal.shape().element_type();
  if (!literal.shape().IsArray() || !HasRounding(type)) return literal;
  Literal result = Literal::Uninitialized(literal.shape());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    if (IsComplex(type)) {
      result.SetComplex(i, {std::abs(literal.GetComplex(i)), 0});
    } else {
      result.SetDouble(i, std::fabs(literal.GetDouble(i)));
    }
  }
  return result;
}

enum class ReducerKind { kExact, kSum, kProduct, kOther };

// What a region does with its values: picks among them, adds them up, or multiplies them.
ReducerKind KindOfReducer(const Computation& computation) {
  int additions = 0, products = 0;
  for (const auto& instruction : computation.instructions()) {
    switch (instruction->opcode()) {
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
        break;
      case Opcode::kAdd:
        ++additions;
        break;
      case Opcode::kMultiply:
        ++products;
        break;
      default:
        if (HasRounding(instruction->shape().IsArray() ? instruction->shape().element_type() : ElementType::kTuple)) {
          return ReducerKind::kOther;
        }
    }
  }
  const size_t values = computation.parameters().size() / 2;
  if (additions == 0 && products == 0) return ReducerKind::kExact;
  // One addition (or product) of each value and nothing that picks: the result is linear in the values.
  const bool plain = std::ranges::all_of(computation.instructions(), [](const auto& instruction) {
    const Opcode opcode = instruction->opcode();
    return opcode == Opcode::kParameter || opcode == Opcode::kTuple || opcode == Opcode::kAdd ||
           opcode == Opcode::kMultiply;
  });
  if (plain && products == 0 && static_cast<size_t>(additions) == values) return ReducerKind::kSum;
  if (plain && additions == 0 && products == 1 && values == 1) return ReducerKind::kProduct;
  return ReducerKind::kOther;
}

double BoundOfLength(ElementType accumulator, int64_t length) {
  const AccumulationBound bound = AccumulationOf(accumulator, length);
  return std::min(bound.certain, bound.likely);
}

class BoundMaker {
 public:
  BoundMaker(const Instruction& instruction, std::span<const Literal* const> operands, const Literal& expected)
      : instruction_(instruction), operands_(operands), leaves_(FlattenLiteral(expected)) {}

  OpBound Make() {
    switch (instruction_.opcode()) {
      case Opcode::kDot:
      case Opcode::kConvolution:
        MakeSum(DotSumType(TypeOf(0), TypeOf(1), instruction_.shape().element_type()));
        break;
      case Opcode::kReduce:
      case Opcode::kReduceWindow:
        MakeReduction();
        break;
      case Opcode::kScatter:
        MakeScatter();
        break;
      case Opcode::kSort:
      case Opcode::kTopK:
        MakeFunction();
        break;
      default:
        AccumulationLength(instruction_) > 0 || !instruction_.called().empty() ? MakeDefault() : MakeFunction();
    }
    return std::move(bound_);
  }

 private:
  ElementType TypeOf(int operand) const { return instruction_.operand(operand)->shape().element_type(); }

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

  void MakeDefault() {
    for (const Literal* leaf : leaves_) {
      bound_.leaves.push_back(leaf->shape().IsArray() ? Tolerance::DefaultFor(*leaf) : Tolerance{});
    }
    bound_.text = "rtol and atol of whole programs";
  }

  // Linear in the floating operands: the same operation on magnitudes gives the sum of the terms' magnitudes.
  void MakeSum(ElementType accumulator) {
    std::vector<Literal> magnitudes;
    std::vector<const Literal*> pointers;
    for (const Literal* operand : operands_) magnitudes.push_back(Magnitudes(*operand));
    for (const Literal& literal : magnitudes) pointers.push_back(&literal);
    Result<Literal> sums = EvaluateInstruction(instruction_, pointers);
    if (!sums.ok()) return MakeDefault();
    bound_.magnitudes = std::make_shared<const Literal>(std::move(*sums));
    const auto sum_leaves = FlattenLiteral(*bound_.magnitudes);
    const int64_t length = AccumulationLength(instruction_);
    double factor = 0;
    for (size_t k = 0; k < leaves_.size(); ++k) {
      Tolerance tolerance = RoundingOf(*leaves_[k]);
      if (HasRounding(leaves_[k]->shape().element_type())) {
        const ElementType type = k == 0 ? accumulator : leaves_[k]->shape().element_type();
        tolerance.ulp = std::max(tolerance.ulp, 1.0);
        tolerance.magnitudes = sum_leaves[k];
        tolerance.magnitude_factor = BoundOfLength(type, length);
        factor = std::max(factor, tolerance.magnitude_factor);
      }
      bound_.leaves.push_back(tolerance);
    }
    bound_.text =
        factor == 0 ? "equal" : fmt::format("{:.2g} of the magnitudes of {} terms, then 1 ulp", factor, length);
  }

  void MakeReduction() {
    const ReducerFacts facts = FactsOfReducer(*instruction_.called(0));
    switch (KindOfReducer(*instruction_.called(0))) {
      case ReducerKind::kSum:
        return MakeSum(facts.types[0]);
      case ReducerKind::kExact:
        for (size_t k = 0; k < leaves_.size(); ++k) bound_.leaves.emplace_back();
        bound_.text = "equal";
        return;
      case ReducerKind::kProduct:
        MakeProduct(facts.types[0]);
        return;
      case ReducerKind::kOther:
        return MakeDefault();
    }
  }

  void MakeProduct(ElementType accumulator) {
    Tolerance tolerance = RoundingOf(*leaves_[0]);
    const int64_t length = AccumulationLength(instruction_);
    if (HasRounding(leaves_[0]->shape().element_type())) {
      // Narrow products round at each step.
      const ElementType type = leaves_[0]->shape().element_type();
      tolerance.rtol = 2 * BoundOfLength(IsNarrowFloat(type) ? type : accumulator, length);
      tolerance.ulp = std::max(tolerance.ulp, 1.0);
    }
    bound_.leaves.push_back(tolerance);
    bound_.text = tolerance.rtol == 0 ? "equal" : fmt::format("{:.2g} relative, of {} factors", tolerance.rtol, length);
  }

  void MakeScatter() {
    const ReducerKind kind = KindOfReducer(*instruction_.called(0));
    if (kind == ReducerKind::kSum) return MakeSum(leaves_[0]->shape().element_type());
    if (kind != ReducerKind::kExact) return MakeDefault();
    for (size_t k = 0; k < leaves_.size(); ++k) bound_.leaves.emplace_back();
    bound_.text = "equal";
  }

  const Instruction& instruction_;
  std::span<const Literal* const> operands_;
  const std::vector<const Literal*> leaves_;
  OpBound bound_;
};

}  // namespace

OpBound BoundOf(const Instruction& instruction, std::span<const Literal* const> operands, const Literal& expected) {
  return BoundMaker(instruction, operands, expected).Make();
}

std::optional<OpBound> BoundOfProgram(const Module& module, std::span<const Literal* const> arguments,
                                      const Literal& expected) {
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
  return BoundOf(*only, operands, expected);
}

}  // namespace vxla
