// Dynamic-update-slices of a loop that one workgroup runs whose elements a unit before them makes: the unit stores each
// where it belongs, too, so that no lane waits and nothing is loaded again. Scans stack their results so.
#pragma once

#include "backend/vulkan/lower/whiles/program.h"

namespace VXLA_NAMESPACE::vulkan {

// The operands that a dynamic-update-slice's fusion reads at the place of the element that it is about to store, and
// nowhere else.
std::set<const Instruction*> OperandsInPlace(const FusionDescription& update);

// Makes the update, which would come next in the block, a part of such a unit of it. False: it has to be a phase of its
// own.
bool StoreAlong(const LoopProgram& program, LoopUnitNode& update, LoopBlock& block);

}  // namespace VXLA_NAMESPACE::vulkan
