#include "backend/vulkan/codegen/passes/passes.h"

#include "backend/vulkan/codegen/passes/group_divisions.h"
#include "backend/vulkan/codegen/passes/loads_first.h"
#include "backend/vulkan/codegen/passes/pack_halves.h"
#include "backend/vulkan/codegen/passes/pack_roundings.h"
#include "backend/vulkan/codegen/statements/carriers.h"
#include "backend/vulkan/drivers/kernel_operations.h"

namespace VXLA_NAMESPACE::vulkan {

Code RunPasses(Code code, const DeviceFacts& facts) {
  if (facts.costs.plain_arithmetic) return code;
  if (!MovesLoads(facts)) code = LoadsFirst(std::move(code));
  if (facts.division_f32 == DeviceFacts::Division::kCorrected) {
    const bool fused = FusesF32(facts);
    code = GroupDivisions(std::move(code), fused                   ? DivisionText::kMiddle
                                           : facts.is_any_device() ? DivisionText::kRolled
                                                                   : DivisionText::kApart);
  }
  if (facts.native_f16) code = PackHalves(std::move(code));
  return PackRoundings(std::move(code), facts.native_f16);
}

}  // namespace VXLA_NAMESPACE::vulkan
