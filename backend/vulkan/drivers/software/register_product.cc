// The kernel of a matrix product in registers (shaders/software/matmul_registers.comp).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend/vulkan/lower/products/product_parts.h"
#include "backend/vulkan/lower/software_kernels.h"

namespace VXLA_NAMESPACE::vulkan {
namespace {

class RegisterWriter : ProductParts {
 public:
  using ProductParts::ProductParts;

  Step Write() const {
    const int64_t steps = reader_.work.k / shape_.k_step;
    const Tiles tiles = TilesOf(shape_.tile_rows, int64_t{shape_.lanes} * shape_.tile_columns);
    const int64_t share_steps = CeilDivide(steps, shape_.splits);
    KernelBuilder kernel(context_.facts);
    const int64_t groups = WriteHead(kernel, tiles, ColumnUnits(), steps, share_steps);
    // Along m only in whole strips of k: a lane for each k of a step.
    const bool by_k = shape_.share_lhs && !reader_.AlongK(true) && shape_.k_step == shape_.lanes && RowGroup() > 1;
    const int share = !shape_.share_lhs ? 0 : by_k ? 2 : 1;
    const bool rhs_block = shape_.k_step > 1 && reader_.AlongK(false);
    const uint32_t block = BlockSteps();
    kernel.Append(
        "#define SHARE {}\n#define RHS_BLOCK {}\n#define LANES {}u\n#define TM {}u\n#define W {}u\n#define KS {}u\n"
        "#define WM {}u\n#define BLOCKED {}\n",
        share, rhs_block ? 1 : 0, shape_.lanes, shape_.tile_rows, shape_.tile_columns, shape_.k_step, RowGroup(),
        share_steps > block || shape_.repeated ? 1 : 0);
    kernel.Append("#define BY_ROW_TILES(g) {}\n#define BY_COLUMN_TILES(g) {}\n#define BY_SHARES(g) {}\n",
                  kernel.Divide("(g)", tiles.rows), kernel.Divide("(g)", tiles.columns),
                  kernel.Divide("(g)", shape_.splits));
    kernel.Append("#define SURPLUS_GROUPS {}\n", HasSurplusGroups(context_.facts, groups) ? 1 : 0);
    // Plain large products: known strides save a tenth of the time. (Zeros of an epilogue have to come as data.)
    if (shape_.tile_columns == 8 && reader_.body().prologue.empty() && reader_.body().epilogue.empty())
      kernel.InlineParams();
    WriteLhs(kernel, share);
    WriteRhs(kernel, rhs_block);
    WriteProducts(kernel);
    WriteUnitStore(kernel);
    Step step =
        kernel.Finish(StepName(reader_.body()), "software/matmul_registers.comp", {shape_.lanes, 1, 1, block}, groups);
    StateOrder(&step, int64_t{shape_.k_step} * (share_steps > block ? block : 0), share_steps * shape_.k_step,
               FusesTerms(context_.facts));
    return step;
  }

 private:
  // load_lhs of software/matmul_registers.comp; `share` as there.
  void WriteLhs(KernelBuilder& kernel, int share) const {
    const bool rows = share == 2;
    const int64_t width = rows ? RowGroup() : shape_.k_step;
    const Parameter along = rows ? kRow : kK;
    Hook f = Begin(kernel, reader_.work.rows / (rows ? width : 1), reader_.work.k / (rows ? 1 : width), 1);
    Vectorize(f, along, width);
    for (int64_t j = 0; j < width; ++j) {
      ProductPlace at = PlaceOf(f);
      (rows ? at.row : at.k) = f.Nth(along, width, j);
      f.writer.Line("part[{}] = {};", j, reader_.Value(f.writer, true, at));
    }
    f.Define(fmt::format("void load_lhs(uint batch, uint row, uint k, out Sum part[{}])", width));
  }

  void WriteRhs(KernelBuilder& kernel, bool block) const {
    const int64_t ks = block ? shape_.k_step : 1, w = shape_.tile_columns;
    Hook f = Begin(kernel, 1, reader_.work.k / ks, WholeColumns() ? ColumnUnits() : reader_.work.columns);
    if (block) Vectorize(f, kK, ks);
    if (!block && WholeColumns()) Vectorize(f, kColumn, w);
    const std::vector<IndexExpression> columns = Columns(f);
    for (int64_t j = 0; j < w; ++j) {
      for (int64_t kk = 0; kk < ks; ++kk) {
        f.writer.Line(
            "part[{}] = {};", j * ks + kk,
            reader_.Value(f.writer, false, {f.at(kBatch), {}, f.Nth(kK, ks, kk), columns[static_cast<size_t>(j)]}));
      }
    }
    f.Define(fmt::format("void load_rhs(uint batch, uint k, uint column, out Sum part[{}])", ks * w));
  }

  // ADD_PRODUCTS of matmul_registers.comp.
  void WriteProducts(KernelBuilder& kernel) const {
    std::string text = "#define ADD_PRODUCTS";
    const uint32_t columns = std::min(shape_.tile_columns, 4u);
    for (uint32_t i = 0; i < shape_.tile_rows; ++i) {
      for (uint32_t column = 0; column < shape_.tile_columns; column += columns) {
        for (uint32_t kk = 0; kk < shape_.k_step; ++kk) {
          if (column == 0) text += fmt::format(" \\\n  Sum a_{0}_{1} = LHS({0}u, {1}u);", i, kk);
          for (uint32_t j = column; j < column + columns; ++j)
            text += fmt::format(" \\\n  MULTIPLY_ADD(sums[{}], a_{}_{}, RHS({}u, {}u));", i * shape_.tile_columns + j,
                                i, kk, kk, j);
        }
      }
    }
    kernel.Append(text + "\n");
  }

  // Neighbouring rows that lhs is read in where it lies along m.
  int64_t RowGroup() const {
    for (int64_t w : {8, 4}) {
      if (shape_.tile_rows % w == 0 && reader_.work.rows % w == 0) return w;
    }
    return 1;
  }
};

}  // namespace

Step WriteRegisterProduct(const LowerContext& context, const ProductReader& reader, BufferMap& buffers,
                          const DotShape& shape, const BufferSlice& shares) {
  return RegisterWriter(context, reader, buffers, shape, shares).Write();
}

}  // namespace VXLA_NAMESPACE::vulkan
