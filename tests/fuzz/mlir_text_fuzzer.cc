// MLIR text and bytecode: what is imported is verified and printed; a program with open sizes is made for some.
#include "backend/cpu/reference/evaluator.h"
#include "core/mlir/importer/dynamic_program.h"
#include "core/mlir/printer/printer.h"
#include "core/passes/base/verifier.h"
#include "tests/fuzz/fuzz_support.h"

namespace {

using namespace vxla;

constexpr int64_t kSize = 3;  // of dimensions that are open

Result<std::unique_ptr<Module>> Refined(const Module& module) {
  const mlir::DynamicProgram program = mlir::DynamicProgram::Of(module);
  mlir::ProgramFacts facts;
  for (const mlir::Type& parameter : program.parameters()) {
    Shape& shape = facts.arguments.emplace_back(parameter.shape);
    for (int i = 0; shape.IsArray() && i < shape.rank(); ++i) {
      if (shape.dimension(i) == kUnboundedSize) shape.set_dimension(i, kSize);
    }
  }
  const auto fold = [](const Instruction& instruction, std::span<const Literal* const> operands) {
    return EvaluateInstruction(instruction, operands);
  };
  VXLA_ASSIGN_OR_RETURN(SpecializedModule refined, program.Refine(facts, fold));
  if (refined.module == nullptr) return Unsupported("an argument decides a size");
  return std::move(refined.module);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto module = mlir::ParseStablehlo(testing::TextOf(data, size));
  if (!testing::Holds(module.status())) return 0;
  if (mlir::IsDynamicProgram(**module)) module = Refined(**module);
  if (!testing::Holds(module.status()) || !testing::Holds(Verify(**module))) return 0;
  testing::Holds(mlir::PrintStablehlo(**module).status());
  return 0;
}
