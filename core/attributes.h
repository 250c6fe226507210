// Attributes: what an instruction says beyond its operands, shape and called computations: one plain struct per group
// of opcodes. VisitFields lists its fields once; printer, parser, hash and equality are derived from that list.
#pragma once

#include <algorithm>
#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/dimension_numbers.h"
#include "core/literal.h"
#include "core/opcode.h"

namespace VXLA_NAMESPACE {

enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
enum class RngDistribution : uint8_t { kUniform, kNormal };
struct SliceDimension {
  int64_t start = 0, limit = 0, stride = 1;
  friend auto operator<=>(const SliceDimension&, const SliceDimension&) = default;
};
struct WindowDimension {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, lhs_dilate = 1, rhs_dilate = 1;
  bool reversal = false;
  friend auto operator<=>(const WindowDimension&, const WindowDimension&) = default;
};
using Window = std::vector<WindowDimension>;

// {out index}: (operand or parameter, {its index}[, may-alias | must-alias])
struct Aliasing {
  IntList output_index;
  int64_t operand = 0;
  IntList operand_index;
  std::string kind;  // only for input_output_alias
  friend bool operator==(const Aliasing&, const Aliasing&) = default;
};

// Text that is kept as written (canonical spacing): attributes whose meaning a runner does not need.
struct RawText {
  std::string text;
  friend bool operator==(const RawText&, const RawText&) = default;
};

// A value with its shape, as custom-call's literal= states it.
struct ShapedLiteral {
  Shape shape;
  std::shared_ptr<const Literal> literal;  // null: elided with `...`
  friend bool operator==(const ShapedLiteral& a, const ShapedLiteral& b) {
    return a.shape == b.shape && a.shape.layout() == b.shape.layout() &&
           (a.literal == nullptr) == (b.literal == nullptr) && (a.literal == b.literal || *a.literal == *b.literal);
  }
};

// How a field stands in the text. kOptional: printed unless it holds its default. kPrinted: may be left out, always
// printed. kWord: a std::string that stands without quotes, else like kOptional. kOwn: like kOptional, of what vxla's
// passes make; a user's text may not state it.
enum class FieldKind : uint8_t { kRequired, kOptional, kPrinted, kWord, kOwn };

// The visitor is called as visit("name", field, FieldKind). `Self` is the struct, const or not.
#define VXLA_FIELDS(Type, ...)                                                          \
  friend bool operator==(const Type&, const Type&) = default;                           \
  template <typename Self, typename Visitor>                                            \
  static void VisitFields([[maybe_unused]] Self& s, [[maybe_unused]] Visitor&& visit) { \
    using enum FieldKind;                                                               \
    __VA_ARGS__                                                                         \
  }

struct NoAttributes {
  VXLA_FIELDS(NoAttributes, )
};
struct UnaryAttributes {  // the transcendental functions
  RawText result_accuracy;
  VXLA_FIELDS(UnaryAttributes, visit("result_accuracy", s.result_accuracy, kOptional);)
};
struct ParameterAttributes {
  int64_t number = 0;  // the operand list's integer, not a named attribute
  VXLA_FIELDS(ParameterAttributes, )
};
struct ConstantAttributes {
  std::shared_ptr<const Literal> literal;  // null: elided with `...`; such a constant parses but does not run
  friend bool operator==(const ConstantAttributes& a, const ConstantAttributes& b) {
    return (a.literal == nullptr) == (b.literal == nullptr) && (a.literal == b.literal || *a.literal == *b.literal);
  }
  template <typename Self, typename Visitor>
  static void VisitFields(Self&, Visitor&&) {}
};
struct IotaAttributes {
  int64_t iota_dimension = 0;
  VXLA_FIELDS(IotaAttributes, visit("iota_dimension", s.iota_dimension, kRequired);)
};
struct DimensionsAttributes {  // broadcast transpose reverse concatenate reduce map get/set-dimension-size
  IntList dimensions;
  VXLA_FIELDS(DimensionsAttributes, visit("dimensions", s.dimensions, kRequired);)
};
struct CompareAttributes {
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType type = ComparisonType::kDefault;
  VXLA_FIELDS(CompareAttributes, visit("direction", s.direction, kRequired); visit("type", s.type, kOptional);)
};
struct ReducePrecisionAttributes {
  int64_t exponent_bits = 0, mantissa_bits = 0;
  VXLA_FIELDS(ReducePrecisionAttributes, visit("exponent_bits", s.exponent_bits, kRequired);
              visit("mantissa_bits", s.mantissa_bits, kRequired);)
};
struct SliceAttributes {
  std::vector<SliceDimension> slice;
  VXLA_FIELDS(SliceAttributes, visit("slice", s.slice, kRequired);)
};
struct PadAttributes {
  std::vector<PaddingDimension> padding;
  VXLA_FIELDS(PadAttributes, visit("padding", s.padding, kRequired);)
};
template <typename Self, typename Visitor>
void DotAttributes::VisitFields(Self& s, Visitor&& visit) {
  using enum FieldKind;
  visit("lhs_batch_dims", s.lhs_batch_dims, kOptional);
  visit("lhs_contracting_dims", s.lhs_contracting_dims, kOptional);
  visit("rhs_batch_dims", s.rhs_batch_dims, kOptional);
  visit("rhs_contracting_dims", s.rhs_contracting_dims, kOptional);
  visit("operand_precision", s.operand_precision, kOptional);
  visit("algorithm", s.algorithm, kWord);
  visit("lhs_ragged_dims", s.lhs_ragged_dims, kOptional);
  visit("rhs_group_dims", s.rhs_group_dims, kOptional);
}
struct ConvolutionAttributes {
  Window window;
  std::optional<ConvolutionDimensions> dim_labels;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<PrecisionLevel> operand_precision;
  RawText conv_kind;
  VXLA_FIELDS(ConvolutionAttributes, visit("window", s.window, kOptional); visit("dim_labels", s.dim_labels, kRequired);
              visit("feature_group_count", s.feature_group_count, kOptional);
              visit("batch_group_count", s.batch_group_count, kOptional);
              visit("operand_precision", s.operand_precision, kOptional); visit("conv_kind", s.conv_kind, kOptional);)
};
struct WindowAttributes {  // reduce-window, select-and-scatter
  Window window;
  VXLA_FIELDS(WindowAttributes, visit("window", s.window, kOptional);)
};
struct ScanAttributes {
  IntList dimensions;
  int64_t num_carries = 0;
  bool is_reverse = false;
  RawText is_associative;
  VXLA_FIELDS(ScanAttributes, visit("dimensions", s.dimensions, kRequired);
              visit("is_reverse", s.is_reverse, kOptional); visit("is_associative", s.is_associative, kOptional);
              visit("num_carries", s.num_carries, kRequired);)
};
struct DynamicSliceAttributes {
  IntList dynamic_slice_sizes;
  VXLA_FIELDS(DynamicSliceAttributes, visit("dynamic_slice_sizes", s.dynamic_slice_sizes, kRequired);)
};
template <typename Self, typename Visitor>
void GatherAttributes::VisitFields(Self& s, Visitor&& visit) {
  using enum FieldKind;
  visit("offset_dims", s.offset_dims, kRequired);
  visit("collapsed_slice_dims", s.collapsed_slice_dims, kRequired);
  visit("start_index_map", s.start_index_map, kRequired);
  visit("operand_batching_dims", s.operand_batching_dims, kOptional);
  visit("start_indices_batching_dims", s.start_indices_batching_dims, kOptional);
  visit("index_vector_dim", s.index_vector_dim, kRequired);
  visit("slice_sizes", s.slice_sizes, kRequired);
  visit("indices_are_sorted", s.indices_are_sorted, kOptional);
}
template <typename Self, typename Visitor>
void ScatterAttributes::VisitFields(Self& s, Visitor&& visit) {
  using enum FieldKind;
  visit("update_window_dims", s.update_window_dims, kRequired);
  visit("inserted_window_dims", s.inserted_window_dims, kRequired);
  visit("scatter_dims_to_operand_dims", s.scatter_dims_to_operand_dims, kRequired);
  visit("input_batching_dims", s.input_batching_dims, kOptional);
  visit("scatter_indices_batching_dims", s.scatter_indices_batching_dims, kOptional);
  visit("index_vector_dim", s.index_vector_dim, kRequired);
  visit("indices_are_sorted", s.indices_are_sorted, kOptional);
  visit("unique_indices", s.unique_indices, kOptional);
}
struct SortAttributes {
  IntList dimensions;
  bool is_stable = false;
  VXLA_FIELDS(SortAttributes, visit("dimensions", s.dimensions, kRequired); visit("is_stable", s.is_stable, kOptional);)
};
struct TopKAttributes {
  int64_t k = 0;
  bool largest = true;
  VXLA_FIELDS(TopKAttributes, visit("k", s.k, kRequired); visit("largest", s.largest, kPrinted);)
};
struct FftAttributes {
  FftType fft_type = FftType::kFft;
  IntList fft_length;
  VXLA_FIELDS(FftAttributes, visit("fft_type", s.fft_type, kRequired); visit("fft_length", s.fft_length, kRequired);)
};
struct CholeskyAttributes {
  bool lower = false;
  VXLA_FIELDS(CholeskyAttributes, visit("lower", s.lower, kOptional);)
};
struct TriangularSolveAttributes {
  bool left_side = false, lower = false, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kNoTranspose;
  VXLA_FIELDS(TriangularSolveAttributes, visit("left_side", s.left_side, kOptional); visit("lower", s.lower, kOptional);
              visit("unit_diagonal", s.unit_diagonal, kOptional); visit("transpose_a", s.transpose_a, kPrinted);)
};
struct BatchNormAttributes {
  float epsilon = 0;
  int64_t feature_index = 0;
  VXLA_FIELDS(BatchNormAttributes, visit("epsilon", s.epsilon, kRequired);
              visit("feature_index", s.feature_index, kRequired);)
};
struct RngAttributes {
  RngDistribution distribution = RngDistribution::kUniform;
  VXLA_FIELDS(RngAttributes, visit("distribution", s.distribution, kRequired);)
};
struct RngBitGeneratorAttributes {
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  VXLA_FIELDS(RngBitGeneratorAttributes, visit("algorithm", s.algorithm, kRequired);)
};
struct RngGetAndUpdateStateAttributes {
  int64_t delta = 0;
  VXLA_FIELDS(RngGetAndUpdateStateAttributes, visit("delta", s.delta, kRequired);)
};
struct GetTupleElementAttributes {
  int64_t index = 0;
  VXLA_FIELDS(GetTupleElementAttributes, visit("index", s.index, kRequired);)
};
struct CallAttributes {
  bool is_composite = false;
  VXLA_FIELDS(CallAttributes, visit("is_composite", s.is_composite, kOptional);)
};
struct FusionAttributes {
  FusionKind kind = FusionKind::kLoop;
  std::vector<Aliasing> output_to_operand_aliasing;
  VXLA_FIELDS(FusionAttributes, visit("kind", s.kind, kRequired);
              visit("output_to_operand_aliasing", s.output_to_operand_aliasing, kOptional);)
};
struct AsyncAttributes {
  std::string async_execution_thread;
  VXLA_FIELDS(AsyncAttributes, visit("async_execution_thread", s.async_execution_thread, kOptional);)
};
struct CopyStartAttributes {
  std::optional<int64_t> cross_program_prefetch_index;
  VXLA_FIELDS(CopyStartAttributes, visit("cross_program_prefetch_index", s.cross_program_prefetch_index, kOptional);)
};
struct DomainAttributes {
  RawText domain;
  VXLA_FIELDS(DomainAttributes, visit("domain", s.domain, kRequired);)
};
// all-gather all-reduce all-to-all reduce-scatter collective-broadcast collective-reduce ragged-all-to-all, -start
// forms
struct CollectiveAttributes {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  IntList dimensions;
  bool use_global_device_ids = false, constrain_layout = false;
  RawText mode;
  VXLA_FIELDS(CollectiveAttributes, visit("channel_id", s.channel_id, kOptional);
              visit("replica_groups", s.replica_groups, kPrinted); visit("dimensions", s.dimensions, kOptional);
              visit("constrain_layout", s.constrain_layout, kOptional);
              visit("use_global_device_ids", s.use_global_device_ids, kOptional); visit("mode", s.mode, kOptional);)
};
struct CollectivePermuteAttributes {
  std::optional<int64_t> channel_id;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  std::vector<IntList> slice_sizes;
  VXLA_FIELDS(CollectivePermuteAttributes, visit("channel_id", s.channel_id, kOptional);
              visit("source_target_pairs", s.source_target_pairs, kRequired);
              visit("slice_sizes", s.slice_sizes, kOptional);)
};
struct SendRecvAttributes {
  std::optional<int64_t> channel_id;
  bool is_host_transfer = false;
  VXLA_FIELDS(SendRecvAttributes, visit("channel_id", s.channel_id, kOptional);
              visit("is_host_transfer", s.is_host_transfer, kOptional);)
};
struct InfeedAttributes {
  std::string infeed_config;
  VXLA_FIELDS(InfeedAttributes, visit("infeed_config", s.infeed_config, kOptional);)
};
struct OutfeedAttributes {
  std::optional<Shape> outfeed_shape;
  std::string outfeed_config;
  VXLA_FIELDS(OutfeedAttributes, visit("outfeed_shape", s.outfeed_shape, kOptional);
              visit("outfeed_config", s.outfeed_config, kOptional);)
};
// Who does what a custom call asks for.
enum class CallKind : uint8_t {
  kNamed,        // a function of the target's name: the host's, a library's or a kernel's
  kProgram,      // whoever makes a program for sizes (core/mlir/importer/dynamic_program.h)
  kObservation,  // the host looks (core/observation.h)
  kSizeCheck,    // the host compares live sizes (core/passes/sizes/dynamic_padder.h)
  kExchange,     // places give one another arrays, or tell which one it is, and compute nothing
  kDeviceCall,   // the host does it for one device (core/passes/devices/device_separation.h)
  kElsewhere,    // nobody: its value is of devices elsewhere
};
struct CustomCallAttributes {
  std::string custom_call_target;
  std::optional<Window> window;
  std::optional<ConvolutionDimensions> dim_labels;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::optional<std::vector<Shape>> operand_layout_constraints;
  bool custom_call_has_side_effect = false;
  RawText padding_type, schedule, api_version;
  std::optional<ShapedLiteral> literal;
  std::vector<PrecisionLevel> operand_precision;
  std::vector<Aliasing> output_to_operand_aliasing;
  CallKind kind = CallKind::kNamed;
  int64_t number = 0;  // which exchange, or call of a device, it is
  VXLA_FIELDS(CustomCallAttributes, visit("window", s.window, kOptional); visit("dim_labels", s.dim_labels, kOptional);
              visit("feature_group_count", s.feature_group_count, kOptional);
              visit("batch_group_count", s.batch_group_count, kOptional);
              visit("custom_call_target", s.custom_call_target, kRequired);
              visit("operand_layout_constraints", s.operand_layout_constraints, kOptional);
              visit("custom_call_has_side_effect", s.custom_call_has_side_effect, kOptional);
              visit("padding_type", s.padding_type, kOptional); visit("literal", s.literal, kOptional);
              visit("operand_precision", s.operand_precision, kOptional); visit("schedule", s.schedule, kOptional);
              visit("api_version", s.api_version, kOptional);
              visit("output_to_operand_aliasing", s.output_to_operand_aliasing, kOptional); visit("kind", s.kind, kOwn);
              visit("number", s.number, kOwn);)
};
// A call that no program's text can state: its target begins with kReservedPrefix.
CustomCallAttributes OwnCall(CallKind kind, int64_t number = 0);
#undef VXLA_FIELDS

using AnyAttributes = std::variant<
    NoAttributes, UnaryAttributes, ParameterAttributes, ConstantAttributes, IotaAttributes, DimensionsAttributes,
    CompareAttributes, ReducePrecisionAttributes, SliceAttributes, PadAttributes, DotAttributes, ConvolutionAttributes,
    WindowAttributes, ScanAttributes, DynamicSliceAttributes, GatherAttributes, ScatterAttributes, SortAttributes,
    TopKAttributes, FftAttributes, CholeskyAttributes, TriangularSolveAttributes, BatchNormAttributes, RngAttributes,
    RngBitGeneratorAttributes, RngGetAndUpdateStateAttributes, GetTupleElementAttributes, CallAttributes,
    FusionAttributes, AsyncAttributes, CopyStartAttributes, DomainAttributes, CollectiveAttributes,
    CollectivePermuteAttributes, SendRecvAttributes, InfeedAttributes, OutfeedAttributes, CustomCallAttributes>;

template <typename T, typename Variant>
inline constexpr bool kIsAlternative = false;
template <typename T, typename... Alternatives>
inline constexpr bool kIsAlternative<T, std::variant<Alternatives...>> = (std::is_same_v<T, Alternatives> || ...);

// One of them. Its special members and its constructors stand in attributes.cc: what a variant of so many structs needs
// is compiled once.
class Attributes : public AnyAttributes {
 public:
  Attributes();  // NoAttributes
  template <typename T>
  requires kIsAlternative<T, AnyAttributes> Attributes(T attributes);
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();
  friend bool operator==(const Attributes& a, const Attributes& b);
};

// The struct that instructions of this opcode carry, with its defaults.
Attributes DefaultAttributes(Opcode opcode);

// What any instruction may carry; kept for printing, ignored by evaluation.
struct CommonAttributes {
  RawText sharding, frontend_attributes, statistics, parameter_replication, origin, metadata, backend_config;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& s, Visitor&& visit) {
    using enum FieldKind;
    visit("sharding", s.sharding, kOptional);
    visit("frontend_attributes", s.frontend_attributes, kOptional);
    visit("statistics", s.statistics, kOptional);
    visit("parameter_replication", s.parameter_replication, kOptional);
    visit("origin", s.origin, kOptional);
    visit("metadata", s.metadata, kOptional);
    visit("backend_config", s.backend_config, kOptional);
  }
  friend bool operator==(const CommonAttributes&, const CommonAttributes&) = default;
};

// What those who make instructions tell those who read them later. The text form is one entry of frontend_attributes,
// vxla="trip_count=12, ...", which core/text prints and takes out again.
struct Notes {
  // Of a program: what the importer of StableHLO knows and HLO has no words for.
  // The operation of the text that is undefined out of bounds, where --checked looks; and of parallel updates: the loop
  // (from 1 on), which of its results they write, the strides of the elements, whether they are the loop's first.
  std::string checked;  // of set-dimension-size: what the text asserts of its size
  bool unique = false;
  int64_t forall = 0, result = 0;
  IntList strides;
  bool begins = false;
  bool by_partition = false;  // the devices of a group, of all partitions: partition by partition
  // Of an instruction with effects that a program of whole arrays runs once, though each of its devices runs the
  // program: its operands are the same on all of them.
  bool once = false;
  // Of passes.
  int64_t device = 0;           // whose state it draws from, or whose host it talks to
  bool draws_of_rng = false;    // a state that counts the draws of rng: (number of the draw, seed)
  bool wide_sum = false;        // sums of f32 are kept in two (core/numerics/reducer_facts.h)
  bool sizes_in_range = false;  // of set-dimension-size: core/passes/sizes/dynamic_padder.h
  bool run_starts = false;      // of a scatter, which has these for indices: core/passes/expand/scatter_form.h
  // What the numbers of faults from 1 on say of live sizes, {0} and {1} in place of sizes.
  std::vector<std::string> size_messages;
  bool live_come_first = false;       // of a sort whose last operand masks what lives: the rest asks nothing of it
  std::optional<int64_t> live_rows;   // of a select of x or x: core/passes/sizes/live_rows.h
  std::optional<int64_t> trip_count;  // of a while
  template <typename Self, typename Visitor>
  static void VisitFields(Self& s, Visitor&& visit) {
    using enum FieldKind;
    visit("checked", s.checked, kOptional);
    visit("unique", s.unique, kOptional);
    visit("forall", s.forall, kOptional);
    visit("result", s.result, kOptional);
    visit("strides", s.strides, kOptional);
    visit("begins", s.begins, kOptional);
    visit("by_partition", s.by_partition, kOptional);
    visit("once", s.once, kOptional);
    visit("device", s.device, kOwn);
    visit("draws_of_rng", s.draws_of_rng, kOwn);
    visit("wide_sum", s.wide_sum, kOwn);
    visit("sizes_in_range", s.sizes_in_range, kOwn);
    visit("run_starts", s.run_starts, kOwn);
    visit("size_messages", s.size_messages, kOwn);
    visit("live_come_first", s.live_come_first, kOwn);
    visit("live_rows", s.live_rows, kOwn);
    visit("trip_count", s.trip_count, kOwn);
  }
  friend bool operator==(const Notes&, const Notes&) = default;
};

}  // namespace VXLA_NAMESPACE
