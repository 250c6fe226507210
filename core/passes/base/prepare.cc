#include "core/passes/prepare.h"

#include "core/mlir/scalar_regions.h"
#include "core/passes/carried_transfers.h"
#include "core/passes/live_flags.h"
#include "core/passes/mixed_precision.h"
#include "core/passes/named_calls.h"
#include "core/passes/verifier.h"

namespace VXLA_NAMESPACE {

Status Prepare(Module& module) {
  ReplaceNamedCalls(module);
  AddLiveFlags(module);
  FinishCarriedTransfers(module);
  UnmixPrecision(module);
  VXLA_RETURN_IF_ERROR(Verify(module));
  mlir::ScalarizeRegions(module);
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
