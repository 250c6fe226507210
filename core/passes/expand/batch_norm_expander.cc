// batch-norm-*: sums over all dimensions but the features', and elementwise operations.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/ceil_divide.h"
#include "core/passes/base/control_flow.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

// Narrow types are computed in f32 and rounded at the end.
class BatchNorm : private Expansion {
 public:
  BatchNorm(Module& module, Computation& computation, Instruction* norm, bool wide_accumulation)
      : Expansion(computation, norm), module_(module), wide_accumulation_(wide_accumulation) {
    const Shape& operand = norm->operand(0)->shape();
    const ElementType type = operand.element_type();
    wide_ = BitWidth(type) < 32 ? ElementType::kF32 : type;
    feature_ = instruction().attributes<BatchNormAttributes>().feature_index;
    const auto feature = static_cast<int>(feature_);
    all_ = operand;
    all_.set_layout(std::nullopt);
    all_.set_element_type(wide_);
    features_ = Shape(wide_, {operand.dimension(feature)});
    features_.set_dynamic_dimension(0, operand.is_dynamic_dimension(feature));
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (d != feature_) summed_.push_back(d);
    }
  }

  Instruction* Expand() {
    switch (instruction().opcode()) {
      case Opcode::kBatchNormInference:
        return Inference();
      case Opcode::kBatchNormTraining:
        return Training();
      default:
        return Gradient();
    }
  }

 private:
  Instruction* Number(double value) { return Constant(Literal::Scalar(wide_, value)); }
  // One value for every feature.
  Instruction* ForFeatures(double value) { return Spread(Number(value), SizesOf(features_)); }
  // A feature's value for each of its elements.
  Instruction* ForElements(Instruction* by_feature) {
    Shape shape(wide_, SizesOf(all_));  // of live sizes the features' alone are known
    shape.set_dynamic_dimension(feature_, by_feature->shape().is_dynamic_dimension(0));
    return Add(Opcode::kBroadcast, std::move(shape), {by_feature}, DimensionsAttributes{{feature_}});
  }

  Instruction* Wide(int operand) { return Converted(instruction().operand(operand), wide_); }
  // In the type of the instruction's result.
  Instruction* Rounded(Instruction* value) {
    return Converted(value, instruction().operand(0)->shape().element_type());
  }

  Instruction* SumByFeature(Instruction* value) {
    if (sum_ == nullptr) sum_ = AddCombiner(module_, Opcode::kAdd, wide_);
    return Add(Opcode::kReduce, features_, {value, Number(0)}, DimensionsAttributes{summed_}, {sum_});
  }
  // The elements of a feature.
  Instruction* Elements() {
    int64_t count = 1;
    Instruction* live = nullptr;
    for (const int64_t d : summed_) {
      const Shape& operand = instruction().operand(0)->shape();
      if (!operand.is_dynamic_dimension(d)) {
        count *= operand.dimension(d);
        continue;
      }
      Instruction* const size = Converted(LiveSize(instruction().operand(0), d), wide_);
      live = live == nullptr ? size : Times(live, size);
    }
    Instruction* const known = Number(static_cast<double>(count));
    return live == nullptr ? known : Times(live, known);
  }
  Instruction* PerElement(Instruction* sum) { return Over(sum, Spread(Elements(), SizesOf(features_))); }

  // variance + epsilon
  Instruction* Shifted(Instruction* variance) {
    return Plus(variance, ForFeatures(instruction().attributes<BatchNormAttributes>().epsilon));
  }
  Instruction* Deviation(Instruction* variance) { return Add(Opcode::kSqrt, features_, {Shifted(variance)}); }

  Instruction* Normalized(Instruction* centered, Instruction* variance) {
    Instruction* const factor = Over(Wide(1), Deviation(variance));
    return Rounded(Plus(Times(centered, ForElements(factor)), ForElements(Wide(2))));
  }

  // (operand, scale, offset, mean, variance)
  Instruction* Inference() { return Normalized(Minus(Wide(0), ForElements(Wide(3))), Wide(4)); }

  // The mean of some thousand elements of each feature; 0 where that is not finite.
  Instruction* Pivot(Instruction* x) {
    constexpr int64_t kElements = 1024;
    int64_t taken = 1;
    for (auto d = summed_.rbegin(); d != summed_.rend(); ++d) {
      const int64_t size = x->shape().dimension(*d), wanted = CeilDivide(kElements, taken);
      if (size > wanted) x = Slice(x, *d, 0, wanted);
      taken *= std::min(size, wanted);
    }
    Instruction* const mean = Over(SumByFeature(x), ForFeatures(static_cast<double>(taken)));
    Instruction* const finite = Add(Opcode::kIsFinite, Shape(ElementType::kPred, SizesOf(features_)), {mean});
    return Add(Opcode::kSelect, features_, {finite, mean, ForFeatures(0)});
  }
  // A feature's mean and variance from sums in one pass, of what is left when a pivot is taken off: as that is near the
  // mean, or as far from it as many elements are, the difference of the sums cancels few digits.
  std::pair<Instruction*, Instruction*> Moments(Instruction* x) {
    Instruction* const pivot = Pivot(x);
    Instruction* const rest = Minus(x, ForElements(pivot));
    Instruction* const sum = SumByFeature(rest);
    Instruction* const squares = SumByFeature(Times(rest, rest));
    Instruction* const offset = PerElement(sum);
    Instruction* const variance = PerElement(Minus(squares, Times(sum, offset)));
    return {Plus(pivot, offset), Larger(variance, ForFeatures(0))};
  }

  // (operand, scale, offset) -> (output, mean, variance)
  Instruction* Training() {
    Instruction* const x = Wide(0);
    // A feature of many elements is read from memory again for each pass; few stay close.
    constexpr int64_t kMany = 4096;
    const int64_t elements = all_.ElementCount() / std::max<int64_t>(1, features_.ElementCount());
    Instruction *mean = nullptr, *variance = nullptr;
    if (!wide_accumulation_ && !all_.IsDynamic() && elements >= kMany) {
      std::tie(mean, variance) = Moments(x);
    } else {
      mean = PerElement(SumByFeature(x));
    }
    Instruction* const centered = Minus(x, ForElements(mean));
    if (variance == nullptr) variance = PerElement(SumByFeature(Times(centered, centered)));
    return Add(Opcode::kTuple, instruction().shape(),
               {Normalized(centered, variance), Rounded(mean), Rounded(variance)});
  }

  // (operand, scale, mean, variance, grad_output) -> the gradients of operand, scale and offset
  Instruction* Gradient() {
    Instruction* const slope = Wide(4);
    Instruction* const centered = Minus(Wide(0), ForElements(Wide(2)));
    Instruction* const variance = Wide(3);
    Instruction* const grad_offset = SumByFeature(slope);
    Instruction* const moment = SumByFeature(Times(slope, centered));
    Instruction* const deviation = Deviation(variance);
    Instruction* const tilt = Over(PerElement(moment), Shifted(variance));
    Instruction* const inner =
        Minus(Minus(slope, ForElements(PerElement(grad_offset))), Times(centered, ForElements(tilt)));
    Instruction* const grad = Times(ForElements(Over(Wide(1), deviation)), inner);
    return Add(Opcode::kTuple, instruction().shape(),
               {Rounded(grad), Rounded(Over(moment, deviation)), Rounded(grad_offset)});
  }

  Module& module_;
  const bool wide_accumulation_;  // sums are plain ones, which are marked later
  ElementType wide_;
  int64_t feature_;
  Shape all_, features_;
  IntList summed_;
  Computation* sum_ = nullptr;
};

}  // namespace

bool ExpandBatchNorms(Module& module, bool wide_accumulation) {
  return ExpandEach(
      module,
      [&](Computation& computation, Instruction* instruction) -> Instruction* {
        const Opcode opcode = instruction->opcode();
        const bool norm = opcode == Opcode::kBatchNormInference || opcode == Opcode::kBatchNormTraining ||
                          opcode == Opcode::kBatchNormGrad;
        return norm ? BatchNorm(module, computation, instruction, wide_accumulation).Expand() : nullptr;
      },
      LiveSizesIn::kExpanded);
}

}  // namespace VXLA_NAMESPACE
