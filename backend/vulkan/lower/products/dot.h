// A matrix product that is one of many, as others lower them beside LowerDot (lower.h).
#pragma once

#include "backend/vulkan/lower/rows/row_program.h"

namespace VXLA_NAMESPACE::vulkan {

// As LowerDot, for one of many products whose kernels differ in sizes alone: tiles as for a large product.
Result<std::vector<Step>> LowerRepeatedDot(const LowerContext& context, const FusionDescription& body,
                                           BufferMap& buffers);

}  // namespace VXLA_NAMESPACE::vulkan
