// Short loops written out.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// A while of a few trips, known before it runs, whose body has nothing but what fuses element by element becomes that
// many calls of its body: written out, trips fuse with each other and with what stands around the loop (the rounds of
// a random generator are one kernel with what is made of its bits). So does a while of one trip, whatever is in its
// body. Expects bodies without calls; the calls that this adds are InlineCalls's to take away. Returns whether there
// was one.
bool UnrollShortLoops(Module& module);

}  // namespace VXLA_NAMESPACE
