// The text of select-and-scatter without atomics: each window finds the element that it selects, and then each element
// looks at the windows that cover it, in order, and takes the sources of those that selected it. Used by kernels of one
// phase each and by loops that one workgroup runs.
#pragma once

#include <string>

#include "backend/vulkan/codegen/value_writer.h"

namespace VXLA_NAMESPACE::vulkan {

// What an invocation goes through: the elements of a window, or the windows that may cover an element.
struct SelectAndScatterTurns {
  explicit SelectAndScatterTurns(const Instruction& hero);
  IntList taps, covering;
  // Of so many turns some are a loop's.
  int64_t select() const { return LoopTurns(taps); }
  int64_t scatter() const { return LoopTurns(covering); }

 private:
  static int64_t LoopTurns(const IntList& sizes);
};

class SelectAndScatterText {
 public:
  // `width`: neighbours that are in different windows at the same taps are taken together. `number`: its functions are
  // named after it.
  SelectAndScatterText(const Instruction& hero, ValueWriter& writer, int64_t width, int number = 0);

  // chosen[window] = the linear index of the element that it selects, for a group of windows.
  void WriteSelect(const IndexExpression& group, const BufferSlice& chosen);
  // A group of elements of the result.
  void WriteScatter(const IndexExpression& group, const BufferSlice& chosen, const BufferSlice& result);

 private:
  const Window& window() const { return hero_.attributes<WindowAttributes>().window; }
  const Instruction& operand() const { return *hero_.operand(0); }
  const Instruction& source() const { return *hero_.operand(1); }
  ElementType type() const { return hero_.shape().element_type(); }

  std::vector<MultiIndex> PlacesOf(const IndexExpression& group, const Shape& shape);
  void SelectAt(const MultiIndex& at, const MultiIndex& tap, const std::string& chosen, const std::string& held);
  void TakeFrom(const MultiIndex& at, const MultiIndex& turn, const BufferSlice& chosen, const std::string& sum);

  const Instruction& hero_;
  ValueWriter& writer_;
  IndexSpace& space_;
  KernelBuilder& kernel_;
  const int64_t width_;
  const SelectAndScatterTurns turns_;
  const std::string keeps_, combine_;
};

}  // namespace VXLA_NAMESPACE::vulkan
