// Matrix products in the order of a plan, with the arithmetic of the shaders.
#pragma once

#include "core/ir/instruction.h"
#include "core/numerics/accumulation_order.h"

namespace VXLA_NAMESPACE {

Result<Literal> DotAsShaders(const Instruction& dot, const Literal& lhs, const Literal& rhs,
                             const AccumulationOrder& order, int threads);

}  // namespace VXLA_NAMESPACE
