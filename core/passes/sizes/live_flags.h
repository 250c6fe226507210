// Dynamic dimensions that a program leaves for XLA's inference to find.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// HLO text may state shapes without the flags of their dynamic dimensions, `s32[5] set-dimension-size(x, three)`, from
// where XLA's inference goes on. Adds to the stated shapes what follows from the operands. A size that is no constant
// makes the dimension what it is stated as; a reshape's live sizes go to the only dimension larger than 1 that they
// can. The module need not have been verified. Returns whether anything changed.
bool AddLiveFlags(Module& module);

}  // namespace VXLA_NAMESPACE
