#include "core/mlir/rewrite/quantized.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "core/host/real_text.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Operations that move quantized values, or hold operations of their own, and compute nothing.
constexpr std::string_view kMoves[] = {
    "constant",
    "reshape",
    "dynamic_reshape",
    "broadcast_in_dim",
    "dynamic_broadcast_in_dim",
    "broadcast",
    "transpose",
    "slice",
    "dynamic_slice",
    "dynamic_update_slice",
    "concatenate",
    "reverse",
    "gather",
    "dynamic_gather",
    "pad",
    "dynamic_pad",
    "while",
    "if",
    "case",
    "call",
    "return",
    "composite",
    "optimization_barrier",
    "custom_call",
    "tuple",
    "all_gather",
    "all_to_all",
    "get_tuple_element",
    "bitcast_convert",
    "collective_permute",
    "infeed",
    "outfeed",
    "send",
    "recv",
    "collective_broadcast",
    "reduce",
    "reduce_window",
    "select_and_scatter",
    "scatter",
    "sort",
    "map",
    "all_reduce",
    "reduce_scatter",
    "func",
    "real_dynamic_slice",
    "get_dimension_size",
    "set_dimension_size",
    "probe",
    "run_parallel",
    "print",
    "expect_eq",
    "expect_eq_const",
    "module",
};

std::string_view WithoutDialect(std::string_view name) { return name.substr(name.rfind('.') + 1); }

template <typename T>
bool TakeNumber(std::string_view& text, T& value) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  std::from_chars_result parsed;
  if constexpr (std::is_floating_point_v<T>) {
    parsed = RealFromChars(text.data(), end, value);
  } else {
    parsed = std::from_chars(text.data(), end, value);
  }
  if (parsed.ec != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

bool Take(std::string_view& text, char c) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<ElementType> TakeElement(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const size_t end = std::min(text.find_first_of("<:, "), text.size());
  std::string word(text.substr(0, end));
  if (word.size() > 1 && word[0] == 'u' && word[1] != 'i') word.insert(1, 1, 'i');  // u8, as types of storage have it
  const std::optional<ElementType> type = ParseElementWord(word);
  text.remove_prefix(end);
  return type;
}

// 0.1 or 0.1:-30
bool TakeScale(std::string_view& text, Quantization& out) {
  double scale = 0;
  int64_t zero_point = 0;
  if (!TakeNumber(text, scale)) return false;
  if (Take(text, ':') && !TakeNumber(text, zero_point)) return false;
  out.scales.push_back(scale);
  out.zero_points.push_back(zero_point);
  return true;
}

Status CheckQuantization(const Quantization& quantization, std::string_view text) {
  for (size_t i = 0; i < quantization.scales.size(); ++i) {
    const double scale = quantization.scales[i];
    if (!(scale > 0) || scale > std::numeric_limits<double>::max())
      return InvalidArgument("{}: the scale {} is not above 0 and finite", text, scale);
    const int64_t zero_point = quantization.zero_points[i];
    if (zero_point < quantization.min || zero_point > quantization.max)
      return InvalidArgument("{}: the zero point {} is not in {} to {}", text, zero_point, quantization.min,
                             quantization.max);
  }
  return OkStatus();
}

}  // namespace

Result<std::shared_ptr<const Quantization>> ParseQuantization(std::string_view whole) {
  constexpr std::string_view kStart = "!quant.uniform<";
  const auto error = [&](std::string_view what) { return InvalidArgument("{}: {}", whole, what); };
  std::string_view text = whole;
  if (!text.starts_with(kStart) || !text.ends_with('>')) return error("only !quant.uniform<...> is supported");
  text.remove_prefix(kStart.size());
  text.remove_suffix(1);
  auto out = std::make_shared<Quantization>();
  const std::optional<ElementType> storage = TakeElement(text);
  if (!storage || IsFloating(*storage) || IsComplex(*storage) || *storage == ElementType::kPred)
    return error("the storage type is no integer");
  out->storage = *storage;
  const int width = BitWidth(out->storage);
  if (width > 32) return error("the storage type has more than 32 bits");
  const bool is_unsigned = IsUnsigned(out->storage);
  out->min = is_unsigned ? 0 : -(int64_t{1} << (width - 1));
  out->max = (int64_t{1} << (is_unsigned ? width : width - 1)) - 1;
  if (Take(text, '<')) {
    const int64_t least = out->min, most = out->max;
    if (!TakeNumber(text, out->min) || !Take(text, ':') || !TakeNumber(text, out->max) || !Take(text, '>'))
      return error("storage limits <min:max> are needed");
    if (out->min < least || out->max > most || out->min >= out->max)
      return error("the storage limits do not fit the storage type");
  }
  if (!Take(text, ':')) return error("the expressed type is missing");
  const std::optional<ElementType> expressed = TakeElement(text);
  if (!expressed || !IsFloating(*expressed)) return error("the expressed type is no float");
  out->expressed = *expressed;
  if (Take(text, ':') && (!TakeNumber(text, out->axis) || out->axis < 0))
    return error("the quantized dimension is no dimension");
  if (!Take(text, ',')) return error("the scale is missing");
  const bool list = Take(text, '{');
  if (list != (out->axis >= 0)) return error("a list of scales belongs to a quantized dimension");
  do {
    if (!TakeScale(text, *out)) return error("a scale, or scale:zero_point, is needed");
  } while (list && Take(text, ','));
  if (list && !Take(text, '}')) return error("'}' is missing");
  if (!text.empty()) return error("unexpected text at the end");
  VXLA_RETURN_IF_ERROR(CheckQuantization(*out, whole));
  return std::shared_ptr<const Quantization>(std::move(out));
}

Result<Type> QuantizedTensor(const Shape& sizes, std::shared_ptr<const Quantization> quantization,
                             const std::string& element) {
  const Quantization& q = *quantization;
  Type type(Type::Kind::kShape, Shape(q.storage, {sizes.dimensions().begin(), sizes.dimensions().end()}));
  for (int i = 0; i < sizes.rank(); ++i) type.shape.set_dynamic_dimension(i, sizes.is_dynamic_dimension(i));
  if (q.axis >= sizes.rank() || (q.axis >= 0 && sizes.dimension(q.axis) != static_cast<int64_t>(q.scales.size()))) {
    return InvalidArgument("{}: {} scales along dimension {} of {}", element, q.scales.size(), q.axis,
                           type.shape.ToString());
  }
  const std::string text = PrintType(type.shape);
  type.text = text.substr(0, text.size() - ElementWord(q.storage).size() - 1) + element + ">";
  type.quantization = std::move(quantization);
  return type;
}

namespace {

class QuantizedRewriter {
 public:
  explicit QuantizedRewriter(Program& program) : program_(program) {}

  Status Rewrite(Region& region) {
    for (Block& block : region.blocks) {
      std::vector<Operation> operations = std::move(block.operations);
      block.operations.clear();
      for (Operation& operation : operations) {
        for (Region& inner : operation.regions) VXLA_RETURN_IF_ERROR(Rewrite(inner));
        out_ = &block.operations;
        VXLA_RETURN_IF_ERROR(RewriteOperation(std::move(operation)));
      }
    }
    return OkStatus();
  }

 private:
  const Quantization* Of(ValueId value) const { return program_.values[value].type.quantization.get(); }

  Status RewriteOperation(Operation operation) {
    const auto quantized = [&](ValueId value) { return Of(value) != nullptr; };
    const bool touches =
        std::ranges::any_of(operation.operands, quantized) || std::ranges::any_of(operation.results, quantized);
    const std::string_view name = WithoutDialect(operation.name);
    if (!touches || std::ranges::find(kMoves, name) != std::end(kMoves)) {
      out_->push_back(std::move(operation));
      return OkStatus();
    }
    at_ = operation.location;
    if (name == "uniform_quantize" || name == "uniform_dequantize") return RewriteConversion(operation);
    for (ValueId& operand : operation.operands) {
      if (Of(operand) != nullptr) operand = Dequantize(operand);
    }
    std::vector<std::pair<ValueId, ValueId>> results;  // stated, computed
    for (ValueId& result : operation.results) {
      if (Of(result) == nullptr) continue;
      const ValueId computed = NewValue(Shape(Of(result)->expressed, Sizes(result)));
      results.emplace_back(result, computed);
      result = computed;
    }
    if (name == "compare") SetAttribute(operation.attributes, "compare_type", KeywordAttribute("FLOAT"));
    out_->push_back(std::move(operation));
    for (const auto& [stated, computed] : results) Quantize(computed, stated);
    return OkStatus();
  }

  Status RewriteConversion(const Operation& operation) {
    VXLA_RETURN_IF_ERROR(operation.ExpectOperands(1));
    VXLA_RETURN_IF_ERROR(operation.ExpectResults(1));
    const ValueId operand = operation.operands[0], result = operation.results[0];
    const Quantization *from = Of(operand), *to = Of(result);
    const bool dequantizes = operation.name.ends_with("uniform_dequantize");
    if (Sizes(operand) != Sizes(result))
      return operation.Error("shapes differ: {} and {}", PrintType(program_.values[operand].type),
                             PrintType(program_.values[result].type));
    if (dequantizes != (to == nullptr))
      return operation.Error("the result is {}", PrintType(program_.values[result].type));
    if (dequantizes && from == nullptr)
      return operation.Error("operand 0 is {}, a quantized tensor needed", PrintType(program_.values[operand].type));
    const ElementType expressed = from != nullptr ? from->expressed : program_.ShapeOf(operand).element_type();
    const ElementType wanted = to != nullptr ? to->expressed : program_.ShapeOf(result).element_type();
    if (expressed != wanted)
      return operation.Error("the expressed types differ: {} and {}", ElementWord(expressed), ElementWord(wanted));
    const ValueId value = from != nullptr ? Dequantize(operand, dequantizes ? &result : nullptr) : operand;
    if (to != nullptr) Quantize(value, result);
    return OkStatus();
  }

  IntList Sizes(ValueId value) const {
    const auto sizes = program_.ShapeOf(value).dimensions();
    return {sizes.begin(), sizes.end()};
  }

  ValueId NewValue(Shape shape) {
    Type type(Type::Kind::kShape, std::move(shape));
    return program_.NewValue(std::move(type));
  }

  void Emit(std::string_view name, std::vector<ValueId> operands, ValueId result, Dictionary attributes = {}) {
    Operation operation;
    operation.name = "stablehlo." + std::string(name);
    operation.operands = std::move(operands);
    operation.results = {result};
    operation.attributes = std::move(attributes);
    operation.location = at_;
    out_->push_back(std::move(operation));
  }
  ValueId Emit(std::string_view name, std::vector<ValueId> operands, const Shape& shape) {
    const ValueId result = NewValue(shape);
    Emit(name, std::move(operands), result);
    return result;
  }

  // Numbers of a quantization under the shape: one everywhere, or one for each place of its dimension.
  template <typename T>
  ValueId Numbers(const std::vector<T>& values, int64_t axis, const Shape& shape) {
    const bool per_axis = axis >= 0;
    Shape small(shape.element_type());
    if (per_axis) small = Shape(shape.element_type(), {static_cast<int64_t>(values.size())});
    Literal literal(small);
    for (size_t i = 0; i < values.size() && (per_axis || i == 0); ++i)
      literal.SetDouble(static_cast<int64_t>(i), static_cast<double>(values[i]));
    Attribute value(Attribute::Kind::kElements);
    value.type = Type(Type::Kind::kShape, small);
    value.literal = std::make_shared<const Literal>(std::move(literal));
    const ValueId constant = NewValue(small);
    Emit("constant", {}, constant, {{"value", std::move(value)}});
    if (shape.rank() == 0) return constant;
    Attribute dimensions(Attribute::Kind::kArray);
    if (per_axis) dimensions.elements.push_back(IntegerAttribute(axis));
    const ValueId spread = NewValue(shape);
    Emit("broadcast_in_dim", {constant}, spread, {{"broadcast_dimensions", std::move(dimensions)}});
    return spread;
  }

  // (value - zero point) * scale
  ValueId Dequantize(ValueId value, const ValueId* into = nullptr) {
    const std::shared_ptr<const Quantization> q = program_.values[value].type.quantization;
    const Shape shape(q->expressed, Sizes(value));
    ValueId number = Emit("convert", {value}, shape);
    if (std::ranges::any_of(q->zero_points, [](int64_t zero) { return zero != 0; }))
      number = Emit("subtract", {number, Numbers(q->zero_points, q->axis, shape)}, shape);
    const ValueId scales = Numbers(q->scales, q->axis, shape);
    if (into == nullptr) return Emit("multiply", {number, scales}, shape);
    Emit("multiply", {number, scales}, *into);
    return *into;
  }

  // round(clamp(min, value / scale + zero point, max))
  void Quantize(ValueId value, ValueId result) {
    const std::shared_ptr<const Quantization> q = program_.values[result].type.quantization;
    const Shape shape(q->expressed, Sizes(result)), scalar(q->expressed);
    ValueId number = Emit("divide", {value, Numbers(q->scales, q->axis, shape)}, shape);
    if (std::ranges::any_of(q->zero_points, [](int64_t zero) { return zero != 0; }))
      number = Emit("add", {number, Numbers(q->zero_points, q->axis, shape)}, shape);
    const ValueId least = Numbers(std::vector<int64_t>{q->min}, -1, scalar);
    const ValueId most = Numbers(std::vector<int64_t>{q->max}, -1, scalar);
    number = Emit("clamp", {least, number, most}, shape);
    number = Emit("round_nearest_even", {number}, shape);
    Emit("convert", {number}, result);
  }

  Program& program_;
  std::vector<Operation>* out_ = nullptr;
  SourceLocation at_;
};

}  // namespace

Status LegalizeQuantized(Program& program) {
  const bool any = std::ranges::any_of(program.values, [](const Value& v) { return v.type.quantization != nullptr; });
  if (!any) return OkStatus();
  QuantizedRewriter rewriter(program);
  for (Region& region : program.module.regions) VXLA_RETURN_IF_ERROR(rewriter.Rewrite(region));
  for (Value& value : program.values) value.type.quantization = nullptr;
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE::mlir
