#include "backend/vulkan/lower/whiles/units/units.h"

#include "core/maps/running_window.h"

namespace VXLA_NAMESPACE::vulkan {

std::optional<LoopUnitNeeds> NeedsOfLoopUnit(const LowerContext& context, const FusionDescription& body,
                                             uint32_t lanes) {
  switch (body.hero->opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      return NeedsOfLoopSort(body, lanes);
    case Opcode::kCholesky:
      return NeedsOfLoopCholesky(body, lanes);
    case Opcode::kTriangularSolve:
      return NeedsOfLoopSolve(body, lanes);
    case Opcode::kSelectAndScatter:
      return NeedsOfLoopSelect(body, lanes);
    case Opcode::kFft:
      return NeedsOfLoopFft(context, body, lanes);
    case Opcode::kReduceWindow:
      if (RunningWindowOf(*body.hero)) return NeedsOfLoopRunning(body, lanes);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Code WriteLoopUnit(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                   std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  switch (body.hero->opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      return WriteLoopSort(body, buffers, scratch, unit);
    case Opcode::kCholesky:
      return WriteLoopCholesky(body, buffers, scratch, unit);
    case Opcode::kTriangularSolve:
      return WriteLoopSolve(body, buffers, scratch, unit);
    case Opcode::kSelectAndScatter:
      return WriteLoopSelect(body, buffers, scratch, unit);
    case Opcode::kFft:
      return WriteLoopFft(context, body, buffers, scratch, unit);
    default:
      return WriteLoopRunning(body, buffers, unit);
  }
}

}  // namespace VXLA_NAMESPACE::vulkan
