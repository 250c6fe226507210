#include "backend/vulkan/lower/lower.h"

namespace VXLA_NAMESPACE::vulkan {

Status CanLowerCholesky(const LowerContext&, const FusionDescription& body) {
  return Unsupported("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Result<std::vector<Step>> LowerCholesky(const LowerContext&, const FusionDescription& body, BufferMap&) {
  return Internal("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Status CanLowerTriangularSolve(const LowerContext&, const FusionDescription& body) {
  return Unsupported("{} has no kernel", OpcodeText(body.hero->opcode()));
}

Result<std::vector<Step>> LowerTriangularSolve(const LowerContext&, const FusionDescription& body, BufferMap&) {
  return Internal("{} has no kernel", OpcodeText(body.hero->opcode()));
}

}  // namespace VXLA_NAMESPACE::vulkan
