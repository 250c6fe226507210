// What operations are told beside their operands: dimension numbers, directions, kinds. The builder's functions take
// these; sizes and dimensions are int64_t as in XLA, and what does not fit the operands is an error of the builder.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

using IntList = std::vector<int64_t>;

enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };

enum class ComparisonType : uint8_t {
  kDefault,
  kFloat,
  kTotalOrder,
  kSigned,
  kUnsigned
};  // kDefault: the operands' type says

enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };

enum class RngAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };

enum class TransposeKind : uint8_t { kNoTranspose, kTranspose, kAdjoint };

enum class PrecisionLevel : uint8_t { kDefault, kHigh, kHighest };

struct PaddingDimension {
  int64_t low = 0, high = 0, interior = 0;
  friend auto operator<=>(const PaddingDimension&, const PaddingDimension&) = default;
};

struct ConvolutionDimensions {  // dim_labels=bf01_oi01->bf01
  int64_t input_batch = 0, input_feature = 1, kernel_input_feature = 0, kernel_output_feature = 1, output_batch = 0,
          output_feature = 1;
  IntList input_spatial, kernel_spatial, output_spatial;
  friend bool operator==(const ConvolutionDimensions&, const ConvolutionDimensions&) = default;
};

// replica_groups={{0,1},{2,3}} or the iota form [2,2]<=[4] with optional T(1,0); the iota form is kept for printing.
struct ReplicaGroups {
  std::vector<IntList> groups = {};
  std::optional<IntList> iota_dimensions = {}, iota_reshape = {}, iota_transpose = {};
  friend bool operator==(const ReplicaGroups&, const ReplicaGroups&) = default;
};

struct DotAttributes {  // dot, ragged-dot, scaled-dot
  IntList lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims;
  std::vector<PrecisionLevel> operand_precision;
  std::string algorithm;
  IntList lhs_ragged_dims, rhs_group_dims;
  friend bool operator==(const DotAttributes&, const DotAttributes&) = default;
  // Names and kinds of the fields in HLO text: core/ir/attributes.h.
  template <typename Self, typename Visitor>
  static void VisitFields(Self& s, Visitor&& visit);
};

struct GatherAttributes {
  IntList offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  IntList slice_sizes;
  bool indices_are_sorted = false;
  friend bool operator==(const GatherAttributes&, const GatherAttributes&) = default;
  // Names and kinds of the fields in HLO text: core/ir/attributes.h.
  template <typename Self, typename Visitor>
  static void VisitFields(Self& s, Visitor&& visit);
};

struct ScatterAttributes {
  IntList update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  friend bool operator==(const ScatterAttributes&, const ScatterAttributes&) = default;
  // Names and kinds of the fields in HLO text: core/ir/attributes.h.
  template <typename Self, typename Visitor>
  static void VisitFields(Self& s, Visitor&& visit);
};

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
