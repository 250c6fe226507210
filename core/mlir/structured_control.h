// scf in terms of StableHLO's control flow.
#pragma once

#include "core/mlir/ir.h"

namespace VXLA_NAMESPACE::mlir {

// scf.for becomes a while, scf.if an if, scf.forall loops whose bodies insert into what they share.
Status LowerStructuredControl(Program& program);

// Whether it, or an operation of its regions, does more than give its results.
bool HasEffect(const Operation& operation);

}  // namespace VXLA_NAMESPACE::mlir
