// Data movement that other families use too.
#pragma once

#include "backend/cpu/reference/eval.h"

namespace VXLA_NAMESPACE {

// result dimension i = operand dimension permutation[i]. The result has the default layout.
Literal TransposeLiteral(const Literal& literal, std::span<const int64_t> permutation, int threads);

// Copies a box: element `from` + index * `from_step` of source to `to` + index * `to_step` of target, over `sizes`.
struct BoxCopy {
  std::vector<int64_t> sizes, from, from_step, to, to_step;
};
void CopyBox(const BoxCopy& box, const Literal& source, Literal& target, int threads);

// Every element a copy of the scalar's.
void FillWith(const Literal& scalar, Literal& target, int threads);

}  // namespace VXLA_NAMESPACE
