// Prepare: from a module as it was read, or made for known sizes, to one that everything after takes: verified, with
// what only some readers understand in the terms of plain operations. Optimize: from there to one that lowering
// understands: flat, simplified, fused.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/ir/module.h"
#include "core/ir/target_info.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

// Once, by whoever makes a module: ParseProgram of what it reads, mlir::DynamicProgram of what it makes for sizes.
Status Prepare(Module& module);

// What a pass did: `round` counts from 1 where passes run until nothing changes, and is 0 elsewhere.
struct PassRun {
  std::string_view name;
  int round = 0;
  bool changed = false;  // or may have
  double seconds = 0;
};
// Called after each pass with the module as it then is; an error ends Optimize, which gives it back.
using AfterPass = std::function<Status(const PassRun&, const Module&)>;

// A new module with the same entry signature and meaning. Afterwards the entry and the computations that whiles and
// conditionals run hold no call, map that has an array form, bitcast or copy, no dead and no equal instructions, and
// every op that has a shader sits in a fusion (core/passes/fuse/fusion.h). Each condition, body and branch is called
// from one place; known trip counts are noted (core/passes/base/control_flow.h). Control edges hold of what stands in
// for their ends. opt-barrier stays to the end: it keeps what is computed again for want of memory (jax.checkpoint)
// from being merged with, or fused into, what was computed first, and costs the plan nothing.
// The passes and their order: the tables of pipeline.cc.
Result<std::unique_ptr<Module>> Optimize(const Module& module, const TargetInfo& target, const AfterPass& after = {});

// Of every pass, each once, in the order in which they first run.
std::vector<std::string_view> PassNames();

}  // namespace VXLA_NAMESPACE
