// Opcode: every HLO opcode, and the facts of core/opcode.def about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace VXLA_NAMESPACE {

enum class Opcode : uint8_t {
#define VXLA_ROW(Name, ...) k##Name,
// clang-format off
#include "core/opcode_rows.h"
#include "core/opcode.def"
#include "core/opcode_rows_end.h"
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

struct OpcodeFacts {
  std::string_view name;            // of the enumerator, "ShiftLeft"
  std::string_view hlo_text;        // "shift-left"
  std::string_view stablehlo_text;  // "shift_left", empty if StableHLO has none
  int operand_count;                // -1: any number
  std::string_view family;
  OpcodeKind kind;
};

int OpcodeCount();
const OpcodeFacts& FactsOf(Opcode opcode);
inline std::string_view OpcodeText(Opcode opcode) { return FactsOf(opcode).hlo_text; }
std::optional<Opcode> ParseOpcode(std::string_view hlo_text);

inline OpcodeKind KindOf(Opcode opcode) { return FactsOf(opcode).kind; }
inline bool IsElementwise(Opcode opcode) { return KindOf(opcode) == OpcodeKind::kElementwise; }

}  // namespace VXLA_NAMESPACE
