#include "core/passes/product_rows.h"

#include <algorithm>

#include "core/dot_sides.h"
#include "core/passes/element_walk.h"
#include "core/reducer_facts.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMostColumns = 512;

// A lane takes whole groups of four columns, 8 to 32 lanes a long row, four a short one.
bool SuitsLanes(int64_t columns) {
  return columns <= 128 ? columns % 16 == 0 : columns <= kMostColumns && columns % 64 == 0;
}

}  // namespace

bool IsProductOfRows(const Instruction& dot, const RowSpace& rows) {
  if (!IsPlainProduct(dot) || AccumulatesWide(dot)) return false;
  for (const Shape* shape : {&dot.shape(), &dot.operand(0)->shape(), &dot.operand(1)->shape()})
    if (shape->element_type() != ElementType::kF32 || shape->IsDynamic()) return false;
  const DotSide lhs = SideOf(dot, 0), rhs = SideOf(dot, 1);
  const int64_t columns = rhs.free.count, k = lhs.contracting.count;
  if (lhs.batch.count != 1 || !SuitsLanes(columns) || k < 4 || k % 4 != 0) return false;
  if (rows.rows != lhs.free.count || rows.row_size != columns || rows.rows_are_contiguous()) return false;
  if (rows.PlaceOf(dot.shape()) != RowSpace::Place::kElement) return false;
  // Neighbouring columns lie side by side, and neighbouring terms of a row.
  const auto last = [](const Instruction& operand) { return static_cast<int64_t>(operand.shape().rank()) - 1; };
  if (lhs.contracting.dimensions.back() != last(*dot.operand(0)) || rhs.free.dimensions.back() != last(*dot.operand(1)))
    return false;
  IndexSpace space;
  const IndexExpression row = space.Variable(space.AddVariable(rows.rows));
  const IndexExpression element = space.Variable(space.AddVariable(columns));
  const auto dimensions = dot.shape().dimensions();
  return space.Linearize(rows.IndexAt(space, RowSpace::Place::kElement, dimensions, row, element), dimensions) ==
         space.Add(space.Scale(row, columns), element);
}

bool IsWorthwhileInRows(const Instruction& dot, const TargetInfo& target) {
  const int64_t k = SideOf(dot, 0).contracting.count;
  return k <= target.product_rows_most_terms || dot.shape().ElementCount() * k <= target.product_rows_small_work;
}

bool ReadsProductInPlace(const Instruction& user, int k, const Instruction& dot) {
  if (user.opcode() == Opcode::kReduce) {
    const Opcode by = user.called(0)->root()->opcode();
    return user.operand_count() == 2 && k == 0 && user.shape().element_type() == ElementType::kF32 &&
           (by == Opcode::kAdd || by == Opcode::kMaximum || by == Opcode::kMinimum);
  }
  return IsElementwise(user.opcode()) && ReadsAtOwnIndex(user, k) &&
         std::ranges::equal(user.shape().dimensions(), dot.shape().dimensions());
}

}  // namespace VXLA_NAMESPACE
