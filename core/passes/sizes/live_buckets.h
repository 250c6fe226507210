// Live buckets: heavy work on arrays whose live sizes are not known before the program runs, at the bound that fits
// best.
#pragma once

#include "core/ir/module.h"

namespace VXLA_NAMESPACE {

struct LiveBounds {
  // Work below is not worth a choice.
  int64_t least_elements = 32768, least_bound = 512;
  // The smallest bound that is made, what each is of the one before, and a bound's divisor, so that most splits work
  // out.
  int64_t smallest = 128, shrink = 8, unit = 32;
  bool light_work = false;  // also where nothing but what stops behind the live rows by itself is done
};

// Before the padding of dynamic dimensions (core/passes/sizes/dynamic_padder.h). Kernels that stop behind what lives
// are those of loops and of rows (core/passes/sizes/live_rows.h). For everything else (sorts, products, scatters,
// windows, scans, other dimensions than the first), the instructions that depend on an array with a live size that is
// not known before the program runs become a conditional: its branches are those instructions at smaller and smaller
// bounds, each an eighth of the one before, and the size chooses among them, on the device. So they cost at most eight
// times what lives.
void BoundLiveWork(Module& module, const LiveBounds& bounds = {});

}  // namespace VXLA_NAMESPACE
