#include "backend/vulkan/lower/indexing/select_and_scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/elementwise/fused_loop.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/rows/window_place.h"
#include "core/ceil_divide.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Windows of more taps are walked through by a loop.
constexpr int64_t kMostWrittenTaps = 32;
// What windows that lie in the padding alone select.
constexpr const char* kNothing = "0xffffffffu";

// Writes `step` for each value of a counter over `sizes`: written out, or as a loop.
template <typename Body>
void ForEach(ValueWriter& writer, const IntList& sizes, Body&& step) {
  const int64_t count = ElementCountOf(sizes);
  IndexSpace& space = writer.space();
  if (count <= kMostWrittenTaps) {
    for (int64_t t = 0; t < count; ++t) step(space.Delinearize({{}, t}, sizes));
    return;
  }
  const int counter = writer.NewVariable("tap", count);
  writer.OpenBlock("for (uint tap = 0u; tap < {}; ++tap)", writer.kernel().Param(count));
  step(space.Delinearize(space.Variable(counter), sizes));
  writer.CloseBlock();
}

}  // namespace

SelectAndScatterTurns::SelectAndScatterTurns(const Instruction& hero) {
  for (const WindowDimension& w : hero.attributes<WindowAttributes>().window) {
    taps.push_back(w.size);
    covering.push_back(CeilDivide(w.size, w.stride));
  }
}
int64_t SelectAndScatterTurns::LoopTurns(const IntList& sizes) {
  const int64_t count = ElementCountOf(sizes);
  return count > kMostWrittenTaps ? count + 1 : 0;
}

SelectAndScatterText::SelectAndScatterText(const Instruction& hero, ValueWriter& writer, int64_t width, int number)
    : hero_(hero),
      writer_(writer),
      space_(writer.space()),
      kernel_(writer.kernel()),
      width_(width),
      turns_(hero),
      keeps_(fmt::format("keeps_{}", number)),
      combine_(fmt::format("combine_{}", number)) {}

std::vector<MultiIndex> SelectAndScatterText::PlacesOf(const IndexExpression& group, const Shape& shape) {
  std::vector<MultiIndex> places;
  for (int64_t j = 0; j < width_; ++j)
    places.push_back(space_.Delinearize(space_.Add(space_.Scale(group, width_), {{}, j}), shape.dimensions()));
  return places;
}

void SelectAndScatterText::WriteSelect(const IndexExpression& group, const BufferSlice& chosen) {
  kernel_.Append(ScalarFunction(*hero_.called(0), *hero_.called(0)->root(), keeps_));
  std::vector<std::string> selected, held;
  const std::vector<MultiIndex> at = PlacesOf(group, source().shape());
  for (size_t j = 0; j < at.size(); ++j) {
    selected.push_back(writer_.Assignable(ElementType::kU32, kNothing));
    held.push_back(writer_.Assignable(type(), ZeroText(type())));
  }
  ForEach(writer_, turns_.taps, [&](const MultiIndex& tap) {
    for (size_t j = 0; j < at.size(); ++j) SelectAt(at[j], tap, selected[j], held[j]);
  });
  const int k = kernel_.AddBuffer(ElementType::kU32, Access::kWrite, chosen);
  writer_.StoreGroup(k, space_.Scale(group, width_), selected);
}

// The element under a tap replaces what is held unless the computation keeps that.
void SelectAndScatterText::SelectAt(const MultiIndex& at, const MultiIndex& tap, const std::string& chosen,
                                    const std::string& held) {
  std::vector<std::string> conditions;
  MultiIndex index;
  for (size_t d = 0; d < at.size(); ++d) {
    index.push_back(ElementAt(writer_, TapPosition(space_, window()[d], at[d], tap[d]),
                              operand().shape().dimension(static_cast<int>(d)), 1, &conditions));
  }
  const std::string place = writer_.LinearIndex(index, operand().shape()), value = writer_.Value(operand(), index);
  conditions.push_back(fmt::format("({} == {} || !{}({}, {}))", chosen, kNothing, keeps_, held, value));
  writer_.Line("if ({}) {{ {} = {}; {} = {}; }}", fmt::join(conditions, " && "), chosen, place, held, value);
}

void SelectAndScatterText::WriteScatter(const IndexExpression& group, const BufferSlice& chosen,
                                        const BufferSlice& result) {
  const Reducer reducer = ReadReducer(*hero_.called(1));
  kernel_.Append(reducer.combine(combine_));
  const std::string init = writer_.Value(*hero_.operand(2), {});
  std::vector<std::string> sums;
  const std::vector<MultiIndex> at = PlacesOf(group, hero_.shape());
  for (size_t j = 0; j < at.size(); ++j) sums.push_back(writer_.Assignable(reducer.types[0], init));
  if (source().shape().ElementCount() > 0) {
    ForEach(writer_, turns_.covering, [&](const MultiIndex& turn) {
      for (size_t j = 0; j < at.size(); ++j) TakeFrom(at[j], turn, chosen, sums[j]);
    });
  }
  for (std::string& sum : sums) sum = reducer.Result(0, type(), sum);
  const int k = kernel_.AddBuffer(type(), Access::kWrite, result);
  writer_.StoreGroup(k, space_.Scale(group, width_), sums);
}

// The windows over a place begin at or before it; the last one of a dimension is place / stride, and what selected
// another element, or does not reach this far, has chosen another index.
void SelectAndScatterText::TakeFrom(const MultiIndex& at, const MultiIndex& turn, const BufferSlice& chosen,
                                    const std::string& sum) {
  std::vector<std::string> conditions;
  MultiIndex index;
  for (size_t d = 0; d < at.size(); ++d) {
    const WindowDimension& w = window()[d];
    IndexExpression last = at[d];
    if (w.stride > 1 || w.pad_low != 0) {
      const int64_t spread = hero_.shape().dimension(static_cast<int>(d)) + std::abs(w.pad_low);
      last = writer_.Clamped(space_.Add(at[d], {{}, w.pad_low}), spread);
      if (!last.terms.empty()) last = {{{last.terms[0].variable, w.stride, 0, 1}}, 0};
    }
    const IndexExpression covering = space_.Add(space_.Add(last, turn[d]), {{}, 1 - turns_.covering[d]});
    index.push_back(ElementAt(writer_, covering, source().shape().dimension(static_cast<int>(d)), 1, &conditions));
  }
  const int k = kernel_.AddBuffer(ElementType::kU32, Access::kRead, chosen);
  const std::string place = writer_.LinearIndex(at, hero_.shape());
  const std::string selected = writer_.Load(k, space_.Linearize(index, source().shape().dimensions()));
  conditions.push_back(fmt::format("{} == {}", selected, place));
  writer_.Line("if ({}) {}({}, {});", fmt::join(conditions, " && "), combine_, sum, writer_.Value(source(), index));
}

namespace {

// Neighbours that are in different windows at the same taps are taken together.
LoopTuning TuningOf(const LowerContext& context, const FusionDescription& body, const Shape& shape, int64_t steps) {
  const int64_t count = shape.ElementCount();
  const Window& window = body.hero->attributes<WindowAttributes>().window;
  LoopTuning tuning = TuneLoop(context.facts, context.bindings, count, 1 << 10);
  tuning.width = 1;
  const bool channels = !window.empty() && window.back() == WindowDimension{.size = 1};
  if (channels && !ComputesInPairs(context, body)) {
    const int64_t run = shape.dimension(shape.rank() - 1);
    if (run % 4 == 0) tuning.width = count >= (1 << 16) && run % 8 == 0 ? 8 : 4;
  }
  // Loops of an invocation stay below the device's limit.
  const int64_t limit = context.facts.quirks.loop_iteration_limit;
  const int64_t most = limit == 0 ? tuning.items : std::max<int64_t>(limit / 2 / (steps + 1), 1);
  tuning.items = static_cast<uint32_t>(std::min<int64_t>({tuning.items, most, tuning.width > 1 ? 4 : 16}));
  if (tuning.width > 1) tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
  return tuning;
}

}  // namespace

Status CanLowerSelectAndScatter(const LowerContext& context, const FusionDescription& body) {
  const Instruction& hero = *body.hero;
  VXLA_RETURN_IF_ERROR(CheckScalarComputation(*hero.called(0)));
  VXLA_RETURN_IF_ERROR(CheckReducer(*hero.called(1)));
  const Window& window = hero.attributes<WindowAttributes>().window;
  VXLA_RETURN_IF_ERROR(CheckWindow(hero, window, hero.operand(0)->shape().dimensions()));
  const int64_t taps = ElementCountOf(SelectAndScatterTurns(hero).taps),
                limit = context.facts.quirks.loop_iteration_limit;
  if (limit != 0 && taps >= limit) {
    return Unsupported("select-and-scatter: a window of {} taps; loops of this device stop after {} turns", taps,
                       limit);
  }
  return OkStatus();
}

Result<std::vector<Step>> LowerSelectAndScatter(const LowerContext& context, const FusionDescription& body,
                                                BufferMap& buffers) {
  const Instruction& hero = *body.hero;
  const Shape &windows = hero.operand(1)->shape(), &result = hero.shape();
  const SelectAndScatterTurns turns(hero);
  const BufferSlice chosen = buffers.Scratch(std::max<int64_t>(windows.ElementCount(), 1) * 4);
  std::vector<Step> steps;
  const auto add = [&](const Shape& shape, const IntList& each, const char* phase, const auto& write) {
    const LoopTuning tuning = TuningOf(context, body, shape, ElementCountOf(each));
    LoopKernel loop(context, body, buffers, shape.ElementCount(), tuning);
    SelectAndScatterText text(hero, loop.writer(), tuning.width);
    write(text, loop.group());
    steps.push_back(loop.Finish(fmt::format("{} {}", StepName(body), phase)));
  };
  if (windows.ElementCount() > 0) {
    add(windows, turns.taps, "select",
        [&](SelectAndScatterText& text, const IndexExpression& group) { text.WriteSelect(group, chosen); });
  }
  add(result, turns.covering, "scatter", [&](SelectAndScatterText& text, const IndexExpression& group) {
    text.WriteScatter(group, chosen, buffers.SliceOf(*body.instruction, 0));
  });
  return steps;
}

}  // namespace VXLA_NAMESPACE::vulkan
