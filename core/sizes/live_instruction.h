// An instruction on arrays with bounded dynamic dimensions is the same instruction at exactly the live sizes: padding
// is in no sum, no window, no sort, no index range.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/sizes/live_dimensions.h"

namespace VXLA_NAMESPACE {

// What set-dimension-size says of a size that its k-th dimension cannot have: what the text asserts, or its range.
std::string SizeRangeText(const Instruction& set, size_t k, std::string_view size, const Shape& array);
Status SizeRangeError(const Instruction& set, size_t k, int64_t size, const Shape& array);

// A copy of an instruction, of static shapes, whose operands (parameters that belong to the copy) have the live sizes.
class LiveInstruction {
 public:
  LiveInstruction(const Instruction& instruction, LiveDimensions live)
      : original_(instruction), live_(std::move(live)), attributes_(instruction.attributes()) {}

  // An error where live sizes do not go together.
  Status Build();
  // The sizes to which operands are cut. After Build.
  const std::vector<std::vector<int64_t>>& sizes() const { return live_.sizes; }
  const Instruction& instruction() const { return *copy_; }

 private:
  Status Adjust();
  Status AdjustSlice();
  Status AdjustBitcast();
  void ShrinkWindows(std::vector<int64_t>& windows);

  const Instruction& original_;
  LiveDimensions live_;
  Attributes attributes_;
  Shape stated_;
  std::vector<std::unique_ptr<Instruction>> operands_;
  std::unique_ptr<Instruction> copy_;
};

// Of the memory that a shape states.
bool IsRowMajor(const Shape& shape);

}  // namespace VXLA_NAMESPACE
