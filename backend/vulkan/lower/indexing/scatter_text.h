// The text of a scatter's updates: where each goes, and how it changes what is there. Used by kernels of scatters and
// by loops that one workgroup runs.
#pragma once

#include <functional>
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
  // The same of kPlaces; no arrays: for SumPart() alone.
  void DeclareRuns(const FusionDescription& body, std::span<const BufferSlice> places);

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
  // The same by atomic operations (scatter_atomics.cc).
  void ApplyAtomic(const IndexExpression& linear, const std::vector<Place>& lanes);
  // kPlaces (scatter_runs.cc): the elements of the arrays from `linear` on, one a lane, all of one place, take its
  // updates. Of a scatter that adds in parts `parts` hold what SumPart() made of them.
  void TakeRun(const IndexExpression& linear, int64_t lanes, std::span<const int> parts);
  // Into `parts`: part `part`, the name of a uint, whose windows all start where the one before it does, for lanes from
  // `in_window` on. Nobody asks for others.
  void SumPart(const std::string& part, const IndexExpression& in_window, int64_t lanes, std::span<const int> parts);
  static int64_t PartCount(int64_t count) { return CeilDivide(count, WindowsOfAPart(count)); }
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
  // A window by the name of a GLSL uint; and whether it starts at a place.
  IndexExpression Window(const std::string& name);
  std::string StartsAt(const std::string& window, const std::vector<std::string>& place);

  const Instruction& scatter_;
  const ScatterForm form_;
  const ScatterWay way_;
  const Reducer reducer_;
  KernelBuilder& kernel_;
  IndexSpace& space_;
  ValueWriter& writer_;
  const int64_t window_count_;
  std::vector<int> tensors_;

 private:
  struct Position {
    int variable = 0;
    std::string inside;
  };
  // Where a window starts in the operand's dimension d, a uint that may lie outside.
  std::string Start(const MultiIndex& batch, int64_t d);
  // Of kPlaces. What is known of runs (Notes::run_starts), element `index` of it.
  std::string RunStart(const IndexExpression& index);
  int64_t PlaceCount() const;
  // A local, the number of windows before `place`.
  void DeclareBefore(const std::string& name, const std::vector<std::string>& place);
  struct Run {
    std::vector<std::string> place;              // where its windows start,
    std::string stop;                            // or the window behind its last, the name of a uint
    std::vector<MultiIndex> in_window;           // by lane
    std::vector<std::vector<std::string>> held;  // by lane
  };
  // Whether one of the run's windows or of those behind it is of the run.
  std::string Belongs(const std::string& window, const Run& run);
  // What `n` ... `end` - 1 stand for, both names of uints, until one does not belong to the run, with which `n` ends.
  // `begun`, if any: the name of a bool, whether anything is held; else the first value is.
  struct Turns {
    std::string n, end, begun;
    std::function<std::string(const std::string& n)> belongs;
    std::function<std::vector<std::vector<std::string>>(const std::string& n)> values;  // by lane and array
  };
  void TakeWhile(const Run& run, const Turns& turns, int64_t at_once);
  // The updates of windows, and the sums of whole parts.
  void TakeUpdates(const Run& run, const std::string& m, const std::string& end, const std::string& begun);
  void TakeSums(const Run& run, const std::string& part, std::span<const int> parts);
  void TakeParts(const Run& run, std::span<const int> parts);
  // Of elements of a word or of a part of one, and of two words.
  void ApplyInWord(int k, const std::string& index, std::span<const std::string> updates);
  void ApplyToTwoWords(int k, const std::string& index, const std::string& update);
  void AddToParts(const Elements& word, const std::string& added, int64_t bits);
  void ExchangeUntilKept(const Elements& memory, std::string_view type,
                         const std::function<std::string(const std::string& seen)>& wanted);
  // The computation's result for array k of an element and an update.
  std::string Combined(int k, const std::string& element, const std::string& update) const;

  const std::string combine_;
  // Of kPlaces: by array, what it holds at first is not in its place yet; updates that are read at once.
  std::vector<bool> computed_;
  int64_t at_once_ = 1;
  std::map<std::string, Position> positions_;
};

}  // namespace VXLA_NAMESPACE::vulkan
