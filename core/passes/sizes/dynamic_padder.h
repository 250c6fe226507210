// Bounded dynamic dimensions as static programs: an array with live sizes becomes the array of its bounds and an s32
// scalar for each dynamic dimension. Where elements beyond the live sizes could matter they are masked, where the place
// of an element depends on a live size it is computed, and fusion and kernels see static shapes.
#pragma once

#include <string>
#include <vector>

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

// HLO text may state shapes without the flags of their dynamic dimensions, `s32[5] set-dimension-size(x, three)`, from
// where XLA's inference goes on. Adds to the stated shapes what follows from the operands. A size that is no constant
// makes the dimension what it is stated as; a reshape's live sizes go to the only dimension larger than 1 that they
// can. The module need not have been verified. Returns whether anything changed.
bool AddLiveFlags(Module& module);

// Heavy work on arrays whose live sizes are not known before the program runs, at the bound that fits best.
struct LiveBounds {
  // Work below is not worth a choice.
  int64_t least_elements = 32768, least_bound = 512;
  // The smallest bound that is made, what each is of the one before, and a bound's divisor, so that most splits work
  // out.
  int64_t smallest = 128, shrink = 8, unit = 32;
  bool light_work = false;  // also where nothing but what stops behind the live rows by itself is done
};

// Before the padding of dynamic dimensions. Kernels that stop behind what lives are those of loops and of rows
// (core/passes/sizes/live_rows.h). For everything else (sorts, products, scatters, windows, scans, other dimensions
// than the first), the instructions that depend on an array with a live size that is not known before the program runs
// become a conditional: its branches are those instructions at smaller and smaller bounds, each an eighth of the one
// before, and the size chooses among them, on the device. So they cost at most eight times what lives.
void BoundLiveWork(Module& module, const LiveBounds& bounds = {});

// Rewrites the computations that run (ControlComputations; calls are inlined, control computations have one caller).
// Afterwards dynamic shapes are left at the edges: parameters and the root of the entry, and what no rule covers (the
// host's part: transfers, custom calls, exchanges between devices), which stays as it is. There
//   - set-dimension-size of the array alone, without sizes, is the array at its bounds, whatever lives of it
//   - set-dimension-size whose Notes::sizes_in_range holds makes a dynamic array of a static one, all its sizes at once
// Live sizes that do not agree are found by comparisons whose first failure a last custom call, CallKind::kSizeCheck,
// gets: (which check failed from 1 on, or 0; two sizes) in its operands, the checks' messages in its notes. With
// `sizes_tell_faults` they make each live size of the result, where it has any, -1 for the first message, -2 for the
// second ... instead: what nobody on the host looks at, and no step for the host.
void PadDynamicDimensions(Module& module, bool sizes_tell_faults = false);

// What negative live sizes of a padded module's result say, {0} and {1} in place of sizes; none where nothing tells so.
std::vector<std::string> SizeFaultMessages(const Module& module);

// What the check says where its operands are these.
std::string LiveSizeMessage(const Instruction& check, int64_t number, int64_t first, int64_t second);

}  // namespace VXLA_NAMESPACE
