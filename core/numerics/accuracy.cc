#include "core/numerics/accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/data/float_formats.h"
#include "core/library/library_calls.h"

namespace VXLA_NAMESPACE {
namespace {

struct Row {
  std::string_view name;  // the function's, which is the opcode's text with '_' for '-'
  UlpBound f32, f64;
  UlpBound complex;  // of c64 and c128 but for the next two, whose absolute parts differ
  double c64_absolute = 0, c128_absolute = 0;
};

constexpr UlpBound kExact = {};
constexpr UlpBound kRounded = {0.5, 0, 0};
constexpr UlpBound kOne = {1, 0, 0};
constexpr UlpBound kTwo = {2, 0, 0};

// Sorted by name. Operations that are not here are exact (or move elements).
constexpr Row kRows[] = {
    {"acos", kOne, kTwo, {5, 0, 0}},
    {"acosh", kOne, kTwo, {5, 0, 0}},
    {"add", kRounded, kRounded, kRounded},
    {"asin", kOne, kTwo, {5, 0, 0}},
    {"asinh", kOne, kTwo, {5, 0, 0}},
    {"atan", kOne, kTwo, {5, 0, 0}},
    {"atan2", kOne, kTwo, {0, 0, 8}},
    {"atanh", kOne, kTwo, {5, 0, 0}},
    {"cbrt", kOne, kTwo, {4, 0, 0}},
    {"convert", kRounded, kRounded, kRounded},
    {"cosh", kOne, kTwo, kOne},
    {"cosine", kOne, kTwo, kOne},
    {"digamma", {2, 0x1p-26, 0}, {2, 0x1p-56, 0}, kExact},
    {"divide", kRounded, kRounded, {1, 0, 0x1p-21}},
    {"erf", kOne, kTwo, kExact},
    {"erf_inv", kTwo, kTwo, kExact},
    {"erfc", kOne, kTwo, kExact},
    {"exp2", kOne, kTwo, kExact},
    {"exponential", kOne, kTwo, kOne},
    {"exponential_minus_one", kOne, kTwo, {1, 0, 1}},
    {"hypot", kOne, kTwo, kExact},
    {"lgamma", {2, 0x1p-28, 0}, {2, 0x1p-58, 0}, kExact},
    {"log", kOne, kTwo, kOne, 0x1p-44, 0x1p-100},
    {"log2", kOne, kTwo, kExact},
    {"log_plus_one", kOne, kTwo, {2, 0, 1.5}},
    {"logistic", kOne, kTwo, {1, 0, 1}},
    {"multiply", kRounded, kRounded, {0, 0, 1.5}},
    {"power", kTwo, kTwo, {0, 0, 1}},
    {"rsqrt", kOne, kTwo, kOne},
    {"sign", kExact, kExact, kOne},
    {"sine", kOne, kTwo, kOne},
    {"sinh", kOne, kTwo, kOne},
    {"sqrt", kRounded, kRounded, kOne},
    {"subtract", kRounded, kRounded, kRounded},
    {"tan", kOne, kTwo, kTwo},
    {"tanh", kOne, kTwo, kTwo},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kRows)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kRows[i].name;
  return names;
}();
static_assert(std::ranges::is_sorted(kNames));

const Row* FindRow(std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, '-', '_');
  const auto it = std::ranges::lower_bound(kNames, key);
  return it != kNames.end() && *it == key ? &kRows[it - kNames.begin()] : nullptr;
}

UlpBound BoundOf(const Row& row, ElementType type) {
  if (type == ElementType::kF32) return row.f32;
  if (type == ElementType::kF64) return row.f64;
  UlpBound bound = row.complex;
  bound.absolute = type == ElementType::kC64 ? row.c64_absolute : row.c128_absolute;
  return bound;
}

// Narrow floats are correctly rounded.
UlpBound NarrowBoundOf(const Row& row) { return row.f32.ulp == 0 ? kExact : kRounded; }

int64_t WindowSize(const Window& window) {
  int64_t size = 1;
  for (const WindowDimension& d : window) size *= d.size;
  return size;
}

int64_t ProductOf(const Shape& shape, const IntList& dimensions) {
  int64_t size = 1;
  for (int64_t d : dimensions) size *= shape.dimension(d);
  return size;
}

int64_t ConvolutionLength(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<ConvolutionAttributes>();
  const Shape& kernel = instruction.operand(1)->shape();
  if (!attributes.dim_labels) return kernel.ElementCount();
  return ProductOf(kernel, attributes.dim_labels->kernel_spatial) *
         kernel.dimension(attributes.dim_labels->kernel_input_feature);
}

// All sizes but that of the feature dimension.
int64_t FeatureElements(const Instruction& instruction) {
  const Shape& shape = instruction.operand(0)->shape();
  const int64_t features = shape.dimension(instruction.attributes<BatchNormAttributes>().feature_index);
  return features == 0 ? 0 : shape.ElementCount() / features;
}

int64_t FftLength(const Instruction& instruction) {
  return ElementCountOf(instruction.attributes<FftAttributes>().fft_length);
}

}  // namespace

UlpBound AccuracyOf(Opcode opcode, ElementType type) {
  if (!IsFloating(type) && !IsComplex(type)) return kExact;
  if (Has(opcode, Trait::kAccumulates)) return kRounded;
  const Row* row = FindRow(OpcodeText(opcode));
  if (row == nullptr) return kExact;
  return IsNarrowFloat(type) ? NarrowBoundOf(*row) : BoundOf(*row, type);
}

UlpBound AccuracyOf(const Instruction& instruction) {
  const ElementType type = instruction.shape().element_type();
  if (instruction.opcode() == Opcode::kAbs && IsComplex(instruction.operand(0)->shape().element_type())) {
    return AccuracyOfFunction("hypot", type);
  }
  return AccuracyOf(instruction.opcode(), type);
}

UlpBound AccuracyOfFunction(std::string_view name, ElementType type) {
  const Row* row = FindRow(name);
  VXLA_CHECK(row != nullptr, std::string(name));
  VXLA_CHECK(IsFloating(type) || IsComplex(type), std::string(ElementTypeName(type)));
  return IsNarrowFloat(type) ? NarrowBoundOf(*row) : BoundOf(*row, type);
}

double PowerNormFactor(std::complex<double> z, std::complex<double> w) {
  const double size = std::abs(w / 64.0 * std::log(z));
  const bool finite = std::isfinite(std::abs(z / 2.0)) && std::isfinite(std::abs(w / 2.0)) && z != 0.0;
  return finite ? std::max(1.0, size) : 1;
}

std::span<const std::string_view> AccuracyFunctions() { return kNames; }

int64_t UlpBudget(const UlpBound& bound) {
  // The exact value lies within half a unit of its rounding.
  return bound.ulp <= 0.5 ? 0 : static_cast<int64_t>(std::floor(bound.ulp + 0.5));
}

namespace {

// Of the operands' matrices.
int64_t LargestDimension(const Instruction& instruction) {
  int64_t largest = 1;
  for (const Instruction* operand : instruction.operands()) {
    const Shape& shape = operand->shape();
    for (int d = std::max(0, shape.rank() - 2); d < shape.rank(); ++d) largest = std::max(largest, shape.dimension(d));
  }
  return largest;
}

}  // namespace

int64_t AccumulationLength(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return ProductOf(instruction.operand(0)->shape(), instruction.attributes<DotAttributes>().lhs_contracting_dims);
    case Opcode::kConvolution:
      return ConvolutionLength(instruction);
    case Opcode::kReduce:
      return ProductOf(instruction.operand(0)->shape(), instruction.dimensions());
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return WindowSize(instruction.attributes<WindowAttributes>().window);
    case Opcode::kScan:
      return ProductOf(instruction.operand(0)->shape(), instruction.attributes<ScanAttributes>().dimensions);
    case Opcode::kScatter:
      // All updates may meet in one element.
      return instruction.operand(instruction.operand_count() - 1)->shape().ElementCount();
    case Opcode::kFft:
      return FftLength(instruction);
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve: {
      const Shape& a = instruction.operand(0)->shape();
      return a.rank() > 0 ? a.dimension(a.rank() - 1) : 1;
    }
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormTraining:
      return FeatureElements(instruction);
    case Opcode::kCustomCall:
      return IsLinearAlgebraCall(instruction) ? LargestDimension(instruction) : 0;
    default:
      return 0;
  }
}

AccumulationBound AccumulationOf(ElementType accumulator, int64_t length) {
  const double unit = UnitRoundoff(accumulator), steps = static_cast<double>(length) + 1;
  if (length <= 0) return {};
  const double certain = steps * unit;
  return {certain, std::min(certain, 12 * std::sqrt(steps) * unit)};
}

bool HasOddVariant(Opcode opcode) { return opcode == Opcode::kPower || opcode == Opcode::kAtan2; }

bool HasNarrowVariant(Opcode opcode) {
  switch (opcode) {
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kLog:
    case Opcode::kLogistic:
    case Opcode::kTanh:
      return true;
    default:
      return false;
  }
}

bool HasFusedVariant(Opcode opcode) {
  return opcode == Opcode::kErf || opcode == Opcode::kExp || opcode == Opcode::kLogistic || opcode == Opcode::kTanh;
}

ReducedBits ReducedBitsOf(const Instruction& instruction) {
  const auto& bits = instruction.attributes<ReducePrecisionAttributes>();
  const FloatFormat& widest = FormatOf(ElementType::kF64);
  return {static_cast<int>(std::min<int64_t>(bits.exponent_bits, widest.exponent_bits)),
          static_cast<int>(std::min<int64_t>(bits.mantissa_bits, widest.mantissa_bits))};
}

double UnitRoundoff(ElementType type) {
  const ElementType real = RealPart(type);
  if (!IsFloating(real)) return 0;
  return std::ldexp(1.0, -1 - FormatOf(real).mantissa_bits);
}

}  // namespace VXLA_NAMESPACE
