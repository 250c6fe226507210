// vxla ops: every operation, how to build and write it, and where it runs with which element types.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backend/cpu/reference/evaluator.h"
#include "tools/commands.h"
#include "tools/commands/ops_samples.h"
#include "tools/commands/ops_table.h"
#include "tools/files.h"
#include "tools/session.h"

namespace VXLA_NAMESPACE {
namespace {

const char* HowText(OpcodeKind kind) {
  switch (kind) {
    case OpcodeKind::kElementwise:
    case OpcodeKind::kIndexing:
      return "fused";
    case OpcodeKind::kAlias:
      return "no copy";
    case OpcodeKind::kKernel:
      return "kernel";
    case OpcodeKind::kScheduled:
      return "scheduler";
    case OpcodeKind::kExpanded:
      return "rewritten";
    case OpcodeKind::kPending:
      return "on the CPU";
    case OpcodeKind::kUnevaluated:
      return "-";
  }
  return "";
}

std::vector<ElementType> Without(const std::vector<ElementType>& types, const std::vector<ElementType>& others) {
  std::vector<ElementType> rest;
  for (const ElementType type : types) {
    if (std::ranges::find(others, type) == others.end()) rest.push_back(type);
  }
  return rest;
}

// "native (fused)", "native (kernel), emulated; fallback: f8e8m0fnu", "fallback".
std::string VulkanText(Opcode opcode, const OpTypes& types) {
  const OpcodeKind kind = KindOf(opcode);
  if (kind == OpcodeKind::kPending) return "fallback";
  if (types.typed && types.native.empty()) return "fallback";
  if (!types.typed) return fmt::format("native ({})", HowText(kind));
  std::string text = fmt::format("native ({})", HowText(kind));
  const std::vector<ElementType> not_emulated = Without(types.native, types.emulated);
  text += not_emulated.empty() ? ", emulated" : fmt::format(", emulated but {}", TypesText(not_emulated));
  const std::vector<ElementType> fallback = Without(types.accepted, types.native);
  if (!fallback.empty()) text += fmt::format("; fallback: {}", TypesText(fallback));
  return text;
}

nlohmann::ordered_json Names(const std::vector<ElementType>& types) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const ElementType type : types) names.push_back(ElementTypeName(type));
  return names;
}

nlohmann::ordered_json OpJson(Opcode opcode) {
  const OpcodeFacts& facts = FactsOf(opcode);
  const OpTypes types = TypesOf(opcode);
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  for (std::string_view rest = BuilderFunctions(opcode); !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    functions.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  nlohmann::ordered_json op = {{"name", facts.name},           {"builder", functions},
                               {"hlo", facts.hlo_text},        {"stablehlo", facts.stablehlo_text},
                               {"family", facts.family},       {"cpu", true},
                               {"vulkan", HowText(facts.kind)}};
  if (types.typed) {
    op["types"] = Names(types.accepted);
    op["native"] = Names(types.native);
    op["emulated"] = Names(types.emulated);
    op["fallback"] = Names(Without(types.accepted, types.native));
  }
  return op;
}

}  // namespace

// HLO's shuffle is left out: its text is read and printed, but no document says what it computes.
std::string OpsTable() {
  std::string text = "| builder | HLO | StableHLO | CPU | Vulkan | types |\n|---|---|---|---|---|---|\n";
  for (int i = 0; i < OpcodeCount(); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!HasEvaluation(opcode)) continue;
    const OpcodeFacts& facts = FactsOf(opcode);
    const OpTypes types = TypesOf(opcode);
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", BuilderFunctions(opcode), facts.hlo_text, facts.stablehlo_text,
                    "yes", VulkanText(opcode, types), types.typed ? TypesText(types.accepted) : "any");
  }
  return text;
}

CommandBody AddOps(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "the table as JSON");
  return [json](nlohmann::ordered_json& list) {
    if (!*json) return WriteText("-", OpsTable());
    list = nlohmann::ordered_json::array();
    for (int i = 0; i < OpcodeCount(); ++i) {
      if (HasEvaluation(static_cast<Opcode>(i))) list.push_back(OpJson(static_cast<Opcode>(i)));
    }
    return OkStatus();
  };
}

}  // namespace VXLA_NAMESPACE
