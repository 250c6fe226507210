#include "core/ir/opcode.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace VXLA_NAMESPACE {
namespace {

constexpr uint32_t AllOf(std::initializer_list<Trait> traits) {
  uint32_t all = 0;
  for (const Trait trait : traits) all |= static_cast<uint32_t>(trait);
  return all;
}

#define VXLA_FACTS(kind, Name, hlo, stablehlo, operands, family, Attributes, ...) \
  OpcodeFacts{#Name, hlo, stablehlo, operands, #family, OpcodeKind::kind, AllOf({__VA_ARGS__})},
#define ELEMENTWISE(...) VXLA_FACTS(kElementwise, __VA_ARGS__)
#define INDEXING(...) VXLA_FACTS(kIndexing, __VA_ARGS__)
#define ALIAS(...) VXLA_FACTS(kAlias, __VA_ARGS__)
#define KERNEL(...) VXLA_FACTS(kKernel, __VA_ARGS__)
#define SCHEDULED(...) VXLA_FACTS(kScheduled, __VA_ARGS__)
#define EXPANDED(...) VXLA_FACTS(kExpanded, __VA_ARGS__)
#define PENDING(...) VXLA_FACTS(kPending, __VA_ARGS__)
#define UNEVALUATED(...) VXLA_FACTS(kUnevaluated, __VA_ARGS__)
constexpr auto kOpcodeFacts = [] {
  using enum Trait;
  return std::array{
// clang-format off
#include "core/ir/opcode_rows.h"
#include "core/ir/opcode.def"
#include "core/ir/opcode_rows_end.h"
      // clang-format on
  };
}();
#undef VXLA_FACTS

}  // namespace

int OpcodeCount() { return static_cast<int>(kOpcodeFacts.size()); }

const OpcodeFacts& FactsOf(Opcode opcode) { return kOpcodeFacts[static_cast<size_t>(opcode)]; }

std::optional<Opcode> ParseOpcode(std::string_view text, std::string_view OpcodeFacts::*form) {
  const auto found = std::ranges::find(kOpcodeFacts, text, form);
  if (text.empty() || found == kOpcodeFacts.end()) return std::nullopt;
  return static_cast<Opcode>(found - kOpcodeFacts.begin());
}

}  // namespace VXLA_NAMESPACE
