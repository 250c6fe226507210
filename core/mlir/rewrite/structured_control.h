// scf in terms of StableHLO's control flow.
#pragma once

#include <string_view>

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// scf.for becomes a while, scf.if an if, scf.forall loops whose bodies insert into what they share. So does a
// tensor.generate whose region holds an operation on values that differ from element to element which is not one of
// those below.
Status LowerStructuredControl(Program& program);

// Whether the importer does the operation for all elements of a tensor.generate or tensor.pad at once
// (core/mlir/importer/import_lanes.cc).
bool RunsForLanes(std::string_view name);

// Whether it, or an operation of its regions, does more than give its results.
bool HasEffect(const Operation& operation);

}  // namespace VXLA_NAMESPACE::mlir
