// Whether initial values change nothing: what lets a reduction be cut into parts that fold them once more each.
#pragma once

#include <span>

#include "core/data/literal.h"
#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Whether a reducer of N values leaves every element unchanged that it joins with these N initial values, on either
// side: proved from its text, one case for each of a float's kinds (finite, the infinities, NaN). The sign of a zero
// does not count. False where there is no proof.
bool IsIdentityOf(const Computation& reducer, std::span<const Literal* const> initial_values);

}  // namespace VXLA_NAMESPACE
