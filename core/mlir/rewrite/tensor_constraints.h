// What the tensor dialect demands of an operation's types, attributes and regions, whatever its arguments will be.
#pragma once

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// Of every tensor.* operation of the program, as it was read: before regions are lowered. InvalidArgument with the
// place. What arguments decide (sizes, places) is checked as they are known (core/mlir/importer/import_tensor.cc).
Status CheckTensorDialect(const Program& program);

}  // namespace VXLA_NAMESPACE::mlir
