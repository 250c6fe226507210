// Scatters inside a loop that one workgroup runs.
#pragma once

#include <span>

#include "backend/vulkan/codegen/glsl_writer.h"

namespace VXLA_NAMESPACE::vulkan {

// The statements, for lane `lane` of `lanes`: `arrays` hold what the scatter changes. Its functions are named after
// `number`.
void WriteLoopScatter(const Instruction& hero, std::span<const BufferSlice> arrays, ValueWriter& writer, uint32_t lanes,
                      int number);

}  // namespace VXLA_NAMESPACE::vulkan
