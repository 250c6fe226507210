// A program that leaves sizes open (core/mlir/importer/dynamic_program.h), with a bound for each of them: its arrays
// have bounded dynamic dimensions then, and one module serves all sizes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mlir/importer/dynamic_program.h"

namespace VXLA_NAMESPACE::mlir {

struct SizeBound {
  std::string name;  // "b", a dimension variable of JAX's; "0.1": dimension 1 of argument 0
  int64_t bound = 0;
};

// "b=1024,0.1=16". kInvalidArgument: another form.
Result<std::vector<SizeBound>> ParseSizeBounds(std::string_view text);

// Of a module that IsDynamicProgram. Sizes that the program states as functions of others (JAX's `2*n`) follow from
// these; every array is as wide as it is where all sizes are at their bounds. kInvalidArgument: a name that the program
// has not, a size that nothing bounds, what does not hold at the bounds. kUnsupported: data decide a size.
Result<std::unique_ptr<Module>> WithBounds(const Module& module, std::span<const SizeBound> bounds,
                                           const FoldInstruction& fold);

}  // namespace VXLA_NAMESPACE::mlir
