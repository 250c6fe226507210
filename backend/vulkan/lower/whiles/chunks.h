// Loops whose elements never meet but in the question whether to go on (any of them wants another trip, all are done),
// over as many workgroups as there are elements: chunks of trips.
#pragma once

#include "backend/vulkan/lower/whiles/memory.h"

namespace VXLA_NAMESPACE::vulkan {

// Whether the program, whose reductions are noted, goes in chunks: elements in registers, none of which depends on a
// reduction, and as many of them as pay. Pure.
bool GoesInChunks(const LowerContext& context, const LoopProgram& program);

// A chunk is two steps, which repeat until the loop has ended. The first one makes a number of trips in registers, from
// the state that the chunk begins with to another copy of it, and notes for each trip what its elements say to the
// reductions: bits, in any order. The second one, of one workgroup, asks the condition trip by trip. Where all hold,
// the next chunk begins with the copy, and is twice as long. Where one does not, the first step makes the trips before
// it once more, from the state that the chunk began with to where the results lie.
Result<LoopLowering> LowerLoopInChunks(const LowerContext& context, const LoopProgram& program, BufferMap& buffers,
                                       LoopMemory& memory);

}  // namespace VXLA_NAMESPACE::vulkan
