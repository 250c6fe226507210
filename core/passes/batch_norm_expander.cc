// batch-norm-*: sums over all dimensions but the features', and elementwise operations.
#include <algorithm>

#include "core/passes/control_flow.h"
#include "core/passes/expanders.h"

namespace VXLA_NAMESPACE {
namespace {

// Narrow types are computed in f32 and rounded at the end.
class BatchNorm {
 public:
  BatchNorm(Module& module, Computation& computation, Instruction* instruction)
      : module_(module), computation_(computation), instruction_(*instruction) {
    const Shape& operand = instruction_.operand(0)->shape();
    const ElementType type = operand.element_type();
    wide_ = BitWidth(type) < 32 ? ElementType::kF32 : type;
    feature_ = instruction_.attributes<BatchNormAttributes>().feature_index;
    all_ = Shape(wide_, IntList(operand.dimensions().begin(), operand.dimensions().end()));
    features_ = Shape(wide_, {operand.dimension(static_cast<int>(feature_))});
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (d != feature_) summed_.push_back(d);
    }
    count_ = 1;
    for (const int64_t d : summed_) count_ *= operand.dimension(static_cast<int>(d));
  }

  Instruction* Expand() {
    switch (instruction_.opcode()) {
      case Opcode::kBatchNormInference:
        return Inference();
      case Opcode::kBatchNormTraining:
        return Training();
      default:
        return Gradient();
    }
  }

 private:
  Instruction* Add(Opcode opcode, const Shape& shape, std::vector<Instruction*> operands,
                   Attributes attributes = NoAttributes{}, std::vector<Computation*> called = {}) {
    auto added =
        std::make_unique<Instruction>(opcode, shape, std::move(operands), std::move(attributes), std::move(called));
    added->set_name(instruction_.name());
    added->set_location(instruction_.location());
    return computation_.InsertBefore(&instruction_, std::move(added));
  }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Add(opcode, a->shape(), {a, b}); }
  Instruction* Plus(Instruction* a, Instruction* b) { return Binary(Opcode::kAdd, a, b); }
  Instruction* Minus(Instruction* a, Instruction* b) { return Binary(Opcode::kSubtract, a, b); }
  Instruction* Times(Instruction* a, Instruction* b) { return Binary(Opcode::kMultiply, a, b); }
  Instruction* Over(Instruction* a, Instruction* b) { return Binary(Opcode::kDivide, a, b); }

  Instruction* Constant(double value) {
    return Add(Opcode::kConstant, Shape(wide_), {},
               ConstantAttributes{std::make_shared<Literal>(Literal::Scalar(wide_, value))});
  }
  // One value for every feature.
  Instruction* ForFeatures(double value) {
    return Add(Opcode::kBroadcast, features_, {Constant(value)}, DimensionsAttributes{});
  }
  // A feature's value for each of its elements.
  Instruction* Spread(Instruction* by_feature) {
    return Add(Opcode::kBroadcast, all_, {by_feature}, DimensionsAttributes{{feature_}});
  }

  Instruction* Wide(int operand) {
    Instruction* value = instruction_.operand(operand);
    if (value->shape().element_type() == wide_) return value;
    const std::span<const int64_t> sizes = value->shape().dimensions();
    return Add(Opcode::kConvert, Shape(wide_, IntList(sizes.begin(), sizes.end())), {value});
  }
  // In the type of the instruction's result.
  Instruction* Rounded(Instruction* value) {
    const ElementType type = instruction_.operand(0)->shape().element_type();
    if (type == wide_) return value;
    Shape shape = value->shape();
    shape.set_element_type(type);
    return Add(Opcode::kConvert, shape, {value});
  }

  Instruction* SumByFeature(Instruction* value) {
    if (sum_ == nullptr) {
      sum_ = module_.AddComputation("sum");
      Instruction* a = sum_->Add(Opcode::kParameter, Shape(wide_), {}, ParameterAttributes{0});
      Instruction* b = sum_->Add(Opcode::kParameter, Shape(wide_), {}, ParameterAttributes{1});
      sum_->Add(Opcode::kAdd, Shape(wide_), {a, b});
    }
    return Add(Opcode::kReduce, features_, {value, Constant(0)}, DimensionsAttributes{summed_}, {sum_});
  }
  Instruction* PerElement(Instruction* sum) { return Over(sum, ForFeatures(static_cast<double>(count_))); }

  // variance + epsilon
  Instruction* Shifted(Instruction* variance) {
    return Plus(variance, ForFeatures(instruction_.attributes<BatchNormAttributes>().epsilon));
  }
  Instruction* Deviation(Instruction* variance) { return Add(Opcode::kSqrt, features_, {Shifted(variance)}); }

  Instruction* Normalized(Instruction* centered, Instruction* variance) {
    Instruction* const factor = Over(Wide(1), Deviation(variance));
    return Rounded(Plus(Times(centered, Spread(factor)), Spread(Wide(2))));
  }

  // (operand, scale, offset, mean, variance)
  Instruction* Inference() { return Normalized(Minus(Wide(0), Spread(Wide(3))), Wide(4)); }

  // (operand, scale, offset) -> (output, mean, variance)
  Instruction* Training() {
    Instruction* const x = Wide(0);
    Instruction* const mean = PerElement(SumByFeature(x));
    Instruction* const centered = Minus(x, Spread(mean));
    Instruction* const variance = PerElement(SumByFeature(Times(centered, centered)));
    return Add(Opcode::kTuple, instruction_.shape(),
               {Normalized(centered, variance), Rounded(mean), Rounded(variance)});
  }

  // (operand, scale, mean, variance, grad_output) -> the gradients of operand, scale and offset
  Instruction* Gradient() {
    Instruction* const slope = Wide(4);
    Instruction* const centered = Minus(Wide(0), Spread(Wide(2)));
    Instruction* const variance = Wide(3);
    Instruction* const grad_offset = SumByFeature(slope);
    Instruction* const moment = SumByFeature(Times(slope, centered));
    Instruction* const deviation = Deviation(variance);
    Instruction* const tilt = Over(PerElement(moment), Shifted(variance));
    Instruction* const inner = Minus(Minus(slope, Spread(PerElement(grad_offset))), Times(centered, Spread(tilt)));
    Instruction* const grad = Times(Spread(Over(Wide(1), deviation)), inner);
    return Add(Opcode::kTuple, instruction_.shape(),
               {Rounded(grad), Rounded(Over(moment, deviation)), Rounded(grad_offset)});
  }

  Module& module_;
  Computation& computation_;
  Instruction& instruction_;
  ElementType wide_;
  int64_t feature_, count_;
  Shape all_, features_;
  IntList summed_;
  Computation* sum_ = nullptr;
};

}  // namespace

bool ExpandBatchNorms(Module& module) {
  bool changed = false;
  for (Computation* computation : ControlComputations(module)) {
    std::vector<Instruction*> norms;
    for (const auto& instruction : computation->instructions()) {
      const Opcode opcode = instruction->opcode();
      if (opcode == Opcode::kBatchNormInference || opcode == Opcode::kBatchNormTraining ||
          opcode == Opcode::kBatchNormGrad) {
        norms.push_back(instruction.get());
      }
    }
    for (Instruction* norm : norms) {
      Instruction* const value = BatchNorm(module, *computation, norm).Expand();
      computation->ReplaceAllUses(norm, value);
      computation->Remove(norm);
    }
    changed |= !norms.empty();
  }
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
