// Loop kernels (elementwise/fused_loop.comp): a loop over `count` elements, `width` neighbours of them at a time, whose
// body the caller writes.
#pragma once

#include <string>

#include "backend/vulkan/lower/lower.h"
#include "backend/vulkan/lower/tuning.h"

namespace VXLA_NAMESPACE::vulkan {

class LoopKernel {
 public:
  LoopKernel(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, int64_t count,
             const LoopTuning& tuning);

  KernelBuilder& kernel() { return kernel_; }
  ValueWriter& writer() { return writer_; }
  IndexSpace& space() { return space_; }
  // Counts the groups of `width` elements.
  IndexExpression group() const { return space_.Variable(loop_); }
  int group_variable() const { return loop_; }
  // What the writer has written is the body.
  Step Finish(std::string name);

 private:
  const LowerContext& context_;
  const int64_t count_;
  const LoopTuning tuning_;
  KernelBuilder kernel_;
  IndexSpace space_;
  const int loop_;
  ValueWriter writer_;
};

}  // namespace VXLA_NAMESPACE::vulkan
