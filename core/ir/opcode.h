// Opcode: every HLO opcode, and the facts of core/ir/opcode.def about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace VXLA_NAMESPACE {

enum class Opcode : uint8_t {
#define VXLA_ROW(Name, ...) k##Name,
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
  // clang-format on
};

// How an op reaches the GPU: the macro of its row.
enum class OpcodeKind : uint8_t {
  kElementwise,
  kIndexing,
  kAlias,
  kKernel,
  kScheduled,
  kExpanded,
  kPending,
  kUnevaluated
};

// What holds of an opcode wherever it stands.
enum class Trait : uint32_t {
  kMeets = 1 << 0,          // a collective: devices of a group give one another values
  kTransfers = 1 << 1,      // to or from the host or one other device
  kDraws = 1 << 2,          // from a state of its device
  kTellsPlace = 1 << 3,     // which device it is
  kOnScalars = 1 << 4,      // its computations are applied to scalars, element by element, in no certain order
  kCalls = 1 << 5,          // may call computations otherwise
  kPassesOn = 1 << 6,       // computes nothing: values, or their order, go on as they are
  kStatesSizes = 1 << 7,    // its result at other bounds does not follow from its operands at these
  kWholeBounds = 1 << 8,    // its kernels go through the bounds, however little of them lives
  kAssociates = 1 << 9,     // of numbers, rounding aside; and commutes
  kCostly = 1 << 10,        // elementwise: some instructions
  kDear = 1 << 11,          // elementwise: tens of instructions
  kStatesShape = 1 << 12,   // its shape does not follow from its operands and attributes
  kAccumulates = 1 << 13,   // rounds sums to the result's type in the end
  kWidthVariant = 1 << 14,  // shaders compute it by another function for each width of integers
  kF16Variant = 1 << 15,    // and by one of its own for f16
};

struct OpcodeFacts {
  std::string_view name;            // of the enumerator, "ShiftLeft"
  std::string_view hlo_text;        // "shift-left"
  std::string_view stablehlo_text;  // "shift_left", empty if StableHLO has none
  int operand_count;                // -1: any number
  std::string_view family;
  OpcodeKind kind;
  uint32_t traits;  // of Trait
};

int OpcodeCount();
const OpcodeFacts& FactsOf(Opcode opcode);
inline std::string_view OpcodeText(Opcode opcode) { return FactsOf(opcode).hlo_text; }
// By its HLO text, or by another of its texts.
std::optional<Opcode> ParseOpcode(std::string_view text, std::string_view OpcodeFacts::*form = &OpcodeFacts::hlo_text);

inline OpcodeKind KindOf(Opcode opcode) { return FactsOf(opcode).kind; }
// One of them at least.
template <typename... Traits>
bool Has(Opcode opcode, Traits... traits) {
  return (FactsOf(opcode).traits & (static_cast<uint32_t>(traits) | ...)) != 0;
}
template <typename... Opcodes>
constexpr bool IsAnyOf(Opcode opcode, Opcodes... others) {
  return ((opcode == others) || ...);
}
inline bool IsElementwise(Opcode opcode) { return KindOf(opcode) == OpcodeKind::kElementwise; }

}  // namespace VXLA_NAMESPACE
