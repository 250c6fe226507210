// The text of a scatter's updates: where each goes, and how it changes what is there. Used by kernels of scatters and
// by loops that one workgroup runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/vulkan/codegen/value_writer.h"
#include "backend/vulkan/lower/rows/reducer.h"
#include "core/ceil_divide.h"
#include "core/passes/expand/scatter_form.h"

namespace VXLA_NAMESPACE::vulkan {

inline ScatterTarget ScatterTargetOf(const DeviceFacts& facts) {
  return {facts.costs.accesses_by_lane, facts.wide_atomics};
}

class ScatterText {
 public:
  // An update: the window's place among the batch dimensions, and the place in the window.
  struct Place {
    MultiIndex batch, window;
  };
  // The element of the operand that an update goes to, and what must hold for it to be there.
  struct Target {
    IndexExpression linear;
    std::vector<std::string> conditions;
  };

  // `tensors`: the arrays' numbers in the kernel; `combine`: the name of the function that applies an update.
  ScatterText(const Instruction& scatter, KernelBuilder& kernel, IndexSpace& space, ValueWriter& writer,
              std::string combine);

  // Binds the arrays and defines the function.
  void Declare(std::span<const BufferSlice> places);

  // Of window n and of the element `in_window` of it.
  Place PlaceOf(const IndexExpression& n, const IndexExpression& in_window);
  // Of the element `linear` of the updates.
  Place PlaceOfUpdate(const IndexExpression& linear);
  // The value of the update to array k, as an accumulator of the computation or as `type`.
  std::string Update(int k, const Place& place) { return UpdateAs(reducer_.types[static_cast<size_t>(k)], k, place); }
  std::string UpdateAs(ElementType type, int k, const Place& place);
  Target TargetOf(const Place& place);
  void OpenIf(const std::vector<std::string>& conditions);
  // Each lane's update applied to its element, lanes at neighbouring elements from `linear` on.
  void Apply(const IndexExpression& linear, const std::vector<Place>& lanes);
  // What the arrays hold at a place, as accumulators of the computation.
  std::vector<std::string> Held(const IndexExpression& linear);
  // Accumulators of so many lanes that hold nothing yet.
  std::vector<std::vector<std::string>> Accumulators(size_t lanes);
  void Combine(const std::vector<std::string>& held, const Place& place);
  // `held` by lane.
  void Store(const IndexExpression& linear, const std::vector<std::vector<std::string>>& held);
  // The same into `parts`, as they are.
  void StoreParts(std::span<const int> parts, const IndexExpression& linear,
                  const std::vector<std::vector<std::string>>& held);
  // The starts of window `n` in all dimensions that have one, as locals.
  std::vector<std::string> StartsOf(const IndexExpression& n);
  static std::string EqualText(const std::vector<std::string>& a, const std::vector<std::string>& b);

 protected:
  const Instruction& scatter_;
  const ScatterForm form_;
  const ScatterWay way_;
  const Reducer reducer_;
  KernelBuilder& kernel_;
  IndexSpace& space_;
  ValueWriter& writer_;
  const int64_t window_count_;
  const std::string combine_;
  std::vector<int> tensors_;

 private:
  struct Position {
    int variable = 0;
    std::string inside;
  };
  // Where a window starts in the operand's dimension d, a uint that may lie outside.
  std::string Start(const MultiIndex& batch, int64_t d);

  std::map<std::string, Position> positions_;
};

}  // namespace VXLA_NAMESPACE::vulkan
