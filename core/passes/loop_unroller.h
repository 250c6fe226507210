// Short loops over large arrays, written out.
#pragma once

#include "core/module.h"

namespace VXLA_NAMESPACE {

// A while of a few trips (the count is known) whose body has only elementwise operations and index maps of large arrays
// becomes its trips one after another, which fuse with each other and with what is around: the rounds of JAX's
// threefry. Smaller arrays stay, for a workgroup runs their loop as one kernel. Expects bodies without calls and
// fusions, that no other loop shares. Returns whether there was one.
bool UnrollShortLoops(Module& module);

}  // namespace VXLA_NAMESPACE
