// MLIR text in: operations, regions and values, in the generic form and in the pretty forms of StableHLO, CHLO, func,
// arith and what JAX writes of sdy. Types and attributes: core/mlir/reader/attribute_parser.h.
#pragma once

#include <string_view>

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// One program: a file without `// -----` splits, or bytecode (core/mlir/bytecode/reader.h). `first_line` is the number
// of its first line in the file. Errors: InvalidArgument with the line and column.
Result<Program> ParseMlir(std::string_view text, int first_line = 1);

// The sections between lines that begin with `// -----`, with the line that each begins at.
struct MlirSection {
  std::string_view text;
  int first_line = 1;
};
std::vector<MlirSection> SplitMlir(std::string_view text);

}  // namespace VXLA_NAMESPACE::mlir
