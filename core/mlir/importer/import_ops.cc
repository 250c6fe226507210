// Attributes of operations, and the operations that become several instructions.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/mlir/importer/import_operations.h"
#include "core/mlir/keywords.h"
#include "core/mlir/lexer.h"
#include "core/numerics/dot_algorithm.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

Result<int> WordOf(const Operation& operation, std::string_view name, const Attribute& attribute,
                   std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, attribute.text);
  const bool is_word = attribute.kind == Attribute::Kind::kKeyword || attribute.kind == Attribute::Kind::kString;
  if (is_word && found != words.end()) return static_cast<int>(found - words.begin());
  return operation.Error("{} is {}, expected one of {}", name, PrintAttribute(attribute), fmt::join(words, ", "));
}

Result<Shape> DynamicShapeOf(Frame& frame, const Operation& operation, size_t operand) {
  const Type& type = frame.importer.program().values[operation.results[0]].type;
  if (!HasUnknownSize(type.shape) && !type.unranked) {
    if (operand < operation.operands.size() && type.shape.IsArray())
      VXLA_RETURN_IF_ERROR(CheckSizes(frame, operation, operand, type.shape));
    return type.shape;
  }
  return ShapeFromOperand(frame, operation, operand, type.shape.element_type());
}

}  // namespace

Result<std::vector<PrecisionLevel>> PrecisionOf(const Operation& operation) {
  std::vector<PrecisionLevel> levels;
  const Attribute* config = operation.Find("precision_config");
  if (config == nullptr || config->kind != Attribute::Kind::kArray) return levels;
  bool all_default = true;
  for (const Attribute& level : config->elements) {
    VXLA_ASSIGN_OR_RETURN(const int word, WordOf(operation, "precision_config", level, kPrecisionWords));
    levels.push_back(static_cast<PrecisionLevel>(word));
    all_default = all_default && word == 0;
  }
  if (all_default) levels.clear();
  return levels;
}

namespace {

Result<SliceAttributes> SliceOf(const Operation& operation, const IntList& starts, const IntList& limits,
                                const IntList& strides) {
  SliceAttributes attributes;
  if (limits.size() != starts.size() || strides.size() != starts.size())
    return operation.Error("{} starts, {} limits, {} strides", starts.size(), limits.size(), strides.size());
  for (size_t i = 0; i < starts.size(); ++i) attributes.slice.push_back({starts[i], limits[i], strides[i]});
  return attributes;
}

Result<SliceAttributes> SliceOf(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const IntList starts, operation.Ints("start_indices"));
  VXLA_ASSIGN_OR_RETURN(const IntList limits, operation.Ints("limit_indices"));
  VXLA_ASSIGN_OR_RETURN(const IntList strides, operation.Ints("strides", IntList(starts.size(), 1)));
  return SliceOf(operation, starts, limits, strides);
}

Result<PadAttributes> PadOf(const Operation& operation, const IntList& low, const IntList& high,
                            const IntList& interior) {
  PadAttributes attributes;
  if (high.size() != low.size() || interior.size() != low.size())
    return operation.Error("{} low, {} high and {} interior paddings", low.size(), high.size(), interior.size());
  for (size_t i = 0; i < low.size(); ++i) attributes.padding.push_back({low[i], high[i], interior[i]});
  return attributes;
}

Result<PadAttributes> PadOf(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const IntList low, operation.Ints("edge_padding_low"));
  VXLA_ASSIGN_OR_RETURN(const IntList high, operation.Ints("edge_padding_high"));
  VXLA_ASSIGN_OR_RETURN(const IntList interior, operation.Ints("interior_padding", IntList(low.size(), 0)));
  return PadOf(operation, low, high, interior);
}

// HLO's name of the algorithm that the parts describe; empty where there is none.
Result<std::string> AlgorithmOf(const Operation& operation) {
  const Attribute* const parts = operation.Find("algorithm");
  if (parts == nullptr || (parts->kind == Attribute::Kind::kDialect && parts->entries.empty())) return std::string();
  auto type = [&](std::string_view name) {
    const Attribute* const part = parts->Find(name);
    std::string text = part == nullptr ? "none" : PrintAttribute(*part);
    std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view name : {"lhs_component_count", "rhs_component_count", "num_primitive_operations"}) {
    const Attribute* const part = parts->Find(name);
    if (part == nullptr || part->kind != Attribute::Kind::kInteger || part->integer < 1)  // C22, C23, C24
      return operation.Error("algorithm: {} is {}, at least 1 needed", name,
                             part == nullptr ? "missing" : std::to_string(part->integer));
    counts[name] = part->integer;
  }
  const Attribute* const allows = parts->Find("allow_imprecise_accumulation");
  const bool imprecise = allows != nullptr && allows->integer != 0;
  const std::string lhs = type("lhs_precision_type"), rhs = type("rhs_precision_type"), sum = type("accumulation_type");
  const bool f8 = lhs.starts_with("f8") && rhs.starts_with("f8");
  for (const DotAlgorithm& algorithm : DotAlgorithms()) {
    const bool takes = algorithm.takes_f8() ? f8 : lhs == algorithm.precision && rhs == lhs;
    // Exporters leave the counts of components at 1.
    const bool split = (counts["lhs_component_count"] == 1 || counts["lhs_component_count"] == algorithm.parts()) &&
                       (counts["rhs_component_count"] == 1 || counts["rhs_component_count"] == algorithm.parts());
    if (takes && split && sum == ElementTypeName(algorithm.sum) && imprecise == algorithm.imprecise &&
        counts["num_primitive_operations"] == algorithm.products)
      return std::string(algorithm.name);
  }
  return operation.NotSupported("there is no algorithm of {} by {} in {} and {} parts, {} products and {}sums in {}",
                                lhs, rhs, counts["lhs_component_count"], counts["rhs_component_count"],
                                counts["num_primitive_operations"], imprecise ? "imprecise " : "", sum);
}

Result<DotAttributes> DotOf(const Operation& operation) {
  DotAttributes attributes;
  if (const Attribute* numbers = operation.Find("dot_dimension_numbers")) {
    VXLA_RETURN_IF_ERROR(
        operation.ReadParts(*numbers, {{"lhs_batching_dimensions", &attributes.lhs_batch_dims},
                                       {"rhs_batching_dimensions", &attributes.rhs_batch_dims},
                                       {"lhs_contracting_dimensions", &attributes.lhs_contracting_dims},
                                       {"rhs_contracting_dimensions", &attributes.rhs_contracting_dims}}));
  }
  VXLA_ASSIGN_OR_RETURN(attributes.operand_precision, PrecisionOf(operation));
  VXLA_ASSIGN_OR_RETURN(attributes.algorithm, AlgorithmOf(operation));
  if (!attributes.algorithm.empty() && !attributes.operand_precision.empty())  // C21
    return operation.Error("precision_config is not DEFAULT beside an algorithm");
  return attributes;
}

// So many; absent, each of them is `otherwise`.
Result<IntList> CountedInts(const Operation& operation, std::string_view name, size_t count, int64_t otherwise) {
  VXLA_ASSIGN_OR_RETURN(IntList found, operation.Ints(name, IntList(count, otherwise)));
  if (found.size() == count) return found;
  return operation.Error("{} has {} entries, {} needed", name, found.size(), count);
}

Result<ConvolutionAttributes> ConvolutionOf(const Operation& operation, const Program& program) {
  ConvolutionAttributes attributes;
  VXLA_RETURN_IF_ERROR(operation.ExpectOperands(2));
  VXLA_ASSIGN_OR_RETURN(const ConvolutionDimensions numbers, ConvolutionDimensionsOf(operation));
  const size_t spatial = numbers.kernel_spatial.size();
  const Shape& kernel = program.ShapeOf(operation.operands[1]);
  VXLA_ASSIGN_OR_RETURN(const IntList strides, CountedInts(operation, "window_strides", spatial, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList padding, CountedInts(operation, "padding", 2 * spatial, 0));
  VXLA_ASSIGN_OR_RETURN(const IntList lhs, CountedInts(operation, "lhs_dilation", spatial, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList rhs, CountedInts(operation, "rhs_dilation", spatial, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList reversal, CountedInts(operation, "window_reversal", spatial, 0));
  for (size_t i = 0; i < spatial; ++i) {
    if (numbers.kernel_spatial[i] < 0 || numbers.kernel_spatial[i] >= kernel.rank())
      return operation.Error("the kernel {} has no dimension {}", PrintType(kernel), numbers.kernel_spatial[i]);
    const int64_t size = kernel.dimension(numbers.kernel_spatial[i]);
    attributes.window.push_back(
        {size, strides[i], padding[2 * i], padding[2 * i + 1], lhs[i], rhs[i], reversal[i] != 0});
  }
  attributes.dim_labels = numbers;
  VXLA_ASSIGN_OR_RETURN(attributes.feature_group_count, operation.Int("feature_group_count", 1));
  VXLA_ASSIGN_OR_RETURN(attributes.batch_group_count, operation.Int("batch_group_count", 1));
  VXLA_ASSIGN_OR_RETURN(attributes.operand_precision, PrecisionOf(operation));
  return attributes;
}

Result<DimensionsAttributes> DimensionsOf(const Operation& operation, std::string_view name) {
  DimensionsAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(const Attribute* const value, operation.Required(name));
  if (value->kind == Attribute::Kind::kInteger) {
    attributes.dimensions = {value->integer};
    return attributes;
  }
  VXLA_ASSIGN_OR_RETURN(attributes.dimensions, operation.Ints(name));
  return attributes;
}

Result<CollectiveAttributes> CollectiveOf(const Operation& operation, std::string_view dimension) {
  CollectiveAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.channel_id, ChannelOf(operation));
  VXLA_ASSIGN_OR_RETURN(attributes.replica_groups, ReplicaGroupsOf(operation));
  VXLA_ASSIGN_OR_RETURN(attributes.use_global_device_ids, operation.Bool("use_global_device_ids", false));
  if (!dimension.empty()) {
    VXLA_ASSIGN_OR_RETURN(const int64_t value, operation.Int(dimension));
    attributes.dimensions = {value};
  }
  return attributes;
}

Result<CollectivePermuteAttributes> CollectivePermuteOf(const Operation& operation) {
  CollectivePermuteAttributes attributes;
  VXLA_ASSIGN_OR_RETURN(attributes.channel_id, ChannelOf(operation));
  VXLA_ASSIGN_OR_RETURN(const IntList pairs, operation.Ints("source_target_pairs"));
  if (pairs.size() % 2 != 0) return operation.Error("source_target_pairs hold {} numbers", pairs.size());
  for (size_t i = 0; i < pairs.size(); i += 2) attributes.source_target_pairs.emplace_back(pairs[i], pairs[i + 1]);
  return attributes;
}

// Fields from the properties of their names; with a group, numbers from its parts, of which any may be absent.
struct PropertyReader {
  const Operation& operation;
  const Attribute* group = nullptr;
  Status status{};

  void operator()(std::string_view field, auto& value, FieldKind kind) {
    if (status.ok()) status = Read(PropertyName(field), value, kind == FieldKind::kRequired);
  }

  template <typename T>
  Status Read(std::string_view name, T& value, bool required) const {
    const Attribute* const part = group == nullptr ? nullptr : group->Find(name);
    if constexpr (std::is_same_v<T, bool>) {
      VXLA_SET_OR_RETURN(value, operation.Bool(name, value));
    } else if constexpr (std::is_same_v<T, int64_t>) {
      if (part != nullptr) value = part->integer;
      if (group == nullptr) VXLA_SET_OR_RETURN(value, operation.Int(name));
    } else if constexpr (std::is_same_v<T, IntList>) {
      if (part != nullptr) VXLA_SET_OR_RETURN(value, operation.IntsOf(name, *part));
      if (group == nullptr) VXLA_SET_OR_RETURN(value, operation.Ints(name));
    } else if constexpr (std::is_same_v<T, float>) {
      VXLA_ASSIGN_OR_RETURN(const Attribute* const number, operation.Required(name));
      if (number->kind != Attribute::Kind::kFloat)
        return operation.Error("{} is {}, no number", name, PrintAttribute(*number));
      value = static_cast<float>(number->real);
    } else if constexpr (requires { KeywordsOf(value); }) {
      const int otherwise = required ? -1 : static_cast<int>(value);
      VXLA_ASSIGN_OR_RETURN(const int word, operation.Word(name, KeywordsOf(value).words, otherwise));
      value = static_cast<T>(word);
    }
    return OkStatus();
  }
};

template <typename T>
Result<Attributes> Lift(Result<T> attributes) {
  if (!attributes.ok()) return attributes.status();
  return Attributes(*std::move(attributes));
}

}  // namespace

Result<Attributes> AttributesFor(Opcode opcode, const Operation& operation, const Program& program) {
  switch (opcode) {
    case Opcode::kSlice:
      return Lift(SliceOf(operation));
    case Opcode::kPad:
      return Lift(PadOf(operation));
    case Opcode::kDot:
      return Lift(DotOf(operation));
    case Opcode::kConvolution:
      return Lift(ConvolutionOf(operation, program));
    case Opcode::kGather:
      return Lift(GatherOf(operation));
    case Opcode::kTranspose:
      return Lift(DimensionsOf(operation, "permutation"));
    case Opcode::kReverse:
      return Lift(DimensionsOf(operation, "dimensions"));
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
      return Lift(DimensionsOf(operation, "dimension"));
    case Opcode::kAllGather:
      return Lift(CollectiveOf(operation, "all_gather_dim"));
    case Opcode::kReduceScatter:
      return Lift(CollectiveOf(operation, "scatter_dimension"));
    case Opcode::kAllReduce:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
      return Lift(CollectiveOf(operation, ""));
    case Opcode::kCollectivePermute:
      return Lift(CollectivePermuteOf(operation));
    default: {
      Attributes attributes = DefaultAttributes(opcode);
      PropertyReader reader{operation};
      std::visit([&](auto& a) { a.VisitFields(a, reader); }, attributes);
      VXLA_RETURN_IF_ERROR(reader.status);
      return attributes;
    }
  }
}

Result<GatherAttributes> GatherOf(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const numbers, operation.Required("dimension_numbers"));
  GatherAttributes attributes;
  PropertyReader reader{operation, numbers};
  attributes.VisitFields(attributes, reader);
  VXLA_RETURN_IF_ERROR(reader.status);
  VXLA_ASSIGN_OR_RETURN(attributes.slice_sizes, operation.Ints("slice_sizes", {}));
  return attributes;
}

Result<ScatterAttributes> ScatterOf(const Operation& operation) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const numbers, operation.Required("scatter_dimension_numbers"));
  ScatterAttributes attributes;
  PropertyReader reader{operation, numbers};
  attributes.VisitFields(attributes, reader);
  VXLA_RETURN_IF_ERROR(reader.status);
  return attributes;
}

Result<Window> ReduceWindowOf(const Operation& operation, int rank) {
  const auto count = static_cast<size_t>(rank);
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, CountedInts(operation, "window_dimensions", count, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList strides, CountedInts(operation, "window_strides", count, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList base, CountedInts(operation, "base_dilations", count, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList window, CountedInts(operation, "window_dilations", count, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList padding, CountedInts(operation, "padding", 2 * count, 0));
  Window out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({sizes[i], strides[i], padding[2 * i], padding[2 * i + 1], base[i], window[i], false});
  return out;
}

Status ImportConstant(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const Attribute* const value, operation.Required("value"));
  if (value->kind != Attribute::Kind::kElements)
    return operation.NotSupported("the value {} is no tensor", PrintAttribute(*value));
  ConstantAttributes attributes{value->literal};
  if (attributes.literal == nullptr && !value->text.empty()) {
    const auto resource = frame.importer.program().resources.find(value->text);
    if (value->text == "__elided__") return operation.Error("its value was left out when the text was printed");
    if (resource == frame.importer.program().resources.end())
      return operation.Error("no resource '{}' in the file", value->text);
    const std::span<const std::byte> bytes = *resource->second;
    Result<std::shared_ptr<const Literal>> literal = LiteralFromBytes(value->type.shape, bytes);
    if (!literal.ok()) return operation.Error("resource '{}': {}", value->text, literal.status().message());
    attributes.literal = *std::move(literal);
  }
  if (attributes.literal == nullptr) return operation.Error("a constant without its value");
  const Shape shape = attributes.literal->shape();
  Instruction* constant = frame.Add(Opcode::kConstant, shape, {}, std::move(attributes));
  if (value->type.kind == Type::Kind::kShape && value->type.shape.rank() > 0 && shape.rank() == 0)  // a large splat
    constant = frame.Add(Opcode::kBroadcast, value->type.shape, {constant}, DimensionsAttributes{});
  return BindValues(frame, operation, {constant});
}

// HLO's broadcast grows no dimension from 1: a reshape drops such ones first.
Status ImportBroadcastInDim(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(IntList dimensions, operation.Ints("broadcast_dimensions"));
  Instruction* operand = operands[0];
  VXLA_ASSIGN_OR_RETURN(const Shape target, DynamicShapeOf(frame, operation, 1));
  const Shape shape = operand->shape();
  if (!shape.IsArray() || !target.IsArray()) return operation.Error("an array is needed");
  if (dimensions.size() != static_cast<size_t>(shape.rank()))
    return operation.Error("{} broadcast_dimensions for {}", dimensions.size(), PrintType(shape));
  if (operands.size() > 1 && IsBounded(frame, operation))
    return ImportBoundedBroadcast(frame, operation, operands, dimensions);
  IntList kept_sizes, kept;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t to = dimensions[i];
    if (to < 0 || to >= target.rank())
      return operation.Error("broadcast dimension {} is no dimension of {}", to, PrintType(target));
    const int64_t size = target.dimension(to);
    if (shape.dimension(i) != size && shape.dimension(i) != 1)
      return operation.Error("dimension {} of {} is neither 1 nor {}", i, PrintType(shape), size);
    if (shape.dimension(i) != size) continue;
    kept_sizes.push_back(size);
    kept.push_back(to);
  }
  if (kept.size() != dimensions.size()) {
    VXLA_ASSIGN_OR_RETURN(operand, AddInferred(frame, operation, Opcode::kReshape, {operand}, NoAttributes{}, {},
                                               Shape(shape.element_type(), kept_sizes)));
    dimensions = kept;
  }
  return BindInferred(frame, operation, Opcode::kBroadcast, {operand}, DimensionsAttributes{std::move(dimensions)}, {},
                      target);
}

// broadcast: new dimensions to the left.
Status ImportBroadcast(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const IntList sizes, operation.Ints("broadcast_sizes"));
  IntList dimensions;
  IntList target = sizes;
  for (int i = 0; i < operands[0]->shape().rank(); ++i) {
    dimensions.push_back(static_cast<int64_t>(sizes.size()) + i);
    target.push_back(operands[0]->shape().dimension(i));
  }
  const Shape stated = frame.importer.refines() ? Shape(operands[0]->shape().element_type(), target)
                                                : frame.importer.ResultShape(operation);
  return BindInferred(frame, operation, Opcode::kBroadcast, std::move(operands), DimensionsAttributes{dimensions}, {},
                      stated);
}

// The operand lists the sizes of a result whose type says them too.
Status CheckSizes(Frame& frame, const Operation& operation, size_t operand, const Shape& stated) {
  VXLA_ASSIGN_OR_RETURN(const Instruction* const sizes, Lookup(frame, operation, operation.operands[operand]));
  const bool list = sizes->shape().IsArray() && sizes->shape().rank() == 1;
  if (!list || sizes->shape().dimension(0) != stated.rank())  // dynamic_reshape_c4
    return operation.Error("operand {} is {}, the sizes of {} needed", operand, PrintType(sizes->shape()),
                           PrintType(stated));
  const bool constant = sizes->opcode() == Opcode::kConstant &&
                        sizes->attributes<ConstantAttributes>().literal != nullptr &&
                        !IsFloating(sizes->shape().element_type()) && !IsComplex(sizes->shape().element_type());
  for (int i = 0; constant && i < stated.rank(); ++i) {
    if (stated.is_dynamic_dimension(i) || sizes->literal().GetInt(i) == stated.dimension(i)) continue;
    return operation.Error("operand {} says {} for dimension {}, the result is stated as {}", operand,
                           sizes->literal().GetInt(i), i, PrintType(stated));
  }
  return OkStatus();
}

// reshape; dynamic_reshape to a static type, whose second operand says the same.
Status ImportReshape(Frame& frame, const Operation& operation, Instructions& operands) {
  if (operands.size() > 1 && IsBounded(frame, operation)) return ImportBoundedReshape(frame, operation, operands);
  VXLA_ASSIGN_OR_RETURN(const Shape shape, DynamicShapeOf(frame, operation, 1));
  return BindInferred(frame, operation, Opcode::kReshape, {operands[0]}, NoAttributes{}, {}, shape);
}

Status ImportIota(Frame& frame, const Operation& operation, Instructions& /*operands*/) {
  VXLA_ASSIGN_OR_RETURN(const int64_t dimension, operation.Int("iota_dimension"));
  if (!operation.operands.empty() && IsBounded(frame, operation))
    return BindSized(frame, operation, Opcode::kIota, {}, IotaAttributes{dimension}, 0);
  VXLA_ASSIGN_OR_RETURN(const Shape shape, DynamicShapeOf(frame, operation, 0));
  return BindInferred(frame, operation, Opcode::kIota, {}, IotaAttributes{dimension}, {}, shape);
}

// An operand that is a constant of integers.
Result<IntList> ConstantInts(Frame& frame, const Operation& operation, size_t operand) {
  if (operand >= operation.operands.size()) return operation.Error("operand {} is missing", operand);
  VXLA_ASSIGN_OR_RETURN(Instruction* const value, Lookup(frame, operation, operation.operands[operand]));
  IntList values;
  if (frame.importer.refines()) {
    VXLA_ASSIGN_OR_RETURN(const Literal* const known, frame.importer.KnownOrAsk(operation, value));
    for (int64_t i = 0; i < known->element_count(); ++i) values.push_back(known->GetInt(i));
    return values;
  }
  if (value->opcode() != Opcode::kConstant || value->attributes<ConstantAttributes>().literal == nullptr ||
      IsFloating(value->shape().element_type()) || IsComplex(value->shape().element_type())) {
    return operation.NotSupported("operand {} is no constant, which is not supported yet", operand);
  }
  for (int64_t i = 0; i < value->shape().ElementCount(); ++i) values.push_back(value->literal().GetInt(i));
  return values;
}

Status ImportDynamicPad(Frame& frame, const Operation& operation, Instructions& operands) {
  if (IsBounded(frame, operation) && !AreKnown(frame, operands, 2)) return ImportBoundedPad(frame, operation, operands);
  VXLA_ASSIGN_OR_RETURN(const IntList low, ConstantInts(frame, operation, 2));
  VXLA_ASSIGN_OR_RETURN(const IntList high, ConstantInts(frame, operation, 3));
  VXLA_ASSIGN_OR_RETURN(const IntList interior, ConstantInts(frame, operation, 4));
  VXLA_ASSIGN_OR_RETURN(PadAttributes attributes, PadOf(operation, low, high, interior));
  return BindInferred(frame, operation, Opcode::kPad, {operands[0], operands[1]}, std::move(attributes));
}

Status ImportRealDynamicSlice(Frame& frame, const Operation& operation, Instructions& operands) {
  if (IsBounded(frame, operation) && !AreKnown(frame, operands, 1))
    return ImportBoundedSlice(frame, operation, operands);
  VXLA_ASSIGN_OR_RETURN(const bool moving, ImportMovingSlice(frame, operation, operands));
  if (moving) return OkStatus();
  VXLA_ASSIGN_OR_RETURN(const IntList starts, ConstantInts(frame, operation, 1));
  VXLA_ASSIGN_OR_RETURN(const IntList limits, ConstantInts(frame, operation, 2));
  VXLA_ASSIGN_OR_RETURN(const IntList strides, ConstantInts(frame, operation, 3));
  VXLA_ASSIGN_OR_RETURN(SliceAttributes attributes, SliceOf(operation, starts, limits, strides));
  return BindInferred(frame, operation, Opcode::kSlice, {operands[0]}, std::move(attributes));
}

Status ImportDynamicGather(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(GatherAttributes attributes, GatherOf(operation));
  if (IsBounded(frame, operation) && !AreKnown(frame, operands, 2))
    return ImportBoundedGather(frame, operation, operands, std::move(attributes));
  VXLA_ASSIGN_OR_RETURN(attributes.slice_sizes, ConstantInts(frame, operation, 2));
  return BindInferred(frame, operation, Opcode::kGather, {operands[0], operands[1]}, std::move(attributes));
}

// A convolution whose third operand is the padding.
Status ImportDynamicConvolution(Frame& frame, const Operation& operation, Instructions& operands) {
  Operation convolution = operation;
  convolution.operands.pop_back();
  if (IsBounded(frame, operation) && !AreKnown(frame, operands, 2))
    return ImportBoundedConvolution(frame, std::move(convolution), operands[2]);
  VXLA_ASSIGN_OR_RETURN(const IntList padding, ConstantInts(frame, operation, 2));
  SetAttribute(convolution.attributes, "padding", IntListAttribute(padding));
  return ImportPlain(frame, convolution, Opcode::kConvolution);
}

// dot of vectors and matrices: the last dimension of lhs with the first of rhs.
Status ImportDot(Frame& frame, const Operation& operation, Instructions& operands) {
  DotAttributes attributes;
  attributes.lhs_contracting_dims = {operands[0]->shape().rank() - 1};
  attributes.rhs_contracting_dims = {0};
  VXLA_ASSIGN_OR_RETURN(attributes.operand_precision, PrecisionOf(operation));
  return BindInferred(frame, operation, Opcode::kDot, std::move(operands), std::move(attributes), {},
                      frame.importer.ResultShape(operation));
}

// Of complex numbers by the real parts, then by the imaginary ones.
Status ImportCompare(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(const Attributes attributes,
                        AttributesFor(Opcode::kCompare, operation, frame.importer.typed()));
  const ComparisonDirection direction = std::get<CompareAttributes>(attributes).direction;
  const bool equality = direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
  const Shape& shape = operands[0]->shape();
  if (!IsComplex(shape.element_type()) || equality) return ImportPlain(frame, operation, Opcode::kCompare);
  if (!(operands[1]->shape() == shape))
    return operation.Error("operands of {} and {}", PrintType(shape), PrintType(operands[1]->shape()));
  return BindComposed(frame, operation, operands,
                      [&](const std::vector<XlaOp>& x) { return ComplexOrder(x[0], x[1], direction); });
}

// The third operand is the shape, which the result's type says too.
Status ImportRng(Frame& frame, const Operation& operation, Instructions& operands) {
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(Opcode::kRng, operation, frame.importer.typed()));
  if (IsBounded(frame, operation))
    return BindSized(frame, operation, Opcode::kRng, {operands[0], operands[1]}, std::move(attributes), 2);
  VXLA_ASSIGN_OR_RETURN(const Shape shape, DynamicShapeOf(frame, operation, 2));
  return BindInferred(frame, operation, Opcode::kRng, {operands[0], operands[1]}, std::move(attributes), {}, shape);
}

// To a type that is not complex a complex number goes by its real part. HLO's convert refuses that.
Status ImportConvert(Frame& frame, const Operation& operation, Instructions& operands) {
  const Shape &from = operands[0]->shape(), stated = frame.importer.ResultShape(operation);
  if (from.IsArray() && stated.IsArray() && IsComplex(from.element_type()) && !IsComplex(stated.element_type())) {
    VXLA_ASSIGN_OR_RETURN(operands[0], AddInferred(frame, operation, Opcode::kReal, {operands[0]}));
    if (operands[0]->shape().element_type() == stated.element_type()) return BindResults(frame, operation, operands[0]);
  }
  VXLA_ASSIGN_OR_RETURN(Attributes attributes, AttributesFor(Opcode::kConvert, operation, frame.importer.typed()));
  return BindInferred(frame, operation, Opcode::kConvert, std::move(operands), std::move(attributes), {}, stated);
}

Status ImportNothing(Frame&, const Operation&, Instructions&) { return OkStatus(); }

Status ImportBarrier(Frame& frame, const Operation& operation, Instructions& operands) {
  if (operands.empty()) return OkStatus();
  return BindInferred(frame, operation, Opcode::kOptimizationBarrier, {frame.Together(std::move(operands))});
}

}  // namespace VXLA_NAMESPACE::mlir
