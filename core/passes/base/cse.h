// Common subexpression elimination.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Within each computation, instructions of equal opcode, shape, layout, operands, attributes and (by structure) called
// computations become the first of them; constants are compared by value. Left alone: side effects, collectives,
// transfers, asynchronous pairs, opt-barrier (it exists to keep copies apart) and what calls one, and whatever has
// control predecessors; control successors follow what they stood behind.
// kMerged: collectives that are no halves of a pair too, of a program that all devices of a group run alike.
// Returns whether anything was replaced; the replaced instructions are removed.
enum class EqualCollectives : uint8_t { kApart, kMerged };
bool EliminateCommonSubexpressions(Module& module, EqualCollectives collectives = EqualCollectives::kApart);

// Whether two computations compute the same by structure; names and locations do not count.
bool SameStructure(const Computation& a, const Computation& b);

}  // namespace VXLA_NAMESPACE
