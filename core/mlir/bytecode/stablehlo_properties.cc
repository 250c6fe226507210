#include "core/mlir/bytecode/stablehlo_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/mlir/bytecode/vhlo.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

// Of arith.
constexpr std::string_view kFastMath[] = {"addf",    "divf", "extf", "maximumf", "maxnumf", "minimumf",
                                          "minnumf", "mulf", "negf", "remf",     "subf",    "truncf"};
constexpr std::string_view kExact[] = {"divsi", "divui", "shrsi", "shrui"};
constexpr std::string_view kNonNegative[] = {"extui", "index_castui", "uitofp"};
constexpr std::string_view kOverflow[] = {"addi", "muli", "shli", "subi", "trunci"};

struct OperationProperties {
  std::string_view operation, properties;
};
// Where VHLO has other names, or none.
constexpr OperationProperties kProperties[] = {
    {"arith.cmpf", "fastmath? predicate"},
    {"arith.cmpi", "predicate"},
    {"arith.constant", "value"},
    {"cf.cond_br", "branch_weights? operandSegmentSizes=3"},
    {"chlo.broadcast_compare", "broadcast_dimensions? compare_type? comparison_direction"},
    {"chlo.constant", "value"},
    {"chlo.constant_like", "value"},
    {"chlo.top_k", "k"},
    {"func.call", "arg_attrs? callee no_inline? res_attrs?"},
    {"func.func", "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?"},
    {"scf.for", "unsignedCmp?"},
    {"scf.forall", "mapping? staticLowerBound staticStep staticUpperBound operandSegmentSizes=4"},
    {"sdy.manual_computation", "in_shardings manual_axes out_shardings"},
    {"sdy.mesh", "mesh sym_name"},
    {"sdy.sharding_constraint", "sharding"},
    {"sdy.sharding_group", "group_id"},
    {"shape.const_shape", "shape"},
    {"stablehlo.all_gather", "all_gather_dim channel_handle? replica_groups use_global_device_ids?"},
    {"stablehlo.all_reduce", "channel_handle? replica_groups use_global_device_ids?"},
    {"stablehlo.all_to_all", "channel_handle? concat_dimension replica_groups split_count split_dimension"},
    {"stablehlo.collective_broadcast", "channel_handle? replica_groups"},
    {"stablehlo.collective_permute", "channel_handle? source_target_pairs"},
    {"stablehlo.convolution",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? precision_config? rhs_dilation? "
     "window_reversal? window_strides?"},
    {"stablehlo.custom_call",
     "api_version? backend_config? call_target_name called_computations? has_side_effect? operand_layouts? "
     "output_operand_aliases? result_layouts?"},
    {"stablehlo.dot_general", "algorithm? dot_dimension_numbers precision_config?"},
    {"stablehlo.dynamic_conv",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? precision_config? rhs_dilation? "
     "window_reversal? window_strides?"},
    {"stablehlo.dynamic_gather", "dimension_numbers indices_are_sorted?"},
    {"stablehlo.gather", "dimension_numbers indices_are_sorted? slice_sizes"},
    {"stablehlo.recv", "channel_handle is_host_transfer? source_target_pairs?"},
    {"stablehlo.reduce_scatter", "channel_handle? replica_groups scatter_dimension use_global_device_ids?"},
    {"stablehlo.scatter", "indices_are_sorted? scatter_dimension_numbers unique_indices?"},
    {"stablehlo.select_and_scatter", "padding? window_dimensions? window_strides?"},
    {"stablehlo.send", "channel_handle is_host_transfer? source_target_pairs?"},
    {"stablehlo.torch_index_select", "batch_dims dim"},
    {"tensor.collapse_shape", "reassociation"},
    {"tensor.concat", "dim"},
    {"tensor.expand_shape", "reassociation static_output_shape"},
    {"tensor.extract_slice", "static_offsets static_sizes static_strides operandSegmentSizes=4"},
    {"tensor.gather", "gather_dims unique?"},
    {"tensor.insert_slice", "static_offsets static_sizes static_strides operandSegmentSizes=5"},
    {"tensor.pad", "nofold? static_high static_low operandSegmentSizes=3"},
    {"tensor.parallel_insert_slice", "static_offsets static_sizes static_strides operandSegmentSizes=5"},
    {"tensor.scatter", "scatter_dims unique?"},
};

// Of an operation of StableHLO that is not among these.
std::optional<std::string> PropertiesInVhlo(std::string_view name) {
  std::optional<VhloVersion> since;
  const VhloOperation* const form = FindVhloOperation(name, kNewestVhlo, &since);
  std::string names;
  for (std::string_view rest = form == nullptr ? "" : form->properties; !rest.empty();) {
    const VhloProperty property = NextVhloProperty(rest);
    if (property.name == "channel_id") return std::nullopt;  // stands in a channel_handle
    names += fmt::format("{}{}{}", names.empty() ? "" : " ", property.name, property.optional ? "?" : "");
  }
  return names.empty() ? std::nullopt : std::optional(std::move(names));
}

}  // namespace

std::optional<std::string> StablehloProperties(std::string_view operation) {
  const auto row = std::ranges::find(kProperties, operation, &OperationProperties::operation);
  if (row != std::end(kProperties)) return std::string(row->properties);
  if (operation.starts_with("stablehlo.")) return PropertiesInVhlo(operation.substr(10));
  if (operation.starts_with("chlo.broadcast_")) return "broadcast_dimensions?";
  if (operation.starts_with("arith.")) {
    const std::string_view name = operation.substr(6);
    if (std::ranges::find(kFastMath, name) != std::end(kFastMath)) return "fastmath? roundingmode?";
    if (std::ranges::find(kExact, name) != std::end(kExact)) return "isExact?";
    if (std::ranges::find(kNonNegative, name) != std::end(kNonNegative)) return "nonNeg?";
    if (std::ranges::find(kOverflow, name) != std::end(kOverflow)) return "overflowFlags?";
  }
  return std::nullopt;
}

}  // namespace VXLA_NAMESPACE::mlir
