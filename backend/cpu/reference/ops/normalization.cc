// Batch normalisation: inference, training and gradient, from whole arrays, rounded at the end: f64 in two doubles,
// narrower types in double with compensated sums. The variance is the biased one.
#include <cmath>
#include <vector>

#include "backend/cpu/reference/arithmetic/block.h"
#include "backend/cpu/reference/arithmetic/double_double.h"
#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {
namespace {

template <typename T>
using Values = std::vector<T>;

template <typename T>
Values<T> LoadWide(const Value& value) {
  const Literal& literal = value.literal();
  std::vector<double> values(static_cast<size_t>(literal.element_count()));
  LoadAs<double>(literal, 0, literal.element_count(), values.data());
  return Values<T>(values.begin(), values.end());
}

template <typename T>
Value StoreWide(const Values<T>& values, const Shape& shape) {
  Literal literal = Literal::Uninitialized(shape);
  for (size_t i = 0; i < values.size(); ++i) literal.SetDouble(static_cast<int64_t>(i), static_cast<double>(values[i]));
  return Value(std::move(literal));
}

double Sqrt(double x) { return std::sqrt(x); }

// The operand seen as [outer, feature, inner].
struct Features {
  int64_t count, inner, elements;

  Features(const Shape& shape, int64_t index)
      : count(shape.dimension(static_cast<int>(index))),
        inner(RowMajorStrides(shape.dimensions())[static_cast<size_t>(index)]),
        elements(shape.ElementCount()) {}
  size_t Of(int64_t at) const { return static_cast<size_t>(at / inner % count); }
  double PerFeature() const { return static_cast<double>(elements) / static_cast<double>(count); }
};

template <typename T>
struct Moments {
  Values<T> mean, variance;
};

// A sum of T with its error terms.
template <typename T>
class Total {
 public:
  void Add(T x) { sum_.Add(x); }
  T Value() const { return Rounded(sum_); }

 private:
  TwofoldSum<T> sum_;
};
template <>
class Total<DoubleDouble> {
 public:
  void Add(DoubleDouble x) { sum_ += x; }
  DoubleDouble Value() const { return sum_; }

 private:
  DoubleDouble sum_;
};

// The sums over each feature of term(position, feature).
template <typename T, typename F>
Values<T> SumByFeature(const Features& features, F&& term) {
  std::vector<Total<T>> sums(static_cast<size_t>(features.count));
  for (int64_t i = 0; i < features.elements; ++i) {
    const size_t f = features.Of(i);
    sums[f].Add(term(static_cast<size_t>(i), f));
  }
  Values<T> totals;
  for (const Total<T>& sum : sums) totals.push_back(sum.Value());
  return totals;
}

template <typename T>
Moments<T> MomentsOf(const Values<T>& x, const Features& features) {
  Moments<T> m;
  m.mean = SumByFeature<T>(features, [&](size_t at, size_t) { return x[at]; });
  for (T& mean : m.mean) mean = mean / features.PerFeature();
  m.variance =
      SumByFeature<T>(features, [&](size_t at, size_t f) { return (x[at] - m.mean[f]) * (x[at] - m.mean[f]); });
  for (T& variance : m.variance) variance = variance / features.PerFeature();
  return m;
}

template <typename T>
Values<T> Normalize(const Values<T>& x, const Features& features, const Values<T>& scale, const Values<T>& offset,
                    const Moments<T>& m, double epsilon) {
  Values<T> deviation;
  for (const T& variance : m.variance) deviation.push_back(Sqrt(variance + epsilon));
  Values<T> out(x.size());
  for (int64_t i = 0; i < features.elements; ++i) {
    const size_t f = features.Of(i), at = static_cast<size_t>(i);
    out[at] = (x[at] - m.mean[f]) / deviation[f] * scale[f] + offset[f];
  }
  return out;
}

template <typename T>
Value Inference(const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<BatchNormAttributes>();
  const Features features(operands[0].shape(), a.feature_index);
  const Moments<T> moments{LoadWide<T>(operands[3]), LoadWide<T>(operands[4])};
  return StoreWide(Normalize(LoadWide<T>(operands[0]), features, LoadWide<T>(operands[1]), LoadWide<T>(operands[2]),
                             moments, a.epsilon),
                   instruction.shape());
}

template <typename T>
Value Training(const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<BatchNormAttributes>();
  const Features features(operands[0].shape(), a.feature_index);
  const Values<T> x = LoadWide<T>(operands[0]);
  const Moments<T> moments = MomentsOf(x, features);
  const std::vector<Shape>& shapes = instruction.shape().tuple_elements();
  std::vector<Value> elements;
  elements.push_back(StoreWide(
      Normalize(x, features, LoadWide<T>(operands[1]), LoadWide<T>(operands[2]), moments, a.epsilon), shapes[0]));
  elements.push_back(StoreWide(moments.mean, shapes[1]));
  elements.push_back(StoreWide(moments.variance, shapes[2]));
  return Value::Tuple(std::move(elements));
}

// Operands: operand, scale, mean, variance, grad_output. Results: the gradients of operand, scale and offset, for means
// and variances that depend on the operand.
template <typename T>
Value Gradient(const Instruction& instruction, std::span<Value> operands) {
  const auto& a = instruction.attributes<BatchNormAttributes>();
  const Features features(operands[0].shape(), a.feature_index);
  const Values<T> x = LoadWide<T>(operands[0]), scale = LoadWide<T>(operands[1]);
  const Values<T> mean = LoadWide<T>(operands[2]), variance = LoadWide<T>(operands[3]), dy = LoadWide<T>(operands[4]);
  const Values<T> sum_dy = SumByFeature<T>(features, [&](size_t at, size_t) { return dy[at]; });
  const Values<T> sum_dy_x = SumByFeature<T>(features, [&](size_t at, size_t f) { return dy[at] * (x[at] - mean[f]); });
  const T n = features.PerFeature();
  Values<T> grad_scale(scale.size()), grad_x(x.size()), spread(scale.size()), deviation(scale.size());
  for (size_t f = 0; f < scale.size(); ++f) {
    spread[f] = variance[f] + T(a.epsilon);
    deviation[f] = Sqrt(spread[f]);
    grad_scale[f] = sum_dy_x[f] / deviation[f];
  }
  for (int64_t i = 0; i < features.elements; ++i) {
    const size_t f = features.Of(i), at = static_cast<size_t>(i);
    grad_x[at] = scale[f] / deviation[f] * (dy[at] - sum_dy[f] / n - (x[at] - mean[f]) * (sum_dy_x[f] / n) / spread[f]);
  }
  const std::vector<Shape>& shapes = instruction.shape().tuple_elements();
  std::vector<Value> elements;
  elements.push_back(StoreWide(grad_x, shapes[0]));
  elements.push_back(StoreWide(grad_scale, shapes[1]));
  elements.push_back(StoreWide(sum_dy, shapes[2]));
  return Value::Tuple(std::move(elements));
}

// f(zero) with the type to compute in.
template <typename F>
EvalResult InWideType(const Instruction& instruction, F&& f) {
  const ElementType type = instruction.operand(0)->shape().element_type();
  if (type == ElementType::kF64) return f(DoubleDouble());
  if (IsFloating(type)) return f(double{});
  return Unsupported("{}: not defined for {}", OpcodeText(instruction.opcode()), ElementTypeName(type));
}

}  // namespace

EvalResult EvalBatchNormInference(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  return InWideType(instruction, [&]<typename T>(T) { return Inference<T>(instruction, operands); });
}

EvalResult EvalBatchNormTraining(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  return InWideType(instruction, [&]<typename T>(T) { return Training<T>(instruction, operands); });
}

EvalResult EvalBatchNormGrad(EvalContext&, const Instruction& instruction, std::span<Value> operands) {
  return InWideType(instruction, [&]<typename T>(T) { return Gradient<T>(instruction, operands); });
}

}  // namespace VXLA_NAMESPACE
