// Programs whose sizes are known with their arguments only: dimensions `?`, tensors without a rank, sizes that scalars
// or data decide. As a module such a program is one call of itself: its parameters, and its text as a constant. Whoever
// runs it makes the module for the arguments at hand, and keeps that for the next call with the same sizes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/mlir/importer.h"

namespace VXLA_NAMESPACE::mlir {

bool IsDynamicProgram(const Module& module);

// `source` is what `program` was read from.
Result<std::unique_ptr<Module>> MakeDynamicProgram(const Program& program, std::string_view source);

class DynamicProgram {
 public:
  // Of a module that IsDynamicProgram.
  static Result<DynamicProgram> Of(const Module& module);
  // What it was read from: text, or bytecode.
  static std::string_view SourceOf(const Module& module);

  const Program& program() const { return program_; }
  // The entry's parameters, as its text has them.
  const std::vector<Type>& parameters() const { return parameters_; }
  // Prepared (core/passes/base/prepare.h).
  Result<RefinedProgram> Refine(const ProgramFacts& facts, const FoldInstruction& fold) const;

 private:
  Program program_;
  std::vector<Type> parameters_;
};

// The module for these arguments. `run` runs what has to be known first.
using RunModule = std::function<Result<Literal>(const Module&, std::span<const Literal* const>)>;
Result<std::unique_ptr<Module>> RefineFor(const Module& module, std::span<const Literal* const> arguments,
                                          const FoldInstruction& fold, const RunModule& run);

}  // namespace VXLA_NAMESPACE::mlir
