// Weights: constants of a program that are parameters instead, so that programs can share them and a host can replace
// them.
#pragma once

#include <string>
#include <vector>

#include "core/literal.h"
#include "core/module.h"
#include "core/status.h"

namespace VXLA_NAMESPACE {

struct Weight {
  std::string name;  // the constant's
  Literal value;
};

// Constants of at least so many bytes, of the entry computation and of what it calls, become parameters behind those
// that there are, in the order of the text. Those within loops, branches and the like stay.
Result<std::vector<Weight>> HoistWeights(Module& module, int64_t least_bytes);

}  // namespace VXLA_NAMESPACE
