#include "api/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/reference/evaluator.h"
#include "core/module.h"
#include "core/passes/verifier.h"
#include "core/text/hlo_parser.h"

namespace VXLA_NAMESPACE {
namespace {

// What MLIR's printer and its bytecode writer begin with.
bool LooksLikeMlir(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view start : {"module @", "module attributes", "module {", "func.func", "#loc", "ML\xefR"}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

std::string NamePrefix(const std::string& name) { return name.empty() ? "" : name + ": "; }

}  // namespace

Status AtPlace(const Status& status, const std::string& name) {
  const SourceLocation at = status.location();
  if (at.line == 0) return status;
  const std::string place = fmt::format("{}{}:{}: ", name.empty() ? "" : name + ":", at.line, at.column);
  return status.message().starts_with(place) ? status : Status(status).WithPrefix(place);
}

Result<std::unique_ptr<Module>> ParseProgram(std::string_view text, const std::string& name) {
  auto placed = [&](const Status& status) {
    return status.location().line > 0 ? AtPlace(status, name) : Status(status).WithPrefix(NamePrefix(name));
  };
  Result<std::unique_ptr<Module>> module = ParseHlo(text);
  if (!module.ok() && LooksLikeMlir(text))
    return Unsupported("{}MLIR (StableHLO) is not read; HLO text is", NamePrefix(name));
  if (!module.ok()) return placed(module.status());
  if (const Status status = Verify(**module); !status.ok()) return placed(status);
  return module;
}

Status CheckRunnable(const Module& module, const std::string& name, const CustomCallRegistry* registry) {
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      if (HasEvaluation(i->opcode())) continue;
      const Status status = Unsupported("{}: the op {} is read and printed, but no document says what it computes",
                                        i->name(), OpcodeText(i->opcode()));
      return AtPlace(Status(status).At(i->location()), name);
    }
  }
  return AtPlace(CheckCustomCalls(module, registry, /*kernels_will_do=*/true), name);
}

}  // namespace VXLA_NAMESPACE
