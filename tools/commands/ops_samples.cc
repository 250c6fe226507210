#include "tools/commands/ops_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/cpu/reference/evaluator.h"
#include "backend/vulkan/lower/lower.h"
#include "core/passes/base/pipeline.h"
#include "core/passes/base/verifier.h"
#include "core/passes/devices/one_device.h"
#include "core/passes/expand/expanders.h"
#include "core/passes/sizes/live_specializer.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

struct Sample {
  Opcode opcode;
  std::string_view functions;
  // "x=$[6]; y=$[] => $[6] op(x, y)": parameters and one instruction; $ is the element type, # an unsigned type of its
  // width. Empty: nothing depends on element types.
  std::string_view program;
};

using enum Opcode;
constexpr std::string_view kOne = "x=$[6] => @(x)", kTwo = "x=$[6] => @(x, x)";
constexpr std::string_view kCollective = "x=$[4] => $[4] @(x), replica_groups={}";

// The rows whose function is not called like the opcode, or whose program is not @ over one or two operands.
constexpr Sample kSamples[] = {
    {kClamp, "Clamp", "x=$[6] => @(x, x, x)"},
    {kCompare,
     "Eq Ne Ge Gt Le Lt EqTotalOrder NeTotalOrder GeTotalOrder GtTotalOrder LeTotalOrder LtTotalOrder Compare",
     "x=$[6] => @(x, x), direction=EQ"},
    {kConvert, "ConvertElementType", "x=f32[6] => $[6] @(x)"},
    {kReducePrecision, "ReducePrecision", "x=$[6] => $[6] @(x), exponent_bits=4, mantissa_bits=3"},
    {kSelect, "Select", "p=pred[6]; x=$[6] => @(p, x, x)"},
    {kStochasticConvert, "StochasticConvertType", "x=$[6]; b=#[6] => $[6] @(x, b)"},
    {kAnd, "And LogicalAnd", kTwo},
    {kDivide, "Div", kTwo},
    {kMaximum, "Max", kTwo},
    {kMinimum, "Min", kTwo},
    {kMultiply, "Mul", kTwo},
    {kNegate, "Neg", kOne},
    {kNot, "Not LogicalNot", kOne},
    {kOr, "Or LogicalOr", kTwo},
    {kPower, "Pow", kTwo},
    {kRemainder, "Rem", kTwo},
    {kRoundNearestAfz, "Round", kOne},
    {kSubtract, "Sub", kTwo},
    {kBitcastConvert, "BitcastConvertType", "x=$[6] => $[6] @(x)"},
    {kReshape, "Reshape Collapse", "x=$[6] => $[2,3] @(x)"},
    {kBroadcast, "Broadcast BroadcastInDim", "x=$[6] => $[2,6] @(x), dimensions={1}"},
    {kConcatenate, "ConcatInDim", "x=$[6] => @(x, x), dimensions={0}"},
    {kCopy, "Copy", kOne},
    {kIota, "Iota", "=> $[6] @(), iota_dimension=0"},
    {kPad, "Pad PadInDim", "x=$[6]; z=$[] => @(x, z), padding=1_1"},
    {kReverse, "Rev", "x=$[6] => @(x), dimensions={0}"},
    {kSlice, "Slice SliceInDim", "x=$[6] => $[2] @(x), slice={[1:3]}"},
    {kTranspose, "Transpose", "x=$[2,3] => @(x), dimensions={1,0}"},
    {kBitcast, "", "x=$[6] => $[2,3] @(x)"},
    {kCopyStart, "CopyStart", ""},
    {kCopyDone, "CopyDone", ""},
    {kDynamicReshape, "DynamicReshape", "x=$[6]; n=s32[] => $[<=6] @(x, n)"},
    {kGetDimensionSize, "GetDimensionSize", "x=$[6] => @(x), dimensions={0}"},
    {kSetDimensionSize, "SetDimensionSize", "x=$[6]; n=s32[] => @(x, n), dimensions={0}"},
    {kShuffle, "", kOne},
    {kDynamicSlice, "DynamicSlice", "x=$[6]; i=s32[] => $[2] @(x, i), dynamic_slice_sizes={2}"},
    {kDynamicUpdateSlice, "DynamicUpdateSlice", "x=$[6]; u=$[2]; i=s32[] => $[6] @(x, u, i)"},
    {kGather, "Gather",
     "x=$[6]; i=s32[2,1] => @(x, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, "
     "slice_sizes={1}"},
    {kScatter, "Scatter",
     "x=$[6]; i=s32[2,1]; u=$[2] => @(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second"},
    {kDot, "Dot DotGeneral", "x=$[2,3]; y=$[3,2] => @(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {kRaggedDot, "RaggedDot",
     "x=$[4,3]; y=$[2,3,5]; g=s32[2] => @(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
     "lhs_ragged_dims={0}, rhs_group_dims={0}"},
    {kScaledDot, "", "x=$[2,4]; s=$[2,1] => $[2,2] @(x, x, s, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
    {kConvolution, "Conv ConvWithGeneralPadding ConvWithGeneralDimensions ConvGeneral ConvGeneralDilated",
     "x=$[1,1,4]; k=$[1,1,2] => @(x, k), window={size=2}, dim_labels=bf0_oi0->bf0"},
    {kReduce, "Reduce ReduceAll", "x=$[6]; z=$[] => @(x, z), dimensions={0}, to_apply=sum"},
    {kReduceWindow, "ReduceWindow ReduceWindowWithGeneralPadding",
     "x=$[6]; z=$[] => @(x, z), window={size=2}, to_apply=sum"},
    {kSelectAndScatter, "SelectAndScatter SelectAndScatterWithGeneralPadding",
     "x=$[6]; s=$[3]; z=$[] => @(x, s, z), window={size=2 stride=2}, select=equal, scatter=second"},
    {kScan, "Scan", "x=$[6]; z=$[] => ($[6], $[]) @(x, z), dimensions={0}, num_carries=1, to_apply=both"},
    {kSort, "Sort", "x=$[6] => @(x), dimensions={0}, to_apply=equal"},
    {kTopK, "TopK", "x=$[6] => @(x), k=2"},
    {kFft, "Fft", "x=$[6] => @(x), fft_type=FFT, fft_length={6}"},
    {kCholesky, "Cholesky", "x=$[2,2] => @(x), lower=true"},
    {kTriangularSolve, "TriangularSolve", "x=$[2,2] => @(x, x), left_side=true, lower=true"},
    {kBatchNormGrad, "BatchNormGrad", "x=$[2,3]; v=$[3] => @(x, v, v, v, x), epsilon=0.1, feature_index=1"},
    {kBatchNormInference, "BatchNormInference", "x=$[2,3]; v=$[3] => @(x, v, v, v, v), epsilon=0.1, feature_index=1"},
    {kBatchNormTraining, "BatchNormTraining", "x=$[2,3]; v=$[3] => @(x, v, v), epsilon=0.1, feature_index=1"},
    {kRngBitGenerator, "RngBitGenerator", "s=u64[2] => (u64[2], $[6]) @(s), algorithm=rng_three_fry"},
    {kRng, "RngUniform RngNormal RngBernoulli", "a=$[] => $[6] @(a, a), distribution=rng_uniform"},
    {kRngGetAndUpdateState, "RngGetAndUpdateState", ""},
    {kFusion, "", ""},
    {kConstant, "ConstantLiteral ConstantR0 ConstantR1 ConstantR2 ConstantScalar", ""},
    {kGetTupleElement, "GetTupleElement", ""},
    {kOptimizationBarrier, "OptimizationBarrier", ""},
    {kParameter, "Parameter", ""},
    {kTuple, "Tuple", ""},
    {kCall, "Call CompositeCall", ""},
    {kMap, "Map", "x=$[6] => @(x, x), dimensions={0}, to_apply=second"},
    {kConditional, "Conditional", ""},
    {kWhile, "While", ""},
    {kAddDependency, "AddDependency", ""},
    {kAfterAll, "AfterAll CreateToken", ""},
    {kAsyncStart, "AsyncStart", ""},
    {kAsyncUpdate, "AsyncUpdate", ""},
    {kAsyncDone, "AsyncDone", ""},
    {kDomain, "Domain", ""},
    {kAllGather, "AllGather", "x=$[4] => $[4] @(x), replica_groups={}, dimensions={0}"},
    {kAllGatherStart, "", ""},
    {kAllGatherDone, "", ""},
    {kAllReduce, "AllReduce CrossReplicaSum", "x=$[4] => $[4] @(x), replica_groups={}, to_apply=second"},
    {kAllReduceStart, "", ""},
    {kAllReduceDone, "", ""},
    {kAllToAll, "AllToAll AllToAllTuple", "x=$[4] => $[4] @(x), replica_groups={}, dimensions={0}"},
    {kCollectiveBroadcast, "CollectiveBroadcast", kCollective},
    {kCollectivePermute, "CollectivePermute", "x=$[4] => $[4] @(x), source_target_pairs={}"},
    {kCollectivePermuteStart, "", ""},
    {kCollectivePermuteDone, "", ""},
    {kCollectiveReduce, "", "x=$[4] => $[4] @(x), replica_groups={}, to_apply=second"},
    {kPartitionId, "PartitionId", ""},
    {kRaggedAllToAll, "RaggedAllToAll", "x=$[4]; i=s32[1] => $[4] @(x, x, i, i, i, i), replica_groups={}"},
    {kReduceScatter, "ReduceScatter", "x=$[4] => $[4] @(x), replica_groups={}, dimensions={0}, to_apply=second"},
    {kReplicaId, "ReplicaId", ""},
    {kCustomCall, "CustomCall", ""},
    {kInfeed, "Infeed", ""},
    {kOutfeed, "Outfeed", ""},
    {kRecv, "Recv RecvWithToken", ""},
    {kRecvDone, "RecvDone", ""},
    {kSend, "Send SendWithToken", ""},
    {kSendDone, "SendDone", ""},
};

const Sample* FindSample(Opcode opcode) {
  const auto found = std::ranges::find(kSamples, opcode, &Sample::opcode);
  return found == std::end(kSamples) ? nullptr : found;
}

std::string_view ProgramOf(Opcode opcode) {
  if (const Sample* sample = FindSample(opcode)) return sample->program;
  return FactsOf(opcode).operand_count == 1 ? kOne : kTwo;
}

// pred has no addition in the sense of numbers, and complex types no maximum: each type's own sum.
std::string Computations(ElementType type) {
  return fmt::format(
      "HloModule sample\n"
      "sum {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n ROOT r = {0}[] {1}(a, b) }}\n"
      "second {{ a = {0}[] parameter(0)\n ROOT b = {0}[] parameter(1) }}\n"
      "equal {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=EQ }}\n"
      "both {{ a = {0}[] parameter(0)\n b = {0}[] parameter(1)\n ROOT r = ({0}[], {0}[]) tuple(a, b) }}\n",
      ElementTypeName(type), type == ElementType::kPred ? "or" : "add");
}

// The module of a sample for a type.
std::string ModuleText(Opcode opcode, ElementType type) {
  const std::string_view program = ProgramOf(opcode);
  const size_t arrow = program.find("=> ");
  std::string text = Computations(type) + "ENTRY e {\n";
  int number = 0;
  for (size_t at = 0; at < arrow;) {  // name=shape;
    const size_t equals = program.find('=', at), end = std::min(program.find(';', equals), arrow);
    if (equals >= arrow) break;
    const std::string_view shape = program.substr(equals + 1, end - equals - 1);
    text += fmt::format("{} = {} parameter({})\n", program.substr(at, equals - at), shape, number++);
    at = end == arrow ? arrow : end + 2;
  }
  text += fmt::format("ROOT r = {}\n}}\n", program.substr(arrow + 3));
  std::string result;
  for (const char c : text) {
    if (c == '$') {
      result += ElementTypeName(type);
    } else if (c == '#') {
      result += fmt::format("u{}", BitWidth(type));
    } else if (c == '@') {
      result += OpcodeText(opcode);
    } else {
      result += c;
    }
  }
  return result;
}

std::unique_ptr<Module> SampleModule(Opcode opcode, ElementType type) {
  auto module = ParseHlo(ModuleText(opcode, type));
  if (!module.ok() || !Verify(**module).ok()) return nullptr;
  return std::move(*module);
}

DeviceFacts FactsWithFeatures(bool present) {
  DeviceFacts facts;
  facts.int64 = facts.float64 = facts.float16 = present;
  facts.storage16 = facts.storage8 = facts.subgroup_shuffle = present;
  facts.buffer_addresses = true;
  facts.max_storage_buffers = 16;
  facts.subgroup_size = present ? 32 : 1;
  return facts;
}

// Kinds that codegen and lowering decide; the scheduler and the passes handle the others whatever their types.
bool IsLowered(OpcodeKind kind) {
  return kind == OpcodeKind::kElementwise || kind == OpcodeKind::kIndexing || kind == OpcodeKind::kKernel;
}

// Whether the passes put other operations in the place of this one.
bool IsRewritten(const Module& module, Opcode opcode) {
  const auto optimized = Optimize(module, {});
  if (!optimized.ok()) return false;
  return std::ranges::none_of((*optimized)->computations(), [&](const auto& computation) {
    return std::ranges::any_of(computation->instructions(), [&](const auto& i) { return i->opcode() == opcode; });
  });
}

// The same for programs of live sizes, which are compiled at these sizes.
bool IsSpecialized(const Module& module, Opcode opcode) {
  if (!HasLiveSizes(module)) return false;
  const auto fold = [](const Instruction& instruction, auto operands) {
    return EvaluateInstruction(instruction, operands);
  };
  const std::unique_ptr<Module> of_one = module.Clone();
  ExpandForOneDevice(*of_one);
  const auto specialized = SpecializeAtLikelySizes(*of_one, fold);
  return specialized.ok() && *specialized != nullptr && IsRewritten(**specialized, opcode);
}

}  // namespace

std::string_view BuilderFunctions(Opcode opcode) {
  const Sample* sample = FindSample(opcode);
  return sample == nullptr ? FactsOf(opcode).name : sample->functions;
}

OpTypes TypesOf(Opcode opcode) {
  OpTypes types;
  types.typed = !ProgramOf(opcode).empty();
  if (!types.typed) return types;
  const auto with = vulkan::MakeLowering(FactsWithFeatures(true), BindingMode::kAddresses);
  const auto without = vulkan::MakeLowering(FactsWithFeatures(false), BindingMode::kAddresses);
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (!IsArrayElement(type)) continue;
    const std::unique_ptr<Module> module = SampleModule(opcode, type);
    if (module == nullptr) continue;
    types.accepted.push_back(type);
    const OpcodeKind kind = KindOf(opcode);
    if (kind == OpcodeKind::kPending || kind == OpcodeKind::kUnevaluated) continue;
    const bool specialized = IsSpecialized(*module, opcode);
    if (kind == OpcodeKind::kExpanded && !specialized && !IsRewritten(*module, opcode)) continue;
    const Instruction* root = module->entry()->root();
    if (WidenLinearAlgebra(*module)) root = module->entry()->root()->operand(0);
    const bool lowered = IsLowered(kind) && !specialized;
    if (!lowered || with->CanLower(*root).ok()) types.native.push_back(type);
    if (!lowered || without->CanLower(*root).ok()) types.emulated.push_back(type);
  }
  return types;
}

std::string TypesText(const std::vector<ElementType>& types) {
  struct Class {
    std::string_view name;
    bool (*contains)(ElementType);
  };
  constexpr std::array<Class, 5> kClasses = {{{"pred", [](ElementType t) { return t == ElementType::kPred; }},
                                              {"signed", IsSigned},
                                              {"unsigned", IsUnsigned},
                                              {"float", IsFloating},
                                              {"complex", IsComplex}}};
  std::string text;
  int whole = 0;
  for (const Class& c : kClasses) {
    std::string names, missing;
    int count = 0, present = 0;
    for (int t = 0; t < kElementTypeCount; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (!c.contains(type)) continue;
      ++count;
      const bool here = std::ranges::find(types, type) != types.end();
      present += here ? 1 : 0;
      (here ? names : missing) += fmt::format(" {}", ElementTypeName(type));
    }
    if (present == 0) continue;
    whole += present == count ? 1 : 0;
    if (!text.empty()) text += ' ';
    if (present == count) {
      text += c.name;
    } else if (present > count / 2) {
      text += fmt::format("{} (not{})", c.name, missing);
    } else {
      text += names.substr(1);
    }
  }
  if (whole == static_cast<int>(kClasses.size())) return "any";
  const size_t both = text.find("signed unsigned");
  if (both != std::string::npos) text.replace(both, 15, "integer");
  return text.empty() ? "-" : text;
}

}  // namespace VXLA_NAMESPACE
