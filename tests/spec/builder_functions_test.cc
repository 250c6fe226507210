// Every builder function that the documents name, called as they write it: it compiles, verifies, and its text reads
// back.
#include <functional>
#include <map>

#include "core/builder/xla_names.h"
#include "core/ir/module.h"
#include "core/passes/base/verifier.h"
#include "core/text/hlo_parser.h"
#include "core/text/hlo_printer.h"
#include "tests/spec/spec_test_support.h"
#include "tests/support/module_equal.h"

namespace VXLA_NAMESPACE::testing {
namespace {

// The names at the end of the inventory of operations.
const char* const kNames[] = {
    "Abs", "Add", "AfterAll", "AllGather", "AllReduce", "AllToAll", "And", "Atan2", "BatchNormGrad",
    "BatchNormInference", "BatchNormTraining", "BitcastConvertType", "Broadcast", "BroadcastInDim", "Call",
    "CompositeCall", "Cbrt", "Ceil", "Cholesky", "Clamp", "Clz", "Collapse", "CollectivePermute", "Eq", "Ne", "Ge",
    "Gt", "Le", "Lt", "EqTotalOrder", "NeTotalOrder", "GeTotalOrder", "GtTotalOrder", "LeTotalOrder", "LtTotalOrder",
    "Compare", "Complex", "ConcatInDim", "Conditional", "Conv", "ConvWithGeneralPadding", "ConvertElementType", "Cos",
    "CrossReplicaSum", "CustomCall", "Div", "Dot", "DotGeneral", "DynamicSlice", "DynamicUpdateSlice", "Erf", "Exp",
    "Expm1", "Fft", "Floor", "Gather", "GetDimensionSize", "SetDimensionSize", "GetTupleElement", "Imag", "Real",
    "Infeed", "Iota", "IsFinite", "Log", "Log1p", "Logistic", "Map", "Max", "Min", "Mul", "Neg", "Not",
    "OptimizationBarrier", "Or", "Pad", "PopulationCount", "Pow", "Recv", "RecvDone", "Send", "SendDone", "Reduce",
    "ReducePrecision", "ReduceScatter", "ReduceWindow", "Rem", "ReplicaId", "Reshape", "Rev", "RngNormal", "RngUniform",
    "RngBernoulli", "RngBitGenerator", "Round", "RoundNearestEven", "Rsqrt", "Sqrt", "Scatter", "Select",
    "SelectAndScatter", "ShiftLeft", "ShiftRightArithmetic", "ShiftRightLogical", "Sign", "Sin", "Slice", "Sort", "Sub",
    "Tan", "Tanh", "Transpose", "TriangularSolve", "Tuple", "While", "Xor", "Parameter", "ConstantLiteral",
    "ConstantR0", "ConstantR1", "CollectiveBroadcast", "Outfeed", "PartitionId", "TopK", "DynamicReshape",
    "ConvWithGeneralDimensions", "ConvGeneral", "ConvGeneralDilated", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh",
    "Cosh", "Sinh", "RaggedDot",
    // The older document's, and what programs of today hold besides.
    "LogicalAnd", "LogicalOr", "LogicalNot", "Mulhi", "AddDependency", "Domain", "CopyStart", "CopyDone", "AsyncStart",
    "AsyncUpdate", "AsyncDone", "RngGetAndUpdateState", "StochasticConvertType", "Scan", "AllToAllTuple",
    "RaggedAllToAll", "CreateToken", "PadInDim", "SliceInDim", "ReduceAll", "ConstantR2", "ConstantScalar",
    "ReduceWindowWithGeneralPadding", "SelectAndScatterWithGeneralPadding"};

// What the documents' argument tables name.
struct Document {
  XlaBuilder builder{"document"};
  XlaBuilder* b = &builder;
  int64_t next = 0;
  XlaOp Of(PrimitiveType type, const IntList& dimensions = {}) {
    return Parameter(b, next++, ShapeUtil::MakeShape(type, dimensions));
  }
  XlaOp operand = Of(F32, {4, 6}), lhs = operand, rhs = operand, a = operand;
  XlaOp scalar = Of(F32), init_value = scalar, min = scalar, max = scalar;
  XlaOp integers = Of(S32, {4, 6});
  XlaOp vector = Of(F32, {6}), scale = vector, offset = vector, mean = vector, variance = vector;
  XlaOp square = Of(F32, {3, 3});
  XlaOp complex = Of(C64, {4, 6});
  XlaOp pred = Of(PRED), preds = Of(PRED, {4, 6}), index = Of(S32), branch_index = index;
  XlaOp image = Of(F32, {2, 3, 8, 9}), kernel = Of(F32, {6, 3, 3, 3});
  XlaComputation computation = Scalar(F32), ge = Scalar(F32, Ge);
  ReplicaGroups replica_groups{{{0, 2}, {1, 3}}, {}, {}, {}};
  std::optional<int64_t> channel_id = 7;
  ChannelHandle channel_handle{5};
  Shape shape = ShapeUtil::MakeShape(F32, {4, 6});

  XlaComputation Identity(const Shape& of) {
    XlaBuilder body("body");
    return *body.Build(Parameter(&body, 0, of));
  }
};

using Call1 = std::function<XlaOp(Document&)>;
#define VXLA_CALL(...) [](Document& d) -> XlaOp { return __VA_ARGS__; }
#define VXLA_UNARY(Name) \
  { #Name, VXLA_CALL(Name(d.operand)) }
#define VXLA_BITS1(Name) \
  { #Name, VXLA_CALL(Name(d.integers)) }
#define VXLA_BINARY(Name) \
  { #Name, VXLA_CALL(Name(Name(d.lhs, d.rhs), d.vector, /*broadcast_dimensions=*/{1})) }
#define VXLA_BITS2(Name) \
  { #Name, VXLA_CALL(Name(d.integers, d.index)) }
#define VXLA_COMPARE(Name) \
  { #Name, VXLA_CALL(Tuple(d.b, {Name(d.lhs, d.rhs), Name(d.lhs, d.vector, {1})})) }

const std::map<std::string, Call1> kElementwise = {
    VXLA_UNARY(Abs),
    VXLA_UNARY(Acos),
    VXLA_UNARY(Acosh),
    VXLA_UNARY(Asin),
    VXLA_UNARY(Asinh),
    VXLA_UNARY(Atan),
    VXLA_UNARY(Atanh),
    VXLA_UNARY(Cbrt),
    VXLA_UNARY(Ceil),
    VXLA_UNARY(Cos),
    VXLA_UNARY(Cosh),
    VXLA_UNARY(Erf),
    VXLA_UNARY(Exp),
    VXLA_UNARY(Expm1),
    VXLA_UNARY(Floor),
    VXLA_UNARY(Imag),
    VXLA_UNARY(IsFinite),
    VXLA_UNARY(Log),
    VXLA_UNARY(Log1p),
    VXLA_UNARY(Logistic),
    VXLA_UNARY(Neg),
    VXLA_UNARY(Real),
    VXLA_UNARY(Round),
    VXLA_UNARY(RoundNearestEven),
    VXLA_UNARY(Rsqrt),
    VXLA_UNARY(Sign),
    VXLA_UNARY(Sin),
    VXLA_UNARY(Sinh),
    VXLA_UNARY(Sqrt),
    VXLA_UNARY(Tan),
    VXLA_UNARY(Tanh),
    VXLA_BITS1(Clz),
    VXLA_BITS1(Not),
    VXLA_BITS1(LogicalNot),
    VXLA_BITS1(PopulationCount),
    VXLA_BINARY(Add),
    VXLA_BINARY(Atan2),
    VXLA_BINARY(Div),
    VXLA_BINARY(Max),
    VXLA_BINARY(Min),
    VXLA_BINARY(Mul),
    VXLA_BINARY(Pow),
    VXLA_BINARY(Rem),
    VXLA_BINARY(Sub),
    VXLA_BITS2(And),
    VXLA_BITS2(Or),
    VXLA_BITS2(Xor),
    VXLA_BITS2(LogicalAnd),
    VXLA_BITS2(LogicalOr),
    VXLA_BITS2(Mulhi),
    VXLA_BITS2(ShiftLeft),
    VXLA_BITS2(ShiftRightArithmetic),
    VXLA_BITS2(ShiftRightLogical),
    VXLA_COMPARE(Complex),
    VXLA_COMPARE(Eq),
    VXLA_COMPARE(Ne),
    VXLA_COMPARE(Ge),
    VXLA_COMPARE(Gt),
    VXLA_COMPARE(Le),
    VXLA_COMPARE(Lt),
    VXLA_COMPARE(EqTotalOrder),
    VXLA_COMPARE(NeTotalOrder),
    VXLA_COMPARE(GeTotalOrder),
    VXLA_COMPARE(GtTotalOrder),
    VXLA_COMPARE(LeTotalOrder),
    VXLA_COMPARE(LtTotalOrder),
    {"Compare", VXLA_CALL(Compare(d.lhs, d.vector, {1}, ComparisonDirection::kLt, ComparisonType::kFloat))},
    {"Clamp", VXLA_CALL(Clamp(d.min, d.operand, d.max))},
    {"Select", VXLA_CALL(Select(d.pred, /*on_true=*/d.lhs, /*on_false=*/d.rhs))},
    {"ConvertElementType", VXLA_CALL(ConvertElementType(d.operand, /*new_element_type=*/S32))},
    {"BitcastConvertType", VXLA_CALL(BitcastConvertType(d.operand, /*new_element_type=*/F16))},
    {"ReducePrecision", VXLA_CALL(ReducePrecision(d.operand, /*mantissa_bits=*/10, /*exponent_bits=*/5))},
    {"StochasticConvertType", VXLA_CALL(StochasticConvertType(d.operand, d.Of(U32, {4, 6}), BF16))}};

const std::map<std::string, Call1> kMovement = {
    {"Parameter", VXLA_CALL(Parameter(d.b, d.next++, ShapeUtil::MakeShape(F32, {}), "y"))},
    {"ConstantLiteral", VXLA_CALL(ConstantLiteral(d.b, LiteralUtil::MinValue(F32)))},
    {"ConstantR0", VXLA_CALL(ConstantR0<float>(d.b, 2.0f))},
    {"ConstantR1", VXLA_CALL(ConstantR1<int32_t>(d.b, {1, 2, 3}))},
    {"ConstantR2", VXLA_CALL(ConstantR2<double>(d.b, {{1, 2, 3}, {4, 5, 6}}))},
    {"ConstantScalar", VXLA_CALL(ConstantScalar(d.b, BF16, 2))},
    {"Iota", VXLA_CALL(Iota(d.b, ShapeUtil::MakeShape(S32, {4, 8}), /*iota_dimension=*/0))},
    {"Broadcast", VXLA_CALL(Broadcast(d.scalar, /*broadcast_sizes=*/{2, 3}))},
    {"BroadcastInDim", VXLA_CALL(BroadcastInDim(d.operand, /*out_dim_size=*/{4, 3, 6}, /*broadcast_dimensions=*/{0, 2}))},
    {"Reshape", VXLA_CALL(Reshape(Reshape(d.operand, {2, 12}), /*dimensions=*/{1, 0}, /*new_sizes=*/{8, 3}))},
    {"DynamicReshape", VXLA_CALL(DynamicReshape(d.operand, {d.index, d.index}, {8, 3}, {true, false}))},
    {"Collapse", VXLA_CALL(Collapse(d.operand, {0, 1}))},
    {"Transpose", VXLA_CALL(Transpose(d.operand, /*permutation=*/{1, 0}))},
    {"Slice", VXLA_CALL(Slice(d.operand, /*start_indices=*/{2, 1}, /*limit_indices=*/{4, 3}, /*strides=*/{1, 2}))},
    {"SliceInDim", VXLA_CALL(SliceInDim(d.operand, 1, 5, 2, 1))},
    {"Pad", VXLA_CALL(Pad(d.operand, /*padding_value=*/d.scalar, /*padding_config=*/{{1, 2, 0}, {0, -1, 3}}))},
    {"PadInDim", VXLA_CALL(PadInDim(Pad(d.operand, d.scalar, MakeEdgePaddingConfig({{1, 1}, {0, 2}})), d.scalar, 1, 2, 3))},
    {"ConcatInDim", VXLA_CALL(ConcatInDim(d.b, {d.operand, d.operand}, /*dimension=*/0))},
    {"Rev", VXLA_CALL(Rev(d.operand, /*dimensions=*/{0, 1}))},
    {"DynamicSlice", VXLA_CALL(Add(DynamicSlice(d.operand, {d.index, d.index}, /*size_indices=*/{2, 2}),
                                   DynamicSlice(d.operand, d.Of(S32, {2}), {2, 2})))},
    {"DynamicUpdateSlice", VXLA_CALL(DynamicUpdateSlice(DynamicUpdateSlice(d.operand, d.square, {d.index, d.index}),
                                                        /*update=*/d.square, d.Of(S32, {2})))},
    {"GetDimensionSize", VXLA_CALL(GetDimensionSize(d.operand, /*dimension=*/1))},
    {"SetDimensionSize", VXLA_CALL(SetDimensionSize(d.operand, /*size=*/d.index, /*dimension=*/0))},
    {"Gather",
     [](Document& d) {
       GatherDimensionNumbers numbers;
       numbers.offset_dims = {1};
       numbers.collapsed_slice_dims = {0};
       numbers.start_index_map = {0};
       numbers.index_vector_dim = 1;
       return Gather(d.operand, /*start_indices=*/d.Of(S32, {5, 1}), numbers, /*slice_sizes=*/{1, 6},
                     /*indices_are_sorted=*/false);
     }},
    {"Scatter", [](Document& d) {
       ScatterDimensionNumbers numbers;
       numbers.update_window_dims = {1};
       numbers.inserted_window_dims = {0};
       numbers.scatter_dims_to_operand_dims = {0};
       numbers.index_vector_dim = 1;
       const XlaOp scatter_indices = d.Of(S32, {5, 1}), updates = d.Of(F32, {5, 6});
       return Scatter(Scatter(d.operand, scatter_indices, updates, d.computation, numbers), scatter_indices, updates,
                      d.computation, numbers, /*indices_are_sorted=*/true, /*unique_indices=*/true);
     }}};

XlaOp ProductWithNumbers(Document& d) {
  DotDimensionNumbers dnums;
  dnums.add_lhs_contracting_dimensions(1);
  dnums.add_rhs_contracting_dimensions(1);
  return DotGeneral(d.lhs, d.rhs, dnums);
}

XlaOp RaggedProduct(Document& d) {
  DotAttributes numbers;
  numbers.lhs_contracting_dims = numbers.rhs_contracting_dims = {1};
  numbers.lhs_ragged_dims = numbers.rhs_group_dims = {0};
  return RaggedDot(d.lhs, Broadcast(d.operand, {2}), /*group_sizes=*/d.Of(S32, {2}), [&] {
    numbers.rhs_contracting_dims = {2};
    return numbers;
  }());
}

ConvolutionDimensions ChannelsLast() {
  ConvolutionDimensions numbers;
  numbers.input_feature = 1;
  numbers.kernel_output_feature = 0;
  numbers.kernel_input_feature = 1;
  numbers.output_feature = 3;
  numbers.input_spatial = numbers.kernel_spatial = {2, 3};
  numbers.output_spatial = {1, 2};
  return numbers;
}

XlaOp StepCount(Document& d) {
  XlaBuilder step("step");
  const XlaOp x = Parameter(&step, 0, Shape(F32)), carry = Parameter(&step, 1, Shape(F32));
  const XlaOp sum = Add(x, carry);
  const XlaComputation body = *step.Build(Tuple(&step, {sum, sum}));
  return Scan(d.b, {d.vector}, {d.scalar}, body, ShapeUtil::MakeTupleShape({Shape(F32, {6}), Shape(F32)}), 0);
}

const std::map<std::string, Call1> kCompute = {
    {"Dot", VXLA_CALL(Dot(d.lhs, d.vector))},
    {"DotGeneral", ProductWithNumbers},
    {"RaggedDot", RaggedProduct},
    {"Conv", VXLA_CALL(Conv(d.image, d.kernel, /*window_strides=*/{1, 2}, Padding::kSame))},
    {"ConvWithGeneralPadding",
     VXLA_CALL(ConvWithGeneralPadding(d.image, d.kernel, /*window_strides=*/{1, 1}, /*padding=*/{{0, 0}, {2, 3}},
                                      /*lhs_dilation=*/{2, 1}, /*rhs_dilation=*/{1, 2}, /*feature_group_count=*/1,
                                      /*batch_group_count=*/2))},
    {"ConvWithGeneralDimensions",
     VXLA_CALL(ConvWithGeneralDimensions(d.image, d.kernel, {1, 1}, Padding::kValid, ChannelsLast()))},
    {"ConvGeneral", VXLA_CALL(ConvGeneral(d.image, d.kernel, {1, 1}, {{1, 1}, {0, 2}}, ChannelsLast()))},
    {"ConvGeneralDilated", VXLA_CALL(ConvGeneralDilated(d.image, d.kernel, {1, 1}, {{1, 1}, {0, 2}}, {1, 2}, {1, 1},
                                                        ChannelsLast(), 1, 1, nullptr, F64, {true, false}))},
    {"Reduce", VXLA_CALL(Reduce(Reduce(d.operand, d.init_value, d.computation, /*dimensions=*/{0}), d.init_value,
                                d.computation, {0}))},
    {"ReduceAll", VXLA_CALL(ReduceAll(d.operand, d.init_value, d.computation))},
    {"ReduceWindow",
     VXLA_CALL(Add(ReduceWindow(d.operand, /*init_val=*/ConstantLiteral(d.b, LiteralUtil::MinValue(F32)), d.computation,
                                /*window_dimensions=*/{2, 3}, /*window_stride_dimensions=*/{2, 3}, Padding::kValid),
                   ReduceWindow(d.operand, d.computation, ConstantLiteral(d.b, LiteralUtil::MinValue(F32)), {2, 3},
                                {2, 3}, Padding::kValid)))},
    {"ReduceWindowWithGeneralPadding",
     VXLA_CALL(ReduceWindowWithGeneralPadding(d.operand, d.init_value, d.computation, {2, 2}, {1, 1}, {2, 1}, {1, 2},
                                              {{0, 1}, {1, 0}}))},
    {"SelectAndScatter",
     VXLA_CALL(SelectAndScatter(d.operand, /*select=*/d.ge, /*window_dimensions=*/{2, 3}, /*window_strides=*/{2, 3},
                                Padding::kValid, /*source=*/Slice(d.operand, {0, 0}, {2, 2}), d.init_value,
                                /*scatter=*/d.computation))},
    {"SelectAndScatterWithGeneralPadding",
     VXLA_CALL(SelectAndScatterWithGeneralPadding(d.operand, d.ge, {2, 3}, {2, 3}, {{0, 0}, {0, 0}},
                                                  Slice(d.operand, {0, 0}, {2, 2}), d.init_value, d.computation))},
    {"Sort", VXLA_CALL(Sort({Sort(d.operand)}, /*comparator=*/Scalar(F32, Lt), /*dimension=*/1, /*is_stable=*/true))},
    {"TopK", VXLA_CALL(TopK(d.operand, /*k=*/3, /*largest=*/true))},
    {"Fft", VXLA_CALL(Fft(d.complex, /*fft_type=*/FftType::kFft, /*fft_length=*/{4, 6}))},
    {"Cholesky", VXLA_CALL(Cholesky(d.square, /*lower=*/true))},
    {"TriangularSolve",
     VXLA_CALL(TriangularSolve(d.square, d.square, /*left_side=*/true, /*lower=*/true, /*unit_diagonal=*/false,
                               /*transpose_a=*/TransposeKind::kTranspose))},
    {"BatchNormTraining",
     VXLA_CALL(BatchNormTraining(d.operand, d.scale, d.offset, /*epsilon=*/0.001f, /*feature_index=*/1))},
    {"BatchNormInference",
     VXLA_CALL(BatchNormInference(d.operand, d.scale, d.offset, d.mean, d.variance, /*epsilon=*/0.001f, 1))},
    {"BatchNormGrad",
     VXLA_CALL(BatchNormGrad(d.operand, d.scale, d.mean, d.variance, /*grad_output=*/d.operand, 0.001f, 1))},
    {"RngNormal", VXLA_CALL(RngNormal(/*mu=*/d.scalar, /*sigma=*/d.scalar, d.shape))},
    {"RngUniform", VXLA_CALL(RngUniform(/*a=*/d.min, /*b=*/d.max, d.shape))},
    {"RngBernoulli", VXLA_CALL(RngBernoulli(/*mean=*/d.scalar, ShapeUtil::MakeShape(U32, {4, 6})))},
    {"RngBitGenerator", VXLA_CALL(RngBitGenerator(RngAlgorithm::kThreeFry, /*initial_state=*/d.Of(U64, {2}),
                                                  ShapeUtil::MakeShape(U32, {5})))},
    {"RngGetAndUpdateState", VXLA_CALL(RngGetAndUpdateState(d.b, /*delta=*/4096, ShapeUtil::MakeShape(U64, {2})))},
    {"Scan", StepCount}};

const std::map<std::string, Call1> kControl = {
    {"Tuple", VXLA_CALL(Tuple(d.b, {d.vector, d.index}))},
    {"GetTupleElement", VXLA_CALL(GetTupleElement(Tuple(d.b, {d.vector, d.index}), 1))},
    {"OptimizationBarrier", VXLA_CALL(OptimizationBarrier(d.operand))},
    {"Call", VXLA_CALL(Call(d.b, d.computation, /*args=*/{d.scalar, d.scalar}))},
    {"CompositeCall", VXLA_CALL(CompositeCall(d.b, d.computation, {d.scalar, d.scalar}, /*name=*/"foo.bar",
                                              /*attributes=*/"{n = 1 : i32, tensor = dense<1> : tensor<i32>}", 1))},
    {"Map", VXLA_CALL(Map(d.b, {Map(d.b, {d.operand, d.operand}, d.computation, /*dimensions=*/{0, 1})}, d.computation,
                          {0, 1}, /*static_operands=*/{d.scalar}))},
    {"While",
     [](Document& d) {
       XlaBuilder condition("condition");
       Parameter(&condition, 0, d.shape);
       return While(*condition.Build(ConstantR0<bool>(&condition, false)), /*body=*/d.Identity(d.shape), d.operand);
     }},
    {"Conditional",
     VXLA_CALL(Conditional(
         d.branch_index, /*branch_computations=*/{d.Identity(d.shape), d.Identity(d.shape)},
         /*branch_operands=*/{Conditional(d.pred, d.lhs, d.Identity(d.shape), d.rhs, d.Identity(d.shape)), d.rhs}))},
    {"AfterAll", VXLA_CALL(AfterAll(d.b, {CreateToken(d.b), CreateToken(d.b)}))},
    {"CreateToken", VXLA_CALL(CreateToken(d.b))},
    {"AddDependency", VXLA_CALL(AddDependency(d.operand, CreateToken(d.b)))},
    {"Domain", VXLA_CALL(Domain(d.operand, "sharding", "{replicated}", "{maximal device=0}"))},
    {"AsyncStart", VXLA_CALL(AsyncStart(d.b, {d.operand}, d.Identity(d.shape), "side"))},
    {"AsyncUpdate", VXLA_CALL(AsyncUpdate(AsyncStart(d.b, {d.operand}, d.Identity(d.shape))))},
    {"AsyncDone", VXLA_CALL(AsyncDone(AsyncStart(d.b, {d.operand}, d.Identity(d.shape))))},
    {"CopyStart", VXLA_CALL(CopyStart(d.operand))},
    {"CopyDone", VXLA_CALL(CopyDone(CopyStart(d.operand)))},
    {"AllReduce", VXLA_CALL(AllReduce(d.operand, d.computation, d.replica_groups, d.channel_id))},
    {"CrossReplicaSum", VXLA_CALL(CrossReplicaSum(d.operand, d.replica_groups))},
    {"AllGather", VXLA_CALL(AllGather(d.operand, /*all_gather_dim=*/0, /*shard_count=*/2, d.replica_groups, d.channel_id))},
    {"ReduceScatter", VXLA_CALL(ReduceScatter(d.operand, d.computation, /*scatter_dim=*/0, /*shard_count=*/2,
                                              d.replica_groups, d.channel_id))},
    {"AllToAll", VXLA_CALL(AllToAll(d.operand, /*split_dimension=*/1, /*concat_dimension=*/0, /*split_count=*/2,
                                    d.replica_groups))},
    {"AllToAllTuple", VXLA_CALL(AllToAllTuple({d.operand, d.operand}, d.replica_groups))},
    {"RaggedAllToAll",
     [](Document& d) {
       const XlaOp two = d.Of(S32, {2});
       return RaggedAllToAll(d.operand, d.operand, two, two, two, two, d.replica_groups);
     }},
    {"CollectivePermute", VXLA_CALL(CollectivePermute(d.operand, /*source_target_pairs=*/{{0, 1}, {1, 0}}))},
    {"CollectiveBroadcast", VXLA_CALL(CollectiveBroadcast(d.operand, d.replica_groups))},
    {"ReplicaId", VXLA_CALL(ReplicaId(d.b))},
    {"PartitionId", VXLA_CALL(PartitionId(d.b))},
    {"Infeed", VXLA_CALL(Infeed(d.b, d.shape))},
    {"Outfeed", VXLA_CALL(Outfeed(d.operand, d.shape, /*outfeed_config=*/""))},
    {"Send", VXLA_CALL(Send(d.operand, d.channel_handle))},
    {"SendDone", VXLA_CALL(SendDone(SendWithToken(d.operand, CreateToken(d.b), d.channel_handle)))},
    {"Recv", VXLA_CALL(Recv(d.b, d.shape, d.channel_handle))},
    {"RecvDone", VXLA_CALL(RecvDone(RecvWithToken(CreateToken(d.b), d.shape, d.channel_handle)))},
    {"CustomCall", VXLA_CALL(CustomCall(d.b, "myfunc", {d.lhs, d.rhs}, ShapeUtil::MakeShape(F32, {3, 3})))}};

const Call1* FindCall(const std::string& name) {
  for (const auto* table : {&kElementwise, &kMovement, &kCompute, &kControl}) {
    if (const auto found = table->find(name); found != table->end()) return &found->second;
  }
  return nullptr;
}

TEST(BuilderFunctionsTest, EveryFunctionOfTheDocumentsIsBuiltVerifiedAndReadBack) {
  for (const char* name : kNames) {
    SCOPED_TRACE(name);
    const Call1* call = FindCall(name);
    ASSERT_NE(call, nullptr) << "no call of " << name;
    Document document;
    const XlaOp root = (*call)(document);
    const Result<XlaComputation> built = document.builder.Build(root);
    ASSERT_TRUE(built.ok()) << built.status().message();
    const Status verified = Verify(built->module());
    EXPECT_TRUE(verified.ok()) << verified.message();
    const std::string text = PrintHlo(built->module());
    const auto parsed = ParseHlo(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
    std::string difference;
    EXPECT_TRUE(Equal(built->module(), **parsed, &difference)) << difference << "\n" << text;
  }
}

TEST(BuilderFunctionsTest, ChannelsAndIdsReachTheInstruction) {
  Document d;
  const auto& reduce = AllReduce(d.operand, d.computation, d.replica_groups, d.channel_id, {}, true)
                           .instruction()
                           ->attributes<CollectiveAttributes>();
  EXPECT_EQ(reduce.channel_id, 7);
  EXPECT_TRUE(reduce.use_global_device_ids);
  EXPECT_EQ(reduce.replica_groups.groups, (std::vector<IntList>{{0, 2}, {1, 3}}));
  EXPECT_EQ(SendWithToken(d.operand, CreateToken(d.b), d.channel_handle)
                .instruction()
                ->attributes<SendRecvAttributes>()
                .channel_id,
            5);
}

TEST(BuilderFunctionsTest, AComputationThatWasNeverBuiltIsAnError) {
  Document d;
  EXPECT_EQ(ErrorOf(Map(d.b, {d.operand, d.operand}, XlaComputation(), {0, 1})),
            "map: a computation that was never built");
}

TEST(BuilderFunctionsTest, RowsOfOneLength) {
  XlaBuilder builder("rows");
  EXPECT_EQ(ErrorOf(ConstantR2<float>(&builder, {{1, 2}, {3}})), "constant: rows of 2 and 1 values");
}

}  // namespace
}  // namespace VXLA_NAMESPACE::testing
