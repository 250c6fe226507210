// Sends and recvs that are started in one computation and finished in another.
#pragma once

#include "core/module.h"

namespace VXLA_NAMESPACE {

// XLA's pipelined loops carry the context of a send or recv, (data, u32[], token[]), in tuples, so that one iteration
// finishes what another began. Here both are finished in the computation that starts them: a send at once, a recv before
// its context is first used, after the sends that stand before that use. The context then holds the data, and a done
// elsewhere takes it from there. Also, a recv whose channel no send has gets the channel of the sends with the same
// source-target pairs, if there is just one that no recv has: XLA matches those by the pairs alone.
//
// The module need not have been verified; what does not look like a transfer is left as it is. Returns whether anything
// changed.
bool FinishCarriedTransfers(Module& module);

}  // namespace VXLA_NAMESPACE
