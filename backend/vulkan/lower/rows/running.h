// Running reductions (reduce/running.comp): reduce-windows that core/maps/running_window.h knows.
#pragma once

#include "backend/vulkan/lower/lower.h"
#include "core/maps/running_window.h"

namespace VXLA_NAMESPACE::vulkan {

// The array of a running window: rows along the dimension that it runs along.
struct RunningArray {
  explicit RunningArray(const Instruction& hero);
  MultiIndex IndexAt(IndexSpace& space, const IndexExpression& row, const IndexExpression& element) const;
  // The place of an index in a result of the fusion, which may have another shape.
  MultiIndex IndexIn(const Shape& result, IndexSpace& space, const MultiIndex& index) const;

  RunningWindow running;
  IntList sizes, others;  // of the array; without the dimension
  int64_t rows = 1, length = 1;
};

// The steps of a reduce-window fusion whose hero is a running window.
std::vector<Step> LowerRunningWindow(const LowerContext& context, const FusionDescription& body, BufferMap& buffers);

}  // namespace VXLA_NAMESPACE::vulkan
