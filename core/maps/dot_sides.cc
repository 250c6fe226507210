#include "core/maps/dot_sides.h"

#include <algorithm>

namespace VXLA_NAMESPACE {

MultiIndex DotSide::IndexOf(IndexSpace& space, const IndexExpression& batch_at, const IndexExpression& k,
                            const IndexExpression& free_at) const {
  MultiIndex index(batch.sizes.size() + contracting.sizes.size() + free.sizes.size());
  auto place = [&](const Group& group, const IndexExpression& linear) {
    const MultiIndex part = space.Delinearize(linear, group.sizes);
    for (size_t i = 0; i < part.size(); ++i) index[group.dimensions[i]] = part[i];
  };
  place(batch, batch_at);
  place(contracting, k);
  place(free, free_at);
  return index;
}

DotSide SideOf(const Instruction& dot, int operand) {
  const auto& attributes = dot.attributes<DotAttributes>();
  const IntList& batch = operand == 0 ? attributes.lhs_batch_dims : attributes.rhs_batch_dims;
  const IntList& contracting = operand == 0 ? attributes.lhs_contracting_dims : attributes.rhs_contracting_dims;
  const Shape& shape = dot.operand(operand)->shape();
  DotSide side;
  auto add = [&](DotSide::Group& group, int64_t d) {
    group.dimensions.push_back(d);
    group.sizes.push_back(shape.dimension(d));
    group.count *= group.sizes.back();
  };
  for (int64_t d : batch) add(side.batch, d);
  for (int64_t d : contracting) add(side.contracting, d);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(batch, d) == batch.end() && std::ranges::find(contracting, d) == contracting.end())
      add(side.free, d);
  }
  return side;
}

DotPlace PlaceOf(IndexSpace& space, const Instruction& dot, const MultiIndex& index) {
  const DotSide sides[] = {SideOf(dot, 0), SideOf(dot, 1)};
  auto next = index.begin();
  auto take = [&](const DotSide::Group& group) {
    const MultiIndex part(next, next + static_cast<std::ptrdiff_t>(group.sizes.size()));
    next += static_cast<std::ptrdiff_t>(group.sizes.size());
    return space.Linearize(part, group.sizes);
  };
  DotPlace place;
  place.batch = take(sides[0].batch);
  for (int k : {0, 1}) place.free[k] = take(sides[k].free);
  return place;
}

bool SuitsMatrixUnits(const Instruction& dot) {
  constexpr int64_t kLeastSide = 16, kTermsAtOnce = 8, kNeighbours = 4;
  for (const int operand : {0, 1}) {
    const DotSide side = SideOf(dot, operand);
    if (side.free.count < kLeastSide || side.contracting.count % kTermsAtOnce != 0) return false;
    const bool along_k = side.contracting.dimensions.back() == dot.operand(operand)->shape().rank() - 1;
    if (!along_k && side.free.count % kNeighbours != 0) return false;
  }
  return true;
}

}  // namespace VXLA_NAMESPACE
