// StepGraph: a module's entry as a list of operations over buffers that have no place yet.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "backend/lowering.h"
#include "core/ir/module.h"
#include "core/passes/base/origins.h"
#include "core/status.h"
#include "scheduler/compile.h"
#include "scheduler/plan/plan.h"

namespace VXLA_NAMESPACE {

// Where the regions of a decision begin and end among the operations. It does nothing by itself; its uses are the
// selector's.
struct DecisionMark {
  enum class Kind : uint8_t { kOpen, kNextRegion, kClose };
  Kind kind = Kind::kOpen;
  int decision = -1;  // in StepGraph::decisions
};

// One thing that the plan does, with what it reads and writes.
struct Operation {
  std::variant<Dispatch, CopyBytes, HostEvaluate, DecisionMark> action;
  std::vector<Binding> uses;
  const Instruction* instruction = nullptr;  // null for copies of results
  // Neighbours of different groups are different segments: a host step waits for one and not for the other.
  int group = 0;
  // Of the device's work: its queue, and the overlap that it is part of, from 1 on
  // (scheduler/graph/queue_assignment.h).
  int queue = 0, overlap = 0;
};
inline bool IsDeviceWork(const Operation& operation) {
  return std::holds_alternative<Dispatch>(operation.action) || std::holds_alternative<CopyBytes>(operation.action);
}

struct StepGraph {
  // Filled so far: name, bindings, buffers (without placements and uses), parameters, results, constants, steps,
  // fallbacks.
  Plan plan;
  // In the order of execution. Between a mark that opens a decision and the one that closes it lie its regions one
  // after another: a while's condition and body, which run again and again, or a conditional's branches, of which one
  // runs.
  std::vector<Operation> operations;
  std::vector<HostDecide> decisions;  // without their places among the segments
  Origins origins;
  // The buffer of each leaf that has one; keys are origins.
  std::map<std::pair<const Instruction*, int>, int> buffer_of;
  // For each result leaf: the parameter leaf that input_output_alias gives it, and whether it must; -1: none.
  struct Donor {
    int parameter_leaf = -1;
    bool must = false;
  };
  std::vector<Donor> donors;
  // What lowering failed on by an error of its own, and the error; they have no operations.
  std::vector<std::pair<const Instruction*, std::string>> faults;
};

// What a plan calls an instruction: its name, and where it is not the entry's, "computation/name".
std::string PlanName(const Instruction& instruction);
// Every instruction of the entry and of the computations that control flow runs.
std::unordered_map<std::string, const Instruction*> InstructionsByPlanName(const Module& module);

// Of a decision, its marks among the operations.
struct DecisionPlaces {
  int open = -1, close = -1;
  std::vector<int> next;
};
std::vector<DecisionPlaces> DecisionPlacesOf(const StepGraph& graph);

// Afterwards every instruction that the root needs is on the list: as dispatches if lowering takes it, as a decision
// with its regions if it is a while or a conditional (in a region the same holds), else as one host evaluation (which
// is in plan.fallbacks); every result leaf has a buffer of its own that no other result, parameter or constant shares,
// unless it is the very parameter that the program donates to it. Operations come in the module's order. Unsupported
// for an instruction that nothing can evaluate and for dynamic shapes.
// What lowering fails on by an error of its own (an Internal status or a failed check) is in graph.faults if it is a
// fusion of several instructions, else one more host evaluation and in plan.faults.
Result<StepGraph> BuildStepGraph(const Module& module, const Lowering& lowering, const PlanOptions& options);

}  // namespace VXLA_NAMESPACE
