// Reductions and products inside a loop that one workgroup runs: row programs whose rows are shared out over its lanes.
#pragma once

#include "backend/vulkan/lower/rows/row_program.h"
#include "backend/vulkan/lower/whiles/units/shape.h"
#include "backend/vulkan/lower/whiles/units/unit.h"

namespace VXLA_NAMESPACE::vulkan {

// The statements, for lane `lane` of the workgroup; functions and shared arrays go into the kernel.
Code WriteLoopRows(const RowProgram& program, const LoopRowsShape& shape, const LoopUnit& unit);

}  // namespace VXLA_NAMESPACE::vulkan
