// Weights: constants of a program that are parameters instead, so that programs can share them and a host can replace
// them.
#pragma once

#include <string>
#include <vector>

#include "core/data/literal.h"
#include "core/ir/module.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

struct Weight {
  std::string name;  // the constant's
  Literal value;
};

// Constants of at least so many bytes, of the entry computation, of what it calls and of its loops and branches, become
// parameters behind those that there are, in the order in which the program comes to them. A loop has them in its
// state. Those of computations of single elements (a reduction's, a sort's) stay.
Result<std::vector<Weight>> HoistWeights(Module& module, int64_t least_bytes);

}  // namespace VXLA_NAMESPACE
