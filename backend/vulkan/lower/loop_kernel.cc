#include "backend/vulkan/lower/loop_kernel.h"

#include <fmt/format.h>

namespace VXLA_NAMESPACE::vulkan {

LoopKernel::LoopKernel(const LowerContext& context, const FusionDescription& body, BufferMap& buffers, int64_t count,
                       const LoopTuning& tuning)
    : context_(context),
      count_(count),
      tuning_(tuning),
      kernel_(context.facts),
      loop_(space_.AddVariable(count / tuning.width)),
      writer_(kernel_, body, buffers, space_) {
  kernel_.Param(static_cast<uint32_t>(count / tuning.width));  // P(0) of fused_loop.comp
  writer_.Bind(loop_, "i");
  if (tuning.width > 1) writer_.Vectorize(loop_, static_cast<int>(tuning.width));
}

Step LoopKernel::Finish(std::string name) {
  kernel_.Append("void element(uint i) {\n" + writer_.Take() + "}\n");
  const int64_t chunk = int64_t{tuning_.workgroup_size} * tuning_.items, width = tuning_.width;
  const std::array<uint32_t, 3> groups = GroupGrid(context_.facts, (count_ / width + chunk - 1) / chunk);
  // The driver then unrolls the loop, which the split addresses of access.glsl do not survive.
  const bool unrolls = context_.bindings == BindingMode::kDescriptors;
  if (unrolls && tuning_.items > 1 && int64_t{groups[0]} * groups[1] * chunk * width == count_) {
    kernel_.Append(fmt::format("#define WHOLE_ITEMS {}u\n", tuning_.items));
  }
  return kernel_.Finish(std::move(name), "elementwise/fused_loop.comp", {tuning_.workgroup_size, 1, 1, tuning_.items},
                        groups);
}

}  // namespace VXLA_NAMESPACE::vulkan
