#include "core/ir/attributes.h"

#include <fmt/format.h>

#include "core/ir/reserved_names.h"

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

namespace {

template <typename T>
Attributes Of() {
  return T{};
}

#define VXLA_ROW(Name, hlo, stablehlo, operands, family, Kind, ...) &Of<Kind##Attributes>,
constexpr Attributes (*kMakers[])() = {
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
    // clang-format on
};

}  // namespace

Attributes DefaultAttributes(Opcode opcode) { return kMakers[static_cast<size_t>(opcode)](); }

}  // namespace VXLA_NAMESPACE
