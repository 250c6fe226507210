// Programs whose sizes are known with their arguments only: dimensions `?`, tensors without a rank, sizes that scalars
// or data decide. As a module such a program is one call of itself, which holds it as it was read, parsed. So who
// reads, verifies, prints or copies programs has one type for all, and who runs them asks IsDynamicProgram: that makes
// the module for the arguments at hand, and keeps it for the next call with the same sizes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/mlir/importer/importer.h"

namespace VXLA_NAMESPACE::mlir {

bool IsDynamicProgram(const Module& module);

// `source` is what `program` was read from.
Result<std::unique_ptr<Module>> MakeDynamicProgram(Program program, std::string_view source);

// Cheap to copy; what it was parsed into is shared by the module, by copies of that, and by whoever asks for it.
class DynamicProgram {
 public:
  // Of a module that IsDynamicProgram.
  static DynamicProgram Of(const Module& module);

  // What it was read from: text, or bytecode.
  std::string_view source() const;
  const Program& program() const;
  // The entry's parameters, as its text has them.
  const std::vector<Type>& parameters() const;
  // Prepared (core/passes/base/pipeline.h).
  Result<SpecializedModule> Refine(const ProgramFacts& facts, const FoldInstruction& fold) const;

 private:
  friend Result<std::unique_ptr<Module>> MakeDynamicProgram(Program program, std::string_view source);
  struct Source;
  struct Keeper;
  explicit DynamicProgram(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::shared_ptr<const Source> source_;
};

// The module for these arguments. `run` runs what has to be known first.
using RunModule = std::function<Result<Literal>(const Module&, std::span<const Literal* const>)>;
Result<std::unique_ptr<Module>> RefineFor(const Module& module, std::span<const Literal* const> arguments,
                                          const FoldInstruction& fold, const RunModule& run);

}  // namespace VXLA_NAMESPACE::mlir
