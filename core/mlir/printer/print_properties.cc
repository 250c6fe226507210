// The attributes of instructions in StableHLO's words.
#include <fmt/format.h>

#include <numeric>

#include "core/devices/replica_groups.h"
#include "core/host/ranges.h"
#include "core/mlir/ir.h"
#include "core/mlir/keywords.h"
#include "core/mlir/lexer.h"
#include "core/mlir/printer/printer_impl.h"
#include "core/numerics/dot_algorithm.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

std::string Keyword(auto value) {
  return fmt::format("#stablehlo<{} {}>", KeywordsOf(value).kind, KeywordsOf(value).words[static_cast<size_t>(value)]);
}

std::string Array(const IntList& values) { return ArrayText("i64", values); }

std::string List(const IntList& values) { return "[" + JoinInts(values, ", ") + "]"; }

// One number of each dimension.
std::string Each(const auto& dimensions, auto member) { return Array(Transformed(dimensions, member)); }

std::string Paddings(const Window& window) {
  IntList padding;
  for (const WindowDimension& d : window) padding.insert(padding.end(), {d.pad_low, d.pad_high});
  return PairsText(padding);
}

std::string Bool(bool value) { return value ? "true" : "false"; }

std::string Precision(const std::vector<PrecisionLevel>& levels) {
  const std::string words = Join(Transformed(levels, Keyword<PrecisionLevel>));
  return words.empty() ? "" : ", precision_config = [" + words + "]";
}

std::string Channel(const std::optional<int64_t>& channel, int type) {
  if (!channel) return {};
  return fmt::format(", channel_handle = #stablehlo.channel_handle<handle = {}, type = {}>", *channel, type);
}

// Rows of one length, filled with -1.
std::string Groups(const ReplicaGroups& groups) {
  size_t size = 0;
  for (const IntList& group : groups.groups) size = std::max(size, group.size());
  const std::string rows = Join(Transformed(groups.groups, [&](IntList group) {
    group.resize(size, -1);
    return List(group);
  }));
  const size_t count = size == 0 ? 0 : groups.groups.size();
  return fmt::format("replica_groups = dense<{}> : tensor<{}x{}xi64>", count == 0 ? "" : "[" + rows + "]", count, size);
}

std::string TextOf(const Instruction& /*instruction*/, const ConvolutionAttributes& a) {
  return fmt::format(
      "dimension_numbers = {}, window_strides = {}, padding = {}, lhs_dilation = {}, rhs_dilation = {}, "
      "window_reversal = {}, feature_group_count = {} : i64, batch_group_count = {} : i64{}",
      ConvolutionText(*a.dim_labels), Each(a.window, &WindowDimension::stride), Paddings(a.window),
      Each(a.window, &WindowDimension::lhs_dilate), Each(a.window, &WindowDimension::rhs_dilate),
      ArrayText("i1", Transformed(a.window, [](const WindowDimension& d) -> int64_t { return d.reversal; })),
      a.feature_group_count, a.batch_group_count, Precision(a.operand_precision));
}

std::string TextOf(const Instruction& instruction, const WindowAttributes& a) {
  const std::string all =
      fmt::format("window_dimensions = {}, window_strides = {}, padding = {}", Each(a.window, &WindowDimension::size),
                  Each(a.window, &WindowDimension::stride), Paddings(a.window));
  if (instruction.opcode() == Opcode::kSelectAndScatter) return all;
  return all + fmt::format(", base_dilations = {}, window_dilations = {}", Each(a.window, &WindowDimension::lhs_dilate),
                           Each(a.window, &WindowDimension::rhs_dilate));
}

std::string PrecisionText(ElementType type) {
  Type element(Type::Kind::kElement, Shape(type));
  return PrintType(element);
}

std::string Algorithm(const Instruction& dot) {
  const DotAlgorithm* const algorithm = FindDotAlgorithm(dot.attributes<DotAttributes>().algorithm);
  if (algorithm == nullptr) return {};
  auto precision = [&](int k) {
    return algorithm->takes_f8() ? PrecisionText(dot.operand(k)->shape().element_type())
                                 : std::string(algorithm->precision);
  };
  return fmt::format(
      ", algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = "
      "{}, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = {}, "
      "allow_imprecise_accumulation = "
      "{}>",
      precision(0), precision(1), PrecisionText(algorithm->sum), algorithm->products, Bool(algorithm->imprecise));
}

std::string RaggedDotText(const DotAttributes& a) {
  std::string precision = Precision(a.operand_precision);
  for (size_t at = precision.find("#stablehlo"); at != std::string::npos; at = precision.find("#stablehlo", at))
    precision.replace(at, 10, "#chlo");
  return fmt::format(
      "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = {}, rhs_batching_dimensions = {}, "
      "lhs_contracting_dimensions = {}, rhs_contracting_dimensions = {}, lhs_ragged_dimensions = {}, "
      "rhs_group_dimensions = {}>{}",
      List(a.lhs_batch_dims), List(a.rhs_batch_dims), List(a.lhs_contracting_dims), List(a.rhs_contracting_dims),
      List(a.lhs_ragged_dims), List(a.rhs_group_dims), precision);
}

std::string TextOf(const Instruction& dot, const DotAttributes& a) {
  if (dot.opcode() == Opcode::kRaggedDot) return RaggedDotText(a);
  return fmt::format(
      "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, rhs_batching_dimensions = {}, "
      "lhs_contracting_dimensions = {}, rhs_contracting_dimensions = {}>{}",
      List(a.lhs_batch_dims), List(a.rhs_batch_dims), List(a.lhs_contracting_dims), List(a.rhs_contracting_dims),
      a.algorithm.empty() ? Precision(a.operand_precision) : Algorithm(dot));
}

std::string TextOf(const Instruction& scan, const ScanAttributes& a) {
  const auto operands = static_cast<int64_t>(scan.operand_count());
  const auto results = scan.shape().IsTuple() ? static_cast<int64_t>(scan.shape().tuple_elements().size()) : 1;
  std::string out = fmt::format("dimension = {} : i64, is_reverse = {}", a.dimensions[0], Bool(a.is_reverse));
  if (a.is_associative.text == "true" || a.is_associative.text == "false")
    out += ", is_associative = " + a.is_associative.text;
  return out + fmt::format(", operandSegmentSizes = array<i32: {}, {}>, resultSegmentSizes = array<i32: {}, {}>",
                           operands - a.num_carries, a.num_carries, results - a.num_carries, a.num_carries);
}

std::string TextOf(const Instruction& /*instruction*/, const GatherAttributes& a) {
  return fmt::format(
      "dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = {}, operand_batching_dims = {}, "
      "start_indices_batching_dims = {}, start_index_map = {}, index_vector_dim = {}>, slice_sizes = {}, "
      "indices_are_sorted = {}",
      List(a.offset_dims), List(a.collapsed_slice_dims), List(a.operand_batching_dims),
      List(a.start_indices_batching_dims), List(a.start_index_map), a.index_vector_dim, Array(a.slice_sizes),
      Bool(a.indices_are_sorted));
}

std::string TextOf(const Instruction& /*instruction*/, const ScatterAttributes& a) {
  return fmt::format(
      "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, inserted_window_dims = {}, "
      "input_batching_dims = {}, scatter_indices_batching_dims = {}, scatter_dims_to_operand_dims = {}, "
      "index_vector_dim = {}>, indices_are_sorted = {}, unique_indices = {}",
      List(a.update_window_dims), List(a.inserted_window_dims), List(a.input_batching_dims),
      List(a.scatter_indices_batching_dims), List(a.scatter_dims_to_operand_dims), a.index_vector_dim,
      Bool(a.indices_are_sorted), Bool(a.unique_indices));
}

std::string TextOf(const Instruction& /*instruction*/, const SliceAttributes& a) {
  return fmt::format("start_indices = {}, limit_indices = {}, strides = {}", Each(a.slice, &SliceDimension::start),
                     Each(a.slice, &SliceDimension::limit), Each(a.slice, &SliceDimension::stride));
}

std::string TextOf(const Instruction& /*instruction*/, const PadAttributes& a) {
  return fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                     Each(a.padding, &PaddingDimension::low), Each(a.padding, &PaddingDimension::high),
                     Each(a.padding, &PaddingDimension::interior));
}

// Replicas with all their partitions, of which HLO takes one replica after the other and StableHLO one partition after
// the other, as the ids of devices, which both take as they stand. Groups whose order is StableHLO's stay.
std::optional<ReplicaGroups> AsDevices(const Instruction& collective) {
  const auto& a = collective.attributes<CollectiveAttributes>();
  const Result<GroupMode> mode = GroupModeOf(collective);
  const Computation* const computation = collective.parent();
  if (!mode.ok() || *mode != GroupMode::kCrossReplicaAndPartition || collective.notes().by_partition ||
      computation == nullptr || computation->module() == nullptr)
    return std::nullopt;
  const ModuleAttributes& module = computation->module()->attributes();
  const DeviceGrid grid{module.replica_count, module.num_partitions};
  if (grid.replicas == 1 || grid.partitions == 1) return std::nullopt;
  std::vector<IntList> groups = a.replica_groups.groups;
  if (groups.empty()) {
    groups.emplace_back(static_cast<size_t>(grid.replicas));
    std::iota(groups[0].begin(), groups[0].end(), 0);
  }
  ReplicaGroups devices;
  for (const IntList& group : groups) {
    IntList& ids = devices.groups.emplace_back();
    for (const int64_t replica : group) {
      for (int64_t partition = 0; partition < grid.partitions; ++partition)
        ids.push_back(grid.device(replica, partition));
    }
  }
  return devices;
}

std::string TextOf(const Instruction& instruction, const CollectiveAttributes& a) {
  const std::optional<ReplicaGroups> devices = AsDevices(instruction);
  std::string out = Groups(devices ? *devices : a.replica_groups) + Channel(a.channel_id, 1);
  if (a.use_global_device_ids || devices) out += ", use_global_device_ids";
  const Shape& operand = instruction.operand(0)->shape();
  const int64_t dimension = a.dimensions.empty() ? 0 : a.dimensions[0];
  switch (instruction.opcode()) {
    case Opcode::kAllGather:
      return out + fmt::format(", all_gather_dim = {} : i64", dimension);
    case Opcode::kReduceScatter:
      return out + fmt::format(", scatter_dimension = {} : i64", dimension);
    case Opcode::kAllToAll: {
      const size_t count = a.replica_groups.groups.empty() ? 1 : a.replica_groups.groups[0].size();
      return out + fmt::format(", split_dimension = {} : i64, concat_dimension = {} : i64, split_count = {} : i64",
                               dimension, dimension, operand.rank() == 0 ? 1 : count);
    }
    default:
      return out;
  }
}

std::string TextOf(const Instruction& /*instruction*/, const CollectivePermuteAttributes& a) {
  IntList pairs;
  for (const auto& [source, target] : a.source_target_pairs) {
    pairs.push_back(source);
    pairs.push_back(target);
  }
  return "source_target_pairs = " + PairsText(pairs) + Channel(a.channel_id, 1);
}

// Layouts as lists, where one is stated.
std::string LayoutsText(std::string_view name, const std::vector<Shape>& shapes) {
  bool stated = false;
  std::string out;
  for (const Shape& shape : shapes) {
    stated = stated || shape.layout().has_value();
    const std::vector<int64_t> order = shape.IsArray() ? shape.MinorToMajor() : std::vector<int64_t>();
    out += fmt::format("{}dense<{}> : tensor<{}xindex>", out.empty() ? "" : ", ", order.empty() ? "" : List(order),
                       order.size());
  }
  return stated ? fmt::format(", {} = [{}]", name, out) : "";
}

Result<std::string> TextOf(const Instruction& instruction, const CustomCallAttributes& a) {
  if (a.literal || a.window || a.dim_labels) {
    return Unsupported("{}: a custom-call with a literal, a window or dim_labels has no form in StableHLO",
                       PathOf(instruction))
        .At(instruction.location());
  }
  std::string out = fmt::format("call_target_name = {}, has_side_effect = {}", QuoteMlir(a.custom_call_target),
                                Bool(a.custom_call_has_side_effect));
  constexpr std::pair<std::string_view, int> kVersions[] = {
      {"API_VERSION_STATUS_RETURNING", 2}, {"API_VERSION_STATUS_RETURNING_UNIFIED", 3}, {"API_VERSION_TYPED_FFI", 4}};
  for (const auto& [text, version] : kVersions) {
    if (a.api_version.text == text) out += fmt::format(", api_version = {} : i32", version);
  }
  const std::string& config = instruction.common().backend_config.text;
  if (config.starts_with('{') && a.api_version.text == "API_VERSION_TYPED_FFI") {
    out += ", backend_config = " + config;
  } else if (!config.empty()) {
    out += ", backend_config = ";
    out += config.starts_with('"') ? config : QuoteMlir(config);
  }
  if (a.operand_layout_constraints) {
    const std::vector<Shape>& results =
        instruction.shape().IsTuple() ? instruction.shape().tuple_elements() : std::vector<Shape>{instruction.shape()};
    const std::string operands = LayoutsText("operand_layouts", *a.operand_layout_constraints);
    const std::string given = LayoutsText("result_layouts", results);
    if (!operands.empty() && !given.empty()) out += operands + given;
  }
  std::string aliases;
  for (const Aliasing& alias : a.output_to_operand_aliasing) {
    aliases += fmt::format(
        "{}#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {}, "
        "operand_tuple_indices = {}>",
        aliases.empty() ? "" : ", ", List(alias.output_index), alias.operand, List(alias.operand_index));
  }
  if (!aliases.empty()) out += ", output_operand_aliases = [" + aliases + "]";
  return out;
}

std::string TextOf(const Instruction& instruction, const SendRecvAttributes& a) {
  const int to_or_from_host = instruction.opcode() == Opcode::kSend ? 2 : 3;
  return fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = {}>, is_host_transfer = {}",
                     a.channel_id.value_or(0), a.is_host_transfer ? to_or_from_host : 1, Bool(a.is_host_transfer));
}

std::string Number(std::string_view name, int64_t value) { return fmt::format("{} = {} : i64", name, value); }

std::string TextOf(const Instruction& instruction, const DimensionsAttributes& a) {
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
      return "broadcast_dimensions = " + Array(a.dimensions);
    case Opcode::kTranspose:
      return "permutation = " + Array(a.dimensions);
    case Opcode::kReverse:
    case Opcode::kReduce:
    case Opcode::kMap:
      return "dimensions = " + Array(a.dimensions);
    default:
      return Number("dimension", a.dimensions[0]);
  }
}

std::string TextOf(const Instruction& /*instruction*/, const SortAttributes& a) {
  return Number("dimension", a.dimensions.empty() ? 0 : a.dimensions[0]) + ", is_stable = " + Bool(a.is_stable);
}

Result<std::string> TextOf(const Instruction& instruction, const TopKAttributes& a) {
  if (!a.largest) return Unsupported("{}: topk of the smallest has no form in StableHLO", PathOf(instruction));
  return Number("k", a.k);
}

// Fields under their names.
struct PropertyPrinter {
  std::vector<std::string> properties;

  template <typename T>
  void operator()(std::string_view field, const T& value, FieldKind /*kind*/) {
    std::string text;
    if constexpr (std::is_same_v<T, bool>) text = Bool(value);
    if constexpr (std::is_same_v<T, int64_t>)
      text = fmt::format("{} : {}", value, field.ends_with("_bits") ? "i32" : "i64");
    if constexpr (std::is_same_v<T, IntList>) text = Array(value);
    if constexpr (std::is_same_v<T, float>) text = fmt::format("{:#.9g} : f32", value);
    if constexpr (std::is_same_v<T, std::string>) text = QuoteMlir(value);
    if constexpr (requires { KeywordsOf(value); }) text = Keyword(value);
    if (!text.empty()) properties.push_back(fmt::format("{} = {}", PropertyName(field), text));
  }
};

std::string TextOf(const Instruction& /*instruction*/, const auto& attributes) {
  PropertyPrinter printer;
  attributes.VisitFields(attributes, printer);
  return Join(printer.properties);
}

}  // namespace

std::string ArrayText(std::string_view type, const IntList& values) {
  if (values.empty()) return fmt::format("array<{}>", type);
  if (type != "i1") return fmt::format("array<{}: {}>", type, JoinInts(values, ", "));
  return fmt::format("array<i1: {}>", Join(Transformed(values, [](int64_t value) { return Bool(value != 0); })));
}

std::string PairsText(const IntList& flat) {
  std::vector<std::string> rows;
  for (size_t i = 0; i + 1 < flat.size(); i += 2) rows.push_back(fmt::format("[{}, {}]", flat[i], flat[i + 1]));
  return fmt::format("dense<{}> : tensor<{}x2xi64>", rows.empty() ? "" : "[" + Join(rows) + "]", rows.size());
}

std::string ConvolutionText(const ConvolutionDimensions& n) {
  const auto labels = [](int64_t first, int64_t second, const IntList& spatial, const char* a, const char* b) {
    std::vector<std::string> words(spatial.size() + 2);
    words[first] = a;
    words[second] = b;
    for (size_t i = 0; i < spatial.size(); ++i) words[spatial[i]] = fmt::format("{}", i);
    return "[" + Join(words) + "]";
  };
  return fmt::format("#stablehlo.conv<{}x{}->{}>", labels(n.input_batch, n.input_feature, n.input_spatial, "b", "f"),
                     labels(n.kernel_input_feature, n.kernel_output_feature, n.kernel_spatial, "i", "o"),
                     labels(n.output_batch, n.output_feature, n.output_spatial, "b", "f"));
}

Result<std::string> PrintProperties(const Instruction& instruction) {
  return std::visit([&](const auto& a) { return Result<std::string>(TextOf(instruction, a)); },
                    instruction.attributes());
}

}  // namespace VXLA_NAMESPACE::mlir
