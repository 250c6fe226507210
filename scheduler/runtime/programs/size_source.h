// SizeSource: where the sizes of a program come from, and what it is at some of them. Two kinds of programs have sizes
// that are known with their arguments only: those with bounded dynamic dimensions, and those of open sizes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/mlir/importer/dynamic_program.h"
#include "core/passes/sizes/live_specializer.h"
#include "scheduler/runtime/client.h"

namespace VXLA_NAMESPACE {

// Arguments as the program at their sizes takes them.
struct SizedArguments {
  std::vector<Argument> arguments;
  std::vector<Literal> literals;            // in the place of those that are not of static shapes
  std::vector<std::vector<int64_t>> sizes;  // by leaf and dimension
  std::vector<int64_t> key;                 // what tells these sizes from others
};

class SizeSource {
 public:
  virtual ~SizeSource() = default;

  // InvalidArgument names the argument that does not fit.
  virtual Result<SizedArguments> Take(const Device& device, std::span<const Argument> arguments) const = 0;
  // The program at these sizes, or what has to be known first. Unsupported: only the program for all sizes will do.
  virtual Result<SpecializedModule> Refine(const SizedArguments& arguments, std::vector<Literal> answers) const = 0;
  // The program for all sizes; null: there is none.
  virtual const Module* general() const { return nullptr; }
  // Whether a size is computed, at the bounds.
  virtual bool AsksData() const { return false; }
  // The program at sizes that are likely, for whoever looks at plans; null: it has to be run to be known.
  virtual Result<std::unique_ptr<Module>> Likely() const { return std::unique_ptr<Module>(); }
};

// Sizes of bounded dynamic dimensions (core/passes/sizes/live_specializer.h). `fold` evaluates what sizes are computed
// with.
std::unique_ptr<SizeSource> BoundedSizes(const Module& module, FoldInstruction fold);
// Sizes of a program that IsDynamicProgram (core/mlir/importer/dynamic_program.h), which is parsed already.
std::unique_ptr<SizeSource> OpenSizes(mlir::DynamicProgram program, FoldInstruction fold);

}  // namespace VXLA_NAMESPACE
