// Optimize: from a verified module to one that lowering understands: flat, simplified, fused.
#pragma once

#include <memory>

#include "core/module.h"
#include "core/target_info.h"

namespace VXLA_NAMESPACE {

// A new module with the same entry signature and meaning. Afterwards the entry and the computations that whiles and
// conditionals run hold no call, map that has an array form, bitcast or copy, no dead and no equal instructions, and
// every op that has a shader sits in a fusion (core/passes/fuse/fusion.h). Each condition, body and branch is called
// from one place; known trip counts are noted (core/passes/base/control_flow.h). Control edges hold of what stands in
// for their ends. opt-barrier stays to the end: it keeps what is computed again for want of memory (jax.checkpoint)
// from being merged with, or fused into, what was computed first, and costs the plan nothing.
//
// The passes, in this order:
//   1. equal calls, maps and conditionals merge, and a conditional of equal branches becomes a call: before inlining,
//   so
//      that a program which applies each function twice to the same value does not double at each level
//   2. calls, maps and the input's fusions are inlined
//   3. control computations are copied until each has one caller: passes may then change them
//   4. bitcasts are expanded, while layouts still say what they mean; running windows are blocked, while a window is
//      still one instruction
//   5. until nothing changes: dead code goes (others would work on it), algebra is simplified, loop constants sink,
//   maps
//      that simplifying made are inlined, equal instructions merge: each of these enables the others
//   6. trip counts are noted, and which sums are wide: last, because both are marks on instructions, which would keep
//      equal ones apart
//   7. fusion, which nothing may follow that reads single operations
Result<std::unique_ptr<Module>> Optimize(const Module& module, const TargetInfo& target);

}  // namespace VXLA_NAMESPACE
