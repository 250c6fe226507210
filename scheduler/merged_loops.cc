#include "scheduler/merged_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/kernel_pieces.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr size_t kMostPieces = 512;

// Of two loops that differ in nothing but whether every workgroup is whole: the one that tests where it ends.
std::optional<KernelKey> CommonKernel(const KernelKey& a, const KernelKey& b) {
  constexpr std::string_view kWhole = "#define WHOLE_ITEMS 1u\n", kTested = "#define ONE_ITEM 1\n";
  auto tested = [&](KernelKey key) {
    if (key.generated.ends_with(kWhole)) {
      key.generated.replace(key.generated.size() - kWhole.size(), kWhole.size(), kTested);
    }
    return key;
  };
  KernelKey common = tested(a);
  if (common != tested(b)) return std::nullopt;
  return common;
}

class LoopMerger {
 public:
  LoopMerger(Plan& plan, const DeviceFacts& facts) : plan_(plan), facts_(facts) {}

  void Merge() {
    for (Segment& segment : plan_.segments) {
      if (auto* gpu = std::get_if<GpuCommands>(&segment)) MergeIn(*gpu);
    }
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
    const Step& step = plan_.steps[static_cast<size_t>(dispatch->step)];
    const size_t constants = PiecesConstant(step.kernel);
    return constants > 0 && step.kernel.constants.size() == constants && !step.kernel.in_parts && step.groups[1] == 1 &&
           step.groups[2] == 1;
  }

  void Take(std::vector<Bundle>& bundles, const GpuCommand& command, size_t at) const {
    const int number = std::get<Dispatch>(command).step;
    const Step& step = plan_.steps[static_cast<size_t>(number)];
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
    auto finish = [&] {
      for (const Bundle& bundle : bundles) {
        if (bundle.steps.size() == 1) continue;
        merged[bundle.first] = Dispatch{static_cast<int>(plan_.steps.size())};
        plan_.steps.push_back(MergedStep(bundle));
      }
      bundles.clear();
    };
    for (GpuCommand& command : segment.commands) {
      if (std::holds_alternative<Barrier>(command)) finish();
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

  Step MergedStep(const Bundle& bundle) const {
    const Step& first = plan_.steps[static_cast<size_t>(bundle.steps[0])];
    Step merged;
    merged.name = fmt::format("{} and {} more", first.name, bundle.steps.size() - 1);
    merged.kernel = bundle.kernel;
    merged.kernel.constants.push_back(static_cast<uint32_t>(bundle.steps.size()));
    uint32_t groups = 0;
    for (int number : bundle.steps) {
      const Step& step = plan_.steps[static_cast<size_t>(number)];
      merged.params.push_back(groups);
      groups += step.groups[0];
      merged.flop += step.flop;
      merged.accumulations.insert(merged.accumulations.end(), step.accumulations.begin(), step.accumulations.end());
      merged.bindings.insert(merged.bindings.end(), step.bindings.begin(), step.bindings.end());
    }
    for (int number : bundle.steps) {
      const Step& step = plan_.steps[static_cast<size_t>(number)];
      merged.params.insert(merged.params.end(), step.params.begin(), step.params.end());
    }
    merged.groups = {groups, 1, 1};
    merged.kernel.buffer_count = static_cast<uint32_t>(merged.bindings.size());
    merged.kernel.param_count = static_cast<uint32_t>(merged.params.size());
    return merged;
  }

  void DropUnusedSteps() {
    std::vector<int> new_number(plan_.steps.size(), -1);
    std::vector<Step> kept;
    for (Segment& segment : plan_.segments) {
      auto* gpu = std::get_if<GpuCommands>(&segment);
      if (gpu == nullptr) continue;
      for (GpuCommand& command : gpu->commands) {
        auto* dispatch = std::get_if<Dispatch>(&command);
        if (dispatch == nullptr) continue;
        const auto old = static_cast<size_t>(dispatch->step);
        if (new_number[old] < 0) {
          new_number[old] = static_cast<int>(kept.size());
          kept.push_back(std::move(plan_.steps[old]));
        }
        dispatch->step = new_number[old];
      }
    }
    plan_.steps = std::move(kept);
  }

  Plan& plan_;
  const DeviceFacts& facts_;
};

}  // namespace

void MergeLoops(Plan& plan, const DeviceFacts& facts) {
  // What finds the piece that a workgroup belongs to would cost more than a dispatch.
  if (plan.bindings != BindingMode::kAddresses || facts.costs.cheap_dispatches) return;
  LoopMerger(plan, facts).Merge();
}

}  // namespace VXLA_NAMESPACE
