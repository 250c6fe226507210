// Library calls as calls of their programs, which InlineCalls puts in their place.
#include "core/ir/module_edits.h"
#include "core/passes/base/expansion.h"
#include "core/passes/expand/expanders.h"
#include "core/programs/library_programs.h"

namespace VXLA_NAMESPACE {
namespace {

Result<std::shared_ptr<const Module>> ProgramFor(const Instruction& instruction) {
  VXLA_ASSIGN_OR_RETURN(const LibraryCall call, LibraryCallOf(instruction));
  VXLA_ASSIGN_OR_RETURN(std::shared_ptr<const Module> definition, matrix_ops::DefinitionOf(call, instruction));
  if (definition != nullptr) return definition;
  return matrix_ops::ProgramOf(call, instruction);
}

}  // namespace

Result<bool> ExpandLibraryCalls(Module& module, const std::set<std::string>& host_functions) {
  Status status;
  const bool changed =
      ExpandEach(AllComputations(module), [&](Computation& computation, Instruction* instruction) -> Instruction* {
        if (!status.ok() || instruction->opcode() != Opcode::kCustomCall) return nullptr;
        const std::string& target = instruction->attributes<CustomCallAttributes>().custom_call_target;
        if (!IsLibraryCall(target) || host_functions.contains(target)) return nullptr;
        Result<std::shared_ptr<const Module>> program = ProgramFor(*instruction);
        if (!program.ok()) status = program.status();
        if (!program.ok() || *program == nullptr) return nullptr;
        Computation* const called = AddProgram(module, **program);
        std::vector<Instruction*> operands(instruction->operands().begin(), instruction->operands().end());
        return Expansion(computation, instruction)
            .Add(Opcode::kCall, called->root()->shape(), std::move(operands), CallAttributes{}, {called});
      });
  VXLA_RETURN_IF_ERROR(status);
  if (changed) module.SortComputations();
  return changed;
}

}  // namespace VXLA_NAMESPACE
