// Rules of the dynamic padder: what one instruction on arrays with live sizes is on arrays at their bounds.
#pragma once

#include <optional>

#include "core/passes/sizes/size_math.h"

namespace VXLA_NAMESPACE {

// The results, leaf by leaf, sized as the instruction states; nothing: there is no rule. Operands are arrays or tokens.
std::optional<std::vector<PaddedArray>> PaddedForm(SizeContext& context, Computation& computation,
                                                   Instruction* instruction, std::vector<PaddedArray> operands);

// A value under the sizes that are stated: what may be less has a size, what may not is checked.
PaddedArray UnderStated(SizeMath& math, PaddedArray value, const Shape& stated);

}  // namespace VXLA_NAMESPACE
