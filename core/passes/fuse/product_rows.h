// Products whose rows a row program reads, as softmax(x @ w) and layer_norm(x @ w + b) do: one kernel of both, whose
// workgroups hold whole rows of the product.
#pragma once

#include "core/ir/target_info.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE {

// Whether a workgroup can hold rows of this dot, and these are the rows of the row program: element e of row r is the
// dot's element r * row_size + e.
bool IsProductOfRows(const Instruction& dot, const RowSpace& rows);
// Whether reading the product where it was computed saves more than larger tiles of a kernel of its own would.
bool IsWorthwhileInRows(const Instruction& dot, const TargetInfo& target);
// Whether operand k, a value at the places of the dot's elements, is read at its own place there: by an operation
// element by element, or by a plain reduction of each row.
bool ReadsProductInPlace(const Instruction& user, int k, const Instruction& dot);

}  // namespace VXLA_NAMESPACE
