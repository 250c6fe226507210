// Reduce-window: a row program whose rows are the results and whose elements are the taps of the window.

#include <algorithm>

#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/rows/row_program.h"
#include "backend/vulkan/lower/rows/running.h"
#include "backend/vulkan/lower/rows/window_place.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class WindowReader {
 public:
  WindowReader(const FusionDescription& body, BufferMap& buffers) : body_(body), buffers_(buffers), hero_(body.hero) {
    const Shape& result = *FlattenTuple(hero_->shape())[0];
    results_.assign(result.dimensions().begin(), result.dimensions().end());
    for (const WindowDimension& w : window()) taps_.push_back(w.size);
  }

  const IntList& results() const { return results_; }
  std::vector<RowWindow> Windows() const {
    std::vector<RowWindow> windows(results_.size());
    int64_t apart = 1;
    for (size_t d = windows.size(); d-- > 0; apart *= taps_[d]) windows[d] = RowWindowOf(window()[d], apart);
    return windows;
  }

  RowProgram Read() {
    RowProgram program;
    program.body = &body_;
    program.buffers = &buffers_;
    program.name = StepName(body_);
    program.rows = ElementCountOf(results_);
    program.row_size = ElementCountOf(taps_);
    // Taps may lie in the padding: each is looked at on its own, but neighbours that all have the same place together.
    program.most_width = 1;
    if (!results_.empty() && taps_.back() == 1 && window().back() == WindowDimension{.size = 1}) {
      program.rows_contiguous = true;
      program.most_width = results_.back() % 8 == 0 ? 8 : results_.back() % 4 == 0 ? 4 : 1;
    }
    program.flop = program.rows * program.row_size;
    AddReduce(&program);
    program.outputs = RowOutputsOf(body_, buffers_);
    return program;
  }

 private:
  const Window& window() const { return hero_->attributes<WindowAttributes>().window; }
  int count() const { return hero_->operand_count() / 2; }
  const Instruction& input(int i) const { return *hero_->operand(i); }
  const Instruction& init(int i) const { return *hero_->operand(count() + i); }

  void AddReduce(RowProgram* program) {
    RowReduce& reduce = program->reduces.emplace_back(*hero_);
    for (int i = 0; i < count(); ++i) reduce.seen_types.push_back(init(i).shape().element_type());
    reduce.seen = [this](ValueWriter& writer, const RowPlace& place) { return Element(writer, place); };
    reduce.made_of = [](ValueWriter&, const RowPlace&, const std::vector<std::string>& seen) { return seen; };
    reduce.element = reduce.seen;
    reduce.publish = [this](ValueWriter& writer, const RowPlace& place, const std::vector<std::string>& results) {
      for (size_t i = 0; i < results.size(); ++i) {
        writer.Override(*hero_, writer.space().Delinearize(place.row, results_), results[i], static_cast<int>(i));
      }
    };
    for (int i = 0; i < count(); ++i) AddInit(init(i), program);
  }

  // Initial values that are not constants are read once, not at every tap.
  void AddInit(const Instruction& value, RowProgram* program) const {
    if (value.opcode() == Opcode::kConstant) return;
    RowValue& row = program->values.emplace_back();
    row.type = value.shape().element_type();
    row.value = [&value](ValueWriter& writer, const RowPlace&) { return writer.Value(value, {}); };
    row.publish = [&value](ValueWriter& writer, const RowPlace&, const std::string& name) {
      writer.Override(value, {}, name);
    };
  }

  // The values under a tap; the initial values where it lies in the padding or in a hole of the base dilation.
  std::vector<std::string> Element(ValueWriter& writer, const RowPlace& place) const {
    IndexSpace& space = writer.space();
    const MultiIndex result = space.Delinearize(place.row, results_), tap = space.Delinearize(place.element, taps_);
    std::vector<std::string> values, padding;
    for (int i = 0; i < count(); ++i) padding.push_back(writer.Value(init(i), {}));
    if (input(0).shape().ElementCount() == 0) return padding;
    std::vector<std::string> conditions;
    MultiIndex inner(result.size());
    for (size_t d = 0; d < result.size(); ++d) {
      const WindowDimension& w = window()[d];
      inner[d] = ElementAt(writer, TapPosition(space, w, result[d], tap[d]),
                           input(0).shape().dimension(static_cast<int>(d)), w.lhs_dilate, &conditions);
    }
    for (int i = 0; i < count(); ++i)
      values.push_back(ChosenText(conditions, writer.Value(input(i), inner), padding[static_cast<size_t>(i)]));
    return values;
  }

  const FusionDescription& body_;
  BufferMap& buffers_;
  const Instruction* hero_;
  IntList results_, taps_;
};

}  // namespace

void WithWindowProgram(const FusionDescription& body, BufferMap& buffers,
                       const std::function<void(const RowProgram&)>& use) {
  WindowReader reader(body, buffers);
  use(reader.Read());
}

Status CanLowerReduceWindow(const LowerContext&, const FusionDescription& body) {
  VXLA_RETURN_IF_ERROR(CheckReducer(*body.hero->called(0)));
  if (RunningWindowOf(*body.hero)) return OkStatus();
  return CheckWindow(*body.hero, body.hero->attributes<WindowAttributes>().window,
                     body.hero->operand(0)->shape().dimensions());
}

Result<std::vector<Step>> LowerReduceWindow(const LowerContext& context, const FusionDescription& body,
                                            BufferMap& buffers) {
  if (RunningWindowOf(*body.hero)) return LowerRunningWindow(context, body, buffers);
  WindowReader reader(body, buffers);
  const RowProgram program = reader.Read();
  const auto tile = TileShortRows(context, program, reader.results(), reader.Windows());
  if (tile) return std::vector<Step>{WriteShortRows(context, program, *tile)};
  return LowerRowProgram(context, program);
}

}  // namespace VXLA_NAMESPACE::vulkan
