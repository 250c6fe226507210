#include "core/mlir/bytecode/vhlo.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/mlir/keywords.h"

namespace VXLA_NAMESPACE::mlir {
namespace {

constexpr VhloVersion V(int major, int minor) { return VhloVersion::Of(major, minor); }
constexpr VhloVersion kFirst = kOldestVhlo, kLast = kNewestVhlo;

// Operations without properties, and those that got an accuracy with version 1.10.
constexpr std::string_view kPlain =
    " abs bitcast_convert ceil convert count_leading_zeros floor imag negate not popcnt real reshape round_nearest_afz "
    "round_nearest_even sign uniform_dequantize uniform_quantize is_finite add and atan2 complex divide maximum "
    "minimum multiply or power remainder shift_left shift_right_arithmetic shift_right_logical subtract xor "
    "create_token partition_id replica_id after_all tuple clamp select dynamic_reshape dynamic_update_slice "
    "real_dynamic_slice dynamic_pad optimization_barrier return case if while ";
constexpr std::string_view kAccurate =
    " cbrt cosine exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tanh ";

constexpr VhloOperation kOperations[] = {
    {"tan", 1, V(1, 4), V(1, 9), ""},
    {"tan", 2, V(1, 10), kLast, "result_accuracy:acc?"},
    {"exponential", 1, kFirst, V(1, 8), ""},
    {"exponential", 2, V(1, 9), kLast, "result_accuracy:acc?"},
    {"async_start", 1, V(1, 15), kLast, ""},
    {"async_done", 1, V(1, 15), kLast, ""},
    {"all_gather", 1, kFirst, V(1, 4), "all_gather_dim:i channel_id:i? replica_groups:g use_global_device_ids:b?"},
    {"all_gather", 2, V(1, 5), kLast, "all_gather_dim:i channel_id:i? replica_groups:g use_global_device_ids:b?"},
    {"all_reduce", 1, kFirst, V(1, 4), "channel_id:i? replica_groups:g use_global_device_ids:b?"},
    {"all_reduce", 2, V(1, 5), kLast, "channel_id:i? replica_groups:g use_global_device_ids:b?"},
    {"all_to_all", 1, kFirst, V(1, 4),
     "channel_id:i? concat_dimension:i replica_groups:g split_count:i split_dimension:i"},
    {"all_to_all", 2, V(1, 5), kLast,
     "channel_id:i? concat_dimension:i replica_groups:g split_count:i split_dimension:i"},
    {"batch_norm_grad", 1, kFirst, kLast, "epsilon:f feature_index:i"},
    {"batch_norm_inference", 1, kFirst, kLast, "epsilon:f feature_index:i"},
    {"batch_norm_training", 1, kFirst, kLast, "epsilon:f feature_index:i"},
    {"broadcast", 1, kFirst, kLast, "broadcast_sizes:d"},
    {"broadcast_in_dim", 1, kFirst, kLast, "broadcast_dimensions:d"},
    {"call", 1, kFirst, kLast, "callee:y"},
    {"cholesky", 1, kFirst, kLast, "lower:b?"},
    {"collective_broadcast", 1, V(0, 16), V(1, 19), "channel_id:i? replica_groups:g"},
    {"collective_broadcast", 2, V(1, 20), kLast, "channel_id:i? has_dynamic_root:b? replica_groups:g"},
    {"collective_permute", 1, kFirst, kLast, "channel_id:i? source_target_pairs:d2"},
    {"collective_reduce", 1, V(1, 19), kLast,
     "channel_id:i? has_dynamic_root:b? replica_groups:g use_global_device_ids:b?"},
    {"compare", 1, kFirst, kLast, "compare_type:cmp? comparison_direction:dir"},
    {"composite", 1, V(0, 19), V(1, 13), "composite_attributes:D? decomposition:y name:s version:i32?"},
    {"composite", 2, V(1, 14), kLast, "composite_attributes:D? decomposition:y name:s version:i32?"},
    {"concatenate", 1, kFirst, kLast, "dimension:i"},
    {"constant", 1, kFirst, kLast, "value:v"},
    {"convolution", 1, kFirst, kLast,
     "batch_group_count:i?1 feature_group_count:i?1 input_batch_dimension:i input_feature_dimension:i "
     "input_spatial_dimensions:d kernel_input_feature_dimension:i kernel_output_feature_dimension:i "
     "kernel_spatial_dimensions:d lhs_dilation:d?1 output_batch_dimension:i output_feature_dimension:i "
     "output_spatial_dimensions:d padding:d2?0 precision_config:P? rhs_dilation:d?1 window_reversal:w?0 "
     "window_strides:d?1"},
    {"cross-replica-sum", 1, kFirst, kLast, "replica_groups:g"},
    {"custom_call", 1, kFirst, V(1, 17),
     "api_version:api?1 backend_config:B? call_target_name:s called_computations:ys? has_side_effect:b? "
     "operand_layouts:L? output_operand_aliases:al? result_layouts:L?"},
    {"custom_call", 2, V(1, 18), kLast,
     "api_version:api?1 backend_config:B? call_target_name:s called_computations:ys? has_side_effect:b? "
     "operand_layouts:L? output_operand_aliases:al? result_layouts:L? result_tilings:a?"},
    {"dot", 1, kFirst, kLast, "precision_config:P?"},
    {"dot_general", 1, kFirst, V(1, 5),
     "lhs_batching_dimensions:d? lhs_contracting_dimensions:d? precision_config:P? rhs_batching_dimensions:d? "
     "rhs_contracting_dimensions:d?"},
    {"dot_general", 2, V(1, 6), kLast,
     "accumulation_type:t? allow_imprecise_accumulation:t? lhs_batching_dimensions:d? lhs_component_count:t? "
     "lhs_contracting_dimensions:d? lhs_precision_type:t? num_primitive_operations:t? precision_config:P? "
     "rhs_batching_dimensions:d? rhs_component_count:t? rhs_contracting_dimensions:d? rhs_precision_type:t?"},
    {"dynamic_broadcast_in_dim", 1, kFirst, kLast,
     "broadcast_dimensions:d known_expanding_dimensions:d? known_nonexpanding_dimensions:d?"},
    {"dynamic_conv", 1, kFirst, V(0, 19),
     "batch_group_count:i?1 feature_group_count:i?1 input_batch_dimension:i input_feature_dimension:i "
     "input_spatial_dimensions:d kernel_input_feature_dimension:i kernel_output_feature_dimension:i "
     "kernel_spatial_dimensions:d lhs_dilation:d?1 output_batch_dimension:i output_feature_dimension:i "
     "output_spatial_dimensions:d padding:d2?0 precision_config:P? rhs_dilation:d?1 window_reversal:w?0 "
     "window_strides:d?1"},
    {"dynamic_conv", 2, V(0, 20), kLast,
     "batch_group_count:i?1 feature_group_count:i?1 input_batch_dimension:i input_feature_dimension:i "
     "input_spatial_dimensions:d kernel_input_feature_dimension:i kernel_output_feature_dimension:i "
     "kernel_spatial_dimensions:d lhs_dilation:d?1 output_batch_dimension:i output_feature_dimension:i "
     "output_spatial_dimensions:d precision_config:P? rhs_dilation:d?1 window_reversal:w?0 window_strides:d?1"},
    {"dynamic_gather", 1, kFirst, V(1, 0),
     "collapsed_slice_dims:d? index_vector_dim:i? indices_are_sorted:b? offset_dims:d? start_index_map:d?"},
    {"dynamic_gather", 2, V(1, 1), kLast,
     "collapsed_slice_dims:d? index_vector_dim:i? indices_are_sorted:b? offset_dims:d? operand_batching_dims:d? "
     "start_index_map:d? start_indices_batching_dims:d?"},
    {"dynamic_iota", 1, kFirst, kLast, "iota_dimension:i"},
    {"dynamic_slice", 1, kFirst, kLast, "slice_sizes:d"},
    {"einsum", 1, kFirst, kLast, "einsum_config:s"},
    {"fft", 1, kFirst, kLast, "fft_length:d fft_type:fft"},
    {"func", 1, kFirst, kLast, "arg_attrs:a? function_type:t res_attrs:a? sym_name:s sym_visibility:s?"},
    {"gather", 1, kFirst, V(1, 0),
     "collapsed_slice_dims:d? index_vector_dim:i? indices_are_sorted:b? offset_dims:d? slice_sizes:d "
     "start_index_map:d?"},
    {"gather", 2, V(1, 1), kLast,
     "collapsed_slice_dims:d? index_vector_dim:i? indices_are_sorted:b? offset_dims:d? operand_batching_dims:d? "
     "slice_sizes:d start_index_map:d? start_indices_batching_dims:d?"},
    {"get_dimension_size", 1, kFirst, kLast, "dimension:i"},
    {"get_tuple_element", 1, kFirst, kLast, "index:i32"},
    {"infeed", 1, kFirst, kLast, "infeed_config:s? layout:a?"},
    {"iota", 1, kFirst, kLast, "iota_dimension:i"},
    {"map", 1, kFirst, kLast, "dimensions:d"},
    {"outfeed", 1, kFirst, kLast, "outfeed_config:s?"},
    {"pad", 1, kFirst, kLast, "edge_padding_high:d edge_padding_low:d interior_padding:d"},
    {"recv", 1, kFirst, V(1, 11), "channel_id:i channel_type:i is_host_transfer:b?"},
    {"recv", 2, V(1, 12), kLast, "channel_id:i channel_type:i is_host_transfer:b? source_target_pairs:d?"},
    {"reduce", 1, kFirst, kLast, "dimensions:d"},
    {"reduce_precision", 1, kFirst, kLast, "exponent_bits:i32 mantissa_bits:i32"},
    {"reduce_scatter", 1, kFirst, kLast, "channel_id:i? replica_groups:g scatter_dimension:i use_global_device_ids:b?"},
    {"reduce_window", 1, kFirst, kLast,
     "base_dilations:d?1 padding:d2?0 window_dilations:d?1 window_dimensions:d window_strides:d?1"},
    {"reverse", 1, kFirst, kLast, "dimensions:d"},
    {"rng", 1, kFirst, kLast, "rng_distribution:dist"},
    {"rng_bit_generator", 1, kFirst, kLast, "rng_algorithm:alg"},
    {"scatter", 1, kFirst, V(1, 0),
     "index_vector_dim:i? indices_are_sorted:b? inserted_window_dims:d? scatter_dims_to_operand_dims:d? "
     "unique_indices:b? update_window_dims:d?"},
    {"scatter", 2, V(1, 1), kLast,
     "index_vector_dim:i? indices_are_sorted:b? input_batching_dims:d? inserted_window_dims:d? "
     "scatter_dims_to_operand_dims:d? scatter_indices_batching_dims:d? unique_indices:b? update_window_dims:d?"},
    {"select_and_scatter", 1, kFirst, kLast, "padding:d2?0 window_dimensions:d window_strides:d?1"},
    {"send", 1, kFirst, V(1, 11), "channel_id:i channel_type:i is_host_transfer:b?"},
    {"send", 2, V(1, 12), kLast, "channel_id:i channel_type:i is_host_transfer:b? source_target_pairs:d?"},
    {"set_dimension_size", 1, kFirst, kLast, "dimension:i"},
    {"slice", 1, kFirst, kLast, "limit_indices:d start_indices:d strides:d"},
    {"sort", 1, kFirst, kLast, "dimension:i?-1 is_stable:b?"},
    {"torch_index_select", 1, kFirst, kLast, "batch_dims:i? dim:i"},
    {"transpose", 1, kFirst, kLast, "permutation:d"},
    {"triangular_solve", 1, kFirst, kLast, "left_side:b lower:b transpose_a:tr unit_diagonal:b"},
    {"unary_einsum", 1, kFirst, kLast, "einsum_config:s"},
};

// What stands in kPlain and kAccurate: for all of them one row.
constexpr VhloOperation kPlainRow{"", 1, kFirst, kLast, ""};
constexpr VhloOperation kAccurateRows[] = {{"", 1, kFirst, V(1, 9), ""},
                                           {"", 2, V(1, 10), kLast, "result_accuracy:acc?"}};

// The forms of an operation, oldest first.
std::span<const VhloOperation> FormsOf(std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return {};
  const std::string word = fmt::format(" {} ", name);
  if (kPlain.find(word) != std::string_view::npos) return {&kPlainRow, 1};
  if (kAccurate.find(word) != std::string_view::npos) return kAccurateRows;
  const auto first = std::ranges::find(kOperations, name, &VhloOperation::name);
  const auto last = std::find_if(first, std::end(kOperations), [&](const auto& row) { return row.name != name; });
  return {first, last};
}

constexpr std::string_view kApiVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                             "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                             "API_VERSION_TYPED_FFI"};
constexpr std::string_view kDistributions[] = {"", "UNIFORM", "NORMAL"};
constexpr std::string_view kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr std::string_view kAccuracyModes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
constexpr VhloKeywords kKeywords[] = {
    {VhloAttribute::kComparisonDirection, "dir", kDirectionWords, "comparison_direction"},
    {VhloAttribute::kComparisonType, "cmp", kCompareTypeWords, "comparison_type"},
    {VhloAttribute::kApiVersion, "api", kApiVersions},
    {VhloAttribute::kFftType, "fft", kFftWords, "fft_type"},
    {VhloAttribute::kPrecision, "P", kPrecisionWords, "precision"},
    {VhloAttribute::kRngAlgorithm, "alg", kAlgorithmWords, "rng_algorithm"},
    {VhloAttribute::kRngDistribution, "dist", kDistributions, "rng_distribution"},
    {VhloAttribute::kTranspose, "tr", kTransposes, "transpose"},
    {VhloAttribute::kResultAccuracyMode, "mode", kAccuracyModes},
};

constexpr VhloElementType kElementTypes[] = {
    {VhloType::kBool, ElementType::kPred, kFirst},
    {VhloType::kBf16, ElementType::kBF16, kFirst},
    {VhloType::kF16, ElementType::kF16, kFirst},
    {VhloType::kF32, ElementType::kF32, kFirst},
    {VhloType::kF64, ElementType::kF64, kFirst},
    {VhloType::kF8E4M3FN, ElementType::kF8E4M3FN, kFirst},
    {VhloType::kF8E5M2, ElementType::kF8E5M2, kFirst},
    {VhloType::kI4, ElementType::kS4, kFirst},
    {VhloType::kI8, ElementType::kS8, kFirst},
    {VhloType::kI16, ElementType::kS16, kFirst},
    {VhloType::kI32, ElementType::kS32, kFirst},
    {VhloType::kI64, ElementType::kS64, kFirst},
    {VhloType::kUi4, ElementType::kU4, kFirst},
    {VhloType::kUi8, ElementType::kU8, kFirst},
    {VhloType::kUi16, ElementType::kU16, kFirst},
    {VhloType::kUi32, ElementType::kU32, kFirst},
    {VhloType::kUi64, ElementType::kU64, kFirst},
    {VhloType::kF8E4M3FNUZ, ElementType::kF8E4M3FNUZ, V(0, 10)},
    {VhloType::kF8E5M2FNUZ, ElementType::kF8E5M2FNUZ, V(0, 10)},
    {VhloType::kF8E4M3B11FNUZ, ElementType::kF8E4M3B11FNUZ, V(0, 11)},
    {VhloType::kI2, ElementType::kS2, V(1, 2)},
    {VhloType::kUi2, ElementType::kU2, V(1, 2)},
    {VhloType::kF8E4M3, ElementType::kF8E4M3, V(1, 7)},
    {VhloType::kF8E3M4, ElementType::kF8E3M4, V(1, 7)},
    {VhloType::kF4E2M1FN, ElementType::kF4E2M1FN, V(1, 8)},
    {VhloType::kF6E2M3FN, ElementType::kF6E2M3FN, V(1, 8)},
    {VhloType::kF6E3M2FN, ElementType::kF6E3M2FN, V(1, 8)},
    {VhloType::kF8E8M0FNU, ElementType::kF8E8M0FNU, V(1, 8)},
    {VhloType::kIndex, ElementType::kS64, kFirst},  // read only: the first row of a type is the one that is written
};

constexpr std::string_view kConvolutionParts[] = {
    "input_batch_dimension",          "input_feature_dimension",         "input_spatial_dimensions",
    "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions",
    "output_batch_dimension",         "output_feature_dimension",        "output_spatial_dimensions"};
constexpr std::string_view kGatherParts[] = {
    "offset_dims",           "collapsed_slice_dims",        "start_index_map",
    "operand_batching_dims", "start_indices_batching_dims", "index_vector_dim"};
constexpr std::string_view kScatterParts[] = {"update_window_dims",           "inserted_window_dims",
                                              "input_batching_dims",          "scatter_indices_batching_dims",
                                              "scatter_dims_to_operand_dims", "index_vector_dim"};
constexpr std::string_view kDotParts[] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                          "lhs_contracting_dimensions", "rhs_contracting_dimensions"};
constexpr std::string_view kAlgorithmParts[] = {
    "lhs_precision_type",  "rhs_precision_type",       "accumulation_type",           "lhs_component_count",
    "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"};
constexpr VhloGroup kGroups[] = {
    {"convolution", "dimension_numbers", "stablehlo.conv", kConvolutionParts},
    {"dynamic_conv", "dimension_numbers", "stablehlo.conv", kConvolutionParts},
    {"gather", "dimension_numbers", "stablehlo.gather", kGatherParts},
    {"dynamic_gather", "dimension_numbers", "stablehlo.gather", kGatherParts},
    {"scatter", "scatter_dimension_numbers", "stablehlo.scatter", kScatterParts},
    {"dot_general", "dot_dimension_numbers", "stablehlo.dot", kDotParts},
    {"dot_general", "algorithm", "stablehlo.dot_algorithm", kAlgorithmParts},
};

}  // namespace

std::optional<VhloVersion> VhloVersion::Parse(std::string_view text) {
  int parts[3] = {0, 0, 0}, count = 0;
  while (count < 3) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), parts[count]);
    if (parsed.ec != std::errc() || parts[count] < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
    ++count;
    if (text.empty()) break;
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (count < 2 || !text.empty() || parts[0] > 1 || parts[1] > 20) return std::nullopt;
  const VhloVersion version = Of(parts[0], parts[1]);
  if (version < kOldestVhlo || version > kNewestVhlo) return std::nullopt;
  return version;
}

std::string VhloVersion::ToString() const {
  return number < 20 ? fmt::format("0.{}.0", number) : fmt::format("1.{}.0", number - 20);
}

const VhloOperation* FindVhloOperation(std::string_view name) {
  const size_t end = name.rfind("_v");
  if (end == std::string_view::npos) return nullptr;
  int version = 0;
  const std::string_view digits = name.substr(end + 2);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return nullptr;
  for (const VhloOperation& form : FormsOf(name.substr(0, end))) {
    if (form.version == version) return &form;
  }
  return nullptr;
}

const VhloOperation* FindVhloOperation(std::string_view name, VhloVersion target, std::optional<VhloVersion>* since) {
  for (const VhloOperation& form : FormsOf(name)) {
    if (form.since <= target && target <= form.until) return &form;
    if (!since->has_value()) *since = form.since;
  }
  return nullptr;
}

VhloProperty NextVhloProperty(std::string_view& properties) {
  const size_t end = std::min(properties.find(' '), properties.size());
  const std::string_view word = properties.substr(0, end);
  properties.remove_prefix(std::min(end + 1, properties.size()));
  const size_t colon = word.find(':'), question = word.find('?');
  VhloProperty property{word.substr(0, colon), word.substr(colon + 1, question - colon - 1), {}, false};
  if (question != std::string_view::npos) {
    property.optional = true;
    property.otherwise = word.substr(question + 1);
  }
  return property;
}

const VhloKeywords* FindVhloKeywords(VhloAttribute code) {
  const auto found = std::ranges::find(kKeywords, code, &VhloKeywords::code);
  return found == std::end(kKeywords) ? nullptr : found;
}

const VhloKeywords* FindVhloKeywords(std::string_view kind) {
  const auto found = std::ranges::find(kKeywords, kind, &VhloKeywords::kind);
  return found == std::end(kKeywords) ? nullptr : found;
}

std::span<const VhloElementType> VhloElementTypes() { return kElementTypes; }
std::span<const VhloGroup> VhloGroups() { return kGroups; }

}  // namespace VXLA_NAMESPACE::mlir
