// Matrix products with a chosen shape: what tests and measurements use beside LowerDot (lower.h), which asks tuning.
#pragma once

#include "backend/vulkan/lower/rows/row_program.h"

namespace VXLA_NAMESPACE::vulkan {

// As LowerDot, for one of many products whose kernels differ in sizes alone: tiles as for a large product.
Result<std::vector<Step>> LowerRepeatedDot(const LowerContext& context, const FusionDescription& body,
                                           BufferMap& buffers);
// K at least 1.
Result<std::vector<Step>> LowerDotAs(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                     const DotShape& shape);

}  // namespace VXLA_NAMESPACE::vulkan
