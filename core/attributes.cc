#include "core/attributes.h"

#include <fmt/format.h>

#include <utility>

#include "core/reserved_names.h"

namespace VXLA_NAMESPACE {

Attributes::Attributes() = default;
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;

bool operator==(const Attributes& a, const Attributes& b) {
  return static_cast<const AnyAttributes&>(a) == static_cast<const AnyAttributes&>(b);
}

template <typename T>
requires kIsAlternative<T, AnyAttributes> Attributes::Attributes(T attributes) : AnyAttributes(std::move(attributes)) {}

template Attributes::Attributes(NoAttributes);
template Attributes::Attributes(UnaryAttributes);
template Attributes::Attributes(ParameterAttributes);
template Attributes::Attributes(ConstantAttributes);
template Attributes::Attributes(IotaAttributes);
template Attributes::Attributes(DimensionsAttributes);
template Attributes::Attributes(CompareAttributes);
template Attributes::Attributes(ReducePrecisionAttributes);
template Attributes::Attributes(SliceAttributes);
template Attributes::Attributes(PadAttributes);
template Attributes::Attributes(DotAttributes);
template Attributes::Attributes(ConvolutionAttributes);
template Attributes::Attributes(WindowAttributes);
template Attributes::Attributes(ScanAttributes);
template Attributes::Attributes(DynamicSliceAttributes);
template Attributes::Attributes(GatherAttributes);
template Attributes::Attributes(ScatterAttributes);
template Attributes::Attributes(SortAttributes);
template Attributes::Attributes(TopKAttributes);
template Attributes::Attributes(FftAttributes);
template Attributes::Attributes(CholeskyAttributes);
template Attributes::Attributes(TriangularSolveAttributes);
template Attributes::Attributes(BatchNormAttributes);
template Attributes::Attributes(RngAttributes);
template Attributes::Attributes(RngBitGeneratorAttributes);
template Attributes::Attributes(RngGetAndUpdateStateAttributes);
template Attributes::Attributes(GetTupleElementAttributes);
template Attributes::Attributes(CallAttributes);
template Attributes::Attributes(FusionAttributes);
template Attributes::Attributes(AsyncAttributes);
template Attributes::Attributes(CopyStartAttributes);
template Attributes::Attributes(DomainAttributes);
template Attributes::Attributes(CollectiveAttributes);
template Attributes::Attributes(CollectivePermuteAttributes);
template Attributes::Attributes(SendRecvAttributes);
template Attributes::Attributes(InfeedAttributes);
template Attributes::Attributes(OutfeedAttributes);
template Attributes::Attributes(CustomCallAttributes);

CustomCallAttributes OwnCall(CallKind kind, int64_t number) {
  constexpr std::string_view kNames[] = {"",         "dynamic_program", "observation",     "live_size_check",
                                         "exchange", "device",          "device_elsewhere"};
  CustomCallAttributes attributes;
  attributes.custom_call_target = fmt::format("{}{}", kReservedPrefix, kNames[static_cast<size_t>(kind)]);
  if (number > 0) attributes.custom_call_target += fmt::format(".{}", number);
  attributes.kind = kind;
  attributes.number = number;
  return attributes;
}

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
