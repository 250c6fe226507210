// Scatters of which each place takes its updates, a run of windows that start there (ScatterWay::kPlaces).
#pragma once

#include "backend/vulkan/lower/indexing/scatter_atomics.h"

namespace VXLA_NAMESPACE::vulkan {

class ScatterRuns : public ScatterAtomics {
 public:
  using ScatterAtomics::ScatterAtomics;

  // Binds the arrays and defines the function; no arrays: for SumPart() alone.
  void DeclareRuns(const FusionDescription& body, std::span<const BufferSlice> places);
  // The elements of the arrays from `linear` on, one a lane, all of one place, take its updates. Of a scatter that adds
  // in parts `parts` hold what SumPart() made of them.
  void TakeRun(const IndexExpression& linear, int64_t lanes, std::span<const int> parts);
  // Into `parts`: part `part`, the name of a uint, whose windows all start where the one before it does, for lanes from
  // `in_window` on. Nobody asks for others.
  void SumPart(const std::string& part, const IndexExpression& in_window, int64_t lanes, std::span<const int> parts);
  static int64_t PartCount(int64_t count) { return CeilDivide(count, WindowsOfAPart(count)); }

 protected:
  // A window by the name of a GLSL uint; and whether it starts at a place.
  IndexExpression Window(const std::string& name);
  std::string StartsAt(const std::string& window, const std::vector<std::string>& place);

 private:
  // What is known of runs (Notes::run_starts), element `index` of it.
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
  // The arrays' elements of the lanes, and into the run where they are in a window.
  std::vector<MultiIndex> TakeElements(const IndexExpression& linear, int64_t lanes, Run* run);
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

  // By array, what it holds at first is not in its place yet; updates that are read at once.
  std::vector<bool> computed_;
  int64_t at_once_ = 1;
};

}  // namespace VXLA_NAMESPACE::vulkan
