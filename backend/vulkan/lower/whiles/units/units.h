// Ops whose lanes work together for longer than a row, inside a loop that one workgroup runs: sorts, cholesky and
// triangular-solve, running windows, select-and-scatter, Fourier transforms.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/lower/whiles/units/rows.h"

namespace VXLA_NAMESPACE::vulkan {

// What such an op takes: arrays of its own beside operands and results, simple operations of all lanes, and turns of
// loops of one lane.
struct LoopUnitNeeds {
  std::vector<Shape> scratch;
  int64_t operations = 0, iterations = 0;
};
// None: the fusion is around no such op.
std::optional<LoopUnitNeeds> NeedsOfLoopUnit(const LowerContext& context, const FusionDescription& body,
                                             uint32_t lanes);

// The statements, for lane `lane` of the workgroup. Lanes wait for each other within them, but not before the first nor
// after the last.
Code WriteLoopUnit(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                   std::span<const BufferSlice> scratch, const LoopUnit& unit);

// By family.
LoopUnitNeeds NeedsOfLoopSort(const FusionDescription& body, uint32_t lanes);
Code WriteLoopSort(const FusionDescription& body, BufferMap& buffers, std::span<const BufferSlice> scratch,
                   const LoopUnit& unit);
LoopUnitNeeds NeedsOfLoopCholesky(const FusionDescription& body, uint32_t lanes);
Code WriteLoopCholesky(const FusionDescription& body, BufferMap& buffers, std::span<const BufferSlice> scratch,
                       const LoopUnit& unit);
LoopUnitNeeds NeedsOfLoopSolve(const FusionDescription& body, uint32_t lanes);
Code WriteLoopSolve(const FusionDescription& body, BufferMap& buffers, std::span<const BufferSlice> scratch,
                    const LoopUnit& unit);
LoopUnitNeeds NeedsOfLoopSelect(const FusionDescription& body, uint32_t lanes);
Code WriteLoopSelect(const FusionDescription& body, BufferMap& buffers, std::span<const BufferSlice> scratch,
                     const LoopUnit& unit);
LoopUnitNeeds NeedsOfLoopFft(const LowerContext& context, const FusionDescription& body, uint32_t lanes);
Code WriteLoopFft(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                  std::span<const BufferSlice> scratch, const LoopUnit& unit);
LoopUnitNeeds NeedsOfLoopRunning(const FusionDescription& body, uint32_t lanes);
Code WriteLoopRunning(const FusionDescription& body, BufferMap& buffers, const LoopUnit& unit);

}  // namespace VXLA_NAMESPACE::vulkan
