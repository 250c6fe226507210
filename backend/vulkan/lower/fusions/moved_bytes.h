// What the steps of a fusion move, where that is less than the tensors they are bound to.
#pragma once

#include <span>

#include "backend/lowering.h"
#include "core/passes/fuse/fusion_description.h"

namespace VXLA_NAMESPACE::vulkan {

// Sets part_bytes of steps that take a part of some tensor: what slices and gathers read of it, what updates change.
void CountMovedBytes(const FusionDescription& body, BufferMap& buffers, std::span<Step> steps);

}  // namespace VXLA_NAMESPACE::vulkan
