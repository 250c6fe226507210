// Dynamic-update-slice and scatter: loops over the updates that change a part of an array where it lies.
#include <algorithm>

#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "backend/vulkan/lower/indexing/scatter_windows.h"
#include "backend/vulkan/lower/tuning/tuner.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Where the arrays of the hero lie: its results, or scratch for those that nobody reads. What is not there already (the
// scheduler puts an operand in memory there) is written first, by `steps`, if the updates do not write it along.
std::vector<BufferSlice> PlaceArrays(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                                     bool no_updates, bool writes_all, std::vector<Step>* steps) {
  std::vector<BufferSlice> places, fresh;
  std::vector<const Instruction*> values;
  for (int array = 0; array < UpdatedArrays(*body.hero); ++array) {
    const Instruction& operand = *body.hero->operand(array);
    const int leaf = body.LeafOf(*body.hero, array);
    places.push_back(leaf < 0 ? buffers.Scratch(operand.shape().SizeBytes())
                              : buffers.SliceOf(*body.instruction, leaf));
    if (!no_updates && (writes_all || (leaf >= 0 && body.OperandOf(operand) != nullptr))) continue;
    values.push_back(&operand);
    fresh.push_back(places.back());
  }
  if (!values.empty()) steps->push_back(LowerLoop(context, body, buffers, values, fresh));
  return places;
}

// Only the fusion of a text can hold more than the hero's own results.
Status CheckNothingBehind(const FusionDescription& body) {
  for (const Instruction* behind : body.epilogue) {
    if (IsHeroElement(*behind)) continue;
    return Unsupported("{}: a kernel that updates an array in place computes nothing behind it, not {}",
                       body.hero->name(), behind->name());
  }
  return OkStatus();
}

// The operand's last dimension is the updates' last, whole, and starts at 0: neighbours stay neighbours.
bool InnermostIsWhole(const ScatterForm& form, const Shape& operand) {
  if (form.window_dims.empty()) return false;
  const auto last = static_cast<size_t>(operand.rank()) - 1;
  const int64_t updates_rank = static_cast<int64_t>(form.window_dims.size() + form.batch_dims.size());
  return form.window_of[last] == static_cast<int64_t>(form.window_dims.size()) - 1 && form.index_of[last] < 0 &&
         form.window_dims.back() == updates_rank - 1 && form.window_sizes.back() % 4 == 0 &&
         operand.dimension(static_cast<int>(last)) % 4 == 0;
}

using Stage = ScatterWindows::Stage;

LoopTuning TuningOfScatter(const LowerContext& context, const Instruction& scatter, ScatterWay way, Stage stage,
                           int64_t count) {
  constexpr int64_t kCost = 64, kManyElements = 1 << 12;
  const Shape& operand = scatter.operand(0)->shape();
  LoopTuning tuning = TuneLoop(context.facts, context.bindings, count, kCost);
  if (stage != Stage::kWhole || way == ScatterWay::kPlaces) tuning.items = 1;
  tuning.width = InnermostIsWhole(ScatterForm(scatter), operand) && count >= kManyElements ? 4 : 1;
  if (tuning.width == 1) return tuning;
  tuning.items = std::max(1u, tuning.items / 4);
  const bool apart = way == ScatterWay::kApart || way == ScatterWay::kAtomic;
  if (!apart) return tuning;
  return TunerOf(context.facts).NeighboursInTurn(tuning, count, tuning.width * StorageBytes(operand.element_type()));
}

std::vector<Step> LowerWindows(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                               std::span<const BufferSlice> places, Stage stage, std::span<const BufferSlice> parts) {
  const Instruction& hero = *body.hero;
  const ScatterWay way = WayOf(hero, ScatterTargetOf(context.facts));
  const int64_t count = ScatterWindows::CountOf(hero, way, stage);
  const LoopTuning tuning = TuningOfScatter(context, hero, way, stage, count);
  LoopKernel loop(context, body, buffers, count, tuning);
  ScatterWindows windows(body, loop.writer(), "combine", stage);
  windows.Bind(places, parts);
  const IndexExpression first = loop.space().Scale(loop.group(), tuning.width);
  if (way != ScatterWay::kRuns) {
    windows.Write(first, tuning.width);
    return {loop.Finish(StepName(body))};
  }
  const int64_t limit = context.facts.quirks.loop_iteration_limit, updates = ScatterForm(hero).count;
  const int64_t most = limit == 0 ? updates : std::max<int64_t>(1, limit / 2 / tuning.items);
  windows.Write(first, tuning.width, {loop.kernel().Param(0), most});
  constexpr size_t kBehind = 1;  // that parameter
  std::vector<Step> steps(static_cast<size_t>(CeilDivide(updates, most)), loop.Finish(StepName(body)));
  for (size_t s = 0; s < steps.size(); ++s)
    steps[s].params.at(kBehind) = static_cast<uint32_t>(static_cast<int64_t>(s) * most);
  return steps;
}

}  // namespace

Status CanLowerDynamicUpdateSlice(const LowerContext&, const FusionDescription& body) {
  return CheckNothingBehind(body);
}

Result<std::vector<Step>> LowerDynamicUpdateSlice(const LowerContext& context, const FusionDescription& body,
                                                  BufferMap& buffers) {
  const Instruction& hero = *body.hero;
  const int64_t count = hero.operand(1)->shape().ElementCount();
  std::vector<Step> steps;
  const BufferSlice place = PlaceArrays(context, body, buffers, count == 0, false, &steps)[0];
  if (count == 0) return steps;
  const LoopTuning tuning = TuneLoop(context.facts, context.bindings, count);
  LoopKernel loop(context, body, buffers, count, tuning);
  const int k = loop.kernel().AddBuffer(hero.shape().element_type(), Access::kReadWrite, place);
  loop.writer().StoreUpdate(k, hero, loop.space().Scale(loop.group(), tuning.width), tuning.width);
  steps.push_back(loop.Finish(StepName(body)));
  steps.back().in_place = PlacesOf(body, buffers);
  return steps;
}

Status CanLowerScatter(const LowerContext& context, const FusionDescription& body) {
  VXLA_RETURN_IF_ERROR(CheckNothingBehind(body));
  if (WayOf(*body.hero, ScatterTargetOf(context.facts)) == ScatterWay::kUnordered &&
      body.hero->operand(body.hero->operand_count() - 1)->shape().ElementCount() > 0) {
    return Unsupported("{}: windows that may meet and are not sorted", body.hero->name());
  }
  return CheckReducer(*body.hero->called(0));
}

Result<std::vector<Step>> LowerScatter(const LowerContext& context, const FusionDescription& body, BufferMap& buffers) {
  const int64_t count = body.hero->operand(body.hero->operand_count() - 1)->shape().ElementCount();
  std::vector<Step> steps;
  const ScatterWay way = WayOf(*body.hero, ScatterTargetOf(context.facts));
  const bool by_place = way == ScatterWay::kPlaces;
  const std::vector<BufferSlice> places = PlaceArrays(context, body, buffers, count == 0, by_place, &steps);
  if (count == 0) return steps;
  std::vector<BufferSlice> parts;
  for (const Shape& shape : ScatterPartsOf(*body.hero, context.facts))
    parts.push_back(buffers.Scratch(shape.ElementCount() * std::max(StorageBytes(shape.element_type()), 4)));
  std::vector<Step> updates =
      LowerWindows(context, body, buffers, places, parts.empty() ? Stage::kWhole : Stage::kParts, parts);
  if (!parts.empty()) updates.push_back(LowerWindows(context, body, buffers, places, Stage::kJoin, parts)[0]);
  (by_place ? updates.back() : updates.front()).in_place = PlacesOf(body, buffers);
  steps.insert(steps.end(), std::make_move_iterator(updates.begin()), std::make_move_iterator(updates.end()));
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
