#include "backend/vulkan/lower/whiles/units/shape.h"

#include <bit>

#include "backend/vulkan/lower/rows/reducer.h"
#include "backend/vulkan/lower/whiles/units/dot.h"
#include "core/ceil_divide.h"
#include "core/passes/base/fusion_rules.h"

namespace VXLA_NAMESPACE::vulkan {

int64_t TurnsOfARun(int64_t turns) {
  constexpr int64_t kLeastInRuns = 32;
  return turns < kLeastInRuns ? 0 : int64_t{1} << (std::bit_width(static_cast<uint64_t>(turns)) / 2);
}

LoopRowsShape ShapeOfLoopRows(const LowerContext& context, const FusionDescription& body, uint32_t workgroup_lanes,
                              LoopShare share) {
  int64_t rows = 1, row_size = 1, passes = 1, cost = 2;
  bool commutes = true, in_order = false;
  const bool dot = !body.rows && body.hero->opcode() == Opcode::kDot;
  std::unique_ptr<ProductReader> product;
  LoopRowsShape shape;
  const auto see = [&](const Instruction& reduce) {
    const Reducer reducer = ReadReducer(*reduce.called(0));
    commutes &= reducer.commutes;
    in_order |= reducer.in_order;
  };
  if (body.rows) {
    rows = body.rows->rows;
    row_size = body.rows->row_size;
    passes = body.phases + 1;
    for (const Instruction* reduce : body.heroes) see(*reduce);
    cost += ElementCosts(body.computed);
  } else if (body.hero->opcode() == Opcode::kReduceWindow) {
    rows = FlattenTuple(body.hero->shape())[0]->ElementCount();
    for (const WindowDimension& w : body.hero->attributes<WindowAttributes>().window) row_size *= w.size;
    see(*body.hero);
    cost += ElementCosts(body.computed);
  } else {
    product = dot ? ReadDot(body) : ReadConvolution(body);
    rows = product->results();
    row_size = product->work.k;
    cost = dot ? 1 : 4;
  }
  // Lanes that would have no row of their own share one, a few elements each at least.
  const int64_t of_a_group = CeilDivide(rows, share.groups);
  while (!in_order && 2 * shape.lanes * of_a_group <= workgroup_lanes && int64_t{8} * shape.lanes <= row_size)
    shape.lanes *= 2;
  rows = CeilDivide(rows, share.parts());
  shape.ordered = !commutes && shape.lanes > 1;
  shape.operations = rows * std::max<int64_t>(row_size, 1) * cost;
  if (dot) shape.tile = TileLoopDot(context, *product, workgroup_lanes, share);
  if (shape.tile) {
    shape.iterations = IterationsOf(*shape.tile, *product, workgroup_lanes, share.parts());
    return shape;
  }
  const int64_t turns = CeilDivide(rows, workgroup_lanes / shape.lanes), steps = CeilDivide(row_size, shape.lanes);
  // A run is an iteration of the loop over them, and the end of its own.
  const int64_t run = TurnsOfARun(steps), runs = run == 0 ? 0 : 2 * CeilDivide(steps, run) + 1;
  shape.iterations = turns * (1 + passes * (steps + runs + 2 + std::bit_width(shape.lanes))) + 1;
  return shape;
}

}  // namespace VXLA_NAMESPACE::vulkan
