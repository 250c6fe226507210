#include <algorithm>

#include "backend/vulkan/lower/indexing/select_and_scatter.h"
#include "backend/vulkan/lower/whiles/units/units.h"

namespace VXLA_NAMESPACE::vulkan {

LoopUnitNeeds NeedsOfLoopSelect(const LowerContext&, const FusionDescription& body, uint32_t lanes) {
  const Instruction& hero = *body.hero;
  const SelectAndScatterTurns turns(hero);
  const int64_t windows = hero.operand(1)->shape().ElementCount(), elements = hero.shape().ElementCount();
  int64_t each = 8 + ElementCosts(body.computed);
  for (const Computation* called : hero.called()) each += ElementCosts(called->instructions());
  LoopUnitNeeds needs;
  needs.waits = windows > 0 ? 1 : 0;
  needs.scratch = {Shape(ElementType::kU32, {std::max<int64_t>(windows, 1)})};
  needs.operations = each * (windows * ElementCountOf(turns.taps) + elements * ElementCountOf(turns.covering));
  needs.iterations =
      CeilDivide(windows, lanes) * (1 + turns.select()) + CeilDivide(elements, lanes) * (1 + turns.scatter()) + 2;
  return needs;
}

Code WriteLoopSelect(const LowerContext&, const FusionDescription& body, BufferMap& buffers,
                     std::span<const BufferSlice> scratch, const LoopUnit& unit) {
  const Instruction& hero = *body.hero;
  const auto phase = [&](const Shape& shape, const auto& write) {
    IndexSpace space;
    ValueWriter writer(unit.kernel, body, buffers, space);
    for (const auto& [operand, name] : unit.held) writer.Hold(*operand, name);
    const int i = writer.NewVariable("i", shape.ElementCount());
    OpenTurns(writer, "i", shape.ElementCount(), unit.lanes, unit.waits_for_grid() ? unit.share : LoopShare());
    SelectAndScatterText text(hero, writer, 1, unit.number);
    write(text, space.Variable(i));
    writer.CloseBlock();
    return writer.Take();
  };
  Code text;
  if (hero.operand(1)->shape().ElementCount() > 0) {
    text = phase(hero.operand(1)->shape(), [&](SelectAndScatterText& windows, const IndexExpression& at) {
      windows.WriteSelect(at, scratch[0]);
    });
    text += Barrier(1, unit.waits_for_grid());
  }
  return text + phase(hero.shape(), [&](SelectAndScatterText& elements, const IndexExpression& at) {
           elements.WriteScatter(at, scratch[0], buffers.SliceOf(*body.instruction, 0));
         });
}

}  // namespace VXLA_NAMESPACE::vulkan
