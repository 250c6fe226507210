// Plan: how a compiled program runs on a device, as a serialisable value: no pointers, no Vulkan handles. Instructions
// that run on the host are referred to by name (PlanName); the Executable keeps the module that they are in.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/device_facts.h"
#include "backend/step.h"
#include "core/data/shape.h"
#include "core/host/ranges.h"
#include "scheduler/plan/statistics.h"

namespace VXLA_NAMESPACE {

// Where the memory of a plan's buffer comes from.
enum class MemorySpace : uint8_t {
  kParameter,  // the argument's own buffer; index: the leaf among all parameters, depth first
  kResult,     // a buffer of its own that the caller gets; index: the leaf of the result, depth first
  kConstant,   // uploaded once per executable; index: the block
  kScratch,    // kept by the execution context; index: the block
};
inline bool IsBoundary(MemorySpace space) { return space == MemorySpace::kParameter || space == MemorySpace::kResult; }

struct Placement {
  MemorySpace space = MemorySpace::kScratch;
  int index = 0;
  int64_t offset_bytes = 0;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// One array that lives in device memory. Bindings of steps refer to buffers by their position in Plan::buffers.
struct PlanBuffer {
  std::string name;  // "fusion.3", "tuple.1[2]", "fusion.3 scratch 0"
  int64_t size_bytes = 0;
  Placement placement;
  // The operations (Plan's global order) that touch it first and last; -1: none does.
  int first_use = -1, last_use = -1;
  friend bool operator==(const PlanBuffer&, const PlanBuffer&) = default;
};

// A leaf of a parameter.
struct PlanParameter {
  Shape shape;
  int number = 0;  // of the parameter
  int buffer = -1;
  int donated_to = -1;  // the result leaf that takes its memory over; -1: none
  friend bool operator==(const PlanParameter&, const PlanParameter&) = default;
};

// A leaf of the result.
struct PlanResult {
  Shape shape;
  int buffer = -1;
  friend bool operator==(const PlanResult&, const PlanResult&) = default;
};

// An array constant in device memory: a leaf of a constant instruction, or a table that lowering made.
struct PlanConstant {
  std::string instruction;  // empty: `words`
  int leaf = 0;
  int buffer = -1;
  std::vector<uint32_t> words = {};
  friend bool operator==(const PlanConstant&, const PlanConstant&) = default;
};

// A step, or one part of it where it would take too long (PartOf): each part is alone in its segment.
struct Dispatch {
  int step = -1;  // in Plan::steps
  int part = 0, parts = 1;
  // Where the device reads the counts of workgroups, three words, when it comes to the dispatch: those of the step or
  // less (Step::groups_at), or zeros (scheduler/plan/predication.h). No buffer: the step's.
  BufferSlice groups_at = {};
  friend bool operator==(const Dispatch&, const Dispatch&) = default;
};
struct CopyBytes {
  BufferSlice source, target;
  friend bool operator==(const CopyBytes&, const CopyBytes&) = default;
};
struct Barrier {
  friend bool operator==(const Barrier&, const Barrier&) = default;
};
using GpuCommand = std::variant<Dispatch, CopyBytes, Barrier>;

// One command buffer, recorded once and replayed.
struct GpuCommands {
  int queue = 0;
  std::vector<GpuCommand> commands;
  // Neighbours of one overlap, from 1 on, begin once what comes before all of them has finished, and on different
  // queues do not wait for one another. 0: it begins behind everything before it.
  int overlap = 0;
  friend bool operator==(const GpuCommands&, const GpuCommands&) = default;
};

// One instruction of the entry, or of a computation that control flow runs, evaluated on the host once the work that it
// needs has finished.
struct HostEvaluate {
  // The value of an operand: a constant of the module, or leaves in device memory.
  struct Operand {
    std::string constant;  // the name of a constant instruction; empty: `leaves`
    Shape shape;
    std::vector<BufferSlice> leaves;
    friend bool operator==(const Operand&, const Operand&) = default;
  };
  std::string instruction;
  std::vector<Operand> operands;
  Shape shape;
  std::vector<BufferSlice> results;
  // Segments of the device's work, as far as they have been submitted, that touch what it reads or writes; and whether
  // it touches arguments or results, which earlier runs may still use. The device may be busy with everything else.
  std::vector<int> waits_for = {};
  bool waits_for_arguments = false;
  friend bool operator==(const HostEvaluate&, const HostEvaluate&) = default;
};

// A while or a conditional: the host decides which of the segments that follow run, and how often. Segments stay one
// flat list: region r of the decision in segment i is [r == 0 ? i + 1 : region_ends[r - 1], region_ends[r]), and what
// comes after it begins at region_ends.back(). A while has two regions, condition and body; a conditional has one for
// each branch.
struct HostDecide {
  enum class Kind : uint8_t { kWhile, kConditional };
  Kind kind = Kind::kWhile;
  std::string instruction;
  // What the host reads back: the pred that the condition gave, or the conditional's pred or s32. None for counted
  // loops.
  BufferSlice selector;
  bool selector_is_pred = true;
  // Of a while whose count is known: the condition's region is empty, and nothing is read back. -1: not known.
  int64_t trip_count = -1;
  // Of a while: why the device does not run it in one dispatch.
  std::string apart;
  // Of a while that ends itself on the device (scheduler/plan/predication.h): the condition's region is empty, an
  // iteration beyond the end does nothing, and the selector, an s32, says after any number of them whether the loop
  // goes on.
  bool ahead = false;
  // So many iterations are one command buffer; more than 1 only if the body is one GpuCommands.
  int batch = 1;
  std::vector<int> region_ends;
  friend bool operator==(const HostDecide&, const HostDecide&) = default;
};

using Segment = std::variant<GpuCommands, HostEvaluate, HostDecide>;

// An error of vxla's own that planning met, and what it did instead. A plan with one is right but slower: report it.
struct PlanFault {
  enum class Remedy : uint8_t {
    kUnfused,         // the fusion's instructions run one at a time
    kProgramUnfused,  // so do those of all fusions; `instruction` is empty
    kHost             // the instruction, alone already, runs on the host
  };
  std::string instruction, error;
  Remedy remedy = Remedy::kUnfused;
  friend bool operator==(const PlanFault&, const PlanFault&) = default;
};

struct Plan {
  std::string name;  // the module's
  BindingMode bindings = BindingMode::kAddresses;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanParameter> parameters;
  std::vector<PlanResult> results;
  Shape result_shape;
  std::vector<PlanConstant> constants;
  std::vector<KernelKey> kernels;  // each once
  std::vector<Step> steps;
  std::vector<int> kernel_of_step;
  std::vector<Segment> segments;
  std::vector<Fallback> fallbacks;
  std::vector<PlanFault> faults;

  // What negative live sizes of the results say: -1 the first, -2 the second ..., {0} and {1} in place of sizes.
  std::vector<std::string> size_messages;

  std::vector<int64_t> constant_block_bytes, scratch_block_bytes;
  // Parameters, results, constants and scratch together; a donated parameter and its result count once.
  int64_t peak_bytes = 0;
  // What the same order of operations needs at least: as peak_bytes, with the most scratch bytes that are alive at once
  // (each buffer rounded up to the alignment; where commands share barriers, until the next barrier).
  int64_t lower_bound_bytes = 0;

  int dispatch_count() const { return static_cast<int>(steps.size()); }
  int barrier_count() const;
  // The position behind segment `i` with everything that it decides about.
  int SegmentEnd(int i) const;
  std::pair<int, int> Region(int decision, int region) const;
  // By segment: whether it belongs to a decision of this kind.
  std::vector<bool> InLoops(bool (*is_kind)(const HostDecide&)) const;
  // By segment: whether it belongs to a loop that runs without a wait between its iterations, so that it is submitted
  // while it is in flight.
  std::vector<bool> ResubmittedInFlight() const {
    return InLoops([](const HostDecide& decision) { return decision.trip_count > 1 || decision.ahead; });
  }
  // By segment: how many iterations of the loop whose body it is make a batch; 1: none.
  std::vector<int> Batches() const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Those among segments (or commands) that are of the kind.
template <typename Kind>
auto Only(auto&& variants) {
  return Joined(std::forward<decltype(variants)>(variants), [](auto& v) {
    auto* const kind = std::get_if<Kind>(&v);
    return std::span(kind, kind != nullptr ? size_t{1} : size_t{0});
  });
}

// The memory that a slice of a plan's buffer stands for.
struct PhysicalRange {
  MemorySpace space = MemorySpace::kScratch;
  int index = 0;
  int64_t begin = 0, end = 0;
  friend bool operator==(const PhysicalRange&, const PhysicalRange&) = default;
};
PhysicalRange RangeOf(const Plan& plan, const BufferSlice& slice);
bool Overlap(const PhysicalRange& a, const PhysicalRange& b);
// Whether a copy may go by whole groups of 16 bytes, as kernels copy: what stands behind the slices in the last group
// is nobody's.
bool IsCopyOfGroups(const Plan& plan, const CopyBytes& copy);

}  // namespace VXLA_NAMESPACE
