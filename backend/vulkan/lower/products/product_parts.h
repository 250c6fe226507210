// What all kernels of matrix products have in common: their parameters, how sums are stored, what steps say of their
// order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/vulkan/codegen/hook.h"
#include "backend/vulkan/lower/products/product.h"

namespace VXLA_NAMESPACE::vulkan {

class ProductParts {
 public:
  ProductParts(const LowerContext& context, const ProductReader& reader, BufferMap& buffers, const DotShape& shape,
               const BufferSlice& shares = {})
      : context_(context), reader_(reader), buffers_(buffers), shape_(shape), shares_(shares) {}

  enum Parameter { kBatch, kRow, kK, kColumn, kShare, kStrip };
  Hook Begin(KernelBuilder& kernel, int64_t rows, int64_t steps, int64_t columns, int64_t strips = 1) const {
    return Hook(kernel, reader_.body(), buffers_,
                {{"batch", reader_.work.batches},
                 {"row", rows},
                 {"k", steps},
                 {"column", columns},
                 {"share", shape_.splits},
                 {"strip", strips}});
  }
  // Of loads `per` at a time along k, of `steps`: by shaders/dot/strips.glsl.
  Hook BeginLoad(KernelBuilder& kernel, int64_t rows, int64_t steps, int64_t per, int64_t columns) const {
    const bool tail = HasTail(steps);
    return Begin(kernel, rows, (tail ? steps : shape_.k_step) / per, columns, tail ? 1 : steps / shape_.k_step);
  }
  bool HasTail(int64_t steps) const { return steps % shape_.k_step != 0; }
  // The value of k there, of steps that are `of_step` values each.
  IndexExpression TermOf(const Hook& f, int64_t width, int64_t j, int64_t of_step = 1) const {
    return f.space.Add(f.Nth(kK, width, j), f.space.Scale(f.at(kStrip), shape_.k_step * of_step));
  }
  static void Vectorize(Hook& f, Parameter parameter, int64_t width) {
    if (width == 4 || width == 8) f.writer.Vectorize(parameter, static_cast<int>(width));
  }
  static ProductPlace PlaceOf(const Hook& f) { return {f.at(kBatch), f.at(kRow), f.at(kK), f.at(kColumn)}; }

  // Whether whole groups of columns exist; else each column of a unit is clamped on its own.
  bool WholeColumns() const { return reader_.work.columns % shape_.tile_columns == 0; }
  int64_t ColumnUnits() const { return CeilDivide(reader_.work.columns, shape_.tile_columns); }
  // The columns of a unit as index expressions; clamped ones are bound to locals of their own.
  std::vector<IndexExpression> Columns(Hook& f) const;

  // How many tiles of so many rows and columns there are, of a workgroup each; and of those that lanes side by side
  // take.
  struct Tiles {
    int64_t rows = 1, columns = 1;
  };
  Tiles TilesOf(int64_t rows, int64_t columns) const {
    return {CeilDivide(reader_.work.rows, rows), CeilDivide(reader_.work.columns, columns)};
  }
  Tiles TilesOfLanes() const {
    return TilesOf(int64_t{shape_.lanes_y} * shape_.tile_rows, int64_t{shape_.lanes} * shape_.tile_columns);
  }
  // The same parts where an invocation has so many neighbouring columns.
  ProductParts OfColumns(uint32_t columns) const {
    DotShape shape = shape_;
    shape.tile_columns = columns;
    return {context_, reader_, buffers_, shape, shares_};
  }
  // Parameters and types; how many workgroups there are. `units` of columns, steps along k and how many of them a share
  // has.
  int64_t WriteHead(KernelBuilder& kernel, const Tiles& tiles, int64_t units, int64_t steps, int64_t share) const;
  // Statements that store sums at the linear indices of one row.
  void StoreSums(Hook& f, const std::vector<IndexExpression>& columns, const std::vector<std::string>& sums) const;
  // store() of the neighbouring columns of a unit.
  void WriteUnitStore(KernelBuilder& kernel) const;
  // store() of one column, under that name.
  void WriteColumnStore(KernelBuilder& kernel, std::string_view name) const;

  // One accumulator per result walks along k; `block` and `share` in values of k.
  void StateOrder(Step* step, int64_t block, int64_t share, bool fused) const;
  // Steps that a sum takes before it is added to the total. About sqrt(K) values of k make both chains equally short
  // and the sum round least; but adding to the totals costs as much as a step, so large products have longer ones (dot
  // 512: 64 values of k were 6 % slower than 256).
  uint32_t BlockSteps() const;

  bool AlongK(bool lhs) const { return reader_.AlongK(lhs); }
  // Of a share: whole strips.
  int64_t ShareOfQuads(int64_t steps) const {
    const int64_t share = CeilDivide(steps, shape_.splits);
    return shape_.splits == 1 ? steps : CeilDivide(share, shape_.k_step) * shape_.k_step;
  }
  // Where what is computed of each result of an invocation would come to more code than GPUs keep close (32 KB): a
  // function counts as 64 operations, and is up to 2 KB.
  bool RollsStores() const {
    constexpr int64_t kMostOperations = 1024;
    return shape_.splits == 1 && EpilogueOperations() * shape_.tile_rows * shape_.tile_columns > kMostOperations;
  }

  int64_t EpilogueOperations() const;
  // Whether a unit's columns are finished in a loop. Where every device compiles the kernel when a program is loaded,
  // four tanh written out are most of what it takes; a device's own kernels have them side by side, which runs faster.
  bool RollsColumns() const;

  const LowerContext& context_;
  const ProductReader& reader_;
  BufferMap& buffers_;
  const DotShape shape_;
  BufferSlice shares_;
};

}  // namespace VXLA_NAMESPACE::vulkan
