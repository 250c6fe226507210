#include "core/passes/fuse/product_rows.h"

#include <algorithm>

#include "core/ir/module.h"
#include "core/maps/dot_sides.h"
#include "core/numerics/combiner_order.h"
#include "core/passes/base/element_walk.h"

namespace VXLA_NAMESPACE {
namespace {

constexpr int64_t kMostColumns = 512;

// A lane takes whole groups of four columns, 8 to 32 lanes a long row, four a short one.
bool SuitsLanes(int64_t columns) {
  return columns <= 128 ? columns % 16 == 0 : columns <= kMostColumns && columns % 64 == 0;
}

// A workgroup reads all of its batch's right operand, for however few rows.
constexpr int64_t kLeastBatchRows = 8;

}  // namespace

bool IsProductOfRows(const Instruction& dot, const RowSpace& rows) {
  if (!IsPlainProduct(dot)) return false;
  const DotSide lhs = SideOf(dot, 0), rhs = SideOf(dot, 1);
  const int64_t columns = rhs.free.count, k = lhs.contracting.count;
  if (!SuitsLanes(columns) || k < 4 || k % 4 != 0) return false;
  if (lhs.batch.count > 1 && lhs.free.count < kLeastBatchRows) return false;
  if (rows.rows != lhs.batch.count * lhs.free.count || rows.row_size != columns || rows.rows_are_contiguous())
    return false;
  if (rows.PlaceOf(dot.shape()) != RowSpace::Place::kElement) return false;
  // Neighbouring terms of a row lie side by side, and neighbouring columns, or neighbouring terms of a column.
  const auto last = [](const Instruction& operand) { return static_cast<int64_t>(operand.shape().rank()) - 1; };
  const int64_t of_rhs = last(*dot.operand(1));
  if (lhs.contracting.dimensions.back() != last(*dot.operand(0)) ||
      (rhs.free.dimensions.back() != of_rhs && rhs.contracting.dimensions.back() != of_rhs))
    return false;
  IndexSpace space;
  const IndexExpression row = space.Variable(space.AddVariable(rows.rows));
  const IndexExpression element = space.Variable(space.AddVariable(columns));
  const auto dimensions = dot.shape().dimensions();
  return space.Linearize(rows.IndexAt(space, RowSpace::Place::kElement, dimensions, row, element), dimensions) ==
         space.Add(space.Scale(row, columns), element);
}

bool IsWorthwhileInRows(const Instruction& dot, const TargetInfo& target) {
  // What is spared is a dispatch and the product's way through memory. Where units multiply many times as fast as the
  // kernel of the rows does, that is worth fewer terms.
  constexpr int64_t kUnitsAreFaster = 4;
  const int64_t k = SideOf(dot, 0).contracting.count;
  const ElementType term = dot.operand(0)->shape().element_type();
  const bool by_units =
      target.matrix_terms.contains(term) && dot.operand(1)->shape().element_type() == term && SuitsMatrixUnits(dot);
  const int64_t share = by_units ? kUnitsAreFaster : 1;
  return k <= target.product_rows_most_terms / share ||
         dot.shape().ElementCount() * k <= target.product_rows_small_work / share;
}

bool ReadsProductInPlace(const Instruction& user, int k, const Instruction& dot) {
  if (user.opcode() == Opcode::kReduce) {
    const Opcode by = user.called(0)->root()->opcode();
    return user.operand_count() == 2 && k == 0 && IsRealFloat(user) &&
           (by == Opcode::kAdd || by == Opcode::kMaximum || by == Opcode::kMinimum) &&
           OrderOf(*user.called(0)) != CombinerOrder::kInOrder;
  }
  return IsElementwise(user.opcode()) && ReadsAtOwnIndex(user, k) &&
         std::ranges::equal(user.shape().dimensions(), dot.shape().dimensions());
}

}  // namespace VXLA_NAMESPACE
