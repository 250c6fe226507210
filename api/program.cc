#include "api/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/sharded_program.h"
#include "backend/cpu/reference/evaluator.h"
#include "core/mlir/bytecode/container.h"
#include "core/mlir/importer/bounded_program.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/passes/base/pipeline.h"
#include "core/text/hlo_parser.h"
#include "scheduler/bundle/bundle.h"

namespace VXLA_NAMESPACE {
namespace {

// Behind the comments at the beginning.
std::string_view FirstWords(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// MLIR text begins with a module, a function, an alias or an operation in its generic form; HLO text never does, but
// for computations called module.
bool IsMlirText(std::string_view text) {
  text = FirstWords(text);
  for (const std::string_view start :
       {"module @", "module attributes", "func.func", "func @", "func public", "func private", "#", "!", "\"", "{-#"}) {
    if (text.starts_with(start)) return true;
  }
  if (!text.starts_with("module")) return false;
  text = FirstWords(text.substr(6));
  if (!text.starts_with("{")) return false;
  text = FirstWords(text.substr(1));
  return text.empty() || text.starts_with("}") || text.starts_with("func") || text.starts_with("\"") ||
         text.starts_with("sdy.") || text.starts_with("^");
}

bool IsStablehlo(std::string_view text) { return text.starts_with(mlir::kBytecodeMagic) || IsMlirText(text); }

Result<mlir::PartitionedProgram> ParseText(std::string_view text, int64_t partitions, bool lists_arrays) {
  if (IsStablehlo(text)) return mlir::ParsePartitioned(text, partitions, lists_arrays);
  mlir::PartitionedProgram program;
  VXLA_ASSIGN_OR_RETURN(program.module, ParseHlo(text));
  return program;
}

// Null: the arguments decide sizes.
Result<std::unique_ptr<Module>> WithKnownSizes(const Module& module) {
  const mlir::DynamicProgram program = mlir::DynamicProgram::Of(module);
  mlir::ProgramFacts facts;
  for (const mlir::Type& type : program.parameters()) {
    if (type.unranked || mlir::HasUnknownSize(type.shape)) return std::unique_ptr<Module>();
    facts.arguments.push_back(type.shape);
  }
  VXLA_ASSIGN_OR_RETURN(SpecializedModule refined,
                        program.Refine(facts, [](const Instruction& i, std::span<const Literal* const> operands) {
                          return EvaluateInstruction(i, operands);
                        }));
  if (refined.is_question) return std::unique_ptr<Module>();
  return std::move(refined.module);
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
  VXLA_ASSIGN_OR_RETURN(ShardedProgram program, ParseShardedProgram(text, name));
  return std::move(program.module);
}

Result<ShardedProgram> ParseShardedProgram(std::string_view text, const std::string& name, int64_t partitions,
                                           bool lists_arrays) {
  auto placed = [&](const Status& status) {
    return status.location().line > 0 ? AtPlace(status, name) : Status(status).WithPrefix(NamePrefix(name));
  };
  if (IsBundle(std::as_bytes(std::span(text)))) {
    return InvalidArgument(
        "{}a bundle, which is compiled already: vxla run, explain and convert --to hlsl|msl|spirv take it",
        NamePrefix(name));
  }
  Result<mlir::PartitionedProgram> read = ParseText(text, partitions, lists_arrays);
  if (!read.ok()) return placed(read.status());
  ShardedProgram program{std::move(read->module), std::move(read->parameters), std::move(read->results),
                         std::move(read->arrays)};
  if (mlir::IsDynamicProgram(*program.module)) {
    // Where no argument leaves a size open, all of them may follow from the text.
    Result<std::unique_ptr<Module>> known = WithKnownSizes(*program.module);
    if (!known.ok()) return placed(known.status());
    if (*known != nullptr) program.module = *std::move(known);
    return program;
  }
  if (const Status status = Prepare(*program.module); !status.ok()) return placed(status);
  if (std::ranges::none_of(program.parameters, &Sharding::is_cut) &&
      std::ranges::none_of(program.results, &Sharding::is_cut)) {
    program.parameters.clear();
    program.results.clear();
  }
  return program;
}

Result<std::unique_ptr<Module>> WithSizeBounds(const Module& module, std::string_view bounds) {
  VXLA_ASSIGN_OR_RETURN(const std::vector<mlir::SizeBound> sizes, mlir::ParseSizeBounds(bounds));
  if (!mlir::IsDynamicProgram(module))
    return InvalidArgument("bound of '{}': the program leaves no size open", sizes[0].name);
  return mlir::WithBounds(module, sizes, [](const Instruction& i, std::span<const Literal* const> operands) {
    return EvaluateInstruction(i, operands);
  });
}

Status CheckRunnable(const Module& module, const std::string& name, const CustomCallRegistry* registry) {
  if (mlir::IsDynamicProgram(module)) return OkStatus();  // asked again of what runs
  for (const auto& i : EachInstruction(module)) {
    if (HasEvaluation(i->opcode())) continue;
    const Status status = Unsupported("{}: the op {} is read and printed, but no document says what it computes",
                                      i->name(), OpcodeText(i->opcode()));
    return AtPlace(Status(status).At(i->location()), name);
  }
  return AtPlace(CheckCustomCalls(module, registry, /*kernels_will_do=*/true), name);
}

}  // namespace VXLA_NAMESPACE
