// vxla ops: every operation and where it runs, straight from core/opcode.def.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backend/cpu/evaluator.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/ops_table.h"
#include "tools/session.h"

namespace vxla {
namespace {

const char* VulkanText(OpcodeKind kind) {
  switch (kind) {
    case OpcodeKind::kElementwise:
    case OpcodeKind::kIndexing: return "fused";
    case OpcodeKind::kAlias: return "no copy";
    case OpcodeKind::kKernel: return "kernel";
    case OpcodeKind::kScheduled: return "scheduler";
    case OpcodeKind::kExpanded: return "rewritten";
    case OpcodeKind::kPending: return "on the CPU";
    case OpcodeKind::kUnevaluated: return "-";
  }
  return "";
}

}  // namespace

std::string OpsTable() {
  std::string text = "| HLO | StableHLO | family | CPU | Vulkan |\n|---|---|---|---|---|\n";
  for (int i = 0; i < OpcodeCount(); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const OpcodeFacts& facts = FactsOf(opcode);
    text += fmt::format("| {} | {} | {} | {} | {} |\n", facts.hlo_text, facts.stablehlo_text, facts.family, HasEvaluation(opcode) ? "yes" : "-",
                        VulkanText(facts.kind));
  }
  return text;
}

CommandBody AddOps(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "the table as JSON");
  return [json] {
    if (!*json) return Report(WriteText("-", OpsTable()));
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (int i = 0; i < OpcodeCount(); ++i) {
      const auto opcode = static_cast<Opcode>(i);
      const OpcodeFacts& facts = FactsOf(opcode);
      list.push_back({{"name", facts.name}, {"hlo", facts.hlo_text}, {"stablehlo", facts.stablehlo_text}, {"family", facts.family},
                      {"cpu", HasEvaluation(opcode)}, {"vulkan", VulkanText(facts.kind)}});
    }
    return Report(WriteText("-", list.dump(2) + "\n"));
  };
}

}  // namespace vxla
