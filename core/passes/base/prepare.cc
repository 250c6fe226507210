#include "core/passes/base/prepare.h"

#include "core/passes/base/verifier.h"
#include "core/passes/expand/repairs.h"
#include "core/passes/expand/scalar_regions.h"
#include "core/passes/sizes/live_flags.h"

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
