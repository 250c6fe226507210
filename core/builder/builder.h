// XlaBuilder: builds modules with the names of the XLA operation semantics: XlaBuilder, XlaOp, XlaComputation and one
// free function per operation. The first error sticks: later operations do nothing and Build() returns it.
#pragma once

#include <complex>
#include <concepts>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/data/dimension_numbers.h"
#include "core/data/literal.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace VXLA_NAMESPACE {

class Instruction;
class Module;
class XlaBuilder;
struct BuilderState;  // core/builder/emit.h

// A value under construction: an instruction of a builder. Copied freely; valid as long as its builder.
class XlaOp {
 public:
  XlaOp() = default;
  XlaBuilder* builder() const { return builder_; }
  // False for a default-constructed op and for what an operation with an error returned.
  bool valid() const { return instruction_ != nullptr; }
  // CHECK that the op is valid.
  const Shape& shape() const;
  Instruction* instruction() const { return instruction_; }

 private:
  friend class XlaBuilder;
  friend struct BuilderState;
  XlaOp(XlaBuilder* builder, Instruction* instruction) : builder_(builder), instruction_(instruction) {}
  XlaBuilder* builder_ = nullptr;
  Instruction* instruction_ = nullptr;
};

// A finished computation with everything it calls: a module whose entry it is. Never changed, so copies share it.
class XlaComputation {
 public:
  XlaComputation() = default;  // none yet; every op that is to call it fails
  explicit XlaComputation(std::shared_ptr<const Module> module) : module_(std::move(module)) {}
  bool IsNull() const { return module_ == nullptr; }
  // What Client::Compile, RunOnCpu and Diff take. Precondition: not IsNull().
  const Module& module() const { return *module_; }
  const std::string& name() const;
  // A module of one's own, to change.
  std::unique_ptr<Module> CloneModule() const;

 private:
  std::shared_ptr<const Module> module_;
};

class XlaBuilder {
 public:
  explicit XlaBuilder(std::string name);
  XlaBuilder(const XlaBuilder&) = delete;
  ~XlaBuilder();

  const std::string& name() const;
  // The computation whose root is `root`, or the op added last. The builder can go on afterwards.
  Result<XlaComputation> Build(XlaOp root = {}) const;
  const Status& first_error() const;
  Result<Shape> GetShape(XlaOp op) const;
  bool HasParameter(int64_t number) const;
  // Keeps the first error; the op of an error is not valid.
  XlaOp Record(Result<XlaOp> result);

 private:
  friend struct BuilderState;
  std::unique_ptr<BuilderState> state_;
};

// Padding of windows: kSame keeps the size at stride 1 (low = total/2), kValid adds none.
enum class Padding { kSame, kValid };
using PaddingConfig = std::vector<PaddingDimension>;
using PaddingPairs = std::vector<std::pair<int64_t, int64_t>>;

using GatherDimensionNumbers = GatherAttributes;
using ScatterDimensionNumbers = ScatterAttributes;
struct PrecisionConfig {
  std::vector<PrecisionLevel> operand_precision;  // empty, or one level for each operand of a product
  std::string algorithm = {};  // of a dot, by HLO's name (core/numerics/dot_algorithm.h); empty: none
};

struct DotDimensionNumbers {
  IntList lhs_contracting_dimensions, rhs_contracting_dimensions, lhs_batch_dimensions, rhs_batch_dimensions;
  void add_lhs_contracting_dimensions(int64_t dimension) { lhs_contracting_dimensions.push_back(dimension); }
  void add_rhs_contracting_dimensions(int64_t dimension) { rhs_contracting_dimensions.push_back(dimension); }
  void add_lhs_batch_dimensions(int64_t dimension) { lhs_batch_dimensions.push_back(dimension); }
  void add_rhs_batch_dimensions(int64_t dimension) { rhs_batch_dimensions.push_back(dimension); }
};

// What a send and its recv have in common.
struct ChannelHandle {
  int64_t handle = 0;
  operator int64_t() const { return handle; }
};

// Parameters and constants.
// An argument of the computation. Errors: a number that is negative or taken.
XlaOp Parameter(XlaBuilder* builder, int64_t parameter_number, const Shape& shape, std::string name = {});
XlaOp ConstantLiteral(XlaBuilder* builder, const Literal& literal);
XlaOp ConstantScalar(XlaBuilder* builder, ElementType type, double value);
// The element type of a C++ type: bool is pred, float f32, int32_t s32 ...
template <typename T>
constexpr ElementType ElementTypeOf();
template <typename T>
XlaOp ConstantR0(XlaBuilder* builder, T value);
template <typename T>
XlaOp ConstantR1(XlaBuilder* builder, const std::vector<T>& values);
// Rows of one length.
Status UnequalRows(size_t first, size_t other);
template <typename T>
XlaOp ConstantR2(XlaBuilder* builder, const std::vector<std::vector<T>>& values);
// Counts from 0 along one dimension (spec: Iota).
XlaOp Iota(XlaBuilder* builder, const Shape& shape, int64_t iota_dimension);
XlaOp Iota(XlaBuilder* builder, ElementType type, int64_t size);

// Element-wise (spec: Element-wise unary functions, binary arithmetic and comparison operations).
// Operands broadcast as the broadcasting document says: a scalar always; a lower rank by broadcast_dimensions, strictly
// increasing; then dimensions of size 1. What HLO lacks becomes broadcast and reshape instructions.
#define VXLA_UNARY(Name, Kind) XlaOp Name(XlaOp operand);
#define VXLA_BINARY(Name, Kind) XlaOp Name(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions = {});
#define VXLA_COMPARE(Name) VXLA_BINARY(Name, Compare) VXLA_BINARY(Name##TotalOrder, Compare)
#include "core/builder/elementwise_functions.def"
#undef VXLA_UNARY
#undef VXLA_BINARY
#undef VXLA_COMPARE
XlaOp Compare(XlaOp lhs, XlaOp rhs, ComparisonDirection direction, const IntList& broadcast_dimensions = {},
              ComparisonType type = ComparisonType::kDefault);
XlaOp Compare(XlaOp lhs, XlaOp rhs, const IntList& broadcast_dimensions, ComparisonDirection direction,
              ComparisonType type = ComparisonType::kDefault);

// Element-wise, the rest.
// min(max(min, operand), max); the bounds may be scalars (spec: Clamp). The older document's order, (operand, min,
// max), has the same types and is not offered.
XlaOp Clamp(XlaOp min, XlaOp operand, XlaOp max);
// pred may be a scalar; tuples with a scalar pred are selected element by element (spec: Select).
XlaOp Select(XlaOp pred, XlaOp on_true, XlaOp on_false);
XlaOp ConvertElementType(XlaOp operand, ElementType new_element_type);
// Another width changes the last dimension (spec: BitcastConvertType).
XlaOp BitcastConvertType(XlaOp operand, ElementType new_element_type);
// Rounds to a narrower format and back. The order of the arguments is the specification's: mantissa bits first.
XlaOp ReducePrecision(XlaOp operand, int64_t mantissa_bits, int64_t exponent_bits);

// Shapes and data movement.
// New dimensions to the left (spec: Broadcast).
XlaOp Broadcast(XlaOp operand, const IntList& broadcast_sizes);
// Dimension i becomes broadcast_dimensions[i], its size kept or 1 (spec: BroadcastInDim).
XlaOp BroadcastInDim(XlaOp operand, const IntList& out_dim_size, const IntList& broadcast_dimensions);
XlaOp Reshape(XlaOp operand, const IntList& new_sizes);
// Collapses the dimensions in the given order first (spec: Reshape).
XlaOp Reshape(XlaOp operand, const IntList& dimensions, const IntList& new_sizes);
XlaOp DynamicReshape(XlaOp operand, const std::vector<XlaOp>& dim_sizes, const IntList& new_size_bounds,
                     const std::vector<bool>& dims_are_dynamic);
// Consecutive dimensions become one (spec: Collapse).
XlaOp Collapse(XlaOp operand, const IntList& dimensions);
// Result dimension i is operand dimension permutation[i] (spec: Transpose).
XlaOp Transpose(XlaOp operand, const IntList& permutation);
// start <= limit <= size; strides default to 1 (spec: Slice).
XlaOp Slice(XlaOp operand, const IntList& start_indices, const IntList& limit_indices, const IntList& strides = {});
XlaOp SliceInDim(XlaOp operand, int64_t start_index, int64_t limit_index, int64_t stride, int64_t dimension);
// Interior first, then edges; negative edges remove (spec: Pad).
XlaOp Pad(XlaOp operand, XlaOp padding_value, const PaddingConfig& padding_config);
PaddingConfig MakeEdgePaddingConfig(const PaddingPairs& padding);
XlaOp PadInDim(XlaOp operand, XlaOp padding_value, int64_t dimension, int64_t pad_low, int64_t pad_high);
XlaOp ConcatInDim(XlaBuilder* builder, const std::vector<XlaOp>& operands, int64_t dimension);
XlaOp Rev(XlaOp operand, const IntList& dimensions);
// Starts are clamped into [0, size - slice size]; one scalar for each dimension, or one rank-1 array.
XlaOp DynamicSlice(XlaOp operand, const std::vector<XlaOp>& start_indices, const IntList& size_indices);
XlaOp DynamicUpdateSlice(XlaOp operand, XlaOp update, const std::vector<XlaOp>& start_indices);
// The older document's form, one rank-1 array; a template so that {i} and {} still mean lists.
template <std::same_as<XlaOp> T>
XlaOp DynamicSlice(XlaOp operand, T start_indices, const IntList& size_indices) {
  return DynamicSlice(operand, std::vector<XlaOp>{start_indices}, size_indices);
}
template <std::same_as<XlaOp> T>
XlaOp DynamicUpdateSlice(XlaOp operand, XlaOp update, T start_indices) {
  return DynamicUpdateSlice(operand, update, std::vector<XlaOp>{start_indices});
}
// dimension_numbers' slice_sizes and indices_are_sorted are taken from the other arguments (spec: Gather).
XlaOp Gather(XlaOp operand, XlaOp start_indices, GatherAttributes dimension_numbers, const IntList& slice_sizes,
             bool indices_are_sorted = false);
// The computation takes the current values, then the updates (spec: Scatter).
XlaOp Scatter(const std::vector<XlaOp>& operands, XlaOp scatter_indices, const std::vector<XlaOp>& updates,
              const XlaComputation& update_computation, ScatterAttributes dimension_numbers,
              bool indices_are_sorted = false, bool unique_indices = false);
XlaOp Scatter(XlaOp operand, XlaOp scatter_indices, XlaOp updates, const XlaComputation& update_computation,
              ScatterAttributes dimension_numbers, bool indices_are_sorted = false, bool unique_indices = false);
// The size that a dimension has now, s32 (spec: GetDimensionSize).
XlaOp GetDimensionSize(XlaOp operand, int64_t dimension);
// The same values, of which those beyond `size` no longer count; a constant that is the bound makes the dimension
// static.
XlaOp SetDimensionSize(XlaOp operand, XlaOp size, int64_t dimension);

// Products, reductions, windows.
// The second dimension of lhs (the first of a vector) with the first of rhs (spec: Dot).
XlaOp Dot(XlaOp lhs, XlaOp rhs, const PrecisionConfig* precision_config = nullptr,
          std::optional<ElementType> preferred_element_type = {});
// Batch dimensions, then the free ones of lhs, then of rhs (spec: DotGeneral).
XlaOp DotGeneral(XlaOp lhs, XlaOp rhs, const DotDimensionNumbers& dimension_numbers,
                 const PrecisionConfig* precision_config = nullptr,
                 std::optional<ElementType> preferred_element_type = {});
// lhs rows in groups of group_sizes, each with its own matrix of rhs.
XlaOp RaggedDot(XlaOp lhs, XlaOp rhs, XlaOp group_sizes, const DotAttributes& dimension_numbers,
                const PrecisionConfig* precision_config = nullptr,
                std::optional<ElementType> preferred_element_type = {});
// Dimension order (batch, feature, spatial...) and (output feature, input feature, spatial...) (spec: Conv).
XlaOp Conv(XlaOp lhs, XlaOp rhs, const IntList& window_strides, Padding padding, int64_t feature_group_count = 1,
           int64_t batch_group_count = 1, const PrecisionConfig* precision_config = nullptr,
           std::optional<ElementType> preferred_element_type = {});
XlaOp ConvWithGeneralPadding(XlaOp lhs, XlaOp rhs, const IntList& window_strides, const PaddingPairs& padding,
                             const IntList& lhs_dilation = {}, const IntList& rhs_dilation = {},
                             int64_t feature_group_count = 1, int64_t batch_group_count = 1,
                             const PrecisionConfig* precision_config = nullptr,
                             std::optional<ElementType> preferred_element_type = {});
XlaOp ConvWithGeneralDimensions(XlaOp lhs, XlaOp rhs, const IntList& window_strides, Padding padding,
                                const ConvolutionDimensions& dimension_numbers, int64_t feature_group_count = 1,
                                int64_t batch_group_count = 1, const PrecisionConfig* precision_config = nullptr,
                                std::optional<ElementType> preferred_element_type = {});
XlaOp ConvGeneral(XlaOp lhs, XlaOp rhs, const IntList& window_strides, const PaddingPairs& padding,
                  const ConvolutionDimensions& dimension_numbers, int64_t feature_group_count = 1,
                  int64_t batch_group_count = 1, const PrecisionConfig* precision_config = nullptr,
                  std::optional<ElementType> preferred_element_type = {});
// window_reversal: the kernel is taken backwards in these spatial dimensions; empty: in none.
XlaOp ConvGeneralDilated(XlaOp lhs, XlaOp rhs, const IntList& window_strides, const PaddingPairs& padding,
                         const IntList& lhs_dilation, const IntList& rhs_dilation,
                         const ConvolutionDimensions& dimension_numbers, int64_t feature_group_count = 1,
                         int64_t batch_group_count = 1, const PrecisionConfig* precision_config = nullptr,
                         std::optional<ElementType> preferred_element_type = {},
                         const std::vector<bool>& window_reversal = {});
// init_value is an identity of the computation (spec: Reduce).
XlaOp Reduce(XlaOp operand, XlaOp init_value, const XlaComputation& computation, const IntList& dimensions);
// N operands give a tuple; the computation takes N accumulators, then N values.
XlaOp Reduce(XlaBuilder* builder, const std::vector<XlaOp>& operands, const std::vector<XlaOp>& init_values,
             const XlaComputation& computation, const IntList& dimensions);
XlaOp ReduceAll(XlaOp operand, XlaOp init_value, const XlaComputation& computation);
XlaOp ReduceWindow(XlaOp operand, XlaOp init_value, const XlaComputation& computation, const IntList& window_dimensions,
                   const IntList& window_strides, Padding padding);
XlaOp ReduceWindow(const std::vector<XlaOp>& operands, const std::vector<XlaOp>& init_values,
                   const XlaComputation& computation, const IntList& window_dimensions, const IntList& window_strides,
                   Padding padding);
// The order of the older document's example.
XlaOp ReduceWindow(XlaOp operand, const XlaComputation& computation, XlaOp init_value, const IntList& window_dimensions,
                   const IntList& window_strides, Padding padding);
// Empty strides and dilations are ones, an empty padding is none.
XlaOp ReduceWindowWithGeneralPadding(const std::vector<XlaOp>& operands, const std::vector<XlaOp>& init_values,
                                     const XlaComputation& computation, const IntList& window_dimensions,
                                     const IntList& window_strides, const IntList& base_dilations,
                                     const IntList& window_dilations, const PaddingPairs& padding);
XlaOp ReduceWindowWithGeneralPadding(XlaOp operand, XlaOp init_value, const XlaComputation& computation,
                                     const IntList& window_dimensions, const IntList& window_strides,
                                     const IntList& base_dilations, const IntList& window_dilations,
                                     const PaddingPairs& padding);
// Each window's selected element takes an element of the source (spec: SelectAndScatter).
XlaOp SelectAndScatter(XlaOp operand, const XlaComputation& select, const IntList& window_dimensions,
                       const IntList& window_strides, Padding padding, XlaOp source, XlaOp init_value,
                       const XlaComputation& scatter);
XlaOp SelectAndScatterWithGeneralPadding(XlaOp operand, const XlaComputation& select, const IntList& window_dimensions,
                                         const IntList& window_strides, const PaddingPairs& padding, XlaOp source,
                                         XlaOp init_value, const XlaComputation& scatter);
// dimension -1 is the last one; the comparator takes two values of each operand, interleaved (spec: Sort).
XlaOp Sort(const std::vector<XlaOp>& operands, const XlaComputation& comparator, int64_t dimension = -1,
           bool is_stable = false);
// Ascending along the last dimension, floats in their total order (the older document's form).
XlaOp Sort(XlaOp operand);
// (values, s32 positions) along the last dimension.
XlaOp TopK(XlaOp operand, int64_t k, bool largest = true);
// Transforms of the innermost dimensions, whose lengths in the time domain are fft_length (spec: Fft).
XlaOp Fft(XlaOp operand, FftType fft_type, const IntList& fft_length);
// l with a = l l^H, or u with a = u^H u; the other triangle holds anything (spec: Cholesky).
XlaOp Cholesky(XlaOp a, bool lower);
// x with op(a) x = b, or x op(a) = b (spec: TriangularSolve).
XlaOp TriangularSolve(XlaOp a, XlaOp b, bool left_side, bool lower, bool unit_diagonal, TransposeKind transpose_a);
// (output, mean, variance), the biased variance (spec: BatchNormTraining).
XlaOp BatchNormTraining(XlaOp operand, XlaOp scale, XlaOp offset, float epsilon, int64_t feature_index);
// The output with given moments.
XlaOp BatchNormInference(XlaOp operand, XlaOp scale, XlaOp offset, XlaOp mean, XlaOp variance, float epsilon,
                         int64_t feature_index);
// (grad_operand, grad_scale, grad_offset)
XlaOp BatchNormGrad(XlaOp operand, XlaOp scale, XlaOp mean, XlaOp variance, XlaOp grad_output, float epsilon,
                    int64_t feature_index);

// Random numbers.
XlaOp RngNormal(XlaOp mu, XlaOp sigma, const Shape& shape);
XlaOp RngUniform(XlaOp a, XlaOp b, const Shape& shape);
// Ones with probability `mean` (f32); the shape is of u32 (the older document's op).
XlaOp RngBernoulli(XlaOp mean, const Shape& shape);
// (new state, bits)
XlaOp RngBitGenerator(RngAlgorithm algorithm, XlaOp initial_state, const Shape& shape);
// The generator's own state before it advances by delta.
XlaOp RngGetAndUpdateState(XlaBuilder* builder, int64_t delta, const Shape& shape);
// Rounds up or down with the probability that `random`, unsigned and as wide as the operand, decides.
XlaOp StochasticConvertType(XlaOp operand, XlaOp random, ElementType new_element_type);

// Tuples and control flow.
XlaOp Tuple(XlaBuilder* builder, const std::vector<XlaOp>& elements);
XlaOp GetTupleElement(XlaOp tuple_data, int64_t index);
XlaOp OptimizationBarrier(XlaOp operand);
XlaOp Call(XlaBuilder* builder, const XlaComputation& computation, const std::vector<XlaOp>& operands);
// attributes: the text of a dictionary, "{n = 1 : i32}" (spec: CompositeCall).
XlaOp CompositeCall(XlaBuilder* builder, const XlaComputation& computation, const std::vector<XlaOp>& operands,
                    const std::string& name, const std::string& attributes = {}, int64_t version = 0);
// A computation over scalars at each index; `dimensions` are all of them (spec: Map). The computation's last parameters
// are the static operands, scalars that are the same at each index (the older document's form).
XlaOp Map(XlaBuilder* builder, const std::vector<XlaOp>& operands, const XlaComputation& computation,
          const IntList& dimensions, const std::vector<XlaOp>& static_operands = {});
// body applied as long as condition holds (spec: While).
XlaOp While(const XlaComputation& condition, const XlaComputation& body, XlaOp init);
XlaOp Conditional(XlaOp pred, XlaOp true_operand, const XlaComputation& true_computation, XlaOp false_operand,
                  const XlaComputation& false_computation);
// An index out of range runs the last branch (spec: Conditional).
XlaOp Conditional(XlaOp branch_index, const std::vector<XlaComputation>& branch_computations,
                  const std::vector<XlaOp>& branch_operands);
// A token that waits for all of them.
XlaOp AfterAll(XlaBuilder* builder, const std::vector<XlaOp>& tokens);
XlaOp CreateToken(XlaBuilder* builder);
// The operand's value, not before the token.
XlaOp AddDependency(XlaOp operand, XlaOp token);
// entry and exit: shardings as HLO text writes them, "{replicated}".
XlaOp Domain(XlaOp operand, const std::string& kind, const std::string& entry, const std::string& exit);
// A computation that runs beside what follows, until AsyncDone gives its result.
XlaOp AsyncStart(XlaBuilder* builder, const std::vector<XlaOp>& operands, const XlaComputation& computation,
                 const std::string& execution_thread = {});
XlaOp AsyncUpdate(XlaOp context);
XlaOp AsyncDone(XlaOp context);
// A copy that ends with CopyDone.
XlaOp CopyStart(XlaOp operand);
XlaOp CopyDone(XlaOp context);
// The computation takes a slice of each input and the carries, and gives a slice of each output and the carries.
// `shape` is (outputs..., carries...): the outputs' element types cannot be known otherwise.
XlaOp Scan(XlaBuilder* builder, const std::vector<XlaOp>& inputs, const std::vector<XlaOp>& initial_carries,
           const XlaComputation& computation, const Shape& shape, int64_t dimension, bool is_reverse = false);

// Replicas and partitions.
// A tuple operand is taken element by element and gives a tuple.
// The layout arguments of XLA's functions are there for its argument order; values are logical here.
XlaOp AllReduce(XlaOp operand, const XlaComputation& computation, const ReplicaGroups& replica_groups = {},
                std::optional<int64_t> channel_id = {}, const std::optional<Shape>& shape_with_layout = {},
                std::optional<bool> use_global_device_ids = {});
// AllReduce with addition.
XlaOp CrossReplicaSum(XlaOp operand, const ReplicaGroups& replica_groups = {});
XlaOp AllGather(XlaOp operand, int64_t all_gather_dim, int64_t shard_count, const ReplicaGroups& replica_groups = {},
                std::optional<int64_t> channel_id = {}, const std::optional<Layout>& layout = {},
                std::optional<bool> use_global_device_ids = {});
XlaOp ReduceScatter(XlaOp operand, const XlaComputation& computation, int64_t scatter_dimension, int64_t shard_count,
                    const ReplicaGroups& replica_groups = {}, std::optional<int64_t> channel_id = {},
                    const std::optional<Layout>& layout = {}, std::optional<bool> use_global_device_ids = {});
XlaOp AllToAll(XlaOp operand, int64_t split_dimension, int64_t concat_dimension, int64_t split_count,
               const ReplicaGroups& replica_groups = {}, const std::optional<Layout>& layout = {},
               std::optional<int64_t> channel_id = {});
// One operand to each member of the group; a tuple of what each of them sent.
XlaOp AllToAllTuple(const std::vector<XlaOp>& operands, const ReplicaGroups& replica_groups = {},
                    std::optional<int64_t> channel_id = {});
// Rows sent by offsets and sizes: (input, output, input offsets, send sizes, output offsets, receive sizes).
XlaOp RaggedAllToAll(XlaOp input, XlaOp output, XlaOp input_offsets, XlaOp send_sizes, XlaOp output_offsets,
                     XlaOp recv_sizes, const ReplicaGroups& replica_groups = {},
                     std::optional<int64_t> channel_id = {});
// Zeros where no pair names the replica as its target.
XlaOp CollectivePermute(XlaOp operand, const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
                        std::optional<int64_t> channel_id = {});
// From the first member of each group; zeros outside of the groups.
XlaOp CollectiveBroadcast(XlaOp operand, const ReplicaGroups& replica_groups, std::optional<int64_t> channel_id = {});
XlaOp ReplicaId(XlaBuilder* builder);
XlaOp PartitionId(XlaBuilder* builder);

// The host and other programs.
// The data; a token is made and dropped (spec: Infeed).
XlaOp Infeed(XlaBuilder* builder, const Shape& shape, const std::string& config = {});
// A token.
XlaOp Outfeed(XlaOp operand, const Shape& shape, const std::string& outfeed_config = {});
// A token, after send and send-done.
XlaOp Send(XlaOp operand, int64_t channel_id);
// The data, after recv and recv-done.
XlaOp Recv(XlaBuilder* builder, const Shape& shape, int64_t channel_id);
// The instructions that Send and Recv consist of: contexts first, then what they wait for.
XlaOp SendWithToken(XlaOp operand, XlaOp token, int64_t channel_id);
XlaOp SendDone(XlaOp context);
XlaOp RecvWithToken(XlaOp token, const Shape& shape, int64_t channel_id);
XlaOp RecvDone(XlaOp context);
// A function of the host, found by name when the program runs (spec: CustomCall).
XlaOp CustomCall(XlaBuilder* builder, const std::string& target_name, const std::vector<XlaOp>& operands,
                 const Shape& shape, const std::string& opaque = {}, bool has_side_effect = false);

// Templates.
template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (std::same_as<T, bool>)
    return ElementType::kPred;
  else if constexpr (std::same_as<T, float>)
    return ElementType::kF32;
  else if constexpr (std::same_as<T, double>)
    return ElementType::kF64;
  else if constexpr (std::same_as<T, std::complex<float>>)
    return ElementType::kC64;
  else if constexpr (std::same_as<T, std::complex<double>>)
    return ElementType::kC128;
  else {
    static_assert(std::integral<T>, "no element type");
    constexpr bool is_signed = std::signed_integral<T>;
    if constexpr (sizeof(T) == 1)
      return is_signed ? ElementType::kS8 : ElementType::kU8;
    else if constexpr (sizeof(T) == 2)
      return is_signed ? ElementType::kS16 : ElementType::kU16;
    else if constexpr (sizeof(T) == 4)
      return is_signed ? ElementType::kS32 : ElementType::kU32;
    else
      return is_signed ? ElementType::kS64 : ElementType::kU64;
  }
}

template <typename T>
XlaOp ConstantR0(XlaBuilder* builder, T value) {
  Literal literal{Shape(ElementTypeOf<T>())};
  std::memcpy(literal.mutable_bytes().data(), &value, sizeof(T));
  return ConstantLiteral(builder, literal);
}

template <typename T>
XlaOp ConstantR1(XlaBuilder* builder, const std::vector<T>& values) {
  Literal literal{Shape(ElementTypeOf<T>(), {static_cast<int64_t>(values.size())})};
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = values[i];  // a copy: vector<bool> has no references
    std::memcpy(literal.mutable_bytes().data() + i * sizeof(T), &value, sizeof(T));
  }
  return ConstantLiteral(builder, literal);
}

template <typename T>
XlaOp ConstantR2(XlaBuilder* builder, const std::vector<std::vector<T>>& values) {
  const size_t columns = values.empty() ? 0 : values[0].size();
  Literal literal{Shape(ElementTypeOf<T>(), {static_cast<int64_t>(values.size()), static_cast<int64_t>(columns)})};
  std::byte* to = literal.mutable_bytes().data();
  for (const std::vector<T>& row : values) {
    if (row.size() != columns) return builder->Record(UnequalRows(columns, row.size()));
    for (size_t i = 0; i < columns; ++i, to += sizeof(T)) {
      const T value = row[i];
      std::memcpy(to, &value, sizeof(T));
    }
  }
  return ConstantLiteral(builder, literal);
}

}  // namespace VXLA_NAMESPACE
#pragma GCC visibility pop
