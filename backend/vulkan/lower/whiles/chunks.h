// Loops whose elements, or rows, never meet but in the question whether to go on (any of them wants another trip, all
// are done), over as many workgroups as they fill: chunks of trips.
#pragma once

#include "backend/vulkan/lower/whiles/memory.h"

namespace VXLA_NAMESPACE::vulkan {

// Whether the program, whose reductions are noted, and whose elements are in registers or whose rows are separate, goes
// in chunks: no element depends on a noted reduction, and there are as many of them as pay. Pure.
bool GoesInChunks(const LowerContext& context, const LoopProgram& program);

// A chunk is two steps, which repeat until the loop has ended. The first one makes a number of trips, from the state
// that the chunk begins with to another copy of it, and notes for each trip what its elements say to the reductions:
// bits, in any order. The second one, of one workgroup, asks the condition trip by trip. Where all hold, the next chunk
// begins with the copy, and is twice as long. Where one does not, the first step makes the trips before it once more,
// from the state that the chunk began with to where the results lie. (Arrays that lanes do not keep in registers change
// where the results lie, and the copy is of what the chunk began with.)
Result<LoopLowering> LowerLoopInChunks(const LowerContext& context, const LoopProgram& program, BufferMap& buffers,
                                       LoopMemory& memory);

}  // namespace VXLA_NAMESPACE::vulkan
