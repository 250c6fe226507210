// Windows of updates, each applied by lanes side by side: on their own, or one behind the other where they may meet.
// Used by kernels of scatters and by loops that are one kernel.
#pragma once

#include "backend/vulkan/lower/indexing/scatter_runs.h"

namespace VXLA_NAMESPACE::vulkan {

// What adds in parts has two steps, which share the values of parts of runs, by array; none: there is one step.
std::vector<Shape> ScatterPartsOf(const Instruction& scatter, const DeviceFacts& facts);

class ScatterWindows : ScatterRuns {
 public:
  // The two steps of what adds in parts, or all of another way.
  enum class Stage : uint8_t { kWhole, kParts, kJoin };
  // `combine`: the name of the function that applies an update.
  ScatterWindows(const FusionDescription& body, ValueWriter& writer, std::string combine, Stage stage);

  // How many elements lanes go through.
  static int64_t CountOf(const Instruction& scatter, ScatterWay way, Stage stage);
  int64_t count() const { return CountOf(scatter_, way_, stage_); }

  // Binds the arrays and such values, and defines the function.
  void Bind(std::span<const BufferSlice> places, std::span<const BufferSlice> parts);
  // Of kRuns: an invocation goes through so many windows of a run at most (0: through all), from `behind` its first one
  // on.
  struct RunTurns {
    std::string behind = "0u";
    int64_t most = 0;
  };
  // The statements for `width` of the elements, from `first` on.
  void Write(const IndexExpression& first, int64_t width, const RunTurns& turns = {"0u", 0});

 private:
  std::vector<Place> Lanes(const std::function<Place(const IndexExpression&)>& place_at);
  std::vector<Place> LanesOf(const IndexExpression& n, const MultiIndex& split);
  Target TargetOf(const std::vector<Place>& lanes);
  MultiIndex Split(int64_t units);
  void DeclareSame(const std::string& name, const IndexExpression& a, const IndexExpression& b);
  void ApplyTo(const std::vector<Place>& lanes);
  void WriteApart();
  void WriteOneByOne();
  void WriteRuns();
  void WriteLast();
  void WriteWholePart();
  void OpenPart(const MultiIndex& split);
  std::string CountParam();
  IndexExpression PartPlace(const IndexExpression& part, const std::string& which, const MultiIndex& split);
  void WriteParts();
  void WriteJoin();

  const FusionDescription& body_;
  const Stage stage_;
  IndexExpression first_;
  int64_t width_ = 1;
  RunTurns turns_;
  std::vector<int> parts_;
  std::string count_param_;
};

}  // namespace VXLA_NAMESPACE::vulkan
