#include "core/attributes.h"

namespace VXLA_NAMESPACE {

Attributes DefaultAttributes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
      return ParameterAttributes{};
    case Opcode::kConstant:
      return ConstantAttributes{};
    case Opcode::kIota:
      return IotaAttributes{};
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kConcatenate:
    case Opcode::kReduce:
    case Opcode::kMap:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
      return DimensionsAttributes{};
    case Opcode::kCompare:
      return CompareAttributes{};
    case Opcode::kReducePrecision:
      return ReducePrecisionAttributes{};
    case Opcode::kSlice:
      return SliceAttributes{};
    case Opcode::kPad:
      return PadAttributes{};
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      return DotAttributes{};
    case Opcode::kConvolution:
      return ConvolutionAttributes{};
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      return WindowAttributes{};
    case Opcode::kScan:
      return ScanAttributes{};
    case Opcode::kDynamicSlice:
      return DynamicSliceAttributes{};
    case Opcode::kGather:
      return GatherAttributes{};
    case Opcode::kScatter:
      return ScatterAttributes{};
    case Opcode::kSort:
      return SortAttributes{};
    case Opcode::kTopK:
      return TopKAttributes{};
    case Opcode::kFft:
      return FftAttributes{};
    case Opcode::kCholesky:
      return CholeskyAttributes{};
    case Opcode::kTriangularSolve:
      return TriangularSolveAttributes{};
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return BatchNormAttributes{};
    case Opcode::kRng:
      return RngAttributes{};
    case Opcode::kRngBitGenerator:
      return RngBitGeneratorAttributes{};
    case Opcode::kRngGetAndUpdateState:
      return RngGetAndUpdateStateAttributes{};
    case Opcode::kGetTupleElement:
      return GetTupleElementAttributes{};
    case Opcode::kCall:
      return CallAttributes{};
    case Opcode::kFusion:
      return FusionAttributes{};
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return AsyncAttributes{};
    case Opcode::kCopyStart:
      return CopyStartAttributes{};
    case Opcode::kDomain:
      return DomainAttributes{};
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return CollectiveAttributes{};
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      return CollectivePermuteAttributes{};
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kSend:
    case Opcode::kSendDone:
      return SendRecvAttributes{};
    case Opcode::kInfeed:
      return InfeedAttributes{};
    case Opcode::kOutfeed:
      return OutfeedAttributes{};
    case Opcode::kCustomCall:
      return CustomCallAttributes{};
    default:
      return FactsOf(opcode).kind == OpcodeKind::kElementwise && FactsOf(opcode).operand_count == 1
                 ? Attributes(UnaryAttributes{})
                 : Attributes(NoAttributes{});
  }
}

}  // namespace VXLA_NAMESPACE
