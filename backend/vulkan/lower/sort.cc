#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

Status CanLowerSort(const LowerContext&, const FusionDescription& body) {
  return Unsupported("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Result<std::vector<Step>> LowerSort(const LowerContext&, const FusionDescription& body, BufferMap&) {
  return Internal("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Status CanLowerTopK(const LowerContext&, const FusionDescription& body) {
  return Unsupported("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Result<std::vector<Step>> LowerTopK(const LowerContext&, const FusionDescription& body, BufferMap&) {
  return Internal("{} has no kernel", OpcodeText(body.hero->opcode()));
}

}  // namespace VXLA_NAMESPACE::vulkan
