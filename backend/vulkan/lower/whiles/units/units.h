// What the operations of a loop that one workgroup runs become: each unit of it is of one kind.
#pragma once

#include <span>
#include <vector>

#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/whiles/units/unit.h"

namespace VXLA_NAMESPACE::vulkan {

enum class LoopUnitKind : uint8_t {
  kElements,  // element by element
  kRows,      // reductions, windows and products (shape.h)
  kUpdate,    // a dynamic-update-slice
  kScatter,
  kWorkgroup,  // lanes work together for longer than a row: sorts, cholesky and triangular-solve, running windows,
               // select-and-scatter, Fourier transforms
  // Of an operation that is a unit of another kind:
  kFill,   // what an update or scatter changes, before it, where its fusion computes that
  kParts,  // sums of parts of a scatter's runs, before it (scatter.h)
  kNotes   // reductions of all elements of preds, each to whether any holds or all do: they are noted trip by trip, and
           // known after the dispatch (lower/whiles/chunks.h)
};
// Unsupported: no workgroup's loop runs it. `body` may be lowered.
Result<LoopUnitKind> KindOfLoopUnit(const FusionDescription& body);

// What a unit of kWorkgroup takes: arrays of its own beside operands and results, simple operations of all lanes, and
// turns of loops of one lane.
struct LoopUnitNeeds {
  std::vector<Shape> scratch;
  int64_t operations = 0, iterations = 0;
  int64_t waits = 0;                     // how often its lanes wait for each other
  int64_t rows = 1;                      // which do not wait for each other
  std::vector<Shape> grid_scratch = {};  // more of them where all workgroups share a row
};
LoopUnitNeeds NeedsOfLoopUnit(const LowerContext& context, const FusionDescription& body, uint32_t lanes);

// The statements, for lane `lane` of the workgroup. Lanes wait for each other within them, but not before the first nor
// after the last.
Code WriteLoopUnit(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                   std::span<const BufferSlice> scratch, const LoopUnit& unit);

// By family.
using LoopNeeds = LoopUnitNeeds(const LowerContext&, const FusionDescription& body, uint32_t lanes);
LoopNeeds NeedsOfLoopSort, NeedsOfLoopCholesky, NeedsOfLoopSolve, NeedsOfLoopSelect, NeedsOfLoopFft, NeedsOfLoopRunning;
using LoopText = Code(const LowerContext&, const FusionDescription& body, BufferMap&,
                      std::span<const BufferSlice> scratch, const LoopUnit&);
LoopText WriteLoopSort, WriteLoopCholesky, WriteLoopSolve, WriteLoopSelect, WriteLoopFft, WriteLoopRunning;

}  // namespace VXLA_NAMESPACE::vulkan
