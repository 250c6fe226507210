#include "backend/vulkan/lower/whiles/units/units.h"

#include <optional>

#include "core/maps/running_window.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

struct Together {
  LoopNeeds* needs;
  LoopText* write;
};

// By family; none: its lanes do not work together for longer than a row.
std::optional<Together> TogetherOf(const Instruction& hero) {
  switch (hero.opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      return Together{NeedsOfLoopSort, WriteLoopSort};
    case Opcode::kCholesky:
      return Together{NeedsOfLoopCholesky, WriteLoopCholesky};
    case Opcode::kTriangularSolve:
      return Together{NeedsOfLoopSolve, WriteLoopSolve};
    case Opcode::kSelectAndScatter:
      return Together{NeedsOfLoopSelect, WriteLoopSelect};
    case Opcode::kFft:
      return Together{NeedsOfLoopFft, WriteLoopFft};
    case Opcode::kReduceWindow:
      if (RunningWindowOf(hero)) return Together{NeedsOfLoopRunning, WriteLoopRunning};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<LoopUnitKind> KindOfLoopUnit(const FusionDescription& body) {
  if (body.attention || body.chain) {
    return Unsupported("{}: products of products are not run inside a workgroup's loop", body.instruction->name());
  }
  if (body.hero == nullptr) return LoopUnitKind::kElements;
  if (TogetherOf(*body.hero)) return LoopUnitKind::kTogether;
  switch (body.hero->opcode()) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kDot:
    case Opcode::kConvolution:
      return LoopUnitKind::kRows;
    case Opcode::kDynamicUpdateSlice:
      return LoopUnitKind::kUpdate;
    case Opcode::kScatter:
      return LoopUnitKind::kScatter;
    default:
      return Unsupported("{} {} is not run inside a workgroup's loop", OpcodeText(body.hero->opcode()),
                         body.hero->name());
  }
}

LoopUnitNeeds NeedsOfLoopUnit(const LowerContext& context, const FusionDescription& body, uint32_t lanes) {
  return TogetherOf(*body.hero)->needs(context, body, lanes);
}

Code WriteLoopUnit(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                   std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  return TogetherOf(*body.hero)->write(context, body, buffers, scratch, unit);
}

}  // namespace VXLA_NAMESPACE::vulkan
