// Scatters inside a loop that one workgroup runs, or cooperative ones.
#pragma once

#include <span>

#include "backend/vulkan/codegen/value_writer.h"
#include "backend/vulkan/lower/whiles/units/shape.h"

namespace VXLA_NAMESPACE::vulkan {

// The statements, for lane `lane` of `lanes`, of as many workgroups as share updates or elements out: `arrays` hold
// what the scatter changes. Its functions are named after `number`. `parts` are for the sums of parts of runs, of one
// that goes by places and has them; without arrays these are what is written.
void WriteLoopScatter(const FusionDescription& body, std::span<const BufferSlice> arrays,
                      std::span<const BufferSlice> parts, ValueWriter& writer, uint32_t lanes, LoopShare share,
                      int number);

}  // namespace VXLA_NAMESPACE::vulkan
