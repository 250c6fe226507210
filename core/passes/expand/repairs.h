// Repairs of modules as XLA writes them, which need not have been verified. Each returns whether anything changed.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// XLA lets an elementwise operation, a reduction or a window take floats of several types and state a result of yet
// another one. Here their operands are converted to the widest type (a reduction's to that of its computation), and the
// result to what is stated.
bool UnmixPrecision(Module& module);

// Custom calls by which XLA's own passes name operations on dynamic dimensions become operations; other forms stay.
//
// PadToStatic(x)                  x with all its dimensions at their bounds, and the size of each
// SliceToDynamic(x, sizes...)     x with these live sizes, in the dimensions that are stated dynamic
// DynamicConvolutionForward(x, k) the convolution, where padding does not depend on live sizes (PADDING_VALID or none)
bool ReplaceNamedCalls(Module& module);

// Sends and recvs that are started in one computation and finished in another.
//
// XLA's pipelined loops carry the context of a send or recv, (data, u32[], token[]), in tuples, so that one iteration
// finishes what another began. Here both are finished in the computation that starts them: a send at once, a recv
// before its context is first used, after the sends that stand before that use. The context then holds the data, and a
// done elsewhere takes it from there. Also, a recv whose channel no send has gets the channel of the sends with the
// same source-target pairs, if there is just one that no recv has: XLA matches those by the pairs alone.
//
// What does not look like a transfer is left as it is.
bool FinishCarriedTransfers(Module& module);

}  // namespace VXLA_NAMESPACE
