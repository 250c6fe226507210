// Live sizes of bounded dynamic dimensions, where a program's arguments and results have them.
#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

Status CanLowerGetDimensionSize(const LowerContext&, const FusionDescription&) {
  return Unsupported("its live sizes are known to the host alone");
}

Result<std::vector<Step>> LowerGetDimensionSize(const LowerContext&, const FusionDescription&, BufferMap&) {
  return Internal("LowerGetDimensionSize");
}

Status CanLowerSetDimensionSize(const LowerContext&, const FusionDescription&) {
  return Unsupported("its live sizes are known to the host alone");
}

Result<std::vector<Step>> LowerSetDimensionSize(const LowerContext&, const FusionDescription&, BufferMap&) {
  return Internal("LowerSetDimensionSize");
}

}  // namespace VXLA_NAMESPACE::vulkan
