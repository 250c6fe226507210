// Files of `vxla check`: sections, functions, checks and programs on several devices.
#include "backend/cpu/reference/evaluator.h"
#include "core/mlir/importer/check_program.h"
#include "core/mlir/reader/parser.h"
#include "core/passes/base/verifier.h"
#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vxla;
  const auto fold = [](const Instruction& instruction, std::span<const Literal* const> operands) {
    return EvaluateInstruction(instruction, operands);
  };
  for (const mlir::MlirSection& section : mlir::SplitMlir(testing::TextOf(data, size))) {
    const auto program = mlir::ParseMlir(section.text, section.first_line);
    if (!testing::Holds(program.status())) continue;
    for (const mlir::CheckEntry& entry : mlir::CheckEntries(*program)) {
      const auto function = mlir::ImportCheck(*program, entry.name, {}, fold);
      if (!testing::Holds(function.status())) continue;
      for (const mlir::CheckStage& stage : function->stages) {
        testing::Holds(Verify(*stage.module));
        if (stage.parallel != nullptr) testing::Holds(Verify(*stage.parallel->module));
      }
    }
  }
  return 0;
}
