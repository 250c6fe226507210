// StepGraph: a module's entry as a list of operations over buffers that have no place yet.
#pragma once

#include <variant>
#include <vector>

#include "backend/lowering.h"
#include "core/module.h"
#include "core/status.h"
#include "scheduler/plan.h"

namespace vxla {

// One thing that the plan does, with what it reads and writes.
struct Operation {
  std::variant<Dispatch, CopyBytes, HostEvaluate> action;
  std::vector<Binding> uses;
  const Instruction* instruction = nullptr;  // null for copies of results
};

struct StepGraph {
  // Filled so far: name, bindings, buffers (without placements and uses), parameters, results, constants, steps, fallbacks.
  Plan plan;
  std::vector<Operation> operations;  // in the order of execution
  // For each result leaf: the parameter leaf that input_output_alias gives it, and whether it must; -1: none.
  struct Donor {
    int parameter_leaf = -1;
    bool must = false;
  };
  std::vector<Donor> donors;
};

// Where a leaf of a value comes from once tuples, barriers and same-bytes ops are looked through.
struct LeafOrigin {
  const Instruction* instruction = nullptr;
  int leaf = 0;
  friend bool operator==(const LeafOrigin&, const LeafOrigin&) = default;
};
LeafOrigin OriginOf(const Instruction& instruction, int leaf);

// Afterwards every instruction that the root needs is on the list: as dispatches if lowering takes it, else as one host
// evaluation (which is in plan.fallbacks); every result leaf has a buffer of its own that no other result, parameter or
// constant shares, unless it is the very parameter that the program donates to it. Operations come in the module's order.
// Unsupported for an instruction that nothing can evaluate and for dynamic shapes.
Result<StepGraph> BuildStepGraph(const Module& module, const Lowering& lowering, BindingMode bindings);

}  // namespace vxla
