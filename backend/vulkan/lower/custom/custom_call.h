// Custom calls by the user's kernels: docs/guides/custom_calls.md.
#pragma once

#include <memory>

#include "backend/custom_kernel.h"
#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

// Lowers the custom calls that name one of the kernels, and leaves the rest to `others`, which has to outlive it. What
// is wrong with a kernel, or does not fit the call, is kInvalidArgument or kUnsupported when it is lowered; errors of
// GLSL come when the kernel is made.
std::unique_ptr<Lowering> WithCustomKernels(const DeviceFacts& facts, BindingMode bindings,
                                            const CustomKernels& kernels, const Lowering& others);

// The value of a group count: numbers, names, + - * /, ceil(x), floor(x), min(x, y), max(x, y) and parentheses. Pure.
// kInvalidArgument says where the text is none; Lookup gives the value of a name, or nothing.
using GroupNames = std::function<std::optional<double>(std::string_view)>;
Result<double> EvaluateGroups(std::string_view text, const GroupNames& lookup);
// One rule of shape(...): two such expressions and ==, !=, <=, >=, < or > between them. kInvalidArgument: it does not
// hold, or is none.
Status CheckShapeRule(std::string_view rule, const GroupNames& lookup);

}  // namespace VXLA_NAMESPACE::vulkan
