// Select-and-scatter without atomics: a loop over the windows finds the element that each one selects, and a loop over
// the elements then looks at the windows that cover it, in order, and takes the sources of those that selected it.
#include <fmt/format.h>

#include <algorithm>

#include "backend/vulkan/codegen/scalar_computation.h"
#include "backend/vulkan/lower/loop.h"
#include "backend/vulkan/lower/reducer.h"
#include "backend/vulkan/lower/window_place.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// Windows of more taps are walked through by a loop.
constexpr int64_t kMostWrittenTaps = 32;

int64_t CountOf(const IntList& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

class SelectAndScatterLowering {
 public:
  SelectAndScatterLowering(const LowerContext& context, const FusionDescription& body, BufferMap& buffers)
      : context_(context), body_(body), buffers_(buffers), hero_(*body.hero) {
    for (const WindowDimension& w : window()) {
      taps_.push_back(w.size);
      covering_.push_back((w.size + w.stride - 1) / w.stride);
    }
  }

  std::vector<Step> Lower() {
    // Windows that lie in the padding alone select this.
    nothing_ = "0xffffffffu";
    chosen_ = buffers_.Scratch(std::max<int64_t>(source().shape().ElementCount(), 1) * 4);
    std::vector<Step> steps;
    if (source().shape().ElementCount() > 0) steps.push_back(Select());
    steps.push_back(Scatter());
    return steps;
  }

 private:
  const Window& window() const { return hero_.attributes<WindowAttributes>().window; }
  const Instruction& operand() const { return *hero_.operand(0); }
  const Instruction& source() const { return *hero_.operand(1); }
  ElementType type() const { return hero_.shape().element_type(); }

  // Neighbours that are in different windows at the same taps are taken together.
  LoopTuning Tuning(const Shape& shape, int64_t steps) const {
    const int64_t count = shape.ElementCount();
    LoopTuning tuning = TuneLoop(context_.facts, context_.bindings, count, 1 << 10);
    tuning.width = 1;
    const bool channels = !window().empty() && window().back() == WindowDimension{.size = 1};
    if (channels && !ComputesInPairs(context_, body_)) {
      const int64_t run = shape.dimension(shape.rank() - 1);
      if (run % 4 == 0) tuning.width = count >= (1 << 16) && run % 8 == 0 ? 8 : 4;
    }
    // Loops of an invocation stay below the device's limit.
    const int64_t limit = context_.facts.quirks.loop_iteration_limit;
    const int64_t most = limit == 0 ? tuning.items : std::max<int64_t>(limit / 2 / (steps + 1), 1);
    tuning.items = static_cast<uint32_t>(std::min<int64_t>({tuning.items, most, tuning.width > 1 ? 4 : 16}));
    if (tuning.width > 1) tuning.workgroup_size = std::min(tuning.workgroup_size, 64u);
    return tuning;
  }

  // Writes `step` for each value of a counter over `sizes`: written out, or as a loop.
  template <typename Body>
  static void ForEach(LoopKernel& loop, const IntList& sizes, Body&& step) {
    const int64_t count = CountOf(sizes);
    IndexSpace& space = loop.space();
    if (count <= kMostWrittenTaps) {
      for (int64_t t = 0; t < count; ++t) step(space.Delinearize({{}, t}, sizes));
      return;
    }
    const int counter = space.AddVariable(count);
    loop.writer().Bind(counter, "turn");
    loop.writer().OpenBlock(
        fmt::format("for (uint turn = 0u; turn < {}; ++turn)", loop.kernel().Param(static_cast<uint32_t>(count))));
    step(space.Delinearize(space.Variable(counter), sizes));
    loop.writer().CloseBlock();
  }

  static MultiIndex PlaceOf(LoopKernel& loop, const Shape& shape, int64_t width, int64_t j) {
    IndexSpace& space = loop.space();
    return space.Delinearize(space.Add(space.Scale(loop.group(), width), {{}, j}), shape.dimensions());
  }

  // chosen[window] = the linear index of the element that it selects.
  Step Select() {
    const Shape& windows = source().shape();
    const LoopTuning tuning = Tuning(windows, CountOf(taps_));
    LoopKernel loop(context_, body_, buffers_, windows.ElementCount(), tuning);
    ValueWriter& writer = loop.writer();
    loop.kernel().Append(ScalarFunction(*hero_.called(0), *hero_.called(0)->root(), "keeps"));
    std::vector<std::string> chosen, held;
    std::vector<MultiIndex> at;
    for (int64_t j = 0; j < tuning.width; ++j) {
      chosen.push_back(writer.Assignable(ElementType::kU32, nothing_));
      held.push_back(writer.Assignable(type(), ZeroText(type())));
      at.push_back(PlaceOf(loop, windows, tuning.width, j));
    }
    ForEach(loop, taps_, [&](const MultiIndex& tap) {
      for (size_t j = 0; j < at.size(); ++j) SelectAt(loop, at[j], tap, chosen[j], held[j]);
    });
    const int k = loop.kernel().AddBuffer(ElementType::kU32, Access::kWrite, chosen_);
    writer.StoreGroup(k, loop.space().Scale(loop.group(), tuning.width), chosen);
    return loop.Finish(StepName(body_) + " select");
  }

  // The element under a tap replaces what is held unless the computation keeps that.
  void SelectAt(LoopKernel& loop, const MultiIndex& at, const MultiIndex& tap, const std::string& chosen,
                const std::string& held) {
    ValueWriter& writer = loop.writer();
    std::vector<std::string> conditions;
    MultiIndex index;
    for (size_t d = 0; d < at.size(); ++d) {
      index.push_back(ElementAt(writer, TapPosition(loop.space(), window()[d], at[d], tap[d]),
                                operand().shape().dimension(static_cast<int>(d)), 1, &conditions));
    }
    const std::string place = writer.LinearIndex(index, operand().shape()), value = writer.Value(operand(), index);
    conditions.push_back(fmt::format("({} == {} || !keeps({}, {}))", chosen, nothing_, held, value));
    writer.Line(
        fmt::format("if ({}) {{ {} = {}; {} = {}; }}", fmt::join(conditions, " && "), chosen, place, held, value));
  }

  Step Scatter() {
    const Shape& result = hero_.shape();
    const LoopTuning tuning = Tuning(result, CountOf(covering_));
    LoopKernel loop(context_, body_, buffers_, result.ElementCount(), tuning);
    ValueWriter& writer = loop.writer();
    const Reducer reducer = ReadReducer(*hero_.called(1));
    loop.kernel().Append(reducer.combine("combine"));
    const std::string init = writer.Value(*hero_.operand(2), {});
    std::vector<std::string> sums;
    std::vector<MultiIndex> at;
    for (int64_t j = 0; j < tuning.width; ++j) {
      sums.push_back(writer.Assignable(reducer.types[0], init));
      at.push_back(PlaceOf(loop, result, tuning.width, j));
    }
    if (source().shape().ElementCount() > 0) {
      ForEach(loop, covering_, [&](const MultiIndex& turn) {
        for (size_t j = 0; j < at.size(); ++j) TakeFrom(loop, at[j], turn, sums[j]);
      });
    }
    if (reducer.types[0] != type()) {
      for (std::string& sum : sums) sum = Narrowed(type(), sum);
    }
    const int k = loop.kernel().AddBuffer(type(), Access::kWrite, buffers_.SliceOf(*body_.instruction, 0));
    writer.StoreGroup(k, loop.space().Scale(loop.group(), tuning.width), sums);
    return loop.Finish(StepName(body_) + " scatter");
  }

  // The windows over a place begin at or before it; the last one of a dimension is place / stride, and what selected
  // another element, or does not reach this far, has chosen another index.
  void TakeFrom(LoopKernel& loop, const MultiIndex& at, const MultiIndex& turn, const std::string& sum) {
    ValueWriter& writer = loop.writer();
    IndexSpace& space = loop.space();
    std::vector<std::string> conditions;
    MultiIndex index;
    for (size_t d = 0; d < at.size(); ++d) {
      const WindowDimension& w = window()[d];
      IndexExpression last = at[d];
      if (w.stride > 1 || w.pad_low != 0) {
        const int64_t spread = hero_.shape().dimension(static_cast<int>(d)) + std::abs(w.pad_low);
        last = writer.Clamped(space.Add(at[d], {{}, w.pad_low}), spread);
        if (!last.terms.empty()) last = {{{last.terms[0].variable, w.stride, 0, 1}}, 0};
      }
      const IndexExpression covering = space.Add(space.Add(last, turn[d]), {{}, 1 - covering_[d]});
      index.push_back(ElementAt(writer, covering, source().shape().dimension(static_cast<int>(d)), 1, &conditions));
    }
    const int k = writer.kernel().AddBuffer(ElementType::kU32, Access::kRead, chosen_);
    const std::string place = writer.LinearIndex(at, hero_.shape());
    const std::string chosen = writer.Load(k, space.Linearize(index, source().shape().dimensions()));
    conditions.push_back(fmt::format("{} == {}", chosen, place));
    writer.Line(
        fmt::format("if ({}) combine({}, {});", fmt::join(conditions, " && "), sum, writer.Value(source(), index)));
  }

  const LowerContext& context_;
  const FusionDescription& body_;
  BufferMap& buffers_;
  const Instruction& hero_;
  IntList taps_, covering_;
  BufferSlice chosen_;
  std::string nothing_;
};

}  // namespace

Status CanLowerSelectAndScatter(const LowerContext& context, const FusionDescription& body) {
  const Instruction& hero = *body.hero;
  VXLA_RETURN_IF_ERROR(CheckScalarComputation(*hero.called(0)));
  VXLA_RETURN_IF_ERROR(CheckReducer(*hero.called(1)));
  const Window& window = hero.attributes<WindowAttributes>().window;
  VXLA_RETURN_IF_ERROR(CheckWindow(hero, window, hero.operand(0)->shape().dimensions()));
  int64_t taps = 1;
  for (const WindowDimension& w : window) taps *= w.size;
  const int64_t limit = context.facts.quirks.loop_iteration_limit;
  if (limit != 0 && taps >= limit) {
    return Unsupported("select-and-scatter: a window of {} taps; loops of this device stop after {} turns", taps,
                       limit);
  }
  return OkStatus();
}

Result<std::vector<Step>> LowerSelectAndScatter(const LowerContext& context, const FusionDescription& body,
                                                BufferMap& buffers) {
  return SelectAndScatterLowering(context, body, buffers).Lower();
}

}  // namespace VXLA_NAMESPACE::vulkan
