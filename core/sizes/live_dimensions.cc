#include "core/sizes/live_dimensions.h"

#include <algorithm>

#include "core/ops/op_support.h"
#include "core/ops/paired_dimensions.h"

namespace VXLA_NAMESPACE {
namespace {

using Place = OperandDimension;

Status Settle(const Instruction& instruction, const std::vector<Place>& group, LiveDimensions& live) {
  const Place* first = nullptr;
  for (const Place& p : group) {
    if (!live.dynamic[p.operand][p.dimension]) continue;
    if (first == nullptr) first = &p;
    const int64_t size = live.sizes[p.operand][p.dimension], wanted = live.sizes[first->operand][first->dimension];
    if (size != wanted) {
      return OpError(instruction, "dimension {} of operand {} has the live size {}, dimension {} of operand {} has {}",
                     first->dimension, first->operand, wanted, p.dimension, p.operand, size);
    }
  }
  if (first == nullptr) return OkStatus();
  const int64_t size = live.sizes[first->operand][first->dimension];
  for (const Place& p : group) {
    live.sizes[p.operand][p.dimension] = size;
    live.dynamic[p.operand][p.dimension] = true;
  }
  return OkStatus();
}

// Twice, because a size that one group settles may be in another.
Status SettlePairs(const Instruction& instruction, LiveDimensions& live) {
  const std::vector<std::vector<Place>> groups = PairedDimensions(instruction);
  for (int round = 0; round < 2; ++round) {
    for (const std::vector<Place>& group : groups) VXLA_RETURN_IF_ERROR(Settle(instruction, group, live));
  }
  return OkStatus();
}

// The source of a select-and-scatter has one element for each window of the operand.
Status CutSource(const Instruction& instruction, LiveDimensions& live) {
  const Window& window = instruction.attributes<WindowAttributes>().window;
  for (size_t d = 0; d < window.size(); ++d) {
    if (!live.dynamic[0][d] || live.dynamic[1][d]) continue;
    VXLA_ASSIGN_OR_RETURN(const int64_t positions,
                          WindowPositions(instruction, static_cast<int>(d), live.sizes[0][d], window[d]));
    live.sizes[1][d] = std::min(positions, live.sizes[1][d]);
  }
  return OkStatus();
}

// Scales stand for blocks of the array along each dimension: as many blocks live as the live elements fill.
Status AgreeOnBlocks(const Instruction& instruction, LiveDimensions& live, int array, int scales) {
  const Shape& shape = instruction.operand(array)->shape();
  const Shape& by = instruction.operand(scales)->shape();
  for (int d = 0; d < shape.rank(); ++d) {
    if (by.dimension(d) <= 1) continue;  // one scale for all
    const int64_t block = shape.dimension(d) / by.dimension(d);
    int64_t &elements = live.sizes[array][d], &blocks = live.sizes[scales][d];
    if (!live.dynamic[array][d]) elements = blocks * block;
    if (!live.dynamic[scales][d]) blocks = elements / block;
    if (blocks * block == elements) continue;
    return OpError(
        instruction,
        "dimension {} of operand {} has the live size {}, dimension {} of operand {} has {} scales for {} each", d,
        array, elements, d, scales, blocks, block);
  }
  return OkStatus();
}

}  // namespace

void LiveDimensions::Add(const Shape& shape, std::vector<int64_t> live) {
  std::vector<bool> flags;
  for (size_t d = 0; d < live.size(); ++d) {
    const int dimension = static_cast<int>(d);
    flags.push_back(shape.is_dynamic_dimension(dimension) || live[d] != shape.dimension(dimension));
  }
  sizes.push_back(std::move(live));
  dynamic.push_back(std::move(flags));
}

Status AgreeOnSizes(const Instruction& instruction, LiveDimensions& live) {
  if (instruction.opcode() == Opcode::kSelectAndScatter) return CutSource(instruction, live);
  const bool scaled = instruction.opcode() == Opcode::kScaledDot;
  for (int side = 0; scaled && side < 2; ++side) {
    VXLA_RETURN_IF_ERROR(AgreeOnBlocks(instruction, live, side, side + 2));
  }
  VXLA_RETURN_IF_ERROR(SettlePairs(instruction, live));
  for (int side = 0; scaled && side < 2; ++side) {
    VXLA_RETURN_IF_ERROR(AgreeOnBlocks(instruction, live, side, side + 2));
  }
  return OkStatus();
}

}  // namespace VXLA_NAMESPACE
