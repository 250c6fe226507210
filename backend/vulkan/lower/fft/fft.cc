// Fourier transforms of one to three axes: steps for the passes of fft_plan.h, and memory between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/vulkan/lower/fft/fft_kernel.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

Status CheckFftMemory(const LowerContext& context, const char* what, int64_t elements, int64_t bytes) {
  if (elements > kMaxElements) {
    return Unsupported("fft: {} of {} elements, more than the {} that a kernel can index", what, elements,
                       kMaxElements);
  }
  const auto limit = static_cast<int64_t>(context.facts.max_storage_range_bytes);
  if (context.bindings == BindingMode::kDescriptors && bytes > limit) {
    return Unsupported(
        "fft: {} of {} bytes, more than this device's storage-buffer range of {} (--bindings=addresses has no such "
        "limit)",
        what, bytes, limit);
  }
  return OkStatus();
}

}  // namespace

Status CanLowerFft(const LowerContext& context, const FusionDescription& body) {
  if (body.hero->shape().ElementCount() == 0) return OkStatus();
  const FftPlan plan = PlanFft(context, body);
  VXLA_RETURN_IF_ERROR(CheckFftMemory(context, "tables", plan.tables.count(), plan.tables.size_bytes()));
  for (const FftJob& job : plan.jobs) {
    const int64_t elements = std::max(job.out_elements(), job.units());
    VXLA_RETURN_IF_ERROR(
        CheckFftMemory(context, "an intermediate array", elements, job.out_elements() * StorageBytes(job.out.type)));
  }
  return OkStatus();
}

Result<std::vector<Step>> LowerFft(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  const FftPlan plan = PlanFft(context, body);
  const BufferSlice result = buffers.SliceOf(*body.instruction, 0);
  const std::vector<int> places =
      plan.PlacesOfPasses(plan.most_between() * StorageBytes(plan.complex) <= result.size_bytes);
  std::array<std::optional<BufferSlice>, 2> scratch;
  const BufferSlice tables = plan.tables.count() > 0 ? buffers.Constant(plan.tables.Words()) : BufferSlice();
  BufferSlice from = buffers.SliceOf(*body.instruction->operand(0), 0);
  std::vector<Step> steps;
  for (size_t i = 0; i < plan.jobs.size(); ++i) {
    BufferSlice into = result;
    if (places[i] >= 0) {
      std::optional<BufferSlice>& between = scratch.at(static_cast<size_t>(places[i]));
      if (!between) between = buffers.Scratch(plan.most_between() * StorageBytes(plan.complex));
      into = *between;
    }
    const std::string name = plan.jobs.size() == 1 ? StepName(body) : fmt::format("{} pass {}", StepName(body), i + 1);
    into.size_bytes = plan.jobs[i].out_elements() * StorageBytes(plan.jobs[i].out.type);
    steps.push_back(WriteFftPass(context, plan, plan.jobs[i], name, {from, into, tables}));
    from = into;
  }
  steps[0].flop = plan.flop;
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
