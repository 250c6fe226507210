#include "backend/vulkan/lower/whiles/units/units.h"

#include <optional>

#include "core/maps/running_window.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

// What a family of units takes, and its text.
struct WorkgroupUnit {
  LoopNeeds* needs;
  LoopText* write;
};

// By family; none: its lanes do not work together for longer than a row.
std::optional<WorkgroupUnit> WorkgroupUnitOf(const Instruction& hero) {
  switch (hero.opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      return WorkgroupUnit{NeedsOfLoopSort, WriteLoopSort};
    case Opcode::kCholesky:
      return WorkgroupUnit{NeedsOfLoopCholesky, WriteLoopCholesky};
    case Opcode::kTriangularSolve:
      return WorkgroupUnit{NeedsOfLoopSolve, WriteLoopSolve};
    case Opcode::kSelectAndScatter:
      return WorkgroupUnit{NeedsOfLoopSelect, WriteLoopSelect};
    case Opcode::kFft:
      return WorkgroupUnit{NeedsOfLoopFft, WriteLoopFft};
    case Opcode::kReduceWindow:
      if (RunningWindowOf(hero)) return WorkgroupUnit{NeedsOfLoopRunning, WriteLoopRunning};
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
  if (WorkgroupUnitOf(*body.hero)) return LoopUnitKind::kWorkgroup;
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
  return WorkgroupUnitOf(*body.hero)->needs(context, body, lanes);
}

Code WriteLoopUnit(const LowerContext& context, const FusionDescription& body, BufferMap& buffers,
                   std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  return WorkgroupUnitOf(*body.hero)->write(context, body, buffers, scratch, unit);
}

}  // namespace VXLA_NAMESPACE::vulkan
