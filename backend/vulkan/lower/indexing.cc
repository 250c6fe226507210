#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

Status CanLowerDynamicUpdateSlice(const LowerContext&, const FusionDescription& body) {
  return Unsupported("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Result<std::vector<Step>> LowerDynamicUpdateSlice(const LowerContext&, const FusionDescription& body, BufferMap&) {
  return Internal("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Status CanLowerScatter(const LowerContext&, const FusionDescription& body) {
  return Unsupported("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Result<std::vector<Step>> LowerScatter(const LowerContext&, const FusionDescription& body, BufferMap&) {
  return Internal("{} has no kernel", OpcodeText(body.hero->opcode()));
}

}  // namespace VXLA_NAMESPACE::vulkan
