// Fourier transforms inside a loop that one workgroup runs: the passes of fft_plan.h one after the other, whose
// butterflies lanes share out and whose values lie in memory between them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "backend/vulkan/lower/fft/fft_kernel.h"
#include "backend/vulkan/lower/whiles/units/units.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Between passes lie complex values, which only a complex result has the room and the type for.
std::vector<int> PlacesIn(const FftPlan& plan, const Shape& result) {
  return plan.PlacesOfPasses(IsComplex(result.element_type()) && plan.most_between() <= result.ElementCount());
}

// Simple operations of a unit of a pass: of a butterfly of r points some 4 r log2 r, of sums r terms.
int64_t OperationsOf(const FftJob& job, const FusionDescription& body) {
  const int64_t radix = job.pass.radix, width = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(radix)));
  const int64_t points = job.untangles ? 32 : 8 * radix * (job.pass.direct ? 1 : job.width * width) + 32;
  return points * (HasWideCarrier(body.hero->shape().element_type()) ? 4 : 1);
}

// Whose passes read and write nothing of other ones: the units of each pass go through them one after the other, and a
// row lies where it lay in every pass that writes the same memory.
int64_t RowsOf(const FftPlan& plan, const std::vector<int>& places) {
  int64_t rows = 0;
  std::map<int, int64_t> bytes;  // by place
  for (size_t i = 0; i < plan.jobs.size(); ++i) {
    const FftJob& job = plan.jobs[i];
    rows = std::gcd(rows, job.outer);
    const int64_t written = job.out_elements() * StorageBytes(job.out.type);
    if (bytes.try_emplace(places[i], written).first->second != written) return 1;
  }
  return std::max<int64_t>(rows, 1);
}

}  // namespace

LoopUnitNeeds NeedsOfLoopFft(const LowerContext& context, const FusionDescription& body, uint32_t lanes) {
  LoopUnitNeeds needs;
  const Shape& result = body.hero->shape();
  if (result.ElementCount() == 0) return needs;
  const FftPlan plan = PlanFft(context, body, true);
  const std::vector<int> places = PlacesIn(plan, result);
  const auto scratch = static_cast<size_t>(*std::ranges::max_element(places) + 1);
  needs.scratch.assign(scratch, Shape(plan.complex, IntList{plan.most_between()}));
  needs.rows = RowsOf(plan, places);
  needs.waits = std::ssize(plan.jobs) - 1;
  for (const FftJob& job : plan.jobs) {
    needs.operations += job.units() * OperationsOf(job, body);
    const int64_t turns = CeilDivide(job.units(), lanes);
    needs.iterations += turns * (job.pass.direct ? job.pass.radix + 2 : 1) + 1;
  }
  return needs;
}

Code WriteLoopFft(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                  std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  const FftPlan plan = PlanFft(context, body, true);
  const std::vector<int> places = PlacesIn(plan, body.hero->shape());
  FftSlices slices;
  if (plan.tables.count() > 0) slices.tables = buffers.Constant(plan.tables.Words());
  const Instruction& operand = *body.OperandOf(*body.hero->operand(0));
  const auto held = std::ranges::find(unit.held, &operand, &std::pair<const Instruction*, std::string>::first);
  if (held != unit.held.end()) {
    slices.held = held->second;
  } else {
    slices.from = buffers.SliceOf(operand, 0);
  }
  const bool alone = unit.sharing == LoopSharing::kAlone;
  const int64_t rows = RowsOf(plan, places) * unit.at_once;
  Code text = unit.OwnRows(rows);
  for (size_t i = 0; i < plan.jobs.size(); ++i) {
    FftJob job = plan.jobs[i];
    if (i > 0) text += Barrier(1, unit.waits_for_grid());
    slices.into = places[i] < 0 ? buffers.SliceOf(*body.instruction, 0) : scratch[static_cast<size_t>(places[i])];
    const auto between = [&](const BufferSlice& slice, ElementType type, int64_t elements) {
      return unit.at_once == 1 ? 0 : slice.size_bytes / unit.at_once / StorageBytes(type) - elements;
    };
    slices.between_in = between(slices.from, job.in.type, job.in_elements());
    slices.between_out = between(slices.into, job.out.type, job.out_elements());
    slices.lines = job.outer;
    job.outer *= unit.at_once;
    const bool once = job.units() <= unit.lanes && (alone || !unit.share.cooperative);
    text += once ? fmt::format("  if (lane < {}u) {{\n  uint u = lane;\n", job.units())
                 : fmt::format("  {} {{\n", unit.Turns("u", job.units(), rows));
    text += FftUnitText(unit.kernel, plan, job, slices) + Code("  }\n");
    slices.from = slices.into;
    slices.held.clear();
  }
  return text;
}

}  // namespace VXLA_NAMESPACE::vulkan
