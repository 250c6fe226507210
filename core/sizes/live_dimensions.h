// The live sizes of an instruction's operands, and what the op asks of them: which dimensions of its operands must
// agree.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/instruction.h"

namespace VXLA_NAMESPACE {

struct LiveDimensions {
  std::vector<std::vector<int64_t>> sizes;  // by operand and dimension
  std::vector<std::vector<bool>> dynamic;   // the operand's value says so, whatever its size is

  // The next operand: what its value says of itself. No sizes of what is no array.
  void Add(const Shape& shape, std::vector<int64_t> live);
};

// Sizes that belong together become equal, by the rules of core/sizes/size_rules.h; an error where they cannot.
Status AgreeOnSizes(const Instruction& instruction, LiveDimensions& live);

// The static shape of a reshape's result, of what lives of its operand.
Result<Shape> ReshapedSizes(const Instruction& instruction, LiveDimensions& live);

// The shape at its bounds, and of its leaves.
Shape WithoutFlags(Shape shape);

}  // namespace VXLA_NAMESPACE
