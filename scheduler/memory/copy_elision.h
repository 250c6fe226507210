// Copy elision: values that a plan would copy into each other share a buffer where their lives allow it.
#pragma once

#include "scheduler/graph/step_graph.h"

namespace VXLA_NAMESPACE {

// Expects a step graph without lifetimes. Afterwards no copy between two buffers of the plan's own stands that one
// buffer could have stood for: loop states and results of branches are made where they are wanted, and a loop updates
// its state in place where its kernels may. Two results never share a buffer.
void ElideCopies(StepGraph& graph);

}  // namespace VXLA_NAMESPACE
