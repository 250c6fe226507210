// Attributes: what an instruction says beyond its operands, shape and called computations: one plain struct per group
// of opcodes. VisitFields lists its fields once; printer, parser, hash and equality are derived from that list.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/data/dimension_numbers.h"
#include "core/data/literal.h"
#include "core/ir/opcode.h"

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
#define F(name, kind) visit(#name, s.name, kind)
#define VXLA_FIELDS(Type, ...)                                                          \
  friend bool operator==(const Type&, const Type&) = default;                           \
  template <typename Self, typename Visitor>                                            \
  static void VisitFields([[maybe_unused]] Self& s, [[maybe_unused]] Visitor&& visit) { \
    using enum FieldKind;                                                               \
    __VA_ARGS__;                                                                        \
  }
// Of structs that say elsewhere that they have it.
#define VXLA_FIELDS_OF(Type, ...)                    \
  template <typename Self, typename Visitor>         \
  void Type::VisitFields(Self& s, Visitor&& visit) { \
    using enum FieldKind;                            \
    __VA_ARGS__;                                     \
  }

struct NoAttributes {
  VXLA_FIELDS(NoAttributes, )
};
struct UnaryAttributes {  // the transcendental functions
  RawText result_accuracy;
  VXLA_FIELDS(UnaryAttributes, F(result_accuracy, kOptional))
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
  VXLA_FIELDS(IotaAttributes, F(iota_dimension, kRequired))
};
struct DimensionsAttributes {  // broadcast transpose reverse concatenate reduce map get/set-dimension-size
  IntList dimensions;
  VXLA_FIELDS(DimensionsAttributes, F(dimensions, kRequired))
};
struct CompareAttributes {
  ComparisonDirection direction = ComparisonDirection::kEq;
  ComparisonType type = ComparisonType::kDefault;
  VXLA_FIELDS(CompareAttributes, F(direction, kRequired), F(type, kOptional))
};
struct ReducePrecisionAttributes {
  int64_t exponent_bits = 0, mantissa_bits = 0;
  VXLA_FIELDS(ReducePrecisionAttributes, F(exponent_bits, kRequired), F(mantissa_bits, kRequired))
};
struct SliceAttributes {
  std::vector<SliceDimension> slice;
  VXLA_FIELDS(SliceAttributes, F(slice, kRequired))
};
struct PadAttributes {
  std::vector<PaddingDimension> padding;
  VXLA_FIELDS(PadAttributes, F(padding, kRequired))
};
VXLA_FIELDS_OF(DotAttributes, F(lhs_batch_dims, kOptional), F(lhs_contracting_dims, kOptional),
               F(rhs_batch_dims, kOptional), F(rhs_contracting_dims, kOptional), F(operand_precision, kOptional),
               F(algorithm, kWord), F(lhs_ragged_dims, kOptional), F(rhs_group_dims, kOptional))
struct ConvolutionAttributes {
  Window window;
  std::optional<ConvolutionDimensions> dim_labels;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<PrecisionLevel> operand_precision;
  RawText conv_kind;
  VXLA_FIELDS(ConvolutionAttributes, F(window, kOptional), F(dim_labels, kRequired), F(feature_group_count, kOptional),
              F(batch_group_count, kOptional), F(operand_precision, kOptional), F(conv_kind, kOptional))
};
struct WindowAttributes {  // reduce-window, select-and-scatter
  Window window;
  VXLA_FIELDS(WindowAttributes, F(window, kOptional))
};
struct ScanAttributes {
  IntList dimensions;
  int64_t num_carries = 0;
  bool is_reverse = false;
  RawText is_associative;
  VXLA_FIELDS(ScanAttributes, F(dimensions, kRequired), F(is_reverse, kOptional), F(is_associative, kOptional),
              F(num_carries, kRequired))
};
struct DynamicSliceAttributes {
  IntList dynamic_slice_sizes;
  VXLA_FIELDS(DynamicSliceAttributes, F(dynamic_slice_sizes, kRequired))
};
VXLA_FIELDS_OF(GatherAttributes, F(offset_dims, kRequired), F(collapsed_slice_dims, kRequired),
               F(start_index_map, kRequired), F(operand_batching_dims, kOptional),
               F(start_indices_batching_dims, kOptional), F(index_vector_dim, kRequired), F(slice_sizes, kRequired),
               F(indices_are_sorted, kOptional))
VXLA_FIELDS_OF(ScatterAttributes, F(update_window_dims, kRequired), F(inserted_window_dims, kRequired),
               F(scatter_dims_to_operand_dims, kRequired), F(input_batching_dims, kOptional),
               F(scatter_indices_batching_dims, kOptional), F(index_vector_dim, kRequired),
               F(indices_are_sorted, kOptional), F(unique_indices, kOptional))
struct SortAttributes {
  IntList dimensions;
  bool is_stable = false;
  VXLA_FIELDS(SortAttributes, F(dimensions, kRequired), F(is_stable, kOptional))
};
struct TopKAttributes {
  int64_t k = 0;
  bool largest = true;
  VXLA_FIELDS(TopKAttributes, F(k, kRequired), F(largest, kPrinted))
};
struct FftAttributes {
  FftType fft_type = FftType::kFft;
  IntList fft_length;
  VXLA_FIELDS(FftAttributes, F(fft_type, kRequired), F(fft_length, kRequired))
};
struct CholeskyAttributes {
  bool lower = false;
  VXLA_FIELDS(CholeskyAttributes, F(lower, kOptional))
};
struct TriangularSolveAttributes {
  bool left_side = false, lower = false, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kNoTranspose;
  VXLA_FIELDS(TriangularSolveAttributes, F(left_side, kOptional), F(lower, kOptional), F(unit_diagonal, kOptional),
              F(transpose_a, kPrinted))
};
struct BatchNormAttributes {
  float epsilon = 0;
  int64_t feature_index = 0;
  VXLA_FIELDS(BatchNormAttributes, F(epsilon, kRequired), F(feature_index, kRequired))
};
struct RngAttributes {
  RngDistribution distribution = RngDistribution::kUniform;
  VXLA_FIELDS(RngAttributes, F(distribution, kRequired))
};
struct RngBitGeneratorAttributes {
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  VXLA_FIELDS(RngBitGeneratorAttributes, F(algorithm, kRequired))
};
struct RngGetAndUpdateStateAttributes {
  int64_t delta = 0;
  VXLA_FIELDS(RngGetAndUpdateStateAttributes, F(delta, kRequired))
};
struct GetTupleElementAttributes {
  int64_t index = 0;
  VXLA_FIELDS(GetTupleElementAttributes, F(index, kRequired))
};
struct CallAttributes {
  bool is_composite = false;
  VXLA_FIELDS(CallAttributes, F(is_composite, kOptional))
};
struct FusionAttributes {
  FusionKind kind = FusionKind::kLoop;
  std::vector<Aliasing> output_to_operand_aliasing;
  VXLA_FIELDS(FusionAttributes, F(kind, kRequired), F(output_to_operand_aliasing, kOptional))
};
struct AsyncAttributes {
  std::string async_execution_thread;
  VXLA_FIELDS(AsyncAttributes, F(async_execution_thread, kOptional))
};
struct CopyStartAttributes {
  std::optional<int64_t> cross_program_prefetch_index;
  VXLA_FIELDS(CopyStartAttributes, F(cross_program_prefetch_index, kOptional))
};
struct DomainAttributes {
  RawText domain;
  VXLA_FIELDS(DomainAttributes, F(domain, kRequired))
};
// all-gather all-reduce all-to-all reduce-scatter collective-broadcast collective-reduce ragged-all-to-all, -start
// forms
struct CollectiveAttributes {
  std::optional<int64_t> channel_id;
  ReplicaGroups replica_groups;
  IntList dimensions;
  bool use_global_device_ids = false, constrain_layout = false;
  RawText mode;
  VXLA_FIELDS(CollectiveAttributes, F(channel_id, kOptional), F(replica_groups, kPrinted), F(dimensions, kOptional),
              F(constrain_layout, kOptional), F(use_global_device_ids, kOptional), F(mode, kOptional))
};
struct CollectivePermuteAttributes {
  std::optional<int64_t> channel_id;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  std::vector<IntList> slice_sizes;
  VXLA_FIELDS(CollectivePermuteAttributes, F(channel_id, kOptional), F(source_target_pairs, kRequired),
              F(slice_sizes, kOptional))
};
struct SendRecvAttributes {
  std::optional<int64_t> channel_id;
  bool is_host_transfer = false;
  VXLA_FIELDS(SendRecvAttributes, F(channel_id, kOptional), F(is_host_transfer, kOptional))
};
struct InfeedAttributes {
  std::string infeed_config;
  VXLA_FIELDS(InfeedAttributes, F(infeed_config, kOptional))
};
struct OutfeedAttributes {
  std::optional<Shape> outfeed_shape;
  std::string outfeed_config;
  VXLA_FIELDS(OutfeedAttributes, F(outfeed_shape, kOptional), F(outfeed_config, kOptional))
};
// Who does what a custom call asks for.
enum class CallKind : uint8_t {
  kNamed,        // a function of the target's name: the host's, a library's or a kernel's
  kProgram,      // whoever makes a program for sizes (core/mlir/importer/dynamic_program.h)
  kObservation,  // the host looks (core/ir/observation.h)
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
  VXLA_FIELDS(CustomCallAttributes, F(window, kOptional), F(dim_labels, kOptional), F(feature_group_count, kOptional),
              F(batch_group_count, kOptional), F(custom_call_target, kRequired),
              F(operand_layout_constraints, kOptional), F(custom_call_has_side_effect, kOptional),
              F(padding_type, kOptional), F(literal, kOptional), F(operand_precision, kOptional),
              F(schedule, kOptional), F(api_version, kOptional), F(output_to_operand_aliasing, kOptional),
              F(kind, kOwn), F(number, kOwn))
};
// A call that no program's text can state: its target begins with kReservedPrefix.
CustomCallAttributes OwnCall(CallKind kind, int64_t number = 0);

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
  VXLA_FIELDS(CommonAttributes, F(sharding, kOptional), F(frontend_attributes, kOptional), F(statistics, kOptional),
              F(parameter_replication, kOptional), F(origin, kOptional), F(metadata, kOptional),
              F(backend_config, kOptional))
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
  VXLA_FIELDS(Notes, F(checked, kOptional), F(unique, kOptional), F(forall, kOptional), F(result, kOptional),
              F(strides, kOptional), F(begins, kOptional), F(by_partition, kOptional), F(once, kOptional),
              F(device, kOwn), F(draws_of_rng, kOwn), F(wide_sum, kOwn), F(sizes_in_range, kOwn), F(run_starts, kOwn),
              F(size_messages, kOwn), F(live_come_first, kOwn), F(live_rows, kOwn), F(trip_count, kOwn))
};
#undef VXLA_FIELDS_OF
#undef VXLA_FIELDS
#undef F

}  // namespace VXLA_NAMESPACE
