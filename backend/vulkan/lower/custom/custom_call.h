// Custom calls by the user's kernels: docs/guides/custom_calls.md.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/custom_kernel.h"
#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

// The user asked for the kernel: where it is wrong, or does not fit the call, that is kInvalidArgument and no reason to
// run something else. Errors of GLSL come when the kernel is made.
Result<std::vector<Step>> LowerCustomCall(const LowerContext& context, const CustomKernel& kernel,
                                          const Instruction& call, BufferMap& buffers);

// The value of a group count: numbers, names, + - * /, ceil(x), floor(x), min(x, y), max(x, y) and parentheses. Pure.
// kInvalidArgument says where the text is none; Lookup gives the value of a name, or nothing.
using GroupNames = std::function<std::optional<double>(std::string_view)>;
Result<double> EvaluateGroups(std::string_view text, const GroupNames& lookup);
// One rule of shape(...): two such expressions and ==, !=, <=, >=, < or > between them. kInvalidArgument: it does not
// hold, or is none.
Status CheckShapeRule(std::string_view rule, const GroupNames& lookup);

}  // namespace VXLA_NAMESPACE::vulkan
