// Windows: which element of a padded, dilated operand lies under a tap. Kernels read a place that exists in any case
// and choose afterwards, so that loads need no branch.
#pragma once

#include <string>
#include <vector>

#include "backend/vulkan/codegen/value_writer.h"

namespace VXLA_NAMESPACE::vulkan {

// The position in the dilated operand, counted from its first element, that tap `tap` of the window at `output` looks
// at; may lie outside.
IndexExpression TapPosition(IndexSpace& space, const WindowDimension& w, const IndexExpression& output,
                            const IndexExpression& tap);

// The index of the element at a position of a dimension of `size` (above 0) elements `dilate` apart: inside in any
// case, but where `clamps` is false, for TensorWriter::Existing. Appends what must hold for an element to be there.
IndexExpression ElementAt(ValueWriter& writer, const IndexExpression& position, int64_t size, int64_t dilate,
                          std::vector<std::string>* conditions, bool clamps = true);

// The value where all conditions hold, else the other one.
std::string ChosenText(const std::vector<std::string>& conditions, const std::string& value, const std::string& other);

// OK if positions and taps can be counted in 32-bit arithmetic that may wrap below zero.
Status CheckWindow(const Instruction& instruction, const Window& window, std::span<const int64_t> sizes);

}  // namespace VXLA_NAMESPACE::vulkan
