// rng-get-and-update-state: the counter that a device's random numbers come from.
#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

Status CanLowerRngGetAndUpdateState(const LowerContext&, const FusionDescription&) {
  return Unsupported("the state of random numbers is the host's");
}

Result<std::vector<Step>> LowerRngGetAndUpdateState(const LowerContext&, const FusionDescription&, BufferMap&) {
  return Internal("LowerRngGetAndUpdateState");
}

}  // namespace VXLA_NAMESPACE::vulkan
