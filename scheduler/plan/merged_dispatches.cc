#include "scheduler/plan/merged_dispatches.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "backend/kernel_pieces.h"
#include "scheduler/plan/barriers.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kMostPieces = 512;

// Of two loops that differ in nothing but whether every workgroup is whole: the one that tests where it ends.
std::optional<KernelKey> CommonKernel(const KernelKey& a, const KernelKey& b) {
  auto tested = [](KernelKey key) {
    if (key.whole_items == 1) {
      key.whole_items = 0;
      key.one_item = true;
    }
    return key;
  };
  KernelKey common = tested(a);
  if (common != tested(b)) return std::nullopt;
  return common;
}

// How the tensors of several steps of one kernel are bound as two arrays of descriptors.
struct TensorArrays {
  struct Bound {
    PhysicalRange range;
    BufferSlice first;  // the tensor at its begin
  };
  std::vector<bool> is_written;     // by tensor of the kernel
  std::vector<Bound> bound;         // the array of what is written, then that of the rest
  uint32_t written = 0;             // so many of them
  std::vector<uint32_t> places;     // by step and tensor: the place in its array, and the first byte there
  std::vector<PhysicalRange> gaps;  // bound between tensors
};

class LoopMerger {
 public:
  LoopMerger(Plan& plan, const DeviceFacts& facts) : plan_(plan), facts_(facts) {}

  void Merge() {
    for (GpuCommands& gpu : Only<GpuCommands>(plan_.segments)) MergeIn(gpu);
    DropUnusedSteps();
  }

 private:
  // Dispatches of one kernel; the first one's place is where all of them will stand.
  struct Bundle {
    std::vector<int> steps;
    size_t first = 0;
    uint64_t groups = 0;
    KernelKey kernel;
  };

  bool MayMerge(const GpuCommand& command) const {
    const auto* dispatch = std::get_if<Dispatch>(&command);
    if (dispatch == nullptr || dispatch->parts > 1 || dispatch->groups_at.buffer >= 0) return false;
    const Step& step = plan_.steps[dispatch->step];
    const size_t constants = PiecesConstant(step.kernel);
    return constants > 0 && step.kernel.constants.size() == constants && !step.kernel.in_parts && step.groups[1] == 1 &&
           step.groups[2] == 1;
  }

  void Take(std::vector<Bundle>& bundles, const GpuCommand& command, size_t at) const {
    const int number = std::get<Dispatch>(command).step;
    const Step& step = plan_.steps[number];
    for (Bundle& bundle : bundles) {
      const bool fits =
          bundle.steps.size() < kMostPieces && bundle.groups + step.groups[0] <= facts_.max_group_count[0];
      if (!fits) continue;
      if (bundle.kernel != step.kernel) {
        const std::optional<KernelKey> common = CommonKernel(bundle.kernel, step.kernel);
        if (!common) continue;
        bundle.kernel = *common;
      }
      bundle.steps.push_back(number);
      bundle.groups += step.groups[0];
      return;
    }
    bundles.push_back({{number}, at, step.groups[0], step.kernel});
  }

  // Nothing between two barriers waits for anything else there, so all of it may move.
  void MergeIn(GpuCommands& segment) {
    std::vector<GpuCommand> merged;
    std::vector<Bundle> bundles;
    memory_ = {};
    runs_alone_ = segment.overlap == 0;
    auto finish = [&] {
      for (const Bundle& bundle : bundles) {
        if (bundle.steps.size() == 1) continue;
        const std::vector<int> dispatches = MergedSteps(bundle);
        merged[bundle.first] = Dispatch{dispatches[0]};
        for (size_t i = 1; i < dispatches.size(); ++i) merged.push_back(Dispatch{dispatches[i]});
      }
      bundles.clear();
      memory_ = {};
    };
    for (GpuCommand& command : segment.commands) {
      if (std::holds_alternative<Barrier>(command)) finish();
      if (UsesDescriptors()) {
        for (const MemoryUse& use : MemoryUses(plan_, command)) memory_.Add(use);
      }
      if (MayMerge(command)) {
        const size_t known = bundles.size();
        Take(bundles, command, merged.size());
        if (bundles.size() == known) continue;
      }
      merged.push_back(std::move(command));
    }
    finish();
    segment.commands = std::move(merged);
  }

  bool UsesDescriptors() const { return plan_.bindings == BindingMode::kDescriptors; }

  // As few dispatches as there are bindings for.
  std::vector<int> MergedSteps(const Bundle& bundle) {
    std::vector<int> dispatches;
    std::span<const int> rest = bundle.steps;
    while (!rest.empty()) {
      size_t count = rest.size();
      TensorArrays arrays;
      if (UsesDescriptors()) arrays = ArraysThatFit(rest, &count);
      if (count == 1) {
        dispatches.push_back(rest[0]);
      } else {
        for (const PhysicalRange& gap : arrays.gaps) memory_.writes.Add(gap);
        Step step = MergedStep(bundle.kernel, rest.first(count));
        if (UsesDescriptors()) BindAsArrays(arrays, count, &step);
        dispatches.push_back(static_cast<int>(plan_.steps.size()));
        plan_.steps.push_back(std::move(step));
      }
      rest = rest.subspan(count);
    }
    return dispatches;
  }

  Step MergedStep(const KernelKey& kernel, std::span<const int> steps) const {
    Step merged;
    merged.name = fmt::format("{} and {} more", plan_.steps[steps[0]].name, steps.size() - 1);
    merged.kernel = kernel;
    merged.kernel.constants.push_back(static_cast<uint32_t>(steps.size()));
    merged.part_bytes = 0;
    uint32_t groups = 0;
    for (int number : steps) {
      const Step& step = plan_.steps[number];
      merged.params.push_back(groups);
      groups += step.groups[0];
      merged.flop += step.flop;
      merged.part_bytes += step.MovedBytes();
      merged.accumulations.insert(merged.accumulations.end(), step.accumulations.begin(), step.accumulations.end());
      merged.bindings.insert(merged.bindings.end(), step.bindings.begin(), step.bindings.end());
    }
    for (int number : steps) {
      const Step& step = plan_.steps[number];
      merged.params.insert(merged.params.end(), step.params.begin(), step.params.end());
    }
    merged.groups = {groups, 1, 1};
    merged.kernel.buffer_count = static_cast<uint32_t>(merged.bindings.size());
    merged.kernel.param_count = static_cast<uint32_t>(merged.params.size());
    return merged;
  }

  // The arrays of the first steps, and of how many: all if there are bindings for them beside the argument block's.
  TensorArrays ArraysThatFit(std::span<const int> steps, size_t* count) const {
    const size_t most = facts_.max_storage_buffers - 1;
    for (;;) {
      TensorArrays arrays = ArraysOf(steps.first(*count));
      if (arrays.bound.size() <= most || *count == 1) return arrays;
      *count = std::max<size_t>(1, std::min(*count - 1, *count * most / arrays.bound.size()));
    }
  }

  struct Tensor {
    PhysicalRange range;
    BufferSlice slice;
    size_t place = 0;  // in TensorArrays::places
  };

  TensorArrays ArraysOf(std::span<const int> steps) const {
    const auto bindings_of = [&](size_t i) -> const std::vector<Binding>& { return plan_.steps[steps[i]].bindings; };
    const size_t tensors = bindings_of(0).size();
    TensorArrays arrays;
    arrays.is_written.assign(tensors, false);
    for (size_t i = 0; i < steps.size(); ++i) NoteWritten(bindings_of(i), &arrays.is_written);
    arrays.places.resize(2 * tensors * steps.size());
    for (const bool written : {true, false}) {
      std::vector<Tensor> in_array;
      for (size_t i = 0; i < steps.size(); ++i) {
        for (size_t k = 0; k < tensors; ++k) {
          if (arrays.is_written[k] != written) continue;
          const BufferSlice& slice = bindings_of(i)[k].slice;
          in_array.push_back({RangeOf(plan_, slice), slice, 2 * (i * tensors + k)});
        }
      }
      AddArray(std::move(in_array), &arrays);
      if (written) arrays.written = static_cast<uint32_t>(arrays.bound.size());
    }
    return arrays;
  }

  // What lies in memory that the step writes, as where it works in place, is bound with what is written there.
  void NoteWritten(const std::vector<Binding>& bindings, std::vector<bool>* is_written) const {
    for (const Binding& written : bindings) {
      if (written.access == Access::kRead) continue;
      const PhysicalRange range = RangeOf(plan_, written.slice);
      for (size_t k = 0; k < bindings.size(); ++k) {
        if (&bindings[k] == &written || Overlap(range, RangeOf(plan_, bindings[k].slice))) (*is_written)[k] = true;
      }
    }
  }

  void AddArray(std::vector<Tensor> tensors, TensorArrays* arrays) const {
    std::ranges::sort(tensors, {}, [](const Tensor& tensor) {
      const PhysicalRange& range = tensor.range;
      return std::tuple(range.space, range.index, range.begin, range.end);
    });
    const size_t first = arrays->bound.size();
    const bool written = first == 0;
    for (const Tensor& tensor : tensors) {
      const bool joins = arrays->bound.size() > first && Reaches(arrays->bound.back().range, tensor.range, written);
      if (!joins) arrays->bound.push_back({tensor.range, tensor.slice});
      PhysicalRange& bound = arrays->bound.back().range;
      if (bound.end < tensor.range.begin)
        arrays->gaps.push_back({bound.space, bound.index, bound.end, tensor.range.begin});
      bound.end = std::max(bound.end, tensor.range.end);
      arrays->places[tensor.place] = static_cast<uint32_t>(arrays->bound.size() - 1 - first);
      arrays->places[tensor.place + 1] = static_cast<uint32_t>(tensor.range.begin - bound.begin);
    }
  }

  // Neighbours in one block of memory are one binding unless something lies between them that the device may use at the
  // same time: validation of synchronisation takes all that is bound for used.
  bool Reaches(const PhysicalRange& bound, const PhysicalRange& range, bool written) const {
    constexpr int64_t kWidestElement = 32;
    if (range.space != bound.space || range.index != bound.index) return false;
    const int64_t bytes = std::max(bound.end, range.end) - bound.begin;
    const auto most = std::min<uint64_t>(facts_.max_storage_range_bytes, std::numeric_limits<uint32_t>::max());
    if (static_cast<uint64_t>(bytes) > most || (range.begin - bound.begin) % kWidestElement != 0) return false;
    if (bound.end >= range.begin) return true;
    const PhysicalRange gap = {bound.space, bound.index, bound.end, range.begin};
    return runs_alone_ && !memory_.writes.Hits(gap) && !(written && memory_.reads.Hits(gap));
  }

  void BindAsArrays(const TensorArrays& arrays, size_t steps, Step* step) {
    step->kernel.written_tensors = arrays.is_written;
    step->params.insert(step->params.begin() + static_cast<std::ptrdiff_t>(steps), arrays.places.begin(),
                        arrays.places.end());
    step->bindings.clear();
    for (const auto& [range, first] : arrays.bound) {
      const Access access = step->bindings.size() < arrays.written ? Access::kReadWrite : Access::kRead;
      BufferSlice slice = first;
      if (slice.size_bytes != range.end - range.begin) {
        slice = {static_cast<int>(plan_.buffers.size()), 0, range.end - range.begin};
        plan_.buffers.push_back(
            {fmt::format("{} tensors", step->name), slice.size_bytes, {range.space, range.index, range.begin}});
      }
      step->bindings.push_back({slice, access});
    }
    step->kernel.written_array = arrays.written;
    step->kernel.piece_tensors = static_cast<uint32_t>(arrays.is_written.size());
    step->kernel.buffer_count = static_cast<uint32_t>(step->bindings.size());
    step->kernel.param_count = static_cast<uint32_t>(step->params.size());
  }

  void DropUnusedSteps() {
    std::vector<int> new_number(plan_.steps.size(), -1);
    std::vector<Step> kept;
    for (GpuCommands& gpu : Only<GpuCommands>(plan_.segments)) {
      for (Dispatch& dispatch : Only<Dispatch>(gpu.commands)) {
        const auto old = static_cast<size_t>(dispatch.step);
        if (new_number[old] < 0) {
          new_number[old] = static_cast<int>(kept.size());
          kept.push_back(std::move(plan_.steps[old]));
        }
        dispatch.step = new_number[old];
      }
    }
    plan_.steps = std::move(kept);
  }

  Plan& plan_;
  const DeviceFacts& facts_;
  // Under descriptors: what the commands since the last barrier touch, and whether other queues work beside them.
  CommandsMemory memory_;
  bool runs_alone_ = true;
};

}  // namespace

bool MergesDispatches(const DeviceFacts& facts, BindingMode bindings) {
  // What finds the piece that a workgroup belongs to would cost more than a dispatch.
  if (facts.costs.subgroups_in_turn) return false;
  return bindings == BindingMode::kAddresses || (facts.buffer_arrays && facts.max_storage_buffers > 1);
}

void MergeDispatches(Plan& plan, const DeviceFacts& facts) {
  if (MergesDispatches(facts, plan.bindings)) LoopMerger(plan, facts).Merge();
}

}  // namespace VXLA_NAMESPACE
