// Running reductions (reduce/running.comp): reduce-windows that core/maps/running_window.h knows.
#pragma once

#include "backend/vulkan/lower/lower.h"
#include "core/maps/running_window.h"

namespace VXLA_NAMESPACE::vulkan {

// The steps of a reduce-window fusion whose hero is a running window.
std::vector<Step> LowerRunningWindow(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                     const RunningWindow& running);

}  // namespace VXLA_NAMESPACE::vulkan
