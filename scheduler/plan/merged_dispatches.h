// Merged dispatches: those of the same kernel between two barriers become one, so that many small updates cost what one
// large one does.
#pragma once

#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Whether the device runs them and gains by it.
bool MergesDispatches(const DeviceFacts& facts, BindingMode bindings);

// Expects barriers. Steps that are part of a merged one leave the plan. Under descriptors as many share a dispatch as
// the device has bindings for; neighbours in one block of memory are one binding.
void MergeDispatches(Plan& plan, const DeviceFacts& facts);

}  // namespace VXLA_NAMESPACE
