// Live rows: of a padded array (core/passes/sizes/dynamic_padder.h) often nothing reads the rows behind the live size.
// Values of which that holds say so, and their kernels leave those rows alone: an array costs what lives of it.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// Right before fusion. A value x whose elements from index s (a scalar of the program) of a dimension d on, the first
// one as a rule, are masked or cut off wherever it is used becomes
//   select(index along dimension d < s, x, x)
// which is x; it says so in Notes::live_rows, where LiveRowsOf looks.
void MarkLiveRows(Module& module);

// The size of such a select; null: it is none.
const Instruction* LiveRowsOf(const Instruction& instruction, int64_t d = 0);
// The s32 scalar that the indices along dimension `d` are compared with: where a mask (or one of the masks that it is
// the conjunction of) does not hold from there on; null: none.
Instruction* LiveSizeOfMask(const Instruction& mask, int64_t d);
// Of a reduce of one array over dimension `d`, among others: the size from which on the array holds nothing but what
// leaves the reducer's accumulator as it is; null: none is known.
Instruction* LiveSizeOfIdentities(const Instruction& reduce, int64_t d);

}  // namespace VXLA_NAMESPACE
