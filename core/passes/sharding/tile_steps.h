// What a device does with its own elements on the way from one tiling to another.
#pragma once

#include "core/module.h"

namespace VXLA_NAMESPACE {

Instruction* Reshaped(Computation& into, Instruction* value, const IntList& sizes);
// `size` elements of the dimension, from `start` on.
Instruction* Sliced(Computation& into, Instruction* value, int dimension, int64_t start, int64_t size);
Instruction* Concatenated(Computation& into, std::vector<Instruction*> parts, int dimension);

}  // namespace VXLA_NAMESPACE
