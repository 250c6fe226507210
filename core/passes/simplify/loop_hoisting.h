// What a loop need not compute in every trip.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Before a while goes what its body computes from nothing but values that it hands on: products, reductions and
// functions, not what costs nothing to repeat. So does a product of such a value with one slice a trip of another
// (x[t] @ w in a scan): the product of the whole array is computed before the loop, and each trip reads its slice.
// Results become further elements of the loop's state. Expects bodies without calls. Returns whether there was one.
bool HoistFromLoops(Module& module);

}  // namespace VXLA_NAMESPACE
